package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/store"
)

// A deployModel asks for one deployment, then reads the answer out.
type deployModel struct{}

func (deployModel) Complete(_ context.Context, p *host.Prompt) (starhost.Reply, error) {
	if last := p.Messages[len(p.Messages)-1]; last.Role == starhost.RoleTool {
		return starhost.Reply{Content: "It says: " + last.Content.String()}, nil
	}
	call := starhost.ToolCall{ID: "c1", Name: "deploy", Arguments: json.RawMessage(`{"to":"prod"}`)}
	return starhost.Reply{ToolCalls: []starhost.ToolCall{call}}, nil
}

// runPaused is an embedding program in one of two processes. With "pause" it begins a turn, which
// waits for an approval. Else it goes on with the turn, in a version of the plugin.
func runPaused(ctx context.Context, db *store.DB, version string) error {
	h := host.New(host.Options{Sessions: db, PauseTurns: true})
	tool := starhost.Tool{Name: "deploy", Description: "Deploys.", Approval: starhost.ApprovalAsk}
	tool.Parameters = json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`)
	tool.Call = func(context.Context, starhost.ToolCall) (starhost.Result, error) {
		fmt.Println("deployed")
		return starhost.Result{ForLLM: "deployed"}, nil
	}
	isBegin := version == "pause"
	if isBegin {
		version = ""
	}
	if err := h.Add(starhost.Plugin{Name: "p", Version: strings.TrimSpace(version), Tools: []starhost.Tool{tool}}); err != nil {
		return err
	}
	s, err := h.Continue(ctx, host.SessionConfig{ID: "a"})
	if err != nil {
		return err
	}
	var result *host.TurnResult
	if isBegin {
		result, err = s.Turn(ctx, host.Request{Text: "Deploy it."}, deployModel{})
	} else {
		result, err = resume(ctx, s)
	}
	if errors.Is(err, host.ErrBusy) {
		fmt.Println("busy")
		return nil
	}
	if err != nil || result == nil {
		return err
	}
	if result.Paused != nil {
		fmt.Println("waits:", strings.Join(result.Paused.Reasons, "; "))
	} else {
		fmt.Println(result.Text)
	}
	return s.Store(ctx)
}

// resume goes on with a turn. The result is nil if none waits.
func resume(ctx context.Context, s *host.Session) (*host.TurnResult, error) {
	turn, err := s.ResumeTurn(ctx)
	if err != nil || turn == nil {
		return nil, err
	}
	defer turn.End(ctx)
	return turn.Run(ctx, deployModel{})
}

// runs returns what a process prints.
func runs(t *testing.T, task, url string) string {
	t.Helper()
	out, err := other(t, task, url).Output()
	if err != nil {
		t.Error(err)
	}
	return string(out)
}

// answer answers the question of the session "a", as starhost sessions answer does.
func answer(t *testing.T, db *store.DB, digest string, yes bool, now time.Time) (host.SavedSession, error) {
	t.Helper()
	s, err := db.LoadSession(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if digest == "" {
		digest = s.Paused.Digest
	}
	if err := s.Answer(digest, yes, now); err != nil {
		return s, err
	}
	return s, db.StoreSession(t.Context(), s)
}

// A turn waits for its approval in one process and goes on in another. Only one of several
// processes runs the call.
func TestPausedTurn(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url string) {
		if diff := cmp.Diff("waits: tool deploy asks for approval\n", runs(t, "pause", url)); diff != "" {
			t.Fatal(diff)
		}
		db := open(t, store.Options{URL: url})
		if _, err := answer(t, db, strings.Repeat("0", 64), true, time.Now()); err == nil {
			t.Error("a forged digest: got no error")
		}
		if _, err := answer(t, db, "", true, time.Now().Add(25*time.Hour)); err == nil {
			t.Error("a late answer: got no error")
		}
		stale, err := answer(t, db, "", true, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := db.StoreSession(t.Context(), stale); !errors.Is(err, host.ErrBusy) {
			t.Errorf("the same answer again: got %v, want ErrBusy", err)
		}
		outs := make([]string, 4)
		var wg sync.WaitGroup
		for i := range outs {
			wg.Go(func() { outs[i] = runs(t, "resume", url) })
		}
		wg.Wait()
		all := strings.Join(outs, "")
		if strings.Count(all, "deployed\nIt says: deployed\n") != 1 || strings.Count(all, "deployed\n") != 2 {
			t.Errorf("got %q, want one that deployed", outs)
		}
		s, err := db.LoadSession(t.Context(), "a")
		if err != nil || s.Paused != nil || len(s.Messages) != 4 {
			t.Errorf("got %+v, %v, want a session of 4 messages", s, err)
		}
		if err := s.Answer("x", true, time.Now()); err == nil || !strings.Contains(err.Error(), "no turn waits") {
			t.Errorf("an answer after the turn: got %v", err)
		}
	})
}

// An answer does not count after the plugins changed, after 24 hours, or if its process died.
func TestPausedTurnRefused(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "a.db")
	db := open(t, store.Options{URL: url})
	store := func(s host.SavedSession) {
		t.Helper()
		if err := db.StoreSession(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	runs(t, "pause", url)
	if _, err := answer(t, db, "", true, time.Now()); err != nil {
		t.Fatal(err)
	}
	var got []string
	got = append(got, runs(t, "resume 2", url)) // asks again
	s, err := answer(t, db, "", true, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s.Version++ // the one that answer stored
	old := s.Paused.Answer
	s.Paused.Answer.Used = time.Now().Add(-time.Hour)
	store(s)
	got = append(got, runs(t, "resume 2", url))
	if s, err = db.LoadSession(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	s.Paused.Answer = old // to the question before
	s.Paused.Answer.Used = time.Time{}
	store(s)
	got = append(got, runs(t, "resume 2", url))
	if s, err = db.LoadSession(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	asked := time.Now().Add(-25 * time.Hour)
	s.Paused.Asked = asked
	if err := s.Answer(s.Paused.Digest, true, asked.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	store(s)
	got = append(got, runs(t, "resume 2", url))
	for i, want := range []string{"the plugins have changed", "it was used before", "it answers another question", "more than 24h0m0s"} {
		if !strings.HasPrefix(got[i], "waits: ") || !strings.Contains(got[i], want) {
			t.Errorf("got %q, want %s", got[i], want)
		}
	}
	if slices.Contains(got, "deployed") {
		t.Error("it deployed")
	}
	if _, err := answer(t, db, "", false, time.Now()); err != nil {
		t.Fatal(err)
	}
	want := "It says: denied by host: not approved: tool deploy asks for approval\n"
	if diff := cmp.Diff(want, runs(t, "resume 2", url)); diff != "" {
		t.Errorf("after a no (-want +got):\n%s", diff)
	}
}
