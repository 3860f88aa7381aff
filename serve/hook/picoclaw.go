package hook

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
	// answerWithin is how long the plugins have: PicoClaw waits for five seconds.
	answerWithin = 4500 * time.Millisecond
	// maxPending is the most requests that are answered at a time; the next ones wait.
	maxPending = 64
	// maxSessions is the most conversations that are known. Of more the one that is
	// longest idle ends.
	maxSessions = 1024
)

// ServeOptions say how [Serve] works.
type ServeOptions struct {
	// Load gives the host. It runs beside the first answer, and the requests that
	// plugins hear of wait for it. Its error is why there are no plugins: for a
	// *Refusal everything is refused, for another one everything passes.
	Load func(context.Context) (*starhost.Host, error)
	// FailClosed refuses what there is no answer to, instead of letting it pass.
	FailClosed bool
	// Log takes a line for standard error: of what PicoClaw could not be told.
	Log func(string)
}

// Serve answers PicoClaw until in ends, or ctx, and then ends all sessions. Requests
// of one conversation are answered in their order. The error is one of in or out, or
// that of Load unless it is a *Refusal.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o ServeOptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &pico{
		ServeOptions: o, in: bufio.NewReaderSize(in, readAhead), ended: make(chan error, 1), out: out, cancel: cancel,
		loaded: make(chan struct{}), slots: make(chan struct{}, maxPending), sessions: map[string]*picoSession{},
	}
	go func() {
		defer close(p.loaded)
		p.host, p.broken = o.Load(ctx)
		_, p.refuses = errors.AsType[*Refusal](p.broken)
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
	p.wait.Wait()
	<-p.loaded
	p.close(context.WithoutCancel(ctx))
	err = cmp.Or(context.Cause(ctx), err)
	if !p.refuses {
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
	refuses bool // broken is a *Refusal

	in     *bufio.Reader // of the goroutine that reads, as the next two
	before *document     // the last request with a conversation, or nil
	spare  *document     // whose memory the next message takes, or nil
	ended  chan error    // once there is nothing more to read

	writing sync.Mutex // what follows
	out     io.Writer
	line    []byte // of the last answer: its memory is used again

	unguarded atomic.Bool // calls come to approve_tool alone

	wait  sync.WaitGroup
	slots chan struct{}

	mu       sync.Mutex // what follows, and the first two fields of sessions
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
}

// readRequest reads a line, which may repeat one before. It is no request, and none is
// told, if it has no method.
func readRequest(d, before *document) (*request, bool) {
	if !d.read(before) || !d.is(0, isObject) {
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

// read takes messages up to the end of in, or until another goroutine does. A line
// over [maxRequest] is passed over. The last one need not be ended.
func (p *pico) read(ctx context.Context) {
	for {
		d := p.spare
		if p.spare = nil; d == nil {
			d = &document{}
		}
		tooLong, err := d.readLine(p.in)
		if tooLong {
			p.Log(fmt.Sprintf("a message of over %d bytes was not read", maxRequest))
		} else if len(d.text) > 0 && !p.take(ctx, d) {
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
	d.text = d.text[:0]
	for {
		part, err := r.ReadSlice('\n')
		if tooLong = tooLong || len(d.text)+len(part) > maxRequest; tooLong {
			d.text = nil
		} else {
			d.text = append(d.text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return tooLong, err
		}
	}
}

// take answers a message. A line that is none is passed over: there is nobody to
// tell. It reports whether the caller reads on, which then has the document's memory.
func (p *pico) take(ctx context.Context, d *document) bool {
	r, ok := readRequest(d, p.before)
	if ok && !p.serve(ctx, r) {
		return false
	}
	switch {
	case len(d.text) >= maxReply: // it may be large, and has no answer that the next one repeats
	case ok && r.method == "hook.before_llm":
		p.before, p.spare = d, p.before
	default:
		p.spare = d
	}
	return true
}

// serve answers a request, and reports whether the caller reads on.
func (p *pico) serve(ctx context.Context, r *request) bool {
	method := picoMethods[r.method]
	switch {
	case r.method == "hook.hello":
		p.hello(r)
		return true
	case method == nil:
		p.fail(r, -32601, "method not found: "+r.method)
		return true
	case r.params == none:
		p.fail(r, -32602, r.method+": "+errShape.Error())
		return true
	}
	r.locate()
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	s, before, done := p.begin(r.session)
	if s == nil {
		return false
	}
	defer p.wait.Done()
	defer close(done)
	var reader atomic.Bool // somebody else reads, or nobody else will
	late := time.AfterFunc(patience, func() {
		if reader.CompareAndSwap(false, true) {
			p.read(ctx)
		}
	})
	p.work(ctx, s, r, method, before)
	late.Stop()
	return reader.CompareAndSwap(false, true)
}

// begin puts a request at the end of its conversation: it waits for before, and who
// comes next for done. No session is returned where nothing more is begun.
func (p *pico) begin(name string) (s *picoSession, before <-chan struct{}, done chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, nil
	}
	p.wait.Add(1)
	s = p.session(name)
	before, done = s.last, make(chan struct{})
	s.last = done
	return s, before, done
}

// work answers a request once it is its turn.
func (p *pico) work(ctx context.Context, s *picoSession, r *request, method picoMethod, before <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if before != nil {
		<-before
	}
	<-p.loaded
	p.answer(ctx, s, r, method)
}

// hello answers the first message, which says what PicoClaw will ask.
func (p *pico) hello(r *request) {
	modes := r.elements(r.get(r.params, "modes")) // an older PicoClaw does not say
	p.unguarded.Store(len(modes) > 0 && !slices.ContainsFunc(modes, func(i int) bool { return r.stringAt(i) == "tool" }))
	p.reply(r, says(map[string]any{"ok": true, "name": "starhost"}))
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

// A picoMethod answers the requests of one method.
type picoMethod func(ctx context.Context, p *pico, s *picoSession, r *request) (picoAnswer, error)

// picoMethods are those that plugins hear of.
var picoMethods = map[string]picoMethod{
	"hook.before_llm":    beforeLLM,
	"hook.after_llm":     afterLLM,
	"hook.before_tool":   beforeTool,
	"hook.after_tool":    afterTool,
	"hook.approve_tool":  approveTool,
	"hook.runtime_event": runtimeEvent,
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
	if p.broken != nil {
		p.reply(r, r.without(p.broken, p.refuses))
		return
	}
	a, err := method(ctx, p, s, r)
	if err != nil {
		a = p.unanswered(r, err)
	}
	p.reply(r, a)
}

// without is the answer where there are no plugins.
func (r *request) without(err error, refuses bool) picoAnswer {
	refuse := refusals[r.method]
	switch {
	case refuses && refuse != nil:
		return refuse(err.Error())
	case r.method == "hook.approve_tool":
		return approved
	}
	return pass
}

// unanswered is what is said where plugins gave no answer: approvals and guards then
// refuse; else it is as FailClosed says.
func (p *pico) unanswered(r *request, err error) picoAnswer {
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the plugins gave no answer within %v", answerWithin)
	}
	p.Log(r.method + ": " + err.Error())
	return r.without(err, p.FailClosed || r.method != "hook.before_llm")
}

// reply sends an answer. One that PicoClaw could not read is not sent: a call that
// plugins changed or answered is then denied, everything else passes.
func (p *pico) reply(r *request, a picoAnswer) {
	if r.silent() {
		return
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	line := p.compose(r, "result", a)
	if len(line) >= maxReply {
		p.Log(fmt.Sprintf("%s: the answer has %d bytes, limit %d: it is left out", r.method, len(line), maxReply-1))
		a = pass
		if r.method == "hook.before_tool" || r.method == "hook.approve_tool" {
			a = refusals[r.method]("the answer of the plugins is too long for PicoClaw")
		}
		line = p.compose(r, "result", a)
	}
	p.write(line)
}

// fail sends an error.
func (p *pico) fail(r *request, code int, message string) {
	if !r.silent() {
		p.writing.Lock()
		defer p.writing.Unlock()
		p.write(p.compose(r, "error", says(map[string]any{"code": code, "message": message})))
	}
}

// silent reports whether the message is a notification.
func (r *request) silent() bool {
	return r.id == "" || r.id == "null" || r.id == "0"
}

// compose returns the message that answers a request, in memory that is used again.
func (p *pico) compose(r *request, what string, a picoAnswer) []byte {
	line := append(append(append(p.line[:0], `{"jsonrpc":"2.0","id":`...), r.id...), `,"`...)
	line = append(append(line, what...), `":`...)
	p.line = append(a(line), "}\n"...)
	return p.line
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
