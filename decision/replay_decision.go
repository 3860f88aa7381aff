package decision

import (
	"bytes"
	"encoding/json"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// newDecision returns a decision in the form of a record.
func newDecision(d *starhost.Decision) Decision {
	out := Decision{Action: string(d.Action), Reason: d.Reason, Plugin: d.Plugin, Value: d.Value}
	if d.Action == starhost.ActionNone {
		out.Action = ActionNone
	}
	if d.Pos != (starhost.Pos{}) {
		out.Pos = d.Pos.String()
	}
	for name, v := range d.Changes {
		if out.Changes == nil {
			out.Changes = map[string]json.RawMessage{}
		}
		out.Changes[name] = newChange(v)
	}
	if r := d.Result; r != nil {
		out.Result = &Result{
			ForLLM: r.ForLLM, ForUser: r.ForUser, Silent: r.Silent, IsError: r.IsError, Handled: r.Handled,
			Attachments: newContexts([]starhost.Context{{Attachments: r.Attachments}}),
		}
	}
	return out
}

// newChange returns the new value of an argument.
func newChange(v any) json.RawMessage {
	switch v := v.(type) {
	case json.RawMessage:
		return v
	case starhost.Result:
		return encodeJSON(v.ForLLM)
	case *starhost.Messages:
		return encodeJSON(v.Items())
	}
	return encodeJSON(v)
}

// newContexts returns contexts in the form of a record.
func newContexts(all []starhost.Context) (list []Context) {
	for _, c := range all {
		for _, f := range c.Fragments {
			list = append(list, Context{ID: fragments.Sum(f.Content).String(), Bytes: len(f.Content), Plugin: f.Plugin})
		}
		for _, a := range c.Attachments {
			list = append(list, Context{ID: fragments.Sum(a.Content).String(), Bytes: len(a.Content), Plugin: a.Plugin})
		}
	}
	return list
}

// encodeJSON returns a value as JSON.
func encodeJSON(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return null
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
