package agents

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestGuessesAreCheap checks that starhost allocates nothing for the names of arguments that say nothing
// about their role. An earlier version allocated eleven times for each name, and 2 GiB for an event of 9 MB.
func TestGuessesAreCheap(t *testing.T) {
	list := make([]any, 1000)
	for i := range list {
		list[i] = map[string]any{"aa": 1.0, "b_c": "x"}
	}
	allocs := testing.AllocsPerRun(5, func() {
		g := guesses{places: map[role][]string{}, seen: map[string]bool{}}
		g.walk(list, "", 0)
	})
	if each := allocs / float64(len(list)); each > 3 { // the keys of the map, and a name without "_"
		t.Errorf("got %.1f allocations for each object, want at most 3", each)
	}
}

// TestGuessesHaveADepth checks that starhost takes a call for one of every kind if its arguments are nested
// deeper than those of any known tool, so that each guard sees the call.
func TestGuessesHaveADepth(t *testing.T) {
	for depth, want := range map[int]bool{maxPlaceDepth - 1: false, maxPlaceDepth + 2: true} {
		var v any = "rm -rf x"
		for range depth {
			v = map[string]any{"a": v}
		}
		g := guesses{places: map[role][]string{}, seen: map[string]bool{}}
		if g.walk(v, "", 0); g.tooMany != want {
			t.Errorf("%d levels: got %v, want %v", depth, g.tooMany, want)
		}
	}
}

// withoutRow are the tools that agents offer, and whose calls no guard needs to know by a kind: they
// ask the user, plan, or read what the agent itself has.
var withoutRow = map[string]string{
	// Workflow needs no row, because its argument script counts as a command by the name of the argument.
	"claude-code": "DeferredToolPlaceholder ListAgents ReportFindings ToolSearch Workflow",
	"cline": `ask_question team_attach_outcome_fragment team_await_runs team_cancel_run team_cleanup team_create_outcome team_finalize_outcome
		team_list_outcomes team_list_runs team_mission_log team_read_mailbox team_review_outcome_fragment team_shutdown_teammate team_status`,
	"codex":    "create_goal get_goal update_goal request_user_input",
	"copilot":  "fetch_copilot_cli_documentation list_agents list_bash read_agent read_bash session_store_sql sql stop_bash",
	"droid":    "TaskOutput TaskStop ToolSearch",
	"gemini":   "enter_plan_mode update_topic write_todos list_background_processes read_background_output",
	"opencode": "skill todowrite",
	// tool_call needs no row, because it names another tool, whose arguments count by their names.
	"qwen": "get_goal list_agents skill tool_call tool_search update_goal",
}

// TestOfferedTools compares the table with the tools that the real programs offered to the model in
// e2e/agents: each tool has a row, and the places of the row are among the tool's arguments. An argument
// whose name says that it is a path, a command or a patch has a place in the row.
func TestOfferedTools(t *testing.T) {
	text, err := os.ReadFile("../e2e/agents/results.json")
	if err != nil {
		t.Fatal(err)
	}
	var runs map[string]struct{ Tools map[string]string }
	if err := json.Unmarshal(text, &runs); err != nil {
		t.Fatal(err)
	}
	for agent, run := range runs {
		if len(run.Tools) == 0 {
			t.Errorf("%s: results.json has no tools: run e2e/agents with -run TestAgents/%s/context -update", agent, agent)
		}
		for offered, arguments := range run.Tools {
			name := offered[strings.LastIndex(offered, "/")+1:]
			i := slices.IndexFunc(Find(agent).Tools, func(row Tool) bool { return slices.Contains(strings.Fields(row.Names), name) })
			if i < 0 {
				if !slices.Contains(strings.Fields(withoutRow[agent]), name) {
					t.Errorf("%s offers %s {%s}, which has no row", agent, offered, arguments)
				}
				continue
			}
			row := Find(agent).Tools[i]
			var places []string
			for place := range strings.FieldsSeq(strings.Join([]string{
				row.Command, row.CWD, row.Paths, row.Content, row.Patch, row.Query, row.URL, row.Prompt, row.Globs,
			}, " ")) {
				place, _, _ = strings.Cut(place, ".")
				place, _, _ = strings.Cut(place, "+")
				places = append(places, strings.TrimSuffix(place, "[]"))
			}
			isThere := false
			for argument := range strings.FieldsSeq(arguments) {
				has := slices.Contains(places, argument)
				isThere = isThere || has
				_, r := roleOf(argument)
				if must := commandRole | patchRole | pathRole | targetRole; !has && r&must != 0 && row.Kind != "agent" {
					t.Errorf("%s: the row of %s has no place for its argument %s", agent, offered, argument)
				}
			}
			if !isThere {
				t.Errorf("%s offers %s {%s}, whose row has none of these", agent, offered, arguments)
			}
		}
	}
}
