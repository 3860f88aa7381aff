package modules

import (
	"iter"
	"strconv"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/errtext"
)

// tomlEncode implements toml.encode.
func tomlEncode(c call.Call) (starlark.Value, error) {
	var x starlark.Value
	if err := c.Bind("x", &x); err != nil {
		return nil, err
	}
	members := dataMembers(x)
	if members == nil {
		return nil, c.Fail("E0201", "x: got %s, want dict or struct", x.Type())
	}
	w := tomlWriter{dataWriter{Call: c, maxDepth: tomlMaxDepth}}
	return w.text(w.table(members, "", 0))
}

// A tomlWriter appends one text.
type tomlWriter struct{ dataWriter }

// table writes the members of the table at path: its values, then its tables.
func (w *tomlWriter) table(members iter.Seq2[starlark.Value, starlark.Value], path string, depth int) error {
	var nested []tomlTable
	for k, v := range members {
		key, err := w.key(k, depth)
		if err != nil {
			return err
		}
		if dataMembers(v) != nil || tomlIsTables(v) {
			nested = append(nested, tomlTable{string(k.(starlark.String)), key, v})
			continue
		}
		w.out = append(append(w.out, key...), " = "...)
		if err := w.value(v, depth+1); err != nil {
			return errtext.Under(errtext.KeyStep(string(k.(starlark.String))), err)
		}
		w.out = append(w.out, '\n')
	}
	for _, t := range nested {
		if path != "" {
			t.key = path + "." + t.key
		}
		if err := w.subtable(t.v, t.key, depth+1); err != nil {
			return errtext.Under(errtext.KeyStep(t.name), err)
		}
	}
	return nil
}

// A tomlTable is a member of a table that is a table itself. TOML has it after the plain values.
type tomlTable struct {
	name, key string // key is name in TOML syntax
	v         starlark.Value
}

// subtable writes a table, or each table of an array, under a header.
func (w *tomlWriter) subtable(v starlark.Value, path string, depth int) error {
	if err := w.enter(v, depth, len(path)); err != nil {
		return err
	}
	if members := dataMembers(v); members != nil {
		w.header("[" + path + "]\n")
		return w.table(members, path, depth)
	}
	i := 0
	for elem := range starlark.Elements(v.(starlark.Iterable)) {
		if err := w.enter(elem, depth+1, len(path)); err != nil {
			return err
		}
		w.header("[[" + path + "]]\n")
		if err := w.table(dataMembers(elem), path, depth+1); err != nil {
			return errtext.Under("["+strconv.Itoa(i)+"]", err)
		}
		i++
	}
	return nil
}

// header writes an empty line and the header of a table.
func (w *tomlWriter) header(line string) {
	if len(w.out) > 0 {
		w.out = append(w.out, '\n')
	}
	w.out = append(w.out, line...)
}

// tomlIsTables reports whether v is a list that contains only tables.
func tomlIsTables(v starlark.Value) bool {
	seq, ok := v.(starlark.Sequence)
	if !ok || seq.Len() == 0 {
		return false
	}
	for elem := range starlark.Elements(seq) {
		if dataMembers(elem) == nil {
			return false
		}
	}
	return true
}

// key returns a key in TOML syntax.
func (w *tomlWriter) key(k starlark.Value, depth int) (string, error) {
	if err := w.enter(k, depth, 0); err != nil {
		return "", err
	}
	s, ok := k.(starlark.String)
	if !ok {
		return "", errtext.PathErrorf("got a key that is %s, want string", k.Type())
	}
	if s == "" {
		return "", errtext.PathErrorf("got an empty key, want one with a name")
	}
	if consistsOf(string(s), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"+decimalDigits) {
		return string(s), nil
	}
	return string(appendQuoted(nil, string(s))), nil
}

// value writes v on one line.
func (w *tomlWriter) value(v starlark.Value, depth int) error {
	if err := w.enter(v, depth, 0); err != nil {
		return err
	}
	if members := dataMembers(v); members != nil {
		return w.inline(members, depth)
	}
	switch v := v.(type) {
	case starlark.Bool:
		w.out = strconv.AppendBool(w.out, bool(v))
	case starlark.Int:
		if _, ok := v.Int64(); !ok {
			return errtext.PathErrorf("got an int of %d bits, want one of 64", v.BigInt().BitLen()+1)
		}
		w.out = append(w.out, v.String()...)
	case starlark.Float:
		w.out = append(w.out, v.String()...) // String always writes a point, an exponent, +inf, -inf or nan
	case starlark.String:
		w.out = appendQuoted(w.out, string(v))
	case starlark.Sequence:
		return w.array(v, depth)
	default:
		return notData("TOML", v)
	}
	return nil
}

// array writes the elements of a list on one line, between brackets.
func (w *tomlWriter) array(seq starlark.Sequence, depth int) error {
	w.out = append(w.out, '[')
	i := 0
	for elem := range starlark.Elements(seq) {
		if i > 0 {
			w.out = append(w.out, ", "...)
		}
		if err := w.value(elem, depth+1); err != nil {
			return errtext.Under("["+strconv.Itoa(i)+"]", err)
		}
		i++
	}
	w.out = append(w.out, ']')
	return nil
}

// inline writes a table on one line, between braces.
func (w *tomlWriter) inline(members iter.Seq2[starlark.Value, starlark.Value], depth int) error {
	w.out = append(w.out, '{')
	first := true
	for k, v := range members {
		if !first {
			w.out = append(w.out, ", "...)
		}
		first = false
		key, err := w.key(k, depth)
		if err != nil {
			return err
		}
		w.out = append(append(w.out, key...), " = "...)
		if err := w.value(v, depth+1); err != nil {
			return errtext.Under(errtext.KeyStep(string(k.(starlark.String))), err)
		}
	}
	w.out = append(w.out, '}')
	return nil
}
