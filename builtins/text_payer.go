package builtins

import (
	"github.com/starhost/starhost/builtins/call"
	"go.starlark.net/starlark"
)

// A holder is a value of ours that holds others, or long texts. Evaluators follow
// them where they pay for what the value prints, and where it is frozen.
type compositeValue interface{ Parts() []starlark.Value }

// maxTextDepth is how deep lists and dicts may nest in what becomes text.
const maxTextDepth = 256

// A textPayer walks a value as whoever writes it as text will, and pays for each
// node before it looks at the next: a list that holds one list many times costs
// as often as it will be written.
type textPayer struct{ call.Call }

// value pays for v, which stands depth levels deep.
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
	case starlark.String, starlark.Bytes: // they have methods, but are no objects
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

// node pays for one value without what it contains: a byte of text may become six.
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
	case starlark.IterableMapping, starlark.Iterable:
		size += 64
	}
	return p.Pay(2+size/64, size)
}
