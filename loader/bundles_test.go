package loader_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// digest is the identity of the bundle of these tests, which only fleet computes.
const digest = "sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"

// bundleTree writes a managed config with an installed bundle, whose files are in bundle, by their names in
// it, and what the file current says.
func bundleTree(t *testing.T, config, current, bundle string) (dir string, o loader.ConfigOptions) {
	t.Helper()
	folder := "lib/bundles/ops/" + strings.Replace(digest, ":", "-", 1) + "/"
	files := "-- etc/config.toml --\n[status]\npath = \"../lib/status.json\"\n[bundles.ops]\nurl = \"https://policy.example/ops.tar.gz\"\n" + config +
		"-- project/.git/x --\n"
	if current != "" {
		files += "-- lib/bundles/ops/current --\n" + current
	}
	dir, o = managedTree(t, files+strings.ReplaceAll(bundle, "-- ", "-- "+folder))
	for _, name := range []string{"lib", "lib/bundles", "lib/bundles/ops", "lib/bundles/ops/current"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			os.Chmod(filepath.Join(dir, name), info.Mode().Perm()&^0o022)
		}
	}
	return dir, o
}

const opsPlugins = `-- plugins/guard.star --
plugin(config = {"say": "default", "who": "default"}, permissions = ["env:TEAM"])
register_hook("pre_tool_call", lambda: deny(config.say))
-- plugins/other.star --
`

const opsCurrent = digest + "\nguard\n"

// TestBundle checks that an installed bundle is a part of the managed layer, under the managed config, and
// that nobody else changes it.
func TestBundle(t *testing.T) {
	const user = "-- home/.config/starhost/config.toml --\n"
	tests := []struct {
		name, config, bundle string
		want                 string // say, who and steps of the guard's settings, and its grants
	}{
		{"alone", "", opsPlugins, "default default 1000000 []"},
		{"its values", "", "-- starhost.toml --\nplugin.guard.say = \"bundle\"\nlimits.steps = 9000\n" + opsPlugins, "bundle default 9000 []"},
		{"the managed config wins", "[plugin.guard]\nsay = \"managed\"\n", "-- starhost.toml --\nplugin.guard.say = \"bundle\"\nplugin.guard.who = \"bundle\"\n" + opsPlugins, "managed bundle 1000000 []"},
		{"a managed grant", "[grants]\nguard = [\"env:TEAM\"]\n", opsPlugins, "default default 1000000 [env:TEAM]"},
		{"paths", "", "-- starhost.toml --\nplugins.paths = [\"p\"]\n" + strings.ReplaceAll(opsPlugins, "plugins/", "p/"), "default default 1000000 []"},
		{"beside managed paths", "[plugins]\npaths = [\"more\"]\n-- etc/more/third.star --\n", opsPlugins, "default default 1000000 []"},
		{"the user", user + "plugins.disabled = [\"guard\"]\nplugin.guard.say = \"user\"\nplugin.guard.mode = \"warn\"\nbundles.ops.url = \"https://evil.example/x\"\n", opsPlugins, "default default 1000000 []"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, o := bundleTree(t, tt.config, opsCurrent, tt.bundle)
			c, _, err := loader.LoadConfig(o)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Bundles["ops"].URL; got != "https://policy.example/ops.tar.gz" {
				t.Errorf("url: got %s", got)
			}
			set, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: o.Dir})
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			p := set.Plugins[0]
			if p.Name != "guard" || !p.Managed || p.Mode != "enforce" || p.Status != loader.StatusLoaded {
				t.Fatalf("got %s %s, mode %s, managed %v, %v", p.Name, p.Status, p.Mode, p.Managed, p.Err)
			}
			turn, err := set.Host.NewSession(host.SessionConfig{}).Begin(t.Context(), host.Request{Text: "x"})
			if err != nil {
				t.Fatal(err)
			}
			value, _, err := p.Inside.Eval(t.Context(), turn, `config.say + " " + config.who`)
			got := fmt.Sprint(strings.Trim(value, `"`), " ", c.LimitsOf(set.Sources[0]).Steps, " ", p.Granted)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("settings (-want +got):\n%s%v", diff, err)
			}
			for _, name := range []string{"other", "third"} {
				if i := slices.IndexFunc(set.Plugins, func(p loader.Plugin) bool { return p.Name == name }); i >= 0 && !set.Plugins[i].Managed {
					t.Errorf("%s is no managed plugin", name)
				}
			}
		})
	}
}

// TestBundleSettings checks that the config of a bundle sets nothing that opens a machine, and that such
// a bundle makes the managed config unusable, so that hook blocks.
func TestBundleSettings(t *testing.T) {
	for text, want := range map[string]string{
		`grants.guard = ["env:TEAM"]`:                "E0617",
		`secrets.TOKEN.command = ["sh", "-c", "id"]`: "E0617",
		`store.url = "none"`:                         "E0617",
		`mcp.x.command = ["sh"]`:                     "E0617",
		`process.x.command = ["sh"]`:                 "E0617",
		`log.enabled = false`:                        "E0617",
		`redact.patterns = []`:                       "E0617",
		`shell.trusted = ["make"]`:                   "E0617",
		`kinds.x.kind = "other"`:                     "E0617",
		`tools.deny = []`:                            "E0617",
		`model.default = "x/y"`:                      "E0617",
		`prompt.max_tokens = 0`:                      "E0617",
		`trust.pin = []`:                             "E0617",
		`serve.tools.roles = []`:                     "E0617",
		`status.path = "/x"`:                         "E0617",
		`bundles.ops.url = "https://evil.example/x"`: "E0617",
		`plugins.disabled = ["other"]`:               "E0617",
		`plugins.enabled = ["guard"]`:                "E0617",
		`limits.rounds = 1`:                          "E0617",
		`limits.answer = 1`:                          "E0617",
		`nonsense = 1`:                               "E0617",
		`limits.steps = 1_000_001`:                   "E0603",
		`limits.memory = "65MiB"`:                    "E0603",
		`limits.timeout = "3s"`:                      "E0603",
		`limits.event = 10_000_001`:                  "E0603",
		`limits.source = "1MiB"`:                     "E0603",
		`limits.output = "2MiB"`:                     "E0603",
		`plugins.paths = ["/etc"]`:                   "E0603",
		`plugins.paths = ["../.."]`:                  "E0603",
		`libraries.lib = "/etc"`:                     "E0603",
		`plugins.paths = ["~/p"]`:                    "E0603",
		"[":                                          "E0601",
	} {
		_, o := bundleTree(t, "", opsCurrent, "-- starhost.toml --\n"+text+"\n"+opsPlugins)
		_, _, err := loader.LoadConfig(o)
		var e *loader.Error
		if !errors.As(err, &e) || e.Code() != want || !errors.Is(err, loader.ErrManaged) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	all := "limits.steps = 1_000_000\nlimits.memory = \"64MiB\"\nlimits.timeout = \"2s\"\nlimits.event = 10_000_000\nlimits.source = \"256KiB\"\nlimits.output = \"1MiB\"\n" +
		"plugins.required = [\"guard\"]\nlibraries.lib = \"lib\"\nplugin.guard.mode = \"warn\"\nplugin.guard.limits.steps = 5_000_000\n"
	_, o := bundleTree(t, "", opsCurrent, "-- starhost.toml --\n"+all+opsPlugins)
	if _, _, err := loader.LoadConfig(o); err != nil {
		t.Errorf("what a bundle may set: %v", err)
	}
}

// TestBundleLost checks that a bundle that is missing or changed is never just absent.
func TestBundleLost(t *testing.T) {
	const folder = "lib/bundles/ops"
	version := folder + "/" + strings.Replace(digest, ":", "-", 1)
	for _, tt := range []struct {
		name, current string
		spoil         func(dir string) error
		want          string // the code of the first error
	}{
		{"never synced", "", nil, "E0618"},
		{"no digest", "latest\n", nil, "E0618"},
		{"a path", "../../../../etc\n", nil, "E0618"},
		{"an empty file", "\n", nil, "E0618"},
		{"a required plugin that is a path", digest + "\n../x\n", nil, "E0618"},
		{"another version", strings.Replace(opsCurrent, "5f", "6f", 1), nil, "E0618"},
		{"the folder is gone", opsCurrent, func(dir string) error { return os.RemoveAll(dir + "/" + version) }, "E0618"},
		{"a plugin is gone", opsCurrent, func(dir string) error { return os.Remove(dir + "/" + version + "/plugins/guard.star") }, "E0609"},
		{"a plugin is broken", opsCurrent, func(dir string) error {
			return os.WriteFile(dir+"/"+version+"/plugins/guard.star", []byte("def"), 0o644)
		}, "E01"},
		{"others may write it", opsCurrent, func(dir string) error { return os.Chmod(dir+"/"+folder, 0o777) }, "E0616"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, o := bundleTree(t, "", tt.current, opsPlugins)
			if tt.spoil != nil {
				if err := tt.spoil(dir); err != nil {
					t.Fatal(err)
				}
			}
			c, _, err := loader.LoadConfig(o)
			if err != nil {
				t.Fatal(err)
			}
			set, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: o.Dir, AllowMissing: true, FailOpen: true})
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			var coded interface{ Code() string }
			var script *starlark.Error
			got := ""
			if err := set.Err(); errors.As(err, &script) {
				got = script.Code
			} else if errors.As(err, &coded) {
				got = coded.Code()
			}
			if got == "" || !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %v, want %s", set.Err(), tt.want)
			}
			if lost := set.Host.LostGuards(); !slices.ContainsFunc(lost, func(g host.Guard) bool { return !g.Open }) {
				t.Errorf("--fail-open lifts all of %v", lost)
			}
		})
	}
}
