package starnames

import (
	"cmp"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// A Pos is a place in a file. Both numbers count from 1, Col in code points.
type Pos struct{ Line, Col int }

func posOf(p syntax.Position) Pos { return Pos{int(p.Line), int(p.Col)} }

// An Outline describes the names of a file to an editor: which variable each name means, and where
// functions, calls and loads are. The resolver that compiles the file decides what a name means.
type Outline struct {
	Variables []Variable // in the order of their definitions
	Functions []Func     // in the order of the file; outer ones before inner ones
	Calls     []Call     // calls of names and of paths such as ctx.http.get
	Loads     []Load
}

// A Kind says how a file defines a variable.
type Kind string

// The kinds of variables.
const (
	Assigned  Kind = "variable"
	Function  Kind = "function"
	Parameter Kind = "parameter"
	Loaded    Kind = "load"
)

// A Variable is a name that a file defines, with all its places.
type Variable struct {
	Name   string
	Kind   Kind
	Global bool // other files can load it, unless its name begins with _
	// Func is the index of the function that contains the definition, or -1.
	Func int
	// From and To bound the variable of a comprehension; they are zero for others.
	From, To Pos
	// Def is the first definition, Uses are all places, with Def.
	Def  Pos
	Uses []Pos
	// Value describes the value, if the file assigns it once.
	Value ValueSource
}

// A ValueSource is the expression of an assignment: a path such as ctx.session.
type ValueSource struct {
	Path   string // "" if the expression is another one
	Called bool   // the value is the result of a call of Path
	Elem   bool   // the value is an element: of a loop, or of an index
}

// A Func is a def or a lambda.
type Func struct {
	Name    string // "" for a lambda
	Outer   int    // the index of the function around it, or -1
	Pos     Pos    // the place of the word def or lambda
	NamePos Pos
	End     Pos
	Params  []Param
	Doc     string
}

// A Param is a parameter, in the form of the source.
type Param struct {
	Name    string // with the stars of *args and **kwargs
	Default string // "" if there is none
	Pos     Pos    // the place of the name
}

// String returns the parameter as a signature shows it.
func (p Param) String() string {
	if p.Default == "" {
		return p.Name
	}
	return p.Name + " = " + p.Default
}

// An Call is a call of a name or a path.
type Call struct {
	Path     string
	Pos, End Pos
	Stmt     bool // it is a statement at the top level
	Args     []Arg
}

// An Arg is an argument of a call.
type Arg struct {
	Name    string // "" for a positional one
	NamePos Pos
	Pos     Pos    // the place of the value
	Text    string // the value of a string literal
	Ident   string // the name that is the argument
	Func    int    // the lambda that is the argument, or -1
}

// An Load is a load statement.
type Load struct {
	Label    string
	Pos, End Pos               // the place of the label, with its quotes
	From     map[string]string // the names in the other file by the names in this one
}

// NewOutline returns the outline of a file. It resolves the tree, which it changes. src is the text
// of the file.
func NewOutline(tree *syntax.File, src string) *Outline {
	predeclared := func(string) bool { return true }
	universal := func(string) bool { return false }
	_ = resolve.File(tree, predeclared, universal) // the names that it resolves count, despite errors
	w := outliner{
		src: strings.SplitAfter(src, "\n"), fn: -1, byFirst: map[*syntax.Ident]int{},
		kinds: map[*syntax.Ident]Kind{}, spans: map[*syntax.Ident]syntax.Node{},
	}
	w.stmts(tree.Stmts, true)
	for i := range w.Variables {
		v := &w.Variables[i]
		slices.SortFunc(v.Uses, comparePos)
		v.Uses = slices.Compact(v.Uses)
	}
	slices.SortFunc(w.Variables, func(a, b Variable) int { return comparePos(a.Def, b.Def) })
	return &w.Outline
}

func comparePos(a, b Pos) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col)) }

// An outliner walks over a resolved tree.
type outliner struct {
	Outline
	src     []string // lines
	fn      int      // the innermost function around the walk, or -1
	byFirst map[*syntax.Ident]int
	kinds   map[*syntax.Ident]Kind
	spans   map[*syntax.Ident]syntax.Node // the comprehensions of their variables
}

func (w *outliner) stmts(list []syntax.Stmt, top bool) {
	for _, stmt := range list {
		if x, ok := stmt.(*syntax.ExprStmt); ok && top {
			if call, ok := x.X.(*syntax.CallExpr); ok {
				w.call(call, true)
				continue
			}
		}
		w.node(stmt)
	}
}

func (w *outliner) node(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Ident:
			w.ident(n)
		case *syntax.DefStmt:
			w.kinds[n.Name] = Function
			w.ident(n.Name)
			f := Func{Name: n.Name.Name, Pos: posOf(n.Def), NamePos: posOf(n.Name.NamePos)}
			w.function(f, n, n.Params, n.Body)
			return false
		case *syntax.LambdaExpr:
			f := Func{Pos: posOf(n.Lambda), NamePos: posOf(n.Lambda)}
			w.function(f, n, n.Params, []syntax.Stmt{&syntax.ExprStmt{X: n.Body}})
			return false
		case *syntax.CallExpr:
			w.call(n, false)
			return false
		case *syntax.Comprehension:
			w.comprehension(n)
			return false
		case *syntax.LoadStmt:
			w.load(n)
			return false
		case *syntax.AssignStmt:
			w.assign(n)
		case *syntax.ForStmt:
			w.elements(n.Vars, n.X)
		}
		return true
	})
}

// ident records one place of a variable. Identifiers without a binding are keywords and members.
func (w *outliner) ident(id *syntax.Ident) {
	b, ok := id.Binding.(*resolve.Binding)
	if !ok || b.First == nil || b.Scope < resolve.Local || b.Scope > resolve.Global {
		return
	}
	i, seen := w.byFirst[b.First]
	if !seen {
		i = len(w.Variables)
		w.byFirst[b.First] = i
		w.Variables = append(w.Variables, Variable{
			Name: id.Name, Kind: cmp.Or(w.kinds[b.First], Assigned), Global: b.Scope == resolve.Global,
			Func: -1, Def: posOf(b.First.NamePos),
		})
	}
	v := &w.Variables[i]
	v.Uses = append(v.Uses, posOf(id.NamePos))
	if id != b.First {
		return
	}
	v.Func, v.Kind = w.fn, cmp.Or(w.kinds[id], Assigned)
	if span := w.spans[id]; span != nil {
		start, end := span.Span()
		v.From, v.To = posOf(start), posOf(end)
	}
}

// function adds a def or a lambda, of which f has the places, and walks over it.
func (w *outliner) function(f Func, n syntax.Node, params []syntax.Expr, body []syntax.Stmt) {
	_, end := n.Span()
	f.Outer, f.End, f.Doc = w.fn, posOf(end), docOf(body)
	at := len(w.Functions)
	w.Functions = append(w.Functions, f)
	var idents []*syntax.Ident
	for _, p := range params {
		param, id := w.param(p)
		w.Functions[at].Params = append(w.Functions[at].Params, param)
		if id != nil {
			idents = append(idents, id)
		}
	}
	outer := w.fn
	w.fn = at
	for _, id := range idents {
		w.kinds[id] = Parameter
		w.ident(id)
	}
	w.stmts(body, false)
	w.fn = outer
}

// param returns a parameter and its name, nil for a lone star. It walks over the default.
func (w *outliner) param(p syntax.Expr) (Param, *syntax.Ident) {
	switch p := p.(type) {
	case *syntax.Ident:
		return Param{Name: p.Name, Pos: posOf(p.NamePos)}, p
	case *syntax.BinaryExpr:
		w.node(p.Y)
		id, ok := p.X.(*syntax.Ident)
		if !ok {
			break
		}
		return Param{Name: id.Name, Default: w.text(p.Y), Pos: posOf(id.NamePos)}, id
	case *syntax.UnaryExpr:
		id, ok := p.X.(*syntax.Ident)
		if !ok {
			return Param{Name: p.Op.String(), Pos: posOf(p.OpPos)}, nil
		}
		return Param{Name: p.Op.String() + id.Name, Pos: posOf(id.NamePos)}, id
	}
	return Param{}, nil
}

// maxDefault is the most bytes of a default that an outline shows.
const maxDefault = 80

// text returns the source of a short expression on one line.
func (w *outliner) text(x syntax.Expr) string {
	start, end := x.Span()
	if start.Line != end.Line || int(start.Line) > len(w.src) {
		return "..."
	}
	line := []rune(w.src[start.Line-1])
	from, to := int(start.Col)-1, int(end.Col)-1
	if from < 0 || to > len(line) || from > to || to-from > maxDefault {
		return "..."
	}
	return string(line[from:to])
}

// docOf returns the docstring of a function's body, "" if it has none.
func docOf(body []syntax.Stmt) string {
	if x, ok := body[0].(*syntax.ExprStmt); ok {
		if lit, ok := x.X.(*syntax.Literal); ok && lit.Token == syntax.STRING {
			return lit.Value.(string)
		}
	}
	return ""
}

func (w *outliner) call(n *syntax.CallExpr, stmt bool) {
	w.node(n.Fn)
	c := Call{Path: dottedPath(n.Fn), Stmt: stmt}
	start, end := n.Span()
	c.Pos, c.End = posOf(start), posOf(end)
	at := len(w.Calls)
	if c.Path != "" {
		w.Calls = append(w.Calls, c)
	}
	var args []Arg
	for _, arg := range n.Args {
		a := Arg{Func: -1}
		if bin, ok := arg.(*syntax.BinaryExpr); ok && bin.Op == syntax.EQ {
			if id, ok := bin.X.(*syntax.Ident); ok {
				a.Name, a.NamePos = id.Name, posOf(id.NamePos)
			}
			arg = bin.Y
		}
		start, _ := arg.Span()
		a.Pos = posOf(start)
		switch x := arg.(type) {
		case *syntax.Literal:
			a.Text, _ = x.Value.(string)
		case *syntax.Ident:
			a.Ident = x.Name
		case *syntax.LambdaExpr:
			a.Func = len(w.Functions)
		}
		w.node(arg)
		args = append(args, a)
	}
	if c.Path != "" {
		w.Calls[at].Args = args
	}
}

func (w *outliner) comprehension(n *syntax.Comprehension) {
	for _, clause := range n.Clauses {
		if c, ok := clause.(*syntax.ForClause); ok {
			syntax.Walk(c.Vars, func(x syntax.Node) bool {
				if id, ok := x.(*syntax.Ident); ok {
					w.spans[id] = n
				}
				return true
			})
		}
	}
	for _, clause := range n.Clauses {
		w.node(clause)
		if c, ok := clause.(*syntax.ForClause); ok {
			w.elements(c.Vars, c.X)
		}
	}
	w.node(n.Body)
}

func (w *outliner) load(n *syntax.LoadStmt) {
	start, end := n.Module.Span()
	l := Load{Label: n.ModuleName(), Pos: posOf(start), End: posOf(end), From: map[string]string{}}
	for i, to := range n.To {
		w.kinds[to] = Loaded
		w.ident(to)
		l.From[to.Name] = n.From[i].Name
	}
	w.Loads = append(w.Loads, l)
}

// assign records the value of a variable that a file assigns.
func (w *outliner) assign(n *syntax.AssignStmt) {
	value := sourceOf(n.RHS)
	if n.Op != syntax.EQ {
		value = ValueSource{}
	}
	w.setValue(n.LHS, value)
}

// elements records that a loop assigns the elements of x.
func (w *outliner) elements(vars, x syntax.Expr) {
	value := sourceOf(x)
	value.Elem = value.Path != ""
	w.setValue(vars, value)
}

// setValue records the value of a single name. A second assignment makes the value unclear.
func (w *outliner) setValue(target syntax.Expr, value ValueSource) {
	id, ok := target.(*syntax.Ident)
	if !ok {
		return
	}
	w.ident(id)
	b, ok := id.Binding.(*resolve.Binding)
	if !ok || b.First == nil {
		return
	}
	if i, ok := w.byFirst[b.First]; ok {
		if b.First != id {
			value = ValueSource{}
		}
		w.Variables[i].Value = value
	}
}

// sourceOf describes the value of an expression.
func sourceOf(x syntax.Expr) ValueSource {
	switch x := x.(type) {
	case *syntax.CallExpr:
		return ValueSource{Path: dottedPath(x.Fn), Called: true}
	case *syntax.IndexExpr:
		path := dottedPath(x.X)
		return ValueSource{Path: path, Elem: path != ""}
	}
	return ValueSource{Path: dottedPath(x)}
}

// dottedPath returns a chain of names such as ctx.http.get, "" for any other expression.
func dottedPath(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Ident:
		return x.Name
	case *syntax.DotExpr:
		if path := dottedPath(x.X); path != "" {
			return path + "." + x.Name.Name
		}
	}
	return ""
}
