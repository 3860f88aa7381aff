// A session: one turn at a time, and what outlives a turn.

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
	// ID is the session's name for plugins; empty means "session-N", which the host numbers.
	ID string
	// Platform says where the user talks to the model; empty means "go".
	Platform string
	// Model is the model's name for plugins. A request may name another one.
	Model string
	// Roles are the user's roles, to which tools may be limited.
	Roles []string
	// Workspace is the absolute folder that the session works in, "" if the program does not know
	// it.
	Workspace string
	// Guarded says that an agent owns the conversation and the host only guards it, so that
	// end_session has no effect: a closed session would no longer guard.
	Guarded bool
	// Seed changes the values of ctx.random and ctx.uuid.
	Seed uint64
}

// A Session is a conversation. It runs one turn at a time; other turns, commands and events wait.
// Its methods are safe for concurrent use.
type Session struct {
	live         *LiveHost
	config       SessionConfig
	slot         chan struct{} // contains one token: the right to run a turn
	waitingTurns atomic.Int64
	values       sync.Map // state of other layers, such as plugins' state
	// waiting returns the running turn while it waits for calls that the program runs, or is nil.
	waiting atomic.Pointer[func() *pausedTurn]

	// The fields below belong to the turn that has the token.

	turns            int                    // number of turns that began
	turnsBeforeReset int                    // how many of them began before the last reset
	asides           int                    // number of other uses
	started          bool                   // session_start has run
	closed           bool                   // session_end has run
	words            string                 // the user's words of the last turn, cut to maxWords
	interrupted      bool                   // the last turn ended because of its context
	completed        bool                   // the last turn had its final answer
	startContext     []starhost.Context     // context that session_start offered
	history          []starhost.Message     // as sent, oldest first
	sentContents     map[fragments.Hash]int // by content, the use that sent it last; 0 or less: before the session
	droppedAge       int                    // the fewest uses after which pre_send dropped a message; 0 means never
	unsentContext    []starhost.Context     // startContext until a prompt contains it
	lastNoteCount    int                    // length of the last turn's trace
	system           systemText
	documents        int                       // number of rendered documents
	lastTranscript   *transcript               // the previous prompt's transcript, for the next report
	attachmentIDs    map[string]fragments.Hash // ids by content
	toolPieces       []*toolPiece              // of the previous prompt's tools
	availabilityOf   *registry                 // registry whose tools were asked
	unavailable      map[string]bool           // names of unavailable tools
	version          int64                     // as [SavedSession] has it
	restoredState    map[string]map[string]json.RawMessage
	paused           *pausedTurn // or nil
	guards           []Guard     // all that it had
	checked          *registry   // the host's at the last turn
	registry         *registry   // see guarded
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

// Seed returns the start of the session's random draws.
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

// ErrBusy says that too many turns wait for a session, or that another process has continued it.
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
