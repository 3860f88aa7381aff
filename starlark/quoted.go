package starlark

import (
	endian "encoding/binary" // binary is a word of operators.go
	"math/bits"
	"unsafe"
)

// maxQuoted is the most bytes that one byte becomes between quotes.
const maxQuoted = 4

// quotedSize bounds the length of s between quotes: a byte can become "\xff".
//
// It looks at eight bytes at a time; quotedByte is the rule.
func quotedSize(s string) uint64 {
	n, rest := uint64(len(s)), unsafe.Slice(unsafe.StringData(s), len(s))
	for ; len(rest) >= 8; rest = rest[8:] {
		n += 3 * uint64(bits.OnesCount64(escaped(endian.LittleEndian.Uint64(rest))))
	}
	for _, c := range rest {
		n += quotedByte(c) - 1
	}
	return n
}

// quotedByte bounds the length of one byte between quotes.
func quotedByte(c byte) uint64 {
	if c < ' ' || c > '~' || c == '"' || c == '\\' {
		return maxQuoted
	}
	return 1
}

// escaped returns word with the highest bit of those bytes set that quotedByte finds
// to be longer, and no other. Below it, the sums of seven bits and a number reach the
// highest bit, and never the next byte.
func escaped(word uint64) uint64 {
	const (
		each = 0x0101010101010101 // times a number: that number in each byte
		high = 0x80 * each
	)
	low := word &^ high
	printed := low + (0x80-' ')*each // reaches the bit from ' ' on
	deleted := low + each            // at 0x7f alone
	quote := (low ^ '"'*each) + 0x7f*each
	slash := (low ^ '\\'*each) + 0x7f*each // unless they are the same
	return (word | ^printed | deleted | ^quote | ^slash) & high
}
