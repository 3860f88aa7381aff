// This file continues a session from Options.Sessions.

package host

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/starhost/starhost/internal/errtext"
)

// maxSessionID is the most bytes of the id of a stored session.
const maxSessionID = 200

// CheckID returns an error unless a [SessionStore] can store a session of this ID: 1 to 200 bytes
// of UTF-8 without control characters, and no "-" first.
func (c SessionConfig) CheckID() error {
	switch id := c.ID; {
	case id == "":
		return errtext.Errorf("session: got no id, want one")
	case len(id) > maxSessionID:
		return errtext.Errorf("session: got an id of %d bytes, want at most %d", len(id), maxSessionID)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return errtext.Errorf("session: got id %q, want UTF-8 without control characters", id)
	case id[0] == '-':
		return errtext.Errorf("session: got id %q, want one that does not begin with -", id)
	}
	return nil
}

// Continue returns the session with the id c.ID from [Options.Sessions], with its messages, its plugins'
// state and the ids of the contents that it sent. If none is stored, Continue begins one. If the session has
// ended, the error wraps [ErrClosed]. The caller stores later turns by [Session.Store].
func (h *Host) Continue(ctx context.Context, c SessionConfig) (*Session, error) {
	if h.opts.Sessions == nil {
		return nil, errtext.Errorf("session %q: there is no store of sessions (Options.Sessions)", c.ID)
	}
	if err := c.CheckID(); err != nil {
		return nil, err
	}
	saved, err := h.opts.Sessions.LoadSession(ctx, c.ID)
	switch {
	case err != nil:
		return nil, err
	case saved.Ended:
		return nil, errtext.Errorf("session %q: %w", c.ID, ErrClosed)
	}
	return h.Resume(c, saved), nil
}

// Store waits for the running turn, and stores the session in [Options.Sessions]. If another process has
// stored the session since [Host.Continue], Store changes nothing and returns an error that wraps [ErrBusy].
// The program can then continue the session anew.
func (s *Session) Store(ctx context.Context) error {
	store := s.live.Host().opts.Sessions
	if store == nil {
		return errtext.Errorf("session %q: there is no store of sessions (Options.Sessions)", s.config.ID)
	}
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer func() { s.slot <- struct{}{} }()
	if err := store.StoreSession(ctx, s.save()); err != nil {
		return err
	}
	s.version++
	return nil
}
