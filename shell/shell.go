package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A Script is the analysis of one command line.
type Script struct {
	// OK is false if the text could not be understood as a whole. Then Commands is empty.
	OK bool
	// Reason says why OK is false: "syntax: …", "size", "depth" or "dialect".
	Reason string
	// Unknown is true if some program, or text that a shell would run, is decided at run time only.
	Unknown bool
	// Known is true if every program of the text has a row in the table, or is a function of it.
	Known bool
	// Commands are the simple commands in the order of the source, with those of nested texts.
	Commands []Command
	// Unknowns say why an answer of Runs can be "maybe": first the reasons for all programs, then
	// those for single ones. Runs is certain about a program if no entry has its name or no name.
	Unknowns []unknown
	// Values are texts that the text gives to variables, and to standard input: a word that is decided at run time may be
	// one of them.
	Values []*string
	// Nodes counts the parts of the text that the analysis visited, for the caller's bill.
	Nodes int
	// Weight counts the words of all programs, each wrapper's again, and 64 bytes of their texts as
	// one more: what an answer of Runs reads.
	Weight int

	calls   []invocation    // programs that may run, including wrappers, each once in a long text
	index   *index          // nil for a short text
	wild    bool            // any program may run
	defines map[string]bool // functions and aliases that the text defines
}

// A Command is one simple command. A nil word is decided at run time only.
type Command struct {
	// Name is the base name of the program behind wrappers.
	Name *string
	// Argv are the words from the program on.
	Argv []*string
	// Wrappers are the programs in front that run this one, such as sudo.
	Wrappers []string
	// Via says how the text runs the command: "", "pipe", "subst", "proc", "sub", "func", "eval",
	// "sh -c", "xargs", "find -exec", "heredoc", "script" or "ssh".
	Via string
	*origin

	words []word // those of Argv
}

// An origin is what the commands have in common that run through one command of the source.
type origin struct {
	// Env are the assignments in front.
	Env []struct {
		Name  string
		Value *string
	}
	targets
	// Text is the source of the command; Offset is its place in bytes. A command of a nested text
	// has the offset of the command that contains the text.
	Text   string
	Offset int
}

// targets are the targets of redirections, with what Glob returns of those that are decided at run time.
type targets struct {
	Reads, Writes []*string
	Globs         []string
}

// add adds a file that a command reads, writes, or both.
func (t *targets) add(w word, reads, writes bool) {
	if !w.known {
		t.Globs = append(t.Globs, w.glob())
	}
	if reads {
		t.Reads = append(t.Reads, w.pointer())
	}
	if writes {
		t.Writes = append(t.Writes, w.pointer())
	}
}

// addFiles adds redirections to a command.
func (c *Command) addFiles(t targets) {
	at := *c.origin
	at.Reads, at.Writes, at.Globs = slices.Concat(at.Reads, t.Reads), slices.Concat(at.Writes, t.Writes), slices.Concat(at.Globs, t.Globs)
	c.origin = &at
}

// AppendKey appends all that tells a command from another one but its place.
func (c *Command) AppendKey(key []byte) []byte {
	key = wordsKey(wordsKey(wordsKey(key, c.words), toWords(c.Reads)), toWords(c.Writes))
	for _, e := range c.Env {
		key = wordsKey(wordsKey(key, []word{{text: e.Name, known: true}}), toWords([]*string{e.Value}))
	}
	for _, texts := range [][]string{{c.Via, c.Text}, c.Wrappers, c.Globs} {
		key = wordsKey(key, knownWords(texts))
	}
	return key
}

// toWords returns words of which nobody knows more than their texts.
func toWords(list []*string) []word {
	words := make([]word, len(list))
	for i, w := range list {
		if words[i] = (word{many: true}); w != nil {
			words[i] = word{text: *w, known: true}
		}
	}
	return words
}

// Split returns the words that start with "-", up to "--", as written, and those that are neither these nor the
// program.
func (c *Command) Split() (flags, args []*string) {
	for i, w := range c.Argv[1:] {
		switch {
		case w != nil && *w == "--":
			return flags, append(args, c.Argv[i+2:]...)
		case w != nil && len(*w) > 1 && (*w)[0] == '-':
			flags = append(flags, w)
		default:
			args = append(args, w)
		}
	}
	return flags, args
}

// An invocation is a program that may run, with its words.
type invocation struct {
	argv        []word // the program first
	at          source // the command that runs it
	name, plain string // the program's base name, as it is and as plainName writes it
	certain     bool   // control flow may reach it, and no shell reads it in another way
	unlisted    bool   // it has no row
	followed    bool   // it is a script, which has been read
	trusted     bool   // the operator trusts it
	mentions    bool   // it may run what its words mention
	spoken      []word // these, if not all words behind the program
}

// IsWord reports whether word i is certainly one word, also if it is decided at run time.
func (c *Command) IsWord(i int) bool { return i < len(c.words) && !c.words[i].many }

// Glob returns a glob that word i certainly matches, if it is decided at run time, or "". The shell makes names of files of it,
// unless it begins with "$": then the word has a variable or a substitution. If it begins with "$$", it may be any number of
// words, of which the first begins as the glob behind, and the last ends so.
func (c *Command) Glob(i int) string {
	if i < len(c.words) {
		return c.words[i].glob()
	}
	return ""
}

// Limits of a text.
const (
	maxBytes  = 64 << 10
	maxOpen   = 100      // brackets and clauses open at a time
	maxOpened = 3000     // brackets and clauses in all, because quotes can hide the closing ones
	maxWords  = 1000     // after brace expansion
	maxParts  = 64 << 10 // parts of these words
	// words of all commands together, and for each byte of the text as many more; each wrapper
	// counts the words behind it again
	maxFollowed, moreFollowed = 4000, 4
	maxNested                 = 8         // texts within texts, such as sh -c 'sh -c …'
	maxInner                  = 128 << 10 // bytes of all nested texts together, and of the words that braces make
)

// Options are what [ParseWith] knows besides the text. The zero value reads no file and trusts nothing.
type Options struct {
	// Dialect is "any" (or ""), "bash", "zsh" or "posix"; the result counts the programs that any of
	// the shells would run. For another dialect, such as "powershell", OK is false.
	Dialect string
	// Read returns the text of a script that the command line runs: at most 16 files of 64 KiB. A
	// path is relative to Folder. Nobody reads a file if Read is nil.
	Read func(path string) (text string, ok bool)
	// Folder is the folder in which the shell starts.
	Folder string
	// Trusted are runners, as their first words, which count as harmless if their other words are
	// plain: "make", "go test".
	Trusted []string
}

// Parse analyses a command line without files.
func Parse(text, dialect string) *Script { return ParseWith(text, Options{Dialect: dialect}) }

// ParseWith analyses a command line. It takes time in proportion to the length of text and of the
// scripts that the text runs, and reads at most 64 KiB of each.
func ParseWith(text string, o Options) (s *Script) {
	defer func() {
		if v := recover(); v != nil { // a defect of the parser must not switch a guard off
			s = refused(source{text: text}, fmt.Sprintf("syntax: the parser fails: %v", v))
		}
	}()
	dialect := o.Dialect
	switch dialect {
	case "", "any", "bash", "zsh", "posix":
	default:
		return refused(source{text: text}, "dialect")
	}
	if reason := checkBounds(text); reason != "" {
		return refused(source{text: text}, reason)
	}
	room := 1 + min(len(text), 1<<10)/32 // as ordinary lines need
	o.Folder = path.Clean(o.Folder)
	s = &Script{OK: true, calls: make([]invocation, 0, room+room/2), Commands: make([]Command, 0, room)}
	r := &reader{script: s, text: text, certain: true, shell: dialect}
	parser := syntax.NewParser()
	if dialect == "zsh" && !parses(parser, text) {
		// The parser's zsh is incomplete, so such a text counts as unknown.
		s.wild = true
		s.Unknowns = []unknown{source{text: text}.unknown("", "zsh alone reads this text", "")}
		parser = syntax.NewParser(syntax.Variant(syntax.LangZsh))
	}
	if reason := r.readText(o, parser); reason != "" {
		return refused(source{text[r.failedAt:], r.failedAt}, reason)
	}
	s.addUnknowns()
	s.Known = s.isKnown()
	s.Unknown = s.wild || s.hasUnlisted()
	if s.Weight > fewWords {
		s.makeIndex()
	}
	return s
}

// hasUnlisted reports whether a program may run that Commands does not list: one that is decided
// at run time, or one that only dash or zsh would run. An allowlist of names needs this.
func (s *Script) hasUnlisted() bool {
	listed := map[string]bool{"time": true, "coproc": true, "cat": true, "more": true} // harmless without words
	for _, c := range s.Commands {
		if c.Name != nil {
			listed[*c.Name] = true
		}
		for _, w := range c.Wrappers {
			listed[w] = true
		}
		if isModule(c.Argv) {
			listed[*c.Argv[2]] = true
		}
	}
	return slices.ContainsFunc(s.calls, func(c invocation) bool { return !c.argv[0].known || !listed[c.name] })
}

// isKnown reports whether every program has a row.
func (s *Script) isKnown() bool {
	return !slices.ContainsFunc(s.calls, func(c invocation) bool {
		return !c.argv[0].known || c.unlisted || isScript(c.argv[0].text) && !c.followed
	})
}

// isModule reports whether a command is "python -m NAME".
func isModule(argv []*string) bool {
	return len(argv) > 2 && argv[0] != nil && strings.HasPrefix(path.Base(*argv[0]), "py") &&
		argv[1] != nil && *argv[1] == "-m" && argv[2] != nil
}

// refused returns the result for a text that nothing is certain about, because of a part of it.
func refused(at source, reason string) *Script {
	return &Script{Reason: reason, Unknown: true, wild: true, Unknowns: []unknown{at.unknown("", "%", reason)}}
}

// parses reports whether a parser accepts text.
func parses(parser *syntax.Parser, text string) bool {
	_, err := parser.Parse(strings.NewReader(text), "")
	return err == nil
}

// A question is what Runs looks for.
type question struct {
	name, plain string            // the program, as it is and as plainName writes it
	words       []map[string]bool // of which each may be any of the texts
}

// Runs answers "yes", "no" or "maybe": does the text run program with words in its arguments? The
// words must stand in this order; others may stand between them. Each word is a list of
// alternatives. "yes" means that control flow may reach such a command. "no" is certain. The time
// is in proportion to Weight and the length of the arguments, not to their product.
func (s *Script) Runs(program string, words ...[]string) string {
	program = path.Base(program)
	q := question{name: program, plain: plainName(program)}
	for _, list := range words {
		texts := make(map[string]bool, len(list))
		for _, text := range list {
			texts[text] = true
		}
		q.words = append(q.words, texts)
	}
	answer := "no"
	if s.wild {
		answer = "maybe"
	}
	if x := s.index; x != nil && !strings.Contains(x.texts, q.name) && !strings.Contains(x.texts, q.plain) {
		if x.open || slices.ContainsFunc(x.patterns, func(w word) bool { return w.mayBe(program) }) {
			return "maybe"
		}
		return answer
	}
	for i := range s.calls {
		c := &s.calls[i]
		switch c.answer(q) {
		case "yes":
			if c.certain && !s.defines[program] {
				return "yes"
			}
			answer = "maybe"
		case "maybe":
			answer = "maybe"
		}
	}
	return answer
}

// isVariant reports whether a program may be another one under a longer name: terraform1.5,
// microk8s.kubectl.
func isVariant(name, of string) bool {
	version, ok := strings.CutPrefix(name, of)
	return ok && strings.Trim(version, "0123456789.-") == "" ||
		len(name) > len(of) && name[len(name)-len(of)-1] == '.' && strings.HasSuffix(name, of)
}

// isNameByte reports whether a byte beside a name makes it another name.
func isNameByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-' || b == '.' || b >= 0x80
}

// mentions reports whether a word may have the name of a program in it, as a word of its own.
func (w word) mentions(name string) bool {
	if !w.known {
		return w.open().pattern == "" || globWord(path.Base(w.open().pattern)).mayBe(name)
	}
	for text := withoutSchemes(w.text); ; {
		i := strings.Index(text, name)
		if i < 0 || strings.TrimLeft(name, ":[") == "" { // no program starts these builtins
			return false
		}
		end := i + len(name)
		if (i == 0 || !isNameByte(text[i-1])) && (end == len(text) || !isNameByte(text[end]) && text[end] != '/') { // in front of "/" it is a folder
			return true
		}
		text = text[i+1:]
		if isNameByte(name[0]) { // the byte in front of the rest is a part of a name
			text = strings.TrimLeftFunc(text, func(c rune) bool { return c < 0x80 && isNameByte(byte(c)) })
		}
	}
}

// withoutSchemes returns a text in which no address of the web mentions the programs http and https.
func withoutSchemes(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return strings.NewReplacer("https://", "//", "http://", "//").Replace(text)
}

// mentioning returns the words that may mention a program.
func (c *invocation) mentioning() []word {
	if c.spoken != nil {
		return c.spoken
	}
	return c.argv[1:]
}

// answer compares one invocation with a question.
func (c *invocation) answer(q question) string {
	if !c.argv[0].known {
		return "maybe"
	}
	if c.name != q.name && c.plain != q.plain {
		if c.mentions && isVariant(c.plain, q.plain) && !c.isItself() {
			return "maybe"
		}
		if c.mentions && slices.ContainsFunc(c.mentioning(), func(w word) bool { return w.mentions(q.name) }) {
			return "maybe"
		}
		return "no"
	}
	answer := matchWords(c.argv[1:], q.words)
	if answer == "yes" && c.name != q.name { // file systems may ignore the case
		return "maybe"
	}
	return answer
}

// isItself reports whether the operator trusts a program under a name of the table: python3 is no other python.
func (c *invocation) isItself() bool { return c.trusted && programRows()[c.name] != nil }

// matchWords looks for words in argv, in their order.
func matchWords(argv []word, words []map[string]bool) string {
	found := 0
	for _, w := range argv {
		if found < len(words) && w.known && words[found][w.text] {
			found++
		}
	}
	if found == len(words) {
		return "yes"
	}
	// A word of unknown text may be each of the words; a list of unknown length may be all.
	possible := 0
	for _, w := range argv {
		switch {
		case possible == len(words):
		case w.many:
			return "maybe"
		case !w.known, words[possible][w.text]:
			possible++
		}
	}
	if possible == len(words) {
		return "maybe"
	}
	return "no"
}

// isOneOf reports whether list contains text.
func isOneOf(text string, list []string) bool { return slices.Contains(list, text) }
