package proxy

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
)

// An assembler collects the events of a stream into a whole reply.
type assembler interface {
	// add adds an event with an object. done is true for the event that ends the reply.
	add(e *event) (done bool, err error)
	// written records that the client has all events so far. count returns the items that it has.
	written()
	count() int
	// whole returns the reply so far as JSON.
	whole() string
}

// maxItems is the most items, blocks, choices or calls of one reply.
const maxItems = 4096

// errOrder is the error for events that no reader could put together.
func errOrder(e *event) error {
	return refuse(http.StatusBadGateway, "starhost: plugins cannot read the stream: an event %q out of order", jsontext.Clip(e.kind))
}

// A messagesReply is a reply of Messages.
type messagesReply struct {
	model, stop string
	usage       map[string]json.RawMessage
	blocks      []*block
	done        int // blocks that the client has
}

// A block is a block of a reply so far.
type block struct {
	start  jsontext.Document
	texts  map[string]*strings.Builder // by member: what deltas add
	listed []string                    // citations
	closed bool
}

// deltaMembers are the members to which deltas add, by their type.
var deltaMembers = map[string]string{
	"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature", "input_json_delta": "partial_json",
}

func (m *messagesReply) add(e *event) (done bool, err error) {
	d := &e.doc
	index := int(d.IntegerAt(d.Member(0, "index")))
	switch e.kind {
	case "message_start":
		m.model = d.StringAt(at(d, 0, "message.model"))
		m.addUsage(d, at(d, 0, "message.usage"))
	case "content_block_start":
		start := d.Member(0, "content_block")
		if index != len(m.blocks) || index >= maxItems || start == noNode {
			return false, errOrder(e)
		}
		doc, err := jsontext.Parse(d.TextAt(start), maxNesting)
		m.blocks = append(m.blocks, &block{start: doc, texts: map[string]*strings.Builder{}})
		return false, err
	case "content_block_delta", "content_block_stop":
		if index < 0 || index >= len(m.blocks) || m.blocks[index].closed {
			return false, errOrder(e)
		}
		b := m.blocks[index]
		b.closed = e.kind == "content_block_stop"
		b.add(d, d.Member(0, "delta"))
	case "message_delta":
		m.stop = d.TextAt(at(d, 0, "delta.stop_reason"))
		m.addUsage(d, d.Member(0, "usage"))
	case "message_stop":
		return true, nil
	}
	return false, nil
}

func (m *messagesReply) addUsage(d *jsontext.Document, usage int) {
	if m.usage == nil {
		m.usage = map[string]json.RawMessage{}
	}
	for key, value := range d.Members(usage) {
		m.usage[d.StringAt(key)] = d.CopyAt(value)
	}
}

func (b *block) add(d *jsontext.Document, delta int) {
	kind := d.StringAt(d.Member(delta, "type"))
	if citation := d.Member(delta, "citation"); citation != noNode {
		b.listed = append(b.listed, d.TextAt(citation))
	}
	if member := deltaMembers[kind]; member != "" {
		if b.texts[member] == nil {
			b.texts[member] = &strings.Builder{}
		}
		b.texts[member].WriteString(d.StringAt(d.Member(delta, member)))
	}
}

// text returns the block as a whole reply has it.
func (b *block) text() string {
	e := jsontext.NewEdits(&b.start)
	for member, text := range b.texts {
		switch raw := text.String(); {
		case member != "partial_json":
			e.SetMember(0, member, string(encode(b.start.StringAt(b.start.Member(0, member))+raw)))
		case raw != "" && json.Valid([]byte(raw)):
			e.SetMember(0, "input", raw)
		case raw != "":
			e.SetMember(0, "input", string(encode(raw))) // no guard can read it
		}
	}
	if len(b.listed) > 0 {
		e.SetMember(0, "citations", "["+strings.Join(b.listed, ",")+"]")
	}
	return e.String()
}

func (m *messagesReply) written() { m.done = len(m.blocks) }

func (m *messagesReply) count() int { return m.done }

func (m *messagesReply) whole() string {
	var blocks []string
	for _, b := range m.blocks {
		blocks = append(blocks, b.text())
	}
	stop := m.stop
	if stop == "" {
		stop = "null"
	}
	return `{"model":` + string(encode(m.model)) + `,"content":[` + strings.Join(blocks, ",") + `],"stop_reason":` + stop +
		`,"usage":` + string(encode(m.usage)) + `}`
}

// A responsesReply is a reply of Responses.
type responsesReply struct {
	last  string   // the object of the last event
	items []string // as they ended, "" before
	seen  int      // items that began
	done  int      // items that the client has
}

// isLast reports whether an event of Responses ends the reply.
func isLast(kind string) bool {
	return slices.Contains([]string{"response.completed", "response.incomplete", "response.failed"}, kind)
}

func (r *responsesReply) add(e *event) (done bool, err error) {
	d := &e.doc
	index := int(d.IntegerAt(d.Member(0, "output_index")))
	switch e.kind {
	case "response.output_item.added", "response.output_item.done":
		if index < 0 || index > r.seen || index >= maxItems {
			return false, errOrder(e)
		}
		if index == r.seen {
			r.seen++
			r.items = append(r.items, "")
		}
		if e.kind == "response.output_item.done" {
			r.items[index] = d.TextAt(d.Member(0, "item"))
		}
	}
	if isLast(e.kind) {
		r.last = d.TextAt(d.Member(0, "response"))
		return true, nil
	}
	return false, nil
}

func (r *responsesReply) written() { r.done = r.seen }

func (r *responsesReply) count() int { return r.done }

// whole returns the object of the last event, with the items of the stream, because the client has
// these.
func (r *responsesReply) whole() string {
	items := slices.DeleteFunc(slices.Clone(r.items), func(item string) bool { return item == "" })
	last := r.last
	if last == "" {
		last = "{}"
	}
	doc, err := jsontext.Parse(last, maxNesting)
	if err != nil || len(items) == 0 {
		return last
	}
	e := jsontext.NewEdits(&doc)
	e.SetMember(0, "output", "["+strings.Join(items, ",")+"]")
	return e.String()
}

// A chatReply is a reply of Chat Completions.
type chatReply struct {
	model   string
	usage   string
	choices []*choice
}

// A choice is one answer of a chat so far.
type choice struct {
	text   strings.Builder
	sent   int // bytes of text that the client has
	calls  []*chatCall
	old    *chatCall // the member function_call
	finish string
}

// A chatCall is a call of a chat so far.
type chatCall struct {
	id, kind, name string
	args           strings.Builder
}

func (r *chatReply) add(e *event) (done bool, err error) {
	d := &e.doc
	if model := d.StringAt(d.Member(0, "model")); model != "" {
		r.model = model
	}
	if usage := d.Member(0, "usage"); d.HasKind(usage, jsontext.Object) {
		r.usage = d.TextAt(usage)
	}
	for _, part := range d.Elements(d.Member(0, "choices")) {
		index := int(d.IntegerAt(d.Member(part, "index")))
		if index < 0 || index >= 128 {
			return false, errOrder(e)
		}
		for len(r.choices) <= index {
			r.choices = append(r.choices, &choice{})
		}
		if err := r.choices[index].add(e, d.Member(part, "delta")); err != nil {
			return false, err
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
		index := len(c.calls)
		if i := d.Member(part, "index"); i != noNode {
			index = int(d.IntegerAt(i))
		}
		if index < 0 || index > len(c.calls) || index >= maxItems {
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
		return c.old.set(e, &c.old.name, d.Member(old, "name"), d.Member(old, "arguments"))
	}
	return nil
}

func (c *chatCall) add(e *event, part int) error {
	d := &e.doc
	if err := c.set(e, &c.id, d.Member(part, "id"), noNode); err != nil {
		return err
	}
	if err := c.set(e, &c.kind, d.Member(part, "type"), noNode); err != nil {
		return err
	}
	if custom := d.Member(part, "custom"); custom != noNode {
		return c.set(e, &c.name, d.Member(custom, "name"), d.Member(custom, "input"))
	}
	function := d.Member(part, "function")
	return c.set(e, &c.name, d.Member(function, "name"), d.Member(function, "arguments"))
}

// set sets a part of a call that comes once, and adds to the arguments. Some endpoints repeat the
// part. Another one would give readers different calls.
func (c *chatCall) set(e *event, part *string, value, args int) error {
	text := e.doc.StringAt(value)
	if *part != "" && text != "" && *part != text {
		return errOrder(e)
	}
	if *part == "" {
		*part = text
	}
	c.args.WriteString(e.doc.StringAt(args))
	return nil
}

func (r *chatReply) count() int { return 0 }

func (r *chatReply) written() {
	for _, c := range r.choices {
		c.sent = c.text.Len()
	}
}

// object returns the call as a whole reply has it.
func (c *chatCall) object() dict {
	if c.kind == "custom" {
		return dict{"id": c.id, "type": c.kind, "custom": dict{"name": c.name, "input": c.args.String()}}
	}
	return dict{"id": c.id, "type": "function", "function": dict{"name": c.name, "arguments": c.args.String()}}
}

func (r *chatReply) whole() string {
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
			message["function_call"] = dict{"name": c.old.name, "arguments": c.old.args.String()}
		}
		finish := json.RawMessage("null")
		if c.finish != "" {
			finish = json.RawMessage(c.finish)
		}
		choices = append(choices, dict{"index": i, "message": message, "finish_reason": finish})
	}
	out := dict{"model": r.model, "choices": choices}
	if r.usage != "" {
		out["usage"] = json.RawMessage(r.usage)
	}
	return string(encode(out))
}
