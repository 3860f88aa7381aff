package starlark

import (
	"iter"
	"math"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// maxPlainSize is the largest result for which interpolatePlain allocates memory. It allocates
// before it has checked the whole format.
const maxPlainSize = 64 << 10

// interpolate evaluates format % arg and charges for it. It formats strings and small integers
// itself, because most conversions are of these, and leaves the rest to the interpreter.
func (w *worker) interpolate(format starlark.String, arg starlark.Value) (starlark.Value, error) {
	size, err := w.boundConversions(string(format), arg)
	if err != nil {
		return nil, err
	}
	size = addClamped(uint64(len(format)), size)
	if err := w.payAs("%", textBytes, size); err != nil {
		return nil, err
	}
	if size <= maxPlainSize {
		if text, ok := interpolatePlain(string(format), arg, int(size)); ok {
			return starlark.String(text), nil
		}
	}
	return starlark.Binary(syntax.PERCENT, format, arg)
}

// interpolatePlain evaluates format % arg if each conversion is %s of a string, or %s or %d of a small
// integer, and arg has one value for each conversion. size is an upper bound of the result's length. For
// anything else, interpolatePlain reports false, also for errors.
func interpolatePlain(format string, arg starlark.Value, size int) (string, bool) {
	args, several := arg.(starlark.Tuple)
	if !several {
		args = starlark.Tuple{arg}
	}
	var b strings.Builder
	b.Grow(size)
	for i := strings.IndexByte(format, '%'); i >= 0; i = strings.IndexByte(format, '%') {
		if i+1 == len(format) || len(args) == 0 {
			return "", false
		}
		b.WriteString(format[:i])
		conversion := format[i+1]
		switch v := args[0].(type) {
		case starlark.String:
			if conversion != 's' {
				return "", false
			}
			b.WriteString(string(v))
		case starlark.Int:
			n, small := v.Int64()
			if !small || conversion != 's' && conversion != 'd' {
				return "", false
			}
			var digits [20]byte
			b.Write(strconv.AppendInt(digits[:0], n, 10))
		default:
			return "", false
		}
		format, args = format[i+2:], args[1:]
	}
	b.WriteString(format)
	return b.String(), len(args) == 0
}

// boundConversions returns an upper bound of the length of all converted values together.
func (w *worker) boundConversions(format string, arg starlark.Value) (uint64, error) {
	quoted := strings.Contains(format, "%r")
	if t, ok := arg.(starlark.Tuple); ok {
		sum, _, err := w.argSizes("%", quoted, t.Elements())
		return sum, err
	}
	longest := uint64(0)
	if d, ok := arg.(*starlark.Dict); ok && strings.Contains(format, "%(") {
		_, n, err := w.argSizes("%", quoted, func(yield func(starlark.Value) bool) {
			d.Entries()(func(_, v starlark.Value) bool { return yield(v) })
		})
		if err != nil {
			return 0, err
		}
		longest = n
	}
	if takesWholeArg(format) {
		n, err := w.argSize("%", quoted, arg)
		if err != nil {
			return 0, err
		}
		longest = max(longest, n)
	}
	return multiplyClamped(longest, uint64(strings.Count(format, "%"))), nil
}

// takesWholeArg reports whether a conversion of format takes the argument itself, not an entry of
// it by name.
func takesWholeArg(format string) bool {
	for i := strings.IndexByte(format, '%'); i >= 0 && i+1 < len(format); {
		if c := format[i+1]; c != '(' && c != '%' {
			return true
		}
		next := strings.IndexByte(format[i+2:], '%')
		if next < 0 {
			return false
		}
		i += 2 + next
	}
	return false
}

// argSizes returns upper bounds for the lengths of values in a formatted text: their sum and the
// greatest.
func (w *worker) argSizes(op string, quoted bool, values iter.Seq[starlark.Value]) (sum, longest uint64, err error) {
	for v := range values {
		n, err := w.argSize(op, quoted, v)
		if err != nil {
			return 0, 0, err
		}
		sum, longest = addClamped(sum, n), max(longest, n)
	}
	return sum, longest, nil
}

// floatSize returns an upper bound for the length of f in a conversion such as %f or %d. It counts
// a byte for each bit in front of the point, because writing 309 digits takes 8 µs.
func floatSize(f float64) uint64 {
	if f = math.Abs(f); f < 1<<53 || math.IsInf(f, 0) || math.IsNaN(f) {
		return 32
	}
	return uint64(math.Ilogb(f))
}

// argSize returns an upper bound for the length of v in a formatted text. A string has quotes only
// if quoted is true.
func (w *worker) argSize(op string, quoted bool, v starlark.Value) (uint64, error) {
	if s, ok := v.(starlark.String); ok && !quoted {
		return uint64(len(s)), nil
	}
	if f, ok := v.(starlark.Float); ok && op == "%" {
		return floatSize(float64(f)), nil
	}
	return w.textSize(op, v)
}
