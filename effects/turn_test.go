package effects_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
)

// A script is a model that gives its replies one after another, and then fails.
type script []starhost.Reply

func (s *script) Complete(context.Context, *host.Prompt) (starhost.Reply, error) {
	if len(*s) == 0 {
		return starhost.Reply{}, errors.New("overloaded: try <again>")
	}
	r := (*s)[0]
	*s = (*s)[1:]
	return r, nil
}

// calls returns a reply that calls a tool of each name.
func calls(names ...string) starhost.Reply {
	r := starhost.Reply{Content: "<calling>", Usage: starhost.Usage{Input: 7, Output: 2, Cached: 1}}
	for i, name := range names {
		r.ToolCalls = append(r.ToolCalls, starhost.ToolCall{
			ID: fmt.Sprint("c", i), Name: name, Arguments: json.RawMessage(`{ "n": 1.0 }`),
		})
	}
	return r
}

// guarded is a plugin whose tools need approval: page, and relay, which calls page. The plugin adds to notes
// what its handlers see of a turn.
func guarded(t testing.TB, answers *effects.Replay, notes *[]string) starhost.Plugin {
	w := plugin(t, "tool:*")
	if answers != nil {
		w.Answers = answers
	}
	page := func(context.Context, starhost.ToolCall) (starhost.Result, error) {
		return starhost.Result{ForLLM: "paged"}, nil
	}
	relay := func(ctx context.Context, c starhost.ToolCall) (starhost.Result, error) {
		turn := host.TurnOf(ctx)
		r, err := w.CallTool(ctx, turn, "page", c.Arguments)
		return starhost.Result{ForLLM: "relayed: " + r.Result.ForLLM}, err
	}
	seen := func(event string) starhost.Hook {
		return starhost.Hook{Event: event, Call: func(
			ctx context.Context, e *starhost.Event,
		) (starhost.Decision, error) {
			turn := host.TurnOf(ctx)
			n, err := w.Random(ctx, turn, 1000)
			*notes = append(*notes, fmt.Sprintf("%s: %q %q %v %v %d ms, drew %d %v",
				e.Name, e.Response, e.Result.ForLLM, e.ToolCalls, e.Usage, e.DurationMS, n, err))
			return starhost.Decision{}, nil
		}}
	}
	object := json.RawMessage(`{"type":"object"}`)
	return starhost.Plugin{
		Name: "p",
		Tools: []starhost.Tool{
			{Name: "page", Description: "Pages.", Parameters: object, Approval: starhost.ApprovalAsk, Call: page},
			{Name: "relay", Description: "Relays.", Parameters: object, Call: relay},
		},
		Hooks: []starhost.Hook{seen("post_llm_call"), seen("post_tool_call"), seen("turn_end")},
	}
}

// playTurn runs a whole turn and returns all of its results, and the next prompt.
func playTurn(t testing.TB, o host.Options, m host.Model, answers *effects.Replay, text string) string {
	var notes []string
	h := host.New(o)
	if err := h.Add(guarded(t, answers, &notes)); err != nil {
		t.Fatal(err)
	}
	s := h.NewSession(host.SessionConfig{ID: "s", Seed: 3})
	r, err := s.Turn(t.Context(), host.Request{Text: text, Model: "acme/small"}, m)
	result := fmt.Sprintf("%q %v %v %d %v\n%s\n", r.Text, r.Completed, r.Usage, r.Rounds, err, strings.Join(notes, "\n"))
	if r.Prompt != nil {
		result += r.Prompt.Rendering() // with all messages of the earlier ones
	}
	return result + fmt.Sprint(r.Turn.Errors())
}

// approvals returns a person who gives one answer to each question: "yes", "no", "late" for an answer that
// comes too late, or an error for any other text.
func approvals(answers ...string) func(context.Context, host.ApprovalRequest) (host.Answer, error) {
	next := make(chan string, len(answers)) // a late answer may come during the next question
	for _, a := range answers {
		next <- a
	}
	close(next)
	return func(ctx context.Context, _ host.ApprovalRequest) (host.Answer, error) {
		answer, ok := <-next
		switch {
		case !ok:
			return host.Answer{}, errors.New("no terminal")
		case answer == "late":
			<-ctx.Done()
		}
		return host.Answer{Yes: answer == "yes"}, nil
	}
}

// noModel fails a test whose turn asks the model.
type noModel struct{ t testing.TB }

func (m noModel) Complete(context.Context, *host.Prompt) (starhost.Reply, error) {
	m.t.Error("the model was asked")
	return starhost.Reply{}, nil
}

// nobody fails a test whose turn asks a person.
func nobody(t testing.TB) func(context.Context, host.ApprovalRequest) (host.Answer, error) {
	return func(context.Context, host.ApprovalRequest) (host.Answer, error) {
		t.Error("a person was asked")
		return host.Answer{Yes: true}, nil
	}
}

// recordTurn returns the results of a turn, and its journal.
func recordTurn(
	t testing.TB, m host.Model, approver func(context.Context, host.ApprovalRequest) (host.Answer, error),
	timeout time.Duration,
) (text, journal string) {
	j := new(effects.Journal)
	text = playTurn(t, host.Options{
		Record: j.Record, Clock: standing, Approver: approver, ApprovalTimeout: timeout,
	}, m, nil, "hi")
	b, err := j.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return text, string(b)
}

func readJournal(t testing.TB, text string) *effects.Replay {
	r, err := effects.ReadJournal("journal", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReplayTurn checks that a turn runs again from its journal in another host, without the model and
// without the person who approves. The events that handlers see, the requests to the model, the turn's end
// and the new journal are the same.
func TestReplayTurn(t *testing.T) {
	bad := starhost.Reply{Content: "caf\xe9", ToolCalls: []starhost.ToolCall{{ID: "c", Name: "page", Arguments: json.RawMessage(`{"n":`)}}}
	tests := []struct {
		name     string
		model    script
		approver func(context.Context, host.ApprovalRequest) (host.Answer, error)
	}{
		{"an answer", script{{Content: "done"}}, nil},
		{"approved, refused, late, and an error", script{calls("page", "page"), calls("page", "page"), {Content: "done"}}, approvals("yes", "no", "late")},
		{"nobody who approves", script{calls("page"), {Content: "done"}}, nil},
		{"approval inside of a tool", script{calls("relay", "relay"), {Content: "done"}}, approvals("no", "yes")},
		{"the model fails", script{calls("page")}, approvals("yes")},
		{"what is no JSON and no UTF-8", script{bad, {Content: "done"}}, approvals("yes")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, journal := recordTurn(t, &tt.model, tt.approver, 50*time.Millisecond)
			r := readJournal(t, journal)
			again := new(effects.Journal)
			got := playTurn(t, host.Options{
				Record: again.Record, Clock: standing, Answer: r.Answer, Approver: nobody(t),
			}, noModel{t}, r, "hi")
			if diff := cmp.Diff(text, got); diff != "" {
				t.Errorf("turn (-recorded +replayed):\n%s", diff)
			}
			copied, err := again.Bytes()
			if diff := cmp.Diff(journal, string(copied)); diff != "" || err != nil {
				t.Errorf("journal (-recorded +replayed), %v:\n%s", err, diff)
			}
			if err := r.End(); err != nil {
				t.Errorf("End: %v", err)
			}
		})
	}
}

// TestInputLines checks that the line of an input has the hash of the prompt, not its text.
func TestInputLines(t *testing.T) {
	_, journal := recordTurn(t, &script{calls("page"), {Content: "done"}}, approvals("no"), time.Hour)
	var got []string
	for line := range strings.Lines(journal) {
		if strings.Contains(line, `"plugin":"host"`) {
			got = append(got, line)
		}
	}
	want := []string{
		`{"lane":"1","plugin":"host","model":{"name":"acme/small","options":{},"prompt":"PROMPT"},"reply":{"content":"<calling>","tool_calls":[{"id":"c0","name":"page","arguments":"{ \"n\": 1.0 }"}],"usage":{"input_tokens":7,"output_tokens":2,"cached_tokens":1}}}` + "\n",
		`{"lane":"3","plugin":"host","approval":{"tool":"page","arguments":{"n":1.0},"call_id":"c0","plugin":"p","reasons":["tool page asks for approval"]},"reply":{"approved":false,"reason":"not approved: tool page asks for approval"}}` + "\n",
		`{"lane":"4","plugin":"host","model":{"name":"acme/small","options":{},"prompt":"PROMPT"},"reply":{"content":"done","usage":{"input_tokens":0,"output_tokens":0,"cached_tokens":0}}}` + "\n",
	}
	for i, line := range got {
		if before, after, ok := strings.Cut(line, `"prompt":"`); ok {
			got[i] = before + `"prompt":"PROMPT` + after[64:]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestReplayTurnDiverges checks that the replay of a different turn stops at the first input that differs.
func TestReplayTurnDiverges(t *testing.T) {
	text, journal := recordTurn(t, &script{calls("page"), {Content: "done"}}, approvals("yes"), time.Hour)
	digest := strings.SplitN(strings.SplitN(journal, `"prompt":"`, 2)[1], `"`, 2)[0]
	without := func(kind string) string {
		rest := ""
		for line := range strings.Lines(journal) {
			if !strings.Contains(line, `"`+kind+`":{`) {
				rest += line
			}
		}
		return rest
	}
	tests := []struct{ name, journal, text, want string }{
		{"another message", journal, "ho", `replay: lane 1 of host: effect 1: got model {"name":"acme/small","options":{},"prompt":"`},
		{"another prompt in the journal", strings.Replace(journal, digest, strings.Repeat("0", 64), 1), "hi",
			`, want model {"name":"acme/small","options":{},"prompt":"` + strings.Repeat("0", 64) + `"} as recorded`},
		{"no approval in the journal", without("approval"), "hi",
			`replay: lane 3 of host: effect 1: got approval {"tool":"page","arguments":{"n":1.0},"call_id":"c0","plugin":"p","reasons":["tool page asks for approval"]}, want no further effect as recorded`},
		{"an approval of another tool", strings.Replace(journal, `{"tool":"page"`, `{"tool":"relay"`, 1), "hi", `, want approval {"tool":"relay"`},
		{"a reply of another type", strings.Replace(journal, `"content":"<calling>"`, `"content":1`, 1), "hi", ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := readJournal(t, tt.journal)
			got := playTurn(
				t, host.Options{Clock: standing, Answer: r.Answer, Approver: nobody(t)}, noModel{t}, r, tt.text,
			)
			if got == text {
				t.Error("the turn is the same")
			}
			if err := r.End(); !strings.Contains(message(err), tt.want) || code(err) != "E0516" {
				t.Errorf("End: got %v, want it with %s", err, tt.want)
			}
		})
	}
}

// TestReplayTurnProperty states a law: a turn with any replies and answers runs again in the same way.
func TestReplayTurnProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"page", "relay", "none"}), 0, 3)
		var m script
		for range rapid.IntRange(0, 4).Draw(rt, "rounds") {
			m = append(m, calls(names.Draw(rt, "tools")...))
		}
		person := approvals(rapid.SliceOfN(rapid.SampledFrom([]string{"yes", "no"}), 0, 6).Draw(rt, "answers")...)
		text, journal := recordTurn(t, &m, person, time.Hour)
		r := readJournal(t, journal)
		got := playTurn(t, host.Options{Clock: standing, Answer: r.Answer}, noModel{t}, r, "hi")
		if diff := cmp.Diff(text, got); diff != "" || r.End() != nil {
			rt.Errorf("turn (-recorded +replayed), %v:\n%s", r.End(), diff)
		}
	})
}
