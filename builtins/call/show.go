package call

import (
	"fmt"

	"github.com/starhost/starhost/internal/errtext"
	"go.starlark.net/starlark"
)

// maxShownBits is the size from which Show describes an int, because writing its digits takes
// quadratic time.
const maxShownBits = 512

// Show writes v for a message: the start of its text. It does not read the rest of a string,
// which may have megabytes.
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
	return errtext.Cut(v.String())
}
