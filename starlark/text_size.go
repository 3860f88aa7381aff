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

// A textWalk visits the expanded tree of a value, as str, repr and json do:
// what hangs in many places is visited in each. It charges a step for each
// value as it goes, and adds up a bound of the text's length.
type textWalk struct {
	w     *worker
	op    string
	depth int
	nodes uint64 // visited and not yet charged
	size  uint64 // bytes of text
	path  []starlark.Value
	// unread is what a byte of a string counts for where nothing is printed, so that
	// no string is read; 0: what the byte is between quotes.
	byteSize uint64
}

// textSize returns a bound of the length of v's text, and pays for the walk.
func (w *worker) textSize(op string, v starlark.Value) (uint64, error) {
	if n, ok := plainSize(v); ok {
		return n, w.payAtomText(op, v)
	}
	return w.walk(textWalk{w: w, op: op}, v)
}

// walk visits v, and returns the size that it came to.
func (w *worker) walk(t textWalk, v starlark.Value) (uint64, error) {
	if err := t.visit(v); err != nil {
		return 0, err
	}
	return t.size, w.payAs(t.op, textNode, t.nodes)
}

// payAtomText pays for what the text of a value without parts costs beside its
// length: a long integer takes more than linear time, a string is quoted.
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

// maxQuoted is the most bytes that one byte becomes between quotes: "\xff".
const maxQuoted = 4

// quotedSize bounds the length of s between quotes, without them.
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

// noneSize is the size of None, True and False: of the longest of them.
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

// plainSize is that of the text which the walk is about.
func (t *textWalk) plainSize(v starlark.Value) (uint64, bool) {
	if s, ok := v.(starlark.String); ok && t.byteSize > 0 {
		return 2 + multiplyClamped(uint64(len(s)), t.byteSize), true
	}
	return plainSize(v)
}

// chargeVisited charges for the values visited so far, and stops a text that has
// outgrown the memory that is left.
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

// visitParts visits what v holds. A list or dict inside itself prints as "...".
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

// visitHostValue counts a value of the host, or one of the interpreter's that yields
// elements when asked to. What it holds or yields is in its text; of what does
// neither, the text itself is made to see how long it is.
func (t *textWalk) visitHostValue(v starlark.Value) error {
	t.size += 64
	if v.Type() == "range" {
		return nil
	}
	switch v := v.(type) {
	case TextValue:
		return t.addTexts(uint64(v.TextBytes()))
	case Container:
		// It prints what it holds anew: that a list around it is being printed is not
		// seen there, so that a cycle through it ends at the depth alone.
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

// addTexts counts n bytes of texts that a value of the host holds: it prints them between
// quotes, and hands them on as they are.
func (t *textWalk) addTexts(n uint64) error {
	if t.byteSize == 0 {
		n = multiplyClamped(n, maxQuoted)
	}
	t.size = addClamped(t.size, n)
	return t.w.payAs(t.op, quotedByteScan, n)
}

// iterateElements ranges over the elements of v.
func iterateElements(v starlark.Iterable) iter.Seq[starlark.Value] {
	return func(yield func(starlark.Value) bool) {
		iter := v.Iterate()
		defer iter.Done()
		var x starlark.Value
		for iter.Next(&x) && yield(x) {
		}
	}
}

// visitOnce visits the parts of v unless they are being visited already.
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
