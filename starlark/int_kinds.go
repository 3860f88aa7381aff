package starlark

import (
	"maps"

	"go.starlark.net/syntax"

	"github.com/starhost/starhost/internal/starnames"
)

// An intKind says how large the value of an expression can be, as the rewriter proves it before the program
// runs. An operation on small integers needs no guard, because its instruction pays for it. Each kind is a
// part of the kinds before it: a smallInt is also a smallProduct.
type intKind int

const (
	anyValue intKind = iota
	// anyInt is an int of any size that guarded operations produce.
	anyInt
	// boundedSum is a sum with at most one term for each step of the run: some 200 bits.
	boundedSum
	// smallProduct is a product of at most two small integers.
	smallProduct
	// smallInt fits 64 bits.
	smallInt
)

// intKinds has the kinds of the variables of one function. Other variables may have any value.
type intKinds map[string]intKind

// findIntKinds returns the kinds of the variables that body binds. A variable gets the widest kind
// of all values that the body assigns to it. Parameters may have any value.
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
		b.intKinds[v.name] = smallInt // the loop below lowers it
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

// maxRounds and maxLevels bound the search for small integers: passes over the assignments of a function, and
// levels of an expression.
const (
	maxRounds = 16
	maxLevels = 12
)

// bindings has all assignments to the variables of one function.
type bindings struct {
	r *rewriter
	intKinds
	values []binding
	opaque map[string]bool // variables that are assigned in a way that the rewriter cannot follow
}

// A binding is one assignment to a variable, plain or augmented. The variable of a loop over a
// range is small, so it needs no value.
type binding struct {
	name  string
	op    syntax.Token // EQ, or the token of an augmented assignment
	value syntax.Expr  // nil for a loop variable
}

// lowerKinds lowers the kind of each variable as far as its assigned values require. It reports
// whether a kind changed.
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

// addLoop adds the variables of a loop: for vars in x.
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

// loopCounter returns the variable that counts in a loop over range or enumerate.
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

// insideComprehension returns the kinds inside a comprehension, whose variables hide those outside.
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
	maps.Copy(inner, n)
	for name := range counted {
		inner[name] = smallInt
	}
	for name := range hidden {
		delete(inner, name)
	}
	return inner
}

// isCall reports whether e calls the predeclared function of that name.
func (r *rewriter) isCall(e syntax.Expr, name string) bool {
	c, ok := e.(*syntax.CallExpr)
	if !ok {
		return false
	}
	id, ok := c.Fn.(*syntax.Ident)
	return ok && id.Name == name && !r.isShadowed(name)
}

// kind returns the kind of e.
func (n intKinds) kind(r *rewriter, e syntax.Expr) intKind { return n.kindWithin(r, e, maxLevels) }

// kindWithin returns the kind of e. It looks so many levels deep into e; what is deeper may have any value.
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

// combineKinds returns the kind of x op y.
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

// areLiterals reports whether x and y are literals, which the compiler adds.
func areLiterals(x, y syntax.Expr) bool {
	_, ok := unparen(x).(*syntax.Literal)
	_, ok2 := unparen(y).(*syntax.Literal)
	return ok && ok2
}

// isFloat reports whether e is a floating-point literal. An operation with it yields a float or an
// error, so it is small.
func isFloat(e syntax.Expr) bool {
	lit, ok := unparen(e).(*syntax.Literal)
	return ok && lit.Token == syntax.FLOAT
}

// isConst reports whether a comparison of e with any value is one small step.
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
