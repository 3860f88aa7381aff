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

// A document is a JSON text with the place of each of its values. A request of
// PicoClaw is a whole conversation, of which most is sent back as it came: it is read
// in one pass, and nothing is copied that nobody asks for.
type document struct {
	text  []byte
	nodes []node // of each value its own, then those within it; members are a key and a value

	tooDeep bool // it cannot be read because of maxNesting
}

// A node is a value of a document: text[start:end].
type node struct {
	start, end int32 // a text has at most maxRequest bytes
	next       int32 // the index of the node behind this one and all within it
	kind       byte
	verbatim   bool // a string whose value is as it stands there
}

// The kinds of nodes: the first byte of the value, 'n' for numbers and words.
const (
	objectNode = '{'
	arrayNode  = '['
	stringNode = '"'
	scalarNode = 'n'
)

// maxNesting is how deep the values of a document may lie within each other.
const maxNesting = 512

// noNode is the index of a value that is not there.
const noNode = -1

// readDocument reads a text that must be one JSON value.
func readDocument(text string) (*document, bool) {
	d := &document{text: []byte(text)}
	return d, d.read()
}

// read finds the values of the text, which must be one JSON value.
func (d *document) read() bool {
	i, ok := d.readValue(d.skipSpace(0), 0)
	return ok && d.skipSpace(i) == len(d.text)
}

// skipSpace returns the place of the next byte that is no white space.
func (d *document) skipSpace(i int) int {
	for i < len(d.text) && (d.text[i] == ' ' || d.text[i] == '\t' || d.text[i] == '\r' || d.text[i] == '\n') {
		i++
	}
	return i
}

// readValue reads the value at i, and returns the place behind it.
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

// readList reads an object or an array.
func (d *document) readList(i, depth int) (int, bool) {
	object := d.text[i] == objectNode
	closing := d.text[i] + 2 // of both kinds
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

// readKey reads the name of a member and the colon behind it.
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

// readString reads a string, and tells whether it has escapes.
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

// nextSpecial returns the place of the next byte from i on that is a quote, a backslash
// or a control character. It looks at eight bytes at a time: a byte of a word has its
// top bit set by the subtraction if it is below what is subtracted.
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

// readScalar reads a number, true, false or null.
func (d *document) readScalar(i int) (int, bool) {
	end := i
	for end < len(d.text) && !strings.ContainsRune(" \t\r\n,:]}", rune(d.text[end])) {
		end++
	}
	return end, json.Valid(d.text[i:end])
}

// textAt returns a value as it stands in the text, nil for none. It is a part of the text,
// for those who do not keep it.
func (d *document) textAt(i int) []byte {
	if i == noNode {
		return nil
	}
	return d.text[d.nodes[i].start:d.nodes[i].end]
}

// copyAt returns a value as JSON, nil for none.
func (d *document) copyAt(i int) json.RawMessage { return bytes.Clone(d.textAt(i)) }

// nextNode returns the index of the node behind a value and all within it.
func (d *document) nextNode(i int) int { return int(d.nodes[i].next) }

// hasKind reports whether a value is there and of a kind.
func (d *document) hasKind(i int, kind byte) bool { return i != noNode && d.nodes[i].kind == kind }

// member returns the value of a member of an object; of several the last one counts, as
// for encoding/json.
func (d *document) member(object int, name string) int {
	found := noNode
	for key, value := range d.members(object) {
		if d.keyEquals(key, name) {
			found = value
		}
	}
	return found
}

// keyEquals reports whether a key is a name, which has no escapes.
func (d *document) keyEquals(key int, name string) bool {
	n := &d.nodes[key]
	if !n.verbatim {
		return d.stringAt(key) == name
	}
	return string(d.text[n.start+1:n.end-1]) == name
}

// members yields the keys and values of an object; of anything else there are none.
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

// elements returns the values of an array; of anything else there are none.
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

// stringAt returns the text of a string, "" of anything else.
func (d *document) stringAt(i int) string {
	if !d.hasKind(i, stringNode) {
		return ""
	}
	text := d.textAt(i)
	if d.nodes[i].verbatim {
		return string(text[1 : len(text)-1])
	}
	var s string
	_ = json.Unmarshal(text, &s) // it is one
	return s
}

// integerAt returns a whole number, 0 of anything else.
func (d *document) integerAt(i int) (n int64) {
	if d.hasKind(i, scalarNode) {
		_ = json.Unmarshal(d.textAt(i), &n) // it stays 0
	}
	return n
}

// isTrue reports whether a value is true.
func (d *document) isTrue(i int) bool { return string(d.textAt(i)) == "true" }

// An edit replaces a part of a text.
type edit struct {
	start, end int
	text       []byte
}

// setMember returns the edit that gives a member of an object a value.
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

// appendEdited appends the text of a value with edits in it, which must not overlap.
func (d *document) appendEdited(to []byte, i int, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	from := int(d.nodes[i].start)
	for n, e := range edits {
		to = append(to, d.text[from:e.start]...)
		if n > 0 && e.start == e.end && e.start == edits[n-1].start && e.text[0] != ',' {
			to = append(to, ',') // a second member of an object that had none
		}
		to, from = append(to, e.text...), e.end
	}
	return append(to, d.text[from:d.nodes[i].end]...)
}
