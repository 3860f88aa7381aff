// A session as JSON, so that another process can go on with it.

package host

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
)

// A SavedSession is a session in a form for another process: see [SessionStore]. Without its messages, it is
// enough for an agent that stores the conversation itself and starts a process for each event. JSON restores
// it exactly. The zero value is a session that has not begun.
type SavedSession struct {
	// ID is the session's name, and Agent its platform. Version counts how often a [SessionStore]
	// has stored the session; 0 means never.
	ID      string `json:"id,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Version int64  `json:"version,omitempty"`
	// Turns is how many turns have begun, Base how many of them began before the last reset, and Asides how
	// often the session was used outside of a turn.
	Turns  int `json:"turns"`
	Base   int `json:"base,omitempty"`
	Asides int `json:"asides,omitempty"`
	// Started is true once session_start has run. Completed and Interrupted say how the last turn
	// ended, for session_end.
	Started     bool `json:"started"`
	Completed   bool `json:"completed,omitempty"`
	Interrupted bool `json:"interrupted,omitempty"`
	// Words are the user's words of the last turn, up to 16 KiB, if a hook on an event after the prompt reads
	// them.
	Words string `json:"words,omitempty"`
	// Welcome is the context that session_start offered. Offer is true if no prompt contains it yet.
	Welcome []savedContext `json:"welcome,omitempty"`
	Offer   bool           `json:"offer,omitempty"`
	// Sent are the ids of the contents of earlier prompts, sorted. Uses say for each in which use of the
	// session it was sent last, if there are messages. Dropped is the fewest uses after which pre_send
	// dropped a message.
	Sent    []fragments.Hash `json:"sent,omitempty"`
	Uses    []int            `json:"uses,omitempty"`
	Dropped int              `json:"dropped,omitempty"`
	// Documents is the number of documents that earlier prompts numbered.
	Documents int `json:"documents,omitempty"`
	// System is the request's own system text, and Parts are the texts that plugins added to it.
	System string      `json:"system,omitempty"`
	Parts  []savedPart `json:"parts,omitempty"`
	// Messages is the conversation, and State has the values of ctx.state by plugin and key. A session of an
	// agent ([SessionConfig.Guarded]) has neither, because the agent's adapter stores the state.
	Messages []savedMessage                        `json:"messages,omitempty"`
	State    map[string]map[string]json.RawMessage `json:"state,omitempty"`
	// Guards are the guards that the session had. A host that does not have one of them refuses whatever that
	// guard could refuse.
	Guards []Guard `json:"guards,omitempty"`
	// Ended is true once session_end has run.
	Ended bool `json:"ended,omitempty"`
	// Paused is the turn that waits for an approval, or nil. See [Session.ResumeTurn].
	Paused *pausedTurn `json:"paused,omitempty"`
}

// A savedContext is a [starhost.Context] that JSON restores exactly.
type savedContext struct {
	Fragments   []fragments.Fragment `json:"fragments,omitempty"`
	Attachments []savedAttachment    `json:"attachments,omitempty"`
}

// A savedPart is a fragment of the system text, with its origins.
type savedPart struct {
	Fragment fragments.Fragment `json:"fragment"`
	Origins  []fragments.Origin `json:"origins"`
}

// A SessionStore stores sessions for other processes, each by its id. The methods are safe for
// concurrent use.
type SessionStore interface {
	// LoadSession returns a stored session. Its Version is 0 if there is none.
	LoadSession(ctx context.Context, id string) (SavedSession, error)
	// StoreSession stores a session, as the version after s.Version. If the stored version is not s.Version,
	// StoreSession changes nothing, and returns an error that wraps [ErrBusy].
	StoreSession(ctx context.Context, s SavedSession) error
}

// Status returns "ended" if session_end has run, "waits" if a turn waits for an approval, "answered" if the
// approval has come, or "".
func (s *SavedSession) Status() string {
	switch {
	case s.Ended:
		return "ended"
	case s.Paused == nil:
		return ""
	case s.Paused.Answer == nil || !s.Paused.Answer.Used.IsZero():
		return "waits"
	}
	return "answered"
}

// Answer answers the question of the paused turn, whose Digest the caller has shown to a person.
// The next [Session.ResumeTurn] uses the answer, once. It is an error if there is no such question,
// if it has an answer, or if more than 24 hours have passed.
func (s *SavedSession) Answer(digest string, approve bool, now time.Time) error {
	p := s.Paused
	switch {
	case p == nil, !p.isQuestion():
		return errtext.Errorf("session %q: no turn waits for an approval", s.ID)
	case digest != p.Digest:
		return errtext.Errorf("session %q: got the answer to question %q, want one to %q", s.ID, digest, p.Digest)
	case p.Answer != nil:
		return errtext.Errorf("session %q: question %q has an answer", s.ID, p.Digest)
	case p.expired(now):
		return errtext.Errorf("session %q: question %q is of %s, want an answer within %v",
			s.ID, p.Digest, p.Asked.Format(time.RFC3339), approvalTime)
	}
	next := *p
	next.Answer = &savedAnswer{Digest: digest, Approved: approve, Given: now}
	s.Paused = &next
	return nil
}

// Contents returns the sorted ids of the contents that the session needs, so that a store does not remove
// them.
func (s *SavedSession) Contents() []fragments.Hash {
	ids := slices.Concat(s.Sent, s.Paused.contentIDs())
	for i := range s.Messages {
		ids = append(ids, s.Messages[i].Contents...)
	}
	for i := range s.Parts {
		ids = append(ids, s.Parts[i].Fragment.ID())
	}
	for i := range s.Welcome {
		for _, f := range s.Welcome[i].Fragments {
			ids = append(ids, f.ID())
		}
	}
	slices.SortFunc(ids, compareHashes)
	return slices.Compact(ids)
}

func saveContext(c starhost.Context) savedContext {
	saved := savedContext{}
	saved.Fragments = append(saved.Fragments, c.Fragments...)
	for _, a := range c.Attachments {
		saved.Attachments = append(saved.Attachments, saveAttachment(a))
	}
	return saved
}

func compareHashes(a, b fragments.Hash) int { return bytes.Compare(a[:], b[:]) }

func (c savedContext) context() starhost.Context {
	out := starhost.Context{Fragments: c.Fragments}
	for _, a := range c.Attachments {
		out.Attachments = append(out.Attachments, a.attachment())
	}
	return out
}
