package starlark

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/internal/jsontext"
)

// encodeJSON implements json.encode(x).
func encodeJSON(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 1, &x); err != nil {
		return nil, err
	}
	e := &jsonEncoder{w: w, op: name}
	if err := e.writeValue(x); err != nil {
		return nil, e.addPath(err)
	}
	return starlark.String(e.buf), e.pay()
}

// A jsonEncoder appends the text of values, and charges for it piece by piece.
type jsonEncoder struct {
	w          *worker
	op         string
	buf        []byte
	paidBytes  int // bytes of buf that are charged
	depth      int
	openValues []any    // identities of the values that enclose the current one
	path       []string // path to the failed value, innermost step first
}

// addPath adds the path of the failed value to its error.
func (e *jsonEncoder) addPath(err error) error {
	if e.w.stopCause != nil {
		return err
	}
	slices.Reverse(e.path)
	return fmt.Errorf("%s: %s", e.op, strings.Join(append(e.path, err.Error()), ": "))
}

// pay charges for the text that was appended since the last charge.
func (e *jsonEncoder) pay() error {
	n := uint64(len(e.buf) - e.paidBytes)
	e.paidBytes = len(e.buf)
	return e.w.payAs(e.op, jsonText, n)
}

func (e *jsonEncoder) writeValue(v starlark.Value) error {
	if err := e.w.payAs(e.op, jsonNode, 1); err != nil {
		return err
	}
	if len(e.buf)-e.paidBytes > 4096 {
		if err := e.pay(); err != nil {
			return err
		}
	}
	switch v := v.(type) {
	case json.Marshaler:
		text, err := v.MarshalJSON()
		e.buf = append(e.buf, text...)
		return err
	case starlark.NoneType:
		e.buf = append(e.buf, "null"...)
		return nil
	case starlark.Bool:
		e.buf = strconv.AppendBool(e.buf, bool(v))
		return nil
	case starlark.Int:
		return e.writeInteger(v)
	case starlark.Float:
		if math.IsInf(float64(v), 0) || math.IsNaN(float64(v)) {
			return fmt.Errorf("cannot encode non-finite float %v", v)
		}
		e.buf = append(e.buf, v.String()...)
		return nil
	case starlark.String:
		return e.writeString(string(v))
	}
	return e.writeNested(v)
}

// writeInteger writes an integer. A long one takes more than linear time, so it costs more.
func (e *jsonEncoder) writeInteger(v starlark.Int) error {
	if !isSmallInt(v) {
		if err := e.w.payAtomText(e.op, v); err != nil {
			return err
		}
	}
	e.buf = append(e.buf, v.String()...)
	return nil
}

// writeString writes a string. It charges for a long string before it copies it.
func (e *jsonEncoder) writeString(s string) error {
	if len(s) > 4096 {
		if err := e.w.payAs(e.op, jsonText, uint64(len(s))); err != nil {
			return err
		}
	}
	e.buf = jsontext.AppendString(e.buf, s)
	return nil
}

// writeNested writes a value with parts. It refuses a value that contains itself.
func (e *jsonEncoder) writeNested(v starlark.Value) error {
	if e.depth++; e.depth > maxDepth {
		return e.w.stopAtLimit("depth", e.op, uint64(e.depth), maxDepth, 0)
	}
	defer func() { e.depth-- }()
	if id := identity(v); id != nil {
		if slices.Contains(e.openValues, id) {
			return errors.New("cycle in JSON structure")
		}
		e.openValues = append(e.openValues, id)
		defer func() { e.openValues = e.openValues[:len(e.openValues)-1] }()
	}
	switch v := v.(type) {
	case starlark.IterableMapping:
		return e.writeMapping(v)
	case starlark.Iterable:
		return e.writeSequence(v)
	case starlark.HasAttrs:
		return e.writeFields(v)
	}
	return fmt.Errorf("cannot encode %s as JSON", v.Type())
}

// identity returns a comparable identity of a value that can contain itself, or nil for other
// values.
func identity(v starlark.Value) any {
	switch v := v.(type) {
	case *starlark.List, *starlark.Dict:
		return v
	case starlark.Tuple:
		if len(v) > 0 {
			return &v[0]
		}
	}
	return nil
}

// extendPath adds a step to the path of the failed value.
func (e *jsonEncoder) extendPath(err error, format string, args ...any) error {
	if e.w.stopCause == nil {
		e.path = append(e.path, clip(fmt.Sprintf(format, args...), maxIdentifier))
	}
	return err
}

func (e *jsonEncoder) writeMapping(m starlark.IterableMapping) error {
	if err := e.w.payElements(jsonEntry.withOp(e.op), m); err != nil {
		return err
	}
	items := m.Items()
	for _, item := range items {
		if _, ok := item[0].(starlark.String); !ok {
			return fmt.Errorf("%s has %s key, want string", m.Type(), item[0].Type())
		}
	}
	if err := e.w.payAs(e.op, sortStep, multiplyClamped(uint64(len(items)), logarithm(len(items)))); err != nil {
		return err
	}
	if err := e.payKeys(items); err != nil {
		return err
	}
	slices.SortFunc(items, func(x, y starlark.Tuple) int {
		return strings.Compare(string(x[0].(starlark.String)), string(y[0].(starlark.String)))
	})
	e.buf = append(e.buf, '{')
	for i, item := range items {
		if err := e.writeEntry(i, string(item[0].(starlark.String)), item[1]); err != nil {
			return e.extendPath(err, "in %s key %s", m.Type(), item[0])
		}
	}
	e.buf = append(e.buf, '}')
	return nil
}

// payKeys charges for sorting long keys, because they may have long common prefixes.
func (e *jsonEncoder) payKeys(items []starlark.Tuple) error {
	long := uint64(0)
	for _, item := range items {
		if n := len(item[0].(starlark.String)); n > smallEqual {
			long += uint64(n)
		}
	}
	return e.w.payAs(e.op, sameBytes, multiplyClamped(long, logarithm(len(items))))
}

func (e *jsonEncoder) writeEntry(i int, name string, v starlark.Value) error {
	if i > 0 {
		e.buf = append(e.buf, ',')
	}
	if err := e.writeString(name); err != nil {
		return err
	}
	e.buf = append(e.buf, ':')
	return e.writeValue(v)
}

func (e *jsonEncoder) writeSequence(xs starlark.Iterable) error {
	iter := xs.Iterate()
	defer iter.Done()
	e.buf = append(e.buf, '[')
	var x starlark.Value
	for i := 0; iter.Next(&x); i++ {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if err := e.writeValue(x); err != nil {
			return e.extendPath(err, "at %s index %d", xs.Type(), i)
		}
	}
	e.buf = append(e.buf, ']')
	return nil
}

// writeFields writes a struct, or a host's value with attributes.
func (e *jsonEncoder) writeFields(s starlark.HasAttrs) error {
	names := slices.Sorted(slices.Values(s.AttrNames()))
	e.buf = append(e.buf, '{')
	for i, name := range names {
		v, err := s.Attr(name)
		if err != nil {
			return fmt.Errorf("cannot access attribute %s.%s: %w", s.Type(), name, err)
		}
		if v == nil {
			return fmt.Errorf("missing attribute %s.%s (despite %q appearing in dir()", s.Type(), name, name)
		}
		if err := e.writeEntry(i, name, v); err != nil {
			return e.extendPath(err, "in field .%s", name)
		}
	}
	e.buf = append(e.buf, '}')
	return nil
}

// readIndentArgs reads the keyword arguments prefix and indent.
func readIndentArgs(name string, kwargs []starlark.Tuple) (prefix, indent string, err error) {
	indent = "\t"
	err = starlark.UnpackArgs(name, nil, kwargs, "prefix?", &prefix, "indent?", &indent)
	return prefix, indent, err
}

// encodeIndentedJSON implements json.encode_indent(x, *, prefix="", indent="\t").
func encodeIndentedJSON(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	prefix, indent, err := readIndentArgs(name, kwargs)
	if err != nil {
		return nil, err
	}
	text, err := encodeJSON(w, name, args, nil)
	if err != nil {
		return nil, err
	}
	return indentText(w, name, string(text.(starlark.String)), prefix, indent)
}

// indentJSON implements json.indent(text, *, prefix="", indent="\t").
func indentJSON(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	prefix, indent, err := readIndentArgs(name, kwargs)
	if err != nil {
		return nil, err
	}
	var text string
	if err := starlark.UnpackPositionalArgs(name, args, nil, 1, &text); err != nil {
		return nil, err
	}
	return indentText(w, name, text, prefix, indent)
}

func indentText(w *worker, name, text, prefix, indent string) (starlark.Value, error) {
	if err := w.payIndent(name, text, prefix, indent); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), prefix, indent); err != nil {
		return nil, fmt.Errorf("%s: %v", name, err)
	}
	return starlark.String(b.String()), nil
}

// payIndent charges for the indented text. It also counts brackets inside strings, because an upper
// bound is enough.
func (w *worker) payIndent(name, text, prefix, indent string) error {
	depth, deepest, size := uint64(0), uint64(0), uint64(len(text))
	for i := range len(text) {
		switch text[i] {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth -= min(depth, 1)
		case ',', ':':
		default:
			continue
		}
		size = addClamped(size, uint64(len(prefix))+2+multiplyClamped(depth, uint64(len(indent))))
	}
	if deepest > maxDepth {
		return w.stopAtLimit("depth", name, deepest, maxDepth, 0)
	}
	return w.payAs(name, jsonLines, size)
}
