package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// These limits bound sending a log.
const (
	maxLogRecords = 512     // records in one request
	maxLogBytes   = 1 << 20 // bytes of their texts, and those of one record more
	maxLogRound   = 200_000 // records of one Send, so that the log of no user keeps those of others waiting
	firstWait     = time.Second
	maxWait       = 30 * time.Second
)

// LogOptions configure a [LogSender].
type LogOptions struct {
	// Endpoint is the address of the collector, as https://otel.corp.example:4318.
	Endpoint string
	// Headers are sent with each request. Their values are secret.
	Headers map[string]string
	// Patience is the most time that a sender waits for a collector that fails, in all. Zero means a minute.
	Patience time.Duration
	// Sleep waits, until ctx ends. Jitter returns a number from 0 to 1. Now returns the time. Nil means the
	// clock and chance.
	Sleep  func(ctx context.Context, d time.Duration)
	Jitter func() float64
	Now    func() time.Time
}

// A LogSender sends the records of decision logs to a collector: each at least once.
type LogSender struct {
	o LogOptions
	collector
	left time.Duration // what remains of o.Patience
}

// NewLogSender returns a sender.
func NewLogSender(o LogOptions) *LogSender {
	if o.Sleep == nil {
		o.Sleep = func(ctx context.Context, d time.Duration) {
			select {
			case <-ctx.Done():
			case <-time.After(d):
			}
		}
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &LogSender{o, newCollector(o.Endpoint, "/v1/logs", o.Headers), cmp.Or(o.Patience, time.Minute)}
}

// Close closes the connections.
func (s *LogSender) Close() { s.client.CloseIdleConnections() }

// Send sends at most 200,000 records; another Send goes on. The bookmark advances with each request that the collector accepted. resources are
// names and values that say where the records come from.
func (s *LogSender) Send(ctx context.Context, u *decision.Unsent, resources ...string) (sent int, err error) {
	attributes := resourceOf(resources)
	for {
		batch, err := u.Next(maxLogRecords, maxLogBytes)
		if err == nil && (len(batch) == 0 || sent >= maxLogRound) {
			return sent, ctx.Err()
		}
		if err == nil {
			err = s.deliver(ctx, u, attributes, batch)
		}
		if err == nil {
			err = u.Commit()
		}
		if err != nil {
			return sent, err
		}
		sent += len(batch)
	}
}

// SendRecord sends a record that is in no log.
func (s *LogSender) SendRecord(ctx context.Context, r decision.UnsentRecord, resources ...string) error {
	rejected, err := s.try(ctx, logsOf(resourceOf(resources), []decision.UnsentRecord{r}))
	if err == nil && rejected > 0 {
		err = errors.New("the collector refused the record")
	}
	return err
}

// resourceOf returns the attributes of names and values, and the name of this service.
func resourceOf(pairs []string) []attribute {
	attributes := []attribute{textAttribute("service.name", "starhost")}
	for pair := range slices.Chunk(pairs, 2) {
		attributes = append(attributes, textAttribute(pair[0], pair[1]))
	}
	return attributes
}

// A refusal is an answer that is no success.
type refusal struct {
	status int
	wait   time.Duration // what Retry-After says
	text   string
}

func (r *refusal) Error() string { return r.text }

// isPassing reports whether the same request can succeed later.
func (r *refusal) isPassing() bool { return r.status == http.StatusTooManyRequests || r.status >= 500 }

// isAboutBody reports whether another body can succeed.
func (r *refusal) isAboutBody() bool {
	return r.status == http.StatusBadRequest || r.status == http.StatusRequestEntityTooLarge
}

// deliver sends a batch. If the collector refuses what is in it, deliver sends the halves of the batch. A record
// that it refuses alone is set aside, if the collector accepts a request without records: otherwise the
// collector is at fault and not the record.
func (s *LogSender) deliver(ctx context.Context, u *decision.Unsent, resources []attribute, batch []decision.UnsentRecord) error {
	rejected, err := s.try(ctx, logsOf(resources, batch))
	if err == nil && rejected > 0 { // it does not say which
		return u.SetAside(batch, min(rejected, len(batch)))
	}
	refused, ok := errors.AsType[*refusal](err)
	if !ok || !refused.isAboutBody() {
		return err
	}
	if half := len(batch) / 2; half > 0 {
		if err := s.deliver(ctx, u, resources, batch[:half]); err != nil {
			return err
		}
		return s.deliver(ctx, u, resources, batch[half:])
	}
	if _, wrong := s.try(ctx, logsOf(resources, nil)); wrong != nil {
		return err
	}
	return u.SetAside(batch, 1)
}

// try sends a request, again and again if the collector is not there or asks for it.
func (s *LogSender) try(ctx context.Context, request object) (rejected int, err error) {
	text, err := jsontext.Encode(request)
	if err != nil {
		return 0, err
	}
	var body bytes.Buffer
	packed := gzip.NewWriter(&body)
	_, _ = packed.Write(text) // a buffer takes everything
	_ = packed.Close()
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		rejected, err = s.send(ctx, body.Bytes())
		refused, ok := errors.AsType[*refusal](err)
		if err == nil || ok && !refused.isPassing() || ctx.Err() != nil {
			return rejected, err
		}
		pause := wait/2 + time.Duration(s.o.Jitter()*float64(wait/2))
		if ok {
			pause = max(pause, refused.wait)
		}
		if pause > s.left {
			return 0, err
		}
		s.left -= pause
		s.o.Sleep(ctx, pause)
	}
}

// send sends a body once.
func (s *LogSender) send(ctx context.Context, body []byte) (rejected int, err error) {
	a, text, err := s.post(ctx, body, "gzip")
	switch {
	case err != nil:
		return 0, err
	case a.StatusCode/100 == 2:
		return rejectedIn(text), nil
	case a.StatusCode/100 == 3:
		return 0, &refusal{status: a.StatusCode, text: errtext.Format("got a redirect to %q, want the address of the collector in [log] send", s.masked(a.Header.Get("Location")))}
	}
	return 0, &refusal{a.StatusCode, s.retryAfter(a.Header.Get("Retry-After")), errtext.Format("the collector answered with HTTP %d: %q", a.StatusCode, s.masked(string(text)))}
}

// masked returns a text of the collector without the values of headers.
func (s *LogSender) masked(text string) string {
	for _, value := range s.headers {
		for _, part := range append([]string{value}, strings.Fields(value)...) { // "Bearer KEY" has the key alone, too
			text = strings.ReplaceAll(text, part, "<masked>")
		}
	}
	return text
}

// retryAfter returns how long to wait. The header has seconds or a time.
func (s *LogSender) retryAfter(header string) time.Duration {
	if n, err := strconv.Atoi(header); err == nil {
		return time.Duration(min(max(n, 0), 1<<30)) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return at.Sub(s.o.Now())
	}
	return 0
}
