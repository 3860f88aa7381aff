package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// A Desk is the only way from an agent's event to its answer: it reads the event, checks its form, loads the
// plugins, asks them, records what they decided, and answers within the deadline, whatever the plugins do. A
// process asks its Desk once, and a server asks it for each request, with [Desk.Answer]. A connection that
// stays open asks it for each line, with [Desk.Serve]. Load and Warn are required.
type Desk struct {
	// Load returns the plugins that decide about the event e. For [Desk.Serve], whose plugins decide about
	// all events, e is nil. While Load runs, Serve already answers hook.hello.
	Load func(ctx context.Context, e *Event) Plugins
	// Deadline is the longest time from the arrival of an event to its answer. 0 means the default,
	// [Deadline].
	Deadline time.Duration
	// FailClosed and IsOpen are the flags of [Event.Check].
	FailClosed, IsOpen bool
	// Mistake says why the operator's command line or config cannot be used; nil if it can. If an event
	// cannot be read, the refusal names the mistake, because it may be the reason.
	Mistake error
	// Record records an answer before the agent gets it. e is nil for an event that reaches no plugins. If
	// plugins did not decide, a.Refused says why, and Load may still be running. If Record returns an error,
	// the Desk refuses the event. A nil Record records nothing.
	Record func(e *starhost.Event, a Answer) error
	// Warn receives a line for the operator: a decision that the agent did not get, or an event that
	// no guard was asked about.
	Warn func(string)
}

// Plugins are what a [Desk] needs to ask plugins about an event. The zero value has no plugins, so all events
// pass.
type Plugins struct {
	// Host has the plugins; nil means none. A program that cannot load its plugins gives the result of
	// [Refusing].
	Host *host.Host
	// Options control the answer. Serve ignores them, because a connection keeps its sessions in memory.
	Options Options
	// Canary returns the reason for denying a call of [CanaryTool] with a nonce. If it is nil, such a call is
	// like any other.
	Canary func(nonce string) string
	// Finish may change an answer before it is given. err says why plugins could not be asked, or is nil. A
	// nil Finish changes nothing. Serve ignores it.
	Finish func(e *Event, a *Answer, err error)
	// Close releases the plugins after the state of the session is stored. It may be nil. Serve ignores it,
	// because a handler may still run.
	Close func()
}

// A Reply is the answer to one event.
type Reply struct {
	Event  *Event
	Answer Answer
	// Done is closed when all handlers have ended and the state of the session is stored.
	Done <-chan struct{}
}

// Answer answers an event, which read returns. arrived is when the event arrived. If plugins give no answer
// in time, or ctx ends, Answer refuses the event and does not wait for the plugins.
func (d *Desk) Answer(ctx context.Context, agent *Agent, arrived time.Time, read func() ([]byte, error)) Reply {
	q := &question{desk: d, agent: agent, read: read, given: make(chan Reply, 1)}
	limit := cmp.Or(d.Deadline, Deadline)
	r, done, err := InTime(ctx, arrived.Add(limit), limit, q.run)
	if ctx.Err() != nil && err != nil {
		err = fmt.Errorf("starhost was stopped: %w", context.Cause(ctx))
	}
	if err != nil {
		r = q.cutShort(err.Error())
	}
	r.Done = done
	return r
}

// InTime runs ask, and returns the answer that ask passes to give. At the deadline, which is limit after
// arrived, the context of ask ends. InTime does not wait for an ask that goes on after that; done is closed
// when ask has ended. After it has given its answer, ask may go on to store the state of a session. The error
// says why there is no answer.
func InTime[T any](
	ctx context.Context, deadline time.Time, limit time.Duration, ask func(ctx context.Context, give func(T)),
) (answer T, done <-chan struct{}, err error) {
	inner, cancel := context.WithCancelCause(ctx)
	answers, failed, ended := make(chan T, 1), make(chan error, 2), make(chan struct{})
	decided := make(chan struct{})
	defer close(decided)
	late := time.AfterFunc(time.Until(deadline), func() {
		why := errors.New(Late(limit))
		failed <- why
		<-decided // if handlers end because their context ends, their answer does not count
		cancel(why)
	})
	go func() {
		defer close(ended)
		defer cancel(nil)
		defer late.Stop()
		defer func() {
			if p := recover(); p != nil {
				failed <- panicError(p)
			}
		}()
		ask(inner, func(answer T) { answers <- answer })
	}()
	select {
	case answer = <-answers:
		return answer, ended, nil
	case err = <-failed:
	case <-ctx.Done():
		return answer, ended, context.Cause(ctx)
	}
	select {
	case answer = <-answers: // the answer came at the last moment
		return answer, ended, nil
	default:
		return answer, ended, err
	}
}

// A question is one event on its way to an answer.
type question struct {
	desk    *Desk
	agent   *Agent
	read    func() ([]byte, error)
	given   chan Reply  // run passes its reply here, too
	decided atomic.Bool // true once a goroutine has begun to record the answer

	mu      sync.Mutex
	event   *Event // the event; nil until it is read
	payload []byte
}

// run reads the event, asks the plugins, gives their answer, and stores the state of the session.
func (q *question) run(ctx context.Context, pass func(Reply)) {
	d := q.desk
	give := func(r Reply) { q.given <- r; pass(r) }
	payload, err := q.read()
	q.mu.Lock()
	q.payload = payload
	q.mu.Unlock()
	var e *Event
	if err == nil {
		e, err = q.agent.Read(payload)
	}
	if err == nil {
		err = e.Check(d.FailClosed, d.IsOpen)
	}
	if err != nil {
		r := q.refuse(cmp.Or(d.Mistake, err).Error())
		if !q.decided.Swap(true) {
			q.record(r)
		}
		give(r)
		return
	}
	q.mu.Lock()
	q.event = e
	q.mu.Unlock()
	if !e.ReachesPlugins() {
		if !e.IsDocumented() {
			d.Warn(fmt.Sprintf("%v: no guard was asked; --fail-closed refuses it", e.CheckForm()))
		}
		give(Reply{Event: e})
		return
	}
	p := d.Load(ctx, e)
	if p.Close != nil {
		defer p.Close()
	}
	if nonce, ok := e.Canary(); ok && p.Canary != nil {
		a, err := Answer{}, error(nil)
		if reason := p.denyCanary(nonce); reason != "" {
			a, err = e.Block(reason)
		}
		give(p.finish(e, a, err))
		return
	}
	a, store, err := e.Answer(ctx, p.Host, p.Options)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // that it was too late, for example
	}
	if err != nil {
		var failed error
		a, failed = e.Block("starhost: " + err.Error())
		err = errors.Join(err, failed)
	}
	if !q.decided.Swap(true) && d.Record != nil {
		if failed := d.Record(e.PluginEvent(), a); failed != nil {
			if refusal, failed := e.Block("starhost: the decision was not recorded: " + failed.Error()); failed == nil {
				a = refusal
			}
		}
	}
	give(p.finish(e, a, err))
	store()
}

// finish returns the reply for an answer, after Finish.
func (p *Plugins) finish(e *Event, a Answer, err error) Reply {
	if p.Finish != nil {
		p.Finish(e, &a, err)
	}
	return Reply{Event: e, Answer: a}
}

// denyCanary returns the reason for denying a canary, or "" if nothing denies it. It touches no session and
// no log, and asks no plugin.
func (p *Plugins) denyCanary(nonce string) string {
	switch {
	case p.Host != nil && p.Host.Refuses("pre_tool_call") != nil:
		return "starhost: " + p.Host.Refuses("pre_tool_call").Error()
	case p.Host == nil || slices.ContainsFunc(p.Host.LostGuards(), func(g host.Guard) bool { return g.Open }):
		return ""
	}
	return p.Canary(nonce)
}

// cutShort returns the refusal of an event whose plugins are late, and records it. If the plugins' answer is
// being recorded, cutShort waits for it, because it arrives in a moment.
func (q *question) cutShort(reason string) Reply {
	r := q.refuse(reason)
	if q.decided.Swap(true) {
		select {
		case r = <-q.given:
		case <-time.After(LogWait):
		}
		return r
	}
	q.record(r)
	return r
}

// record records a refusal, but waits only briefly: the Desk refuses the event also without a record.
func (q *question) record(r Reply) {
	if q.desk.Record != nil && r.Answer.Refused != "" {
		WaitBriefly(LogWait, func() { _ = q.desk.Record(r.Event.PluginEvent(), r.Answer) })
	}
}

// refuse returns the agent's refusal of the event, with a reason. The plugins may still be running.
func (q *question) refuse(reason string) Reply {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.event
	var a Answer
	var err error
	if e != nil {
		a, err = e.Block("starhost: " + reason)
	} else {
		e, a, err = q.agent.Refuse(q.payload, "starhost: "+reason)
	}
	switch {
	case !e.IsRefusable() && !a.Binding:
		a.Code = e.FailureCode(false)
	case err != nil:
		a.Code = ExitBlock
	}
	a.Err = cmp.Or(a.Err, "starhost: "+reason+"\n")
	return Reply{Event: e, Answer: a}
}

// LogWait is how long the refusal of an event waits for its record. Writing a record takes less than a
// millisecond, but a broken disk can take forever.
const LogWait = 50 * time.Millisecond

// WaitBriefly runs f, and returns when f has ended or the time is over.
func WaitBriefly(most time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(most):
	}
}
