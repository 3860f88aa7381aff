package decision

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// maskedText replaces a masked value in a record.
const maskedText = "<masked>"

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
	if d.Result != nil {
		out.Result = newResult(d.Result)
	}
	return out
}

// newChange returns the new value of an argument.
func newChange(v any) json.RawMessage {
	switch v := v.(type) {
	case json.RawMessage:
		return v
	case starhost.Result:
		return encodeValue(newResult(&v))
	case *starhost.Messages:
		return encodeValue(v.Items())
	}
	return encodeValue(v)
}

// newResult returns a result in the form of a record.
func newResult(r *starhost.Result) *Result {
	return &Result{
		ForLLM: r.ForLLM, ForUser: r.ForUser, Silent: r.Silent, IsError: r.IsError, Handled: r.Handled,
		Attachments: newContexts([]starhost.Context{{Attachments: r.Attachments}}),
	}
}

// newContexts returns contexts in the form of a record.
func newContexts(all []starhost.Context) (list []Context) {
	for _, c := range all {
		for i := range c.Fragments {
			f := &c.Fragments[i]
			list = append(list, Context{ID: fragments.Sum(f.Content).String(), Bytes: len(f.Content), Plugin: f.Plugin})
		}
		for i := range c.Attachments {
			a := &c.Attachments[i]
			list = append(list, Context{ID: a.ID().String(), Bytes: a.Bytes(), Plugin: a.Plugin})
		}
	}
	return list
}

// textDigest returns the digest of a text.
func textDigest(text string) Digest {
	sum := sha256.Sum256([]byte(text))
	return Digest{Bytes: len(text), SHA256: hex.EncodeToString(sum[:])}
}

// encodeValue returns a value as JSON without the escapes for HTML.
func encodeValue(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return null
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
