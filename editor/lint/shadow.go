package lint

import "github.com/bazelbuild/buildtools/build"

// Shadows returns the places at which a file defines one of the names at the top level and so
// hides the builtin in the whole file. A local name hides a builtin only in its function, which
// is often fine.
func Shadows(f *build.File, names map[string]bool) []Finding {
	var found []Finding
	for _, b := range bindings(f) {
		if b.global && names[b.name] {
			found = append(found, Finding{"shadow", b.at.Line, b.at.LineRune, "the " + string(b.kind) + " " + b.name + " hides the builtin of that name in this file"})
		}
	}
	return found
}
