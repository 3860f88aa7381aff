package starlark

import (
	"maps"
	"slices"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/starnames"
)

// maxHints is the number of undefined names of a file that get a suggestion. Each is compared with
// every name in scope.
const maxHints = 8

// undefinedNameErrors returns errors for the undefined names of a resolved tree. The resolver
// accepted them as predeclared names, because its own errors compare each undefined name with all
// others, which takes quadratic time.
func undefinedNameErrors(f *syntax.File, known func(name string) bool, candidates []string) error {
	var errs resolve.ErrorList
	syntax.Walk(f, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		if !ok || known(id.Name) {
			return true
		}
		if b, ok := id.Binding.(*resolve.Binding); !ok || b.Scope != resolve.Predeclared {
			return true
		}
		msg := "undefined: " + id.Name
		if len(errs) < maxHints && helpFor(msg, "") == "" {
			msg += near.DidYouMean(id.Name, candidates)
		}
		errs = append(errs, resolve.Error{Pos: id.NamePos, Msg: msg})
		return true
	})
	return errs
}

// scopeNames returns the sorted names that a file can use, including its own.
func (s *Sandbox) scopeNames(f *syntax.File, extra starlark.StringDict) []string {
	names := starnames.Bound(f)
	for _, env := range []starlark.StringDict{s.env, extra, universe()} {
		for name := range env {
			names[name] = true
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { return !isIdentifier(name) })
	return slices.Sorted(maps.Keys(names))
}
