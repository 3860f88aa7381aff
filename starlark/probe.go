package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file makes the rewriter instrument a file for [Coverage]. What a script
// can see of its steps must not change: neither their number, nor where a limit
// stops them, nor the positions in errors. So
//
//   - a probe is a call that takes its own instructions back, and while one is under
//     way at the limit of steps, the run is not stopped yet: see worker.outOfSteps;
//   - a probe stands only where the compiler has a block of instructions anyway, as
//     an empty block costs no jump and one with a probe does;
//   - a probe has no position: the instructions around it have those that they have
//     without it;
//   - jumps have the steps that they have without probes: see align.go.

// The names that probes call.
const (
	lineProbe = "$line"
	markProbe = "$mark"
	armProbe  = "$arm"
)

// isProbe reports whether a name is one that probes call.
func isProbe(name string) bool { return name == lineProbe || name == markProbe || name == armProbe }

// probeSteps is the most instructions of a probe before it takes them back.
const probeSteps = 5

// sites are the places of a file at which something is counted.
type sites struct {
	counters int // numbers from 1
	lines    []lineSite
	branches []branchSite
}

type lineSite struct{ line, counter int }

type branchSite struct{ line, col, yes, no int }

func (s *sites) counter() int {
	s.counters++
	return s.counters
}

// A blockStart says what is known of the place where a list of statements begins.
type blockStart struct {
	// filled is true if the compiler has an instruction in the block by then, or will
	// have one whatever the statements are.
	filled bool
	// arm is the counter of the condition that leads here, 0 for none.
	arm int
	// entry is the position that the compiler has ready for the first instruction of
	// a function that has none of its own; zero elsewhere.
	entry syntax.Position
}

// instrument is compile with probes, and returns what they count.
func (s *Sandbox) instrument(f *File, extra starlark.StringDict) (_ *starlark.Program, uses []string, _ *sites, _ error) {
	plain, _, err := s.compile(f, extra, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	sites := &sites{}
	program, uses, err := s.compile(f, extra, sites)
	if err != nil {
		return nil, nil, nil, err
	}
	program, err = aligned(plain, program)
	return program, uses, sites, err
}

// body rewrites the statements of a function, or of a file, that begins at entry.
func (r *rewriter) body(list []syntax.Stmt, entry syntax.Position) []syntax.Stmt {
	return r.block(list, blockStart{filled: true, entry: entry})
}

// fileStart returns where the first statement of a file begins.
func fileStart(f *syntax.File) syntax.Position {
	if len(f.Stmts) == 0 {
		return syntax.Position{}
	}
	return syntax.Start(f.Stmts[0])
}

// block rewrites a list of statements, with a probe for each.
func (r *rewriter) block(list []syntax.Stmt, at blockStart) []syntax.Stmt {
	if r.sites == nil {
		return r.stmts(list)
	}
	var out []syntax.Stmt
	for _, s := range list {
		n, start := len(out), syntax.Start(s)
		out = r.stmt(out, s)
		switch emits, jumps := kindOf(s); {
		case emits || jumps && at.filled:
			out = append(out[:n:n], append([]syntax.Stmt{r.probe(start, out[n], at.entry)}, out[n:]...)...)
			_, isIf := s.(*syntax.IfStmt)
			at = blockStart{filled: !isIf}
		case jumps && at.arm != 0:
			r.sites.lines = append(r.sites.lines, lineSite{int(start.Line), at.arm})
		}
	}
	return out
}

// kindOf reports whether a statement begins with an instruction, and whether it is
// a jump alone.
func kindOf(s syntax.Stmt) (emits, jumps bool) {
	switch s := s.(type) {
	case *syntax.BranchStmt:
		return false, s.Token != syntax.PASS
	case *syntax.WhileStmt:
		return false, false
	case *syntax.ExprStmt:
		_, doc := s.X.(*syntax.Literal)
		return !doc, false
	}
	return true, false
}

// probe returns what counts the statement that began at start and was rewritten to
// begin with out. Where entry is not zero, it is the first of a function.
func (r *rewriter) probe(start syntax.Position, out syntax.Stmt, entry syntax.Position) syntax.Stmt {
	n := r.sites.counter()
	r.sites.lines = append(r.sites.lines, lineSite{int(start.Line), n})
	call := probeCall(lineProbe, intLiteral(syntax.Position{}, n))
	fn := call.Fn.(*syntax.Ident)
	if !positioned(first(out)) {
		fn.NamePos = entry
	}
	// The parentheses give the file its place.
	call.Fn = &syntax.ParenExpr{Lparen: syntax.Start(out), X: fn}
	return &syntax.ExprStmt{X: call}
}

func probeCall(name string, args ...syntax.Expr) *syntax.CallExpr {
	var none syntax.Position
	return &syntax.CallExpr{Fn: ident(none, name), Args: args}
}

// branch adds a site, and returns the counters of its arms.
func (r *rewriter) branch(pos syntax.Position) (yes, no int) {
	if r.sites == nil {
		return 0, 0
	}
	yes, no = r.sites.counter(), r.sites.counter()
	r.sites.branches = append(r.sites.branches, branchSite{int(pos.Line), int(pos.Col), yes, no})
	return yes, no
}

// condition rewrites what an if decides by, with the counters of its arms. It takes
// it apart as the compiler does: the operands that decide are what is counted.
func (r *rewriter) condition(e syntax.Expr, yes, no int) syntax.Expr {
	if r.sites == nil {
		return r.expr(e)
	}
	switch e := e.(type) {
	case *syntax.UnaryExpr:
		if e.Op == syntax.NOT {
			r.nodes++
			e.X = r.condition(e.X, no, yes)
			return e
		}
	case *syntax.BinaryExpr:
		if e.Op == syntax.AND || e.Op == syntax.OR {
			r.nodes++
			if e.Op == syntax.AND {
				e.X = r.arm(e.X, 0, no)
			} else {
				e.X = r.arm(e.X, yes, 0)
			}
			e.Y = r.condition(e.Y, yes, no)
			return e
		}
	}
	return r.arm(e, yes, no)
}

// arm rewrites an operand that decides.
func (r *rewriter) arm(e syntax.Expr, yes, no int) syntax.Expr {
	var none syntax.Position
	return probeCall(armProbe, intLiteral(none, yes), intLiteral(none, no), probeCall(markProbe), r.expr(e))
}

// armed returns the operand that a probe of an arm is about, or nil.
func armed(e *syntax.CallExpr) syntax.Expr {
	if id, ok := e.Fn.(*syntax.Ident); ok && id.Name == armProbe {
		return e.Args[3]
	}
	return nil
}

// enterBody gives the probe that a lambda begins with, if any, the position that
// the compiler has ready for its first instruction.
func enterBody(body syntax.Expr, entry syntax.Position) {
	if call, ok := first(body).(*syntax.CallExpr); ok && !positioned(first(armed(call))) {
		call.Fn.(*syntax.Ident).NamePos = entry
	}
}

// positioned reports whether the instruction of a node that comes first has a
// position of its own.
func positioned(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Ident, *syntax.DefStmt, *syntax.LambdaExpr:
		return true
	case *syntax.CallExpr:
		return positioned(first(armed(n)))
	}
	return false
}

// first returns the node of rewritten source whose instruction is the first of n.
// It is a call if that is the probe of an arm.
func first(n syntax.Node) syntax.Node {
	switch n := n.(type) {
	case *syntax.ExprStmt:
		return first(n.X)
	case *syntax.AssignStmt:
		if n.Op == syntax.EQ {
			return first(n.RHS)
		}
		return first(n.LHS)
	case *syntax.IfStmt:
		return first(n.Cond)
	case *syntax.ForStmt:
		return first(n.X)
	case *syntax.ReturnStmt:
		if n.Result != nil {
			return first(n.Result)
		}
	case *syntax.ParenExpr:
		return first(n.X)
	case *syntax.UnaryExpr:
		return first(n.X)
	case *syntax.BinaryExpr:
		return first(n.X)
	case *syntax.CondExpr:
		return first(n.Cond)
	case *syntax.IndexExpr:
		return first(n.X)
	case *syntax.CallExpr:
		if armed(n) == nil {
			return first(n.Fn)
		}
	case *syntax.TupleExpr:
		if len(n.List) > 0 {
			return first(n.List[0])
		}
	case *syntax.ListExpr:
		if len(n.List) > 0 {
			return first(n.List[0])
		}
	}
	return n
}

// ---- steps ----

// A halt is where a run met the limit of its steps.
type halt struct {
	steps uint64
	stack starlark.CallStack
}

// outOfSteps ends a run at the limit of its steps. Where coverage is measured, the
// instruction that was one too many may be that of a probe. So the run goes on for as
// many as a probe has; nothing in them can pay, and what they do is dropped with the
// run, which is reported as it was here.
func (w *worker) outOfSteps() {
	switch {
	case w.box.coverage == nil || w.stopped != nil && w.halt == nil:
		w.exceed("steps", script, w.thread.Steps, w.budget.maxSteps, w.budget.maxSteps)
	case w.halt == nil:
		w.stopped = w.limitError("steps", script, w.thread.Steps, w.budget.maxSteps, w.budget.maxSteps)
		w.halt = &halt{w.thread.Steps, w.thread.CallStack()}
	case w.thread.Steps >= w.halt.steps+probeSteps:
		w.stop(w.stopped)
	}
}

// uncount takes back the instructions of a probe: before of them have run, that of
// its call the last, of total. It reports false, and takes nothing back, if the
// script's own next instruction is one too many.
func (w *worker) uncount(before, total uint64) bool {
	if w.thread.Steps-before+1 > w.budget.maxSteps {
		return false
	}
	if w.halt != nil {
		w.halt, w.stopped = nil, nil
	}
	w.thread.Steps -= total // below zero, for one instruction, at the start of a run
	return true
}

// halted makes the end of a run the one that it met at the limit of its steps.
func (w *worker) halted(err error) error {
	if w.halt == nil {
		return err
	}
	w.thread.Steps = w.halt.steps
	return &starlark.EvalError{Msg: w.stopped.Error(), CallStack: w.halt.stack}
}
