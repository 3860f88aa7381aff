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
	// Seed changes what ctx.random and ctx.uuid draw.
	Seed uint64
}

// A Session is a conversation. One turn runs at a time; others wait. Its methods
// are safe for concurrent use.
type Session struct {
	host    *Host
	config  SessionConfig
	slot    chan struct{} // holds one token: the right to run a turn
	waiting atomic.Int64
	values  sync.Map // opaque slots of other layers: plugins' state

	// What follows belongs to the turn that holds the token.

	number  int       // of turns begun
	history []Message // as sent, oldest first
	sent    map[fragments.Hash]bool
	opening []Context // of session_start, until a prompt has it
	system  systemText
	docs    int                       // documents rendered so far, for numbering
	last    *transcript               // of the previous prompt, for the cache report
	ids     map[string]fragments.Hash // of attachments, by content
}

// NewSession begins a conversation. No hook runs before its first turn.
func (h *Host) NewSession(c SessionConfig) *Session {
	n := h.sessions.Add(1)
	if c.ID == "" {
		c.ID = fmt.Sprintf("session-%d", n)
	}
	c.Platform = cmp.Or(c.Platform, "go")
	s := &Session{host: h, config: c, slot: make(chan struct{}, 1), sent: map[fragments.Hash]bool{}, ids: map[string]fragments.Hash{}}
	s.slot <- struct{}{}
	return s
}

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
	if s.waiting.Add(1) > int64(s.host.opts.MaxWaiting) {
		return fmt.Errorf("%w (limit %d, Options.MaxWaiting)", ErrBusy, s.host.opts.MaxWaiting)
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
	registry *registry
	request  Request
	number   int
	round    int
	words    string    // the user's own words, as history stores them
	offers   []Context // of turn_start
	messages []Message // this turn's part of the history
	sent     map[fragments.Hash]bool
	tools    *Tools // what the request may offer
	offered  *Tools // what the last prompt offered

	lanes    int
	trace    []HookTrace
	errors   []error
	reported struct{ trace, errors int } // how much of them earlier prompts have
	clock    sync.Once
	asked    atomic.Bool // a handler asked for the time
	now      time.Time
	ended    bool
}

// Begin starts a turn: it waits for the session, then runs session_start (at the
// first turn) and turn_start. The error is an *AbortError if a handler ended the
// turn, ErrBusy, or that of ctx. The caller must End a turn that it got.
func (s *Session) Begin(ctx context.Context, r Request) (*Turn, error) {
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	s.number++
	t := &Turn{session: s, registry: s.host.registry.Load(), request: r, number: s.number, words: r.Text, sent: map[fragments.Hash]bool{}}
	if r.History != nil {
		s.history, s.sent = slices.Clone(r.History), held(r.History)
	}
	t.request.Model = cmp.Or(r.Model, s.config.Model)
	if len(r.Options) == 0 {
		t.request.Options = emptyObject
	}
	t.tools = NewList(t.catalog())
	t.offered = t.tools
	if err := t.start(ctx); err != nil {
		t.End(ctx)
		return nil, err
	}
	return t, nil
}

// start runs the events that come before anything is built.
func (t *Turn) start(ctx context.Context) error {
	if t.number == 1 {
		out, err := t.fire(ctx, t.event("session_start"))
		if err != nil {
			return err
		}
		t.session.opening = out.Context
	}
	e := t.event("turn_start")
	out, err := t.fire(ctx, e)
	if err != nil {
		return err
	}
	t.words, t.offers = e.UserMessage, out.Context
	return nil
}

// event returns an event with everything filled in that is known at any time.
func (t *Turn) event(name string) *Event {
	return &Event{
		Name: name, SessionID: t.session.config.ID, UserMessage: t.words, IsFirstTurn: t.number == 1,
		Model: t.request.Model, Platform: t.session.config.Platform, Options: t.request.Options, Round: t.round,
		Arguments: emptyObject,
	}
}

// End ends the turn and lets the next one begin. Calls that the model asked for
// and that nobody ran are answered so, as no provider takes a conversation
// without the answers. Ending twice does nothing.
func (t *Turn) End(context.Context) {
	if t.ended {
		return
	}
	t.ended = true
	for _, c := range t.unanswered() {
		t.messages = append(t.messages, Message{Role: RoleTool, Content: "not run: the turn ended", CallID: c.ID, ToolName: c.Name, IsError: true})
	}
	t.session.history = append(t.session.history, t.messages...)
	t.session.slot <- struct{}{}
}

// Session returns the session that the turn belongs to.
func (t *Turn) Session() *Session { return t.session }

// Number returns the turn's number in its session, from 1.
func (t *Turn) Number() int { return t.number }

// Now returns the time of the turn: one value, taken when first asked for.
func (t *Turn) Now() time.Time {
	t.clock.Do(func() {
		t.now = t.session.host.opts.Clock()
		t.asked.Store(true)
	})
	return t.now
}

// AskedNow reports whether a handler asked for the time.
func (t *Turn) AskedNow() bool { return t.asked.Load() }

// Hooks returns what each handler of the turn did so far, in order.
func (t *Turn) Hooks() []HookTrace { return t.trace }

// Errors returns the failures of handlers so far, in order.
func (t *Turn) Errors() []error { return t.errors }

// Reply stores what the model answered to the last prompt. Its tool calls are
// answered by [Turn.CallTool].
func (t *Turn) Reply(r Reply) {
	t.messages = append(t.messages, Message{Role: RoleAssistant, Content: r.Content, ToolCalls: r.ToolCalls})
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

// catalog returns what the request may offer, by name.
func (t *Turn) catalog() []Tool {
	asked := ToolFilter{Allow: t.request.OnlyTools}
	tools := t.registry.offer(t.session.host.opts.Tools)
	tools = slices.DeleteFunc(tools, func(own Tool) bool { return !asked.admits(own.Name) })
	for _, theirs := range t.request.Tools {
		theirs.plugin, theirs.schema = "", nil
		tools = append(tools, theirs)
	}
	slices.SortStableFunc(tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(tools, func(a, b Tool) bool { return a.Name == b.Name })
}
