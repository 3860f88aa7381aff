// This file describes a turn, which is one user message up to the final answer, and what handlers may ask of
// it.

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
	// System is the system text. If it is empty, the text of the session's earlier requests stays.
	System string
	// Template is a reference to a template, as the user typed it. Params are the values of the template's
	// parameters. See [starhost.Template].
	Template string
	Params   map[string]string
	// Fragments and SystemFragments are references, as the user typed them.
	Fragments, SystemFragments []string
	// Attachments go with the message.
	Attachments []fragments.Attachment
	// Tools are further tools, which the caller runs itself. If the host has a tool of the same name, the
	// host's tool wins.
	Tools []starhost.Tool
	// OnlyTools are globs on the names of the tools on offer. None means all tools.
	OnlyTools []string
	// Model and Options (a JSON object) are for the model. Hooks may change them.
	Model   string
	Options json.RawMessage
	// History replaces the session's history, for callers that store the messages themselves. starhost
	// recognises the contents that merging added to messages of earlier prompts. If History is nil, the
	// session's history stays.
	History []starhost.Message
}

// A Turn is one user message up to the final answer. Only one goroutine at a time may call its methods, but
// loaders may call Load, Now, Number and Session from others. The caller must call End at the end, also after
// an error.
type Turn struct {
	session      *Session
	host         *Host
	registry     *registry
	request      Request
	number       int
	round        int
	words        string             // the user's own words, as history stores them
	refs         []reference        // references that the template names
	filters      []ToolFilter       // filters of the host, the request and the template
	offers       []starhost.Context // context of the template and of turn_start
	messages     []starhost.Message // the session's history, and the turn's messages from first on; they only grow
	first        int
	followed     []starhost.Message // messages after the user's, until the first prompt
	budgetSpent  fragments.Spent    // what the turn's prompts have used of the budget
	tools        *starhost.Tools    // tools that the request may offer
	offeredTools *starhost.Tools    // tools that the last prompt offered
	withoutTools bool               // the next prompt offers no tools
	withdrawn    []string           // tools that handlers of the running pre_llm_call took away
	prompt       *Prompt            // the last one that Run built
	model        string             // the model of the last prompt

	requestedCalls []starhost.ToolCall // calls that the model asked for
	replies        []ToolReply         // replies to the calls that Run ran
	usage          starhost.Usage
	completed      bool   // the turn has a final answer
	response       string // the final answer

	aside        string    // begins the paths of lanes outside of a turn
	begun        bool      // turn_start has run
	start        time.Time // when the turn began, if turn_end has a hook
	laneCount    int
	notes        []traceNote
	traces       []HookTrace // the traces of notes that Hooks has already returned
	errors       []error
	inErrorEvent bool                        // an error event is running
	observed     *observation                // the observation of the running event; nil if nobody observes it
	shares       map[string]pluginShare      // what each plugin has used of the running event's budget
	held         int                         // bytes that the host stores for the running event: see hold
	reported     struct{ trace, errors int } // how many notes and errors earlier prompts have reported
	clock        sync.Mutex                  // guards the two fields below
	now          clockReading
	firstNow     clockReading
	ended        bool
	ending       *starhost.Decision // the decision that ends the session after the turn; nil if none does
	question     *pausedTurn        // the question for which the turn waits; or nil
	resumed      *pausedTurn        // the question for which the turn waited, until the call runs; or nil
}

// newEvent returns an event with the arguments that all events of the turn have.
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

// Request returns the turn's request, with what its template added.
func (t *Turn) Request() Request { return t.request }

// lastWords returns the user's words that events have. Between two turns, these are the words of the turn
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
	return starhost.NewList(typedMessages(t.messages))
}

// own returns the turn's own messages.
func (t *Turn) own() []starhost.Message { return t.messages[t.first:] }

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

// swapReading replaces the reading of the clock, and returns the old one. Each event begins without a
// reading. When it ends, the outer event gets its reading back.
func (t *Turn) swapReading(next clockReading) (before clockReading) {
	t.clock.Lock()
	defer t.clock.Unlock()
	before, t.now = t.now, next
	return before
}

// FirstNow returns the first time that [Turn.Now] returned to a handler. asked is false if no handler has
// called Now.
func (t *Turn) FirstNow() (first time.Time, asked bool) {
	t.clock.Lock()
	defer t.clock.Unlock()
	return t.firstNow.at, t.firstNow.done
}
