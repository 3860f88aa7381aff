package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// Options describe an endpoint for a [Client].
type Options struct {
	// Name is the endpoint's name in messages and in [Native].
	Name string
	// BaseURL has the form that the provider's own client expects.
	BaseURL string
	// Key returns the key, which KeyName names in messages; nil for none.
	Key     func() (string, error)
	KeyName string
	// Headers are sent with each request.
	Headers map[string]string
	// Stream receives the pieces of answers as they arrive. Nil asks for whole answers.
	Stream func(Piece)
	Limits Limits
	// HTTP sends the requests; nil means a new client of [NewHTTP].
	HTTP *http.Client
	// Sleep waits between two tries; nil waits by the clock.
	Sleep func(context.Context, time.Duration) error
	// Retry receives the error of a try before the pause that another try follows; nil drops it.
	Retry func(err error, pause time.Duration)
}

// A Client is a [host.Model] that calls one endpoint. It sends the prompt's Model as the name
// of the model.
type Client struct {
	o       Options
	dialect Dialect
}

// NewClient returns a client of an endpoint that speaks a dialect.
func NewClient(d Dialect, o Options) *Client {
	l := &o.Limits
	l.Answer, l.Timeout = cmp.Or(max(l.Answer, 0), 4<<20), cmp.Or(max(l.Timeout, 0), 10*time.Minute)
	l.Silence = cmp.Or(max(l.Silence, 0), time.Minute)
	if o.HTTP == nil {
		o.HTTP = NewHTTP()
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	return &Client{o, d}
}

// connectTimeout bounds a connection, and then its TLS handshake.
const connectTimeout = 10 * time.Second

// NewHTTP returns an HTTP client for endpoints: it follows no redirects, because they could lead
// the key elsewhere.
func NewHTTP() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: connectTimeout}).DialContext,
			TLSHandshakeTimeout:    connectTimeout,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    2,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: 256 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Complete asks the model. It tries again after 429, 500, 502, 503, 529 and a refused connection,
// at most 4 times and never after the first piece of the answer. With an error, the reply contains
// the text that arrived before it.
func (c *Client) Complete(ctx context.Context, p *host.Prompt) (starhost.Reply, error) {
	key, err := c.key()
	if err != nil {
		return starhost.Reply{}, err
	}
	from := c.o.Name + "/" + p.Model
	body, err := c.dialect.Body(p, from, c.o.Stream != nil)
	if err != nil {
		return starhost.Reply{}, err
	}
	limit := c.o.Limits.Timeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		&timeoutError{errorf("no whole answer in %v, limit [model] timeout", limit)})
	defer cancel()
	a := &attempt{client: c, key: key, body: body, from: from}
	reply, err := a.run(ctx)
	nameCalls(reply.ToolCalls, len(p.Messages))
	return reply, err
}

// A timeoutError says that a limit of time ended an answer.
type timeoutError struct{ error }

func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// nameCalls gives an id to each call without one, because results name their call.
func nameCalls(calls []starhost.ToolCall, messages int) {
	for i := range calls {
		calls[i].ID = cmp.Or(calls[i].ID, fmt.Sprintf("call_%d_%d", messages, i+1))
	}
}

// key returns the key, "" for none.
func (c *Client) key() (string, error) {
	if c.o.Key == nil {
		return "", nil
	}
	key, err := c.o.Key()
	if err == nil && strings.IndexFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
		err = errorf("secret %s: got a control character in its value, want none", c.o.KeyName)
	}
	return key, err
}

// An attempt is one answer with its tries.
type attempt struct {
	client  *Client
	key     string
	body    []byte
	from    string
	emitted bool // a piece reached the caller
	scrub   *scrubber
}

// run tries until there is an answer.
func (a *attempt) run(ctx context.Context) (starhost.Reply, error) {
	for try := 0; ; try++ {
		a.scrub = newScrubber(a.key, a.client.o.KeyName, a.emit)
		reply, err := a.try(ctx)
		a.scrub.flush()
		if reply = a.scrub.reply(reply); err == nil {
			return reply, nil
		}
		if a.relax(err) {
			continue
		}
		err = a.explain(ctx, err)
		pause, again := pauseAfter(err, try)
		if !again || a.emitted || ctx.Err() != nil {
			return reply, err
		}
		if a.client.o.Retry != nil {
			a.client.o.Retry(err, pause)
		}
		if a.client.o.Sleep(ctx, pause) != nil {
			return reply, err
		}
	}
}

// emit passes a piece to the caller.
func (a *attempt) emit(p Piece) {
	a.emitted = true
	if a.client.o.Stream != nil {
		a.client.o.Stream(p)
	}
}

// relax removes the part of the body that the endpoint refused, and reports whether it did.
func (a *attempt) relax(err error) bool {
	refused, ok := errors.AsType[*Error](err)
	if !ok || a.emitted || refused.Status != 400 && refused.Status != 422 {
		return false
	}
	body := a.client.dialect.relax(a.body, refused.Type+" "+refused.Message)
	if body == nil || bytes.Equal(body, a.body) {
		return false
	}
	a.body = body
	return true
}

// explain returns the cause of a try's failure, without the key.
func (a *attempt) explain(ctx context.Context, err error) error {
	if refused, ok := errors.AsType[*Error](err); ok {
		clean := *refused
		clean.Type, clean.Message = a.scrub.text(clean.Type), a.scrub.text(clean.Message)
		if clean.pause > maxPause {
			clean.Message += fmt.Sprintf(" (the endpoint asks to wait %v, limit %v)", clean.pause, maxPause)
		}
		return &clean
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// try sends the request once.
func (a *attempt) try(ctx context.Context) (starhost.Reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	o := &a.client.o
	w := &watchdog{limit: o.Limits.Silence, cancel: cancel}
	if o.Stream != nil {
		w.start() // a whole answer begins when the model has written all of it
	}
	defer w.stop()
	request, err := a.request(ctx)
	if err != nil {
		return starhost.Reply{}, err
	}
	response, err := o.HTTP.Do(request)
	if err != nil {
		return starhost.Reply{}, transportError(ctx, err)
	}
	defer response.Body.Close()
	body := &watchedReader{response.Body, w}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(body, 64<<10))
		return starhost.Reply{}, newError(response.StatusCode, response.Header, text)
	}
	d := a.client.dialect.Decode(a.from, a.scrub.piece)
	if isStream(response.Header, o.Stream != nil) {
		err = readStream(body, d, o.Limits.Answer)
	} else {
		err = readWhole(body, d, o.Limits.Answer)
	}
	reply, complete := d.Reply()
	if _, isLimit := errors.AsType[*limitError](err); complete && !isLimit {
		return reply, nil // the rest of the stream adds nothing
	}
	if err == nil {
		err = errors.New("the answer ended before its end")
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return reply, err
}

// request returns the HTTP request.
func (a *attempt) request(ctx context.Context) (*http.Request, error) {
	o := &a.client.o
	url := strings.TrimSuffix(o.BaseURL, "/") + a.client.dialect.Path
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(a.body))
	if err != nil {
		return nil, errorf("base_url: got %q, want the address of an endpoint", o.BaseURL)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "starhost")
	if o.Stream != nil {
		r.Header.Set("Accept", "text/event-stream")
	}
	if set := a.client.dialect.SetKey; set != nil {
		set(r.Header.Set, a.key)
	} else if a.key != "" {
		r.Header.Set("Authorization", "Bearer "+a.key)
	}
	for name, value := range o.Headers {
		r.Header.Set(name, value)
	}
	return r, nil
}

// transportError returns the cause of a failed request. The URL is not part of it, because the
// caller names the endpoint.
func transportError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return &timeoutError{errorf("no connection in %v", connectTimeout)}
	}
	var inner interface{ Unwrap() error }
	if errors.As(err, &inner) && inner.Unwrap() != nil {
		return inner.Unwrap()
	}
	return err
}

// isStream reports whether a response is a stream, which a server decides that does not know the
// other form. asked is true if the request asked for a stream.
func isStream(h http.Header, asked bool) bool {
	switch kind, _, _ := strings.Cut(strings.ToLower(h.Get("Content-Type")), ";"); strings.TrimSpace(kind) {
	case "text/event-stream":
		return true
	case "application/json":
		return false
	}
	return asked
}

// The bounds of a response, as multiples of the limit of its answer. An event or a body contains an
// answer whose characters may be escaped; a stream has an event for each word.
const (
	eventFactor  = 8
	streamFactor = 256
)

// readStream reads the events of a stream until the decoder has the answer.
func readStream(r io.Reader, d Decoder, most int64) error {
	total := &countedReader{r, streamFactor * most}
	events := newEventReader(total, int(eventFactor*most))
	for {
		name, data, err := events.next()
		if err != nil {
			return streamEnd(err)
		}
		done, err := d.Event(name, data)
		if n := d.Size(); err == nil && int64(n) > most {
			return &limitError{errorf("got an answer of more than %d bytes, limit [limits] answer", most)}
		}
		if err != nil && events.broken {
			return streamEnd(io.EOF) // the event is not whole
		}
		if err != nil || done {
			return err
		}
	}
}

// A limitError says that an answer is too long.
type limitError struct{ error }

// streamEnd returns the error of a stream that ended.
func streamEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the stream broke off")
	}
	return err
}

// readWhole reads an answer that is no stream.
func readWhole(r io.Reader, d Decoder, most int64) error {
	data, err := io.ReadAll(io.LimitReader(r, eventFactor*most+1))
	switch {
	case err != nil:
		return streamEnd(err)
	case int64(len(data)) > eventFactor*most:
		return &limitError{errorf("got a response of more than %d bytes, limit %d times [limits] answer", eventFactor*most, eventFactor)}
	}
	if err := d.Whole(data); err != nil {
		return err
	}
	if n := d.Size(); int64(n) > most {
		return &limitError{errorf("got an answer of %d bytes, limit %d ([limits] answer)", n, most)}
	}
	return nil
}

// A countedReader returns an error after a number of bytes.
type countedReader struct {
	io.Reader
	left int64
}

func (r *countedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errorf("got a stream longer than %d times [limits] answer", streamFactor)
	}
	n, err := r.Reader.Read(p)
	r.left -= int64(n)
	return n, err
}

// A watchdog cancels a request whose endpoint is silent for too long.
type watchdog struct {
	limit  time.Duration
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// start begins to wait for the next byte.
func (w *watchdog) start() {
	if w.timer != nil {
		w.timer.Reset(w.limit)
		return
	}
	w.timer = time.AfterFunc(w.limit, func() {
		w.cancel(&timeoutError{errorf("the endpoint was silent for %v, the most that starhost waits", w.limit)})
	})
}

func (w *watchdog) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// A watchedReader restarts its watchdog after each read.
type watchedReader struct {
	io.Reader
	dog *watchdog
}

func (r *watchedReader) Read(p []byte) (int, error) {
	r.dog.start()
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.dog.start()
	}
	return n, err
}
