package loader_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// A loadTest is one load of the plugins in the folder of an archive. The archive's config.toml is
// the operator's config.
type loadTest struct {
	dir     string
	options loader.Options
	logs    []string
	set     *loader.Set
	err     error
}

// loads loads the plugins at the paths, or the plugins of the config if there are none. Arguments
// with dashes are --set and --grant, each with its value.
func loads(t *testing.T, archive string, args ...string) *loadTest {
	t.Helper()
	l := &loadTest{dir: tree(t, archive)}
	var config string
	for _, f := range txtar.Parse([]byte(archive)).Files {
		if f.Name == "config.toml" {
			config = string(f.Data)
		}
	}
	c, warnings, err := loader.ParseConfig("config.toml", l.dir, []byte(config))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("config: got %v and %v", err, warnings)
	}
	lookup := func(name string) (string, bool) { return "", name == "HOME" }
	l.options = loader.Options{Config: c, Dir: l.dir, AllowMissing: true, LookupEnv: lookup}
	l.options.Host.Log = func(line host.LogLine) {
		l.logs = append(l.logs, fmt.Sprintf("%s: %s: %s: %s", line.Pos, line.Plugin, line.Level, line.Text))
	}
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "--set":
			i++
			l.options.Set = append(l.options.Set, args[i])
		case "--grant":
			i++
			l.options.Grants = append(l.options.Grants, args[i])
		default:
			l.options.Args = append(l.options.Args, args[i])
		}
	}
	l.set, l.err = loader.Load(t.Context(), l.options)
	if l.set != nil {
		t.Cleanup(func() { l.set.Close() })
	}
	return l
}

// report returns the outcome of a load: a line for each plugin, then problems, warnings, the
// missing plugin and logs.
func (l *loadTest) report() string {
	if l.err != nil {
		return detail(l.err)
	}
	var b strings.Builder
	for _, p := range l.set.Plugins {
		fmt.Fprintln(&b, strings.TrimSpace(p.Name+" "+p.Version), p.Status)
		if p.Err != nil {
			b.WriteString(detail(p.Err))
		}
	}
	for _, e := range l.set.Problems {
		b.WriteString(detail(e))
	}
	for _, w := range l.set.Warnings {
		fmt.Fprintln(&b, "warning:", w)
	}
	if err := l.set.Missing(); err != nil {
		b.WriteString(detail(err))
	}
	for _, line := range l.logs {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// detail returns the text that the command line prints for an error.
func detail(err error) string {
	var located *starlark.Error
	if errors.As(err, &located) {
		text, _, _ := strings.Cut(located.Detail(), "  help: starhost docs")
		return text
	}
	var own *loader.Error
	if errors.As(err, &own) {
		return fmt.Sprintf("%v [%s]\n", err, own.Code())
	}
	return fmt.Sprintf("%v (no code)\n", err)
}

// page is a plugin with one tool.
const page = "def page():\n    \"\"\"Page somebody.\"\"\"\nregister_tool(page)\n"

func TestLoad(t *testing.T) {
	tests := []struct{ name, files, args, want string }{
		{"a file", "-- a.star --\nplugin(version = \"1.0\")\n", "a.star", "a 1.0 loaded\n"},
		{"a folder with a module", "-- a/plugin.star --\nload(\"lib/x.star\", \"x\")\nprint(x)\n-- a/lib/x.star --\nload(\"y.star\", \"y\")\nx = y + 1\n-- a/y.star --\ny = 1\n", "a",
			"a loaded\na/plugin.star:2:6: a: info: 2\n"},
		{"a folder of plugins", "-- p/b.star --\n-- p/a/plugin.star --\n", "p", "a loaded\nb loaded\n"},
		{"the config's", "-- config.toml --\n[plugins]\npaths = [\"p\", \"q.star\"]\n-- p/b.star --\n-- q.star --\n", "", "b loaded\nq loaded\n"},
		{"a broken one of three", "-- p/a.star --\n-- p/b.star --\nx = 1 +\n-- p/c.star --\n", "p",
			"a loaded\nb failed\nb.star:1:8: got newline, want primary expression [E0101]\n    1 | x = 1 +\n      |        ^\nc loaded\n"},
		{"a broken module", "-- a/plugin.star --\nload(\"x.star\", \"x\")\n-- a/x.star --\n\nx = 1 // 0\n", "a",
			"a failed\na/x.star:2:7: floored division by zero [E0110]\n    2 | x = 1 // 0\n      |       ^\n  in <toplevel> a/plugin.star:1:1\n  in <toplevel> a/x.star:2:7\n"},
		{"rules of Codex", "-- a.rules --\nprefix_rule(pattern = [\"rm\"], decision = \"forbidden\")\n", "a.rules", "a loaded\n"},
		{"a path that is none", "-- a.star --\n", "a.star b.star", "a loaded\nb.star: no such file or folder (did you mean a.star?) [E0604]\n"},
		{"nothing", "-- x --\n", "", "no plugins: got no PATH, no [plugins] paths in starhost.toml, no ./plugins and no ./*.star [E0604]\n"},
		{"another name", "-- a.star --\nplugin(version = \"1\", name = \"b\")\n", "a.star",
			"a failed\na.star:1:23: plugin: name: got \"b\", want \"a\": a plugin has the name of its file or folder [E0302]\n    1 | plugin(version = \"1\", name = \"b\")\n      |                       ^\n"},
		{"a manifest with old line ends", "-- a.star --\n\"x\"\r\rplugin(\r\n  vers = 1)\r\n", "a.star",
			"a failed\na.star:4:3: plugin: unexpected keyword argument \"vers\" (did you mean version?), it takes api, name, version, description, owner, permissions, requires_env, requires, config, events [E0203]\n" +
				"    4 |   vers = 1)\n      |   ^\n"},
		{"no file", "-- a/plugin.star/x --\n", "a", "a failed\na/plugin.star: got a folder, want a file [E0607]\n"},
		{"the host's name", "-- host.star --\n", "host.star", "host.star: plugin name: got \"host\", which is the host's own (rename it) [E0605]\n"},

		{"conflict of two plugins", "-- p/a.star --\n" + page + "-- p/b/plugin.star --\n\n" + page, "p",
			"a loaded\nb failed\nb/plugin.star:4:14: tool \"page\" is already registered at a.star:3:14 [E0704]\n    4 | register_tool(page)\n      |              ^\n"},
		{"a prefix of the host's", "-- a.star --\nregister_fragment_loader(\"file\", lambda arg: arg)\n", "a.star",
			"a failed\na.star:1:25: fragment loader prefix \"file\" is the host's own [E0705]\n    1 | register_fragment_loader(\"file\", lambda arg: arg)\n      |                         ^\n"},
		{"one fails whole", "-- p/a.star --\nregister_hook(\"turn_start\", lambda: \"x\")\nregister_tool(len)\n-- p/b.star --\n", "p",
			"a failed\na.star:2:14: register_tool: handler: got the builtin len, want a def or a lambda: lambda x: len(x) [E0307]\n    2 | register_tool(len)\n      |              ^\n  in <toplevel> a.star:2:14\nb loaded\n"},

		{"disabled", "-- config.toml --\n[plugins]\ndisabled = [\"b\"]\n-- p/a.star --\n-- p/b.star --\nx = \n", "p", "a loaded\nb disabled\n"},
		{"required", "-- config.toml --\n[plugins]\nrequired = [\"a\", \"b\"]\n-- p/a.star --\n-- p/b.star --\nx()\n", "p",
			"a loaded\nb failed\nb.star:1:1: undefined: x [E0102]\n    1 | x()\n      | ^\nconfig.toml:2: required plugin b is not loaded [E0609]\n"},
		{"required and not there", "-- config.toml --\n[plugins]\npaths = [\"p\"]\nrequired = [\"policies\"]\n-- p/policy.star --\n", "",
			"policy loaded\nconfig.toml:3: required plugin policies is not loaded (did you mean policy?) [E0609]\n"},
		{"environment", "-- p/a.star --\nplugin(requires_env = [\"HOME\", \"PAGER\"])\nfail(\"it ran\")\n-- p/b.star --\nplugin(requires_env = [\"HOME\"])\n", "p",
			"a unavailable\nb loaded\nwarning: p/a.star: plugin a is unavailable: the environment variable PAGER is not set\n"},
		{"prints while loading", "-- a.star --\nprint(\"one\", 2)\ndef f():\n    print(\"three\")\nf()\nfail(\"no\")\n", "a.star",
			"a failed\na.star:5:5: fail: no [E0301]\n    5 | fail(\"no\")\n      |     ^\n  in <toplevel> a.star:5:5\na.star:1:6: a: info: one 2\na.star:3:10: a: info: three\n"},

		{"limits", "-- config.toml --\n[limits]\nsteps = 20_000\n-- a.star --\nfor _ in range(1000000): pass\n", "a.star",
			"a failed\na.star:1:1: steps limit exceeded: the script used 20000 steps, limit 20000; [limits] steps or --max-steps raises it [E0401]\n    1 | for _ in range(1000000): pass\n      | ^\n  in <toplevel> a.star:1:1\n"},
		{"limits of one plugin", "-- config.toml --\n[plugin.b]\nlimits = { steps = 2000 }\n-- p/a.star --\nfor _ in range(1000): pass\n-- p/b.star --\nfor _ in range(1000): pass\n", "p",
			"a loaded\nb failed\nb.star:1:1: steps limit exceeded: the script used 2000 steps, limit 2000; [plugin.b] limits.steps raises it [E0401]\n    1 | for _ in range(1000): pass\n      | ^\n  in <toplevel> b.star:1:1\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := gocmp.Diff(test.want, loads(t, test.files, strings.Fields(test.args)...).report()); diff != "" {
				t.Errorf("load (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadLabels(t *testing.T) {
	const libraries = "-- config.toml --\n[libraries]\nlib = \"lib\"\nshared = \"shared\"\n"
	tests := []struct{ name, files, want string }{
		{"from a library, and in it", libraries + "-- a.star --\nload(\"@lib//deep/x.star\", \"x\")\nprint(x)\n-- lib/deep/x.star --\nload(\"y.star\", \"y\")\nload(\"@shared//z.star\", \"z\")\nx = y + z\n" +
			"-- lib/y.star --\ny = 1\n-- shared/z.star --\nz = 2\n", "a loaded\na.star:2:6: a: info: 3\n"},
		{"outside", "-- a/plugin.star --\nload(\"../x.star\", \"x\")\n-- x.star --\nx = 1\n",
			"a failed\na/plugin.star:1:1: cannot load ../x.star: path: got \"../x.star\", want one inside the plugin's folder, with / between names and without . and .. [E0604]\n"},
		{"outside of a library", libraries + "-- a.star --\nload(\"@lib//../x.star\", \"x\")\n-- lib/y.star --\n-- x.star --\nx = 1\n",
			"a failed\na.star:1:1: cannot load @lib//../x.star: path: got \"../x.star\", want one inside the plugin's folder, with / between names and without . and .. [E0604]\n"},
		{"a link that leaves", "-- a/plugin.star --\nload(\"x.star\", \"x\")\n-- a/x.star -> ../x.star --\n-- x.star --\nx = 1\n",
			"a failed\na/plugin.star:1:1: cannot load x.star: a/x.star: the link leaves the folder, which is refused: want a copy of the file inside [E0607]\n"},
		{"missing", "-- a/plugin.star --\nload(\"txt.star\", \"x\")\n-- a/text.star --\n",
			"a failed\na/plugin.star:1:1: cannot load txt.star: a/txt.star: no such file (did you mean text.star?) [E0607]\n"},
		{"of a single file", "-- a.star --\nload(\"b.star\", \"x\")\n-- b.star --\n",
			"a failed\na.star:1:1: cannot load b.star: path \"b.star\": a plugin that is a single file has no folder (make it a/plugin.star) [E0604]\n"},
		{"unknown library", libraries + "-- a.star --\nload(\"@libs//x.star\", \"x\")\n",
			"a failed\na.star:1:1: cannot load @libs//x.star: no library is named libs (did you mean lib?): [libraries] of the config names them [E0611]\n"},
		{"no file of a library", libraries + "-- a.star --\nload(\"@lib\", \"x\")\n",
			"a failed\na.star:1:1: cannot load @lib: got \"@lib\", want @NAME//FILE [E0611]\n"},
		{"right with another label", "-- a/plugin.star --\nload(\"//x\", \"x\")\n-- a/x.star --\n",
			"a failed\na/plugin.star:1:1: cannot load //x: no such file: paths begin at the folder of the plugin or library, so write load(\"x.star\", ...) [E0611]\n"},
		{"a folder, which no label leads to", "-- a/plugin.star --\nload(\"//lib\", \"x\")\n-- a/lib/x.star --\n",
			"a failed\na/plugin.star:1:1: cannot load //lib: // begins at the project's root, and the plugin is in no project: want a starhost.toml or a git repository around it [E0611]\n"},
		{"cycle", "-- a/plugin.star --\nload(\"x.star\", \"x\")\n-- a/x.star --\nload(\"y.star\", \"y\")\n-- a/y.star --\nload(\"x.star\", \"x\")\n",
			"a failed\na/y.star:1:1: cannot load x.star: cycle: a/x.star -> a/y.star -> a/x.star [E0103]\n"},
		{"cycle of libraries", libraries + "-- a.star --\nload(\"@lib//x.star\", \"x\")\n-- lib/x.star --\nload(\"@shared//y.star\", \"y\")\n-- shared/y.star --\nload(\"@lib//x.star\", \"x\")\n",
			"a failed\n@shared//y.star:1:1: cannot load @lib//x.star: cycle: @lib//x.star -> @shared//y.star -> @lib//x.star [E0103]\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := "a"
			if strings.Contains(test.files, "-- a.star --") {
				path = "a.star"
			}
			got := loads(t, test.files, path).report()
			if diff := gocmp.Diff(test.want, withoutSource(got)); diff != "" {
				t.Errorf("load (-want +got):\n%s", diff)
			}
		})
	}
}

// withoutSource drops the lines of source and the calls that led to a place.
func withoutSource(report string) string {
	var b strings.Builder
	for line := range strings.Lines(report) {
		if !strings.HasPrefix(line, "  ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestSettings(t *testing.T) {
	const files = `
-- config.toml --
[plugin.a]
team = "payments"
lines = 3
-- p/a.star --
plugin(config = {"team": "checkout", "lines": 200, "ratio": 0.5, "on": False, "names": ["x"], "rows": [], "any": None})
print(config.team, config.lines, config.ratio, config.on, config.names, config.rows, repr(config.any))
-- p/b.star --
plugin(config = {"team": "b"})
`
	tests := []struct{ name, files, args, want string }{
		{"of the config", files, "p/a.star", "a.star:2:6: a: info: payments 3 0.5 False [\"x\"] [] None"},
		{"of flags", files, `p/a.star --set team=x --set lines=4 --set ratio=1 --set on=true --set names=["a","b"] --set rows=[{y=1}] --set any=2`,
			"a.star:2:6: a: info: x 4 1.0 True [\"a\", \"b\"] [{\"y\": 1}] 2"},
		{"of flags in JSON", files, `p/a.star --set rows=[{"y":{"z":1}}]`, "a.star:2:6: a: info: payments 3 0.5 False [\"x\"] [{\"y\": {\"z\": 1}}] None"},
		{"text that looks like another type", files, "p/a.star --set team=12 --set any=nan", "a.star:2:6: a: info: 12 3 0.5 False [\"x\"] [] \"nan\""},
		{"text with an =", files, "p/a.star --set team=a=b", "a.star:2:6: a: info: a=b 3 0.5 False [\"x\"] [] None"},
		{"the last wins", files, "p/a.star --set team=x --set a.team=y", "a.star:2:6: a: info: y 3 0.5 False [\"x\"] [] None"},
		{"a type it has not", files, "p/a.star --set lines=many", "--set lines: setting lines: got string, want int, as the default is (a.star:1:1) [E0303]"},
		{"a key it has not", files, "p/a.star --set teem=x", `--set teem: unknown setting "teem" (did you mean team?), the plugin declares any, lines, names, on, ratio, rows, team [E0303]`},
		{"no =", files, "p/a.star --set team", "--set team: got no =, want [PLUGIN.]KEY=VALUE [E0610]"},
		{"of which plugin", files, "p --set team=x", "--set team=x: there are 2 plugins, want --set PLUGIN.team=x [E0610]"},
		{"of an unknown plugin", files, "p --set aa.team=x", "--set aa.team=x: no plugin is named aa [E0610]"},
		{"a wrong type in the config", "-- config.toml --\n[plugin.a]\n\nlines = \"x\"\n-- a.star --\nplugin(config = {\"lines\": 1})\n", "a.star",
			"config.toml:3: setting lines: got string, want int, as the default is (a.star:1:1) [E0303]"},
		{"an unknown key in the config", "-- config.toml --\n[plugin.a]\nx = 1\n-- a.star --\n", "a.star",
			`config.toml:2: unknown setting "x", the plugin declares none [E0303]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := loads(t, test.files, strings.Fields(test.args)...).report()
			lines := strings.Split(strings.TrimSpace(got), "\n")
			if diff := gocmp.Diff(test.want, lines[len(lines)-1]); diff != "" {
				t.Errorf("load (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSettingOfSeveralLinesIsText(t *testing.T) {
	l := loads(t, "-- a.star --\nplugin(config = {\"n\": 0, \"s\": \"\"})\n", "a.star", "--set", "s=1\nx = 2")
	if diff := gocmp.Diff("a loaded\n", l.report()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	l = loads(t, "-- a.star --\nplugin(config = {\"n\": 0})\n", "a.star", "--set", "n=1\nx = 2")
	if diff := gocmp.Diff("a failed\n--set n: setting n: got string, want int, as the default is (a.star:1:1) [E0303]\n", l.report()); diff != "" {
		t.Errorf("number (-want +got):\n%s", diff)
	}
}

// notes reads a note of the workspace, which needs a permission.
const notes = `
-- p/a.star --
plugin(permissions = ["fs.read:notes/*.md", "env:HOME"])
register_fragment_loader("note", lambda ctx, arg: ctx.fs.read("notes/" + arg))
-- notes/x.md --
the note
-- notes/y.txt --
another
`

func TestGrants(t *testing.T) {
	const missing = "plugin a has no permission "
	tests := []struct{ name, files, args, ref, want string }{
		{"none", notes, "p", "note:x.md", missing + `fs.read:notes/x.md: add to [grants] of your config: a = ["fs.read:notes/*.md", "env:HOME"] (or --grant 'a=fs.read:notes/*.md' --grant a=env:HOME)`},
		{"of the config", "-- config.toml --\n[grants]\na = [\"fs.read:**\"]\n" + notes, "p", "note:x.md", "the note\n"},
		{"granted and not declared", notes, "p --grant fs.read:**", "note:y.txt", missing + `fs.read:notes/y.txt: add "fs.read:notes/y.txt" to plugin(permissions = [...])`},
		{"of a flag, for the only plugin", notes, "p --grant fs.read:notes/x.*", "note:x.md", "the note\n"},
		{"of a flag, by name", notes + "-- p/b.star --\n", "p --grant a=fs.read:**", "note:x.md", "the note\n"},
		{"of a flag, for another", notes + "-- p/b.star --\n", "p --grant b=fs.read:**", "note:x.md", missing + `fs.read:notes/x.md: add to [grants] of your config: a = ["fs.read:notes/*.md", "env:HOME"] (or --grant 'a=fs.read:notes/*.md' --grant a=env:HOME)`},
		{"with an = of its own", notes, "p --grant fs.read:x=y --grant fs.read:**", "note:x.md", "the note\n"},
		{"for which plugin", notes + "-- p/b.star --\n", "p --grant fs.read:**", "", "--grant fs.read:**: there are 2 plugins, want --grant PLUGIN=fs.read:** [E0610]\n"},
		{"for an unknown plugin", notes, "p --grant b=fs.read:**", "", "--grant b=fs.read:**: no plugin is named b [E0610]\n"},
		{"no permission", notes, "p --grant a=fs.raed:x", "", "--grant a=fs.raed:x: permission \"fs.raed:x\": unknown kind \"fs.raed\" (did you mean fs.read?) [E0502]\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := loads(t, test.files, strings.Fields(test.args)...)
			got := ""
			if l.err != nil {
				got = detail(l.err)
			} else {
				got = l.fragment(t, test.ref)
			}
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("note (-want +got):\n%s", diff)
			}
		})
	}
}

// fragment loads a reference and returns its text or the error.
func (l *loadTest) fragment(t *testing.T, ref string) string {
	t.Helper()
	session := l.set.Host.NewSession(host.SessionConfig{})
	prompt, err := session.Prompt(t.Context(), host.Request{Text: "?", Fragments: []string{ref}})
	var located *starlark.Error
	if errors.As(err, &located) {
		return located.Msg
	}
	if err != nil {
		return err.Error()
	}
	return prompt.Fragments[0].Content
}

func TestGrantsThatAreReported(t *testing.T) {
	l := loads(t, "-- config.toml --\n[grants]\na = [\"fs.read:**\"]\n"+
		"-- a.star --\nplugin(permissions = [\"fs.read:notes/*.md\", \"respond:page*\", \"override:page\"])\n",
		"a.star", "--grant", "respond:page*", "--grant", "override:p*")
	p := l.set.Plugins[0]
	got := []any{p.Declared, p.Granted, p.Registered.RespondsTo, p.Registered.Overrides}
	want := []any{
		[]string{"fs.read:notes/*.md", "respond:page*", "override:page"},
		[]string{"fs.read:**", "respond:page*", "override:p*"}, []string{"page*"}, []string{"page"},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
}

func TestRequires(t *testing.T) {
	// plugins writes plugins, one for each item "NAME VERSION REQUIREMENT...".
	files := func(plugins ...string) string {
		var b strings.Builder
		for _, p := range plugins {
			words := strings.Split(p, " ")
			requires := strings.ReplaceAll(strings.Join(words[2:], `", "`), "_", " ")
			if requires != "" {
				requires = `"` + requires + `"`
			}
			fmt.Fprintf(&b, "-- p/%s.star --\nplugin(version = %q, requires = [%s])\nprint()\n", words[0], words[1], requires)
		}
		return b.String()
	}
	tests := []struct{ name, files, order, want string }{
		{"none", files("a 1", "b 1"), "a b", ""},
		{"a later one", files("a 1 c", "b 1", "c 1"), "c a b", ""},
		{"a chain and a diamond", files("a 1 b c", "b 1 d", "c 1 d", "d 1"), "d b c a", ""},
		{"a version", files("a 1 b>=1.2", "b 1.10.0"), "b a", ""},
		{"a version with blanks", files("a 1 b_>=_1.2", "b 1.2.0+build"), "b a", ""},
		{"an equal version", files("a 1 b>=01.2.0", "b 1.2"), "b a", ""},
		{"too old", files("a 1 b>=1.2", "b 1.1.9"), "b", `a.star:1:1: plugin: requires "b>=1.2": plugin b has version 1.1.9`},
		{"a version before", files("a 1 b>=2", "b 2.0-rc1"), "b", `a.star:1:1: plugin: requires "b>=2": plugin b has version 2.0-rc1`},
		{"a version of words", files("a 1 b>=2", "b two"), "b", `a.star:1:1: plugin: requires "b>=2": plugin b has version "two", want one of numbers, such as 1.2.0`},
		{"no version", files("a 1 b>=2") + "-- p/b.star --\nprint()\n", "b", `a.star:1:1: plugin: requires "b>=2": plugin b has no version`},
		{"missing", files("a 1 policies", "policy 1"), "policy", `a.star:1:1: plugin: requires "policies": no plugin is named policies (did you mean policy?)`},
		{"itself", files("a 1 a"), "", "a.star:1:1: plugin: requires: cycle: a -> a"},
		{"a cycle, and who needs it", files("a 1 b", "b 1 c", "c 1 b", "d 1"), "d",
			"a.star:1:1: plugin: requires \"b\": plugin b is failed\nb.star:1:1: plugin: requires: cycle: b -> c -> b\nc.star:1:1: plugin: requires: cycle: c -> b -> c"},
		{"not a requirement", files("a 1 b>1"), "", `a.star:1:1: plugin: requires[0]: got "b>1", want NAME or NAME>=VERSION, such as policy>=1.2`},
		{"a failed one", files("a 1 b") + "-- p/b.star --\nx\n", "", "a.star:1:1: plugin: requires \"b\": plugin b is failed\nb.star:1:1: undefined: x"},
		{"a disabled one", "-- config.toml --\n[plugins]\ndisabled = [\"b\"]\n" + files("a 1 b", "b 1"), "", `a.star:1:1: plugin: requires "b": plugin b is disabled`},
		{"an unavailable one", files("a 1 b") + "-- p/b.star --\nplugin(requires_env = [\"X\"])\n", "", `a.star:1:1: plugin: requires "b": plugin b is unavailable`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := loads(t, test.files, "p")
			var order, errs []string
			for _, line := range l.logs {
				order = append(order, strings.Split(line, ": ")[1])
			}
			for _, p := range l.set.Plugins {
				if p.Err != nil {
					errs = append(errs, p.Err.Error())
					if !strings.Contains(p.Err.Error(), "undefined") && !strings.Contains(detail(p.Err), "[E0612]\n    1 | plugin(") {
						t.Errorf("%s: got %s, want the code and the line", p.Name, detail(p.Err))
					}
				}
			}
			if diff := gocmp.Diff(test.order, strings.Join(order, " ")); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(test.want, strings.Join(errs, "\n")); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// The digest is the SHA-256 of the lines that sha256sum prints for the files that a load reads,
// with libraries.
func TestDigest(t *testing.T) {
	l := loads(t, "-- config.toml --\n[libraries]\nlib = \"lib\"\n-- a/plugin.star --\nload(\"x.star\", \"x\")\nload(\"@lib//y.star\", \"y\")\nfiles.read(\"z.md\")\n"+
		"-- a/x.star --\nx = 1\n-- a/z.md --\nz\n-- a/unread.md --\n-- lib/y.star --\ny = 1\n", "a")
	if diff := gocmp.Diff("a loaded\n", l.report()); diff != "" {
		t.Fatalf("load (-want +got):\n%s", diff)
	}
	lines := ""
	for _, f := range []struct{ name, text string }{
		{"@lib//y.star", "y = 1\n"}, {"plugin.star", "load(\"x.star\", \"x\")\nload(\"@lib//y.star\", \"y\")\nfiles.read(\"z.md\")\n"}, {"x.star", "x = 1\n"}, {"z.md", "z\n"},
	} {
		lines += fragments.Sum(f.text).String() + "  " + f.name + "\n"
	}
	if got, want := l.set.Plugins[0].Digest, fragments.Sum(lines); got != want {
		t.Errorf("digest: got %s, want %s", got, want)
	}
}

// An approval counts for one revision of a plugin: of its files, settings, grants and limits.
func TestRevision(t *testing.T) {
	files := "-- a/plugin.star --\nplugin(config = {\"k\": \"v\"}, permissions = [\"store\"])\nload(\"x.star\", \"x\")\n-- a/x.star --\nx = 1\n"
	revision := func(archive string, args ...string) string {
		l := loads(t, archive, append(args, "a")...)
		if l.set.Plugins[0].Registered == nil {
			t.Fatal(l.report())
		}
		return l.set.Plugins[0].Registered.Revision
	}
	first := revision(files)
	if again := revision(files); again != first || len(first) != 64 {
		t.Errorf("got %s, then %s", first, again)
	}
	seen := map[string]string{first: "first"}
	for name, got := range map[string]string{
		"library": revision(strings.Replace(files, "x = 1", "x = 2", 1)),
		"setting": revision(files, "--set", "a.k=w"),
		"grant":   revision(files, "--grant", "a=store"),
		"limit":   revision(files + "-- config.toml --\n[limits]\nsteps = 500_000\n"),
	} {
		if other, ok := seen[got]; ok {
			t.Errorf("%s: got the revision of %s", name, other)
		}
		seen[got] = name
	}
}

// A plugin sees the bytes that Load read, also after the file changed.
func TestFilesAreReadOnce(t *testing.T) {
	l := loads(t, "-- a/plugin.star --\nfiles.read(\"x.md\")\nregister_fragment_loader(\"own\", lambda arg: files.read(arg))\n-- a/x.md --\nfirst\n", "a")
	write(t, filepath.Join(l.dir, "a", "x.md"), "second\n")
	if got := l.fragment(t, "own:x.md"); got != "first\n" {
		t.Errorf("got %q, want the bytes that were loaded", got)
	}
}

func TestSetErrIsTheFirst(t *testing.T) {
	const config = "-- config.toml --\n[plugins]\nrequired = [\"c\"]\n"
	tests := []struct{ files, args, want string }{
		{config + "-- c.star --\n", "c.star", ""},
		{config + "-- b.star --\nx\n", "b.star none.star", "none.star: no such file or folder"},
		{config + "-- b.star --\nx\n-- a.star --\ny\n", "b.star a.star", "b.star:1:1: undefined: x"},
		{config + "-- b.star --\n", "b.star", "config.toml:2: required plugin c is not loaded"},
	}
	for _, test := range tests {
		got := ""
		if err := loads(t, test.files, strings.Fields(test.args)...).set.Err(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.args, got, test.want)
		}
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	dir := tree(t, "-- a.star --\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if set, err := loader.Load(ctx, loader.Options{Dir: dir}); set != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v, want context.Canceled", set, err)
	}
}

func TestLoadInAMissingFolder(t *testing.T) {
	dir := tree(t, "-- a.star --\n")
	found, _ := loader.Discover([]loader.Path{loader.NewPath(dir, "a.star")}, 0)
	none := filepath.Join(dir, "none")
	_, err := loader.Load(t.Context(), loader.Options{Dir: none, Sources: found})
	if want := none + ": the workspace cannot be opened: no such file or folder"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The law: the outcome of a load depends neither on the order of maps nor on the time of day.
func TestLoadIsRepeatable(t *testing.T) {
	const files = "-- config.toml --\n[libraries]\na = \"a\"\nb = \"b\"\n[plugin.x]\np = 1\nq = 2\nr = 3\n[plugin.y]\nz = 1\n[grants]\nx = [\"store\"]\n" +
		"-- plugins/x.star --\nload(\"@a//m.star\", \"m\")\nload(\"@b//m.star\", n = \"m\")\nplugin(config = {\"p\": 0, \"q\": 0, \"r\": 0})\nprint(dir(config), m, n)\n" + page +
		"-- plugins/y.star --\n-- plugins/z.star --\n" + page + "-- a/m.star --\nm = 1\n-- b/m.star --\nm = 2\n"
	l := loads(t, files)
	first := l.report() + l.set.Plugins[0].Digest.String()
	for range 10 {
		l.logs = nil
		set, err := loader.Load(t.Context(), l.options)
		if err != nil {
			t.Fatal(err)
		}
		l.set = set
		got := l.report() + set.Plugins[0].Digest.String()
		set.Close()
		if diff := gocmp.Diff(first, got); diff != "" {
			t.Fatalf("second load (-first +second):\n%s", diff)
		}
	}
}

// Several hosts may load and use the same sources at the same time.
func TestLoadSharesSources(t *testing.T) {
	l := loads(t, "-- p/a/plugin.star --\nregister_fragment_loader(\"own\", lambda arg: files.read(arg))\n-- p/a/x.md --\nx\n-- p/b.star --\n", "p")
	found, _ := loader.Discover([]loader.Path{loader.NewPath(l.dir, "p")}, 0)
	done := make(chan string)
	for range 4 {
		go func() {
			set, err := loader.Load(context.Background(), loader.Options{Dir: l.dir, Sources: found})
			if err != nil {
				done <- err.Error()
				return
			}
			defer set.Close()
			done <- (&loadTest{set: set}).fragment(t, "own:x.md")
		}()
	}
	for range 4 {
		if got := <-done; got != "x\n" {
			t.Errorf("got %q", got)
		}
	}
}

// With mode = "warn" starhost only logs the denials of a policy.
func TestWarnMode(t *testing.T) {
	const files = "-- p/a.star --\n" + page + "-- p/policy.star --\nregister_hook(\"pre_tool_call\", lambda: deny(\"not today\"))\n"
	tests := []struct{ name, config, want string }{
		{"enforced", "", "denied by policy: not today\n"},
		{"warned of", "-- config.toml --\n[plugin.policy]\nmode = \"warn\"\n",
			"\npolicy.star:1:44: policy: warn: pre_tool_call page: would deny: not today"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := loads(t, test.config+files, "p")
			turn, err := l.set.Host.NewSession(host.SessionConfig{}).Begin(t.Context(), host.Request{Text: "?"})
			if err != nil {
				t.Fatal(err)
			}
			defer turn.End(t.Context())
			if _, err := turn.Prompt(t.Context()); err != nil {
				t.Fatal(err)
			}
			reply, err := turn.CallTool(t.Context(), starhost.ToolCall{Name: "page"})
			if err != nil {
				t.Fatal(err)
			}
			got := reply.Result.ForLLM + "\n" + strings.Join(l.logs, "\n")
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("reply and logs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMaxResult checks that [tools] max_result bounds what the model gets.
func TestMaxResult(t *testing.T) {
	l := loads(t, "-- config.toml --\ntools.max_result = \"1KiB\"\n-- p/a.star --\n"+
		"register_tool(lambda: \"x\" * 5000, name = \"page\", description = \"Pages.\")\n", "p")
	turn, err := l.set.Host.NewSession(host.SessionConfig{}).Begin(t.Context(), host.Request{Text: "?"})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End(t.Context())
	if _, err := turn.Prompt(t.Context()); err != nil {
		t.Fatal(err)
	}
	reply, err := turn.CallTool(t.Context(), starhost.ToolCall{Name: "page"})
	if text := reply.Result.ForLLM; err != nil || !strings.HasSuffix(text, "it had 5000 bytes, limit 1024 ([tools] max_result)]") {
		t.Errorf("got %d bytes, %v", len(text), err)
	}
}

// The law: each plugin loads after the plugins that it requires. A plugin fails if and only if its
// requirements lead into a cycle.
func TestRequiresLaw(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(r *rapid.T) {
		requires := map[string][]string{}
		archive := ""
		for _, name := range names {
			requires[name] = rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 2, rapid.ID).Draw(r, name)
			archive += fmt.Sprintf("-- p/%s.star --\nplugin(requires = [", name)
			for _, other := range requires[name] {
				archive += fmt.Sprintf("%q, ", other)
			}
			archive += "])\nprint()\n"
		}
		l := loads(t, archive, "p")
		place := map[string]int{} // in the order of loading, from 1
		for i, line := range l.logs {
			place[strings.Split(line, ": ")[1]] = i + 1
		}
		for _, name := range names {
			if loops := leadsIntoCycle(requires, name, nil); loops == (place[name] > 0) {
				r.Errorf("%s: loaded is %t, in or above a cycle is %t", name, place[name] > 0, loops)
			}
			for _, other := range requires[name] {
				if place[name] > 0 && place[other] >= place[name] {
					r.Errorf("%s was loaded before %s, which it requires", name, other)
				}
			}
		}
	})
}

// leadsIntoCycle reports whether a walk from name, which came along path, can return to a plugin
// that it visited.
func leadsIntoCycle(requires map[string][]string, name string, path []string) bool {
	if slices.Contains(path, name) {
		return true
	}
	for _, other := range requires[name] {
		if leadsIntoCycle(requires, other, append(path[:len(path):len(path)], name)) {
			return true
		}
	}
	return false
}

func TestInputs(t *testing.T) {
	l := loads(t, "-- config.toml --\n[libraries]\nlib = \"lib\"\n-- p/a.star --\n-- b.star --\n-- lib/x.star --\n", "p", "b.star")
	shown := func(paths []string) []string {
		for i, p := range paths {
			paths[i], _ = filepath.Rel(l.dir, p)
		}
		return paths
	}
	in := l.set.Inputs()
	got := loader.Inputs{Files: shown(slices.Clone(in.Files)), Folders: shown(slices.Clone(in.Folders))}
	want := loader.Inputs{Files: []string{"config.toml", "b.star"}, Folders: []string{"p", "lib"}}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
}

func TestEvalInside(t *testing.T) {
	l := loads(t, "-- a.star --\nplugin(config = {\"n\": 2})\ndef double(x): return x * config.n\n", "a.star")
	turn, err := l.set.Host.NewSession(host.SessionConfig{ID: "s"}).Begin(t.Context(), host.Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End(t.Context())
	for expr, want := range map[string]string{
		"double(21)": "42", "ctx.session": `"s"`, "double": "<function double>",
		"dubble(1)": "expr:1:1: undefined: dubble (did you mean double?)", `ctx.env("HOME")`: "has no permission env:HOME",
	} {
		text, usage, err := l.set.Plugins[0].Inside.Eval(t.Context(), turn, expr)
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, want) || err == nil && usage.Steps == 0 {
			t.Errorf("%s: got %q after %d steps, want %q", expr, text, usage.Steps, want)
		}
	}
}

// TestSettingErrorsHavePlaces checks that an error about a setting has the place of that setting as
// a value, for an editor, and not in its text alone.
func TestSettingErrorsHavePlaces(t *testing.T) {
	l := loads(t, "-- config.toml --\n[plugin.a]\nteam = \"x\"\nlines = \"many\"\n-- a.star --\nplugin(config = {\"team\": \"\", \"lines\": 3})\n", "a.star")
	var own *loader.Error
	if !errors.As(l.set.Plugins[0].Err, &own) || own.Place.File != "config.toml" || own.Place.Line != 3 || strings.HasPrefix(own.Msg, "config.toml") {
		t.Errorf("got %#v", l.set.Plugins[0].Err)
	}
}

// TestGuardsKnowCalls checks that the guards of a loaded set know what an agent's calls do, also of
// the tools that the config describes.
func TestGuardsKnowCalls(t *testing.T) {
	l := loads(t, "-- config.toml --\nkinds.go = { kind = \"shell\", command = \"line\" }\n"+
		"-- a.star --\nregister_hook(\"pre_tool_call\", lambda call: deny(call.command) if call.command else None)\n", "a.star")
	for tool, argument := range map[string]string{"Bash": "command", "go": "line", "Other": ""} {
		turn, err := l.set.Host.NewSession(host.SessionConfig{}).Begin(t.Context(), host.Request{})
		if err != nil {
			t.Fatal(err)
		}
		e := &starhost.Event{Name: "pre_tool_call", Tool: tool, Arguments: []byte(`{"` + argument + `":"rm -rf x"}`)}
		out, err := turn.Fire(t.Context(), e)
		if err != nil || (out.Decision.Reason == "rm -rf x") != (argument != "") {
			t.Errorf("%s: got %+v, %v", tool, out, err)
		}
	}
}

// TestBlankSetting checks that a --set of blanks is a text.
func TestBlankSetting(t *testing.T) {
	for _, value := range []string{" ", "\t "} {
		l := loads(t, "-- a.star --\nplugin(config = {\"team\": \"x\"})\nprint(repr(config.team))\n", "a.star", "--set", "team="+value)
		if want := fmt.Sprintf("a loaded\na.star:2:6: a: info: %q\n", value); l.report() != want {
			t.Errorf("%q: got %s, want %s", value, l.report(), want)
		}
	}
}
