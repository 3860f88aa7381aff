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
// it sees the module's globals, and the names that its file had. It has a budget
// of its own, or spends that of the run that ctx comes from, as a [Sandbox.Call]
// does, and its result is as fit. The error is an [*Error], or nil.
func (s *Sandbox) Eval(ctx context.Context, m *Module, expr string) (starlark.Value, Usage, error) {
	f, err := s.parseExpr(expr)
	if err != nil {
		return nil, Usage{}, s.locate(err)
	}
	w, err := s.enter(ctx)
	if err != nil {
		return nil, Usage{}, s.locate(err)
	}
	v, err := w.eval(f, joined(m.env, m.Globals))
	usage, err := w.leave(err)
	if err != nil {
		return nil, usage, s.locate(err)
	}
	return v, usage, nil
}

// parseExpr returns a file that assigns an expression to exprResult.
func (s *Sandbox) parseExpr(expr string) (*File, error) {
	f, err := s.parse(exprName, []byte(strings.TrimSpace(expr)))
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
		tree.Stmts = []syntax.Stmt{&syntax.AssignStmt{OpPos: pos, Op: syntax.EQ, LHS: ident(pos, exprResult), RHS: x.X}}
		return &File{name: f.name, src: f.src, tree: &tree}, nil
	default:
		return refuse(posOf(syntax.Start(stmts[1])), "got more behind the expression, want one")
	}
}

// eval runs what parseExpr returned, with names beside the defined ones.
func (w *worker) eval(f *File, names starlark.StringDict) (_ starlark.Value, err error) {
	defer w.contain(&err)
	program, err := w.box.compile(f, names)
	if err != nil {
		return nil, err
	}
	globals, err := program.Init(w.thread, joined(w.box.env, names))
	if err != nil {
		return nil, err
	}
	v := globals[exprResult]
	if err := checkValue(Pos{File: exprName}, v); err != nil {
		return nil, err
	}
	return v, w.payResult(v)
}
