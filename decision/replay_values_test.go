package decision_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// valueOps do effects on values, as words of a script: "set k 1", "swap k 1 2".
func valueOps(ctx context.Context, w *effects.World, s *host.Session, where, op string) string {
	f := strings.Fields(op)
	isStore := where == "store"
	arg := func(i int) json.RawMessage {
		if i >= len(f) || f[i] == "none" {
			return nil
		}
		return json.RawMessage(f[i])
	}
	text := func(v any, err error) string {
		if err != nil {
			return "error"
		}
		if raw, ok := v.(json.RawMessage); ok {
			return string(raw)
		}
		return fmt.Sprint(v)
	}
	switch f[0] {
	case "get":
		get := func() (json.RawMessage, bool, error) { return w.StateGet(ctx, s, f[1]) }
		if isStore {
			get = func() (json.RawMessage, bool, error) { return w.StoreGet(ctx, f[1]) }
		}
		v, ok, err := get()
		if !ok && err == nil {
			return "none"
		}
		return text(v, err)
	case "set":
		if isStore {
			return text("", w.StoreSet(ctx, f[1], arg(2)))
		}
		return text("", w.StateSet(ctx, s, f[1], arg(2)))
	case "delete":
		if isStore {
			return text(w.StoreDelete(ctx, f[1]))
		}
		return text(w.StateDelete(ctx, s, f[1]))
	case "keys":
		if isStore {
			return text(w.StoreKeys(ctx))
		}
		return text(w.StateKeys(ctx, s))
	case "add":
		return text(w.StoreAdd(ctx, f[1], 5))
	case "swap":
		return text(w.StoreSwap(ctx, f[1], arg(2), arg(3)))
	}
	return "?"
}

// TestReplaySimulates checks each effect on values that the record does not answer, because the
// plugin is new: the replay does it on the values that the plugin wrote.
func TestReplaySimulates(t *testing.T) {
	const both = "get k, set k 1, get k, keys, set j 2, keys, delete k, delete k, get k, keys"
	tests := []struct{ where, script, want string }{
		{"state", both, "none,,1,[k],,[j k],true,false,none,[j]"},
		{"store", both, "none,,1,[k],,[j k],true,false,none,[j]"},
		{"store", "add n, add n, get n, keys", "5,10,10,[n]"},
		{"store", "swap k none 1, swap k none 2, swap k 2 3, swap k 1 4, get k, swap k 4 none, get k, keys", "true,false,false,true,4,true,none,[]"},
		{"store", `set k "a", add k`, ",error"},
	}
	for _, tt := range tests {
		t.Run(tt.where+" "+tt.script, func(t *testing.T) {
			var got []string
			r := call("s", "none")
			r.Set.Plugins = nil // the plugin is new, so that nothing is in the store
			report := replay(t, decision.ReplayOptions{}, []*decision.Record{r}, func(
				ctx context.Context, w *effects.World, turn *host.Turn, _ *starhost.Event,
			) (d starhost.Decision, err error) {
				for _, op := range strings.Split(tt.script, ", ") {
					got = append(got, valueOps(ctx, w, turn.Session(), tt.where, op))
				}
				return d, nil
			})
			diff(t, "replies", tt.want, strings.Join(got, ","))
			wantUnclear := 0
			if strings.Contains(tt.want, "error") {
				wantUnclear = 1
			}
			diff(t, "unclear", wantUnclear, report.CannotTell)
		})
	}
}

// TestReplayUnknownValues checks which reads of values the replay cannot tell: those that neither
// the record nor the plugin's writes show.
func TestReplayUnknownValues(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"a key of the store", "set a 1, get k", "cannot tell: store.get: the record does not show the value that p reads"},
		{"all keys", "set a 1, keys", "cannot tell: store.keys: the record does not show"},
		{"its own key", "set a 1, get a", ""},
		{"a swap of its own", "set a 1, swap a 1 2, get a", ""},
		{"a sum", "set a 1, add k", "cannot tell: store.add: the record does not show the value that p reads"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report := replay(t, decision.ReplayOptions{}, []*decision.Record{call("s", "none")}, func(
				ctx context.Context, w *effects.World, turn *host.Turn, _ *starhost.Event,
			) (d starhost.Decision, err error) {
				for _, op := range strings.Split(tt.script, ", ") {
					valueOps(ctx, w, turn.Session(), "store", op)
				}
				return d, nil
			})
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

// TestReplayLateStart checks that a session whose first records have no number of a turn is not
// whole once a record shows that it began before the log.
func TestReplayLateStart(t *testing.T) {
	read := denyIf(func(ctx context.Context, w *effects.World, s *host.Session) (string, error) {
		_ = w.StateSet(ctx, s, "a", json.RawMessage("1"))
		_, _, err := w.StateGet(ctx, s, "k")
		return "", err
	})
	for turn, want := range map[int]int{1: 0, 7: 1} {
		first, second := call("s", "none"), call("s", "none")
		first.Turn, second.Turn = 0, turn
		report := replay(t, decision.ReplayOptions{}, []*decision.Record{first, second}, read)
		diff(t, fmt.Sprintf("turn %d: unclear", turn), want, report.CannotTell)
	}
}

// TestReplayLookup checks which recorded effect answers a request.
func TestReplayLookup(t *testing.T) {
	env := func(times int, plugin string) *decision.Record {
		r := call("s", "none")
		for i := range times {
			line := fmt.Sprintf(`{"lane":"1","plugin":%q,"env":{"name":"A"},"reply":"%d"}`, plugin, i)
			r.Handlers[0].Effects = append(r.Handlers[0].Effects, json.RawMessage(line))
		}
		return r
	}
	uuid := call("s", "none", `{"uuid":{},"reply":"u"}`)
	foreignUUID := call("s", "none")
	foreignUUID.Handlers[0].Effects = []json.RawMessage{json.RawMessage(`{"lane":"1","plugin":"q","uuid":{},"reply":"u"}`)}
	readEnv := func(ctx context.Context, w *effects.World, _ *host.Turn) (string, error) {
		text, _, err := w.GetEnv(ctx, "A")
		return text, err
	}
	readFile := func(ctx context.Context, w *effects.World, _ *host.Turn) (string, error) {
		return w.ReadFile(ctx, "a")
	}
	draw := func(ctx context.Context, w *effects.World, turn *host.Turn) (string, error) {
		return w.UUID(ctx, turn)
	}
	tests := []struct {
		name   string
		record *decision.Record
		read   func(context.Context, *effects.World, *host.Turn) (string, error)
		want   string // the three replies
	}{
		{"each in turn, then the last", env(2, "p"), readEnv, "0 1 1"},
		{"another plugin's", env(2, "q"), readEnv, "0 0 0"},
		{"none", env(0, ""), readEnv, "- - -"},
		{"a draw, once", uuid, draw, "u - -"},
		{"a draw of another plugin", foreignUUID, draw, "- - -"},
		{"a file", call("s", "none"), readFile, "- - -"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			replay(t, decision.ReplayOptions{}, []*decision.Record{tt.record}, func(
				ctx context.Context, w *effects.World, turn *host.Turn, _ *starhost.Event,
			) (d starhost.Decision, err error) {
				for range 3 {
					text, err := tt.read(ctx, w, turn)
					if err != nil {
						text = "-"
					}
					got = append(got, text)
				}
				return d, nil
			})
			diff(t, "replies", tt.want, strings.Join(got, " "))
		})
	}
}

// TestReplayNextValue checks which recorded effect on values answers a request: for a write the
// plugin's next one, and for a read one before that write.
func TestReplayNextValue(t *testing.T) {
	const add = `p store.add {"key":"n","n":5} 12`
	const found = `{"value":1,"found":true}`
	tests := []struct{ name, where, lines, script, want string }{
		{"a read after a write of its own", "state", `p state.get {"key":"n"} ` + found, "set n 5, get n", ",5"},
		{"each write once", "store", add + `; p store.add {"key":"n","n":5} 17`, "add n, add n", "12,17"},
		{"reads around a write", "state", `p state.get {"key":"n"} ` + found + `; p state.set {"key":"n","value":2} {}; p state.get {"key":"n"} {"value":2,"found":true}`,
			"get n, set n 2, get n", "1,,2"},
		{"behind another plugin's write", "store", `q store.set {"key":"m","value":1} {}; ` + add, "add n", "12"},
		{"behind a write to the state", "store", `p state.set {"key":"m","value":1} {}; ` + add, "add n", "12"},
		{"behind an effect of a short name", "store", `p env {"name":"A"} "x"; ` + add, "add n", "12"},
		{"behind the keys", "store", `p store.keys {} ["n"]; ` + add, "add n", "12"},
		{"behind a read", "store", `p store.get {"key":"m"} ` + found + "; " + add, "add n", "12"},
		{"before a write that does not come", "state", `p state.set {"key":"n","value":1} {}; p state.get {"key":"n"} ` + found, "get n", "none"},
		{"behind a write of another value", "store", `p store.set {"key":"m","value":1} {}; ` + add, "set m 2, add n", ",error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := call("s", "none")
			for _, line := range strings.Split(tt.lines, "; ") {
				f := strings.Fields(line)
				text := fmt.Sprintf(`{"lane":"1","plugin":%q,%q:%s,"reply":%s}`, f[0], f[1], f[2], f[3])
				r.Handlers[0].Effects = append(r.Handlers[0].Effects, json.RawMessage(text))
			}
			var got []string
			replay(t, decision.ReplayOptions{}, []*decision.Record{r}, func(
				ctx context.Context, w *effects.World, turn *host.Turn, _ *starhost.Event,
			) (d starhost.Decision, err error) {
				for _, op := range strings.Split(tt.script, ", ") {
					got = append(got, valueOps(ctx, w, turn.Session(), tt.where, op))
				}
				return d, nil
			})
			diff(t, "replies", tt.want, strings.Join(got, ","))
		})
	}
}

// TestReplayOtherEffects checks that effects on something else than values leave no value behind.
func TestReplayOtherEffects(t *testing.T) {
	first, second := call("a", "none", `{"http.get":{"url":"http://x"},"reply":{"status":200}}`, `{"store.delete":{"key":"k"},"reply":false}`), call("b", "none")
	first.Set.Plugins, second.Set.Plugins = nil, nil
	var got []string
	replay(t, decision.ReplayOptions{}, []*decision.Record{first, second}, func(
		ctx context.Context, w *effects.World, turn *host.Turn, _ *starhost.Event,
	) (d starhost.Decision, err error) {
		got = append(got, valueOps(ctx, w, turn.Session(), "store", "keys"))
		return d, nil
	})
	diff(t, "keys", "[] []", strings.Join(got, " "))
}

// TestReplayFiresTwice checks that the second firing of a masked event begins as the first one did:
// a plugin that wrote otherwise gets the recorded replies again.
func TestReplayFiresTwice(t *testing.T) {
	r := call("s", "none", `{"store.add":{"key":"n","n":5},"reply":12}`)
	r.Masked, r.Input["arguments"] = []string{"/input/arguments/command"}, json.RawMessage(`{"command":"<masked>"}`)
	var got []string
	report := replay(t, decision.ReplayOptions{}, []*decision.Record{r}, func(
		ctx context.Context, w *effects.World, turn *host.Turn, _ *starhost.Event,
	) (d starhost.Decision, err error) {
		got = append(got, valueOps(ctx, w, turn.Session(), "store", "add n"), valueOps(ctx, w, turn.Session(), "store", "set m 1"))
		return d, nil
	})
	diff(t, "replies", "12,,12,", strings.Join(got, ","))
	diff(t, "report", "1 event of 1 session: 0 same, 1 same, masked, 0 cannot tell", report.Summary())
}

// TestReplayContext checks the comparison of context.
func TestReplayContext(t *testing.T) {
	record := func(texts ...string) *decision.Record {
		r := call("s", "none")
		r.Event, r.Tool, r.Foreign = "turn_start", "", false
		r.Input = map[string]json.RawMessage{"user_message": json.RawMessage(`"hi"`)}
		for _, text := range texts {
			c := decision.Context{ID: fragments.Sum(text).String(), Bytes: len(text), Plugin: "was"}
			r.Context = append(r.Context, c)
		}
		return r
	}
	abort := starhost.Decision{Action: starhost.ActionAbort, Reason: "no"}
	cut := record("a")
	cut.Cut = []string{"/context"}
	offer := func(texts ...string) starhost.Decision {
		d := starhost.Decision{Action: starhost.ActionContext}
		for _, text := range texts {
			d.Context.Fragments = append(d.Context.Fragments, fragments.Fragment{Content: text})
		}
		return d
	}
	tests := []struct {
		name   string
		record *decision.Record
		now    starhost.Decision
		want   string // the group and the summary
	}{
		{"the same", record("a", "b"), offer("a", "b"), "; 1 same, 0 cannot tell"},
		{"more", record("a"), offer("a", "bb"), "other context of p; 0 same, 0 cannot tell; context: +2 B in 1 prompt"},
		{"less", record("a", "bb"), offer("a"), "other context of was; 0 same, 0 cannot tell; context: -2 B in 1 prompt"},
		{"another order", record("a", "b"), offer("b", "a"), "other context of was; 0 same, 0 cannot tell; context: +0 B in 1 prompt"},
		{"an abort wins", record("a"), abort, "now denied by p: no; 0 same, 1 now denied, 0 cannot tell; context: -1 B in 1 prompt"},
		{"cut", cut, offer("b"), "cannot tell: the record was too large for the log and lacks the context; 0 same, 1 cannot tell"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report := replay(t, decision.ReplayOptions{}, []*decision.Record{tt.record}, decide(tt.now))
			got := ""
			for i := range report.Groups {
				got += report.Groups[i].Text()
			}
			summary := strings.TrimPrefix(report.Summary(), "1 event of 1 session: ")
			diff(t, "report", tt.want, got+"; "+summary)
		})
	}
}

// TestReplayOmittedInList checks that a digest in a list becomes a text that says which one it is,
// so that a handler finds one there.
func TestReplayOmittedInList(t *testing.T) {
	r := call("s", "none")
	r.Input["arguments"] = json.RawMessage(`{"edits":[{"new":{"bytes":3,"sha256":"aa"}},{"new":{"bytes":3,"sha256":"bb"}}],"a/b":{"bytes":1,"sha256":"cc"}}`)
	r.Omitted = []string{"/input/arguments/edits/0/new", "/input/arguments/edits/1/new", "/input/arguments/edits/2/new", "/input/arguments/edits/x/new", "/input/arguments/a~1b"}
	got := ""
	replay(t, decision.ReplayOptions{}, []*decision.Record{r}, func(
		_ context.Context, _ *effects.World, _ *host.Turn, e *starhost.Event,
	) (d starhost.Decision, err error) {
		got = string(e.Arguments)
		return d, nil
	})
	diff(t, "arguments", `{"edits":[{"new":"sha256:aa"},{"new":"sha256:bb"}],"a/b":"sha256:cc"}`, got)
}
