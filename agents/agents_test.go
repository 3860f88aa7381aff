package agents_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
)

var update = flag.Bool("update", false, "write the lists of agents")

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

// TestListed checks that All has each agent that a file of the folder describes, that Agents of serve/hook has
// each adapter, and that each agent with an adapter has a form of the canary. With -update, it writes both lists.
func TestListed(t *testing.T) {
	for path, head := range map[string]string{"agents.go": "All", "../serve/hook/hook.go": "Agents"} {
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		block := regexp.MustCompile(`(?s)\nvar ` + head + ` = \[\]\*Agent\{\n.*?\n}\n`)
		list := "\nvar " + head + " = []*Agent{\n" + rows(t, filepath.Dir(path)) + "}\n"
		switch {
		case block.FindString(string(old)) == list:
		case !*update:
			t.Errorf("%s: got%swant%sgo test ./agents -run TestListed -update writes it", path, block.Find(old), list)
		default:
			if err := os.WriteFile(path, block.ReplaceAllLiteral(old, []byte(list)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, a := range agents.All {
		if a.Served != (a.Canary != "") {
			t.Errorf("%s: served is %v, and its Canary is %q", a.Title, a.Served, a.Canary)
		}
	}
}

// rows returns the sorted names of the agents that the files of a folder declare, in lines of at most 100 bytes.
func rows(t *testing.T, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^var (\w+) = &Agent\{$`).FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
	}
	slices.Sort(names)
	var b strings.Builder
	line := "\t"
	for _, name := range names {
		if len(line)+len(name) > 98 {
			b.WriteString(strings.TrimSuffix(line, " ") + "\n")
			line = "\t"
		}
		line += name + ", "
	}
	return b.String() + strings.TrimSuffix(line, " ") + "\n"
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
