package starlark

import (
	"crypto/sha256"
	"sync"

	"go.starlark.net/syntax"
)

// A Cache stores compiled programs and notes of syntax trees in memory, by the names and texts of
// files, so that a process that loads plugins again parses and compiles a file once. It stores no
// errors and changes no result. The zero value is ready. It is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	items map[cacheKey]cacheItem
	size  int // bytes of all notes and of the programs' sources
}

// A cacheItem is an entry of a Cache: a note about a syntax tree, or a compiled program.
type cacheItem struct {
	note    []byte
	program *compiledProgram
}

// maxCached is the most bytes of a Cache. A Cache that grows beyond it drops all its items. A program counts
// as many bytes as its source, and takes up to five times as much memory.
const maxCached = 16 << 20

// A cacheKey is the SHA-256 of everything that an item depends on.
type cacheKey [sha256.Size]byte

// fileKey returns a digest of everything that the syntax tree of a file depends on.
func fileKey(o syntax.FileOptions, name string, text []byte) cacheKey {
	var room [1 << 10]byte
	data := room[:0]
	for _, on := range []bool{o.Set, o.While, o.TopLevelControl, o.GlobalReassign, o.LoadBindsGlobally, o.Recursion} {
		bit := byte('0')
		if on {
			bit = '1'
		}
		data = append(data, bit)
	}
	data = append(data, name...)
	data = append(data, 0)
	return sha256.Sum256(append(data, text...))
}

// itemKey returns the key of a note or a program of the file.
func (key cacheKey) itemKey(kind, name string) cacheKey {
	return sha256.Sum256(append(append(append(key[:], kind...), 0), name...))
}

// find returns the item with a key.
func (c *Cache) find(key cacheKey) (item cacheItem, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	item, ok = c.items[key]
	return item, ok
}

// add stores an item. size is in bytes.
func (c *Cache) add(key cacheKey, item cacheItem, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += size; c.items == nil || c.size > maxCached {
		c.items, c.size = map[cacheKey]cacheItem{}, size
	}
	c.items[key] = item
}

// Note returns what find returns for the syntax tree of the file. The cache stores one result for each file
// and kind. So find must depend on the name and the text of the file alone, and each function find needs a
// kind of its own. The cache stores no errors. No caller may change the result.
func (f *File) Note(kind string, find func(*syntax.File) ([]byte, error)) ([]byte, error) {
	key := f.key.itemKey("note", kind)
	if item, ok := f.cache.find(key); ok {
		return item.note, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	tree, err := f.parseTree()
	if err != nil {
		return nil, err
	}
	note, err := find(tree)
	if err != nil {
		return nil, err
	}
	f.cache.add(key, cacheItem{note: note}, len(note))
	return note, nil
}

// program returns the program with a key from the cache, or else the result of compile. size is the
// length of the source in bytes.
func (c *Cache) program(key cacheKey, size int, compile func() (*compiledProgram, error)) (*compiledProgram, error) {
	if item, ok := c.find(key); ok {
		return item.program, nil
	}
	p, err := compile()
	if err != nil {
		return nil, err
	}
	c.add(key, cacheItem{program: p}, size)
	return p, nil
}
