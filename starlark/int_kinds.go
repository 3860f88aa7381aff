package starlark

import (
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/internal/starnames"
)

// A kind says what is known of the value of an expression before it runs. An
// operation on numbers that are known to be small needs no guard: its
// instruction pays for it. Each kind includes those above it.
type intKind int

const (
	anyValue intKind = iota
	// integer is an int, of any size that guarded operations let it have.
	anyInt
	// tame is a sum of at most as many terms as the run has steps: some 200 bits.
	boundedSum
	// term is a product of at most two small integers.
	smallProduct
	// smallInt fits 64 bits.
	smallInt
)

// intKinds has the kind of the variables of one function. Those that are not in it
// are unknown.
type intKinds map[string]intKind

// findIntKinds returns what is known of the variables that body binds: each is as
// small as the largest that is ever assigned to it. Parameters can be anything.
func (r *rewriter) findIntKinds(body []syntax.Stmt, params []syntax.Expr) intKinds {
	b := &bindings{r: r}
	if b.collect(body); len(b.values) == 0 {
		return nil
	}
	b.intKinds = make(intKinds, len(b.values))
	taken := map[string]bool{}
	starnames.AddParams(taken, params)
	for name := range b.opaque {
		taken[name] = true
	}
	for _, v := range b.values {
		b.intKinds[v.name] = smallInt // until shown otherwise
	}
	for name := range taken {
		delete(b.intKinds, name)
	}
	for range maxRounds {
		if !b.lowerKinds() {
			return b.intKinds
		}
	}
	return intKinds{}
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
	intKinds
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

// lowerKinds lowers each variable to the kinds of what is assigned to it, and reports
// whether any changed.
func (b *bindings) lowerKinds() bool {
	changed := false
	for _, v := range b.values {
		old, ok := b.intKinds[v.name]
		if !ok {
			continue
		}
		k := b.assignedKind(v)
		switch {
		case k == anyValue:
			delete(b.intKinds, v.name)
			changed = true
		case k < old:
			b.intKinds[v.name] = k
			changed = true
		}
	}
	return changed
}

func (b *bindings) assignedKind(v binding) intKind {
	switch {
	case v.value == nil:
		return smallInt
	case v.op == syntax.EQ:
		return b.intKinds.kind(b.r, v.value)
	}
	return combineKinds(v.op-syntax.PLUS_EQ+syntax.PLUS, b.intKinds[v.name], b.intKinds.kind(b.r, v.value))
}

func (b *bindings) collect(body []syntax.Stmt) {
	for _, s := range body {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			b.addAssignment(s)
		case *syntax.ForStmt:
			b.addLoop(s.Vars, s.X)
			b.collect(s.Body)
		case *syntax.WhileStmt:
			b.collect(s.Body)
		case *syntax.IfStmt:
			b.collect(s.True)
			b.collect(s.False)
		case *syntax.DefStmt:
			b.markOpaque(s.Name)
		case *syntax.LoadStmt:
			for _, id := range s.To {
				b.markOpaque(id)
			}
		}
	}
}

func (b *bindings) addAssignment(s *syntax.AssignStmt) {
	if id, ok := unparen(s.LHS).(*syntax.Ident); ok {
		b.values = append(b.values, binding{id.Name, s.Op, s.RHS})
		return
	}
	lhs, ok := unparen(s.LHS).(*syntax.TupleExpr)
	rhs, ok2 := unparen(s.RHS).(*syntax.TupleExpr)
	if !ok || !ok2 || len(lhs.List) != len(rhs.List) {
		b.markOpaque(s.LHS)
		return
	}
	for i, x := range lhs.List { // a, b = b, a + b
		if id, ok := x.(*syntax.Ident); ok {
			b.values = append(b.values, binding{id.Name, syntax.EQ, rhs.List[i]})
		} else {
			b.markOpaque(x)
		}
	}
}

// addLoop is for vars in x.
func (b *bindings) addLoop(vars, x syntax.Expr) {
	if id, ok := loopCounter(b.r, vars, x); ok {
		b.values = append(b.values, binding{name: id.Name})
		if t, ok := unparen(vars).(*syntax.TupleExpr); ok {
			b.markOpaque(t.List[1])
		}
		return
	}
	b.markOpaque(vars)
}

// loopCounter returns the variable of a loop that a range or enumerate counts.
func loopCounter(r *rewriter, vars, x syntax.Expr) (*syntax.Ident, bool) {
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

func (b *bindings) markOpaque(e syntax.Expr) {
	if b.opaque == nil {
		b.opaque = map[string]bool{}
	}
	starnames.AddTarget(b.opaque, e)
}

// insideComprehension returns what is known inside a comprehension, whose variables hide those
// outside.
func (n intKinds) insideComprehension(r *rewriter, e *syntax.Comprehension) intKinds {
	hidden := map[string]bool{}
	counted := map[string]int{}
	for _, c := range e.Clauses {
		f, ok := c.(*syntax.ForClause)
		if !ok {
			continue
		}
		id, ok := loopCounter(r, f.Vars, f.X)
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
	inner := intKinds{}
	for name, k := range n {
		inner[name] = k
	}
	for name := range counted {
		inner[name] = smallInt
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
	return ok && id.Name == name && !r.isShadowed(name)
}

// kind returns what is known of e.
func (n intKinds) kind(r *rewriter, e syntax.Expr) intKind { return n.kindWithin(r, e, maxLevels) }

// kindWithin is kind with a bound of the levels of e that it looks at.
func (n intKinds) kindWithin(r *rewriter, e syntax.Expr, levels int) intKind {
	if levels == 0 {
		return anyValue
	}
	switch e := unparen(e).(type) {
	case *syntax.Literal:
		if _, ok := e.Value.(int64); ok {
			return smallInt
		}
	case *syntax.Ident:
		return n[e.Name]
	case *syntax.UnaryExpr:
		if e.Op == syntax.MINUS || e.Op == syntax.PLUS {
			return n.kindWithin(r, e.X, levels-1)
		}
	case *syntax.BinaryExpr:
		x := n.kindWithin(r, e.X, levels-1)
		if x == anyValue {
			return anyValue
		}
		return combineKinds(e.Op, x, n.kindWithin(r, e.Y, levels-1))
	case *syntax.CallExpr:
		if r.isCall(e, "len") {
			return smallInt
		}
	}
	return anyValue
}

// combineKinds returns what is known of x op y.
func combineKinds(op syntax.Token, x, y intKind) intKind {
	if x == anyValue || y == anyValue {
		return anyValue
	}
	switch op {
	case syntax.PLUS, syntax.MINUS:
		if x >= boundedSum && y >= boundedSum && max(x, y) >= smallProduct {
			return boundedSum
		}
		return anyInt
	case syntax.STAR:
		if x == smallInt && y == smallInt {
			return smallProduct
		}
		return anyInt
	case syntax.SLASHSLASH:
		if y == smallInt {
			return min(x, boundedSum)
		}
		return anyInt
	case syntax.PERCENT:
		if y == smallInt {
			return smallInt
		}
		return anyInt
	}
	return anyValue
}

// isNative reports whether a binary operation needs no guard.
func (r *rewriter) isNative(e *syntax.BinaryExpr) bool {
	x, y := r.kinds.kind(r, e.X), r.kinds.kind(r, e.Y)
	switch e.Op {
	case syntax.AND, syntax.OR, syntax.SLASH:
		return true
	case syntax.PLUS, syntax.MINUS:
		return combineKinds(e.Op, x, y) == boundedSum || isFloat(e.X) || isFloat(e.Y) || areLiterals(e.X, e.Y)
	case syntax.STAR:
		return combineKinds(e.Op, x, y) == smallProduct || isFloat(e.X) || isFloat(e.Y)
	case syntax.SLASHSLASH, syntax.PERCENT:
		return x >= boundedSum && y == smallInt
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.GT, syntax.LE, syntax.GE:
		return r.isConst(e.X) || r.isConst(e.Y) || max(x, y) >= boundedSum || x >= anyInt && y >= anyInt
	}
	return false
}

// isNativeAugment reports whether name op= value needs no guard.
func (n intKinds) isNativeAugment(r *rewriter, s *syntax.AssignStmt) bool {
	op := s.Op - syntax.PLUS_EQ + syntax.PLUS
	return r.isNative(&syntax.BinaryExpr{X: s.LHS, Op: op, Y: s.RHS}) && !areLiterals(s.LHS, s.RHS)
}

// areLiterals reports whether the compiler adds x and y itself.
func areLiterals(x, y syntax.Expr) bool {
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
		return (e.Name == "None" || e.Name == "True" || e.Name == "False") && !r.isShadowed(e.Name)
	}
	return false
}
