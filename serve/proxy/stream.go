package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/model/wire"
)

// An event is one server-sent event of a stream.
type event struct {
	raw  []byte // the event's bytes, with the empty line after it
	name string
	data string
	doc  jsontext.Document // the data; empty if the data is no JSON object
	kind string            // the type that the data states, or else the name of the event
}

// parse reads the fields of an event. If isStrict is true, an event that two readers could understand
// differently is an error.
func (e *event) parse(isStrict bool) error {
	text := strings.TrimPrefix(string(e.raw), "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if isStrict && (strings.Contains(strings.TrimRight(text, "\n"), "\r") || strings.Contains(text, "\n\ufeff")) {
		return unreadable("it has a line end that readers understand differently")
	}
	for line := range strings.SplitSeq(text, "\n") {
		if isStrict && strings.HasPrefix(strings.TrimLeft(line, " \t"), "{") { // some clients read any reply as JSON
			return unreadable("got a line of JSON, want an event")
		}
	}
	e.name, e.data, _ = wire.Fields(text)
	e.kind = e.name
	if trimmed := strings.TrimSpace(e.data); trimmed == "" || trimmed == "[DONE]" {
		return nil
	}
	doc, err := readJSON(e.data, isStrict)
	if err != nil && isStrict {
		return unreadable("%v", err)
	}
	if err == nil {
		e.doc = doc
		if kind := doc.StringAt(doc.Member(0, "type")); kind != "" {
			e.kind = kind
		}
	}
	if !isStrict {
		return nil
	}
	if e.name != "" && e.kind != e.name { // some clients read the name, some the type
		return unreadable("got the event %q of the type %q",
			errtext.Clip(e.name), errtext.Clip(e.kind))
	}
	return checkReply(&e.doc)
}

// size returns how many bytes the event takes, with the parsed nodes of its data.
func (e *event) size() int {
	const node = 16
	return len(e.raw) + len(e.data) + node*e.doc.Len()
}

// has reports whether the data of the event is an object.
func (e *event) has() bool { return e.doc.Len() > 0 }

// newEvent returns the bytes of an event with a name and data.
func newEvent(kind, data string) []byte {
	if kind == "" {
		return []byte("data: " + data + "\n\n")
	}
	return []byte("event: " + kind + "\ndata: " + data + "\n\n")
}

// A streamWriter writes to a client. While the client waits for delayed events, the streamWriter sends signs
// of life.
type streamWriter struct {
	mu    sync.Mutex
	to    *io.PipeWriter
	began chan struct{} // closed when the first byte is written
	once  sync.Once
	ping  []byte
	every time.Duration
	timer *time.Timer // nil while no event is delayed
}

func (w *streamWriter) write(b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writeLocked(b)
}

func (w *streamWriter) writeLocked(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	w.once.Do(func() { close(w.began) })
	_, err := w.to.Write(b)
	return err
}

// startPings starts sending signs of life.
func (w *streamWriter) startPings() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		w.timer = time.AfterFunc(w.every, w.beat)
	}
}

func (w *streamWriter) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil && w.writeLocked(w.ping) == nil {
		w.timer.Reset(w.every)
	}
}

// stopPings stops sending signs of life.
func (w *streamWriter) stopPings() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// stream replaces the body of a reply that is a stream by what plugins leave of it. It returns when the first
// byte goes to the client. If the stream fails before, it returns the error.
func (c *conversation) stream(a *http.Response) error {
	if encoding := strings.Join(a.Header.Values("Content-Encoding"), ", "); encoding != "" && encoding != "identity" {
		a.Body.Close()
		return unreadable("Content-Encoding: got %q, want none", errtext.Clip(encoding))
	}
	ctx := a.Request.Context()
	from, to := io.Pipe()
	w := &streamWriter{to: to, began: make(chan struct{}), ping: []byte(c.pingText), every: c.ping}
	failed := make(chan error, 1)
	source := a.Body
	a.Body = from
	a.ContentLength = -1
	a.Header.Del("Content-Length")
	go func() {
		p := &replyStream{conversation: c, to: w}
		err := p.runSafely(ctx, source)
		w.stopPings()
		failed <- err
		to.CloseWithError(endOf(err))
	}()
	select {
	case <-w.began:
		return nil
	case err := <-failed:
		select {
		case <-w.began: // the stream failed after the first byte
			return nil
		default:
		}
		if err != nil {
			from.Close()
			return err
		}
		return nil // the stream was empty
	}
}

// endOf returns the error that the client's stream ends with. It returns nil for a stream that ended
// regularly, or with an event that says the error.
func endOf(err error) error {
	if _, ok := errors.AsType[*refusal](err); ok || err == nil || isAbort(err) || errors.Is(err, errEnded) {
		return io.EOF
	}
	return err
}

// A replyStream is a stream that passes from the endpoint to the client.
type replyStream struct {
	*conversation
	to         *streamWriter
	parts      assembler // the reply so far
	delayed    []*event  // the events that wait, from the first call on
	size       int       // the bytes of delayed
	isDelaying bool

	shift    int // the number of items of earlier replies that the client has
	sequence int // the sequence number of the next event, for Responses
	isDone   bool
}

// run passes a stream to the client, and then the replies that continue it.
func (p *replyStream) run(ctx context.Context, source io.ReadCloser) error {
	for {
		err := p.pass(ctx, source)
		source.Close()
		if err == nil {
			source, err = p.finish(ctx)
		}
		if err != nil {
			return p.fail(ctx, err)
		}
		if source == nil {
			return nil
		}
	}
}

// runSafely calls run, and returns a panic as an error, because net/http does not recover panics of this
// goroutine.
func (p *replyStream) runSafely(ctx context.Context, source io.ReadCloser) (err error) {
	defer func() {
		if v := recover(); v != nil {
			source.Close()
			p.Warn(fmt.Sprintf("a stream failed: panic: %v", v))
			err = p.fail(ctx, refuse(http.StatusInternalServerError, "starhost: the proxy failed"))
		}
	}()
	return p.run(ctx, source)
}

// fail ends the stream with an event that says the error, if the client has a first byte.
func (p *replyStream) fail(ctx context.Context, err error) error {
	select {
	case <-p.to.began:
	default:
		return err
	}
	if ctx.Err() != nil {
		return err
	}
	if _, ok := errors.AsType[*refusal](err); ok || isAbort(err) {
		p.recordUnread(err)
		kind, data := p.errorEvent(refusalOf(err), p.sequence)
		_ = p.to.write(newEvent(kind, data)) // the client may have hung up
	}
	return err
}

// pass reads a stream to its end. It writes events until one must wait, and delays those after it.
func (p *replyStream) pass(ctx context.Context, source io.Reader) error {
	p.parts, p.delayed, p.size, p.isDelaying, p.isDone = p.newParts(), nil, 0, false, false
	if p.needs.text {
		p.startDelaying()
	}
	r := bufio.NewReaderSize(source, bufferSize)
	for {
		raw, err := wire.ReadEvent(r, maxReply)
		if errors.Is(err, io.EOF) {
			break
		}
		if len(raw) > maxReply {
			err = unreadable("got an event of more than %d bytes", maxReply)
		}
		e := &event{raw: raw}
		if err == nil {
			err = e.parse(p.needs.guards)
		}
		if err == nil {
			err = p.take(e)
		}
		if err != nil {
			return err
		}
	}
	isCall := func(e *event) bool { return e.has() && p.startsCall(e) }
	if p.isDelaying && !p.isDone && (len(p.earlier) > 0 || slices.ContainsFunc(p.delayed, isCall)) {
		return unreadable("the stream of the endpoint ended within a reply that plugins must see")
	}
	return ctx.Err()
}

// take adds an event to the reply, and then writes the event or delays it.
func (p *replyStream) take(e *event) error {
	if e.kind == "error" || e.has() && e.doc.HasKind(e.doc.Member(0, "error"), jsontext.Object) {
		if e.has() && p.startsCall(e) {
			return errOrder(e)
		}
		p.delayed = nil
		if err := p.to.write(e.raw); err != nil {
			return err
		}
		return errEnded
	}
	if e.has() {
		before := p.parts.size()
		done, err := p.parts.add(e)
		if err == nil {
			err = p.hold(p.parts.size() - before)
		}
		if err != nil {
			return err
		}
		if p.parts.size() > maxReply {
			return unreadable("got more than %d bytes", maxReply)
		}
		p.isDone = p.isDone || done
	}
	if !p.isDelaying && e.has() && p.mustDelay(e) {
		p.startDelaying()
	}
	if !p.isDelaying {
		p.parts.written()
		return p.to.write(p.renumber(e))
	}
	p.delayed = append(p.delayed, e)
	if p.size += e.size(); p.size > maxReply {
		return unreadable("a call of a tool has more than %d bytes", maxReply)
	}
	return p.hold(e.size())
}

// mustDelay reports whether the client must not get an event before plugins have decided. The last events of
// a later reply wait, too, because the proxy adds the earlier replies' tokens to their counts.
func (p *replyStream) mustDelay(e *event) bool {
	return p.startsCall(e) && (p.needs.calls || len(p.offered) > 0) || len(p.earlier) > 0 && p.isTerminal(e)
}

// errEnded is the error for a stream that the endpoint ended with an error event.
var errEnded = errors.New("the endpoint ended the stream with an error")

func (p *replyStream) startDelaying() {
	p.isDelaying = true
	p.to.startPings()
}

// finish lets plugins decide about the reply, and writes the delayed events. It returns the stream of the
// model's next reply, or nil if there is none.
func (p *replyStream) finish(ctx context.Context) (next io.ReadCloser, err error) {
	if !p.isDelaying && !p.needs.end && len(p.earlier) == 0 {
		return nil, nil
	}
	text, err := p.parts.whole()
	if err != nil {
		return nil, err
	}
	w, err := p.parseWhole(text)
	if err != nil {
		return nil, err
	}
	again, err := p.decide(ctx, w, p.canAsk())
	if err != nil {
		return nil, err
	}
	if !again {
		p.to.stopPings()
	}
	if !p.isDelaying {
		return nil, nil
	}
	if w.edits.IsEmpty() && !again && len(p.earlier) == 0 {
		for _, e := range p.delayed {
			if err := p.to.write(e.raw); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	if err := p.writeDelayed(p, w, again); err != nil || !again {
		return nil, err
	}
	a, err := p.askAgain(ctx, w)
	if err != nil {
		return nil, err
	}
	if encoding := a.Header.Values("Content-Encoding"); !isStream(a) || len(encoding) > 0 {
		a.Body.Close()
		return nil, refuse(http.StatusBadGateway, "starhost: got %q from the endpoint, want a stream", errtext.Clip(a.Header.Get("Content-Type")))
	}
	return a.Body, nil
}
