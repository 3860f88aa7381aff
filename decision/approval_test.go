package decision_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/host"
)

// approvalOf returns the outcome of a question that a person answered.
func approvalOf(reason string) host.Outcome {
	return host.Outcome{
		Decision: starhost.Decision{Action: starhost.ActionApprove}, Turn: 2,
		Answer: &host.Answer{By: "person", Asked: noon, Answered: noon.Add(3 * time.Second), Asks: []starhost.Decision{
			{Action: starhost.ActionAsk, Reason: reason, Plugin: "guard", Pos: starhost.Pos{File: "guard.star", Line: 3, Col: 5}},
		}},
	}
}

// TestRecordOfApproval checks that a record says who answered a question about a call, and when,
// and that it is masked, cut and read as others are. A replay leaves it out.
func TestRecordOfApproval(t *testing.T) {
	dir := t.TempDir()
	l, _ := newLog(t, decision.Options{Dir: dir, Mask: []string{"**/reason", "/approval/*"}})
	e := starhost.Event{
		Name: "approval", Tool: "deploy", CallID: "c1", Plugin: "ops", SessionID: "s",
		Arguments: json.RawMessage(`{"to":"prod","token":"hunter2hunter2"}`),
	}
	for _, o := range []host.Outcome{approvalOf("is it you?"), approvalOf(strings.Repeat("sure? ", 100_000))} {
		if err := l.Observe(e, o); err != nil {
			t.Fatal(err)
		}
	}
	r, err := decision.NewReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	var records []*decision.Record
	for line, err := range r.Lines() {
		if err != nil {
			t.Fatal(err)
		}
		record, err := decision.ParseRecord(line)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
	}
	i := 0
	for read, err := range r.All() { // by the reader's own parser
		if err != nil {
			t.Fatal(err)
		}
		diff(t, "the reader's record", records[i], read)
		i++
	}
	want := &decision.Approval{By: "<masked>", Asked: noon, Answered: noon.Add(3 * time.Second), Asks: []decision.Decision{
		{Action: "ask", Reason: "<masked>", Plugin: "guard", Pos: "guard.star:3:5"},
	}}
	diff(t, "approval", want, records[0].Approval)
	diff(t, "arguments", `{"to":"prod","token":"<masked>"}`, string(records[0].Input["arguments"]))
	diff(t, "answered", "approve", records[0].Answered)
	if !slices.Contains(records[1].Cut, "/approval/asks/0/reason") {
		t.Errorf("got the cut parts %v, want the reason", records[1].Cut)
	}
	report := replay(t, decision.ReplayOptions{}, records, nil)
	diff(t, "replayed events", 0, report.Events)
}

// TestRecordOfRun checks the record of what a tool, a command and a loader did.
func TestRecordOfRun(t *testing.T) {
	l, _ := newLog(t, decision.Options{})
	run := func(e starhost.Event) *decision.Record {
		return l.Record(e, host.Outcome{Hooks: []host.HookTrace{{
			Event: e.Name, Plugin: "ops", Steps: 7, Effects: []json.RawMessage{json.RawMessage(`{"store.set":{"key":"k"}}`)},
			Action: starhost.ActionError, Detail: "division by zero",
		}}})
	}
	tool := run(starhost.Event{Name: "tool_run", Tool: "deploy", Plugin: "ops", Arguments: json.RawMessage(`{"to":"prod"}`)})
	diff(t, "input", map[string]json.RawMessage{"arguments": json.RawMessage(`{"to":"prod"}`)}, tool.Input)
	diff(t, "errors", []string{"ops: division by zero"}, tool.Errors)
	diff(t, "effects", 1, len(tool.Handlers[0].Effects))
	command := run(starhost.Event{Name: "command_run", Command: "deploy", Args: []string{"prod"}})
	diff(t, "input", map[string]json.RawMessage{"command": json.RawMessage(`"deploy"`), "args": json.RawMessage(`["prod"]`)}, command.Input)
	ref := json.RawMessage(`"note:disk"`)
	for _, name := range []string{"load_run", "template_run"} {
		load := run(starhost.Event{Name: name, App: []starhost.AppArg{{Name: "ref", Value: ref}}})
		diff(t, "input", map[string]json.RawMessage{"ref": ref}, load.Input)
		diff(t, "effects", 1, len(load.Handlers[0].Effects))
		diff(t, "what was asked", "note:disk", load.Asked(20))
		report := replay(t, decision.ReplayOptions{}, []*decision.Record{load}, nil)
		diff(t, "replayed events", 0, report.Events)
	}
}
