package golden

import (
	"context"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// Steps run steps of cases one after another in an existing session, for the prompt of a REPL. They are a
// builtins.CaseDriver, and print the output that the steps print in a case.
type Steps struct{ play }

// NewSteps returns Steps that run in a session. hook sends an agent's event through the agent's adapter: see
// [Options.Hooks]. ask answers the questions of steps that state no answers: see [host.Options]. Call
// [Steps.SetContext] before each step.
func NewSteps(
	s *host.Session, hook func(ctx context.Context, agent, event string) (out, stderr string, code int, err error),
	ask func(context.Context, host.ApprovalRequest) (host.Answer, error),
) *Steps {
	noMore := func() []starhost.EventSpec { return nil } // than those of starhost
	return &Steps{play{session: s, limit: maxCase, fullReport: true, hook: hook, approver: ask, known: noMore}}
}

// SetContext sets the context of the next steps and of everything that they call.
func (s *Steps) SetContext(ctx context.Context) { s.ctx = ctx }

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
