package hook

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// A document is a JSON text with the offsets of its values. A request of PicoClaw contains a whole
// conversation, and the answer repeats most of it unchanged. So the document finds all values in
// one pass and decodes only the values that a caller asks for. encoding/json reports no offsets, so
// it cannot leave the bytes of unchanged values as they are.
type document struct {
	text  []byte
	nodes []node // a value comes before the values inside it; a member of an object is a key and a value

	tooDeep bool // the text is nested deeper than maxNesting
}

// A node is one value of a document: text[start:end].
type node struct {
	start, end int32 // a text has at most maxRequest bytes
	next       int32 // the index of the first node after this value and the values inside it
	kind       byte
	verbatim   bool // a string without escapes, so that its bytes are its value
}

// These are the kinds of nodes: the first byte of the value, or 'n' for numbers and words.
const (
	objectNode = '{'
	arrayNode  = '['
	stringNode = '"'
	scalarNode = 'n'
)

// maxNesting is the deepest nesting of values that starhost reads.
const maxNesting = 512

// noNode is the index of a missing value.
const noNode = -1

// readDocument parses a text that must be one JSON value.
func readDocument(text string) (*document, bool) {
	d := &document{text: []byte(text)}
	return d, d.read()
}

// read finds the values of the text, and reports whether the text is one JSON value.
func (d *document) read() bool {
	i, ok := d.readValue(d.skipSpace(0), 0)
	return ok && d.skipSpace(i) == len(d.text)
}

// skipSpace returns the offset of the next byte that is not white space.
func (d *document) skipSpace(i int) int {
	for i < len(d.text) && (d.text[i] == ' ' || d.text[i] == '\t' || d.text[i] == '\r' || d.text[i] == '\n') {
		i++
	}
	return i
}

// readValue parses the value at an offset, and returns the offset after it.
func (d *document) readValue(i, depth int) (int, bool) {
	if d.tooDeep = d.tooDeep || depth > maxNesting; d.tooDeep || i >= len(d.text) {
		return i, false
	}
	at := len(d.nodes)
	d.nodes = append(d.nodes, node{start: int32(i), kind: d.text[i]})
	ok := false
	switch d.text[i] {
	case objectNode, arrayNode:
		i, ok = d.readList(i, depth)
	case stringNode:
		end, escaped, whole := d.readString(i)
		d.nodes[at].verbatim = whole && !escaped && utf8.Valid(d.text[i:end])
		i, ok = end, whole
	default:
		d.nodes[at].kind = scalarNode
		i, ok = d.readScalar(i)
	}
	d.nodes[at].end, d.nodes[at].next = int32(i), int32(len(d.nodes))
	return i, ok
}

// readList parses an object or an array.
func (d *document) readList(i, depth int) (int, bool) {
	object := d.text[i] == objectNode
	closing := d.text[i] + 2 // the bracket of objects and of arrays
	if i = d.skipSpace(i + 1); i < len(d.text) && d.text[i] == closing {
		return i + 1, true
	}
	for {
		ok := true
		if object {
			i, ok = d.readKey(i)
		}
		if ok {
			i, ok = d.readValue(d.skipSpace(i), depth+1)
		}
		i = d.skipSpace(i)
		if !ok || i >= len(d.text) || d.text[i] != ',' && d.text[i] != closing {
			return i, false
		}
		if i++; d.text[i-1] == closing {
			return i, true
		}
		i = d.skipSpace(i)
	}
}

// readKey parses the name of a member and the colon after it.
func (d *document) readKey(i int) (int, bool) {
	if i >= len(d.text) || d.text[i] != stringNode {
		return i, false
	}
	i, ok := d.readValue(i, 0)
	i = d.skipSpace(i)
	if !ok || i >= len(d.text) || d.text[i] != ':' {
		return i, false
	}
	return i + 1, true
}

// readString parses a string, and reports whether it has escapes.
func (d *document) readString(i int) (end int, escaped, ok bool) {
	for i++; ; i++ {
		i = nextSpecial(d.text, i)
		switch {
		case i >= len(d.text) || d.text[i] < ' ':
			return i, escaped, false
		case d.text[i] == stringNode:
			return i + 1, escaped, true
		case i+1 == len(d.text):
			return i, escaped, false
		}
		escaped = true
		i++
		if d.text[i] == 'u' && isHexadecimal(d.text, i+1) {
			i += 4
		} else if !strings.ContainsRune(`"\/bfnrt`, rune(d.text[i])) {
			return i, escaped, false
		}
	}
}

func isHexadecimal(text []byte, i int) bool {
	return len(text) >= i+4 && len(bytes.Trim(text[i:i+4], "0123456789abcdefABCDEF")) == 0
}

// nextSpecial returns the offset of the next quote, backslash or control character from i on. It
// checks eight bytes at a time: a subtraction sets a byte's top bit if the byte is less than the
// subtrahend.
func nextSpecial(text []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		found := (w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash
		if found &= tops; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for i < len(text) && text[i] != '"' && text[i] != '\\' && text[i] >= ' ' {
		i++
	}
	return i
}

// readScalar parses a number, true, false or null.
func (d *document) readScalar(i int) (int, bool) {
	end := i
	for end < len(d.text) && !strings.ContainsRune(" \t\r\n,:]}", rune(d.text[end])) {
		end++
	}
	return end, json.Valid(d.text[i:end])
}

// textAt returns the bytes of a value, nil for a missing one. The slice shares the document's
// memory.
func (d *document) textAt(i int) []byte {
	if i == noNode {
		return nil
	}
	return d.text[d.nodes[i].start:d.nodes[i].end]
}

// copyAt returns a copy of a value's JSON, nil for a missing value.
func (d *document) copyAt(i int) json.RawMessage { return bytes.Clone(d.textAt(i)) }

// nextNode returns the index of the first node after a value and the values inside it.
func (d *document) nextNode(i int) int { return int(d.nodes[i].next) }

// hasKind reports whether a value is present and of a kind.
func (d *document) hasKind(i int, kind byte) bool { return i != noNode && d.nodes[i].kind == kind }

// member returns the value of an object's member. If two members have the name, the last one
// counts, as in encoding/json.
func (d *document) member(object int, name string) int {
	found := noNode
	for key, value := range d.members(object) {
		if d.keyEquals(key, name) {
			found = value
		}
	}
	return found
}

// keyEquals reports whether a key equals a name. The name must have no escapes.
func (d *document) keyEquals(key int, name string) bool {
	n := &d.nodes[key]
	if !n.verbatim {
		return d.stringAt(key) == name
	}
	return string(d.text[n.start+1:n.end-1]) == name
}

// members yields the keys and values of an object, and nothing for other values.
func (d *document) members(object int) func(func(key, value int) bool) {
	return func(yield func(key, value int) bool) {
		if !d.hasKind(object, objectNode) {
			return
		}
		for key := object + 1; key < d.nextNode(object); key = d.nextNode(key + 1) {
			if !yield(key, key+1) {
				return
			}
		}
	}
}

// elements returns the values of an array, and nothing for other values.
func (d *document) elements(array int) (list []int) {
	if !d.hasKind(array, arrayNode) {
		return nil
	}
	n := 0
	for i := array + 1; i < d.nextNode(array); i = d.nextNode(i) {
		n++
	}
	list = make([]int, 0, n)
	for i := array + 1; i < d.nextNode(array); i = d.nextNode(i) {
		list = append(list, i)
	}
	return list
}

// stringAt returns the text of a string, "" for other values.
func (d *document) stringAt(i int) string {
	if !d.hasKind(i, stringNode) {
		return ""
	}
	text := d.textAt(i)
	if d.nodes[i].verbatim {
		return string(text[1 : len(text)-1])
	}
	var s string
	_ = json.Unmarshal(text, &s) // it is a valid string
	return s
}

// integerAt returns a whole number, 0 for other values.
func (d *document) integerAt(i int) (n int64) {
	if d.hasKind(i, scalarNode) {
		_ = json.Unmarshal(d.textAt(i), &n) // n stays 0 if it is no number
	}
	return n
}

// isTrue reports whether a value is the word true.
func (d *document) isTrue(i int) bool { return string(d.textAt(i)) == "true" }

// An edit replaces a part of a text.
type edit struct {
	start, end int
	text       []byte
}

// setMember returns the edit that sets a member of an object, and adds the member if it is missing.
func (d *document) setMember(object int, name string, value []byte) edit {
	if i := d.member(object, name); i != noNode {
		return edit{int(d.nodes[i].start), int(d.nodes[i].end), value}
	}
	last := int(d.nodes[object].end) - 1
	member := slices.Concat(mustJSON(name), []byte(":"), value)
	if d.nextNode(object) > object+1 {
		member = append([]byte(","), member...)
	}
	return edit{last, last, member}
}

// appendEdited appends the text of a value with edits. Edits must not overlap.
func (d *document) appendEdited(to []byte, i int, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	from := int(d.nodes[i].start)
	for n, e := range edits {
		to = append(to, d.text[from:e.start]...)
		if n > 0 && e.start == e.end && e.start == edits[n-1].start && e.text[0] != ',' {
			to = append(to, ',') // the second member that edits add to an empty object
		}
		to, from = append(to, e.text...), e.end
	}
	return append(to, d.text[from:d.nodes[i].end]...)
}
