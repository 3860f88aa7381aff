package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/store"
)

// newHost returns a host with a plugin that counts the turns in its state, and that offers the
// context "repeated" and the number of the turn.
func newHost(t testing.TB, sessions host.SessionStore) *host.Host {
	t.Helper()
	h := host.New(host.Options{Sessions: sessions, Prompt: host.PromptOptions{Render: fragments.XML}})
	if err := h.Add(counter()); err != nil {
		t.Fatal(err)
	}
	return h
}

// counter returns the plugin of newHost.
func counter() starhost.Plugin {
	call := func(ctx context.Context, _ *starhost.Event) (starhost.Decision, error) {
		t := host.TurnOf(ctx)
		n := 0
		state := effects.StateOf(t.Session(), "counter")
		if old, ok := state.Get("n"); ok {
			if err := json.Unmarshal(old, &n); err != nil {
				return starhost.Decision{}, err
			}
		}
		list := []fragments.Fragment{{Content: "repeated"}, {Content: fmt.Sprint("turn ", n)}, {Content: "policy", Target: fragments.System}}
		d := starhost.Decision{Action: starhost.ActionContext, Context: starhost.Context{Fragments: list}}
		return d, state.Set("n", json.RawMessage(fmt.Sprint(n+1)))
	}
	return starhost.Plugin{Name: "counter", Hooks: []starhost.Hook{{Event: "turn_start", Call: call}}}
}

// takeTurn continues a session, runs a turn and stores the session. It returns the request.
func takeTurn(ctx context.Context, h *host.Host, id, words string) (string, error) {
	s, err := h.Continue(ctx, host.SessionConfig{ID: id})
	if err != nil {
		return "", err
	}
	t, err := s.Begin(ctx, host.Request{Text: words})
	if err != nil {
		return "", err
	}
	p, err := t.Prompt(ctx)
	if err == nil {
		err = t.Reply(ctx, starhost.Reply{Content: "answer to " + words})
	}
	t.End(ctx)
	if err != nil {
		return "", err
	}
	return p.Rendering(), s.Store(ctx)
}

// takeTurns takes n turns, each again while other processes are first.
func takeTurns(ctx context.Context, h *host.Host, id, name string, n int) error {
	for i := range n {
		for {
			_, err := takeTurn(ctx, h, id, fmt.Sprintf("%s/%d", name, i))
			if err == nil {
				break
			}
			if !errors.Is(err, host.ErrBusy) {
				return err
			}
		}
	}
	return nil
}

func TestSessions(t *testing.T) {
	eachBackend(t, func(t *testing.T, b backend) {
		ctx, s := t.Context(), b.sessions
		if got, err := s.LoadSession(ctx, "a"); got.Version != 0 || err != nil {
			t.Errorf("LoadSession of nothing: got version %d, %v", got.Version, err)
		}
		live := newHost(t, nil).NewSession(host.SessionConfig{ID: "a é"})
		for i := range 3 {
			if _, err := live.Prompt(ctx, host.Request{Text: fmt.Sprint("words \xff", i)}); err != nil {
				t.Fatal(err)
			}
		}
		saved, err := live.Save(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			saved.Version = int64(i)
			if err := s.StoreSession(ctx, saved); err != nil {
				t.Fatal(err)
			}
			for _, stale := range []int64{0, int64(i), int64(i) + 2} {
				saved.Version = stale
				if err := s.StoreSession(ctx, saved); !errors.Is(err, host.ErrBusy) {
					t.Errorf("version %d over %d: got %v, want ErrBusy", stale, i+1, err)
				}
			}
			saved.Version = int64(i) + 1
			got, err := s.LoadSession(ctx, "a é")
			if diff := cmp.Diff(saved, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("LoadSession (-want +got), %v:\n%s", err, diff)
			}
		}
	})
}

func TestSessionsRefuse(t *testing.T) {
	eachBackend(t, func(t *testing.T, b backend) {
		tests := map[string]host.SavedSession{
			"got no id": {}, "begin with -": {ID: "-F"}, "control characters": {ID: "a\x1b[2J"},
			"got an id of 201 bytes, want at most 200": {ID: strings.Repeat("x", 201)},
			"bytes, want at most 33554432":             {ID: "a", System: strings.Repeat("x", store.MaxSession)},
		}
		for want, s := range tests {
			if err := b.sessions.StoreSession(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%.20s: got %v, want %s", s.ID, err, want)
			}
			if got, err := b.sessions.LoadSession(t.Context(), s.ID); got.Version != 0 || err != nil {
				t.Errorf("%.20s: it is stored, %v", s.ID, err)
			}
		}
	})
}

// A session that each turn stores and loads sends the same bytes as one that lives on.
func TestSessionBytes(t *testing.T) {
	eachBackend(t, func(t *testing.T, b backend) {
		stored, other := newHost(t, b.sessions), newHost(t, new(store.Memory))
		live, err := other.Continue(t.Context(), host.SessionConfig{ID: "a"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			words := fmt.Sprint("words ", i)
			turn, err := live.Begin(t.Context(), host.Request{Text: words})
			if err != nil {
				t.Fatal(err)
			}
			want, err := turn.Prompt(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := turn.Reply(t.Context(), starhost.Reply{Content: "answer to " + words}); err != nil {
				t.Fatal(err)
			}
			turn.End(t.Context())
			got, err := takeTurn(t.Context(), stored, "a", words)
			if diff := cmp.Diff(want.Rendering(), got); diff != "" || err != nil {
				t.Errorf("turn %d (-live +stored), %v:\n%s", i, err, diff)
			}
		}
	})
}

// checkTurns checks that a session has all turns of some names, each once and in order.
func checkTurns(t *testing.T, s host.SavedSession, names, each int) {
	t.Helper()
	next := map[string]int{}
	for _, m := range s.Messages {
		if m.Role != starhost.RoleUser {
			continue
		}
		name, n, _ := strings.Cut(string(m.Content[len(m.Content)-1]), "/")
		if n != fmt.Sprint(next[name]) {
			t.Errorf("%s: got turn %s, want %d", name, n, next[name])
		}
		next[name]++
	}
	for name, n := range next {
		if n != each {
			t.Errorf("%s: got %d turns, want %d", name, n, each)
		}
	}
	all := names * each
	got := fmt.Sprintln(len(next), s.Turns, s.Version, string(s.State["counter"]["n"]))
	if want := fmt.Sprintln(names, all, all, all); got != want {
		t.Errorf("got the names, turns, version and state %s, want %s", got, want)
	}
}

func TestSessionConcurrent(t *testing.T) {
	eachBackend(t, func(t *testing.T, b backend) {
		h := newHost(t, b.sessions)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				if err := takeTurns(context.Background(), h, "a", fmt.Sprint(i), 10); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s, err := b.sessions.LoadSession(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		checkTurns(t, s, 4, 10)
	})
}

// Eight processes continue one session, and lose no turn.
func TestProcessesContinue(t *testing.T) {
	each := 5
	if isLong() {
		each = 50
	}
	eachDatabase(t, func(t *testing.T, url string) {
		var wg sync.WaitGroup
		for i := range 8 {
			cmd := other(t, fmt.Sprintf("turns %d %d", i, each), url)
			wg.Go(func() {
				if err := cmd.Run(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s, err := open(t, store.Options{URL: url}).LoadSession(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		checkTurns(t, s, 8, each)
	})
}

// Two processes serve one session in turns, while the server restarts in between. They send the
// same bytes as one process.
func TestServerRestartsInSession(t *testing.T) {
	t.Parallel()
	var s server
	t.Cleanup(s.remove)
	s.start()
	if s.why != "" {
		t.Skip(s.why)
	}
	url := s.newDatabase(t)
	var got strings.Builder
	for i := range 4 {
		cmd := other(t, fmt.Sprintf("turn %d", i), url)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		got.Write(out)
		s.stop()
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
	}
	var want strings.Builder
	h := newHost(t, new(store.Memory))
	for i := range 4 {
		text, err := takeTurn(t.Context(), h, "a", fmt.Sprint("words ", i))
		if err != nil {
			t.Fatal(err)
		}
		want.WriteString(text)
	}
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("requests (-one process +two):\n%s", diff)
	}
}

// A damaged row is an error, stays as it is, and can be removed.
func TestDamagedSession(t *testing.T) {
	for name, statement := range map[string]string{
		"bit":     "UPDATE starhost_session SET data = CAST(REPLACE(CAST(data AS TEXT), 'words', 'wordz') AS BLOB)",
		"cut":     "UPDATE starhost_session SET data = SUBSTR(data, 1, 100)",
		"sum":     "UPDATE starhost_session SET sum = x''",
		"version": "UPDATE starhost_session SET version = 7",
		"id":      "UPDATE starhost_session SET id = CAST('b' AS BLOB)",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.db")
			db := open(t, store.Options{URL: "sqlite:" + file})
			if _, err := takeTurn(t.Context(), newHost(t, db), "a", "words"); err != nil {
				t.Fatal(err)
			}
			db.Close()
			execute(t, file, statement)
			id := "a"
			if name == "id" {
				id = "b"
			}
			for range 2 {
				_, err := takeTurn(t.Context(), newHost(t, db), id, "more")
				want := "store " + file + `: session "` + id + `" is damaged`
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
			}
			err := db.StoreSession(t.Context(), host.SavedSession{ID: id})
			if !errors.Is(err, host.ErrBusy) {
				t.Errorf("StoreSession: got %v, want ErrBusy", err)
			}
			if ok, err := db.RemoveSession(t.Context(), id); !ok || err != nil {
				t.Errorf("RemoveSession: got %v, %v", ok, err)
			}
			if _, err := takeTurn(t.Context(), newHost(t, db), id, "more"); err != nil {
				t.Error(err)
			}
		})
	}
}

// A content to which a session refers does not expire before the session is removed.
func TestSessionsKeepContents(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url string) {
		now := time.Unix(1_700_000_000, 0)
		db := open(t, store.Options{URL: url, Keep: time.Hour, Clock: func() time.Time { return now }})
		h := host.New(host.Options{Sessions: db, Fragments: db.Fragments()})
		if err := h.Add(counter()); err != nil {
			t.Fatal(err)
		}
		if _, err := takeTurn(t.Context(), h, "a", "words"); err != nil {
			t.Fatal(err)
		}
		lone := fragments.Content{ID: fragments.Sum("lone"), Text: "lone"}
		if err := db.Fragments().Put(t.Context(), lone); err != nil {
			t.Fatal(err)
		}
		now = now.Add(30 * 24 * time.Hour)
		fresh := fragments.Content{ID: fragments.Sum("fresh"), Text: "fresh"}
		if err := db.Fragments().Put(t.Context(), fresh); err != nil { // removes expired contents
			t.Fatal(err)
		}
		has := func(text string) bool {
			_, ok, err := db.Fragments().Get(t.Context(), fragments.Sum(text))
			if err != nil {
				t.Error(err)
			}
			return ok
		}
		want := map[string]bool{"repeated": true, "turn 0": true, "policy": true, "lone": false, "fresh": true}
		for text, want := range want {
			if got := has(text); got != want {
				t.Errorf("%s: got %v, want %v", text, got, want)
			}
		}
		removed, err := db.Collect(t.Context(), now, false)
		if removed.Contents != 0 || err != nil {
			t.Errorf("Collect: got %v, %v, want nothing", removed, err)
		}
		if ok, err := db.RemoveSession(t.Context(), "a"); !ok || err != nil {
			t.Fatal(ok, err)
		}
		removed, err = db.Collect(t.Context(), now, false)
		if removed.Contents != 3 || err != nil {
			t.Errorf("Collect after the removal: got %v, %v, want 3 contents", removed, err)
		}
	})
}

// Sessions lists the last stored first.
func TestSessionList(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url string) {
		now := time.Unix(1_700_000_000, 0).UTC()
		db := open(t, store.Options{URL: url, Clock: func() time.Time { return now }})
		if list, err := db.Sessions(t.Context(), 10); len(list) > 0 || err != nil {
			t.Errorf("of nothing: got %v, %v", list, err)
		}
		begin := now
		for _, id := range []string{"a", "b", "a"} {
			if _, err := takeTurn(t.Context(), newHost(t, db), id, "words"); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Hour)
		}
		list, err := db.Sessions(t.Context(), 10)
		want := []store.Session{
			{ID: "a", Agent: "go", Version: 2, Turns: 2, Created: begin, Stored: begin.Add(2 * time.Hour)},
			{ID: "b", Agent: "go", Version: 1, Turns: 1, Created: begin.Add(time.Hour), Stored: begin.Add(time.Hour)},
		}
		if diff := cmp.Diff(want, list, cmpopts.IgnoreFields(store.Session{}, "Size")); diff != "" || err != nil {
			t.Errorf("Sessions (-want +got), %v:\n%s", err, diff)
		}
		if list, err := db.Sessions(t.Context(), 1); len(list) != 1 || list[0].Size < 100 || err != nil {
			t.Errorf("with a limit: got %v, %v", list, err)
		}
	})
}
