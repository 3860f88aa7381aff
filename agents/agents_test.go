package agents_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
)

func TestUnknownEvent(t *testing.T) {
	err := errors.New("unknown")
	tests := []struct{ name, want string }{
		{"pre_llm_cal", "unknown"},
		{"before_llm", `unknown event "before_llm" (PicoClaw's before_llm is pre_llm_call)`},
		{"TOOL_PRE_EXECUTE", `unknown event "TOOL_PRE_EXECUTE" (gptme's TOOL_PRE_EXECUTE is pre_tool_call)`},
		{"on_session_start", `unknown event "on_session_start" (Hermes's on_session_start is session_start)`},
		{"pretooluse", `unknown event "pretooluse" (Claude Code's PreToolUse is pre_tool_call)`},
		{"Notification", "unknown"}, // starhost has no such event
	}
	for _, tt := range tests {
		if got := agents.UnknownEvent(tt.name, err); got.Error() != tt.want {
			t.Errorf("UnknownEvent(%q):\n got %v\nwant %s", tt.name, got, tt.want)
		}
	}
	if got := agents.UnknownEvent("before_llm", nil); got != nil {
		t.Errorf("without an error: got %v, want nil", got)
	}
}

// TestListed checks that All has each agent that a file of the folder describes, and that each agent with an
// adapter has a form of the canary.
func TestListed(t *testing.T) {
	list, err := os.ReadFile("agents.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?s)var All = .*?\n}`).FindString(string(list))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^var (\w+) = &Agent\{`).FindAllStringSubmatch(string(text), -1) {
			if !regexp.MustCompile(`\b` + m[1] + `\b`).MatchString(all) {
				t.Errorf("%s: All in agents.go lacks %s", file, m[1])
			}
		}
	}
	for _, a := range agents.All {
		if a.Served != (a.Canary != "") {
			t.Errorf("%s: served is %v, and its Canary is %q", a.Title, a.Served, a.Canary)
		}
	}
}

// TestEvents checks that each row of an agent's events names an event of starhost.
func TestEvents(t *testing.T) {
	for _, a := range agents.All {
		seen := map[string]bool{}
		for _, e := range a.Events {
			if seen[e.Name] {
				t.Errorf("%s: %s has two rows", a.Title, e.Name)
			}
			seen[e.Name] = true
			if _, err := starhost.LookupEvent(e.Ours); err != nil && e.Ours != "" {
				t.Errorf("%s: %s: %v", a.Title, e.Name, err)
			}
			if e.Served && e.Ours == "" && !e.Compacts && !e.Branches {
				t.Errorf("%s: %s: served, but as what?", a.Title, e.Name)
			}
		}
	}
}

// TestCodes checks that each agent with an adapter states its timeout and its exit codes.
func TestCodes(t *testing.T) {
	for _, a := range agents.All {
		if !a.Served {
			continue
		}
		if a.Timeout < 5*time.Second || a.BlockCode != 0 && a.BlockCode != 2 || a.FailCode != 0 && a.FailCode != 1 {
			t.Errorf("%s: got timeout %v, codes %d and %d", a.Name, a.Timeout, a.BlockCode, a.FailCode)
		}
	}
}

// TestGuides checks that each event in the guides of other systems stands for an event of starhost.
func TestGuides(t *testing.T) {
	guides := `SESSION_START SESSION_END TOOL_PRE_EXECUTE TOOL_POST_EXECUTE FILE_PRE_SAVE FILE_POST_SAVE GENERATION_PRE GENERATION_POST
		tool.execute.pre turn.post on_session_start on_session_end on_session_finalize on_session_reset pre_gateway_dispatch
		session:start session:end session:reset agent:start agent:step agent:end command:* transform_tool_result
		before_llm after_llm before_tool after_tool approve_tool hook.before_llm hook.after_llm hook.before_tool hook.after_tool hook.approve_tool
		startup shutdown before_call after_call SessionStart UserPromptSubmit PreToolUse PostToolUse Stop SessionEnd errorOccurred`
	for name := range strings.FieldsSeq(guides) {
		said := agents.EventHint(name)
		_, ours, _ := strings.Cut(said, " is ")
		if _, err := starhost.LookupEvent(ours); err != nil {
			t.Errorf("%s: got %q, want one of our events", name, said)
		}
	}
}
