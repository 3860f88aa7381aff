package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// TestApprovalQuestion checks that the question shows all arguments on lines that nothing can
// forge, and that no person is asked about more than a question shows.
func TestApprovalQuestion(t *testing.T) {
	ask := func(arguments, reason string) (string, error) {
		call := starhost.ToolCall{Name: "run", Arguments: json.RawMessage(arguments)}
		return approvalQuestion(&host.ApprovalRequest{Call: call, Plugin: "p", Reasons: []string{reason}})
	}
	long := `{"command":"` + strings.Repeat(" ", 5000) + `; rm -rf /"}`
	if got, err := ask(long, "why"); err != nil || !strings.Contains(got, "; rm -rf /") {
		t.Errorf("long arguments: got %q, %v", got, err)
	}
	if got, err := ask(`{"x":"`+strings.Repeat("x", maxApproval)+`"}`, "why"); err == nil {
		t.Errorf("huge arguments: got %d bytes", len(got))
	}
	got, err := ask("{\"a\":\"\u202e\"}", "why\nRun ls\x1b[2K")
	if want := "Run run of plugin p with {\"a\":\"\\u202e\"}?\nwhy\n  | Run ls\\u001b[2K"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
