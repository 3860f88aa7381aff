package starlark

// A Key is what [Cache.Keep] keeps something under: a digest of all that it depends
// on, and of what it is about.
type Key = [len(recordKey{})]byte

const (
	// maxKeptValue is the most bytes of a value that Keep takes.
	maxKeptValue = 256 << 10
	// maxKept is the most bytes of values that a Cache holds in memory, for the next
	// Save and for itself.
	maxKept = 16 << 20
)

// kept are the values of a Cache.
type kept struct {
	fresh  map[recordKey][]byte // since the last Save; nil of one that was dropped
	size   int                  // of these
	looked map[recordKey]bool   // found in the pack
}

// Keep remembers a value beside what the cache knows of files, up to its bounds, if
// the cache has a folder. The value must not be changed.
func (c *Cache) Keep(key Key, value []byte) {
	if c.pack == nil || len(value) > maxKeptValue {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept.size+len(value) <= maxKept {
		c.kept.put(key, value)
	}
}

// Drop forgets what was kept under a key, in the folder, too.
func (c *Cache) Drop(key Key) error {
	if c.pack == nil {
		return nil
	}
	c.mu.Lock()
	c.kept.put(key, nil)
	c.mu.Unlock()
	return c.Save()
}

// Recall returns what was kept under a key, nil if nothing is.
func (c *Cache) Recall(key Key) []byte {
	if c.pack == nil {
		return nil
	}
	c.mu.Lock()
	value, known := c.kept.fresh[key]
	c.mu.Unlock()
	if known {
		return value
	}
	if value = c.pack.value(key); value != nil {
		c.mu.Lock()
		c.kept.looked[key] = true
		c.mu.Unlock()
	}
	return value
}

// put takes over a value.
func (k *kept) put(key recordKey, value []byte) {
	k.size += len(value) - len(k.fresh[key])
	k.fresh[key] = value
}
