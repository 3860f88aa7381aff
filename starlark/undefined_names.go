package starlark

import (
	"maps"
	"slices"

	"github.com/starhost/starhost/internal/near"
	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/internal/starnames"
)

// maxHints bounds how many undefined names of a file get a suggestion: each is
// compared with every name in scope.
const maxHints = 8

// undefinedNameErrors returns the errors of a resolved tree whose unknown names the
// resolver was told to take for predeclared ones. The resolver's own errors
// would compare any number of unknown names with any number of known ones.
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
		if len(errs) < maxHints {
			msg += near.DidYouMean(id.Name, candidates)
		}
		errs = append(errs, resolve.Error{Pos: id.NamePos, Msg: msg})
		return true
	})
	return errs
}

// scopeNames returns all names that a file can use or binds itself, sorted.
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
