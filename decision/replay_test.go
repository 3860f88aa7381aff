package decision_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
)

// A handler decides about an event with the effects of a world.
type handler func(ctx context.Context, w *effects.World, t *host.Turn, e *starhost.Event) (starhost.Decision, error)

// replay replays records with a plugin "p" whose hooks of calls and prompts are handlers.
func replay(
	t *testing.T, o decision.ReplayOptions, records []*decision.Record, handlers ...handler,
) *decision.ReplayReport {
	t.Helper()
	r, err := decision.NewReplay(o)
	if err != nil {
		t.Fatal(err)
	}
	load := func() (*host.Host, error) { return newReplayHost(r, handlers...) }
	report, err := r.Run(t.Context(), load, sequence(records))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// newReplayHost returns a host with a plugin "p", which may do everything.
func newReplayHost(r *decision.Replay, handlers ...handler) (*host.Host, error) {
	w := &effects.World{Plugin: "p", Answers: effects.Resolver(r.Resolve)}
	w.Declared, _ = effects.ParseGrants([]string{"env:*", "store", "secret:*", "fs.read:**", "fs.write:**"})
	w.Granted = w.Declared
	p := starhost.Plugin{Name: "p", RespondsTo: []string{"x"}}
	for i, h := range handlers {
		for _, event := range []string{"pre_tool_call", "turn_start"} {
			p.Hooks = append(p.Hooks, starhost.Hook{
				Event: event, Pos: starhost.Pos{File: "p.star", Line: i + 1, Col: 1},
				Call: func(ctx context.Context, e *starhost.Event) (starhost.Decision, error) {
					t := host.TurnOf(ctx)
					return h(ctx, w, t, e)
				},
			})
		}
	}
	h := host.New(host.Options{Clock: r.Now, Answer: r.Answer})
	return h, h.Add(p)
}

func sequence(records []*decision.Record) iter.Seq2[*decision.Record, error] {
	return func(yield func(*decision.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// call returns the record of a call of the tool x in a session, with a decision of the plugin p.
func call(session, action string, lines ...string) *decision.Record {
	r := &decision.Record{
		Schema: decision.Schema, ID: "id-" + session, Session: session, Turn: 1, Event: "pre_tool_call", Tool: "x",
		Foreign: true, Agent: "claude-code", Time: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC),
		Input:    map[string]json.RawMessage{"arguments": json.RawMessage(`{"command":"ls"}`)},
		Set:      decision.Set{Plugins: []decision.Plugin{{Name: "p"}}},
		Decision: decision.Decision{Action: action},
	}
	if action != "none" {
		r.Decision.Plugin, r.Decision.Pos, r.Decision.Reason = "p", "p.star:1:1", "no"
	}
	h := decision.Handler{Decision: r.Decision}
	for _, line := range lines {
		h.Effects = append(h.Effects, json.RawMessage(strings.Replace(line, "{", `{"lane":"1","plugin":"p",`, 1)))
	}
	r.Handlers = []decision.Handler{h}
	return r
}

// decide returns a handler with one decision.
func decide(d starhost.Decision) handler {
	return func(context.Context, *effects.World, *host.Turn, *starhost.Event) (starhost.Decision, error) {
		return d, nil
	}
}

// denyIf returns a handler that denies, asks or passes, by the text that get returns.
func denyIf(get func(ctx context.Context, w *effects.World, s *host.Session) (string, error)) handler {
	return func(ctx context.Context, w *effects.World, t *host.Turn, _ *starhost.Event) (starhost.Decision, error) {
		switch text, err := get(ctx, w, t.Session()); {
		case err != nil:
			return starhost.Decision{}, err
		case text == "deny":
			return starhost.Deny("no"), nil
		case text == "ask":
			return starhost.Ask("no"), nil
		}
		return starhost.Decision{}, nil
	}
}

// changedTo returns the record of a call whose arguments the plugin replaced.
func changedTo(arguments string) *decision.Record {
	r := call("s", "modify")
	r.Decision.Changes = map[string]json.RawMessage{"arguments": json.RawMessage(arguments)}
	return r
}

// TestReplayOutcomes checks the comparison of decisions.
func TestReplayOutcomes(t *testing.T) {
	modified := call("s", "modify")
	modified.Decision.Changes = map[string]json.RawMessage{"arguments": json.RawMessage(`{"command": "ls -l"}`)}
	cut := call("s", "modify")
	cut.Decision.Changes = map[string]json.RawMessage{"arguments": json.RawMessage(`{"bytes":1,"sha256":"x"}`)}
	cut.Cut = []string{"/decision/changes/arguments"}
	inside, beside := changedTo(`{"command":"ls"}`), changedTo(`{"command":"ls"}`)
	inside.Cut, beside.Cut = []string{"/decision/changes/arguments/command"}, []string{"/decision/changes/arguments2"}
	respond := call("s", "respond")
	respond.Foreign, respond.Decision.Result = false, &decision.Result{ForLLM: "a"}
	answered := call("s", "respond")
	answered.Foreign = false
	answered.Decision.Result = &decision.Result{Digest: &decision.Digest{Bytes: 2, SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte("a\x00")))}}
	undecided := call("s", "none")
	undecided.Handlers, undecided.Errors = nil, []string{"late"}
	failed := call("s", "none")
	failed.Errors = []string{"p: broken"}
	say := func(text string) starhost.Decision {
		return starhost.Decision{Action: starhost.ActionRespond, Result: &starhost.Result{ForLLM: text}}
	}
	masked := call("s", "none")
	masked.Masked = []string{"/input/arguments/command"}
	abort := starhost.Decision{Action: starhost.ActionAbort, Reason: "no"}
	change := starhost.Modify("arguments", json.RawMessage(`{"command":"ls -l"}`))
	sum := sha256.Sum256([]byte(`{"command":"ls -l"}`))
	digest := fmt.Sprintf(`{"bytes":%d,"sha256":"%x"}`, len(`{"command":"ls -l"}`), sum)
	tests := []struct {
		name   string
		record *decision.Record
		now    starhost.Decision
		want   string
	}{
		{"the change of a digest", changedTo(digest), change, "1 same, 0 cannot tell"},
		{"another digest", changedTo(digest), starhost.Modify("arguments", json.RawMessage(`{"a":1}`)), "0 same, 1 differ, 0 cannot tell"},
		{"a mask at the end", changedTo(`{"command":"ls <masked>"}`), change, "1 same, 0 cannot tell"},
		{"a mask at the start", changedTo(`{"command":"<masked>-l"}`), change, "1 same, 0 cannot tell"},
		{"a mask in a text", changedTo(`{"command":"l<masked>l"}`), change, "1 same, 0 cannot tell"},
		{"a mask before another end", changedTo(`{"command":"<masked>ls"}`), change, "0 same, 1 differ, 0 cannot tell"},
		{"a mask behind another start", changedTo(`{"command":"rm <masked>"}`), change, "0 same, 1 differ, 0 cannot tell"},
		{"nothing", call("s", "none"), starhost.Decision{}, "1 same, 0 cannot tell"},
		{"masked", masked, starhost.Decision{}, "0 same, 1 same, masked, 0 cannot tell"},
		{"the same denial", call("s", "deny"), starhost.Deny("no"), "1 same, 0 cannot tell"},
		{"another reason", call("s", "deny"), starhost.Deny("never"), "1 same, 0 cannot tell"},
		{"an abort counts as denied", call("s", "abort"), starhost.Deny("no"), "1 same, 0 cannot tell"},
		{"a denial counts as an abort", call("s", "deny"), abort, "1 same, 0 cannot tell"},
		{"now denied", call("s", "none"), starhost.Deny("no"), "0 same, 1 now denied, 0 cannot tell"},
		{"asked, now denied", call("s", "ask"), starhost.Deny("no"), "0 same, 1 now denied, 0 cannot tell"},
		{"now passes", call("s", "deny"), starhost.Decision{}, "0 same, 1 now pass, 0 cannot tell"},
		{"asked, now passes", call("s", "ask"), change, "0 same, 1 now pass, 0 cannot tell"},
		{"asks", call("s", "none"), starhost.Ask("no"), "0 same, 1 ask more, 0 cannot tell"},
		{"denied, now asks", call("s", "deny"), starhost.Ask("no"), "0 same, 1 ask more, 0 cannot tell"},
		{"the same change", modified, change, "1 same, 0 cannot tell"},
		{"another change", modified, starhost.Modify("arguments", json.RawMessage(`{}`)), "0 same, 1 differ, 0 cannot tell"},
		{"a change", call("s", "none"), change, "0 same, 1 differ, 0 cannot tell"},
		{"a change that was cut", cut, change, "0 same, 1 cannot tell"},
		{"no change", modified, starhost.Decision{}, "0 same, 1 differ, 0 cannot tell"},
		{"another action", respond, change, "0 same, 1 differ, 0 cannot tell"},
		{"another change of a value that was cut inside", inside, change, "0 same, 1 cannot tell"},
		{"another change beside a cut", beside, change, "0 same, 1 differ, 0 cannot tell"},
		{"the same answer", respond, say("a"), "1 same, 0 cannot tell"},
		{"another answer", respond, say("b"), "0 same, 1 differ, 0 cannot tell"},
		{"the answer of a digest", answered, say("a"), "1 same, 0 cannot tell"},
		{"another answer than the digest's", answered, say("b"), "0 same, 1 differ, 0 cannot tell"},
		{"no plugin decided", undecided, starhost.Decision{}, "0 same, 1 cannot tell"},
		{"a plugin failed", failed, starhost.Decision{}, "1 same, 0 cannot tell"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report := replay(t, decision.ReplayOptions{}, []*decision.Record{tt.record}, decide(tt.now))
			if diff := cmp.Diff("1 event of 1 session: "+tt.want, report.Summary()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestReplayNamesPlugin checks whose decision the text of a difference names: the new one's, or the
// recorded one's if there is no decision now.
func TestReplayNamesPlugin(t *testing.T) {
	for want, now := range map[string]starhost.Decision{
		"now differ by p": starhost.Modify("arguments", json.RawMessage(`{}`)), "now differ by was": {},
	} {
		r := call("s", "modify")
		r.Decision.Plugin, r.Decision.Reason = "was", ""
		r.Decision.Changes = map[string]json.RawMessage{"arguments": json.RawMessage(`{"command":"x"}`)}
		report := replay(t, decision.ReplayOptions{}, []*decision.Record{r}, decide(now))
		diff(t, "group", want, report.Groups[0].Text())
	}
}

// TestReplayEffects checks which requests the record answers.
func TestReplayEffects(t *testing.T) {
	env := func(name string) handler {
		return denyIf(func(ctx context.Context, w *effects.World, _ *host.Session) (string, error) {
			text, _, err := w.GetEnv(ctx, name)
			return text, err
		})
	}
	write := func(text string) handler {
		return denyIf(func(ctx context.Context, w *effects.World, _ *host.Session) (string, error) {
			return "", w.WriteFile(ctx, "a", text)
		})
	}
	tests := []struct {
		name, line string
		handler    handler
		want       string
	}{
		{"a recorded reply", `{"env":{"name":"A"},"reply":"deny"}`, env("A"), "now denied by p: no"},
		{"another request", `{"env":{"name":"A"},"reply":"deny"}`, env("B"), `cannot tell: env: the record has no reply to {"name":"B"} of p`},
		{"a digested reply", `{"env":{"name":"A"},"digest":{"bytes":99,"sha256":"x"}}`, env("A"), "cannot tell: env: the reply to p was too large for the log"},
		{"a recorded error", `{"env":{"name":"A"},"error":{"message":"broken"}}`, env("A"), "now denied by p: the guard of p failed: broken"},
		{"a recorded write", `{"fs.write":{"path":"a","bytes":1,"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"},"reply":null}`, write("x"), ""},
		{"another content", `{"fs.write":{"path":"a","bytes":1,"sha256":"x"},"reply":null}`, write("y"), "cannot tell: fs.write: the record has no reply to"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			records := []*decision.Record{call("s", "none", tt.line)}
			report := replay(t, decision.ReplayOptions{ReadFiles: true}, records, tt.handler)
			got := ""
			for i := range report.Groups {
				got += report.Groups[i].Text()
			}
			if !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestReplayClock checks that handlers see the time of the record.
func TestReplayClock(t *testing.T) {
	read := func(times *[]string) handler {
		return func(
			ctx context.Context, w *effects.World, turn *host.Turn, _ *starhost.Event,
		) (d starhost.Decision, err error) {
			now, err := w.Now(ctx, turn)
			*times = append(*times, now.Format(time.DateOnly))
			return d, err
		}
	}
	var times []string
	records := []*decision.Record{call("s", "none"), call("s", "none", `{"now":{},"reply":"2025-01-02T00:00:00Z"}`)}
	replay(t, decision.ReplayOptions{}, records, read(&times), read(&times))
	if diff := cmp.Diff([]string{"2026-11-23", "2026-11-23", "2025-01-02", "2025-01-02"}, times); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// count returns a handler that adds step to ctx.state or ctx.store and denies from most on.
func count(where string, step, most int) handler {
	return denyIf(func(ctx context.Context, w *effects.World, s *host.Session) (string, error) {
		get := func() (json.RawMessage, bool, error) { return w.StateGet(ctx, s, "n") }
		if where == "store" {
			get = func() (json.RawMessage, bool, error) { return w.StoreGet(ctx, "n") }
		}
		raw, ok, err := get()
		if err != nil {
			return "", err
		}
		n := 0
		if ok {
			_ = json.Unmarshal(raw, &n)
		}
		n += step
		if next := json.RawMessage(fmt.Sprint(n)); where == "store" {
			err = w.StoreSet(ctx, "n", next)
		} else {
			err = w.StateSet(ctx, s, "n", next)
		}
		if n >= most {
			return "deny", err
		}
		return "", err
	})
}

// counted returns the record of an event in which the handler count("state", 1, 3) ran.
func counted(session, where string, n int) *decision.Record {
	found := fmt.Sprintf(`{"%s.get":{"key":"n"},"reply":{"value":%d,"found":true}}`, where, n)
	if n == 0 {
		found = fmt.Sprintf(`{"%s.get":{"key":"n"},"reply":{"found":false}}`, where)
	}
	action := "none"
	if n+1 >= 3 {
		action = "deny"
	}
	return call(session, action, found, fmt.Sprintf(`{"%s.set":{"key":"n","value":%d},"reply":{}}`, where, n+1))
}

// TestReplayState checks ctx.state and ctx.store of a plugin that counts events and denies from the
// third one on.
func TestReplayState(t *testing.T) {
	days := func(where string, session ...string) (list []*decision.Record) {
		n := map[string]int{}
		for i, s := range session {
			key := s
			if where == "store" {
				key = ""
			}
			r := counted(s, where, n[key])
			r.ID = fmt.Sprint(i)
			list = append(list, r)
			n[key]++
		}
		return list
	}
	late := days("state", "a", "a", "a", "a", "a")[2:]
	for _, r := range late {
		r.Turn = 7
	}
	unread := days("state", "a", "a", "a")
	for i, r := range unread {
		r.Set.Plugins, r.Handlers, r.Decision = nil, nil, decision.Decision{Action: "none"}
		r.ID = fmt.Sprint(i)
	}
	unnamed := days("state", "a", "a", "a")
	for i, r := range unnamed {
		r.Set.Revision, r.Set.Plugins, r.Handlers, r.Decision = "r", nil, nil, decision.Decision{Action: "none"}
		r.ID = fmt.Sprint(i)
	}
	tests := []struct {
		name    string
		records []*decision.Record
		handler handler
		want    string
	}{
		{"the same plugin", days("state", "a", "b", "a", "a", "b"), count("state", 1, 3), "5 events of 2 sessions: 5 same, 0 cannot tell"},
		{"another bound", days("state", "a", "b", "a", "a", "b"), count("state", 1, 2), "5 events of 2 sessions: 3 same, 2 now denied, 0 cannot tell"},
		{"another step", days("state", "a", "a", "a", "a"), count("state", 2, 3), "4 events of 1 session: 3 same, 1 now denied, 0 cannot tell"},
		{"no writes", days("state", "a", "a", "a", "a"), count("state", 0, 1), "4 events of 1 session: 2 same, 2 now pass, 0 cannot tell"},
		{"a session that began before the log", late, count("state", 1, 4), "3 events of 1 session: 2 same, 1 now pass, 0 cannot tell"},
		{"a new plugin", unread, count("state", 1, 3), "3 events of 1 session: 2 same, 1 now denied, 0 cannot tell"},
		{"a new plugin with a store", unread, count("store", 1, 3), "3 events of 1 session: 2 same, 1 now denied, 0 cannot tell"},
		{"a plugin with a store, in an unknown set", unnamed, count("store", 1, 3), "3 events of 1 session: 0 same, 3 cannot tell"},
		{"the same plugin with a store", days("store", "a", "b", "a", "a", "b"), count("store", 1, 3), "5 events of 2 sessions: 5 same, 0 cannot tell"},
		{"another bound with a store", days("store", "a", "b", "a", "b"), count("store", 1, 2), "4 events of 2 sessions: 3 same, 1 now denied, 0 cannot tell"},
		// The event of b depends on the writes of a, and then the last one of a on that of b.
		{"another session's writes", days("store", "a", "a", "b", "a"), count("store", 2, 5), "4 events of 2 sessions: 2 same, 2 cannot tell"},
		{"reads of omitted values", lacking(days("state", "a", "a", "a", "a"), 1), count("state", 1, 3), "4 events of 1 session: 3 same, 1 cannot tell"},
		{"another step, omitted values", lacking(days("state", "a", "a", "a", "a"), 1), count("state", 2, 3), "4 events of 1 session: 1 same, 3 cannot tell"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report := replay(t, decision.ReplayOptions{}, tt.records, tt.handler, readWords)
			if diff := cmp.Diff(tt.want, report.Summary()); diff != "" {
				t.Errorf("(-want +got):\n%s\n%+v", diff, report.Groups)
			}
		})
	}
}

// TestReplayEvicts checks that a session that was evicted starts again from its records.
func TestReplayEvicts(t *testing.T) {
	records := []*decision.Record{call("a", "none")}
	records[0].Set.Plugins = nil // the plugin is new: it counts from 0
	for i := range 10_000 {
		records = append(records, call(fmt.Sprint(i), "none"))
	}
	for _, reads := range []int{0, 2} {
		again := call("a", "none")
		if reads > 0 {
			again = counted("a", "state", reads)
		}
		again.Turn = 1
		records = append(records, again)
	}
	report := replay(t, decision.ReplayOptions{}, records, count("state", 1, 3))
	want := "10,003 events of 10,001 sessions: 10,002 same, 1 cannot tell"
	if diff := cmp.Diff(want, report.Summary()); diff != "" {
		t.Errorf("(-want +got):\n%s\n%+v", diff, report.Groups)
	}
}

// TestReplayEvictsLong checks that a replay remembers as many sessions as have room, also after the
// first ones were evicted.
func TestReplayEvictsLong(t *testing.T) {
	const sessions = 20 // of 1 MiB; 15 have room
	long := strings.Repeat("a", 1<<20)
	read := func(r *decision.Record, again bool, key, value string) {
		if !again {
			line := fmt.Sprintf(`{"lane":"1","plugin":"p","state.get":{"key":%q},"reply":{"value":%q,"found":true}}`, key, value)
			r.Handlers[0].Effects = []json.RawMessage{json.RawMessage(line)}
		}
	}
	for name, grow := range map[string]func(r *decision.Record, again bool){
		"name":  func(r *decision.Record, _ bool) { r.Agent = long },
		"key":   func(r *decision.Record, again bool) { read(r, again, long, "v") },
		"value": func(r *decision.Record, again bool) { read(r, again, "k", long) },
	} {
		var records []*decision.Record
		add := func(i int, again bool) {
			r := call(fmt.Sprint(i), "none")
			r.Set.Plugins = nil // the plugin is new: it counts from 0
			grow(r, again)
			records = append(records, r)
		}
		for i := range sessions {
			add(i, false)
		}
		for i := sessions - 1; i >= sessions-10; i-- {
			add(i, true)
		}
		add(0, true)
		report := replay(t, decision.ReplayOptions{}, records, count("state", 1, 3))
		diff(t, name, "31 events of 20 sessions: 30 same, 1 cannot tell", report.Summary())
	}
}

// TestReplayGroups checks the order of groups, and that a report of too many reasons and places has
// groups without them.
func TestReplayGroups(t *testing.T) {
	var records []*decision.Record
	add := func(times int, action, pos, reason string) {
		for range times {
			r := call("s", action)
			r.ID, r.Decision.Pos, r.Decision.Reason = fmt.Sprint("id", len(records)), pos, reason
			records = append(records, r)
		}
	}
	groups := func() (text string, report *decision.ReplayReport) {
		report = replay(t, decision.ReplayOptions{}, records, decide(starhost.Decision{}))
		for i := range report.Groups {
			g := &report.Groups[i]
			text += fmt.Sprintln(g.Count, g.Text(), g.Pos, g.Example)
		}
		return text, report
	}
	add(1, "deny", "p.star:2:1", "b")
	add(1, "deny", "p.star:1:1", "b")
	add(1, "deny", "p.star:3:1", "a")
	add(2, "deny", "p.star:4:1", strings.Repeat("r", 300))
	add(3, "none", "", "")
	for _, r := range records[5:] {
		r.Handlers, r.Errors = nil, []string{"late"}
	}
	got, _ := groups()
	diff(t, "groups", "2 now pass p: "+strings.Repeat("r", 200)+"… p.star:4:1 id3\n1 now pass p: b p.star:1:1 id1\n1 now pass p: b p.star:2:1 id0\n"+
		"1 now pass p: a p.star:3:1 id2\n3 cannot tell: no plugin decided: late  id5\n", got)
	records = nil
	for i := range 2005 {
		add(1, "deny", fmt.Sprintf("p.star:%d:1", i+1), fmt.Sprint("reason ", i))
	}
	_, report := groups()
	diff(t, "groups", 2001, len(report.Groups))
	diff(t, "events without a reason", 1005, report.MoreReasons)
	diff(t, "the rest", decision.ReplayGroup{Outcome: "now pass", Count: 5, Example: "id2000", Merged: true}, report.Groups[0])
}

// TestMergeReplays checks the law of merged reports: if each session is in one part, the parts merge to the
// report of all records, in any order, also if there are more reasons and places than a report has.
func TestMergeReplays(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var records []*decision.Record
	for i := range 12_000 {
		r := call(fmt.Sprint("s", i/10), []string{"deny", "ask", "none"}[i%3])
		r.ID, r.Decision.Plugin = fmt.Sprintf("id%05d", i), fmt.Sprint("p", i%2)
		r.Decision.Pos = fmt.Sprintf("p.star:%d:1", random.IntN(2000))
		r.Decision.Reason = strings.Repeat("reason ", random.IntN(40)) + fmt.Sprint(random.IntN(100))
		if i%3 == 2 {
			r.Handlers, r.Errors = nil, []string{fmt.Sprint("late ", random.IntN(3000))}
		}
		if i%7 == 0 {
			r.Masked = []string{"/input/arguments/x"}
		}
		records = append(records, r)
	}
	report := func(records []*decision.Record) *decision.ReplayReport {
		return replay(t, decision.ReplayOptions{}, records, decide(starhost.Decision{}))
	}
	want := report(records)
	want.Allow("now pass p1")
	if want.MoreReasons == 0 || len(want.Groups) < 2001 {
		t.Fatalf("got %d groups, and %d events without a reason, want more than fit", len(want.Groups), want.MoreReasons)
	}
	for _, n := range []int{1, 8, 100} {
		parts, sessions := make([][]*decision.Record, n), map[string]int{}
		for _, r := range records {
			if _, ok := sessions[r.Session]; !ok {
				sessions[r.Session] = random.IntN(n)
			}
			parts[sessions[r.Session]] = append(parts[sessions[r.Session]], r)
		}
		reports := make([]*decision.ReplayReport, n)
		for i, part := range parts {
			slices.SortStableFunc(part, func(a, b *decision.Record) int { return strings.Compare(b.Session, a.Session) })
			text, err := json.Marshal(report(part))
			if err == nil {
				err = json.Unmarshal(text, &reports[i])
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		got := decision.MergeReplays(reports)
		got.Allow("now pass p1")
		diff(t, fmt.Sprint(n, " parts"), want, got)
	}
}

// TestReplayRewords checks which equal decisions count as reworded.
func TestReplayRewords(t *testing.T) {
	for want, change := range map[string]func(d *decision.Decision){
		"0 the same": func(*decision.Decision) {}, "1 reason": func(d *decision.Decision) { d.Reason = "never" },
		"1 plugin": func(d *decision.Decision) { d.Plugin = "q" }, "1 place": func(d *decision.Decision) { d.Pos = "p.star:2:1" },
		"0 another decision": func(d *decision.Decision) { d.Action, d.Reason = "ask", "never" },
	} {
		r := call("s", "deny")
		change(&r.Decision)
		report := replay(t, decision.ReplayOptions{}, []*decision.Record{r}, decide(starhost.Deny("no")))
		_, name, _ := strings.Cut(want, " ")
		diff(t, "reworded", want, fmt.Sprint(report.Reworded, " ", name))
	}
}

// lacking makes the record at an index lack the user's words.
func lacking(records []*decision.Record, i int) []*decision.Record {
	records[i].Omitted = []string{"/input/user_message"}
	return records
}

// readWords is a handler that reads the user's words.
func readWords(_ context.Context, _ *effects.World, _ *host.Turn, e *starhost.Event) (starhost.Decision, error) {
	e.Arg("user_message")
	return starhost.Decision{}, nil
}

// TestReplayStops checks that Run returns the errors of its parts.
func TestReplayStops(t *testing.T) {
	broken := errors.New("broken")
	r, err := decision.NewReplay(decision.ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fails := func() (*host.Host, error) { return nil, broken }
	if _, err := r.Run(t.Context(), fails, sequence(nil)); !errors.Is(err, broken) {
		t.Errorf("load: got %v", err)
	}
	load := func() (*host.Host, error) { return newReplayHost(r) }
	bad := func(yield func(*decision.Record, error) bool) { yield(nil, broken) }
	if _, err := r.Run(t.Context(), load, bad); !errors.Is(err, broken) {
		t.Errorf("records: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Run(ctx, load, sequence([]*decision.Record{call("s", "none")})); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: got %v", err)
	}
	masked := call("s", "none")
	masked.Masked = []string{"/input/arguments/command"}
	for record, firings := range map[*decision.Record]int{call("s", "none"): 1, masked: 2} {
		for last := range firings {
			ctx, cancel := context.WithCancel(t.Context())
			r, err := decision.NewReplay(decision.ReplayOptions{})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			load := func() (*host.Host, error) {
				return newReplayHost(r, func(context.Context, *effects.World, *host.Turn, *starhost.Event) (d starhost.Decision, err error) {
					if n++; n > last {
						cancel()
					}
					return d, nil
				})
			}
			if _, err := r.Run(ctx, load, sequence([]*decision.Record{record})); !errors.Is(err, context.Canceled) || n != last+1 {
				t.Errorf("a context that firing %d of %d cancels: got %d firings and %v", last+1, firings, n, err)
			}
			cancel()
		}
	}
	if _, err := decision.NewReplay(decision.ReplayOptions{Only: []string{"["}}); err == nil {
		t.Error("a broken glob: got no error")
	}
}

// TestReplayOnly checks the selection of events and the texts of groups.
func TestReplayOnly(t *testing.T) {
	other := call("b", "none")
	other.Tool = "y"
	unknown := call("c", "none")
	unknown.Event = "app.unknown"
	records := []*decision.Record{call("a", "none"), other, unknown}
	deny := decide(starhost.Deny("no writes"))
	report := replay(t, decision.ReplayOptions{Only: []string{"y*"}}, records, deny)
	if report.Events != 1 || report.Others != 2 || report.Sessions != 1 {
		t.Errorf("got %+v, want one event and two others", report)
	}
	alias, prompt := call("d", "none"), call("e", "none")
	alias.ToolAlias = "Write"
	prompt.Event, prompt.Tool, prompt.Foreign, prompt.Input = "turn_start", "", false, map[string]json.RawMessage{"user_message": json.RawMessage(`"hi"`)}
	undecided := call("f", "deny") // as if the deadline had passed
	undecided.Tool, undecided.Kind, undecided.Handlers, undecided.Errors = "late", "shell", nil, []string{"no answer within 9s"}
	unread := call("g", "deny")
	unread.Tool, unread.Kind, unread.Handlers, unread.Errors = "", "", nil, undecided.Errors
	for glob, want := range map[string][2]int{
		"Wr*": {2, 1}, "*": {6, 3}, "kind:shell": {2, 2}, "kind:": {1, 1}, "[xy]": {5, 2}, "z": {1, 1}, "late": {2, 2}, "?": {5, 2},
	} {
		report := replay(t, decision.ReplayOptions{Only: []string{glob}}, append(slices.Clone(records), alias, prompt, undecided, unread), deny)
		diff(t, glob, fmt.Sprint(want[0], ", ", 7-want[0], ", ", want[1]), fmt.Sprint(report.Events, ", ", report.Others, ", ", report.CannotTell))
	}
	report = replay(t, decision.ReplayOptions{}, records, deny)
	if n := report.Allow("now denied by pp") + report.Allow("now denied by p: no writ"); n != 0 || report.Changed() != 2 {
		t.Errorf("got %d allowed and %d changed, want 0 and 2", n, report.Changed())
	}
	if n := report.Allow("now denied by p"); n != 2 || report.Changed() != 0 || report.CannotTell != 1 {
		t.Errorf("got %d allowed and %d changed, want 2 and 0: %+v", n, report.Changed(), report)
	}
}
