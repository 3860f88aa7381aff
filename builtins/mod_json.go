package builtins

import (
	"strings"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
)

// Bounds of the module json.
const (
	jsonTextDepth  = 256    // nested lists and objects
	jsonTextDigits = 20_000 // of one number: more is quadratic work
)

// jsonModule returns the members of the module json: upstream's, which pay for
// their work and refuse what nests too deeply.
func jsonModule(rt Runtime) []Entry {
	return modEntries(rt, "json", []modMember{
		{
			name: "encode", params: "x",
			doc: `Encodes a value as JSON text without spaces.
None, bool, int, finite float, string, list, tuple, set, dict with string keys and
struct can be encoded; the keys of dicts and the fields of structs are sorted. A
tool that returns a dict needs no json.encode: its result becomes JSON with the
keys in the dict's own order.`,
			example: `assert_eq(json.encode({"b": [1, 2.0, None], "a": "x"}), '{"a":"x","b":[1,2.0,null]}')
assert_eq(json.encode(struct(ok = True)), '{"ok":true}')`,
			fn: jsonEncode,
		},
		{
			name: "encode_indent", params: `x, prefix="", indent="\t"`,
			doc: `Encodes a value as JSON text, one member a line.
Each line but the first starts with prefix, then indent once a level; both are
given by name. The rest is as json.encode.`,
			example: `assert_eq(json.encode_indent({"a": [1]}, indent = "  "), '{\n  "a": [\n    1\n  ]\n}')`,
			fn:      jsonEncode,
		},
		{
			name: "decode", params: "x, default=None",
			doc: `Decodes JSON text to None, bool, int, float, string, list and dict.
A number with a point or an exponent is a float, any other an int of any size. Of
a key that stands twice the last value counts. Without a default, text that is not
JSON is an error; with one, the default is returned.`,
			example: `assert_eq(json.decode('{"a": [1, 2.5, null]}'), {"a": [1, 2.5, None]})
assert_eq(json.decode("oops", default = {}), {})`,
			fn: jsonDecode,
		},
		{
			name: "indent", params: `text, prefix="", indent="\t"`,
			doc: `Sets JSON text in lines, one member each.
The order of keys and the spelling of numbers stay. prefix and indent are given by
name, as for json.encode_indent.`,
			example: `assert_eq(json.indent('{"b":1,"a":2}', indent = " "), '{\n "b": 1,\n "a": 2\n}')`,
			fn:      jsonIndent,
		},
	})
}

// jsonUpstream calls upstream's function of the same name.
func jsonUpstream(c modCall) (starlark.Value, error) {
	fn := json.Module.Members[strings.TrimPrefix(c.name, "json.")].(*starlark.Builtin)
	return fn.CallInternal(c.th, c.args, c.kwargs)
}

// jsonEncode implements
//
//	json.encode(x)
//	json.encode_indent(x, *, prefix="", indent="\t")
func jsonEncode(c modCall) (starlark.Value, error) {
	if len(c.args) != 1 { // upstream says so in its words
		return jsonUpstream(c)
	}
	p := jsonPayer{modCall: c}
	if c.name == "json.encode_indent" {
		prefix, indent, err := jsonLayout(c)
		if err != nil {
			return nil, err
		}
		p.prefix, p.indent = len(prefix), len(indent)
	}
	if err := p.value(c.args[0], 0); err != nil {
		return nil, err
	}
	return jsonUpstream(c)
}

// jsonLayout returns the arguments that say how lines begin.
func jsonLayout(c modCall) (prefix, indent string, err error) {
	indent = "\t"
	err = unpackArgs(c.name, nil, c.kwargs, "prefix?", &prefix, "indent?", &indent)
	return prefix, indent, err
}

// A jsonPayer walks a value as the encoder will, and pays for each node before
// it looks at the next: a list that holds one list many times costs as often as
// it will be written.
type jsonPayer struct {
	modCall
	prefix, indent int // bytes at the start of a line, and of a level; both 0 without lines
}

// value pays for v, which stands depth levels deep.
func (p *jsonPayer) value(v starlark.Value, depth int) error {
	if depth > jsonTextDepth {
		return p.fail("E0202", "got a value nested deeper than %d levels (or one that contains itself)", jsonTextDepth)
	}
	if err := p.node(v, depth); err != nil {
		return err
	}
	switch v := v.(type) {
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
				return p.fail("E0202", "field %s: cannot be read", name)
			}
			if err := p.value(field, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// items pays for the keys and values of an object.
func (p *jsonPayer) items(m starlark.IterableMapping, depth int) error {
	for k, v := range starlark.Entries(m) {
		if err := p.node(k, depth+1); err != nil {
			return err
		}
		if err := p.value(v, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// node pays for one value without what it contains: a byte of text may become six.
func (p *jsonPayer) node(v starlark.Value, depth int) error {
	size := 24
	switch v := v.(type) {
	case starlark.String:
		size += 6 * len(v)
	case starlark.Int:
		if _, small := v.Int64(); !small {
			size += 2 * v.BigInt().BitLen()
		}
	case starlark.IterableMapping, starlark.Iterable:
		size += 64
	}
	lines := 2 * (p.prefix + depth*p.indent)
	return p.pay(2+(size+lines)/64, size+lines)
}

// jsonDecode implements
//
//	json.decode(x, default=None)
func jsonDecode(c modCall) (starlark.Value, error) {
	if len(c.args) == 0 {
		return jsonUpstream(c)
	}
	if text, ok := starlark.AsString(c.args[0]); ok {
		shape, err := jsonScan(c, text)
		if err != nil {
			return nil, err
		}
		if err := c.pay(len(text)/16+shape.bytes/128, shape.bytes); err != nil {
			return nil, err
		}
	}
	return jsonUpstream(c)
}

// jsonIndent implements
//
//	json.indent(text, *, prefix="", indent="\t")
func jsonIndent(c modCall) (starlark.Value, error) {
	prefix, indent, err := jsonLayout(c)
	if err != nil {
		return nil, err
	}
	if len(c.args) == 1 {
		text, _ := starlark.AsString(c.args[0])
		shape, err := jsonScan(c, text)
		if err != nil {
			return nil, err
		}
		size := 2*len(text) + 2*shape.lines*(1+len(prefix)+shape.depth*len(indent))
		if err := c.pay(len(text)/16+size/64, size); err != nil {
			return nil, err
		}
	}
	return jsonUpstream(c)
}

// A jsonShape is what one pass over JSON text tells about the work it makes.
type jsonShape struct {
	depth int // deepest nesting
	lines int // lines when set one member each, at most
	bytes int // memory of the decoded value, about
}

// What one byte of JSON text stands for in memory, beyond itself.
var jsonBytePrice = [256]int{'[': 64, '{': 512, ',': 48, ':': 140}

// jsonScan looks at the text once, before anything recurses on it. It pays for
// the look.
func jsonScan(c modCall, text string) (jsonShape, error) {
	shape := jsonShape{bytes: len(text)}
	if err := c.pay(1+len(text)/16, 0); err != nil {
		return shape, err
	}
	depth, digits, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		b := text[i]
		if quoted {
			switch b {
			case '\\':
				i++
			case '"':
				quoted = false
			}
			continue
		}
		digits++
		switch b {
		case '"':
			quoted = true
		case '[', '{':
			depth++
			shape.depth = max(shape.depth, depth)
			shape.lines++
		case ']', '}':
			depth--
			shape.lines++
		case ',':
			shape.lines++
		}
		if b < '0' || b > '9' {
			digits = 0
		}
		if digits > jsonTextDigits {
			return shape, c.fail("E0202", "at offset %d, a number has more than %d digits", i, jsonTextDigits)
		}
		shape.bytes += jsonBytePrice[b]
	}
	if shape.depth > jsonTextDepth {
		return shape, c.fail("E0202", "got JSON nested deeper than %d levels", jsonTextDepth)
	}
	return shape, nil
}
