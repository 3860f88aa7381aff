package starlark

import (
	"crypto/sha256"
	"sync"

	"go.starlark.net/syntax"

	"github.com/starhost/starhost/internal/cache"
)

// A Cache stores compiled programs and notes of syntax trees in memory, by the names and texts of
// files, so that a process that loads plugins again parses and compiles a file once. It stores no
// errors and changes no result. The zero value is ready. It is safe for concurrent use.
type Cache struct {
	files cache.Cache[[sha256.Size]byte, *notes] // by the digest of the dialect, the name and the text
}

// maxCached is the most bytes of a Cache. A note counts as many bytes as its source, and a program takes up to
// five times as much memory.
const maxCached = 16 << 20

// notes are what was found out about a file: its programs, and the results of [File.Note].
type notes struct {
	mu   sync.Mutex // also locks the tree of the file
	list []note
}

type note struct {
	kind  string
	names string // the defined names that a program sees
	value any
}

// maxNotes is the most notes of a file. The oldest ones go.
const maxNotes = 8

// note returns the note of a kind, or else what find returns for the syntax tree. It stores no errors.
func (f *File) note(kind, names string, find func(*syntax.File) (any, error)) (any, error) {
	f.notes.mu.Lock()
	defer f.notes.mu.Unlock()
	for _, note := range f.notes.list {
		if note.kind == kind && note.names == names {
			return note.value, nil
		}
	}
	tree, err := f.parseTree()
	if err != nil {
		return nil, err
	}
	value, err := find(tree)
	if err != nil {
		return nil, err
	}
	f.notes.list = append(f.notes.list[max(0, len(f.notes.list)+1-maxNotes):], note{kind, names, value})
	return value, nil
}

// Note returns what find returns for the syntax tree of the file. The cache stores one result for each file
// and kind. So find must depend on the name and the text of the file alone, and each function find needs a
// kind of its own. The cache stores no errors. No caller may change the result.
func (f *File) Note(kind string, find func(*syntax.File) (any, error)) (any, error) {
	return f.note(kind, "", find)
}
