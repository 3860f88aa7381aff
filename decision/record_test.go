package decision_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/decision"
)

// diff reports a difference.
func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// newLog returns a log with a clock that a test sets.
func newLog(t *testing.T, o decision.Options) (*decision.Log, *time.Time) {
	t.Helper()
	now := noon
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "log")
	}
	o.Clock = func() time.Time { return now }
	return decision.New(o), &now
}

// eventsIn returns the events of all records at the paths.
func eventsIn(t *testing.T, since time.Time, paths ...string) (events []string, skipped int) {
	t.Helper()
	r, err := decision.NewReader(paths...)
	if err != nil {
		t.Fatal(err)
	}
	r.Since = since
	for record, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, record.Event)
	}
	return events, r.Skipped
}

func appendEvents(t *testing.T, l *decision.Log, events ...string) {
	t.Helper()
	for _, e := range events {
		if err := l.Append(&decision.Record{Event: e}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRoundTrip checks that a record is read as it was written.
func TestRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "log")
	l, _ := newLog(t, decision.Options{Dir: dir})
	want := &decision.Record{
		Session: "s\x1b[31m\n", Event: "pre_tool_call", Tool: "Bash", Turn: 3, Roles: []string{"admin"},
		Input:    map[string]json.RawMessage{"arguments": json.RawMessage(`{"command":"rm <x>"}`)},
		Decision: decision.Decision{Action: "deny", Reason: "no", Plugin: "guard"}, Answered: "deny",
		Handlers: []decision.Handler{{Decision: decision.Decision{Action: "deny"}, Steps: 7}},
		Context:  []decision.Context{}, Errors: []string{}, Masked: []string{}, Cut: []string{}, Omitted: []string{},
		Set: decision.Set{Plugins: []decision.Plugin{}},
	}
	if err := l.Append(want); err != nil {
		t.Fatal(err)
	}
	r, err := decision.NewReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	for got, err := range r.All() {
		diff(t, "error", nil, err)
		diff(t, "record", want, got)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "decisions-2026-11-23.jsonl"): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: got %v %v, want mode %v", path, info, err, mode)
		}
	}
}

// TestReaderSkips checks that a reader skips lines that are no records, and that a record behind a
// torn line is whole.
func TestReaderSkips(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l, now := newLog(t, decision.Options{Dir: dir})
	appendEvents(t, l, "a")
	file := filepath.Join(dir, "decisions-2026-11-23.jsonl")
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	foreign := `{"schema":"starhost.decision/2","id":"x","event":"e"}` + "\n{}\n[1]\nnull\n\"x\"\n\xff\xfe\n" +
		strings.Repeat("x", 1<<20) + "\n" + `{"schema":"starhost.decision/1","id":"torn`
	if _, err := f.WriteString(foreign); err != nil {
		t.Fatal(err)
	}
	f.Close()
	*now = now.Add(time.Hour)
	appendEvents(t, l, "b")
	events, skipped := eventsIn(t, time.Time{}, dir)
	diff(t, "events", []string{"a", "b"}, events)
	diff(t, "skipped", 8, skipped)
	events, _ = eventsIn(t, noon.Add(time.Minute), file)
	diff(t, "events since", []string{"b"}, events)
}

// TestBefore checks the values that handlers saw at the start of an event.
func TestBefore(t *testing.T) {
	lines := []string{
		`{"plugin":"p","state.keys":{},"reply":["a","c"]}`,
		`{"plugin":"p","state.get":{"key":"a"},"reply":{"value":1,"found":true}}`,
		`{"plugin":"p","state.set":{"key":"a","value":2},"reply":{}}`,
		`{"plugin":"p","state.get":{"key":"a"},"reply":{"value":2,"found":true}}`,
		`{"plugin":"p","state.get":{"key":"b"},"reply":{"found":false}}`,
		`{"plugin":"q","state.set":{"key":"a","value":2},"reply":{}}`,
		`{"plugin":"q","state.get":{"key":"a"},"reply":{"value":2,"found":true}}`,
		`{"plugin":"p","store.add":{"key":"n","n":2},"reply":5}`,
		`{"plugin":"p","store.add":{"key":"n","n":2},"reply":7}`,
		`{"plugin":"p","store.add":{"key":"new","n":2},"reply":2}`,
		`{"plugin":"p","store.swap":{"key":"s","old":"x","new":"y"},"reply":true}`,
		`{"plugin":"p","store.swap":{"key":"other","old":"x","new":"y"},"reply":false}`,
		`{"plugin":"p","store.swap":{"key":"f","old":null,"new":"y"},"reply":false}`,
		`{"plugin":"p","store.swap":{"key":"g","old":null,"new":"y"},"reply":false}`,
		`{"plugin":"p","store.get":{"key":"g"},"reply":{"value":1,"found":true}}`,
		`{"plugin":"p","store.delete":{"key":"d"},"reply":true}`,
		`{"plugin":"p","env":{"name":"HOME"},"reply":"/"}`,
		`{"plugin":"p","store.get":{"key":"e"},"error":{"message":"busy"}}`,
		`not JSON`,
	}
	r := decision.Record{Handlers: []decision.Handler{{}, {}}}
	for i, line := range lines {
		h := &r.Handlers[2*i/len(lines)]
		h.Effects = append(h.Effects, json.RawMessage(line))
	}
	const unseen = `"a value that the record does not show"`
	state, store := r.Before()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	diff(t, "state", decision.Values{"p": {"a": raw("1"), "b": nil, "c": raw(unseen)}}, state)
	diff(t, "store", decision.Values{"p": {"n": raw("3"), "new": nil, "s": raw(`"x"`), "d": raw(unseen), "f": raw(unseen), "g": raw("1")}}, store)
}
