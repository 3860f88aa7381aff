package jsontext

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
)

// A Document is a JSON text with the offsets of its values. It finds all values in one pass and
// decodes only the values that a caller asks for, so a caller can leave the bytes of the others as
// they are. encoding/json reports neither offsets nor the order of members nor repeated names.
type Document struct {
	Text  string
	nodes []node // a value comes before the values inside it; a member of an object is a key and a value
}

// A node is one value of a document: Text[start:end].
type node struct {
	start, end int32
	next       int32 // the index of the first node after this value and the values inside it
	kind       byte
	isVerbatim bool // a string without escapes, so that its bytes are its value
	isASCII    bool
}

// These are the kinds of nodes: the first byte of the value, or 'n' for numbers and words.
const (
	Object = '{'
	Array  = '['
	String = '"'
	Scalar = 'n'
)

// NoNode is the index of a missing value.
const NoNode = -1

// Errors of [Parse].
var (
	ErrTooDeep = errors.New("the text is nested too deep")
	ErrTooMany = errors.New("the text has too many values")
	errKey     = errors.New("a key that is no string")
	errTooLong = errors.New("a text of 2 GiB or more")
)

// Parse finds the values of a text, which must be one JSON value. A value may be inside maxDepth
// arrays and objects. Parse accepts the texts that encoding/json accepts. The values refer to the
// text and do not copy it.
func Parse(text string, maxDepth int) (Document, error) {
	return ParseFew(text, maxDepth, math.MaxInt32)
}

// ParseFew is Parse for a text of at most maxValues values and keys, of which each takes 16 bytes
// here, and several times as much once it is decoded.
func ParseFew(text string, maxDepth, maxValues int) (Document, error) {
	if len(text) > math.MaxInt32 {
		return Document{}, errTooLong
	}
	p := parser{Reader: Reader{Text: text, IsStrict: true}, maxDepth: maxDepth, maxValues: maxValues}
	// In most texts, two of three values and keys are strings.
	p.nodes = make([]node, 0, min(strings.Count(text, `"`)*3/4+1, maxValues))
	err := p.readValue(0)
	if err == nil {
		err = p.End()
	}
	if err != nil {
		return Document{}, err
	}
	return Document{Text: text, nodes: p.nodes}, nil
}

// A parser collects the nodes of a document.
type parser struct {
	Reader
	maxDepth  int
	maxValues int
	nodes     []node
}

// readValue reads a value that is inside depth others.
func (p *parser) readValue(depth int) error {
	if depth > p.maxDepth {
		return ErrTooDeep
	}
	c, err := p.Peek()
	if err != nil {
		return err
	}
	at := len(p.nodes)
	if at >= p.maxValues {
		return ErrTooMany
	}
	p.nodes = append(p.nodes, node{start: int32(p.At), kind: c})
	switch {
	case c == Object, c == Array:
		err = p.readValues(c, depth)
	case c == String:
		var q Quoted
		q, err = p.Quoted()
		p.nodes[at].isVerbatim, p.nodes[at].isASCII = q.isVerbatim(), q.IsASCII
	case c == '-' || IsDigit(c):
		p.nodes[at].kind = Scalar
		_, _, err = p.Number()
	default:
		p.nodes[at].kind = Scalar
		_, err = p.Word()
	}
	p.nodes[at].end, p.nodes[at].next = int32(p.At), int32(len(p.nodes))
	return err
}

// readValues reads an object or an array.
func (p *parser) readValues(kind byte, depth int) error {
	p.At++
	closing := kind + 2 // the bracket of objects and of arrays
	more, err := p.More(closing, true)
	for more && err == nil {
		if kind == Object {
			err = p.readKey()
		}
		if err == nil {
			err = p.readValue(depth + 1)
		}
		if err == nil {
			more, err = p.More(closing, false)
		}
	}
	return err
}

// readKey reads the name of a member and the colon after it.
func (p *parser) readKey() error {
	if c, err := p.Peek(); err != nil || c != String {
		return errKey
	}
	if err := p.readValue(0); err != nil {
		return err
	}
	return p.Colon()
}

// Len returns the number of values and keys.
func (d *Document) Len() int { return len(d.nodes) }

// Kind returns the kind of a value, 0 for a missing one.
func (d *Document) Kind(i int) byte {
	if i == NoNode {
		return 0
	}
	return d.nodes[i].kind
}

// HasKind reports whether a value is present and of a kind.
func (d *Document) HasKind(i int, kind byte) bool { return i != NoNode && d.nodes[i].kind == kind }

// Span returns the offsets of the first byte of a value and of the byte after it.
func (d *Document) Span(i int) (start, end int) { return int(d.nodes[i].start), int(d.nodes[i].end) }

// TextAt returns the JSON of a value, "" for a missing value.
func (d *Document) TextAt(i int) string {
	if i == NoNode {
		return ""
	}
	return d.Text[d.nodes[i].start:d.nodes[i].end]
}

// CopyAt returns a copy of a value's JSON, nil for a missing value.
func (d *Document) CopyAt(i int) json.RawMessage {
	if i == NoNode {
		return nil
	}
	return json.RawMessage(d.TextAt(i))
}

// next returns the index of the first node after a value and the values inside it.
func (d *Document) next(i int) int { return int(d.nodes[i].next) }

// Member returns the value of an object's member. If two members have the name, the last one
// counts, as in encoding/json.
func (d *Document) Member(object int, name string) int {
	found := NoNode
	for key, value := range d.Members(object) {
		if d.PeekAt(key) == name {
			found = value
		}
	}
	return found
}

// Members yields the keys and values of an object, and nothing for other values.
func (d *Document) Members(object int) func(func(key, value int) bool) {
	return func(yield func(key, value int) bool) {
		if !d.HasKind(object, Object) {
			return
		}
		for key := object + 1; key < d.next(object); key = d.next(key + 1) {
			if !yield(key, key+1) {
				return
			}
		}
	}
}

// Elements returns the values of an array, and nothing for other values.
func (d *Document) Elements(array int) (list []int) {
	if !d.HasKind(array, Array) {
		return nil
	}
	n := 0
	for i := array + 1; i < d.next(array); i = d.next(i) {
		n++
	}
	list = make([]int, 0, n)
	for i := array + 1; i < d.next(array); i = d.next(i) {
		list = append(list, i)
	}
	return list
}

// StringAt returns a copy of the text of a string, "" for other values.
func (d *Document) StringAt(i int) string {
	text := d.PeekAt(i)
	if text != "" && d.nodes[i].isVerbatim {
		text = strings.Clone(text)
	}
	return text
}

// PeekAt returns the text of a string, "" for other values. It may keep the whole document in memory.
func (d *Document) PeekAt(i int) string {
	if !d.HasKind(i, String) {
		return ""
	}
	text := d.TextAt(i)
	if d.nodes[i].isVerbatim {
		return text[1 : len(text)-1]
	}
	s, _ := Quoted{Text: text, HasEscapes: true, IsASCII: d.nodes[i].isASCII}.Decode() // it is a valid string
	return s
}

// ValueAt decodes a value as encoding/json does with UseNumber, in half of the time.
func (d *Document) ValueAt(i int) any {
	switch {
	case d.HasKind(i, Object):
		object := map[string]any{}
		for key, value := range d.Members(i) {
			object[d.StringAt(key)] = d.ValueAt(value)
		}
		return object
	case d.HasKind(i, Array):
		list := []any{}
		for e := i + 1; e < d.next(i); e = d.next(e) {
			list = append(list, d.ValueAt(e))
		}
		return list
	case d.HasKind(i, String):
		return d.StringAt(i)
	}
	switch text := d.TextAt(i); text {
	case "true", "false":
		return text == "true"
	case "null", "":
		return nil
	default:
		return json.Number(strings.Clone(text))
	}
}

// DecodeValue decodes the first JSON value of a text as encoding/json does with UseNumber.
func DecodeValue(text string) (v any, err error) {
	const maxDepth = 200
	doc, err := Parse(text, maxDepth)
	if err == nil {
		return doc.ValueAt(0), nil
	}
	decoder := json.NewDecoder(strings.NewReader(text)) // it takes deeper values, and more after the first
	decoder.UseNumber()
	err = decoder.Decode(&v)
	return v, err
}

// GoNumbers changes the numbers of a decoded value to int64, or else to float64: an infinity for a number that
// is too large for one.
func GoNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = GoNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = GoNumbers(v[key])
		}
	}
	return v
}

// IntegerAt returns a whole number, 0 for other values.
func (d *Document) IntegerAt(i int) (n int64) {
	if d.HasKind(i, Scalar) {
		_ = json.Unmarshal([]byte(d.TextAt(i)), &n) // n stays 0 if it is no number
	}
	return n
}

// IsTrue reports whether a value is the word true.
func (d *Document) IsTrue(i int) bool { return d.TextAt(i) == "true" }
