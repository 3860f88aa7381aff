package starlark

import (
	"context"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// exprName is the file that an expression's positions name, and exprResult the
// global that it is assigned to: no script can spell it.
const (
	exprName   = "expr"
	exprResult = "$result"
)

// Eval evaluates an expression as if it stood behind the last line of a module:
// it sees the module's globals, the names that its file had, and over both those
// given. It returns the text of the value, as repr gives it. It has a budget of its
// own, or spends that of the run that ctx comes from, as a [Sandbox.Call] does. The
// error is an [*Error], or nil.
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
	text, err = w.evalExpr(f, mergeNames(mergeNames(m.env, m.Globals), names))
	usage, err = w.endRun(err)
	if err != nil {
		return "", usage, s.locate(err)
	}
	return text, usage, nil
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

// evalExpr runs what parseExpr returned, with names beside the defined ones, and returns
// the text of the value.
func (w *worker) evalExpr(f *File, names starlark.StringDict) (_ string, err error) {
	defer w.recoverPanic(&err)
	program, _, err := w.sandbox.compile(f, names, nil)
	if err != nil {
		return "", err
	}
	globals, err := program.Init(&w.thread, mergeNames(w.sandbox.env, names))
	if err != nil {
		return "", err
	}
	return w.repr(globals[exprResult])
}
