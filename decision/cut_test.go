package decision_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/host"
)

// hostileRecords are records of events at their size limit, by name.
func hostileRecords() map[string]func() *decision.Record {
	const limit = 15 << 20
	many := func(format string) *decision.Record {
		var b strings.Builder
		for i := 0; b.Len() < limit; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return argumentsOnly("{" + strings.TrimSuffix(b.String(), ",") + "}")
	}
	list := func(element string) *decision.Record {
		return argumentsOnly(`{"a":[` + strings.TrimSuffix(strings.Repeat(element+",", limit/(len(element)+1)), ",") + "]}")
	}
	return map[string]func() *decision.Record{
		"members": func() *decision.Record { return many(`"member%d":"value of some text %[1]d",`) },
		"secrets": func() *decision.Record { return many(`"token%d":"Value0%[1]d",`) },
		"edits": func() *decision.Record {
			return many(`"edit%d":{"old_string":"old text %[1]d","new_string":"new text %[1]d"},`)
		},
		"texts":    func() *decision.Record { return many(`"text%d":"` + strings.Repeat("word ", 1000) + `",`) },
		"numbers":  func() *decision.Record { return list("1") },
		"lists":    func() *decision.Record { return list("[]") },
		"strings":  func() *decision.Record { return list(`"TOKEN=abc123 "`) },
		"one text": func() *decision.Record { return list(`"` + strings.Repeat("PASSWORD=hunter2 ", limit/20) + `"`) },
		"escapes":  func() *decision.Record { return list(`"` + strings.Repeat(`\u0001`, limit/8) + `"`) },
		"logs": func() *decision.Record {
			r := argumentsOnly("{}")
			text := strings.Repeat("x", 250_000)
			for range 600 {
				r.Handlers = append(r.Handlers, decision.Handler{Logs: []decision.Line{{Plugin: "p", Text: text}}})
			}
			return r
		},
		"effects": func() *decision.Record {
			r := argumentsOnly("{}")
			line := json.RawMessage(`{"plugin":"p","state.set":{"key":"k","value":"` + strings.Repeat("x", 60_000) + `"},"reply":{}}`)
			for range 600 {
				r.Handlers = append(r.Handlers, decision.Handler{Effects: []json.RawMessage{line, line}})
			}
			return r
		},
		"reasons": func() *decision.Record {
			r := argumentsOnly("{}")
			reason := strings.Repeat("reason ", 3000)
			for range 600 {
				r.Handlers = append(r.Handlers, decision.Handler{Decision: decision.Decision{Action: "deny", Reason: reason}})
				r.Errors = append(r.Errors, reason)
			}
			return r
		},
	}
}

func argumentsOnly(arguments string) *decision.Record {
	return &decision.Record{
		Event: "pre_tool_call", Tool: "x", Session: "s", Decision: decision.Decision{Action: "deny", Reason: "no"},
		Input: map[string]json.RawMessage{"arguments": json.RawMessage(arguments)},
	}
}

// TestRecordBudget checks that a record of any event says what was decided, and takes a small
// multiple of its limit, not of the event's size. It may copy the event's text a few times, to read
// its JSON and to make a digest of it.
func TestRecordBudget(t *testing.T) {
	for name, make := range hostileRecords() {
		r := make()
		size := 0
		for _, v := range r.Input {
			size += len(v)
		}
		for i := range r.Handlers {
			for _, line := range r.Handlers[i].Effects {
				size += len(line)
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, text := written(t, decision.Options{}, nil, r)
		runtime.ReadMemStats(&after)
		if used, most := after.TotalAlloc-before.TotalAlloc, uint64(5*size+40*decision.MaxRecord); used > most {
			t.Errorf("%s: got %d MiB allocated for an event of %d MiB, want at most %d", name, used>>20, size>>20, most>>20)
		}
		if len(text) > decision.MaxRecord+2 || len(got.Cut) == 0 {
			t.Errorf("%s: got %d bytes and cut %d parts", name, len(text), len(got.Cut))
		}
		diff(t, name, "deny no s x", strings.Join([]string{got.Decision.Action, got.Decision.Reason, got.Session, got.Tool}, " "))
		for _, secret := range []string{"Value0", "hunter2", "abc123"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: got %q in the record", name, secret)
			}
		}
	}
}

// TestWritesAtLimit checks the record of a call with 60,000 edits, whose texts it omits: once in
// linear time, and without a pointer for each.
func TestWritesAtLimit(t *testing.T) {
	var args strings.Builder
	var contents []string
	args.WriteString(`{"file_path":"x","edits":[`)
	for i := range 60_000 {
		fmt.Fprintf(&args, `{"old_string":"old text %d","new_string":"new text %[1]d"},`, i)
		contents = append(contents, fmt.Sprintf("new text %d", i))
	}
	e := starhost.Event{Name: "pre_tool_call", Tool: "MultiEdit", Arguments: json.RawMessage(strings.TrimSuffix(args.String(), ",") + "]}")}
	l := decision.New(decision.Options{Describe: func(*starhost.Event) *starhost.CallInfo {
		return &starhost.CallInfo{Kinds: []string{"write"}, Contents: contents}
	}})
	r := l.Record(e, host.Outcome{})
	diff(t, "omitted", []string{"/input/arguments", "/input/user_message"}, r.Omitted)
	diff(t, "arguments", string(raw(decisionDigest(string(e.Arguments)))), string(r.Input["arguments"]))
}
