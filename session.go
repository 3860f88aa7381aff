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

	number   int       // of turns begun
	history  []Message // as sent, oldest first
	sent     map[fragments.Hash]bool
	system   systemText
	docs     int       // documents rendered so far, for numbering
	last     []string  // the previous prompt's pieces, for the cache report
	lastSent *HookInfo // the pre_send hook that changed the previous request, if any
}

// NewSession begins a conversation. No hook runs before its first turn.
func (h *Host) NewSession(c SessionConfig) *Session {
	n := h.sessions.Add(1)
	if c.ID == "" {
		c.ID = fmt.Sprintf("session-%d", n)
	}
	c.Platform = cmp.Or(c.Platform, "go")
	s := &Session{host: h, config: c, slot: make(chan struct{}, 1), sent: map[fragments.Hash]bool{}}
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
	if s.waiting.Add(1) > int64(s.host.opts.MaxWaiting)+1 {
		s.waiting.Add(-1)
		return fmt.Errorf("%w (limit %d, Options.MaxWaiting)", ErrBusy, s.host.opts.MaxWaiting)
	}
	defer s.waiting.Add(-1)
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
	// Tools are offered beside the host's own; the caller runs them itself.
	Tools []Tool
	// OnlyTools limits what is offered, by globs; none means all.
	OnlyTools []string
	// Model and Options (a JSON object) are for the model; hooks may change them.
	Model   string
	Options json.RawMessage
	// History replaces the session's history by messages that the caller keeps
	// itself. Nil keeps the session's own.
	History []Message
}

// A Turn is one user message up to the final answer. Its methods must be called
// by one goroutine at a time, and End at last.
type Turn struct {
	session  *Session
	registry *registry
	request  Request
	number   int
	round    int
	words    string    // the user's own words, as history stores them
	offers   []Context // of session_start and turn_start
	messages []Message // this turn's part of the history
	sent     map[fragments.Hash]bool
	offered  *Tools // what the last prompt offered

	lanes  int
	trace  []HookTrace
	seen   int // how much of trace earlier prompts reported
	errors []error
	now    time.Time
	asked  bool // a handler asked for the time
	ended  bool
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
		s.history = slices.Clone(r.History)
	}
	t.request.Model = cmp.Or(r.Model, s.config.Model)
	if len(r.Options) == 0 {
		t.request.Options = emptyObject
	}
	t.offered = NewList(t.tools())
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
		t.offer(out)
	}
	e := t.event("turn_start")
	out, err := t.fire(ctx, e)
	if err != nil {
		return err
	}
	t.words = e.UserMessage
	t.offer(out)
	return nil
}

// offer keeps an event's context for the turn's first prompt.
func (t *Turn) offer(out Outcome) {
	t.offers = append(t.offers, out.Context...)
}

// event returns an event with everything filled in that is known at any time.
func (t *Turn) event(name string) *Event {
	return &Event{
		Name: name, SessionID: t.session.config.ID, UserMessage: t.words, IsFirstTurn: t.number == 1,
		Model: t.request.Model, Platform: t.session.config.Platform, Options: t.request.Options, Round: t.round,
		Arguments: emptyObject,
	}
}

// End ends the turn and lets the next one begin. Ending twice does nothing.
func (t *Turn) End(context.Context) {
	if t.ended {
		return
	}
	t.ended = true
	t.session.history = append(t.session.history, t.messages...)
	t.session.slot <- struct{}{}
}

// Session returns the session that the turn belongs to.
func (t *Turn) Session() *Session { return t.session }

// Number returns the turn's number in its session, from 1.
func (t *Turn) Number() int { return t.number }

// Now returns the time of the turn: one value, taken when first asked for.
func (t *Turn) Now() time.Time {
	if !t.asked {
		t.now, t.asked = t.session.host.opts.Clock(), true
	}
	return t.now
}

// AskedNow reports whether a handler asked for the time.
func (t *Turn) AskedNow() bool { return t.asked }

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

// tools returns what the request may offer, by name.
func (t *Turn) tools() []Tool {
	filter := ToolFilter{Allow: t.request.OnlyTools}
	var tools []Tool
	for _, own := range t.session.host.Tools() {
		if filter.admits(own.Name) {
			tools = append(tools, own)
		}
	}
	tools = append(tools, t.request.Tools...)
	slices.SortStableFunc(tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(tools, func(a, b Tool) bool { return a.Name == b.Name })
}
