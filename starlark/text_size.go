package starlark

import (
	"iter"
	"math/bits"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// bitLen returns the number of bits of |x|.
func bitLen(x starlark.Int) uint64 {
	if v, ok := x.Int64(); ok {
		return uint64(bits.Len64(uint64(max(v, -v))))
	}
	return uint64(x.BigInt().BitLen())
}

// isSmallInt reports whether x fits a machine word.
func isSmallInt(x starlark.Int) bool {
	_, ok := x.Int64()
	return ok
}

// words returns the length of x in machine words.
func words(x starlark.Int) uint64 {
	if isSmallInt(x) {
		return 1
	}
	return (bitLen(x) + 63) / 64
}

// A textWalk visits the expanded tree of a value, as str, repr and json do: it visits a shared part
// again at each place. It charges a step for each value, and computes an upper bound of the text's
// length.
type textWalk struct {
	w     *worker
	op    string
	depth int
	nodes uint64 // visited since the last charge
	size  uint64 // bytes of text
	path  []starlark.Value
	// byteSize is the number of bytes that the walk counts for each byte of a string, without reading the
	// string. 0 means that the walk reads the string and counts it as it is printed between quotes.
	byteSize uint64
	// expand is true if the walk counts each element of a range, because the host writes all of them. The
	// text that str makes of a range has only its bounds.
	expand bool
}

// textSize returns an upper bound of the length of v's text, and charges for the walk.
func (w *worker) textSize(op string, v starlark.Value) (uint64, error) {
	if n, ok := plainSize(v); ok {
		return n, w.payAtomText(op, v)
	}
	return w.walk(textWalk{w: w, op: op}, v)
}

// walk visits v and returns the size of its text.
func (w *worker) walk(t textWalk, v starlark.Value) (uint64, error) {
	if err := t.visit(v); err != nil {
		return 0, err
	}
	return t.size, w.payAs(t.op, textNode, t.nodes)
}

// payAtomText charges for the text of a value without parts, in addition to its length. A long
// integer takes more than linear time, and strings are quoted.
func (w *worker) payAtomText(op string, v starlark.Value) error {
	switch v := v.(type) {
	case starlark.Int:
		if n := words(v); n > 1 {
			return w.payAs(op, intText, n*n)
		}
	case starlark.String:
		if len(v) > smallText {
			return w.payAs(op, quotedByteScan, uint64(len(v)))
		}
	case starlark.Bytes:
		return w.payAs(op, quotedByteScan, uint64(len(v)))
	}
	return nil
}

// maxQuoted is the largest size of one byte between quotes: "\xff".
const maxQuoted = 4

// quotedSize returns an upper bound of the length of s in quotes, without the quotes.
func quotedSize(s string) uint64 {
	n := uint64(len(s))
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			n += maxQuoted - 1
		}
	}
	return n
}

// isAtom reports whether v is of a core type without parts.
func isAtom(v starlark.Value) bool {
	switch v.(type) {
	case starlark.NoneType, starlark.Bool, starlark.Int, starlark.Float, starlark.String, starlark.Bytes:
		return true
	}
	return false
}

// noneSize is the size of the longest text of None, True and False.
const noneSize = 5

// plainSize returns the length of the text of a value without parts.
func plainSize(v starlark.Value) (uint64, bool) {
	switch v := v.(type) {
	case starlark.String:
		return 2 + quotedSize(string(v)), true
	case starlark.Bytes:
		return 3 + 4*uint64(len(v)), true
	case starlark.Int:
		return bitLen(v)/3 + 2, true
	case starlark.NoneType, starlark.Bool:
		return noneSize, true
	case starlark.Float:
		return 24, true
	}
	return 0, false
}

// plainSize returns the length of the text of a value without parts, for this walk.
func (t *textWalk) plainSize(v starlark.Value) (uint64, bool) {
	if s, ok := v.(starlark.String); ok && t.byteSize > 0 {
		return 2 + multiplyClamped(uint64(len(s)), t.byteSize), true
	}
	return plainSize(v)
}

// chargeVisited charges for the visited values. It stops the run if the text is larger than the
// remaining memory.
func (t *textWalk) chargeVisited() error {
	b := &t.w.budget
	if t.size > b.maxAlloc-b.alloc {
		return t.w.stopAtLimit("memory", t.op, addClamped(b.alloc, t.size), b.maxAlloc, b.alloc)
	}
	n := t.nodes
	t.nodes = 0
	return t.w.payAs(t.op, textNode, n)
}

func (t *textWalk) visit(v starlark.Value) error {
	if t.nodes++; t.nodes >= 64 {
		if err := t.chargeVisited(); err != nil {
			return err
		}
	}
	if n, ok := t.plainSize(v); ok {
		if t.size += n; n > 4096 {
			if err := t.chargeVisited(); err != nil {
				return err
			}
		}
		return t.w.payAtomText(t.op, v)
	}
	if t.depth++; t.depth > maxDepth {
		return t.w.stopAtLimit("depth", t.op, uint64(t.depth), maxDepth, 0)
	}
	err := t.visitParts(v)
	t.depth--
	return err
}

// visitParts visits the parts of v. A list or dict inside itself prints as "...".
func (t *textWalk) visitParts(v starlark.Value) error {
	switch v := v.(type) {
	case starlark.Tuple:
		return t.visitElements(v.Elements())
	case *starlark.List:
		return t.visitOnce(v, func() error { return t.visitElements(v.Elements()) })
	case *starlark.Set:
		return t.visitElements(v.Elements())
	case *starlark.Dict:
		return t.visitOnce(v, func() error { return t.visitEntries(v) })
	case *starlarkstruct.Struct:
		return t.visitFields(v)
	case *starlark.Function:
		t.size += uint64(len(v.Name())) + 16
		return nil
	case *starlark.Builtin:
		return nil
	}
	return t.visitHostValue(v)
}

func (t *textWalk) visitElements(values iter.Seq[starlark.Value]) error {
	t.size += 8 // "set([", "])"
	for x := range values {
		t.size += 2
		if err := t.visit(x); err != nil {
			return err
		}
	}
	return nil
}

func (t *textWalk) visitEntries(d *starlark.Dict) error {
	t.size += 2
	for k, x := range d.Entries() {
		t.size += 4
		if err := t.visit(k); err != nil {
			return err
		}
		if err := t.visit(x); err != nil {
			return err
		}
	}
	return nil
}

func (t *textWalk) visitFields(s *starlarkstruct.Struct) error {
	t.size += 16
	for name, x := range s.Entries() {
		t.size += uint64(len(name)) + 5
		if err := t.visit(x); err != nil {
			return err
		}
	}
	return nil
}

// visitHostValue visits a value of the host, or an iterable of the interpreter. It visits the parts
// or elements of the value. If there are none, it makes the text of the value and takes its length.
func (t *textWalk) visitHostValue(v starlark.Value) error {
	t.size += 64
	if v.Type() == "range" {
		return t.visitRange(v)
	}
	switch v := v.(type) {
	case TextValue:
		return t.addTexts(uint64(v.TextBytes()))
	case Container:
		// The container prints its parts in a new call, which does not see the lists around it. So
		// a cycle through it ends at the depth limit.
		path := t.path
		t.path = nil
		err := t.visitElements(slices.Values(v.Parts()))
		t.path = path
		return err
	case starlark.IterableMapping:
		for _, item := range v.Items() {
			if err := t.visitElements(item.Elements()); err != nil {
				return err
			}
		}
		return nil
	case starlark.Iterable:
		return t.visitElements(iterateElements(v))
	}
	t.size += uint64(len(v.String()))
	return t.chargeVisited()
}

// maxIntText is the length of the longest integer of a range, with a separator.
const maxIntText = 24

// visitRange adds the elements of a range, without a visit of each.
func (t *textWalk) visitRange(v starlark.Value) error {
	if !t.expand {
		return nil
	}
	n := uint64(starlark.Len(v))
	t.size = addClamped(t.size, multiplyClamped(n, maxIntText))
	t.nodes = addClamped(t.nodes, n)
	return t.chargeVisited()
}

// addTexts adds n bytes of texts of a host's value. The value prints them with quotes.
func (t *textWalk) addTexts(n uint64) error {
	if t.byteSize == 0 {
		n = multiplyClamped(n, maxQuoted)
	}
	t.size = addClamped(t.size, n)
	return t.w.payAs(t.op, quotedByteScan, n)
}

// iterateElements returns an iterator over the elements of v.
func iterateElements(v starlark.Iterable) iter.Seq[starlark.Value] {
	return func(yield func(starlark.Value) bool) {
		iter := v.Iterate()
		defer iter.Done()
		var x starlark.Value
		for iter.Next(&x) && yield(x) {
		}
	}
}

// visitOnce visits the parts of v, unless v is inside itself.
func (t *textWalk) visitOnce(v starlark.Value, parts func() error) error {
	if slices.Contains(t.path, v) {
		t.size += 5
		return nil
	}
	t.path = append(t.path, v)
	err := parts()
	t.path = t.path[:len(t.path)-1]
	return err
}
