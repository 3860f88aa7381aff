package decision

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// An EventLog is the log of an agent's events. It collects the records of one event, because they contain the
// agent's answer, which comes last. One goroutine asks the plugins and records; if it is late, another one records
// the refusal.
type EventLog struct {
	New func() *Log // opens the log if nobody has opened it before; returns nil if it is not enabled

	records []*Record

	mu       sync.Mutex
	isOpen   bool
	log      *Log
	failures strings.Builder
}

// An AgentAnswer is what an agent got for an event.
type AgentAnswer struct {
	Action  string          // see [Record.Answered]
	Refused string          // why nobody decided, "" if somebody did
	Dropped []string        // changes that the agent cannot make
	Args    json.RawMessage // in the place of the call's arguments, or nil
}

// Open opens the log by newLog at the first call, and returns it.
func (l *EventLog) Open(newLog func() *Log) *Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isOpen {
		l.isOpen, l.log = true, newLog()
	}
	return l.log
}

// Find returns the log, or nil if it is not enabled.
func (l *EventLog) Find() *Log { return l.Open(l.New) }

// Fail stores an error of writing a record.
func (l *EventLog) Fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.failures, "hook: %v\n", err)
}

// Failures returns the errors of writing records, a line each.
func (l *EventLog) Failures() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failures.String()
}

// Observe stores an event of plugins until the answer is known.
func (l *EventLog) Observe(e starhost.Event, o host.Outcome) error {
	if log := l.Find(); log != nil {
		l.records = append(l.records, log.Record(e, o))
	}
	return nil
}

// Record writes the stored records with an answer. It returns an error only if the log is required.
func (l *EventLog) Record(e *starhost.Event, a AgentAnswer) (err error) {
	log := l.Find()
	switch {
	case log == nil:
		return nil
	case a.Refused != "":
		defer log.DeliverAnswered(e, a.Action, nil, "")
		return log.DeliverUndecided(e, a.Action, a.Refused)
	}
	id := ""
	for _, r := range l.records {
		r.Answered = a.Action
		if r.Decision.Action == string(starhost.ActionModify) && len(r.Handlers) > 0 {
			r.Errors = append(r.Errors, a.Dropped...)
		}
		err = cmp.Or(err, log.Deliver(r))
		if r.Event == "pre_tool_call" {
			id = r.ID
		}
	}
	log.DeliverAnswered(e, a.Action, a.Args, id)
	return err
}
