// A session is saved and restored.

package host

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
)

// Save returns the session's state after the running turn. If the turn waits for calls that the program runs
// ([TurnResult.Pending]), the state contains the turn as far as it has come. The program then calls Save from
// the goroutine that calls the turn's methods, and another process can go on by [Session.ResumeTurn]. Save
// returns the errors of [Session.Begin].
func (s *Session) Save(ctx context.Context) (SavedSession, error) {
	if turn := s.waiting.Load(); turn != nil {
		saved := s.save()
		saved.Paused = (*turn)()
		return saved, nil
	}
	if err := s.acquire(ctx); err != nil {
		return SavedSession{}, err
	}
	defer func() { s.slot <- struct{}{} }()
	return s.save(), nil
}

// save returns the state of the session. The caller has the token.
func (s *Session) save() SavedSession {
	saved := SavedSession{
		ID: s.config.ID, Agent: s.config.Platform, Version: s.version,
		Turns: s.turns, Base: s.turnsBeforeReset, Asides: s.asides, Started: s.started,
		Completed: s.completed, Interrupted: s.interrupted,
		Offer: len(s.unsentContext) > 0, Documents: s.documents, System: s.system.ownText,
		Guards: s.guards,
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
	slices.SortFunc(saved.Sent, compareHashes)
	for _, p := range s.system.parts {
		saved.Parts = append(saved.Parts, savedPart{p.Fragment, p.origins})
	}
	if s.config.Guarded {
		return saved
	}
	for _, id := range saved.Sent {
		saved.Uses = append(saved.Uses, s.sentContents[id])
	}
	saved.Ended, saved.Dropped, saved.State, saved.Paused = s.closed, s.droppedAge, s.pluginState(), s.paused
	for i := range s.history {
		saved.Messages = append(saved.Messages, saveMessage(&s.history[i]))
	}
	return saved
}

// pluginState returns the values of ctx.state. If no plugin has used its state yet, these are the values of
// the saved session.
func (s *Session) pluginState() (state map[string]map[string]json.RawMessage) {
	state = s.restoredState
	s.values.Range(func(_, value any) bool {
		saver, ok := value.(interface {
			SaveState() map[string]map[string]json.RawMessage
		})
		if ok {
			state = saver.SaveState()
		}
		return !ok
	})
	return state
}

// RestoredState returns the values of ctx.state that the saved session had, by plugin and key, for the
// package that gives plugins their state.
func (s *Session) RestoredState() map[string]map[string]json.RawMessage { return s.restoredState }

// Resume returns a session that continues a saved one. c describes the session as for [Host.NewSession].
func (h *Host) Resume(c SessionConfig, saved SavedSession) *Session {
	s := h.NewSession(c)
	s.turns, s.turnsBeforeReset, s.asides, s.started = saved.Turns, saved.Base, saved.Asides, saved.Started
	s.completed, s.interrupted, s.documents = saved.Completed, saved.Interrupted, saved.Documents
	s.words = errtext.CutTo(saved.Words, maxWords, "…")
	for _, w := range saved.Welcome {
		s.startContext = append(s.startContext, w.context())
	}
	if saved.Offer {
		s.unsentContext = s.startContext
	}
	s.sentContents = make(map[fragments.Hash]int, len(saved.Sent))
	for i, id := range saved.Sent {
		s.sentContents[id] = 0
		if len(saved.Uses) == len(saved.Sent) {
			s.sentContents[id] = saved.Uses[i]
		}
	}
	s.version, s.closed, s.droppedAge, s.restoredState = saved.Version, saved.Ended, saved.Dropped, saved.State
	s.paused, s.guards = saved.Paused, saved.Guards
	for i := range saved.Messages {
		s.history = append(s.history, saved.Messages[i].message())
	}
	s.system = systemText{ownText: saved.System, stale: true}
	for _, p := range saved.Parts {
		s.system.parts = append(s.system.parts, systemPart{p.Fragment, p.Fragment.ID(), p.Origins})
	}
	return s
}

// readsWords reports whether a hook on an event after the prompt reads the user's words.
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
