package decide

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/starhost/starhost/serve/hook"
)

// litellm is LiteLLM's Generic Guardrail API. Its answer has no place for tool calls.
var litellm = guardrail{
	read: readLiteLLM,
	pass: func() any { return liteAnswer{Action: "NONE"} },
	change: func(_ *texts, changed []string) any {
		return liteAnswer{Action: "GUARDRAIL_INTERVENED", Texts: changed}
	},
	refuse: func(reason string) any { return liteAnswer{Action: "BLOCKED", Reason: reason} },
}

type liteAnswer struct {
	Action string   `json:"action"`
	Reason string   `json:"blocked_reason,omitempty"`
	Texts  []string `json:"texts,omitempty"`
}

func readLiteLLM(body []byte) (*texts, error) {
	var q struct {
		Type    string   `json:"input_type"`
		Texts   []string `json:"texts"`
		TraceID string   `json:"litellm_trace_id"`
		Model   string   `json:"model"`
		Rows    []any    `json:"structured_messages"`
		Calls   []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	if _, err := hook.ReadObject(body, &q); err != nil {
		return nil, fmt.Errorf("litellm: %w", err)
	}
	if q.Type != "request" && q.Type != "response" {
		return nil, fmt.Errorf("litellm: input_type: got %q, want request or response", q.Type)
	}
	if len(q.Texts)+len(q.Calls) == 0 && len(q.Rows) > 0 {
		return nil, errors.New("litellm: the question has messages without their texts: remove texts from exclude_payload_fields")
	}
	t := &texts{list: q.Texts, isReply: q.Type == "response", session: q.TraceID, model: q.Model}
	for _, c := range q.Calls {
		call, err := readTool(c.ID, c.Function.Name, c.Function.Arguments)
		if err != nil {
			return nil, fmt.Errorf("litellm: %w", err)
		}
		t.calls = append(t.calls, call)
	}
	return t, nil
}

// agentgatewayRequest and agentgatewayResponse are the two questions of agentgateway's guardrail
// webhook. They have neither a conversation nor tool calls.
var (
	agentgatewayRequest = guardrail{
		read: readGatewayRequest, pass: passGateway, refuse: rejectGateway,
		change: func(t *texts, changed []string) any {
			return gatewayAction{"body": gatewayMessages{t.messages(changed)}}
		},
	}
	agentgatewayResponse = guardrail{
		read: readGatewayResponse, pass: passGateway, refuse: rejectGateway,
		change: func(t *texts, changed []string) any {
			var body gatewayChoices
			for _, m := range t.messages(changed) {
				body.Choices = append(body.Choices, gatewayChoice{m})
			}
			return gatewayAction{"body": body}
		},
	}
)

// These are the bodies of agentgateway's questions and masks.
type (
	gatewayMessages struct {
		Messages []gatewayMessage `json:"messages"`
	}
	gatewayChoices struct {
		Choices []gatewayChoice `json:"choices"`
	}
	gatewayChoice struct {
		Message gatewayMessage `json:"message"`
	}
	gatewayMessage struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
)

// A gatewayAction is the answer to agentgateway, which distinguishes actions by their members: a
// mask has an object as body, a rejection has a text and a status.
type gatewayAction map[string]any

// MarshalJSON implements [json.Marshaler].
func (a gatewayAction) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]map[string]any{"action": a})
}

func passGateway() any { return gatewayAction{} }

func rejectGateway(reason string) any {
	return gatewayAction{"body": reason, "status_code": http.StatusForbidden, "reason": reason}
}

// messages returns the messages of a question with changed texts.
func (t *texts) messages(changed []string) []gatewayMessage {
	list := make([]gatewayMessage, len(changed))
	for i, text := range changed {
		list[i] = gatewayMessage{t.roles[i], text}
	}
	return list
}

func readGatewayRequest(body []byte) (*texts, error) {
	var q struct {
		Body gatewayMessages `json:"body"`
	}
	if _, err := hook.ReadObject(body, &q); err != nil || q.Body.Messages == nil {
		return nil, fmt.Errorf("agentgateway: %w", cmp.Or(err, errors.New("the question has no body.messages")))
	}
	t := &texts{}
	t.addMessages(q.Body.Messages...)
	return t, nil
}

func readGatewayResponse(body []byte) (*texts, error) {
	var q struct {
		Body gatewayChoices `json:"body"`
	}
	if _, err := hook.ReadObject(body, &q); err != nil || q.Body.Choices == nil {
		return nil, fmt.Errorf("agentgateway: %w", cmp.Or(err, errors.New("the question has no body.choices")))
	}
	t := &texts{isReply: true}
	for _, c := range q.Body.Choices {
		t.addMessages(c.Message)
	}
	return t, nil
}

func (t *texts) addMessages(list ...gatewayMessage) {
	for _, m := range list {
		t.list, t.roles = append(t.list, m.Content), append(t.roles, m.Role)
	}
}
