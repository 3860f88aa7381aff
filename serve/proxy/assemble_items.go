package proxy

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
)

// A responsesReply is a reply of Responses. A stream has each call several times: at the start of
// its item, in parts, at the end of its item and at the end of the reply. Clients read one of these
// or another, so all must agree.
type responsesReply struct {
	collected
	last  string // the object of the last event
	items []*responseItem
}

// A responseItem is an item so far.
type responseItem struct {
	start, end string          // as it began and ended, "" before
	parts      strings.Builder // the arguments of a call
	hasParts   bool
}

// isLast reports whether an event of Responses ends the reply.
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
	if len(lastCalls(d)) > 0 { // calls of a reply that has not ended
		return false, errOrder(e)
	}
	return false, nil
}

// begin adds an item that begins.
func (r *responsesReply) begin(e *event) error {
	index, ok := indexAt(&e.doc, e.doc.Member(0, "output_index"))
	if !ok || index != len(r.items) || index >= maxItems {
		return errOrder(e)
	}
	r.items = append(r.items, &responseItem{start: e.doc.TextAt(e.doc.Member(0, "item"))})
	r.bytes += e.size()
	return nil
}

// end adds an item that ended. Some endpoints do not say that it began.
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

// addPart adds a part of a call's arguments, or all of them, to an item of a kind.
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

// agrees reports whether the start, the parts and the end of an item are one call, or no call.
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

// whole returns the object of the last event, with the items of the stream, because the client has
// these.
func (r *responsesReply) whole() (string, error) {
	last := r.last
	if last == "" {
		last = "{}"
	}
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
	isListed := len(doc.Elements(doc.Member(0, "output"))) > 0 // some endpoints do not repeat the items
	if !isWhole && (len(own) > 0 || r.hasOpenCall()) || isListed && !slices.Equal(own, listed) {
		return "", unreadable("its calls differ at its end")
	}
	return text, nil
}

// hasOpenCall reports whether a call did not end.
func (r *responsesReply) hasOpenCall() bool {
	return slices.ContainsFunc(r.items, func(i *responseItem) bool {
		doc, err := jsontext.Parse(i.start, maxNesting)
		_, isCall := formOf(&doc, 0)
		return i.end == "" && err == nil && isCall
	})
}

// lastCalls returns the calls in the reply of an event, which only the last event may have.
func lastCalls(d *jsontext.Document) []string { return callsIn(d, at(d, 0, "response.output")) }

// callsIn returns the calls in a list of items, each as a text to compare. The text has no id,
// because some endpoints make new ids at the end of a reply.
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
