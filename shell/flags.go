package shell

import (
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
	name = plainName(name)
	if row := optionRows()[name]; row != nil {
		return row
	}
	row, ok := findProgram(name)
	if !ok || row.kind > runsBuiltin && row.kind != runsRemote && row.kind != runsWatch {
		return nil
	}
	flags := " "
	for _, c := range row.bare {
		flags += "-" + string(c) + " "
	}
	for _, c := range row.values {
		flags += "-" + string(c) + ": "
	}
	return &options{flags: flags + row.long + strings.ReplaceAll(row.longValues+" ", " --", ": --"), style: gnu}
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

// has reports whether the row has a flag, as it is written, and whether a value belongs to it.
func (o *options) has(flag string) (listed, value, pair bool) {
	if o == nil {
		return false, false, false
	}
	value, pair = strings.Contains(o.flags, " "+flag+": "), strings.Contains(o.flags, " "+flag+"= ")
	return value || pair || hasName(o.flags, flag), value || pair, pair
}

// begins reports whether the row lists a long flag with this beginning.
func (o *options) begins(flag string) bool { return strings.Contains(o.flags, " --"+flag) }

// A reading is what a program makes of its words.
type reading struct {
	root, row *options // of the program, and of the place that is read
	program   string
	sub       string
	unsure    bool           // nobody knows the subcommand
	doubt     bool           // the next word may be the value of a flag
	many      uint64         // see [Command]
	operands  uint64         // the same
	see       func(flagWord) // gets each flag, or nil
}

// readWords reads the words of a command as its program would.
func (r *reading) readWords(argv []*string) {
	if len(argv) == 0 || argv[0] == nil {
		r.unsure = true
		r.found(flagWord{})
		return
	}
	r.program = plainName((*argv[0])[strings.LastIndexByte(*argv[0], '/')+1:])
	r.root = findOptions(r.program)
	r.row = r.root
	for i := 1; i < len(argv); i++ {
		w := argv[i]
		searches := !r.unsure && r.root.goesOn(r.sub)
		switch {
		case r.see == nil && !searches:
			return
		case w == nil:
			if i > 63 || r.operands>>i&1 == 0 {
				r.found(flagWord{})
			}
			r.unsure = r.unsure || searches
		case *w == "--":
			r.unsure = r.unsure || searches && len(argv) > i+1
			return
		case len(*w) < 2 || (*w)[0] != '-':
			if searches && !strings.HasPrefix(*w, "+") { // cargo +nightly build
				r.enter(*w)
			}
		default:
			i = r.readFlagAt(argv, i, searches)
		}
	}
}

// readFlagAt reads the word of flags at an index, and returns the index of the last of its values.
func (r *reading) readFlagAt(argv []*string, i int, searches bool) int {
	word := *argv[i]
	used, listed := r.readFlag(word, argv[i+1:])
	if i += used; used > 0 && argv[i] == nil && (i > 63 || r.many>>i&1 == 1) { // it may be more than a value
		r.found(flagWord{})
		r.unsure = r.unsure || searches
	}
	r.doubt = r.doubt || searches && !listed && !strings.Contains(word, "=")
	return i
}

// found passes a flag on.
func (r *reading) found(f flagWord) {
	if r.see != nil {
		r.see(f)
	}
}

// foundPair passes a flag on, and each KEY of its value KEY=VALUE,KEY=VALUE.
func (r *reading) foundPair(f flagWord) {
	r.found(f)
	for value := f.value; f.known && value != ""; {
		var part string
		part, value, _ = strings.Cut(value, ",")
		key, text, _ := strings.Cut(part, "=")
		r.found(flagWord{key, text, true, false, true})
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

// firstOf returns the first word, "" if there is none. known is false if it is decided at run time.
func firstOf(words []*string) (text string, known bool) {
	switch {
	case len(words) == 0:
		return "", true
	case words[0] == nil:
		return "", false
	}
	return *words[0], true
}

// readFlag reads a word of flags. It returns how many words behind it are values, and whether the
// row lists the flags.
func (r *reading) readFlag(word string, behind []*string) (used int, listed bool) {
	next, known := firstOf(behind)
	full, attached, isAttached := strings.Cut(word, "=")
	name := strings.TrimLeft(full, "-")
	isLong := strings.HasPrefix(word, "--")
	add := func(name, value string, known, pair bool) {
		if f := (flagWord{name, value, known, isLong, false}); pair {
			r.foundPair(f)
		} else {
			r.found(f)
		}
	}
	oneWord := r.row != nil && (r.row.style == oneDash || r.row.style == single)
	listed, takes, pair := r.row.has(full)
	if !listed && oneWord {
		listed, takes, pair = r.row.has(full[1:])
	}
	switch {
	case isAttached && (isLong || oneWord):
		add(name, attached, true, pair)
		return 0, listed
	case isLong, oneWord, listed && len(full) == len(word) && len(word) > 2:
		add(name, next, known, pair)
		return valuesOf(takes, behind), listed
	}
	takes, listed, ok := r.readCluster(word, next, known, add)
	if !ok {
		return 0, false
	}
	switch whole := len(word) > 2 && !listed; { // as in -force
	case whole && isAttached:
		add(name, attached, true, false)
	case whole:
		add(name, next, known, false)
	}
	return valuesOf(takes, behind), listed
}

// valuesOf returns how many of the words behind a flag are its values.
func valuesOf(takes bool, behind []*string) int {
	if takes {
		return min(len(behind), 1)
	}
	return 0
}

// readCluster reads a word of short flags. takes is true if the next word is the value of the last one; ok is false if the
// word is too long.
func (r *reading) readCluster(word, next string, known bool, add func(name, value string, known, pair bool)) (takes, listed, ok bool) {
	listed = true
	for i := 1; i < len(word); i++ {
		if i > maxCluster {
			r.found(flagWord{})
			return false, false, false
		}
		has, value, pair := r.row.has("-" + word[i:i+1])
		listed = listed && has
		rest := word[i+1:]
		switch {
		case rest == "":
			add(word[i:], next, known, pair)
			takes = value
		case value:
			add(word[i:i+1], strings.TrimPrefix(rest, "="), true, pair)
			return false, listed, true
		default:
			add(word[i:i+1], rest, true, false)
		}
	}
	return takes, listed, true
}

// matches says whether a flag is one of the names, which have no dashes: "yes", "no" or "maybe".
func (r *reading) matches(f flagWord, names []string) string {
	answer := "no"
	for _, name := range names {
		switch {
		case f.name == "":
			return "maybe"
		case f.name == name || f.pair && len(name) > 1 && strings.EqualFold(f.name, name):
			return "yes"
		case !f.long || !strings.HasPrefix(name, f.name):
		case r.row == nil: // an unambiguous beginning, if the program reads its flags so
			answer = "maybe"
		case r.row.style == getopt || r.row.style == gnu:
			exact, _, _ := r.row.has("--" + f.name)
			listed, _, _ := r.row.has("--" + name)
			switch {
			case exact:
			case listed || !r.row.begins(f.name):
				return "yes"
			default:
				answer = "maybe"
			}
		}
	}
	return answer
}

// Subcommand returns the subcommand of a command behind its global flags: "delete" for "kubectl -n
// x delete", "s3 rm" for aws, "" for a program that has none, nil if nobody knows.
func (c *Command) Subcommand() *string {
	r := reading{many: c.many}
	r.readWords(c.Argv)
	if r.unsure {
		return nil
	}
	return &r.sub
}

// FindFlags returns the values of the flags of a command with one of the names, in their order, as
// its program reads its words. A name has no dashes. A value is nil if it is decided at run time,
// and "" if there is none. doubt is true if there may be other such flags.
func FindFlags(argv []*string, names []string) (values []*string, doubt bool) {
	return (&Command{Argv: argv, many: 1<<64 - 1}).FindFlags(names)
}

// FindFlags is the function of this name for the words of the command. It knows more about those that are
// decided at run time.
func (c *Command) FindFlags(names []string) (values []*string, doubt bool) {
	r := reading{operands: c.operands, many: c.many}
	r.see = func(f flagWord) {
		switch r.matches(f, names) {
		case "yes":
			if values = append(values, nil); f.known {
				values[len(values)-1] = &f.value
			}
		case "maybe":
			doubt = true
		}
	}
	r.readWords(c.Argv)
	return values, doubt
}
