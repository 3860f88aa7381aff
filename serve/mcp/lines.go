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
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxMessage is the most bytes of one message.
const maxMessage = 4 << 20

// A lines is a connection of one message a line. Unlike the SDK's own, it goes on
// after what is no message, and its input does not end before what was asked for is
// answered.
type lines struct {
	answers  bool // what is no message; else it is passed over, as servers print more than they should
	in       *bufio.Reader
	incoming chan line
	closed   chan struct{}
	close    sync.Once

	mu      sync.Mutex // held while a line is written
	out     io.Writer
	waiting map[jsonrpc.ID]bool // requests without an answer
	idle    chan struct{}       // closed when the input has ended and nothing waits
	quiet   sync.Once           // closes idle
	ended   bool
}

// A line is what was read.
type line struct {
	text []byte
	err  error
}

func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{
		in: bufio.NewReaderSize(in, 64<<10), out: out, incoming: make(chan line), closed: make(chan struct{}),
		waiting: map[jsonrpc.ID]bool{}, idle: make(chan struct{}),
	}
}

// Connect implements [sdk.Transport].
func (l *lines) Connect(context.Context) (sdk.Connection, error) {
	go l.receive()
	return l, nil
}

// SessionID implements [sdk.Connection].
func (l *lines) SessionID() string { return "" }

// Close implements [sdk.Connection]. A read of the input that is under way stays so
// until it ends by itself.
func (l *lines) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// receive reads lines until the input ends or nobody wants more.
func (l *lines) receive() {
	for {
		text, err := l.readLine()
		select {
		case l.incoming <- line{text, err}:
		case <-l.closed:
			return
		}
		if err != nil && !errors.Is(err, errLong) {
			return
		}
	}
}

var errLong = fmt.Errorf("got a message of more than %d bytes, want less", maxMessage)

// aroundLong is how much of the begin and of the end of a long line is kept.
const aroundLong = 200

// readLine returns the next line. Of one that is too long only its ends are kept.
func (l *lines) readLine() ([]byte, error) {
	var text []byte
	for long := false; ; {
		part, err := l.in.ReadSlice('\n')
		text = append(text, part...)
		if long = long || len(text) > maxMessage; long && len(text) > 2*aroundLong {
			text = slices.Concat(text[:aroundLong], text[len(text)-aroundLong:])
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && long:
			return text, errLong
		case err != nil && len(text) > 0:
			return text, nil // a last line without its end
		default:
			return text, err
		}
	}
}

// Read implements [sdk.Connection].
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.closed:
			return nil, io.EOF
		case got := <-l.incoming:
			if got.err != nil && !errors.Is(got.err, errLong) {
				l.finish(ctx)
				return nil, got.err
			}
			if m := l.decode(got); m != nil {
				return m, nil
			}
		}
	}
}

// decode returns the message of a line, nil if it has none. What is no message is
// answered.
func (l *lines) decode(got line) jsonrpc.Message {
	if got.err == nil && len(bytes.TrimSpace(got.text)) == 0 {
		return nil
	}
	if got.err != nil && !l.answers {
		return longAnswer(got.text)
	}
	m, err := jsonrpc.DecodeMessage(got.text)
	if got.err != nil {
		err = got.err
	}
	if err != nil && !l.answers {
		return nil
	}
	if err != nil {
		text, _ := json.Marshal(err.Error()) // a string
		_ = l.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%s}}`, jsonrpc.CodeParseError, text))
		return nil
	}
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() && r.Method != "subscriptions/listen" { // which has no answer
		l.mu.Lock()
		l.waiting[r.ID] = true
		l.mu.Unlock()
	}
	return m
}

// idOfLong finds the id of an answer in what is kept of it: programs write it before
// the result or behind it.
var idOfLong = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,18})\s*,|"id"\s*:\s*(\d{1,18})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
})

// longAnswer returns an error in place of an answer that is too long, nil if nobody
// can tell to what it is one: whoever asked need not wait.
func longAnswer(ends []byte) jsonrpc.Message {
	found := idOfLong().FindSubmatch(ends)
	if found == nil {
		return nil
	}
	n, _ := strconv.ParseInt(cmp.Or(string(found[1]), string(found[2])), 10, 64) // digits
	id, _ := jsonrpc.MakeID(float64(n))                                          // a number
	return &jsonrpc.Response{ID: id, Error: errLong}
}

// finish waits for the answers that are due, for a moment: nothing more is read.
func (l *lines) finish(ctx context.Context) {
	l.mu.Lock()
	l.ended = true
	l.settle()
	l.mu.Unlock()
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-l.idle:
	case <-l.closed:
	case <-ctx.Done():
	case <-late.C:
	}
}

// settle tells whether all is answered.
func (l *lines) settle() {
	if l.ended && len(l.waiting) == 0 {
		l.quiet.Do(func() { close(l.idle) })
	}
}

// Write implements [sdk.Connection].
func (l *lines) Write(_ context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	err = l.send(data)
	if r, ok := m.(*jsonrpc.Response); ok {
		l.mu.Lock()
		delete(l.waiting, r.ID)
		l.settle()
		l.mu.Unlock()
	}
	return err
}

func (l *lines) send(data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.out.Write(append(data, '\n'))
	return err
}
