package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
)

// A form names the members of an agent's events. Points lead into objects: "tool_info.cwd". If a member has
// several names, with spaces between them, an event has one of them. "" stands for a member that the agent
// does not send.
type form struct {
	event, session, model, prompt, reply, tool, callID string // members that are texts
	workspace                                          string // a text, or a list whose first text counts
	input                                              string // the arguments of the call
	result, failure                                    string // values; failure is the message of a call that failed
	duration                                           string // in milliseconds, with or without a fraction
	isAnyInput                                         bool   // true if the arguments may also be a text or a list
}

// nameIn returns the name of an event that starhost cannot read as a whole.
func (f *form) nameIn(all object) string { return all.textField(f.event) }

// read decodes an event.
func (f *form) read(a *Agent, payload []byte) (*Event, error) {
	m, err := readMembers(payload)
	if err != nil {
		return nil, err
	}
	e := &Event{
		name: m.text(f.event), session: m.text(f.session), model: m.text(f.model), prompt: m.text(f.prompt),
		response: m.text(f.reply), tool: m.text(f.tool), callID: m.text(f.callID), workspace: m.firstText(f.workspace),
		args: m.raw(f.input), result: resultText(m.raw(f.result)), raw: m.all,
	}
	var duration float64
	_ = json.Unmarshal(m.raw(f.duration), &duration) // another type says nothing
	e.duration = int(duration)
	if failure := m.raw(f.failure); len(failure) > 0 && string(failure) != "null" {
		e.result, e.isError = resultText(failure), true
	}
	e.kind, _ = a.kindOf(e.name)
	switch isCall := e.kind == kindTool || e.kind == kindApprove; {
	case m.err != nil:
		return nil, fmt.Errorf("the event is not as documented: %w", m.err)
	case e.name == "":
		return nil, errors.New("the event has no " + f.event)
	case isCall && e.tool == "" && f.tool != "":
		return nil, fmt.Errorf("%s has no %s", e.name, f.tool)
	case isCall && f.isAnyInput && len(e.args) > 0 && (e.args[0] == '"' || e.args[0] == '['):
	case isCall && !isObjectOrNull(e.args):
		return nil, fmt.Errorf("the event is not as documented: %s: want an object", f.input)
	}
	return e, nil
}

// members are the members of an event. err is the first mistake of a member that a caller asked
// for.
type members struct {
	doc *document
	all object
	err error
}

// parseEvent parses an event. It refuses a payload that two readers could decode differently.
func parseEvent(payload []byte) (*document, error) {
	d, ok := readDocument(string(payload))
	switch {
	case d.tooLarge != nil:
		return nil, fmt.Errorf("the event has %w", d.tooLarge)
	case len(bytes.TrimSpace(payload)) == 0:
		return nil, errors.New("the input is empty, want a JSON object")
	case !ok || !d.HasKind(0, objectNode):
		return nil, errors.New("got no JSON object")
	}
	if err := d.Ambiguity(); err != nil {
		return nil, fmt.Errorf("the event is not as documented: %w", err)
	}
	return d, nil
}

// readMembers parses an event, whose members the caller asks for.
func readMembers(payload []byte) (*members, error) {
	d, err := parseEvent(payload)
	if err != nil {
		return nil, err
	}
	m := &members{doc: d}
	return m, json.Unmarshal(payload, &m.all)
}

// fail records a mistake. The first one counts.
func (m *members) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// find returns the member with one of the names, or noNode.
func (m *members) find(names string) int {
	found := noNode
	for name := range strings.FieldsSeq(names) {
		i := 0
		for part := range strings.SplitSeq(name, ".") {
			if err := m.doc.checkCase(i, []string{part}); err != nil {
				m.fail("%w", err)
			}
			if i = m.doc.Member(i, part); i == noNode {
				break
			}
		}
		if found != noNode && i != noNode {
			m.fail("it has two of %s", strings.ReplaceAll(names, " ", ", "))
		}
		found = max(found, i)
	}
	return found
}

// raw returns the JSON of a member, or nil if it is missing.
func (m *members) raw(names string) json.RawMessage { return m.doc.CopyAt(m.find(names)) }

// text returns the text of a member, or "" if it is missing or null.
func (m *members) text(names string) string {
	i := m.find(names)
	if i != noNode && !m.doc.HasKind(i, jsontext.String) && m.doc.TextAt(i) != "null" {
		m.fail("%s: %s", names, jsontext.Explain(json.Unmarshal([]byte(m.doc.TextAt(i)), new(string))))
	}
	return m.doc.StringAt(i)
}

// firstText returns the text of a member, or the first text if the member is a list.
func (m *members) firstText(names string) string {
	if list := m.doc.Elements(m.find(names)); len(list) > 0 {
		return m.doc.StringAt(list[0])
	}
	return m.doc.StringAt(m.find(names))
}
