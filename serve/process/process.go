// Package process lets external programs hook events, as PicoClaw does: starhost starts the program
// and sends it JSON-RPC 2.0, one message a line, over its standard input and output.
package process

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/procgroup"
)

// Options describe a program.
type Options struct {
	// Name is the program's name in the config. Its plugin is process-NAME.
	Name string
	// Command is the program and its arguments. It runs in Dir, and its environment contains only
	// PATH, LANG and Env.
	Command []string
	Dir     string
	Env     map[string]string
	// Intercept lists the questions to ask it, as before_tool. Observe lists the events to send it,
	// as agent.turn.end.
	Intercept, Observe []string
	// Timeout is the longest time for an answer. 0 means 5 seconds.
	Timeout time.Duration
	// Pos is the place of the program in the config.
	Pos starhost.Pos
	// Log receives lines about answers that starhost does not use. Nil drops them.
	Log func(text string)
}

// These limits bound a program's answers and the requests to it.
const (
	maxLine        = 1 << 20 // bytes of a line
	maxOpen        = 64      // requests without an answer
	maxNesting     = 512     // values of an answer inside each other
	defaultTimeout = 5 * time.Second
)

// These times control the ends and starts of a program. A program that ended early starts again
// after a pause, which doubles up to maxPause.
var (
	endDelay = 500 * time.Millisecond // for the program to end after its input has ended
	minPause = time.Second
	maxPause = time.Minute
)

// A Process is an external program that hooks events. The first event starts it, and the next event
// starts it again if it has ended. It is safe for concurrent use.
type Process struct {
	o       Options
	opening chan struct{} // has an element while a goroutine starts the program

	// The element of opening guards the next fields.

	conn   *conn         // the last connection, or nil
	begun  time.Time     // when it began
	pause  time.Duration // before the next start
	closed bool
}

// New returns a process. It starts no program.
func New(o Options) *Process {
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return &Process{o: o, opening: make(chan struct{}, 1)}
}

// Close ends the program. Requests under way, and later ones, fail.
func (p *Process) Close() {
	p.opening <- struct{}{}
	p.closed = true
	c := p.conn
	<-p.opening
	if c != nil {
		c.fail(errClosed)
		<-c.ended
	}
}

var errClosed = errors.New("starhost has ended it")

// ask sends a request and returns the answer's result.
func (p *Process) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.o.Timeout, fmt.Errorf("no answer in %v", p.o.Timeout))
	defer cancel()
	c, err := p.connect(ctx)
	if err == nil {
		var result json.RawMessage
		if result, err = c.call(ctx, method, params); err == nil {
			return result, nil
		}
	}
	return nil, errtext.Errorf("hook process %s: %s: %w", p.o.Name, method, err)
}

// notify sends a message without an answer.
func (p *Process) notify(ctx context.Context, method string, params json.RawMessage) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.o.Timeout, fmt.Errorf("it reads nothing for %v", p.o.Timeout))
	defer cancel()
	c, err := p.connect(ctx)
	if err == nil {
		err = c.send(ctx, &message{Method: method, Params: params})
	}
	if err != nil {
		return errtext.Errorf("hook process %s: %s: %w", p.o.Name, method, err)
	}
	return nil
}

// connect returns the connection to the running program. It starts the program if necessary.
func (p *Process) connect(ctx context.Context) (*conn, error) {
	select {
	case p.opening <- struct{}{}:
		defer func() { <-p.opening }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p.closed {
		return nil, errClosed
	}
	if c := p.conn; c != nil {
		why := c.failure()
		if why == nil {
			return c, nil
		}
		<-c.ended // at most twice endDelay
		if time.Since(p.begun) > maxPause {
			p.pause = 0
		}
		p.pause = min(max(2*p.pause, minPause), maxPause)
		if rest := p.pause - time.Since(c.failedAt); rest > 0 {
			p.pause /= 2 // the next event doubles it again
			return nil, fmt.Errorf("%w; it can start again in %v", c.describe(why), rest.Round(time.Millisecond))
		}
	}
	running, err := procgroup.Start(procgroup.ProgramOptions{
		Command: p.o.Command, Path: effects.DefaultPath, Dir: p.o.Dir, Env: p.o.Env,
	})
	if err != nil {
		return nil, err
	}
	p.begun = time.Now()
	p.conn = newConn(running, p.o.Log)
	if err := p.conn.hello(ctx, &p.o); err != nil {
		p.conn.fail(err)
		<-p.conn.ended
		return nil, p.conn.describe(err)
	}
	return p.conn, nil
}

// A message is a request, a notification or an answer.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      uint64          `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// A failure is the error of an answer.
type failure struct {
	Message string `json:"message"`
}

// A conn is the connection to a running program.
type conn struct {
	program *procgroup.Program
	log     func(string)
	writing chan struct{} // has an element during a write
	ended   chan struct{} // closed when the program has ended

	mu       sync.Mutex // guards the next fields
	lastID   uint64
	open     map[uint64]chan *message // requests without an answer
	err      error                    // why it failed; nil while it works
	failedAt time.Time
	failed   chan struct{} // closed with err set
	exit     error         // how the program ended; set before ended is closed
}

func newConn(running *procgroup.Program, log func(string)) *conn {
	c := &conn{
		program: running, log: log, writing: make(chan struct{}, 1), ended: make(chan struct{}),
		open: map[uint64]chan *message{}, failed: make(chan struct{}),
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.fail(c.readLines())
	}()
	go func() {
		defer close(c.ended)
		<-c.failed
		c.exit = c.program.Close(endDelay)
		<-read
	}()
	return c
}

// hello begins the protocol.
func (c *conn) hello(ctx context.Context, o *Options) error {
	params, err := json.Marshal(map[string]any{"name": o.Name, "version": 1, "modes": modesOf(o)})
	if err != nil {
		return err
	}
	result, err := c.call(ctx, "hook.hello", params)
	if err != nil {
		return fmt.Errorf("hook.hello: %w", err)
	}
	var answer struct {
		OK *bool `json:"ok"`
	}
	if json.Unmarshal(result, &answer) != nil || answer.OK != nil && !*answer.OK {
		return errors.New("hook.hello: got a refusal, want ok")
	}
	return nil
}

// call sends a request and waits for its answer.
func (c *conn) call(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	answered := make(chan *message, 1)
	c.mu.Lock()
	full := len(c.open) >= maxOpen
	c.lastID++
	id := c.lastID
	if !full {
		c.open[id] = answered
	}
	c.mu.Unlock()
	if full {
		return nil, fmt.Errorf("%d requests have no answer yet, limit %d", maxOpen, maxOpen)
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, id)
	}()
	if err := c.send(ctx, &message{ID: id, Method: method, Params: params}); err != nil {
		return nil, err
	}
	select {
	case m := <-answered:
		if m.Error != nil {
			return nil, errtext.Errorf("it failed: %s", m.Error.Message)
		}
		return m.Result, nil
	case <-c.failed:
		<-c.ended
		return nil, c.describe(c.failure())
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// send writes a message. If the program does not read it in time, the connection fails, because
// the rest of the message must not follow later.
func (c *conn) send(ctx context.Context, m *message) error {
	m.JSONRPC = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-c.failed:
		<-c.ended
		return c.describe(c.failure())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.program.In.SetWriteDeadline(time.Now()) })
	_, err = c.program.In.Write(append(line, '\n'))
	if !stop() && errors.Is(err, os.ErrDeadlineExceeded) {
		err = errors.New("it does not read its input")
	}
	if err != nil {
		c.fail(err)
		return err
	}
	_ = c.program.In.SetWriteDeadline(time.Time{})
	return nil
}

// readLines reads answers until the program ends. It returns why it stopped.
func (c *conn) readLines() error {
	in := bufio.NewScanner(c.program.Out)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		line := bytes.TrimSpace(in.Bytes())
		var m message
		if json.Unmarshal(line, &m) != nil || m.Method != "" {
			c.log("got a line that is no answer: " + errtext.Quote(string(line)))
			continue
		}
		if err := checkNames(line); err != nil {
			m.Result, m.Error = nil, &failure{err.Error()}
		}
		c.mu.Lock()
		answered := c.open[m.ID]
		delete(c.open, m.ID)
		c.mu.Unlock()
		if answered != nil { // else the answer is too late
			answered <- &m
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("got a line of over %d bytes", maxLine)
	case err != nil && !errors.Is(err, os.ErrClosed):
		return err
	}
	return errEnded
}

// checkNames refuses an answer in which two readers could find different decisions: a name stands
// twice, or twice in another case in the answer or its result, because encoding/json ignores it.
func checkNames(line []byte) error {
	doc, err := jsontext.Parse(string(line), maxNesting)
	if err == nil {
		err = doc.Ambiguity()
	}
	objects := []int{0}
	for i := 0; i < len(objects) && err == nil; i++ {
		names := map[string]string{}
		for key, value := range doc.Members(objects[i]) {
			name := doc.StringAt(key)
			lower := strings.ToLower(name)
			if other, ok := names[lower]; ok {
				err = errtext.Errorf("%q and %q stand in one object", other, name)
			}
			if names[lower] = name; lower == "result" && i == 0 {
				objects = append(objects, value)
			}
		}
	}
	return err
}

var errEnded = errors.New("it ended")

// fail ends the connection for a reason. Only the first reason counts.
func (c *conn) fail(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err, c.failedAt = why, time.Now()
		close(c.failed)
	}
}

// failure returns why the connection failed, nil while it works.
func (c *conn) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// describe adds how the program ended to the reason of a failure. The caller has waited for ended.
func (c *conn) describe(why error) error {
	if c.exit == nil || errors.Is(why, errClosed) {
		return why
	}
	return fmt.Errorf("%w: %v", why, c.exit)
}
