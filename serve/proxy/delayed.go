package proxy

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
)

// renumber returns the bytes of an event for the client. If the stream continues an earlier reply, the
// event's item gets another number, and an event that begins a reply becomes nothing.
func (p *replyStream) renumber(e *event) []byte {
	if !e.has() {
		return e.raw
	}
	if len(p.earlier) == 0 {
		if n := e.doc.Member(0, "sequence_number"); n != noNode {
			p.sequence = int(e.doc.IntegerAt(n)) + 1
		}
		return e.raw
	}
	if slices.Contains([]string{"message_start", "response.created", "response.queued", "response.in_progress"}, e.kind) {
		return nil
	}
	return p.numbered(e, p.shift+int(e.doc.IntegerAt(e.doc.Member(0, p.index))))
}

// joinChunk makes a chunk of a later reply continue the first reply. Clients that put chunks together expect
// one id and one role.
func (p *replyStream) joinChunk(e *event, edits *jsontext.Edits) {
	d := &e.doc
	if p.index != "" || len(p.earlier) == 0 { // the other protocols number their items instead
		return
	}
	first := p.earlier[0].doc
	if id := d.Member(0, "id"); id != noNode {
		edits.Set(id, first.TextAt(first.Member(0, "id")))
	}
	for _, part := range d.Elements(d.Member(0, "choices")) {
		if role := d.Member(d.Member(part, "delta"), "role"); role != noNode {
			edits.Remove(role)
		}
	}
}

// numbered returns the bytes of an event with index as the number of its item, and with the stream's next
// sequence number.
func (p *replyStream) numbered(e *event, index int) []byte {
	edits := jsontext.NewEdits(&e.doc)
	if i := e.doc.Member(0, p.index); p.index != "" && i != noNode && e.doc.TextAt(i) != strconv.Itoa(index) {
		edits.Set(i, strconv.Itoa(index))
	}
	p.joinChunk(e, edits)
	return p.edited(e, edits)
}

// edited returns the bytes of an event with edits in its data.
func (p *replyStream) edited(e *event, edits *jsontext.Edits) []byte {
	if n := e.doc.Member(0, "sequence_number"); n != noNode {
		if next := strconv.Itoa(p.sequence); e.doc.TextAt(n) != next {
			edits.Set(n, next)
		}
		p.sequence++
	}
	if edits.IsEmpty() {
		return e.raw
	}
	return newEvent(e.name, edits.String())
}

// writeItems writes the delayed events of a reply of numbered items, with what plugins changed. If again is
// true, another reply follows, so writeItems leaves out the calls and the last events.
func writeItems(p *replyStream, w *wholeReply, again bool) error {
	items := w.doc.Elements(w.outs[0].list)
	calls := w.callsByItem()
	byItem, err := p.writeUnnumbered()
	if err != nil {
		return err
	}
	next := p.shift
	for i, item := range items {
		var texts [][]byte
		switch {
		case again && calls[item] != nil, w.edits.IsRemoved(item):
			continue
		case w.edits.IsTouched(item):
			for _, o := range p.itemEvents(w.edits.TextAt(item), next) {
				texts = append(texts, p.newNumbered(o))
			}
		default:
			for _, e := range byItem[i] {
				texts = append(texts, p.numbered(e, next))
			}
		}
		for _, text := range texts {
			if err := p.to.write(text); err != nil {
				return err
			}
		}
		next++
	}
	p.shift = next
	if again {
		return nil
	}
	return p.writeLast(w)
}

// writeUnnumbered writes the delayed events that belong to no item, except those that end the reply. It
// returns the events that belong to an item, by the item's number.
func (p *replyStream) writeUnnumbered() (byItem map[int][]*event, err error) {
	byItem = map[int][]*event{}
	for _, e := range p.delayed {
		i := noNode
		if e.has() {
			i = e.doc.Member(0, p.index)
		}
		switch index := int(e.doc.IntegerAt(i)); {
		case i != noNode:
			byItem[index] = append(byItem[index], e)
		case !p.isTerminal(e):
			if err := p.to.write(p.renumber(e)); err != nil {
				return nil, err
			}
		}
	}
	return byItem, nil
}

// newNumbered returns an event with the object o, which the proxy made, and with the stream's next sequence
// number.
func (p *replyStream) newNumbered(o dict) []byte {
	if p.hasSequence {
		o["sequence_number"] = p.sequence
		p.sequence++
	}
	kind, _ := o["type"].(string)
	return newEvent(kind, string(jsontext.Must(o)))
}

// writeLast writes the events that end a reply, with what plugins changed.
func (p *replyStream) writeLast(w *wholeReply) error {
	if p.hasSequence { // the last event has the whole reply
		p.join(w)
		p.continueID(w)
	} else {
		p.addUsage(w, w.doc.Member(0, "usage"), w.edits)
	}
	for _, e := range p.delayed {
		if !p.isTerminal(e) {
			continue
		}
		edits := jsontext.NewEdits(&e.doc)
		if i := at(&e.doc, 0, "delta.stop_reason"); i != noNode {
			edits.Set(i, w.edits.TextAt(w.outs[0].stop))
		}
		if usage := w.doc.Member(0, "usage"); len(p.earlier) > 0 && e.kind == "message_delta" {
			edits.SetMember(0, "usage", w.edits.TextAt(usage))
		}
		if i := e.doc.Member(0, "response"); i != noNode {
			edits.Set(i, w.result())
		}
		if err := p.to.write(p.edited(e, edits)); err != nil {
			return err
		}
	}
	return nil
}

// blockEvents returns the events that send a block of Messages to a client.
func blockEvents(item string, index int) []dict {
	doc, _ := jsontext.Parse(item, maxNesting) // it cannot fail, because the item is a part of a parsed reply
	start, deltas := jsontext.NewEdits(&doc), []dict{}
	empty := func(member, kind, to string) {
		i := doc.Member(0, member)
		text := doc.StringAt(i)
		if kind == "input_json_delta" {
			text = doc.TextAt(i)
			start.SetMember(0, member, "{}")
		} else {
			start.SetMember(0, member, `""`)
		}
		deltas = append(deltas, dict{
			"type": "content_block_delta", "index": index, "delta": dict{"type": kind, to: text},
		})
	}
	switch doc.StringAt(doc.Member(0, "type")) {
	case "text":
		empty("text", "text_delta", "text")
	case "tool_use":
		empty("input", "input_json_delta", "partial_json")
	case "thinking":
		empty("thinking", "thinking_delta", "thinking")
		empty("signature", "signature_delta", "signature")
	}
	begin := dict{"type": "content_block_start", "index": index, "content_block": rawJSON(start.String())}
	return append(append([]dict{begin}, deltas...), dict{"type": "content_block_stop", "index": index})
}

// itemParts says for each type of item of Responses which member arrives in parts, and how the names of the
// events with these parts begin.
var itemParts = map[string]struct{ member, event string }{
	"function_call":    {"arguments", "response.function_call_arguments"},
	"custom_tool_call": {"input", "response.custom_tool_call_input"},
}

// itemEvents returns the events that send an item of Responses to a client.
func itemEvents(item string, index int) (list []dict) {
	doc, _ := jsontext.Parse(item, maxNesting) // it cannot fail, because the item is a part of a parsed reply
	start, id, kind := jsontext.NewEdits(&doc), doc.StringAt(doc.Member(0, "id")), doc.StringAt(doc.Member(0, "type"))
	add := func(kind string, more dict) {
		more["type"], more["output_index"] = kind, index
		list = append(list, more)
	}
	start.SetMember(0, "status", `"in_progress"`)
	part, hasPart := itemParts[kind]
	if hasPart {
		start.SetMember(0, part.member, `""`)
	}
	if kind == "message" {
		start.SetMember(0, "content", "[]")
	}
	add("response.output_item.added", dict{"item": rawJSON(start.String())})
	if hasPart {
		text := doc.StringAt(doc.Member(0, part.member))
		add(part.event+".delta", dict{"item_id": id, "delta": text})
		add(part.event+".done", dict{"item_id": id, part.member: text})
	}
	for i, content := range doc.Elements(doc.Member(0, "content")) {
		if kind != "message" || doc.StringAt(doc.Member(content, "type")) != "output_text" {
			continue
		}
		text, blank := doc.StringAt(doc.Member(content, "text")), jsontext.NewEdits(&doc)
		blank.Set(doc.Member(content, "text"), `""`)
		at := func(more dict) dict {
			more["item_id"], more["content_index"] = id, i
			return more
		}
		add("response.content_part.added", at(dict{"part": rawJSON(blank.TextAt(content))}))
		add("response.output_text.delta", at(dict{"delta": text, "logprobs": []any{}}))
		add("response.output_text.done", at(dict{"text": text, "logprobs": []any{}}))
		add("response.content_part.done", at(dict{"part": rawJSON(doc.TextAt(content))}))
	}
	add("response.output_item.done", dict{"item": rawJSON(item)})
	return list
}

// writeChunks writes the delayed events of a chat, with what plugins changed. If again is true, another reply
// follows.
func writeChunks(p *replyStream, w *wholeReply, again bool) error {
	reply := p.parts.(*chatReply)
	p.addUsage(w, w.doc.Member(0, "usage"), w.edits)
	open := map[int]bool{} // answers whose changes are not yet written
	for i := range w.outs {
		open[i] = true
	}
	var pattern *event
	writeOpen := func(list ...int) error {
		for _, i := range list {
			if !open[i] || pattern == nil {
				continue
			}
			delete(open, i)
			if err := p.writeChoice(pattern, w, i, reply.choices[i].text.String()[:reply.choices[i].sent], again); err != nil {
				return err
			}
		}
		return nil
	}
	for _, e := range p.delayed {
		var text []byte
		var ends []int
		switch {
		case e.has() && e.doc.HasKind(e.doc.Member(0, "choices"), jsontext.Array):
			pattern = cmp.Or(pattern, e)
			text, ends = p.stripChunk(e, w, again)
		case again && strings.TrimSpace(e.data) == "[DONE]":
			continue
		default:
			text = p.renumber(e)
		}
		if err := writeOpen(ends...); err != nil {
			return err
		}
		if err := p.to.write(text); err != nil {
			return err
		}
	}
	return writeOpen(slices.Sorted(maps.Keys(open))...) // these answers ended without an event that says why
}

// stripChunk returns a chunk without its texts and calls, or nil if nothing is left of it. ends are the
// answers that end with the chunk.
func (p *replyStream) stripChunk(e *event, w *wholeReply, again bool) (text []byte, ends []int) {
	d, isLeft := &e.doc, false
	edits := jsontext.NewEdits(d)
	p.joinChunk(e, edits)
	for _, part := range d.Elements(d.Member(0, "choices")) {
		index, delta := int(d.IntegerAt(d.Member(part, "index"))), d.Member(part, "delta")
		for key, value := range d.Members(delta) {
			switch name := d.StringAt(key); {
			case name == "content", name == "tool_calls", name == "function_call":
				edits.Remove(value)
			case edits.IsRemoved(value):
			default:
				isLeft = isLeft || d.TextAt(value) != "null"
			}
		}
		if finish := d.Member(part, "finish_reason"); d.HasKind(finish, jsontext.String) && index < len(w.outs) {
			ends = append(ends, index)
			edits.Set(finish, w.edits.TextAt(w.outs[index].stop))
			if again {
				edits.Set(finish, "null")
			}
			isLeft = isLeft || !again
		}
	}
	if usage := d.Member(0, "usage"); d.HasKind(usage, jsontext.Object) && !again {
		isLeft = true
		if len(p.earlier) > 0 {
			edits.Set(usage, w.edits.TextAt(w.doc.Member(0, "usage")))
		}
	}
	if !isLeft {
		return nil, ends
	}
	return newEvent(e.name, edits.String()), ends
}

// writeChoice writes the text of an answer that the client does not have yet, and the calls that plugins left.
func (p *replyStream) writeChoice(pattern *event, w *wholeReply, i int, sent string, again bool) error {
	doc, _ := jsontext.Parse(w.edits.TextAt(w.outs[i].holder), maxNesting) // no error: the message is valid
	write := func(delta any) error {
		edits := jsontext.NewEdits(&pattern.doc)
		p.joinChunk(pattern, edits)
		choice := dict{"index": i, "delta": delta, "finish_reason": nil}
		edits.Set(pattern.doc.Member(0, "choices"), "["+string(jsontext.Must(choice))+"]")
		if usage := pattern.doc.Member(0, "usage"); usage != noNode {
			edits.Set(usage, "null")
		}
		return p.to.write(newEvent(pattern.name, edits.String()))
	}
	content := doc.StringAt(doc.Member(0, "content"))
	rest := strings.TrimPrefix(content, sent)
	if again && content != "" {
		rest += "\n\n" // the text of the next reply follows
	}
	if rest != "" {
		if err := write(dict{"content": rest}); err != nil {
			return err
		}
	}
	if again {
		return nil
	}
	for n, call := range doc.Elements(doc.Member(0, "tool_calls")) {
		numbered, _ := jsontext.Parse(doc.TextAt(call), maxNesting)
		edits := jsontext.NewEdits(&numbered)
		edits.SetMember(0, "index", strconv.Itoa(n))
		if err := write(dict{"tool_calls": []any{rawJSON(edits.String())}}); err != nil {
			return err
		}
	}
	if old := doc.Member(0, "function_call"); old != noNode {
		return write(dict{"function_call": rawJSON(doc.TextAt(old))})
	}
	return nil
}
