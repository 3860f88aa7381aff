package fragments

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// A HashCache hashes each text once, because SHA-256 of long texts is the largest part of a
// prompt's time. It contains at most a given number of bytes. It has two halves: when the young one
// is full, it becomes the old one, whose texts go unless they are asked for again. It is safe for
// concurrent use.
type HashCache struct {
	max        int
	mu         sync.Mutex
	young, old map[string]*Digest // by text
	bytes      int                // of young
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
	d := c.find(f.Content)
	if d == nil {
		if !utf8.ValidString(f.Content) {
			return false
		}
		// The text may be a slice of a larger text, which must not stay in memory.
		d = c.add(&Digest{strings.Clone(f.Content), Sum(f.Content)})
	}
	f.Content, f.Digest = d.text, d
	return true
}

// find returns the digest of a text, or nil.
func (c *HashCache) find(text string) *Digest {
	c.mu.Lock()
	d, isYoung := c.young[text]
	if !isYoung {
		d = c.old[text]
	}
	c.mu.Unlock()
	if isYoung || d == nil {
		return d
	}
	return c.add(d)
}

// add stores a digest, and returns the one that another goroutine stored meanwhile, if any.
func (c *HashCache) add(d *Digest) *Digest {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.young[d.text]; other != nil {
		return other
	}
	size := len(d.text) + digestBytes
	if size > c.max/2 {
		return d
	}
	if c.bytes += size; c.young == nil || c.bytes > c.max/2 {
		c.old, c.young, c.bytes = c.young, map[string]*Digest{}, size
	}
	c.young[d.text] = d
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
