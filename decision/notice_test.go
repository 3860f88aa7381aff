package decision_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
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
			r := l.Record(starhost.Event{Name: "pre_tool_call", Tool: "t"}, starhost.Outcome{
				Hooks: []starhost.HookTrace{{Event: "pre_tool_call", Plugin: "p", Effects: []json.RawMessage{line}}},
			})
			got := slices.Contains(r.Omitted, "/handlers/0/effects/0/reply")
			has := strings.Contains(string(r.Handlers[0].Effects[0]), "secret words")
			if got == has || got != (isOmitted && include == nil) {
				t.Errorf("%s with %v: omitted %v, has the words %v", reply, include, got, has)
			}
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
