package hook

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/internal/jsontext"
)

// Some agents run hooks in their own process. For them starhost ships a bridge: a program in the
// agent's language that runs starhost for each event. The form of the events is starhost's own.

// opencode is an agent for the terminal, whose hooks are JavaScript.
var opencode = &Agent{
	Agent: agents.Find("opencode"), retainsContext: true,
	nameOf: bridgeForm.nameIn, toolEvent: "tool.execute.before",
	members: []memberForm{{kindPrompt, "prompt", `"`}, {kindTool, "args", "{"}},
	read:    bridgeForm.read, write: writeBridge,
	config: func(s Settings) string { return formatBridge(opencodeBridge, s, 1000) },
	intro:  "~/.config/opencode/plugin/starhost.js, or .opencode/plugin/starhost.js of a project",
}

// gptme is an agent for the terminal, whose hooks are Python. Its bridge guards the tools that
// gptme confirms, also with --no-confirm.
var gptme = &Agent{
	Agent:  agents.Find("gptme"),
	nameOf: bridgeForm.nameIn, toolEvent: "tool.confirm",
	members: []memberForm{{kindTool, "args", "{"}},
	read:    bridgeForm.read, write: writeCode,
	config: func(s Settings) string { return formatBridge(gptmeBridge, s, 1) },
	intro:  "hooks/starhost_hook.py in the folder of a gptme plugin",
	more: func(s Settings) []Piece {
		config, folder := "../../../config.toml", "~/.config/gptme/plugins"
		if s.Project {
			config, folder = "../../../../gptme.toml", "./.gptme/plugins"
		}
		return []Piece{{Name: "../__init__.py", Whole: true}, {Name: config, Text: "[plugins]\npaths = [\"" + folder + "\"]\n"}}
	},
}

//go:embed bridges/opencode.js
var opencodeBridge string

//go:embed bridges/gptme.py
var gptmeBridge string

var bridgeForm = &form{
	event: "event", session: "session", workspace: "cwd", model: "model", prompt: "prompt", tool: "tool", input: "args",
	callID: "call_id", result: "output",
}

// writeBridge writes an answer in the form that a bridge reads.
func writeBridge(e *Event, v *verdict) (Answer, error) {
	out := map[string]any{}
	switch {
	case e.kind == kindPrompt && v.block: // a bridge has no way to end the turn
		out["withhold"] = withholdPrompt("was withheld by a policy: " + endSentence(v.reason))
	case v.block:
		return e.agent.blockingAnswer(nil, v.reason), nil
	case e.kind == kindPrompt && v.context != "":
		out["context"] = v.context
	case v.args != nil:
		out["args"] = v.args
	case v.result != nil:
		out["output"] = *v.result
	}
	return jsonAnswer(out), nil
}

// formatBridge returns the text of a bridge that runs a command line. second is the number of units of the
// bridge's timeout that make a second.
func formatBridge(text string, s Settings, second int) string {
	return strings.NewReplacer("@COMMAND@", string(jsontext.Must(s.Command)), "@TIMEOUT@", strconv.Itoa(s.seconds()*second)).Replace(text)
}
