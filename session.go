package starhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/starhost/starhost/fragments"
)

// A SessionConfig says what a session is. The zero value works.
type SessionConfig struct {
	// ID names the session towards plugins; empty means "session-N" with N counted
	// by the host.
	ID string
	// Platform is where the session takes place; empty means "go".
	Platform string
	// Model is the model's name as plugins see it; a request may name another.
	Model string
	// Roles are those that tools may be limited to.
	Roles []string
	// Seed changes what ctx.random and ctx.uuid draw.
	Seed uint64
}

// A Session is a conversation. One turn runs at a time; others wait, as do
// commands and events that are fired outside of a turn. Its methods are safe for
// concurrent use.
type Session struct {
	live         *LiveHost
	config       SessionConfig
	slot         chan struct{} // holds one token: the right to run a turn
	waitingTurns atomic.Int64
	values       sync.Map // opaque slots of other layers: plugins' state

	// What follows belongs to the turn that holds the token.

	turns            int                    // of turns begun
	turnsBeforeReset int                    // of those, how many before the last reset
	asides           int                    // of other uses
	started          bool                   // session_start has run
	closed           bool                   // session_end has
	interrupted      bool                   // the last turn ended because of its context
	completed        bool                   // the last turn had its final answer
	startContext     []Context              // of session_start
	history          []Message              // as sent, oldest first
	sentContents     map[fragments.Hash]int // what messages hold, and the use that sent it last; 0 for one before
	unsentContext    []Context              // welcome, until a prompt has it
	lastNoteCount    int                    // calls that the last turn's trace had
	system           systemText
	documents        int                       // documents rendered so far, for numbering
	lastTranscript   *transcript               // of the previous prompt, for the cache report
	attachmentIDs    map[string]fragments.Hash // of attachments, by content
	requestPieces    []*toolPiece              // of the tools of the last request that brought some
	availabilityOf   *registry                 // whose tools' availability is known
	unavailable      map[string]bool           // tools that are not available
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

// currentUse returns the number of the turn, or other use, that is under way: no two have the
// same.
func (s *Session) currentUse() int { return s.turns + s.asides }

// ID returns the session's name.
func (s *Session) ID() string { return s.config.ID }

// Seed returns what draws of randomness start from.
func (s *Session) Seed() uint64 { return s.config.Seed }

// Value returns what the session keeps under key, making it at first: the slot
// in which another layer holds a session's state. It is safe for concurrent use.
func (s *Session) Value(key any, make func() any) any {
	if v, ok := s.values.Load(key); ok {
		return v
	}
	v, _ := s.values.LoadOrStore(key, make())
	return v
}

// ErrBusy says that too many turns wait for a session.
var ErrBusy = errors.New("session is busy: too many turns wait")

// ErrClosed says that a session was closed.
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
		return fmt.Errorf("%w (limit %d, Options.MaxWaiting)", ErrBusy, limit)
	}
	select {
	case <-s.slot:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
