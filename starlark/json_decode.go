package starlark

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
)

// decodeJSON implements json.decode(text, default=...).
func decodeJSON(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text string
	var fallback starlark.Value
	if err := starlark.UnpackArgs(name, args, kwargs, "x", &text, "default?", &fallback); err != nil {
		return nil, err
	}
	if len(args) < 1 {
		return nil, fmt.Errorf("%s: unexpected keyword argument x", name)
	}
	if err := w.payAs(name, jsonRead, uint64(len(text))); err != nil {
		return nil, err
	}
	d := &jsonDecoder{w: w, op: name, s: text}
	v, err := d.readText()
	switch {
	case err == nil:
		return v, nil
	case w.stopCause != nil:
		return nil, err
	case fallback != nil:
		return fallback, nil
	}
	return nil, fmt.Errorf("%s: at offset %d, %s", name, d.i, clip(err.Error(), maxErrorText))
}

// A jsonDecoder reads one text. It does not use encoding/json or another reader of this module,
// because it must pay for each value before it makes the value, and because it accepts the texts
// that the interpreter's own json.decode accepts.
type jsonDecoder struct {
	w     *worker
	op    string
	s     string
	i     int // offset of the next byte
	depth int
}

func (d *jsonDecoder) readText() (starlark.Value, error) {
	v, err := d.readValue()
	if err != nil {
		return nil, err
	}
	if d.skipSpace(); d.i < len(d.s) {
		return nil, fmt.Errorf("unexpected character %q after value", d.s[d.i])
	}
	return v, nil
}

// skipSpace skips white space.
func (d *jsonDecoder) skipSpace() {
	for d.i < len(d.s) && strings.IndexByte(" \t\n\r", d.s[d.i]) >= 0 {
		d.i++
	}
}

// peekByte returns the first byte that is not white space.
func (d *jsonDecoder) peekByte() (byte, error) {
	if d.skipSpace(); d.i == len(d.s) {
		return 0, fmt.Errorf("unexpected end of file")
	}
	return d.s[d.i], nil
}

// jsonConstants are the literals null, true and false.
var jsonConstants = []struct {
	text  string
	value starlark.Value
}{{"null", starlark.None}, {"true", starlark.True}, {"false", starlark.False}}

func (d *jsonDecoder) readValue() (starlark.Value, error) {
	c, err := d.peekByte()
	if err != nil {
		return nil, err
	}
	switch {
	case c == '"':
		return d.readString()
	case c == '[':
		return d.readNested(d.readArray)
	case c == '{':
		return d.readNested(d.readObject)
	case isDigit(c) || c == '-':
		return d.readNumber()
	}
	for _, word := range jsonConstants {
		if strings.HasPrefix(d.s[d.i:], word.text) {
			d.i += len(word.text)
			return word.value, nil
		}
	}
	return nil, fmt.Errorf("unexpected character %q", c)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (d *jsonDecoder) readNested(parse func() (starlark.Value, error)) (starlark.Value, error) {
	if d.depth++; d.depth > maxDepth {
		return nil, d.w.stopAtLimit("depth", d.op, uint64(d.depth), maxDepth, 0)
	}
	v, err := parse()
	d.depth--
	return v, err
}

// readString reads a string. It leaves escapes and non-ASCII text to Go's decoder.
func (d *jsonDecoder) readString() (starlark.Value, error) {
	plain := true
	for j := d.i + 1; j < len(d.s); j++ {
		switch c := d.s[j]; {
		case c == '\\':
			plain = false
			j++
		case c >= 0x80:
			plain = false
		case c == '"':
			quoted := d.s[d.i : j+1]
			d.i = j + 1
			if plain {
				return starlark.String(quoted[1 : len(quoted)-1]), nil
			}
			if err := d.w.charge(d.op, 1, uint64(len(quoted))); err != nil {
				return nil, err
			}
			var s string
			err := json.Unmarshal([]byte(quoted), &s)
			return starlark.String(s), err
		}
	}
	return nil, fmt.Errorf("unclosed string literal")
}

func (d *jsonDecoder) readArray() (starlark.Value, error) {
	if err := d.w.payAs(d.op, jsonList, 1); err != nil {
		return nil, err
	}
	d.i++ // [
	var elems []starlark.Value
	c, err := d.peekByte()
	for err == nil && c != ']' {
		if err = d.w.payAs(d.op, jsonItem, 1); err != nil {
			return nil, err
		}
		var x starlark.Value
		if x, err = d.readValue(); err != nil {
			return nil, err
		}
		elems = append(elems, x)
		if c, err = d.peekByte(); err == nil && c == ',' {
			d.i++
			continue
		}
		if err == nil && c != ']' {
			err = fmt.Errorf("got %q, want ',' or ']'", c)
		}
	}
	if err != nil {
		return nil, err
	}
	d.i++ // ]
	return starlark.NewList(elems), nil
}

func (d *jsonDecoder) readObject() (starlark.Value, error) {
	if err := d.w.payAs(d.op, newTable, 1); err != nil {
		return nil, err
	}
	d.i++ // {
	dict := new(starlark.Dict)
	c, err := d.peekByte()
	for err == nil && c != '}' {
		if err = d.readEntry(dict); err != nil {
			return nil, err
		}
		if c, err = d.peekByte(); err == nil && c == ',' {
			d.i++
			continue
		}
		if err == nil && c != '}' {
			err = fmt.Errorf("in object, got %q, want ',' or '}'", c)
		}
	}
	if err != nil {
		return nil, err
	}
	d.i++ // }
	return dict, nil
}

// readEntry reads a key and its value into dict.
func (d *jsonDecoder) readEntry(dict *starlark.Dict) error {
	k, err := d.readValue()
	if err != nil {
		return err
	}
	key, ok := k.(starlark.String)
	if !ok {
		return fmt.Errorf("got %s for object key, want string", k.Type())
	}
	c, err := d.peekByte()
	if err != nil {
		return err
	}
	if c != ':' {
		return fmt.Errorf("after object key, got %q, want ':' ", c)
	}
	d.i++
	v, err := d.readValue()
	if err != nil {
		return err
	}
	if err := d.w.payAs(d.op, newEntry, 1); err != nil {
		return err
	}
	return d.w.setKey(d.op, dict, key, v)
}

func (d *jsonDecoder) readNumber() (starlark.Value, error) {
	j, float := d.i+1, false
	for ; j < len(d.s); j++ {
		c := d.s[j]
		if !isDigit(c) && strings.IndexByte(".eE+-", c) < 0 {
			break
		}
		float = float || !isDigit(c)
	}
	num := d.s[d.i:j]
	d.i = j
	digits := strings.TrimPrefix(num, "-")
	invalid := fmt.Errorf("invalid number: %s", clip(num, maxIdentifier))
	if digits == "" || digits[0] == '0' && len(digits) > 1 && isDigit(digits[1]) {
		return nil, invalid
	}
	if float {
		x, err := strconv.ParseFloat(num, 64)
		if err != nil {
			return nil, invalid
		}
		return starlark.Float(x), nil
	}
	return d.readInteger(num, invalid)
}

// readInteger reads an integer. A long one takes more than linear time, so it costs more.
func (d *jsonDecoder) readInteger(num string, invalid error) (starlark.Value, error) {
	if len(num) < 19 {
		n, err := strconv.ParseInt(num, 10, 64)
		if err != nil {
			return nil, invalid
		}
		return starlark.MakeInt64(n), nil
	}
	if bits := uint64(len(num)) * 4; bits > maxBits+maxBits/4 {
		return nil, d.w.stopAtLimit("integer size", d.op, bits, maxBits, 0)
	}
	if err := d.w.charge(d.op, uint64(len(num)), 2*uint64(len(num))); err != nil {
		return nil, err
	}
	x, ok := new(big.Int).SetString(num, 10)
	if !ok {
		return nil, invalid
	}
	return starlark.MakeBigInt(x), nil
}
