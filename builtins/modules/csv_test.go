package modules

import (
	"fmt"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"
)

func TestCSV(t *testing.T) {
	modAsserts(t, []struct{ name, source string }{
		{"decode", `
assert_eq(csv.decode(""), [])
assert_eq(csv.decode("", header = False), [])
assert_eq(csv.decode("a,b\n"), [])
assert_eq(csv.decode("\ufeffa,b\r\n1,2\r\n\r\n3,\"4\r\n5\""), [{"a": "1", "b": "2"}, {"a": "3", "b": "4\n5"}])
assert_eq(csv.decode("a\tb c\n", header = False, delimiter = "\t"), [["a", "b c"]])
assert_eq(csv.decode("a→b", header = False, delimiter = "→"), [["a", "b"]])
assert_eq(csv.decode("a\nb,c\n\"\"", header = False), [["a"], ["b", "c"], [""]])
assert_eq(csv.decode('"a ""b"""', header = False), [['a "b"']])
assert_eq(csv.decode("a, b\n1, 2")[0].keys(), ["a", " b"])
`},
		{"encode", `
assert_eq(csv.encode([]), "")
assert_eq(csv.encode([["a", 1, 1.5, True, None]]), "a,1,1.5,True,\n")
assert_eq(csv.encode([("a",), ["b", "c"]]), "a\nb,c\n")
assert_eq(csv.encode([[""], [None]]), "\"\"\n\"\"\n")
assert_eq(csv.encode([[" a", "b ", 'c"d', "e\nf", "g,h", "i;j", "\ufeff"]]), '" a","b ","c""d","e\nf","g,h",i;j,"\ufeff"\n')
assert_eq(csv.encode([["i;j", "g,h"]], delimiter = ";"), '"i;j";g,h\n')
assert_eq(csv.encode([{}, {"a": 1}]), 'a\n""\n1\n')
assert_eq(csv.encode([{"b": 1, "a": 2}, {"a": 3, "c": 4}]), "b,a,c\n1,2,\n,3,4\n")
`},
	})
}

func TestCSVErrors(t *testing.T) {
	modErrors(t, []struct{ expr, want string }{
		{`csv.decode("a,b\n\n1\n")`, `csv.decode: text: line 3: got 1 cells, want 2, as many as in the header`},
		{`csv.decode("a,b\n1,2,3")`, `csv.decode: text: line 2: got 3 cells, want 2, as many as in the header`},
		{`csv.decode("a,b,a\n")`, `csv.decode: text: line 1: column "a" stands twice`},
		{`csv.decode("a\n1 \"\n")`, `csv.decode: text: line 2, column 3: bare " in non-quoted-field`},
		{`csv.decode("\"a")`, `csv.decode: text: line 1, column 3: extraneous or missing " in quoted-field`},
		{`csv.decode("a", delimiter = "")`, `csv.decode: for parameter "delimiter": got "", want one character, which is no quote and no line break`},
		{`csv.decode("a", delimiter = ",,")`, `csv.decode: for parameter "delimiter": got ",,", want one character, which is no quote and no line break`},
		{`csv.decode("a", delimiter = "\"")`, `csv.decode: for parameter "delimiter": got "\"", want one character, which is no quote and no line break`},
		{`csv.decode("a", delimiter = "\x00")`, `csv.decode: for parameter "delimiter": got "\x00", want one character, which is no quote and no line break`},
		{`csv.encode([], delimiter = 1)`, `csv.encode: for parameter "delimiter": got int, want string`},
		{`csv.encode([1])`, `csv.encode: rows: row 1: got int, want list, tuple or dict`},
		{`csv.encode(["ab"])`, `csv.encode: rows: row 1: got string, want list, tuple or dict`},
		{`csv.encode([["a"], []])`, `csv.encode: rows: row 2: got no cells, want one or more`},
		{`csv.encode([{}])`, `csv.encode: rows: got dicts without keys, want a column`},
		{`csv.encode([{"a": 1}, ["b"]])`, `csv.encode: rows: row 2: got list after other rows, want all dicts or none`},
		{`csv.encode([["a"], {"a": 1}])`, `csv.encode: rows: row 2: got dict after other rows, want all dicts or none`},
		{`csv.encode([["a", []]])`, `csv.encode: rows: row 1: cell 2: got list, want string, number, bool or None`},
		{`csv.encode([{"a": []}])`, `csv.encode: rows: row 1: "a": got list, want string, number, bool or None`},
	})
}

// Column names that share a hash make each row's dict slow, so csv.decode charges for them.
func TestCSVPaysForCollidingColumns(t *testing.T) {
	steps := func(same bool) uint64 {
		var names []string
		for i := 0; len(names) < 100; i++ {
			name := fmt.Sprintf("%x", i)
			if hash, _ := starlark.String(name).Hash(); !same || hash%4096 == 7 {
				names = append(names, name)
			}
		}
		rt := &modRuntime{}
		row := strings.Repeat(",", 99) + "\n"
		if _, err := modEval(rt, "csv.decode(x)", starlark.String(strings.Join(names, ",")+"\n"+strings.Repeat(row, 100))); err != nil {
			t.Fatal(err)
		}
		return rt.steps
	}
	if few, many := steps(false), steps(true); many < few+100*100*99/2/8 {
		t.Errorf("paid %d steps for colliding columns, %d for others", many, few)
	}
}

// Law: decoding the encoded text returns the same rows, as strings.
func TestCSVRoundTrip(t *testing.T) {
	cell := rapid.Map(rapid.StringMatching("[a,;\"\n \t\ufeffé\\\\.]{0,5}"), func(s string) starlark.Value { return starlark.String(s) })
	rapid.Check(t, func(t *rapid.T) {
		var rows []starlark.Value
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			rows = append(rows, starlark.NewList(rapid.SliceOfN(cell, 1, 4).Draw(t, "row")))
		}
		checkUndone(t, `csv.decode(csv.encode(x), header = False)`, starlark.NewList(rows))
		checkUndone(t, `csv.decode(csv.encode(x, delimiter = ";"), header = False, delimiter = ";")`, starlark.NewList(rows))
	})
}

// checkUndone reports an error if expr, which converts x and back, does not return x.
func checkUndone(t rapid.TB, expr string, x starlark.Value) {
	t.Helper()
	got, err := modEval(&modRuntime{}, expr, x)
	if err != nil {
		t.Fatalf("%s of %v: %v", expr, x, err)
	}
	if equal, err := starlark.Equal(got, x); err != nil || !equal || got.String() != x.String() {
		t.Fatalf("%s: got %v, want %v (%v)", expr, got, x, err)
	}
}

// Law: decoding, encoding and decoding returns the same rows.
func FuzzCSVDecode(f *testing.F) {
	f.Add("a,b\n1,\"2\n3\"\n", ",", true)
	f.Add("a;\"b\"\"\"\r\n\n;\n", ";", false)
	f.Fuzz(func(t *testing.T, text, delimiter string, header bool) {
		args := []starlark.Value{starlark.String(text), starlark.Tuple{starlark.String(delimiter), starlark.Bool(header)}}
		v, err := modEval(&modRuntime{}, `csv.decode(x, delimiter = y[0], header = y[1])`, args...)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "csv.decode: ") {
				t.Errorf("error %q", err)
			}
			return
		}
		if starlark.Len(v) == 0 || strings.Contains(v.String(), `\r\n`) {
			return // the encoder writes a header only if there are rows, and \n for each line break in a cell
		}
		args[0] = v
		again, err := modEval(&modRuntime{}, `csv.decode(csv.encode(x, delimiter = y[0]), delimiter = y[0], header = y[1])`, args...)
		if err != nil || again.String() != v.String() {
			t.Errorf("got %v, %v, want %v", again, err, v)
		}
	})
}
