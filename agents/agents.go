// Package agents is data about other programs that run models and call hooks: their names,
// the names of their tools and events, and the event of starhost that comes closest to each.
//
// A plugin author who knows another agent's event gets the name of ours in an error, and
// serve/hook reads from the same rows which events it answers. The package imports nothing
// of this module, because every floor reads it.
package agents

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Agent is a program with hooks.
type Agent struct {
	// Name is the agent's name on the command line and in plugins: "claude-code". It is empty for
	// an agent whose tools starhost does not list.
	Name string
	// Served is true if starhost has an adapter for the agent.
	Served bool
	// Title is the agent's name in messages: "Claude Code".
	Title string
	// ToolPrefix is the text that the agent writes in front of the names of tools from
	// starhost's MCP server.
	ToolPrefix string
	// Timeout is the shortest time that the agent gives a hook which can refuse something, unless
	// its settings say otherwise.
	Timeout time.Duration
	// BlockCode is the exit code of a hook that blocks an event. It is 0 for an agent that reads JSON only at
	// code 0 and denies at any other code.
	BlockCode int
	// FailCode is the exit code of a hook that failed at an event that guards cannot refuse.
	FailCode int
	// Unseen names the tools that start programs to which the model can type later, without an event that
	// guards see.
	Unseen string
	// Asks, Rewrites and Redacts name events of the agent: those at which it can ask a person, accepts other
	// arguments, and accepts another result. The names have spaces between them; "*" means all events.
	Asks, Rewrites, Redacts string
	// RefusesPrompts is true if the agent lets a hook refuse a prompt. TellsModel is true if the
	// agent sends a refused prompt all the same, with the reason for the model. TakesContext is
	// true if it takes a hook's text with a prompt.
	RefusesPrompts, TellsModel, TakesContext bool
	// ReplacesWords is true if the agent lets a hook replace the user's words. In any other agent a
	// pre_send hook changes only the context that plugins add.
	ReplacesWords bool
	// Missing says what the agent does if starhost is missing or does not answer.
	Missing string
	// Seen is the version or the date of the source that the row describes. It also says whether somebody ran
	// the program or read its source.
	Seen string
	// Files say where the agent's settings lie, and Transcripts where it writes down what it did.
	Files       Files
	Transcripts Transcripts
	// ForeignFields are members that this agent's events never have, but the events of agents with
	// similar ones do.
	ForeignFields []string
	// Events are the agent's events. AllEvents is true if the program or its source, and not only
	// its documentation, says that there are no others in the version of Seen.
	Events    []Event
	AllEvents bool
	// Tools are the agent's own tools.
	Tools []Tool
	// MCPPrefix and MCPSeparator form the agent's name for another server's tool: prefix, server,
	// separator, tool. Both are empty if such names look like those of the agent's own tools.
	MCPPrefix, MCPSeparator string
	// Canary is the agent's event before a tool call, with the places @SESSION@, @FOLDER@, @TOOL@
	// and @ARGS@ for JSON.
	Canary string
	// ReportsRan is true if runs of the program showed that its event after a call has the arguments that
	// ran, and which of them the program itself changes. A difference from the judged arguments is then
	// certain, and ends the session's calls. For other agents, starhost only records the difference and
	// reports it.
	ReportsRan bool

	lifts []lift // the result of [Agent.Lifts]; nil for an agent that nobody attacked or read
}

// claudeCanary is the Canary of Claude Code and of the agents that send its events.
const claudeCanary = `{"session_id":@SESSION@,"cwd":@FOLDER@,"permission_mode":"default","hook_event_name":"PreToolUse",` +
	`"tool_name":@TOOL@,"tool_input":@ARGS@,"tool_use_id":"t"}`

// An Event is a hook event of an agent.
type Event struct {
	// Name is the name that the agent gives the event.
	Name string
	// Ours is the event of starhost that comes closest to it, or "".
	Ours string
	// Served is true if plugins take part in the event through the agent's adapter.
	Served bool
	// Compacts is true if the event says that the agent shortens its conversation.
	Compacts bool
	// Branches is true if the event begins the conversation of a subagent.
	Branches bool
}

// All are the agents, sorted by name: TestListed writes the list. If two agents have an event of
// the same name, messages name the first agent.
var All = []*Agent{
	claudeCode, cline, codex, copilot, cursor, dockerMCP, droid, gemini, goose, gptme, hermes,
	hermesGateway, kiro, llm, neko, opencode, openhands, picoclaw, qwen, vscode, windsurf,
}

// Find returns the agent with a name, or nil.
func Find(name string) *Agent {
	i := slices.IndexFunc(All, func(a *Agent) bool { return a.Name == name && name != "" })
	if i < 0 {
		return nil
	}
	return All[i]
}

// EventHint says which event of starhost another agent's event is, as in "PicoClaw's before_llm
// is pre_llm_call". It ignores letter case, and returns "" if no agent has the event.
func EventHint(name string) string {
	for _, a := range All {
		for _, e := range a.Events {
			if e.Ours != "" && strings.EqualFold(e.Name, name) {
				return fmt.Sprintf("%s's %s is %s", a.Title, e.Name, e.Ours)
			}
		}
	}
	return ""
}

// UnknownEvent returns the error for a name that is no event of starhost. If another agent has an event of
// that name, the error names starhost's event, otherwise it is err.
func UnknownEvent(name string, err error) error {
	if hint := EventHint(name); hint != "" && err != nil {
		return fmt.Errorf("unknown event %q (%s)", name, hint)
	}
	return err
}
