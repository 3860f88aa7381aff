package decision_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/internal/page"
)

// printed returns what a printer writes for records.
func printed(t *testing.T, format string, width int, records ...*decision.Record) string {
	t.Helper()
	var b strings.Builder
	w := bufio.NewWriter(&b)
	p := decision.NewPrinter(w, format, width)
	p.Begin()
	for _, r := range records {
		p.Print(r)
	}
	p.End(2)
	if err := errors.Join(p.Err, w.Flush()); err != nil || p.Count != len(records) {
		t.Errorf("%s: got %d records and %v", format, p.Count, err)
	}
	return b.String()
}

// localNoon is the time of records in lists.
var localNoon = noon.Local().Format("2006-01-02 15:04:05")

// TestPrinter checks the forms of a list: what is around records and between them, and that no
// character of a record moves a cursor or begins a formula.
func TestPrinter(t *testing.T) {
	one := &decision.Record{ID: "1", Time: noon, Event: "e", Tool: "\x1b[31m", Answered: "deny", DurationUS: 7, Decision: decision.Decision{Action: "deny", Plugin: "p", Reason: "=1+1", Pos: "p.star:1:2"}}
	two := &decision.Record{ID: "2", Time: noon, Event: "f", Kind: "shell", Agent: "a", Session: "s", Answered: "approve", Decision: decision.Decision{Action: "none"}, Approval: &decision.Approval{By: "person"}}
	object := func(r *decision.Record) string { return strings.ReplaceAll(string(raw(r)), "\x1b", `\u001b`) }
	const head = "time,id,agent,session,event,tool,kind,action,answered,plugin,reason,pos,duration_us,approval\n"
	for format, want := range map[string]string{
		"json":  `{"schema":"starhost.log/1","records":[` + "\n" + object(one) + ",\n" + object(two) + "\n],\"skipped\":2,\"ok\":true}\n",
		"jsonl": object(one) + "\n" + object(two) + "\n",
		"csv": head + `2026-11-23T12:00:00Z,1,,,e,\u001b[31m,,deny,deny,p,'=1+1,p.star:1:2,7,` + "\n" +
			"2026-11-23T12:00:00Z,2,a,s,f,,shell,none,approve,,,,0,person\n",
		"text": localNoon + `  1  -  e \u001b[31m  deny  p: =1+1 (p.star:1:2)` + "\n" + localNoon + "  2  a  f  approve by person\n",
	} {
		diff(t, format, want, printed(t, format, 0, one, two))
	}
	var b strings.Builder
	w := bufio.NewWriter(&b)
	p := decision.NewPrinter(w, "json", 0)
	p.Err = errors.New("the pipe is closed")
	p.End(0)
	if err := w.Flush(); err != nil || b.Len() > 0 {
		t.Errorf("after an error: got %q and %v", b.String(), err)
	}
	for cell, want := range map[string]string{"": "", "a=": "a=", "=a": "'=a", "+1": "'+1", "-1": "'-1", "@a": "'@a"} {
		diff(t, cell, want, decision.PlainCell(cell))
	}
}

// TestLineOfRecord checks the line of a record for people, and that what was asked gives way if the
// line is too long, down to 20 letters.
func TestLineOfRecord(t *testing.T) {
	const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	asks := func(command string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"arguments": raw(map[string]string{"command": command})}
	}
	deny := decision.Decision{Action: "deny"}
	long := strings.Repeat("é", 30)
	tests := []struct {
		name  string
		r     decision.Record
		width int
		want  string
	}{
		{"the end of an id", decision.Record{ID: id, Decision: deny, Answered: "deny"}, 0, "Q69G5FAV  -  e  deny"},
		{"another answer", decision.Record{Decision: deny, Answered: "allow"}, 0, "  -  e  allow (deny)"},
		{"no decision", decision.Record{Decision: decision.Decision{Action: "none"}, Answered: "allow"}, 0, "  -  e  allow"},
		{"what was asked", decision.Record{Input: asks("ls"), Decision: deny, Answered: "deny"}, 0, "  -  e  ls  deny"},
		{"any width", decision.Record{Input: asks(long), Decision: deny, Answered: "deny"}, 0, "  -  e  " + long + "  deny"},
		{"just enough", decision.Record{Input: asks(long), Decision: deny, Answered: "deny"}, 19 + 8 + 30 + 2 + 6, "  -  e  " + long + "  deny"},
		{"one column less", decision.Record{Input: asks(long), Decision: deny, Answered: "deny"}, 19 + 8 + 30 + 2 + 5, "  -  e  " + long[:28*2] + "…  deny"},
		{"the least", decision.Record{Input: asks(long), Decision: deny, Answered: "deny"}, 10, "  -  e  " + long[:19*2] + "…  deny"},
	}
	for _, tt := range tests {
		tt.r.Time, tt.r.Event = noon, "e"
		got := printed(t, "text", tt.width, &tt.r)
		diff(t, tt.name, localNoon+"  "+tt.want+"\n", got)
		if most := utf8.RuneCountInString(got) - 1; tt.width > 60 && most > tt.width {
			t.Errorf("%s: got %d columns, want at most %d", tt.name, most, tt.width)
		}
	}
}

// logOf returns a folder with a log of some lines, and its reader.
func logOf(t *testing.T, lines ...string) (*decision.Reader, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "decisions-2026-11-23.jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := decision.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

// lineOf returns the line of a record.
func lineOf(id, event string) string {
	return fmt.Sprintf(`{"schema":%q,"id":%q,"event":%q}`, decision.Schema, id, event)
}

// TestFind checks which record a part of an id means.
func TestFind(t *testing.T) {
	lines := []string{
		lineOf("01ARZ3NDEKTSV4RRFFQ69G5FAV", "a"), lineOf("01ARZ3NDXXXXV4RRFFQ69G5FAW", "b"), lineOf("01ARZ3NDXXXXV4RRFFQ69G5FAW", "b"),
		`{"schema":"starhost.decision/1","id":"01BRZ3NDEKTSV4RRFFQ69G5FAX","event":"c","session":"01CRZ3NDEKTSV4RRFFQ69G5FAY"}`,
		`{"schema":"starhost.decision/1","id":"01DRZ3NDEKTSV4RRFFQ69G5FAZ`,
	}
	for id, want := range map[string]string{
		"01ARZ3NDEKTSV4RRFFQ69G5FAV": "a", "01ARZ3NDE": "a", "FQ69G5FAV": "a", "Q69G5FAV": "a", "01ARZ3NDXX": "b", "last": "c",
		"69G5FAV":                    `got "69G5FAV", want an id of starhost log, or 8 or more of its first or last characters`,
		"01arz3ndektsv4":             `got "01arz3ndektsv4", want an id of starhost log, or 8 or more of its first or last characters`,
		"01ARZ3ND":                   `"01ARZ3ND" begins or ends the ids of several records, as 01ARZ3NDEKTSV4RRFFQ69G5FAV and 01ARZ3NDXXXXV4RRFFQ69G5FAW`,
		"01CRZ3NDEKTSV4RRFFQ69G5FAY": `there is no record "01CRZ3NDEKTSV4RRFFQ69G5FAY" in DIR`,
		"01DRZ3NDEKTSV4RRFFQ69G5FAZ": `there is no record "01DRZ3NDEKTSV4RRFFQ69G5FAZ" in DIR`,
	} {
		r, dir := logOf(t, lines...)
		found, err := decision.Find(r, dir, id)
		got := ""
		if err != nil {
			got = strings.ReplaceAll(err.Error(), dir, "DIR")
		} else {
			got = found.Event
		}
		diff(t, id, want, got)
	}
	for _, id := range []string{"last", "01ARZ3NDE"} {
		r, dir := logOf(t, "x")
		if _, err := decision.Find(r, dir, id); err == nil || !strings.HasPrefix(err.Error(), "there is no record") {
			t.Errorf("%s of an empty log: got %v", id, err)
		}
		if err := os.Remove(filepath.Join(dir, "decisions-2026-11-23.jsonl")); err != nil {
			t.Fatal(err)
		}
		if _, err := decision.Find(r, dir, id); err == nil || err.Error() != dir+": no such file or folder" {
			t.Errorf("%s of a log that is gone: got %v", id, err)
		}
	}
	dir := t.TempDir()
	r, err := decision.Open(filepath.Join(dir, "none"))
	if err != nil {
		t.Errorf("no folder: got %v", err)
	}
	for range r.All() {
		t.Error("no folder: got a record")
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := decision.Open(filepath.Join(dir, "file", "log")); err == nil {
		t.Error("a folder in a file: got no error")
	}
}

// TestWriteRecord checks the text of a whole record.
func TestWriteRecord(t *testing.T) {
	r := &decision.Record{
		ID: "01ARZ3NDEKTSV4RRFFQ69G5FAV", Time: noon, Session: "s", Turn: 2, Event: "e", Answered: "deny", Mode: "enforce", DurationUS: 7,
		Decision: decision.Decision{Action: "deny"}, Input: map[string]json.RawMessage{"b": raw(1), "a": raw("x\x1b")},
		Approval: &decision.Approval{By: "person", Asked: noon, Answered: noon.Add(time.Second), Asks: []decision.Decision{
			{Plugin: "p", Pos: "p.star:1:2", Reason: "sure?"}, {Reason: "again?"},
		}},
		Handlers: []decision.Handler{
			{Decision: decision.Decision{Action: "none", Plugin: "p", Pos: "p.star:1:2"}, Steps: 3},
			{Decision: decision.Decision{Action: "deny", Plugin: "p", Reason: "the guard failed: broken"}, Error: "broken"},
			{Decision: decision.Decision{Action: "deny", Plugin: "p", Reason: "no"}, Error: "broken"},
			{Decision: decision.Decision{Action: "none", Plugin: "q"}, Effects: []json.RawMessage{raw("effect")}, Logs: []decision.Line{{Level: "info", Text: "a\nb"}}},
		},
		Context: []decision.Context{{ID: "0123456789abcdef", Bytes: 3, Plugin: "p", Source: "e"}, {ID: "01", Plugin: "q"}},
	}
	var p page.Page
	decision.WriteRecord(&p, r)
	want := localNoon + `  Q69G5FAV  -  e  deny by person
id        01ARZ3NDEKTSV4RRFFQ69G5FAV
session   s, turn 2
mode      enforce
duration  7 us
approval by person, asked 2026-11-23T12:00:00Z, answered 2026-11-23T12:00:01Z
  p p.star:1:2 asks: sure?
   asks: again?
input a "x\u001b"
input b 1
handler p p.star:1:2 none (3 steps)
handler p  deny: the guard failed: broken (0 steps)
handler p  deny: no: failed: broken (0 steps)
handler q  none (0 steps)
  "effect"
  log info: a\nb
context 0123456789ab 3 B p e
context 01 0 B q ` + "\n"
	diff(t, "record", want, p.String())
	p.Reset()
	r.Approval.Answered, r.Approval.Asks = time.Time{}, nil
	decision.WriteRecord(&p, r)
	if !strings.Contains(p.String(), "\napproval by person, asked 2026-11-23T12:00:00Z\ninput") {
		t.Errorf("a turn that waits: got %s", p.String())
	}
}

// TestFilter checks which records the filters of a list select.
func TestFilter(t *testing.T) {
	r := &decision.Record{
		Session: "s", Tool: "Bash", Kind: "shell", Decision: decision.Decision{Action: "ask"}, Answered: "deny",
		Handlers: []decision.Handler{{}, {Decision: decision.Decision{Plugin: "p"}}},
		Approval: &decision.Approval{By: "person", Asks: []decision.Decision{{Plugin: "asker"}}},
	}
	without := *r
	without.Approval = nil
	for _, tt := range []struct {
		name   string
		filter decision.Filter
		record *decision.Record
		want   bool
	}{
		{"all", decision.Filter{}, r, true},
		{"its session", decision.Filter{Session: "s"}, r, true},
		{"another session", decision.Filter{Session: "t"}, r, false},
		{"a handler's plugin", decision.Filter{Plugin: "p"}, r, true},
		{"the plugin that asked", decision.Filter{Plugin: "asker"}, r, true},
		{"another plugin", decision.Filter{Plugin: "q"}, r, false},
		{"the action", decision.Filter{Actions: []string{"ask"}}, r, true},
		{"the answer", decision.Filter{Actions: []string{"x", "deny"}}, r, true},
		{"another action", decision.Filter{Actions: []string{"allow"}}, r, false},
		{"who answered", decision.Filter{Approvals: []string{"person"}}, r, true},
		{"any answer", decision.Filter{Approvals: []string{"any"}}, r, true},
		{"another's answer", decision.Filter{Approvals: []string{"auto"}}, r, false},
		{"any answer without a question", decision.Filter{Approvals: []string{"any"}}, &without, false},
		{"the tool", decision.Filter{Tool: "B*"}, r, true},
		{"another tool", decision.Filter{Tool: "R*"}, r, false},
		{"the kind", decision.Filter{Tool: "kind:shell"}, r, true},
		{"another kind", decision.Filter{Tool: "kind:read"}, r, false},
	} {
		diff(t, tt.name, tt.want, tt.filter.Selects(tt.record))
	}
}

// TestWriteReplay checks the forms of a replay's report.
func TestWriteReplay(t *testing.T) {
	r := &decision.ReplayReport{
		Events: 1234, Sessions: 1, Same: 1000, NowDenied: 3, CannotTell: 1, Others: 4, Reworded: 2, ContextEvents: 1, ContextBytes: 20_000,
		Groups: []decision.ReplayGroup{
			{Outcome: "now denied", Plugin: "p", Pos: "p.star:3:1", Reason: "no\n", Count: 2, Example: "A"},
			{Outcome: "now denied", Plugin: "q", Count: 1, Example: "B", Allowed: true},
			{Outcome: "cannot tell", Reason: "masked", Count: 1, Example: "C"},
		},
	}
	const summary = "1,234 events of 1 session: 1,000 same, 3 now denied, 1 cannot tell; context: +20 KB in 1 prompt\n"
	const notes = "     2  same decisions with another reason, plugin or place\n     4  other events (--only)\n     5  lines of the log that are no records\n"
	var p page.Page
	decision.WriteReplay(&p, r, 5)
	diff(t, "text", summary+`     2  "now denied by p: no\n" (p.star:3:1)
        starhost log show A
     1  now denied by q [allowed]
        starhost log show B
     1  cannot tell: masked
        starhost log show C
`+notes, p.String())
	p.Reset()
	decision.WriteReplayGitHub(&p, r, 5)
	diff(t, "GitHub", `::error file=p.star,line=3,title=now denied by p::now denied by p: no%0A: 2 events, as A
::notice title=now denied by q::now denied by q: 1 event, as B
::warning title=cannot tell::cannot tell: masked: 1 event, as C
`+summary+notes, p.String())
	p.Reset()
	if err := decision.WriteReplayJUnit(&p, r); err != nil {
		t.Fatal(err)
	}
	diff(t, "JUnit", `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="starhost replay" tests="4" failures="1" errors="0">
  <testsuite name="starhost replay" tests="4" failures="1" errors="0" skipped="1">
    <testcase name="same" classname="replay"></testcase>
    <testcase name="now denied by p: no\n" classname="p">
      <failure type="now denied" message="now denied by p: no\n">2 events&#xA;p.star:3:1&#xA;starhost log show A</failure>
    </testcase>
    <testcase name="now denied by q" classname="q"></testcase>
    <testcase name="cannot tell: masked" classname="">
      <skipped></skipped>
    </testcase>
  </testsuite>
</testsuites>
`, p.String())
	for n, want := range map[int]string{9_999: "+9999 B", -10_000: "-10 KB", 10_000: "+10 KB", 9_999_999: "+9999 KB", 10_000_000: "+10 MB"} {
		r := decision.ReplayReport{ContextEvents: 2, ContextBytes: n}
		diff(t, fmt.Sprint(n), "0 events of 0 sessions: 0 same, 0 cannot tell; context: "+want+" in 2 prompts", r.Summary())
	}
	for n, want := range map[int]string{999: "999", 1000: "1,000", 1_234_567: "1,234,567"} {
		r := decision.ReplayReport{Events: 1, Sessions: 1, Same: n}
		diff(t, want, "1 event of 1 session: "+want+" same, 0 cannot tell", r.Summary())
	}
}
