package effects

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
)

// MaxState is the most bytes of all keys and values of a plugin in one session.
const MaxState = 1 << 20

// A State has the values of one plugin in one session: JSON by key. It has no values at first, and ends with
// the session. It is safe for concurrent use.
type State struct {
	mu sync.Mutex
	memoryValues
	layer string // see [Owner.Layer]
}

// Layer returns the layer of the plugin: see [Owner.Layer].
func (s *State) Layer() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.layer
}

// SetLayer sets the layer of the plugin. The layer holds until the plugin uses its state.
func (s *State) SetLayer(layer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.layer = layer
}

// statesKey is the key under which a session has the States of its plugins.
type statesKey struct{}

// states are the States of one session, by plugin.
type states struct {
	mu   sync.Mutex
	list map[string]*State
}

func statesOf(s *host.Session) *states {
	return s.Value(statesKey{}, func() any { return newStates(s.RestoredState()) }).(*states)
}

// newStates returns the States of a session that a store restored.
func newStates(saved SavedStates) *states {
	all := &states{list: map[string]*State{}}
	for plugin, values := range saved {
		state := newState(maps.Clone(values))
		for key := range values {
			state.size += state.sizeOf(key)
		}
		all.list[plugin] = state
	}
	return all
}

func newState(values map[string]json.RawMessage) *State {
	return &State{memoryValues: memoryValues{values: values}}
}

// StateOf returns the state of a plugin in a session.
func StateOf(s *host.Session, plugin string) *State {
	all := statesOf(s)
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.list[plugin] == nil {
		all.list[plugin] = newState(map[string]json.RawMessage{})
	}
	return all.list[plugin]
}

// SavedStates are the values of a session's plugins: by plugin, then by key.
type SavedStates map[string]map[string]json.RawMessage

// SaveStates returns the values of a session's plugins. The result has no entry for a plugin without values.
func SaveStates(s *host.Session) SavedStates { return statesOf(s).SaveState() }

// SaveState returns the values of all plugins. [host.Session.Store] calls it.
func (all *states) SaveState() map[string]map[string]json.RawMessage {
	all.mu.Lock()
	defer all.mu.Unlock()
	saved := map[string]map[string]json.RawMessage{}
	for plugin, state := range all.list {
		state.mu.Lock()
		if len(state.values) > 0 {
			saved[plugin] = maps.Clone(state.values)
		}
		state.mu.Unlock()
	}
	return saved
}

// RestoreStates adds saved values of another session to a session.
func RestoreStates(s *host.Session, saved SavedStates) error {
	for plugin, values := range saved {
		for key, value := range values {
			if err := StateOf(s, plugin).Set(key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// Get returns the value of a key, which the caller must not change.
func (s *State) Get(key string) (value json.RawMessage, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok = s.values[key]
	return value, ok
}

// Set sets the value of a key, which must be valid JSON. If the state would be over [MaxState],
// Set returns an error and changes nothing.
func (s *State) Set(key string, value json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size, ok := s.set(key, value, MaxState); !ok {
		return errorf("E0506", "state: got %d bytes of keys and values with key %s, want at most %d in a session", size, errtext.Quote(key), MaxState)
	}
	return nil
}

// Delete deletes a key and reports whether the key had a value.
func (s *State) Delete(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delete(key)
}

// Keys returns all keys, sorted.
func (s *State) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.values))
}
