package effects

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/starhost/starhost"
)

// MaxState is the most bytes that a plugin keeps in one session: of all keys and
// values together.
const MaxState = 1 << 20

// A State is what one plugin keeps for one session: JSON values by key. It is
// empty at first and ends with the session. It is safe for concurrent use.
type State struct {
	mu     sync.Mutex
	values map[string]json.RawMessage
	size   int // bytes of keys and values
}

// stateKey is the slot of a session that holds a plugin's State.
type stateKey struct{ plugin string }

// StateOf returns the state of a plugin in a session.
func StateOf(s *starhost.Session, plugin string) *State {
	return s.Value(stateKey{plugin}, func() any {
		return &State{values: map[string]json.RawMessage{}}
	}).(*State)
}

// Get returns the value of a key, which the caller must not change.
func (s *State) Get(key string) (value json.RawMessage, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok = s.values[key]
	return value, ok
}

// Set keeps a value, which must be valid JSON, under a key. Over [MaxState] it
// is an error and changes nothing.
func (s *State) Set(key string, value json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := s.size - s.sizeOf(key) + len(key) + len(value)
	if size > MaxState {
		return errorf("E0506", "state: got %d bytes of keys and values with key %s, want at most %d in a session", size, shorten(key), MaxState)
	}
	s.values[key], s.size = slices.Clone(value), size
	return nil
}

// Delete forgets a key and reports whether it was there.
func (s *State) Delete(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.values[key]
	s.size -= s.sizeOf(key)
	delete(s.values, key)
	return ok
}

// Keys returns all keys, sorted.
func (s *State) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.values))
}

// sizeOf returns what a key and its value add to the size.
func (s *State) sizeOf(key string) int {
	value, ok := s.values[key]
	if !ok {
		return 0
	}
	return len(key) + len(value)
}

// shorten quotes a text for a message, at most the first 64 bytes of it.
func shorten(s string) string {
	if len(s) > 64 {
		return fmt.Sprintf("%q...", s[:64])
	}
	return fmt.Sprintf("%q", s)
}
