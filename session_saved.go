package starhost

import (
	"cmp"
	"context"
	"slices"

	"github.com/starhost/starhost/fragments"
)

// A SavedSession stores a session for another process, without its messages. It suits an agent that
// stores the conversation itself and starts a process for each event. JSON restores it exactly. The
// zero value is a session that has not begun.
type SavedSession struct {
	// Turns is the number of turns that began, Base how many of them began before the last reset,
	// and Asides the number of other uses.
	Turns  int `json:"turns"`
	Base   int `json:"base,omitempty"`
	Asides int `json:"asides,omitempty"`
	// Started is true once session_start has run. Completed and Interrupted say how the last turn
	// ended, for session_end.
	Started     bool `json:"started"`
	Completed   bool `json:"completed,omitempty"`
	Interrupted bool `json:"interrupted,omitempty"`
	// Words are the user's words of the last turn, up to 16 KiB, if a hook for an event behind the
	// prompt reads them.
	Words string `json:"words,omitempty"`
	// Welcome is the context that session_start offered. Offer says that no prompt contains it yet.
	Welcome []savedContext `json:"welcome,omitempty"`
	Offer   bool           `json:"offer,omitempty"`
	// Sent are the sorted contents of earlier prompts.
	Sent []fragments.Hash `json:"sent,omitempty"`
	// Documents is the number of documents that earlier prompts numbered.
	Documents int `json:"documents,omitempty"`
	// System is the request's own system text, and Parts are the texts that plugins added to it.
	System string      `json:"system,omitempty"`
	Parts  []savedPart `json:"parts,omitempty"`
}

// A savedContext is a [Context] that JSON restores exactly.
type savedContext struct {
	Fragments   []fragments.Fragment `json:"fragments,omitempty"`
	Attachments []savedAttachment    `json:"attachments,omitempty"`
}

// A savedAttachment is an attachment with its content as Bytes, because the content may be no text.
type savedAttachment struct {
	fragments.Attachment
	Bytes []byte
}

// A savedPart is a system fragment with its origins.
type savedPart struct {
	Fragment fragments.Fragment `json:"fragment"`
	Origins  []fragments.Origin `json:"origins"`
}

// Save returns the session's state after the running turn. It returns the errors of
// [Session.Begin].
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
	if s.live.Host().readsWords() {
		saved.Words = s.words
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

// Resume returns a saved session. c describes it as [Host.NewSession] does.
func (h *Host) Resume(c SessionConfig, saved SavedSession) *Session {
	s := h.NewSession(c)
	s.turns, s.turnsBeforeReset, s.asides, s.started = saved.Turns, saved.Base, saved.Asides, saved.Started
	s.completed, s.interrupted, s.documents = saved.Completed, saved.Interrupted, saved.Documents
	s.words = cutWords(saved.Words)
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

// readsWords reports whether a hook reads the user's words in an event behind the prompt.
func (h *Host) readsWords() bool {
	for _, events := range h.registry.Load().hooksByEvent {
		for _, k := range events.hooks {
			if k.ReadsWords && k.Event != "turn_start" && k.Event != "pre_llm_call" {
				return true
			}
		}
	}
	return false
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
