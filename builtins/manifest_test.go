package builtins_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/starlark"
)

// manifest reads the manifest of a file.
func manifest(t *testing.T, src string) (*builtins.Manifest, error) {
	t.Helper()
	f, err := starlark.New(starlark.Options{}).Parse("oncall/plugin.star", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return readTwice(t, f)
}

// readTwice reads a manifest from its file and then from its encoded form, and compares both.
func readTwice(t *testing.T, f *starlark.File) (*builtins.Manifest, error) {
	t.Helper()
	m, err := builtins.ReadManifest(f)
	if diff := cmp.Diff(manifestTexts(m, err), manifestTexts(builtins.ReadManifest(f))); diff != "" {
		t.Errorf("of one file ReadManifest returned two things (-first +again):\n%s", diff)
	}
	return m, err
}

// manifestTexts returns the fields of a manifest.
func manifestTexts(m *builtins.Manifest, err error) []any {
	if err != nil {
		return []any{err.Error()}
	}
	return []any{
		m.API, m.Name, m.Version, m.Owner, m.Description,
		m.Permissions, m.RequiresEnv, m.Requires, m.Config.String(), m.Place.String(), fmt.Sprint(m.Events),
		fmt.Sprint(m.CheckName("another")), fmt.Sprint(m.Config.Clear()), // Clear must fail, because the dict is frozen
	}
}

func TestReadManifest(t *testing.T) {
	m, err := manifest(t, `"""Runbooks and facts
for the checkout team.

More.
"""

load("lib.star", "x")

plugin(
    api = 1,
    name = "oncall",
    version = "1.0.0",
    owner = "checkout-oncall",
    permissions = ["fs.read:runbooks/**"],
    requires_env = ["PAGER", {"name": "TOKEN", "description": "Of the pager.", "url": "https://pager.example/x", "secret": True}],
    requires = ["policy>=1.2"],
    config = {"team": "checkout", "max": -200, "ratio": (+1.5), "on": True, "none": None, "list": ["a"], "map": {"k": [123456789012345678901]}},
    events = {"app.oncall.paged": ["team", "n"], "app.oncall.quiet": []},
)
`)
	if err != nil {
		t.Fatal(err)
	}
	got := manifestTexts(m, nil)[:10]
	want := []any{1, "oncall", "1.0.0", "checkout-oncall", "Runbooks and facts for the checkout team.",
		[]string{"fs.read:runbooks/**"}, []builtins.EnvVar{{Name: "PAGER"}, {Name: "TOKEN", Description: "Of the pager.", URL: "https://pager.example/x", Secret: true}}, []string{"policy>=1.2"},
		`{"team": "checkout", "max": -200, "ratio": 1.5, "on": True, "none": None, "list": ["a"], "map": {"k": [123456789012345678901]}}`, "oncall/plugin.star:9:1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ReadManifest (-want +got):\n%s", diff)
	}
	if err := m.CheckName("oncall"); err != nil {
		t.Error(err)
	}
	events := []starhost.EventSpec{
		{Name: "app.oncall.paged", Args: []string{"team", "n"}, Plugin: "oncall"}, {Name: "app.oncall.quiet", Plugin: "oncall"},
	}
	ignored := cmpopts.IgnoreFields(starhost.EventSpec{}, "Fires", "Actions")
	if diff := cmp.Diff(events, m.Events, ignored); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	want2 := `oncall/plugin.star:11:5: plugin: name: got "oncall", want "policy": a plugin has the name of its file or folder`
	if diff := cmp.Diff(want2, starlark.Locate(m.CheckName("policy"), nil).Error()); diff != "" {
		t.Errorf("CheckName (-want +got):\n%s", diff)
	}
}

// TestOthersEvents checks that no plugin can declare an event in the name of another.
func TestOthersEvents(t *testing.T) {
	for _, name := range []string{"app.policy.asked", "app.oncallx.y", "app.oncall", "app.oncall-2.x"} {
		m, err := manifest(t, fmt.Sprintf("plugin(\n    events = {%q: []},\n)", name))
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("oncall/plugin.star:2:5: plugin: events: event %q: plugin oncall declares only events app.oncall.NAME", name)
		if err := m.CheckName("oncall"); err == nil || starlark.Locate(err, nil).Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestReadManifestDefaults(t *testing.T) {
	for _, src := range []string{"", "x = 1", "plugin()", "def plugin(n):\n    pass\n\nplugin(len)"} {
		m, err := manifest(t, src)
		if err != nil {
			t.Errorf("%q: %v", src, err)
			continue
		}
		if m.API != 1 || m.Name != "" || m.Description != "" || m.Config.Len() != 0 || m.CheckName("any") != nil {
			t.Errorf("%q: got %+v", src, m)
		}
	}
}

// TestParameterNamedPlugin checks that a handler may have a parameter with the name plugin, because events
// have an argument of this name.
func TestParameterNamedPlugin(t *testing.T) {
	m, err := manifest(t, "plugin(version = \"2\")\n\ndef guard(tool, plugin):\n    return [plugin for plugin in [1]]")
	if err != nil {
		t.Fatal(err)
	}
	if m.Version != "2" {
		t.Errorf("got version %q", m.Version)
	}
}

func TestReadManifestErrors(t *testing.T) {
	literal := "plugin: want a literal (a string, a number, True, False, None, a list or a dict of these): it is read without running the file"
	tests := []struct{ name, src, want string }{
		{"two", "plugin()\nplugin()", "2:1: plugin: is already called at oncall/plugin.star:1:1"},
		{"in a function", "def f():\n    plugin()", "2:5: plugin: must be a separate statement at the top level: it is read without running the file"},
		{"in an expression", "x = plugin()", "1:5: plugin: must be a separate statement at the top level: it is read without running the file"},
		{"in an if", "if True:\n    plugin()", "2:5: plugin: must be a separate statement at the top level: it is read without running the file"},
		{"by place", `plugin("x")`, `1:8: plugin: takes literals by name: plugin(version = "1.0")`},
		{"splat", `plugin(**{})`, `1:8: plugin: takes literals by name: plugin(version = "1.0")`},
		{"twice one name", `plugin(name = "a", name = "b")`, `1:20: plugin: name is given twice`},
		{"misspelt", `plugin(verson = "1")`, `1:8: plugin: unexpected keyword argument "verson" (did you mean version?), it takes api, name, version, description, owner, permissions, requires_env, requires, config, events`},
		{"events", `plugin(events = ["app.oncall.x"])`, `1:8: plugin: events: got list, want a dict of events and their arguments`},
		{"an event's key", `plugin(events = {1: []})`, `1:8: plugin: events: key 1: got int, want string`},
		{"an event's arguments", `plugin(events = {"app.oncall.x": "team"})`, `1:8: plugin: events: "app.oncall.x": got string, want a list of strings`},
		{"an event's name", `plugin(events = {"oncall.x": []})`, `1:8: plugin: events: event "oncall.x": want app. and a lower-case letter, then a-z 0-9 _ . -`},
		{"an event's argument", `plugin(events = {"app.oncall.x": ["Team"]})`, `1:8: plugin: events: event app.oncall.x: argument "Team": want a lower-case letter, then a-z 0-9 _, each once`},
		{"a host's event", `plugin(events = {"pre_tool_call": []})`, `1:8: plugin: events: event "pre_tool_call": want app. and a lower-case letter, then a-z 0-9 _ . -`},
		{"a name", `plugin(version = V)`, "1:18: " + literal},
		{"a call", `plugin(config = {"a": [len("x")]})`, "1:24: " + literal},
		{"bytes", `plugin(version = b"1")`, "1:18: " + literal},
		{"minus a string", `plugin(api = -"1")`, "1:14: " + literal},
		{"a sum", `plugin(version = "1" + "2")`, "1:18: " + literal},
		{"a tuple", `plugin(permissions = ("store",))`, "1:23: " + literal},
		{"a key that is none", `plugin(config = {[1]: 2})`, "1:18: plugin: key [1]: stands twice or cannot be a key"},
		{"a key twice", `plugin(config = {"a": 1, "a": 2})`, `1:26: plugin: key "a": stands twice or cannot be a key`},
		{"a key that is no literal", `plugin(config = {k: 1})`, "1:18: " + literal},
		{"api of another type", `plugin(api = "1")`, "1:8: plugin: api: got string, want int"},
		{"another api", `plugin(api = 2)`, "1:8: plugin: api: got 2, want 1: this starhost has version 1 of the vocabulary, install one that has version 2"},
		{"version of another type", `plugin(version = 1.0)`, "1:8: plugin: version: got float, want string"},
		{"permissions of another type", `plugin(permissions = "store")`, "1:8: plugin: permissions: got string, want a list of strings"},
		{"too many permissions", `plugin(permissions = [` + strings.Repeat(`"store", `, 257) + `])`, "1:8: plugin: permissions: got 257 permissions, want at most 256"},
		{
			"too long permissions", `plugin(permissions = [` + strings.Repeat(`"env:`+strings.Repeat("A", 4000)+`", `, 5) + `])`,
			"1:8: plugin: permissions: got 20020 bytes, want at most 16384",
		},
		{"a permission of another type", `plugin(permissions = [1])`, "1:8: plugin: permissions: [0]: got int, want string"},
		{"variables of another type", `plugin(requires_env = "HOME")`, "1:8: plugin: requires_env: got string, want a list of strings and dicts"},
		{"too many variables", `plugin(requires_env = [` + strings.Repeat(`"A", `, 257) + `])`, "1:8: plugin: requires_env: got 257 variables, want at most 256"},
		{"a variable of another type", `plugin(requires_env = [1])`, "1:8: plugin: requires_env: [0]: got int, want string, or a dict with name, description, url and secret"},
		{"a variable without a name", `plugin(requires_env = ["A", {"url": "https://a.example"}])`, `1:8: plugin: requires_env: [1]: name: got "", want the name of an environment variable`},
		{"a variable's key", `plugin(requires_env = [{"name": "A", "desciption": "x"}])`, `1:8: plugin: requires_env: [0]: unexpected key "desciption" (did you mean description?), want name, description, url, secret`},
		{"a variable's secret", `plugin(requires_env = [{"name": "A", "secret": 1}])`, "1:8: plugin: requires_env: [0]: secret: got int, want bool"},
		{"a variable's address", `plugin(requires_env = [{"name": "A", "url": "javascript:x"}])`, `1:8: plugin: requires_env: [0]: url: got "javascript:x", want https://HOST/...`},
		{"a variable's user", `plugin(requires_env = [{"name": "A", "url": "https://a.example@b.example"}])`, "1:8: plugin: requires_env: [0]: url: got a user in the address, want none"},
		{"a long description", `plugin(requires_env = [{"name": "A", "description": "` + strings.Repeat("x", 1001) + `"}])`, "1:8: plugin: requires_env: [0]: description: got 1001 bytes, want at most 1000"},
		{"config of another type", `plugin(config = [])`, "1:8: plugin: config: got list, want a dict of defaults"},
		{"a setting of the host", `plugin(config = {"mode": "warn"})`, `1:8: plugin: config: key "mode" is the host's own: it means the same for every plugin`},
		{"a setting without a name", `plugin(config = {"a-b": 1})`, `1:8: plugin: config: key "a-b": want a name, as it is read as config.NAME`},
		{"a key of another type", `plugin(config = {1: 1})`, `1:8: plugin: config: key 1: got int, want string`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := manifest(t, tt.src)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff("oncall/plugin.star:"+tt.want, starlark.Locate(err, nil).Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPermissionsAreChecked checks that the error of a wrong permission has the words of package effects.
func TestPermissionsAreChecked(t *testing.T) {
	_, err := manifest(t, `plugin(permissions = ["fs.raed:x"])`)
	if codeOf(err) != "E0502" {
		t.Errorf("got %v", err)
	}
}

func TestConfigure(t *testing.T) {
	const declared = `plugin(config = {"team": "checkout", "max": 200, "ratio": 1.0, "on": True, "any": None, "list": ["a"], "map": {}})`
	tests := []struct {
		name     string
		settings []builtins.Setting
		want     string // the config or the error
	}{
		{"defaults", nil, `config(any = None, list = ["a"], map = {}, max = 200, on = True, ratio = 1.0, team = "checkout")`},
		{"each type", []builtins.Setting{
			{Key: "team", Value: "search"}, {Key: "max", Value: int64(3)}, {Key: "ratio", Value: int64(2)}, {Key: "on", Value: false},
			{Key: "any", Value: 2.5}, {Key: "list", Value: []any{"b", "c"}}, {Key: "map", Value: map[string]any{"z": "1", "a": true}},
		}, `config(any = 2.5, list = ["b", "c"], map = {"a": True, "z": "1"}, max = 3, on = False, ratio = 2.0, team = "search")`},
		{"the last one wins", []builtins.Setting{{Key: "max", Value: int64(3)}, {Key: "max", Value: int64(4)}},
			`config(any = None, list = ["a"], map = {}, max = 4, on = True, ratio = 1.0, team = "checkout")`},
		{"misspelt", []builtins.Setting{{Key: "tem", Value: "x", Place: "starhost.toml:12"}},
			`starhost.toml:12: unknown setting "tem" (did you mean team?), the plugin declares any, list, map, max, on, ratio, team`},
		{"wrong type", []builtins.Setting{{Key: "max", Value: "3", Place: "starhost.toml:13"}},
			`starhost.toml:13: setting max: got string, want int, as the default is (oncall/plugin.star:1:1)`},
		{"a float for an int", []builtins.Setting{{Key: "max", Value: 3.0, Place: "--set"}},
			`--set: setting max: got float, want int, as the default is (oncall/plugin.star:1:1)`},
		{"an element of another type", []builtins.Setting{{Key: "list", Value: []any{"b", int64(1)}, Place: "starhost.toml:14"}},
			`starhost.toml:14: setting list: [1]: got int, want string, as in the default (oncall/plugin.star:1:1)`},
		{"no value of a configuration", []builtins.Setting{{Key: "any", Value: []any{map[string]any{"k": struct{}{}}}, Place: "x"}},
			`x: setting any: [0]: k: got an object, want text, a number, true, false, an array or a table (oncall/plugin.star:1:1)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := manifest(t, declared)
			if err != nil {
				t.Fatal(err)
			}
			config, err := m.Configure(tt.settings)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = config.String()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Configure (-want +got):\n%s", diff)
			}
		})
	}
	elements := []struct {
		name, declared string
		value          any
		want           string // the value or the error
	}{
		{"floats take ints", `[1.5]`, []any{int64(2), 2.5}, `[2.0, 2.5]`},
		{"an empty default takes all", `[]`, []any{int64(2), "x"}, `[2, "x"]`},
		{"a mixed default takes all", `["a", 1]`, []any{true}, `[True]`},
		{"no element", `["a"]`, []any{}, `[]`},
		{"a dict for a text", `["a"]`, []any{map[string]any{"k": "v"}}, `[0]: got dict, want string, as in the default`},
		{"lists of lists", `[["a"]]`, []any{[]any{int64(1)}}, `[[1]]`},
		{"a text for a list", `[["a"]]`, []any{"a"}, `[0]: got string, want list, as in the default`},
		{"a value of a map", `{"ada": "checkout"}`, map[string]any{"bob": int64(1)}, `bob: got int, want string, as in the default`},
		{"a known key", `{"port": 80, "host": "a"}`, map[string]any{"port": "80"}, `port: got string, want int, as in the default`},
		{"an unknown key of a mixed default", `{"port": 80, "host": "a"}`, map[string]any{"tls": true}, `{"tls": True}`},
		{"deep", `{"a": {"b": [1]}}`, map[string]any{"a": map[string]any{"b": []any{"x"}}}, `a: b: [0]: got string, want int, as in the default`},
		{"None takes all", `{"a": None}`, map[string]any{"a": []any{"x", int64(1)}}, `{"a": ["x", 1]}`},
	}
	for _, tt := range elements {
		t.Run(tt.name, func(t *testing.T) {
			m, err := manifest(t, `plugin(config = {"v": `+tt.declared+`})`)
			if err != nil {
				t.Fatal(err)
			}
			config, err := m.Configure([]builtins.Setting{{Key: "v", Value: tt.value, Place: "p"}})
			got := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(config), "config(v = "), ")")
			if err != nil {
				got = strings.TrimSuffix(strings.TrimPrefix(err.Error(), "p: setting v: "), " (oncall/plugin.star:1:1)")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Configure (-want +got):\n%s", diff)
			}
		})
	}
	m, err := manifest(t, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Configure([]builtins.Setting{{Key: "x", Place: "p"}})
	if diff := cmp.Diff(`p: unknown setting "x", the plugin declares none`, err.Error()); diff != "" {
		t.Errorf("Configure (-want +got):\n%s", diff)
	}
}

func TestConfigIsFrozen(t *testing.T) {
	_, err := script{src: `plugin(config = {"list": []})
config.list.append(1)`}.load(t)
	if err == nil {
		t.Error("config can be changed")
	}
}

// FuzzReadManifest checks that reading any file does not panic, that a second reading gives the
// same result, and that parsing a printed config returns the same config.
func FuzzReadManifest(f *testing.F) {
	f.Add(`plugin(version = "1", config = {"a": [1, -2.5, True, None, {"k": "v"}]})`)
	f.Add("for x in [1]:\n    register_tool(lambda: x)\n    def f(y = x): deny(1)")
	f.Add("plugin(**x)")
	f.Add("[lambda: x for x in y if x]")
	box := starlark.New(starlark.Options{})
	f.Fuzz(func(t *testing.T, src string) {
		file, err := box.Parse("fuzz.star", []byte(src))
		if err != nil {
			return
		}
		m, err := readTwice(t, file)
		checked := builtins.Record(nil, nil, nil, nil).Check(file)
		if err != nil {
			if checked == nil {
				t.Errorf("Check passes what ReadManifest refuses: %v", err)
			}
			return
		}
		again, err := box.Parse("again.star", []byte("plugin(config = "+m.Config.String()+")"))
		if err != nil {
			return // Starlark has no literal for floats such as inf
		}
		n, err := builtins.ReadManifest(again)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := n.Config.String(), m.Config.String(); got != want {
			t.Errorf("got config %s, then %s", want, got)
		}
	})
}
