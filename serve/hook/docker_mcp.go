package hook

import (
	"errors"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/internal/shellwords"
)

// dockerMCP is Docker's gateway of MCP servers. Its events name neither themselves nor a session.
var dockerMCP = &Agent{
	Agent:  agents.Find("docker-mcp"),
	nameOf: dockerMCPEvent, toolEvent: "before",
	read: readDockerMCP, write: writeDockerMCP, config: configDockerMCP,
	intro: "the command line of the gateway",
}

// dockerMCPForms are the forms of the request before a call: one has the spelling of the gateway's source,
// the other that of its documentation.
var dockerMCPForms = []form{
	{tool: "Params.name", input: "Params.arguments"}, {tool: "params.name", input: "params.arguments"},
}

// dockerMCPEvent returns "before" for a request, and "after" for a result.
func dockerMCPEvent(all object) string {
	switch {
	case all["Params"] != nil || all["params"] != nil:
		return "before"
	case all["content"] != nil:
		return "after"
	}
	return ""
}

func readDockerMCP(a *Agent, payload []byte) (*Event, error) {
	m, err := readMembers(payload)
	if err != nil {
		return nil, err
	}
	e := &Event{name: dockerMCPEvent(m.all), raw: m.all}
	if e.kind, _ = a.kindOf(e.name); e.kind != kindTool {
		if e.name == "" {
			return nil, errors.New("the event is not as documented: want a request with Params")
		}
		return e, nil
	}
	f := &dockerMCPForms[0]
	if m.all["Params"] == nil {
		f = &dockerMCPForms[1]
	}
	e.tool, e.args = m.text(f.tool), m.raw(f.input)
	switch {
	case m.err != nil:
		return nil, m.err
	case e.tool == "":
		return nil, errors.New("the event has no " + f.tool)
	case !isObjectOrNull(e.args):
		return nil, errors.New("the event is not as documented: " + f.input + ": want an object")
	}
	return e, nil
}

// writeDockerMCP writes the result that replaces a call: a refusal, or a plugin's result.
func writeDockerMCP(e *Event, v *verdict) (Answer, error) {
	if !v.block {
		return Answer{}, nil
	}
	text, isError := v.reason, true
	if v.answer != nil {
		text, isError = v.answer.ForLLM, v.answer.IsError
	}
	out := map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
	if isError {
		out["isError"] = true
	}
	return e.agent.blockingAnswer(out, v.reason), nil
}

func configDockerMCP(s Settings) string {
	return "docker mcp gateway run --interceptor " + shellwords.Quote("before:exec:"+quoteCommand(s.Command)) + "\n"
}
