package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// A pauseRig is a program whose tool "deploy" needs an approval.
type pauseRig struct {
	options host.Options
	guard   func(*starhost.Event) starhost.Decision // the guard of pre_tool_call; nil for none
	version string                                  // the version of the plugin
	ran     []string                                // the arguments of the calls that ran
	log     []string
	now     time.Time
}

// host returns a new host with the same plugin, as another process would make one.
func (r *pauseRig) host(t testing.TB) *host.Host {
	t.Helper()
	deploy := starhost.Tool{Approval: starhost.ApprovalAsk, Parameters: json.RawMessage(`{"type":"object"}`)}
	deploy.Call = func(_ context.Context, c starhost.ToolCall) (starhost.Result, error) {
		r.ran = append(r.ran, string(c.Arguments))
		return starhost.Result{ForLLM: "deployed"}, nil
	}
	p := namedTool("deploy", deploy)
	p.Version = r.version
	var nested starhost.Tool
	nested.Call = func(ctx context.Context, c starhost.ToolCall) (starhost.Result, error) {
		turn := host.TurnOf(ctx)
		reply, err := turn.CallTool(ctx, starhost.ToolCall{ID: c.ID, Name: "deploy"})
		return reply.Result, err
	}
	p.Tools = append(p.Tools, namedTool("nested", nested).Tools...)
	p.Hooks = append(p.Hooks, hookFunc("pre_tool_call", func(e *starhost.Event) starhost.Decision {
		if r.guard == nil {
			return starhost.Decision{}
		}
		return r.guard(e)
	}), sayingHook("pre_llm_call", "context"))
	o := r.options
	o.PauseTurns, o.Clock = true, func() time.Time { return r.now }
	o.Log = func(l host.LogLine) { r.log = append(r.log, l.Text) }
	return newHost(t, o, p, echo())
}

// namedTool returns a plugin with this tool. The plugin and the tool have the same name.
func namedTool(name string, tool starhost.Tool) starhost.Plugin {
	p := toolOf(name, tool)
	p.Tools[0].Name = name
	return p
}

var pauseStart = time.Unix(1_700_000_000, 0).UTC()

// pauseReplies are the replies of the model: three calls, of which the second needs an approval.
func pauseReplies() scriptedModel {
	return scriptedModel{replyWith(`c1 echo {"text":"x"}`, `c2 deploy {"to":"prod"}`, `c3 echo {"text":"y"}`), {Content: "done"}}
}

// pausedSession runs a turn up to its question, and returns the session as another process reads
// it.
func (r *pauseRig) pausedSession(t testing.TB) host.SavedSession {
	t.Helper()
	r.now = pauseStart
	s := r.host(t).NewSession(host.SessionConfig{ID: "s"})
	m := pauseReplies()
	result, err := s.Turn(t.Context(), host.Request{Text: "hi", System: "brief", Model: "m"}, &m)
	if err != nil || result.Completed || result.Paused == nil || len(r.ran) > 0 {
		t.Fatalf("got %+v, %v, want a paused turn", result, err)
	}
	want := host.ApprovalRequest{
		SessionID: "s", Call: starhost.ToolCall{ID: "c2", Name: "deploy", Arguments: json.RawMessage(`{"to":"prod"}`)},
		Plugin: "deploy", Reasons: []string{"tool deploy asks for approval"},
	}
	diff(t, "question", want, *result.Paused)
	return saveAndLoad(t, s)
}

// saveAndLoad returns a session as another process reads it.
func saveAndLoad(t testing.TB, s *host.Session) (saved host.SavedSession) {
	t.Helper()
	first, err := s.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(first)
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// resume goes on with the stored turn in a new host. It returns the turn's result and the session.
func (r *pauseRig) resume(t testing.TB, saved host.SavedSession) (*host.TurnResult, *host.Session) {
	t.Helper()
	s := r.host(t).Resume(host.SessionConfig{ID: "s"}, saved)
	turn, err := s.ResumeTurn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := pauseReplies()[1:]
	result, err := turn.Run(t.Context(), &m)
	if err != nil {
		t.Fatal(err)
	}
	turn.End(t.Context())
	return result, s
}

// TestPause checks that a turn that waited for its approval and went on in another process sends the same
// bytes and stores the same messages as a turn that got its approval at once.
func TestPause(t *testing.T) {
	for _, yes := range []bool{true, false} {
		var rig pauseRig
		saved := rig.pausedSession(t)
		if got := saved.Status(); got != "waits" {
			t.Errorf("got status %q, want waits", got)
		}
		rig.now = rig.now.Add(23 * time.Hour)
		if err := saved.Answer(saved.Paused.Digest, yes, rig.now); err != nil {
			t.Fatal(err)
		}
		result, s := rig.resume(t, saved)
		other := pauseRig{now: pauseStart}
		other.options.Approver = func(context.Context, host.ApprovalRequest) (host.Answer, error) {
			return host.Answer{Yes: yes}, nil
		}
		live := other.host(t).NewSession(host.SessionConfig{ID: "s"})
		m := pauseReplies()
		want, err := live.Turn(t.Context(), host.Request{Text: "hi", System: "brief", Model: "m"}, &m)
		if err != nil {
			t.Fatal(err)
		}
		if !result.Completed || result.Text != "done" || result.Rounds != 2 {
			t.Errorf("got %+v", result)
		}
		diff(t, "calls that ran", other.ran, rig.ran)
		diff(t, "the last request", want.Prompt.Rendering(), result.Prompt.Rendering())
		got, all := saveAndLoad(t, s), saveAndLoad(t, live)
		diff(t, "session", all, got)
	}
}

// TestPauseRefuses checks that an answer counts only for this question, in time, once, and for the same call
// and plugins. Otherwise the turn waits again, with another question.
func TestPauseRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*pauseRig, *host.SavedSession)
		want   string
	}{
		{"forged", func(_ *pauseRig, s *host.SavedSession) { s.Paused.Answer.Digest = strings.Repeat("0", 64) }, "it answers another question"},
		{"a changed question", func(_ *pauseRig, s *host.SavedSession) { s.Paused.Digest, s.Paused.Answer.Digest = "x", "x" }, "have changed"},
		{"replayed", func(_ *pauseRig, s *host.SavedSession) { s.Paused.Answer.Used = pauseStart.Add(-time.Hour) }, "it was used before"},
		{"expired", func(r *pauseRig, _ *host.SavedSession) { r.now = r.now.Add(25 * time.Hour) }, "more than 24h0m0s have passed"},
		{"from before", func(_ *pauseRig, s *host.SavedSession) { s.Paused.Answer.Given = pauseStart.Add(-time.Second) }, "have passed"},
		{"another set", func(r *pauseRig, _ *host.SavedSession) { r.version = "2" }, "the plugins have changed"},
		{"other arguments", func(r *pauseRig, _ *host.SavedSession) {
			r.guard = func(e *starhost.Event) starhost.Decision {
				if e.Tool != "deploy" {
					return starhost.Decision{}
				}
				return starhost.Modify("arguments", json.RawMessage(`{"to":"all"}`))
			}
		}, "the call, the session or the plugins have changed"},
		{"no answer", func(_ *pauseRig, s *host.SavedSession) { s.Paused.Answer = nil }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var rig pauseRig
			saved := rig.pausedSession(t)
			question := saved.Paused.Digest
			if err := saved.Answer(question, true, rig.now); err != nil {
				t.Fatal(err)
			}
			tt.change(&rig, &saved)
			result, s := rig.resume(t, saved)
			if result.Paused == nil || len(rig.ran) > 0 {
				t.Fatalf("got %+v, ran %q, want a paused turn", result, rig.ran)
			}
			reasons := strings.Join(result.Paused.Reasons, "\n")
			log := strings.Join(rig.log, "\n")
			if !strings.Contains(reasons, tt.want) || tt.want != "" && !strings.Contains(log, tt.want) {
				t.Errorf("got reasons %q, log %q, want %q", reasons, rig.log, tt.want)
			}
			next := saveAndLoad(t, s)
			if next.Paused.Answer != nil || next.Paused.Digest == question {
				t.Errorf("got %+v, want a new question", next.Paused)
			}
			err := next.Answer(question, true, rig.now)
			if err == nil || !strings.Contains(err.Error(), "got the answer to question") {
				t.Errorf("the old answer to the new question: got %v", err)
			}
			if err := next.Answer(next.Paused.Digest, true, rig.now); err != nil {
				t.Error(err)
			}
			rig.log = nil
			result, _ = rig.resume(t, next)
			if !result.Completed || len(rig.ran) != 1 {
				t.Errorf("after a new answer: got %+v, ran %q, log %q", result, rig.ran, rig.log)
			}
		})
	}
}

// TestPauseAnswer checks that Answer refuses values that do not answer the question.
func TestPauseAnswer(t *testing.T) {
	var rig pauseRig
	saved := rig.pausedSession(t)
	digest := saved.Paused.Digest
	check := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	check(saved.Answer("x", true, rig.now), `got the answer to question "x", want one to `)
	check(saved.Answer(digest, true, rig.now.Add(25*time.Hour)), "want an answer within 24h0m0s")
	check(saved.Answer(digest, true, rig.now.Add(-25*time.Hour)), "want an answer within 24h0m0s")
	if err := saved.Answer(digest, false, rig.now); err != nil || saved.Status() != "answered" {
		t.Error(err, saved.Status())
	}
	check(saved.Answer(digest, true, rig.now), "has an answer")
	check(new(host.SavedSession).Answer(digest, true, rig.now), "no turn waits")
}

// TestPauseGuards checks that guards see the call again after the answer, and that their denial wins over the
// answer.
func TestPauseGuards(t *testing.T) {
	var rig pauseRig
	saved := rig.pausedSession(t)
	if err := saved.Answer(saved.Paused.Digest, true, rig.now); err != nil {
		t.Fatal(err)
	}
	rig.guard = func(e *starhost.Event) starhost.Decision {
		if e.Tool == "deploy" {
			return starhost.Deny("frozen")
		}
		return starhost.Decision{}
	}
	result, _ := rig.resume(t, saved)
	if !result.Completed || len(rig.ran) > 0 || len(result.Calls) == 0 || result.Calls[0].Denied == nil {
		t.Errorf("got %+v, ran %q, want a denial", result, rig.ran)
	}
}

// TestPauseBegin checks that no other turn begins while a turn waits. When the time to answer is over, the
// turn ends without the call.
func TestPauseBegin(t *testing.T) {
	var rig pauseRig
	saved := rig.pausedSession(t)
	s := rig.host(t).Resume(host.SessionConfig{ID: "s"}, saved)
	_, err := s.Prompt(t.Context(), host.Request{Text: "more"})
	if err == nil || !strings.Contains(err.Error(), `session "s": a turn waits for the approval of deploy`) {
		t.Errorf("got %v", err)
	}
	rig.now = rig.now.Add(25 * time.Hour)
	p, err := s.Prompt(t.Context(), host.Request{Text: "more"})
	if err != nil {
		t.Fatal(err)
	}
	var answers []string
	for _, m := range p.Messages {
		if m.Role == starhost.RoleTool {
			answers = append(answers, m.CallID+" "+m.Content.String())
		}
	}
	diff(t, "answers", []string{`c1 {"text":"x"}`, "c2 not run: the turn ended", "c3 not run: the turn ended"}, answers)
	if turn, err := s.ResumeTurn(t.Context()); turn != nil || err != nil {
		t.Errorf("ResumeTurn: got %v, %v, want nil", turn, err)
	}
}

// TestPauseNested checks that a call by a handler cannot wait for an approval, and that no call can without
// PauseTurns.
func TestPauseNested(t *testing.T) {
	rig := pauseRig{now: pauseStart}
	m := scriptedModel{replyWith("c1 nested"), {Content: "done"}}
	result, err := rig.host(t).NewSession(host.SessionConfig{}).Turn(t.Context(), host.Request{}, &m)
	if err != nil || !result.Completed || !strings.Contains(result.Calls[0].Result.ForLLM, "nobody can give it") {
		t.Errorf("got %+v, %v, want a denial", result, err)
	}
	plain := newHost(t, host.Options{}, namedTool("deploy", starhost.Tool{Approval: starhost.ApprovalAsk}))
	m = scriptedModel{replyWith("c1 deploy"), {Content: "done"}}
	result, err = plain.NewSession(host.SessionConfig{}).Turn(t.Context(), host.Request{}, &m)
	if err != nil || result.Paused != nil || !result.Completed {
		t.Errorf("without PauseTurns: got %+v, %v", result, err)
	}
}

// TestPauseHere checks that a turn of a session without a store can wait and go on in its own process.
func TestPauseHere(t *testing.T) {
	var rig pauseRig
	asked := 0
	rig.now = pauseStart
	rig.options.Approver = func(context.Context, host.ApprovalRequest) (host.Answer, error) {
		if asked++; asked == 1 {
			return host.Answer{}, fmt.Errorf("later: %w", errors.ErrUnsupported)
		}
		return host.Answer{Yes: true}, nil
	}
	s := rig.host(t).NewSession(host.SessionConfig{})
	m := pauseReplies()
	result, err := s.Turn(t.Context(), host.Request{Text: "hi"}, &m)
	if err != nil || result.Paused == nil {
		t.Fatal(result, err)
	}
	turn, err := s.ResumeTurn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End(t.Context())
	result, err = turn.Run(t.Context(), &m)
	if err != nil || !result.Completed || !slices.Equal(rig.ran, []string{`{"to":"prod"}`}) {
		t.Errorf("got %+v, %v, ran %q", result, err, rig.ran)
	}
}
