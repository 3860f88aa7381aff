package fragments

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost/internal/errtext"
)

// A Content is a text with its id, so that a Store does not hash it again. The code that makes
// a Content ensures that ID is Sum(Text).
type Content struct {
	ID     Hash
	Text   string
	Source string // the reference or the plugin that it comes from, "" if unknown; a Store may ignore it
}

// A Store stores contents by their ids, each once, and aliases for them. People can type the
// first digits of an id, and remember an alias. The methods are safe for concurrent use.
type Store interface {
	// Put stores contents. It does not retain the slice. Putting a content again changes
	// nothing.
	Put(ctx context.Context, contents ...Content) error
	// Get returns a content; ok is false if there is none.
	Get(ctx context.Context, id Hash) (text string, ok bool, err error)
	// Find returns at most limit of the ids that begin with some lower-case hexadecimal digits,
	// sorted.
	Find(ctx context.Context, digits string, limit int) ([]Hash, error)
	// SetAlias gives a stored content an alias, which [CheckAlias] allows. If another content
	// has the alias, it loses it. The zero Hash removes the alias.
	SetAlias(ctx context.Context, name string, id Hash) error
	// Alias returns the id of an alias; ok is false if there is none.
	Alias(ctx context.Context, name string) (id Hash, ok bool, err error)
	// Aliases returns all aliases, sorted by their bytes.
	Aliases(ctx context.Context) ([]string, error)
}

// CheckAlias returns an error unless a text can be an alias: 1 to 64 of A-Z a-z 0-9 _ - and .,
// and neither - nor . first. An alias is therefore never a reference with a prefix, nor a path
// to another folder.
func CheckAlias(name string) error {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
	if name == "" || len(name) > 64 || strings.Trim(name, letters+"-.") != "" || strings.Trim(name[:1], letters) != "" {
		return fmt.Errorf("alias: got %q, want 1 to 64 of A-Z a-z 0-9 _ - . and neither - nor . first", errtext.CutTo(name, 64, ""))
	}
	return nil
}

// A MemoryStore is a Store in the process's memory. A change that would be over a limit is an
// error that names the limit, and changes nothing. The zero value is an empty store. Set the
// limits before the first use.
type MemoryStore struct {
	// MaxBytes is the most bytes of all contents; 0 means 64 MiB.
	MaxBytes int64
	// MaxContents is the most contents; 0 means 100,000.
	MaxContents int
	// MaxAliases is the most names; 0 means 10,000.
	MaxAliases int

	mu       sync.RWMutex
	contents map[Hash]string
	aliases  map[string]Hash
	size     int64 // bytes of contents
}

// Put implements [Store].
func (m *MemoryStore) Put(_ context.Context, contents ...Content) error {
	if m.hasAll(contents) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	fresh, size := map[Hash]string{}, m.size
	for _, c := range contents {
		if !m.has(c.ID) {
			fresh[c.ID] = c.Text
		}
	}
	for _, text := range fresh {
		size += int64(len(text))
	}
	if most := cmp.Or(m.MaxBytes, 64<<20); size > most {
		return fmt.Errorf("fragment store: got %d bytes of contents, want at most %d (MaxBytes)", size, most)
	}
	if n, most := len(m.contents)+len(fresh), cmp.Or(m.MaxContents, 100_000); n > most {
		return fmt.Errorf("fragment store: got %d contents, want at most %d (MaxContents)", n, most)
	}
	if m.contents == nil {
		m.contents = map[Hash]string{}
	}
	maps.Copy(m.contents, fresh)
	m.size = size
	return nil
}

// hasAll reports whether all contents are stored. It takes only the read lock, because most
// prompts repeat contents, and prompts should not wait for each other.
func (m *MemoryStore) hasAll(contents []Content) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return !slices.ContainsFunc(contents, func(c Content) bool { return !m.has(c.ID) })
}

func (m *MemoryStore) has(id Hash) bool {
	_, ok := m.contents[id]
	return ok
}

// Get implements [Store].
func (m *MemoryStore) Get(_ context.Context, id Hash) (text string, ok bool, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	text, ok = m.contents[id]
	return text, ok, nil
}

// Find implements [Store].
func (m *MemoryStore) Find(_ context.Context, digits string, limit int) ([]Hash, error) {
	first, err := padHash(digits, "0")
	if err != nil {
		return nil, err
	}
	last, _ := padHash(digits, "f") // as valid as the first
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []Hash
	for id := range m.contents {
		if bytes.Compare(first[:], id[:]) <= 0 && bytes.Compare(id[:], last[:]) <= 0 {
			found = append(found, id)
		}
	}
	slices.SortFunc(found, func(a, b Hash) int { return bytes.Compare(a[:], b[:]) })
	return found[:min(len(found), limit)], nil
}

// padHash returns the id that begins with some digits and continues with repetitions of one
// digit.
func padHash(digits, digit string) (Hash, error) {
	return ParseHash(digits + strings.Repeat(digit, max(0, hex.EncodedLen(len(Hash{}))-len(digits))))
}

// SetAlias implements [Store].
func (m *MemoryStore) SetAlias(_ context.Context, name string, id Hash) error {
	if err := CheckAlias(name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if id.IsZero() {
		delete(m.aliases, name)
		return nil
	}
	if !m.has(id) {
		return fmt.Errorf("alias %s: got %s, want a content of the store", name, id)
	}
	_, exists := m.aliases[name]
	if most := cmp.Or(m.MaxAliases, 10_000); !exists && len(m.aliases) >= most {
		return fmt.Errorf("fragment store: got %d aliases, want at most %d (MaxAliases)", len(m.aliases)+1, most)
	}
	if m.aliases == nil {
		m.aliases = map[string]Hash{}
	}
	m.aliases[name] = id
	return nil
}

// Alias implements [Store].
func (m *MemoryStore) Alias(_ context.Context, name string) (id Hash, ok bool, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	id, ok = m.aliases[name]
	return id, ok, nil
}

// Aliases implements [Store].
func (m *MemoryStore) Aliases(context.Context) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Sorted(maps.Keys(m.aliases)), nil
}
