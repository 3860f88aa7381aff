package effects

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/starhost/starhost/internal/errtext"
)

// Bounds of a store.
const (
	MaxKey   = 512      // bytes of a key
	MaxValue = 1 << 20  // bytes of a value
	MaxStore = 16 << 20 // bytes of a plugin's keys and values in a [MemoryKV]
)

// A KV stores JSON values of plugins by key, across sessions. Its methods are safe for
// concurrent use. Callers check the bounds of keys and values.
type KV interface {
	// Get returns the value of a key; ok is false if the key has none.
	Get(ctx context.Context, plugin, key string) (value json.RawMessage, ok bool, err error)
	Set(ctx context.Context, plugin, key string, value json.RawMessage) error
	// Update changes the value of a key; no other change of the key happens in between. change gets the
	// value, or nil if there is none, and returns the new value, or nil to delete the key. If change returns
	// an error, Update returns that error and changes nothing. A database may call change several times.
	Update(ctx context.Context, plugin, key string, change func(old json.RawMessage) (json.RawMessage, error)) error
	// Delete deletes a key and reports whether the key had a value.
	Delete(ctx context.Context, plugin, key string) (bool, error)
	// Keys returns all keys, sorted by their bytes.
	Keys(ctx context.Context, plugin string) ([]string, error)
}

// StoreSizeError returns the error of a [KV] for a value that would make the plugin's keys and values
// together larger than most bytes.
func StoreSizeError(key string, size, most int64) *Error {
	return errorf("E0506", "store: got %d bytes of keys and values with key %s, want at most %d", size, errtext.Quote(key), most)
}

// A MemoryKV is a KV in the process's memory. The zero value is empty.
type MemoryKV struct {
	mu      sync.Mutex
	plugins map[string]*memoryValues
}

// memoryValues are values by key.
type memoryValues struct {
	values map[string]json.RawMessage
	size   int // bytes of keys and values
}

// valuesOf returns a plugin's values.
func (m *MemoryKV) valuesOf(plugin string) *memoryValues {
	if m.plugins == nil {
		m.plugins = map[string]*memoryValues{}
	}
	if m.plugins[plugin] == nil {
		m.plugins[plugin] = &memoryValues{values: map[string]json.RawMessage{}}
	}
	return m.plugins[plugin]
}

// Get implements KV.
func (m *MemoryKV) Get(_ context.Context, plugin, key string) (json.RawMessage, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.valuesOf(plugin).values[key]
	return bytes.Clone(value), ok, nil
}

// Set implements KV. If the plugin's values would exceed [MaxStore], it returns an error and changes nothing.
func (m *MemoryKV) Set(_ context.Context, plugin, key string, value json.RawMessage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.valuesOf(plugin).setInStore(key, value)
}

// Update implements KV. It returns an error and changes nothing if the plugin's values would exceed
// [MaxStore].
func (m *MemoryKV) Update(
	_ context.Context, plugin, key string, change func(json.RawMessage) (json.RawMessage, error),
) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.valuesOf(plugin)
	value, err := change(bytes.Clone(v.values[key]))
	if err != nil {
		return err
	}
	if value == nil {
		v.delete(key)
		return nil
	}
	return v.setInStore(key, value)
}

// set sets a value, unless all keys and values would have more than most bytes. size is how many they have,
// or would have.
func (v *memoryValues) set(key string, value json.RawMessage, most int) (size int, ok bool) {
	size = v.size - v.sizeOf(key) + len(key) + len(value)
	if size > most {
		return size, false
	}
	v.values[key], v.size = append(json.RawMessage{}, value...), size // not nil, which means no value
	return size, true
}

// setInStore sets a value within [MaxStore].
func (v *memoryValues) setInStore(key string, value json.RawMessage) error {
	if size, ok := v.set(key, value, MaxStore); !ok {
		return StoreSizeError(key, int64(size), MaxStore)
	}
	return nil
}

// Delete implements KV.
func (m *MemoryKV) Delete(_ context.Context, plugin, key string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.valuesOf(plugin).delete(key), nil
}

// Keys implements KV.
func (m *MemoryKV) Keys(_ context.Context, plugin string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.valuesOf(plugin).values)), nil
}

// delete deletes a key and reports whether the key had a value.
func (v *memoryValues) delete(key string) bool {
	_, ok := v.values[key]
	v.size -= v.sizeOf(key)
	delete(v.values, key)
	return ok
}

func (v *memoryValues) sizeOf(key string) int {
	value, ok := v.values[key]
	if !ok {
		return 0
	}
	return len(key) + len(value)
}
