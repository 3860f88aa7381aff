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

// replName is the file in the positions of a REPL's input. Its lines are the lines that the REPL
// has read.
const replName = "repl"

// replDialect is the language of a REPL. Names that a load statement binds are visible in later
// statements.
var replDialect = func() syntax.FileOptions {
	o := dialect
	o.LoadBindsGlobally = true
	return o
}()

// A REPL evaluates the input of a person, statement by statement: [REPL.Read], then [REPL.Run].
// Each statement has its own budget. Later statements see its bindings and may replace them, but a
// function continues to use the values from the time of its definition. The REPL freezes no values.
// Only one goroutine may use it at a time.
type REPL struct {
	// Load resolves load statements, as in [Exec]; nil refuses all loads.
	Load func(from, label string) (name string, src []byte, err error)

	sandbox     *Sandbox
	nextLine    func(more bool) (string, error)
	names       starlark.StringDict // names of earlier statements, which hide the defined ones
	modules     []*Module           // modules given to Use, for the source lines of errors
	lines       []byte              // all lines so far
	pendingLine string              // the first line of the next statement, if the REPL has already read it
}

// REPL returns a REPL that reads lines with next. The lines may end with a newline or without. The
// argument more is true if a statement continues. next returns [io.EOF] at the end of the input.
func (s *Sandbox) REPL(next func(more bool) (string, error)) *REPL {
	return &REPL{sandbox: s, nextLine: next, names: starlark.StringDict{}}
}

// Use adds the names of a module to the names of later statements: its environment, the names that
// it loads, and its globals.
func (r *REPL) Use(m *Module) {
	r.modules = append(r.modules, m)
	r.Set(m.env)
	r.Set(r.sandbox.loadedNames(m))
	r.Set(m.Globals)
}

// Set adds names for later statements, and replaces names of the same spelling. The values contain
// no functions of the host, because these need a cost: [Sandbox.Define].
func (r *REPL) Set(names starlark.StringDict) { maps.Copy(r.names, names) }

// An Input is the source that one Run evaluates: a block, the statements on one line, or an empty
// line.
type Input struct{ file *File }

// Callee returns the name of the called function if the input consists of one call, or else "".
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

// Mentions reports whether the input contains an identifier.
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

// Read reads one input. A block ends at a blank line, or before a line that is not indented. The
// error is an [*Error] if the input has a syntax error, or else the error of next. After an error,
// the next line begins a new input.
func (r *REPL) Read() (*Input, error) {
	begin := len(r.lines)
	stopped := r.readStatement()
	if stopped != nil && !(stopped == io.EOF && len(r.lines) > begin) {
		return nil, stopped
	}
	// Blank lines replace the earlier input, so that positions have the right line numbers.
	above := strings.Repeat("\n", strings.Count(string(r.lines[:begin]), "\n"))
	f, err := r.sandbox.parseUncached(replName, []byte(above+string(r.lines[begin:])))
	if err != nil {
		return nil, Locate(err, r.source)
	}
	return &Input{f}, nil
}

// readStatement reads lines until they form a statement or cannot begin one. The error is the error
// of nextLine.
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
			return nil, io.EOF // the parser reports the limit later
		}
		return []byte(line), nil
	})
	if f != nil && isBlock(f) && last > begin && len(strings.TrimSpace(string(r.lines[last:]))) > 0 {
		r.pendingLine = string(r.lines[last:])
		r.lines = r.lines[:last]
	}
	return stopped
}

// isBlock reports whether the next line ends the statement, as with def, if and for.
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

// readLine returns the next line with a newline.
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

// Run evaluates an input. If its last statement is an expression other than None, Run returns its
// value as repr formats it, or else "". If there is an error, earlier bindings of the input remain.
// The error is an [*Error], or nil.
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

// runInput evaluates an input and formats its value.
func (w *worker) runInput(r *REPL, f *File) (_ string, err error) {
	defer w.recoverPanic(&err)
	if len(f.tree.Stmts) == 0 {
		return "", nil
	}
	// The rewriter must not change the tree of the Input.
	if f, err = w.sandbox.parseUncached(f.name, f.src); err != nil {
		return "", err
	}
	f, names := r.bindNames(f)
	listNames(f.tree, names)
	program, _, err := w.sandbox.compile(f.tree, names, nil)
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

// bindNames returns a copy of f that assigns its last expression to exprResult. The copy first
// binds each name that f binds to its current value, so that x += 1 works on an earlier x.
// bindNames also returns the environment of the copy.
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

// formatResult formats the value of an input. It returns "" for None.
func (w *worker) formatResult(v starlark.Value) (string, error) {
	if v == nil || v == starlark.None {
		return "", nil
	}
	return w.repr(v)
}

// repr formats a value, and charges as the functions repr and print do.
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
