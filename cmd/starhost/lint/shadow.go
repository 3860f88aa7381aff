package lint

import "github.com/bazelbuild/buildtools/build"

// Shadows returns where a file gives one of the names a meaning of its own at the
// top level, which hides the name in all of the file. A name inside a function
// hides it there alone, and is often the right word.
func Shadows(f *build.File, names map[string]bool) []Finding {
	var found []Finding
	for _, b := range bindings(f) {
		if b.global && names[b.name] {
			found = append(found, Finding{"shadow", b.at.Line, b.at.LineRune, "the " + string(b.kind) + " " + b.name + " hides the builtin of that name in this file"})
		}
	}
	return found
}
