package starlark

import (
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/internal/starnames"
)

// A kind says what is known of the value of an expression before it runs. An
// operation on numbers that are known to be small needs no guard: its
// instruction pays for it. Each kind includes those above it.
type kind int

const (
	unknown kind = iota
	// integer is an int, of any size that guarded operations let it have.
	integer
	// tame is a sum of at most as many terms as the run has steps: some 200 bits.
	tame
	// term is a product of at most two small integers.
	term
	// small fits 64 bits.
	small
)

// numbers has the kind of the variables of one function. Those that are not in it
// are unknown.
type numbers map[string]kind

// numbersOf returns what is known of the variables that body binds: each is as
// small as the largest that is ever assigned to it. Parameters can be anything.
func (r *rewriter) numbersOf(body []syntax.Stmt, params []syntax.Expr) numbers {
	b := &bindings{r: r}
	if b.collect(body); len(b.values) == 0 {
		return nil
	}
	b.numbers = make(numbers, len(b.values))
	taken := map[string]bool{}
	starnames.AddParams(taken, params)
	for name := range b.opaque {
		taken[name] = true
	}
	for _, v := range b.values {
		b.numbers[v.name] = small // until shown otherwise
	}
	for name := range taken {
		delete(b.numbers, name)
	}
	for range maxRounds {
		if !b.lower() {
			return b.numbers
		}
	}
	return numbers{}
}

// Bounds of what is spent on finding small numbers, in rounds over the assignments
// of a function and in levels of an expression.
const (
	maxRounds = 16
	maxLevels = 12
)

// bindings are all assignments to the variables of one function.
type bindings struct {
	r *rewriter
	numbers
	values []binding
	opaque map[string]bool // assigned to in a way that tells nothing
}

// A binding is one assignment to a variable: of a value, or of what op makes of
// it and a value. Loop variables over a range are small.
type binding struct {
	name  string
	op    syntax.Token // EQ, or that of an augmented assignment
	value syntax.Expr  // nil for a loop variable
}

// lower lowers each variable to the kinds of what is assigned to it, and reports
// whether any changed.
func (b *bindings) lower() bool {
	changed := false
	for _, v := range b.values {
		old, ok := b.numbers[v.name]
		if !ok {
			continue
		}
		k := b.kindOf(v)
		switch {
		case k == unknown:
			delete(b.numbers, v.name)
			changed = true
		case k < old:
			b.numbers[v.name] = k
			changed = true
		}
	}
	return changed
}

func (b *bindings) kindOf(v binding) kind {
	switch {
	case v.value == nil:
		return small
	case v.op == syntax.EQ:
		return b.numbers.kind(b.r, v.value)
	}
	return combine(v.op-syntax.PLUS_EQ+syntax.PLUS, b.numbers[v.name], b.numbers.kind(b.r, v.value))
}

func (b *bindings) collect(body []syntax.Stmt) {
	for _, s := range body {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			b.assign(s)
		case *syntax.ForStmt:
			b.loop(s.Vars, s.X)
			b.collect(s.Body)
		case *syntax.WhileStmt:
			b.collect(s.Body)
		case *syntax.IfStmt:
			b.collect(s.True)
			b.collect(s.False)
		case *syntax.DefStmt:
			b.hide(s.Name)
		case *syntax.LoadStmt:
			for _, id := range s.To {
				b.hide(id)
			}
		}
	}
}

func (b *bindings) assign(s *syntax.AssignStmt) {
	if id, ok := unparen(s.LHS).(*syntax.Ident); ok {
		b.values = append(b.values, binding{id.Name, s.Op, s.RHS})
		return
	}
	lhs, ok := unparen(s.LHS).(*syntax.TupleExpr)
	rhs, ok2 := unparen(s.RHS).(*syntax.TupleExpr)
	if !ok || !ok2 || len(lhs.List) != len(rhs.List) {
		b.hide(s.LHS)
		return
	}
	for i, x := range lhs.List { // a, b = b, a + b
		if id, ok := x.(*syntax.Ident); ok {
			b.values = append(b.values, binding{id.Name, syntax.EQ, rhs.List[i]})
		} else {
			b.hide(x)
		}
	}
}

// loop is for vars in x.
func (b *bindings) loop(vars, x syntax.Expr) {
	if id, ok := countedBy(b.r, vars, x); ok {
		b.values = append(b.values, binding{name: id.Name})
		if t, ok := unparen(vars).(*syntax.TupleExpr); ok {
			b.hide(t.List[1])
		}
		return
	}
	b.hide(vars)
}

// countedBy returns the variable of a loop that a range or enumerate counts.
func countedBy(r *rewriter, vars, x syntax.Expr) (*syntax.Ident, bool) {
	if r.isCall(x, "range") {
		id, ok := unparen(vars).(*syntax.Ident)
		return id, ok
	}
	if t, ok := unparen(vars).(*syntax.TupleExpr); ok && len(t.List) == 2 && r.isCall(x, "enumerate") {
		id, ok := t.List[0].(*syntax.Ident)
		return id, ok
	}
	return nil, false
}

func (b *bindings) hide(e syntax.Expr) {
	if b.opaque == nil {
		b.opaque = map[string]bool{}
	}
	starnames.AddTarget(b.opaque, e)
}

// within returns what is known inside a comprehension, whose variables hide those
// outside.
func (n numbers) within(r *rewriter, e *syntax.Comprehension) numbers {
	hidden := map[string]bool{}
	counted := map[string]int{}
	for _, c := range e.Clauses {
		f, ok := c.(*syntax.ForClause)
		if !ok {
			continue
		}
		id, ok := countedBy(r, f.Vars, f.X)
		if ok {
			counted[id.Name]++
		}
		names := map[string]bool{}
		starnames.AddTarget(names, f.Vars)
		for name := range names {
			if ok && name == id.Name && !hidden[name] {
				continue
			}
			hidden[name] = true
		}
	}
	inner := numbers{}
	for name, k := range n {
		inner[name] = k
	}
	for name := range counted {
		inner[name] = small
	}
	for name := range hidden {
		delete(inner, name)
	}
	return inner
}

// isCall reports whether e calls the universe's function of that name.
func (r *rewriter) isCall(e syntax.Expr, name string) bool {
	c, ok := e.(*syntax.CallExpr)
	if !ok {
		return false
	}
	id, ok := c.Fn.(*syntax.Ident)
	return ok && id.Name == name && !r.shadowed(name)
}

// kind returns what is known of e.
func (n numbers) kind(r *rewriter, e syntax.Expr) kind { return n.kindTo(r, e, maxLevels) }

// kindTo is kind with a bound of the levels of e that it looks at.
func (n numbers) kindTo(r *rewriter, e syntax.Expr, levels int) kind {
	if levels == 0 {
		return unknown
	}
	switch e := unparen(e).(type) {
	case *syntax.Literal:
		if _, ok := e.Value.(int64); ok {
			return small
		}
	case *syntax.Ident:
		return n[e.Name]
	case *syntax.UnaryExpr:
		if e.Op == syntax.MINUS || e.Op == syntax.PLUS {
			return n.kindTo(r, e.X, levels-1)
		}
	case *syntax.BinaryExpr:
		x := n.kindTo(r, e.X, levels-1)
		if x == unknown {
			return unknown
		}
		return combine(e.Op, x, n.kindTo(r, e.Y, levels-1))
	case *syntax.CallExpr:
		if r.isCall(e, "len") {
			return small
		}
	}
	return unknown
}

// combine returns what is known of x op y.
func combine(op syntax.Token, x, y kind) kind {
	if x == unknown || y == unknown {
		return unknown
	}
	switch op {
	case syntax.PLUS, syntax.MINUS:
		if x >= tame && y >= tame && max(x, y) >= term {
			return tame
		}
		return integer
	case syntax.STAR:
		if x == small && y == small {
			return term
		}
		return integer
	case syntax.SLASHSLASH:
		if y == small {
			return min(x, tame)
		}
		return integer
	case syntax.PERCENT:
		if y == small {
			return small
		}
		return integer
	}
	return unknown
}

// native reports whether a binary operation needs no guard.
func (r *rewriter) native(e *syntax.BinaryExpr) bool {
	x, y := r.scope.kind(r, e.X), r.scope.kind(r, e.Y)
	switch e.Op {
	case syntax.AND, syntax.OR, syntax.SLASH:
		return true
	case syntax.PLUS, syntax.MINUS:
		return combine(e.Op, x, y) == tame || isFloat(e.X) || isFloat(e.Y) || literals(e.X, e.Y)
	case syntax.STAR:
		return combine(e.Op, x, y) == term || isFloat(e.X) || isFloat(e.Y)
	case syntax.SLASHSLASH, syntax.PERCENT:
		return x >= tame && y == small
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.GT, syntax.LE, syntax.GE:
		return r.isConst(e.X) || r.isConst(e.Y) || max(x, y) >= tame || x >= integer && y >= integer
	}
	return false
}

// smallAugment reports whether name op= value needs no guard.
func (n numbers) smallAugment(r *rewriter, s *syntax.AssignStmt) bool {
	op := s.Op - syntax.PLUS_EQ + syntax.PLUS
	return r.native(&syntax.BinaryExpr{X: s.LHS, Op: op, Y: s.RHS}) && !literals(s.LHS, s.RHS)
}

// literals reports whether the compiler adds x and y itself.
func literals(x, y syntax.Expr) bool {
	_, ok := unparen(x).(*syntax.Literal)
	_, ok2 := unparen(y).(*syntax.Literal)
	return ok && ok2
}

// isFloat reports whether e is a floating-point literal: what it is combined with
// is a number, or an error.
func isFloat(e syntax.Expr) bool {
	lit, ok := unparen(e).(*syntax.Literal)
	return ok && lit.Token == syntax.FLOAT
}

// isConst reports whether comparing e with anything is one small step.
func (r *rewriter) isConst(e syntax.Expr) bool {
	switch e := unparen(e).(type) {
	case *syntax.Literal:
		switch v := e.Value.(type) {
		case int64:
			return true
		case string:
			return e.Token == syntax.STRING && len(v) <= smallEqual
		}
	case *syntax.Ident:
		return (e.Name == "None" || e.Name == "True" || e.Name == "False") && !r.shadowed(e.Name)
	}
	return false
}
