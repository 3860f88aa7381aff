package golden

import (
	"context"
	"time"

	"github.com/starhost/starhost/host"
)

// Steps run steps of cases one after another in an existing session, for the prompt of a REPL. They are a
// builtins.CaseDriver, and print the output that the steps print in a case.
type Steps struct{ play }

// NewSteps returns Steps that run in a session. Call [Steps.SetContext] before each step.
func NewSteps(s *host.Session) *Steps {
	return &Steps{play{session: s, limit: maxCase, fullReport: true}}
}

// SetContext sets the context of the next steps and of everything that they call.
func (s *Steps) SetContext(ctx context.Context) { s.ctx = ctx }

// SetHook sets the function that sends an agent's event through the agent's adapter: see [Options.Hooks].
func (s *Steps) SetHook(hook func(ctx context.Context, agent, event string) (out, stderr string, code int, err error)) {
	s.hook = hook
}

// SetApprover sets the function that answers the questions of steps that state no answers: see
// [host.Options].
func (s *Steps) SetApprover(ask func(context.Context, host.ApprovalRequest) (host.Answer, error)) {
	s.approver = ask
}

// CurrentTurn returns the current turn, or begins one with an empty message.
func (s *Steps) CurrentTurn() (*host.Turn, error) { return s.currentTurn() }

// Now returns the time that handlers read: the time that a step set, or else the time of clock. Steps that
// advance the time move both.
func (s *Steps) Now(clock func() time.Time) time.Time {
	if s.isSet {
		return s.now
	}
	return clock().Add(s.now.Sub(time.Time{}))
}

// TakeOutput returns what the steps have printed since the last call of TakeOutput.
func (s *Steps) TakeOutput() string {
	text := s.out.String()
	s.out.Reset()
	return text
}

// EndTurn ends the current turn, if there is one.
func (s *Steps) EndTurn() { s.endTurn() }
