package hook

import (
	"errors"
	"fmt"
	"slices"

	"github.com/starhost/starhost/internal/jsontext"
)

// A document is a JSON text with the offsets of its values. A request of PicoClaw contains a whole
// conversation, and the answer repeats most of it unchanged. So a document decodes a value only when a caller
// asks for it.
type document struct {
	jsontext.Document
	tooLarge error // the text is nested deeper than maxNesting, or has more than maxValues values
}

const (
	objectNode = jsontext.Object
	arrayNode  = jsontext.Array
	noNode     = jsontext.NoNode
)

// maxNesting is the deepest nesting of values that starhost reads.
const maxNesting = 512

// maxValues is the most values and names in an event. A million of them, decoded for a handler, take 100 MB.
const maxValues = 1_000_000

// readDocument parses a text. ok is false if the text is not one JSON value.
func readDocument(text string) (*document, bool) {
	d, err := jsontext.ParseFew(text, maxNesting, maxValues)
	out := &document{Document: d}
	switch {
	case errors.Is(err, jsontext.ErrTooDeep):
		out.tooLarge = fmt.Errorf("values more than %d deep in each other", maxNesting)
	case errors.Is(err, jsontext.ErrTooMany):
		out.tooLarge = fmt.Errorf("more than %d values", maxValues)
	}
	return out, err == nil
}

// An edit replaces a part of a text.
type edit struct {
	start, end int
	text       []byte
}

// setMember returns the edit that sets a member of an object. If the member is missing, the edit adds it.
func (d *document) setMember(object int, name string, value []byte) edit {
	if i := d.Member(object, name); i != noNode {
		start, end := d.Span(i)
		return edit{start, end, value}
	}
	_, end := d.Span(object)
	member := slices.Concat(mustJSON(name), []byte(":"), value)
	for range d.Members(object) {
		member = append([]byte(","), member...)
		break
	}
	return edit{end - 1, end - 1, member}
}

// appendEdited appends the text of a value with edits made in it. The edits must not overlap.
func (d *document) appendEdited(to []byte, i int, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	from, end := d.Span(i)
	for n, e := range edits {
		to = append(to, d.Text[from:e.start]...)
		if n > 0 && e.start == e.end && e.start == edits[n-1].start && e.text[0] != ',' {
			to = append(to, ',') // a comma before the second member that edits add to an empty object
		}
		to, from = append(to, e.text...), e.end
	}
	return append(to, d.Text[from:end]...)
}
