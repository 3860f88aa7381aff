package shell

import (
	"slices"
	"strings"
)

// follow finds what the program of a job runs. It returns the job that is to be followed next, or nil.
func follow(r *reader, name string, row *program, j *job) (next *job) {
	switch row.kind {
	case runsWords, runsAssigned, runsInput, leaves, runsRepeat, runsWatch:
		return followWords(r, name, row, j)
	case runsRemote:
		followRemote(r, name, row, j)
	case runsShell:
		followShell(r, name, j)
	case runsOption:
		followOption(r, name, j)
	case runsEval:
		followEval(r, name, j)
	default:
		r.recordJob(j)
		judge(r, name, row, j)
	}
	return nil
}

// wrap returns the job of a command behind a wrapper.
func (j *job) wrap(name string, argv []word, certain bool) *job {
	return &job{argv: argv, certain: j.certain && certain, via: j.via, wrappers: j.under(name), origin: j.origin}
}

// under returns the wrappers of what a program of the job runs.
func (j *job) under(name string) []string {
	return append(j.wrappers[:len(j.wrappers):len(j.wrappers)], name)
}

// inner returns a text that a program of the job runs.
func (j *job) inner(name, via string, text word) nestedText {
	return nestedText{word: text, via: via, wrappers: j.under(name), certain: j.certain}
}

// splits reports whether env -S certainly splits a text as Fields does, and rest stands behind it.
func (j *job) splits(text word, rest []word) bool {
	last := j.argv[len(j.argv)-len(rest)-1].text // the text, or a flag with it
	return text.known && isSplittable(text.text) && (last == text.text || len(last) > 1 && last[0] == '-' && strings.HasSuffix(last, text.text))
}

// followWords follows a wrapper whose remaining words are the command.
func followWords(r *reader, name string, row *program, j *job) (next *job) {
	rest, flags, query, ok := row.behindFlags(name, j)
	switch {
	case query:
		r.recordJob(j)
		return nil
	case !ok:
		r.giveUp(j)
		return nil
	}
	certain := row.isCertain(name, flags)
	if !certain && name == "sudo" && slices.ContainsFunc(rest, func(w word) bool { return strings.Contains(w.text, "$") }) {
		r.setWild() // the shell of sudo -s expands $
	}
	switch row.kind {
	case runsAssigned:
		rest, certain, ok = r.skipAssignments(name, row, rest, certain)
		if !ok {
			r.giveUp(j)
			return nil
		}
	case runsInput:
		rest = inputWords(r, rest, flags)
	case runsRepeat:
		certain, rest = rest[0].text != "0", rest[1:]
	case runsWatch:
		if len(rest) > 0 && !flags.has(" -x --exec ") {
			r.nested(j.inner(name, j.via, joinWords(rest)))
			return nil
		}
	}
	if len(rest) > 0 {
		if row.kind == leaves {
			r.dropTraps()
			defer func() { r.dead = true }()
		}
		if row.changesFolder(name, flags) {
			r.folder = unknownFolder
		}
		next = j.wrap(name, rest, certain)
		if row.kind == runsInput {
			next.via = "xargs"
		}
		return next
	}
	r.recordJob(j)
	if flags.has(" -s ") || name == "sudo" && flags.has(" -i ") {
		r.setWild() // it starts a shell
	}
	return nil
}

// behindFlags returns the words behind the flags of a wrapper as parseFlags does, with those that env -S splits.
func (p *program) behindFlags(name string, j *job) (rest []word, flags flagWords, query, ok bool) {
	rest, flags, query, ok = p.parseFlags(name, j.argv[1:])
	if split, has := flags.get("S"); has && name == "env" {
		ok = ok && j.splits(split, rest)
		rest = append(knownWords(strings.Fields(split.text)), rest...)
	}
	return rest, flags, query, ok && (p.kind != runsRepeat || query || len(rest) >= 2 && isDigits(rest[0].text))
}

// isCertain reports whether a wrapper with these flags certainly runs its command.
func (p *program) isCertain(name string, flags flagWords) bool {
	return !flags.has(p.shaky) && name != "-" && name != "builtin" // zsh may read the dash as its own flag
}

// changesFolder reports whether env or sudo runs its command in another folder.
func (p *program) changesFolder(name string, flags flagWords) bool {
	if name == "env" {
		return flags.has(" -C --chdir ")
	}
	return p.kind == runsAssigned && flags.has(" -D -R -i --chdir ")
}

// skipAssignments returns the words behind the assignments of env and its like, and whether these
// words are certainly the command. Between its assignments sudo reads flags, too.
func (r *reader) skipAssignments(name string, row *program, words []word, certain bool) ([]word, bool, bool) {
	if len(words) > 0 && words[0].known && words[0].text == "-" { // env -
		words, certain = words[1:], false
	}
	for len(words) > 0 && words[0].known {
		text := words[0].text
		key, value, assigns := strings.Cut(text, "=")
		switch {
		case assigns && (name == "env" || text[0] != '/'):
			r.assignName(key, word{text: value, known: true})
			words = words[1:]
		case name == "sudo" && len(text) > 1 && text[0] == '-':
			rest, flags, query, ok := row.parseFlags(name, words)
			if !ok || query || len(rest) >= len(words) {
				return nil, false, false
			}
			words, certain = rest, certain && row.isCertain(name, flags)
		default:
			return words, certain, true
		}
	}
	return words, certain, true
}

// inputWords returns the words of the command that xargs runs, with a word for its input.
func inputWords(r *reader, words []word, flags flagWords) []word {
	if mark, ok := flags.get("I"); ok || flags.has(" --replace ") {
		words = replaceInput(words, mark)
	}
	input := word{many: true}
	documents, others := inputs(r.stdin)
	if r.piped != nil && len(documents) == 0 && !others && !flags.has(" -a --arg-file -d --delimiter ") {
		input.ends = r.piped
	}
	words = append(words[:len(words):len(words)], input)
	if len(words) == 1 {
		return []word{{text: "echo", known: true}, input}
	}
	return words
}

// isSplittable reports whether env -S splits a text at its spaces and changes nothing else. The
// text has no flags, which env would read again.
func isSplittable(text string) bool {
	for i, field := range strings.Fields(text) {
		if !isPlain(field) || i == 0 && field[0] == '-' {
			return false
		}
	}
	return true
}

// knownWords returns the words of texts.
func knownWords(texts []string) []word {
	words := make([]word, len(texts))
	for i, t := range texts {
		words[i] = word{text: t, known: true}
	}
	return words
}

// behindDashes returns words without "--" in front.
func behindDashes(words []word) []word {
	if len(words) > 0 && words[0].text == "--" {
		return words[1:]
	}
	return words
}

// replaceInput returns the words of xargs -I, of which those with the mark depend on the input.
func replaceInput(argv []word, mark word) []word {
	text := mark.text
	if text == "" {
		text = "{}"
	}
	words := make([]word, len(argv))
	for i, w := range argv {
		if w.known && mark.known && strings.Contains(w.text, text) || !mark.known {
			w = word{}
		}
		words[i] = w
	}
	return words
}

// joinWords joins words to a shell text.
func joinWords(words []word) word {
	texts := make([]string, len(words))
	for i, w := range words {
		if !w.known {
			return word{}
		}
		texts[i] = w.text
	}
	return word{text: strings.Join(texts, " "), known: true}
}

// safeOptions are options of ssh that run nothing.
const safeOptions = " stricthostkeychecking batchmode connecttimeout userknownhostsfile loglevel serveraliveinterval serveralivecountmax identitiesonly identityfile port user "

// followRemote follows ssh: the words behind the host are a shell text.
func followRemote(r *reader, name string, row *program, j *job) {
	rest, flags, query, ok := row.parseFlags(name, j.argv[1:])
	if ok && !query && len(rest) > 0 && (!rest[0].known || strings.HasPrefix(rest[0].text, "-")) {
		behind, before := *row, flags
		behind.operands = 0 // ssh reads flags behind the host, too
		rest, flags, query, ok = behind.parseFlags(name, rest)
		flags = append(flags, before...)
	}
	isUnsafe := func(f flagWord) bool {
		return f.name == "o" && !f.known || f.pair && !hasName(safeOptions, strings.ToLower(f.name))
	}
	switch {
	case query:
		r.recordJob(j)
	case !ok || slices.ContainsFunc(flags, isUnsafe):
		r.giveUp(j)
	case len(rest) == 0:
		r.runElsewhere(func() { r.readInput(name, "ssh", j) })
	default:
		r.runElsewhere(func() { r.nested(j.inner(name, "ssh", joinWords(rest))) })
	}
}

// followShell follows bash -c TEXT and its like.
func followShell(r *reader, name string, j *job) {
	f := readShellFlags(j.argv)
	r.errexit = r.errexit || f.errexit
	switch {
	case f.query:
		r.recordJob(j)
	case f.unknown:
		r.giveUp(j)
	case f.isText && len(f.rest) > 0 && !f.rest[0].many:
		text := j.inner(name, "sh -c", f.rest[0])
		text.shell, text.certain = name, j.certain && f.certain
		r.nested(text)
	case f.isInput && !f.isText && f.certain:
		r.readInput(name, "heredoc", j)
	case f.isText || len(f.rest) > 0 && f.certain:
		if f.isText || !followScript(r, nestedText{word: f.rest[0], via: "script", shell: name, wrappers: j.under(name), certain: j.certain}) {
			r.giveUp(j)
		}
	case len(f.rest) > 0: // -n FILE checks the syntax
		r.recordJob(j)
	default:
		r.readInput(name, "heredoc", j)
	}
}

// harmlessOptions are options of "set -o" that change neither what a shell runs nor how it reads.
var harmlessOptions = []string{"pipefail", "errexit", "nounset", "xtrace"}

// shellFlags are the flags of a shell, and the words behind them.
type shellFlags struct {
	rest    []word
	isText  bool // -c: the first word is a text
	isInput bool // -s: standard input is the text, whatever words follow
	certain bool // the shell runs it
	errexit bool
	query   bool // the shell prints something about itself
	unknown bool // starhost does not know a flag
}

func readShellFlags(argv []word) (f shellFlags) {
	f.certain = true
	i := 1
	for ; i < len(argv); i++ {
		w := argv[i]
		if !w.known {
			f.unknown = true
			return f
		}
		if w.text == "--" || w.text == "-" {
			i++
			break
		}
		if isOneOf(w.text, []string{"--norc", "--noprofile", "--posix", "--login"}) {
			continue
		}
		if w.text == "--version" || w.text == "--help" {
			f.query = true
			return f
		}
		if len(w.text) < 2 || w.text[0] != '-' && w.text[0] != '+' {
			break
		}
		if strings.Trim(w.text[1:], "ceuxlvfEmnos") != "" {
			f.unknown = true
			return f
		}
		i = f.readLetters(argv, i)
	}
	f.rest = argv[min(i, len(argv)):]
	return f
}

// readLetters reads the letters of one word, and returns the index of the last word that it read.
func (f *shellFlags) readLetters(argv []word, i int) int {
	text := argv[i].text
	f.isText = f.isText || contains(text, 'c') // bash and dash take +c for -c
	f.isInput = f.isInput || contains(text, 's')
	f.unknown = f.unknown || text[0] == '+' && (contains(text, 'n') || contains(text, 's'))
	f.certain = f.certain && !contains(text, 'n')
	f.errexit = f.errexit || contains(text, 'e')
	for range strings.Count(text, "o") {
		i++ // the name of an option; others may change how the shell reads the text
		f.unknown = f.unknown || i >= len(argv) || !isOneOf(argv[i].text, harmlessOptions)
		f.errexit = f.errexit || i < len(argv) && argv[i].text == "errexit"
	}
	return i
}

// followOption follows su -c TEXT. The last -c counts, and other flags choose another shell.
func followOption(r *reader, name string, j *job) {
	reads := reading{collects: true}
	reads.readWords(j.argv)
	texts := slices.DeleteFunc(reads.flags, func(f flagWord) bool { return f.name == "l" || f.name == "login" })
	if len(texts) != 1 || !texts.has(" -c --command ") {
		r.giveUp(j)
		return
	}
	folder := r.folder
	r.folder = unknownFolder // with -, su begins in the home folder
	r.nested(j.inner(name, "sh -c", texts[0].word()))
	r.folder = folder
}

// followEval follows eval.
func followEval(r *reader, name string, j *job) {
	rest := behindDashes(j.argv[1:])
	if slices.ContainsFunc(rest, func(w word) bool { return w.many }) {
		r.giveUp(j)
		return
	}
	scope := r.scope
	r.nested(j.inner(name, "eval", joinWords(rest)))
	r.scope = scope
}

// followPod follows kubectl exec POD -- COMMAND.
func followPod(r *reader, j *job) {
	runs, unknown := false, false
	for i, w := range j.argv[1:] {
		value := i > 0 && strings.HasPrefix(j.argv[i].text, "-") // perhaps of the flag in front
		flag, _, _ := strings.Cut(w.text, "=")
		switch {
		case !w.known:
			unknown = true
		case w.text == "exec", (w.text == "run" || w.text == "debug") && !value:
			runs = true
		case w.text == "--" && (runs || unknown):
			if rest := j.argv[i+2:]; len(rest) > 0 {
				r.runElsewhere(func() { r.run(j.wrap("kubectl", rest, runs && !unknown)) })
			}
			return
		case isDangerous(flag, " --exec-command --helm-command --enable-exec --enable-alpha-plugins "):
			r.setWild() // a program that kubectl runs to log in, or to make its objects
		}
	}
	if runs {
		r.setWild() // the form without "--", or a program of the image
	}
}

// imagePrograms are subcommands that run programs, but not as exec and run do.
var imagePrograms = []string{"build", "buildx", "bake", "up", "deploy", "start", "restart", "create", "unshare", "machine", "runlabel", "debug", "model", "mcp", "ai"}

// followContainer follows docker exec and docker run.
func followContainer(r *reader, j *job) {
	for i, w := range j.argv[1:] {
		switch {
		case !w.known:
			r.setWild()
			return
		case w.text == "exec" || w.text == "run":
			behind := program{operands: 1} // the container or the image
			rest, flags, query, ok := behind.parseFlags("docker run", j.argv[i+2:])
			if w.text == "run" {
				r.setWild() // the image decides which program runs
			}
			if !ok {
				r.setWild()
			} else if !query && len(rest) > 0 {
				r.runElsewhere(func() { r.run(j.wrap("docker", rest, !flags.has(" --entrypoint "))) })
			}
			return
		case isOneOf(w.text, imagePrograms):
			r.setWild()
			return
		case isOneOf(w.text, []string{"compose", "container", "image", "builder", "service", "stack"}), strings.HasPrefix(w.text, "-"), i > 0 && strings.HasPrefix(j.argv[i].text, "-"):
		default:
			if !hasName(containerViews, w.text) || w.text == "update" && hasWord(j.argv[1:i+1], "service") {
				r.setWild() // a plugin, or other words for the containers of a service
			}
			return
		}
	}
}

// containerViews are subcommands of docker, its groups and docker compose that start no program.
const containerViews = " ps images ls list logs inspect pull push tag rm rmi kill stop pause unpause cp diff commit stats top port rename update wait events info version " +
	"login logout search history save load import export network volume system context config secret node swarm plugin trust manifest scout sbom down remove prune " +
	"attach pod buildx df "
