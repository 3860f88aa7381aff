package starlark

import (
	"context"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// exprName is the file in the positions of an expression. exprResult is the global that receives
// its value; no script can spell it.
const (
	exprName   = "expr"
	exprResult = "$result"
)

// Eval evaluates an expression as if it followed the last line of a module. The expression sees the module's
// globals, the environment of the module's file, and names, which hide both. Eval returns the value as repr
// formats it. If ctx comes from a run, Eval spends the budget of that run as [Sandbox.Call] does; otherwise
// Eval has a budget of its own. The error is an [*Error], or nil.
func (s *Sandbox) Eval(
	ctx context.Context, m *Module, names starlark.StringDict, expr string,
) (text string, usage Usage, err error) {
	f, err := s.parseExpr(expr)
	if err != nil {
		return "", Usage{}, s.locate(err)
	}
	w, err := s.startRun(ctx)
	if err != nil {
		return "", Usage{}, s.locate(err)
	}
	all := starlark.StringDict{}
	for _, some := range []starlark.StringDict{m.env, s.loadedNames(m), m.Globals, names} {
		maps.Copy(all, some)
	}
	listNames(f.tree, all)
	text, err = w.evalExpr(f, all)
	usage, err = w.endRun(err)
	if err != nil {
		return "", usage, s.locate(err)
	}
	return text, usage, nil
}

// listNames lets dir() without arguments return the sorted names that an expression sees, as in Python. It
// replaces each such call in the tree by a list of them.
func listNames(tree *syntax.File, names starlark.StringDict) {
	const list = "$names"
	used := false
	syntax.Walk(tree, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) > 0 {
			return true
		}
		if fn, ok := call.Fn.(*syntax.Ident); ok && fn.Name == "dir" {
			call.Fn, call.Args, used = ident(fn.NamePos, "list"), []syntax.Expr{ident(fn.NamePos, list)}, true
		}
		return true
	})
	if used {
		var values starlark.Tuple
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if isIdentifier(name) {
				values = append(values, starlark.String(name))
			}
		}
		names[list] = values
	}
}

// parseExpr returns a file that assigns an expression to exprResult.
func (s *Sandbox) parseExpr(expr string) (*File, error) {
	f, err := s.parseUncached(exprName, []byte(strings.TrimSpace(expr)))
	if err != nil {
		return nil, err
	}
	refuse := func(pos Pos, msg string) (*File, error) { return nil, &Error{Pos: pos, Msg: msg, Code: "E0101"} }
	switch stmts := f.tree.Stmts; len(stmts) {
	case 0:
		return refuse(Pos{File: exprName}, "got nothing, want an expression")
	case 1:
		x, ok := stmts[0].(*syntax.ExprStmt)
		if !ok {
			return refuse(posOf(syntax.Start(stmts[0])), "got a statement, want an expression")
		}
		pos := syntax.Start(x)
		tree := *f.tree
		tree.Stmts = []syntax.Stmt{assign(pos, ident(pos, exprResult), x.X)}
		return &File{name: f.name, src: f.src, tree: &tree}, nil
	default:
		return refuse(posOf(syntax.Start(stmts[1])), "got more behind the expression, want one")
	}
}

// evalExpr runs the file that parseExpr returned, and formats the value. The file sees the defined
// names and names.
func (w *worker) evalExpr(f *File, names starlark.StringDict) (_ string, err error) {
	defer w.recoverPanic(&err)
	program, _, err := w.sandbox.compile(f.tree, names, nil)
	if err != nil {
		return "", err
	}
	globals, err := program.Init(&w.thread, mergeNames(w.sandbox.env, names))
	if err != nil {
		return "", err
	}
	return w.repr(globals[exprResult])
}
