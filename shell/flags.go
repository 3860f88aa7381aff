package shell

import (
	"slices"
	"strings"
	"sync"
)

// A flagWord is one flag of a command, as its program reads it.
type flagWord struct {
	name  string // without dashes; "" is a word that is decided at run time
	value string // "" if it has none
	known bool   // otherwise the value is decided at run time
	long  bool   // it begins with two dashes, and may be the beginning of a name
	pair  bool   // it is the KEY of a value KEY=VALUE
	row   *options
}

// word returns the value of a flag as a word.
func (f *flagWord) word() word { return word{text: f.value, known: f.known} }

// flagWords are the flags of a command in their order. The last one of a name counts.
type flagWords []flagWord

// get returns the value of a flag.
func (f flagWords) get(name string) (value word, ok bool) {
	for _, flag := range slices.Backward(f) {
		if flag.name == name {
			return flag.word(), true
		}
	}
	return word{}, false
}

// has reports whether a flag is in a list, between spaces and with dashes.
func (f flagWords) has(list string) bool {
	return list != "" && slices.ContainsFunc(f, func(flag flagWord) bool {
		return flag.long && hasName(list, "--"+flag.name) || !flag.long && hasName(list, "-"+flag.name)
	})
}

// optionRows returns the rows of optionTable by their paths.
var optionRows = sync.OnceValue(func() map[string]*options {
	rows := make(map[string]*options, 4*len(optionTable))
	for i := range optionTable {
		for name := range strings.SplitSeq(optionTable[i].paths, ",") {
			rows[name] = &optionTable[i]
		}
	}
	return rows
})

// findOptions returns how a program reads its words. It returns nil if nobody knows.
func findOptions(name string) *options {
	if name = plainName(name); hasName(gnuNames, name) {
		name = name[1:]
	}
	return optionRows()[name]
}

// maxCluster is the most flags in one word; behind them any may stand.
const maxCluster = 64

// verbs end the subcommand of a program whose groups are "**".
const verbs = " add apply attach authorize cancel clear cp cat copy create delete deploy describe destroy detach disable down du enable exec export failover get import " +
	"invoke kill list login logs ls move mv print purge rb reboot refresh remove replace reset resize restart restore resume revoke rm rsync run scale set show ssh start stat stop " +
	"suspend tail terminate undelete unset update upload upgrade use wait "

// goesOn reports whether the next word belongs to a subcommand of which sub is known.
func (o *options) goesOn(sub string) bool {
	switch {
	case sub == "":
		return o == nil || o.style <= oneDash
	case o == nil:
		return false
	case o.groups == "**":
		verb, _, _ := strings.Cut(sub[strings.LastIndexByte(sub, ' ')+1:], "-")
		return strings.Count(sub, " ") < 4 && !hasName(verbs, verb)
	case strings.Contains(sub, " "):
		return false
	}
	return o.groups == "*" || hasName(o.groups, sub)
}

// mark returns what stands behind a flag in the row, as the flag is written, or 0 if it is not there.
func (o *options) mark(flag string) byte {
	if o == nil || strings.HasSuffix(flag, ":") {
		return 0
	}
	for list := o.flags; ; {
		i := strings.Index(list, flag)
		if i < 0 {
			return 0
		}
		end := i + len(flag)
		if i > 0 && list[i-1] == ' ' && end < len(list) && contains(" :=?", list[end]) {
			return list[end]
		}
		list = list[end:]
	}
}

// begins reports whether the row lists a long flag with this beginning.
func (o *options) begins(flag string) bool { return strings.Contains(o.flags, " --"+flag) }

// A reading is what a program makes of its words.
type reading struct {
	root, row *options // of the program, and of the place that is read
	program   string
	sub       string
	unsure    bool     // nobody knows the subcommand
	doubt     bool     // the next word may be the value of a flag
	collects  bool     // it keeps the flags
	names     []string // of those that it keeps; nil for all
	flags     flagWords
	operands  []word // the words that may be no flags; nil if nobody asks
}

// readWords reads the words of a command as its program would.
func (r *reading) readWords(argv []word) {
	if len(argv) == 0 || !argv[0].known {
		r.unsure = true
		r.found(flagWord{}, false)
		return
	}
	r.program = plainName(argv[0].text[strings.LastIndexByte(argv[0].text, '/')+1:])
	r.root = findOptions(r.program)
	r.row = r.root
	for i := 1; i < len(argv); i++ {
		w := &argv[i]
		searches := !r.unsure && r.root.goesOn(r.sub)
		if !w.known || !w.mayFlag() {
			r.addOperands(*w)
		}
		switch {
		case !r.collects && !searches:
			return
		case !w.known:
			if w.mayFlag() {
				r.found(flagWord{}, false)
			}
			r.unsure = r.unsure || searches
		case w.text == "--":
			r.unsure = r.unsure || searches && len(argv) > i+1
			r.addOperands(argv[i+1:]...)
			return
		case len(w.text) < 2 || w.text[0] != '-':
			if searches && !strings.HasPrefix(w.text, "+") { // cargo +nightly build
				r.enter(w.text)
			}
		default:
			i = r.readFlagAt(argv, i, searches)
		}
	}
}

// addOperands keeps words that may be no flags, if somebody asks.
func (r *reading) addOperands(words ...word) {
	if r.operands != nil {
		r.operands = append(r.operands, words...)
	}
}

// readFlagAt reads the word of flags at an index, and returns the index of the last of its values.
func (r *reading) readFlagAt(argv []word, i int, searches bool) int {
	text := argv[i].text
	used, listed := r.readFlag(text, argv[i+1:])
	if i += used; used > 0 && i < len(argv) && !argv[i].known && argv[i].many { // it may be more than a value
		r.found(flagWord{}, false)
		r.unsure = r.unsure || searches
	}
	r.doubt = r.doubt || searches && !listed && !strings.Contains(text, "=")
	return i
}

// found keeps a flag, and if its value has pairs, each KEY of KEY=VALUE,KEY=VALUE.
func (r *reading) found(f flagWord, pairs bool) {
	if !r.collects {
		return
	}
	r.keep(f)
	for value := f.value; pairs && f.known && value != ""; {
		var part string
		part, value, _ = strings.Cut(value, ",")
		key, text, _ := strings.Cut(part, "=")
		r.keep(flagWord{name: key, value: text, known: true, pair: true})
	}
}

// keep keeps a flag if it may have one of the names.
func (r *reading) keep(f flagWord) {
	if f.row = r.row; r.names == nil || f.matches(r.names) != "no" {
		r.flags = append(r.flags, f)
	}
}

// enter reads a word of the subcommand, unless it may be the value of a flag.
func (r *reading) enter(word string) {
	if r.doubt {
		r.unsure = true
		return
	}
	r.sub = strings.TrimPrefix(r.sub+" "+word, " ")
	for _, path := range []string{r.program + " " + r.sub, r.program + " *"} {
		if row := optionRows()[path]; row != nil {
			r.row = row
			return
		}
	}
}

// readFlag reads a word of flags. It returns how many words behind it are values, also if there are none, and
// whether the row lists the flags.
func (r *reading) readFlag(text string, behind []word) (used int, listed bool) {
	value := word{known: true}
	if len(behind) > 0 {
		value = behind[0]
	}
	next := value
	full, attached, isAttached := strings.Cut(text, "=")
	if isAttached {
		value = word{text: attached, known: true}
	}
	isLong := strings.HasPrefix(text, "--")
	whole := flagWord{name: strings.TrimLeft(full, "-"), value: value.text, known: value.known, long: isLong}
	oneWord := r.row != nil && (r.row.style == oneDash || r.row.style == single)
	mark := r.row.mark(full)
	if mark == 0 && oneWord {
		mark = r.row.mark(full[1:])
	}
	takes := false
	if listed = mark != 0; isLong || oneWord || listed && !isAttached && len(text) > 2 {
		r.found(whole, mark == '=')
		takes = contains(":=", mark) && !isAttached
	} else if takes, listed = r.readCluster(text, next); !listed && len(text) > 2 { // as in -force
		r.found(whole, false)
	}
	if takes {
		used = 1
	}
	return used, listed
}

// readCluster reads a word of short flags. takes is true if the next word is the value of the last one.
func (r *reading) readCluster(text string, next word) (takes, listed bool) {
	listed = true
	for i := 1; i < len(text); i++ {
		if i > maxCluster {
			r.found(flagWord{}, false) // which may be any
			return false, false
		}
		mark := r.row.mark("-" + text[i:i+1])
		listed = listed && mark != 0
		rest := text[i+1:]
		switch {
		case rest == "":
			r.found(flagWord{name: text[i:], value: next.text, known: next.known}, mark == '=')
			takes = contains(":=", mark)
		case contains(":=?", mark):
			if r.row.style == pflag {
				rest = strings.TrimPrefix(rest, "=")
			}
			r.found(flagWord{name: text[i : i+1], value: rest, known: true}, mark == '=')
			return false, listed
		default:
			r.found(flagWord{name: text[i : i+1], value: rest, known: true}, false)
		}
	}
	return takes, listed
}

// matches says whether a flag is one of the names, which have no dashes: "yes", "no" or "maybe".
func (f *flagWord) matches(names []string) string {
	answer := "no"
	for _, name := range names {
		switch {
		case f.name == "":
			return "maybe"
		case f.name == name || f.pair && len(name) > 1 && strings.EqualFold(f.name, name):
			return "yes"
		case !f.long || !strings.HasPrefix(name, f.name):
		case f.row == nil: // an unambiguous beginning, if the program reads its flags so
			answer = "maybe"
		case f.row.style == getopt || f.row.style == gnu:
			switch {
			case f.row.mark("--"+f.name) != 0:
			case f.row.mark("--"+name) != 0 || !f.row.begins(f.name):
				return "yes"
			default:
				answer = "maybe"
			}
		}
	}
	return answer
}

// readSub returns the subcommand of a command behind its global flags. known is false if nobody knows it.
func readSub(argv []word) (sub string, known bool) {
	r := reading{}
	r.readWords(argv)
	return r.sub, !r.unsure
}

// Subcommand returns the subcommand of a command behind its global flags: "delete" for "kubectl -n
// x delete", "s3 rm" for aws, "" for a program that has none, nil if nobody knows.
func (c *Command) Subcommand() *string {
	sub, known := readSub(c.words)
	if !known {
		return nil
	}
	return &sub
}

// FindFlags returns the values of the flags of a command with one of the names, in their order, as
// its program reads its words. A name has no dashes. A value is nil if it is decided at run time,
// and "" if there is none. doubt is true if there may be other such flags.
func FindFlags(argv []*string, names []string) (values []*string, doubt bool) {
	return (&Command{words: toWords(argv)}).FindFlags(names)
}

// FindFlags is the function of this name for the words of the command. It knows more about those that are
// decided at run time.
func (c *Command) FindFlags(names []string) (values []*string, doubt bool) {
	r := reading{collects: true, names: names}
	r.readWords(c.words)
	for i := range r.flags {
		f := &r.flags[i]
		switch f.matches(names) {
		case "yes":
			if values = append(values, nil); f.known {
				values[len(values)-1] = &f.value
			}
		case "maybe":
			doubt = true
		}
	}
	return values, doubt
}

// parseFlags skips the flags and operands in front of the words behind a program. ok is false if it meets a flag that
// no row lists, or that runs another program, or a word that may be one. query is true if the program runs nothing.
func (p *program) parseFlags(name string, argv []word) (rest []word, flags flagWords, query, ok bool) {
	r := reading{row: findOptions(name), collects: true}
	i := 0
	for ; i < len(argv); i++ {
		w := &argv[i]
		if !w.known {
			return nil, nil, false, false
		}
		if w.text == "--" {
			i++
			break
		}
		if len(w.text) < 2 || w.text[0] != '-' {
			break
		}
		before := len(r.flags)
		used, listed := r.readFlag(w.text, argv[i+1:])
		switch found := r.flags[before:]; {
		case found.has(" --version --help ") || found.has(p.query):
			return nil, nil, true, true
		case !listed || found.has(p.long), i+used >= len(argv), argv[i+used].many:
			return nil, nil, false, false
		}
		i += used
	}
	for range p.operands {
		if i >= len(argv) || argv[i].many {
			return nil, nil, false, i >= len(argv)
		}
		i++
	}
	return argv[i:], r.flags, false, true
}
