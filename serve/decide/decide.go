// Package decide answers other programs' questions over HTTP: may this call run, what does the
// model read beside this prompt? Agents ask through their HTTP hooks, programs fire plugin events,
// and gateways send the texts of requests and replies.
//
// Its central idea is that no answer means no: a question that plugins do not answer in time, that
// starhost cannot read, or that comes while a guard is not loaded gets the refusal that its sender
// understands. Sessions are in memory, or where several servers find them, with the
// rules of serve/hook.
//
// The package opens no address and checks no token: serve/front does.
package decide

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/hook"
)

// These limits bound a server that decides. The front enforces the first two.
const (
	// MaxBody is the most bytes of a question.
	MaxBody = 16 << 20
	// MaxRequests is the most questions at one time.
	MaxRequests = 512
	// maxRunning is the most questions that plugins answer at one time. A question whose handler
	// does not stop counts until the handler ends.
	maxRunning = 2 * MaxRequests
)

// Options say how a server answers. Host, Outcome and Warn are required.
type Options struct {
	// Host returns the plugins in use.
	Host func() *host.Host
	// Deadline is the longest time from the arrival of a question to its answer. 0 means
	// [hook.Deadline].
	Deadline time.Duration
	// FailClosed refuses agents' events that the agent does not document, too.
	FailClosed bool
	// IsOpen lets events with an unknown name pass, of agents whose names are all known.
	IsOpen bool
	// Outcome returns the answer to a program that fired an event; it has a JSON form.
	Outcome func(event string, out host.Outcome) any
	// Undecided receives each event that plugins did not decide, before its answer: "deny", or
	// "none" for an event that guards cannot refuse. Nil drops them.
	Undecided func(e *starhost.Event, answered, reason string)
	// Answered receives each event of an agent before its answer. Nil drops them.
	Answered func(e *starhost.Event, a hook.Answer)
	// Warn receives a line for the operator: a decision that an asker did not get.
	Warn func(string)
	// Shared stores the sessions for several servers. Nil keeps them in memory.
	Shared *hook.Shared
}

// A Server answers questions. It is safe for concurrent use.
type Server struct {
	Options
	desk    *hook.Desk
	memory  *hook.Memory
	running chan struct{} // a token for each question that plugins answer
}

// NewServer returns a server without sessions.
func NewServer(o Options) *Server {
	o.Deadline = cmp.Or(max(o.Deadline, 0), hook.Deadline)
	s := &Server{Options: o, running: make(chan struct{}, maxRunning)}
	s.memory = hook.NewMemory(s.report)
	s.memory.Share(o.Shared, o.Deadline)
	s.desk = &hook.Desk{
		Load: s.load, Deadline: o.Deadline, FailClosed: o.FailClosed, IsOpen: o.IsOpen, Warn: o.Warn,
		Record: func(e *starhost.Event, a hook.Answer) error {
			if a.Refused != "" { // the host's observer has recorded the others
				s.undecided(e, a.Action, a.Refused)
			}
			if s.Answered != nil {
				s.Answered(e, a)
			}
			return nil
		},
	}
	return s
}

// undecided passes an event that plugins did not decide to Undecided. e is nil for no event.
func (s *Server) undecided(e *starhost.Event, answered, reason string) {
	if s.Undecided != nil && e != nil {
		s.Undecided(e, answered, reason)
	}
}

// Sessions returns the number of sessions in memory.
func (s *Server) Sessions() int { return s.memory.Len() }

// report warns of a failure that changes no answer.
func (s *Server) report(err error) { s.Warn(err.Error()) }

// options returns the options for an event.
func (s *Server) options() hook.Options {
	return hook.Options{States: &hook.States{Memory: s.memory}, Report: s.report}
}

// inTime runs ask within the deadline: see [hook.InTime].
func inTime[T any](ctx context.Context, s *Server, ask func(ctx context.Context, give func(T))) (answer T, err error) {
	release, err := s.take()
	if err != nil {
		return answer, err
	}
	answer, _, err = hook.InTime(context.WithoutCancel(ctx), time.Now().Add(s.Deadline), s.Deadline,
		func(ctx context.Context, give func(T)) {
			defer release()
			ask(ctx, give)
		})
	return answer, err
}

// take reserves a place for a question that plugins answer, until release.
func (s *Server) take() (release func(), err error) {
	select {
	case s.running <- struct{}{}:
		return func() { <-s.running }, nil
	default:
		return nil, fmt.Errorf("%d questions are open, limit %d", len(s.running), maxRunning)
	}
}

// drainWait is the most time in which Drain waits.
const drainWait = 2 * time.Second

// Drain waits until the sessions of all answered questions are stored, so that other servers can go on with
// them. The caller has stopped asking. A handler that does not stop holds Drain up for 2 s at most.
func (s *Server) Drain() {
	late := time.After(drainWait)
	for range cap(s.running) {
		select {
		case s.running <- struct{}{}:
		case <-late:
			return
		}
	}
}

// writeJSON answers with an encoded object.
func writeJSON(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // a client that is gone learns nothing
}
