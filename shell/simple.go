package shell

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A job is a program and its words on the way through its wrappers.
type job struct {
	argv     []word
	certain  bool
	via      string
	wrappers []string
	*origin
}

// simple visits a simple command.
func (r *reader) simple(c *syntax.CallExpr, s *syntax.Stmt, t targets) {
	at := &origin{targets: t, Text: r.source(c), Offset: r.offset(c)}
	j := &job{certain: r.certain && !r.dead, via: r.via, wrappers: r.wrapped, origin: at}
	j.argv = r.expand(c.Args)
	r.assignments(c, s, j.origin)
	if len(j.argv) == 0 {
		r.recordFiles(len(r.script.Commands), s, t)
		return
	}
	r.checkWords(c, s, j)
	readDashBackground(r, c, s)
	outer := r.stdin
	r.stdin = s.Redirs
	if r.level == 0 {
		r.place = int(c.Pos().Offset())
	}
	r.pos = int(c.Pos().Offset())
	if first := j.argv[0]; len(r.funcs) > 0 && j.certain && first.known && r.scope == r.base {
		key := calledKey{r.file, first.text}
		put(&r.calledAt, key, max(int(c.Pos().Offset()), r.calledAt[key]))
	}
	r.run(j)
	r.otherwise(c.Args, s.Redirs, func() {
		j.argv, j.certain = r.expand(c.Args), false
		r.runQuietly(j)
	})
	r.stdin = outer
}

// assignments visits the assignments in front of a command.
func (r *reader) assignments(c *syntax.CallExpr, s *syntax.Stmt, to *origin) {
	isFirst := s == r.first
	for _, a := range c.Assigns {
		before, unknowns := r.script.wild, len(r.script.Unknowns)
		value := outputOf(r, a, r.assign(a))
		if isFirst && len(c.Args) == 0 && len(s.Redirs) == 0 && a.Index == nil && a.Array == nil && !a.Append && !strings.Contains(value.text, "~") {
			value.many = false // no shell splits it
			setConstant(r, a.Name.Value, value)
		}
		if a.Name.Value == "IFS" && len(c.Args) > 0 && c.Args[0].Lit() == "read" && !before {
			r.script.wild, r.poisoned = false, false // it applies to read only
			r.script.Unknowns = r.script.Unknowns[:unknowns]
		}
		to.Env = append(to.Env, struct {
			Name  string
			Value *string
		}{a.Name.Value, value.pointer()})
	}
}

// outputOf returns what stands certainly in the output of some commands that print paths, which a variable gets; else its
// value. The names of files count as files, as those that a glob finds.
func outputOf(r *reader, a *syntax.Assign, value word) word {
	name, inner, _ := strings.Cut(strings.TrimRight(r.source(a), `"`), "$(")
	list, _ := strings.CutSuffix(strings.ReplaceAll(inner, " 2>/dev/null", ""), " | head -1)")
	switch {
	case strings.Contains(strings.TrimPrefix(inner, "go list -m -f '{{.Dir}}' "), " -f"), strings.ContainsAny(strings.TrimPrefix(list, "go list -m -f '{{.Dir}}' "), "'\"\t"):
	case strings.TrimRight(name, `"`) != a.Name.Value+"=", len(r.funcs) > 0, strings.ContainsAny(list, ";&|`$<>\n\\"):
	case inner == "mktemp)", inner == "mktemp -d)":
		return word{ends: &ends{start: "/tmp/", pattern: "/tmp/tmp.XXXXXXXXXX"}} // a new file, whose letters mean nothing
	case inner == "pwd)", inner == "git rev-parse --show-toplevel)", hasStart(inner, "go list -m -f '{{.Dir}}' "),
		hasStart(list, "ls -t ", "ls -d ", "ls -td ", "ls -dt ", "ls -1t ", "ls -t1 ") && !strings.Contains(list[5:], " -"):
		return word{ends: &ends{operand: true}}
	}
	return value
}

// checkWords looks for words that shells read otherwise than the parser.
func (r *reader) checkWords(c *syntax.CallExpr, s *syntax.Stmt, j *job) {
	for i, w := range j.argv {
		if i > 0 && w.known && (w.text == "}" || w.text == "{") || i == 0 && strings.HasPrefix(w.text, "{") {
			r.setWild() // zsh ends or begins a group here
		}
	}
	if len(s.Redirs) > 0 && strings.Contains(j.Text, "{") && slices.ContainsFunc(c.Args, isIndexed) {
		r.setWild() // bash calculates the index of {a[x]}>f
	}
	if lit, ok := c.Args[0].Parts[0].(*syntax.Lit); ok && strings.Contains(lit.Value, "=") {
		r.setWild() // in "coproc a=b c", the parser takes the assignment as the program
	}
}

// offset returns the place of a node in the outermost text.
func (r *reader) offset(n syntax.Node) int {
	if r.level > 0 {
		return r.place
	}
	return int(n.Pos().Offset())
}

// redirections visits redirections and returns their targets.
func (r *reader) redirections(list []*syntax.Redirect) (t targets) {
	for _, d := range list {
		r.script.Nodes++
		if d.N != nil && strings.HasPrefix(d.N.Value, "{") {
			r.assignName(strings.Trim(d.N.Value, "{}"), word{})
			if strings.Contains(d.N.Value, "[") {
				r.setWild() // bash calculates the index of {a[x]}>f
			}
		}
		switch d.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			r.heredocText(d)
		case syntax.WordHdoc:
			noteValues(r, r.heredocText(d))
		default:
			redirect(r, d.Op, r.word(d.Word), &t)
		}
	}
	return t
}

// redirect adds the target of a redirection.
func redirect(r *reader, op syntax.RedirOperator, w word, t *targets) {
	if (op == syntax.DplIn || op == syntax.DplOut) && w.known && strings.Trim(w.text, "0123456789-") == "" {
		return
	}
	isInput := op == syntax.RdrIn || op == syntax.DplIn
	t.add(w, isInput || op == syntax.RdrInOut, !isInput)
	if !isInput {
		r.addWrite(w)
	}
	switch {
	case isInput:
		r.certain = r.certain && w.text == "/dev/null"
	case op != syntax.RdrInOut && strings.Contains(w.text, "/") && !strings.HasPrefix(w.text, "/dev/"):
		r.certain = false // the folder may be missing
	}
}

// noteFiles adds the files that a text of a program names to its command.
func noteFiles(r *reader, t targets) {
	if n := len(r.script.Commands); n > 0 && !r.quiet {
		r.script.Commands[n-1].addFiles(t)
	}
}

// noteValues notes what words decided at run time may be.
func noteValues(r *reader, words ...word) {
	for _, w := range words {
		for text := range strings.FieldsSeq(cmp.Or(w.text, w.glob())) {
			if text[0] != '$' {
				r.script.Values = append(r.script.Values, &text)
			}
		}
	}
}

// addWrite records a file that the text may make, and perhaps runs.
func (r *reader) addWrite(w word) {
	switch {
	case isStartup(w.text + w.open().end):
		r.setWild()
	case !w.known:
		r.writtenAt = min(r.writtenAt, len(r.script.calls))
		if home := w.open().home; home != "" {
			put(&r.written, path.Base(home), true)
		}
		end := cmp.Or(w.open().pattern, "*"+w.open().end)
		at := strings.LastIndexAny(end, "*?]") // none if it is a new file of mktemp
		r.writesAny = r.writesAny || at >= 0 && !isOutput("require"+end[at+1:])
	case !strings.HasPrefix(w.text, "/dev/"):
		name := path.Clean(w.text)
		base := path.Base(name)
		put(&r.written, base, r.written[base] || !strings.HasPrefix(name, "/tmp/"))
	}
}

// wrote reports whether the text makes a file of this name anywhere.
func (r *reader) wrote(base string) bool {
	_, ok := r.written[base]
	return ok
}

// isIndexed reports whether a word is written as {a[x]}, which names a file descriptor.
func isIndexed(w *syntax.Word) bool {
	lit, ok := w.Parts[0].(*syntax.Lit)
	return ok && strings.HasPrefix(lit.Value, "{") && strings.Contains(lit.Value, "[")
}

// startupFiles are files that a shell or git reads when it starts, or whose programs it runs.
var startupFiles = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshenv", ".zshrc",
	".zprofile", ".zlogin", ".zlogout", ".kshrc", ".gitconfig", ".gitattributes",
	".gitmodules",
}

// isStartup reports whether a file may change what the programs of the text do.
func isStartup(name string) bool {
	return isOneOf(path.Base(name), startupFiles) ||
		strings.HasPrefix(name, ".git/") || strings.Contains(name, "/.git/") || strings.HasSuffix(name, ".ssh/config")
}

// runQuietly runs a job that Commands does not list.
func (r *reader) runQuietly(j *job) {
	before := r.quiet
	r.quiet = true
	r.run(j)
	r.quiet = before
}

// run records the program of a job and follows it if it runs other programs.
func (r *reader) run(j *job) {
	for range 2 * maxOpen {
		if r.followed += len(j.argv); r.followed > r.mostFollowed {
			r.fail("size")
			return
		}
		if !j.argv[0].known {
			r.addCall(j.argv, false)
			r.recordJob(j)
			return
		}
		outer, kind := r.program, r.kind
		j = r.step(j)
		r.program, r.kind = outer, kind
		if j == nil {
			return
		}
	}
	r.fail("depth")
}

// knowsScript reports whether it is known what a program by its path does: the text builds it, it is the project's
// own Python with code that is judged, or a script that can be read. row is nil for a program without a row.
func (r *reader) knowsScript(row *program, j *job) bool {
	first, at := j.argv[0].text, len(r.script.calls)-1
	switch {
	case len(r.built) > 0 && r.built[r.fullPath(first)]:
		r.script.calls[at].trusted, r.script.calls[at].mentions = true, true
		r.ran = append(r.ran, first)
		return true
	case row != nil && row.kind == interprets && r.ownTool(j.argv) != nil && r.trustsPython() && judgeCode(r, path.Base(first), j.argv[1:]):
		r.usesTrusted, r.runsTrusted = true, true
		return true
	}
	followed := followPath(r, j)
	r.script.calls[at].followed = followed
	return followed
}

// step records the program of a job. If it runs another one, it returns the job of that.
func (r *reader) step(j *job) (next *job) {
	first := j.argv[0].text
	name := path.Base(first)
	if name == "" || strings.HasSuffix(first, "/") {
		name = first
	}
	r.addCall(j.argv, j.certain)
	row, ok := findProgram(name)
	r.program, r.kind = name, script
	at := len(r.script.calls) - 1
	if inner := r.modulesWords(j.argv); inner != nil {
		return j.wrap(name, inner, false)
	}
	if text, isText := nixText(r, j.argv); isText && first == "nix-shell" {
		r.usesTrusted, r.runsTrusted = true, true
		r.nested(j.inner(name, "sh -c", text))
		return nil
	}
	isFile := isScript(first)
	if !ok || isFile || !row.shows(j.argv) {
		trusted, spoken, inner := r.trusts(j.argv)
		r.noteTrusted(trusted, inner, j.argv)
		if inner != nil {
			r.script.calls[at].trusted = true
			return j.wrap(name, inner, true)
		}
		if trusted {
			c := &r.script.calls[at]
			c.trusted, c.mentions, c.spoken = true, true, spoken
			r.runFile(row, j.argv[1:])
			r.recordJob(j)
			return nil
		}
	}
	if isFile {
		if r.knowsScript(row, j) {
			r.recordJob(j)
			return nil
		}
		r.setWild()
	}
	if isOneOf(name, []string{"cd", "pushd", "popd"}) {
		r.changeFolder(name, j.argv[1:])
	} else if r.moves && r.script.defines[name] {
		r.folder = unknownFolder
	}
	if !ok {
		judgeUnlisted(r, first, j)
		return nil
	}
	r.noteBuilt(name, j)
	r.kind = row.kind
	c := &r.script.calls[len(r.script.calls)-1]
	c.mentions, c.spoken = row.mentions, row.behindSub(j.argv)
	return follow(r, name, row, j)
}

// noteTrusted notes whether the text uses a trusted runner, and whether that may run code of the project.
func (r *reader) noteTrusted(trusted bool, inner, argv []word) {
	r.usesTrusted = r.usesTrusted || trusted || inner != nil
	r.runsTrusted = r.runsTrusted || inner != nil || trusted && !r.onlyReads(argv)
}

// onlyReads reports whether a trusted program is one of the harmless ones, as npx tsc.
func (r *reader) onlyReads(argv []word) bool {
	if tool := r.ownTool(argv); tool != nil {
		argv = tool
	}
	row, ok := findName(argv[0].text)
	return ok && row.kind == harmless
}

// runFile notes the file that a trusted interpreter runs.
func (r *reader) runFile(row *program, args []word) {
	for row != nil && row.kind == interprets && len(args) > 1 && args[0].mayFlag() {
		args = args[1:]
	}
	if row != nil && row.kind == interprets && len(args) > 0 && args[0].known && !args[0].mayFlag() {
		r.ran = append(r.ran, args[0].text)
	}
}

// giveUp records a wrapper whose command cannot be found.
func (r *reader) giveUp(j *job) {
	r.setWild()
	r.record(append([]word{{many: true}}, j.argv...), Command{Via: j.via, Wrappers: j.wrappers, origin: j.origin})
}

// recordFiles adds the files of redirections that no simple command has, as in "{ cat; } > f", to
// the first command since the index from. If there is none, as in "> f", the command is ":".
func (r *reader) recordFiles(from int, s *syntax.Stmt, t targets) {
	if len(t.Reads) == 0 && len(t.Writes) == 0 {
		return
	}
	if from == len(r.script.Commands) {
		none := []word{{text: ":", known: true}}
		r.addCall(none, r.certain && !r.dead)
		r.record(none, Command{Via: r.via, Wrappers: r.wrapped, origin: &origin{Text: r.source(s), Offset: r.offset(s)}})
	}
	if from < len(r.script.Commands) {
		c := &r.script.Commands[from]
		c.addFiles(t)
	}
}

// recordJob appends the command of a job to the list of the script.
func (r *reader) recordJob(j *job) {
	r.record(j.argv, Command{Via: j.via, Wrappers: j.wrappers, origin: j.origin})
}

// record appends a command with the words argv to the list of the script.
func (r *reader) record(argv []word, c Command) {
	if r.quiet {
		return
	}
	c.Name = argv[0].pointer()
	if base := path.Base(argv[0].text); c.Name != nil && base != *c.Name {
		name := base
		c.Name = &name
	}
	c.words, c.Argv = argv, make([]*string, len(argv))
	for i := range argv {
		c.Argv[i] = argv[i].pointer()
	}
	r.script.Nodes += len(argv)
	r.script.Commands = append(r.script.Commands, c)
}
