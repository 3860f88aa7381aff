package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage is the most bytes of one message.
const maxMessage = 4 << 20

// A lineConn is a connection with one message a line. It differs from the SDK's in two points: it
// survives a line that is no message, and at the end of its input it waits for the answers to open
// requests.
type lineConn struct {
	answersErrors bool // answer a line that is no message; a client ignores it, because servers print other text too
	in            *bufio.Reader
	incoming      chan inputLine
	closed        chan struct{}
	close         sync.Once

	writing chan struct{} // has an element during a write
	out     io.Writer
	pipe    *os.File // out, if it is the input of a program; else nil

	mu            sync.Mutex          // guards the next fields
	openRequests  map[jsonrpc.ID]bool // requests without an answer
	allAnswered   chan struct{}       // closed when the input has ended and no request is open
	closeAnswered sync.Once           // closes allAnswered
	inputEnded    bool

	unasked flood        // the lines that are neither an answer nor, from a client, a request
	asked   atomic.Int64 // requests to the other side without an answer

	grace         time.Duration // for the answers after the end of the input
	inputEnd      chan struct{} // closed when the last line has been read
	closeInputEnd sync.Once
}

// An inputLine is a line of the input, or the error that ended the input.
type inputLine struct {
	text []byte
	err  error
}

func newLineConn(in io.Reader, out io.Writer) *lineConn {
	return &lineConn{
		in: bufio.NewReaderSize(in, 64<<10), out: out, incoming: make(chan inputLine), closed: make(chan struct{}),
		writing: make(chan struct{}, 1), openRequests: map[jsonrpc.ID]bool{}, allAnswered: make(chan struct{}),
		grace: grace, inputEnd: make(chan struct{}),
	}
}

// Connect implements [sdk.Transport].
func (l *lineConn) Connect(context.Context) (sdk.Connection, error) {
	go l.readLines()
	return l, nil
}

// SessionID implements [sdk.Connection].
func (l *lineConn) SessionID() string { return "" }

// Close implements [sdk.Connection]. It does not interrupt a read of the input.
func (l *lineConn) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// readLines reads lines until the input ends or the connection closes.
func (l *lineConn) readLines() {
	for {
		text, err := l.readLine()
		select {
		case l.incoming <- inputLine{text, err}:
		case <-l.closed:
			return
		}
		if err != nil && !errors.Is(err, errLong) {
			return
		}
	}
}

var errLong = fmt.Errorf("got a message of more than %d bytes, want less", maxMessage)

// edgeBytes is the number of bytes that readLine returns from each end of a line over maxMessage.
const edgeBytes = 200

// readLine returns the next line. For a line over maxMessage it returns the two ends and errLong.
func (l *lineConn) readLine() ([]byte, error) {
	var text []byte
	for long := false; ; {
		part, err := l.in.ReadSlice('\n')
		text = append(text, part...)
		if long = long || len(text) > maxMessage; long && len(text) > 2*edgeBytes {
			text = slices.Concat(text[:edgeBytes], text[len(text)-edgeBytes:])
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && long:
			return text, errLong
		case err != nil && len(text) > 0:
			return text, nil // the last line, without its newline
		default:
			return text, err
		}
	}
}

// Read implements [sdk.Connection].
func (l *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.closed:
			return nil, io.EOF
		case got := <-l.incoming:
			if got.err != nil && !errors.Is(got.err, errLong) {
				l.closeInputEnd.Do(func() { close(l.inputEnd) })
				l.awaitAnswers(ctx)
				return nil, got.err
			}
			m := l.decodeLine(got)
			if err := l.throttle(ctx, m); err != nil {
				return nil, err
			}
			if m != nil {
				return m, nil
			}
		}
	}
}

// throttle waits if the other side sends very many lines that are neither an answer to a request
// nor, from a client, a request. It fails if ctx ends first, or if these lines do not end.
func (l *lineConn) throttle(ctx context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Response:
		if l.asked.Load() > 0 { // only Read lowers it
			l.asked.Add(-1)
			return nil
		}
	case *jsonrpc.Request:
		if l.answersErrors && m.IsCall() {
			return nil
		}
	}
	return l.unasked.take(ctx, l.closed)
}

// decodeLine returns the message of a line, nil for a line without a message. A server answers such
// a line with an error.
func (l *lineConn) decodeLine(got inputLine) jsonrpc.Message {
	if got.err == nil && len(bytes.TrimSpace(got.text)) == 0 {
		return nil
	}
	if got.err != nil && !l.answersErrors {
		return longAnswer(got.text)
	}
	m, err := jsonrpc.DecodeMessage(got.text)
	if got.err != nil {
		err = got.err
	}
	if err != nil && !l.answersErrors {
		return nil
	}
	if err != nil {
		text, _ := json.Marshal(err.Error()) // a string always has JSON
		_ = l.send(context.Background(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%s}}`, jsonrpc.CodeParseError, text))
		return nil
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && r.Method != "subscriptions/listen" { // this method never gets an answer
		l.mu.Lock()
		l.openRequests[r.ID] = true
		l.mu.Unlock()
	}
	return m
}

// longAnswerID finds the id of an answer in its two ends. Programs write the id before or after the
// result.
var longAnswerID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,18})\s*,|"id"\s*:\s*(\d{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
})

// longAnswer returns an error response in place of an answer over maxMessage, so that the caller
// does not wait for ever. It returns nil if it cannot find the answer's id.
func longAnswer(ends []byte) jsonrpc.Message {
	found := longAnswerID().FindSubmatch(ends)
	if found == nil {
		return nil
	}
	n, _ := strconv.ParseInt(cmp.Or(string(found[1]), string(found[2])), 10, 64) // digits only
	id, _ := jsonrpc.MakeID(float64(n))                                          // a number is always a valid id
	return &jsonrpc.Response{ID: id, Error: errLong}
}

// awaitAnswers waits until all open requests have answers, for at most l.grace. The connection
// reads nothing more.
func (l *lineConn) awaitAnswers(ctx context.Context) {
	l.mu.Lock()
	l.inputEnded = true
	l.signalAnswered()
	l.mu.Unlock()
	late := time.NewTimer(l.grace)
	defer late.Stop()
	select {
	case <-l.allAnswered:
	case <-l.closed:
	case <-ctx.Done():
	case <-late.C:
	}
}

// signalAnswered closes allAnswered if the input has ended and no request is open.
func (l *lineConn) signalAnswered() {
	if l.inputEnded && len(l.openRequests) == 0 {
		l.closeAnswered.Do(func() { close(l.allAnswered) })
	}
}

// Write implements [sdk.Connection].
func (l *lineConn) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		l.asked.Add(1)
	}
	err = l.send(ctx, data)
	if r, ok := m.(*jsonrpc.Response); ok {
		l.mu.Lock()
		delete(l.openRequests, r.ID)
		l.signalAnswered()
		l.mu.Unlock()
	}
	return err
}

// send writes a line. A program can stop reading, so a write to a program ends with ctx. If that
// leaves half of a line, send closes the connection, because the program could read no later line.
func (l *lineConn) send(ctx context.Context, line []byte) error {
	if l.pipe == nil {
		ctx = context.WithoutCancel(ctx)
	}
	select {
	case l.writing <- struct{}{}:
		defer func() { <-l.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if l.pipe != nil {
		defer l.interruptWrite(ctx)()
	}
	n, err := l.out.Write(append(line, '\n'))
	if err != nil && l.pipe != nil && n > 0 {
		return errors.Join(err, l.Close())
	}
	return err
}

// interruptWrite makes writes to the pipe fail when ctx ends, until the caller calls stop.
func (l *lineConn) interruptWrite(ctx context.Context) (stop func()) {
	_ = l.pipe.SetWriteDeadline(time.Time{}) // pipes have deadlines
	interrupted := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = l.pipe.SetWriteDeadline(time.Now())
	})
	return func() {
		if !cancel() {
			<-interrupted // the next write must not see this deadline
		}
	}
}
