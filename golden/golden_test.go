package golden_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/loader"
)

// TestRun runs the cases of testdata, which show all steps and their output.
func TestRun(t *testing.T) {
	golden.Run(t, "testdata")
	golden.Run(t, "testdata/combine")
}

const (
	upperPlugin = `
def upper(text):
    """Writes text in capitals.

    Args:
      text: what to write.
    """
    return text.upper()

register_tool(upper)
`
	upperCase = `Capitals.
-- case.star --
call_tool("upper", text = "hi")
`
	upperWant = `-- want --
== call_tool upper
"HI"
`
)

// tree writes files to a new folder and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// test calls Test, and returns the summary and its text.
func test(t *testing.T, o golden.Options) (golden.Summary, string) {
	t.Helper()
	s, err := golden.Test(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s, s.Text()
}

func TestOutcomes(t *testing.T) {
	tests := []struct {
		name   string
		plugin string // "" stands for upperPlugin
		text   string // the text of the case
		want   string // the output that it expects
	}{
		{"pass", "", upperCase + upperWant, "1 case: 1 passed\n"},
		{"difference", "", strings.Replace(upperCase, `"hi"`, `"ho"`, 1) + upperWant, `FAILED p.star::p_case (golden/p_case.txtar:6)
  Capitals.
--- want
+++ got
@@ -1,2 +1,2 @@
 == call_tool upper
-"HI"
+"HO"
  help: starhost test --update p.star::p_case accepts the difference

1 case: 1 failed
`},
		{"missing want", "", upperCase, `FAILED p.star::p_case (golden/p_case.txtar:1)
  Capitals.
no section "want": starhost test --update p.star::p_case creates it from
  | == call_tool upper
  | "HI"

1 case: 1 failed
`},
		{"a failed assertion shows no difference", "", "-- case.star --\n" + `assert_eq(call_tool("upper", text = "hi").output, "ho")` + "\n-- want --\nx\n",
			`FAILED p.star::p_case (golden/p_case.txtar:2)
golden/p_case.txtar:2:10: assert_eq: got "HI", want "ho" [E0318]
    2 | assert_eq(call_tool("upper", text = "hi").output, "ho")
      |          ^
  in <toplevel> golden/p_case.txtar:2:10
  help: starhost docs E0318

1 case: 1 failed
`},
		{"a file that nothing looks at", "", upperCase + "-- workspace/a.md --\n" + upperWant, `FAILED p.star::p_case (golden/p_case.txtar:4)
  Capitals.
unused section "workspace/a.md": nothing read this file
  help: starhost test --prune p.star::p_case

1 case: 1 failed
`},
		{"a fragment that nothing looks at", "", upperCase + "-- fragments/style --\n" + upperWant, `FAILED p.star::p_case (golden/p_case.txtar:4)
  Capitals.
unused section "fragments/style": nothing read this file
  help: starhost test --prune p.star::p_case

1 case: 1 failed
`},
		{"a fragment whose name is no alias", "", upperCase + "-- fragments/a/b --\n", `FAILED p.star::p_case (golden/p_case.txtar:1)
  Capitals.
alias: got "a/b", want 1 to 64 of A-Z a-z 0-9 _ - . and neither - nor . first

1 case: 1 failed
`},
		{"unknown section", "", upperCase + "-- wnat --\n", `FAILED p.star::p_case (golden/p_case.txtar:4)
unknown section "wnat" (did you mean want?), want one of case.star, config.toml, effects.jsonl, env, events.jsonl, fragments/ALIAS, now, plugins/NAME.star, recorded.json, rows.jsonl, session.json, want, want/ROW, workspace/FILE

1 case: 1 failed
`},
		{"unknown folder", "", upperCase + "-- workspce/a.md --\n", `FAILED p.star::p_case (golden/p_case.txtar:4)
unknown section "workspce/a.md" (did you mean workspace/?), want one of case.star, config.toml, effects.jsonl, env, events.jsonl, fragments/ALIAS, now, plugins/NAME.star, recorded.json, rows.jsonl, session.json, want, want/ROW, workspace/FILE

1 case: 1 failed
`},
		{"a section that leaves its folder", "", upperCase + "-- plugins/../../x.star --\n", `FAILED p.star::p_case (golden/p_case.txtar:4)
section "plugins/../../x.star": want a path inside plugins/, with a slash between names and no dots alone

1 case: 1 failed
`},
		{"a section twice", "", upperCase + upperWant + upperWant, `FAILED p.star::p_case (golden/p_case.txtar:7)
section "want" is there twice

1 case: 1 failed
`},
		{"no base64", "", upperCase + "-- workspace/a.png.base64 --\n%\n", `FAILED p.star::p_case (golden/p_case.txtar:4)
section "workspace/a.png.base64": illegal base64 data at input byte 0

1 case: 1 failed
`},
		{"data", "", "-- case.star --\nload_fragments(\"file:a.txt\")\n-- workspace/a.txt.base64 --\nSGVs\nbG8=\n-- want --\n" +
			"== load_fragments file:a.txt\n  1  185f8db32271  a.txt  5 B\n     | Hello\n", "1 case: 1 passed\n"},
		{"no steps", "", "Nothing.\n", `FAILED p.star::p_case (golden/p_case.txtar:1)
  Nothing.
no section "case.star": it says what to do, as prompt("hello"); a case without it wants that its plugins do not load

1 case: 1 failed
`},
		{"a wrong config", "", upperCase + "-- config.toml --\n[pluginz]\n", `FAILED p.star::p_case (golden/p_case.txtar:5)
  Capitals.
config.toml:1: unknown key "pluginz" (did you mean plugins?) [E0602]
  help: starhost docs E0602

1 case: 1 failed
`},
		{"a config for another plugin", "", upperCase + "-- config.toml --\n[plugin.q]\nx = 1\n", `FAILED p.star::p_case (golden/p_case.txtar:1)
  Capitals.
config.toml:1: plugin.q: no plugin is named q

1 case: 1 failed
`},
		{"what a plugin prints while it is loaded", "print(\"loaded\")\nprint(\"a\\nb\")\n", "-- case.star --\n-- want --\n== load\nlog info p: loaded\nlog info p: \"a\\nb\"\n", "1 case: 1 passed\n"},
		{"the environment", "plugin(requires_env = [\"TOKEN\"])\n" + upperPlugin, upperCase + upperWant, "1 case: 1 passed\n"},
		{"a variable", "plugin(requires_env = [\"TOKEN\"])\n" + upperPlugin, upperCase + "-- env --\nTOKEN=a=b\n\n" + upperWant, "1 case: 1 passed\n"},
		{"variables that nothing looks at", "plugin(requires_env = [\"TOKEN\"])\n" + upperPlugin, upperCase + "-- env --\nTOKEN=\nB=1\nA=2\n" + upperWant, `FAILED p.star::p_case (golden/p_case.txtar:4)
  Capitals.
unused variable A in section "env": nothing read it
unused variable B in section "env": nothing read it
  help: starhost test --prune p.star::p_case

1 case: 1 failed
`},
		{"no variable", "", upperCase + "-- env --\nA=1\nB\n" + upperWant, `FAILED p.star::p_case (golden/p_case.txtar:6)
  Capitals.
env:2: got "B", want NAME=VALUE

1 case: 1 failed
`},
		{"no name of a variable", "", upperCase + "-- env --\n1A=1\n" + upperWant, `FAILED p.star::p_case (golden/p_case.txtar:5)
  Capitals.
env:1: got "1A=1", want NAME=VALUE

1 case: 1 failed
`},
		{"a variable twice", "", upperCase + "-- env --\nA=1\nA=1\n" + upperWant, `FAILED p.star::p_case (golden/p_case.txtar:6)
  Capitals.
env:2: A is there twice

1 case: 1 failed
`},
		{"two plugins that do not fit together", "", upperCase + "-- plugins/q.star --\n" + upperPlugin, `FAILED p.star::p_case (golden/p_case.txtar:1)
  Capitals.
q.star:10:14: tool "upper" is already registered at p.star:10:14 [E0704]
   10 | register_tool(upper)
      |              ^
  help: starhost docs E0704

1 case: 1 failed
`},
		{"a plugin of the case that is none", "", upperCase + "-- plugins/q.txt --\n", `FAILED p.star::p_case (golden/p_case.txtar:1)
  Capitals.
golden/p_case.txtar: plugins: got no plugins, want *.star files or folders with plugin.star [E0604]
  help: starhost docs E0604

1 case: 1 failed
`},
		{"the wrong vocabulary", "", "-- case.star --\nregister_tool(print)\n", `FAILED p.star::p_case (golden/p_case.txtar:2)
golden/p_case.txtar:2:14: register_tool: this file is no plugin: only a plugin registers [E0304]
    2 | register_tool(print)
      |              ^
  in <toplevel> golden/p_case.txtar:2:14
  help: starhost docs E0304

1 case: 1 failed
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.plugin == "" {
				tt.plugin = upperPlugin
			}
			dir := tree(t, map[string]string{"p.star": tt.plugin, "golden/p_case.txtar": tt.text})
			_, got := test(t, golden.Options{Paths: []string{"p.star"}, Dir: dir})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Test (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFailures checks that a failure has the words of the package that reports it.
func TestFailures(t *testing.T) {
	const spin = "def spin():\n    \"\"\"Spins.\"\"\"\n    for i in range(100000000):\n        pass\n\nregister_tool(spin)\n"
	tests := []struct {
		name, plugin, text string
		want               []string // parts of the output, in their order
	}{
		{"a case that is no Starlark", upperPlugin, "-- case.star --\nprompt(\n", []string{"golden/p_case.txtar:3:1: ", "help: starhost docs E01", "1 failed"}},
		{"a plugin that does not load", "register_tool(nothing)\n", upperCase, []string{"p.star:1:15: ", "nothing", "    1 | register_tool(nothing)\n", "1 failed"}},
		{"a plugin that cannot be parsed", "def\n", upperCase, []string{"p.star:", "help: starhost docs E01", "1 failed"}},
		{"a case without end", upperPlugin, "-- case.star --\nfor i in range(100000000):\n    pass\n", []string{"golden/p_case.txtar:2:1: ", "steps", "1 failed"}},
		{"a handler without end is an outcome", spin,
			"-- case.star --\nassert_eq(call_tool(\"spin\").is_error, True)\n-- config.toml --\n[limits]\nsteps = 1000\n",
			[]string{"no section \"want\"", "  | == call_tool spin\n  | error: \"tool spin failed: p.star:3:5: ", "steps", "1000", "\n  | log error p: tool spin: p.star:3:5: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"p.star": tt.plugin, "golden/p_case.txtar": tt.text})
			_, got := test(t, golden.Options{Paths: []string{"p.star"}, Dir: dir})
			rest := got
			for _, part := range tt.want {
				_, after, ok := strings.Cut(rest, part)
				if !ok {
					t.Fatalf("got\n%s\nwant it to contain %q in order", got, tt.want)
				}
				rest = after
			}
		})
	}
}

func TestUpdate(t *testing.T) {
	tests := []struct{ name, before, after string }{
		{"creates a want", upperCase, upperCase + upperWant},
		{"keeps everything else", "One.\r\n\n--  want  --\nold\n\n--case.star--\n-- case.star --\ncall_tool(\"upper\", text = \"a\")", ""},
		{"ends a last line", "-- want --\nold\n-- case.star --\ncall_tool(\"upper\", text = \"hi\")",
			"-- want --\n== call_tool upper\n\"HI\"\n-- case.star --\ncall_tool(\"upper\", text = \"hi\")"},
		{"a want without end", "-- case.star --\ncall_tool(\"upper\", text = \"hi\")\n-- want --",
			"-- case.star --\ncall_tool(\"upper\", text = \"hi\")\n" + upperWant},
		{"leaves a case that passes alone", upperCase + "-- want --\n== call_tool upper\n\"HI\"", upperCase + "-- want --\n== call_tool upper\n\"HI\""},
		{"leaves a case that fails alone", "-- case.star --\nfail(\"no\")\n-- want --\nold\n", "-- case.star --\nfail(\"no\")\n-- want --\nold\n"},
	}
	tests[1].after = strings.Replace(tests[1].before, "old\n\n--case.star--\n", "== call_tool upper\n\"A\"\n", 1)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": tt.before})
			file := filepath.Join(dir, "golden", "p_case.txtar")
			if err := os.Chmod(file, 0o600); err != nil {
				t.Fatal(err)
			}
			test(t, golden.Options{Paths: []string{"p.star"}, Dir: dir, Update: true})
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, string(got)); diff != "" {
				t.Errorf("case (-want +got):\n%s", diff)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode: got %v, %v, want 0600", info.Mode(), err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "golden", "*")); len(left) != 1 {
				t.Errorf("files: got %v, want the case alone", left)
			}
		})
	}
}

func TestUpdateShowsWhatIsAccepted(t *testing.T) {
	dir := tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": upperCase + "-- want --\nold\n"})
	s, got := test(t, golden.Options{Paths: []string{"p.star"}, Dir: dir, Update: true})
	want := `UPDATED p.star::p_case (golden/p_case.txtar)
  Capitals.
--- old want
+++ new want
@@ -1 +1,2 @@
-old
+== call_tool upper
+"HI"

1 case: 1 updated
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Test (-want +got):\n%s", diff)
	}
	if s.Updated != 1 || s.Results[0].Status != golden.Updated {
		t.Errorf("summary: got %+v", s)
	}
}

// places is a tree with a case in each place that a case can have.
var places = map[string]string{
	"plugins/a.star":                     upperPlugin,
	"plugins/a_b.star":                   upperPlugin,
	"plugins/golden/a_one.txtar":         upperCase + upperWant,
	"plugins/golden/a_b_two.txtar":       upperCase + upperWant,
	"plugins/golden/stray.txtar":         upperCase,
	"plugins/golden/.hidden.txtar":       upperCase,
	"plugins/golden/notes.md":            "no case",
	"plugins/c/plugin.star":              upperPlugin,
	"plugins/c/data.txtar":               "no case",
	"plugins/c/golden/has space.txtar":   upperCase,
	"plugins/d/plugin.star":              upperPlugin,
	"plugins/e/golden/not_found.txtar":   upperCase,
	"golden/plugins/combine.txtar":       upperCase + upperWant + "-- plugins/x.star --\n" + upperPlugin,
	"golden/plugins/no_plugin.txtar":     upperCase,
	"golden/plugins/deeper/ignore.txtar": upperCase,
}

func TestPlaces(t *testing.T) {
	dir := tree(t, places)
	tests := []struct {
		name  string
		paths []string
		run   string
		want  []string
	}{
		{"none means the plugins", nil, "", []string{
			"plugins/a.star::a_one passed", "plugins/a_b.star::a_b_two passed", "plugins/c::has space failed", "plugins/golden::stray failed",
		}},
		{"a file", []string{"plugins/a.star"}, "", []string{"plugins/a.star::a_one passed"}},
		{"a folder", []string{"plugins/c"}, "", []string{"plugins/c::has space failed"}},
		{"the main file of a folder", []string{"plugins/c/plugin.star"}, "", []string{"plugins/c::has space failed"}},
		{"a folder of cases", []string{"golden/plugins"}, "", []string{"golden/plugins::combine passed", "golden/plugins::no_plugin failed"}},
		{"a golden folder", []string{"plugins/c/golden"}, "", []string{"plugins/c::has space failed"}},
		{"a case", []string{"plugins/golden/a_one.txtar"}, "", []string{"plugins/a.star::a_one passed"}},
		{"each once", []string{"plugins/a.star", "plugins/golden/a_one.txtar", "plugins/a.star::a_one"}, "", []string{"plugins/a.star::a_one passed"}},
		{"one by its name", []string{"plugins::a_b_two"}, "", []string{"plugins/a_b.star::a_b_two passed"}},
		{"by an expression", []string{"plugins"}, "a_.*two|::a_one$", []string{"plugins/a.star::a_one passed", "plugins/a_b.star::a_b_two passed"}},
		{"none by an expression", []string{"plugins"}, "nothing", nil},
		{"a plugin without cases", []string{"plugins/d"}, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := golden.Options{Paths: tt.paths, Dir: dir}
			if tt.run != "" {
				o.Run = regexp.MustCompile(tt.run)
			}
			s, _ := test(t, o)
			var got []string
			for _, r := range s.Results {
				got = append(got, r.Name+" "+string(r.Status))
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUsageErrors(t *testing.T) {
	dir := tree(t, places)
	tests := []struct {
		name string
		o    golden.Options
		want string
	}{
		{"no path", golden.Options{Paths: []string{"plugns"}}, "plugns: no such file or folder (did you mean plugins?)"},
		{"no case of that name", golden.Options{Paths: []string{"plugins::a_on"}}, `plugins has no case "a_on" (did you mean plugins::a_one?)`},
		{"no case near that name", golden.Options{Paths: []string{"plugins/a.star::x"}}, `plugins/a.star has no case "x"`},
		{"record where nobody looks", golden.Options{Record: true, Getenv: func(string) string { return "1" }},
			"--record: got it with CI set, want it where a person looks at the difference"},
		{"prune where nobody looks", golden.Options{Prune: true, Getenv: func(string) string { return "true" }},
			"--prune: got it with CI set, want it where a person looks at the difference"},
		{"update where nobody looks", golden.Options{Update: true, Getenv: func(string) string { return "true" }},
			"--update: got it with CI set, want it where a person looks at the difference"},
		{"update from one run", golden.Options{Once: true, Update: true}, "--once: got it with --update, want both runs for that"},
		{"coverage of one run", golden.Options{Once: true, Coverage: true}, "--once: got it with --coverage, want both runs for that"},
		{"no plugins at all", golden.Options{Dir: t.TempDir()}, "no plugins"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.o.Dir == "" {
				tt.o.Dir = dir
			}
			_, err := golden.Test(t.Context(), tt.o)
			var usage *golden.UsageError
			if !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("Test: got %v, want a UsageError that begins %q", err, tt.want)
			}
		})
	}
}

// TestLines checks that each result has the line that an editor should jump to.
func TestLines(t *testing.T) {
	tests := []struct {
		name, text string
		line       int
		reason     string
	}{
		{"the first line that differs", upperCase + "-- want --\n== call_tool upper\n\"HA\"\n", 6, "the output is not what the case wants"},
		{"a step", "-- case.star --\nprompt(\"hi\")\nfail(\"no\")\n", 3, "golden/p_case.txtar:3:5: fail: no [E0301]"},
		{"a setting", upperCase + "-- config.toml --\n\n[pluginz]\n", 6, `config.toml:2: unknown key "pluginz" (did you mean plugins?) [E0602]`},
		{"a file", upperCase + upperWant + "-- workspace/a.bin.base64 --\n", 7, `unused section "workspace/a.bin": nothing read this file`},
		{"no want", upperCase, 1, `no section "want"`},
		{"no steps", "Prose.\n", 1, `no section "case.star": it says what to do, as prompt("hello"); a case without it wants that its plugins do not load`},
		{"passed", upperCase + upperWant, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": tt.text})
			s, _ := test(t, golden.Options{Dir: dir})
			if r := s.Results[0]; r.Line != tt.line || r.Reason != tt.reason {
				t.Errorf("got line %d, %q; want %d, %q", r.Line, r.Reason, tt.line, tt.reason)
			}
		})
	}
}

func TestPrune(t *testing.T) {
	const stale = "-- env --\nA=1\n\nTOKEN=x\nB=2\n-- workspace/a.md --\ntext\n-- workspace/b.png.base64 --\nYQ==\n"
	tests := []struct {
		name, before string
		o            golden.Options
		after        string // "" if Test removed the file
		printed      string
	}{
		{"what is unused", "Capitals.\n" + stale + strings.TrimPrefix(upperCase, "Capitals.\n") + upperWant, golden.Options{Prune: true},
			"Capitals.\n-- env --\n\nTOKEN=x\n" + strings.TrimPrefix(upperCase, "Capitals.\n") + upperWant, `PRUNED p.star::p_case (golden/p_case.txtar)
  Capitals.
unused section "workspace/a.md": nothing read this file
unused section "workspace/b.png": nothing read this file
unused variable A in section "env": nothing read it
unused variable B in section "env": nothing read it

1 case: 1 pruned
`},
		{"a section without variables", upperCase + "-- env --\nA=1\n" + upperWant, golden.Options{Prune: true}, upperCase + upperWant, `PRUNED p.star::p_case (golden/p_case.txtar)
  Capitals.
unused variable A in section "env": nothing read it

1 case: 1 pruned
`},
		{"with an update", upperCase + "-- env --\nA=1\n-- want --\n", golden.Options{Prune: true, Update: true}, upperCase + upperWant, `UPDATED p.star::p_case (golden/p_case.txtar)
  Capitals.
unused variable A in section "env": nothing read it
--- old want
+++ new want
@@ -0,0 +1,2 @@
+== call_tool upper
+"HI"

1 case: 1 updated
`},
		{"not from a case that fails", upperCase + "-- env --\nA=1\n-- want --\n== call_tool upper\n", golden.Options{Prune: true},
			upperCase + "-- env --\nA=1\n-- want --\n== call_tool upper\n", `FAILED p.star::p_case (golden/p_case.txtar:8)
  Capitals.
--- want
+++ got
@@ -1 +1,2 @@
 == call_tool upper
+"HI"
  help: starhost test --update p.star::p_case accepts the difference

1 case: 1 failed
`},
		{"nothing", upperCase + upperWant, golden.Options{Prune: true}, upperCase + upperWant, "1 case: 1 passed\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"p.star": "plugin(requires_env = [\"TOKEN\"])\n" + upperPlugin, "golden/p_case.txtar": tt.before})
			tt.o.Dir = dir
			_, printed := test(t, tt.o)
			after, err := os.ReadFile(filepath.Join(dir, "golden", "p_case.txtar"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.after, tt.printed}, []string{string(after), printed}); diff != "" {
				t.Errorf("case and output (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPruneWithoutPlugin checks that a case without a plugin fails, and that Prune removes it.
func TestPruneWithoutPlugin(t *testing.T) {
	dir := tree(t, map[string]string{"p.star": upperPlugin, "golden/q_case.txtar": upperCase + upperWant, "cases/q_case.txtar": upperCase})
	o := golden.Options{Dir: dir, Paths: []string{"golden", "cases"}}
	if s, _ := test(t, o); s.Failed != 2 {
		t.Errorf("got %s, want 2 failed", &s)
	}
	o.Prune = true
	s, printed := test(t, o)
	if !strings.HasPrefix(printed, "PRUNED golden::q_case (golden/q_case.txtar)\n  Capitals.\nremoved: there is no plugin beside the case\n") || s.Pruned != 1 || s.Failed != 1 {
		t.Errorf("got %s\n%s", &s, printed)
	}
	for name, want := range map[string]bool{"golden/q_case.txtar": false, "cases/q_case.txtar": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: got %v, want it there: %v", name, err, want)
		}
	}
}

// many is a folder with two plugins of 5 cases each. The cases in failing fail.
func many(t *testing.T, failing ...string) string {
	files := map[string]string{"a.star": upperPlugin, "b.star": upperPlugin}
	for _, plugin := range []string{"a", "b"} {
		for n := range 5 {
			name, text := fmt.Sprintf("%s_%d", plugin, n), upperCase+upperWant
			if slices.Contains(failing, name) {
				text = upperCase + "-- want --\n"
			}
			files["golden/"+name+".txtar"] = text
		}
	}
	return tree(t, files)
}

func TestFailFast(t *testing.T) {
	tests := []struct {
		name    string
		failing []string
		update  bool
		want    string
	}{
		{"none fails", nil, false, "10 cases: 10 passed"},
		{"the first", []string{"a_0", "b_4"}, false, "10 cases: 1 failed, 9 not run"},
		{"two of one plugin", []string{"b_3", "b_2"}, false, "10 cases: 7 passed, 1 failed, 2 not run"},
		{"the last", []string{"b_4"}, false, "10 cases: 9 passed, 1 failed"},
		{"an update is no failure", []string{"a_3"}, true, "10 cases: 9 passed, 1 updated"},
	}
	for _, tt := range tests {
		for jobs := range 4 {
			t.Run(fmt.Sprintf("%s, %d jobs", tt.name, jobs), func(t *testing.T) {
				dir := many(t, tt.failing...)
				s, _ := test(t, golden.Options{Dir: dir, FailFast: true, Jobs: jobs, Update: tt.update})
				if s.String() != tt.want {
					t.Errorf("got %s, want %s", &s, tt.want)
				}
			})
		}
	}
}

// TestJobs states a law: the number of cases that run at the same time changes no results.
func TestJobs(t *testing.T) {
	dir := many(t, "a_1", "b_0", "b_4")
	want, wantPrinted := test(t, golden.Options{Dir: dir, Jobs: 1})
	for _, jobs := range []int{-1, 0, 2, 3, 100} {
		got, printed := test(t, golden.Options{Dir: dir, Jobs: jobs})
		if diff := cmp.Diff(want, got) + cmp.Diff(wantPrinted, printed); diff != "" {
			t.Errorf("%d jobs (-want +got):\n%s", jobs, diff)
		}
	}
}

// TestOnce states a law: if nothing changes between two runs of a case, one run has the result of two.
func TestOnce(t *testing.T) {
	dir := many(t, "a_1", "b_0", "b_4")
	for _, fast := range []bool{false, true} {
		for jobs := range 4 {
			want, wantPrinted := test(t, golden.Options{Dir: dir, FailFast: fast, Jobs: jobs})
			got, printed := test(t, golden.Options{Dir: dir, FailFast: fast, Jobs: jobs, Once: true})
			if diff := cmp.Diff(want, got) + cmp.Diff(wantPrinted, printed); diff != "" {
				t.Errorf("fail fast %v, %d jobs (-want +got):\n%s", fast, jobs, diff)
			}
		}
	}
}

// TestCasesAreApart checks that cases of one plugin, which share a host, do not see each other's changes.
func TestCasesAreApart(t *testing.T) {
	const plugin = `
plugin(permissions = ["fs.read:**"], config = {"greeting": "hello"}, requires_env = ["TOKEN"])
print("loaded")
def note(ctx):
    """Counts, and reads what is there."""
    n = ctx.state.get("n", 0) + 1
    ctx.state.set("n", n)
    return "%s %d %s %s" % (config.greeting, n, ctx.now, ctx.fs.glob("**"))

register_tool(note)
`
	call := "-- case.star --\ncall_tool(\"note\")\n"
	dir := tree(t, map[string]string{
		"p.star":              plugin,
		"golden/p_a.txtar":    "-- case.star --\nadvance(days = 1)\ncall_tool(\"note\")\n",
		"golden/p_b.txtar":    call + "-- workspace/b.md --\n",
		"golden/p_c.txtar":    call + "-- config.toml --\n[plugin.p]\ngreeting = \"hi\"\n",
		"golden/p_d.txtar":    call + "-- env --\nTOKEN=x\n",
		"golden/p_e.txtar":    call + "-- env --\nTOKEN=x\n",
		"golden/p_full.txtar": call + "-- workspace/full.md --\n",
	})
	s, _ := test(t, golden.Options{Dir: dir, Update: true, Jobs: 1})
	wants := map[string]string{
		"a":    `"hello 1 2026-01-02T00:00:00Z []"`,
		"b":    `"hello 1 2026-01-01T00:00:00Z [\"b.md\"]"`,
		"c":    `"hi 1 2026-01-01T00:00:00Z []"`,
		"d":    `"hello 1 2026-01-01T00:00:00Z []"`,
		"e":    `"hello 1 2026-01-01T00:00:00Z []"`,
		"full": `"hello 1 2026-01-01T00:00:00Z [\"full.md\"]"`,
	}
	for _, r := range s.Results {
		_, name, _ := strings.Cut(r.Name, "::p_")
		text, err := os.ReadFile(filepath.Join(dir, r.File))
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(string(text), "-- want --\n")
		want := "== load\nlog info p: loaded\n== call_tool note\n" + wants[name] + "\n"
		if diff := cmp.Diff(want, got); diff != "" || r.Status != golden.Updated {
			t.Errorf("%s: %s: want (-want +got):\n%s", name, r.Status, diff)
		}
	}
}

// TestNondeterministicTool checks a plugin with a Go tool that counts its calls. The case that shows the
// count fails whatever its want is, and Update leaves it as it is.
func TestNondeterministicTool(t *testing.T) {
	dir := tree(t, map[string]string{
		"p.star":              upperPlugin,
		"golden/p_tool.txtar": "The ticket is new each time.\n-- case.star --\ncall_tool(\"ticket\")\n",
	})
	var calls atomic.Int64
	ticket := starhost.Plugin{Name: "tickets", Tools: []starhost.Tool{{
		Name: "ticket", Description: "Opens a ticket.",
		Call: func(context.Context, starhost.ToolCall) (starhost.Result, error) {
			return starhost.Result{ForLLM: fmt.Sprintf("T-%d", calls.Add(1))}, nil
		},
	}}}
	_, got := test(t, golden.Options{Dir: dir, Update: true, Plugins: []starhost.Plugin{ticket}})
	want := `FAILED p.star::p_tool (golden/p_tool.txtar:1)
  The ticket is new each time.
nondeterminism: two runs of the case differ
--- first run
+++ second run
@@ -1,2 +1,2 @@
 == call_tool ticket
-"T-1"
+"T-2"

1 case: 1 failed
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Test (-want +got):\n%s", diff)
	}
}

// TestPluginsThatDoNotFit checks that a case fails with an error if Go plugins conflict with its own plugins.
func TestPluginsThatDoNotFit(t *testing.T) {
	dir := tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": upperCase})
	s, _ := test(t, golden.Options{Dir: dir, Plugins: []starhost.Plugin{{Name: "p"}}})
	if r := s.Results[0]; r.Status != golden.Failed || !strings.Contains(r.Text, "p") {
		t.Errorf("got %s: %s", r.Status, r.Text)
	}
}

// TestInterruptedUpdate checks that an interrupted run changes no file.
func TestInterruptedUpdate(t *testing.T) {
	dir := many(t, "a_0", "a_1", "b_4")
	before := readFiles(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	stop := starhost.Plugin{Name: "stop", Hooks: []starhost.Hook{{
		Event: "pre_tool_call",
		Call: func(context.Context, *starhost.Event) (starhost.Decision, error) {
			cancel()
			return starhost.Decision{}, nil
		},
	}}}
	if _, err := golden.Test(ctx, golden.Options{Dir: dir, Update: true, Plugins: []starhost.Plugin{stop}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if diff := cmp.Diff(before, readFiles(t, dir)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
}

// readFiles returns the contents of all files of a folder, by path.
func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestUpdateWithoutCI(t *testing.T) {
	dir := tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": upperCase})
	s, _ := test(t, golden.Options{Dir: dir, Update: true, Getenv: func(string) string { return "" }})
	if s.Updated != 1 {
		t.Errorf("got %s, want 1 updated", &s)
	}
}

func TestConfigNamesPlugins(t *testing.T) {
	dir := tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": upperCase + upperWant, "plugins/q.star": "1"})
	config, _, err := loader.ParseConfig("starhost.toml", dir, []byte("[plugins]\npaths = [\"p.star\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := test(t, golden.Options{Dir: dir, Config: config})
	if got := s.String(); got != "1 case: 1 passed" {
		t.Errorf("got %s, want 1 passed", got)
	}
}

func TestBroken(t *testing.T) {
	dir := tree(t, map[string]string{"p.star": upperPlugin, "golden/p_folder.txtar/x": ""})
	if err := os.Symlink("nowhere", filepath.Join(dir, "golden", "p_link.txtar")); err != nil {
		t.Skip(err)
	}
	file, err := os.Create(filepath.Join(dir, "golden", "p_large.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(file.Truncate(300<<20), file.Close()); err != nil {
		t.Fatal(err)
	}
	_, got := test(t, golden.Options{Paths: []string{"p.star"}, Dir: dir})
	want := `NOT STARTED p.star::p_folder (golden/p_folder.txtar)
not a regular file

NOT STARTED p.star::p_large (golden/p_large.txtar)
got 314572800 bytes, want at most 67108864

NOT STARTED p.star::p_link (golden/p_link.txtar)
no such file or directory

3 cases: 3 not started
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Test (-want +got):\n%s", diff)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := golden.Test(ctx, golden.Options{Paths: []string{"testdata"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestNoCases(t *testing.T) {
	s, got := test(t, golden.Options{Dir: tree(t, map[string]string{"p.star": "x = 1\n"})})
	if got != "no cases\n" || len(s.Results) != 0 {
		t.Errorf("got %q, %d results, want none", got, len(s.Results))
	}
}

// TestLineEnds checks that a case passes if its lines end as Windows ends them.
func TestLineEnds(t *testing.T) {
	text := strings.ReplaceAll(upperCase+"-- want --\n== call_tool upper\n\"HI\"\n", "\n", "\r\n")
	dir := tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": text})
	if s, got := test(t, golden.Options{Paths: []string{"p.star"}, Dir: dir}); s.Passed != 1 {
		t.Errorf("got %s", got)
	}
}
