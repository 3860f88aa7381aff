package hook

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/starhost/starhost/host"
)

// These limits bound a [Memory].
const (
	maxMemorySessions = 10_000
	maxMemoryBytes    = 64 << 20
)

// A Memory stores the states of sessions for a process that answers many events. If it is full, it drops the
// state of the session whose last event is the oldest; that session then begins again. It is safe for
// concurrent use.
type Memory struct {
	report func(error) // gets a warning when the Memory has dropped states

	mu       sync.Mutex
	sessions map[string]*list.Element // elements with a *memorySession, by name
	byUse    list.List                // the sessions, the last used one first
	bytes    int
}

// NewMemory returns an empty Memory. It calls report, which must not block, when it drops states
// because it is full.
func NewMemory(report func(error)) *Memory {
	return &Memory{report: report, sessions: map[string]*list.Element{}}
}

// A memorySession is the state of one session.
type memorySession struct {
	name  string
	slot  chan struct{} // has a token while an event uses the session
	users int           // how many events use the session or wait for it
	text  []byte        // the state; nil if the session has none
	had   []host.Guard
	ran   string // the same as Pin.Ran
	calls []byte // lines about calls that guards judged
	used  time.Time
}

// Len returns the number of sessions with a state.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byUse.Len()
}

// lock waits until no other event has the session.
func (m *Memory) lock(ctx context.Context, name string) (unlock func(), err error) {
	m.mu.Lock()
	e := m.session(name)
	s := e.Value.(*memorySession)
	s.users++
	m.mu.Unlock()
	leave := func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if s.users--; s.users == 0 && s.text == nil && s.had == nil && s.calls == nil {
			m.drop(e)
		}
	}
	select {
	case s.slot <- struct{}{}:
		return func() { <-s.slot; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, fmt.Errorf("the session is busy with an earlier event: %w", context.Cause(ctx))
	}
}

// session returns the session with a name, and makes it the last used one. The caller has locked mu.
func (m *Memory) session(name string) *list.Element {
	e := m.sessions[name]
	if e == nil {
		e = m.byUse.PushFront(&memorySession{name: name, slot: make(chan struct{}, 1)})
		m.sessions[name] = e
	}
	e.Value.(*memorySession).used = time.Now()
	m.byUse.MoveToFront(e)
	return e
}

// Use calls use with what is stored of a session, and with a function that gives a session its plugins'
// values. use changes saved and returns the session. Use then stores saved, with the values of that session's
// plugins. If use returns nil, Use stores nothing. No other event uses the session meanwhile. The error also
// says which values of trusted plugins were not stored.
func (m *Memory) Use(
	ctx context.Context, name string,
	use func(saved *host.SavedSession, restore func(*host.Session) error) (*host.Session, error),
) error {
	unlock, err := m.lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	state := savedState{Version: stateVersion}
	if old := m.text(name); old != nil {
		if err := json.Unmarshal(old, &state); err != nil {
			return err
		}
	}
	s, err := use(&state.Session, state.restore)
	if s == nil || err != nil {
		return err
	}
	text, lost, err := state.takeStates(s)
	if text != nil {
		m.setText(name, text)
	}
	if lost != nil {
		m.report(lost)
	}
	return err
}

// guards returns the guards that a session had, and its Ran: see [Pin].
func (m *Memory) guards(name string) (had []host.Guard, ran string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.sessions[name]; e != nil {
		s := e.Value.(*memorySession)
		return s.had, s.ran
	}
	return nil, ""
}

// setRan sets Ran of a session, unless it is set already: see [Pin].
func (m *Memory) setRan(name, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.session(name).Value.(*memorySession)
	s.ran = cmp.Or(s.ran, why)
}

// maxMemoryCalls is the most bytes of the lines about judged calls in a session. If there are more, the older
// half goes.
const maxMemoryCalls = 32 << 10

// addCall adds the line about a call that guards judged.
func (m *Memory) addCall(name string, line []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.session(name).Value.(*memorySession)
	before := len(s.calls)
	if before+len(line) > maxMemoryCalls {
		half := s.calls[before/2:]
		s.calls = bytes.Clone(half[bytes.IndexByte(half, '\n')+1:])
	}
	s.calls = append(s.calls, line...)
	m.bytes += len(s.calls) - before
	m.makeRoom()
}

// calls returns the lines about the calls of a session that guards judged.
func (m *Memory) calls(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.sessions[name]; e != nil {
		return bytes.Clone(e.Value.(*memorySession).calls)
	}
	return nil
}

// setGuards stores the guards that a session had.
func (m *Memory) setGuards(name string, had []host.Guard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session(name).Value.(*memorySession).had = had
	m.makeRoom()
}

// text returns the state of a session that the caller has locked, or nil if it has none.
func (m *Memory) text(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sessions[name].Value.(*memorySession).text
}

// setText replaces the state of a session that the caller has locked. nil removes it.
func (m *Memory) setText(name string, text []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[name].Value.(*memorySession)
	m.bytes += len(text) - len(s.text)
	s.text = text
	m.makeRoom()
}

// makeRoom drops sessions that are too old, and if there are too many, the oldest. The caller has locked mu.
func (m *Memory) makeRoom() {
	full := 0
	for e := m.byUse.Back(); e != nil; {
		old, before := e.Value.(*memorySession), e.Prev()
		over := m.byUse.Len() > maxMemorySessions || m.bytes > maxMemoryBytes
		if !over && time.Since(old.used) <= maxStateAge {
			break
		}
		if old.users == 0 {
			m.drop(e)
			if over {
				full++
			}
		}
		e = before
	}
	if full > 0 {
		m.report(fmt.Errorf("%d sessions begin again: the memory of sessions is full (limits: %d sessions, %d bytes)",
			full, maxMemorySessions, maxMemoryBytes))
	}
}

// drop removes a session that no event uses.
func (m *Memory) drop(e *list.Element) {
	s := e.Value.(*memorySession)
	m.bytes -= len(s.text) + len(s.calls)
	m.byUse.Remove(e)
	delete(m.sessions, s.name)
}
