package install

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/decision"
)

// TestHeadOf checks that the beginning of a record says what the whole record does, whatever its texts are.
func TestHeadOf(t *testing.T) {
	at := time.Date(2026, 11, 26, 18, 2, 5, 123456000, time.UTC)
	const odd = `a,"input":{"x":1},"tool":"y" \u00e9` + "\u2028\n\x00"
	for _, r := range []decision.Record{
		{Tool: "Bash", Foreign: true, Kind: "shell"},
		{Agent: odd, Session: odd, Tool: odd, Roles: []string{odd}, Workspace: odd, Kind: "other"},
		{Tool: "Write", Input: map[string]json.RawMessage{"input": json.RawMessage(`{"agent":"other","input":{}}`)}},
	} {
		r.Schema, r.ID, r.Time, r.Event = decision.Schema, "id", at, "pre_tool_call"
		if r.Input == nil {
			r.Input = map[string]json.RawMessage{}
		}
		line, err := json.Marshal(&r)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := decision.ParseRecord(line)
		if err != nil {
			t.Fatal(err)
		}
		want := &decision.Record{Time: whole.Time, Agent: whole.Agent, Event: whole.Event, Tool: whole.Tool, Kind: whole.Kind, Foreign: whole.Foreign}
		if diff := cmp.Diff(want, headOf(line)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
	for line, isRecord := range map[string]bool{
		`{"schema":"starhost.decision/1","time":"2026-11-26T18:02:05Z","id":"x","event":"e"}`: true, // without its input
		`{"schema":"starhost.decision/2","time":"2026-11-26T18:02:05Z","id":"x","input":{}}`:  false,
		`{"schema":"starhost.decision/1","time":"yesterday","id":"x","event":"e","input":{}}`: false,
		`{"schema":"starhost.decision/1","time":"2026-11-26T18:02:05Z","id":"x`:               false,
		`,"input":{`: false,
	} {
		if got := headOf([]byte(line)); (got != nil) != isRecord {
			t.Errorf("%s: got %+v", line, got)
		}
	}
}
