package proxy

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// An assembler collects the events of a stream into a whole reply.
type assembler interface {
	// add adds an event whose data is an object. done is true if the event ends the reply.
	add(e *event) (done bool, err error)
	// written notes that the client has all events that were added so far.
	written()
	// whole returns the reply so far as the JSON of a reply that is no stream. It fails if parts of the reply
	// contradict each other.
	whole() (string, error)
	// size returns how many bytes the assembler stores.
	size() int
}

// collected counts the bytes that an assembler stores.
type collected struct{ bytes int }

func (c *collected) size() int { return c.bytes }

func (c *collected) written() {}

// maxItems is the most items, blocks or calls of one reply, and maxChoices the most answers of one reply.
const (
	maxItems   = 4096
	maxChoices = 128
)

// errOrder returns the error for an event that no client could put together with those before it.
func errOrder(e *event) error {
	return unreadable("an event %q out of order", errtext.Clip(e.kind))
}

// A messagesReply assembles a reply of the protocol Messages.
type messagesReply struct {
	collected
	model, stop string
	usage       map[string]json.RawMessage
	blocks      []*block
	hasBegun    bool
}

// A block is what has arrived of one block of a reply.
type block struct {
	start  jsontext.Document
	texts  map[string]*strings.Builder // the texts that deltas added, by the member that they belong to
	listed []string                    // citations
	closed bool
}

// deltaMembers are the members that deltas add to, by the type of the delta.
var deltaMembers = map[string]string{
	"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature", "input_json_delta": "partial_json",
}

func (m *messagesReply) add(e *event) (done bool, err error) {
	d := &e.doc
	switch e.kind {
	case "message_start":
		if m.hasBegun || len(d.Elements(at(d, 0, "message.content"))) > 0 { // later blocks would have other numbers
			return false, errOrder(e)
		}
		m.hasBegun, m.model = true, d.StringAt(at(d, 0, "message.model"))
		m.addUsage(d, at(d, 0, "message.usage"))
	case "content_block_start", "content_block_delta", "content_block_stop":
		return false, m.addToBlock(e)
	case "message_delta":
		m.stop = d.TextAt(at(d, 0, "delta.stop_reason"))
		m.addUsage(d, d.Member(0, "usage"))
	case "message_stop":
		return true, nil
	}
	return false, nil
}

// addToBlock adds an event about a block to that block.
func (m *messagesReply) addToBlock(e *event) error {
	d := &e.doc
	index, ok := indexAt(d, d.Member(0, "index"))
	if !ok {
		return errOrder(e)
	}
	if e.kind == "content_block_start" {
		start := d.Member(0, "content_block")
		if index != len(m.blocks) || index >= maxItems || start == noNode {
			return errOrder(e)
		}
		doc, err := jsontext.Parse(d.TextAt(start), maxNesting)
		m.blocks = append(m.blocks, &block{start: doc, texts: map[string]*strings.Builder{}})
		m.bytes += e.size()
		return err
	}
	if index >= len(m.blocks) || m.blocks[index].closed {
		return errOrder(e)
	}
	b := m.blocks[index]
	b.closed = e.kind == "content_block_stop"
	n, ok := b.add(d, d.Member(0, "delta"))
	if m.bytes += n; !ok {
		return errOrder(e)
	}
	return nil
}

func (m *messagesReply) addUsage(d *jsontext.Document, usage int) {
	if m.usage == nil {
		m.usage = map[string]json.RawMessage{}
	}
	for key, value := range d.Members(usage) {
		m.usage[d.StringAt(key)] = d.CopyAt(value)
		m.bytes += len(d.TextAt(key)) + len(d.TextAt(value))
	}
}

// add adds a delta to the block, and returns the delta's size. ok is false if two clients could understand
// the delta differently.
func (b *block) add(d *jsontext.Document, delta int) (n int, ok bool) {
	kind := d.StringAt(d.Member(delta, "type"))
	if citation := d.Member(delta, "citation"); citation != noNode {
		b.listed = append(b.listed, d.TextAt(citation))
		n += len(d.TextAt(citation))
	}
	member := deltaMembers[kind]
	if member == "" {
		return n, true
	}
	value := d.Member(delta, member)
	if b.texts[member] == nil {
		b.texts[member] = &strings.Builder{}
	}
	b.texts[member].WriteString(d.StringAt(value))
	return n + len(d.TextAt(value)), d.HasKind(value, jsontext.String)
}

// text returns the block in the form that a reply has that is no stream.
func (b *block) text() string {
	e := jsontext.NewEdits(&b.start)
	for member, text := range b.texts {
		switch raw := text.String(); {
		case member != "partial_json":
			e.SetMember(0, member, string(jsontext.Must(b.start.StringAt(b.start.Member(0, member))+raw)))
		case raw != "" && json.Valid([]byte(raw)):
			e.SetMember(0, "input", raw)
		case raw != "":
			e.SetMember(0, "input", string(jsontext.Must(raw))) // no guard can read these arguments
		}
	}
	if len(b.listed) > 0 {
		e.SetMember(0, "citations", "["+strings.Join(b.listed, ",")+"]")
	}
	return e.String()
}

func (m *messagesReply) whole() (string, error) {
	var blocks []string
	for _, b := range m.blocks {
		blocks = append(blocks, b.text())
	}
	return `{"model":` + string(jsontext.Must(m.model)) + `,"content":[` + strings.Join(blocks, ",") + `],"stop_reason":` + cmp.Or(m.stop, "null") +
		`,"usage":` + string(jsontext.Must(m.usage)) + `}`, nil
}

// A chatReply assembles a reply of the protocol Chat Completions.
type chatReply struct {
	collected
	id      string // the id of the first chunk that has one
	model   string
	usage   string
	choices []*choice
	numbers numbering
}

// A choice is what has arrived of one answer of a chat.
type choice struct {
	text    strings.Builder
	sent    int // bytes of text that the client has
	calls   []*chatCall
	old     *chatCall // the call in the member function_call
	finish  string
	numbers numbering // the indexes of calls
}

// A chatCall is what has arrived of one call of a chat.
type chatCall struct {
	id, kind, name string
	args           strings.Builder
	form           string // the name of the member that has the call's name
	others         string // a member that no client knows, "" for none
}

func (r *chatReply) add(e *event) (done bool, err error) {
	d := &e.doc
	if model := d.StringAt(d.Member(0, "model")); model != "" {
		r.model = model
	}
	r.id = cmp.Or(r.id, d.StringAt(d.Member(0, "id")))
	if usage := d.Member(0, "usage"); d.HasKind(usage, jsontext.Object) {
		r.usage = d.TextAt(usage)
	}
	for _, part := range d.Elements(d.Member(0, "choices")) {
		index, ok := r.numbers.next(d, d.Member(part, "index"), 0)
		if !ok || index >= maxChoices || hasCalls(d, d.Member(part, "message")) { // no part of a stream
			return false, errOrder(e)
		}
		for len(r.choices) <= index {
			r.choices = append(r.choices, &choice{})
		}
		delta := d.Member(part, "delta")
		if err := r.choices[index].add(e, delta); err != nil {
			return false, err
		}
		for _, name := range []string{"content", "tool_calls", "function_call"} {
			r.bytes += len(d.TextAt(d.Member(delta, name)))
		}
		if finish := d.Member(part, "finish_reason"); d.HasKind(finish, jsontext.String) {
			r.choices[index].finish = d.TextAt(finish)
		}
	}
	isOpen := func(c *choice) bool { return c.finish == "" }
	return len(r.choices) > 0 && !slices.ContainsFunc(r.choices, isOpen), nil
}

func (c *choice) add(e *event, delta int) error {
	d := &e.doc
	c.text.WriteString(d.StringAt(d.Member(delta, "content")))
	for _, part := range d.Elements(d.Member(delta, "tool_calls")) {
		index, ok := c.numbers.next(d, d.Member(part, "index"), len(c.calls))
		if !ok || index > len(c.calls) || index >= maxItems {
			return errOrder(e)
		}
		if index == len(c.calls) {
			c.calls = append(c.calls, &chatCall{})
		}
		if err := c.calls[index].add(e, part); err != nil {
			return err
		}
	}
	if old := d.Member(delta, "function_call"); d.HasKind(old, jsontext.Object) {
		if c.old == nil {
			c.old = &chatCall{}
		}
		c.old.noteOthers(d, old)
		return c.old.set(e, &c.old.name, d.Member(old, "name"), d.Member(old, "arguments"))
	}
	return nil
}

// hasCalls reports whether a chat message has calls.
func hasCalls(d *jsontext.Document, message int) bool {
	return slices.ContainsFunc([]string{"tool_calls", "function_call"}, func(name string) bool {
		return !slices.Contains([]string{"", "null", "[]"}, d.TextAt(d.Member(message, name)))
	})
}

func (c *chatCall) add(e *event, part int) error {
	d := &e.doc
	for key := range d.Members(part) {
		if name := d.StringAt(key); !callForms["function"].knows(name) {
			c.others = name
		}
	}
	if err := c.set(e, &c.id, d.Member(part, "id"), noNode); err != nil {
		return err
	}
	if err := c.set(e, &c.kind, d.Member(part, "type"), noNode); err != nil {
		return err
	}
	for form, args := range map[string]string{"function": "arguments", "custom": "input"} {
		value := d.Member(part, form)
		if value == noNode {
			continue
		}
		if c.form != "" && c.form != form {
			return errOrder(e)
		}
		c.form = form
		c.noteOthers(d, value)
		if err := c.set(e, &c.name, d.Member(value, "name"), d.Member(value, args)); err != nil {
			return err
		}
	}
	return nil
}

// set sets a part of a call, such as its name, that arrives once, and adds to the call's arguments. Some
// endpoints repeat the part, so an equal part is no error. A different part is one, because two clients could
// find different calls.
func (c *chatCall) set(e *event, part *string, value, args int) error {
	text := e.doc.StringAt(value)
	if *part != "" && text != "" && *part != text || !isTextOrNone(&e.doc, value) || !isTextOrNone(&e.doc, args) {
		return errOrder(e)
	}
	*part = cmp.Or(*part, text)
	c.args.WriteString(e.doc.StringAt(args))
	return nil
}

func (r *chatReply) written() {
	for _, c := range r.choices {
		c.sent = c.text.Len()
	}
}

// object returns the call in the form that a reply has that is no stream.
func (c *chatCall) object() dict {
	o := dict{"id": c.id, "type": "function", "function": dict{"name": c.name, "arguments": c.args.String()}}
	if c.form == "custom" {
		o = dict{"id": c.id, "type": "custom", "custom": dict{"name": c.name, "input": c.args.String()}}
	}
	if c.others != "" {
		o[c.others] = nil // keepKnown finds the member and has the call written without it
	}
	return o
}

// noteOthers notes a member that is not among functionMembers, beside the call's name.
func (c *chatCall) noteOthers(d *jsontext.Document, part int) {
	for key := range d.Members(part) {
		if name := d.StringAt(key); !slices.Contains(functionMembers, name) {
			c.others = name
		}
	}
}

func (r *chatReply) whole() (string, error) {
	choices := []any{}
	for i, c := range r.choices {
		message := dict{"role": "assistant", "content": nil}
		if c.text.Len() > 0 {
			message["content"] = c.text.String()
		}
		var calls []any
		for _, call := range c.calls {
			calls = append(calls, call.object())
		}
		if len(calls) > 0 {
			message["tool_calls"] = calls
		}
		if c.old != nil {
			o := dict{"name": c.old.name, "arguments": c.old.args.String()}
			if c.old.others != "" {
				o[c.old.others] = nil
			}
			message["function_call"] = o
		}
		finish := json.RawMessage(cmp.Or(c.finish, "null"))
		choices = append(choices, dict{"index": i, "message": message, "finish_reason": finish})
	}
	out := dict{"id": r.id, "model": r.model, "choices": choices}
	if r.usage != "" {
		out["usage"] = json.RawMessage(r.usage)
	}
	return string(jsontext.Must(out)), nil
}
