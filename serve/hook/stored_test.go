package hook_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/serve/hook"
)

// TestStatesList checks that a program can list, read and remove the files of sessions, and that other files
// in the folder do not disturb it.
func TestStatesList(t *testing.T) {
	now := time.Now()
	states := &hook.States{Dir: filepath.Join(t.TempDir(), "sessions"), Now: func() time.Time { return now }}
	if list, err := states.List(10); len(list) > 0 || err != nil {
		t.Errorf("without a folder: got %v, %v", list, err)
	}
	h, o := hostOf(t, hookOn("turn_start", func(context.Context, *starhost.Event) starhost.Decision {
		return starhost.TextContext("x")
	})), hook.Options{States: states}
	for _, text := range []string{promptOf("a", "x"), promptOf("b", "x"), toolOf("b", "Bash")} {
		if _, err := event(t, h, o, text); err != nil {
			t.Fatal(err)
		}
	}
	list, err := states.List(10)
	if err != nil || len(list) != 2 {
		t.Fatalf("got %v, %v, want 2 sessions", list, err)
	}
	ids := map[string]string{}
	for _, s := range list {
		if s.Err != nil || s.Session.Agent != "claude-code" || s.Size == 0 || s.Session.Turns != 1 || s.Stored.IsZero() {
			t.Errorf("got %+v", s)
		}
		ids[s.Session.ID] = s.Name
	}
	file := filepath.Join(states.Dir, ids["a"]+".json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x.json", strings.Repeat("g", 64) + ".json"} {
		if err := os.WriteFile(filepath.Join(states.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err = states.List(10)
	failed := 0
	for _, s := range list {
		if s.Err != nil && strings.Contains(s.Err.Error(), file+": this is no session of version 1") {
			failed++
		}
	}
	if len(list) != 2 || err != nil || failed != 1 {
		t.Errorf("with a damaged file: got %v, %v", list, err)
	}
	if list, err := states.List(1); len(list) != 1 || err != nil {
		t.Errorf("with a limit: got %v, %v", list, err)
	}
	if err := states.Remove(ids["a"]); err != nil {
		t.Error(err)
	}
	list, err = states.List(10)
	if len(list) != 1 || err != nil {
		t.Fatalf("after a removal: got %v, %v", list, err)
	}
	if diff := cmp.Diff("b", list[0].Session.ID); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	now = now.Add(8 * 24 * time.Hour)
	if list, err := states.List(10); len(list) > 0 || err != nil {
		t.Errorf("after 8 days: got %v, %v", list, err)
	}
}
