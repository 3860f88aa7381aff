package hook

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
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
	p := &pico{ServeOptions: o, out: out, cancel: cancel, loaded: make(chan struct{}), slots: make(chan struct{}, maxPending), sessions: map[string]*picoSession{}}
	go func() {
		defer close(p.loaded)
		p.host, p.broken = o.Load(ctx)
		_, p.refuses = errors.AsType[*Refusal](p.broken)
	}()
	err := p.read(ctx, in)
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

	mu  sync.Mutex // of out
	out io.Writer

	wait  sync.WaitGroup
	slots chan struct{}

	// What follows belongs to the reader.

	sessions  map[string]*picoSession
	requests  uint64 // counted, for the age of sessions
	unguarded bool   // calls come to approve_tool alone; set before any does
}

// A request is one message of PicoClaw.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`

	all  object
	meta picoMeta
}

// A picoMeta says where a request belongs to. PicoClaw writes the names of its
// fields as Go does; others are for what it announces.
type picoMeta struct {
	Meta  picoScope `json:"meta"`
	Scope picoScope `json:"scope"` // of a runtime event
	Kind  string    `json:"kind"`  // likewise

	Channel string `json:"channel"`
	ChatID  string `json:"chat_id"`
}

type picoScope struct {
	SessionKey, TurnID string
	SessionKey2        string `json:"session_key"`
	TurnID2            string `json:"turn_id"`
}

// session returns the name of the conversation.
func (m *picoMeta) session() string {
	if name := cmp.Or(m.Meta.SessionKey, m.Meta.SessionKey2, m.Scope.SessionKey, m.Scope.SessionKey2); name != "" {
		return name
	}
	if m.Channel+m.ChatID != "" {
		return m.Channel + ":" + m.ChatID
	}
	return "picoclaw"
}

// turn returns the name of the turn, "" if PicoClaw does not say.
func (m *picoMeta) turn() string {
	return cmp.Or(m.Meta.TurnID, m.Meta.TurnID2, m.Scope.TurnID, m.Scope.TurnID2)
}

// read reads messages up to the end of in. A line that is none is passed over: there
// is nobody to tell.
func (p *pico) read(ctx context.Context, in io.Reader) error {
	lines := make(chan []byte)
	ended := make(chan error, 1)
	go func() {
		defer close(lines)
		ended <- readLines(in, func(line []byte) bool {
			select {
			case lines <- line:
				return true
			case <-ctx.Done():
				return false
			}
		}, p.Log)
	}()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return <-ended
			}
			p.take(ctx, line)
		case <-ctx.Done():
			return nil
		}
	}
}

// readLines passes on each line of in; one over [maxRequest] is passed over and
// logged. A last line need not be ended.
func readLines(in io.Reader, take func([]byte) bool, log func(string)) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, tooLong, err := readLine(r)
		if tooLong {
			log(fmt.Sprintf("a message of over %d bytes was not read", maxRequest))
		} else if len(line) > 0 && !take(line) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func readLine(r *bufio.Reader) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxRequest {
			line, tooLong = nil, true
		}
		if !tooLong {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// take begins to answer a message.
func (p *pico) take(ctx context.Context, line []byte) {
	var r request
	if json.Unmarshal(line, &r) != nil || r.Method == "" {
		return
	}
	if r.Method == "hook.hello" {
		p.hello(&r)
		return
	}
	answer := picoMethods[r.Method]
	if answer == nil {
		p.fail(&r, -32601, "method not found: "+r.Method)
		return
	}
	if json.Unmarshal(r.Params, &r.all) != nil || r.all == nil || json.Unmarshal(r.Params, &r.meta) != nil {
		p.fail(&r, -32602, r.Method+": "+errShape.Error())
		return
	}
	s := p.session(r.meta.session())
	before, done := s.last, make(chan struct{})
	s.last = done
	p.slots <- struct{}{}
	p.wait.Go(func() {
		defer func() { close(done); <-p.slots }()
		ctx, cancel := context.WithTimeout(ctx, answerWithin)
		defer cancel()
		if before != nil {
			<-before
		}
		<-p.loaded
		p.answer(ctx, s, &r, answer)
	})
}

// hello answers the first message, which says what PicoClaw will ask.
func (p *pico) hello(r *request) {
	var in struct{ Modes []string }
	_ = json.Unmarshal(r.Params, &in) // an older PicoClaw does not say
	p.unguarded = len(in.Modes) > 0 && !slices.Contains(in.Modes, "tool")
	p.reply(r, picoAnswer{"ok": true, "name": "starhost"})
}

// A picoAnswer is what is answered to a method: an action, or what a method has
// instead.
type picoAnswer = map[string]any

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
	"hook.before_llm":   func(reason string) picoAnswer { return picoAnswer{"action": "abort_turn", "reason": reason} },
	"hook.before_tool":  func(reason string) picoAnswer { return picoAnswer{"action": "deny_tool", "reason": reason} },
	"hook.approve_tool": func(reason string) picoAnswer { return picoAnswer{"approved": false, "reason": reason} },
}

// pass is the answer that changes nothing.
func pass() picoAnswer { return picoAnswer{"action": "continue"} }

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
	refuse := refusals[r.Method]
	switch {
	case refuses && refuse != nil:
		return refuse(err.Error())
	case r.Method == "hook.approve_tool":
		return picoAnswer{"approved": true}
	}
	return pass()
}

// unanswered is what is said where plugins gave no answer: approvals and guards then
// refuse; else it is as FailClosed says.
func (p *pico) unanswered(r *request, err error) picoAnswer {
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the plugins gave no answer within %v", answerWithin)
	}
	p.Log(r.Method + ": " + err.Error())
	return r.without(err, p.FailClosed || r.Method != "hook.before_llm")
}

// reply sends an answer. One that PicoClaw could not read is not sent: a call that
// plugins changed or answered is then denied, everything else passes.
func (p *pico) reply(r *request, a picoAnswer) {
	if r.silent() {
		return
	}
	line := mustJSON(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": a})
	if len(line)+1 >= maxReply {
		p.Log(fmt.Sprintf("%s: the answer has %d bytes, limit %d: it is left out", r.Method, len(line)+1, maxReply-1))
		small := pass()
		if r.Method == "hook.before_tool" || r.Method == "hook.approve_tool" {
			small = refusals[r.Method]("the answer of the plugins is too long for PicoClaw")
		}
		line = mustJSON(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": small})
	}
	p.send(line)
}

// fail sends an error.
func (p *pico) fail(r *request, code int, message string) {
	if !r.silent() {
		p.send(mustJSON(map[string]any{"jsonrpc": "2.0", "id": r.ID, "error": map[string]any{"code": code, "message": message}}))
	}
}

// silent reports whether the message is a notification.
func (r *request) silent() bool {
	id := string(bytes.TrimSpace(r.ID))
	return id == "" || id == "null" || id == "0"
}

func (p *pico) send(line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.out.Write(append(line, '\n')); err != nil {
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
