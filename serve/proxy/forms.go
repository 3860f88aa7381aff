package proxy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// This file refuses replies in which two clients could find different calls. Clients read replies in many
// ways: JavaScript takes the index "1" for 1, joins a list to a text, and finds the element 0 of an object;
// Go takes Choices for choices. So a guard could see another call than the client runs.

// replyNames are the names of all members on the way to a call in a reply. A name that only looks like one of
// these is refused.
var replyNames = []string{
	"choices", "message", "delta", "tool_calls", "function_call", "function", "custom", "name", "arguments", "input", "type",
	"content", "content_block", "index", "output_index", "output", "item", "response", "partial_json", "id", "call_id",
	"action", "actions", "operation", "error",
}

// partNames are the members whose objects contain calls or parts of calls. listNames are those that must be
// lists everywhere.
var (
	partNames = []string{
		"choices", "message", "delta", "tool_calls", "function_call", "function", "custom", "content", "content_block",
		"output", "item", "response",
	}
	listNames = []string{"choices", "tool_calls"}
)

// maxParts is the deepest nesting of partNames.
const maxParts = 8

// checkReply returns an error for a reply or an event in which two readers could find different
// calls.
func checkReply(d *jsontext.Document) error { return checkPart(d, 0, "", 0) }

// checkPart checks an object that is the value of the member named of, and the objects in it.
func checkPart(d *jsontext.Document, object int, of string, depth int) error {
	if depth > maxParts {
		return unreadable("it is nested too deep")
	}
	for key, value := range d.Members(object) {
		name := d.StringAt(key)
		if err := checkName(name); err != nil {
			return err
		}
		if !slices.Contains(partNames, name) {
			continue
		}
		hasParts := name == "content" && (of == "" || of == "message" || of == "delta") || name == "output" && (of == "" || of == "response")
		if d.HasKind(value, jsontext.Object) && (hasParts || slices.Contains(listNames, name)) {
			return unreadable("got an object as %q, want a list", name)
		}
		for _, part := range append(d.Elements(value), value) {
			if err := checkPart(d, part, name, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkName refuses a name that some clients take for one of replyNames.
func checkName(name string) error {
	if isPlain(name) && name != "__proto__" {
		return nil
	}
	isOther := func(want string) bool { return name != want && strings.EqualFold(name, want) }
	if i := slices.IndexFunc(replyNames, isOther); i >= 0 {
		return unreadable("got the name %q, want %q", errtext.Clip(name), replyNames[i])
	}
	if name == "__proto__" { // in JavaScript this name changes which members the object has
		return unreadable("got the name %q", name)
	}
	return nil
}

// indexAt returns the index that a value is. ok is false if the value is no whole number.
func indexAt(d *jsontext.Document, i int) (index int, ok bool) {
	const most = 6 // the most digits
	text := d.TextAt(i)
	index, err := strconv.Atoi(text)
	return index, err == nil && len(text) <= most && text[0] != '-'
}

// isTextOrNone reports whether a value is a string, null or missing.
func isTextOrNone(d *jsontext.Document, i int) bool {
	return i == noNode || d.HasKind(i, jsontext.String) || d.TextAt(i) == "null"
}

// A numbering checks the indexes of the parts of a list. Either all parts have an index or none has, because
// clients put parts without an index in different places.
type numbering struct{ isUsed, hasNumbers bool }

// next returns the index of the next part. without is the index that the part has if no part has one.
func (n *numbering) next(d *jsontext.Document, i, without int) (index int, ok bool) {
	hasNumber := i != noNode
	if n.isUsed && n.hasNumbers != hasNumber {
		return 0, false
	}
	n.isUsed, n.hasNumbers = true, hasNumber
	if !hasNumber {
		return without, true
	}
	return indexAt(d, i)
}
