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
	// maxRunning is the most requests that plugins answer at a time; the next ones wait. One whose
	// handler does not stop counts until it does.
	maxRunning = 64
	// maxPending is the most requests without an answer. starhost reads the next one when one of
	// them has its answer, which takes the deadline at most.
	maxPending = 256
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
	p := &pico{
		ServeOptions: o, in: bufio.NewReaderSize(in, readAhead), ended: make(chan error, 1), out: out, cancel: cancel,
		loaded: make(chan struct{}), pending: make(chan struct{}, maxPending), running: make(chan struct{}, maxRunning),
		sessions: map[string]*picoSession{},
	}
	p.Deadline = cmp.Or(p.Deadline, Deadline)
	go func() {
		defer close(p.loaded)
		p.host, p.broken = o.Load(ctx)
		p.refusal, _ = errors.AsType[*Refusal](p.broken)
	}()
	go p.read(ctx)
	var err error
	select {
	case err = <-p.ended:
	case <-ctx.Done(): // what is being read is not waited for
	}
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err = cmp.Or(context.Cause(ctx), err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.wait.Wait()
		<-p.loaded
		p.close(context.WithoutCancel(ctx))
	}()
	select {
	case <-ended:
	case <-time.After(2 * p.Deadline): // requests, then session_end
		return cmp.Or(err, ErrStuck)
	}
	if p.refusal == nil {
		err = cmp.Or(err, p.broken)
	}
	return err
}

// A pico is one connection.
type pico struct {
	ServeOptions
	cancel  context.CancelCauseFunc
	loaded  chan struct{} // closed once what follows is set
	host    *starhost.Host
	broken  error
	refusal *Refusal // broken, if it is one

	in    *bufio.Reader // of the goroutine that reads
	ended chan error    // once there is nothing more to read

	writing sync.Mutex // what follows
	out     io.Writer

	wait    sync.WaitGroup
	pending chan struct{} // requests without an answer
	running chan struct{} // requests that plugins answer

	mu       sync.Mutex // what follows, and the first three fields of sessions
	closed   bool       // nothing more is begun
	sessions map[string]*picoSession
	requests uint64 // counted, for the age of sessions
}

// A request is one message of PicoClaw.
type request struct {
	*document
	id      string // as JSON, "" for none
	method  string
	params  int    // none if there are no parameters
	session string // the name of the conversation
	turn    string // the name of the turn, "" if PicoClaw does not say

	answered atomic.Bool // by plugins, or by the watchdog
	verdicts *verdicts   // of its conversation, nil until serve finds it
}

// readRequest reads a line. A line without a method is no request.
func readRequest(d *document) (*request, bool) {
	if !d.read() || !d.is(0, isObject) {
		return nil, false
	}
	r := &request{document: d, id: string(d.as(d.get(0, "id"))), method: d.stringAt(d.get(0, "method")), params: d.get(0, "params")}
	if !d.is(r.params, isObject) {
		r.params = none
	}
	return r, r.method != ""
}

// locate finds out where the request belongs to. PicoClaw writes the names of its
// fields as Go does; others are for what it announces.
func (r *request) locate() {
	meta, scope := r.get(r.params, "meta"), r.get(r.params, "scope")
	r.turn = cmp.Or(r.field(meta, "TurnID", "turn_id"), r.field(scope, "TurnID", "turn_id"))
	r.session = cmp.Or(r.field(meta, "SessionKey", "session_key"), r.field(scope, "SessionKey", "session_key"))
	if r.session == "" {
		channel, chat := r.param("channel"), r.param("chat_id")
		r.session = "picoclaw"
		if channel+chat != "" {
			r.session = channel + ":" + chat
		}
	}
}

// field returns the text of a member that has one of two names.
func (r *request) field(object int, name, other string) string {
	return cmp.Or(r.stringAt(r.get(object, name)), r.stringAt(r.get(object, other)))
}

// param returns the text of a parameter.
func (r *request) param(name string) string { return r.stringAt(r.get(r.params, name)) }

// patience is how long the goroutine that reads may answer a request before another
// one reads on. Most answers are there earlier, and need no other goroutine.
const patience = time.Millisecond

// read takes messages up to the end of in, or until another goroutine does. starhost reads no more
// of a line over [maxRequest] than its beginning. The last line need not have an end.
func (p *pico) read(ctx context.Context) {
	for {
		d := &document{}
		tooLong, err := d.readLine(p.in)
		if tooLong {
			p.Log(fmt.Sprintf("a message of over %d bytes was not read", maxRequest))
			p.refuseLine(d)
		} else if len(d.text) > 0 && !p.take(ctx, d, time.Now()) {
			return
		}
		switch {
		case errors.Is(err, io.EOF):
			p.ended <- nil
			return
		case err != nil:
			p.ended <- err
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

// take answers a message, and reports whether the caller reads on.
func (p *pico) take(ctx context.Context, d *document, arrived time.Time) bool {
	r, ok := readRequest(d)
	if !ok {
		p.refuseLine(d)
		return true
	}
	return p.serve(ctx, r, arrived)
}

// refuseLine answers a line that starhost cannot read, because it is too deep or too long or cut off.
// PicoClaw goes on with a call that it gets no answer for.
func (p *pico) refuseLine(d *document) {
	all := d.skim()
	r := &request{id: string(all["id"]), method: all.text("method")}
	if r.id == "" || r.id == "{}" || r.method == "" {
		return // there is nobody to answer
	}
	if why := "starhost cannot read the request"; refusals[r.method] != nil {
		p.reply(r, refusals[r.method](why), nil)
	} else {
		p.fail(r, -32700, why)
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

// check returns why two readers could read the request in two ways. It does not look into a
// conversation, which no guard decides about.
func (r *request) check() error {
	err := cmp.Or(r.otherCase(0, picoNames.request), r.otherCase(r.params, picoNames.params))
	for _, place := range []string{"meta", "scope"} {
		err = cmp.Or(err, r.otherCase(r.get(r.params, place), picoNames.place))
	}
	if r.method == "hook.before_tool" || r.method == "hook.approve_tool" {
		if err = cmp.Or(err, r.flaw()); err == nil && r.param("tool") == "" {
			err = errors.New("got no tool")
		}
		return err
	}
	for _, object := range []int{0, r.params} {
		if name, twice := r.repeated(object); twice {
			err = cmp.Or(err, fmt.Errorf("%s stands twice in one object", quoteShort(name)))
		}
	}
	return err
}

// serve answers a request, and reports whether the caller reads on.
func (p *pico) serve(ctx context.Context, r *request, arrived time.Time) bool {
	method := picoMethods[r.method]
	switch {
	case r.method == "hook.hello":
		p.reply(r, says(map[string]any{"ok": true, "name": "starhost"}), nil)
		return true
	case method == nil:
		p.fail(r, -32601, "method not found: "+r.method)
		return true
	}
	err := r.check()
	if r.params == none {
		err = errShape
	}
	if err != nil {
		if refuse := refusals[r.method]; refuse != nil {
			p.reply(r, refuse("starhost cannot read the request: "+err.Error()), nil)
		} else {
			p.fail(r, -32602, r.method+": "+err.Error())
		}
		return true
	}
	r.locate()
	p.pending <- struct{}{}
	release := sync.OnceFunc(func() { <-p.pending })
	s, at := p.begin(r.session)
	if s == nil {
		release()
		return false
	}
	r.verdicts = &s.verdicts
	within, cancel := context.WithDeadline(ctx, arrived.Add(p.Deadline))
	watched := make(chan struct{})
	late := time.AfterFunc(time.Until(arrived.Add(p.Deadline)), func() {
		defer close(watched)
		p.unanswered(r, context.DeadlineExceeded)
		release()
	})
	var reader atomic.Bool // somebody else reads, or nobody else will
	slow := time.AfterFunc(patience, func() {
		if reader.CompareAndSwap(false, true) {
			p.read(ctx)
		}
	})
	p.work(within, s, r, method, at)
	slow.Stop()
	if !late.Stop() {
		<-watched // it reads the request, whose memory the next one takes
	}
	cancel()
	release()
	p.wait.Done()
	return reader.CompareAndSwap(false, true)
}

// A place is that of a request in the queue of its conversation.
type place struct {
	before *place        // nil if there is none
	done   chan struct{} // closed once the request leaves the queue
	gaveUp bool          // it left before its turn: who comes next waits for before; set before done
}

// begin puts a request at the end of its conversation. It returns no session if nothing more is begun.
func (p *pico) begin(name string) (*picoSession, *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil
	}
	p.wait.Add(1)
	s := p.session(name)
	s.last = &place{before: s.last, done: make(chan struct{})}
	return s, s.last
}

// await waits until it is the request's turn, and reports false if ctx ends first. A handler that
// does not stop stays in front of all that come later.
func (at *place) await(ctx context.Context) bool {
	for at.before != nil {
		select {
		case <-at.before.done:
		case <-ctx.Done():
			at.gaveUp = true
			return false
		}
		if !at.before.gaveUp {
			at.before = nil
			return true
		}
		at.before = at.before.before
	}
	return true
}

// work answers a request once it is its turn, the plugins are loaded, and not too many others run.
func (p *pico) work(ctx context.Context, s *picoSession, r *request, method picoMethod, at *place) {
	defer close(at.done)
	if !at.await(ctx) {
		p.unanswered(r, ctx.Err())
		return
	}
	select {
	case <-p.loaded:
	case <-ctx.Done():
		p.unanswered(r, ctx.Err())
		return
	}
	select {
	case p.running <- struct{}{}:
		defer func() { <-p.running }()
		p.answer(ctx, s, r, method)
	case <-ctx.Done():
		p.unanswered(r, ctx.Err())
	}
}

// A picoAnswer appends the result that answers a request, as JSON.
type picoAnswer func(to []byte) []byte

// text is an answer that is known.
func text(s string) picoAnswer { return func(to []byte) []byte { return append(to, s...) } }

// says is an answer of a few words.
func says(fields map[string]any) picoAnswer { return text(string(mustJSON(fields))) }

// modifies is the answer that replaces a part of what was asked about by the
// parameters with edits in them.
func (r *request) modifies(part string, edits []edit) picoAnswer {
	return func(to []byte) []byte {
		to = append(append(append(to, `{"action":"modify","`...), part...), `":`...)
		return append(r.appendEdited(to, r.params, edits), '}')
	}
}

// pass is the answer that changes nothing.
var pass = text(`{"action":"continue"}`)

// A picoMethod answers the requests of one method. The verdict is that about a call before it runs.
type picoMethod func(ctx context.Context, p *pico, s *picoSession, r *request) (picoAnswer, *verdict, error)

// undecided makes a picoMethod of a function that decides about no call.
func undecided(answer func(context.Context, *pico, *picoSession, *request) (picoAnswer, error)) picoMethod {
	return func(ctx context.Context, p *pico, s *picoSession, r *request) (picoAnswer, *verdict, error) {
		a, err := answer(ctx, p, s, r)
		return a, nil, err
	}
}

// picoMethods are those that plugins hear of.
var picoMethods = map[string]picoMethod{
	"hook.before_llm":    undecided(beforeLLM),
	"hook.after_llm":     undecided(afterLLM),
	"hook.before_tool":   beforeTool,
	"hook.after_tool":    undecided(afterTool),
	"hook.approve_tool":  undecided(approveTool),
	"hook.runtime_event": undecided(runtimeEvent),
}

// refusals are the answers of the methods that can refuse.
var refusals = map[string]func(reason string) picoAnswer{
	"hook.before_llm":   func(reason string) picoAnswer { return says(map[string]any{"action": "abort_turn", "reason": reason}) },
	"hook.before_tool":  func(reason string) picoAnswer { return says(map[string]any{"action": "deny_tool", "reason": reason}) },
	"hook.approve_tool": func(reason string) picoAnswer { return says(map[string]any{"approved": false, "reason": reason}) },
}

// errShape says that a request is not as PicoClaw documents it.
var errShape = errors.New("params: got something else than is documented")

// answer answers a request.
func (p *pico) answer(ctx context.Context, s *picoSession, r *request, method picoMethod) {
	kind := picoKinds[r.method]
	if why := p.refusal.refuses(kind); why != nil {
		p.reply(r, refusals[r.method](why.Error()), &verdict{block: true, reason: why.Error()})
		return
	}
	if notice := p.refusal.notice(kind); notice != "" {
		p.Log(r.method + ": " + notice)
	}
	if p.host == nil {
		p.reply(r, r.without(nil), nil)
		return
	}
	a, v, err := method(ctx, p, s, r)
	if err != nil {
		p.unanswered(r, err)
		return
	}
	p.reply(r, a, v)
}

// picoKinds are the kinds of the requests that guards can refuse.
var picoKinds = map[string]kind{"hook.before_llm": kindPrompt, "hook.before_tool": kindTool, "hook.approve_tool": kindApprove}

// without is the answer without plugins: a refusal, or for nil the answer that lets all pass.
func (r *request) without(refusal error) picoAnswer {
	refuse := refusals[r.method]
	switch {
	case refusal != nil && refuse != nil:
		return refuse(refusal.Error())
	case r.method == "hook.approve_tool":
		return approved
	}
	return pass
}

// unanswered answers a request that plugins did not answer: starhost refuses what guards can refuse.
// The watchdog calls it beside a handler that does not stop.
func (p *pico) unanswered(r *request, err error) {
	why := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		why = Late(p.Deadline)
	}
	if p.reply(r, r.without(errors.New(why)), &verdict{block: true, reason: why}) {
		p.Log(r.method + ": " + why)
	}
}

// reply sends an answer, unless the request has one, and reports whether it did. v is what starhost
// decided about a call before it runs, nil for other requests. PicoClaw cannot read an answer of
// maxReply bytes: starhost then refuses a call that plugins changed or answered, and everything else
// passes.
func (p *pico) reply(r *request, a picoAnswer, v *verdict) bool {
	if !r.answered.CompareAndSwap(false, true) {
		return false
	}
	if r.silent() {
		return true
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	line := r.compose("result", a)
	if size := len(line); size >= maxReply {
		defer func() { // the log can block, so the answer goes first
			p.Log(fmt.Sprintf("%s: the answer has %d bytes, limit %d: it is left out", r.method, size, maxReply-1))
		}()
		a = pass
		if r.method == "hook.before_tool" || r.method == "hook.approve_tool" {
			v = &verdict{block: true, reason: "the answer of the plugins is too long for PicoClaw"}
			a = refusals[r.method](v.reason)
		}
		line = r.compose("result", a)
	}
	if r.method == "hook.before_tool" && v != nil {
		r.verdicts.note(r, v)
	}
	p.write(line)
	return true
}

// fail sends an error.
func (p *pico) fail(r *request, code int, message string) {
	if !r.silent() {
		p.writing.Lock()
		defer p.writing.Unlock()
		p.write(r.compose("error", says(map[string]any{"code": code, "message": message})))
	}
}

// silent reports whether the message is a notification.
func (r *request) silent() bool {
	return r.id == "" || r.id == "null" || r.id == "0"
}

// compose returns the message that answers a request.
func (r *request) compose(what string, a picoAnswer) []byte {
	return append(a([]byte(`{"jsonrpc":"2.0","id":`+r.id+`,"`+what+`":`)), "}\n"...)
}

// write sends a message at once.
func (p *pico) write(line []byte) {
	if _, err := p.out.Write(line); err != nil {
		p.cancel(err)
	}
}

func configPicoclaw(argv []string) string {
	return settings(map[string]any{"hooks": map[string]any{
		"enabled": true,
		"processes": map[string]any{"starhost": map[string]any{
			"enabled": true, "priority": 100, "transport": "stdio", "command": argv,
			"observe":   []string{"agent.turn.end"},
			"intercept": []string{"before_llm", "after_llm", "before_tool", "after_tool", "approve_tool"},
		}},
	}})
}
