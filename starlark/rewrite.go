package starlark

import (
	"fmt"
	"slices"
	"strconv"

	"go.starlark.net/syntax"

	"github.com/starhost/starhost/internal/starnames"
)

// rewrite changes a tree so that every operation that can amplify becomes a call of a helper, which charges
// before it works. If rewrite returns an error, nobody may use the tree afterwards.
//
// Each call has the position of the operator that it replaces, so that errors have the same positions as in
// the interpreter. An operation that stays without a helper is certainly small: see int_kinds.go. If sites is
// not nil, rewrite also adds probes, and records their places in sites.
func rewrite(f *syntax.File, predeclared func(name string) bool, sites *probeSites) error {
	bound := starnames.Bound(f)
	r := &rewriter{
		isShadowed:      func(name string) bool { return bound[name] || predeclared(name) },
		assignedGlobals: map[string]bool{},
		topLevelControl: f.Options.TopLevelControl,
		sites:           sites,
	}
	r.kinds = r.findIntKinds(f.Stmts, nil)
	f.Stmts = r.bindHelpers(r.stmts(f.Stmts))
	return r.err
}

// A rewriter has the state of one rewrite.
type rewriter struct {
	isShadowed  func(name string) bool // whether the file redefines a name of the universe
	kinds       intKinds               // kinds of the variables of the current function
	nodes       int                    // number of statements and expressions so far
	temporaries int                    // number of temporary variables so far

	topLevelControl bool            // the file may have if and for at the top level
	functionDepth   int             // number of functions around the current statement
	assignedGlobals map[string]bool // names that top-level statements have assigned

	helpers []string // names of the helpers that the file uses, in the order of their first use
	err     error    // the first error

	sites *probeSites // places of probes; nil without coverage
}

// largeBody is the number of nodes from which a function pays for its frame, because the
// interpreter clears the frame at every call.
const largeBody = 256

// bindHelpers assigns the helpers that the file uses to globals, at the start of the file. The
// interpreter reads a global from an array, but a predeclared name from a map.
func (r *rewriter) bindHelpers(stmts []syntax.Stmt) []syntax.Stmt {
	if len(r.helpers) == 0 {
		return stmts
	}
	pos := syntax.Start(stmts[0])
	head := make([]syntax.Stmt, 0, len(r.helpers)+len(stmts))
	for _, name := range r.helpers {
		head = append(head, assign(pos, ident(pos, helperGlobal+name), ident(pos, name)))
	}
	return append(head, stmts...)
}

// helperGlobal is the start of the name of a helper's global.
const helperGlobal = "$g"

// useHelper returns the global of a helper, and records that the file needs it.
func (r *rewriter) useHelper(pos syntax.Position, name string) *syntax.Ident {
	if !slices.Contains(r.helpers, name) {
		r.helpers = append(r.helpers, name)
	}
	return ident(pos, helperGlobal+name)
}

// callHelper returns a call of a helper.
func (r *rewriter) callHelper(pos syntax.Position, name string, args ...syntax.Expr) *syntax.CallExpr {
	return &syntax.CallExpr{Fn: r.useHelper(pos, name), Lparen: pos, Args: args, Rparen: pos}
}

func ident(pos syntax.Position, name string) *syntax.Ident {
	return &syntax.Ident{NamePos: pos, Name: name}
}

func assign(pos syntax.Position, lhs, rhs syntax.Expr) *syntax.AssignStmt {
	return &syntax.AssignStmt{OpPos: pos, Op: syntax.EQ, LHS: lhs, RHS: rhs}
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
		if r.sites != nil && isCounted(s) {
			out = append(out, r.lineProbeStmt(syntax.Start(s)))
		}
		out = r.stmt(out, s)
	}
	return out
}

// stmt appends the statements that replace s to out.
func (r *rewriter) stmt(out []syntax.Stmt, s syntax.Stmt) []syntax.Stmt {
	r.nodes++
	switch s := s.(type) {
	case *syntax.AssignStmt:
		if s.Op != syntax.EQ {
			return append(r.declareGlobal(out, s), r.augmentStmt(s))
		}
		return r.assign(out, s)
	case *syntax.ExprStmt:
		s.X = r.expr(s.X)
	case *syntax.IfStmt:
		s.Cond = r.condition(s.If, s.Cond)
		s.True, s.False = r.stmts(s.True), r.stmts(s.False)
	case *syntax.ForStmt:
		r.forStmt(s)
	case *syntax.WhileStmt:
		s.Cond, s.Body = r.expr(s.Cond), r.stmts(s.Body)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			s.Result = r.returnValue(r.expr(s.Result))
		}
	case *syntax.DefStmt:
		r.def(s)
	}
	return append(out, s) // break, continue, pass and load stay
}

// returnValue returns the operand of a return statement: nil if e is None, because a return without
// an operand needs no lookup of the name.
func (r *rewriter) returnValue(e syntax.Expr) syntax.Expr {
	if id, ok := e.(*syntax.Ident); ok && id.Name == "None" && !r.isShadowed("None") {
		return nil
	}
	return e
}

func (r *rewriter) forStmt(s *syntax.ForStmt) {
	s.X = r.expr(s.X)
	vars, stores := r.target(s.Vars)
	s.Vars = vars
	s.Body = append(stores, r.stmts(s.Body)...)
}

func (r *rewriter) def(s *syntax.DefStmt) {
	r.params(s.Params)
	saved, start := r.kinds, r.nodes
	r.kinds = r.findIntKinds(s.Body, s.Params)
	r.functionDepth++
	s.Body = r.stmts(s.Body)
	r.functionDepth--
	r.kinds = saved
	if enter := r.frameCharge(s.Def, r.nodes-start, s.Params); enter != nil {
		s.Body = afterDoc(s.Body, &syntax.ExprStmt{X: enter})
	}
}

// frameCharge returns the call with which a function pays for its frame, or nil if the frame is
// small.
func (r *rewriter) frameCharge(pos syntax.Position, nodes int, params []syntax.Expr) syntax.Expr {
	steps, bytes := 0, 0
	if nodes > largeBody {
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
	return r.callHelper(pos, "$enter", intLiteral(pos, steps), intLiteral(pos, bytes))
}

// afterDoc inserts s at the start of a body, after its doc string.
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

func (r *rewriter) params(list []syntax.Expr) {
	saved := r.sites
	r.sites = nil // defaults count with the def
	defer func() { r.sites = saved }()
	for _, p := range list {
		switch p := p.(type) {
		case *syntax.BinaryExpr: // name=default
			p.X, p.Y = r.expr(p.X), r.expr(p.Y)
		case *syntax.UnaryExpr: // *name, **name, *
			if p.X != nil {
				p.X = r.expr(p.X)
			}
		default:
			r.expr(p) // a name
		}
	}
}

// ---- assignments ----

// declareGlobal declares the name of x += 1 as a global, if no statement before assigns it. The rewriter
// turns x += 1 into a plain assignment, whose right side would find a predeclared name x; the interpreter
// reports that the global has no value. An assignment that never runs is enough to declare it.
func (r *rewriter) declareGlobal(out []syntax.Stmt, s *syntax.AssignStmt) []syntax.Stmt {
	id, ok := unparen(s.LHS).(*syntax.Ident)
	if !ok || r.functionDepth > 0 || r.assignedGlobals[id.Name] || !r.topLevelControl {
		return out
	}
	r.assignedGlobals[id.Name] = true
	never := assign(s.OpPos, ident(id.NamePos, id.Name), intLiteral(s.OpPos, 0))
	return append(out, &syntax.IfStmt{If: id.NamePos, Cond: intLiteral(id.NamePos, 0), True: []syntax.Stmt{never}})
}

func (r *rewriter) augmentStmt(s *syntax.AssignStmt) syntax.Stmt {
	switch lhs := unparen(s.LHS).(type) {
	case *syntax.Ident:
		if r.kinds.isNativeAugment(r, s) {
			s.LHS, s.RHS = r.expr(s.LHS), r.expr(s.RHS)
			return s
		}
		call := r.callHelper(s.OpPos, "$i"+s.Op.String(), r.expr(lhs), r.expr(s.RHS))
		return assign(s.OpPos, ident(lhs.NamePos, lhs.Name), call)
	case *syntax.IndexExpr:
		ref := r.callHelper(lhs.Lbrack, "$ref", r.expr(lhs.X), r.expr(lhs.Y))
		return r.augmentTargetStmt(s, ref)
	case *syntax.DotExpr:
		ref := r.callHelper(lhs.Dot, "$fref", r.expr(lhs.X), stringLiteral(lhs.Dot, lhs.Name.Name))
		return r.augmentTargetStmt(s, ref)
	}
	return s // the resolver reports the error
}

func (r *rewriter) augmentTargetStmt(s *syntax.AssignStmt, ref syntax.Expr) syntax.Stmt {
	return &syntax.ExprStmt{X: r.callHelper(s.OpPos, "$aug", stringLiteral(s.OpPos, s.Op.String()), ref, r.expr(s.RHS))}
}

func (r *rewriter) assign(out []syntax.Stmt, s *syntax.AssignStmt) []syntax.Stmt {
	s.RHS = r.expr(s.RHS)
	if r.functionDepth == 0 {
		starnames.AddTarget(r.assignedGlobals, s.LHS)
	}
	if x, ok := unparen(s.LHS).(*syntax.IndexExpr); ok {
		return append(out, r.storeStmt(x, s.RHS))
	}
	lhs, stores := r.target(s.LHS)
	s.LHS = lhs
	return append(append(out, s), stores...)
}

// storeStmt returns the call that replaces x[k] = v.
func (r *rewriter) storeStmt(x *syntax.IndexExpr, v syntax.Expr) syntax.Stmt {
	return &syntax.ExprStmt{X: r.callHelper(x.Lbrack, "$setindex", v, r.expr(x.X), r.expr(x.Y))}
}

// target rewrites the target of an assignment. If the target contains an element x[k], temporaries
// replace all its leaves, and target returns statements that assign the temporaries to the leaves
// in order.
func (r *rewriter) target(e syntax.Expr) (syntax.Expr, []syntax.Stmt) {
	if !hasIndex(e) {
		return r.plainTarget(e), nil
	}
	var stores []syntax.Stmt
	return r.leaves(e, func(leaf syntax.Expr) syntax.Expr {
		r.temporaries++
		pos, _ := leaf.Span()
		temp := fmt.Sprintf("$t%d", r.temporaries)
		if x, ok := leaf.(*syntax.IndexExpr); ok {
			stores = append(stores, r.storeStmt(x, ident(pos, temp)))
		} else {
			stores = append(stores, assign(pos, r.plainLeaf(leaf), ident(pos, temp)))
		}
		return ident(pos, temp)
	}), stores
}

func (r *rewriter) plainTarget(e syntax.Expr) syntax.Expr { return r.leaves(e, r.plainLeaf) }

// plainLeaf rewrites an assigned name or field.
func (r *rewriter) plainLeaf(e syntax.Expr) syntax.Expr {
	if d, ok := e.(*syntax.DotExpr); ok {
		d.X = r.expr(d.X)
		return d
	}
	return r.expr(e)
}

// leaves replaces each leaf of a target by the result of f.
func (r *rewriter) leaves(e syntax.Expr, f func(syntax.Expr) syntax.Expr) syntax.Expr {
	each := func(list []syntax.Expr) {
		for i, x := range list {
			list[i] = r.leaves(x, f)
		}
	}
	switch e := e.(type) {
	case *syntax.ParenExpr:
		e.X = r.leaves(e.X, f)
		return e
	case *syntax.TupleExpr:
		each(e.List)
		return e
	case *syntax.ListExpr:
		each(e.List)
		return e
	}
	return f(e)
}

// hasIndex reports whether a target contains an element x[k].
func hasIndex(e syntax.Expr) bool {
	switch e := unparen(e).(type) {
	case *syntax.IndexExpr:
		return true
	case *syntax.TupleExpr:
		return slices.ContainsFunc(e.List, hasIndex)
	case *syntax.ListExpr:
		return slices.ContainsFunc(e.List, hasIndex)
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
	for i, x := range list {
		list[i] = r.expr(x)
	}
	return list
}

// expr returns the expression that replaces e.
func (r *rewriter) expr(e syntax.Expr) syntax.Expr {
	r.nodes++
	switch e := e.(type) {
	case *syntax.ParenExpr:
		e.X = r.expr(e.X)
	case *syntax.ListExpr:
		r.exprs(e.List)
	case *syntax.TupleExpr:
		r.exprs(e.List)
	case *syntax.CondExpr:
		e.Cond, e.True, e.False = r.condition(e.If, e.Cond), r.expr(e.True), r.expr(e.False)
	case *syntax.UnaryExpr:
		return r.unary(e)
	case *syntax.BinaryExpr:
		return r.binary(e)
	case *syntax.LambdaExpr:
		r.lambda(e)
	case *syntax.DictExpr:
		return r.dict(e)
	case *syntax.Comprehension:
		return r.comprehension(e)
	case *syntax.DotExpr:
		return r.callHelper(e.Dot, "$attr", r.expr(e.X), stringLiteral(e.NamePos, e.Name.Name))
	case *syntax.IndexExpr:
		return r.index(e)
	case *syntax.SliceExpr:
		return r.slice(e)
	case *syntax.CallExpr:
		return r.call(e)
	}
	return e // names and literals stay
}

func (r *rewriter) unary(e *syntax.UnaryExpr) syntax.Expr {
	if e.X == nil {
		return e
	}
	small := r.kinds.kind(r, e.X) >= boundedSum
	e.X = r.expr(e.X)
	switch {
	case small:
		return e
	case e.Op == syntax.MINUS:
		return r.callHelper(e.OpPos, "$neg", e.X)
	case e.Op == syntax.TILDE:
		return r.callHelper(e.OpPos, "$~", e.X)
	}
	return e
}

func (r *rewriter) binary(e *syntax.BinaryExpr) syntax.Expr {
	if terms := r.textTerms(e); terms != nil {
		return r.callHelper(e.OpPos, "$sum", r.exprs(terms)...)
	}
	native := r.isNative(e)
	e.X, e.Y = r.expr(e.X), r.expr(e.Y)
	if native {
		return e
	}
	return r.callHelper(e.OpPos, "$"+e.Op.String(), e.X, e.Y)
}

func (r *rewriter) lambda(e *syntax.LambdaExpr) {
	r.params(e.Params)
	saved, start := r.kinds, r.nodes
	r.kinds = intKinds{}
	e.Body = r.expr(e.Body)
	r.kinds = saved
	if enter := r.frameCharge(e.Lambda, r.nodes-start, e.Params); enter != nil {
		both := &syntax.TupleExpr{Lparen: e.Lambda, List: []syntax.Expr{enter, e.Body}, Rparen: e.Lambda}
		e.Body = &syntax.IndexExpr{X: both, Lbrack: e.Lambda, Y: intLiteral(e.Lambda, 1), Rbrack: e.Lambda}
	}
}

func (r *rewriter) dict(e *syntax.DictExpr) syntax.Expr {
	if len(e.List) == 0 {
		return r.callHelper(e.Lbrace, "$dict")
	}
	for i, x := range e.List {
		entry := x.(*syntax.DictEntry)
		plain := r.isConst(entry.Key) || r.kinds.kind(r, entry.Key) >= anyInt
		entry.Key = r.expr(entry.Key)
		switch {
		case i == 0:
			entry.Key = r.callHelper(entry.Colon, "$entry", entry.Key, intLiteral(entry.Colon, len(e.List)))
		case !plain:
			entry.Key = r.callHelper(entry.Colon, "$key", entry.Key)
		}
		entry.Value = r.expr(entry.Value)
	}
	return e
}

func (r *rewriter) comprehension(e *syntax.Comprehension) syntax.Expr {
	saved := r.kinds
	defer func() { r.kinds = saved }()
	inner := r.kinds.insideComprehension(r, e)
	for _, clause := range e.Clauses {
		switch c := clause.(type) {
		case *syntax.ForClause:
			c.X = r.expr(c.X) // the first clause belongs to the outer scope
			r.kinds = inner
			if hasIndex(c.Vars) {
				r.refuse(c.For, "a comprehension cannot assign to an element; use a name")
			}
			c.Vars = r.plainTarget(c.Vars)
		case *syntax.IfClause:
			c.Cond = r.condition(c.If, c.Cond)
		}
	}
	if !e.Curly {
		e.Body = r.expr(e.Body)
		return e
	}
	entry := e.Body.(*syntax.DictEntry)
	pair := &syntax.TupleExpr{Lparen: entry.Colon, List: []syntax.Expr{r.expr(entry.Key), r.expr(entry.Value)}, Rparen: entry.Colon}
	e.Curly, e.Body = false, pair
	return r.callHelper(entry.Colon, "$dictcomp", e)
}

func (r *rewriter) refuse(pos syntax.Position, msg string) {
	if r.err == nil {
		r.err = &Error{Pos: posOf(pos), Msg: msg, Code: "E0101"}
	}
}

func (r *rewriter) index(e *syntax.IndexExpr) syntax.Expr {
	native := r.isConst(e.Y) || r.kinds.kind(r, e.Y) >= anyInt
	e.X, e.Y = r.expr(e.X), r.expr(e.Y)
	if native {
		return e
	}
	return r.callHelper(e.Lbrack, "$index", e.X, e.Y)
}

func (r *rewriter) slice(e *syntax.SliceExpr) syntax.Expr {
	part := func(x syntax.Expr) syntax.Expr {
		if x == nil {
			return r.noneExpr(e.Lbrack)
		}
		return r.expr(x)
	}
	return r.callHelper(e.Lbrack, "$slice", r.expr(e.X), part(e.Lo), part(e.Hi), part(e.Step))
}

// noneExpr returns the value None, also in a file with a variable of that name.
func (r *rewriter) noneExpr(pos syntax.Position) syntax.Expr {
	if !r.isShadowed("None") {
		return ident(pos, "None")
	}
	return r.useHelper(pos, "$none")
}

func (r *rewriter) call(e *syntax.CallExpr) syntax.Expr {
	positional := 0
	for i, a := range e.Args {
		e.Args[i] = r.arg(a, &positional)
	}
	if dot, ok := e.Fn.(*syntax.DotExpr); ok && positional <= 253 {
		if helper := "$." + dot.Name.Name; helpers()[helper] != nil {
			e.Args = slices.Insert(e.Args, 0, r.expr(dot.X))
			e.Fn = r.useHelper(e.Lparen, helper)
			return e
		}
	}
	e.Fn = r.expr(e.Fn)
	return e
}

// arg rewrites an argument of a call. It counts positional arguments.
func (r *rewriter) arg(a syntax.Expr, positional *int) syntax.Expr {
	switch a := a.(type) {
	case *syntax.BinaryExpr:
		if a.Op == syntax.EQ {
			a.Y = r.expr(a.Y)
			return a
		}
	case *syntax.UnaryExpr:
		if spread := spreadHelpers[a.Op]; spread != "" {
			a.X = r.callHelper(a.OpPos, spread, r.expr(a.X))
			return a
		}
	}
	*positional++
	return r.expr(a)
}

// spreadHelpers has the helpers of *args and **kwargs in a call.
var spreadHelpers = map[syntax.Token]string{syntax.STAR: "$star", syntax.STARSTAR: "$kwstar"}

// condition rewrites the condition of the if or elif at pos. If coverage is measured, it adds a probe.
func (r *rewriter) condition(pos syntax.Position, e syntax.Expr) syntax.Expr {
	if r.sites != nil {
		return r.probeCondition(pos, e)
	}
	return r.expr(e)
}
