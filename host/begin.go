// A turn begins and ends here: its events, its clock, its place in the session.

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
)

// newTurn waits until the session is free, and returns a turn. The turn gets its number later, when it
// begins.
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
		session: s, host: h, registry: s.guarded(h.registry.Load()), number: s.turns,
		request: Request{Model: s.config.Model, Options: noArguments}, filters: append(make([]ToolFilter, 0, 2), h.opts.Tools),
		messages: slices.Clip(s.history), first: len(s.history),
	}, nil
}

// Begin starts a turn. It waits for the session, asks which tools are available, fires
// session_start in the first turn, loads the template and fires turn_start. The error is an
// *AbortError if a handler ended the turn, ErrBusy, ErrClosed, a *RefError, or the error of ctx.
// The caller must call End for a turn without error.
func (s *Session) Begin(ctx context.Context, r Request) (*Turn, error) {
	t, err := s.newTurn(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.checkPaused(); err != nil {
		s.slot <- struct{}{}
		return nil, err
	}
	s.turns++
	t.number, t.request, t.words = s.turns, r, r.Text
	t.filters = append(t.filters, ToolFilter{Allow: r.OnlyTools})
	if t.hasHooks("turn_end") {
		t.start = t.host.opts.Clock()
	}
	if r.History != nil {
		// The copy has room for the first messages of the turn.
		t.setHistory(append(make([]starhost.Message, 0, len(r.History)+8), r.History...))
		s.sentContents = contentsOf(r.History, s.currentUse())
	}
	if err := t.startTurn(ctx); err != nil {
		t.End(ctx)
		return nil, err
	}
	return t, nil
}

// startTurn loads the template and fires the events before the first prompt.
func (t *Turn) startTurn(ctx context.Context) error {
	if err := t.useTemplate(ctx); err != nil {
		return err
	}
	t.request.Model = cmp.Or(t.request.Model, t.session.config.Model)
	if len(t.request.Options) == 0 {
		t.request.Options = noArguments
	}
	if err := t.openSession(ctx); err != nil {
		return err
	}
	t.begun = true
	defer func() { t.session.words = errtext.CutTo(t.words, maxWords, "…") }()
	if !t.hasHooks("turn_start") {
		return nil
	}
	e := t.newEvent("turn_start")
	before := starhost.NewList(t.session.history)
	e.History = before
	out, err := t.fireEvent(ctx, e)
	if err != nil {
		return err
	}
	if e.History != before {
		t.changeHistory(e.History.Items())
	}
	t.words, t.offers = e.UserMessage, out.appendContext(t.offers)
	return nil
}

// openSession asks which tools are available, and fires session_start once for each session.
func (t *Turn) openSession(ctx context.Context) error {
	s := t.session
	if err := t.askAvailable(ctx); err != nil {
		return err
	}
	t.tools = starhost.NewList(t.catalog())
	t.offeredTools = t.tools
	if s.started {
		return nil
	}
	s.started = true
	if !t.hasHooks("session_start") {
		return nil
	}
	e := t.newEvent("session_start")
	e.Messages = starhost.NewList(typedMessages(s.history))
	out, err := t.fireEvent(ctx, e)
	if err != nil {
		return err
	}
	s.startContext = out.Context()
	s.unsentContext = s.startContext
	return nil
}

// End fires turn_end, also if ctx has ended, and lets the session's next turn begin. It answers the model's
// calls that did not run, because no provider accepts a conversation without answers to them. If the turn
// waits for an approval, it stays in its session: see [Options.PauseTurns]. A second End does nothing.
func (t *Turn) End(ctx context.Context) {
	if t.ended {
		return
	}
	t.ended = true
	s := t.session
	s.waiting.Store(nil)
	if t.question != nil {
		s.paused = stateIn(t, t.question)
		s.slot <- struct{}{}
		return
	}
	t.answerRest()
	s.history = t.messages
	if t.begun {
		s.completed, s.interrupted = t.completed, !t.completed && ctx.Err() != nil
	}
	if t.begun && t.hasHooks("turn_end") {
		e := t.newEvent("turn_end")
		e.Response, e.Completed, e.ToolCalls = t.response, t.completed, t.requestedCalls
		e.Messages = starhost.NewList(typedMessages(s.history))
		if !t.start.IsZero() { // a plugin that was loaded meanwhile may be the first with a hook
			e.DurationMS = int(t.host.opts.Clock().Sub(t.start).Milliseconds())
		}
		_, _ = t.fireEvent(context.WithoutCancel(ctx), e) // of its decisions, only end_session has an effect
	}
	t.endSession(context.WithoutCancel(ctx))
	s.lastNoteCount = len(t.notes)
	s.slot <- struct{}{}
}

// endSession closes the session if a handler asked for that by end_session. In an agent's session, or between
// two turns, it only logs the decision, because the host must go on guarding the session.
func (t *Turn) endSession(ctx context.Context) {
	d := t.ending
	if d == nil || t.session.closed {
		return
	}
	line := LogLine{Plugin: d.Plugin, Level: "info", Text: "end_session: " + d.Reason, Pos: d.Pos}
	isOurs := t.begun && !t.session.config.Guarded
	if !isOurs {
		line.Level, line.Text = "warn", line.Text+": no effect, because the host does not own this session"
	}
	t.host.opts.Log(line)
	if isOurs {
		t.session.closed = true
		_ = t.fireSessionEnd(ctx) // no error, because this ctx does not end
	}
}

// fireSessionEnd fires session_end. The error is that of ctx.
func (t *Turn) fireSessionEnd(ctx context.Context) error {
	s := t.session
	e := t.newEvent("session_end")
	e.Completed, e.Interrupted, e.Turns = s.completed, s.interrupted, s.turns
	_, err := t.fireEvent(ctx, e)
	return err
}

// Leave ends the host's part in a turn that an agent continues, and lets the session's next turn begin. Leave
// does not fire turn_end, because only the agent sees the end of the turn: it fires the event by
// [Session.Fire].
func (t *Turn) Leave(ctx context.Context) {
	t.begun = false
	t.End(ctx)
}

// Prompt begins a turn, builds its first prompt, and ends the turn. It suits conversations that consist of
// user messages only.
func (s *Session) Prompt(ctx context.Context, r Request) (*Prompt, error) {
	t, err := s.Begin(ctx, r)
	if err != nil {
		return nil, err
	}
	defer t.End(ctx)
	return t.Prompt(ctx)
}

// maxWords is the most bytes of the user's words that a session stores for the events between two turns.
const maxWords = 16 << 10

// BetweenTurns starts a turn that has no message and fires no events of its own. Handlers of this turn see
// the user's words of the turn before, up to 16 KiB. BetweenTurns is for programs whose agent calls tools and
// loads references without reporting its turns. The caller must call End for a turn without error.
func (s *Session) BetweenTurns(ctx context.Context) (*Turn, error) {
	t, err := s.newTurn(ctx)
	if err != nil {
		return nil, err
	}
	s.asides++
	t.aside = fmt.Sprintf("s%d.", s.asides)
	if err := t.openSession(ctx); err != nil {
		t.End(ctx)
		return nil, err
	}
	return t, nil
}

// Fire runs the handlers of one event between two turns. See [Turn.Fire].
func (s *Session) Fire(ctx context.Context, e *starhost.Event) (Outcome, error) {
	t, err := s.BetweenTurns(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer t.End(ctx)
	return t.Fire(ctx, e)
}

// Fire runs the handlers of an event that belongs to no session. They run in a new session, which fires no
// other event. See [Turn.Fire].
func (h *Host) Fire(ctx context.Context, e *starhost.Event) (Outcome, error) {
	s := newSession(h.live, SessionConfig{ID: "host"})
	s.started = true
	return s.Fire(ctx, e)
}

// Refire runs the handlers of a recorded event again, and fires no other event. It does not ask tools whether
// they are available, because the record does not say what they answered. See [Turn.Fire].
func (s *Session) Refire(ctx context.Context, e *starhost.Event) (out Outcome, err error) {
	t, err := s.newTurn(ctx)
	if err != nil {
		return out, err
	}
	defer t.End(ctx)
	s.asides++
	t.aside = fmt.Sprintf("s%d.", s.asides)
	t.tools = starhost.NewList(t.catalog())
	t.offeredTools = t.tools
	return t.Fire(ctx, e)
}

// Reset drops the history. The session keeps its model, the state of its plugins and the system text of the
// request. Reset fires session_reset. The next turn counts as the first one and offers the context of
// session_start again.
func (s *Session) Reset(ctx context.Context) error {
	t, err := s.BetweenTurns(ctx)
	if err != nil {
		return err
	}
	defer t.End(ctx)
	t.setHistory(nil)
	s.sentContents, s.documents, s.droppedAge, s.paused = nil, 0, 0, nil
	s.unsentContext, s.turnsBeforeReset = s.startContext, s.turns
	s.system = systemText{ownText: s.system.ownText, stale: true}
	_, err = t.fireEvent(ctx, t.newEvent("session_reset"))
	return err
}

// Close waits for the running turn. Then it ends the session, and fires session_end if the session had begun.
// Turns that wait, and all later calls, get [ErrClosed]. A second Close does nothing.
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
	return t.fireSessionEnd(ctx)
}
