package starhost_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"
)

// rootOrder lists the files of the root from the bottom to the top. A file builds on the
// files below it: registrations do not refer to the registry, the registry not to
// sessions, an event not to a turn, a turn not to a prompt's report.
var rootOrder = []string{
	// Helpers that need nothing else of the package.
	"coded.go", "list.go", "names.go", "pos.go", "progress.go",
	// Values that handlers get and return.
	"context.go", "message.go", "decision.go", "call_info.go", "event.go", "app.go", "template.go",
	// Registrations, and what a plugin can do with them.
	"endpoint.go", "plugin.go", "lost.go", "event_args.go", "rendering.go",
	// Traces and records of handler calls.
	"trace.go", "record.go", "lane.go",
	// Sessions for other processes.
	"saved_message.go", "saved_turn.go", "saved.go",
	// The registry and the host.
	"registry.go", "register.go", "skill.go", "live.go", "host.go", "host_lists.go",
	// A prompt and its report, and a session's state.
	"prompt.go", "system.go", "session.go", "saved_guard.go",
	// A turn, and its parts in the order in which it uses them.
	"turn.go", "handler.go", "event_budget.go", "observe.go", "choose.go", "fire.go", "gather.go", "template_load.go",
	"prompt_sent.go", "prompt_build.go", "offer.go", "pause.go", "history.go",
	"tool.go", "begin.go", "command.go", "loop.go", "session_saved.go", "session_store.go", "session_pause.go",
}

// maxUpward is the most references from a file of the root to a higher one.
const maxUpward = 8

// TestHouseOrder bounds the references that run upwards in [rootOrder].
//
// A reference is a pair of a file and a name that another file of the root declares: a
// function, a type, a constant, a variable, a method or a field. However often the file
// uses the name, the pair counts once. It runs upwards if the declaring file is higher.
func TestHouseOrder(t *testing.T) {
	var files []*source
	for _, s := range goSources(t) {
		if s.folder == "." && !s.test {
			files = append(files, s)
		}
	}
	place := map[string]int{}
	for i, name := range rootOrder {
		place[name] = i
	}
	for _, s := range files {
		if _, ok := place[s.name]; !ok {
			t.Errorf("%s has no place in rootOrder: put it above the files that it builds on", s.name)
		}
	}
	var upward []reference
	for _, r := range references(files) {
		if place[r.to] > place[r.from] {
			upward = append(upward, r)
		}
	}
	switch {
	case len(upward) <= maxUpward && !isListed("."):
		if len(upward) < maxUpward {
			t.Logf("%d references run upwards, %d allowed: lower maxUpward", len(upward), maxUpward)
		}
	default:
		var b strings.Builder
		for _, r := range upward {
			fmt.Fprintf(&b, "\n  %s:%d uses %s, which %s declares", r.from, r.line, r.name, r.to)
		}
		t.Errorf("%d references run upwards, want at most %d: move the declaration down, or the function that uses it up:%s", len(upward), maxUpward, b.String())
	}
}

// A reference says that a file uses a name which another file declares.
type reference struct {
	from, to, name string
	line           int // the first use
}

// references returns the references between files of one package, in their order.
func references(files []*source) []reference {
	list := make([]*ast.File, len(files))
	byFile := map[*token.File]*source{}
	for i, s := range files {
		list[i] = s.syntax
		byFile[s.set.File(s.syntax.Pos())] = s
	}
	if len(files) == 0 {
		return nil
	}
	set := files[0].set
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: fakeImporter{set}, Error: func(error) {}} // other packages are fakes, so errors mean nothing
	pkg, _ := config.Check(module, set, list, &info)
	found := map[reference]int{} // without the line
	for id, object := range info.Uses {
		if object.Pkg() != pkg || !object.Pos().IsValid() {
			continue
		}
		name := declaredName(pkg, object)
		from, to := byFile[set.File(id.Pos())], byFile[set.File(object.Pos())]
		if name == "" || from == to {
			continue
		}
		r := reference{from: from.name, to: to.name, name: name}
		line := from.pos(id.Pos())
		if old, ok := found[r]; !ok || line < old {
			found[r] = line
		}
	}
	var all []reference
	for r, line := range found {
		r.line = line
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b reference) int {
		return strings.Compare(fmt.Sprintf("%s %6d %s", a.from, a.line, a.name), fmt.Sprintf("%s %6d %s", b.from, b.line, b.name))
	})
	return all
}

// declaredName returns the name of a package-level object, of a method with its type or
// of a field with a point before it; "" for a local one.
func declaredName(pkg *types.Package, object types.Object) string {
	switch o := object.(type) {
	case *types.Func:
		receiver := o.Signature().Recv()
		if receiver == nil {
			break
		}
		of := types.TypeString(receiver.Type(), func(*types.Package) string { return "" })
		of, _, _ = strings.Cut(strings.TrimPrefix(of, "*"), "[")
		return of + "." + o.Name()
	case *types.Var:
		if o.IsField() {
			return "." + o.Name()
		}
	}
	if object.Parent() == pkg.Scope() {
		return object.Name()
	}
	return ""
}

// A fakeImporter makes the packages that the root imports. The real ones would take
// seconds to check. Its own few declarations are those through which a reference to a
// name of the root passes, as in registry.Load().channel.
type fakeImporter struct{ set *token.FileSet }

var fakePackages = map[string]string{
	"cmp":           `func Or[T any](values ...T) T`,
	"context":       `type Context interface{ Done() <-chan struct{}; Err() error; Value(any) any }; func WithoutCancel(Context) Context`,
	"encoding/json": `type RawMessage []byte`,
	"errors":        `func AsType[T error](error) (T, bool)`,
	"maps":          `func Clone[M any](M) M`,
	"slices": `func Clone[S any](S) S; func Concat[S any](...S) S; func Grow[S any](S, int) S; func DeleteFunc[S ~[]E, E any](S, func(E) bool) S
		func Backward[S ~[]E, E any](S) func(func(int, E) bool); func Delete[S any](S, int, int) S
		func ContainsFunc[S ~[]E, E any](S, func(E) bool) bool; func IndexFunc[S ~[]E, E any](S, func(E) bool) int
		func SortFunc[S ~[]E, E any](S, func(a, b E) int); func SortStableFunc[S ~[]E, E any](S, func(a, b E) int); func CompactFunc[S ~[]E, E any](S, func(a, b E) bool) S`,
	"sync":        `type Mutex struct{}; type Once struct{}; type Map struct{}; func OnceValues[A, B any](func() (A, B)) func() (A, B)`,
	"sync/atomic": `type Pointer[T any] struct{}; func (*Pointer[T]) Load() *T; func (*Pointer[T]) Swap(*T) *T; type Int64 struct{}; type Bool struct{}`,
}

// Import makes a package with the few declarations of fakePackages.
func (f fakeImporter) Import(name string) (*types.Package, error) {
	text := "package " + path.Base(name) + "\n" + fakePackages[name]
	parsed, err := parser.ParseFile(f.set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	config := types.Config{Error: func(error) {}} // its functions have no bodies
	pkg, _ := config.Check(name, f.set, []*ast.File{parsed}, nil)
	return pkg, nil
}
