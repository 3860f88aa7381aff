package hook

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starhost/starhost"
)

// picoclaw is Sipeed's agent. It keeps the process running and sends JSON-RPC 2.0,
// a message each line.
var picoclaw = &Agent{
	Name: "picoclaw", title: "PicoClaw", Lines: true, toolPrefix: "mcp_starhost_",
	config: configPicoclaw, intro: "~/.picoclaw/config.json",
}

// Limits of PicoClaw and of what it sends.
const (
	// maxReply is the size of a line that ends PicoClaw's reader.
	maxReply = 1 << 20
	// maxRequest is the most bytes of a line that is read; a longer one is passed over.
	maxRequest = 64 << 20
	// readAhead is the most bytes that are read at a time.
	readAhead = 256 << 10
	// maxRunningRequests is the most requests that plugins answer at a time; the next ones wait. One whose
	// handler does not stop counts until it does.
	maxRunningRequests = 64
	// maxOpenRequests is the most requests without an answer. starhost reads the next one when one of
	// them has its answer, which takes the deadline at most.
	maxOpenRequests = 256
	// maxSessions is the most conversations that are known. Of more the one that is
	// longest idle ends.
	maxSessions = 1024
)

// ServeOptions say how [Serve] works.
type ServeOptions struct {
	// Load gives the host, nil for no plugins. It runs beside the first answer, and the requests
	// that plugins hear of wait for it. If its error is a *Refusal, the host still answers the
	// requests that pass. Any other error says why there are no plugins: then everything passes.
	Load func(context.Context) (*starhost.Host, error)
	// Deadline is how long after the arrival of a request PicoClaw gets an answer, whatever plugins
	// do; 0 means [Deadline]. PicoClaw waits for five seconds.
	Deadline time.Duration
	// Log takes a line for standard error: of what PicoClaw could not be told.
	Log func(string)
}

// ErrStuck says that a handler did not stop, so that its program must end without it.
var ErrStuck = errors.New("a handler of a plugin did not stop")

// Serve answers PicoClaw until in ends, or ctx, and then ends all sessions. Requests of one
// conversation are answered in their order. If plugins give no answer before the deadline, starhost
// refuses what guards can refuse, and lets the rest pass. A handler that cannot be stopped keeps
// its own conversation refused until it ends; other conversations go on. The error is one of in or
// out, ErrStuck, or that of Load unless it is a *Refusal.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o ServeOptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &picoConn{
		ServeOptions: o, in: bufio.NewReaderSize(in, readAhead), readErr: make(chan error, 1), out: out, cancel: cancel,
		hostReady:    make(chan struct{}),
		openRequests: make(chan struct{}, maxOpenRequests), runningRequests: make(chan struct{}, maxRunningRequests),
		sessions: map[string]*picoSession{},
	}
	p.Deadline = cmp.Or(p.Deadline, Deadline)
	go func() {
		defer close(p.hostReady)
		p.host, p.loadErr = o.Load(ctx)
		p.refusal, _ = errors.AsType[*Refusal](p.loadErr)
	}()
	go p.readLines(ctx)
	var err error
	select {
	case err = <-p.readErr:
	case <-ctx.Done(): // what is being read is not waited for
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
	case <-time.After(2 * p.Deadline): // requests, then session_end
		return cmp.Or(err, ErrStuck)
	}
	if p.refusal == nil {
		err = cmp.Or(err, p.loadErr)
	}
	return err
}

// A pico is one connection.
type picoConn struct {
	ServeOptions
	cancel    context.CancelCauseFunc
	hostReady chan struct{} // closed once what follows is set
	host      *starhost.Host
	loadErr   error
	refusal   *Refusal // broken, if it is one

	in      *bufio.Reader // of the goroutine that reads
	readErr chan error    // once there is nothing more to read

	outMu sync.Mutex // what follows
	out   io.Writer

	workers         sync.WaitGroup
	openRequests    chan struct{} // requests without an answer
	runningRequests chan struct{} // requests that plugins answer

	mu           sync.Mutex // what follows, and the first three fields of sessions
	isClosed     bool       // nothing more is begun
	sessions     map[string]*picoSession
	requestCount uint64 // counted, for the age of sessions
}

// A request is one message of PicoClaw.
type request struct {
	*document
	id      string // as JSON, "" for none
	method  string
	params  int    // none if there are no parameters
	session string // the name of the conversation
	turn    string // the name of the turn, "" if PicoClaw does not say

	isAnswered atomic.Bool // by plugins, or by the watchdog
	verdicts   *verdicts   // of its conversation, nil until serve finds it
}

// readRequest reads a line. A line without a method is no request.
func readRequest(d *document) (*request, bool) {
	if !d.read() || !d.hasKind(0, objectNode) {
		return nil, false
	}
	r := &request{
		document: d, id: string(d.textAt(d.member(0, "id"))), method: d.stringAt(d.member(0, "method")),
		params: d.member(0, "params"),
	}
	if !d.hasKind(r.params, objectNode) {
		r.params = noNode
	}
	return r, r.method != ""
}

// setSession finds out where the request belongs to. PicoClaw writes the names of its
// fields as Go does; others are for what it announces.
func (r *request) setSession() {
	meta, scope := r.member(r.params, "meta"), r.member(r.params, "scope")
	r.turn = cmp.Or(r.firstText(meta, "TurnID", "turn_id"), r.firstText(scope, "TurnID", "turn_id"))
	r.session = cmp.Or(r.firstText(meta, "SessionKey", "session_key"), r.firstText(scope, "SessionKey", "session_key"))
	if r.session == "" {
		channel, chat := r.param("channel"), r.param("chat_id")
		r.session = "picoclaw"
		if channel+chat != "" {
			r.session = channel + ":" + chat
		}
	}
}

// firstText returns the text of a member that has one of two names.
func (r *request) firstText(object int, name, other string) string {
	return cmp.Or(r.stringAt(r.member(object, name)), r.stringAt(r.member(object, other)))
}

// param returns the text of a parameter.
func (r *request) param(name string) string { return r.stringAt(r.member(r.params, name)) }

// handOverAfter is how long the goroutine that reads may answer a request before another
// one reads on. Most answers are there earlier, and need no other goroutine.
const handOverAfter = time.Millisecond

// readLines takes messages up to the end of in, or until another goroutine does. starhost reads no more
// of a line over [maxRequest] than its beginning. The last line need not have an end.
func (p *picoConn) readLines(ctx context.Context) {
	for {
		d := &document{}
		tooLong, err := d.readLine(p.in)
		if tooLong {
			p.Log(fmt.Sprintf("a message of over %d bytes was not read", maxRequest))
			p.refuseLine(d)
		} else if len(d.text) > 0 && !p.handleLine(ctx, d, time.Now()) {
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

// readLine makes a line the text of the document.
func (d *document) readLine(r *bufio.Reader) (tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case tooLong:
		case len(d.text)+len(part) > maxRequest:
			tooLong, d.text = true, bytes.Clone(d.text[:readAhead]) // the method stands in front
		default:
			d.text = append(d.text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return tooLong, err
		}
	}
}

// handleLine answers a message, and reports whether the caller reads on.
func (p *picoConn) handleLine(ctx context.Context, d *document, arrived time.Time) bool {
	r, ok := readRequest(d)
	if !ok {
		p.refuseLine(d)
		return true
	}
	return p.handleRequest(ctx, r, arrived)
}

// refuseLine answers a line that starhost cannot read, because it is too deep or too long or cut off.
// PicoClaw goes on with a call that it gets no answer for.
func (p *picoConn) refuseLine(d *document) {
	all := d.skimObject()
	r := &request{id: string(all["id"]), method: all.textField("method")}
	if r.id == "" || r.id == "{}" || r.method == "" {
		return // there is nobody to answer
	}
	if why := "starhost cannot read the request"; refusalAnswers[r.method] != nil {
		p.reply(r, refusalAnswers[r.method](why), nil)
	} else {
		p.replyError(r, -32700, why)
	}
}

// picoNames are the fields that PicoClaw has in a request, in its parameters, and in the two objects
// there that say where it belongs to.
var picoNames = struct{ request, params, place []string }{
	request: []string{"id", "method", "params"},
	params: []string{
		"meta", "scope", "channel", "chat_id", "kind", "model", "options", "messages", "tools", "response", "tool", "arguments", "result", "duration",
	},
	place: []string{"TurnID", "turn_id", "SessionKey", "session_key"},
}

// checkRequest returns why two readers could read the request in two ways. It does not look into a
// conversation, which no guard decides about.
func (r *request) checkRequest() error {
	err := cmp.Or(r.checkCase(0, picoNames.request), r.checkCase(r.params, picoNames.params))
	for _, place := range []string{"meta", "scope"} {
		err = cmp.Or(err, r.checkCase(r.member(r.params, place), picoNames.place))
	}
	if r.method == "hook.before_tool" || r.method == "hook.approve_tool" {
		if err = cmp.Or(err, r.findAmbiguity()); err == nil && r.param("tool") == "" {
			err = errors.New("got no tool")
		}
		return err
	}
	for _, object := range []int{0, r.params} {
		if name, twice := r.findDuplicate(object); twice {
			err = cmp.Or(err, fmt.Errorf("%s stands twice in one object", quoteShort(name)))
		}
	}
	return err
}

// handleRequest answers a request, and reports whether the caller reads on.
func (p *picoConn) handleRequest(ctx context.Context, r *request, arrived time.Time) bool {
	method := picoMethods[r.method]
	switch {
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
		if refuse := refusalAnswers[r.method]; refuse != nil {
			p.reply(r, refuse("starhost cannot read the request: "+err.Error()), nil)
		} else {
			p.replyError(r, -32602, r.method+": "+err.Error())
		}
		return true
	}
	r.setSession()
	p.openRequests <- struct{}{}
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
	var reader atomic.Bool // somebody else reads, or nobody else will
	slow := time.AfterFunc(handOverAfter, func() {
		if reader.CompareAndSwap(false, true) {
			p.readLines(ctx)
		}
	})
	p.answerInTurn(within, s, r, method, at)
	slow.Stop()
	if !late.Stop() {
		<-watched // it reads the request, whose memory the next one takes
	}
	cancel()
	release()
	p.workers.Done()
	return reader.CompareAndSwap(false, true)
}

// A place is that of a request in the queue of its conversation.
type queueEntry struct {
	before    *queueEntry   // nil if there is none
	done      chan struct{} // closed once the request leaves the queue
	leftEarly bool          // it left before its turn: who comes next waits for before; set before done
}

// enqueue puts a request at the end of its conversation. It returns no session if nothing more is begun.
func (p *picoConn) enqueue(name string) (*picoSession, *queueEntry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isClosed {
		return nil, nil
	}
	p.workers.Add(1)
	s := p.findSession(name)
	s.lastEntry = &queueEntry{before: s.lastEntry, done: make(chan struct{})}
	return s, s.lastEntry
}

// awaitTurn waits until it is the request's turn, and reports false if ctx ends first. A handler that
// does not stop stays in front of all that come later.
func (at *queueEntry) awaitTurn(ctx context.Context) bool {
	for at.before != nil {
		select {
		case <-at.before.done:
		case <-ctx.Done():
			at.leftEarly = true
			return false
		}
		if !at.before.leftEarly {
			at.before = nil
			return true
		}
		at.before = at.before.before
	}
	return true
}

// answerInTurn answers a request once it is its turn, the plugins are loaded, and not too many others run.
func (p *picoConn) answerInTurn(ctx context.Context, s *picoSession, r *request, method picoMethod, at *queueEntry) {
	defer close(at.done)
	if !at.awaitTurn(ctx) {
		p.refuseUnanswered(r, ctx.Err())
		return
	}
	select {
	case <-p.hostReady:
	case <-ctx.Done():
		p.refuseUnanswered(r, ctx.Err())
		return
	}
	select {
	case p.runningRequests <- struct{}{}:
		defer func() { <-p.runningRequests }()
		p.askPlugins(ctx, s, r, method)
	case <-ctx.Done():
		p.refuseUnanswered(r, ctx.Err())
	}
}

// A picoAnswer appends the result that answers a request, as JSON.
type picoAnswer func(to []byte) []byte

// textAnswer is an answer that is known.
func textAnswer(s string) picoAnswer { return func(to []byte) []byte { return append(to, s...) } }

// fieldsAnswer is an answer of a few words.
func fieldsAnswer(fields map[string]any) picoAnswer { return textAnswer(string(mustJSON(fields))) }

// modifyAnswer is the answer that replaces a part of what was asked about by the
// parameters with edits in them.
func (r *request) modifyAnswer(part string, edits []edit) picoAnswer {
	return func(to []byte) []byte {
		to = append(append(append(to, `{"action":"modify","`...), part...), `":`...)
		return append(r.appendEdited(to, r.params, edits), '}')
	}
}

// passAnswer is the answer that changes nothing.
var passAnswer = textAnswer(`{"action":"continue"}`)

// A picoMethod answers the requests of one method. The verdict is that about a call before it runs.
type picoMethod func(ctx context.Context, p *picoConn, s *picoSession, r *request) (picoAnswer, *verdict, error)

// withoutVerdict makes a picoMethod of a function that decides about no call.
func withoutVerdict(answer func(context.Context, *picoConn, *picoSession, *request) (picoAnswer, error)) picoMethod {
	return func(ctx context.Context, p *picoConn, s *picoSession, r *request) (picoAnswer, *verdict, error) {
		a, err := answer(ctx, p, s, r)
		return a, nil, err
	}
}

// picoMethods are those that plugins hear of.
var picoMethods = map[string]picoMethod{
	"hook.before_llm":    withoutVerdict(beforeLLM),
	"hook.after_llm":     withoutVerdict(afterLLM),
	"hook.before_tool":   beforeTool,
	"hook.after_tool":    withoutVerdict(afterTool),
	"hook.approve_tool":  withoutVerdict(approveTool),
	"hook.runtime_event": withoutVerdict(runtimeEvent),
}

// refusalAnswers are the answers of the methods that can refuse.
var refusalAnswers = map[string]func(reason string) picoAnswer{
	"hook.before_llm": func(reason string) picoAnswer {
		return fieldsAnswer(map[string]any{"action": "abort_turn", "reason": reason})
	},
	"hook.before_tool": func(reason string) picoAnswer {
		return fieldsAnswer(map[string]any{"action": "deny_tool", "reason": reason})
	},
	"hook.approve_tool": func(reason string) picoAnswer {
		return fieldsAnswer(map[string]any{"approved": false, "reason": reason})
	},
}

// errShape says that a request is not as PicoClaw documents it.
var errShape = errors.New("params: got something else than is documented")

// askPlugins answers a request.
func (p *picoConn) askPlugins(ctx context.Context, s *picoSession, r *request, method picoMethod) {
	kind := picoKinds[r.method]
	if why := p.refusal.refuses(kind); why != nil {
		p.reply(r, refusalAnswers[r.method](why.Error()), &verdict{block: true, reason: why.Error()})
		return
	}
	if notice := p.refusal.notice(kind); notice != "" {
		p.Log(r.method + ": " + notice)
	}
	if p.host == nil {
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

// picoKinds are the kinds of the requests that guards can refuse.
var picoKinds = map[string]kind{"hook.before_llm": kindPrompt, "hook.before_tool": kindTool, "hook.approve_tool": kindApprove}

// answerWithoutPlugins is the answer without plugins: a refusal, or for nil the answer that lets all pass.
func (r *request) answerWithoutPlugins(refusal error) picoAnswer {
	refuse := refusalAnswers[r.method]
	switch {
	case refusal != nil && refuse != nil:
		return refuse(refusal.Error())
	case r.method == "hook.approve_tool":
		return approveAnswer
	}
	return passAnswer
}

// refuseUnanswered answers a request that plugins did not answer: starhost refuses what guards can refuse.
// The watchdog calls it beside a handler that does not stop.
func (p *picoConn) refuseUnanswered(r *request, err error) {
	why := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		why = Late(p.Deadline)
	}
	if p.reply(r, r.answerWithoutPlugins(errors.New(why)), &verdict{block: true, reason: why}) {
		p.Log(r.method + ": " + why)
	}
}

// reply sends an answer, unless the request has one, and reports whether it did. v is what starhost
// decided about a call before it runs, nil for other requests. PicoClaw cannot read an answer of
// maxReply bytes: starhost then refuses a call that plugins changed or answered, and everything else
// passes.
func (p *picoConn) reply(r *request, a picoAnswer, v *verdict) bool {
	if !r.isAnswered.CompareAndSwap(false, true) {
		return false
	}
	if r.isNotification() {
		return true
	}
	p.outMu.Lock()
	defer p.outMu.Unlock()
	line := r.composeMessage("result", a)
	if size := len(line); size >= maxReply {
		defer func() { // the log can block, so the answer goes first
			p.Log(fmt.Sprintf("%s: the answer has %d bytes, limit %d: it is left out", r.method, size, maxReply-1))
		}()
		a = passAnswer
		if r.method == "hook.before_tool" || r.method == "hook.approve_tool" {
			v = &verdict{block: true, reason: "the answer of the plugins is too long for PicoClaw"}
			a = refusalAnswers[r.method](v.reason)
		}
		line = r.composeMessage("result", a)
	}
	if r.method == "hook.before_tool" && v != nil {
		r.verdicts.record(r, v)
	}
	p.writeLine(line)
	return true
}

// replyError sends an error.
func (p *picoConn) replyError(r *request, code int, message string) {
	if !r.isNotification() {
		p.outMu.Lock()
		defer p.outMu.Unlock()
		p.writeLine(r.composeMessage("error", fieldsAnswer(map[string]any{"code": code, "message": message})))
	}
}

// isNotification reports whether the message is a notification.
func (r *request) isNotification() bool {
	return r.id == "" || r.id == "null" || r.id == "0"
}

// composeMessage returns the message that answers a request.
func (r *request) composeMessage(what string, a picoAnswer) []byte {
	return append(a([]byte(`{"jsonrpc":"2.0","id":`+r.id+`,"`+what+`":`)), "}\n"...)
}

// writeLine sends a message at once.
func (p *picoConn) writeLine(line []byte) {
	if _, err := p.out.Write(line); err != nil {
		p.cancel(err)
	}
}

func configPicoclaw(argv []string) string {
	return formatSettings(map[string]any{"hooks": map[string]any{
		"enabled": true,
		"processes": map[string]any{"starhost": map[string]any{
			"enabled": true, "priority": 100, "transport": "stdio", "command": argv,
			"observe":   []string{"agent.turn.end"},
			"intercept": []string{"before_llm", "after_llm", "before_tool", "after_tool", "approve_tool"},
		}},
	}})
}
