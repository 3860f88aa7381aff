package fragments

import (
	"strings"
	"unicode/utf8"

	"github.com/starhost/starhost/internal/cache"
)

// A HashCache hashes each text once, because SHA-256 of long texts is the largest part of a
// prompt's time. It contains at most a given number of bytes. It is safe for concurrent use.
type HashCache struct {
	max     int
	digests cache.Cache[string, *Digest] // by text
}

// A Digest is a text and its hash. It is immutable.
type Digest struct {
	text string
	id   Hash
}

// digestBytes is roughly the memory of a digest without its text.
const digestBytes = 128

// NewHashCache returns a cache of at most max bytes.
func NewHashCache(max int) *HashCache { return &HashCache{max: max} }

// Identify sets f.Digest, so that [Merge] does not hash the content. Equal contents share
// memory afterwards. It reports false for a content that is not UTF-8.
func (c *HashCache) Identify(f *Fragment) bool {
	if f.Digest.matches(f.Content) {
		return true
	}
	d, ok := c.digests.Get(f.Content)
	if !ok {
		if !utf8.ValidString(f.Content) {
			return false
		}
		text := strings.Clone(f.Content) // it may be a slice of a larger text, which must not stay in memory
		d = c.digests.Add(text, &Digest{text, Sum(text)}, len(text)+digestBytes, c.max)
	}
	f.Content, f.Digest = d.text, d
	return true
}

// matches reports whether d is the digest of text. If both share memory, it compares no bytes.
func (d *Digest) matches(text string) bool { return d != nil && d.text == text }

// Equal reports true. A digest adds nothing to the content, so tests that compare fragments
// ignore it.
func (d *Digest) Equal(*Digest) bool { return true }

// String returns the first digits of the hash, or "" for nil, so that a fragment prints the
// same in each run.
func (d *Digest) String() string {
	if d == nil {
		return ""
	}
	return d.id.Short()
}
