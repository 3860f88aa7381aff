// Package cache keeps what is expensive to make, in a bounded memory.
package cache

import "sync"

// A Cache has two halves: when the young one is full, it becomes the old one, whose items go unless
// somebody asks for them. The zero value is empty. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	mu         sync.Mutex
	young, old map[K]item[V]
	size       int // of young
	most       int // as in the last Add
}

type item[V any] struct {
	value V
	size  int
}

// Get returns the item with a key.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	got, ok := c.young[key]
	if !ok {
		if got, ok = c.old[key]; ok {
			c.add(key, got)
		}
	}
	return got.value, ok
}

// Add adds an item with a size. All items together have at most the size most. If another goroutine
// has added the item meanwhile, Add returns that one.
func (c *Cache[K, V]) Add(key K, value V, size, most int) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, ok := c.young[key]; ok {
		return other.value
	}
	c.most = most
	c.add(key, item[V]{value, size})
	return value
}

// Set is Add, and replaces an item that is there.
func (c *Cache[K, V]) Set(key K, value V, size, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = most
	c.add(key, item[V]{value, size})
}

// add adds an item, unless it is larger than a half. The caller locks c.mu.
func (c *Cache[K, V]) add(key K, added item[V]) {
	if added.size > c.most/2 {
		return
	}
	if c.size += added.size - c.young[key].size; c.young == nil || c.size > c.most/2 {
		c.old, c.young, c.size = c.young, map[K]item[V]{}, added.size
	}
	c.young[key] = added
}
