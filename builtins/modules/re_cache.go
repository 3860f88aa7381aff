package modules

import (
	"container/list"
	"sync"
)

// patterns is the cache of compiled patterns that all hosts of the process share.
var patterns reCache

// A reCache stores the compiled patterns that searches used last, up to reMaxWeight bytes. Many goroutines
// may use it at the same time.
type reCache struct {
	mu     sync.Mutex
	byKey  map[reKey]*list.Element // elements with a *reCacheEntry
	recent list.List               // the pattern that was used last is first
	weight int                     // bytes of all patterns
}

type reKey struct {
	source string
	anchor reAnchor
}

type reCacheEntry struct {
	key     reKey
	pattern *rePattern
}

// get returns the compiled pattern from the cache, or compiles it. Before, it calls pay with the size of the
// pattern. It does so for a cached pattern, too, because a plugin must not notice which patterns other
// plugins use.
func (c *reCache) get(source string, anchor reAnchor, pay func(reSize) error) (*rePattern, error) {
	key := reKey{source, anchor}
	if p := c.find(key); p != nil {
		return p, pay(p.size)
	}
	p, err := parseRE(source, anchor) // the lock is free meanwhile, because this may take milliseconds
	if err != nil {
		return nil, err
	}
	if err := pay(p.size); err != nil {
		return nil, err
	}
	if err := p.compile(); err != nil {
		return nil, err
	}
	c.add(key, p)
	return p, nil
}

// find returns the compiled pattern from the cache, or nil.
func (c *reCache) find(key reKey) *rePattern {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*reCacheEntry).pattern
}

// add adds a pattern, and drops the patterns that were not used for longest. It does not add a pattern that
// is heavier than the whole cache may be.
func (c *reCache) add(key reKey, p *rePattern) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil || p.weight() > reMaxWeight {
		return // another goroutine has compiled the pattern meanwhile
	}
	if c.byKey == nil {
		c.byKey = map[reKey]*list.Element{}
	}
	c.byKey[key] = c.recent.PushFront(&reCacheEntry{key, p})
	c.weight += p.weight()
	for c.recent.Len() > reMaxCached || c.weight > reMaxWeight {
		last := c.recent.Remove(c.recent.Back()).(*reCacheEntry)
		delete(c.byKey, last.key)
		c.weight -= last.pattern.weight()
	}
}
