package starlark

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/internal/jsontext"
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
	d := &jsonDecoder{w: w, op: name, r: jsontext.Reader{Text: text}}
	v, err := d.readValue()
	if err == nil {
		err = d.r.End()
	}
	switch {
	case err == nil:
		return v, nil
	case w.stopCause != nil:
		return nil, err
	case fallback != nil:
		return fallback, nil
	}
	return nil, fmt.Errorf("%s: at offset %d, %s", name, d.r.At, clip(err.Error(), maxErrorText))
}

// A jsonDecoder converts one text. It pays for each value before it makes the value. It accepts the
// texts that the interpreter's own json.decode accepts, so its Reader is not strict.
type jsonDecoder struct {
	w     *worker
	op    string
	r     jsontext.Reader
	depth int
}

func (d *jsonDecoder) readValue() (starlark.Value, error) {
	c, err := d.r.Peek()
	switch {
	case err != nil:
		return nil, err
	case c == '"':
		return d.readString()
	case c == '[':
		return d.readNested(d.readArray)
	case c == '{':
		return d.readNested(d.readObject)
	case jsontext.IsDigit(c) || c == '-':
		return d.readNumber()
	}
	word, err := d.r.Word()
	if word == "null" || err != nil {
		return starlark.None, err
	}
	return starlark.Bool(word == "true"), nil
}

func (d *jsonDecoder) readNested(parse func() (starlark.Value, error)) (starlark.Value, error) {
	if d.depth++; d.depth > maxDepth {
		return nil, d.w.stopAtLimit("depth", d.op, uint64(d.depth), maxDepth, 0)
	}
	v, err := parse()
	d.depth--
	return v, err
}

// readString reads a string. Escapes and other bytes than ASCII cost more.
func (d *jsonDecoder) readString() (starlark.Value, error) {
	quoted, err := d.r.Quoted()
	if err != nil {
		return nil, err
	}
	if quoted.IsASCII && !quoted.HasEscapes { // control characters are allowed here
		return starlark.String(quoted.Text[1 : len(quoted.Text)-1]), nil
	}
	if err := d.w.charge(d.op, 1, uint64(len(quoted.Text))); err != nil {
		return nil, err
	}
	s, err := quoted.Decode()
	return starlark.String(s), err
}

func (d *jsonDecoder) readArray() (starlark.Value, error) {
	if err := d.w.payAs(d.op, jsonList, 1); err != nil {
		return nil, err
	}
	d.r.At++ // [
	var elems []starlark.Value
	more, err := d.r.More(']', true)
	for more && err == nil {
		if err = d.w.payAs(d.op, jsonItem, 1); err != nil {
			return nil, err
		}
		var x starlark.Value
		if x, err = d.readValue(); err != nil {
			return nil, err
		}
		elems = append(elems, x)
		more, err = d.r.More(']', false)
	}
	return starlark.NewList(elems), err
}

func (d *jsonDecoder) readObject() (starlark.Value, error) {
	if err := d.w.payAs(d.op, newTable, 1); err != nil {
		return nil, err
	}
	d.r.At++ // {
	dict := new(starlark.Dict)
	more, err := d.r.More('}', true)
	for more && err == nil {
		if err = d.readEntry(dict); err == nil {
			more, err = d.r.More('}', false)
		}
	}
	return dict, err
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
	if err := d.r.Colon(); err != nil {
		return err
	}
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
	num, isInteger, err := d.r.Number()
	if err != nil {
		return nil, err
	}
	digits := strings.TrimPrefix(num, "-")
	invalid := func() error { return fmt.Errorf("invalid number: %s", clip(num, maxIdentifier)) }
	if digits == "" || digits[0] == '0' && len(digits) > 1 && jsontext.IsDigit(digits[1]) {
		return nil, invalid()
	}
	if isInteger {
		return d.readInteger(num, invalid)
	}
	if err := d.w.charge(d.op, uint64(jsontext.LongFloatSteps(num)), 0); err != nil {
		return nil, err
	}
	x, err := strconv.ParseFloat(num, 64)
	if err != nil {
		return nil, invalid()
	}
	return starlark.Float(x), nil
}

// readInteger reads an integer. A long one takes more than linear time, so it costs more.
func (d *jsonDecoder) readInteger(num string, invalid func() error) (starlark.Value, error) {
	if len(num) < 19 {
		n, err := strconv.ParseInt(num, 10, 64)
		if err != nil {
			return nil, invalid()
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
		return nil, invalid()
	}
	return starlark.MakeBigInt(x), nil
}
