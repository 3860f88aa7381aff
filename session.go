package starhost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starhost/starhost/fragments"
)

// A SessionConfig says what a session is. The zero value works.
type SessionConfig struct {
	// ID names the session towards plugins; empty means "session-N" with N counted
	// by the host.
	ID string
	// Platform is where the session takes place; empty means "go".
	Platform string
	// Model is the model's name as plugins see it; a request may name another.
	Model string
	// Roles are those that tools may be limited to.
	Roles []string
	// Seed changes what ctx.random and ctx.uuid draw.
	Seed uint64
}

// A Session is a conversation. One turn runs at a time; others wait, as do
// commands and events that are fired outside of a turn. Its methods are safe for
// concurrent use.
type Session struct {
	live    *Live
	config  SessionConfig
	slot    chan struct{} // holds one token: the right to run a turn
	waiting atomic.Int64
	values  sync.Map // opaque slots of other layers: plugins' state

	// What follows belongs to the turn that holds the token.

	number  int                    // of turns begun
	base    int                    // of those, how many before the last reset
	asides  int                    // of other uses
	started bool                   // session_start has run
	closed  bool                   // session_end has
	cut     bool                   // the last turn ended because of its context
	done    bool                   // the last turn had its final answer
	welcome []Context              // of session_start
	history []Message              // as sent, oldest first
	sent    map[fragments.Hash]int // what messages hold, and the use that sent it last; 0 for one before
	opening []Context              // welcome, until a prompt has it
	noted   int                    // calls that the last turn's trace had
	system  systemText
	docs    int                       // documents rendered so far, for numbering
	last    *transcript               // of the previous prompt, for the cache report
	ids     map[string]fragments.Hash // of attachments, by content
	theirs  []*toolPiece              // of the tools of the last request that brought some
	asked   *registry                 // whose tools' availability is known
	without map[string]bool           // tools that are not available
}

// NewSession begins a conversation. No hook runs before its first turn.
func (h *Host) NewSession(c SessionConfig) *Session { return h.live.NewSession(c) }

func newSession(l *Live, c SessionConfig) *Session {
	c.Platform = cmp.Or(c.Platform, "go")
	s := &Session{live: l, config: c, slot: make(chan struct{}, 1)}
	s.slot <- struct{}{}
	return s
}

// use returns the number of the turn, or other use, that is under way: no two have the
// same.
func (s *Session) use() int { return s.number + s.asides }

// ID returns the session's name.
func (s *Session) ID() string { return s.config.ID }

// Seed returns what draws of randomness start from.
func (s *Session) Seed() uint64 { return s.config.Seed }

// Value returns what the session keeps under key, making it at first: the slot
// in which another layer holds a session's state. It is safe for concurrent use.
func (s *Session) Value(key any, make func() any) any {
	if v, ok := s.values.Load(key); ok {
		return v
	}
	v, _ := s.values.LoadOrStore(key, make())
	return v
}

// ErrBusy says that too many turns wait for a session.
var ErrBusy = errors.New("session is busy: too many turns wait")

// ErrClosed says that a session was closed.
var ErrClosed = errors.New("session is closed")

// acquire waits for the right to run a turn.
func (s *Session) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.slot:
		return nil
	default:
	}
	defer s.waiting.Add(-1)
	if limit := s.live.Host().opts.MaxWaiting; s.waiting.Add(1) > int64(limit) {
		return fmt.Errorf("%w (limit %d, Options.MaxWaiting)", ErrBusy, limit)
	}
	select {
	case <-s.slot:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A Request is what one turn starts from. The zero value is an empty message.
type Request struct {
	// Text is the user's own words.
	Text string
	// System is the system text. Empty keeps the session's.
	System string
	// Template is a reference to a template, as typed by the user; Params are the
	// values of the parameters that it names. See [Template].
	Template string
	Params   map[string]string
	// Fragments and SystemFragments are references, as typed by the user.
	Fragments, SystemFragments []string
	// Attachments go with the message.
	Attachments []fragments.Attachment
	// Tools are offered beside the host's own, which win where names are the same.
	// The caller runs them itself.
	Tools []Tool
	// OnlyTools limits what is offered, by globs; none means all.
	OnlyTools []string
	// Model and Options (a JSON object) are for the model; hooks may change them.
	Model   string
	Options json.RawMessage
	// History replaces the session's history by messages that the caller keeps
	// itself; what merging put into those of earlier prompts is known again. Nil
	// keeps the session's own.
	History []Message
}

// A Turn is one user message up to the final answer. Its methods must be called
// by one goroutine at a time, but loaders may call Load, Now, Number and Session.
// After an error, and at last, comes End.
type Turn struct {
	session  *Session
	host     *Host
	registry *registry
	request  Request
	number   int
	round    int
	words    string          // the user's own words, as history stores them
	refs     []reference     // of the template
	only     []ToolFilter    // of the host, the request and the template
	offers   []Context       // of the template's attachments, and of turn_start
	messages []Message       // this turn's part of the history
	spent    fragments.Spent // by its prompts
	tools    *Tools          // what the request may offer
	offered  *Tools          // what the last prompt offered
	toolless bool            // the next prompt offers none
	prompt   *Prompt         // the last one

	called    []ToolCall  // that the model asked for
	calls     []ToolReply // that Run ran
	usage     Usage
	completed bool   // there is a final answer
	response  string // that is it

	aside    string // starts the lanes' paths where this is no turn of its own
	begun    bool   // turn_start has been fired
	lanes    int
	trace    []note
	told     []HookTrace // what Hooks made of trace
	errors   []error
	telling  bool                        // an error event is being fired
	shares   map[string]pluginShare      // of the budget of the event under way, by plugin
	reported struct{ trace, errors int } // how much of them earlier prompts have
	clock    sync.Mutex                  // of the next two
	now      reading
	firstNow reading
	ended    bool
}

// enter waits for the session, and returns a turn that does not count yet.
func (s *Session) enter(ctx context.Context) (*Turn, error) {
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	if s.closed {
		s.slot <- struct{}{}
		return nil, ErrClosed
	}
	h := s.live.Host()
	return &Turn{
		session: s, host: h, registry: h.registry.Load(), number: s.number,
		request: Request{Model: s.config.Model, Options: emptyObject}, only: append(make([]ToolFilter, 0, 2), h.opts.Tools),
	}, nil
}

// Begin starts a turn: it waits for the session, asks which tools are available
// and runs session_start (at the first turn), loads the template, and runs
// turn_start. The error is an *AbortError if a handler ended the turn, ErrBusy,
// ErrClosed, a *RefError, or that of ctx. The caller must End a turn that it got.
func (s *Session) Begin(ctx context.Context, r Request) (*Turn, error) {
	t, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	s.number++
	t.number, t.request, t.words = s.number, r, r.Text
	t.only = append(t.only, ToolFilter{Allow: r.OnlyTools})
	if r.History != nil {
		s.history, s.sent = slices.Clone(r.History), held(r.History)
	}
	if err := t.start(ctx); err != nil {
		t.End(ctx)
		return nil, err
	}
	return t, nil
}

// start runs what comes before anything is built.
func (t *Turn) start(ctx context.Context) error {
	if err := t.useTemplate(ctx); err != nil {
		return err
	}
	t.request.Model = cmp.Or(t.request.Model, t.session.config.Model)
	if len(t.request.Options) == 0 {
		t.request.Options = emptyObject
	}
	if err := t.open(ctx); err != nil {
		return err
	}
	t.begun = true
	if !t.heard("turn_start") {
		return nil
	}
	e := t.event("turn_start")
	out, err := t.fire(ctx, e)
	if err != nil {
		return err
	}
	t.words, t.offers = e.UserMessage, out.appendContext(t.offers)
	return nil
}

// open does what a session does once, and finds the tools that may be offered.
func (t *Turn) open(ctx context.Context) error {
	s := t.session
	if err := t.askAvailable(ctx); err != nil {
		return err
	}
	t.tools = NewList(t.catalog())
	t.offered = t.tools
	if s.started {
		return nil
	}
	s.started = true
	if !t.heard("session_start") {
		return nil
	}
	out, err := t.fire(ctx, t.event("session_start"))
	if err != nil {
		return err
	}
	s.welcome = out.Context()
	s.opening = s.welcome
	return nil
}

// event returns an event with everything filled in that is known at any time.
func (t *Turn) event(name string) *Event {
	return &Event{
		Name: name, SessionID: t.session.config.ID, UserMessage: t.words, IsFirstTurn: t.number == t.session.base+1,
		Model: t.request.Model, Platform: t.session.config.Platform, Options: t.request.Options, Round: t.round,
		Arguments: emptyObject,
	}
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
		t.messages = append(t.messages, Message{Role: RoleTool, Content: fragments.NewText("not run: the turn ended"), CallID: c.ID, ToolName: c.Name, IsError: true})
	}
	s.history = append(s.history, t.messages...)
	if t.begun {
		s.done, s.cut = t.completed, !t.completed && ctx.Err() != nil
	}
	if t.begun && t.heard("turn_end") {
		e := t.event("turn_end")
		e.Response, e.Completed, e.ToolCalls = t.response, t.completed, t.called
		_, _ = t.fire(context.WithoutCancel(ctx), e) // nothing can be decided any more
	}
	s.noted = len(t.trace)
	s.slot <- struct{}{}
}

// Tools returns what the turn may offer, by name: what is for the session and the
// request.
func (t *Turn) Tools() *Tools { return t.tools }

// Request returns what the turn starts from, as its template made it.
func (t *Turn) Request() Request { return t.request }

// Session returns the session that the turn belongs to.
func (t *Turn) Session() *Session { return t.session }

// Number returns the turn's number in its session, from 1.
func (t *Turn) Number() int { return t.number }

// A reading is what Options.Clock returned. The zero value says that nothing read it yet.
type reading struct {
	at   time.Time
	done bool
}

// Now returns the time of the event, or of the tool call, under way. The first handler of it that
// asks reads Options.Clock, and the others get the same value.
func (t *Turn) Now() time.Time {
	t.clock.Lock()
	defer t.clock.Unlock()
	if !t.now.done {
		t.now = reading{t.host.opts.Clock(), true}
		if !t.firstNow.done {
			t.firstNow = t.now
		}
	}
	return t.now.at
}

// swapNow replaces the reading of the clock, and returns the one before. An event begins without
// one; an event that surrounds it gets its own back.
func (t *Turn) swapNow(next reading) (before reading) {
	t.clock.Lock()
	defer t.clock.Unlock()
	before, t.now = t.now, next
	return before
}

// AskedNow returns the first time that a handler got from [Turn.Now]; asked is false if none asked.
func (t *Turn) AskedNow() (first time.Time, asked bool) {
	t.clock.Lock()
	defer t.clock.Unlock()
	return t.firstNow.at, t.firstNow.done
}

// Errors returns the failures of handlers so far, in order.
func (t *Turn) Errors() []error { return t.errors }

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

// catalog returns what the request may offer, by name.
func (t *Turn) catalog() []Tool {
	tools := t.registry.offer(t.mayOffer)
	if len(t.request.Tools) == 0 {
		return tools
	}
	t.session.theirs = piecesOf(t.request.Tools, t.session.theirs)
	for i, theirs := range t.request.Tools {
		theirs.plugin, theirs.schema, theirs.replaced, theirs.piece = "", nil, nil, t.session.theirs[i]
		tools = append(tools, theirs)
	}
	slices.SortStableFunc(tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(tools, func(a, b Tool) bool { return a.Name == b.Name })
}

// mayOffer reports whether a tool is for this session and this request.
func (t *Turn) mayOffer(tool *Tool) bool {
	refuses := func(f ToolFilter) bool { return !f.admits(tool.Name) }
	has := func(role string) bool { return slices.Contains(t.session.config.Roles, role) }
	return !t.session.without[tool.Name] && !slices.ContainsFunc(t.only, refuses) &&
		(len(tool.Roles) == 0 || slices.ContainsFunc(tool.Roles, has))
}

// EventAvailable is the event name that traces give to the question whether a
// tool is available.
const EventAvailable = "available"

// askAvailable asks the tools whether they are available, once for each set of
// plugins, by name.
func (t *Turn) askAvailable(ctx context.Context) error {
	s := t.session
	if s.asked == t.registry {
		return nil
	}
	var without map[string]bool
	deadline := t.startEvent(ctx)
	for i := range t.registry.catalog {
		tool := &t.registry.catalog[i]
		if tool.Available == nil {
			continue
		}
		ok, err := t.available(ctx, tool, deadline)
		if err != nil {
			return err
		}
		if without == nil {
			without = map[string]bool{}
		}
		without[tool.Name] = !ok
	}
	s.asked, s.without = t.registry, without
	return nil
}

// available asks one tool. The error is one that ends the turn.
func (t *Turn) available(ctx context.Context, tool *Tool, deadline time.Time) (ok bool, err error) {
	lane := t.lane(ctx, tool.plugin, false)
	if err = t.limit(lane, tool.eventSteps, deadline); err == nil {
		ok, err = protect(func() (bool, error) { return tool.Available(lane.with(ctx), t) })
		err = t.spend(lane, err)
	}
	trace := &HookTrace{Event: EventAvailable, Plugin: tool.plugin, Pos: tool.Pos, Steps: lane.Steps, Bytes: lane.Bytes}
	switch {
	case err != nil:
		trace.Action, trace.Detail = ActionError, err.Error()
	case !ok:
		trace.Detail = "tool " + tool.Name + " is not available"
	}
	t.record(lane)
	t.note(lane).full = trace
	if err := cut(ctx, err); err != nil {
		return false, err
	}
	if err != nil {
		t.fail(ctx, &HandlerError{Plugin: tool.plugin, What: "available of tool " + tool.Name, Pos: tool.Pos, Err: err})
	}
	return ok && err == nil, nil
}

// Aside uses the session between two turns, with a turn that is none: it has no
// message and no events of its own, and ends with use. For programs whose agent
// calls tools and loads references without telling of the turns that they are in.
func (s *Session) Aside(ctx context.Context, use func(*Turn) error) error {
	t, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer t.End(ctx)
	s.asides++
	t.aside = fmt.Sprintf("s%d.", s.asides)
	if err := t.open(ctx); err != nil {
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
		s.history, s.sent, s.docs = nil, nil, 0
		s.opening, s.base = s.welcome, s.number
		s.system = systemText{own: s.system.own, stale: true}
		_, err := t.fire(ctx, t.event("session_reset"))
		return err
	})
}

// Close ends the session with session_end, if it had begun. It waits for the turn
// under way; those that wait then get [ErrClosed], as does everything later.
// Closing twice does nothing.
func (s *Session) Close(ctx context.Context) error {
	t, err := s.enter(ctx)
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
	if err := t.open(ctx); err != nil {
		return err
	}
	e := t.event("session_end")
	e.Completed, e.Interrupted, e.Turns = s.done, s.cut, s.number
	_, err = t.fire(ctx, e)
	return err
}
