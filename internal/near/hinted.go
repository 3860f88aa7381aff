package near

import "strings"

// Hinted returns the name that [Hint] put into a text, and the text before the hint. The name is ""
// if there is no hint.
func Hinted(text string) (name, before string) {
	before, rest, ok := strings.Cut(text, " (did you mean ")
	if !ok {
		return "", text
	}
	name, _, ok = strings.Cut(rest, "?)")
	if !ok {
		return "", text
	}
	return name, before
}
