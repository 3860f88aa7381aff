package golden_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/loader"
)

// The cases of testdata show the vocabulary and what it prints.
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

// test runs Test and returns the summary with all that it printed.
func test(t *testing.T, o golden.Options) (golden.Summary, string) {
	t.Helper()
	var out strings.Builder
	o.Out = &out
	s, err := golden.Test(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s, out.String()
}

func TestOutcomes(t *testing.T) {
	tests := []struct {
		name   string
		plugin string // "" for upperPlugin
		text   string // of the case
		want   string // what is printed
	}{
		{"pass", "", upperCase + upperWant, "1 case: 1 passed\n"},
		{"difference", "", strings.Replace(upperCase, `"hi"`, `"ho"`, 1) + upperWant, `FAILED p.star::p_case (golden/p_case.txtar)
  Capitals.
--- want
+++ got
@@ -1,2 +1,2 @@
 == call_tool upper
-"HI"
+"HO"

1 case: 1 failed
`},
		{"missing want", "", upperCase, `FAILED p.star::p_case (golden/p_case.txtar)
  Capitals.
no section "want": starhost test --update p.star::p_case creates it from
== call_tool upper
"HI"

1 case: 1 failed
`},
		{"a failed assertion shows no difference", "", "-- case.star --\n" + `assert_eq(call_tool("upper", text = "hi").output, "ho")` + "\n-- want --\nx\n",
			`FAILED p.star::p_case (golden/p_case.txtar)
case.star:1:10: assert_eq: got "HI", want "ho" [E0318]
    1 | assert_eq(call_tool("upper", text = "hi").output, "ho")
      |          ^
  in <toplevel> case.star:1:10
  help: starhost docs E0318

1 case: 1 failed
`},
		{"a file that nothing looks at", "", upperCase + "-- workspace/a.md --\n" + upperWant, `FAILED p.star::p_case (golden/p_case.txtar)
  Capitals.
unused section "workspace/a.md": nothing looked at this file

1 case: 1 failed
`},
		{"unknown section", "", upperCase + "-- wnat --\n", `FAILED p.star::p_case (golden/p_case.txtar)
unknown section "wnat" (did you mean want?), want one of case.star, config.toml, plugins/NAME.star, want, workspace/FILE

1 case: 1 failed
`},
		{"unknown folder", "", upperCase + "-- workspce/a.md --\n", `FAILED p.star::p_case (golden/p_case.txtar)
unknown section "workspce/a.md" (did you mean workspace/?), want one of case.star, config.toml, plugins/NAME.star, want, workspace/FILE

1 case: 1 failed
`},
		{"a section that leaves its folder", "", upperCase + "-- plugins/../../x.star --\n", `FAILED p.star::p_case (golden/p_case.txtar)
section "plugins/../../x.star": want a path inside plugins/, with a slash between names and no dots alone

1 case: 1 failed
`},
		{"a section twice", "", upperCase + upperWant + upperWant, `FAILED p.star::p_case (golden/p_case.txtar)
section "want" is there twice

1 case: 1 failed
`},
		{"no base64", "", upperCase + "-- workspace/a.png.base64 --\n%\n", `FAILED p.star::p_case (golden/p_case.txtar)
section "workspace/a.png.base64": illegal base64 data at input byte 0

1 case: 1 failed
`},
		{"data", "", "-- case.star --\nload_fragments(\"file:a.txt\")\n-- workspace/a.txt.base64 --\nSGVs\nbG8=\n-- want --\n" +
			"== load_fragments file:a.txt\n  1  185f8db32271  a.txt  5 B\n     | Hello\n", "1 case: 1 passed\n"},
		{"no steps", "", "Nothing.\n", `FAILED p.star::p_case (golden/p_case.txtar)
no section "case.star": it says what to do, as prompt("hello")

1 case: 1 failed
`},
		{"a wrong config", "", upperCase + "-- config.toml --\n[pluginz]\n", `FAILED p.star::p_case (golden/p_case.txtar)
  Capitals.
config.toml:1: unknown key "pluginz" (did you mean plugins?) [E0602]
  help: starhost docs E0602

1 case: 1 failed
`},
		{"a config for another plugin", "", upperCase + "-- config.toml --\n[plugin.q]\nx = 1\n", `FAILED p.star::p_case (golden/p_case.txtar)
  Capitals.
config.toml:1: plugin.q: no plugin is named q

1 case: 1 failed
`},
		{"what a plugin prints while it is loaded", "print(\"loaded\")\nprint(\"a\\nb\")\n", "-- case.star --\n-- want --\n== load\nlog info p: loaded\nlog info p: \"a\\nb\"\n", "1 case: 1 passed\n"},
		{"the environment", "plugin(requires_env = [\"TOKEN\"])\n" + upperPlugin, upperCase + upperWant, "1 case: 1 passed\n"},
		{"two plugins that do not fit together", "", upperCase + "-- plugins/q.star --\n" + upperPlugin, `FAILED p.star::p_case (golden/p_case.txtar)
  Capitals.
q.star:10:14: tool "upper" is already registered at p.star:10:14 [E0704]
   10 | register_tool(upper)
      |              ^
  help: starhost docs E0704

1 case: 1 failed
`},
		{"a plugin of the case that is none", "", upperCase + "-- plugins/q.txt --\n", `FAILED p.star::p_case (golden/p_case.txtar)
  Capitals.
golden/p_case.txtar: plugins: got no plugins, want *.star files or folders with plugin.star [E0604]
  help: starhost docs E0604

1 case: 1 failed
`},
		{"the wrong vocabulary", "", "-- case.star --\nregister_tool(print)\n", `FAILED p.star::p_case (golden/p_case.txtar)
case.star:1:14: register_tool: this file is no plugin: only a plugin registers [E0304]
    1 | register_tool(print)
      |              ^
  in <toplevel> case.star:1:14
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

// Failures that other packages word are shown as they word them.
func TestFailures(t *testing.T) {
	const spin = "def spin():\n    \"\"\"Spins.\"\"\"\n    for i in range(100000000):\n        pass\n\nregister_tool(spin)\n"
	tests := []struct {
		name, plugin, text string
		want               []string // parts of what is printed, in order
	}{
		{"a case that is no Starlark", upperPlugin, "-- case.star --\nprompt(\n", []string{"case.star:2:1: ", "help: starhost docs E01", "1 failed"}},
		{"a plugin that does not load", "register_tool(nothing)\n", upperCase, []string{"p.star:1:15: ", "nothing", "    1 | register_tool(nothing)\n", "1 failed"}},
		{"a plugin that cannot be parsed", "def\n", upperCase, []string{"p.star:", "help: starhost docs E01", "1 failed"}},
		{"a case without end", upperPlugin, "-- case.star --\nfor i in range(100000000):\n    pass\n", []string{"case.star:1:1: ", "steps", "1 failed"}},
		{"a handler without end is an outcome", spin,
			"-- case.star --\nassert_eq(call_tool(\"spin\").is_error, True)\n-- config.toml --\n[limits]\nsteps = 1000\n",
			[]string{"no section \"want\"", "== call_tool spin\nerror: \"tool spin failed: p.star:3:5: ", "steps", "1000", "\nlog error p: tool spin: p.star:3:5: "}},
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

// places is a tree with cases in all places where they can be.
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
		{"update where nobody looks", golden.Options{Update: true, Getenv: func(string) string { return "true" }},
			"--update: got it with CI set, want it where a person looks at the difference"},
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
got 314572800 bytes, want at most 16777216

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
