package near_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/starhost/starhost/internal/near"
)

func TestName(t *testing.T) {
	many := make([]string, 200)
	for i := range many {
		many[i] = fmt.Sprintf("%s%03d", strings.Repeat("a", 120), i)
	}
	tests := []struct {
		x          string
		candidates []string
		want       string
	}{
		{"handlr", []string{"handler", "name"}, "handler"},
		{"handlr", []string{"handle", "handler"}, "handle"},
		{"Handler", []string{"handler"}, "handler"},
		{"hanlder", []string{"handler"}, "handler"}, // a swap of two neighbours is one edit
		{"pgae", []string{"page"}, "page"},
		{"nmae", []string{"None", "name"}, "name"},
		{"tol", []string{"tool", "told"}, "tool"},                   // the first of equally near ones
		{"toll", []string{"tool", "toil"}, "tool"},                  // likewise
		{"tooll", []string{"toil", "tool"}, "tool"},                 // the nearer one
		{"claude", []string{"cline", "claude-code"}, "claude-code"}, // a name that goes on
		{"pre_tool", []string{"tool", "pre_tool_call", "pre_tool_calls"}, "pre_tool_call"},
		{"frag", []string{"arg", "fragment"}, "fragment"},
		{"tools", []string{"tool", "toolsets"}, "tool"}, // one letter is nearer
		{"na", []string{"names"}, ""},
		{"name", []string{"name"}, ""}, // a name does not suggest itself
		{"true", []string{"True"}, "True"},
		{"userMessage", []string{"user_message", "message"}, "user_message"},
		{"x", []string{"y", "X"}, "X"},
		{"ab", []string{"ac"}, ""},
		{"ab", []string{"AB"}, "AB"},
		{"", []string{"a", "b"}, ""},
		{"_", []string{"a"}, ""},
		{"restart", []string{"page"}, ""},
		{"frobnicate", []string{"fragment", "range"}, ""},
		{strings.Repeat("a", 200), []string{strings.Repeat("a", 199)}, ""},
		{strings.Repeat("a", 123), append(many, strings.Repeat("a", 122)), many[0]}, // gave up before the last
	}
	for _, tt := range tests {
		if got := near.Name(tt.x, tt.candidates); got != tt.want {
			t.Errorf("Name(%.20q, %.60q): got %q, want %q", tt.x, tt.candidates, got, tt.want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	if got, want := near.DidYouMean("pgae", []string{"page"}), " (did you mean page?)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := near.DidYouMean("restart", []string{"page"}); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

// TestSlip checks which names count as one slip of the fingers.
func TestSlip(t *testing.T) {
	tools := []string{"Bash", "Read", "Task", "Write", "run_shell_command"}
	for x, want := range map[string]string{
		"Bsh": "Bash", "bash": "Bash", "Bassh": "Bash", "Bosh": "Bash", "Bahs": "Bash", "Bash": "", "Wriet": "Write",
		"test": "", "reader": "", "wrte": "Write", "run_shell_comand": "run_shell_command", "": "", "T": "",
	} {
		if got := near.Slip(x, tools); got != want {
			t.Errorf("Slip(%q) = %q, want %q", x, got, want)
		}
	}
}
