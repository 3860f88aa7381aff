// Package host runs plugins that decide what a language model reads and may do.
//
// A [Host] contains plugins and checks them against each other. A [Session] is a conversation, a
// [Turn] one user message up to the final answer, and a round one request to the model within a
// turn.
//
// [Session.Turn] is the agent loop. Programs with their own loop call its parts: [Turn.Prompt]
// gathers context from references and hooks, merges it by content and returns a [Prompt] with a
// report that explains each of its bytes; [Turn.Reply] takes the model's answer; [Turn.CallTool]
// runs a tool through the guards. A handler gets its turn from its context: see [TurnOf].
//
// The central promise is that a session is append-only: each prompt is the previous one with bytes
// added at its end, because a provider's prompt cache rewards only that. A prompt that breaks the
// promise says so: see [CacheBreak].
//
// This package does not evaluate Starlark: a registration is a plain struct with a Go func.
//
// Read host.go, register.go and registry.go for what a host contains; session.go, begin.go and
// turn.go for a conversation; loop.go, gather.go, prompt_build.go and tool.go for a turn's way;
// fire.go, lane.go and event_budget.go for the call of a handler; observe.go, trace.go and record.go
// for its record; saved.go and pause.go for sessions that outlive a process.
package host

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
)

// Options configure a Host. The zero value works.
type Options struct {
	// Prompt says how the host builds prompts.
	Prompt PromptOptions
	// Tools limits the tools of all turns, by globs on their names. Deny wins over Allow, and an empty Allow
	// allows all tools.
	Tools ToolFilter
	// AppEvents are the events that the program declares and fires by [Host.Fire], [Session.Fire]
	// or [Turn.Fire]. Their names start with "app."; they may allow context, modify, deny, ask and
	// abort.
	AppEvents []starhost.EventSpec
	// Approver decides about calls that a person must approve, and answers [Turn.Confirm]. If it is nil, or
	// returns an error, the host denies the call. An error that wraps [errors.ErrUnsupported] means, as nil
	// does, that nobody can answer.
	Approver func(ctx context.Context, r ApprovalRequest) (Answer, error)
	// PauseTurns makes a turn wait if a call of the model needs an approval and nobody can answer:
	// [TurnResult.Paused] has the question, End leaves the turn in its session, and
	// [Session.ResumeTurn] goes on with it, possibly in another process.
	PauseTurns bool
	// EventTimeout is the most wall-clock time of one event, for the calls of all its hooks together, with
	// their effects and nested calls. A hook that has no result by then fails, so that guards deny. Zero or
	// less means 20 seconds.
	EventTimeout time.Duration
	// ApprovalTimeout bounds the wait for the Approver. A later answer counts as no. An Approver that ignores
	// its context goes on in the background. Zero or less means five minutes.
	ApprovalTimeout time.Duration
	// MaxRounds is the most requests of [Turn.Run] that offer tools. If the model still asks for tools after
	// them, one last request offers none, so that the model must answer. Zero or less means 25.
	MaxRounds int
	// MaxResult is the most bytes of a tool's result that the model gets. The host cuts a longer
	// result and says so in its last line. Handlers that call tools, and post_tool_call, get the
	// whole result. Zero or less means 256 KiB.
	MaxResult int
	// Clock returns the time of an event, and measures how long tools and the model take. Nil means
	// time.Now. See [Turn.Now].
	Clock func() time.Time
	// Log receives the handlers' log lines and failures in the order of their calls. Nil drops
	// them. Several sessions may call it at once.
	Log func(LogLine)
	// Describe describes the tool call of an event, for hooks that match kinds or read
	// [starhost.Event.CallInfo]. If it is nil, hooks see calls of all kinds. Several sessions may call it at
	// once.
	Describe func(*starhost.Event) *starhost.CallInfo
	// Observe receives each event that handlers answered, before the caller gets the outcome: the
	// event as the first handler saw it, and the outcome with [Outcome.Hooks]. It gets copies, so
	// that it cannot change the answer, except by an error: the host then denies the event or
	// aborts the turn. It does not receive an event that a handler fired, whose effects count as
	// the handler's, and no event that ctx ended. Nil observes nothing. Several sessions may call
	// it at once.
	//
	// It also receives what no hook decides: each answer to a question about a call (the event's
	// name is "approval": see [Outcome.Answer]), each run of a tool, a command or a loader of
	// fragments or templates that had effects ("tool_run", "command_run", "load_run",
	// "template_run"; the latter two have the reference as the argument ref), and each call that
	// [Host.ReportRun] reports ("call_ran"). An error about an answer denies the call; one about a
	// run is logged.
	Observe func(e starhost.Event, o Outcome) error
	// ObserveAll also passes to Observe the events that no handler heard, and the runs that had no effects.
	ObserveAll bool
	// Halt returns an error that says why the operator halts all calls, or nil if the operator does not. The
	// host calls it at each event of guards, and refuses the event with the error. A nil Halt halts nothing.
	// Several sessions may call it at once.
	Halt func() error
	// Record receives the effects of handlers and each [Input], in the order of the handlers'
	// calls. Nil drops them. Several sessions may call it at once.
	Record func(Entry)
	// Answer returns the recorded answer to an [Input], so that a program can replay a turn. If it is nil,
	// the host asks the model and the Approver.
	Answer func(Input) (json.RawMessage, error)
	// Fragments stores the fragments that prompts send, so that later requests can refer to them by
	// their ids. The host logs a failure of the store, and the prompt goes on. Nil stores nothing.
	Fragments fragments.Store
	// Sessions stores sessions: see [Host.Continue]. Nil stores none.
	Sessions SessionStore
	// Workers is the most loaders of one prompt that run at once; zero or less means 8.
	Workers int
	// MaxWaiting is the most turns that wait while another turn of their session runs; zero means 16, and
	// less than zero none. If one more turn comes, it gets an error.
	MaxWaiting int
	// LoadersLastFirst makes the host start the loaders of a prompt from the last one on. Golden cases run in
	// both orders, because nobody may notice the order in which loaders finish.
	LoadersLastFirst bool
}

// Check returns an error for a malformed glob or for an event that a program cannot declare. [New]
// accepts such options, because it returns no error; [Host.Add] then returns this one.
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
		if err := checkDeclared(s); err != nil {
			return err
		}
		if slices.ContainsFunc(o.AppEvents[:i], func(e starhost.EventSpec) bool { return e.Name == s.Name }) {
			return errtext.Errorf("event %q is declared twice", s.Name)
		}
	}
	return nil
}

// A ToolFilter selects tools by globs. The zero value selects all.
type ToolFilter struct{ Allow, Deny []string }

// admits reports whether the filter selects a tool.
func (f ToolFilter) admits(name string) bool {
	return (len(f.Allow) == 0 || matchAny(f.Allow, name)) && !matchAny(f.Deny, name)
}

// Dedup says in which messages the host looks for a content that it need not send again.
type Dedup string

// The kinds of dedup. The zero value means DedupSession.
const (
	DedupSession Dedup = "session" // the host sends a content once a session
	DedupPrompt  Dedup = "prompt"  // the host sends a content once a turn
)

// PromptOptions say how the host builds prompts.
type PromptOptions struct {
	// Dedup says in which messages the host looks for contents that it need not send again.
	Dedup Dedup
	// Render is the form of fragments in a prompt; "" means [fragments.Plain].
	Render fragments.Rendering
	// Budget bounds the contents of a turn; zero fields mean the values of
	// [fragments.DefaultBudget].
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

// defaultEventTimeout is the EventTimeout if the Options set none.
const defaultEventTimeout = 20 * time.Second

// defaultMaxResult is the MaxResult if the Options set none.
const defaultMaxResult = 256 << 10

// An ApprovalRequest is a question to a person.
type ApprovalRequest struct {
	SessionID string
	Call      starhost.ToolCall
	Plugin    string              // the tool's plugin
	Reasons   []string            // why somebody must approve; for a command, its question
	Asks      []starhost.Decision // the decisions of hooks that ask, with their places
}

// A Host contains plugins. It is safe for concurrent use. A turn has the plugins that were in the
// host when it began.
type Host struct {
	opts       Options
	optionsErr error      // an error of the options, which Add returns
	mu         sync.Mutex // Add locks it
	registry   atomic.Pointer[registry]
	hashes     *fragments.HashCache
	live       *LiveHost // of sessions that stay on this host
}

// maxHashes is the most bytes of the cache of hashes that a host has, with the texts.
const maxHashes = 32 << 20

// New returns a Host without plugins.
func New(o Options) *Host {
	o.Prompt = o.Prompt.withDefaults()
	o.Workers, o.MaxRounds = cmp.Or(max(o.Workers, 0), 8), cmp.Or(max(o.MaxRounds, 0), 25)
	o.EventTimeout = cmp.Or(max(o.EventTimeout, 0), defaultEventTimeout)
	o.MaxResult = cmp.Or(max(o.MaxResult, 0), defaultMaxResult)
	o.ApprovalTimeout = cmp.Or(max(o.ApprovalTimeout, 0), 5*time.Minute)
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

// Add adds all registrations of all the plugins, or nothing. If a name or a schema is not valid, or another
// plugin has the name, the error is a *RegistrationError or a *ConflictError with the place, or both places.
// Other errors are about names of plugins, and about options: see [Options.Check].
func (h *Host) Add(plugins ...starhost.Plugin) error {
	if h.optionsErr != nil || len(plugins) == 0 {
		return h.optionsErr
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*starhost.Plugin, len(plugins))
	for i := range plugins {
		list[i] = clonePlugin(&plugins[i])
	}
	next, err := h.registry.Load().withPlugins(list)
	if err != nil {
		return err
	}
	next.sort()
	h.registry.Store(next)
	return nil
}

// AddEach adds one plugin after another, as [Host.Add] does for each, and omits those that it cannot add. The
// result has an error or nil for each plugin. AddEach copies the registry once, while 1,000 calls of Add
// would copy it 1,000 times and take 90 times as long.
func (h *Host) AddEach(plugins []*starhost.Plugin) []error {
	errs := make([]error, len(plugins))
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.registry.Load()
	next := old.clone()
	good := make([]*starhost.Plugin, 0, len(plugins))
	for i, p := range plugins {
		p = clonePlugin(p)
		if errs[i] = cmp.Or(h.optionsErr, next.add(p)); errs[i] == nil {
			good = append(good, p)
			continue
		}
		next, _ = old.withPlugins(good) // no error, because each of them could be added before
	}
	next.sort()
	h.registry.Store(next)
	return errs
}

// Lose tells the host that further guards are not loaded. In turns that begin from now on, the host refuses
// each event that one of these guards closes, and calls no handler for it. A program that loads plugins calls
// Lose once; then the host refuses for all its callers.
func (h *Host) Lose(guards ...Guard) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.registry.Store(h.registry.Load().withLost(guards))
}

// LostGuards returns the guards that [Host.Lose] named.
func (h *Host) LostGuards() []Guard { return slices.Clone(h.registry.Load().lost) }

// Refuses returns why the host refuses an event without calling handlers, or nil if it does not refuse it.
func (h *Host) Refuses(event string) error {
	c, err := h.registry.Load().hooksOf(event)
	if err != nil {
		return nil
	}
	return h.closes(c)
}

// A LiveHost is a host that a program can replace. To reload plugins, a program builds a second Host and
// swaps it in. A turn keeps the plugins that it began with to its end; the next turn of its session has the
// new ones. A LiveHost is safe for concurrent use.
type LiveHost struct {
	host     atomic.Pointer[Host]
	sessions atomic.Int64
}

// NewLiveHost returns a LiveHost that begins with h.
func NewLiveHost(h *Host) *LiveHost {
	l := new(LiveHost)
	l.host.Store(h)
	return l
}

// Host returns the host that the next turn will have.
func (l *LiveHost) Host() *Host { return l.host.Load() }

// Swap makes h the host of all turns that begin from now on. It returns the previous host.
func (l *LiveHost) Swap(h *Host) (old *Host) { return l.host.Swap(h) }
