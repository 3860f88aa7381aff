package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/starhost/starhost/host"
)

// maxMemory is the most bytes of the sessions of a Memory.
const maxMemory = 256 << 20

// A Memory stores sessions in the memory of the process, for tests. The zero value is empty. It
// implements host.SessionStore.
type Memory struct {
	mu       sync.Mutex
	sessions map[string]memorySession
	size     int
}

type memorySession struct {
	version int64
	data    []byte
	sum     [sha256.Size]byte
}

// LoadSession implements host.SessionStore.
func (m *Memory) LoadSession(_ context.Context, id string) (host.SavedSession, error) {
	m.mu.Lock()
	s, ok := m.sessions[id]
	m.mu.Unlock()
	if !ok {
		return host.SavedSession{}, nil
	}
	return decodeSession(id, s.version, s.data, s.sum[:])
}

// StoreSession implements host.SessionStore.
func (m *Memory) StoreSession(_ context.Context, s host.SavedSession) error {
	data, err := encodeSession(s)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.sessions[s.ID]
	size := m.size - len(old.data) + len(data)
	switch {
	case old.version != s.Version:
		return busyError(s.ID, s.Version)
	case size > maxMemory:
		return fmt.Errorf("session %q: got %d bytes of all sessions, want at most %d", s.ID, size, maxMemory)
	case m.sessions == nil:
		m.sessions = map[string]memorySession{}
	}
	m.sessions[s.ID], m.size = memorySession{s.Version + 1, data, sha256.Sum256(data)}, size
	return nil
}
