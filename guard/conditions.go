package guard

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/starhost/starhost/builtins/modules"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/shell"
)

// An answer says whether a condition holds. They are in their order: the least one counts if
// several conditions must hold, and the greatest one if one must.
type answer int

const (
	no answer = iota
	maybe
	yes
)

// answers are the words of package shell for them.
var answers = []string{"no", "maybe", "yes"}

func (a answer) String() string { return answers[a] }

// is returns the answer about something that is certain.
func is(ok bool) answer {
	if ok {
		return yes
	}
	return no
}

// The values of keys that have few.
var (
	unknowns = []string{"ask", "deny", "allow"}
	kinds    = []string{"shell", "write", "fetch", "read", "search", "agent", "mcp", "other"}
	days     = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
	inputs   = []string{"pipe", "file", "text"}
)

// check returns what is wrong with a rule, or "", and prepares its patterns and expressions.
func (r *Rule) check() string {
	for _, c := range []struct {
		key           string
		got, possible []string
	}{
		{"decision", []string{r.Decision}, unknowns},
		{"unknown", []string{cmp.Or(r.Unknown, "ask")}, unknowns},
		{"kinds", r.Kinds, kinds},
		{"days", r.Days, days},
		{"input", r.Input, inputs},
	} {
		for _, v := range c.got {
			if !isOneOf(v, c.possible) {
				return errtext.Format("%s: got %s, want %s%s", c.key, errtext.Quote(v), strings.Join(c.possible, ", "), near.DidYouMean(v, c.possible))
			}
		}
	}
	r.paths, r.notPaths = newPathPatterns(r.Paths), newPathPatterns(r.NotPaths)
	for i := range r.paths {
		r.paths[i].pack, r.paths[i].folders = r.Pack != "", len(r.Programs) > 0 || r.onlyWrites()
	}
	for _, list := range []struct {
		texts    []string
		compiled *[]*regexp.Regexp
	}{{r.Text, &r.text}, {r.NotText, &r.notText}, {r.Source, &r.source}} {
		for _, text := range list.texts {
			re, err := regexp.Compile("(?is)" + text) // in any case
			if err != nil {
				return errtext.Format("%v", err)
			}
			*list.compiled = append(*list.compiled, re)
		}
	}
	switch {
	case r.Name == "":
		return "want a name"
	case len(r.Programs)+len(r.Paths)+len(r.Hosts)+len(r.Kinds) == 0:
		return "want at least one of programs, paths, hosts, kinds"
	case len(r.Programs) == 0 && (r.isNarrow() || len(r.Mentions)+len(r.With) > 0):
		return "sub, words, flags and what else is about a command need programs"
	case r.Decision == "allow" && (len(r.Programs) == 0 || r.Pack != ""):
		return `decision: "allow" needs programs`
	case r.Hours != "" && !isHours(r.Hours):
		return errtext.Format("hours: got %s, want a time of the day as 16:00-24:00", errtext.Quote(r.Hours))
	}
	if _, err := modules.LoadZone(r.Zone); err != nil {
		return errtext.Format("zone: got %s, want a time zone as Europe/Berlin", errtext.Quote(r.Zone))
	}
	r.weigh()
	return ""
}

// isHours reports whether a text has the form 16:00-24:00.
func isHours(text string) bool {
	start, end, ok := strings.Cut(text, "-")
	isClock := func(s string) bool {
		return len(s) == 5 && s[2] == ':' && s < "24:00" && s[0] >= '0' && s[1] >= '0' && s[1] <= '9' && s[3] >= '0' && s[3] <= '5' && s[4] >= '0' && s[4] <= '9'
	}
	return ok && isClock(start) && (isClock(end) || end == "24:00")
}

// weigh sets the bytes of the globs and the instructions of the expressions of a rule. A text without a glob is
// compared at once.
func (r *Rule) weigh() {
	for _, list := range slices.Concat([][]string{
		r.Sub, r.NotSub, r.Unless, r.Args, r.Only, r.Spares, r.Mentions, r.Hosts, r.Agents, r.Paths, r.NotPaths,
	}, r.Words, r.Flags) {
		for _, text := range list {
			if r.globs++; strings.ContainsAny(text, "*?") {
				r.globs += len(text)
			}
		}
	}
	for _, text := range slices.Concat(r.Text, r.NotText, r.Source) {
		r.expressions += expressionSize(text)
	}
}

// expressionSize returns the number of instructions of an expression, as many as there may be if it is none.
func expressionSize(text string) int {
	parsed, err := syntax.Parse("(?is)"+text, syntax.Perl)
	if err != nil {
		return len(text)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return len(text)
	}
	return len(program.Inst)
}

// why says which part of a line makes it uncertain what it runs.
func (l *line) why(programs []string) string {
	if l.call.Script == nil {
		return ""
	}
	for _, u := range l.call.Script.Unknowns {
		if u.Program == "" || len(programs) == 0 || isOneOf(u.Program, programs) {
			return errtext.Format(" (%s: %s)", errtext.Cut(u.Text), u.Reason())
		}
	}
	return ""
}

// answer says whether a rule matches a call.
func (r *Rule) answer(l *line) answer {
	all := yes
	if len(r.Programs) > 0 {
		all = r.programs(l)
	}
	if all == no {
		return no
	}
	isKind := slices.ContainsFunc(l.call.Kinds, func(k string) bool { return isOneOf(k, r.Kinds) })
	switch {
	case len(r.Paths) > 0:
		any := no
		if isKind || len(r.Kinds) == 0 {
			for _, path := range l.call.Paths {
				if text := newPathText(path); anyPath(r.notPaths, text) != yes {
					any = max(any, anyPath(r.paths, text))
				}
			}
		}
		if any != yes && l.call.Script != nil {
			any = max(any, r.shellPaths(l))
		}
		all = min(all, any)
	case len(r.Kinds) > 0 && !isKind:
		return no
	}
	if len(r.Hosts) > 0 {
		any := no
		if l.call.URL != "" {
			any = r.fetchHosts(l.call.URL)
		}
		if l.call.Script != nil {
			any = max(any, r.shellHosts(l))
		}
		all = min(all, any)
	}
	return all
}

// programs says whether a line runs a command that fulfils the conditions on commands.
func (r *Rule) programs(l *line) answer {
	if l.call.Script == nil {
		return no
	}
	any := no
	for _, c := range r.commands(l, !r.isNarrow()) {
		if any = max(any, r.command(l, c)); any == yes {
			return yes
		}
	}
	if any == no && slices.ContainsFunc(r.Programs, l.isHidden) && (len(r.Source) == 0 || l.wild || matchesExpression(r.source, l.call.Command)) {
		return maybe
	}
	return any
}

// isNarrow reports whether a rule asks about the words of a command. Wrappers have none.
func (r *Rule) isNarrow() bool {
	return len(r.Sub)+len(r.NotSub)+len(r.Words)+len(r.Flags)+len(r.Unless)+len(r.Args)+len(r.Only)+len(r.Spares)+
		len(r.Text)+len(r.Source)+len(r.Input) > 0
}

// command says whether a command of one of the rule's programs fulfils the other conditions.
func (r *Rule) command(l *line, c *command) (all answer) {
	all = yes
	for _, check := range []func() answer{
		func() answer { return r.subcommand(c) },
		func() answer { return c.matchWords(r.Words) },
		func() answer {
			least := yes
			for _, names := range r.Flags {
				least = min(least, hasFlag(c.Command, names))
			}
			return least
		},
		func() answer { return yes - hasFlag(c.Command, r.Unless) },
		func() answer { return c.anyArg(r.Args) },
		func() answer { return max(is(len(r.Only) == 0), c.allArgs(r.Only)) },
		func() answer { return yes - c.allArgs(r.Spares) },
		func() answer { return r.mentions(l, c) },
		func() answer { return r.texts(l, c) },
		func() answer {
			from := input(l, c)
			return is(len(r.Input) == 0 || slices.ContainsFunc(r.Input, func(s string) bool { return from[s] }))
		},
		func() answer { return is(len(r.Source) == 0 || matchesExpression(r.source, c.Text)) },
		func() answer { return is(len(r.With) == 0 || l.lists(r.With)) },
	} {
		if all = min(all, check()); all == no {
			return no
		}
	}
	return all
}

// subcommand compares the subcommand with sub and not_sub.
func (r *Rule) subcommand(c *command) answer {
	if len(r.Sub)+len(r.NotSub) == 0 {
		return yes
	}
	words, known := c.subWords()
	if !known {
		return maybe
	}
	any := yes
	if len(r.Sub) > 0 {
		any = no
		for _, pattern := range r.Sub {
			any = max(any, startsWith(words, strings.Fields(pattern)))
		}
	}
	for _, pattern := range r.NotSub {
		any = min(any, yes-startsWith(words, strings.Fields(pattern)))
	}
	return any
}

// behindSub returns the words of a subcommand with the operands behind it.
func behindSub(argv []*string, sub []string) (words []*string) {
	for i := range sub {
		words = append(words, &sub[i])
	}
	found := 0
	for _, w := range argv[1:] {
		switch {
		case found < len(sub):
			if w != nil && *w == sub[found] {
				found++
			}
		case w == nil || *w == "" || (*w)[0] != '-':
			words = append(words, w)
		}
	}
	return words
}

// startsWith says whether words begin with a pattern, a glob for each word. "**" stands for any
// number of words.
func startsWith(words []*string, pattern []string) answer {
	switch {
	case len(pattern) == 0:
		return yes
	case pattern[0] == "**":
		any := no
		for i := 0; i <= len(words) && i < 6 && any != yes; i++ {
			any = max(any, startsWith(words[i:], pattern[1:]))
		}
		return any
	case len(words) == 0:
		return no
	case words[0] == nil:
		return min(maybe, startsWith(words[1:], pattern[1:]))
	case !matchGlob(pattern[0], *words[0]):
		return no
	}
	return startsWith(words[1:], pattern[1:])
}

// matchWords looks for words in their order; others may stand between them.
func (c *command) matchWords(words [][]string) answer {
	found, possible := 0, 0
	for i, w := range c.Argv[1:] {
		if possible < len(words) && w == nil && c.isData(i+1, words[possible]) {
			continue
		}
		if found < len(words) && w != nil && matchesOne(words[found], *w) {
			found++
		}
		if possible < len(words) && (w == nil && mayMatch(c.Glob(i+1), words[possible]) || w != nil && matchesOne(words[possible], *w)) {
			possible++
		}
	}
	switch len(words) {
	case found:
		return yes
	case possible:
		return maybe
	}
	return no
}

// mayMatch reports whether a word that is decided at run time, but matches a glob, may match one of others.
func mayMatch(glob string, others []string) bool {
	if strings.HasPrefix(glob, "[1-9]") { // no flag, and no 0
		others = slices.DeleteFunc(slices.Clone(others), func(of string) bool { return of[0] == '-' || of == "0" })
	}
	glob = pattern(brackets).ReplaceAllString(strings.TrimPrefix(glob, "$"), "?")
	return glob == "" || glob[0] == '$' || slices.ContainsFunc(others, func(of string) bool { return globsMeet(of, glob) })
}

// isData reports whether a word that is decided at run time is the value of a header, as curl -H "Authorization: $T", or
// an address that the patterns would not match with any name in it, as curl -s "http://localhost/$ID": behind no flag that
// may send it.
func (c *command) isData(i int, patterns []string) bool {
	before := c.Argv[i-1]
	if before == nil && i > 2 && c.Argv[i-2] != nil && isOneOf(*c.Argv[i-2], headers) && c.IsWord(i-1) {
		before = c.Name // behind the value of a header
	}
	if before == nil || !does(c.Name, "calls") || !c.IsWord(i) {
		return false
	}
	glob := strings.TrimLeft(c.Glob(i), "$")
	return isOneOf(*before, headers) || pattern(local).MatchString(addressOf(glob)) && (!strings.HasPrefix(*before, "-") || isOneOf(*before, quiet)) &&
		!matchesOne(patterns, strings.ReplaceAll(glob, "*", "x"))
}

// addressOf returns the beginning of an address that a glob certainly has, with its host, or "".
func addressOf(glob string) string {
	start, _, _ := strings.Cut(strings.TrimLeft(glob, "$"), "*")
	if pattern(local).MatchString("http://" + start) {
		return "http://" + start
	}
	if strings.Count(start, "/") < 3 || !strings.HasPrefix(start, "http://") && !strings.HasPrefix(start, "https://") {
		return ""
	}
	return start
}

// local is an address of this machine: nothing leaves it.
const local = `^https?://(localhost|127\.0\.0\.1)(:[0-9]+)?/`

// quiet are flags of curl without a value.
var quiet = []string{"-s", "-sS", "-sf", "-sL", "-L", "-f", "-k", "-i", "-I", "-v", "-fsS", "-fsSL", "--silent"}

// headers are the flags whose values are headers.
var headers = []string{"-H", "--header", "-u", "--user", "-A", "--user-agent"}

// hasFlag says whether a command has one of the flags.
func hasFlag(c *shell.Command, names []string) answer {
	if len(names) == 0 {
		return no
	}
	values, doubt := c.FindFlags(names)
	switch {
	case len(values) > 0:
		return yes
	case doubt:
		return maybe
	}
	return no
}

// anyArg says whether a glob matches an operand.
func (c *command) anyArg(globs []string) answer {
	if len(globs) == 0 {
		return yes
	}
	any, open := no, 0
	for _, w := range c.args {
		if w == nil {
			if open++; mayMatch(c.open[open-1], globs) {
				any = max(any, maybe)
			}
		} else if matchesOne(globs, *w) {
			return yes
		}
	}
	return any
}

// allArgs says whether a glob matches each operand, and there is one.
func (c *command) allArgs(globs []string) answer {
	if len(globs) == 0 || len(c.args) == 0 {
		return no
	}
	all, open := yes, 0
	for _, w := range c.args {
		if w == nil {
			if open++; c.open[open-1] != "" && !strings.ContainsAny(c.open[open-1], "*?[$") {
				w = &c.open[open-1] // "$(mktemp)", or a file below a home folder
			}
		}
		switch {
		case w == nil:
			all = min(all, maybe)
		case !matchesOne(globs, strings.TrimPrefix(cleanPath(*w), "./")):
			return no
		}
	}
	return all
}

// mentions says whether a command or its variables have one of the words of the rule, as a whole
// word: "prod" is in "eu-prod" and "prod.example.com", and not in "product".
func (r *Rule) mentions(l *line, c *command) answer {
	if len(r.Mentions) == 0 {
		return yes
	}
	any := no
	has := func(text string) answer {
		return is(slices.ContainsFunc(r.Mentions, func(m string) bool { return mentions(text, m) }))
	}
	look := func(w *string) {
		if w == nil {
			any = max(any, maybe)
		} else {
			any = max(any, has(*w))
		}
	}
	for i, w := range slices.Concat(c.Argv[1:], c.Reads, c.Writes) {
		if glob := c.Glob(i + 1); i+1 < len(c.Argv) && glob != "" && glob[0] != '$' && r.Pack != "" {
			w = &glob
		}
		look(w)
	}
	for _, e := range c.Env {
		look(e.Value)
	}
	if c.Name == nil || !isOneOf(*c.Name, r.Programs) { // a wrapper, whose words are not there, such as a host
		any = max(any, l.once(r, "mentions", func() answer { return has(l.call.Command) }))
	}
	return any
}

// mentions reports whether a text has a word with no letter or digit beside it.
func mentions(text, word string) bool {
	text = strings.ToLower(text)
	isLetter := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	for at := 0; ; at++ {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		at += i
		end := at + len(word)
		if (at == 0 || !isLetter(text[at-1])) && (end == len(text) || !isLetter(text[end])) {
			return true
		}
	}
}

// texts says whether an expression of the rule matches an argument, or what the line passes to the
// command's standard input.
func (r *Rule) texts(l *line, c *command) answer {
	if len(r.Text) == 0 {
		return yes
	}
	any := no
	if fed := input(l, c); fed["pipe"] || fed["text"] {
		any = l.once(r, "text", func() answer { return r.statements(l.call.Command) })
	}
	for i, w := range c.Argv[1:] {
		glob := strings.TrimPrefix(c.Glob(i+1), "$")
		if isPath := glob != "" && (glob[0] == '/' || glob[0] == '~'); w == nil && !isPath {
			any = max(any, maybe)
		} else if w != nil && any != yes {
			any = max(any, r.statements(*w))
		}
	}
	return any
}

// statements says whether an expression of the rule matches a statement of a text.
func (r *Rule) statements(text string) answer {
	return is(slices.ContainsFunc(strings.Split(text, ";"), func(statement string) bool {
		return matchesExpression(r.text, statement) && !matchesExpression(r.notText, statement)
	}))
}

// matchesExpression reports whether one of the expressions matches a part of a text.
func matchesExpression(expressions []*regexp.Regexp, text string) bool {
	return slices.ContainsFunc(expressions, func(re *regexp.Regexp) bool { return re.MatchString(text) })
}

// input says where a command's standard input comes from.
func input(l *line, c *command) map[string]bool {
	line := l.call.Command
	at := min(c.Offset, len(line))
	isFirst := strings.HasPrefix(line[at:], c.Text) && !strings.Contains(line[:at], "|") // of a pipe
	return map[string]bool{"pipe": c.Via == "pipe" && !isFirst, "file": len(c.Reads) > 0, "text": strings.Contains(l.call.Command, "<<")}
}

// matchesOne reports whether one of the globs matches a text.
func matchesOne(globs []string, text string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return matchGlob(g, text) })
}

// isOneOf reports whether a list has a text.
func isOneOf(text string, list []string) bool { return slices.Contains(list, text) }
