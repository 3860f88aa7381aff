package modules

import (
	"container/list"
	"sync"
)

// patterns caches the compiled patterns of all hosts of the process.
var patterns reCache

// A reCache stores the compiled patterns of the latest searches, up to reMaxWeight bytes.
// Goroutines may share it.
type reCache struct {
	mu     sync.Mutex
	byKey  map[reKey]*list.Element // the values are *reCacheEntry
	recent list.List               // the latest use is first
	weight int                     // bytes
}

type reKey struct {
	source string
	anchor reAnchor
}

type reCacheEntry struct {
	key     reKey
	pattern *rePattern
}

// get returns the compiled pattern from the cache, or compiles it. It calls pay with the size of
// the pattern before it compiles, and also for a cached pattern, because a plugin must not
// observe which patterns other plugins use.
func (c *reCache) get(source string, anchor reAnchor, pay func(reSize) error) (*rePattern, error) {
	key := reKey{source, anchor}
	if p := c.find(key); p != nil {
		return p, pay(p.size)
	}
	p, err := parseRE(source, anchor) // without the lock, because it may take milliseconds
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

// find returns the pattern from the cache, or nil.
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

// add adds a pattern and drops the patterns of the oldest searches. It does not add a pattern
// that is heavier than the whole cache may be.
func (c *reCache) add(key reKey, p *rePattern) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil || p.weight() > reMaxWeight {
		return // if there is an entry, another goroutine compiled the pattern meanwhile
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
