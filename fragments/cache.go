package fragments

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// A HashCache hashes each text once, because SHA-256 of long texts is the largest part of a
// prompt's time. It contains at most a given number of bytes, and becomes empty when it is
// full. It is safe for concurrent use.
type HashCache struct {
	max     int
	mu      sync.RWMutex
	digests map[string]*Digest // by text
	bytes   int
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
	c.mu.RLock()
	d := c.digests[f.Content]
	c.mu.RUnlock()
	if d == nil {
		if !utf8.ValidString(f.Content) {
			return false
		}
		d = c.add(f.Content)
	}
	f.Content, f.Digest = d.text, d
	return true
}

// add returns the digest of a text and stores it. It copies the text, which may be a slice of a
// larger text that the cache must not keep in memory.
func (c *HashCache) add(text string) *Digest {
	d := &Digest{strings.Clone(text), Sum(text)}
	size := len(text) + digestBytes
	c.mu.Lock()
	defer c.mu.Unlock()
	if size > c.max {
		return d
	}
	if other := c.digests[text]; other != nil { // another goroutine added it meanwhile
		return other
	}
	if c.bytes += size; c.digests == nil || c.bytes > c.max {
		c.digests, c.bytes = map[string]*Digest{}, size
	}
	c.digests[d.text] = d
	return d
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
