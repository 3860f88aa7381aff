package modules

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/shell"
)

// These are the prices of the module shell. A node is a part of a command line, such as a word.
const (
	shellNodeSteps = 20
	shellNodeBytes = 256
	shellTextBytes = 4 << 10 // bytes that an analysis takes in any case
	shellByteBytes = 96      // bytes that the syntax tree takes for each byte of text
	maxShellNames  = 64      // the most flags that one question may name
)

// shellMembers are the members of the module shell.
var shellMembers = []call.Member{
	{
		Name: "parse", Params: `command, dialect="any", files=None, cwd="", trusted=None`, Type: "str, str, Any | None, str | None, Sequence[str] | None -> Any",
		Doc: `Returns the commands that a shell would run for a command line.
The result has ok (False if the text is not understood as a whole), reason ("", or "syntax: …",
"size", "depth", "dialect"), unknown (True if some program is decided at run time only), known (True
if starhost's table has every program), unknowns and commands: the simple commands in the order of the source, also within pipes,
substitutions, "sh -c", xargs and the like. unknowns say why shell.runs answers "maybe": each has
text, offset, reason and program, "" if any program may run. A command has name, argv, flags,
args, sub, wrappers, env, reads, writes, via, text and offset; a word that is decided at run time is
None. sub is the subcommand behind the program's global flags, such as "delete" or "s3 rm", or "" if
there is none. dialect is "bash", "zsh", "posix" or "any", which counts everything that one of them would
run. Other shells are not ok. With files = ctx.fs, parse also reads the scripts that the line runs
from the folder cwd, call.cwd for the line of a call: "sh FILE", "source ./FILE", ./FILE with a
shell behind its #!, "bash < FILE", and the scripts of package.json for npm, pnpm, yarn and bun. It
reads at most 16 files of 64 KiB, four deep, with the plugin's permission. A file that it cannot
read, or that the line itself may change, is "maybe" as without files. trusted are runners such as
"make" and "go test" that count as harmless if their other words are plain; None stands for
trusted of [shell] in the config.`,
		Example: `cmd = shell.parse("cd /srv && sudo -u app env A=1 rm -rf \"$dir\" > log | tee out")
assert_eq((cmd.ok, cmd.unknown, cmd.known), (True, False, True))
assert_eq([c.name for c in cmd.commands], ["cd", "rm", "tee"])
rm = cmd.commands[1]
assert_eq((rm.wrappers, rm.flags, rm.args, rm.writes), (["sudo", "env"], ["-rf"], [None], ["log"]))
assert_eq([c.sub for c in shell.parse("kubectl --context x delete pod; aws s3 rm x; git $x").commands], ["delete", "s3 rm", None])
assert_eq(shell.parse("$tool delete").unknown, True)
why = shell.parse("ls; kubectl $verb pod").unknowns[0]
assert_eq((why.text, why.offset, why.program), ("kubectl $verb pod", 4, "kubectl"))
assert_eq(why.reason, "an argument of kubectl is decided at run time")
assert_eq(shell.parse("echo 'a").ok, False)
test = shell.parse("go test ./... 2>&1 | tail", trusted = ["go test"])
assert_eq([shell.runs(line, "rm") for line in [test, "go test ./...", "go test -exec rm ."]], ["no", "maybe", "maybe"])`,
		Func: shellParse,
	},
	{
		Name: "runs", Params: "command, program, *words", Type: "Any, str, str | Sequence[str] -> str",
		Doc: `Says whether a command line runs a program: "yes", "no" or "maybe".
command is a text or the result of shell.parse. The words must stand in the program's arguments
in this order; flags and others may stand between them. A word may be a list of alternatives.
Words are compared as they are: "-rf" is not "-r"; use shell.flag for flags. "no" is certain. A
text that is not understood, a program in a variable, an interpreter's text, a script file and what
runs a project's code make the answer "maybe", and so does a program that starhost does not know, if
one of its words mentions the program. So deny or ask unless the answer is "no".`,
		Example: `assert_eq(shell.runs("sudo kubectl -n prod delete pod web", "kubectl", ["delete", "drain"]), "yes")
assert_eq(shell.runs("echo kubectl delete", "kubectl", "delete"), "no")
assert_eq(shell.runs("kubectl $verb pod web", "kubectl", "delete"), "maybe")
assert_eq(shell.runs("bash deploy.sh", "kubectl", "delete"), "maybe")
assert_eq(shell.runs("tini -- kubectl delete pod web", "kubectl", "delete"), "maybe")
assert_eq(shell.runs("cowsay moo", "kubectl", "delete"), "no")`,
		Func: shellRuns,
	},
	{
		Name: "flag", Params: "command, *names", Type: "Any, str -> bool | None",
		Doc: `Says whether a command of shell.parse has a flag, as its program reads its words.
A name of one letter stands alone or in a cluster: "r" is in -r and -fr, but not in -Cr, where the
program takes r for the value of -C. A longer name stands behind one or two dashes, perhaps with a
value; for programs such as git and rm an unambiguous beginning is enough, as in --forc. The KEY of
-o KEY=VALUE is a name, too, for programs such as ssh. The result is None if no flag matches and a
word is decided at run time. Words behind "--" are no flags.`,
		Example: `rm = shell.parse("rm -fr /srv").commands[0]
assert_eq(shell.flag(rm, "r", "recursive"), True)
assert_eq(shell.flag(rm, "i"), False)
assert_eq(shell.flag(shell.parse("rm $opts x").commands[0], "r"), None)
push = shell.parse("git -C f push -uq --forc").commands[0]
assert_eq((shell.flag(push, "f"), shell.flag(push, "f", "force")), (False, True))`,
		Func: shellFlag,
	},
	{
		Name: "option", Params: "command, *names, all=False", Type: "Any, str, bool -> str | list[str | None] | None",
		Doc: `Returns the value of a flag of a command of shell.parse, as its program reads its words.
The names are those of shell.flag. The last value counts; "" means that the flag is not there or has
no value, None that the value is decided at run time, or may be there. all = True returns the list
of all values, in which None stands for each such doubt.`,
		Example: `push = shell.parse("git -C src -c user.name=ana push").commands[0]
assert_eq((shell.option(push, "C"), shell.option(push, "user.name"), shell.option(push, "o")), ("src", "ana", ""))
pods = shell.parse("kubectl -ndev delete pod -lapp=x --namespace prod").commands[0]
assert_eq((shell.option(pods, "n", "namespace"), shell.option(pods, "l")), ("prod", "app=x"))
assert_eq(shell.option(pods, "n", "namespace", all = True), ["dev", "prod"])
assert_eq(shell.option(shell.parse("kubectl -n $ns delete pod").commands[0], "n"), None)`,
		Func: shellOption,
	},
	{
		Name: "quote", Params: "words", Type: "Iterable[str] -> str",
		Doc: `Returns words as one command line, each quoted if necessary.
The result reads back as the same words in every POSIX shell.`,
		Example: `assert_eq(shell.quote(["rm", "--", "it's", "a b", ""]), "rm -- 'it'\\''s' 'a b' ''")
assert_eq(shell.parse(shell.quote(["echo", "$HOME"])).commands[0].argv, ["echo", "$HOME"])`,
		Func: shellQuote,
	},
}

// A shellLine is the constructor of the struct that shell.parse returns. It carries the analysis to
// shell.runs. All other code sees a struct, and charges, compares, freezes and encodes it as one.
type shellLine struct {
	text, dialect string
	more          string // what else the analysis depends on
	script        *shell.Script
}

func (*shellLine) String() string        { return "line" }
func (*shellLine) Type() string          { return "shell.line" }
func (*shellLine) Freeze()               {}
func (*shellLine) Truth() starlark.Bool  { return true }
func (*shellLine) Hash() (uint32, error) { return 0, nil }

// CompareSameType implements starlark.Comparable: two analyses of one text are equal.
func (l *shellLine) CompareSameType(op syntax.Token, other starlark.Value, _ int) (bool, error) {
	o := other.(*shellLine)
	return (l.text == o.text && l.dialect == o.dialect && l.more == o.more) == (op == syntax.EQL), nil
}

// lastScript is the analysis that sharedScript made last.
var lastScript struct {
	sync.Mutex
	key    string
	script *shell.Script
}

// maxShared is the most bytes of a text whose analysis is kept.
const maxShared = 4 << 10

// sharedScript analyses a text. All guards of an event ask about one text, so it keeps the last
// analysis that read no file. Each guard pays for it, so that its price is always the same.
func sharedScript(text string, o shell.Options) *shell.Script {
	if o.Read != nil || len(text) > maxShared {
		return shell.ParseWith(text, o)
	}
	key := strings.Join(append([]string{text, o.Dialect, o.Folder}, o.Trusted...), "\x00")
	lastScript.Lock()
	defer lastScript.Unlock()
	if lastScript.script == nil || lastScript.key != key {
		lastScript.key, lastScript.script = key, shell.ParseWith(text, o)
	}
	return lastScript.script
}

// ParseShell pays for the analysis of a text, and makes it.
func ParseShell(c call.Call, text string, o shell.Options) (*shell.Script, error) {
	if err := c.Pay(1+len(text), shellTextBytes+shellByteBytes*len(text)); err != nil {
		return nil, err
	}
	script := sharedScript(text, o)
	return script, c.Pay(shellNodeSteps*script.Nodes, shellNodeBytes*script.Nodes)
}

// trustedRunners returns the runners that the operator trusts.
func trustedRunners(c call.Call) []string {
	list, _ := c.Runtime.Context(c.Thread).Value(call.TrustedRunners{}).([]string)
	return list
}

// shellParse implements shell.parse.
func shellParse(c call.Call) (starlark.Value, error) {
	text, dialect, cwd := "", "any", ""
	var files, trusted starlark.Value
	if err := c.Bind("command", &text, "dialect?", &dialect, "files??", &files, "cwd??", &cwd, "trusted??", &trusted); err != nil {
		return nil, err
	}
	o := shell.Options{Dialect: dialect, Folder: cwd, Trusted: trustedRunners(c)}
	if trusted != nil {
		list, err := shellAlternatives(c, trusted)
		if err != nil {
			return nil, c.Fail("E0202", "trusted: %v", err)
		}
		if o.Trusted = list; len(list) > maxShellNames {
			return nil, c.Fail("E0202", "trusted: got %d runners, want at most %d", len(list), maxShellNames)
		}
	}
	more := strings.Join(o.Trusted, "\n")
	var failed error // an error that ends the run, such as a limit
	if files != nil {
		reader, ok := files.(starlark.HasAttrs)
		var read starlark.Value
		if ok {
			read, _ = reader.Attr("read")
		}
		if _, ok := read.(starlark.Callable); !ok {
			return nil, c.Fail("E0202", "files: got %s, want ctx.fs", files.Type())
		}
		below, _ := c.Runtime.Context(c.Thread).Value(call.BelowWorkspace{}).(func(string) string)
		o.Read = func(name string) (string, bool) {
			if failed != nil {
				return "", false
			}
			if below != nil {
				name = below(name)
			}
			v, err := starlark.Call(c.Thread, read, starlark.Tuple{starlark.String(name), starlark.None}, nil)
			text, ok := starlark.AsString(v)
			if err == nil && ok {
				failed = c.Pay(1+len(text), shellByteBytes*len(text))
				more += "\n" + name + "\n" + text
			}
			return text, err == nil && ok && failed == nil
		}
	}
	script, err := ParseShell(c, text, o)
	if err = cmp.Or(failed, err); err != nil {
		return nil, err
	}
	commands := make([]starlark.Value, len(script.Commands))
	for i := range script.Commands {
		commands[i] = shellCommand(&script.Commands[i])
	}
	unknowns := make([]starlark.Value, len(script.Unknowns))
	for i, u := range script.Unknowns {
		unknowns[i] = starlarkstruct.FromStringDict(starlark.String("unknown"), starlark.StringDict{
			"text": starlark.String(u.Text), "offset": starlark.MakeInt(u.Offset),
			"reason": starlark.String(u.Reason()), "program": starlark.String(u.Program),
		})
	}
	line := starlarkstruct.FromStringDict(&shellLine{text, dialect, more, script}, starlark.StringDict{
		"ok":       starlark.Bool(script.OK),
		"reason":   starlark.String(script.Reason),
		"unknown":  starlark.Bool(script.Unknown),
		"known":    starlark.Bool(script.Known),
		"commands": starlark.NewList(commands),
		"unknowns": starlark.NewList(unknowns),
	})
	line.Freeze()
	return line, nil
}

// shellCommand converts a command to Starlark.
func shellCommand(c *shell.Command) starlark.Value {
	env := starlark.NewDict(len(c.Env))
	for _, e := range c.Env {
		_ = env.SetKey(starlark.String(e.Name), shellWord(e.Value)) // no error, because a new dict accepts strings
	}
	flags, args := c.Split()
	wrappers := make([]starlark.Value, len(c.Wrappers))
	for i, w := range c.Wrappers {
		wrappers[i] = starlark.String(w)
	}
	return starlarkstruct.FromStringDict(starlark.String("command"), starlark.StringDict{
		"name":     shellWord(c.Name),
		"argv":     shellWords(c.Argv),
		"flags":    shellWords(flags),
		"args":     shellWords(args),
		"sub":      shellWord(c.Subcommand()),
		"wrappers": starlark.NewList(wrappers),
		"env":      env,
		"reads":    shellWords(c.Reads),
		"writes":   shellWords(c.Writes),
		"via":      starlark.String(c.Via),
		"text":     starlark.String(c.Text),
		"offset":   starlark.MakeInt(c.Offset),
	})
}

// shellWord converts a word to Starlark. It returns None for a word that is known only when the shell runs.
func shellWord(w *string) starlark.Value {
	if w == nil {
		return starlark.None
	}
	return starlark.String(*w)
}

// shellWords converts words to Starlark.
func shellWords(words []*string) starlark.Value {
	list := make([]starlark.Value, len(words))
	for i, w := range words {
		list[i] = shellWord(w)
	}
	return starlark.NewList(list)
}

// shellRuns implements shell.runs.
func shellRuns(c call.Call) (starlark.Value, error) {
	var (
		command starlark.Value
		program string
		words   [][]string
	)
	if err := c.BindArgs(c.Args[:min(2, len(c.Args))], c.Kwargs, "command", &command, "program", &program); err != nil {
		return nil, err
	}
	if program == "" {
		return nil, c.Fail("E0202", `program: got "", want a name`)
	}
	size := len(program) / 16 // letter case does not matter, so all letters are compared
	if err := c.Pay(1+size, 2*len(program)); err != nil {
		return nil, err
	}
	size = 0
	for i, v := range c.Args[min(2, len(c.Args)):] {
		list, err := shellAlternatives(c, v)
		if err != nil {
			return nil, c.Fail("E0202", "words: word %d: %v", i+1, err)
		}
		words = append(words, list)
		for _, word := range list {
			size += 1 + len(word)/64
		}
	}
	var script *shell.Script
	if s, ok := command.(*starlarkstruct.Struct); ok {
		if line, ok := s.Constructor().(*shellLine); ok {
			script = line.script
		}
	} else if text, ok := command.(starlark.String); ok {
		var err error
		if script, err = ParseShell(c, string(text), shell.Options{Trusted: trustedRunners(c)}); err != nil {
			return nil, err
		}
	}
	if script == nil {
		return nil, c.Fail("E0202", "command: got %s, want string or the result of shell.parse", command.Type())
	}
	if err := c.Pay(1+script.Weight+size, 0); err != nil {
		return nil, err
	}
	return starlark.String(script.Runs(program, words...)), nil
}

// shellAlternatives returns the texts of an argument that is a string or a list of strings.
func shellAlternatives(c call.Call, v starlark.Value) ([]string, error) {
	if s, ok := starlark.AsString(v); ok {
		return []string{s}, nil
	}
	items, ok := v.(starlark.Sequence)
	if !ok {
		return nil, fmt.Errorf("got %s, want string or list of strings", v.Type())
	}
	if err := c.Pay(items.Len(), 64*items.Len()); err != nil {
		return nil, err
	}
	list := make([]string, 0, items.Len())
	for item := range starlark.Elements(items) {
		s, ok := starlark.AsString(item)
		if !ok {
			return nil, fmt.Errorf("got %s in a list, want string", item.Type())
		}
		list = append(list, s)
	}
	return list, nil
}

// shellNames reads the arguments of a function: the words of a command, and the names of flags. more are
// further arguments, each with its name.
func shellNames(c call.Call, more ...any) (argv []*string, names []string, err error) {
	var command *starlarkstruct.Struct
	if err := c.BindArgs(c.Args[:min(1, len(c.Args))], c.Kwargs, append([]any{"command", &command}, more...)...); err != nil {
		return nil, nil, err
	}
	words, err := command.Attr("argv")
	list, ok := words.(*starlark.List)
	if err != nil || !ok || list.Len() == 0 {
		return nil, nil, c.Fail("E0202", "command: got %s, want a command of shell.parse", command.Type())
	}
	for _, v := range c.Args[1:] {
		name, ok := starlark.AsString(v)
		if name = strings.TrimLeft(name, "-"); !ok || name == "" {
			return nil, nil, c.Fail("E0202", "names: got %s, want names of flags", call.Show(v))
		}
		names = append(names, name)
	}
	if len(names) > maxShellNames {
		return nil, nil, c.Fail("E0202", "names: got %d, want at most %d", len(names), maxShellNames)
	}
	for v := range starlark.Elements(list) {
		word, ok := starlark.AsString(v)
		if err := c.Pay((1+len(word)/16)*(1+len(names)), 64+8*len(word)); err != nil {
			return nil, nil, err
		}
		if argv = append(argv, nil); ok {
			argv[len(argv)-1] = &word
		}
	}
	return argv, names, nil
}

// shellFlag implements shell.flag.
func shellFlag(c call.Call) (starlark.Value, error) {
	argv, names, err := shellNames(c)
	if err != nil {
		return nil, err
	}
	values, doubt := shell.FindFlags(argv, names)
	if len(values) == 0 && doubt {
		return starlark.None, nil
	}
	return starlark.Bool(len(values) > 0), nil
}

// shellOption implements shell.option.
func shellOption(c call.Call) (starlark.Value, error) {
	all := false
	argv, names, err := shellNames(c, "all?", &all)
	if err != nil {
		return nil, err
	}
	values, doubt := shell.FindFlags(argv, names)
	switch {
	case all && doubt:
		return shellWords(append(values, nil)), nil
	case all:
		return shellWords(values), nil
	case doubt:
		return starlark.None, nil
	case len(values) == 0:
		return starlark.String(""), nil
	}
	return shellWord(values[len(values)-1]), nil
}

// shellPlain are the bytes that no shell treats specially within a word.
const shellPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,@%+"

// shellReserved are words that do not name a program if a command begins with them.
var shellReserved = " if then else elif fi do done case esac while until for in function select time coproc repeat foreach end nocorrect "

// shellQuote implements shell.quote.
func shellQuote(c call.Call) (starlark.Value, error) {
	var words starlark.Iterable
	if err := c.Bind("words", &words); err != nil {
		return nil, err
	}
	var out strings.Builder
	for v := range starlark.Elements(words) {
		word, ok := starlark.AsString(v)
		if !ok {
			return nil, c.Fail("E0202", "words: got %s, want strings", v.Type())
		}
		if strings.Contains(word, "\x00") {
			return nil, c.Fail("E0202", "words: a word contains a NUL byte, which no shell can pass on")
		}
		size := len(word) + 3*strings.Count(word, "'") + 3
		if err := c.Pay(1+size/8, 2*size); err != nil {
			return nil, err
		}
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		if word == "" || strings.Trim(word, shellPlain) != "" || strings.Contains(shellReserved, " "+word+" ") {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		out.WriteString(word)
	}
	return starlark.String(out.String()), nil
}
