package starlark

// A Key is what [Cache.Keep] keeps something under: a digest of all that it depends
// on, and of what it is about. Its first byte is a [Shelf].
type Key = [len(recordKey{})]byte

// A Shelf is for values that are asked for together: they lie together in the folder.
type Shelf byte

// The shelves. What is on the first is read as a whole once some of it was asked for.
const (
	ShelfStart    Shelf = iota // what each start of a program asks for
	ShelfNeed                  // what is asked for one by one, if at all
	shelfPrograms              // of the cache's own
)

// Key returns the key on the shelf that a digest makes.
func (s Shelf) Key(sum Key) Key {
	sum[0] = byte(s)
	return sum
}

const (
	// maxKeptValue is the most bytes of a value that Keep takes.
	maxKeptValue = 1 << 20
	// maxKept is the most bytes of values that a Cache holds in memory, for the next
	// Save and for itself.
	maxKept = 16 << 20
)

// kept are the values of a Cache.
type kept struct {
	values map[recordKey][]byte // since the cache was opened; nil of one that was dropped
	size   int                  // of these
	fresh  map[recordKey][]byte // of them, those since the last Save
}

// Keep remembers a value beside what the cache knows of files, up to its bounds, if
// the cache has a folder. It reports whether it does. The value must not be changed.
func (c *Cache) Keep(key Key, value []byte) bool {
	if c.pack == nil || len(value) > maxKeptValue {
		return false
	}
	room := maxKept
	if key[0] != byte(ShelfStart) {
		room /= 2 // the other half is for what each start asks for
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept.size+len(value) > room {
		return false
	}
	c.kept.put(key, value)
	return true
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

// Recall returns what was kept under a key, nil if nothing is. It must not be changed.
func (c *Cache) Recall(key Key) []byte {
	if c.pack == nil {
		return nil
	}
	c.mu.Lock()
	value, known := c.kept.values[key]
	c.mu.Unlock()
	if !known {
		value = c.pack.value(key)
	}
	return value
}

// put takes over a value.
func (k *kept) put(key recordKey, value []byte) {
	k.size += len(value) - len(k.values[key])
	k.values[key], k.fresh[key] = value, value
}
