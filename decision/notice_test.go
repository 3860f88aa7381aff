package decision_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/host"
)

// TestNewEventOwner checks whose tool a replayed call is. Other events have no such plugin.
func TestNewEventOwner(t *testing.T) {
	for event, want := range map[string]string{"pre_tool_call": "p", "post_tool_call": "p", "turn_start": "", "turn_end": ""} {
		r := decision.Record{Event: event, Tool: "t", Plugin: "p"}
		e, err := r.NewEvent()
		if err != nil {
			t.Fatal(err)
		}
		diff(t, event, want, e.Plugin)
	}
}

// TestProcessAnswers checks that a record omits the answer of a hook process that has new parts of
// the event, unless the operator includes them.
func TestProcessAnswers(t *testing.T) {
	for reply, isOmitted := range map[string]bool{
		`{"action":"modify","call":{"content":"secret words"}}`: true,
		`{"action":"respond","result":"secret words"}`:          true,
		`{"action":"deny_tool","reason":"secret words"}`:        false,
	} {
		for _, include := range [][]string{nil, {decision.IncludePrompt, decision.IncludeResults, decision.IncludeWrites}} {
			l, _ := newLog(t, decision.Options{Include: include})
			line := json.RawMessage(`{"lane":"1","plugin":"p","process":{"sha256":"00"},"reply":` + reply + `}`)
			r := l.Record(starhost.Event{Name: "pre_tool_call", Tool: "t"}, host.Outcome{
				Hooks: []host.HookTrace{{Event: "pre_tool_call", Plugin: "p", Effects: []json.RawMessage{line}}},
			})
			got := slices.Contains(r.Omitted, "/handlers/0/effects/0/reply")
			has := strings.Contains(string(r.Handlers[0].Effects[0]), "secret words")
			if got == has || got != (isOmitted && include == nil) {
				t.Errorf("%s with %v: omitted %v, has the words %v", reply, include, got, has)
			}
		}
	}
}

// TestEffectOfLongRequest checks that a record has the reply to a long request, and the digest of a
// long reply.
func TestEffectOfLongRequest(t *testing.T) {
	for name, tt := range map[string]struct{ request, reply int }{"request": {20 << 10, 10}, "reply": {10, 20 << 10}} {
		l, _ := newLog(t, decision.Options{})
		line := fmt.Sprintf(`{"lane":"1","plugin":"p","env":{"name":%q},"reply":%q}`, strings.Repeat("N", tt.request), strings.Repeat("r", tt.reply))
		r := l.Record(starhost.Event{Name: "pre_tool_call", Tool: "t"}, host.Outcome{
			Hooks: []host.HookTrace{{Event: "pre_tool_call", Plugin: "p", Effects: []json.RawMessage{json.RawMessage(line)}}},
		})
		isWhole := string(r.Handlers[0].Effects[0]) == line
		if isCut := slices.Contains(r.Cut, "/handlers/0/effects/0/reply"); isWhole == isCut || isCut != (name == "reply") {
			t.Errorf("a long %s: whole %v, cut %v", name, isWhole, isCut)
		}
	}
}

// TestCutParts checks that each long part of a record is cut, and that the record says so.
func TestCutParts(t *testing.T) {
	long := strings.Repeat("many words ", 50_000)
	value := json.RawMessage(fmt.Sprintf("%q", long))
	d := decision.Decision{Action: "modify", Plugin: "p"}
	fill := func(change func(d *decision.Decision)) decision.Decision {
		own := d
		change(&own)
		return own
	}
	tests := map[string]decision.Record{
		"/decision/reason":            {Decision: fill(func(d *decision.Decision) { d.Reason = long })},
		"/decision/changes/arguments": {Decision: fill(func(d *decision.Decision) { d.Changes = map[string]json.RawMessage{"arguments": value} })},
		"/decision/value":             {Decision: fill(func(d *decision.Decision) { d.Value = value })},
		"/decision/result/for_llm":    {Decision: fill(func(d *decision.Decision) { d.Result = &decision.Result{ForLLM: long} })},
		"/decision/result/for_user":   {Decision: fill(func(d *decision.Decision) { d.Result = &decision.Result{ForUser: long} })},
		"/input/arguments":            {Input: map[string]json.RawMessage{"arguments": value}},
		"/errors/0":                   {Errors: []string{long}},
		"/session":                    {Session: long},
		"/workspace":                  {Workspace: long},
		"/handlers/0/reason":          {Handlers: []decision.Handler{{Decision: fill(func(d *decision.Decision) { d.Reason = long })}}},
		"/handlers/0/error":           {Handlers: []decision.Handler{{Error: long}}},
		"/handlers/0/logs/0/text":     {Handlers: []decision.Handler{{Logs: []decision.Line{{Text: long}}}}},
		"/handlers/0/logs/0/fields":   {Handlers: []decision.Handler{{Logs: []decision.Line{{Fields: value}}}}},
		"/context/0/title":            {Context: []decision.Context{{Title: long}}},
		"/context/0/source":           {Context: []decision.Context{{Source: long}}},
		"/context/0/name":             {Context: []decision.Context{{Name: long}}},
		"/context/0/url":              {Context: []decision.Context{{URL: long}}},
		"/context/0/content":          {Context: []decision.Context{{Content: &long}}},
		"/approval/asks/0/reason":     {Approval: &decision.Approval{Asks: []decision.Decision{fill(func(d *decision.Decision) { d.Reason = long })}}},
		"/handlers/0/effects/0/reply": {Handlers: []decision.Handler{{Effects: []json.RawMessage{json.RawMessage(fmt.Sprintf(`{"plugin":"p","env":{"name":"A"},"reply":%q}`, long))}}}},
	}
	for at, r := range tests {
		dir := t.TempDir()
		l, _ := newLog(t, decision.Options{Dir: dir})
		r.Event = "pre_tool_call"
		if err := l.Append(&r); err != nil {
			t.Fatal(err)
		}
		reader, err := decision.NewReader(dir)
		if err != nil {
			t.Fatal(err)
		}
		for read, err := range reader.All() {
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(read.Cut, []string{at}) {
				t.Errorf("%s: got the cut parts %q", at, read.Cut)
			}
		}
	}
}

// TestReaderRefuses checks that a reader reads no device, and that an id is no flag of a command.
func TestReaderRefuses(t *testing.T) {
	r, err := decision.NewReader(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range r.All() {
		continue
	}
	if err == nil || !strings.Contains(err.Error(), "got a special file") {
		t.Errorf("a device: got %v", err)
	}
	for id, ok := range map[string]bool{"a-b": true, "-ab": false, "": false, "a b": false} {
		line := fmt.Sprintf(`{"schema":%q,"id":%q,"event":"turn_start"}`, decision.Schema, id)
		if _, err := decision.ParseRecord([]byte(line)); (err == nil) != ok {
			t.Errorf("id %q: got %v", id, err)
		}
	}
}

// TestLastCut checks that a record without room for its shortest parts is written without them.
func TestLastCut(t *testing.T) {
	dir := t.TempDir()
	l, _ := newLog(t, decision.Options{Dir: dir})
	r := &decision.Record{Event: "pre_tool_call", Input: map[string]json.RawMessage{}}
	for i := range 60_000 {
		r.Roles = append(r.Roles, fmt.Sprint("role", i))
		r.Input[fmt.Sprint("n", i)] = json.RawMessage("1")
	}
	if err := l.Append(r); err != nil {
		t.Fatal(err)
	}
	reader, err := decision.NewReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	for read, err := range reader.All() {
		if err != nil {
			t.Fatal(err)
		}
		if len(read.Roles) > 0 || len(read.Input) > 0 || !slices.Contains(read.Cut, "/roles") || !slices.Contains(read.Cut, "/input") {
			t.Errorf("got %d roles, %d arguments and the cut parts %v", len(read.Roles), len(read.Input), read.Cut)
		}
	}
}

// TestRecordOfTrace checks that a handler without a decision has its place and its lines of the log.
func TestRecordOfTrace(t *testing.T) {
	l, _ := newLog(t, decision.Options{})
	at := starhost.Pos{File: "p.star", Line: 3, Col: 1}
	r := l.Record(starhost.Event{Name: "pre_tool_call", Tool: "x"}, host.Outcome{Hooks: []host.HookTrace{{
		Event: "pre_tool_call", Plugin: "p", Pos: at,
		Logs: []host.LogLine{{Plugin: "p", Level: "info", Text: "seen", Pos: at}, {Plugin: "p", Level: "warn", Text: "again"}},
	}}})
	want := []decision.Line{{Plugin: "p", Level: "info", Text: "seen", Pos: "p.star:3:1"}, {Plugin: "p", Level: "warn", Text: "again"}}
	diff(t, "place", "p.star:3:1", r.Handlers[0].Pos)
	diff(t, "lines", want, r.Handlers[0].Logs)
}

// TestCutValues checks that a long value is cut between two letters of its text, also if these are
// escapes, and that a long value without texts has a digest.
func TestCutValues(t *testing.T) {
	for name, letter := range map[string]string{"a newline": "\n", "a quote": `"`, "a control character": "\x01", "an accent": "é", "plain": "a"} {
		text := "x" + strings.Repeat(letter, 400_000)
		r, _ := written(t, decision.Options{}, nil, &decision.Record{
			Event: "e", Input: map[string]json.RawMessage{"arguments": raw(map[string]string{"command": text})},
		})
		var got struct{ Command string }
		if err := json.Unmarshal(r.Input["arguments"], &got); err != nil {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		kept := strings.TrimSuffix(got.Command, "…")
		if len(kept) < 500 || kept == got.Command || !strings.HasPrefix(text, kept) || strings.ContainsRune(kept, '\uFFFD') {
			t.Errorf("%s: got %d bytes, %.20q, want the start of the text", name, len(kept), kept)
		}
	}
	numbers := "[" + strings.Repeat("1,", 400_000) + "1]"
	r, _ := written(t, decision.Options{}, nil, &decision.Record{Event: "e", Input: map[string]json.RawMessage{"arguments": json.RawMessage(numbers)}})
	if got := string(r.Input["arguments"]); !strings.Contains(got, "sha256") || len(r.Cut) != 1 {
		t.Errorf("numbers: got %.100s, cut %v", got, r.Cut)
	}
}

// TestReaderOfStdin checks the file "-", and what a missing file is called.
func TestReaderOfStdin(t *testing.T) {
	r, err := decision.NewReader("-")
	if err != nil {
		t.Fatal(err)
	}
	r.Stdin = strings.NewReader(`{"schema":"starhost.decision/1","id":"1","event":"e"}` + "\nx\n")
	var events []string
	for record, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, record.Event)
	}
	diff(t, "events", []string{"e"}, events)
	diff(t, "skipped", 1, r.Skipped)
	dir := t.TempDir()
	file := filepath.Join(dir, "a.jsonl")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err = decision.NewReader(file); err != nil || os.Remove(file) != nil {
		t.Fatal(err)
	}
	for _, err := range r.All() {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file that is gone: got %v", err)
		}
	}
}
