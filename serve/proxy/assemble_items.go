package proxy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
)

// A responsesReply assembles a reply of the protocol Responses. A stream has each call several times: at the
// start of its item, in parts, at the end of its item and at the end of the reply. Clients read one of these
// or another, so all of them must agree.
type responsesReply struct {
	collected
	last  string // the object in the last event
	items []*responseItem
}

// A responseItem is what has arrived of one item of a reply.
type responseItem struct {
	start, end string          // the item in the events of its start and its end; "" before they arrive
	parts      strings.Builder // the arguments of a call that arrived in parts
	hasParts   bool
}

// isLast reports whether an event of that type ends a reply of Responses.
func isLast(kind string) bool {
	return slices.Contains([]string{"response.completed", "response.incomplete", "response.failed"}, kind)
}

func (r *responsesReply) add(e *event) (done bool, err error) {
	d := &e.doc
	if isLast(e.kind) {
		r.last = d.TextAt(d.Member(0, "response"))
		r.bytes += len(r.last)
		return true, nil
	}
	switch e.kind {
	case "response.output_item.added":
		return false, r.begin(e)
	case "response.output_item.done":
		return false, r.end(e)
	}
	for kind, part := range itemParts {
		if name, ok := strings.CutPrefix(e.kind, part.event+"."); ok {
			return false, r.addPart(e, kind, name, part.member)
		}
	}
	if len(lastCalls(d)) > 0 { // an earlier event must not have the calls of a reply that has ended
		return false, errOrder(e)
	}
	return false, nil
}

// begin handles the event that an item begins.
func (r *responsesReply) begin(e *event) error {
	index, ok := indexAt(&e.doc, e.doc.Member(0, "output_index"))
	if !ok || index != len(r.items) || index >= maxItems {
		return errOrder(e)
	}
	r.items = append(r.items, &responseItem{start: e.doc.TextAt(e.doc.Member(0, "item"))})
	r.bytes += e.size()
	return nil
}

// end handles the event that an item has ended. Some endpoints send no event when the item begins.
func (r *responsesReply) end(e *event) error {
	index, ok := indexAt(&e.doc, e.doc.Member(0, "output_index"))
	if !ok || index > len(r.items) || index >= maxItems || e.doc.Member(0, "item") == noNode {
		return errOrder(e)
	}
	if index == len(r.items) {
		r.items = append(r.items, &responseItem{})
	}
	i := r.items[index]
	if i.end != "" {
		return errOrder(e)
	}
	i.end = e.doc.TextAt(e.doc.Member(0, "item"))
	r.bytes += e.size()
	if !i.agrees() {
		return errOrder(e)
	}
	return nil
}

// addPart adds a part of a call's arguments to an item, or all of them. kind is the type that the item must
// have, and name and member say where the call's name and the arguments are.
func (r *responsesReply) addPart(e *event, kind, name, member string) error {
	d := &e.doc
	if name == "delta" {
		member = "delta"
	}
	value := d.Member(0, member)
	index, ok := indexAt(d, d.Member(0, "output_index"))
	if !ok || index >= len(r.items) || r.items[index].end != "" || !d.HasKind(value, jsontext.String) {
		return errOrder(e)
	}
	i, text := r.items[index], d.StringAt(value)
	doc, err := jsontext.Parse(i.start, maxNesting)
	switch {
	case err != nil || doc.StringAt(doc.Member(0, "type")) != kind:
		return errOrder(e)
	case name == "done" && i.hasParts:
		if i.parts.String() != text {
			return errOrder(e)
		}
	default:
		i.hasParts = true
		i.parts.WriteString(text)
		r.bytes += len(text)
	}
	return nil
}

// agrees reports whether the start, the parts and the end of an item show the same call, or all show no call.
func (i *responseItem) agrees() bool {
	end, err := jsontext.Parse(i.end, maxNesting)
	if err != nil {
		return false
	}
	_, isCall := formOf(&end, 0)
	part, inParts := itemParts[end.StringAt(end.Member(0, "type"))]
	args := end.StringAt(end.Member(0, part.member))
	if i.hasParts && (!inParts || i.parts.String() != args) {
		return false
	}
	if i.start == "" {
		return true
	}
	start, err := jsontext.Parse(i.start, maxNesting)
	if err != nil {
		return false
	}
	form, begins := formOf(&start, 0)
	if !isCall || !begins {
		return isCall == begins
	}
	for key := range start.Members(0) {
		if !form.knows(start.StringAt(key)) {
			return false
		}
	}
	for _, name := range []string{"type", "name"} {
		if was := start.StringAt(start.Member(0, name)); was != "" && was != end.StringAt(end.Member(0, name)) {
			return false
		}
	}
	was := start.StringAt(start.Member(0, part.member))
	return !inParts || was == "" || was == args
}

// whole returns the object of the last event with the items that the stream had, because those are the items
// that the client has.
func (r *responsesReply) whole() (string, error) {
	last := cmp.Or(r.last, "{}")
	doc, err := jsontext.Parse(last, maxNesting)
	if err != nil || len(r.items) == 0 {
		return last, err
	}
	items, isWhole := []string{}, true
	for _, i := range r.items {
		if i.end == "" {
			isWhole = false
			continue
		}
		items = append(items, i.end)
	}
	e := jsontext.NewEdits(&doc)
	e.SetMember(0, "output", "["+strings.Join(items, ",")+"]")
	text := e.String()
	all, err := jsontext.Parse(text, maxNesting)
	if err != nil {
		return "", err
	}
	own, listed := callsIn(&all, all.Member(0, "output")), callsIn(&doc, doc.Member(0, "output"))
	isListed := len(doc.Elements(doc.Member(0, "output"))) > 0 // some last events do not repeat the items
	if !isWhole && (len(own) > 0 || r.hasOpenCall()) || isListed && !slices.Equal(own, listed) {
		return "", unreadable("its calls differ at its end")
	}
	return text, nil
}

// hasOpenCall reports whether a call has begun and not ended.
func (r *responsesReply) hasOpenCall() bool {
	return slices.ContainsFunc(r.items, func(i *responseItem) bool {
		doc, err := jsontext.Parse(i.start, maxNesting)
		_, isCall := formOf(&doc, 0)
		return i.end == "" && err == nil && isCall
	})
}

// lastCalls returns the calls in the reply that an event contains. Only the last event may contain calls.
func lastCalls(d *jsontext.Document) []string { return callsIn(d, at(d, 0, "response.output")) }

// callsIn returns each call in a list of items as a text for comparing. The text has no id, because some
// endpoints make new ids at the end of a reply.
func callsIn(d *jsontext.Document, list int) (calls []string) {
	for _, item := range d.Elements(list) {
		form, ok := formOf(d, item)
		if !ok {
			continue
		}
		c := form.read(d, item)
		var args bytes.Buffer
		if json.Compact(&args, c.Arguments) != nil {
			args.Write(c.Arguments)
		}
		calls = append(calls, c.Name+"\x00"+args.String())
	}
	return calls
}
