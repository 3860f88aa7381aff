package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/internal/jsontext"
)

// hermes is Nous Research's agent. It does not store added context in its conversation, and it
// cannot ask a person about a tool call.
var hermes = &Agent{
	Agent:  agents.Find("hermes"),
	nameOf: hermesForm.nameIn, toolEvent: "pre_tool_call",
	members: []memberForm{{kindPrompt, "extra", "{"}, {kindTool, "tool_input", "{n"}, {kindTool, "extra", "{"}},
	read:    readHermes, write: writeHermes, config: configHermes,
	intro: "~/.hermes/config.yaml",
}

var hermesForm = &form{
	event: "hook_event_name", session: "session_id", prompt: "extra.user_message", model: "extra.model",
	tool: "tool_name", input: "tool_input", callID: "extra.tool_call_id", result: "extra.result",
	duration: "extra.duration_ms", reply: "extra.assistant_response",
}

func readHermes(a *Agent, payload []byte) (*Event, error) {
	e, err := hermesForm.read(a, payload)
	if err != nil {
		return nil, err
	}
	var extra object
	if json.Unmarshal(e.raw["extra"], &extra) != nil && e.raw["extra"] != nil {
		return nil, errors.New("the event is not as documented: extra: want an object")
	}
	if e.kind == kindPrompt {
		e.history, err = hermesHistory(extra["conversation_history"], e.prompt)
	}
	return e, err
}

// hermesHistory decodes the messages before the user's new one. Hermes may list the new message as the last
// one; hermesHistory leaves it out.
func hermesHistory(raw json.RawMessage, words string) ([]starhost.Message, error) {
	d, ok := readDocument(string(raw))
	if len(raw) > 0 && string(raw) != "null" && (!ok || !d.HasKind(0, arrayNode)) {
		return nil, errors.New("the event is not as documented: conversation_history: want a list of messages")
	}
	history := []starhost.Message{}
	if len(raw) > 0 {
		history = append(history, d.conversation(0).chatMessages()...)
	}
	if n := len(history); n > 0 && history[n-1].Role == starhost.RoleUser && history[n-1].Content.String() == words {
		history = history[:n-1]
	}
	return history, nil
}

func writeHermes(e *Event, v *verdict) (Answer, error) {
	out := map[string]any{}
	switch e.kind {
	case kindPrompt:
		text := v.context
		if v.block { // Hermes has no way to block a prompt
			text = "A policy refuses this message: " + endSentence(v.reason) + " Do not act on it: tell the user so, and do nothing else."
		}
		if text != "" {
			out["context"] = text
		}
	case kindTool:
		if v.block {
			return e.agent.blockingAnswer(map[string]any{"action": "block", "message": v.reason}, v.reason), nil
		}
		if v.args != nil {
			out["action"], out["args"] = "modify", v.args
		}
	}
	return jsonAnswer(out), nil
}

// configHermes sets fail_closed for the event that guards can refuse, so that Hermes denies a call
// if starhost is missing or does not end in time.
func configHermes(s Settings) string {
	var b strings.Builder
	b.WriteString("hooks:\n")
	for _, event := range []string{"pre_llm_call", "pre_tool_call", "post_tool_call", "post_llm_call", "on_session_reset", "on_session_finalize"} {
		fmt.Fprintf(&b, "  %s:\n    - command: %s\n      timeout: %d\n", event, jsontext.Must(quoteCommand(s.Command)), s.seconds())
		if event == "pre_tool_call" && !s.FailOpen {
			b.WriteString("      fail_closed: true\n")
		}
	}
	return b.String()
}
