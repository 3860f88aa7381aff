package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// A startSession is the session at the start of a case, from a section such as
//
//	{"id":"case","turn":3,"between_turns":true,
//	 "state":{"PLUGIN":{"KEY":1}},"store":{"PLUGIN":{"KEY":"x"}}}
//
// The zero value is a new session.
type startSession struct {
	ID        string   `json:"id"`
	Platform  string   `json:"platform,omitempty"`
	Workspace string   `json:"workspace,omitempty"`
	Model     string   `json:"model,omitempty"`
	Roles     []string `json:"roles,omitempty"`
	// Turn is the number of turns that began before the case; 0 for a session that has not begun.
	Turn int `json:"turn,omitempty"`
	// BetweenTurns lets the step fire fire events as an agent's hook does: it uses the session outside of any
	// turn, so that no turn_start comes before the event.
	BetweenTurns bool `json:"between_turns,omitempty"`
	// State and Store are the values of ctx.state and ctx.store, by plugin and key.
	State effects.SavedStates                   `json:"state,omitempty"`
	Store map[string]map[string]json.RawMessage `json:"store,omitempty"`
}

// startSession reads the section session.json.
func (a *archive) startSession() (s startSession, err error) {
	s = startSession{ID: "case", Platform: platform}
	text := a.text(sessionFile)
	if text == nil {
		return s, nil
	}
	if err = decodeStrict(text, &s); err == nil && (s.Turn < 0 || s.Turn > maxTurn) {
		err = errtext.Errorf("turn: got %d, want 0 to %d", s.Turn, maxTurn)
	}
	if err != nil {
		return s, inSection(sessionFile, 1, errtext.Errorf("%s: %s", sessionFile, jsontext.Explain(err)))
	}
	return s, nil
}

// decodeStrict reads a text that is one JSON value without unknown members.
func decodeStrict(text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if err == nil && dec.Decode(&struct{}{}) != io.EOF {
		return errors.New("got more than an object, want one")
	}
	return err
}

// config returns what a host knows about the session.
func (s *startSession) config() host.SessionConfig {
	return host.SessionConfig{ID: s.ID, Platform: s.Platform, Workspace: s.Workspace, Model: s.Model, Roles: s.Roles}
}

// maxTurn is the largest number of turns before a case.
const maxTurn = 1_000_000

// begin returns the session with its values of ctx.state, and puts the values of ctx.store into the stage's
// store.
func (s *startSession) begin(st *stage, h *host.Host) (*host.Session, error) {
	session := h.Resume(s.config(), host.SavedSession{Turns: s.Turn, Started: s.Turn > 0 || s.BetweenTurns})
	err := effects.RestoreStates(session, s.State)
	for _, plugin := range slices.Sorted(maps.Keys(s.Store)) {
		for _, key := range slices.Sorted(maps.Keys(s.Store[plugin])) {
			err = errors.Join(err, st.store.Set(st.ctx, plugin, key, s.Store[plugin][key]))
		}
	}
	if err != nil {
		return nil, errtext.Errorf("%s: %w", sessionFile, err)
	}
	st.betweenTurns = s.BetweenTurns
	return session, nil
}
