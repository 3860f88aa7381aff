package golden

import (
	"context"
	"time"

	"github.com/starhost/starhost"
)

// Steps are the steps of cases, played one after another in a session that somebody
// else made: what the prompt of a REPL offers. They are a builtins.CaseDriver, and
// print what a case would print.
type Steps struct{ play }

// NewSteps returns steps in a session. Each needs the context of [Steps.Within].
func NewSteps(s *starhost.Session) *Steps { return &Steps{play{session: s}} }

// SetContext sets the context of the steps to come: that of what they call, too.
func (s *Steps) SetContext(ctx context.Context) { s.ctx = ctx }

// CurrentTurn returns the turn under way, or begins one with an empty message.
func (s *Steps) CurrentTurn() (*starhost.Turn, error) { return s.currentTurn() }

// Elapsed returns by how much steps have moved the time.
func (s *Steps) Elapsed() time.Duration { return s.now.Sub(time.Time{}) }

// TakeOutput returns what steps printed since it was asked last.
func (s *Steps) TakeOutput() string {
	text := s.out.String()
	s.out.Reset()
	return text
}

// EndTurn ends the turn under way.
func (s *Steps) EndTurn() { s.endTurn() }
