package loader_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
)

// project is a repository whose config makes settings that need trust, and an operator with a
// separate config and plugins.
const project = `
-- home/.config/starhost/config.toml --
[plugins]
paths = ["~/ops"]
[grants]
oncall = ["store"]
policy = ["store"]
mine = ["store"]
[limits]
steps = 500_000
-- home/ops/policy.star --
-- repo/.git/HEAD --
-- repo/README.md --
-- repo/starhost.toml --
[plugins]
paths = ["plugins"]
[libraries]
lib = "lib"
[plugin.oncall]
team = "checkout"
[grants]
oncall = ["fs.read:notes/**"]
policy = ["exec:sh **"]
[limits]
steps = 900_000
[model]
default = "acme/small"
[secrets]
TOKEN = { command = ["./token.sh", "--quiet"] }
-- repo/token.sh --
echo token
-- repo/lib/text.star --
x = 1
-- repo/plugins/mine.star --
-- repo/plugins/oncall/plugin.star --
load("@lib//text.star", "x")
plugin(config = {"team": ""}, permissions = ["fs.read:notes/**"])
register_fragment_loader("own", lambda arg: files.read(arg))
-- repo/plugins/oncall/data/a.md --
a
-- repo/plugins/oncall/golden/case.txtar --
-- repo/plugins/oncall/.git/HEAD --
-- repo/plugins/oncall/link -> data --
`

// A trustTest has the folder of an operator who works in the project.
type trustTest struct {
	*testing.T
	dir string
	loader.TrustOptions
}

func newTrustTest(t *testing.T) *trustTest {
	dir := tree(t, project)
	return &trustTest{t, dir, loader.TrustOptions{Dir: filepath.Join(dir, "repo"), Getenv: env("HOME", filepath.Join(dir, "home"))}}
}

func (t *trustTest) plan() *loader.TrustPlan {
	t.Helper()
	p, err := t.Plan()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (t *trustTest) trust(path bool) {
	t.Helper()
	if err := t.Trust(t.plan(), path); err != nil {
		t.Fatal(err)
	}
}

func (t *trustTest) config() (*loader.Config, []loader.Warning) {
	t.Helper()
	c, warnings, err := loader.LoadConfig(loader.ConfigOptions{Dir: t.Dir, Getenv: t.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	return c, warnings
}

// load loads the plugins and returns the grants of each.
func (t *trustTest) load(args ...string) (*loader.Set, string) {
	t.Helper()
	c, _ := t.config()
	set, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: t.Dir, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	var b strings.Builder
	for _, p := range set.Plugins {
		fmt.Fprintln(&b, p.Name, p.Status, strings.Join(p.Granted, ", "))
	}
	return set, b.String()
}

func (t *trustTest) path(name string) string { return filepath.Join(t.dir, filepath.FromSlash(name)) }

const untrustedGrants = "policy loaded store\nmine loaded \noncall loaded \n"

func TestTrust(t *testing.T) {
	p := newTrustTest(t)
	if _, got := p.load(); got != untrustedGrants {
		t.Errorf("before: got %s, want %s", got, untrustedGrants)
	}
	_, warnings := p.config()
	if got := parseTexts(warnings); !strings.Contains(got, "starhost.toml:8: grants.oncall is ignored: this project is not trusted (starhost trust shows the settings that would apply)\n") {
		t.Errorf("warnings: got %s", got)
	}

	plan := p.plan()
	var settings []string
	for _, s := range plan.Settings {
		settings = append(settings, s.String()+"  # "+s.Place.String())
	}
	wantSettings := []string{
		`grants.oncall = ["fs.read:notes/**"]  # starhost.toml:8`,
		`grants.policy = ["exec:sh **"]  # starhost.toml:9`,
		`secrets.TOKEN.command = ["./token.sh", "--quiet"]  # starhost.toml:15`,
		`limits.steps = 900000  # starhost.toml:11`,
		`model.default = "acme/small"  # starhost.toml:13`,
	}
	wantFiles := []string{
		"lib/text.star", "plugins/mine.star", "plugins/oncall/data/a.md", "plugins/oncall/golden/case.txtar", "plugins/oncall/link",
		"plugins/oncall/plugin.star", "starhost.toml", "token.sh",
	}
	got := []any{plan.Config, plan.State, settings, plan.Files, plan.Changes}
	want := []any{"starhost.toml", loader.Untrusted, wantSettings, wantFiles, []loader.Change(nil)}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}

	if err := p.Trust(plan, false); err != nil {
		t.Fatal(err)
	}
	if got := p.plan().State; got != loader.Trusted {
		t.Errorf("state: got %s", got)
	}
	c, warnings := p.config()
	if len(warnings) > 0 || c.Limits.Steps != 500_000 || c.Model.Default != "acme/small" {
		t.Errorf("after: got warnings %s, steps %d, model %q", parseTexts(warnings), c.Limits.Steps, c.Model.Default)
	}
	if got := c.LimitsOf(&loader.Source{Name: "mine", Project: true}).Steps; got != 900_000 {
		t.Errorf("steps of the project's plugins: got %d", got)
	}
	// The grants of the operator and of the project apply only to their own plugins, even if the
	// names are
	// equal.
	if _, got := p.load(); got != "policy loaded store\nmine loaded \noncall loaded fs.read:notes/**\n" {
		t.Errorf("grants: got %s", got)
	}
	if _, got := p.load("plugins/oncall", "plugins/mine.star"); got != "oncall loaded store, fs.read:notes/**\nmine loaded store\n" {
		t.Errorf("grants of arguments: got %s", got)
	}

	if folder, err := p.Revoke(); err != nil || folder != p.path("repo") {
		t.Errorf("revoke: got %s, %v", folder, err)
	}
	if _, got := p.load(); got != untrustedGrants {
		t.Errorf("after revoke: got %s, want %s", got, untrustedGrants)
	}
}

// If a trusted file changes in any way, the project is untrusted and Plan shows the difference.
func TestTrustEndsWithAChange(t *testing.T) {
	edit := func(name, text string) func(*trustTest) {
		return func(t *trustTest) { write(t, t.path("repo/"+name), text) }
	}
	remove := func(name string) func(*trustTest) {
		return func(t *trustTest) {
			if err := os.Remove(t.path("repo/" + name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name   string
		change func(*trustTest)
		want   string // changes
	}{
		{"nothing", func(*trustTest) {}, ""},
		{"a file of no plugin", edit("README.md", "x"), ""},
		{"the repository of a plugin", edit("plugins/oncall/.git/HEAD", "x"), ""},
		{"a comment of the config", func(t *trustTest) {
			src, err := os.ReadFile(t.path("repo/starhost.toml"))
			if err != nil {
				t.Fatal(err)
			}
			write(t, t.path("repo/starhost.toml"), string(src)+"# a comment\n")
		}, "~ starhost.toml\n"},
		{"a grant", edit("starhost.toml", "[plugins]\npaths = [\"plugins\"]\n[grants]\noncall = [\"exec:sh **\"]\n[plugin.oncall]\nteam = \"x\"\n"),
			"- grants.oncall = [\"fs.read:notes/**\"]\n- grants.policy = [\"exec:sh **\"]\n" +
				"- secrets.TOKEN.command = [\"./token.sh\", \"--quiet\"]\n- limits.steps = 900000\n- model.default = \"acme/small\"\n" +
				"+ grants.oncall = [\"exec:sh **\"]\n- lib/text.star\n~ starhost.toml\n- token.sh\n"},
		{"a plugin", edit("plugins/oncall/plugin.star", "x = 2"), "~ plugins/oncall/plugin.star\n"},
		{"a single file", edit("plugins/mine.star", "x = 2"), "~ plugins/mine.star\n"},
		{"data", edit("plugins/oncall/data/a.md", "b"), "~ plugins/oncall/data/a.md\n"},
		{"a golden case", edit("plugins/oncall/golden/case.txtar", "b"), "~ plugins/oncall/golden/case.txtar\n"},
		{"a new file", edit("plugins/oncall/.hidden.md", "b"), "+ plugins/oncall/.hidden.md\n"},
		{"a new plugin", edit("plugins/new.star", ""), "+ plugins/new.star\n"},
		{"a missing file", remove("plugins/oncall/data/a.md"), "- plugins/oncall/data/a.md\n"},
		{"where a link leads", func(t *trustTest) {
			remove("plugins/oncall/link")(t)
			if err := os.Symlink("golden", t.path("repo/plugins/oncall/link")); err != nil {
				t.Fatal(err)
			}
		}, "~ plugins/oncall/link\n"},
		{"a library", edit("lib/text.star", "x = 2"), "~ lib/text.star\n"},
		{"a program of the project", edit("token.sh", "rm -rf /"), "~ token.sh\n"},
		{"the folder of plugins", func(t *trustTest) {
			if err := os.Rename(t.path("repo/plugins"), t.path("repo/gone")); err != nil {
				t.Fatal(err)
			}
		}, "+ plugin.oncall.team = \"checkout\"\n- plugins/mine.star\n- plugins/oncall/data/a.md\n- plugins/oncall/golden/case.txtar\n- plugins/oncall/link\n- plugins/oncall/plugin.star\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newTrustTest(t)
			p.trust(false)
			test.change(p)
			plan := p.plan()
			if diff := gocmp.Diff(test.want, parseTexts(plan.Changes)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			want := loader.Trusted
			if test.want != "" && test.name != "a golden case" { // which decides nothing
				want = loader.Changed
			}
			_, warnings := p.config()
			told := strings.Contains(parseTexts(warnings), "grants.oncall is ignored: this project changed since it was trusted: ") &&
				strings.Contains(parseTexts(warnings), " (starhost trust shows what changed; starhost trust --path trusts the folder while you edit it)")
			if plan.State != want || told != (want == loader.Changed) {
				t.Errorf("got state %s, want %s; warnings:\n%s", plan.State, want, parseTexts(warnings))
			}
			p.trust(false)
			if got := p.plan().State; got != loader.Trusted {
				t.Errorf("trusted again: got %s", got)
			}
		})
	}
}

// A file that a plugin loads from the project's root is a part of what the user trusts, however the
// plugin spells its label.
func TestTrustPinsFilesOfTheRoot(t *testing.T) {
	tests := []struct {
		name, load string
		pinned     bool
	}{
		{"plain", `load("//root.star", "x")`, true},
		{"a blank", `load ("//root.star", "x")`, true},
		{"lines", "load(\n    '//root.star',\n    'x',\n)", true},
		{"raw", `load(r"//root.star", "x")`, true},
		{"three quotes", `load("""//root.star""", "x")`, true},
		{"an escape", `load("\x2f/root.star", "x")`, true},
		{"behind a statement", `y = 1; load("//root.star", "x")`, true},
		{"a comment", `# load("//root.star", "x")`, false},
		{"a text", `y = 'load("//root.star", "x")'`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newTrustTest(t)
			write(t, p.path("repo/root.star"), "x = 1")
			write(t, p.path("repo/plugins/mine.star"), test.load)
			p.trust(false)
			write(t, p.path("repo/root.star"), "x = 2")
			want := ""
			if test.pinned {
				want = "~ root.star\n"
			}
			if diff := gocmp.Diff(want, parseTexts(p.plan().Changes)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// starhost does not use a file that changes between its check and its use.
func TestTrustIsInTheBytes(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"a plugin", "repo/plugins/oncall/plugin.star", "oncall/plugin.star: the file is not as it was when its project was trusted (starhost trust shows the difference; starhost trust --path trusts the folder while you edit it)"},
		{"a library", "repo/lib/text.star", "oncall/plugin.star:1:1: cannot load @lib//text.star: @lib//text.star: the file is not as it was when its project was trusted (starhost trust shows the difference; starhost trust --path trusts the folder while you edit it)"},
		{"a file of no plugin", "repo/README.md", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newTrustTest(t)
			p.trust(false)
			c, _ := p.config()
			write(t, p.path(test.file), "x = 2\n")
			set, err := loader.Load(t.Context(), loader.Options{Config: c, Dir: p.Dir})
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			got := ""
			if err := set.Err(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if test.want != "" && !strings.Contains(detail(set.Err()), "[E0613]") {
				t.Errorf("code: got %s", detail(set.Err()))
			}
		})
	}

	p := newTrustTest(t)
	p.trust(false)
	set, _ := p.load()
	l := &loadTest{set: set}
	if got := l.fragment(t, "own:link/a.md"); got != "a\n" {
		t.Errorf("through a link: got %q", got)
	}
	write(t, p.path("repo/plugins/oncall/data/new.md"), "new")
	const want = "files.read: oncall/data/new.md: the file is not as it was when its project was trusted (starhost trust shows the difference; starhost trust --path trusts the folder while you edit it)"
	if got := l.fragment(t, "own:data/new.md"); got != want {
		t.Errorf("a new file: got %q, want %q", got, want)
	}
	if got := l.fragment(t, "own:.git/HEAD"); !strings.Contains(got, "not as it was") {
		t.Errorf("a file that nobody looked at: got %q", got)
	}
}

// A folder that is trusted as a path may change. Its settings apply only to its own plugins.
func TestTrustPath(t *testing.T) {
	p := newTrustTest(t)
	p.trust(true)
	write(t, p.path("repo/plugins/new.star"), "")
	write(t, p.path("repo/starhost.toml"), "[plugins]\npaths = [\"plugins\"]\n[libraries]\nlib = \"lib\"\n[grants]\nnew = [\"store\"]\nmine = [\"env:HOME\"]\n[plugin.oncall]\nteam = \"x\"\n")
	if got := p.plan().State; got != loader.TrustedPath {
		t.Errorf("state: got %s", got)
	}
	if _, got := p.load(); got != "policy loaded store\nmine loaded env:HOME\nnew loaded store\noncall loaded \n" {
		t.Errorf("grants: got %s", got)
	}
	outside := p.path("home/ops/policy.star")
	if _, got := p.load("plugins/mine.star", outside); got != "mine loaded store, env:HOME\npolicy loaded store\n" {
		t.Errorf("grants of arguments: got %s", got)
	}
	p.trust(false)
	if got := p.plan().State; got != loader.Trusted {
		t.Errorf("trusted again: got %s, want only what is there now", got)
	}
}

func TestTrustList(t *testing.T) {
	p := newTrustTest(t)
	if list, err := p.List(); len(list) > 0 || err != nil {
		t.Errorf("at first: got %v, %v", list, err)
	}
	p.trust(false)
	if err := os.CopyFS(p.path("another"), os.DirFS(p.path("repo"))); err != nil {
		t.Fatal(err)
	}
	other := &trustTest{t, p.dir, loader.TrustOptions{Dir: p.path("another"), Getenv: p.Getenv}}
	if got := other.plan().State; got != loader.Untrusted {
		t.Errorf("a copy elsewhere: got %s", got)
	}
	other.trust(true)
	var got []string
	list, err := p.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		got = append(got, fmt.Sprint(filepath.Base(l.Folder)+" ", l.Path, len(l.Files)))
	}
	if diff := gocmp.Diff([]string{"another true 0", "repo false 7"}, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestTrustRevoke(t *testing.T) {
	p := newTrustTest(t)
	p.trust(false)
	p.Dir = p.path("repo/lib")
	if got := p.plan(); got.State != loader.Trusted || got.Config != "../starhost.toml" {
		t.Errorf("from below: got %s %s", got.State, got.Config)
	}
	if err := os.RemoveAll(p.path("repo")); err != nil {
		t.Fatal(err)
	}
	if folder, err := p.Revoke(); err != nil || folder != p.path("repo") {
		t.Errorf("a folder that is gone: got %s, %v", folder, err)
	}
	if _, err := p.Revoke(); err == nil || !strings.HasSuffix(err.Error(), " is no trusted project, and in none (starhost trust --list)") {
		t.Errorf("once more: got %v", err)
	}
}

func TestTrustFile(t *testing.T) {
	p := newTrustTest(t)
	p.trust(false)
	file := p.path("home/.local/state/starhost/trust.json")
	for name, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v, want mode %o", name, info.Mode(), err, want)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v, want the file alone", entries, err)
	}
	var book struct {
		Trust    int
		Projects []loader.TrustedProject
	}
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &book) != nil || book.Trust != 1 || len(book.Projects) != 1 {
		t.Errorf("got %s, %v", text, err)
	}
}

// If the list of trusted projects is damaged or others may write it, no project is trusted.
func TestTrustFileThatIsBroken(t *testing.T) {
	const shown = "~/.local/state/starhost/trust.json: "
	tests := []struct {
		name, want string
		breaks     func(t *testing.T, file string)
	}{
		{"no JSON", "this is no list of trusted projects of version 1 (remove it, and trust again)", func(t *testing.T, file string) { write(t, file, "{") }},
		{"another version", "this is no list of trusted projects of version 1 (remove it, and trust again)", func(t *testing.T, file string) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			write(t, file, strings.Replace(string(text), `"trust": 1`, `"trust": 2`, 1))
		}},
		{"others may write it", "others may write it, so starhost ignores it: want mode 0600 (check the file, then chmod 600 ~/.local/state/starhost/trust.json)", func(t *testing.T, file string) {
			if err := os.Chmod(file, 0o620); err != nil {
				t.Fatal(err)
			}
		}},
		{"too large", "got 67108865 bytes, want at most 67108864", func(t *testing.T, file string) {
			if err := os.Truncate(file, 64<<20+1); err != nil {
				t.Fatal(err)
			}
		}},
		{"a folder", "is a directory", func(t *testing.T, file string) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(file, 0o700); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newTrustTest(t)
			p.trust(false)
			test.breaks(t, p.path("home/.local/state/starhost/trust.json"))
			_, warnings := p.config()
			if got, want := parseTexts(warnings), "no project is trusted: "+shown+test.want+"\n"; !strings.HasPrefix(got, want) {
				t.Errorf("warnings: got %s, want %s first", got, want)
			}
			if _, got := p.load(); got != untrustedGrants {
				t.Errorf("grants: got %s", got)
			}
			for name, act := range map[string]func() error{
				"Plan":   func() error { _, err := p.Plan(); return err },
				"List":   func() error { _, err := p.List(); return err },
				"Revoke": func() error { _, err := p.Revoke(); return err },
				"Trust":  func() error { return p.Trust(&loader.TrustPlan{}, false) },
			} {
				if err := act(); err == nil || err.Error() != shown+test.want {
					t.Errorf("%s: got %v, want %s", name, err, shown+test.want)
				}
			}
		})
	}
}

func TestTrustNeeds(t *testing.T) {
	dir := tree(t, "-- repo/.git/HEAD --\n-- home/x --\n-- bad/.git/HEAD --\n-- bad/starhost.toml --\n[pluginz]\n-- file --\n")
	home := env("HOME", filepath.Join(dir, "home"))
	tests := []struct{ name, dir, want string }{
		{"a config", "repo", "there is no starhost.toml here or above, up to the repository root: nothing to trust [E0614]\n"},
		{"a good config", "bad", "starhost.toml:1: unknown key \"pluginz\" (did you mean plugins?) [E0602]\n"},
	}
	for _, test := range tests {
		_, err := loader.TrustOptions{Dir: filepath.Join(dir, test.dir), Getenv: home}.Plan()
		if err == nil || detail(err) != test.want {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
	const noPlace = "there is no folder for the list of trusted projects: want HOME or XDG_STATE_HOME"
	if _, err := (loader.TrustOptions{Dir: dir}).List(); err == nil || err.Error() != noPlace {
		t.Errorf("no home: got %v", err)
	}
	o := loader.TrustOptions{Dir: dir, Getenv: env("XDG_STATE_HOME", filepath.Join(dir, "file"))}
	if err := o.Trust(&loader.TrustPlan{}, true); err == nil || err.Error() != filepath.Join(dir, "file")+"/starhost/trust.json: not a directory" {
		t.Errorf("a file for a folder: got %v", err)
	}
}

// The folder of a plugin may be the project's folder, with its repository in it.
func TestTrustProjectThatIsAPlugin(t *testing.T) {
	dir := tree(t, "-- oncall/.git/HEAD --\n-- oncall/starhost.toml --\n[plugins]\npaths = [\".\"]\n[grants]\noncall = [\"store\"]\n-- oncall/plugin.star --\n")
	p := &trustTest{t, dir, loader.TrustOptions{Dir: filepath.Join(dir, "oncall"), Getenv: env("HOME", dir)}}
	p.trust(false)
	write(t, filepath.Join(dir, "oncall", ".git", "HEAD"), "another")
	if _, got := p.load(); got != "oncall loaded store\n" {
		t.Errorf("got %s", got)
	}
}

// A project that is too large to hash at each start cannot be trusted by its bytes.
func TestTrustIsBounded(t *testing.T) {
	p := newTrustTest(t)
	file := p.path("repo/plugins/oncall/data/big")
	write(t, file, "")
	if err := os.Truncate(file, 64<<20+1); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Plan(); err == nil || err.Error() != "plugins/oncall: got more than 67108864 bytes to trust" {
		t.Errorf("got %v", err)
	}
}

// TestUncountedGrants checks that a lacking permission names the grants that do not count, how to
// make them count, and no others.
func TestUncountedGrants(t *testing.T) {
	p := newTrustTest(t)
	write(t, p.path("repo/plugins/oncall/plugin.star"), "plugin(config = {\"team\": \"\"}, permissions = [\"fs.read:notes/**\"])\n"+
		"register_fragment_loader(\"own\", lambda ctx, arg: ctx.fs.read(arg))\n")
	note := func() string {
		t.Helper()
		set, _ := p.load()
		_, err := set.Host.NewSession(host.SessionConfig{}).Prompt(t.Context(), host.Request{Text: "?", Fragments: []string{"own:notes/a.md"}})
		return fmt.Sprint(err)
	}
	const changed = "or starhost trust --path while you edit it"
	if got := note(); !strings.Contains(got, "starhost.toml:8 grants it, which does not count: this project is not trusted") || strings.Contains(got, changed) {
		t.Errorf("before: got %s", got)
	}
	p.trust(false)
	if got := note(); strings.Contains(got, "does not count") {
		t.Errorf("trusted: got %s", got)
	}
	write(t, p.path("repo/token.sh"), "echo other")
	if got := note(); !strings.Contains(got, "this project changed since it was trusted") || !strings.Contains(got, changed) {
		t.Errorf("changed: got %s", got)
	}
}

// TestTrustedGrantOfNobody checks that a trusted project's grant for no plugin is reported once.
func TestTrustedGrantOfNobody(t *testing.T) {
	p := newTrustTest(t)
	write(t, p.path("repo/starhost.toml"), "[plugins]\npaths = [\"plugins\"]\n[grants]\noncal = [\"store\"]\nmine = [\"store\"]\n")
	p.trust(false)
	set, _ := p.load()
	want := "starhost.toml:4: grants.oncal: no plugin is named oncal (did you mean oncall?)\n"
	got := strings.ReplaceAll(parseTexts(set.Warnings), "~/.config/starhost/config.toml", "config.toml")
	if !strings.Contains(got, want) || strings.Count(got, "oncal:") != 1 || strings.Contains(got, "grants.mine") {
		t.Errorf("got %s, want %s", got, want)
	}
}
