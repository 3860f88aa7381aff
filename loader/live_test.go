package loader_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
)

func TestReload(t *testing.T) {
	dir := tree(t, "-- a.star --\nregister_hook(\"pre_llm_call\", lambda: \"one\")\n-- notes/x.md --\n")
	load := func(ctx context.Context) (*loader.Set, error) {
		return loader.Load(ctx, loader.Options{Dir: dir, Args: []string{"a.star"}})
	}
	live, err := loader.NewLive(t.Context(), load)
	if err != nil {
		t.Fatal(err)
	}
	old := live.Set()
	steps := []struct{ name, text, err, want string }{
		{"a change", "register_hook(\"pre_llm_call\", lambda: \"two\")\n", "", "two"},
		{"a mistake", "register_hook(\"pre_llm_call\", lambda: \"three\"\n", "a.star:2:1: got end of file, want ')'", "two"},
		{"its repair", "register_hook(\"pre_llm_call\", lambda: \"three\")\n", "", "three"},
	}
	for _, step := range steps {
		write(t, filepath.Join(dir, "a.star"), step.text)
		got := ""
		if err := live.Reload(t.Context()); err != nil {
			got = err.Error()
		}
		if got != step.err {
			t.Errorf("%s: got error %q, want %q", step.name, got, step.err)
		}
		if got := says(t, live.Set()); got != step.want {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
	}
	if got := says(t, old); got != "one" {
		t.Errorf("the first set: got %q, want what it always said", got)
	}
}

// says returns the first fragment of a prompt.
func says(t *testing.T, set *loader.Set) string {
	t.Helper()
	prompt, err := set.Host.NewSession(host.SessionConfig{}).Prompt(t.Context(), host.Request{Text: "?"})
	if err != nil {
		t.Error(err)
		return ""
	}
	return prompt.Fragments[0].Content
}

func TestReloadWhileInUse(t *testing.T) {
	dir := tree(t, "-- a.star --\nregister_hook(\"pre_llm_call\", lambda: \"one\")\n")
	live, err := loader.NewLive(t.Context(), func(ctx context.Context) (*loader.Set, error) {
		return loader.Load(ctx, loader.Options{Dir: dir, Args: []string{"a.star"}})
	})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if got := says(t, live.Set()); got != "one" {
					t.Errorf("got %q", got)
				}
				if err := live.Reload(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestNewLiveThatFails(t *testing.T) {
	dir := t.TempDir()
	live, err := loader.NewLive(t.Context(), func(ctx context.Context) (*loader.Set, error) {
		return loader.Load(ctx, loader.Options{Dir: dir})
	})
	if err == nil || live.Set() != nil {
		t.Errorf("got %v and a set %v, want an error alone", err, live.Set())
	}
}
