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

// Bounds of a connection to PicoClaw.
const (
	// maxReply is the number of bytes of a line from which on PicoClaw cannot read it.
	maxReply = 1 << 20
	// maxRequest is the most bytes of a line. starhost does not decode a longer one.
	maxRequest = 64 << 20
	// readAhead is the size of the read buffer in bytes.
	readAhead = 256 << 10
	// maxRunningRequests is the most requests that plugins answer at one time. Later requests wait. If a
	// handler does not stop, its request counts until the handler ends.
	maxRunningRequests = 64
	// maxOpenRequests is the most requests without an answer. If there are so many, starhost refuses further
	// requests at once.
	maxOpenRequests = 256
	// maxSessions is the most open conversations. If one more begins, starhost ends the conversation whose
	// last request is the oldest.
	maxSessions = 1024
)

// ErrStuck means that a handler did not stop, so the program must end without it.
var ErrStuck = errors.New("a handler of a plugin did not stop")

// Serve answers PicoClaw, which waits for 5 s for each answer, until in or ctx ends. Then it ends all
// sessions. It answers the requests of one conversation in their order.
//
// If plugins give no answer before the deadline, Serve refuses a request that guards can refuse, and lets any
// other pass. If a handler does not stop, Serve refuses the later requests of its conversation until the
// handler ends. Other conversations go on.
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
	case <-ctx.Done(): // without waiting for the read that is under way
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
	case <-time.After(2 * p.Deadline): // one deadline for the requests, and one for session_end
		p.awaitAnswers()
		return cmp.Or(err, ErrStuck)
	}
	return err
}

// awaitAnswers waits until the watchdog has answered all requests, because the watchdog can be late on a busy
// machine. It waits for at most one deadline.
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
	hostReady chan struct{} // closed after Load, when Plugins are set
	Plugins

	in      *bufio.Reader // only the goroutine that reads uses it
	readErr chan error    // gets the error of the reader, or nil at the end of in

	outMu sync.Mutex // guards out
	out   io.Writer

	workers         sync.WaitGroup
	openRequests    chan struct{} // has an element for each request without an answer
	runningRequests chan struct{} // has an element for each request that plugins answer

	mu           sync.Mutex // guards the fields below, and lastEntry and lastUse of sessions
	isClosed     bool       // true when no more requests may begin
	sessions     map[string]*picoSession
	requestCount uint64 // how many requests have come; tells the age of sessions
}

// handOverAfter is the time after which another goroutine takes over reading from a goroutine that answers a
// request. Most answers take less time, and so need only one goroutine.
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

// handleLine answers a message. It reports whether the caller should read on.
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
		return // the line has no request to answer
	}
	if r.id == "" || !r.hasValidID() {
		r.id = "null"
	}
	if why := "starhost cannot read the request"; refusalAnswer(r.method) != nil {
		p.recordUndecided(r.method, &Event{agent: picoclaw}, why, true)
		p.reply(r, refusalAnswer(r.method)(why), nil)
	} else {
		p.replyError(r, -32700, why)
	}
}

// handleRequest answers a request. It reports whether the caller should read on.
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
		if refuse, why := refusalAnswer(r.method), "starhost cannot read the request: "+err.Error(); refuse != nil {
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
		r.verdicts = &p.findSession(r.session).verdicts // approve_tool must refuse the call as well
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
	var reader atomic.Bool // true after a goroutine has taken over the duty to read on
	slow := time.AfterFunc(handOverAfter, func() {
		if reader.CompareAndSwap(false, true) {
			p.readLines(ctx)
		}
	})
	p.answerInTurn(within, s, r, method, at)
	slow.Stop()
	if !late.Stop() {
		<-watched // Serve must not end before the watchdog has written its answer
	}
	cancel()
	release()
	p.workers.Done()
	return reader.CompareAndSwap(false, true)
}

// A picoMethod answers the requests with one method. The verdict is the decision about a tool call before the
// call runs; other methods return nil.
type picoMethod func(ctx context.Context, p *picoConn, s *picoSession, r *request) (string, *verdict, error)

// picoMethods lists the methods that reach plugins.
var picoMethods = map[string]picoMethod{
	"hook.before_llm":    beforeLLM,
	"hook.after_llm":     afterLLM,
	"hook.before_tool":   beforeTool,
	"hook.after_tool":    afterTool,
	"hook.approve_tool":  approveTool,
	"hook.runtime_event": runtimeEvent,
}

// askPlugins answers a request that need not wait any more.
func (p *picoConn) askPlugins(ctx context.Context, s *picoSession, r *request, method picoMethod) {
	if notice := lossNotice(p.Host, kindOfEvent(picoEvent(r.method))); notice != "" {
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

// refuseUnanswered answers a request that plugins did not answer. It refuses the request if guards can. The
// watchdog calls it while the handler may still be running.
func (p *picoConn) refuseUnanswered(r *request, err error) {
	why := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		why = Late(p.Deadline)
	}
	if p.replyUndecided(r, errors.New(why)) {
		p.Warn(r.method + ": " + why)
	}
}

// replyUndecided answers a request about which plugins did not decide. It reports whether it did so: another
// answer may have been faster.
func (p *picoConn) replyUndecided(r *request, why error) bool {
	if !r.isAnswered.CompareAndSwap(false, true) {
		return false
	}
	a, refuse := r.answerWithoutPlugins(why), refusalAnswer(r.method)
	if refuse == nil && p.mayChange(picoEvent(r.method)) {
		refuse = refusalAnswer("hook.before_llm") // ends the turn: plugins did not see the result or reply
		a = refuse(why.Error())
	}
	p.recordUndecided(r.method, r.event(), why.Error(), refuse != nil)
	p.send(r, a, &verdict{block: true, reason: why.Error()})
	return true
}

// mayChange reports whether a plugin has a hook on an event, or might have one because it is not loaded.
func (p *picoConn) mayChange(event string) bool {
	select {
	case <-p.hostReady:
	default:
		return event != ""
	}
	return p.Host != nil && (p.Host.Refuses(event) != nil ||
		slices.ContainsFunc(p.Host.Hooks(), func(h host.HookInfo) bool { return h.Event == event }))
}

// recordUndecided records the event of a request about which plugins did not decide.
func (p *picoConn) recordUndecided(method string, e *Event, why string, refused bool) {
	event := picoEvent(method)
	if event == "" || p.Record == nil {
		return
	}
	a := Answer{Action: "none", Refused: why}
	if refused {
		a.Action = string(starhost.ActionDeny)
	}
	WaitBriefly(LogWait, func() { _ = p.Record(e.undecidedEvent(event), a) }) // refused also without a record
}

// event returns the agent's event that the request is about, as far as the request says.
func (r *request) event() *Event {
	return &Event{
		agent: picoclaw, session: r.session, tool: r.param("tool"), args: r.CopyAt(r.Member(r.params, "arguments")),
		model: r.param("model"),
	}
}

// picoEvent returns the first plugin event of a method, or "".
func picoEvent(method string) string {
	switch method {
	case "hook.before_llm":
		return "turn_start"
	case "hook.after_llm":
		return "post_llm_call"
	case "hook.before_tool":
		return "pre_tool_call"
	case "hook.after_tool":
		return "post_tool_call"
	case "hook.approve_tool":
		return "approve_tool_call"
	}
	return ""
}

// configPicoclaw returns settings with PicoClaw's timeouts, which count for all hooks. By default an approval
// waits for a minute, because other hooks ask a person.
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
