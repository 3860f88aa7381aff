package loader_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// writeFile writes a file and makes its folder.
func writeFile(file, text string) error {
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644))
}

// registered returns the registrations of a plugin as text, without funcs.
func registered(p *starhost.Plugin) string {
	if p == nil {
		return "nothing\n"
	}
	var b strings.Builder
	for _, t := range p.Tools {
		fmt.Fprintln(&b, "tool", t.Name, t.Description, string(t.Parameters), t.Toolset, t.Approval, t.Timeout, t.Roles,
			t.Available != nil, t.Override, t.Pos)
	}
	for _, h := range p.Hooks {
		fmt.Fprintln(&b, "hook", h.Event, h.Priority, h.Match, h.OnError, h.Pure, h.Pos)
	}
	for _, l := range p.FragmentLoaders {
		fmt.Fprintln(&b, "loader", l.Prefix, l.Description, l.Pos)
	}
	for _, l := range p.TemplateLoaders {
		fmt.Fprintln(&b, "template", l.Prefix, l.Description, l.Pos)
	}
	for _, c := range p.Commands {
		fmt.Fprintln(&b, "command", c.Name, c.Aliases, c.Description, c.Complete != nil, c.Pos)
	}
	for _, s := range p.Skills {
		fmt.Fprintln(&b, "skill", s.Name, s.Description, s.Files, s.Pos)
	}
	for _, e := range p.Endpoints {
		data, err := json.Marshal(struct {
			starhost.Endpoint
			Place string
		}{e, e.Pos.String()})
		fmt.Fprintln(&b, "endpoint", string(data), err)
	}
	fmt.Fprintln(&b, p.Name, p.Version, p.Description, p.Owner, p.Warn, p.RespondsTo, p.Overrides)
	return b.String()
}

// loaded returns the outcome of a Load and the results of the plugins' tools as text.
func loaded(ctx context.Context, o loader.Options, cache *starlark.Cache) (string, error) {
	var b strings.Builder
	o.Cache = cache
	o.Host.Log = func(l host.LogLine) { fmt.Fprintln(&b, "log", l.Plugin, l.Level, l.Text, string(l.Fields), l.Pos) }
	set, err := loader.Load(ctx, o)
	if err != nil {
		return "", err
	}
	defer set.Close()
	for i := range set.Plugins {
		p := &set.Plugins[i]
		fmt.Fprintln(&b, p.Name, p.Version, p.Description, p.Owner, p.Mode, p.Path, p.Status, p.Digest, p.Steps,
			p.Bytes, p.Declared, p.Granted)
		b.WriteString(registered(p.Registered))
		if p.Err != nil {
			fmt.Fprintln(&b, detail(p.Err))
		}
	}
	fmt.Fprintln(&b, set.Warnings, set.Problems, set.Missing())
	turn, err := set.Host.NewSession(host.SessionConfig{}).Begin(ctx, host.Request{Text: "x"})
	if err != nil {
		return b.String() + err.Error(), nil
	}
	defer turn.End(ctx)
	prompt, err := turn.Prompt(ctx)
	fmt.Fprintln(&b, prompt != nil, err)
	for _, t := range set.Host.Tools() {
		reply, err := turn.CallTool(ctx, starhost.ToolCall{Name: t.Name})
		fmt.Fprintln(&b, t.Name, reply.Result.ForLLM, reply.Steps, reply.Bytes, reply.Err, err)
	}
	return b.String(), nil
}

// TestCachedSame loads plugins of all kinds without a cache, with an empty cache and with one
// that has all their programs: they register and say the same.
func TestCachedSame(t *testing.T) {
	many := writeMany(t)
	write := func(name, text string) {
		file := filepath.Join(many, "plugins", name)
		if err := writeFile(file, text); err != nil {
			t.Fatal(err)
		}
	}
	write("skilled/plugin.star", "register_skill(\"skills/a/SKILL.md\")\n")
	write("skilled/skills/a/SKILL.md", "---\nname: a\ndescription: About a.\n---\nText.\n")
	write("skilled/skills/a/more.txt", "More.\n")
	write("models.star", "register_model(\"m\", \"https://api.example.com/v1\", [\"one\"], api_key = \"KEY\", headers = {\"X-A\": \"b\"})\nregister_model(\"bare\", \"https://api.example.com\", [\"two\", \"three\"], aliases = [\"b\"])\n")
	write("rest.star", "register_command(\"go\", lambda args: \"went\", complete = lambda arg: [\"a\"], aliases = [\"g\"])\nregister_template_loader(\"tt\", lambda arg: template(prompt = \"x\"))\nregister_tool(lambda: \"x\", name = \"may\", description = \"May.\", available = lambda: True, timeout = 3, roles = [\"ops\"], approval = \"ask\", toolset = \"s\")\n")
	folders := map[string][]string{
		many:        {"plugins"},
		"..":        {"scripts"},
		"../golden": nil,
	}
	guides, err := filepath.Glob("../golden/plugins/*/plugin.star")
	if err != nil || len(guides) == 0 {
		t.Fatalf("no plugins: %v", err)
	}
	for _, g := range guides {
		folders["../golden"] = append(folders["../golden"], filepath.Join("plugins", filepath.Base(filepath.Dir(g))))
	}
	for dir, args := range folders {
		t.Run(filepath.Base(args[0]), func(t *testing.T) {
			config, _, err := loader.ParseConfig("starhost.toml", dir, []byte("[libraries]\nlib = \"lib\"\n[grants]\n\"models\" = [\"http:api.example.com\"]\n"))
			if err != nil {
				t.Fatal(err)
			}
			o := loader.Options{Config: config, Dir: dir, Args: args, Workers: 1}
			want, err := loaded(t.Context(), o, nil)
			if err != nil {
				t.Fatal(err)
			}
			cache := new(starlark.Cache)
			for _, when := range []string{"empty cache", "full cache", "full cache, 8 at a time"} {
				if strings.HasSuffix(when, "time") {
					o.Workers = 8
				}
				got, err := loaded(t.Context(), o, cache)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-without +with):\n%s", when, diff)
				}
			}
		})
	}
}

// lookingSource is a plugin that reads, lists, misses and loads files during its evaluation, and
// prints the results.
const lookingSource = `load("lib/own.star", "own")
load("@shared//far.star", "far")

plugin(config = {"who": "nobody", "n": 1})

found = [files.read(name) for name in files.glob("data/*.txt")]
missed = files.exists("data/late.md")
extra = files.read("data/extra") if files.exists("data/extra") else "none"
print("found", found)

def tell():
    return repr([own, far, found, missed, extra, config])

register_tool(tell, description = repr([own, far, found, missed, extra, config]))
`

// TestCachedEdits changes the files and settings that a plugin's evaluation depends on, step
// by step: loading with a cache gives the same as loading without one.
func TestCachedEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "edits")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		write := func(name, text string) {
			file := filepath.Join(dir, name)
			if err := writeFile(file, text); err != nil {
				t.Fatal(err)
			}
		}
		write("plugins/looking/plugin.star", lookingSource)
		write("plugins/looking/lib/own.star", "own = 1\n")
		write("plugins/looking/data/a.txt", "a")
		write("shared/far.star", "far = 1\n")
		cache := new(starlark.Cache)
		text := rapid.SampledFrom([]string{"1", "2", "'x'", "1 // 0", "= ="})
		set, limit, settings := []string(nil), "", ""
		steps := map[string]func(){
			"nothing":           func() {},
			"own library":       func() { write("plugins/looking/lib/own.star", "own = "+text.Draw(t, "own")+"\n") },
			"shared library":    func() { write("shared/far.star", "far = "+text.Draw(t, "far")+"\n") },
			"file that is read": func() { write("plugins/looking/data/a.txt", text.Draw(t, "a")) },
			"file that is listed": func() {
				write("plugins/looking/data/"+rapid.SampledFrom([]string{"b", "c"}).Draw(t, "name")+".txt", text.Draw(t, "b"))
			},
			"file that is not listed":          func() { write("plugins/looking/data/b.bin", text.Draw(t, "bin")) },
			"file that is missed":              func() { write("plugins/looking/data/late.md", text.Draw(t, "late")) },
			"file that is read if it is there": func() { write("plugins/looking/data/extra", text.Draw(t, "extra")) },
			"files that go": func() {
				for _, name := range []string{"late.md", "extra", "b.txt"} {
					os.Remove(filepath.Join(dir, "plugins/looking/data", name)) // it may not exist
				}
			},
			"plugin": func() { write("plugins/looking/plugin.star", lookingSource+"\ny = "+text.Draw(t, "y")+"\n") },
			"flag":   func() { set = []string{"who=" + rapid.SampledFrom([]string{"me", "you", "5"}).Draw(t, "who")} },
			"config": func() {
				settings = fmt.Sprintf("[plugin.looking]\nn = %s\n", rapid.SampledFrom([]string{"1", "5", "50", "\"x\""}).Draw(t, "n"))
			},
			"limit": func() {
				limit = fmt.Sprintf("[limits]\nsteps = %d\n", rapid.SampledFrom([]int{10, 100, 1000, 1_000_000}).Draw(t, "steps"))
			},
		}
		for range rapid.IntRange(2, 6).Draw(t, "edits") {
			name := rapid.SampledFrom(slices.Sorted(maps.Keys(steps))).Draw(t, "edit")
			steps[name]()
			config, _, err := loader.ParseConfig("starhost.toml", dir, []byte("[libraries]\nshared = \"shared\"\n"+limit+settings))
			if err != nil {
				t.Fatal(err)
			}
			o := loader.Options{Config: config, Dir: dir, Args: []string{"plugins"}, Set: set}
			want, err := loaded(context.Background(), o, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, when := range []string{"first", "second"} {
				got, err := loaded(context.Background(), o, cache)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s, %s time (-without +with):\n%s", name, when, diff)
				}
			}
		}
	})
}

// TestCachedSecret prints a text that becomes a secret: from then on starhost masks it.
func TestCachedSecret(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "says.star"), []byte("plugin(permissions = [\"secret:TOKEN\"])\nprint(\"is hunter2-hunter2 here\")\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cache := new(starlark.Cache)
	config, _, err := loader.ParseConfig("starhost.toml", dir, []byte("[grants]\nsays = [\"secret:TOKEN\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		set  bool
		want string
	}{
		{"no secret", false, "is hunter2-hunter2 here"},
		{"a secret", true, "is <secret TOKEN> here"},
		{"a secret again", true, "is <secret TOKEN> here"},
		{"no secret again", false, "is hunter2-hunter2 here"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := func(name string) (string, bool) { return "hunter2-hunter2", tt.set && name == "TOKEN" }
			got, err := loaded(t.Context(), loader.Options{Config: config, Dir: dir, Args: []string{"says.star"}, LookupEnv: env}, cache)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %q in it", got, tt.want)
			}
		})
	}
}

// TestCachedLater loads a plugin with a cache, then changes its files and loads it again with the same
// cache: the first set's handlers do not change.
func TestCachedLater(t *testing.T) {
	dir, cache := t.TempDir(), new(starlark.Cache)
	write := func(result string) {
		for name, text := range map[string]string{
			"p/plugin.star": "load(\"lib.star\", \"result\")\nregister_tool(lambda: result, name = \"tell\", description = \"Tells.\")\n# " + result + "\n",
			"p/lib.star":    "result = " + result + "\n",
		} {
			file := filepath.Join(dir, name)
			if err := writeFile(file, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("\"one\"")
	o := loader.Options{Dir: dir, Args: []string{"p"}, Cache: cache}
	set, err := loader.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	write("\"two\"")
	if _, err := loaded(t.Context(), o, cache); err != nil {
		t.Fatal(err)
	}
	turn, err := set.Host.NewSession(host.SessionConfig{}).Begin(t.Context(), host.Request{Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End(t.Context())
	reply, err := turn.CallTool(t.Context(), starhost.ToolCall{Name: "tell"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("one", reply.Result.ForLLM); diff != "" {
		t.Errorf("(-as loaded +got):\n%s", diff)
	}
}
