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
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/fragments"
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
		`"secret words"`: true,
		`{"action":"deny_tool","reason":"secret words"}`: false,
	} {
		for _, include := range [][]string{
			nil, {decision.IncludePrompt, decision.IncludeResults, decision.IncludeWrites}, {decision.IncludePrompt, decision.IncludeResults},
			{decision.IncludePrompt, decision.IncludeWrites}, {decision.IncludeResults, decision.IncludeWrites},
		} {
			l, _ := newLog(t, decision.Options{Include: include})
			line := json.RawMessage(`{"lane":"1","plugin":"p","process":{"sha256":"00"},"reply":` + reply + `}`)
			r := l.Record(starhost.Event{Name: "pre_tool_call", Tool: "t"}, host.Outcome{
				Hooks: []host.HookTrace{{Event: "pre_tool_call", Plugin: "p", Effects: []json.RawMessage{line}}},
			})
			got := slices.Contains(r.Omitted, "/handlers/0/effects/0/reply")
			has := strings.Contains(string(r.Handlers[0].Effects[0]), "secret words")
			if got == has || got != (isOmitted && len(include) < 3) {
				t.Errorf("%s with %v: omitted %v, has the words %v", reply, include, got, has)
			}
		}
	}
}

// TestEffectOfLongRequest checks that a record has the reply to a long request, and the digest of a
// long reply.
func TestEffectOfLongRequest(t *testing.T) {
	for name, tt := range map[string]struct {
		request, reply int
		isLong         bool
	}{"request": {20 << 10, 10, false}, "reply": {10, 20 << 10, true}, "reply at the limit": {10, 16<<10 - 2, false}, "reply over it": {10, 16<<10 - 1, true}} {
		l, _ := newLog(t, decision.Options{})
		line := fmt.Sprintf(`{"lane":"1","plugin":"p","env":{"name":%q},"reply":%q}`, strings.Repeat("N", tt.request), strings.Repeat("r", tt.reply))
		r := l.Record(starhost.Event{Name: "pre_tool_call", Tool: "t"}, host.Outcome{
			Hooks: []host.HookTrace{{Event: "pre_tool_call", Plugin: "p", Effects: []json.RawMessage{json.RawMessage(line)}}},
		})
		isWhole := string(r.Handlers[0].Effects[0]) == line
		if isCut := slices.Contains(r.Cut, "/handlers/0/effects/0/reply"); isWhole == isCut || isCut != tt.isLong {
			t.Errorf("a long %s: whole %v, cut %v", name, isWhole, isCut)
		}
	}
}

// TestEffectOfOtherForm checks that a record has a long line whose reply it cannot replace as it is.
func TestEffectOfOtherForm(t *testing.T) {
	long := strings.Repeat("r", 20<<10)
	for _, line := range []string{`{"reply":"` + long + `","plugin":"p"}`, `{"plugin":"p","env":"` + long + `"}`, `"` + long + `"`, `{"process":{},"reply":{"action":"modify"},"plugin":"p"}`} {
		l, _ := newLog(t, decision.Options{})
		r := l.Record(starhost.Event{Name: "pre_tool_call", Tool: "t"}, host.Outcome{Hooks: []host.HookTrace{{Plugin: "p", Effects: []json.RawMessage{json.RawMessage(line)}}}})
		if string(r.Handlers[0].Effects[0]) != line || len(r.Cut) > 0 {
			t.Errorf("%.40s: got %.40s, cut %v", line, r.Handlers[0].Effects[0], r.Cut)
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
		Logs: []host.LogLine{{Plugin: "p", Level: "info", Text: "seen", Pos: at, Fields: json.RawMessage(`{"n":1}`)}, {Plugin: "p", Level: "warn", Text: "again"}},
	}, {Event: "pre_command", Plugin: "p"}}})
	diff(t, "events", []string{"", "pre_command"}, []string{r.Handlers[0].Event, r.Handlers[1].Event})
	want := []decision.Line{{Plugin: "p", Level: "info", Text: "seen", Pos: "p.star:3:1", Fields: json.RawMessage(`{"n":1}`)}, {Plugin: "p", Level: "warn", Text: "again"}}
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

// TestRecordOfMode checks when a record says that all plugins that decided only warn.
func TestRecordOfMode(t *testing.T) {
	for actions, want := range map[string]string{
		"": "enforce", "would deny": "warn", "context,would deny": "warn", "would ask,deny": "enforce", "deny,would ask": "enforce", "context": "enforce",
	} {
		var o host.Outcome
		for _, action := range strings.Split(actions, ",") {
			if action != "" {
				o.Decisions = append(o.Decisions, starhost.Decision{Action: starhost.Action(action)})
			}
		}
		l, _ := newLog(t, decision.Options{})
		diff(t, actions, want, l.Record(starhost.Event{Name: "turn_start"}, o).Mode)
	}
}

// TestRecordOfContents checks that a record omits the texts of a call that writes, and of no other.
func TestRecordOfContents(t *testing.T) {
	const arguments = `{"old":"x","Old_text":"y","new":"text","empty":"","older":""}`
	digest := func(text string) string { return string(raw(decisionDigest(text))) }
	for kind, want := range map[string]string{
		"shell": arguments, "write": `{"old":` + digest("x") + `,"Old_text":` + digest("y") + `,"new":` + digest("text") + `,"empty":"","older":""}`,
	} {
		l, _ := newLog(t, decision.Options{Describe: func(*starhost.Event) *starhost.CallInfo {
			return &starhost.CallInfo{Kinds: []string{kind}, Contents: []string{"text", ""}}
		}})
		e := starhost.Event{Name: "pre_tool_call", Tool: "t", Arguments: json.RawMessage(arguments)}
		r := l.Record(e, host.Outcome{})
		diff(t, kind, want, string(r.Input["arguments"]))
		e.Arguments = json.RawMessage(`{"new":"` + strings.Repeat("a", decision.MaxRecord) + `","z":1}`)
		r = l.Record(e, host.Outcome{})
		diff(t, kind+" cuts", kind == "write", slices.Contains(r.Cut, "/input/arguments"))
		diff(t, kind+" omits", []string{"/input/user_message"}, r.Omitted)
	}
}

// TestDeliverUndecided checks that a log, if there is one, has an event that plugins did not decide.
func TestDeliverUndecided(t *testing.T) {
	var none *decision.Log
	dir := t.TempDir()
	l, _ := newLog(t, decision.Options{Dir: dir})
	e := &starhost.Event{Name: "turn_start"}
	for _, err := range []error{none.DeliverUndecided(e, "deny", "late"), l.DeliverUndecided(nil, "deny", "late"), l.DeliverUndecided(e, "deny", "late")} {
		if err != nil {
			t.Error(err)
		}
	}
	events, _ := eventsIn(t, noon, dir)
	diff(t, "events", []string{"turn_start"}, events)
}

// TestRecordAtLimits checks the longest text and the longest list of an event that a record takes
// over whole, and what it has of longer ones.
func TestRecordAtLimits(t *testing.T) {
	l, _ := newLog(t, decision.Options{Include: []string{decision.IncludePrompt}})
	record := func(text string, history ...starhost.Message) *decision.Record {
		return l.Record(starhost.Event{Name: "turn_start", UserMessage: text, History: starhost.NewList(history)}, host.Outcome{})
	}
	text := strings.Repeat("a", decision.MaxRecord)
	diff(t, "cut", []string(nil), record(text).Cut)
	diff(t, "cut", []string{"/input/user_message"}, record(text+"a").Cut)
	diff(t, "text", string(raw(text[:2048]+"…")), string(record(text + "a").Input["user_message"]))
	list := func(letters int) []starhost.Message {
		return []starhost.Message{{Role: "user", Content: fragments.NewText("b")}, {Role: "user", Content: fragments.NewText(strings.Repeat("a", letters))}}
	}
	most := 2*decision.MaxRecord + 2 - len(raw(list(1)))
	r := record("", list(most)...)
	diff(t, "cut", []string(nil), r.Cut)
	diff(t, "list", string(raw(list(most))), string(r.Input["history"]))
	r = record("", list(most+1)...)
	diff(t, "cut", []string{"/input/history"}, r.Cut)
	diff(t, "digest", string(raw(decisionDigest(string(raw(list(most+1)))))), string(r.Input["history"]))
	seen := list(1)
	seen[1].Attachments = []fragments.Attachment{{Content: "1", Type: "image/png"}}
	diff(t, "omitted", []string{"/input/history/1/attachments"}, record("", seen...).Omitted)
}

// TestRecordOfChanges checks what a record has of the values that a plugin changed.
func TestRecordOfChanges(t *testing.T) {
	all := []string{decision.IncludePrompt, decision.IncludeResults, decision.IncludeWrites}
	messages := func(text string) *starhost.Messages {
		return starhost.NewList([]starhost.Message{{Role: "user", Content: fragments.NewText(text)}})
	}
	digest := func(text string) string { return string(raw(decisionDigest(text))) }
	words := string(raw(messages("words").Items()))
	long := messages(strings.Repeat("a", 2*decision.MaxRecord))
	for _, tt := range []struct {
		name    string
		value   any
		include []string
		want    string
		omitted string
	}{
		{"result", starhost.Result{ForLLM: "words"}, nil, `{"for_llm":"","digest":` + digest("words\x00") + "}", "/for_llm"},
		{"result", starhost.Result{ForLLM: "words"}, all, `{"for_llm":"words"}`, "-"},
		{"result", starhost.Result{IsError: true}, nil, `{"for_llm":"","is_error":true}`, "-"},
		{"messages", messages("words"), nil, digest(words), ""},
		{"messages", messages("words"), all, words, "-"},
		{"messages", long, nil, digest(string(raw(long.Items()))), ""},
		{"user_message", "words", nil, digest("words"), ""},
		{"user_message", "words", all, `"words"`, "-"},
		{"options", json.RawMessage(`{"n":1}`), nil, `{"n":1}`, "-"},
		{"options", json.RawMessage(`{`), nil, "null", "-"},
	} {
		l, _ := newLog(t, decision.Options{Include: tt.include})
		r := l.Record(starhost.Event{Name: "approval"}, host.Outcome{Decision: starhost.Modify(tt.name, tt.value)})
		diff(t, tt.name, tt.want, string(r.Decision.Changes[tt.name]))
		at := "/decision/changes/" + tt.name + tt.omitted
		diff(t, tt.name+" omitted", tt.omitted != "-", slices.Contains(r.Omitted, at))
	}
	d := starhost.Decision{Action: starhost.ActionRespond, Value: json.RawMessage("1"), Result: &starhost.Result{ForUser: "words"}}
	l, _ := newLog(t, decision.Options{})
	r := l.Record(starhost.Event{Name: "approval"}, host.Outcome{Decision: d})
	sum := decisionDigest("\x00words")
	diff(t, "decision", decision.Decision{Action: "respond", Value: json.RawMessage("1"), Result: &decision.Result{Digest: &sum}}, r.Decision)
}

// TestEmptyLists checks that a record has empty lists and objects for what it lacks.
func TestEmptyLists(t *testing.T) {
	_, text := written(t, decision.Options{}, nil, &decision.Record{Event: "e"})
	for _, want := range []string{`"input":{}`, `"plugins":[]`, `"handlers":[]`, `"context":[]`, `"errors":[]`, `"masked":[]`, `"cut":[]`, `"omitted":[]`} {
		if !strings.Contains(text, want) {
			t.Errorf("got %s, want %s", text, want)
		}
	}
}

// TestCutLists checks that a record without room for all lines and effects of a handler has the
// first ones.
func TestCutLists(t *testing.T) {
	numbers := json.RawMessage("[" + strings.Repeat("1,", 400_000) + "1]")
	effect := func(request string) json.RawMessage {
		return json.RawMessage(`{"plugin":"p","now":` + request + `,"reply":1}`)
	}
	for part, h := range map[string]decision.Handler{
		"logs":    {Logs: []decision.Line{{Text: "a"}, {Text: "b", Fields: numbers}, {Text: "c"}}},
		"effects": {Effects: []json.RawMessage{effect("{}"), effect(string(numbers)), effect("{}")}},
	} {
		r, _ := written(t, decision.Options{}, nil, &decision.Record{Event: "e", Handlers: []decision.Handler{h}})
		diff(t, part, []string{"/handlers/0/" + part}, r.Cut)
		want := decision.Handler{Logs: h.Logs[:min(len(h.Logs), 1)], Effects: h.Effects[:min(len(h.Effects), 1)]}
		if diff := cmp.Diff([]decision.Handler{want}, r.Handlers, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", part, diff)
		}
	}
}

// TestCutLeavesCaller checks that a log cuts a copy of a record: the caller's stays whole.
func TestCutLeavesCaller(t *testing.T) {
	long := strings.Repeat("many words ", 20_000)
	own := func() *decision.Record {
		content := long
		d := decision.Decision{Action: "modify", Reason: long, Result: &decision.Result{ForLLM: long}, Changes: map[string]json.RawMessage{"arguments": raw(long)}}
		again := d
		again.Changes, again.Result = map[string]json.RawMessage{"arguments": raw(long)}, &decision.Result{ForLLM: long}
		return &decision.Record{
			Schema: decision.Schema, ID: "1", Time: noon, Event: "e", Decision: d, Input: map[string]json.RawMessage{"arguments": raw(long)},
			Roles: []string{long}, Errors: []string{long}, Omitted: []string{long}, Context: []decision.Context{{Title: long, Content: &content}},
			Handlers: []decision.Handler{{Decision: again, Error: long, Logs: []decision.Line{{Text: long}}, Effects: []json.RawMessage{raw(long)}}},
			Approval: &decision.Approval{Asks: []decision.Decision{{Reason: long, Result: &decision.Result{ForLLM: long}}}},
		}
	}
	r := own()
	cut, _ := written(t, decision.Options{}, nil, r)
	diff(t, "the caller's", own(), r)
	if len(cut.Cut) < 10 {
		t.Errorf("got %v, want all long parts", cut.Cut)
	}
}

// TestReaderOfFolder checks which files of a folder are the log's, and that a caller may stop.
func TestReaderOfFolder(t *testing.T) {
	dir := t.TempDir()
	for name, event := range map[string]string{
		"decisions-2026-11-23.jsonl": "b", "decisions-2026-11-22.jsonl": "a", "decisions-2026-11-21.txt": "x", "notes-2026-11-21.jsonl": "x", "decisions-today.jsonl": "x",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("\n"+lineOf("1", event)+"\n \n"+lineOf("2", event)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "decisions-2026-11-20.jsonl"), 0o700), os.Symlink("notes-2026-11-21.jsonl", filepath.Join(dir, "decisions-2026-11-19.jsonl"))); err != nil {
		t.Fatal(err)
	}
	events, skipped := eventsIn(t, time.Time{}, dir)
	diff(t, "events", []string{"a", "a", "b", "b"}, events)
	diff(t, "skipped", 0, skipped)
	for stop := 1; stop < 4; stop++ {
		r, err := decision.NewReader(dir)
		if err != nil {
			t.Fatal(err)
		}
		n, lines := 0, 0
		for range r.All() {
			if n++; n == stop {
				break
			}
		}
		for range r.Lines() {
			if lines++; lines == stop {
				break
			}
		}
		for range r.Follow(t.Context(), dir, func() error { return errEnough }) {
			break
		}
		diff(t, "stopped", stop+stop, n+lines)
	}
	if _, err := decision.NewReader(dir, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
}

// TestFollowSkips checks that a reader that follows a log skips older records and a line that is
// too long.
func TestFollowSkips(t *testing.T) {
	dir := t.TempDir()
	l, now := newLog(t, decision.Options{Dir: dir})
	for i, event := range []string{"a", "b", "c", "d"} {
		*now = noon.Add(time.Duration(i-2) * time.Hour)
		appendEvents(t, l, event)
		if event == "c" {
			if err := appendText(filepath.Join(dir, "decisions-2026-11-23.jsonl"), strings.Repeat("x", 3*decision.MaxRecord)+"\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := &decision.Reader{Since: noon}
	var events []string
	for record, err := range r.Follow(t.Context(), dir, func() error { return errEnough }) {
		if err == nil {
			events = append(events, record.Event)
		} else if !errors.Is(err, errEnough) {
			t.Error(err)
		}
	}
	diff(t, "events", []string{"c", "d"}, events)
}
