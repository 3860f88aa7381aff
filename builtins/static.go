package builtins

import (
	"slices"

	"go.starlark.net/syntax"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/starnames"
)

// A Text is a file that [Check] and [ReadManifest] read without running it. Note returns the result of find,
// which a Text may cache. So the result must depend only on the file's name and syntax, and each function
// find has a kind of its own. A *starlark.File is a Text.
type Text interface {
	Name() string
	Note(kind string, find func(*syntax.File) (any, error)) (any, error)
}

// Check reports mistakes that the text of a file shows before it runs: a plugin(...) that
// cannot be read, and a decision whose value is dropped. The error has a place.
// [Recorder.Check] also prepares the registrations.
func Check(f Text) error {
	_, err := checkText(f)
	return err
}

// checkText returns which functions of a file capture variables, because registrations refuse these, and what
// its functions can decide. If the file's text shows a mistake, checkText returns that as an error.
func checkText(f Text) (found checkedText, err error) {
	if _, err := ReadManifest(f); err != nil {
		return found, err
	}
	note, err := f.Note("captures and decisions", func(f *syntax.File) (any, error) {
		if err := checkDecisions(f); err != nil {
			return nil, err
		}
		return checkedText{captures(f), decidesOf(f)}, nil
	})
	if err != nil {
		return found, err
	}
	return note.(checkedText), nil
}

// A checkedText is what the text of a file shows before the file runs.
type checkedText struct {
	Captures []capture
	Decides  []string // what the functions can decide, as in [starhost.Plugin.Decides]
}

// decidesOf returns what the functions of a file can decide on events that are no guard events.
func decidesOf(f *syntax.File) (decides []string) {
	called := map[*syntax.Ident]bool{} // names in call position that were read already
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if id, ok := n.Fn.(*syntax.Ident); ok && id.Name == "modify" {
				called[id] = true
				for _, arg := range n.Args {
					decides = append(decides, "modify "+keywordOf(arg))
				}
			}
		case *syntax.Ident:
			switch {
			case n.Name == "abort":
				decides = append(decides, "abort")
			case n.Name == "modify" && !called[n]:
				decides = append(decides, "modify *")
			}
		}
		return true
	})
	slices.Sort(decides)
	return slices.Compact(decides)
}

// keywordOf returns the name of a keyword argument, "*" for any other argument.
func keywordOf(arg syntax.Expr) string {
	if bin, ok := arg.(*syntax.BinaryExpr); ok && bin.Op == syntax.EQ {
		if id, ok := bin.X.(*syntax.Ident); ok {
			return id.Name
		}
	}
	return "*"
}

// decisionNames are the builtins that make a decision.
var decisionNames = []string{"abort", "approve", "ask", "deny", "end_session", "modify", "respond"}

// checkDecisions returns an error if a decision is a statement of its own, because the author forgot the
// return. It ignores names that the file itself defines.
func checkDecisions(f *syntax.File) error {
	var err error
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ExprStmt:
			if name := droppedDecision(n); name != "" && err == nil && !starnames.Bound(f)[name] {
				start, _ := n.Span()
				err = call.Errorf("E0310", "%s(...) decides nothing as a separate statement: write return %s(...)", name, name).At(start)
			}
			return false
		case syntax.Expr: // expressions contain no statements
			return false
		}
		return err == nil
	})
	return err
}

// droppedDecision returns the name of the decision that a statement makes and drops, or "".
func droppedDecision(stmt *syntax.ExprStmt) string {
	for _, name := range decisionNames {
		if callOf(stmt, name) != nil {
			return name
		}
	}
	return ""
}

// A capture is a function inside a loop whose body uses a name that the loop binds. If somebody calls the
// function after the loop, it sees the last value of the name.
type capture struct {
	Line, Col int // position of the function
	Name      string
	Loop      starhost.Pos
}

// captures returns the captures in a file. For each function it returns the last one. A capture is no mistake
// by itself: only registered functions are called after their loop.
func captures(f *syntax.File) []capture {
	w := captureWalk{scope: &captureScope{}}
	w.stmts(f.Stmts)
	return w.found
}

// A captureScope is the file, or one of its functions, while the walk is in it.
type captureScope struct {
	outer *captureScope
	fn    starhost.Pos
	names map[string]bool // the names that the scope itself binds
	loops []captureLoop   // the loops around the place where the walk is
}

// A captureLoop is a loop or a comprehension, with the names that it binds.
type captureLoop struct {
	pos   starhost.Pos
	names map[string]bool
}

type captureWalk struct {
	scope *captureScope
	open  int       // how many loops are around the place where the walk is, in all scopes
	found []capture // if a function has several captures, the last one counts
}

// use notes that the name is used here. Every function between this place and the loop that binds the name
// captures it.
func (w *captureWalk) use(name string) {
	if w.open == 0 {
		return
	}
	var inner []starhost.Pos
	for s := w.scope; s != nil; s = s.outer {
		for _, loop := range slices.Backward(s.loops) {
			if loop.names[name] {
				for _, fn := range inner {
					w.found = append(w.found, capture{fn.Line, fn.Col, name, loop.pos})
				}
				return
			}
		}
		if s.names[name] {
			return
		}
		inner = append(inner, s.fn)
	}
}

// function walks a def with its statements, or a lambda. The defaults of parameters belong to the scope
// around the function.
func (w *captureWalk) function(fn syntax.Position, params []syntax.Expr, stmts []syntax.Stmt, body func()) {
	for _, p := range params {
		if bin, ok := p.(*syntax.BinaryExpr); ok {
			w.node(bin.Y)
		}
	}
	outer := w.scope
	w.scope = &captureScope{outer: outer, fn: posOf(fn)}
	if w.open > 0 { // without an open loop, no name can be captured
		w.scope.names = map[string]bool{}
		starnames.AddParams(w.scope.names, params)
		for _, stmt := range stmts {
			starnames.AddScope(w.scope.names, stmt)
		}
	}
	body()
	w.scope = outer
}

// loop walks body as the body of a loop that binds names.
func (w *captureWalk) loop(pos syntax.Position, names map[string]bool, body func()) {
	s := w.scope
	s.loops = append(s.loops, captureLoop{posOf(pos), names})
	w.open++
	body()
	w.open--
	s.loops = s.loops[:len(s.loops)-1]
}

func (w *captureWalk) stmts(list []syntax.Stmt) {
	for _, stmt := range list {
		w.node(stmt)
	}
}

func (w *captureWalk) node(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Ident:
			w.use(n.Name)
		case *syntax.DotExpr: // the name after the point is no variable
			w.node(n.X)
			return false
		case *syntax.CallExpr:
			w.call(n)
			return false
		case *syntax.DefStmt:
			w.function(n.Def, n.Params, n.Body, func() { w.stmts(n.Body) })
			return false
		case *syntax.LambdaExpr:
			w.function(n.Lambda, n.Params, nil, func() { w.node(n.Body) })
			return false
		case *syntax.ForStmt:
			w.node(n.X)
			names := map[string]bool{}
			starnames.AddScope(names, n)
			w.loop(n.For, names, func() { w.stmts(n.Body) })
			return false
		case *syntax.Comprehension:
			w.comprehension(n)
			return false
		}
		return true
	})
}

// call walks the arguments of a call. It skips the names of keyword arguments.
func (w *captureWalk) call(n *syntax.CallExpr) {
	w.node(n.Fn)
	for _, arg := range n.Args {
		if bin, ok := arg.(*syntax.BinaryExpr); ok && bin.Op == syntax.EQ {
			arg = bin.Y
		}
		w.node(arg)
	}
}

func (w *captureWalk) comprehension(n *syntax.Comprehension) {
	names := map[string]bool{}
	for _, clause := range n.Clauses {
		if c, ok := clause.(*syntax.ForClause); ok {
			starnames.AddTarget(names, c.Vars)
		}
	}
	start, _ := n.Span()
	w.loop(start, names, func() {
		for _, clause := range n.Clauses {
			switch c := clause.(type) {
			case *syntax.ForClause:
				w.node(c.X)
			case *syntax.IfClause:
				w.node(c.Cond)
			}
		}
		w.node(n.Body)
	})
}
