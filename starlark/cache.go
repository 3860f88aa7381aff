package starlark

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A Cache stores compiled programs and notes of syntax trees, by the names and texts of files, so
// that starhost parses and compiles a file once. It stores no errors and changes no result. The
// zero value is ready and works in memory; [OpenCache] adds a file on disk. It is safe for
// concurrent use.
type Cache struct {
	mu       sync.Mutex
	items    map[cacheKey][]byte           // encoded notes and programs that this process used
	programs map[cacheKey]*compiledProgram // the same programs, ready to run
	size     int                           // bytes of all items and of the programs' sources
	unsaved  bool                          // whether Save has something to write

	dir       string      // folder of the file; "" in memory
	fileItems storedItems // items that the file in dir had at the start
}

// maxCached is the most bytes of a Cache in memory. Above it, the Cache drops everything.
// Programs count as their sources, and take up to five times as much memory.
const maxCached = 16 << 20

// A cacheKey is the SHA-256 of everything that an item depends on, except the build.
type cacheKey [sha256.Size]byte

// fileKey returns a digest of everything that the syntax of a file depends on.
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

// add stores a note or a program. size is in bytes. The caller locks c.mu.
func (c *Cache) add(key cacheKey, item []byte, p *compiledProgram, size int) {
	if c.size += size; c.items == nil || c.size > maxCached {
		c.items, c.programs, c.size = map[cacheKey][]byte{}, map[cacheKey]*compiledProgram{}, size
	}
	if p != nil {
		c.programs[key] = p
	} else {
		c.items[key] = item
	}
}

// item returns an encoded item. The caller locks c.mu.
func (c *Cache) item(key cacheKey) (item []byte, ok bool) {
	if item, ok = c.items[key]; ok {
		return item, true
	}
	if item, ok = c.fileItems.find(key); ok {
		c.add(key, item, nil, len(item))
	}
	return item, ok
}

// Note returns the result of find for the syntax tree of the file. The cache stores one result for
// each file and kind. So find must depend on the name and the text of the file alone, and each find
// needs a different kind. The cache does not store errors. No caller may change the result.
func (f *File) Note(kind string, find func(*syntax.File) ([]byte, error)) ([]byte, error) {
	key := f.key.itemKey("note", kind)
	f.cache.mu.Lock()
	note, ok := f.cache.item(key)
	f.cache.mu.Unlock()
	if ok {
		return note, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	tree, err := f.parseTree()
	if err != nil {
		return nil, err
	}
	if note, err = find(tree); err != nil {
		return nil, err
	}
	f.cache.mu.Lock()
	defer f.cache.mu.Unlock()
	f.cache.add(key, note, nil, len(note))
	f.cache.unsaved = true
	return note, nil
}

// program returns the program with a key from the cache, or else the result of compile. size is the
// length of the source in bytes.
func (c *Cache) program(key cacheKey, size int, compile func() (*compiledProgram, error)) (*compiledProgram, error) {
	c.mu.Lock()
	p := c.programs[key]
	var item []byte
	if p == nil {
		item, _ = c.item(key)
	}
	c.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p, isNew := decodeProgram(item), false
	if p == nil {
		var err error
		if p, err = compile(); err != nil {
			return nil, err
		}
		isNew = p.sites == nil // programs with probes stay in memory
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, nil, p, size)
	c.unsaved = c.unsaved || isNew
	return p, nil
}

// encode returns the names that the program uses, separated by NUL, then a newline and the code.
func (p *compiledProgram) encode() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(strings.Join(p.uses, "\x00") + "\n")
	err := p.Write(&b)
	return b.Bytes(), err
}

// decodeProgram is the inverse of encode. It returns nil for other bytes.
func decodeProgram(item []byte) (p *compiledProgram) {
	defer func() {
		if recover() != nil { // the decoder panics on code that no compiler wrote
			p = nil
		}
	}()
	uses, code, _ := bytes.Cut(item, []byte("\n"))
	program, err := starlark.CompiledProgram(bytes.NewReader(code))
	if err != nil {
		return nil
	}
	return &compiledProgram{Program: program, uses: strings.Split(string(uses), "\x00")}
}
