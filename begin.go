package starhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/starhost/starhost/fragments"
)

// newTurn waits for the session, and returns a turn that does not count yet.
func (s *Session) newTurn(ctx context.Context) (*Turn, error) {
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	if s.closed {
		s.slot <- struct{}{}
		return nil, ErrClosed
	}
	h := s.live.Host()
	return &Turn{
		session: s, host: h, registry: h.registry.Load(), number: s.turns,
		request: Request{Model: s.config.Model, Options: emptyObject}, filters: append(make([]ToolFilter, 0, 2), h.opts.Tools),
	}, nil
}

// Begin starts a turn: it waits for the session, asks which tools are available
// and runs session_start (at the first turn), loads the template, and runs
// turn_start. The error is an *AbortError if a handler ended the turn, ErrBusy,
// ErrClosed, a *RefError, or that of ctx. The caller must End a turn that it got.
func (s *Session) Begin(ctx context.Context, r Request) (*Turn, error) {
	t, err := s.newTurn(ctx)
	if err != nil {
		return nil, err
	}
	s.turns++
	t.number, t.request, t.words = s.turns, r, r.Text
	t.filters = append(t.filters, ToolFilter{Allow: r.OnlyTools})
	if r.History != nil {
		s.history, s.sentContents = slices.Clone(r.History), contentsOf(r.History)
	}
	if err := t.startTurn(ctx); err != nil {
		t.End(ctx)
		return nil, err
	}
	return t, nil
}

// startTurn runs what comes before anything is built.
func (t *Turn) startTurn(ctx context.Context) error {
	if err := t.useTemplate(ctx); err != nil {
		return err
	}
	t.request.Model = cmp.Or(t.request.Model, t.session.config.Model)
	if len(t.request.Options) == 0 {
		t.request.Options = emptyObject
	}
	if err := t.openSession(ctx); err != nil {
		return err
	}
	t.begun = true
	if !t.hasHooks("turn_start") {
		return nil
	}
	e := t.newEvent("turn_start")
	out, err := t.fire(ctx, e)
	if err != nil {
		return err
	}
	t.words, t.offers = e.UserMessage, out.appendContext(t.offers)
	return nil
}

// openSession does what a session does once, and finds the tools that may be offered.
func (t *Turn) openSession(ctx context.Context) error {
	s := t.session
	if err := t.askAvailable(ctx); err != nil {
		return err
	}
	t.tools = NewList(t.catalog())
	t.offeredTools = t.tools
	if s.started {
		return nil
	}
	s.started = true
	if !t.hasHooks("session_start") {
		return nil
	}
	out, err := t.fire(ctx, t.newEvent("session_start"))
	if err != nil {
		return err
	}
	s.startContext = out.Context()
	s.unsentContext = s.startContext
	return nil
}

// End ends the turn with turn_end, which a cancelled ctx does not keep from
// running, and lets the next one begin. Calls that the model asked for and that
// nobody ran are answered so, as no provider takes a conversation without the
// answers. Ending twice does nothing.
func (t *Turn) End(ctx context.Context) {
	if t.ended {
		return
	}
	t.ended = true
	s := t.session
	for _, c := range t.unanswered() {
		t.messages = append(t.messages, Message{Role: RoleTool, Content: fragments.NewText("not run: the turn ended"),
			CallID: c.ID, ToolName: c.Name, IsError: true})
	}
	s.history = append(s.history, t.messages...)
	if t.begun {
		s.completed, s.interrupted = t.completed, !t.completed && ctx.Err() != nil
	}
	if t.begun && t.hasHooks("turn_end") {
		e := t.newEvent("turn_end")
		e.Response, e.Completed, e.ToolCalls = t.response, t.completed, t.requestedCalls
		_, _ = t.fire(context.WithoutCancel(ctx), e) // nothing can be decided any more
	}
	s.lastNoteCount = len(t.notes)
	s.slot <- struct{}{}
}

// Leave ends the host's part in a turn that goes on elsewhere, and lets the next
// one begin: turn_end is not fired, as only the agent will know the end. It fires
// the event by [Session.Fire].
func (t *Turn) Leave(ctx context.Context) {
	t.begun = false
	t.End(ctx)
}

// Prompt begins a turn, builds its first prompt and ends it: a conversation of
// user messages alone.
func (s *Session) Prompt(ctx context.Context, r Request) (*Prompt, error) {
	t, err := s.Begin(ctx, r)
	if err != nil {
		return nil, err
	}
	defer t.End(ctx)
	return t.Prompt(ctx)
}

// Aside uses the session between two turns, with a turn that is none: it has no
// message and no events of its own, and ends with use. For programs whose agent
// calls tools and loads references without telling of the turns that they are in.
func (s *Session) Aside(ctx context.Context, use func(*Turn) error) error {
	t, err := s.newTurn(ctx)
	if err != nil {
		return err
	}
	defer t.End(ctx)
	s.asides++
	t.aside = fmt.Sprintf("s%d.", s.asides)
	if err := t.openSession(ctx); err != nil {
		return err
	}
	return use(t)
}

// Fire runs the handlers of one event between two turns. See [Turn.Fire].
func (s *Session) Fire(ctx context.Context, e *Event) (Outcome, error) {
	var out Outcome
	err := s.Aside(ctx, func(t *Turn) (err error) {
		out, err = t.Fire(ctx, e)
		return err
	})
	return out, err
}

// Fire runs the handlers of one event that belongs to no session, in one of its
// own that has no other events. See [Turn.Fire].
func (h *Host) Fire(ctx context.Context, e *Event) (Outcome, error) {
	s := newSession(h.live, SessionConfig{ID: "host"})
	s.started = true
	return s.Fire(ctx, e)
}

// Reset drops the history and keeps the session: its model, its plugins' state,
// the request's system text. It fires session_reset. The next turn counts as the
// first one, and what session_start offered is offered again.
func (s *Session) Reset(ctx context.Context) error {
	return s.Aside(ctx, func(t *Turn) error {
		s.history, s.sentContents, s.documents = nil, nil, 0
		s.unsentContext, s.turnsBeforeReset = s.startContext, s.turns
		s.system = systemText{ownText: s.system.ownText, stale: true}
		_, err := t.fire(ctx, t.newEvent("session_reset"))
		return err
	})
}

// Close ends the session with session_end, if it had begun. It waits for the turn
// under way; those that wait then get [ErrClosed], as does everything later.
// Closing twice does nothing.
func (s *Session) Close(ctx context.Context) error {
	t, err := s.newTurn(ctx)
	if errors.Is(err, ErrClosed) {
		return nil
	}
	if err != nil {
		return err
	}
	defer t.End(ctx)
	s.closed, t.aside = true, "end."
	if !s.started {
		return nil
	}
	if err := t.openSession(ctx); err != nil {
		return err
	}
	e := t.newEvent("session_end")
	e.Completed, e.Interrupted, e.Turns = s.completed, s.interrupted, s.turns
	_, err = t.fire(ctx, e)
	return err
}
