package starlark

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/internal/starnames"
)

// replName is the file that positions in a REPL name. Its lines are those that
// were read.
const replName = "repl"

// replDialect is the language of a REPL: what a load statement binds is there
// in later statements too.
var replDialect = func() syntax.FileOptions {
	o := dialect
	o.LoadBindsGlobally = true
	return o
}()

// A REPL evaluates what a person types, statement by statement: [REPL.Read], then
// [REPL.Run]. Each statement has a budget of its own. What it binds later ones see
// and may bind again; a function keeps seeing what was bound when it was defined.
// Nothing is frozen. A REPL is used by one goroutine at a time.
type REPL struct {
	// Load is what load statements ask, as in [Exec]; nil refuses them.
	Load func(from, label string) (name string, src []byte, err error)

	sandbox     *Sandbox
	nextLine    func(more bool) (string, error)
	names       starlark.StringDict // over the defined ones
	modules     []*Module           // that it uses
	lines       []byte              // of all lines that were read
	pendingLine string              // a line that was read and belongs to the next statement
}

// REPL returns a REPL that reads lines with next, with or without their ends; more
// says that a statement goes on. The end is [io.EOF].
func (s *Sandbox) REPL(next func(more bool) (string, error)) *REPL {
	return &REPL{sandbox: s, nextLine: next, names: starlark.StringDict{}}
}

// Use gives the statements to come the names that m's file has, over those they
// have, but not what it loads.
func (r *REPL) Use(m *Module) {
	r.modules = append(r.modules, m)
	r.Set(m.env)
	r.Set(m.Globals)
}

// Set gives the statements to come names, over those they have. No function of the
// host is among them: those are given with their cost to [Sandbox.Define].
func (r *REPL) Set(names starlark.StringDict) { maps.Copy(r.names, names) }

// An Input is what is evaluated at once: a block with all its lines, or the
// statements on one line; of a blank line nothing.
type Input struct{ file *File }

// Callee returns the name of the function if the input is a call of one and
// nothing else, else "".
func (in *Input) Callee() string {
	stmts := in.file.tree.Stmts
	if len(stmts) != 1 {
		return ""
	}
	x, _ := stmts[0].(*syntax.ExprStmt)
	if x == nil {
		return ""
	}
	call, _ := x.X.(*syntax.CallExpr)
	if call == nil {
		return ""
	}
	if fn, ok := call.Fn.(*syntax.Ident); ok {
		return fn.Name
	}
	return ""
}

// Mentions reports whether a name stands anywhere in the input.
func (in *Input) Mentions(name string) bool {
	found := false
	syntax.Walk(in.file.tree, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// Text returns the lines of the input.
func (in *Input) Text() string { return strings.TrimLeft(string(in.file.src), "\n") }

// Read reads one input. A block ends at a blank line, or before a line that is
// not indented. The error is an [*Error], of what cannot be parsed, or that of
// next; after either the next line begins anew.
func (r *REPL) Read() (*Input, error) {
	begin := len(r.lines)
	stopped := r.readStatement()
	if stopped != nil && !(stopped == io.EOF && len(r.lines) > begin) {
		return nil, stopped
	}
	// What came before is left out, but its lines count.
	above := strings.Repeat("\n", strings.Count(string(r.lines[:begin]), "\n"))
	f, err := r.sandbox.parseUncached(replName, []byte(above+string(r.lines[begin:])))
	if err != nil {
		return nil, Locate(err, r.source)
	}
	return &Input{f}, nil
}

// readStatement reads lines until they make up a statement, or cannot be the
// beginning of one. The error is that of next.
func (r *REPL) readStatement() (stopped error) {
	begin, last := len(r.lines), len(r.lines)
	f, _ := r.sandbox.dialect.ParseCompoundStmt(replName, func() ([]byte, error) {
		line, err := r.readLine(len(r.lines) > begin)
		if err != nil {
			stopped = err
			return nil, err
		}
		last = len(r.lines)
		r.lines = append(r.lines, line...)
		if int64(len(r.lines)-begin) > r.sandbox.limits.Source {
			return nil, io.EOF // whoever parses it says so
		}
		return []byte(line), nil
	})
	if f != nil && isBlock(f) && last > begin && len(strings.TrimSpace(string(r.lines[last:]))) > 0 {
		r.pendingLine = string(r.lines[last:])
		r.lines = r.lines[:last]
	}
	return stopped
}

// isBlock reports whether a statement takes a line behind it to end it.
func isBlock(f *syntax.File) bool {
	if len(f.Stmts) != 1 {
		return false
	}
	switch f.Stmts[0].(type) {
	case *syntax.DefStmt, *syntax.IfStmt, *syntax.ForStmt, *syntax.WhileStmt:
		return true
	}
	return false
}

// readLine returns the next line with its end.
func (r *REPL) readLine(more bool) (string, error) {
	if r.pendingLine != "" {
		line := r.pendingLine
		r.pendingLine = ""
		return line, nil
	}
	line, err := r.nextLine(more)
	if line == "" && err != nil {
		return "", err
	}
	return strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\r", "\n") + "\n", nil
}

// source returns the text of a file for an error.
func (r *REPL) source(file string) string {
	if file == replName {
		return string(r.lines)
	}
	text := r.sandbox.sources.text(file)
	for _, m := range r.modules {
		text = cmp.Or(text, m.sources.text(file))
	}
	return text
}

// Run evaluates an input. It returns the text of its value, as repr gives it, if
// its last statement is an expression that is not None, else "". What it bound
// before an error stays. The error is an [*Error], or nil.
func (r *REPL) Run(ctx context.Context, in *Input) (value string, usage Usage, err error) {
	w, err := r.sandbox.startRun(ctx)
	if err != nil {
		return "", Usage{}, Locate(err, r.source)
	}
	value, err = w.runInput(r, in.file)
	usage, err = w.endRun(err)
	if err != nil {
		return "", usage, Locate(err, r.source)
	}
	return value, usage, nil
}

// runInput runs an input, and returns the text of its value.
func (w *worker) runInput(r *REPL, f *File) (_ string, err error) {
	defer w.recoverPanic(&err)
	if len(f.tree.Stmts) == 0 {
		return "", nil
	}
	if f, err = w.sandbox.parseUncached(f.name, f.src); err != nil { // the tree is the Input's
		return "", err
	}
	f, names := r.bindNames(f)
	program, _, err := w.sandbox.compile(f, names, nil)
	if err != nil {
		return "", err
	}
	w.loader = &loader{Exec: Exec{Load: r.Load}, modules: map[string]starlark.StringDict{}}
	w.fileStack = []string{replName}
	globals, err := program.Init(&w.thread, mergeNames(w.sandbox.env, names))
	for name, v := range globals {
		if name[0] != '$' {
			r.names[name] = v
		}
	}
	if err != nil {
		return "", err
	}
	return w.formatResult(globals[exprResult])
}

// bindNames returns f with its last expression assigned to exprResult, and the names
// that it binds bound to what they are now: x += 1 goes on from there. The names
// are those that the result may use.
func (r *REPL) bindNames(f *File) (*File, starlark.StringDict) {
	tree, names := *f.tree, maps.Clone(r.names)
	tree.Options = &replDialect
	tree.Stmts = nil
	pos := syntax.Start(f.tree.Stmts[0])
	for _, name := range slices.Sorted(maps.Keys(starnames.Bound(f.tree))) {
		if v, ok := r.names[name]; ok {
			before := "$before." + name
			names[before] = v
			tree.Stmts = append(tree.Stmts, assign(pos, ident(pos, name), ident(pos, before)))
		}
	}
	tree.Stmts = append(tree.Stmts, f.tree.Stmts...)
	last := len(tree.Stmts) - 1
	if x, ok := tree.Stmts[last].(*syntax.ExprStmt); ok {
		tree.Stmts[last] = assign(pos, ident(pos, exprResult), x.X)
	}
	return &File{name: f.name, src: f.src, tree: &tree}, names
}

// formatResult returns the text of a value that is shown: of None none.
func (w *worker) formatResult(v starlark.Value) (string, error) {
	if v == nil || v == starlark.None {
		return "", nil
	}
	return w.repr(v)
}

// repr returns the text of a value. It is paid for as that of repr and print.
func (w *worker) repr(v starlark.Value) (string, error) {
	text, err := starlark.Call(&w.thread, universe()["repr"], starlark.Tuple{v}, nil)
	if err != nil {
		return "", err
	}
	s := string(text.(starlark.String))
	if !w.payOutput(s) {
		return "", w.stopCause
	}
	return s, nil
}
