package jsontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/starhost/starhost/internal/errtext"
)

// Edits change values of a document. All bytes around the changed values stay as they are.
type Edits struct {
	doc     *Document
	values  map[int]string   // new JSON of values
	removed map[int]bool     // elements, and the values of members
	added   map[int][]string // JSON of elements or members behind the last one, by their container
	first   map[int][]string // JSON of elements before the first one
	touched []int            // sorted
}

// NewEdits returns no edits of a document.
func NewEdits(d *Document) *Edits {
	return &Edits{doc: d, values: map[int]string{}, removed: map[int]bool{}, added: map[int][]string{}, first: map[int][]string{}}
}

// IsEmpty reports whether the edits change nothing.
func (e *Edits) IsEmpty() bool { return len(e.touched) == 0 }

// Set replaces a value. It wins over edits inside the value.
func (e *Edits) Set(value int, text string) {
	e.values[value] = text
	e.touch(value)
}

// Remove removes an element of an array, or a member by its value.
func (e *Edits) Remove(value int) {
	e.removed[value] = true
	e.touch(value)
}

// IsRemoved reports whether an element or the value of a member is removed.
func (e *Edits) IsRemoved(value int) bool { return e.removed[value] }

// Add adds an element behind all others.
func (e *Edits) Add(array int, text string) {
	e.added[array] = append(e.added[array], text)
	e.touch(array)
}

// AddFirst adds an element before all others.
func (e *Edits) AddFirst(array int, text string) {
	e.first[array] = append(e.first[array], text)
	e.touch(array)
}

// SetMember replaces the value of a member, or adds the member.
func (e *Edits) SetMember(object int, name, value string) {
	if i := e.doc.Member(object, name); i != NoNode {
		e.Set(i, value)
		return
	}
	key, _ := json.Marshal(name) // it is a string
	e.added[object] = append(e.added[object], string(key)+":"+value)
	e.touch(object)
}

func (e *Edits) touch(i int) {
	if at, found := slices.BinarySearch(e.touched, i); !found {
		e.touched = slices.Insert(e.touched, at, i)
	}
}

// String returns the whole text with the edits.
func (e *Edits) String() string { return strings.Join(e.Pieces(), "") }

// Pieces returns the whole text with the edits, in pieces that share memory with the document.
func (e *Edits) Pieces() []string {
	start, end := e.doc.Span(0)
	p := pieces{text: e.doc.Text}
	p.keep(0, start)
	e.write(&p, 0)
	p.keep(end, len(e.doc.Text))
	p.add("")
	return p.list
}

// TextAt returns the JSON of a value with the edits.
func (e *Edits) TextAt(i int) string {
	p := pieces{text: e.doc.Text}
	e.write(&p, i)
	p.add("")
	return strings.Join(p.list, "")
}

// Pieces of a text are new texts and parts of the old text.
type pieces struct {
	text       string // the old text
	start, end int    // the last part, which may become longer
	list       []string
}

// keep adds a part of the old text.
func (p *pieces) keep(start, end int) {
	if start != p.end {
		p.add("")
		p.start = start
	}
	p.end = end
}

// add adds a new text. An add of "" completes the list.
func (p *pieces) add(text string) {
	for _, piece := range []string{p.text[p.start:p.end], text} {
		if piece != "" {
			p.list = append(p.list, piece)
		}
	}
	p.start = p.end
}

// IsTouched reports whether an edit changes a value or one inside it.
func (e *Edits) IsTouched(i int) bool {
	at, _ := slices.BinarySearch(e.touched, i)
	return at < len(e.touched) && e.touched[at] < e.doc.next(i)
}

func (e *Edits) write(p *pieces, i int) {
	if text, ok := e.values[i]; ok {
		p.add(text)
		return
	}
	start, end := e.doc.Span(i)
	if !e.IsTouched(i) {
		p.keep(start, end)
		return
	}
	p.keep(start, start+1)
	from, isFirst := start+1, true
	for _, text := range e.first[i] {
		addComma(p, &isFirst)
		p.add(text)
	}
	for child := i + 1; child < e.doc.next(i); child = e.doc.next(child) {
		begin, _ := e.doc.Span(child)
		if e.doc.HasKind(i, Object) { // the child is a key
			child++
		}
		gap := from
		value, to := e.doc.Span(child)
		from = to
		if e.removed[child] {
			continue
		}
		comma := strings.IndexByte(e.doc.Text[gap:begin], ',')
		switch {
		case isFirst:
			gap += comma + 1 // the values before it are removed
		case comma < 0:
			p.add(",")
		}
		isFirst = false
		p.keep(gap, value)
		e.write(p, child)
	}
	for _, text := range e.added[i] {
		addComma(p, &isFirst)
		p.add(text)
	}
	p.keep(from, end)
}

// addComma adds the comma before each value except the first one.
func addComma(p *pieces, isFirst *bool) {
	if !*isFirst {
		p.add(",")
	}
	*isFirst = false
}

// Ambiguity returns an error if two readers could decode the document differently: it is not UTF-8,
// or two members of an object have one name.
func (d *Document) Ambiguity() error {
	if !utf8.ValidString(d.Text) {
		return errors.New("it is not UTF-8")
	}
	for i := range d.Len() {
		if name, twice := d.Duplicate(i); twice {
			return fmt.Errorf("%q stands twice in one object", errtext.Clip(name))
		}
	}
	return nil
}

// Duplicate returns a name that two members of an object have.
func (d *Document) Duplicate(object int) (name string, twice bool) {
	if !d.HasKind(object, Object) {
		return "", false
	}
	var few [16]string
	names := few[:0]
	for key := range d.Members(object) {
		names = append(names, d.PeekAt(key))
	}
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			return names[i], true
		}
	}
	return "", false
}
