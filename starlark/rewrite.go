package starlark

import (
	"fmt"
	"strconv"

	"go.starlark.net/syntax"
)

// rewrite returns a copy of a tree in which every operation that can amplify is a
// call of a helper, which pays before it works. The tree itself stays as it is.
//
// The calls take the places of the operators they stand for, so that errors have
// the positions that they would have had. What is left alone is known to be
// small: see numbers.go. Where sites is not nil, the copy has probes, too, and sites
// gets what they count.
func rewrite(f *syntax.File, predeclared func(name string) bool, sites *sites) (*syntax.File, error) {
	bound := boundNames(f)
	r := &rewriter{
		shadowed: func(name string) bool { return bound[name] || predeclared(name) },
		used:     map[string]bool{},
		globals:  map[string]bool{},
		control:  f.Options.TopLevelControl,
		sites:    sites,
	}
	r.scope = r.numbersOf(f.Stmts, nil)
	out := *f
	out.Stmts = r.body(f.Stmts, fileStart(f))
	if r.err != nil {
		return nil, r.err
	}
	out.Stmts = r.hoist(out.Stmts)
	return &out, nil
}

// A rewriter has the state of one rewrite.
type rewriter struct {
	shadowed func(name string) bool // a name of the universe that the file redefines
	scope    numbers                // of the function that is being rewritten
	nodes    int                    // statements and expressions so far
	temps    int                    // temporaries so far

	control   bool            // statements outside of functions may be conditional
	functions int             // around the statement, and
	globals   map[string]bool // names that statements outside of functions assigned to so far

	used  map[string]bool // helpers, and
	order []string        // the order of their first use
	err   error           // the first of what cannot be rewritten

	sites *sites // what probes count, or nil
}

// bigBody is the number of nodes from which a function pays for its frame, which
// is cleared at every call.
const bigBody = 256

// hoist binds the helpers that the file uses to globals at its start. A global is
// an element of an array, a predeclared name an entry of a map.
func (r *rewriter) hoist(stmts []syntax.Stmt) []syntax.Stmt {
	if len(r.order) == 0 {
		return stmts
	}
	pos := syntax.Start(stmts[0])
	head := make([]syntax.Stmt, 0, len(r.order)+len(stmts))
	for _, name := range r.order {
		head = append(head, &syntax.AssignStmt{OpPos: pos, Op: syntax.EQ, LHS: ident(pos, hoisted(name)), RHS: ident(pos, name)})
	}
	return append(head, stmts...)
}

// hoisted returns the global that a helper is bound to.
func hoisted(name string) string { return "$g" + name }

// help is a call of a helper.
func (r *rewriter) help(pos syntax.Position, name string, args ...syntax.Expr) *syntax.CallExpr {
	if !r.used[name] {
		r.used[name] = true
		r.order = append(r.order, name)
	}
	return &syntax.CallExpr{Fn: ident(pos, hoisted(name)), Lparen: pos, Args: args, Rparen: pos}
}

func ident(pos syntax.Position, name string) *syntax.Ident {
	return &syntax.Ident{NamePos: pos, Name: name}
}

func stringLiteral(pos syntax.Position, s string) *syntax.Literal {
	return &syntax.Literal{Token: syntax.STRING, TokenPos: pos, Raw: s, Value: s}
}

func intLiteral(pos syntax.Position, n int) *syntax.Literal {
	return &syntax.Literal{Token: syntax.INT, TokenPos: pos, Raw: strconv.Itoa(n), Value: int64(n)}
}

// ---- statements ----

func (r *rewriter) stmts(list []syntax.Stmt) []syntax.Stmt {
	if list == nil {
		return nil
	}
	out := make([]syntax.Stmt, 0, len(list))
	for _, s := range list {
		out = r.stmt(out, s)
	}
	return out
}

// stmt appends what s becomes to out.
func (r *rewriter) stmt(out []syntax.Stmt, s syntax.Stmt) []syntax.Stmt {
	r.nodes++
	switch s := s.(type) {
	case *syntax.AssignStmt:
		if s.Op != syntax.EQ {
			return append(r.bindFirst(out, s), r.augmented(s))
		}
		return r.assign(out, s)
	case *syntax.ExprStmt:
		c := *s
		c.X = r.expr(s.X)
		return append(out, &c)
	case *syntax.IfStmt:
		c := *s
		yes, no := r.branch(s.If)
		c.Cond = r.condition(s.Cond, yes, no)
		c.True, c.False = r.block(s.True, blockStart{arm: yes}), r.block(s.False, blockStart{arm: no})
		return append(out, &c)
	case *syntax.ForStmt:
		return append(out, r.forStmt(s))
	case *syntax.WhileStmt:
		c := *s
		c.Cond, c.Body = r.expr(s.Cond), r.block(s.Body, blockStart{})
		return append(out, &c)
	case *syntax.ReturnStmt:
		c := *s
		if s.Result != nil {
			c.Result = r.expr(s.Result)
		}
		return append(out, &c)
	case *syntax.DefStmt:
		return append(out, r.def(s))
	case *syntax.LoadStmt:
		return append(out, loadStmt(s))
	}
	return append(out, s) // break, continue, pass
}

func loadStmt(s *syntax.LoadStmt) *syntax.LoadStmt {
	c := *s
	c.From, c.To = idents(s.From), idents(s.To)
	return &c
}

// idents copies names: the resolver writes into them.
func idents(list []*syntax.Ident) []*syntax.Ident {
	out := make([]*syntax.Ident, len(list))
	for i, id := range list {
		c := *id
		out[i] = &c
	}
	return out
}

func (r *rewriter) forStmt(s *syntax.ForStmt) *syntax.ForStmt {
	c := *s
	c.X = r.expr(s.X)
	vars, stores := r.target(s.Vars)
	c.Vars = vars
	c.Body = append(stores, r.block(s.Body, blockStart{filled: true})...)
	return &c
}

func (r *rewriter) def(s *syntax.DefStmt) *syntax.DefStmt {
	c := *s
	name := *s.Name
	c.Name = &name
	c.Params = r.params(s.Params)
	saved, start := r.scope, r.nodes
	r.scope = r.numbersOf(s.Body, s.Params)
	r.functions++
	c.Body = r.body(s.Body, s.Def)
	r.functions--
	r.scope = saved
	if enter := r.enter(s.Def, r.nodes-start, s.Params); enter != nil {
		c.Body = afterDoc(c.Body, &syntax.ExprStmt{X: enter})
	}
	return &c
}

// enter is what a function calls first to pay for its frame, or nil.
func (r *rewriter) enter(pos syntax.Position, nodes int, params []syntax.Expr) syntax.Expr {
	steps, bytes := 0, 0
	if nodes > bigBody {
		steps, bytes = nodes/8, 0
	}
	for _, p := range params {
		if u, ok := p.(*syntax.UnaryExpr); ok && u.Op == syntax.STARSTAR {
			bytes += int(newTable.bytes)
		}
	}
	if steps+bytes == 0 {
		return nil
	}
	return r.help(pos, "$enter", intLiteral(pos, steps), intLiteral(pos, bytes))
}

// afterDoc puts s at the start of a body, behind its doc string.
func afterDoc(body []syntax.Stmt, s syntax.Stmt) []syntax.Stmt {
	at := 0
	if e, ok := body[0].(*syntax.ExprStmt); ok {
		if lit, ok := e.X.(*syntax.Literal); ok && lit.Token == syntax.STRING {
			at = 1
		}
	}
	out := make([]syntax.Stmt, 0, len(body)+1)
	out = append(out, body[:at]...)
	out = append(out, s)
	return append(out, body[at:]...)
}

func (r *rewriter) params(list []syntax.Expr) []syntax.Expr {
	saved := r.sites
	r.sites = nil // the compiler has a position ready for what comes first in defaults
	defer func() { r.sites = saved }()
	out := make([]syntax.Expr, len(list))
	for i, p := range list {
		switch p := p.(type) {
		case *syntax.BinaryExpr: // name=default
			c := *p
			c.X, c.Y = r.expr(p.X), r.expr(p.Y)
			out[i] = &c
		case *syntax.UnaryExpr: // *name, **name, *
			c := *p
			if p.X != nil {
				c.X = r.expr(p.X)
			}
			out[i] = &c
		default:
			out[i] = r.expr(p)
		}
	}
	return out
}

// ---- assignments ----

// bindFirst makes a global of a name that a file assigns to with an operator
// before all else. The assignment that replaces it would else find a predeclared
// name of that spelling on its right side. A statement that never runs is enough.
func (r *rewriter) bindFirst(out []syntax.Stmt, s *syntax.AssignStmt) []syntax.Stmt {
	id, ok := unparen(s.LHS).(*syntax.Ident)
	if !ok || r.functions > 0 || r.globals[id.Name] || !r.control {
		return out
	}
	r.globals[id.Name] = true
	never := &syntax.AssignStmt{OpPos: s.OpPos, Op: syntax.EQ, LHS: ident(id.NamePos, id.Name), RHS: intLiteral(s.OpPos, 0)}
	return append(out, &syntax.IfStmt{If: id.NamePos, Cond: intLiteral(id.NamePos, 0), True: []syntax.Stmt{never}})
}

func (r *rewriter) augmented(s *syntax.AssignStmt) syntax.Stmt {
	switch lhs := unparen(s.LHS).(type) {
	case *syntax.Ident:
		if r.scope.smallAugment(r, s) {
			c := *s
			c.LHS, c.RHS = r.expr(s.LHS), r.expr(s.RHS)
			return &c
		}
		call := r.help(s.OpPos, "$i"+s.Op.String(), r.expr(lhs), r.expr(s.RHS))
		return &syntax.AssignStmt{OpPos: s.OpPos, Op: syntax.EQ, LHS: ident(lhs.NamePos, lhs.Name), RHS: call}
	case *syntax.IndexExpr:
		ref := r.help(lhs.Lbrack, "$ref", r.expr(lhs.X), r.expr(lhs.Y))
		return r.augment(s, ref)
	case *syntax.DotExpr:
		ref := r.help(lhs.Dot, "$fref", r.expr(lhs.X), stringLiteral(lhs.Dot, lhs.Name.Name))
		return r.augment(s, ref)
	}
	return s // the resolver refuses it
}

func (r *rewriter) augment(s *syntax.AssignStmt, ref syntax.Expr) syntax.Stmt {
	return &syntax.ExprStmt{X: r.help(s.OpPos, "$aug", stringLiteral(s.OpPos, s.Op.String()), ref, r.expr(s.RHS))}
}

func (r *rewriter) assign(out []syntax.Stmt, s *syntax.AssignStmt) []syntax.Stmt {
	rhs := r.expr(s.RHS)
	if r.functions == 0 {
		bindTarget(r.globals, s.LHS)
	}
	if x, ok := unparen(s.LHS).(*syntax.IndexExpr); ok {
		return append(out, r.store(x, rhs))
	}
	lhs, stores := r.target(s.LHS)
	c := *s
	c.LHS, c.RHS = lhs, rhs
	return append(append(out, &c), stores...)
}

// store is x[k] = v as a call.
func (r *rewriter) store(x *syntax.IndexExpr, v syntax.Expr) syntax.Stmt {
	return &syntax.ExprStmt{X: r.help(x.Lbrack, "$setindex", v, r.expr(x.X), r.expr(x.Y))}
}

// target copies an assignment's target. When it assigns to an element, all its
// leaves become temporaries, and the stores that follow in their order are
// returned beside it.
func (r *rewriter) target(e syntax.Expr) (syntax.Expr, []syntax.Stmt) {
	if !hasIndex(e) {
		return r.plainTarget(e), nil
	}
	var stores []syntax.Stmt
	return r.leaves(e, func(leaf syntax.Expr) syntax.Expr {
		r.temps++
		pos, _ := leaf.Span()
		temp := fmt.Sprintf("$t%d", r.temps)
		if x, ok := leaf.(*syntax.IndexExpr); ok {
			stores = append(stores, r.store(x, ident(pos, temp)))
		} else {
			stores = append(stores, &syntax.AssignStmt{OpPos: pos, Op: syntax.EQ, LHS: r.plainLeaf(leaf), RHS: ident(pos, temp)})
		}
		return ident(pos, temp)
	}), stores
}

func (r *rewriter) plainTarget(e syntax.Expr) syntax.Expr { return r.leaves(e, r.plainLeaf) }

// plainLeaf copies a name or a field that is assigned to.
func (r *rewriter) plainLeaf(e syntax.Expr) syntax.Expr {
	if d, ok := e.(*syntax.DotExpr); ok {
		c := *d
		c.X = r.expr(d.X)
		return &c
	}
	return r.expr(e)
}

// leaves copies a target with f applied to all that is assigned to.
func (r *rewriter) leaves(e syntax.Expr, f func(syntax.Expr) syntax.Expr) syntax.Expr {
	each := func(list []syntax.Expr) []syntax.Expr {
		out := make([]syntax.Expr, len(list))
		for i, x := range list {
			out[i] = r.leaves(x, f)
		}
		return out
	}
	switch e := e.(type) {
	case *syntax.ParenExpr:
		c := *e
		c.X = r.leaves(e.X, f)
		return &c
	case *syntax.TupleExpr:
		c := *e
		c.List = each(e.List)
		return &c
	case *syntax.ListExpr:
		c := *e
		c.List = each(e.List)
		return &c
	}
	return f(e)
}

// hasIndex reports whether a target assigns to an element of a value.
func hasIndex(e syntax.Expr) bool {
	switch e := unparen(e).(type) {
	case *syntax.IndexExpr:
		return true
	case *syntax.TupleExpr:
		return anyIndex(e.List)
	case *syntax.ListExpr:
		return anyIndex(e.List)
	}
	return false
}

func anyIndex(list []syntax.Expr) bool {
	for _, x := range list {
		if hasIndex(x) {
			return true
		}
	}
	return false
}

func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.ParenExpr)
		if !ok {
			return e
		}
		e = p.X
	}
}

// ---- expressions ----

func (r *rewriter) exprs(list []syntax.Expr) []syntax.Expr {
	out := make([]syntax.Expr, len(list))
	for i, x := range list {
		out[i] = r.expr(x)
	}
	return out
}

func (r *rewriter) expr(e syntax.Expr) syntax.Expr {
	r.nodes++
	switch e := e.(type) {
	case *syntax.Ident:
		c := *e
		return &c
	case *syntax.ParenExpr:
		c := *e
		c.X = r.expr(e.X)
		return &c
	case *syntax.ListExpr:
		c := *e
		c.List = r.exprs(e.List)
		return &c
	case *syntax.TupleExpr:
		c := *e
		c.List = r.exprs(e.List)
		return &c
	case *syntax.CondExpr:
		c := *e
		yes, no := r.branch(e.If)
		c.Cond, c.True, c.False = r.condition(e.Cond, yes, no), r.expr(e.True), r.expr(e.False)
		return &c
	case *syntax.UnaryExpr:
		return r.unary(e)
	case *syntax.BinaryExpr:
		return r.binary(e)
	case *syntax.LambdaExpr:
		return r.lambda(e)
	case *syntax.DictExpr:
		return r.dict(e)
	case *syntax.Comprehension:
		return r.comprehension(e)
	case *syntax.DotExpr:
		return r.help(e.Dot, "$attr", r.expr(e.X), stringLiteral(e.NamePos, e.Name.Name))
	case *syntax.IndexExpr:
		return r.index(e)
	case *syntax.SliceExpr:
		return r.slice(e)
	case *syntax.CallExpr:
		return r.call(e)
	}
	return e // a literal
}

func (r *rewriter) unary(e *syntax.UnaryExpr) syntax.Expr {
	if e.X == nil {
		return e
	}
	small := r.scope.kind(r, e.X) >= tame
	c := *e
	c.X = r.expr(e.X)
	switch {
	case small:
		return &c
	case e.Op == syntax.MINUS:
		return r.help(e.OpPos, "$neg", c.X)
	case e.Op == syntax.TILDE:
		return r.help(e.OpPos, "$~", c.X)
	}
	return &c
}

func (r *rewriter) binary(e *syntax.BinaryExpr) syntax.Expr {
	if terms := r.terms(e); terms != nil {
		return r.help(e.OpPos, "$sum", r.exprs(terms)...)
	}
	native := r.native(e)
	c := *e
	c.X, c.Y = r.expr(e.X), r.expr(e.Y)
	if native {
		return &c
	}
	return r.help(e.OpPos, "$"+e.Op.String(), c.X, c.Y)
}

func (r *rewriter) lambda(e *syntax.LambdaExpr) syntax.Expr {
	c := *e
	c.Params = r.params(e.Params)
	saved, start := r.scope, r.nodes
	r.scope = numbers{}
	c.Body = r.expr(e.Body)
	enterBody(c.Body, e.Lambda)
	r.scope = saved
	if enter := r.enter(e.Lambda, r.nodes-start, e.Params); enter != nil {
		both := &syntax.TupleExpr{Lparen: e.Lambda, List: []syntax.Expr{enter, c.Body}, Rparen: e.Lambda}
		c.Body = &syntax.IndexExpr{X: both, Lbrack: e.Lambda, Y: intLiteral(e.Lambda, 1), Rbrack: e.Lambda}
	}
	return &c
}

func (r *rewriter) dict(e *syntax.DictExpr) syntax.Expr {
	if len(e.List) == 0 {
		return r.help(e.Lbrace, "$dict")
	}
	c := *e
	c.List = make([]syntax.Expr, len(e.List))
	for i, x := range e.List {
		entry := *x.(*syntax.DictEntry)
		plain := r.isConst(entry.Key) || r.scope.kind(r, entry.Key) >= integer
		key := r.expr(entry.Key)
		switch {
		case i == 0:
			key = r.help(entry.Colon, "$entry", key, intLiteral(entry.Colon, len(e.List)))
		case !plain:
			key = r.help(entry.Colon, "$key", key)
		}
		entry.Key, entry.Value = key, r.expr(entry.Value)
		c.List[i] = &entry
	}
	return &c
}

func (r *rewriter) comprehension(e *syntax.Comprehension) syntax.Expr {
	saved := r.scope
	defer func() { r.scope = saved }()
	c := *e
	c.Clauses = make([]syntax.Node, len(e.Clauses))
	inner := r.scope.within(r, e)
	for i, clause := range e.Clauses {
		switch clause := clause.(type) {
		case *syntax.ForClause:
			cc := *clause
			cc.X = r.expr(clause.X) // the first in the scope outside
			r.scope = inner
			if hasIndex(clause.Vars) {
				r.refuse(clause.For, "a comprehension cannot assign to an element; use a name")
			}
			cc.Vars = r.plainTarget(clause.Vars)
			c.Clauses[i] = &cc
		case *syntax.IfClause:
			cc := *clause
			yes, no := r.branch(clause.If)
			cc.Cond = r.condition(clause.Cond, yes, no)
			c.Clauses[i] = &cc
		}
	}
	if !e.Curly {
		c.Body = r.expr(e.Body)
		return &c
	}
	entry := e.Body.(*syntax.DictEntry)
	pair := &syntax.TupleExpr{Lparen: entry.Colon, List: []syntax.Expr{r.expr(entry.Key), r.expr(entry.Value)}, Rparen: entry.Colon}
	c.Curly, c.Body = false, pair
	return r.help(entry.Colon, "$dictcomp", &c)
}

func (r *rewriter) refuse(pos syntax.Position, msg string) {
	if r.err == nil {
		r.err = &Error{Pos: posOf(pos), Msg: msg, Code: "E0101"}
	}
}

func (r *rewriter) index(e *syntax.IndexExpr) syntax.Expr {
	if r.isConst(e.Y) || r.scope.kind(r, e.Y) >= integer {
		c := *e
		c.X, c.Y = r.expr(e.X), r.expr(e.Y)
		return &c
	}
	return r.help(e.Lbrack, "$index", r.expr(e.X), r.expr(e.Y))
}

func (r *rewriter) slice(e *syntax.SliceExpr) syntax.Expr {
	part := func(x syntax.Expr) syntax.Expr {
		if x == nil {
			return r.none(e.Lbrack)
		}
		return r.expr(x)
	}
	return r.help(e.Lbrack, "$slice", r.expr(e.X), part(e.Lo), part(e.Hi), part(e.Step))
}

// none is None, also in a file that has a variable of that name.
func (r *rewriter) none(pos syntax.Position) syntax.Expr {
	if !r.shadowed("None") {
		return ident(pos, "None")
	}
	if !r.used["$none"] {
		r.used["$none"] = true
		r.order = append(r.order, "$none")
	}
	return ident(pos, hoisted("$none"))
}

func (r *rewriter) call(e *syntax.CallExpr) syntax.Expr {
	c := *e
	positional := 0
	c.Args = make([]syntax.Expr, len(e.Args))
	for i, a := range e.Args {
		c.Args[i] = r.arg(a, &positional)
	}
	dot, ok := e.Fn.(*syntax.DotExpr)
	if !ok {
		c.Fn = r.expr(e.Fn)
		return &c
	}
	helper := "$." + dot.Name.Name
	if helpers[helper] == nil || positional > 253 {
		c.Fn = r.expr(dot)
		return &c
	}
	args := make([]syntax.Expr, 0, len(c.Args)+1)
	call := r.help(e.Lparen, helper, append(append(args, r.expr(dot.X)), c.Args...)...)
	call.Rparen = e.Rparen
	return call
}

// arg rewrites an argument of a call, and counts the positional ones.
func (r *rewriter) arg(a syntax.Expr, positional *int) syntax.Expr {
	switch a := a.(type) {
	case *syntax.BinaryExpr:
		if a.Op == syntax.EQ {
			c := *a
			c.Y = r.expr(a.Y)
			return &c
		}
	case *syntax.UnaryExpr:
		spread := map[syntax.Token]string{syntax.STAR: "$star", syntax.STARSTAR: "$kwstar"}[a.Op]
		if spread != "" {
			c := *a
			c.X = r.help(a.OpPos, spread, r.expr(a.X))
			return &c
		}
	}
	*positional++
	return r.expr(a)
}
