package hook

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
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
	shared *Shared     // where several servers find the sessions; nil for this process alone
	holder string      // the name of this process for shared
	lease  time.Duration

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

// A Shared stores sessions where several servers find them. All functions are safe for concurrent use.
type Shared struct {
	// Take gives the record of a session to a holder for the time of lease, unless another holder has it.
	Take func(ctx context.Context, name, holder string, lease time.Duration) (record []byte, taken bool, err error)
	// Store replaces the record of a session, or keeps it for nil, if the holder still has the session. A lease
	// of 0 gives it back.
	Store func(ctx context.Context, name, holder string, record []byte, lease time.Duration) (held bool, err error)
}

// leaseBeyond is how long a server keeps a session after the deadline of its event. If a server dies, the
// session waits so long for the others.
const leaseBeyond = 5 * time.Second

// Share makes the Memory keep each session only while an event uses it, and in shared otherwise. deadline is
// the longest time of an event. The caller calls Share before any other method.
func (m *Memory) Share(shared *Shared, deadline time.Duration) {
	m.shared, m.holder, m.lease = shared, rand.Text(), deadline+leaseBeyond
}

// A memorySession is the state of one session.
type memorySession struct {
	name  string
	held  chan struct{} // has a token while an event holds a shared session
	last  []byte        // the record of a shared session, as it is stored
	slot  chan struct{} // has a token while an event uses the session
	users int           // how many events use or hold the session, or wait for it
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

// enter counts an event that uses or holds a session, or waits for it, until leave. Then the session goes if no
// event needs it any more and isOver says so.
func (m *Memory) enter(name string, isOver func(*memorySession) bool) (s *memorySession, leave func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.session(name)
	s = e.Value.(*memorySession)
	s.users++
	return s, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if s.users--; s.users == 0 && isOver(s) {
			m.drop(e)
		}
	}
}

// errBusy returns the error of an event that waited for its session until the end of ctx.
func errBusy(ctx context.Context) error {
	return fmt.Errorf("the session is busy with an earlier event: %w", context.Cause(ctx))
}

// lock waits until no other event has the session.
func (m *Memory) lock(ctx context.Context, name string) (unlock func(), err error) {
	s, leave := m.enter(name, func(s *memorySession) bool { return s.text == nil && s.had == nil && s.calls == nil })
	select {
	case s.slot <- struct{}{}:
		return func() { <-s.slot; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, errBusy(ctx)
	}
}

// A sharedRecord is what servers share of a session.
type sharedRecord struct {
	Version int             `json:"starhost_live"`
	State   json.RawMessage `json:"state,omitempty"`
	Guards  []host.Guard    `json:"guards,omitempty"`
	Ran     string          `json:"ran,omitempty"`
	Calls   []byte          `json:"calls,omitempty"`
}

// liveVersion is the version of sharedRecord.
const liveVersion = 1

// hold takes a shared session for an event, from before its guards are compared until its state is stored. It
// waits until no other event has the session, on this server or another.
func (m *Memory) hold(ctx context.Context, name string) (release func(), err error) {
	s, leave := m.enter(name, func(*memorySession) bool { return true })
	select {
	case s.held <- struct{}{}:
	case <-ctx.Done():
		leave()
		return func() {}, errBusy(ctx)
	}
	giveUp := func(err error) (func(), error) {
		<-s.held
		leave()
		return func() {}, err
	}
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		record, taken, err := m.shared.Take(ctx, name, m.holder, m.lease)
		switch {
		case err != nil:
			return giveUp(err)
		case taken:
			err = m.setRecord(s, record)
			return func() {
				if err := m.flush(name, 0); err != nil {
					m.report(err)
				}
				<-s.held
				leave()
			}, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return giveUp(errBusy(ctx))
		}
	}
}

// setRecord makes the record of a shared session the session's.
func (m *Memory) setRecord(s *memorySession, record []byte) error {
	var r sharedRecord
	if len(record) > 0 && (json.Unmarshal(record, &r) != nil || r.Version != liveVersion) {
		return fmt.Errorf("the stored session is none of version %d", liveVersion)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += len(r.State) + len(r.Calls) - len(s.text) - len(s.calls)
	s.text, s.had, s.ran, s.calls, s.last = r.State, r.Guards, r.Ran, r.Calls, record
	return nil
}

// flush stores what has changed of a session that an event holds. A lease of 0 gives the session back. A Memory
// that shares nothing stores nothing.
func (m *Memory) flush(name string, lease time.Duration) error {
	if m.shared == nil {
		return nil
	}
	m.mu.Lock()
	s := m.sessions[name].Value.(*memorySession)
	record, err := json.Marshal(sharedRecord{liveVersion, s.text, s.had, s.ran, s.calls})
	isEmpty := s.text == nil && s.had == nil && s.ran == "" && s.calls == nil && len(s.last) == 0
	isNew := !isEmpty && !bytes.Equal(record, s.last)
	m.mu.Unlock()
	if err != nil {
		return err
	}
	if !isNew {
		if record = nil; lease > 0 {
			return nil
		}
	}
	held, err := m.shared.Store(context.Background(), name, m.holder, record, lease)
	switch {
	case err != nil:
		return err
	case !held:
		return errors.New("another server has taken the session, because this event took too long")
	case isNew:
		s.last = record
	}
	return nil
}

// session returns the session with a name, and makes it the last used one. The caller has locked mu.
func (m *Memory) session(name string) *list.Element {
	e := m.sessions[name]
	if e == nil {
		e = m.byUse.PushFront(&memorySession{name: name, held: make(chan struct{}, 1), slot: make(chan struct{}, 1)})
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
