package starhost

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/starhost/starhost/fragments"
)

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
	session      *Session
	host         *Host
	registry     *registry
	request      Request
	number       int
	round        int
	words        string          // the user's own words, as history stores them
	refs         []reference     // of the template
	filters      []ToolFilter    // of the host, the request and the template
	offers       []Context       // of the template's attachments, and of turn_start
	messages     []Message       // this turn's part of the history
	budgetSpent  fragments.Spent // by its prompts
	tools        *Tools          // what the request may offer
	offeredTools *Tools          // what the last prompt offered
	withoutTools bool            // the next prompt offers none
	prompt       *Prompt         // the last one

	requestedCalls []ToolCall  // that the model asked for
	replies        []ToolReply // that Run ran
	usage          Usage
	completed      bool   // there is a final answer
	response       string // that is it

	aside        string // starts the lanes' paths where this is no turn of its own
	begun        bool   // turn_start has been fired
	laneCount    int
	notes        []traceNote
	traces       []HookTrace // what Hooks made of trace
	errors       []error
	inErrorEvent bool                        // an error event is being fired
	shares       map[string]pluginShare      // of the budget of the event under way, by plugin
	reported     struct{ trace, errors int } // how much of them earlier prompts have
	clock        sync.Mutex                  // of the next two
	now          clockReading
	firstNow     clockReading
	ended        bool
}

// newEvent returns an event with everything filled in that is known at any time.
func (t *Turn) newEvent(name string) *Event {
	return &Event{
		Name: name, SessionID: t.session.config.ID, UserMessage: t.words,
		IsFirstTurn: t.number == t.session.turnsBeforeReset+1,
		Model:       t.request.Model, Platform: t.session.config.Platform, Options: t.request.Options, Round: t.round,
		Arguments: emptyObject,
	}
}

// Tools returns what the turn may offer, by name: what is for the session and the
// request.
func (t *Turn) Tools() *Tools { return t.tools }

// Request returns what the turn starts from, as its template made it.
func (t *Turn) Request() Request { return t.request }

// UserWords returns the user's own words, as turn_start left them and history stores
// them.
func (t *Turn) UserWords() string { return t.words }

// Session returns the session that the turn belongs to.
func (t *Turn) Session() *Session { return t.session }

// Number returns the turn's number in its session, from 1.
func (t *Turn) Number() int { return t.number }

// Errors returns the failures of handlers so far, in order.
func (t *Turn) Errors() []error { return t.errors }

// Hooks returns what each handler of the turn did so far, in order. The list must not
// be changed; what handlers do later is in a later one.
func (t *Turn) Hooks() []HookTrace {
	t.traces = appendTraces(t.traces, t.notes[len(t.traces):])
	return t.traces
}

// A reading is what Options.Clock returned. The zero value says that nothing read it yet.
type clockReading struct {
	at   time.Time
	done bool
}

// Now returns the time of the event, or of the tool call, under way. The first handler of it that
// asks reads Options.Clock, and the others get the same value.
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

// swapReading replaces the reading of the clock, and returns the one before. An event begins
// without one; an event that surrounds it gets its own back.
func (t *Turn) swapReading(next clockReading) (before clockReading) {
	t.clock.Lock()
	defer t.clock.Unlock()
	before, t.now = t.now, next
	return before
}

// FirstNow returns the first time that a handler got from [Turn.Now]; asked is false if none asked.
func (t *Turn) FirstNow() (first time.Time, asked bool) {
	t.clock.Lock()
	defer t.clock.Unlock()
	return t.firstNow.at, t.firstNow.done
}
