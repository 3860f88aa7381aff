package builtins

import (
	"math"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
)

// A compositeValue is a value of the host that contains other values or long texts. The evaluator follows
// these parts when it charges for printing the value, and when it freezes the value.
type compositeValue interface{ Parts() []starlark.Value }

// maxTextDepth is the deepest nesting of lists and dicts in a value that becomes text.
const maxTextDepth = 256

// A textPayer walks through a value as a writer of its text will, and pays for each part before it goes to
// the next. A list that contains one list many times costs as much as its text is long.
type textPayer struct{ call.Call }

// value pays for v, which is depth levels deep.
func (p *textPayer) value(v starlark.Value, depth int) error {
	if depth > maxTextDepth {
		return p.Fail("E0202", "got a value nested deeper than %d levels (or one that contains itself)", maxTextDepth)
	}
	if err := p.node(v); err != nil {
		return err
	}
	switch v := v.(type) {
	case compositeValue:
		for _, part := range v.Parts() {
			if err := p.value(part, depth+1); err != nil {
				return err
			}
		}
	case starlark.IterableMapping:
		return p.items(v, depth)
	case starlark.Iterable:
		for elem := range starlark.Elements(v) {
			if err := p.value(elem, depth+1); err != nil {
				return err
			}
		}
	case starlark.String, starlark.Bytes: // strings and bytes have attributes, but do not become objects
	case starlark.HasAttrs:
		for _, name := range v.AttrNames() {
			field, err := v.Attr(name)
			if err != nil || field == nil {
				return p.Fail("E0202", "field %s: cannot be read", name)
			}
			if err := p.value(field, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// items pays for the keys and values of an object.
func (p *textPayer) items(m starlark.IterableMapping, depth int) error {
	for k, v := range starlark.Entries(m) {
		if err := p.node(k); err != nil {
			return err
		}
		if err := p.value(v, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// node pays for one value, but not for its parts. One byte of a string may become six bytes of text.
func (p *textPayer) node(v starlark.Value) error {
	size := 24
	switch v := v.(type) {
	case starlark.String:
		size += 6 * len(v)
	case starlark.Bytes:
		size += 4 * len(v)
	case starlark.Int:
		if _, small := v.Int64(); !small {
			size += 2 * v.BigInt().BitLen()
		}
	case starlark.Float:
		if f := math.Abs(float64(v)); f < 1e-290 && f > 0 { // writing such a number takes 15 µs
			return p.Pay(40, size)
		}
	case starlark.IterableMapping, starlark.Iterable:
		size += 64
	}
	return p.Pay(2+size/64, size)
}
