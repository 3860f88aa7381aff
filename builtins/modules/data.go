package modules

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// Bounds of the texts that hold data: YAML and TOML.
const (
	dataMaxDigits = 20_000  // of an int that is read: more is quadratic work
	dataMaxBits   = 65_536  // of an int that is written: it has no more digits
	dataMaxNodes  = 100_000 // values of one text
)

// dataMembers returns the members of what is written as a mapping, nil for
// anything else: the entries of a dict in its order, the fields of a struct sorted.
func dataMembers(v starlark.Value) iter.Seq2[starlark.Value, starlark.Value] {
	switch v := v.(type) {
	case starlark.IterableMapping:
		return starlark.Entries(v)
	case *starlarkstruct.Struct:
		return func(yield func(starlark.Value, starlark.Value) bool) {
			for name, field := range v.Entries() {
				if !yield(starlark.String(name), field) {
					return
				}
			}
		}
	}
	return nil
}

// A dataWriter appends the text of a value piece by piece, and pays for each
// before it is written.
type dataWriter struct {
	call.Call
	maxDepth int
	out      []byte
}

// enter pays for v, which stands depth levels deep, without what it contains; its
// lines begin with so many spaces. A byte of text may become six.
func (w *dataWriter) enter(v starlark.Value, depth, spaces int) error {
	if depth > w.maxDepth {
		return errtext.PathErrorf("nested deeper than %d levels, or contains itself", w.maxDepth)
	}
	size := 32 + spaces
	switch v := v.(type) {
	case starlark.String:
		size += 6*len(v) + spaces*strings.Count(string(v), "\n")
	case starlark.Int:
		if _, small := v.Int64(); !small {
			bits := v.BigInt().BitLen()
			if bits > dataMaxBits {
				return errtext.PathErrorf("got an int of %d bits, want %d at most", bits, dataMaxBits)
			}
			size += bits
		}
	}
	return w.Pay(2+size/32, 3*size)
}

// text returns what was written, or err with the place in the value.
func (w *dataWriter) text(err error) (starlark.Value, error) {
	var e *errtext.PathError
	if errors.As(err, &e) {
		return nil, w.Fail("E0202", "x: %v", e)
	}
	if err != nil {
		return nil, err
	}
	return starlark.String(w.out), nil
}

// notData says what v is, where format has no such value.
func notData(format string, v starlark.Value) error {
	switch v.(type) {
	case starlark.Bytes:
		return errtext.PathErrorf("got bytes, want a value that %s has (str(x) for text, base64.encode(x) for data)", format)
	case timeValue, Duration:
		return errtext.PathErrorf("got %s, want a value that %s has (str(x) for text)", v.Type(), format)
	}
	return errtext.PathErrorf("got %s, want a value that %s has", v.Type(), format)
}

// isPrintable reports whether r may stand in YAML and TOML as it is. Line breaks
// of all kinds and the byte order mark may not.
func isPrintable(r rune) bool {
	switch {
	case r == utf8.RuneError: // a character that stands for broken ones, too
		return true
	case r < ' ', 0x7f <= r && r < 0xa0, 0xfffe <= r && r <= 0xffff, r == '\u2028', r == '\u2029', r == '\ufeff':
		return false
	}
	return true
}

// appendQuoted appends s in double quotes, as both YAML and TOML read it. Bytes
// that are not UTF-8 become U+FFFD.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf && (r < ' ' || jsontext.Escapes[r] != 0):
			dst = jsontext.AppendEscaped(dst, byte(r))
		case !isPrintable(r):
			dst = fmt.Appendf(dst, `\u%04X`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
