package modules

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// tomlMaxDepth is the most levels of tables and arrays, and the most parts of a key.
const tomlMaxDepth = 32

// tomlMembers are the members of the module toml.
var tomlMembers = []call.Member{
	{
		Name: "decode", Params: `text, name=""`, Type: "str, str -> dict[str, Any]",
		Doc: `Reads TOML text and returns its dict.
name is the file of the text, for messages about it.
Keys stand in the order in which the text names them first. Dates and times are strings,
as RFC 3339 writes them. Tables and arrays nest 32 levels deep, a text has at most 100000
values, and an empty key ("" = 1) is an error.`,
		Example: `doc = """
name = "checkout"
since = 2024-05-01

[[owners]]
name = "ana"
pager = true
"""
assert_eq(toml.decode(doc), {"name": "checkout", "since": "2024-05-01", "owners": [{"name": "ana", "pager": True}]})`,
		Func: tomlDecode,
	},
	{
		Name: "encode", Params: "x", Type: "Any -> str",
		Doc: `Writes a dict, or a struct, as TOML text.
Keys are strings and stand in the dict's order, except that tables follow the other values
of their dict, as TOML requires. Values are bools, ints of 64 bits, floats, strings, lists, tuples, sets,
dicts and structs; TOML has no None. toml.decode reads the same value.`,
		Example: `assert_eq(toml.encode({"limits": {"steps": 1000}, "name": "web", "ports": [80, 443]}),
    "name = \"web\"\nports = [80, 443]\n\n[limits]\nsteps = 1000\n")`,
		Func: tomlEncode,
	},
}

// tomlDecode implements toml.decode.
func tomlDecode(c call.Call) (starlark.Value, error) {
	var (
		text   string
		source sourceName
	)
	if err := c.Bind("text", &text, "name?", (*string)(&source)); err != nil {
		return nil, err
	}
	s := tomlScan{text: text, line: 1}
	if err := s.scan(); err != nil {
		return nil, c.Fail("E0202", "%s: line %d: %v", source, s.line, err)
	}
	if err := c.Pay(1+len(text)/2+s.bytes/32+jsontext.TinyFloatSteps(text), 8*len(text)+s.bytes); err != nil {
		return nil, err
	}
	var top map[string]any
	meta, err := toml.Decode(text, &top)
	if err != nil {
		return nil, c.Fail("E0202", "%s: %s", source, tomlErrorText(err))
	}
	r := tomlReader{Call: c, source: source}
	return r.table(top, tomlOrderOf(meta.Keys()), 0)
}

// tomlErrorText returns the parser's message with its line.
func tomlErrorText(err error) string {
	var e toml.ParseError
	if !errors.As(err, &e) {
		return errtext.Cut(err.Error())
	}
	// The message omits the column, because the parser's is sometimes that of another line.
	return fmt.Sprintf("line %d: %s", max(1, e.Position.Line), errtext.Cut(jsontext.ExplainTOML(e.Message)))
}

// A tomlOrder has the position of a key in its table, and the order of the keys below that key. The parser
// returns tables as Go maps, which have no order, and a list of all keys in order.
type tomlOrder struct {
	rank int
	keys map[string]*tomlOrder
}

// tomlOrderOf returns the order of the keys of all tables of a text. The tables of an array
// share one order.
func tomlOrderOf(keys []toml.Key) *tomlOrder {
	top := new(tomlOrder)
	for _, key := range keys {
		o := top
		for _, part := range key {
			next := o.keys[part]
			if next == nil {
				if o.keys == nil {
					o.keys = map[string]*tomlOrder{}
				}
				next = &tomlOrder{rank: len(o.keys)}
				o.keys[part] = next
			}
			o = next
		}
	}
	return top
}

// tableOrder returns the order of the table with a key. Keys that the parser does not list are sorted by
// name.
func (o *tomlOrder) tableOrder(key string) *tomlOrder {
	if next := o.keys[key]; next != nil {
		return next
	}
	return new(tomlOrder)
}

// A tomlReader converts the parser's values to Starlark.
type tomlReader struct {
	call.Call
	source sourceName
	nodes  int // how many values were read so far
}

// table converts a table, which is depth levels deep, to a dict.
func (r *tomlReader) table(table map[string]any, order *tomlOrder, depth int) (starlark.Value, error) {
	if err := r.enter(640+160*len(table), depth); err != nil {
		return nil, err
	}
	keys := slices.SortedFunc(maps.Keys(table), func(a, b string) int {
		return cmp.Or(cmp.Compare(order.tableOrder(a).rank, order.tableOrder(b).rank), strings.Compare(a, b))
	})
	dict := starlark.NewDict(len(keys))
	var flood call.KeyFlood
	for _, key := range keys {
		if key == "" { // the parser confuses arrays with empty keys
			return nil, r.Fail("E0202", "%s: got an empty key, want one with a name", r.source)
		}
		v, err := r.value(table[key], order.tableOrder(key), depth+1)
		if err != nil {
			return nil, err
		}
		if err := flood.Add(starlark.String(key)); err != nil {
			return nil, r.Fail("E0202", "%s: %v", r.source, err)
		}
		if err := r.Pay(flood.Steps(), 0); err != nil {
			return nil, err
		}
		if err := dict.SetKey(starlark.String(key), v); err != nil {
			return nil, err
		}
	}
	return dict, nil
}

// enter pays for a value of so many bytes, which is depth levels deep.
func (r *tomlReader) enter(bytes, depth int) error {
	if r.nodes++; r.nodes > dataMaxNodes {
		return r.Fail("E0202", "%s: got more than %d values", r.source, dataMaxNodes)
	}
	if depth > tomlMaxDepth {
		return r.Fail("E0202", "%s: nested deeper than %d levels", r.source, tomlMaxDepth)
	}
	return r.Pay(2+bytes/32, bytes)
}

// value converts a value of the parser.
func (r *tomlReader) value(v any, order *tomlOrder, depth int) (starlark.Value, error) {
	switch v := v.(type) {
	case map[string]any:
		return r.table(v, order, depth)
	case []map[string]any:
		return tomlArray(r, v, order, depth)
	case []any:
		return tomlArray(r, v, order, depth)
	}
	if err := r.enter(32, depth); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case string:
		return starlark.String(v), nil
	case int64:
		return starlark.MakeInt64(v), nil
	case float64:
		return starlark.Float(v), nil
	case time.Time:
		return starlark.String(tomlTime(v)), nil
	}
	return starlark.Bool(v.(bool)), nil // the parser returns no other type
}

// tomlArray converts an array of values or of tables.
func tomlArray[T any](r *tomlReader, array []T, order *tomlOrder, depth int) (starlark.Value, error) {
	if err := r.enter(64+16*len(array), depth); err != nil {
		return nil, err
	}
	values := make([]starlark.Value, len(array))
	for i, elem := range array {
		v, err := r.value(elem, order, depth+1)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return starlark.NewList(values), nil
}

// tomlLayouts has the layout of a date or time without an offset, by the name that the parser gives to its
// zone.
var tomlLayouts = map[string]string{
	"datetime-local": "2006-01-02T15:04:05.999999999",
	"date-local":     time.DateOnly,
	"time-local":     "15:04:05.999999999",
}

// tomlTime formats a date or time.
func tomlTime(t time.Time) string {
	if layout, ok := tomlLayouts[t.Location().String()]; ok {
		return t.Format(layout)
	}
	return t.Format(time.RFC3339Nano)
}

// A tomlScan measures a text before the parser reads it, because the work of the parser for a key grows with
// the square of the key's parts, and with the length of the table's name. A tomlScan reads valid TOML as the
// parser does. In other text it may read on where the parser stops.
type tomlScan struct {
	text string
	at   int // the offset of the next byte
	line int // the line that has the next byte

	bytes  int         // an estimate of the memory of the parsed text
	depth  int         // how many brackets are open
	start  int         // the offset at which the current key or value begins
	dots   int         // how many points the current key has
	header bool        // the current line names a table
	in     tomlScope   // the scope of the current key
	outer  []tomlScope // the scopes around the inline tables that are open
}

// A tomlScope is the table that the current keys belong to, with the last key.
type tomlScope struct{ table, key tomlPath }

// A tomlPath is the size of a key.
type tomlPath struct{ parts, bytes int }

// wholeKey returns the size of the last key together with the name of its table.
func (s tomlScope) wholeKey() tomlPath {
	return tomlPath{s.table.parts + s.key.parts, s.table.bytes + s.key.bytes}
}

// tomlPrices has the bytes of memory that a byte of the text stands for: a "," for an element, a bracket for
// a table, a "-" for a part of a date, which the parser tries in many formats.
var tomlPrices = [256]int{',': 160, '[': 160, '{': 640, ':': 640, '-': 256, '#': 128, '\n': 32}

// scan reads the whole text. Its error is about the line s.line.
func (s *tomlScan) scan() error {
	for s.at < len(s.text) {
		b := s.text[s.at]
		s.bytes += tomlPrices[b]
		if b == '"' || b == '\'' {
			s.skipString(b)
			continue
		}
		if err := s.readMark(b); err != nil {
			return err
		}
		s.at++
	}
	s.endLine()
	return nil
}

// readMark reads one byte that is not in a string.
func (s *tomlScan) readMark(b byte) error {
	switch b {
	case '#':
		if i := strings.IndexByte(s.text[s.at:], '\n'); i >= 0 {
			s.at += i - 1
		} else {
			s.at = len(s.text)
		}
	case '\n':
		s.endLine()
		s.line++
	case '.':
		if s.dots++; s.dots >= tomlMaxDepth {
			return fmt.Errorf("got a key of more than %d parts", tomlMaxDepth)
		}
	case '[', '{':
		return s.open(b)
	case ']', '}':
		s.close(b)
	case '=':
		s.in.key = s.current()
		s.bytes += 1024
		s.payPath(s.in.key.parts)
		s.next()
	case ',':
		s.next()
	}
	return nil
}

// next begins another key or value after the current byte.
func (s *tomlScan) next() { s.start, s.dots = s.at+1, 0 }

// current returns the size of the key that ends at the current byte.
func (s *tomlScan) current() tomlPath { return tomlPath{s.dots + 1, s.at - s.start} }

// payPath adds the price of writing the current key with its table n times.
func (s *tomlScan) payPath(n int) {
	whole := s.in.wholeKey()
	s.bytes += n * (100*whole.parts + 4*whole.bytes)
}

// endLine ends the line of a header. The next line begins a new key or value.
func (s *tomlScan) endLine() {
	if s.header {
		s.in = tomlScope{table: s.current()}
		s.bytes += 1024
		s.payPath(s.in.table.parts)
		s.header = false
	}
	s.next()
}

// open begins an array, an inline table or a header.
func (s *tomlScan) open(b byte) error {
	if s.header || b == '[' && s.depth == 0 && s.lineStarts() {
		s.header = true
		return nil
	}
	if s.depth++; s.depth > tomlMaxDepth {
		return fmt.Errorf("nested deeper than %d levels", tomlMaxDepth)
	}
	if b == '{' {
		s.payPath(s.in.wholeKey().parts)
		s.outer = append(s.outer, s.in)
		s.in = tomlScope{table: s.in.wholeKey()}
	} else {
		s.payPath(1)
	}
	s.next()
	return nil
}

// lineStarts reports whether only white space precedes the current byte on its line.
func (s *tomlScan) lineStarts() bool {
	return (s.start == 0 || s.text[s.start-1] == '\n') && strings.TrimSpace(s.text[s.start:s.at]) == ""
}

// close ends an array or an inline table.
func (s *tomlScan) close(b byte) {
	if s.header {
		return
	}
	s.depth--
	if n := len(s.outer); b == '}' && n > 0 {
		s.in, s.outer = s.outer[n-1], s.outer[:n-1]
	}
	s.next()
}

// skipString moves to the byte after the string that begins with quote at the current byte.
func (s *tomlScan) skipString(quote byte) {
	end := s.text[s.at : s.at+1]
	if triple := strings.Repeat(end, 3); strings.HasPrefix(s.text[s.at:], triple) {
		end = triple
	}
	s.at += len(end)
	for ; s.at < len(s.text) && !strings.HasPrefix(s.text[s.at:], end); s.at++ {
		switch {
		case s.text[s.at] == '\n' && len(end) == 1:
			return // the parser will stop at this mistake
		case s.text[s.at] == '\n':
			s.line++
		case quote == '"' && (strings.HasPrefix(s.text[s.at:], `\"`) || strings.HasPrefix(s.text[s.at:], `\\`)):
			s.at++
		}
	}
	s.at += len(end)
	for range len(end) - 1 { // up to two quotes may precede the closing three
		if s.at < len(s.text) && s.text[s.at] == quote {
			s.at++
		}
	}
}
