// Package starhost hosts plugins that decide what a language model is told and
// what it may do.
//
// A [Plugin] is a set of registrations: tools, hooks, fragment and template
// loaders, commands, skills and endpoints. A [Host] holds plugins, all checked
// against each other. A [Session] is a conversation, a [Turn] one user message up
// to the final answer, a round one request to the model within a turn.
//
// [Session.Turn] is the agent loop. Its parts are there by themselves, for
// programs that have a loop of their own: [Turn.Prompt] gathers context from
// references and hooks, merges it by content and returns a [Prompt] with a report
// that explains each of its bytes; [Turn.Reply] takes what the model answered;
// [Turn.CallTool] runs a tool through the guards.
//
// The central promise is that a session is append-only: each prompt is the
// previous one with bytes added at its end, because that is what a provider's
// prompt cache pays for. What breaks it is reported.
//
// A registration is a plain struct with a Go func. Nothing in this package knows
// whether a .star file, a server or a Go program wrote it, and nothing here
// evaluates Starlark.
package starhost

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/seam"
)

// Options configure a Host. The zero value works.
type Options struct {
	// Prompt says how prompts are put together.
	Prompt PromptOptions
	// Tools limits what is offered, by globs on the tool's name: Deny wins, an
	// empty Allow allows all.
	Tools ToolFilter
	// AppEvents are the events that the program declares and fires, by [Host.Fire],
	// [Session.Fire] or [Turn.Fire]. Their names begin with "app."; they may accept
	// context, modify, deny, ask and abort.
	AppEvents []EventSpec
	// Approver decides what a person must approve. Nil denies.
	Approver func(ctx context.Context, r ApprovalRequest) (bool, error)
	// EventTimeout is the most wall-clock time of one event, for the calls of all its hooks
	// together, effects and nested calls included. Hooks that have no result by then fail, so that
	// guards deny. Zero or less means 20 seconds.
	EventTimeout time.Duration
	// ApprovalTimeout is how long an answer of the Approver is waited for; then it
	// is no. An Approver that does not heed its context goes on by itself. Zero or
	// less means five minutes.
	ApprovalTimeout time.Duration
	// MaxRounds is the most requests of [Turn.Run] that offer tools. If the model
	// still asks for tools, one last request offers none, so that there is an answer.
	// Zero or less means 25.
	MaxRounds int
	// Clock gives the time of a turn, read at most once a turn and only if a
	// handler asks, and how long tools and the model take. Nil means time.Now.
	Clock func() time.Time
	// Log receives what handlers log and which ones failed, in the order of their
	// calls. Nil drops it. It may be called by several sessions at once.
	Log func(LogLine)
	// Record receives the effects of handlers and each [Input], in the order in which
	// the calls of the handlers are due. Nil drops them. It may be called by several
	// sessions at once.
	Record func(Entry)
	// Answer gives each [Input] in place of the model and the Approver, as the turn's
	// record has it: for turns that run again. Nil means that these are asked.
	Answer func(Input) (json.RawMessage, error)
	// Fragments keeps what prompts kept of fragments, so that later ones can refer
	// to them by their ids. What it cannot keep is logged, and the prompt goes on
	// without. Nil keeps nothing.
	Fragments fragments.Store
	// Workers is the most loaders of one prompt that run at a time; zero or less
	// means 8.
	Workers int
	// MaxWaiting is the most turns of one session that wait for the one under way;
	// zero means 16, less than that none. One more is an error.
	MaxWaiting int

	loadersLastFirst bool // see [seam.StartLoadersLastFirst]
}

func init() {
	seam.StartLoadersLastFirst = func(options any) { options.(*Options).loadersLastFirst = true }
	seam.ShareView = func(list any, newView func() any) any {
		return list.(interface{ sharedView(func() any) any }).sharedView(newView)
	}
	seam.MarkDerived = func(tool any) { tool.(*Tool).derived = true }
}

// Check says what is wrong with the options: a glob that is none, or an event
// that cannot be declared. [New] takes such options, as it has no error; then
// [Host.Add] returns this one.
func (o *Options) Check() error {
	for _, list := range []struct {
		name  string
		globs []string
	}{{"allow", o.Tools.Allow}, {"deny", o.Tools.Deny}} {
		if err := checkGlobs("tools: "+list.name, list.globs); err != nil {
			return err
		}
	}
	for i := range o.AppEvents {
		s := &o.AppEvents[i]
		if err := s.checkApp(); err != nil {
			return err
		}
		if slices.ContainsFunc(o.AppEvents[:i], func(e EventSpec) bool { return e.Name == s.Name }) {
			return fmt.Errorf("event %q is declared twice", s.Name)
		}
	}
	return nil
}

// A ToolFilter selects tools by name. The zero value selects all.
type ToolFilter struct{ Allow, Deny []string }

// admits reports whether the filter lets name through.
func (f ToolFilter) admits(name string) bool {
	return (len(f.Allow) == 0 || matchAny(f.Allow, name)) && !matchAny(f.Deny, name)
}

// Dedup says which earlier messages a fragment is looked for in.
type Dedup string

// The kinds of dedup. The zero value means DedupSession.
const (
	DedupSession Dedup = "session" // a content is sent once a session
	DedupPrompt  Dedup = "prompt"  // a content is sent once a turn
)

// PromptOptions say how prompts are put together.
type PromptOptions struct {
	// Dedup says how far back contents are not sent again; "" means DedupSession.
	Dedup Dedup
	// Render says how fragments are written; "" means [fragments.Plain].
	Render fragments.Rendering
	// Budget bounds a turn's contents; zero fields mean those of [fragments.DefaultBudget].
	Budget fragments.Budget
}

// withDefaults returns the options with the defaults of zero fields.
func (p PromptOptions) withDefaults() PromptOptions {
	p.Dedup, p.Render = cmp.Or(p.Dedup, DedupSession), cmp.Or(p.Render, fragments.Plain)
	b, d := &p.Budget, fragments.DefaultBudget()
	b.MaxBytes = cmp.Or(b.MaxBytes, d.MaxBytes)
	b.MaxFragment = cmp.Or(b.MaxFragment, d.MaxFragment)
	b.MaxPlugin = cmp.Or(b.MaxPlugin, d.MaxPlugin)
	b.MaxAttachments = cmp.Or(b.MaxAttachments, d.MaxAttachments)
	b.MaxAttachment = cmp.Or(b.MaxAttachment, d.MaxAttachment)
	b.MaxPixels = cmp.Or(b.MaxPixels, d.MaxPixels)
	return p
}

// defaultEventTimeout is the EventTimeout of [Options] that set none.
const defaultEventTimeout = 20 * time.Second

// An ApprovalRequest is what a person is asked.
type ApprovalRequest struct {
	SessionID string
	Call      ToolCall
	Plugin    string   // that registered the tool
	Reasons   []string // why approval is needed
}

// A Host holds plugins. It is safe for concurrent use; sessions see the plugins
// that were there when their turn began.
type Host struct {
	opts       Options
	optionsErr error      // of the options: nothing can be added
	mu         sync.Mutex // held by Add
	registry   atomic.Pointer[registry]
	hashes     *fragments.HashCache
	live       *LiveHost // of sessions that never have another host
}

// maxHashes is the most bytes of a host's cache of hashes, with their texts.
const maxHashes = 32 << 20

// New returns a Host without plugins.
func New(o Options) *Host {
	o.Prompt = o.Prompt.withDefaults()
	if o.Workers <= 0 {
		o.Workers = 8
	}
	if o.EventTimeout <= 0 {
		o.EventTimeout = defaultEventTimeout
	}
	if o.ApprovalTimeout <= 0 {
		o.ApprovalTimeout = 5 * time.Minute
	}
	if o.MaxRounds <= 0 {
		o.MaxRounds = 25
	}
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 16)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = func(LogLine) {}
	}
	h := &Host{opts: o, optionsErr: o.Check(), hashes: fragments.NewHashCache(maxHashes)}
	h.live = NewLiveHost(h)
	h.registry.Store(newRegistry(o.AppEvents))
	return h
}

// Add takes all registrations of all the plugins, or none: a bad name, a bad
// schema or a name that another plugin has is an error that shows the place, or
// both. It is a *RegistrationError or a *ConflictError, but for a bad plugin name
// and for options that are not valid: see [Options.Check].
func (h *Host) Add(plugins ...Plugin) error {
	if h.optionsErr != nil || len(plugins) == 0 {
		return h.optionsErr
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*Plugin, len(plugins))
	for i := range plugins {
		list[i] = plugins[i].clone()
	}
	next, err := h.registry.Load().withPlugins(list)
	if err != nil {
		return err
	}
	next.sort()
	h.registry.Store(next)
	return nil
}

// AddEach adds plugins one after another, as [Host.Add] of each does, and omits those that it
// cannot add. It returns an error or nil for each. The host copies its registry once and not
// for each plugin, because 1,000 calls of Add take 90 times as long.
func (h *Host) AddEach(plugins []*Plugin) []error {
	errs := make([]error, len(plugins))
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.registry.Load()
	next := old.clone()
	good := make([]*Plugin, 0, len(plugins))
	for i, p := range plugins {
		p = p.clone()
		if errs[i] = cmp.Or(h.optionsErr, next.add(p)); errs[i] == nil {
			good = append(good, p)
			continue
		}
		next, _ = old.withPlugins(good) // they could be added before
	}
	next.sort()
	h.registry.Store(next)
	return errs
}
