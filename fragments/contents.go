package fragments

import (
	"math"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"
)

// Contents remembers texts that were offered, so that each is hashed and looked
// through once: an offer of a known one costs a fingerprint, which finds a candidate,
// and a comparison, which proves it. The fingerprint identifies nothing: where two
// texts share it, the second is found by its SHA-256.
//
// What is remembered is bounded in bytes: when half of them are new, what was not
// offered since the half before is forgotten. Contents is safe for concurrent use.
type Contents struct {
	max  int64
	mask uint64 // of fingerprints: all bits, but for tests

	mu         sync.RWMutex
	young, old generation
}

// A generation is what was offered within one span of time.
type generation struct {
	fast  map[uint64]*Known // by fingerprints; of several with one, the first
	ids   map[Hash]*Known
	bytes int64
}

// Known is what [Contents] found out about a text, which is UTF-8.
type Known struct {
	text string
	id   Hash
}

// NewContents returns a table that holds at most max bytes of text.
func NewContents(max int64) *Contents {
	return &Contents{max: max, mask: math.MaxUint64}
}

// Know makes f a fragment whose id is known, so that [Merge] does not read its
// content, which from now on shares memory with equal ones. It reports whether the
// content is UTF-8; one that is not stays as it is.
func (c *Contents) Know(f *Fragment) bool {
	if f.Known.is(f.Content) {
		return true
	}
	fast := fingerprint(f.Content) & c.mask
	k := c.find(fast, f.Content)
	if k == nil {
		if !utf8.ValidString(f.Content) {
			return false
		}
		k = c.add(fast, &Known{f.Content, Sum(f.Content)}, false)
	}
	f.Content, f.Known = k.text, k
	return true
}

// Recall is Know for a content that is known already; of another it reports false, and
// leaves f alone.
func (c *Contents) Recall(f *Fragment) bool {
	k := c.find(fingerprint(f.Content)&c.mask, f.Content)
	if k == nil {
		return false
	}
	f.Content, f.Known = k.text, k
	return true
}

// find returns the entry of a text, or nil.
func (c *Contents) find(fast uint64, text string) *Known {
	c.mu.RLock()
	k, young := c.young.fast[fast], true
	if k == nil {
		k, young = c.old.fast[fast], false
	}
	c.mu.RUnlock()
	if k == nil || k.text != text {
		return nil
	}
	if !young {
		return c.add(fast, k, true)
	}
	return k
}

// add remembers k, unless its text is known meanwhile. It returns what is known. Its
// text is copied unless it is in memory of its own: it may be a piece of something
// larger.
func (c *Contents) add(fast uint64, k *Known, own bool) *Known {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := int64(len(k.text))
	if size > c.max/2 {
		return k
	}
	if there := c.young.ids[k.id]; there != nil {
		return there
	}
	if there := c.old.ids[k.id]; there != nil {
		k = there
	} else if !own {
		k = &Known{strings.Clone(k.text), k.id}
	}
	if c.young.bytes+size > c.max/2 {
		c.old, c.young = c.young, generation{}
	}
	c.young.add(fast, k)
	return k
}

func (g *generation) add(fast uint64, k *Known) {
	if g.ids == nil {
		g.fast, g.ids = map[uint64]*Known{}, map[Hash]*Known{}
	}
	if g.fast[fast] == nil {
		g.fast[fast] = k
	}
	g.ids[k.id] = k
	g.bytes += int64(len(k.text))
}

// is reports whether k is about text: about that memory, so that no byte is read
// and a fragment whose content was replaced since is not taken for what it was.
func (k *Known) is(text string) bool {
	return k != nil && text != "" && len(k.text) == len(text) && unsafe.StringData(k.text) == unsafe.StringData(text)
}

// Equal reports true, for tests that compare fragments: what is known of a
// content makes no fragment another one.
func (k *Known) Equal(*Known) bool { return true }

// String returns the first digits of the text's hash, so that a fragment prints
// alike in each run; "" for nil.
func (k *Known) String() string {
	if k == nil {
		return ""
	}
	return k.id.Short()
}
