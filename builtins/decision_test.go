package builtins_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// TestDecisionPlace fires an event at handlers that each make a decision in another line than that
// of the registration, and in a helper. A decision without a call, as a text, has the place of the
// registration.
func TestDecisionPlace(t *testing.T) {
	for _, tt := range []struct{ event, decision, place string }{
		{"pre_tool_call", `deny("no")`, "test.star:3:16"},
		{"pre_tool_call", `ask("sure?")`, "test.star:3:15"},
		{"approve_tool_call", `approve()`, "test.star:3:19"},
		{"pre_tool_call", `modify(arguments = {})`, "test.star:3:18"},
		{"pre_tool_call", `abort("closed")`, "test.star:3:17"},
		{"pre_llm_call", `"Be brief."`, "test.star:8:14"},
		{"pre_tool_call", `1 // 0`, "test.star:8:14"}, // the first line makes the guard fail
	} {
		t.Run(tt.decision, func(t *testing.T) {
			l := script{src: fmt.Sprintf(`
def decide():
    return %s

def handle():
    return decide()

register_hook(%q, handle)
`, tt.decision, tt.event)}.mustLoad(t)
			l.turn(t, host.Request{})
			out, _ := l.fire(t, &starhost.Event{Name: tt.event, Tool: "page", Arguments: json.RawMessage(`{}`)})
			if len(out.Decisions) != 1 || out.Decisions[0].Pos.String() != tt.place {
				t.Errorf("got %+v, want one at %s", out.Decisions, tt.place)
			}
		})
	}
}
