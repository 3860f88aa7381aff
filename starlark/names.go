package starlark

import "slices"

// MethodNames returns the methods of core types, such as "string.split", sorted.
func MethodNames() []string {
	var names []string
	for kind, rows := range methods {
		for name := range rows {
			names = append(names, kind+"."+name)
		}
	}
	slices.Sort(names)
	return names
}
