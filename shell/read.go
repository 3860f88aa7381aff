package shell

import (
	"cmp"
	"errors"
	"math"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A reader analyses one text. Nested texts have their own reader.
type reader struct {
	*shared
	script  *Script
	text    string
	file    *syntax.File
	level   int  // number of texts around this one
	certain bool // control flow may reach the current place
	entered bool // it may do so but for the redirections of the current command
	base    int  // scope at the top of the text
	pos     int  // the place of the current simple command in this text
	// around and sourceAt are the text that sources this one, and the place there; or nil.
	around   *syntax.File
	sourceAt int
	scope    int // functions and subshells around the current place
	via      string
	place    int // for a nested text, the offset of the command that contains it
	wrapped  []string
	shell    string // the shell that certainly reads the text, or ""
	numeric  map[string]bool
	assigned map[string]int // the number of assignments to each variable
	// constants are the variables whose values the text says.
	constants map[string]word
	first     *syntax.Stmt // a statement in front of which nothing decides whether it runs, or nil
	manner    manner
}

// shared is the part of a reader that nested texts have in common.
type shared struct {
	parser       *syntax.Parser
	words        int // the number of words with braces
	parts        int // the number of their parts
	followed     int // words of all commands, also behind wrappers
	mostFollowed int
	inner        int             // bytes of nested texts
	reason       string          // why the analysis failed
	failedAt     int             // the place of a syntax error in the outermost text
	poisoned     bool            // a variable such as PATH has a new value
	dead         bool            // an unconditional exit stands in front
	errexit      bool            // a failure may end the text
	lists        map[string]bool // variables that are lists
	quiet        bool            // the commands are in the list already
	fails        bool            // the text itself decides that some command fails
	anyValue     bool            // variables may have any value
	funcs        []*function
	uncalled     map[string][]int     // the functions that no command calls yet, by name: indexes of funcs
	reached      []int                // the turns of the functions to visit: rounds times maxBytes, and the index
	turn         int                  // the last turn
	visited      map[syntax.Node]bool // the expansions and functions, and whether as certain ones
	traps        [2]int               // of the calls, those of the trap at the text's end
	trapped      bool                 // there is a trap
	options      Options
	folder       string                // the folder at the current place, or unknownFolder
	moves        bool                  // some function may change it
	moved        bool                  // some command may have changed it
	elsewhere    bool                  // the text runs on another machine or in a container
	files        map[string]scriptFile // the files that were read
	stack        []string              // the scripts around the current place
	ran          []string              // the scripts that the text runs
	built        map[string]bool       // the programs that the text builds of the project's code
	runsTrusted  bool                  // one of the trusted ones runs the project's code
	usesTrusted  bool
	calledAt     map[calledKey]int  // the last certain call of a name at the top of a text
	defined      map[calledKey]int  // the ends of the functions that a text certainly defines
	imports      []string           // modules of Python that one-line programs use
	undefines    bool               // some text may take a definition back
	top          *syntax.Stmt       // the current statement of the outermost text
	called       map[string]bool    // the names of the programs that may run, once there is a function
	written      map[string]bool    // the base names of the files that the text makes; false if below /tmp only
	writesAny    bool               // the text writes a file that may be code, with an unknown name
	writtenAt    int                // the number of calls in front of the first file with an unknown name
	stdin        []*syntax.Redirect // redirections of the current command
	piped        *ends              // what stands certainly in the words that a pipe passes to xargs; nil if nobody knows
	at           source             // the current command
	program      string             // the program that is followed or judged, or ""
	kind         kind               // its kind
}

// A function is a function that the text defines.
type function struct {
	names   []string
	decl    *syntax.FuncDecl
	reader  *reader
	certain bool // the definition is certain to happen once, at top level
	walked  bool
}

// A calledKey is a name in a text.
type calledKey struct {
	file *syntax.File
	name string
}

// isNew reports whether a node is to be visited. Some words are read twice, for bash and for dash,
// or once for each word that braces make of them. A second visit finds nothing new, but within
// nested words it doubles the work at each level.
func (r *reader) isNew(n syntax.Node) bool {
	certain := r.certain && !r.dead
	if before, ok := r.visited[n]; ok && (before || !certain) {
		return false
	}
	put(&r.visited, n, certain)
	return true
}

// put adds an entry to a map, which it makes if there is none: few texts need one.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// fail stops the analysis.
func (r *reader) fail(reason string) {
	if r.reason == "" {
		r.reason = reason
	}
}

// readText parses the text and visits it. It returns "" or why the text was not understood.
func (r *reader) readText(o Options, parser *syntax.Parser) string {
	r.shared = &shared{
		parser: parser, options: o, folder: o.Folder, at: source{text: r.text},
		writtenAt: math.MaxInt, mostFollowed: maxFollowed + moreFollowed*len(r.text),
	}
	if !r.parse() {
		return r.reason
	}
	r.script.expect(len(r.file.Stmts))
	for _, s := range r.file.Stmts {
		r.top, r.first = s, nil
		if !s.Background && !s.Coprocess && !s.Disown {
			r.first = s
		}
		r.statements([]*syntax.Stmt{s})
	}
	r.readFunctions()
	r.checkWritten()
	r.checkRan()
	if r.poisoned || r.reason != "" || r.errexit && r.fails {
		for i := range r.script.calls {
			r.script.calls[i].certain = false
		}
	}
	return r.reason
}

// parse parses the text of the reader.
func (r *reader) parse() bool {
	file, err := r.parser.Parse(strings.NewReader(r.text), "")
	if err != nil {
		if wrong, ok := errors.AsType[syntax.ParseError](err); ok && r.level == 0 {
			r.failedAt = min(int(wrong.Pos.Offset()), len(r.text))
		}
		r.fail("syntax: " + err.Error())
		return false
	}
	r.file = file
	r.undefines = r.undefines || strings.Contains(r.text, "unset") || strings.Contains(r.text, "unfunction")
	if !readsAsShells(file, r.text) {
		r.setWild()
		r.poisoned = r.poisoned || strings.Contains(r.text, "\r")
	}
	if losesSeparators(file, r.text) {
		r.setWild()
		r.poisoned = true
	}
	return true
}

// A nestedText is a text that a command runs as shell code.
type nestedText struct {
	word
	via      string // see [Command]
	wrappers []string
	certain  bool
	shell    string // the shell that certainly reads it, or ""
	isInput  bool   // it comes from standard input
	isFile   bool
}

// nested analyses a text that a command runs as shell code.
func (r *reader) nested(text nestedText) {
	if text.via == "eval" {
		text.shell = r.shell
	}
	if !text.known || r.level >= maxNested || r.inner+len(text.text) > maxInner || checkBounds(text.text) != "" {
		r.setWild()
		return
	}
	r.inner += len(text.text)
	in := &reader{
		shared: r.shared, script: r.script, text: text.text, level: r.level + 1,
		certain: text.certain, scope: r.scope + 1, base: r.scope + 1, via: text.via, place: r.place, wrapped: text.wrappers, shell: text.shell,
	}
	if !in.parse() {
		r.reason = ""
		r.setWild()
		return
	}
	if text.isInput && sharesInput(in.file) {
		r.setWild()
		r.poisoned = true
	}
	if text.via == "eval" {
		if text.isFile {
			in.around, in.sourceAt = r.file, r.pos
		}
		in.statements(in.file.Stmts)
		return
	}
	folder := r.folder
	r.conditional(func() { in.statements(in.file.Stmts) }) // an exit ends the other shell only
	r.folder = folder
}

// expect makes room for the commands of a list, which would be copied again and again in a long text.
func (s *Script) expect(commands int) {
	s.calls, s.Commands = slices.Grow(s.calls, commands), slices.Grow(s.Commands, commands)
}

// statements visits a list.
func (r *reader) statements(list []*syntax.Stmt) {
	r.script.expect(len(list))
	for _, s := range list {
		if r.reason != "" {
			return
		}
		r.statement(s)
	}
}

// uncertain visits a list that control flow may never reach.
func (r *reader) uncertain(list []*syntax.Stmt) {
	before := r.certain
	r.certain = false
	r.conditional(func() { r.statements(list) })
	r.certain = before
}

// conditional visits code whose exits end only some runs of the text.
func (r *reader) conditional(visit func()) {
	dead, folder := r.dead, r.folder
	visit()
	r.dead = dead
	if r.folder != folder {
		r.folder = unknownFolder
	}
}

// substitute visits a list in a substitution, whose exits end only the substitution. It reports whether
// the list may change the folder.
func (r *reader) substitute(via string, list []*syntax.Stmt) (moves bool) {
	before := r.via
	if before == "" || via != "sub" {
		r.via = via
	}
	r.scope++
	folder := r.folder
	r.conditional(func() { r.statements(list) })
	moves = r.folder != folder
	r.scope, r.folder = r.scope-1, folder
	r.via = before
	return moves
}

// statement visits one statement.
func (r *reader) statement(s *syntax.Stmt) {
	r.script.Nodes++
	outer, program := r.at, r.program
	r.at, r.program = source{r.source(s), r.offset(s)}, ""
	r.fails = r.fails || s.Negated
	if s.Background || s.Coprocess || s.Disown {
		r.conditional(func() { r.command(s) })
	} else {
		r.command(s)
	}
	r.at, r.program = outer, program
}

// command visits the command of a statement, with its redirections.
func (r *reader) command(s *syntax.Stmt) {
	before := r.certain
	r.entered = before
	targets := r.redirections(s.Redirs)
	if c, ok := s.Cmd.(*syntax.CallExpr); ok {
		r.simple(c, s, targets)
	} else {
		if s.Cmd == nil && len(s.Redirs) > 0 { // zsh runs cat or more
			r.addCall([]word{{text: "cat", known: true}}, false)
			r.addCall([]word{{text: "more", known: true}, {many: true}}, false)
		}
		from := len(r.script.Commands)
		r.compound(s)
		r.recordFiles(from, s, targets)
	}
	r.certain = before
}

// compound visits a command that is not simple.
func (r *reader) compound(s *syntax.Stmt) {
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.Block:
		r.statements(c.Stmts)
	case *syntax.Subshell:
		r.substitute("sub", c.Stmts)
	case *syntax.BinaryCmd:
		r.binary(c)
	case *syntax.IfClause:
		r.ifClause(c)
	case *syntax.WhileClause:
		r.while(c)
	case *syntax.ForClause:
		r.forClause(c)
	case *syntax.CaseClause:
		r.caseClause(c)
	case *syntax.FuncDecl:
		r.declare(c, s)
	case *syntax.TimeClause:
		r.addCall([]word{{text: "time", known: true}, {many: true}}, false)
		if c.Stmt != nil {
			timeInDash(r, c.Stmt)
			r.statement(c.Stmt)
		}
	case *syntax.CoprocClause:
		r.coproc(c)
	case *syntax.TestClause:
		r.fails = true
		r.test(c.X)
		if text := r.source(c); breaksLine(text) || hasComment(text) {
			r.setWild() // dash reads the next line as a command
		}
	case *syntax.ArithmCmd:
		r.fails = true
		r.arithmetic(c.X)
		r.dashArithmetic(c.X)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			r.arithmetic(x)
		}
	case *syntax.DeclClause:
		r.declaration(c)
	default:
		r.setWild()
	}
}

// caseClause visits a case.
func (r *reader) caseClause(c *syntax.CaseClause) {
	open := !r.word(c.Word).known
	for _, item := range c.Items {
		for _, w := range item.Patterns {
			r.visit(w)
		}
		if open && len(item.Patterns) == 1 && item.Patterns[0].Lit() == "*" {
			r.conditional(func() { r.statements(item.Stmts) })
			continue
		}
		r.uncertain(item.Stmts)
	}
}

// coproc visits a coprocess.
func (r *reader) coproc(c *syntax.CoprocClause) {
	r.addCall([]word{{text: "coproc", known: true}, {many: true}}, false)
	if c.Name != nil && (c.Name.Lit() == "" || !isPlain(c.Name.Lit())) {
		r.setWild()
	}
	r.substitute("sub", []*syntax.Stmt{c.Stmt})
}

// partsUpTo returns the parts of a list or a pipe that ends with c, the last one first.
func partsUpTo(r *reader, c *syntax.BinaryCmd) []*syntax.BinaryCmd {
	for all := []*syntax.BinaryCmd{c}; ; {
		x := c.X
		inner, ok := x.Cmd.(*syntax.BinaryCmd)
		isPlain := len(x.Redirs) == 0 && !x.Negated && !x.Background && !x.Coprocess && !x.Disown
		if !ok || !isPlain || isPipe(inner) != isPipe(c) {
			return all
		}
		r.script.Nodes++
		all, c = append(all, inner), inner
	}
}

// binary visits a && b, a || b and a | b. A list or pipe leans to the left, so this goes along it
// instead of down, where the stack would grow with the text.
func (r *reader) binary(c *syntax.BinaryCmd) {
	leads := r.first != nil && r.first.Cmd == c
	all := partsUpTo(r, c)
	c = all[len(all)-1]
	r.script.expect(len(all))
	if r.first = nil; leads && !isPipe(c) {
		r.first = c.X
	}
	if isPipe(c) {
		r.substitute("pipe", []*syntax.Stmt{c.X})
	} else {
		r.statement(c.X)
	}
	start := r.folder
	fixed, left := false, c.X // whether the text alone may decide about what stands in front
	outer := r.piped
	for i := len(all) - 1; i >= 0 && r.reason == ""; i-- {
		c, before := all[i], r.certain
		fixed = fixed || !isPipe(c) && r.isFixed(left)
		r.first = nil
		if r.piped = nil; len(r.funcs) == 0 {
			r.piped = numbersIn(c, left)
		}
		switch {
		case isPipe(c):
			if r.substitute("pipe", []*syntax.Stmt{c.Y}) && i == 0 {
				r.folder = unknownFolder // zsh and ksh run the last one themselves
			}
		case fixed:
			r.certain = false
			r.statement(c.Y) // an exit here may always happen
		case c.Op == syntax.AndStmt: // what follows runs only behind this
			dead := r.dead
			r.statement(c.Y)
			r.dead = dead
		default:
			r.conditional(func() { r.statement(c.Y) })
		}
		r.certain, r.piped, left = before, outer, c.Y
	}
	if r.folder != start {
		r.folder = unknownFolder // the last cd may not have happened
	}
}

// isPipe reports whether c is a | b.
func isPipe(c *syntax.BinaryCmd) bool { return c.Op == syntax.Pipe || c.Op == syntax.PipeAll }

// succeeding are commands whose success does not depend on the machine, as far as a reader of the
// text can tell. The commands behind "&&" and "||" may never run.
const succeeding = " true false : echo printf pwd exit return break continue set export unset shift eval exec test [ trap alias local declare typeset readonly umask wait type hash "

// isFileTest reports whether a command is test or [ with a question about a file.
func isFileTest(args []*syntax.Word) bool {
	if len(args) < 3 || args[0].Lit() != "[" && args[0].Lit() != "test" {
		return false
	}
	flag := args[1].Lit()
	if flag == "!" {
		flag, args = args[2].Lit(), args[1:]
	}
	return len(flag) == 2 && flag[0] == '-' && strings.Contains("defrswxLhbcpSugkOGN", flag[1:]) && len(args) >= 3 && len(args) <= 4
}

// isFixed reports whether the text alone may decide whether a statement succeeds.
func (r *reader) isFixed(s *syntax.Stmt) bool {
	r.script.Nodes++
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return len(c.Args) == 0 || hasName(succeeding, c.Args[0].Lit()) && !isFileTest(c.Args)
	case *syntax.TestClause:
		u, ok := c.X.(*syntax.UnaryTest)
		return !ok || u.Op < syntax.TsExists || u.Op > syntax.TsModif
	case *syntax.BinaryCmd:
		return r.isFixed(c.Y) || r.isFixed(c.X)
	}
	return true
}

// ifClause visits if, elif and else.
func (r *reader) ifClause(c *syntax.IfClause) {
	before := r.certain
	for ; c != nil; c = c.Else {
		r.statements(c.Cond)
		for _, s := range c.Cond {
			r.certain = r.certain && !r.isFixed(s)
		}
		r.conditional(func() { r.statements(c.Then) })
	}
	r.certain = before
}

// while visits while and until.
func (r *reader) while(c *syntax.WhileClause) {
	before := r.certain
	r.enterLoop(c)
	r.statements(c.Cond)
	endless := len(c.Cond) == 1 && isCall(c.Cond[0], "true", ":") && !c.Until
	if !endless {
		for _, s := range c.Cond {
			r.certain = r.certain && !r.isFixed(s)
		}
	}
	r.conditional(func() { r.statements(c.Do) })
	r.certain = before
	if c.Until || endless || len(c.Cond) != 1 || r.isFixed(c.Cond[0]) {
		r.dead = true // the loop may never end
	}
}

// isCall reports whether a statement is a call of one of the names without more.
func isCall(s *syntax.Stmt, names ...string) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	return ok && !s.Negated && len(c.Args) == 1 && isOneOf(c.Args[0].Lit(), names)
}

// forClause visits for and select.
func (r *reader) forClause(c *syntax.ForClause) {
	before := r.certain
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		items := r.expand(loop.Items)
		noteValues(r, items...)
		r.assignName(loop.Name.Value, word{})
		certain := false
		for _, w := range items {
			certain = certain || !w.many
		}
		r.certain = r.certain && certain && !c.Select
		if value, ok := loopValue(items); ok && !c.Select {
			setConstant(r, loop.Name.Value, value)
			defer delete(r.constants, loop.Name.Value)
		}
	case *syntax.CStyleLoop:
		r.arithmetic(loop.Init)
		r.arithmetic(loop.Cond)
		r.arithmetic(loop.Post)
		r.certain = false
	}
	r.enterLoop(c)
	r.conditional(func() { r.statements(c.Do) })
	r.certain = before
}

// loopValue returns what the variable of a loop over the items stands for: the only one, or a word that is no flag.
// A glob stands for files.
func loopValue(items []word) (value word, ok bool) {
	if len(items) == 1 && items[0].known {
		return items[0], true
	}
	value.ends = &ends{operand: true}
	if len(items) == 1 {
		value.ends.home = items[0].glob()
	}
	return value, len(items) > 0 && !slices.ContainsFunc(items, func(w word) bool {
		return w.known && (w.text == "" || w.text[0] == '-') || !w.known && w.mayFlag() && w.open().home == "" && (w.open().pattern == "" || w.open().pattern[0] == '-')
	})
}

// enterLoop forgets the folder if a turn of a loop may change it for the next.
func (r *reader) enterLoop(loop syntax.Node) {
	if r.moves || movesFolder(r.source(loop)) {
		r.folder = unknownFolder
	}
}

// test visits [[ … ]].
func (r *reader) test(x syntax.TestExpr) {
	r.script.Nodes++
	switch x := x.(type) {
	case *syntax.Word:
		r.visit(x)
	case *syntax.ParenTest:
		r.test(x.X)
	case *syntax.UnaryTest:
		r.test(x.X)
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			if w, ok := x.X.(*syntax.Word); !ok || w.Lit() == "" || strings.Contains(w.Lit(), "[") {
				r.setWild()
			}
		}
	case *syntax.BinaryTest:
		r.test(x.X)
		r.test(x.Y)
		r.testOperator(x)
	}
}

// testOperator judges what shells make of the operator of a test and of the words behind it.
func (r *reader) testOperator(x *syntax.BinaryTest) {
	switch x.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, side := range []syntax.TestExpr{x.X, x.Y} {
			if w, ok := side.(*syntax.Word); !ok || !r.isNumber(w) {
				r.setWild()
			}
		}
	case syntax.AndTest: // busybox runs the next line as a command
		if r.shell != "bash" && strings.Contains(r.source(x), "\n") {
			dashTest(r, x.Y)
		}
	case syntax.OrTest: // dash runs the words behind || as a command
		if r.shell != "bash" {
			dashTest(r, x.Y)
		}
	case syntax.TsReMatch:
		if w, ok := x.Y.(*syntax.Word); ok && strings.Contains(r.source(w), "|") {
			r.setWild() // so does dash behind |
		}
	}
}

// source returns the text of a node.
func (r *reader) source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from > to || to > len(r.text) {
		return ""
	}
	return r.text[from:to]
}

// declare records a function. The bodies of functions count only if the text calls them.
func (r *reader) declare(c *syntax.FuncDecl, s *syntax.Stmt) {
	if !r.isNew(c) {
		return // a function around it has been visited before
	}
	for body := c.Body; ; { // in "f() { …; } && b", the parser takes b as a part of the body
		b, ok := body.Cmd.(*syntax.BinaryCmd)
		if !ok {
			break
		}
		r.uncertain([]*syntax.Stmt{b.Y})
		body = b.X
	}
	f := &function{decl: c, certain: r.certain && !r.dead && r.scope == r.base}
	r.moves = r.moves || movesFolder(r.source(c))
	copied := *r
	f.reader = &copied
	for _, n := range append(c.Names, c.Name) {
		if n == nil {
			continue
		}
		f.names = append(f.names, n.Value)
		f.certain = f.certain && !r.script.defines[n.Value]
		put(&r.script.defines, n.Value, true)
	}
	if len(f.names) == 1 {
		r.noteEnd(f.names[0], int(c.End().Offset()), s)
	}
	r.funcs = append(r.funcs, f)
	if len(f.names) == 0 {
		r.setWild()
	}
	if r.called == nil {
		r.called = map[string]bool{}
		for _, c := range r.script.calls {
			r.called[c.argv[0].text] = true
		}
	}
	at := len(r.funcs) - 1
	if reached, _ := r.reaches(f); reached {
		r.reach(at)
		return
	}
	for _, name := range f.names {
		put(&r.uncalled, name, append(r.uncalled[name], at))
	}
}

// noteEnd notes the end of a function if the text certainly defines it, at its top.
func (r *reader) noteEnd(name string, end int, s *syntax.Stmt) {
	key := calledKey{r.file, name}
	if r.scope == r.base && isTop(r.file, s) && r.defined[key] == 0 {
		put(&r.defined, key, end)
	}
}

// isTop reports whether a statement is one of a text itself, and not in another one.
func isTop(file *syntax.File, s *syntax.Stmt) bool {
	_, found := slices.BinarySearchFunc(file.Stmts, s, func(a, b *syntax.Stmt) int { return cmp.Compare(a.Pos().Offset(), b.Pos().Offset()) })
	return found
}

// readFunctions visits the bodies of the functions that the text calls, or that shells call. It
// goes through them in their order, again and again while a body calls one that stands in front.
func (r *reader) readFunctions() {
	for len(r.reached) > 0 && r.reason == "" {
		r.turn, r.reached = r.reached[0], r.reached[1:]
		f := r.funcs[r.turn&(maxBytes-1)]
		if f.walked {
			continue
		}
		f.walked = true
		in := *f.reader
		_, in.certain = r.reaches(f)
		in.dead = false
		if r.moves || r.moved {
			in.folder = unknownFolder
		} else {
			in.folder = r.options.Folder
		}
		in.via, in.scope = "func", in.scope+1
		in.statement(f.decl.Body)
		r.reason = in.reason
	}
}

// reach records that a function is to be visited: in this round, or in the next one if its turn has
// passed.
func (r *reader) reach(function int) {
	turn := r.turn&^(maxBytes-1) | function
	if turn < r.turn {
		turn += maxBytes
	}
	i, _ := slices.BinarySearch(r.reached, turn)
	r.reached = slices.Insert(r.reached, i, turn)
}

// hooks are functions that shells call by themselves.
const hooks = " command_not_found_handle command_not_found_handler precmd preexec chpwd periodic zshexit zshaddhistory zsh_directory_name "

// movesFolder reports whether the text of a function may change the folder.
func movesFolder(text string) bool {
	return slices.ContainsFunc([]string{"cd", "pushd", "popd", "eval", "source", ". "}, func(s string) bool { return strings.Contains(text, s) })
}

// reaches reports whether a function may be called, and whether that is certain.
func (r *reader) reaches(f *function) (reached, certain bool) {
	for _, name := range f.names {
		if r.called[name] {
			reached = true
			in := f.reader
			certain = certain || f.certain && (in.calledAt[calledKey{in.file, name}] > int(f.decl.End().Offset()) ||
				in.around != nil && in.calledAt[calledKey{in.around, name}] > in.sourceAt)
		}
		if strings.HasPrefix(name, "TRAP") || hasName(hooks, name) {
			reached = true
		}
	}
	// dash runs the lines of "function f {" at once.
	return reached || f.decl.RsrvWord, certain
}

// failing are commands that may fail for a reason that stands in the text.
var failing = []string{"false", "test", "[", "exit", "return", "let", "break", "continue", "shift"}

// addCall records a program that may run.
func (r *reader) addCall(argv []word, certain bool) {
	r.script.Nodes++
	base := path.Base(argv[0].text)
	r.script.calls = append(r.script.calls, invocation{argv: argv, certain: certain, at: r.at, name: base, plain: plainName(base)})
	for _, w := range argv {
		r.script.Weight += 1 + len(w.text)/64
	}
	if argv[0].known {
		r.fails = r.fails || isOneOf(argv[0].text, failing)
		name := argv[0].text
		if r.called != nil {
			r.called[name] = true
		}
		if list, ok := r.uncalled[name]; ok {
			delete(r.uncalled, name)
			for _, f := range list {
				r.reach(f)
			}
		}
	}
}

// checkWritten makes the script wild if it runs a file that it may have written.
func (r *reader) checkWritten() {
	for i, c := range r.script.calls {
		name := c.argv[0].text
		isRelative := strings.Contains(name, "/") && !path.IsAbs(name)
		if r.wrote(c.name) || i > r.writtenAt && isRelative {
			r.at = c.at
			r.setWild()
		}
	}
}
