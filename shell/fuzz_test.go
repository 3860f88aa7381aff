//go:build unix

package shell

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A generator makes texts from a grammar. Each byte of its input is one choice.
type generator struct {
	choices []byte
	depth   int
}

// choose returns one of the choices.
func (g *generator) choose(from ...string) string { return from[g.number(len(from))] }

// number returns a number below n.
func (g *generator) number(n int) int {
	if len(g.choices) == 0 {
		return 0
	}
	b := int(g.choices[0])
	g.choices = g.choices[1:]
	return b % n
}

// grammarWords are the words of the grammar.
var grammarWords = []string{
	"delete", "pod", "-n", `"delete"`, "'delete'", `de\lete`, "$v", `"$v"`, "${v}", "d*", "[d]elete", "{delete,x}", "{a,}", "$((1+1))", "$((n))", "$((m))",
	"'kubectl delete'", `"kubectl delete"`, ">f", "<f", "2>&1", "&>f", ">>f", "<<<x", "~", "=kubectl", `\;`, `$'a\'b; kubectl delete'`, "${v#x}", "${v%e}",
	"${m}", "[", "]", "}", "{", "--", "-", "''", `""`, `x"y"'z'`, "${a[m]}", "${a[@]}", "${v:m}", "${v:1}", "${v@P}", "${!w}", "${u:-delete}", "${u:=kubectl}",
	"${u+x}", "$1", `"$@"`, "$*", "$#", "$?", "$-", "a=b", "k=kubectl", "PATH=x", "$'del\\x65te'", `$"delete"`, "#c", "a#b", "!", "if", "then", "do", "in", "&&x",
	"${v/x/y}", "${#v}", "*", "?", "**", "@(a|b)", "!(a)", "a\\\nb", "-c", "-e", "-I{}", "{}", "1", "0", "{1..3}", "{a..c}", "=", "==", "-eq", "-v", "%d", "%s",
}

// grammarCommands are the starts of its simple commands.
var grammarCommands = []string{
	"kubectl", "kubectl", `"kubectl"`, `k\ubectl`, "'kubectl'", "kube''ctl", "$k", "${k}", `"$k"`, "echo", "true", "false", ":", "f", "g", "$'kubectl'",
	"$(echo kubectl)", "{kubectl,delete}", "eval", "command", "sh -c", "exec", "x=1 kubectl", "x=1", "builtin", "time", "! kubectl", "nosuch", "cd", "less", "more",
	"sudo", "sudo -u root", "env", "timeout 5", "docker exec x", "git", "jq", "test", "[", "printf", "read v", "export", "declare", "local", "unset", "set", "set --",
	"shift", "trap", "wait", "kill -0", "bash -c", "dash -c", "kubectl exec x --", "watch", "ssh h", "find . -exec", "command -v", "exit", "return", "break", "alias",
	"unalias", "type", "let", "getopts", "umask", "pwd", "noglob", "- ", "repeat 1", "nocorrect", "typeset", "readonly", "cat", "sh", "su -c", ">f kubectl", "{", "source f", ". f",
}

// word returns one word of a command.
func (g *generator) word() string {
	if g.depth > 0 && g.number(6) == 0 {
		g.depth--
		defer func() { g.depth++ }()
		switch g.number(6) {
		case 0:
			return "$(" + g.command() + ")"
		case 1:
			return `"$(` + g.command() + `)"`
		case 2:
			return "${u:-$(" + g.command() + ")}"
		case 3:
			return "<(" + g.command() + ")"
		case 4:
			return "$((1 + $(" + g.command() + ")))"
		default:
			return "`" + strings.NewReplacer("`", "", `\`, "").Replace(g.command()) + "`"
		}
	}
	return grammarWords[g.number(len(grammarWords))]
}

// quoted returns a command as one word in single quotes.
func (g *generator) quoted() string {
	return "'" + strings.ReplaceAll(g.command(), "'", `'\''`) + "'"
}

// simple returns a simple command.
func (g *generator) simple() string {
	words := []string{g.choose(grammarCommands...)}
	for range g.number(5) {
		words = append(words, g.word())
	}
	return strings.Join(words, " ")
}

// command returns a list, a compound command or a simple command.
func (g *generator) command() string {
	if g.depth == 0 || g.number(5) < 2 {
		return g.simple()
	}
	g.depth--
	defer func() { g.depth++ }()
	s := g.command
	switch g.number(64) {
	case 0, 1:
		return s() + "; " + s()
	case 2:
		return s() + " && " + s()
	case 3:
		return s() + " || " + s()
	case 4:
		return s() + " | " + s()
	case 5, 6:
		return s() + "\n" + s()
	case 7:
		return "( " + s() + " )"
	case 8:
		return "{ " + s() + "; }"
	case 9:
		return "if " + s() + "; then " + s() + "; else " + s() + "; fi"
	case 10:
		return "for v in a " + g.word() + "; do " + s() + "; done"
	case 11:
		return "case " + g.word() + " in a) " + s() + ";; *) " + s() + ";; esac"
	case 12:
		return "f() { " + s() + "; }"
	case 13:
		return "function g { " + s() + "\n}"
	case 14:
		return "f() { " + s() + "; }\nf"
	case 15:
		return "sh -c " + g.quoted()
	case 16:
		return "eval " + g.quoted()
	case 17:
		return "trap " + g.quoted() + " " + g.choose("EXIT", "DEBUG", "ERR", "0")
	case 18:
		return g.choose("sh", "bash", "cat", "dash") + " <<" + g.choose("E", "'E'") + "\n" + s() + "\nE\n" + g.simple()
	case 19:
		return "k=kubectl; " + s()
	case 20:
		return "v=delete; " + s()
	case 21:
		return "n=1; m='a[$(kubectl delete)]'; " + s()
	case 22:
		return "v='$(kubectl delete)'; " + s()
	case 23:
		return "alias " + g.choose("q", "echo", "g") + "=" + g.quoted() + "\n" + g.choose("q", "echo", "g") + " " + g.word()
	case 24:
		return "[[ " + g.word() + g.choose(" == ", " -eq ", " || ", " =~ ", " -nt ") + g.word() + " ]]"
	case 25:
		return "(( " + g.choose("m", "n", "1", "n++", "m=1", "kubectl", "a[m]") + " ))"
	case 26:
		return g.choose("while ", "until ") + s() + "; do " + s() + "; break; done"
	case 27:
		return s() + " & wait"
	case 28:
		return "coproc " + g.choose("{ "+s()+"; }", g.simple()) + "\nwait"
	case 29:
		return g.choose("TRAPEXIT", "command_not_found_handle", "command_not_found_handler", "kubectl", "echo", "true", "cd") + "() { " + s() + "; }; " + g.simple()
	case 30:
		return "set -- " + g.word() + " " + g.word() + "; " + s()
	case 31:
		return "set -" + g.choose("e", "x", "u", "f", "a", "n", "k", "v") + "; " + s()
	case 32:
		return "export k=kubectl; " + s()
	case 33:
		return "x=$( " + s() + " )"
	case 34:
		return "echo " + g.quoted() + " > f; " + g.choose(". ./f", "sh f", "sh < f", "source ./f", "cat f | sh", "cat f") + "; " + g.simple()
	case 35:
		return "time " + s()
	case 36:
		return "a=(" + g.word() + " " + g.word() + "); " + s()
	case 37:
		return g.simple() + " &>f " + g.word()
	case 38:
		return "! " + s()
	case 39:
		return s() + " <<E\n" + g.word() + "\nE"
	case 40:
		return "select v in a; do " + s() + "; done"
	case 41:
		return "for ((i=0;i<1;i++)); do " + s() + "; done"
	case 42:
		return "echo " + g.word() + " | xargs " + s()
	case 43:
		return "PS4='$(kubectl delete)'; " + s()
	case 44:
		return "IFS=" + g.choose("l", "''", "$v") + "; " + s()
	case 45:
		return g.simple() + " # " + g.word() + g.choose(" \\", "\\", `\\\`) + "\n" + s()
	case 46:
		return g.simple() + g.choose(" \\\n", "\\\n", " \\\r\n", " \\\n# ", " \\ \n", "#\\\n") + s()
	case 47:
		return "cat <<" + g.choose("E", "'E'", `\E`, "-E") + "\n" + g.word() + g.choose(" \\", `\\`, "") + "\nE\n" + s()
	case 48:
		return g.simple() + " " + g.choose("'a\\\nb'", "\"a\\\nb\"", "$'a\\\nb'", "'# a\\\nb'", "\"# a\\\nb\"", "`echo # a\\\n`") + "\n" + s()
	case 49:
		return g.choose("kube\\\nctl ", "k\\\n\\\nubectl ", "\\\nkubectl ", "if\\\n true; then kubectl; fi; ", "tr\\\nue; ") + g.word()
	case 50:
		return s() + g.choose(" |\\\n ", " &\\\n& ", " ;\\\n ", " | # a\\\n ", " && # a\\\n ", " &\\\n>f ") + s()
	case 51:
		return "cat <<E <<'F'\n" + g.word() + " \\\nE\nE\n" + g.word() + " \\\nF\n" + s()
	case 52:
		return "a=( " + g.word() + " # a\\\n" + g.word() + " ); " + s()
	case 53:
		return g.choose("x=$( ", "cat <( ") + "cat <<E" + g.choose("", "; ", " && ", " | ") + s() + "\nE\n" + s() +
			g.choose("; ", "\n", " && ", "; if true; then ") + s() + " )"
	case 54:
		return g.choose("echo $(", `echo "$(`, "echo `", "cat <(", "(") + "cat <<E" + g.choose(")", `)"`, "`", "\n", "\nE)") + "\n" + s() + "\nE\n" + g.choose("", ")")
	case 55:
		return g.choose("declare -a", "export", "readonly", "typeset -A", "declare", "command declare -a", `\export`, "integer", "float") + " " +
			g.choose("v", "RANDOM", "a", "SECONDS", "OPTIND", "zshexit_functions") + "=" + g.choose(`'($(kubectl delete))'`, "$v", `"$m"`, "m", "f", "(f)") + "; " + s()
	case 56:
		return "[[" + g.choose(" ", "\n") + g.choose("", "! ") + g.word() + g.choose(" || ", " &&\n", " == ", "\n", " ||\n! ") + "kubectl" + g.choose("", " == delete") + " ]]"
	case 57:
		return `echo "${v` + g.choose(":-", "#", "/x/", ":+", "=") + g.choose(`'$(kubectl delete)'`, `'}"; `+"kubectl delete"+`; #'`, `"$(kubectl delete)"`, "'a'", `\'`) + `}"`
	case 58:
		return g.choose("time ", "time -p ", "jobs -x ", "exec -a x ") + g.choose("-- ", "-f ", "a=b ", "") + s()
	case 59:
		return "bash " + g.choose("", "-e ", "-s ", "-o posix ", "+n ", "+c ") + g.choose("<<E", "<<'E'", "3<<E", "<f <<E", "<<E <<F") + "\n" +
			g.choose("", "read v\n", "read -n1 v\n", "echo '\n") + s() + g.choose("", "\n'") + "\nE\n" + g.choose("", "kubectl\nF\n")
	case 60:
		return "x=" + g.choose("-exec", "'. -exec'", "'-exec kubectl delete ;'") + "; find . " + g.choose(`"$x"`, "$x", "-name", "-ex*") + " " + s() + g.choose(` \;`, " +", "")
	case 61:
		return "f() { " + s() + "; }; " + g.choose("chpwd_functions=(f); cd .", "zshexit_functions=(f)", "jobs -x f", "{f}", "print -v 'a[$(f)]' x", "read -t 'a[$(f)]' v")
	case 62:
		return g.choose("RANDOM", "OPTIND", "SECONDS", "HISTCMD", "a+", "LINENO") + "=" + g.choose("m", "$m", "'a[$(kubectl delete)]'", "1") + g.choose(" ", "; ") + s()
	default:
		return g.simple() + g.choose(" ;", " #", "\n)", "\nif", " |", "\n\"", " \\") + " " + g.word()
	}
}

// lists reports whether a program is among the commands or their wrappers.
func (s *Script) lists(program string) bool {
	return slices.ContainsFunc(s.Commands, func(c Command) bool {
		return c.Name != nil && *c.Name == program || slices.Contains(c.Wrappers, program)
	})
}

// FuzzShellAgainstBash runs generated texts in the shells of this machine, in an empty folder with
// stubs. If a program ran with some words, Runs does not answer "no" for it, and Commands lists the
// program or Unknown is true. With -fuzzminimizetime=0x it runs ten times as many texts, because Go
// does not spend the time on shorter forms of the inputs.
func FuzzShellAgainstBash(f *testing.F) {
	for i := range 64 {
		k := byte(i)
		f.Add([]byte{4, k, 3, 1, 7, k * 5, 2, 0, 3, k, 9, 4, 1, 0, k * 3, 11, 2, 5, 1, 4, k + 7, 0, 1})
	}
	r := newTruthRunner(f, true)
	f.Fuzz(func(t *testing.T, choices []byte) {
		if len(choices) > 60 {
			return
		}
		g := &generator{choices: choices, depth: 3}
		text := g.command()
		if len(choices)%4 == 1 { // bash parses what it writes of a substitution a second time
			text = "x=$( " + text + "\n)"
		}
		if strings.Contains(strings.NewReplacer("./f", "", "${v/x/y}", "").Replace(text), "/") {
			t.Skip("a path")
		}
		if leavesStubs(text) {
			t.Skip("another PATH")
		}
		r.check(t, text)
	})
}

// check runs a text in each shell and compares what ran with the answers.
func (r *truthRunner) check(t *testing.T, text string) {
	t.Helper()
	script := Parse(text, "")
	if strings.HasPrefix(script.Reason, "syntax: the parser fails") {
		t.Fatalf("%q: %s", text, script.Reason)
	}
	if script.wild {
		return // each answer is "maybe"
	}
	start := time.Now()
	for _, name := range r.shells {
		for _, folder := range []string{"ok", "bad"} {
			if time.Since(start) > 6*time.Second {
				return // the fuzzer gives up after 10 s
			}
			for _, argv := range r.run(t, name, folder, text) {
				words := make([][]string, 0, len(argv))
				for _, w := range argv[1:] {
					words = append(words, []string{w})
				}
				if !script.Unknown && !script.lists(argv[0]) {
					t.Errorf("%s with stubs that are %s ran %q, which an allowlist does not see:\n%q", name, folder, argv, text)
				}
				if script.Runs(argv[0]) == "no" || script.Runs(argv[0], words...) == "no" {
					t.Errorf("%s with stubs that are %s ran %q, but the answer is no:\n%q", name, folder, argv, text)
				}
			}
		}
	}
}
