package call

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starhost/starhost/internal/errtext"
)

// maxShownBits is the number of bits from which Show describes an int in words, because writing its digits
// takes quadratic time.
const maxShownBits = 512

// Bounds of a list or dict whose text Show writes.
const (
	maxShownParts = 16  // the most values in it
	maxShownText  = 512 // the most bytes of a string in it
)

// Show returns the beginning of v's text, for a message. It does not read the rest of a string, which may
// have megabytes, and does not read a large list or dict.
func Show(v starlark.Value) string {
	switch v := v.(type) {
	case starlark.String:
		return errtext.Quote(string(v))
	case starlark.Bytes:
		return "b" + errtext.Quote(string(v))
	case starlark.Int:
		if n := v.BigInt().BitLen(); n > maxShownBits {
			return fmt.Sprintf("an int of %d bits", n)
		}
	}
	if parts := maxShownParts; !isSmall(v, &parts) {
		return "a large " + v.Type()
	}
	return errtext.Cut(v.String())
}

// isSmall reports whether v has at most *parts values, and subtracts their number from *parts.
func isSmall(v starlark.Value, parts *int) bool {
	if *parts--; *parts < 0 {
		return false
	}
	switch v := v.(type) {
	case starlark.String:
		return len(v) <= maxShownText
	case starlark.Bytes:
		return len(v) <= maxShownText
	case starlark.Int:
		return v.BigInt().BitLen() <= maxShownBits
	case *starlarkstruct.Struct:
		return false
	case starlark.IterableMapping:
		for key, value := range starlark.Entries(v) {
			if !isSmall(key, parts) || !isSmall(value, parts) {
				return false
			}
		}
	case starlark.Iterable:
		for elem := range starlark.Elements(v) {
			if !isSmall(elem, parts) {
				return false
			}
		}
	}
	return true
}
