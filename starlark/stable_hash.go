package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// stableHash returns the interpreter's hash of a key, except for long strings. The interpreter's
// hash of a long string differs in each process, so a charge that depends on it would not repeat.
// stableHash gives long strings a repeatable hash, because a script can put them into tuples
// together with elements that collide.
func stableHash(k starlark.Value) uint32 {
	switch k := k.(type) {
	case starlark.String:
		return textHash(string(k))
	case starlark.Bytes:
		return textHash(string(k))
	case starlark.Tuple:
		var x, m uint32 = 0x345678, 1000003
		for _, elem := range k {
			x ^= stableHash(elem) * m
			m += 82520 + uint32(2*len(k))
		}
		return x
	case *starlarkstruct.Struct:
		var x, m uint32 = 8731, 9839
		for name, v := range k.Entries() {
			x ^= 3 * textHash(name)
			x ^= stableHash(v) * m
			m += 7349
		}
		return x
	}
	h, _ := k.Hash() // no table has a key that cannot be hashed
	return h
}

// hashedEnd is the number of bytes that count at each end of a long string.
const hashedEnd = 128

// textHash returns the FNV-1a hash of the two ends of a string. The interpreter uses the same hash
// for short strings.
func textHash(s string) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(s); i++ {
		if len(s) > 2*hashedEnd && i == hashedEnd {
			i = len(s) - hashedEnd
			h ^= uint32(len(s))
			h *= 16777619
		}
		h ^= uint32(s[i])
		h *= 16777619
	}
	return h
}
