// A stored turn is resumed with its answer.

package host

import (
	"context"
	"slices"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
)

// ResumeTurn waits until the session is free, and goes on with the turn that waits for an approval or for the
// program's results. It returns nil if no turn waits. [Turn.Run] then asks the guards about the call again,
// and uses the answer of [SavedSession.Answer]. If there is no answer, or it no longer counts, Run asks the
// Approver. An answer counts for 24 hours, once, and only for the same call and plugins. If [Host.Continue]
// returned the session, ResumeTurn marks the answer in the store as used. The error wraps [ErrBusy] if
// another process did so less than ten minutes before, because that process may go on.
func (s *Session) ResumeTurn(ctx context.Context) (*Turn, error) {
	t, err := s.newTurn(ctx)
	if err != nil {
		return nil, err
	}
	if s.paused == nil {
		s.slot <- struct{}{}
		return nil, nil
	}
	p := *s.paused
	if err := s.useAnswer(ctx); err != nil {
		s.slot <- struct{}{}
		return nil, err
	}
	t.number, t.round, t.laneCount, t.words, t.budgetSpent = s.turns, p.Round, p.Lanes, string(p.Words), p.Spent
	t.request.System, t.request.Options, t.request.Tools = p.System, p.Options, slices.Clone(p.Tools)
	t.request.Text, t.request.Model = t.words, p.Model
	t.messages = append(t.messages, p.history()...)
	t.usage, t.start, t.resumed, t.begun = p.Usage, p.Start, &p, true
	for i := range t.request.Tools {
		if tool := &t.request.Tools[i]; string(tool.Parameters) == "null" { // JSON writes null for no parameters
			tool.Parameters = nil
		}
	}
	for _, allow := range p.Allowed {
		t.filters = append(t.filters, ToolFilter{Allow: allow})
	}
	for i := range p.Requested {
		t.requestedCalls = append(t.requestedCalls, p.Requested[i].call())
	}
	if !p.isQuestion() {
		t.resumed = nil
	}
	s.paused = nil
	if err := t.openSession(ctx); err != nil {
		t.End(ctx)
		return nil, err
	}
	t.offeredTools = starhost.NewList(toolsNamed(t, p.Offered))
	return t, nil
}

// useAnswer marks the answer as used in the store, before its call runs.
func (s *Session) useAnswer(ctx context.Context) error {
	o := &s.live.Host().opts
	given, now := s.paused.Answer, o.Clock()
	switch {
	case given == nil || s.version == 0 || o.Sessions == nil:
		return nil
	case !given.Used.IsZero() && now.Sub(given.Used) < resumeTime:
		return errtext.Errorf("session %q: %w: another process resumed its turn at %s",
			s.ID(), ErrBusy, given.Used.Format(time.RFC3339))
	case !given.Used.IsZero():
		return nil
	}
	used, answer := *s.paused, *given
	used.Answer, answer.Used = &answer, now.UTC()
	saved := s.save()
	saved.Paused = &used
	if err := o.Sessions.StoreSession(ctx, saved); err != nil {
		return err
	}
	s.version++
	return nil
}

// toolsNamed returns the tools that an earlier prompt offered and that still exist.
func toolsNamed(t *Turn, names []string) []starhost.Tool {
	var list []starhost.Tool
	for _, name := range names {
		i := slices.IndexFunc(t.tools.Items(), func(tool starhost.Tool) bool { return tool.Name == name })
		added := t.registry.tools[name] // a handler of pre_llm_call may have added the tool
		switch {
		case i >= 0:
			list = append(list, *t.tools.At(i))
		case added != nil && admits(t, added):
			list = append(list, *added)
		}
	}
	return list
}
