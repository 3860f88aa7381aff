package loader_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
)

// managedTree writes the files of an archive, and makes the managed folder as checkManaged wants
// it. Home is HOME and project the current folder.
func managedTree(t *testing.T, archive string) (dir string, o loader.ConfigOptions) {
	t.Helper()
	dir = tree(t, archive)
	for _, name := range []string{"etc", "etc/config.toml"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			os.Chmod(filepath.Join(dir, name), info.Mode().Perm()&^0o022)
		}
	}
	env := map[string]string{"HOME": filepath.Join(dir, "home")}
	return dir, loader.ConfigOptions{
		Dir: filepath.Join(dir, "project"), Managed: filepath.Join(dir, "etc", "config.toml"),
		Getenv: func(name string) string { return env[name] },
	}
}

// managedGuard is a managed plugin that needs some steps to load.
const managedGuard = `-- etc/guards/guard.star --
plugin(config = {"strict": True, "level": 1}, permissions = ["env:A", "env:B"])
x = [i * i for i in range(100)]
register_hook("pre_tool_call", lambda: deny("strict %s level %d" % (config.strict, config.level)))
-- project/.git/x --
`

// TestManagedPlugins checks that no other layer and no flag turns a managed guard off, softens it
// or changes its settings, limits and permissions.
func TestManagedPlugins(t *testing.T) {
	const paths = "-- etc/config.toml --\nplugins.paths = [\"guards\"]\nplugins.required = [\"guard\"]\n"
	const user, project = "-- home/.config/starhost/config.toml --\n", "-- project/starhost.toml --\n"
	tests := []struct {
		name, files string
		options     func(*loader.ConfigOptions)
		load        func(*loader.Options)
		want        string // the warnings, without the folder
	}{
		{name: "no other config"},
		{name: "the user disables it", files: user + "plugins.disabled = [\"guard\"]\n",
			want: "~/.config/starhost/config.toml:1: plugins.disabled.guard is ignored: guard is a plugin of the managed config, which alone configures it"},
		{name: "the user enables others", files: user + "plugins.enabled = [\"other\"]\n-- project/plugins/other.star --\n"},
		{name: "the user sets it to warn", files: user + "plugin.guard.mode = \"warn\"\n",
			want: "~/.config/starhost/config.toml:1: plugin.guard.mode is ignored: guard is a plugin of the managed config, which alone configures it"},
		{name: "the user changes a setting", files: user + "plugin.guard.strict = false\n",
			want: "~/.config/starhost/config.toml:1: plugin.guard.strict is ignored: guard is a plugin of the managed config, which alone configures it"},
		{name: "the user lowers its limits", files: user + "plugin.guard.limits.steps = 1\n",
			want: "~/.config/starhost/config.toml:1: plugin.guard.limits.steps is ignored: guard is a plugin of the managed config, which alone configures it"},
		{name: "the user lowers all limits", files: user + "limits.steps = 1\nlimits.source = 1\nlimits.memory = 1\n"},
		{name: "the user grants", files: user + "grants.guard = [\"env:A\"]\n",
			want: "~/.config/starhost/config.toml:1: grants.guard is ignored: guard is a plugin of the managed config, which alone configures it"},
		{name: "the user has other paths", files: user + "plugins.paths = [\"p\"]\n-- home/.config/starhost/p/other.star --\n"},
		{name: "no config", options: func(c *loader.ConfigOptions) { c.None = true }},
		{name: "another config", files: "-- project/none.toml --\nplugins.disabled = [\"guard\"]\n",
			options: func(c *loader.ConfigOptions) { c.File = "none.toml" },
			want:    "none.toml:1: plugins.disabled.guard is ignored: guard is a plugin of the managed config, which alone configures it"},
		{name: "an argument", files: "-- project/p/other.star --\n",
			load: func(o *loader.Options) { o.Args = []string{"p"} }},
		{name: "the plugin itself as an argument", load: func(o *loader.Options) { o.Args = []string{"../etc/guards/guard.star"} }},
		{name: "a flag sets a value", load: func(o *loader.Options) { o.Set = []string{"guard.strict=false"} },
			want: "--set guard.strict=false is ignored: guard is a plugin of the managed config, which alone configures it"},
		{name: "a flag grants", load: func(o *loader.Options) { o.Grants = []string{"guard=env:B"} },
			want: "--grant guard=env:B is ignored: guard is a plugin of the managed config, which alone configures it"},
		{name: "a program changes the limits", load: func(o *loader.Options) {
			o.Config.Limits.Steps, o.Config.Limits.Source = 1, 1
		}},
		{name: "a program changes the plugins", load: func(o *loader.Options) {
			o.Config.Plugins = loader.PluginsConfig{Disabled: []string{"guard"}}
		}},
		{name: "the project disables it", files: project + "plugins.disabled = [\"guard\"]\n",
			want: "starhost.toml:1: plugins.disabled is ignored: guard is no plugin of this project"},
		{name: "the project softens it", files: project + "plugin.guard.mode = \"warn\"\nplugin.guard.limits.steps = 1\nplugin.guard.strict = false\n",
			want: "starhost.toml:1: plugin.guard.mode is ignored: guard is no plugin of this project\n" +
				"starhost.toml:2: plugin.guard.limits.steps is ignored: guard is no plugin of this project\n" +
				"starhost.toml:3: plugin.guard.strict is ignored: guard is no plugin of this project (starhost trust shows the settings that would apply)"},
		{name: "the project lowers limits", files: project + "limits.steps = 1\nlimits.source = 1\n"},
		{name: "the project has a plugin of the name", files: "-- project/plugins/guard.star --\n"},
		{name: "the project leads to the plugin", files: project + "plugins.paths = [\"../etc/guards\"]\nplugin.guard.mode = \"warn\"\n",
			want: "starhost.toml:1: plugins.paths is ignored: ../etc/guards leaves the project's folder (starhost trust shows the settings that would apply)\n" +
				"starhost.toml:2: plugin.guard.mode is ignored: guard is no plugin of this project"},
	}
	for _, trusted := range []bool{false, true} {
		for _, tt := range tests {
			if trusted && !strings.Contains(tt.files, project) {
				continue // there is no project to trust
			}
			t.Run(fmt.Sprint(tt.name, " ", trusted), func(t *testing.T) {
				_, o := managedTree(t, paths+managedGuard+tt.files)
				if trusted {
					trust := loader.TrustOptions{Dir: o.Dir, Getenv: o.Getenv, Managed: o.Managed}
					plan, err := trust.Plan()
					if err == nil {
						err = trust.Trust(plan, true)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				if tt.options != nil {
					tt.options(&o)
				}
				c, warnings, err := loader.LoadConfig(o)
				if err != nil {
					t.Fatal(err)
				}
				l := loader.Options{Config: c, Dir: o.Dir}
				if tt.load != nil {
					tt.load(&l)
				}
				set, err := loader.Load(t.Context(), l)
				if err != nil {
					t.Fatalf("got %v", err)
				}
				defer set.Close()
				p := set.Plugins[0]
				if p.Name != "guard" || p.Status != loader.StatusLoaded || p.Mode != "enforce" || !p.Managed || len(p.Granted) > 0 {
					t.Errorf("got %s %s, mode %s, granted %v, error %v", p.Name, p.Status, p.Mode, p.Granted, p.Err)
				}
				turn, err := set.Host.NewSession(host.SessionConfig{}).Begin(t.Context(), host.Request{Text: "x"})
				if err != nil {
					t.Fatal(err)
				}
				if value, _, err := p.Inside.Eval(t.Context(), turn, "config.strict"); err != nil || value != "True" {
					t.Errorf("config.strict: got %s, %v", value, err)
				}
				var got []string
				for _, w := range append(warnings, set.Warnings...) {
					got = append(got, w.String())
				}
				if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" && !trusted {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestManagedSettings checks that a setting of the managed config wins over the same setting of
// each other layer.
func TestManagedSettings(t *testing.T) {
	const archive = `-- etc/config.toml --
plugins.enabled = ["a", "b"]
plugins.disabled = ["b"]
plugins.required = ["c"]
plugin.a.team = "ops"
plugin.a.table = {x = 1}
grants.a = ["env:A"]
limits.steps = 5000
tools.deny = ["rm"]
model.default = "acme/managed"
store.url = "none"
libraries.lib = "lib"
[secrets.TOKEN]
file = "/run/token"
[mcp.git]
url = "https://git.example/mcp"
-- home/.config/starhost/config.toml --
plugins.enabled = ["d"]
plugins.disabled = ["e"]
plugin.a.team = "mine"
plugin.a.table = {x = 2, y = 3}
plugin.a.other = true
grants.a = ["env:B"]
grants.z = ["env:C"]
limits.steps = 9000
limits.event = 123
tools.deny = []
model.default = "acme/user"
store.url = "sqlite:mine"
libraries.lib = "mine"
[secrets.TOKEN]
command = ["echo", "x"]
[mcp.git]
command = ["fake"]
approval = "auto"
-- project/.git/x --
-- project/starhost.toml --
limits.steps = 4000
limits.memory = "1MiB"
prompt.render = "xml"
`
	dir, o := managedTree(t, archive)
	getenv := o.Getenv
	o.Getenv = func(name string) string {
		if v := map[string]string{"STARHOST_MODEL": "acme/env", "STARHOST_STORE": "sqlite:env"}[name]; v != "" {
			return v
		}
		return getenv(name)
	}
	c, warnings, err := loader.LoadConfig(o)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("got %v, %v", warnings, err)
	}
	var got []string
	for _, s := range c.Settings() {
		if s.Layer != "built-in" {
			got = append(got, strings.ReplaceAll(fmt.Sprintf("%s  # %s %s", s, s.Layer, s.Place), dir, ""))
		}
	}
	want := `plugins.enabled = ["a", "b"]  # managed /etc/config.toml:1
plugins.disabled = ["e", "b"]  # managed /etc/config.toml:2
plugins.required = ["c"]  # managed /etc/config.toml:3
libraries.lib = "` + "/etc/lib" + `"  # managed /etc/config.toml:11
plugin.a.other = true  # user ~/.config/starhost/config.toml:5
plugin.a.table = {x = 1, y = 3}  # managed /etc/config.toml:5
plugin.a.team = "ops"  # managed /etc/config.toml:4
grants.a = ["env:A"]  # managed /etc/config.toml:6
grants.z = ["env:C"]  # user ~/.config/starhost/config.toml:7
secrets.TOKEN.file = "/run/token"  # managed /etc/config.toml:13
limits.steps = 5000  # managed /etc/config.toml:7
limits.event = 123  # user ~/.config/starhost/config.toml:9
limits.steps = 4000  # project starhost.toml:1
limits.memory = "1MiB"  # project starhost.toml:2
prompt.render = "xml"  # project starhost.toml:3
tools.deny = ["rm"]  # managed /etc/config.toml:8
model.default = "acme/managed"  # managed /etc/config.toml:9
store.url = "none"  # managed /etc/config.toml:10
mcp.git.url = "https://git.example/mcp"  # managed /etc/config.toml:15`
	if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

// TestManagedFlags checks that flags do not change what the managed config sets, also for plugins
// of others, and that nobody else disables or enables what it enables and disables.
func TestManagedFlags(t *testing.T) {
	_, o := managedTree(t, `-- etc/config.toml --
plugins.enabled = ["a", "b"]
plugins.disabled = ["b"]
plugin.a.team = "ops"
grants.a = ["env:A"]
grants.host = []
limits.steps = 5000
-- project/.git/x --
-- project/plugins/a.star --
plugin(config = {"team": "", "n": 1}, permissions = ["env:A", "env:B"])
-- project/plugins/b.star --
-- project/plugins/c.star --
`)
	c, _, err := loader.LoadConfig(o)
	if err != nil {
		t.Fatal(err)
	}
	c.Limits.Steps = 1 << 40
	c.Limits.Raise("steps", "--max-steps")
	set, err := loader.Load(t.Context(), loader.Options{
		Config: c, Dir: o.Dir, Args: []string{"plugins/a.star", "plugins/b.star", "plugins/c.star"},
		Set: []string{"a.team=mine", "a.n=2"}, Grants: []string{"a=env:B", "host=http:*"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var got []string
	for _, p := range set.Plugins {
		got = append(got, fmt.Sprint(p.Name, " ", p.Status, " ", p.Granted))
	}
	for _, w := range set.Warnings {
		got = append(got, strings.ReplaceAll(w.String(), o.Managed, "MANAGED"))
	}
	want := []string{
		"a loaded [env:A]", "b disabled []", "c disabled []",
		"MANAGED:6: --max-steps is ignored: the managed config sets limits.steps",
		"--grant host=http:* is ignored: MANAGED:5 sets grants.host",
		"--grant a=env:B is ignored: MANAGED:4 sets grants.a",
		"--set a.team=mine is ignored: MANAGED:3 sets plugin.a.team",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plugins and warnings (-want +got):\n%s", diff)
	}
	if c.Limits.Steps != 5000 || c.Limits.Raised["steps"] != "" {
		t.Errorf("got %d steps, raised by %v", c.Limits.Steps, c.Limits.Raised)
	}
}

// TestManagedLimitsBoundProjects checks that a trusted project does not raise its limits over those
// of the managed config.
func TestManagedLimitsBoundProjects(t *testing.T) {
	_, o := managedTree(t, `-- etc/config.toml --
limits.steps = 500
-- project/.git/x --
-- project/starhost.toml --
limits.steps = 1_000_000
-- project/plugins/a.star --
x = [i for i in range(1000)]
`)
	trust := loader.TrustOptions{Dir: o.Dir, Getenv: o.Getenv, Managed: o.Managed}
	plan, err := trust.Plan()
	if err == nil {
		err = trust.Trust(plan, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := loader.LoadConfig(o)
	if err != nil {
		t.Fatal(err)
	}
	set, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: o.Dir})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if err := set.Plugins[0].Err; err == nil || !strings.Contains(err.Error(), "500") {
		t.Errorf("got %v, want an error about 500 steps", err)
	}
}

// TestManagedRequired checks that a plugin of another layer does not meet a requirement of the
// managed config by its name.
func TestManagedRequired(t *testing.T) {
	for _, files := range []string{
		"", "-- project/plugins/guard.star --\nx = 1\n", "-- project/plugins/guard.star --\nbroken\n",
		"-- home/.config/starhost/config.toml --\nplugins.paths = [\"p\"]\n-- home/.config/starhost/p/guard.star --\n",
	} {
		_, o := managedTree(t, "-- etc/config.toml --\nplugins.required = [\"guard\"]\n-- project/.git/x --\n"+files)
		c, _, err := loader.LoadConfig(o)
		if err != nil {
			t.Fatal(err)
		}
		set, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: o.Dir, FailOpen: true})
		if err == nil || !strings.Contains(err.Error(), ":1: required plugin guard is not loaded") {
			t.Errorf("%q: got %v", files, err)
		}
		if set == nil {
			continue
		}
		if lost := set.Host.LostGuards(); len(lost) != 1 || lost[0].Open {
			t.Errorf("%q: got lost guards %v", files, lost)
		}
		set.Close()
		if !strings.Contains(files, "x = 1") {
			continue
		}
		sources, _ := loader.Discover([]loader.Path{loader.NewPath(o.Dir, "plugins")}, 0)
		given, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: o.Dir, Sources: sources})
		if err != nil {
			t.Errorf("sources of the caller: got %v", err)
			continue
		}
		given.Close()
	}
}

// TestManagedLibraries checks that a managed plugin loads only libraries of the managed config.
func TestManagedLibraries(t *testing.T) {
	const archive = `-- etc/guards/guard.star --
load("@lib//x.star", "x")
-- etc/lib/x.star --
x = 1
-- home/.config/starhost/config.toml --
libraries.lib = "mine"
-- home/.config/starhost/mine/x.star --
x = 2
-- project/.git/x --
-- etc/config.toml --
plugins.paths = ["guards"]
`
	for _, tt := range []struct{ config, want string }{
		{"", "library lib comes from another config: a managed plugin loads only libraries of the managed config"}, {"libraries.lib = \"lib\"\n", "<nil>"},
	} {
		_, o := managedTree(t, archive+tt.config)
		c, _, err := loader.LoadConfig(o)
		if err != nil {
			t.Fatal(err)
		}
		set, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: o.Dir})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(set.Plugins[0].Err); !strings.Contains(got, tt.want) {
			t.Errorf("%q: got %s, want %s", tt.config, got, tt.want)
		}
		set.Close()
	}
}

// TestManagedBroken checks that a managed config that cannot be used is an error, whatever the
// other options say, and that a missing one is none.
func TestManagedBroken(t *testing.T) {
	chmod := func(name string, mode os.FileMode) func(string) error {
		return func(dir string) error { return os.Chmod(filepath.Join(dir, name), mode) }
	}
	replace := func(with func(file string) error) func(string) error {
		return func(dir string) error {
			file := filepath.Join(dir, "etc", "config.toml")
			return errors.Join(os.Remove(file), with(file))
		}
	}
	write := func(text string) func(string) error {
		return replace(func(file string) error { return os.WriteFile(file, []byte(text), 0o644) })
	}
	tests := []struct {
		name  string
		spoil func(dir string) error
		want  string // "" for no error
	}{
		{"fine", write("limits.steps = 5"), ""},
		{"missing", replace(func(string) error { return nil }), ""},
		{"missing with its folder", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "etc")) }, ""},
		{"no TOML", write("["), "invalid TOML"},
		{"an unknown key", write("limit.steps = 5"), "unknown key"},
		{"a key of later versions", write("[status]\nurl = \"x\""), `unknown key "status.url"`},
		{"a wrong value", write("limits.steps = true"), "limits.steps: got true"},
		{"two wrong values", write("limits.steps = true\ngrants.a = [\"x\"]"), "limits.steps: got true"},
		{"a wrong permission", write("grants.a = [\"x\"]"), "grants.a"},
		{"a path of one user", write("plugins.paths = [\"~/guards\"]"), "the managed config is for all users"},
		{"a huge file", write(strings.Repeat("#", 2<<20)), "got 2097152 bytes"},
		{"a folder", replace(func(file string) error { return os.Mkdir(file, 0o755) }), "got a folder"},
		{"a fifo", replace(func(file string) error { return syscall.Mkfifo(file, 0o600) }), "got a special file"},
		{"a link that leads nowhere", replace(func(file string) error { return os.Symlink("nowhere", file) }), "no such file"},
		{"a link that leads to itself", replace(func(file string) error { return os.Symlink(file, file) }), "too many"},
		{"a folder that is a file", func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "etc")), os.WriteFile(filepath.Join(dir, "etc"), nil, 0o644))
		}, "not a directory"},
		{"a file that everybody may write", chmod("etc/config.toml", 0o646), "etc/config.toml: everybody may write it"},
		{"a folder that everybody may write", chmod("etc", 0o777), "etc: everybody may write it"},
		{"a folder as /tmp", chmod("etc", 0o777|os.ModeSticky), ""},
		{"a link to a file that everybody may write", replace(func(file string) error {
			target := filepath.Join(filepath.Dir(filepath.Dir(file)), "target")
			return errors.Join(os.WriteFile(target, nil, 0o600), os.Chmod(target, 0o666), os.Symlink(target, file))
		}), "target: everybody may write it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, o := managedTree(t, "-- etc/config.toml --\n-- project/.git/x --\n-- project/x.toml --\n")
			if err := tt.spoil(dir); err != nil {
				t.Fatal(err)
			}
			for _, change := range []func(*loader.ConfigOptions){
				func(*loader.ConfigOptions) {}, func(o *loader.ConfigOptions) { o.None = true },
				func(o *loader.ConfigOptions) { o.File = "x.toml" },
				func(o *loader.ConfigOptions) {
					o.Getenv = func(name string) string { return map[string]string{"STARHOST_CONFIG": "x.toml"}[name] }
				},
			} {
				o := o
				change(&o)
				_, _, err := loader.LoadConfig(o)
				if tt.want == "" && err != nil {
					t.Errorf("got %v, want no error", err)
				}
				if tt.want != "" && (!errors.Is(err, loader.ErrManaged) || !strings.Contains(err.Error(), tt.want)) {
					t.Errorf("got %v, want ErrManaged with %s", err, tt.want)
				}
			}
		})
	}
}

// TestManagedOwner checks that starhost refuses a managed config that another user owns, or that a
// group other than root's may write.
func TestManagedOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	for _, tt := range []struct {
		name     string
		uid, gid int
		mode     os.FileMode
		want     string
	}{
		{"etc/config.toml", 1000, 0, 0o600, "user 1000 owns it"},
		{"etc", 1000, 0, 0o700, "user 1000 owns it"},
		{"etc/config.toml", 0, 1000, 0o664, "group 1000 may write it"},
		{"etc", 0, 1000, 0o775, "group 1000 may write it"},
		{"etc/config.toml", 0, 0, 0o664, ""},
	} {
		dir, o := managedTree(t, "-- etc/config.toml --\n-- project/.git/x --\n")
		name := filepath.Join(dir, tt.name)
		if err := errors.Join(os.Chown(name, tt.uid, tt.gid), os.Chmod(name, tt.mode)); err != nil {
			t.Skip(err)
		}
		_, _, err := loader.LoadConfig(o)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %d:%d, %v: got %v, want %q", tt.name, tt.uid, tt.gid, tt.mode, err, tt.want)
		}
	}
}

// TestProjectTables checks that no project sets the tables of the operator, trusted or not, and
// that this takes no other effect from its config.
func TestProjectTables(t *testing.T) {
	for _, table := range []string{"log", "status", "bundles", "store", "kinds", "redact", "shell"} {
		_, o := managedTree(t, "-- project/.git/x --\n-- project/starhost.toml --\n"+
			"limits.steps = 7\n["+table+"]\nurl = \"sqlite:\"\n")
		for _, trusted := range []bool{false, true} {
			if trusted {
				trust := loader.TrustOptions{Dir: o.Dir, Getenv: o.Getenv}
				if plan, err := trust.Plan(); err != nil || trust.Trust(plan, false) != nil {
					t.Fatal(err)
				}
			}
			c, warnings, err := loader.LoadConfig(o)
			if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0].String(), "only the user's and the managed config may set it") {
				t.Errorf("%s, trusted %v: got %v, %v", table, trusted, warnings, err)
				continue
			}
			if s := c.Settings(); !strings.Contains(fmt.Sprint(s), "limits.steps = 7") {
				t.Errorf("%s, trusted %v: the other settings are lost: %v", table, trusted, s)
			}
		}
	}
}

// TestManagedAlone checks that nothing of another layer stays beside a value that the managed
// config sets, also an empty one, and that its own grants are reported as granted alone.
func TestManagedAlone(t *testing.T) {
	_, o := managedTree(t, `-- etc/config.toml --
plugins.paths = ["guards"]
plugin.guard.level = 2
plugin.guard.mode = "warn"
grants.guard = ["env:A"]
log.path = ""
process.review.command = ["managed"]
`+managedGuard+`-- home/.config/starhost/config.toml --
log.path = "audit"
plugin.guard.level = 3
grants.guard = ["env:B"]
process.review = { command = ["mine"], env = ["TOKEN"], timeout = "2s" }
`)
	c, _, err := loader.LoadConfig(o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Log.Path != (loader.Path{}) {
		t.Errorf("log.path: got %v, want none", c.Log.Path)
	}
	set, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: o.Dir})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	shown := shownSettings(set.Config)
	for _, key := range []string{"plugin.guard.", "grants.guard", "process."} {
		for line := range strings.Lines(shown) {
			if strings.HasPrefix(line, key) && strings.Contains(line, "~/.config") {
				t.Errorf("the user's setting stays: %s", line)
			}
		}
	}
	for _, want := range []string{"plugin.guard.level = 2", "plugin.guard.mode = \"warn\"", `grants.guard = ["env:A"]`, "process.review.command"} {
		if !strings.Contains(shown, "\n"+want) {
			t.Errorf("settings lack %s:\n%s", want, shown)
		}
	}
}
