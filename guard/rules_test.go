package guard

import (
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/shell"
)

// TestMistakes shows that each mistake in a file of rules has its line.
func TestMistakes(t *testing.T) {
	const examples = "match = [\"rm x\"]\nnot_match = [\"ls\"]\n"
	const a, rm = "[[rule]]\nname = \"a\"\n", "[[rule]]\nname = \"a\"\nprograms = [\"rm\"]\n"
	for _, tt := range []struct{ name, rules, want string }{
		{"nothing", "", "rules.toml:1:1: want packs, or rules"},
		{"syntax", a + "programs = [\"rm\"\n", "rules.toml:"},
		{"a head", "pack = []\n", "rules.toml:1:1: pack: unknown key, want one of packs, trusted, unknown, rule (did you mean packs?)"},
		{"a pack", "packs = [\"gti\"]\n", `rules.toml:1:11: packs: got "gti", want files, git`},
		{"a pack twice", "packs = [\"git\", \"git\"]\n", "rules.toml:1:1: packs: git is given twice"},
		{"unknown", "unknown = \"deni\"\npacks = [\"git\"]\n", `rules.toml:1:12: unknown: got "deni", want ask, deny, allow`},
		{"no name", "\n[[rule]]\nprograms = [\"rm\"]\n" + examples, "rules.toml:2:1: rule: want a name"},
		{"no condition", a + examples, "rules.toml:1:1: rule a: want at least one of programs, paths, hosts, kinds"},
		{"a key", a + "program = [\"rm\"]\n" + examples, `rules.toml:3:1: rule a: unknown key "program" (did you mean programs?)`},
		{"a type", a + "programs = \"rm\"\n" + examples, "programs: got a text, want a list of at most 1000 texts"},
		{"a text", a + "programs = [1]\n" + examples, "programs: got 1 in the list, want texts"},
		{"a decision", rm + "decision = \"alow\"\n" + examples, `rules.toml:4:13: rule a: decision: got "alow", want ask, deny, allow (did you mean allow?)`},
		{"allow of paths", a + "paths = [\"x\"]\ndecision = \"allow\"\n" + examples, `decision: "allow" needs programs`},
		{"a kind", a + "kinds = [\"exec\"]\n" + examples, `rules.toml:3:11: rule a: kinds: got "exec", want shell`},
		{"words alone", a + "kinds = [\"shell\"]\nwords = [\"x\"]\n" + examples, "need programs"},
		{"an expression", rm + "text = [\"(\"]\n" + examples, "missing closing )"},
		{"hours", rm + "hours = \"9-5\"\n" + examples, `hours: got "9-5"`},
		{"a zone", rm + "zone = \"Mars\"\n" + examples, `zone: got "Mars"`},
		{"no examples", rm, "rule a: want at least one example in match"},
		{"an example", rm + "match = [{ kind = 1 }]\n", "match: got a table, want a command line or a table with kinds"},
		{"a wrong example", a + "programs = [\"ls\"]\n" + examples, `rules.toml:4:11: rule a: match: the answer for "rm x" is no, want yes`},
		{"an unclear example", rm + "match = [\"rm x\"]\nnot_match = [\"$x\"]\n", `rules.toml:5:15: rule a: not_match: the answer for "$x" is maybe, want no`},
		{"a table with a wrong name", rm + examples + "[[rules]]\nname = \"b\"\nkinds = [\"write\"]\n", "rules.toml:1:1: the rule has another table behind it"},
		{"a table with a quoted name", rm + examples + " [[\"rule\"]]\nname = \"b\"\nkinds = [\"write\"]\n", "rules.toml:1:1: the rule has another table behind it"},
		{"two unknown keys", rm + examples + "zz = 1\nbb = 2\n", `rules.toml:7:1: rule a: unknown key "bb"`},
		{"two unknown keys in the head", "zz = 1\nbb = 2\n" + rm, "rules.toml:2:1: bb: unknown key"},
		{"a name twice", strings.Repeat(rm+examples, 2), "rules.toml:7:1: rule a: name: the name is given twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Load("rules.toml", tt.rules)
			if err == nil {
				if errs := s.Prove(nil); len(errs) > 0 {
					err = errs[0]
				}
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// decide returns what a file of rules says about a command.
func decide(t *testing.T, rules, command string) string {
	t.Helper()
	s, err := Load("rules.toml", rules)
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) } // a Thursday
	d, err := s.Decide(&Call{Command: command, Kinds: []string{"shell"}, CWD: "/w", Script: shell.Parse(command, ""), Now: now})
	if err != nil {
		return "error: " + err.Error()
	}
	return string(d.Action) + " " + d.Reason
}

// TestDecide shows what the keys of rules mean.
func TestDecide(t *testing.T) {
	const head, rm = "[[rule]]\nname = \"a\"\nreason = \"r\"\n", "[[rule]]\nname = \"a\"\nreason = \"r\"\nprograms = [\"rm\"]\n"
	const hidden = " nobody can tell what this command runs ($x y: its program is decided at run time)"
	const allow = "packs = [\"files\"]\n" + rm + "only = [\"x\"]\ndecision = \"allow\"\n"
	for _, tt := range []struct{ name, rules, command, want string }{
		{"deny is the default", rm, "rm x", "deny a: r"},
		{"a day", rm + "days = [\"fri\"]\n", "rm x", " "},
		{"hours of a zone", rm + "hours = \"13:00-14:00\"\nzone = \"Europe/Berlin\"\n", "rm x", "deny a: r"},
		{"unknown", rm, "$x y", "ask" + hidden},
		{"unknown of the file", "unknown = \"deny\"\n" + rm, "$x y", "deny" + hidden},
		{"unknown of the rule", rm + "unknown = \"allow\"\n", "$x y", " "},
		{"unknown of an indented rule", rm + "  unknown = \"deny\"\n", "$x y", "deny a: r (the command may do this ($x y: its program is decided at run time))"},
		{"unknown in quotes", rm + "\t\"unknown\" = \"allow\"\n", "$x y", " "},
		{"unknown with escapes", rm + "\"unk\\u006eown\" = \"allow\"\n", "$x y", " "},
		{"a table that no call may lose", rm + "[[\"rule\"]]\nname = \"b\"\nkinds = [\"shell\"]\n", "ls",
			"error: rules.toml:1:1: the rule has another table behind it: want [[rule]] for each rule, and no other table"},
		{"another rule asks", rm + "unknown = \"allow\"\n[[rule]]\nname = \"b\"\nprograms = [\"ls\"]\n", "$x y", "ask" + hidden},
		{"all of the words", rm + "only = [\"x\", \"x/*\"]\n", "rm x x/y", "deny a: r"},
		{"not all of the words", rm + "only = [\"x\", \"x/*\"]\n", "rm x x/../y", " "},
		{"an allowed command of a pack", allow, "rm -rf x", " "},
		{"allowed behind timeout", allow, "timeout 5 rm -rf x 2>/dev/null", " "},
		{"not behind sudo", allow, "sudo rm -rf x", "ask files/delete-tree: a deleted folder does not come back"},
		{"nor on another machine", allow, "ssh h rm -rf x", "ask files/delete-tree: a deleted folder does not come back"},
		{"nor with a redirection", allow, "rm -rf x > main.go", "ask files/delete-tree: a deleted folder does not come back"},
		{"nor with a variable", allow, "A=1 rm -rf x", "ask files/delete-tree: a deleted folder does not come back"},
		{"nor in another folder", allow, "cd /etc && rm -rf x", "ask files/delete-tree: a deleted folder does not come back"},
		{"and another one", allow, "rm -rf x; rm -rf y", "ask files/delete-tree: a deleted folder does not come back"},
		{"a glob of files with secrets", "packs = [\"secrets\"]\n", "cat config/*.yml", "ask it is decided at run time whether the command does what these rules name: secrets/secret-files (cat config/*.yml: an argument of cat is decided at run time)"},
		{"a new file", "packs = [\"files\", \"databases\", \"network\"]\n", "T=$(mktemp -d); f=\"$(mktemp)\"; curl -c \"$f\" -b \"$f\" localhost:80; rm -f \"$f\"; rm -rf \"$T\"", " "},
		{"all of a new folder", "packs = [\"files\"]\n", "T=$(mktemp -d); rm -rf \"$T\"/*", "ask it is decided at run time whether the command does what these rules name: files/delete-tree, files/delete-system-file (rm -rf \"$T\"/*: an argument of rm is decided at run time)"},
		{"a folder below home", "packs = [\"files\"]\n", "T=~/x; rm -rf \"$T\"", "ask files/delete-tree: a deleted folder does not come back"},
		{"a secret in a variable", "packs = [\"secrets\"]\n", "F=$HOME/.aws/credentials; cat \"$F\"", "deny secrets/secret-files: secrets do not go into a model's context"},
		{"a secret below a variable", "packs = [\"secrets\"]\n", "T=~/.ssh; cat \"$T\"/id_rsa \"$T/x\"", "deny secrets/secret-files: secrets do not go into a model's context"},
		{"a secret that Python reads", "packs = [\"secrets\"]\n", "python3 - .env <<E\nimport sys\nprint(open(sys.argv[1]).read())\nE", "deny secrets/secret-files: secrets do not go into a model's context"},
		{"a secret that find gives a program", "packs = [\"secrets\"]\n", "find ~/.ssh -type f -exec cat {} +", "ask it is decided at run time whether the command does what these rules name: secrets/secret-files (find ~/.ssh -type f -exec cat {} +: an argument of find is decided at run time)"},
		{"other files that find gives one", "packs = [\"secrets\"]\n", "find src -name '*.go' -exec cat {} +", " "},
		{"the names of secrets", "packs = [\"secrets\"]\n", "ls ~/.ssh | xargs -n1 echo", " "},
		{"a folder of secrets behind cd", "packs = [\"secrets\"]\n", "cd ~/.ssh && tar c .", "deny secrets/secret-files: secrets do not go into a model's context"},
		{"a folder of secrets in a subshell", "packs = [\"secrets\"]\n", "(cd \"$HOME/.ssh\"; grep -r . .)", "deny secrets/secret-files: secrets do not go into a model's context"},
		{"files that a folder of secrets has", "packs = [\"secrets\"]\n", "cd ~/.ssh && ls | xargs cat", "ask it is decided at run time whether the command does what these rules name: secrets/secret-files (cd ~/.ssh: an argument of cd is decided at run time)"},
		{"files of another folder", "packs = [\"secrets\"]\n", "cd ~/src && ls | xargs cat", " "},
		{"a secret that echo names", "packs = [\"secrets\"]\n", "echo .env | xargs cat", "ask it is decided at run time whether the command does what these rules name: secrets/secret-files (xargs cat: an argument of cat is decided at run time)"},
		{"a secret that a loop reads", "packs = [\"secrets\"]\n", "find . -name '.env*' | while read -r f; do cat \"$f\"; done", "ask it is decided at run time whether the command does what these rules name: secrets/secret-files (cat \"$f\";: an argument of cat is decided at run time)"},
		{"a secret that a substitution names", "packs = [\"secrets\"]\n", "cat $(find . -name .env)", "ask it is decided at run time whether the command does what these rules name: secrets/secret-files (cat $(find . -name .env): an argument of cat is decided at run time)"},
		{"a secret of a list", "packs = [\"secrets\"]\n", "for x in .env .env.local; do cat \"$x\"; done", "ask it is decided at run time whether the command does what these rules name: secrets/secret-files (cat \"$x\";: an argument of cat is decided at run time)"},
		{"a secret in an array", "packs = [\"secrets\"]\n", "a=(.env x); cat \"${a[@]}\"", "ask it is decided at run time whether the command does what these rules name: secrets/secret-files (cat \"${a[@]}\": an argument of cat is decided at run time)"},
		{"a secret in a text", "packs = [\"secrets\"]\n", "while read f; do cat \"$f\"; done <<< .env", "ask it is decided at run time whether the command does what these rules name: secrets/secret-files (cat \"$f\";: an argument of cat is decided at run time)"},
		{"a secret in a variable that others see", "packs = [\"secrets\"]\n", "export F=.env; cat $F", "ask it is decided at run time whether the command does what these rules name: secrets/secret-files (cat $F: an argument of cat is decided at run time)"},
		{"a folder of secrets in a variable without quotes", "packs = [\"secrets\"]\n", "d=~/.ssh; cat $d/id_rsa", "deny secrets/secret-files: secrets do not go into a model's context"},
		{"a secret in a list of Python", "packs = [\"secrets\"]\n", "python3 -c 'for n in [\".env\"]: print(open(n).read())'", "ask it is decided at run time whether the command does what these rules name: secrets/secret-files"},
		{"the start and the end of a path", "packs = [\"secrets\"]\n", "cat /proc/$$/environ", "deny secrets/secret-files: secrets do not go into a model's context"},
		{"a secret that awk reads", "packs = [\"secrets\"]\n", "awk 'BEGIN { while ((getline l < \".env\") > 0) print l }'", "ask it is decided at run time whether the command does what these rules name: secrets/secret-files"},
		{"a hook that awk writes", "packs = [\"files\"]\n", "awk '{ print > \".git/hooks/pre-commit\" }' a", "ask nobody can tell what this command runs (awk '{ print > \".git/hooks/pre-commit\" }' a: awk runs a text that may run commands)"},
		{"names of secrets that nobody opens", "packs = [\"secrets\"]\n", "for x in .env .env.local; do test -f \"$x\" && echo \"$x\"; done", " "},
		{"a list of other files", "packs = [\"secrets\"]\n", "for x in a b; do cat \"$x\"; done; echo x.md", " "},
		{"all of a folder", "packs = [\"secrets\"]\n", "rg x src/routers/*; cp -r dist/* /b/x/", " "},
		{"all of a folder of secrets", "packs = [\"secrets\"]\n", "cat ~/.docker/*", "ask it is decided at run time whether the command does what these rules name: secrets/secret-files (cat ~/.docker/*: an argument of cat is decided at run time)"},
		{"settings of an agent that are copied", "packs = [\"system\"]\n", "cp ~/.claude/agents/x.md here/", " "},
		{"settings of an agent that a copy changes", "packs = [\"system\"]\n", "cp x.md ~/.claude/agents/", "ask system/agent-settings: an agent does not change its own rules"},
		{"and with its folder first", "packs = [\"system\"]\n", "cp -t ~/.claude/agents x.md", "ask system/agent-settings: an agent does not change its own rules"},
		{"a glob of other files", "packs = [\"secrets\"]\n", "cat config/*.go; ls *; sha256sum *", " "},
		{"a broken rule that the call needs", rm + "x = 1\n", "rm x", `error: rules.toml:5:1: rule a: unknown key "x"`},
		{"a broken rule of another program", rm + "x = 1\n", "ls", " "},
		{"strings of several lines", rm + "# '''\n", "rm x", "deny a: r"},
		{"escapes in a program's name", head + "programs = [\"\\u0072m\"]\n", "rm x", "deny a: r"},
		{"programs in another form", head + "\"programs\" = ['rm']\n", "rm x", "deny a: r"},
		{"a wrapper", head + "programs = [\"sudo\"]\n", "sudo ls", "deny a: r"},
		{"a host behind a wrapper", head + "programs = [\"ssh\"]\nmentions = [\"prod\"]\n", "ssh web.prod.example ls", "deny a: r"},
		{"a statement", head + "programs = [\"psql\"]\ntext = ['delete']\nnot_text = ['where']\n", "psql -c 'DELETE FROM a; select 1 where b'", "deny a: r"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, decide(t, tt.rules, tt.command)); diff != "" {
				t.Errorf("Decide (-want +got):\n%s", diff)
			}
		})
	}
}

// TestYAML shows that rules of YAML mean the same.
func TestYAML(t *testing.T) {
	s, err := Load("rules.yaml", "rule:\n  - name: a\n    reason: r\n    programs: [rm]\n    flags: [[r, R], f]\n    match: [rm -rf x]\n    not_match: [rm x, {kinds: [read], paths: [x]}]\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Prove(nil) {
		t.Error(err)
	}
	d, err := s.Decide(&Call{Command: "rm -fr x", Script: shell.Parse("rm -fr x", "")})
	if err != nil || d.Reason != "a: r" {
		t.Errorf("got %v, %v", d, err)
	}
}

// TestSkim checks that a set answers alike if it decodes all rules, and not those alone that their text
// lets it need.
func TestSkim(t *testing.T) {
	own, err := os.ReadFile("../scripts/guard/rules.toml")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(own), "unknown = \"deny\"\n" + string(own), "unknown = \"allow\"\n" + string(own)}
	texts = append(texts, strings.ReplaceAll(texts[0], "\n", "\n\t"), strings.ReplaceAll(texts[2], "programs =", "\"programs\" ="))
	var lines []string
	for _, name := range []string{"destructive", "ordinary"} {
		corpus, err := os.ReadFile("testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(strings.ReplaceAll(string(corpus), `\n`, "\n"), "\n")...)
	}
	for i, text := range texts {
		lazy, err := Load("rules.toml", text)
		if err != nil {
			t.Fatal(err)
		}
		eager, err := Load("rules.toml", text)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range slices.Concat(eager.own, eager.packs) {
			b.programs, b.strict = nil, true
		}
		for _, line := range lines {
			call := &Call{Command: line, Kinds: []string{"shell"}, CWD: "/work/app", Script: shell.ParseWith(line, shell.Options{Trusted: lazy.Trusted})}
			got, errGot := lazy.Decide(call)
			want, errWant := eager.Decide(call)
			if errGot != nil || errWant != nil || got.Action != want.Action {
				t.Errorf("rules %d, %s: got %s (%v), want %s (%v)", i, line, got, errGot, want, errWant)
			}
		}
	}
}

// TestPlainRule checks that a rule read as JSON is what the parser of TOML reads, also if its text is damaged, and that
// the text of a pack's rule says its programs.
func TestPlainRule(t *testing.T) {
	plain, rng := 0, rand.New(rand.NewPCG(1, 2))
	parts := []string{"", "\n", `"`, "'", ",", "[", "]", "[]", "{", "}", "\\", "#", "# x\n", "=", " = ", "\t", "\r", "\x00", "\x7f", "\xff", "1", "null", "true", "a", "programs = [\"x\"]\n", "\n[[rule]]\n"}
	for _, name := range PackNames {
		_, blocks := readPack(name)
		for _, b := range blocks {
			rule, err := b.decodeText(b.text)
			if err != nil || !slices.Equal(rule.Programs, b.programs) {
				t.Errorf("%s: got programs %q (%v), want %q", rule.ID(), b.programs, err, rule.Programs)
			}
			if b.skim(); b.programs == nil && rule.Programs != nil {
				t.Errorf("%s: its text does not say its programs", rule.ID())
			}
			for i := range 200 {
				text := b.text
				if i > 0 {
					from := rng.IntN(len(text))
					text = text[:from] + parts[rng.IntN(len(parts))] + text[min(from+rng.IntN(4), len(text)):]
				}
				got := plainRule(text)
				if got == nil {
					continue
				}
				plain++
				var doc map[string]any
				_, err := toml.Decode(text, &doc)
				if want, _ := doc["rule"].([]map[string]any); err != nil || len(want) != 1 || len(doc) != 1 || !reflect.DeepEqual(got, want[0]) {
					t.Errorf("%q: got %v, the parser %v (%v)", text, got, doc, err)
				}
			}
		}
	}
	if plain < 10_000 {
		t.Errorf("%d texts are plain, want at least 10,000", plain)
	}
}

// TestProgramsIn checks which lists of programs the text of a rule says. nil stands for those that the decoded rule says.
func TestProgramsIn(t *testing.T) {
	for text, want := range map[string][]string{
		`programs = ["a"]`: {"a"}, `programs = ["a", "b",]`: {"a", "b"}, "programs = [\n  \"a\",\n  \"b\"\n]": {"a", "b"}, `programs = ["["]`: {"["},
		`programs = []`: nil, `programs = [ ]`: nil, `programs = ['a']`: nil, `programs = ["]", "a"]`: nil, `programs = ["\u0061"]`: nil, `programs = ["a" # "]`: nil,
		"programs = [\"a\"]\nprograms = [\"b\"]": nil, `programs=["a"]`: nil, ` programs = ["a"]`: nil, `programs = ["a]`: nil, `programs = [1, "a"]`: nil, `paths = ["a"]`: nil,
	} {
		if got := programsIn("[[rule]]\n" + text + "\n"); !slices.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	s, err := Load("rules.toml", "[[rule]]\nname = \"a\"\nprograms = []\npaths = [\".env\"]\ndecision = \"ask\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if d := answerTo(t, s, "cat .env"); d.Action != starhost.ActionAsk {
		t.Errorf("a rule with an empty list of programs: got %v", d)
	}
}
