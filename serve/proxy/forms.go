package proxy

import (
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// Clients read replies in many ways: JavaScript takes the index "1" for 1, joins a list to a text,
// and finds the element 0 of an object; Go takes Choices for choices. So a guard could see another
// call than the client runs. The functions of this file refuse such replies.

// replyNames are the names of members in which a reply has calls.
var replyNames = []string{
	"choices", "message", "delta", "tool_calls", "function_call", "function", "custom", "name", "arguments", "input", "type",
	"content", "content_block", "index", "output_index", "output", "item", "response", "partial_json", "id", "call_id",
	"action", "actions", "operation", "error",
}

// partNames are the members whose objects have calls or parts of them. listNames are those that are
// lists wherever they stand.
var (
	partNames = []string{
		"choices", "message", "delta", "tool_calls", "function_call", "function", "custom", "content", "content_block",
		"output", "item", "response",
	}
	listNames = []string{"choices", "tool_calls"}
)

// maxParts is the deepest nesting of these members.
const maxParts = 8

// checkReply returns an error for a reply or an event in which two readers could find different
// calls.
func checkReply(d *jsontext.Document) error { return checkPart(d, 0, "", 0) }

// checkPart checks an object below a member.
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

// checkName refuses a name that some clients take for another one.
func checkName(name string) error {
	if isPlain(name) && name != "__proto__" {
		return nil
	}
	isOther := func(want string) bool { return name != want && strings.EqualFold(name, want) }
	if i := slices.IndexFunc(replyNames, isOther); i >= 0 {
		return unreadable("got the name %q, want %q", errtext.Clip(name), replyNames[i])
	}
	if name == "__proto__" { // in JavaScript it changes the members of the object
		return unreadable("got the name %q", name)
	}
	return nil
}

// indexAt returns the index at a node. ok is false for other values than whole numbers.
func indexAt(d *jsontext.Document, i int) (index int, ok bool) {
	const most = 6 // digits
	text := d.TextAt(i)
	if text == "" || len(text) > most {
		return 0, false
	}
	for _, c := range []byte(text) {
		if !jsontext.IsDigit(c) {
			return 0, false
		}
		index = 10*index + int(c-'0')
	}
	return index, true
}

// isTextOrNone reports whether a value is a string, null or missing.
func isTextOrNone(d *jsontext.Document, i int) bool {
	return i == noNode || d.HasKind(i, jsontext.String) || d.TextAt(i) == "null"
}

// A numbering is the numbers of the parts of a list. Either all parts have one or none has, because
// clients put parts without a number in different places.
type numbering struct{ isUsed, hasNumbers bool }

// next returns the index of a part. without is the index if no part has one.
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
