package hook

import (
	"errors"
	"fmt"

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
