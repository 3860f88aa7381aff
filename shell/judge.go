package shell

import (
	"slices"
	"strings"
)

// judge handles the programs that are commands themselves, but perhaps run others.
func judge(r *reader, name string, row *program, j *job) {
	args := j.argv[1:]
	switch row.kind {
	case runsFind:
		followFind(r, j)
	case runsPod:
		followPod(r, j)
	case runsContainer:
		followContainer(r, j)
	case runsGit:
		followGit(r, j)
	case opaque:
		judgeOpaque(r, name, row, j)
	case runsTrap:
		judgeTrap(r, args, j)
	case interprets:
		judgeInterpreter(r, name, args)
	case interpretsAwk:
		judgeAwk(r, name, row, args)
	case interpretsSed:
		judgeSed(r, j.argv)
	case packages:
		judgePackages(r, name, row, j)
	case calculates:
		judgeCalculation(r, name, args)
	case assigns:
		judgeAssignment(r, name, args)
	case declares:
		judgeDeclarations(r, args)
	case prints:
		judgePrintf(r, args)
	case tests:
		judgeTest(r, args)
	case sets:
		judgeSet(r, name, args)
	case flagged:
		judgeFlagged(r, name, row, j.argv)
	case queries:
		judgeQuery(r, name, args)
	case writes:
		judgeWriter(r, name, row, j.argv)
	}
}

// judgeFlagged judges a program by its flags and its subcommand.
func judgeFlagged(r *reader, name string, row *program, argv []word) {
	if fetchesProgram(argv) {
		r.setWild()
	}
	judgeFlags(r, name, row, argv[1:])
	if row.subs != "" && !isQuestion(argv[1:]) && !row.shows(argv) {
		r.setWild()
	}
}

// judgeDeclarations judges the words of export and its like behind a quote or another builtin.
func judgeDeclarations(r *reader, args []word) {
	for _, w := range args {
		judgeDeclared(r, w)
		if isListFlag(w.text) {
			r.setWild()
		}
	}
}

// judgeOpaque judges a program that may run anything, unless it only answers a question or is a file that
// the reader follows.
func judgeOpaque(r *reader, name string, row *program, j *job) {
	args := j.argv[1:]
	if (name == "." || name == "source") && len(args) > 0 && strings.Contains(args[0].text, "/") && followScript(r, j.inner(name, "eval", args[0])) {
		return
	}
	asks := len(args) == 1 && args[0].known && hasName(row.query, args[0].text) || len(args) == 0 && name == "alias"
	if !asks && !isQuestion(args) || isOneOf(name, []string{".", "source", "let", "tclsh", "wish", "pwsh"}) {
		r.setWild()
	}
}

// judgeUnlisted records a program without a row: it may run what its words mention, and anything if
// a word is decided at run time. A function that the text certainly defines is no program.
func judgeUnlisted(r *reader, name string, j *job) {
	r.recordJob(j)
	if end := r.defined[calledKey{r.file, name}]; end > 0 && end <= r.pos && (r.level == 0 || !r.undefines) && len(j.wrappers) == len(r.wrapped) {
		return
	}
	r.kind = unlisted
	last := &r.script.calls[len(r.script.calls)-1]
	last.unlisted, last.mentions = true, true
	isRefused := len(j.argv) > 1 && slices.ContainsFunc(r.options.Trusted, func(entry string) bool { // its words decide what it runs
		_, _, isNamed := behindEntry(j.argv, entry)
		return isNamed
	})
	if isRefused || slices.ContainsFunc(j.argv[1:], func(w word) bool { return !w.known && w.open().pattern == "" }) {
		r.setWild()
	}
}

// shows reports whether a program has one of the subcommands with which it runs nothing.
func (p *program) shows(argv []word) bool {
	if p.subs == "" || p.kind == packages && hasWord(argv, "fix") { // npm audit fix
		return false
	}
	sub, known := readSub(argv)
	first, _, _ := strings.Cut(sub, " ")
	return known && (hasName(p.subs, first) || hasName(p.subs, strings.ReplaceAll(sub, " ", "_")) || sub == "" && len(argv) == 1 && p.kind == flagged)
}

// viewVerbs begin the last word of a subcommand that only shows something, with words that are data.
const viewVerbs = " describe filter get head history info list ls search show status tail versions "

// behindSub returns the words that may mention a program: those that are no words of a known subcommand, and none
// if it only shows something. It returns nil for all of them.
func (p *program) behindSub(argv []word) (spoken []word) {
	if !p.mentions {
		return nil
	}
	if o := findOptions(argv[0].text[strings.LastIndexByte(argv[0].text, '/')+1:]); o == nil || o.groups == "" {
		return nil
	}
	sub, known := readSub(argv)
	if !known || sub == "" {
		return nil
	}
	words := strings.Fields(sub)
	if verb, _, _ := strings.Cut(words[len(words)-1], "-"); strings.Contains(viewVerbs, " "+verb+" ") {
		return []word{}
	}
	spoken = []word{}
	for _, w := range argv[1:] {
		if len(words) > 0 && w.known && w.text == words[0] {
			words = words[1:]
		} else {
			spoken = append(spoken, w)
		}
	}
	return spoken
}

// judgeFlags judges a program that runs another one behind some of its flags or subcommands only.
func judgeFlags(r *reader, name string, row *program, args []word) {
	commands := slices.ContainsFunc(strings.Fields(row.long), func(s string) bool { return s[0] != '-' })
	operand := false // one stands in front
	for _, w := range args {
		flag, _, _ := strings.Cut(w.text, "=")
		switch {
		case w.known && strings.HasPrefix(w.text, "+") && contains(row.values, '+'):
			r.setWild() // a command of a pager, as +!x
		case w.known && w.text == "--":
			if !commands {
				return
			}
		case !w.known && (w.many && w.open().pattern == "" || w.mayFlag() && !commands),
			!w.known && commands && !operand,
			w.known && isDangerous(flag, row.long), w.hasLetter(row.values),
			name == "go" && strings.Contains(w.text, "-ext"): // -ldflags="-extld=PROGRAM"
			r.setWild()
		}
		if name == "scp" || name == "rsync" {
			r.addWrite(w)
		}
		operand = operand || w.isOperand()
	}
}

// judgeWriter judges a program that makes files, whose names may be a part of a flag.
func judgeWriter(r *reader, name string, row *program, argv []word) {
	if files, ok := curlWrites(name, argv); ok {
		for _, w := range files {
			r.addWrite(w)
		}
		return
	}
	args := argv[1:]
	for _, w := range args {
		flag, value, _ := strings.Cut(w.text, "=")
		if w.known && (isDangerous(flag, row.long) || w.hasLetter(row.values)) {
			r.setWild()
		}
		r.addWrite(w)
		if name != "tee" && (name != "cp" || value != "" || slices.ContainsFunc(args, word.mayFlag)) { // which make the files that they name, and no other, unless cp copies folders
			r.addWrite(word{text: value, known: value != ""})
		}
		if w.mayFlag() && len(w.text) < 100 {
			for i := 2; i < len(w.text); i++ {
				r.addWrite(word{text: w.text[i:], known: true})
			}
		}
	}
}

// curlShows are the flags of curl that name no file which it writes.
const curlShows = " -s -S -f -L -i -k -I -v -G -g -4 -6 -# -n -X -d -H -u -m -A -e --silent --show-error --fail --fail-with-body --location --max-time --connect-timeout --retry --retry-delay " +
	"--retry-connrefused --header --data --data-raw --json --request --user --user-agent --compressed --insecure --include --head --verbose --no-progress-meter --get --data-urlencode --globoff " +
	"--http1.1 --http2 --url "

// curlWrites returns the files that curl writes. ok is false if it may write others, or if the program is another.
func curlWrites(name string, argv []word) (files []word, ok bool) {
	if name != "curl" {
		return nil, false
	}
	r := reading{collects: true}
	r.readWords(argv)
	isUnlisted := func(f flagWord) bool {
		switch f.name {
		case "o", "output":
			files = append(files, word{text: f.value, known: true})
			return !f.known || strings.Contains(f.value, "#")
		case "w", "write-out":
			return !f.known || strings.Contains(f.value, "%output") || strings.HasPrefix(f.value, "@")
		}
		return !flagWords{f}.has(curlShows)
	}
	ok = !slices.ContainsFunc(r.flags, isUnlisted)
	return files, ok
}

// hasLetter reports whether a word is a cluster of short flags with one of the letters.
func (w word) hasLetter(letters string) bool {
	cluster := strings.TrimPrefix(w.text, "-")
	return len(w.text)-len(cluster) == 1 && len(cluster) > 1 && cluster[0] != '-' && strings.ContainsAny(cluster, letters)
}

// isOperand reports whether a word is certainly no flag.
func (w word) isOperand() bool { return w.known && !w.mayFlag() }

// isDangerous reports whether a word is in a list. Many programs accept the start of a long flag. "-B*"
// in a list is a flag whose value may be attached.
func isDangerous(text, list string) bool {
	if hasName(list, text) || len(text) > 1 && text[0] == '-' && strings.Contains(list, " "+text[:2]+"* ") {
		return true
	}
	return len(text) > 3 && strings.HasPrefix(text, "--") && strings.Contains(list, " "+text)
}

// isQuestion reports whether a program only prints its version or help.
func isQuestion(args []word) bool {
	return len(args) == 1 && (args[0].text == "--version" || args[0].text == "--help")
}

// judgeTrap visits the text of trap.
func judgeTrap(r *reader, args []word, j *job) {
	args = behindDashes(args)
	r.dropTraps() // this one may replace those before
	if len(args) == 0 || args[0].known && (args[0].text == "" || args[0].text[0] == '-') {
		return
	}
	atExit := slices.ContainsFunc(args[1:], func(w word) bool { return isOneOf(w.text, []string{"EXIT", "0"}) }) && !r.trapped
	from := len(r.script.calls)
	folder := r.folder
	r.folder = unknownFolder // only the shell knows where it stands then
	text := j.inner("trap", "eval", args[0])
	text.certain = j.certain && atExit
	r.conditional(func() { r.nested(text) })
	r.folder = folder
	r.traps, r.trapped = [2]int{from, len(r.script.calls)}, true
}

// dropTraps makes the commands of a trap uncertain.
func (r *reader) dropTraps() {
	for i := r.traps[0]; i < r.traps[1]; i++ {
		r.script.calls[i].certain = false
	}
}

// modules are modules of Python that are programs by themselves.
const modules = " json.tool venv pip http.server compileall py_compile "

// judgeInterpreter judges python, perl, node and their like, whose text is no shell text.
func judgeInterpreter(r *reader, name string, args []word) {
	version := "-v"
	if strings.HasPrefix(name, "py") { // "python -v" reads its text from standard input
		version = "-V"
	}
	if isQuestion(args) || len(args) == 1 && args[0].text == version {
		return
	}
	if judgeCode(r, name, args) || judgePerl(r, name, args) || checksOnly(name, args) {
		return
	}
	if len(args) > 1 && strings.HasPrefix(name, "py") && args[0].text == "-m" && hasName(modules, args[1].text) && args[1].known {
		r.addCall(args[1:], false)
		return
	}
	r.setWild()
}

// checkers are flags and subcommands of interpreters that read a program, and run none of it.
const checkers = " ruby_-c php_-l php_--syntax-check node_--check node_-c deno_check deno_info deno_fmt "

// checksOnly reports whether an interpreter only checks files. A flag behind may load code.
func checksOnly(name string, args []word) bool {
	return len(args) > 0 && args[0].known && strings.Contains(checkers, " "+name+"_"+args[0].text+" ") &&
		!slices.ContainsFunc(args[1:], func(w word) bool { return w.mayFlag() && !isOneOf(w.text, []string{"--check", "--quiet"}) })
}

// judgeAwk judges awk, whose text may run programs.
func judgeAwk(r *reader, name string, row *program, args []word) {
	rest, _, query, ok := row.parseFlags(name, args)
	switch {
	case query:
	case !ok, len(rest) == 0, !rest[0].known:
		r.setWild()
	default:
		text := strings.ReplaceAll(rest[0].text, "||", "")
		if strings.ContainsAny(text, "|@") || strings.Contains(text, "system") || strings.Contains(text, "/inet") {
			r.setWild()
		}
		noteFiles(r, awkFiles(r, text))
	}
}

// awkFiles returns the files that a text of awk writes, and that it reads with getline.
func awkFiles(r *reader, text string) (files targets) {
	parts := strings.Split(text, `"`)
	for i, part := range parts[1:] {
		before := strings.TrimRight(parts[i], " \t")
		if strings.HasSuffix(before, ">") {
			r.addWrite(word{text: part, known: true})
			files.Writes = append(files.Writes, &part)
		} else if strings.Contains(text, "getline") {
			noteValues(r, word{text: part})
			files.Globs = []string{""}
		}
	}
	return files
}

// judgeSed judges sed, whose commands e, w and s///e run or write.
func judgeSed(r *reader, argv []word) {
	reads := reading{collects: true, operands: []word{}}
	reads.readWords(argv)
	scripts, files, inPlace := []word(nil), reads.operands, false
	for _, f := range reads.flags {
		switch f.name {
		case "e", "expression":
			scripts = append(scripts, f.word())
		case "i", "in-place":
			inPlace = true
		case "", "n", "E", "r", "s", "u", "z":
		default:
			if !isQuestion(argv[1:]) {
				r.setWild()
			}
			return
		}
	}
	if inPlace { // BSD's sed has the suffix in a word of its own
		files = slices.DeleteFunc(files, func(w word) bool { return w.known && w.text == "" })
	}
	if len(scripts) == 0 && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	isUnsafe := func(w word) bool { return !w.known || !isSafeSed(w.text) }
	isFlag := func(w word) bool { return !w.known && w.mayFlag() && (w.open().pattern == "" || !w.many) }
	if slices.ContainsFunc(scripts, isUnsafe) || slices.ContainsFunc(files, isFlag) {
		r.setWild()
	}
	for _, w := range files {
		if inPlace {
			r.addWrite(w)
		}
	}
}

// isSafeSed reports whether a script of sed consists of s, p, d, q and = with their addresses.
func isSafeSed(text string) bool {
	for _, line := range strings.Split(text, "\n") {
		for rest := strings.TrimLeft(line, " ;"); rest != ""; rest = strings.TrimLeft(rest, " ;}") {
			var ok bool
			if rest, ok = skipSed(rest); !ok {
				return false
			}
		}
	}
	return true
}

// skipSed skips one command of sed with its address.
func skipSed(text string) (rest string, ok bool) {
	for text != "" && (isDigit(text[0], 10) && text[0] <= '9' || contains("$,!{ +", text[0]) || text[0] == '/') {
		if text[0] != '/' {
			text = text[1:]
			continue
		}
		if text, ok = skipDelimited(text[1:], '/'); !ok {
			return "", false
		}
	}
	if text == "" {
		return "", false
	}
	switch text[0] {
	case 'p', 'd', 'q', '=', 'n', 'N', 'D', 'P', 'h', 'H', 'g', 'G', 'x':
		return text[1:], true
	case 'a', 'i', 'c': // the rest of the line is a text; further lines of it are judged as commands
		return "", true
	case 's', 'y':
	default:
		return "", false
	}
	if len(text) < 2 || text[1] == '\\' {
		return "", false
	}
	delimiter := text[1]
	if text, ok = skipDelimited(text[2:], delimiter); !ok {
		return "", false
	}
	if text, ok = skipDelimited(text, delimiter); !ok {
		return "", false
	}
	text = strings.TrimLeft(text, "gIip0123456789")
	return text, text == "" || contains("; }", text[0])
}

// skipDelimited skips a text up to its delimiter.
func skipDelimited(text string, delimiter byte) (rest string, ok bool) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			closing := strings.IndexByte(text[i:], ']')
			if closing < 0 || strings.IndexByte(text[i:i+closing], delimiter) >= 0 {
				return "", false // the delimiter may stand in brackets
			}
			i += closing
		case delimiter:
			return text[i+1:], true
		}
	}
	return "", false
}

// hasWord reports whether a text may be among the words.
func hasWord(words []word, text string) bool {
	return slices.ContainsFunc(words, func(w word) bool { return !w.known || w.text == text })
}

// judgePackages judges npm and its like, which run scripts of the project.
func judgePackages(r *reader, name string, row *program, j *job) {
	asks := len(j.argv) > 1 && isOneOf(j.argv[1].text, []string{"--version", "-v", "--help"})
	if !followPackage(r, name, j) && !asks && !row.shows(j.argv) {
		r.setWild()
	}
}

// judgeCalculation judges exit and its like: zsh calculates the word.
func judgeCalculation(r *reader, name string, args []word) {
	if name == "kill" {
		return
	}
	if name == "ulimit" {
		args = slices.DeleteFunc(slices.Clone(args), func(w word) bool {
			return w.known && (isOneOf(w.text, []string{"unlimited", "hard", "soft"}) || strings.Trim(w.text, "-HSabcdefiklmnpqrstuvxPRT") == "")
		})
	} else if name != "shift" {
		r.dead = true
	}
	for _, w := range args {
		if !w.known || !isDigits(w.text) {
			r.setWild()
		}
	}
}

// judgeAssignment judges read, unset and their like: an index in a name is calculated.
func judgeAssignment(r *reader, name string, args []word) {
	for i, w := range args {
		switch {
		case name == "read" && i > 0 && isOneOf(args[i-1].text, []string{"-p", "-d"}):
		case name == "read" && i > 0 && isOneOf(args[i-1].text, []string{"-t", "-n", "-u", "-N", "-k"}):
			if !isDigits(strings.Replace(w.text, ".", "", 1)) {
				r.setWild() // zsh calculates it
			}
		case !w.known, strings.Contains(w.text, "["):
			r.setWild()
		case name == "unset":
			delete(r.defined, calledKey{r.file, w.text})
			if isPoison(w.text) {
				r.poisoned = true
				r.setWild()
			}
		default:
			r.assignName(w.text, word{})
			put(&r.lists, w.text, true) // perhaps: read -a
		}
	}
}

// judgePrintf judges printf: zsh calculates numbers, and -v assigns.
func judgePrintf(r *reader, args []word) {
	if args = behindDashes(args); len(args) == 0 {
		return
	}
	format := args[0]
	if !format.known || strings.HasPrefix(format.text, "-v") {
		r.setWild()
		return
	}
	text := strings.ReplaceAll(format.text, "%%", "")
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '%' {
			continue
		}
		verb := strings.TrimLeft(text[i+1:], "-+ #0123456789.")
		if verb != "" && contains("sbqc", verb[0]) {
			continue
		}
		for _, w := range args[1:] {
			if !w.known || !isDigits(strings.Replace(w.text, ".", "", 1)) {
				r.setWild()
			}
		}
	}
}

// judgeTest judges test and [. An operand of unknown length may contain an operator.
func judgeTest(r *reader, args []word) {
	for i, w := range args {
		if w.many {
			r.setWild()
		}
		switch w.text {
		case "-v", "-R":
			if i+1 < len(args) && (!args[i+1].known || strings.Contains(args[i+1].text, "[")) {
				r.setWild()
			}
		case "-eq", "-ne", "-lt", "-le", "-gt", "-ge":
			// mksh, ksh and older zsh calculate both sides.
			if readsNumbers(r, args, i) {
				continue
			}
			if i > 0 && !args[i-1].number && !isDigits(args[i-1].text) || i+1 < len(args) && !args[i+1].number && !isDigits(args[i+1].text) {
				r.setWild()
			}
		}
	}
}

// readsNumbers reports whether a comparison of test or [ certainly takes its sides for plain numbers, as bash and dash
// do if nothing else stands there: the words decide then which one is the operator.
func readsNumbers(r *reader, args []word, operator int) bool {
	if operator == 2 && args[0].known && args[0].text == "!" {
		args, operator = args[1:], 1
	}
	isAlone := len(args) == 3 || len(args) == 4 && args[3].known && args[3].text == "]"
	return isOneOf(r.shell, []string{"bash", "dash"}) && operator == 1 && isAlone
}

// shellOptions are words of shopt that do not change how the shell reads a text.
var shellOptions = []string{
	"-s", "-u", "-q", "nullglob", "globstar", "dotglob", "failglob", "nocaseglob", "inherit_errexit", "lastpipe",
}

// judgeSet judges set and shopt: some options change how the shell reads what follows.
func judgeSet(r *reader, name string, args []word) {
	if name == "shopt" {
		for _, w := range args {
			if !isOneOf(w.text, shellOptions) {
				r.setWild()
			}
		}
		return
	}
	for i, w := range args {
		switch {
		case w.known && w.text == "--":
			return
		case !w.known:
			r.setWild()
		case i > 0 && hasStart(args[i-1].text, "-", "+") && strings.HasSuffix(args[i-1].text, "o"): // as -euo
			if !isOneOf(w.text, harmlessOptions) {
				r.setWild()
			}
			r.errexit = r.errexit || w.text == "errexit"
		case len(w.text) > 1 && (w.text[0] == '-' || w.text[0] == '+'):
			r.errexit = r.errexit || contains(w.text, 'e')
			if strings.Trim(w.text[1:], "euxo") != "" {
				r.setWild()
				r.poisoned = true
			}
		}
	}
}
