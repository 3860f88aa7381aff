package golden_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"
	"golang.org/x/tools/txtar"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/loader"
)

// TestMemoChangesNothing makes the prompts of all cases several times in one host, with
// a memo and without.
func TestMemoChangesNothing(t *testing.T) {
	var cases []string
	for _, pattern := range []string{"plugins/*/golden/*.txtar", "../scripts/*/golden/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, files...)
	}
	prompts := 0
	for _, name := range cases {
		c := readPlay(t, name)
		prompts += len(c.requests)
		if diff := cmp.Diff(c.run(t, true), c.run(t, false)); diff != "" {
			t.Errorf("%s (-without +with a memo):\n%s", name, diff)
		}
	}
	if prompts < 20 {
		t.Errorf("got %d prompts, want more to compare", prompts)
	}
}

// A play is what a case says in words that need no effects: its files and prompts.
type play struct {
	plugin    string
	config    []byte
	workspace afero.Fs
	requests  []starhost.Request
}

var promptCall = regexp.MustCompile(`prompt\(("[^"]*")(?:, fragments = (\[[^\]]*\]))?`)

func readPlay(t *testing.T, name string) *play {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p := &play{plugin: filepath.Dir(filepath.Dir(name)), workspace: afero.NewMemMapFs()}
	for _, f := range archive.Files {
		switch path, inside := strings.CutPrefix(f.Name, "workspace/"); {
		case inside:
			err = afero.WriteFile(p.workspace, path, f.Data, 0o644)
		case f.Name == "config.toml":
			p.config = f.Data
		case f.Name == "case.star":
			for _, m := range promptCall.FindAllSubmatch(f.Data, -1) {
				var r starhost.Request
				if err = json.Unmarshal(m[1], &r.Text); err == nil && m[2] != nil {
					err = json.Unmarshal(m[2], &r.Fragments)
				}
				p.requests = append(p.requests, r)
			}
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", name, f.Name, err)
		}
	}
	return p
}

// run makes the prompts in several sessions of one host, and returns all that is seen
// of them, a text each.
func (p *play) run(t *testing.T, noMemo bool) (seen []string) {
	t.Helper()
	note := func(format string, args ...any) { seen = append(seen, fmt.Sprintf(format, args...)) }
	var grants []string
	load := func() *loader.Set {
		config, _, err := loader.ParseConfig("config.toml", p.plugin, p.config)
		if err != nil {
			t.Fatal(err)
		}
		set, err := loader.Load(t.Context(), loader.Options{
			Config: config, Args: []string{p.plugin}, Grants: grants, NoMemo: noMemo,
			World:     effects.World{Workspace: effects.NewFiles(p.workspace, effects.FileOptions{}), Store: new(effects.MemoryKV)},
			FS:        p.workspace,
			LookupEnv: func(name string) (string, bool) { return "test-" + name, true },
			Host: starhost.Options{
				Clock:   func() time.Time { return time.Unix(0, 0) },
				Log:     func(l starhost.LogLine) { note("%+v", l) },
				Record:  func(e starhost.Entry) { note("%s", e.Line) },
				Workers: 1,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { set.Close() })
		return set
	}
	for _, plugin := range load().Plugins {
		for _, permission := range plugin.Declared {
			grants = append(grants, plugin.Name+"="+permission)
		}
	}
	set := load()
	for range 3 {
		session := set.Host.NewSession(starhost.SessionConfig{ID: "s"})
		for _, r := range p.requests {
			made, err := session.Prompt(t.Context(), r)
			if note("%v", err); err == nil {
				note("%s\n%v", made.Rendering(), made.Errors)
				for _, h := range made.Hooks {
					note("%s %s %s %s %s %d %d", h.Event, h.Plugin, h.Pos, h.Action, h.Detail, h.Steps, h.Bytes)
				}
			}
		}
	}
	return seen
}
