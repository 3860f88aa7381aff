package hook

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/host"
)

// picoclaw is Sipeed's agent. It starts one process, keeps it running, and sends it JSON-RPC 2.0
// with one message a line.
var picoclaw = &Agent{
	Agent: agents.Find("picoclaw"), Lines: true,
	config: configPicoclaw, intro: "~/.picoclaw/config.json",
}

// These limits bound a connection to PicoClaw.
const (
	// maxReply is the size in bytes at which a line ends PicoClaw's reader.
	maxReply = 1 << 20
	// maxRequest is the most bytes of a line. starhost does not decode a longer one.
	maxRequest = 64 << 20
	// readAhead is the size of the read buffer in bytes.
	readAhead = 256 << 10
	// maxRunningRequests is the most requests that plugins answer at one time; later ones wait. A
	// request whose handler does not stop counts until the handler ends.
	maxRunningRequests = 64
	// maxOpenRequests is the most requests without an answer. starhost refuses others at once.
	maxOpenRequests = 256
	// maxSessions is the most open conversations. If there are more, starhost ends the one with the
	// oldest request.
	maxSessions = 1024
)

// ErrStuck means that a handler did not stop, so the program must end without it.
var ErrStuck = errors.New("a handler of a plugin did not stop")

// Serve answers PicoClaw, which waits for 5 s, until in or ctx ends, and then ends all sessions. It
// answers the requests of one conversation in their order.
//
// If plugins give no answer before the deadline, Serve refuses the requests that guards can refuse
// and lets the others pass. If a handler cannot be stopped, Serve refuses the later requests of its
// conversation until the handler ends; other conversations go on.
//
// The error comes from in or out, or is ErrStuck.
func (d *Desk) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &picoConn{
		Desk: *d, in: bufio.NewReaderSize(in, readAhead), readErr: make(chan error, 1), out: out, cancel: cancel,
		hostReady:    make(chan struct{}),
		openRequests: make(chan struct{}, maxOpenRequests), runningRequests: make(chan struct{}, maxRunningRequests),
		sessions: map[string]*picoSession{},
	}
	p.Deadline = cmp.Or(p.Deadline, Deadline)
	go p.load(ctx)
	go p.readLines(ctx)
	var err error
	select {
	case err = <-p.readErr:
	case <-ctx.Done(): // do not wait for the read under way
	}
	p.mu.Lock()
	p.isClosed = true
	p.mu.Unlock()
	err = cmp.Or(context.Cause(ctx), err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.workers.Wait()
		<-p.hostReady
		p.closeSessions(context.WithoutCancel(ctx))
	}()
	select {
	case <-ended:
	case <-time.After(2 * p.Deadline): // one deadline for requests, one for session_end
		p.awaitAnswers()
		return cmp.Or(err, ErrStuck)
	}
	return err
}

// awaitAnswers waits until the watchdog has answered all requests, because a busy machine can delay
// it. It waits for at most one deadline.
func (p *picoConn) awaitAnswers() {
	late := time.After(p.Deadline)
	for range maxOpenRequests {
		select {
		case p.openRequests <- struct{}{}:
		case <-late:
			return
		}
	}
}

// load loads the host. A panic counts as a guard that does not load.
func (p *picoConn) load(ctx context.Context) {
	defer close(p.hostReady)
	defer func() {
		if value := recover(); value != nil {
			p.Plugins = Plugins{Host: Refusing(panicError(value), false, nil)}
		}
	}()
	p.Plugins = p.Load(ctx, nil)
}

// panicError returns the reason for refusing a request after a panic of starhost itself.
func panicError(value any) error { return fmt.Errorf("starhost failed: panic: %v", value) }

// A picoConn is one connection to PicoClaw.
type picoConn struct {
	Desk
	cancel    context.CancelCauseFunc
	hostReady chan struct{} // closed after Load; Plugins are then set
	Plugins

	in      *bufio.Reader // only the reading goroutine uses it
	readErr chan error    // receives the reader's error, nil at the end of in

	outMu sync.Mutex // guards out
	out   io.Writer

	workers         sync.WaitGroup
	openRequests    chan struct{} // has an element for each request without an answer
	runningRequests chan struct{} // has an element for each request that plugins answer

	mu           sync.Mutex // guards the next fields, and lastEntry and lastUse of sessions
	isClosed     bool       // no more requests begin
	sessions     map[string]*picoSession
	requestCount uint64 // all requests so far; gives sessions their age
}

// handOverAfter is the time after which another goroutine takes over reading from one that answers
// a request. Most answers take less time and need no other goroutine.
const handOverAfter = time.Millisecond

// readLines handles messages until in ends or another goroutine takes over. It reads only the
// beginning of a line over [maxRequest]. The last line may lack its newline.
func (p *picoConn) readLines(ctx context.Context) {
	for {
		line, tooLong, err := readLine(p.in)
		if tooLong {
			p.Warn(fmt.Sprintf("a message of over %d bytes was not read", maxRequest))
			p.refuseLine(line)
		} else if line != "" && !p.handleLine(ctx, line, time.Now()) {
			return
		}
		switch {
		case errors.Is(err, io.EOF):
			p.readErr <- nil
			return
		case err != nil:
			p.readErr <- err
			return
		}
	}
}

// readLine reads a line. It returns only the beginning of a line over [maxRequest].
func readLine(r *bufio.Reader) (line string, tooLong bool, err error) {
	var b strings.Builder
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case tooLong:
		case b.Len()+len(part) > maxRequest:
			line, tooLong = strings.Clone(b.String()[:readAhead]), true // PicoClaw writes the method first
			b.Reset()
		default:
			b.Write(part)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line + b.String(), tooLong, err
		}
	}
}

// handleLine answers a message, and reports whether the caller goes on reading.
func (p *picoConn) handleLine(ctx context.Context, line string, arrived time.Time) bool {
	r, ok := readRequest(line)
	if !ok {
		p.refuseLine(line)
		return true
	}
	return p.handleRequest(ctx, r, arrived)
}

// refuseLine answers a line that starhost cannot read: it is too deep, too long or incomplete.
// Without an answer PicoClaw would run the call.
func (p *picoConn) refuseLine(line string) {
	all := skimObject(line)
	r := &request{id: string(all["id"]), method: all.textField("method")}
	isAnswer := r.method == "" && (all["result"] != nil || all["error"] != nil)
	if isAnswer || r.id == "" && r.method == "" {
		return // there is no request to answer
	}
	if r.id == "" || !r.hasValidID() {
		r.id = "null"
	}
	if why := "starhost cannot read the request"; refusalAnswers[r.method] != nil {
		p.recordUndecided(r.method, &Event{agent: picoclaw}, why, true)
		p.reply(r, refusalAnswers[r.method](why), nil)
	} else {
		p.replyError(r, -32700, why)
	}
}

// handleRequest answers a request, and reports whether the caller goes on reading.
func (p *picoConn) handleRequest(ctx context.Context, r *request, arrived time.Time) bool {
	method := picoMethods[r.method]
	switch {
	case !r.hasValidID():
		r.id = "null"
		p.replyError(r, -32600, fmt.Sprintf("id: want a number or a string of at most %d bytes", maxID))
		return true
	case r.method == "hook.hello":
		p.reply(r, fieldsAnswer(map[string]any{"ok": true, "name": "starhost"}), nil)
		return true
	case method == nil:
		p.replyError(r, -32601, "method not found: "+r.method)
		return true
	}
	err := r.checkRequest()
	if r.params == noNode {
		err = errShape
	}
	if err != nil {
		if refuse, why := refusalAnswers[r.method], "starhost cannot read the request: "+err.Error(); refuse != nil {
			r.setSession()
			p.recordUndecided(r.method, r.event(), why, true)
			p.reply(r, refuse(why), nil)
		} else {
			p.replyError(r, -32602, r.method+": "+err.Error())
		}
		return true
	}
	r.setSession()
	select {
	case p.openRequests <- struct{}{}:
	default:
		p.mu.Lock()
		r.verdicts = &p.findSession(r.session).verdicts // approve_tool must refuse the call too
		p.mu.Unlock()
		p.refuseUnanswered(r, fmt.Errorf("more than %d requests have no answer yet", maxOpenRequests))
		return true
	}
	release := sync.OnceFunc(func() { <-p.openRequests })
	s, at := p.enqueue(r.session)
	if s == nil {
		release()
		return false
	}
	r.verdicts = &s.verdicts
	within, cancel := context.WithDeadline(ctx, arrived.Add(p.Deadline))
	watched := make(chan struct{})
	late := time.AfterFunc(time.Until(arrived.Add(p.Deadline)), func() {
		defer close(watched)
		p.refuseUnanswered(r, context.DeadlineExceeded)
		release()
	})
	var reader atomic.Bool // true after one goroutine has the duty to read on
	slow := time.AfterFunc(handOverAfter, func() {
		if reader.CompareAndSwap(false, true) {
			p.readLines(ctx)
		}
	})
	p.answerInTurn(within, s, r, method, at)
	slow.Stop()
	if !late.Stop() {
		<-watched // the watchdog must have written its answer before Serve can end
	}
	cancel()
	release()
	p.workers.Done()
	return reader.CompareAndSwap(false, true)
}

// A picoMethod answers the requests of one method. The verdict is the decision about a tool call
// before it runs, nil for other methods.
type picoMethod func(ctx context.Context, p *picoConn, s *picoSession, r *request) (picoAnswer, *verdict, error)

// withoutVerdict turns a function that decides about no tool call into a picoMethod.
func withoutVerdict(answer func(context.Context, *picoConn, *picoSession, *request) (picoAnswer, error)) picoMethod {
	return func(ctx context.Context, p *picoConn, s *picoSession, r *request) (picoAnswer, *verdict, error) {
		a, err := answer(ctx, p, s, r)
		return a, nil, err
	}
}

// picoMethods lists the methods that reach plugins.
var picoMethods = map[string]picoMethod{
	"hook.before_llm":    withoutVerdict(beforeLLM),
	"hook.after_llm":     withoutVerdict(afterLLM),
	"hook.before_tool":   beforeTool,
	"hook.after_tool":    withoutVerdict(afterTool),
	"hook.approve_tool":  withoutVerdict(approveTool),
	"hook.runtime_event": withoutVerdict(runtimeEvent),
}

// askPlugins answers a request after all waiting.
func (p *picoConn) askPlugins(ctx context.Context, s *picoSession, r *request, method picoMethod) {
	if notice := lossNotice(p.Host, kindOfEvent(picoEvents[r.method])); notice != "" {
		p.Warn(r.method + ": " + notice)
	}
	if p.Host == nil {
		p.reply(r, r.answerWithoutPlugins(nil), nil)
		return
	}
	a, v, err := method(ctx, p, s, r)
	if err != nil {
		p.refuseUnanswered(r, err)
		return
	}
	p.reply(r, a, v)
}

// refuseUnanswered answers a request that plugins did not answer. It refuses what guards can
// refuse. The watchdog calls it while the handler may still run.
func (p *picoConn) refuseUnanswered(r *request, err error) {
	why := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		why = Late(p.Deadline)
	}
	if p.replyUndecided(r, errors.New(why)) {
		p.Warn(r.method + ": " + why)
	}
}

// replyUndecided answers a request that plugins did not decide, unless it has an answer. It reports
// whether it did.
func (p *picoConn) replyUndecided(r *request, why error) bool {
	if !r.isAnswered.CompareAndSwap(false, true) {
		return false
	}
	a, refuse := r.answerWithoutPlugins(why), refusalAnswers[r.method]
	if refuse == nil && p.mayChange(picoEvents[r.method]) {
		refuse = refusalAnswers["hook.before_llm"] // ends the turn, because plugins did not see the result or reply
		a = refuse(why.Error())
	}
	p.recordUndecided(r.method, r.event(), why.Error(), refuse != nil)
	p.send(r, a, &verdict{block: true, reason: why.Error()})
	return true
}

// mayChange reports whether a plugin has a hook on an event, or may have: it is not loaded.
func (p *picoConn) mayChange(event string) bool {
	select {
	case <-p.hostReady:
	default:
		return event != ""
	}
	return p.Host != nil && (p.Host.Refuses(event) != nil ||
		slices.ContainsFunc(p.Host.Hooks(), func(h host.HookInfo) bool { return h.Event == event }))
}

// recordUndecided records the event of a request that plugins did not decide.
func (p *picoConn) recordUndecided(method string, e *Event, why string, refused bool) {
	event := picoEvents[method]
	if event == "" || p.Record == nil {
		return
	}
	a := Answer{Action: "none", Refused: why}
	if refused {
		a.Action = string(starhost.ActionDeny)
	}
	WaitBriefly(LogWait, func() { _ = p.Record(e.undecidedEvent(event), a) }) // the event is refused, also without a record
}

// event returns what the request says about its event.
func (r *request) event() *Event {
	return &Event{
		agent: picoclaw, session: r.session, tool: r.param("tool"), args: r.CopyAt(r.Member(r.params, "arguments")),
		model: r.param("model"),
	}
}

// picoEvents gives the first plugin event of each method.
var picoEvents = map[string]string{
	"hook.before_llm": "turn_start", "hook.after_llm": "post_llm_call", "hook.before_tool": "pre_tool_call",
	"hook.after_tool": "post_tool_call", "hook.approve_tool": "approve_tool_call",
}

// configPicoclaw writes PicoClaw's timeouts, which count for all hooks. An approval waits for a
// minute by default, because other hooks ask a person.
func configPicoclaw(s Settings) string {
	return formatSettings(map[string]any{"hooks": map[string]any{
		"enabled": true,
		"defaults": map[string]any{
			"interceptor_timeout_ms": s.Timeout.Milliseconds(),
			"approval_timeout_ms":    max(s.Timeout, time.Minute).Milliseconds(),
		},
		"processes": map[string]any{"starhost": map[string]any{
			"enabled": true, "priority": 100, "transport": "stdio", "command": s.Command,
			"observe":   []string{"agent.turn.end"},
			"intercept": []string{"before_llm", "after_llm", "before_tool", "after_tool", "approve_tool"},
		}},
	}})
}
