package starlark

import (
	"crypto/sha256"

	"go.starlark.net/syntax"

	"github.com/starhost/starhost/internal/cache"
)

// A Cache stores compiled programs and notes of syntax trees in memory, by the names and texts of
// files, so that a process that loads plugins again parses and compiles a file once. It stores no
// errors and changes no result. The zero value is ready. It is safe for concurrent use.
type Cache struct {
	items cache.Cache[cacheKey, any] // a note, or a *compiledProgram
}

// maxCached is the most bytes of a Cache. An item counts as many bytes as its source, and a program takes up
// to five times as much memory.
const maxCached = 16 << 20

// A cacheKey is everything that an item depends on.
type cacheKey struct {
	options syntax.FileOptions
	file    [sha256.Size]byte // digest of the name and the text
	kind    string            // the kind of a note, or "program"
	names   string            // the names that a program sees
}

// item returns the item with a key, or else what make returns. size is the length of the source in bytes.
func (c *Cache) item(key cacheKey, size int, make func() (any, error)) (any, error) {
	if item, ok := c.items.Get(key); ok {
		return item, nil
	}
	item, err := make()
	if err != nil {
		return nil, err
	}
	return c.items.Add(key, item, size, maxCached), nil
}

// Note returns what find returns for the syntax tree of the file. The cache stores one result for each file
// and kind. So find must depend on the name and the text of the file alone, and each function find needs a
// kind of its own. The cache stores no errors. No caller may change the result.
func (f *File) Note(kind string, find func(*syntax.File) (any, error)) (any, error) {
	return f.cache.item(f.key(kind, ""), len(f.src), func() (any, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		tree, err := f.parseTree()
		if err != nil {
			return nil, err
		}
		return find(tree)
	})
}
