package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
)

// hermes is Nous Research's agent. It does not store added context in its conversation, and it
// cannot ask a person about a tool call.
var hermes = &Agent{
	Agent:  agents.Find("hermes"),
	nameOf: hookEventName, toolEvent: "pre_tool_call",
	members: []memberForm{{kindPrompt, "extra", "{"}, {kindTool, "tool_input", "{n"}, {kindTool, "extra", "{"}},
	read:    readHermes, write: writeHermes, config: configHermes,
	intro: "~/.hermes/config.yaml",
}

func readHermes(a *Agent, payload []byte) (*Event, error) {
	var in struct {
		Name    string          `json:"hook_event_name"`
		Session string          `json:"session_id"`
		Tool    string          `json:"tool_name"`
		Input   json.RawMessage `json:"tool_input"`
		Extra   struct {
			Words    string          `json:"user_message"`
			Model    string          `json:"model"`
			History  json.RawMessage `json:"conversation_history"`
			Response string          `json:"assistant_response"`
			CallID   string          `json:"tool_call_id"`
			Result   json.RawMessage `json:"result"`
			Duration float64         `json:"duration_ms"`
		} `json:"extra"`
	}
	all, err := readObject(payload, &in)
	if err != nil {
		return nil, err
	}
	if in.Name == "" {
		return nil, errors.New("the event has no hook_event_name")
	}
	k, _ := a.kindOf(in.Name)
	if k == kindTool && in.Tool == "" {
		return nil, fmt.Errorf("%s has no tool_name", in.Name)
	}
	if k == kindTool && !isObjectOrNull(in.Input) {
		return nil, errors.New("the event is not as documented: tool_input: want an object")
	}
	x := &in.Extra
	e := &Event{
		kind: k, name: in.Name, session: in.Session,
		prompt: x.Words, model: x.Model, tool: in.Tool, args: in.Input, callID: x.CallID,
		result: resultText(x.Result), duration: int(x.Duration), response: x.Response, raw: all,
	}
	if e.kind == kindPrompt {
		e.history, err = hermesHistory(x.History, x.Words)
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
		fmt.Fprintf(&b, "  %s:\n    - command: %s\n      timeout: %d\n", event, mustJSON(quoteCommand(s.Command)), s.seconds())
		if event == "pre_tool_call" && !s.FailOpen {
			b.WriteString("      fail_closed: true\n")
		}
	}
	return b.String()
}
