package starhost

import (
	"cmp"
	"context"
	"slices"

	"github.com/starhost/starhost/fragments"
)

// A SavedSession is what another process needs to go on with a session whose
// conversation somebody else keeps: an agent that starts a process for each of its
// events. It has no messages. As JSON it comes back as it was. The zero value is a
// session that has not begun.
type SavedSession struct {
	// Turns is the number of turns begun, Base how many of them were before the last
	// reset, Asides the number of other uses.
	Turns  int `json:"turns"`
	Base   int `json:"base,omitempty"`
	Asides int `json:"asides,omitempty"`
	// Started is true once session_start has run. Completed and Interrupted say how
	// the last turn ended, for session_end.
	Started     bool `json:"started"`
	Completed   bool `json:"completed,omitempty"`
	Interrupted bool `json:"interrupted,omitempty"`
	// Welcome is what session_start offered; Offer that no prompt has it yet.
	Welcome []savedContext `json:"welcome,omitempty"`
	Offer   bool           `json:"offer,omitempty"`
	// Sent are the contents that earlier prompts brought, sorted.
	Sent []fragments.Hash `json:"sent,omitempty"`
	// Documents is how many numbered documents they had.
	Documents int `json:"documents,omitempty"`
	// System is the request's own system text, Parts what plugins added to it.
	System string      `json:"system,omitempty"`
	Parts  []savedPart `json:"parts,omitempty"`
}

// A savedContext is a [Context] that survives JSON.
type savedContext struct {
	Fragments   []fragments.Fragment `json:"fragments,omitempty"`
	Attachments []savedAttachment    `json:"attachments,omitempty"`
}

// A savedAttachment is an attachment with its content, which need not be text, as
// Bytes.
type savedAttachment struct {
	fragments.Attachment
	Bytes []byte
}

// A savedPart is a system fragment and everybody who offers it.
type savedPart struct {
	Fragment fragments.Fragment `json:"fragment"`
	Origins  []fragments.Origin `json:"origins"`
}

// Save returns what the session is now, after the turn under way. The error is one
// of [Session.Begin]'s.
func (s *Session) Save(ctx context.Context) (SavedSession, error) {
	if err := s.acquire(ctx); err != nil {
		return SavedSession{}, err
	}
	defer func() { s.slot <- struct{}{} }()
	saved := SavedSession{
		Turns: s.turns, Base: s.turnsBeforeReset, Asides: s.asides, Started: s.started,
		Completed: s.completed, Interrupted: s.interrupted,
		Offer: len(s.unsentContext) > 0, Documents: s.documents, System: s.system.ownText,
	}
	for _, c := range s.startContext {
		saved.Welcome = append(saved.Welcome, saveContext(c))
	}
	for id := range s.sentContents {
		saved.Sent = append(saved.Sent, id)
	}
	slices.SortFunc(saved.Sent, func(a, b fragments.Hash) int { return cmp.Compare(string(a[:]), string(b[:])) })
	for _, p := range s.system.parts {
		saved.Parts = append(saved.Parts, savedPart{p.Fragment, p.origins})
	}
	return saved, nil
}

// Resume goes on with a saved session, which c describes as at its beginning.
func (h *Host) Resume(c SessionConfig, saved SavedSession) *Session {
	s := h.NewSession(c)
	s.turns, s.turnsBeforeReset, s.asides, s.started = saved.Turns, saved.Base, saved.Asides, saved.Started
	s.completed, s.interrupted, s.documents = saved.Completed, saved.Interrupted, saved.Documents
	for _, w := range saved.Welcome {
		s.startContext = append(s.startContext, w.context())
	}
	if saved.Offer {
		s.unsentContext = s.startContext
	}
	s.sentContents = make(map[fragments.Hash]int, len(saved.Sent))
	for _, id := range saved.Sent {
		s.sentContents[id] = 0
	}
	s.system = systemText{ownText: saved.System, stale: true}
	for _, p := range saved.Parts {
		s.system.parts = append(s.system.parts, systemPart{p.Fragment, fragments.Sum(p.Fragment.Content), p.Origins})
	}
	return s
}

func saveContext(c Context) savedContext {
	saved := savedContext{}
	saved.Fragments = append(saved.Fragments, c.Fragments...)
	for _, a := range c.Attachments {
		bytes := []byte(a.Content)
		a.Content = ""
		saved.Attachments = append(saved.Attachments, savedAttachment{a, bytes})
	}
	return saved
}

func (c savedContext) context() Context {
	out := Context{Fragments: c.Fragments}
	for _, a := range c.Attachments {
		a.Attachment.Content = string(a.Bytes)
		out.Attachments = append(out.Attachments, a.Attachment)
	}
	return out
}
