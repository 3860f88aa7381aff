package fragments

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"unsafe"
)

// A Hash identifies a content: it is the SHA-256 of its bytes alone. The zero Hash means that
// none was computed.
type Hash [sha256.Size]byte

// shortDigits is the number of digits that reports show of a hash.
const shortDigits = 12

// Sum returns the hash of content. It does not check whether the content is UTF-8.
func Sum(content string) Hash {
	// The conversion []byte(content) would copy, which takes as long as hashing.
	return sha256.Sum256(unsafe.Slice(unsafe.StringData(content), len(content)))
}

// ParseHash reads the text of [Hash.String]: 64 lower-case hexadecimal digits.
func ParseHash(text string) (Hash, error) {
	var h Hash
	if len(text) != hex.EncodedLen(len(h)) {
		return Hash{}, fmt.Errorf("hash: got %d characters, want %d lower-case hexadecimal digits", len(text), hex.EncodedLen(len(h)))
	}
	// Comparing rejects upper case, which hex.Decode reads.
	if _, err := hex.Decode(h[:], []byte(text)); err != nil || h.String() != text {
		return Hash{}, fmt.Errorf("hash: got %q, want %d lower-case hexadecimal digits", text, hex.EncodedLen(len(h)))
	}
	return h, nil
}

// String returns the 64 lower-case hexadecimal digits of h.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Short returns the first 12 digits of h, for people to read.
func (h Hash) Short() string { return h.String()[:shortDigits] }

// IsZero reports whether h was never computed.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText returns the digits of [Hash.String].
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the digits with [ParseHash].
func (h *Hash) UnmarshalText(text []byte) error {
	parsed, err := ParseHash(string(text))
	if err != nil {
		return err
	}
	*h = parsed
	return nil
}
