package guard

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/starhost/starhost/shell"
)

// A line is a call with what several rules ask about it.
type line struct {
	call     *Call
	commands []*command            // each once, in their order
	named    map[string][]*command // by program
	wrapped  map[string][]*command // by each program in front
	nameless []*command            // those whose program is decided at run time
	hidden   map[string]bool       // programs that may run in a way that the commands do not show
	wild     bool                  // any program may run
	shown    bool                  // the question is about the commands that the line shows
	runs     map[string]answer     // by program, if the line is long
	words    int                   // bytes of the words that a glob is compared with, at most
	others   int                   // those that stand in no command
	values   *places               // those that variables may have
	asked    map[ruleKey]answer    // about the whole line
}

// A command is one of the commands of a line, of which the line may have more that are equal.
type command struct {
	*shell.Command
	around folder  // where the line stands
	at     *folder // see folder
	words  int     // bytes of what a glob is compared with
	args   []*string
	open   []string // what is known about those that are decided at run time
	// distinct are the words behind the program that may be files, each once.
	distinct []*string
	places   map[any]*places // see placesOf
	allowed  bool            // a rule of the user's allows it

	subKnown, subRead bool
	sub               []*string // see subWords
}

// A ruleKey is a key of a rule.
type ruleKey struct {
	rule *Rule
	key  string
}

// once returns the answer about the whole line for a key of a rule, which it asks for once.
func (l *line) once(r *Rule, key string, ask func() answer) answer {
	a, ok := l.asked[ruleKey{r, key}]
	if !ok {
		a = ask()
		l.asked[ruleKey{r, key}] = a
	}
	return a
}

// newLine prepares a call.
func newLine(call *Call) *line {
	l := &line{
		call: call, runs: map[string]answer{}, others: len(call.URL), named: map[string][]*command{}, wrapped: map[string][]*command{},
		hidden: map[string]bool{}, asked: map[ruleKey]answer{},
	}
	for _, path := range call.Paths {
		l.others += len(path) + 8
	}
	l.words = l.others
	if call.Script != nil {
		l.addCommands(call.Script.Commands)
		l.addHidden(call.Script)
	}
	return l
}

// addCommands adds the commands of a script, those that are equal once: what a rule asks costs as much as
// the line has different commands.
func (l *line) addCommands(list []shell.Command) {
	seen, key := map[string]bool{}, []byte(nil)
	at := folder{l.call.CWD, true}
	for i := range list {
		c := &list[i]
		_, args := c.Split()
		if c.Name != nil && isOneOf(*c.Name, []string{"cd", "pushd", "popd"}) {
			at = at.move(c, args)
		}
		if len(list) > fewCommands {
			key = append(binary.AppendUvarint(strconv.AppendBool(key[:0], at.known), uint64(len(at.path))), at.path...)
			if key = c.AppendKey(key); seen[string(key)] {
				continue
			}
			seen[string(key)] = true
		}
		one := &command{Command: c, around: at, args: args, distinct: distinct(filesOf(c, args))}
		for i, w := range c.Argv[1:] {
			if w == nil {
				one.open = append(one.open, c.Glob(i+1))
			}
		}
		one.words = len(c.Text) + (len(one.distinct)+2)*(len(at.path)+8) // as paths below the folder
		l.words += one.words
		l.commands = append(l.commands, one)
		if c.Name != nil {
			l.named[*c.Name] = append(l.named[*c.Name], one)
		} else {
			l.nameless = append(l.nameless, one)
		}
		for i, w := range c.Wrappers {
			if !isOneOf(w, c.Wrappers[:i]) {
				l.wrapped[w] = append(l.wrapped[w], one)
			}
		}
	}
}

// distinct returns words without those that are equal to others, if there are many.
func distinct(words []*string) (list []*string) {
	if len(words) <= fewCommands {
		return words
	}
	seen, open := make(map[string]bool, len(words)), false
	for _, w := range words {
		switch {
		case w == nil && !open:
			open, list = true, append(list, nil)
		case w != nil && !seen[*w]:
			seen[*w], list = true, append(list, w)
		}
	}
	return list
}

// placesOf returns the places of some words of the command, of which first is the first one. open says that a shell
// expands their globs.
func (c *command) placesOf(first any, open bool, words func() []*string) *places {
	p, ok := c.places[first]
	if !ok {
		if c.places == nil {
			c.places = map[any]*places{}
		}
		p = newPlaces(words(), c.folder(), open)
		c.places[first] = p
	}
	return p
}

// fewCommands are as many commands, or words of one, as may be equal at no great cost.
const fewCommands = 8

// addHidden notes the programs that a line may run without a command of their name.
func (l *line) addHidden(s *shell.Script) {
	type place struct {
		program string
		offset  int
	}
	var shown map[place]bool
	for i := range s.Unknowns {
		u := &s.Unknowns[i]
		l.wild = l.wild || u.Program == ""
		if shown == nil {
			shown = make(map[place]bool, len(s.Commands))
			for i := range s.Commands {
				if c := &s.Commands[i]; c.Name != nil {
					shown[place{*c.Name, c.Offset}] = true
				}
			}
		}
		if !shown[place{u.Program, u.Offset}] {
			l.hidden[u.Program] = true
		}
	}
}

// commands returns the commands of a line that run a program of the rule, perhaps also those behind one,
// without those that the user allows.
func (r *Rule) commands(l *line, behind bool) (list []*command) {
	for _, p := range r.Programs {
		list = append(list, l.named[p]...)
		if behind {
			list = append(list, l.wrapped[p]...)
		}
	}
	return slices.DeleteFunc(list, func(c *command) bool { return r.Pack != "" && c.allowed })
}

// searchSteps is the price for looking for programs among the commands.
func (l *line) searchSteps(programs []string) int {
	steps, each := 1+len(programs), l.askSteps()
	if each == 0 {
		return steps
	}
	for _, p := range programs {
		if _, asked := l.runs[p]; !asked {
			steps += each
		}
	}
	return steps
}

// askSteps is the price for asking whether a program may run. It is 0 for a short line, which costs less to ask again
// than to remember.
func (l *line) askSteps() int { return len(l.commands)/32 + len(l.call.Command)/512 }

// matchSteps is the price for comparing a call with a rule.
func (r *Rule) matchSteps(l *line) int {
	words, expressions := l.words, 0
	if len(r.Programs) > 0 && len(r.Hosts) == 0 {
		words = l.others
		for _, c := range slices.Concat(r.commands(l, true), l.nameless) {
			words += c.words
			expressions += len(c.Text)
		}
		expressions += len(l.call.Command) // which may be the standard input
	}
	return 1 + (r.globs*(words+min(len(r.Mentions), 1)*len(l.call.Command))+r.expressions*expressions)/matchedBytes
}

// run says whether a program may run.
func (l *line) run(program string) answer {
	if l.call.Script == nil {
		return no
	}
	a, ok := l.runs[program]
	if !ok {
		if a = answer(slices.Index(answers, l.call.Script.Runs(program))); l.askSteps() > 0 {
			l.runs[program] = a
		}
	}
	return a
}

// lists reports whether the line shows one of the programs.
func (l *line) lists(programs []string) bool {
	return slices.ContainsFunc(programs, func(p string) bool { return len(l.named[p])+len(l.wrapped[p]) > 0 })
}

// isHidden reports whether a program may run in a way that the commands of the line do not show.
func (l *line) isHidden(program string) bool {
	if l.shown {
		return len(l.nameless) > 0
	}
	return l.wild || l.hidden[program] || !l.lists([]string{program}) && l.run(program) != no
}

// plainWrappers are programs in front of a command that change nothing about what it may do.
var plainWrappers = []string{"command", "ionice", "nice", "nohup", "stdbuf", "time", "timeout"}

// allow marks the commands that a rule certainly matches: those that only do what their words say, here, in the folder of
// the call if the words are compared with files. A redirection, sudo and a variable are no words.
func (r *Rule) allow(l *line) {
	for _, c := range r.commands(l, false) {
		isMore := func(name string) bool { return !isOneOf(name, plainWrappers) }
		isFile := func(name *string) bool { return name == nil || *name != "/dev/null" }
		at := c.folder()
		isElsewhere := len(r.Only)+len(r.Args) > 0 && !(at.known && cleanPath(at.path) == cleanPath(l.call.CWD))
		if isElsewhere || len(c.Env) > 0 || slices.ContainsFunc(c.Wrappers, isMore) || slices.ContainsFunc(slices.Concat(c.Reads, c.Writes), isFile) {
			continue
		}
		c.allowed = c.allowed || r.command(l, c) == yes
	}
}

// folder returns the folder in which a command works.
func (c *command) folder() folder {
	if c.at == nil {
		at := folderOf(c.Command, c.around)
		c.at = &at
	}
	return *c.at
}

// subWords returns the words of the command's subcommand with the operands behind it. known is false if nobody
// knows the subcommand.
func (c *command) subWords() (words []*string, known bool) {
	if !c.subRead {
		c.subRead = true
		if sub := c.Subcommand(); sub != nil {
			c.sub, c.subKnown = behindSub(c.Argv, strings.Fields(*sub)), true
		}
	}
	return c.sub, c.subKnown
}
