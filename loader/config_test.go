package loader_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// tree writes the files of a txtar archive into a new folder. A file named "NAME -> TARGET" becomes
// a link, and "NAME/" an empty folder.
func tree(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name, target, link := strings.Cut(f.Name, " -> ")
		file := filepath.Join(dir, name)
		parent := filepath.Dir(file)
		if strings.HasSuffix(name, "/") {
			parent = file
		}
		if err := os.MkdirAll(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case link:
			err = os.Symlink(target, file)
		case parent != file:
			err = os.WriteFile(file, f.Data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// write changes a file.
func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// env returns an environment with the given names and values.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func parseTexts[T interface{ String() string }](list []T) string {
	var b strings.Builder
	for _, x := range list {
		b.WriteString(x.String() + "\n")
	}
	return b.String()
}

// parse returns the config of an operator in the folder /ops.
func parse(t *testing.T, src string) *loader.Config {
	t.Helper()
	c, warnings, err := loader.ParseConfig("config.toml", "/ops", []byte(src))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("got %v and warnings %v, want none", err, warnings)
	}
	return c
}

// full is the example in the documentation, with each key.
const full = `
[plugins]
paths = ["plugins", "/srv/plugins"]
enabled = ["oncall"]
disabled = ["old"]
required = ["policy"]
[libraries]
lib = "lib"
[plugin.oncall]
team = "checkout"
ratio = 0.5
on = true
opts = { deep = [1, "x", { y = 2 }] }
[[plugin.oncall.rows]]
a = 1
[plugin.policy]
mode = "warn"
limits = { steps = 200_000, memory = "1MiB", timeout = "1s" }
[grants]
oncall = ["secret:PAGER_TOKEN"]
[secrets]
PAGER_TOKEN = { file = "/run/secrets/pager" }
OTHER = { command = ["pass", "other"] }
[limits]
steps = 900_000
memory = "32MiB"
timeout = "1500ms"
[prompt]
dedup = "prompt"
render = "xml"
max_bytes = "2MiB"
max_fragment = 1000
max_plugin = "512 KiB"
max_attachments = 21
max_attachment = "9MiB"
max_pixels = 41_000_000
max_tokens = 7
[tools]
allow = ["a*"]
deny = ["b*"]
max_result = "300KiB"
[model]
default = "acme/small"
[store]
url = "none"
[mcp.github]
command = ["github-mcp-server", "stdio"]
env = ["GITHUB_TOKEN"]
approval = "auto"
[mcp.tickets]
url = "https://tickets.internal/mcp"
token = "TICKETS_TOKEN"
timeout = "5m"
[kinds]
"mcp__desktop__run" = { kind = "shell", command = "cmd" }
writer = { kind = "write", paths = "target", content = "text" }
[model.local]
base_url = "http://127.0.0.1:11434/v1"
api = "responses"
models = ["llama", "*"]
api_key = "LOCAL_KEY"
context = 128_000
fallback = ["openai/x"]
[serve.tools]
roles = ["day"]
[log]
enabled = false
path = "audit"
keep = "7d"
max = "1MiB"
mask = ["/input/arguments/*pin*"]
include = ["writes", "prompt"]
required = true
fsync = true
all = true
[redact]
patterns = ["cust-[0-9]+"]
[process.review]
command = ["review-hook"]
env = ["REVIEW_TOKEN"]
intercept = ["before_tool", "after_tool"]
mode = "warn"
observe = ["agent.turn.end"]
timeout = "2s"
[trust]
pin = ["srv/**"]
[shell]
trusted = ["make"]
`

func TestParseConfigKnowsAllKeys(t *testing.T) {
	c := parse(t, full)
	at := func(line int) loader.Place { return loader.Place{File: "config.toml", Line: line} }
	want := &loader.Config{
		Plugins: loader.PluginsConfig{
			Paths: []loader.Path{
				{Shown: "plugins", Real: "/ops/plugins", Place: at(3)},
				{Shown: "/srv/plugins", Real: "/srv/plugins", Place: at(3)},
			},
			Enabled: []string{"oncall"}, Disabled: []string{"old"}, Required: []string{"policy"},
		},
		Libraries: map[string]loader.Path{"lib": {Shown: "lib", Real: "/ops/lib", Place: at(8)}},
		Plugin: map[string]*loader.PluginConfig{
			"oncall": {Values: map[string]loader.Value{
				"team":  {V: "checkout", Place: at(10)},
				"ratio": {V: 0.5, Place: at(11)},
				"on":    {V: true, Place: at(12)},
				"opts":  {V: map[string]any{"deep": []any{int64(1), "x", map[string]any{"y": int64(2)}}}, Place: at(13)},
				"rows":  {V: []any{map[string]any{"a": int64(1)}}, Place: at(14)},
			}},
			"policy": {Mode: "warn", Limits: loader.LimitsConfig{Steps: 200_000, Memory: 1 << 20, Timeout: time.Second}},
		},
		Grants: map[string][]string{"oncall": {"secret:PAGER_TOKEN"}},
		Secrets: map[string]*loader.SecretConfig{
			"PAGER_TOKEN": {File: loader.Path{Shown: "/run/secrets/pager", Real: "/run/secrets/pager", Place: at(22)}},
			"OTHER":       {Command: []string{"pass", "other"}, Dir: "/ops"},
		},
		Limits: loader.LimitsConfig{Steps: 900_000, Memory: 32 << 20, Timeout: 1500 * time.Millisecond, Source: 256 << 10, Output: 1 << 20},
		Prompt: loader.PromptConfig{
			Dedup: "prompt", Render: "xml", MaxBytes: 2 << 20, MaxFragment: 1000, MaxPlugin: 512 << 10,
			MaxAttachments: 21, MaxAttachment: 9 << 20, MaxPixels: 41_000_000, MaxTokens: 7,
		},
		Tools: loader.ToolsConfig{Allow: []string{"a*"}, Deny: []string{"b*"}, MaxResult: 300 << 10},
		Model: loader.ModelConfig{
			Default: "acme/small", Timeout: 10 * time.Minute, Rounds: 25, Answer: 4 << 20,
			Endpoints: map[string]*starhost.Endpoint{"local": {
				BaseURL: "http://127.0.0.1:11434/v1", API: "responses", Models: []string{"llama", "*"},
				APIKey: "LOCAL_KEY", Context: 128_000, Fallback: []string{"openai/x"},
			}},
		},
		Store: loader.StoreConfig{URL: "none", MaxPlugin: 64 << 20, Keep: 90 * 24 * time.Hour},
		Log: loader.LogConfig{
			Path: loader.Path{Shown: "audit", Real: "/ops/audit", Place: at(68)}, Keep: 7 * 24 * time.Hour, Max: 1 << 20,
			Mask: []string{"default", "/input/arguments/*pin*"}, Include: []string{"prompt", "writes"}, Required: true, Fsync: true, All: true,
			Redact: []string{"cust-[0-9]+"},
		},
		Shell: []string{"make"},
		Kinds: map[string]map[string]string{
			"mcp__desktop__run": {"kind": "shell", "command": "cmd"},
			"writer":            {"kind": "write", "paths": "target", "content": "text"},
		},
		Serve:   loader.ServeConfig{ToolRoles: []string{"day"}},
		Pins:    []string{"srv/**"},
		Bundles: map[string]*loader.BundleConfig{},
		Status:  loader.Path{Shown: "/var/lib/starhost/status.json", Real: "/var/lib/starhost/status.json"},
		Processes: map[string]*loader.ProcessConfig{"review": {
			Command: []string{"review-hook"}, Dir: "/ops", Env: []string{"REVIEW_TOKEN"}, Mode: "warn", Timeout: 2 * time.Second,
			Intercept: []string{"after_tool", "before_tool"}, Observe: []string{"agent.turn.end"},
		}},
		MCP: map[string]*loader.MCPConfig{
			"github":  {Command: []string{"github-mcp-server", "stdio"}, Dir: "/ops", Env: []string{"GITHUB_TOKEN"}, Approval: "auto"},
			"tickets": {URL: "https://tickets.internal/mcp", Token: "TICKETS_TOKEN", Timeout: 5 * time.Minute},
		},
	}
	if diff := gocmp.Diff(want, c, cmpopts.IgnoreUnexported(loader.Config{}, starhost.Endpoint{})); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	places := map[string]loader.Place{
		"limits memory":           at(26),
		"plugin oncall":           at(9),
		"plugins required policy": at(6),
		"plugins disabled old":    at(5),
		"grants oncall":           at(20),
		"no such":                 {},
	}
	for key, want := range places {
		if got := c.Place(strings.Fields(key)...); got != want {
			t.Errorf("place of %s: got %q, want %q", key, got, want)
		}
	}
}

func TestConfigDefaults(t *testing.T) {
	c := parse(t, "")
	limits := loader.LimitsConfig{Steps: 1_000_000, Memory: 64 << 20, Timeout: 2 * time.Second}
	limits.Source, limits.Output = 256<<10, 1<<20
	if diff := gocmp.Diff(limits, c.Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	if got := c.Place("limits", "steps"); got.String() != "" {
		t.Errorf("place of a built-in setting: got %q, want none", got)
	}
	if first := c.PluginOf("new"); first != c.PluginOf("new") {
		t.Error("PluginOf: got two configs of one plugin")
	}
}

func TestConfigErrors(t *testing.T) {
	tests := []struct{ name, src, code, want string }{
		{"invalid TOML", "[plugins\npaths = []", "E0601", "starhost.toml:1:9: invalid TOML: expected '.' or ']' to end table name, but got '\\n' instead"},
		{"key twice", "a = 1\na = 2", "E0601", "starhost.toml:2:1: invalid TOML: key 'a' has already been defined."},
		{"control character", "a = \"\x7f\"", "E0601", "starhost.toml:1:5: invalid TOML: TOML files cannot contain control characters: '0x7f'"},
		{"NUL", "[plugins]\n\x00", "E0601", "starhost.toml:2: got a NUL byte, want text"},
		{"no UTF-8", "\n\xff", "E0601", "starhost.toml:2: got bytes that are not UTF-8, want text in UTF-8"},
		{"nested arrays", "[plugin.x]\na = " + strings.Repeat("[", 100_000), "E0601", "starhost.toml:2: got keys or values nested more than 32 deep"},
		{"long key", "\n" + strings.Repeat("a.", 1000) + "a = 1", "E0601", "starhost.toml:2: got keys or values nested more than 32 deep"},
		{"nested tables", "[" + strings.Repeat("a.", 20) + "a]\n" + strings.Repeat("a.", 20) + "a = 1", "E0601", "starhost.toml:2: got keys or values nested more than 32 deep"},
		{"too large", strings.Repeat("#", 1<<20+1), "E0608", "starhost.toml: got 1048577 bytes, want at most 1048576"},
		{"unknown table", "\n\n[pluginz]\na = 1", "E0602", `starhost.toml:3: unknown key "pluginz" (did you mean plugins?)`},
		{"unknown key", "[plugins]\n# one\npath = []", "E0602", `starhost.toml:3: unknown key "plugins.path" (did you mean paths?)`},
		{"key of another table", "paths = []", "E0602", `starhost.toml:1: unknown key "paths" (did you mean plugins.paths?)`},
		{"key like no other", "[limits]\nxyzzy = 1", "E0602", `starhost.toml:2: unknown key "limits.xyzzy" (want one of answer, event, memory, output, rounds, source, steps, timeout)`},
		{"key with the name of a table", "[limits]\nlog = 1", "E0602", `starhost.toml:2: unknown key "limits.log" (want one of answer, event, memory, output, rounds, source, steps, timeout)`},
		{"key below a value's key", "limits = { steps = { a = 1 } }", "E0603", "starhost.toml:1: limits.steps: got a table, want a whole number from 1"},
		{"a misspelt key beside tables", "[model]\ndefalt = \"x\"", "E0603", `starhost.toml:2: model.defalt: got "x", want a table (did you mean default?)`},
		{"value for a table", "[plugin]\noncall = 1", "E0603", "starhost.toml:2: plugin.oncall: got 1, want a table"},
		{"string for a list", "[plugins]\npaths = \"plugins\"", "E0603", `starhost.toml:2: plugins.paths: got "plugins", want a list of strings`},
		{"number in a list", "[plugins]\nrequired = [\"a\", 1]", "E0603", "starhost.toml:2: plugins.required: got a list, want a list of strings (item 2 is 1)"},
		{"grants", "[grants]\na = \"x\"", "E0603", `starhost.toml:2: grants.a: got "x", want a list of strings`},
		{"globs", "[tools]\ndeny = [\"a*\", \"[b\"]", "E0603", `starhost.toml:2: tools.deny: got a list, want a list of globs, as restart_* (item 2 is "[b")`},
		{"secret file", "[secrets]\nA = { file = 1 }", "E0603", "starhost.toml:2: secrets.A.file: got 1, want a string"},
		{"a token for its name", "[mcp.a]\ntoken = \"ghp_0123456789\"", "E0603", "starhost.toml:2: mcp.a.token: want the name of a secret, 1 to 64 of A-Z 0-9 _"},
		{"library", "[libraries]\na = 1", "E0603", "starhost.toml:2: libraries.a: got 1, want a string"},
		{"word", "[prompt]\ndedup = \"sesion\"", "E0603", `starhost.toml:2: prompt.dedup: got "sesion", want one of session, prompt (did you mean session?)`},
		{"size unit", "[limits]\nmemory = \"64MB\"", "E0603", `starhost.toml:2: limits.memory: got "64MB", want bytes from 1, as 1048576 or "1MiB" (units B, KiB, MiB, GiB)`},
		{"size overflow", "[limits]\nmemory = \"99999999999GiB\"", "E0603", `starhost.toml:2: limits.memory: got "99999999999GiB", want bytes from 1, as 1048576 or "1MiB" (units B, KiB, MiB, GiB)`},
		{"negative", "[limits]\nsteps = -1", "E0603", "starhost.toml:2: limits.steps: got -1, want a whole number from 1"},
		{"float", "[prompt]\nmax_tokens = 1.5", "E0603", "starhost.toml:2: prompt.max_tokens: got 1.5, want a whole number from 0"},
		{"words", "[log]\ninclude = [\"prompt\", \"promt\"]", "E0603", `starhost.toml:2: log.include: got a list, want a list of prompt, results, writes (did you mean prompt?) (item 2 is "promt")`},
		{"fragments", "[store]\nfragments = \"llm:\"", "E0603", `starhost.toml:2: store.fragments: got "llm:", want llm:PATH, or "" for the database of store.url`},
		{"duration", "[limits]\ntimeout = 2", "E0603", `starhost.toml:2: limits.timeout: got 2, want a time span over 0, as "500ms" or "2s"`},
		{"date", "[plugin.a]\n\n d = 2026-01-01", "E0603", "starhost.toml:3: plugin.a.d: got a date or time, want a string, number, boolean, list or table (write dates as strings)"},
		{"nan", "[plugin.a]\nd = { x = [1, nan] }", "E0603", "starhost.toml:2: plugin.a.d: got a table, want a finite number at item 2 at x"},
		{"long string", "[limits]\nsteps = \"" + strings.Repeat("x", 100) + "\"", "E0603", "starhost.toml:2: limits.steps: got a string, want a whole number from 1"},
		{"no home", "[plugins]\npaths = [\"~/x\"]", "E0603", "starhost.toml:2: plugins.paths: got a list, want a path without ~: HOME is not set"},
		{"several, by line", "[limits]\ntimeoud = \"1s\"\nsteps = 1\n[plugin]\na = 1", "E0602",
			"starhost.toml:2: unknown key \"limits.timeoud\" (did you mean timeout?)\nstarhost.toml:5: plugin.a: got 1, want a table"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := loader.ParseConfig("starhost.toml", "/ops", []byte(test.src))
			if err == nil {
				t.Fatal("got no error")
			}
			if diff := gocmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			var located *loader.Error
			if !errors.As(err, &located) || located.Code() != test.code {
				t.Errorf("code: got %v, want %s", located, test.code)
			}
		})
	}
}

// layered has the user's file and a project's file.
const layered = `
-- home/.config/starhost/config.toml --
[plugins]
paths = ["mine", "~/ops/plugins"]
disabled = ["old"]
required = ["policy"]
[plugin.oncall]
team = "checkout"
opts = { a = 1, b = { c = 1, d = 1 } }
[grants]
oncall = ["store"]
policy = ["store"]
[limits]
steps = 500
[model]
default = "user/model"
-- repo/.git/HEAD --
-- repo/starhost.toml --
[plugins]
paths = ["plugins", "../outside", "link", "~/ops", "missing/x"]
enabled = ["oncall", "policy"]
disabled = ["own", "policy"]
required = ["other"]
[plugin.oncall]
mode = "warn"
opts = { b = { d = 2 } }
limits = { steps = 100 }
[plugin.policy]
mode = "warn"
[grants]
oncall = ["exec:sh **"]
[limits]
steps = 501
timeout = "1s"
[prompt]
max_bytes = "16MiB"
[store]
url = "postgres://evil"
[libraries]
lib = "lib"
-- repo/link -> ../home --
-- repo/plugins/oncall.star --
-- repo/plugins/own.star --
-- repo/plugins/third.star --
-- repo/sub/x --
-- home/ops/plugins/policy.star --
-- home/ops/plugins/old.star --
-- home/.config/starhost/mine/a.star --
`

func loadLayered(t *testing.T) (*loader.Config, []loader.Warning, string) {
	t.Helper()
	dir := tree(t, layered)
	c, warnings, err := loader.LoadConfig(loader.ConfigOptions{
		Dir: filepath.Join(dir, "repo", "sub"),
		Getenv: env("HOME", filepath.Join(dir, "home"), "XDG_CONFIG_HOME", "not/absolute",
			"STARHOST_MODEL", "env/model", "STARHOST_STORE", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, warnings, dir
}

func TestLayers(t *testing.T) {
	c, warnings, dir := loadLayered(t)
	const hint = " (starhost trust shows the settings that would apply)\n"
	want := "../starhost.toml:2: plugins.paths is ignored: ../outside leaves the project's folder" + hint +
		"../starhost.toml:2: plugins.paths is ignored: link leaves the project's folder" + hint +
		"../starhost.toml:2: plugins.paths is ignored: ~/ops leaves the project's folder" + hint +
		"../starhost.toml:13: grants.oncall is ignored: this project is not trusted" + hint +
		"../starhost.toml:15: limits.steps is ignored: a project that is not trusted can only lower limits, 500 applies" + hint +
		"../starhost.toml:20: store.url is ignored: only the user's and the managed config may set it, never a project\n"
	if diff := gocmp.Diff(want, parseTexts(warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	var paths []string
	for _, p := range c.Plugins.Paths {
		rel, err := filepath.Rel(dir, p.Real)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p.Shown+" "+rel+" "+p.Place.String())
	}
	wantPaths := []string{
		"~/.config/starhost/mine home/.config/starhost/mine ~/.config/starhost/config.toml:2",
		"~/ops/plugins home/ops/plugins ~/.config/starhost/config.toml:2",
		"../plugins repo/plugins ../starhost.toml:2",
		"../missing/x repo/missing/x ../starhost.toml:2",
	}
	if diff := gocmp.Diff(wantPaths, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	got := []any{
		c.Limits, c.Prompt.MaxBytes, c.Model.Default, c.Store.URL,
		c.Plugins.Required, c.Grants["oncall"], c.Plugin["policy"] == nil,
	}
	wantValues := []any{
		loader.LimitsConfig{Steps: 500, Memory: 64 << 20, Timeout: 2 * time.Second, Source: 256 << 10, Output: 1 << 20}, int64(16 << 20), "env/model", "sqlite:",
		[]string{"policy", "other"}, []string{"store"}, true,
	}
	if diff := gocmp.Diff(wantValues, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	places := map[string]string{
		"limits steps": "~/.config/starhost/config.toml:12", "limits timeout": "", "model default": "STARHOST_MODEL",
		"plugins required policy": "~/.config/starhost/config.toml:4", "plugins required other": "../starhost.toml:5",
	}
	for key, want := range places {
		if got := c.Place(strings.Fields(key)...).String(); got != want {
			t.Errorf("place of %s: got %q, want %q", key, got, want)
		}
	}
}

func names(sources []*loader.Source) string {
	var list []string
	for _, s := range sources {
		list = append(list, s.Name)
	}
	return strings.Join(list, " ")
}

func TestSelectKeepsProjectToItsOwnPlugins(t *testing.T) {
	c, _, dir := loadLayered(t)
	paths, err := c.Paths(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, errs := loader.Discover(paths[:3], 0)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	used, disabled, warnings := c.Select(found)
	if got, want := names(used)+" / "+names(disabled), "a policy oncall / old own third"; got != want {
		t.Errorf("used / disabled: got %s, want %s", got, want)
	}
	want := "../starhost.toml:3: plugins.enabled is ignored: policy is no plugin of this project\n" +
		"../starhost.toml:4: plugins.disabled is ignored: policy is no plugin of this project\n" +
		"../starhost.toml:11: plugin.policy.mode is ignored: policy is no plugin of this project\n"
	if diff := gocmp.Diff(want, parseTexts(warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	oncall := c.PluginOf("oncall")
	opts := map[string]any{"a": int64(1), "b": map[string]any{"c": int64(1), "d": int64(2)}}
	if diff := gocmp.Diff(opts, oncall.Values["opts"].V); diff != "" || oncall.Mode != "warn" {
		t.Errorf("mode %q, opts (-want +got):\n%s", oncall.Mode, diff)
	}
	for _, s := range used {
		want := map[string]string{"oncall": "100 1s", "third": "500 1s"}[s.Name]
		if got := c.LimitsOf(s); fmt.Sprint(got.Steps, " ", got.Timeout) != cmp.Or(want, "500 2s") {
			t.Errorf("limits of %s: got %+v, want %s", s.Name, got, cmp.Or(want, "those of the user"))
		}
	}
	for _, s := range used {
		want := map[string][]string{"policy": {"store"}}[s.Name]
		if diff := gocmp.Diff(want, c.GrantsOf(s)); diff != "" {
			t.Errorf("grants of %s (-want +got):\n%s", s.Name, diff)
		}
	}
}

func TestSelectByArguments(t *testing.T) {
	c, _, dir := loadLayered(t)
	paths, err := c.Paths(filepath.Join(dir, "repo"), []string{"plugins/oncall.star", "plugins/own.star", "plugins/third.star"})
	if err != nil {
		t.Fatal(err)
	}
	found, errs := loader.Discover(paths, 0)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	used, disabled, warnings := c.Select(found)
	if got, want := names(used)+" / "+names(disabled), "oncall own third / "; got != want {
		t.Errorf("used / disabled: got %s, want %s", got, want)
	}
	const hint = " (starhost trust shows the settings that would apply)\n"
	want := "../starhost.toml:3: plugins.enabled is ignored: an argument names oncall" + hint +
		"../starhost.toml:4: plugins.disabled is ignored: an argument names own" + hint +
		"../starhost.toml:7: plugin.oncall.mode is ignored: an argument names oncall" + hint +
		"../starhost.toml:9: plugin.oncall.limits.steps is ignored: an argument names oncall" + hint
	if diff := gocmp.Diff(want, parseTexts(warnings)); diff != "" {
		t.Errorf("warnings, none of names that were not asked for (-want +got):\n%s", diff)
	}
	if c.PluginOf("oncall").Mode != "" || c.LimitsOf(found[0]).Steps != 500 || c.LimitsOf(found[0]).Timeout != 2*time.Second {
		t.Errorf("an argument: got mode %q and limits %+v of the project", c.PluginOf("oncall").Mode, c.LimitsOf(found[0]))
	}
	opts := map[string]any{"a": int64(1), "b": map[string]any{"c": int64(1), "d": int64(2)}}
	if diff := gocmp.Diff(opts, c.PluginOf("oncall").Values["opts"].V); diff != "" {
		t.Errorf("opts (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]string{"store"}, c.GrantsOf(used[0])); diff != "" {
		t.Errorf("grants of an argument (-want +got):\n%s", diff)
	}
}

func TestSelectReportsUnknownNames(t *testing.T) {
	dir := tree(t, "-- plugins/oncall.star --\n-- plugins/policy.star --\n")
	c, _, err := loader.ParseConfig("c.toml", dir, []byte("[plugins]\npaths = [\"plugins\"]\nenabled = [\"oncal\", \"policy\"]\ndisabled = [\"x\"]\n"+
		"[plugin.oncalls]\nmode = \"warn\"\n[grants]\npolicies = []"))
	if err != nil {
		t.Fatal(err)
	}
	found, _ := loader.Discover(c.Plugins.Paths, 0)
	used, disabled, warnings := c.Select(found)
	if got, want := names(used)+" / "+names(disabled), "policy / oncall"; got != want {
		t.Errorf("used / disabled: got %s, want %s", got, want)
	}
	want := "c.toml:3: plugins.enabled: no plugin is named oncal (did you mean oncall?)\n" +
		"c.toml:4: plugins.disabled: no plugin is named x\n" +
		"c.toml:5: plugin.oncalls: no plugin is named oncalls (did you mean oncall?)\n" +
		"c.toml:8: grants.policies: no plugin is named policies (did you mean policy?)\n"
	if diff := gocmp.Diff(want, parseTexts(warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestPluginLimitOverTheHosts(t *testing.T) {
	src := "[plugin.a]\nlimits = { steps = 2_000_000, memory = \"1GiB\", timeout = \"3s\" }\n[plugin.b]\nlimits = { steps = 1 }"
	c, warnings, err := loader.ParseConfig("c.toml", "/", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	want := "c.toml:2: plugin.a.limits.memory is over [limits] memory, which applies\n" +
		"c.toml:2: plugin.a.limits.steps is over [limits] steps, which applies\n" +
		"c.toml:2: plugin.a.limits.timeout is over [limits] timeout, which applies\n"
	if diff := gocmp.Diff(want, parseTexts(warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(c.Limits, c.LimitsOf(&loader.Source{Name: "a"})); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
}

// The [limits] of an untrusted project never change the limits of the user's plugins, and only
// lower the limits of the project's plugins.
func TestProjectOnlyLowersLimits(t *testing.T) {
	home := tree(t, "-- .config/starhost/config.toml --\n[limits]\nsteps = 1000\nmemory = 1000\ntimeout = \"1s\"\n")
	repo := tree(t, "-- starhost.toml --\n")
	rapid.Check(t, func(t *rapid.T) {
		steps, memory := rapid.Int64Range(1, 2000).Draw(t, "steps"), rapid.Int64Range(1, 2000).Draw(t, "memory")
		source, output := rapid.Int64Range(1, 512<<10).Draw(t, "source"), rapid.Int64Range(1, 2<<20).Draw(t, "output")
		timeout := time.Duration(rapid.Int64Range(1, int64(2*time.Second)).Draw(t, "timeout"))
		src := "[limits]\nsteps = " + itoa(steps) + "\nmemory = " + itoa(memory) + "\ntimeout = \"" + timeout.String() + "\"\n" +
			"source = " + itoa(source) + "\noutput = " + itoa(output) + "\n"
		if err := os.WriteFile(filepath.Join(repo, "starhost.toml"), []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
		c, _, err := loader.LoadConfig(loader.ConfigOptions{Dir: repo, Getenv: env("HOME", home)})
		if err != nil {
			t.Fatal(err)
		}
		user := loader.LimitsConfig{Steps: 1000, Memory: 1000, Timeout: time.Second, Source: 256 << 10, Output: 1 << 20}
		own := loader.LimitsConfig{
			Steps: min(1000, uint64(steps)), Memory: min(1000, uint64(memory)), Timeout: min(time.Second, timeout),
			Source: min(256<<10, source), Output: min(1<<20, output),
		}
		for s, want := range map[*loader.Source]loader.LimitsConfig{
			{Name: "argument"}: user,
			{Name: "named", Place: loader.Place{File: "config.toml"}}: user,
			{Name: "own", Project: true}:                              own,
		} {
			if diff := gocmp.Diff(want, c.LimitsOf(s)); diff != "" {
				t.Fatalf("limits of %s (-want +got):\n%s", s.Name, diff)
			}
		}
		if diff := gocmp.Diff(user, c.Limits); diff != "" {
			t.Fatalf("limits (-want +got):\n%s", diff)
		}
	})
}

// TestProjectSetsWhatApplies checks that a project may repeat a limit, and name a plugin as a table
// that is the user's.
func TestProjectSetsWhatApplies(t *testing.T) {
	home := tree(t, "-- .config/starhost/config.toml --\nlimits.event = 1000\n")
	repo := tree(t, "-- starhost.toml --\nlimits.event = 1000\n[plugin.log]\nx = 1\n")
	_, warnings, err := loader.LoadConfig(loader.ConfigOptions{Dir: repo, Getenv: env("HOME", home)})
	if err != nil || len(warnings) > 0 {
		t.Errorf("got %v, %v, want neither an error nor a warning", parseTexts(warnings), err)
	}
}

// TestSecretNameBound checks the longest name of a secret.
func TestSecretNameBound(t *testing.T) {
	for n, want := range map[int]bool{64: true, 65: false} {
		_, _, err := loader.ParseConfig("starhost.toml", ".", []byte("[mcp.a]\ntoken = \""+strings.Repeat("A", n)+"\""))
		if (err == nil) != want {
			t.Errorf("%d letters: got %v", n, err)
		}
	}
}

// TestRaiseKeepsCopies checks that a raised limit of one config is none of its copies.
func TestRaiseKeepsCopies(t *testing.T) {
	c := loader.LimitsConfig{Raised: map[string]string{"steps": "--max-steps"}}
	other := c
	c.Raise("memory", "--max-memory")
	if len(other.Raised) != 1 || len(c.Raised) != 2 {
		t.Errorf("got %v and %v", other.Raised, c.Raised)
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func TestWhichFilesAreRead(t *testing.T) {
	const files = `
-- home/.config/starhost/config.toml --
[prompt]
max_tokens = 1
-- xdg/starhost/config.toml --
[prompt]
max_tokens = 2
-- repo/.git/HEAD --
-- repo/starhost.toml --
[prompt]
max_tokens = 3
-- repo/a/b/x --
-- repo/a/ci.toml --
[prompt]
max_tokens = 4
[grants]
a = ["store"]
-- loose/starhost.toml --
[prompt]
max_tokens = 5
-- loose/sub/x --
-- empty/.git/HEAD --
-- broken/starhost.toml/x --
`
	dir := tree(t, files)
	home := filepath.Join(dir, "home")
	tests := []struct {
		name   string
		opts   loader.ConfigOptions
		tokens int
		err    string
	}{
		{"no environment", loader.ConfigOptions{Dir: "empty"}, 0, ""},
		{"user", loader.ConfigOptions{Dir: "empty", Getenv: env("HOME", home)}, 1, ""},
		{"XDG", loader.ConfigOptions{Dir: "empty", Getenv: env("HOME", home, "XDG_CONFIG_HOME", filepath.Join(dir, "xdg"))}, 2, ""},
		{"project wins", loader.ConfigOptions{Dir: "repo/a/b", Getenv: env("HOME", home)}, 3, ""},
		{"-c", loader.ConfigOptions{Dir: "repo/a/b", File: "../ci.toml", Getenv: env("HOME", home)}, 4, ""},
		{"STARHOST_CONFIG", loader.ConfigOptions{Dir: "repo/a", Getenv: env("STARHOST_CONFIG", "ci.toml")}, 4, ""},
		{"-c wins over STARHOST_CONFIG", loader.ConfigOptions{Dir: "repo", File: "starhost.toml", Getenv: env("STARHOST_CONFIG", "none")}, 3, ""},
		{"--no-config", loader.ConfigOptions{Dir: "repo", None: true, Getenv: env("HOME", home, "STARHOST_CONFIG", "none")}, 0, ""},
		{"no repository, here", loader.ConfigOptions{Dir: "loose"}, 5, ""},
		{"no repository, above", loader.ConfigOptions{Dir: "loose/sub"}, 0, ""},
		{"-c and --no-config", loader.ConfigOptions{Dir: "repo", None: true, File: "x"}, 0, "got --config x and --no-config, want one of them"},
		{"-c missing", loader.ConfigOptions{Dir: "repo", File: "x.toml"}, 0, "x.toml: no such file or folder"},
		{"a folder", loader.ConfigOptions{Dir: "broken"}, 0, "starhost.toml: got a folder, want a config file"},
		{"environment of a wrong kind", loader.ConfigOptions{Dir: "empty", File: "/dev/null"}, 0, "/dev/null: got a special file, want a config file"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.opts.Dir = filepath.Join(dir, test.opts.Dir)
			test.opts.Strict = true
			c, warnings, err := loader.LoadConfig(test.opts)
			if err != nil || test.err != "" {
				if err == nil || err.Error() != test.err {
					t.Fatalf("error: got %v, want %s", err, test.err)
				}
				return
			}
			if len(warnings) > 0 {
				t.Errorf("warnings: got %v, want none", warnings)
			}
			if c.Prompt.MaxTokens != test.tokens {
				t.Errorf("max_tokens: got %d, want %d", c.Prompt.MaxTokens, test.tokens)
			}
		})
	}
}

func TestLoadConfigErrors(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"syntax", "x", "starhost.toml:1:1: invalid TOML: unexpected EOF; expected key separator '='"},
		{"wrong type of what waits for its plugin", "limits.steps = 7\n[plugin.a]\nmode = 1", "starhost.toml:3: plugin.a.mode: got 1, want one of enforce, warn"},
		{"paths", "[plugins]\npaths = [\"~/x\"]", "starhost.toml:2: plugins.paths: got a list, want a path without ~: HOME is not set"},
		{"large", strings.Repeat("\n", 1<<20+1), "starhost.toml: got 1048577 bytes, want at most 1048576"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := tree(t, "")
			if err := os.WriteFile(filepath.Join(dir, "starhost.toml"), []byte(test.src), 0o644); err != nil {
				t.Fatal(err)
			}
			c, warnings, err := loader.LoadConfig(loader.ConfigOptions{Dir: dir})
			if err != nil {
				t.Fatalf("an untrusted project: got %v, want a warning", err)
			}
			_, _, err = loader.LoadConfig(loader.ConfigOptions{Dir: dir, Strict: true})
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("strict: got %v, want %s", err, test.want)
			}
			if c.Limits.Steps != 1_000_000 || c.Plugin["a"] != nil || len(c.Plugins.Paths) > 0 {
				t.Errorf("got a part of the config: %+v", c)
			}
			const ignored = ": this config is ignored, because the project is not trusted"
			if len(warnings) != 1 || !strings.HasPrefix(warnings[0].String(), test.want) ||
				!strings.HasSuffix(warnings[0].Msg, ignored) {
				t.Errorf("warnings: got %v", warnings)
			}
			if _, _, err := loader.LoadConfig(loader.ConfigOptions{Dir: dir, File: "starhost.toml"}); err == nil && test.name != "paths" {
				t.Error("as the user's own: got no error")
			}
		})
	}
}

func TestPaths(t *testing.T) {
	tests := []struct{ name, files, want string }{
		{"folder", "-- plugins/a.star --\n-- b.star --\n", "plugins"},
		{"files", "-- b.star --\n-- a.star --\n-- .c.star --\n-- d.txt --\n", "a.star b.star"},
		{"in a plugin", "-- lib.star --\n-- plugin.star --\n", "plugin.star"},
		{"nothing", "-- d.txt --\n", "no plugins: got no PATH, no [plugins] paths in starhost.toml, no ./plugins and no ./*.star"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			paths, err := parse(t, "").Paths(tree(t, test.files), nil)
			var shown []string
			for _, p := range paths {
				shown = append(shown, p.Shown)
				if !p.Project {
					t.Errorf("%s: got an operator's path, want one nobody named", p.Shown)
				}
			}
			got := strings.Join(shown, " ")
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	if _, err := parse(t, "").Paths("no/such/folder", nil); err == nil || err.Error() != "no/such/folder: no such file or folder" {
		t.Errorf("missing folder: got %v", err)
	}
}

func TestWorkspace(t *testing.T) {
	dir := tree(t, "-- repo/.git/HEAD --\n-- repo/a/starhost.toml --\n-- repo/a/b/c/x --\n-- repo/d/x --\n-- loose/x --\n")
	for from, want := range map[string]string{"repo/a/b/c": "repo/a", "repo/d": "repo", "repo": "repo", "loose": "loose"} {
		got, err := loader.Workspace(filepath.Join(dir, from))
		if err != nil || got != filepath.Join(dir, want) {
			t.Errorf("workspace of %s: got %s, %v, want %s", from, got, err, want)
		}
	}
}

func TestCodesAreDocumentedAndTrue(t *testing.T) {
	last := ""
	for _, c := range loader.Codes() {
		t.Run(c.Code, func(t *testing.T) {
			if cmp.Compare(last, c.Code) >= 0 || c.Title == "" || c.Text == "" || c.Bad == "" || c.Good == "" {
				t.Errorf("got %+v, want all fields, in order", c)
			}
			last = c.Code
			bad := c.Bad
			switch c.Code {
			case "E0608": // its example is too large
				bad = strings.Repeat("#", 1<<20+1)
			case "E0613", "E0614", "E0616", "E0617", "E0618": // see TestTrustIsInTheBytes, TestTrustNeeds, TestManagedOwner, TestBundle
				return
			}
			if got := outcome(t, bad); got != c.Code {
				t.Errorf("bad example: got code %q", got)
			}
			if got := outcome(t, c.Good); got != "" {
				t.Errorf("good example: got code %q", got)
			}
		})
	}
}

// outcome runs an example of a code and returns the code of the first failure.
func outcome(t *testing.T, example string) string {
	t.Helper()
	var err error
	switch command, isCommand := strings.CutPrefix(example, "starhost eval "); {
	case isCommand:
		l := loads(t, "-- oncall.star --\nplugin(config = {\"team\": \"checkout\"})\n", strings.Fields(command)...)
		if err = l.err; err == nil {
			err = l.set.Err()
		}
	case strings.HasPrefix(example, "-- "):
		err = loadHere(t, tree(t, example))
	default:
		_, _, err = loader.ParseConfig("c.toml", "/", []byte(example))
	}
	var coded interface{ Code() string }
	var located *starlark.Error
	switch {
	case errors.As(err, &located):
		return located.Code
	case errors.As(err, &coded):
		return coded.Code()
	}
	return ""
}

// loadHere loads the plugins of a current folder and returns the first error.
func loadHere(t *testing.T, dir string) error {
	t.Helper()
	c, _, err := loader.LoadConfig(loader.ConfigOptions{Dir: dir, Strict: true})
	if err != nil {
		return err
	}
	args := []string{"."}
	if _, err := os.Stat(filepath.Join(dir, "plugins")); err == nil {
		args = nil
	}
	set, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: dir, Args: args})
	if err != nil {
		return err
	}
	defer set.Close()
	return set.Err()
}

// The law: the loader reads a config, or refuses it at a place in the file. Plugins get only values
// that JSON can express.
func FuzzParseConfig(f *testing.F) {
	f.Add(full)
	f.Add("[plugin.a]\nb = [nan]\n[limits]\nmemory = \"1 KiB\"")
	f.Add("\x1b")
	f.Add("plugins.paths = [\"\"]\r\nplugin.\"\".\"\" = 1979-05-27")
	f.Fuzz(func(t *testing.T, src string) {
		c, _, err := loader.ParseConfig("c.toml", "/ops", []byte(src))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "c.toml:") {
				t.Errorf("got %v, want a place", err)
			}
			return
		}
		for name, p := range c.Plugin {
			for key, v := range p.Values {
				if !jsonable(v.V) {
					t.Errorf("plugin.%s.%s: got %#v, want a JSON-able value", name, key, v.V)
				}
			}
		}
	})
}

func jsonable(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if !jsonable(item) {
				return false
			}
		}
	case map[string]any:
		for _, item := range v {
			if !jsonable(item) {
				return false
			}
		}
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case string, int64, bool:
	default:
		return false
	}
	return true
}

// TestStoreSchemes checks that the URL of the store has one of the schemes, in a file and in the
// environment, and that an error does not show the URL.
func TestStoreSchemes(t *testing.T) {
	for url, ok := range map[string]bool{
		"sqlite:": true, "sqlite:/x/y.db": true, "postgres://me:hunter2@db/x": true, "llm:/x": true, "none": true,
		"": false, "sqlit:": false, "mysql://me:hunter2@db/x": false, "postgres:x": false, "None": false, "/x/y.db": false,
	} {
		_, _, err := loader.ParseConfig("c.toml", "/", fmt.Appendf(nil, "store.url = %q", url))
		getenv := func(name string) string { return map[string]string{"STARHOST_STORE": url}[name] }
		_, _, fromEnv := loader.LoadConfig(loader.ConfigOptions{None: true, Getenv: getenv})
		if (err == nil) != ok || (fromEnv == nil) != (ok || url == "") {
			t.Errorf("%s: got %v, in the environment %v", url, err, fromEnv)
		}
		for _, err := range []error{err, fromEnv} {
			if err != nil && (strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "store.url: want sqlite:")) {
				t.Errorf("%s: got %v", url, err)
			}
		}
	}
}

// TestUntrustedGrants checks that starhost reports typing mistakes in the grants of a project
// before the operator trusts it.
func TestUntrustedGrants(t *testing.T) {
	dir := tree(t, "-- .git/x --\n-- starhost.toml --\ngrants.oncal = [\"store\"]\ngrants.host = [\"http:x\"]\n-- plugins/oncall.star --\n")
	c, warnings, err := loader.LoadConfig(loader.ConfigOptions{Dir: dir})
	if err != nil || len(warnings) != 2 {
		t.Fatalf("got %v, %v, want two ignored grants", warnings, err)
	}
	set, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	want := "[starhost.toml:1: grants.oncal: no plugin is named oncal (did you mean oncall?)]"
	if got := fmt.Sprint(set.Warnings); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	dir = tree(t, "-- .git/x --\n-- starhost.toml --\ngrants.oncall = [\"fs.raed:*\"]\n")
	_, _, err = loader.LoadConfig(loader.ConfigOptions{Dir: dir, Strict: true})
	if err == nil || !strings.Contains(err.Error(), "starhost.toml:1: grants.oncall: ") {
		t.Errorf("an unknown permission: got %v", err)
	}
}
