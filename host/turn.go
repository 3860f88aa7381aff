// A turn: one user message up to the final answer, and what its handlers may ask of it.

package host

import (
	"cmp"
	"encoding/json"
	"sync"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// A Request is the input of one turn. The zero value is an empty message.
type Request struct {
	// Text is the user's own words.
	Text string
	// System is the system text. Empty means the text of the session's earlier requests.
	System string
	// Template is a reference to a template, as the user typed it. Params are the values of its
	// parameters. See [starhost.Template].
	Template string
	Params   map[string]string
	// Fragments and SystemFragments are references, as the user typed them.
	Fragments, SystemFragments []string
	// Attachments go with the message.
	Attachments []fragments.Attachment
	// Tools are on offer beside the host's tools, which win over tools of the same name. The caller
	// runs them itself.
	Tools []starhost.Tool
	// OnlyTools limits the tools on offer by globs; none means all.
	OnlyTools []string
	// Model and Options (a JSON object) are for the model. Hooks may change them.
	Model   string
	Options json.RawMessage
	// History replaces the session's history, for callers that store the messages themselves.
	// starhost recognises the contents that merging added to messages of earlier prompts. Nil
	// leaves the session's history.
	History []starhost.Message
}

// A Turn is one user message up to the final answer. Only one goroutine at a time may call its
// methods, but loaders may call Load, Now, Number and Session. The caller must call End at last,
// also after an error.
type Turn struct {
	session      *Session
	host         *Host
	registry     *registry
	request      Request
	number       int
	round        int
	words        string             // the user's own words, as history stores them
	refs         []reference        // references of the template
	filters      []ToolFilter       // limits of the host, the request and the template
	offers       []starhost.Context // context of the template and of turn_start
	messages     []starhost.Message // this turn's part of the history
	followed     []starhost.Message // messages behind the user's, until the first prompt
	budgetSpent  fragments.Spent    // use of the budget by its prompts
	tools        *starhost.Tools    // tools that the request may offer
	offeredTools *starhost.Tools    // tools that the last prompt offered
	withoutTools bool               // the next prompt offers no tools
	withdrawn    []string           // tools that handlers of the running pre_llm_call took away
	prompts      []*Prompt          // those that Run built, at most MaxRounds
	model        string             // the last prompt's

	requestedCalls []starhost.ToolCall // calls of the model
	replies        []ToolReply         // replies to the calls that Run ran
	usage          starhost.Usage
	completed      bool   // there is a final answer
	response       string // the final answer

	aside        string    // prefix of the lanes' paths outside of a turn
	begun        bool      // turn_start has run
	start        time.Time // the turn's first moment, if turn_end has a hook
	laneCount    int
	notes        []traceNote
	traces       []HookTrace // traces of notes, as far as Hooks returned them
	errors       []error
	inErrorEvent bool                        // an error event is running
	observed     *observation                // the running event's; nil if nothing observes it
	shares       map[string]pluginShare      // parts of the running event's budget, by plugin
	held         int                         // bytes of the running event's handlers: see hold
	reported     struct{ trace, errors int } // how many notes and errors earlier prompts contain
	clock        sync.Mutex                  // guards the next two
	now          clockReading
	firstNow     clockReading
	ended        bool
	ending       *starhost.Decision // ends the session after the turn; nil if none does
	question     *pausedTurn        // the turn waits for its answer; or nil
	resumed      *pausedTurn        // the question for which the turn waited, until its call; or nil
}

// newEvent returns an event with the arguments that every event of the turn has.
func (t *Turn) newEvent(name string) *starhost.Event {
	return &starhost.Event{
		Name: name, SessionID: t.session.config.ID, UserMessage: t.lastWords(),
		IsFirstTurn: t.number == t.session.turnsBeforeReset+1,
		Model:       cmp.Or(t.request.Model, t.session.config.Model), Platform: t.session.config.Platform,
		Options: t.request.Options, Round: t.round,
		Workspace: t.session.config.Workspace, Roles: t.session.config.Roles,
		Arguments: noArguments, Describe: t.host.opts.Describe,
	}
}

// Tools returns the tools that the turn may offer to the model, by name.
func (t *Turn) Tools() *starhost.Tools { return t.tools }

// Request returns the turn's request after its template.
func (t *Turn) Request() Request { return t.request }

// lastWords returns the user's words for events. Between two turns, these are the words of the turn
// before.
func (t *Turn) lastWords() string {
	if t.aside != "" {
		return t.session.words
	}
	return t.words
}

// UserWords returns the user's own words after turn_start, as the history stores them.
func (t *Turn) UserWords() string { return t.words }

// Session returns the turn's session.
func (t *Turn) Session() *Session { return t.session }

// Number returns the turn's number in its session, from 1.
func (t *Turn) Number() int { return t.number }

// Errors returns the failures of handlers so far, in order.
func (t *Turn) Errors() []error { return t.errors }

// Hooks returns the traces of the turn's handlers so far, in order. The caller must not change the
// list.
func (t *Turn) Hooks() []HookTrace {
	t.traces = appendTraces(t.traces, t.notes[len(t.traces):])
	return t.traces
}

// Conversation returns the messages so far, as plugins see them: see [starhost.Messages].
func (t *Turn) Conversation() *starhost.Messages {
	return starhost.NewList(typedMessages(t.session.history, t.messages))
}

// A clockReading is a time of Options.Clock. The zero value says that no handler has read the
// clock.
type clockReading struct {
	at   time.Time
	done bool
}

// Now returns the time of the running event or tool call. The first handler that asks reads
// Options.Clock, and all others of the event get the same time.
func (t *Turn) Now() time.Time {
	t.clock.Lock()
	defer t.clock.Unlock()
	if !t.now.done {
		t.now = clockReading{t.host.opts.Clock(), true}
		if !t.firstNow.done {
			t.firstNow = t.now
		}
	}
	return t.now.at
}

// swapReading replaces the reading of the clock and returns the old one. An event begins without a
// reading; an outer event gets its reading back.
func (t *Turn) swapReading(next clockReading) (before clockReading) {
	t.clock.Lock()
	defer t.clock.Unlock()
	before, t.now = t.now, next
	return before
}

// FirstNow returns the first time that [Turn.Now] returned to a handler. asked is false if none
// called it.
func (t *Turn) FirstNow() (first time.Time, asked bool) {
	t.clock.Lock()
	defer t.clock.Unlock()
	return t.firstNow.at, t.firstNow.done
}
