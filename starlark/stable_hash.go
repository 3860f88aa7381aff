package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// stableHash is the interpreter's hash of a key, but for strings of seeded length.
// Their hash differs from process to process: no script can aim at it, and a
// count of it would not repeat. Inside a tuple they are constants that a script
// can put beside what does collide, so that they need some hash that repeats.
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
	h, _ := k.Hash() // what cannot be hashed is in no table
	return h
}

// hashedEnd bounds how much of each end of a long string counts.
const hashedEnd = 128

// textHash is FNV-1a, as the interpreter has it for short strings, of the ends of
// a string.
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
