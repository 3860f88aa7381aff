// This file describes a session, which runs one turn at a time, and what outlives a turn.

package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
)

// A SessionConfig describes a session. The zero value works.
type SessionConfig struct {
	// ID is the name of the session that plugins see; empty means "session-N", where the host chooses N.
	ID string
	// Platform is a word for the program in which the user talks to the model; empty means "go".
	Platform string
	// Model is the name of the model that plugins see. A request may name another one.
	Model string
	// Roles are the user's roles. A tool may be limited to some roles.
	Roles []string
	// Workspace is the absolute folder that the session works in, "" if the program does not know
	// it.
	Workspace string
	// Guarded is true if an agent owns the conversation and the host only guards it. Then end_session has no
	// effect, because a closed session would no longer guard.
	Guarded bool
	// Seed changes the values of ctx.random and ctx.uuid.
	Seed uint64
}

// A Session is a conversation. It runs one turn at a time; other turns, commands and events wait. Its methods
// are safe for concurrent use.
type Session struct {
	live         *LiveHost
	config       SessionConfig
	slot         chan struct{} // has one token, which is the right to run a turn
	waitingTurns atomic.Int64
	values       sync.Map // what other packages store in the session, such as plugins' state
	// waiting returns the running turn while it waits for calls that the program runs. The pointer is nil if
	// no turn waits for that.
	waiting atomic.Pointer[func() *pausedTurn]

	// Only the turn that has the token uses the fields below.

	turns            int                    // how many turns have begun
	turnsBeforeReset int                    // how many of them began before the last reset
	asides           int                    // how often the session was used outside of a turn
	started          bool                   // session_start has run
	closed           bool                   // session_end has run
	words            string                 // the user's words of the last turn, cut to maxWords bytes
	interrupted      bool                   // the last turn ended because of its context
	completed        bool                   // the last turn had a final answer
	startContext     []starhost.Context     // context that session_start offered
	history          []starhost.Message     // the messages as sent, oldest first
	sentContents     map[fragments.Hash]int // by content, the use (currentUse) that sent it last; up to 0 in earlier processes
	droppedAge       int                    // the fewest uses after which pre_send dropped a message; 0 if it never did
	unsentContext    []starhost.Context     // startContext until a prompt contains it
	lastNoteCount    int                    // the length of the last turn's trace
	system           systemText
	documents        int                       // how many documents prompts have numbered
	lastTranscript   *transcript               // the previous prompt's transcript, for the next report
	attachmentIDs    map[string]fragments.Hash // ids of attachments, by content
	availabilityOf   *registry                 // the registry whose tools have said whether they are available
	unavailable      map[string]bool           // names of unavailable tools
	version          int64                     // the same as SavedSession.Version
	restoredState    map[string]map[string]json.RawMessage
	paused           *pausedTurn // the turn that waits for an approval; or nil
	guards           []Guard     // all guards that the session has had
	checked          *registry   // the registry of the host at the last turn
	registry         *registry   // what guarded returned for it
}

// NewSession begins a conversation. No hook runs before its first turn.
func (h *Host) NewSession(c SessionConfig) *Session { return h.live.NewSession(c) }

// NewSession begins a conversation. No hook runs before its first turn.
func (l *LiveHost) NewSession(c SessionConfig) *Session {
	if c.ID == "" {
		c.ID = fmt.Sprintf("session-%d", l.sessions.Add(1))
	}
	return newSession(l, c)
}

func newSession(l *LiveHost, c SessionConfig) *Session {
	c.Platform = cmp.Or(c.Platform, "go")
	s := &Session{live: l, config: c, slot: make(chan struct{}, 1)}
	s.slot <- struct{}{}
	return s
}

// currentUse returns the number of the running turn or other use. Each use has another number.
func (s *Session) currentUse() int { return s.turns + s.asides }

// ID returns the session's name.
func (s *Session) ID() string { return s.config.ID }

// Seed returns the number that the session's random draws depend on.
func (s *Session) Seed() uint64 { return s.config.Seed }

// Value returns the session's value for a key. The first call for a key makes the value, such as
// the state of a plugin. It is safe for concurrent use.
func (s *Session) Value(key any, make func() any) any {
	if v, ok := s.values.Load(key); ok {
		return v
	}
	v, _ := s.values.LoadOrStore(key, make())
	return v
}

// ErrBusy says that too many turns wait for the session, or that another process has continued it.
var ErrBusy = errors.New("session is busy")

// ErrClosed says that the session is closed.
var ErrClosed = errors.New("session is closed")

// acquire waits for the right to run a turn.
func (s *Session) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.slot:
		return nil
	default:
	}
	defer s.waitingTurns.Add(-1)
	if limit := s.live.Host().opts.MaxWaiting; s.waitingTurns.Add(1) > int64(limit) {
		return errtext.Errorf("%w: too many turns wait (limit %d, Options.MaxWaiting)", ErrBusy, limit)
	}
	select {
	case <-s.slot:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
