package errtext

import "strings"

// Or joins names for a message: "a, b or c", and "nothing" for no names.
func Or(names []string) string {
	last := len(names) - 1
	switch last {
	case -1:
		return "nothing"
	case 0:
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
