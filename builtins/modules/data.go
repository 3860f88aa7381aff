package modules

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// Limits of YAML and TOML texts.
const (
	dataMaxDigits = 20_000  // digits of an int that is decoded, because decoding takes quadratic work
	dataMaxBits   = 65_536  // bits of an int that is encoded; 20,000 digits have about as many
	dataMaxNodes  = 100_000 // values in one text
)

// A sourceName is the argument name of a decoder: the file that the text is from, for messages. The zero
// value means that the text is from no file.
type sourceName string

// String returns the name, quoted if it is long or not printable.
func (n sourceName) String() string {
	if n == "" {
		return "text"
	}
	return errtext.Word(string(n))
}

// dataMembers returns the members of a value that becomes a mapping: the entries of a dict in their order, or
// the fields of a struct, sorted. It returns nil for all other values.
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

// A dataWriter appends the text of a value piece by piece. It pays for each piece before it
// writes the piece.
type dataWriter struct {
	call.Call
	maxDepth int
	out      []byte
}

// enter pays for v, but not for its parts. v is depth levels deep, and each of its lines begins with so many
// spaces. A byte of v may become six bytes of text.
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

// text returns what was written. If err is not nil, it returns err with the path to the value that failed.
func (w *dataWriter) text(err error) (starlark.Value, error) {
	if e, ok := errors.AsType[*errtext.PathError](err); ok {
		return nil, w.Fail("E0202", "x: %v", e)
	}
	if err != nil {
		return nil, err
	}
	return starlark.String(w.out), nil
}

// notData returns the error for a value that the format cannot express.
func notData(format string, v starlark.Value) error {
	switch v.(type) {
	case starlark.Bytes:
		return errtext.PathErrorf("got bytes, want a value that %s has (str(x) for text, base64.encode(x) for data)", format)
	case timeValue, Duration:
		return errtext.PathErrorf("got %s, want a value that %s has (str(x) for text)", v.Type(), format)
	}
	return errtext.PathErrorf("got %s, want a value that %s has", v.Type(), format)
}

// isPrintable reports whether YAML and TOML may have the character r without an escape. They may not have
// line breaks of any kind or the byte order mark.
func isPrintable(r rune) bool {
	switch {
	case r == utf8.RuneError: // the character may stand for broken bytes
		return true
	case r < ' ', 0x7f <= r && r < 0xa0, 0xfffe <= r && r <= 0xffff, r == '\u2028', r == '\u2029', r == '\ufeff':
		return false
	}
	return true
}

// appendQuoted appends s in double quotes, in the syntax that YAML and TOML share. Bytes that
// are not UTF-8 become U+FFFD.
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
