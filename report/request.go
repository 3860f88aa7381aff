package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// The request and the arguments that a caller of eval writes as JSON.

// A requestInput is a whole request as JSON.
type requestInput struct {
	Messages []starhost.Message `json:"messages"` // including system texts
	Tools    []starhost.Tool    `json:"tools"`
	Options  json.RawMessage    `json:"options"`
	Session  struct {
		ID        string   `json:"id"`
		Roles     []string `json:"roles"`
		Platform  string   `json:"platform"`
		Workspace string   `json:"workspace"`
	} `json:"session"`
}

// ParseRequest reads a whole request as JSON, which messages call name, with its session. The last
// message of the user is the new one, unless another text is.
func ParseRequest(name, text string, hasText bool) (r host.Request, c host.SessionConfig, err error) {
	var in requestInput
	if err := DecodeJSON(name, text, &in); err != nil {
		return r, c, err
	}
	c.ID, c.Roles, c.Workspace, c.Platform = in.Session.ID, in.Session.Roles, in.Session.Workspace, in.Session.Platform
	r.Tools = in.Tools
	for _, t := range in.Tools {
		if t.Name == "" {
			return r, c, Usagef("%s: tools: got one without a name", name)
		}
	}
	if r.Model, r.Options, err = takeModel(in.Options); err != nil {
		return r, c, Usagef("%s: options: %v", name, err)
	}
	err = in.distributeMessages(name, hasText, &r)
	return r, c, err
}

// distributeMessages sorts the messages into system text, history and the new message. The new
// message is the last one, unless another text is.
func (in *requestInput) distributeMessages(name string, hasText bool, r *host.Request) error {
	var system []string
	r.History = []starhost.Message{}
	for i, m := range in.Messages {
		switch m.Role {
		case "system":
			system = append(system, m.Content.String())
		case starhost.RoleUser, starhost.RoleAssistant, starhost.RoleTool:
			r.History = append(r.History, m)
		default:
			return Usagef("%s: messages: %d: got role %q, want system, user, assistant or tool", name, i+1, m.Role)
		}
	}
	r.System = strings.Join(system, "\n\n")
	if hasText {
		return nil
	}
	last := len(r.History) - 1
	if last < 0 || r.History[last].Role != starhost.RoleUser {
		return Usagef("%s: messages: got none of the user at the end, want one, or -p", name)
	}
	r.Text, r.History = r.History[last].Content.String(), r.History[:last]
	return nil
}

// takeModel splits the model from the options, because events have separate arguments for both.
func takeModel(options json.RawMessage) (model string, rest json.RawMessage, err error) {
	if len(options) == 0 || string(options) == "null" {
		return "", nil, nil
	}
	var set map[string]json.RawMessage
	if err := json.Unmarshal(options, &set); err != nil {
		return "", nil, errors.New("want an object")
	}
	raw, ok := set["model"]
	if !ok {
		return "", options, nil
	}
	if err := json.Unmarshal(raw, &model); err != nil {
		return "", nil, errors.New("model: want a string")
	}
	delete(set, "model")
	rest, err = json.Marshal(set)
	return model, rest, err
}

// EncodeArgument returns the text of an --arg as JSON of a JSON Schema type. Without a type,
// text that is JSON stays JSON, and other text is a string.
func EncodeArgument(text, typ string) (json.RawMessage, error) {
	asString, _ := json.Marshal(text) // no error: strings always marshal
	raw := json.RawMessage(text)
	switch {
	case typ == "string":
		return asString, nil
	case json.Valid(raw) && (typ == "" || fitsType(raw, typ)):
		return raw, nil
	case typ == "":
		return asString, nil
	}
	return nil, fmt.Errorf("%s as JSON", typ)
}

// fitsType reports whether a JSON value looks like one of a JSON Schema type.
func fitsType(raw json.RawMessage, typ string) bool {
	first := bytes.TrimSpace(raw)[0]
	switch typ {
	case "object":
		return first == '{'
	case "array":
		return first == '['
	case "boolean":
		return first == 't' || first == 'f'
	case "null":
		return first == 'n'
	}
	return first == '-' || '0' <= first && first <= '9'
}
