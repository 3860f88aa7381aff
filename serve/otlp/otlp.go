// Package otlp sends a trace of the events that a host observes, and the records of the decision
// log, to a collector, by OTLP over HTTP in JSON.
//
// Its central idea is that neither delays or fails an event. Spans wait in a bounded queue, and a
// collector that does not answer loses them. A span has the names of the event, the agent and the
// plugins, their decisions and steps, and no content: neither arguments nor reasons. Records wait in
// the files of the log until another process sends them, and none is lost.
//
// The package needs no SDK, and costs nothing without an endpoint.
package otlp

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// These limits bound an exporter.
const (
	maxQueue    = 2048 // spans that wait
	maxBatch    = 512  // spans in one request
	maxHooks    = 128  // calls of hooks in one span
	sendTimeout = 10 * time.Second
	lastTimeout = 2 * time.Second // for the spans that wait at the end
)

// batchTime is the longest time that a span waits for others.
var batchTime = 5 * time.Second

// An Exporter sends spans. Its method Observe is safe for concurrent use.
type Exporter struct {
	collector
	warn  func(string)
	queue chan span
	lost  atomic.Int64 // spans that did not fit into the queue
}

// New returns an exporter for the environment variables OTEL_EXPORTER_OTLP_ENDPOINT and
// OTEL_EXPORTER_OTLP_HEADERS, nil if there is no endpoint. The caller runs [Exporter.Run].
func New(getenv func(string) string, warn func(string)) (*Exporter, error) {
	endpoint := getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
	if endpoint == "" {
		return nil, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("OTEL_EXPORTER_OTLP_ENDPOINT: want a URL as http://127.0.0.1:4318")
	}
	x := &Exporter{collector: newCollector(endpoint, "/v1/traces", map[string]string{}), warn: warn, queue: make(chan span, maxQueue)}
	for pair := range strings.SplitSeq(getenv("OTEL_EXPORTER_OTLP_HEADERS"), ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		text, err := url.PathUnescape(strings.TrimSpace(value))
		if pair != "" && (!ok || err != nil) {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS: want NAME=VALUE,NAME=VALUE")
		}
		if ok {
			x.headers[strings.TrimSpace(name)] = text
		}
	}
	return x, nil
}

// Observe queues a span for an event: see [host.Options.Observe]. The events of a session are
// one trace, whose id is a hash of the session's name.
func (x *Exporter) Observe(e starhost.Event, o host.Outcome) {
	end := time.Now()
	var id [8]byte
	_, _ = rand.Read(id[:]) // it never fails
	trace := sha256.Sum256([]byte("starhost session\x00" + e.SessionID))
	if e.SessionID == "" {
		trace = sha256.Sum256(id[:])
	}
	s := span{
		TraceID: hex.EncodeToString(trace[:16]), SpanID: hex.EncodeToString(id[:]), Name: e.Name, Kind: 1,
		Start: nanos(end.Add(-o.Duration)), End: nanos(end),
		Attributes: []attribute{textAttribute("starhost.outcome", cmp.Or(string(o.Decision.Action), "none"))},
	}
	if e.Agent != "" {
		s.Attributes = append(s.Attributes, textAttribute("starhost.agent", e.Agent))
	}
	if o.Decision.Plugin != "" {
		s.Attributes = append(s.Attributes, textAttribute("starhost.plugin", o.Decision.Plugin))
	}
	for _, h := range o.Hooks[:min(len(o.Hooks), maxHooks)] {
		s.Events = append(s.Events, spanEvent{Time: s.End, Name: "hook", Attributes: []attribute{
			textAttribute("starhost.plugin", h.Plugin), textAttribute("starhost.outcome", cmp.Or(string(h.Action), "none")),
			{"starhost.steps", value{Int: strconv.FormatUint(h.Steps, 10)}},
		}})
	}
	select {
	case x.queue <- s:
	default:
		x.lost.Add(1)
	}
}

// Run sends spans until ctx ends, and then those that wait.
func (x *Exporter) Run(ctx context.Context) {
	defer x.client.CloseIdleConnections()
	var failed string // the last warning, which Run does not repeat
	for ctx.Err() == nil {
		failed = x.send(ctx, x.collect(ctx), failed)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
	defer cancel()
	for len(x.queue) > 0 && last.Err() == nil {
		failed = x.send(last, x.collect(ctx), failed)
	}
}

// collect waits for spans, until there are many or the first one has waited long. At the end of ctx
// it takes those that wait.
func (x *Exporter) collect(ctx context.Context) (batch []span) {
	late := make(<-chan time.Time)
	for len(batch) < maxBatch {
		var s span
		select {
		case s = <-x.queue:
		default:
			select {
			case s = <-x.queue:
			case <-late:
				return batch
			case <-ctx.Done():
				return batch
			}
		}
		if batch = append(batch, s); len(batch) == 1 {
			late = time.After(batchTime)
		}
	}
	return batch
}

// send sends a batch. A failure is a warning, once until it changes.
func (x *Exporter) send(ctx context.Context, batch []span, failed string) string {
	if len(batch) == 0 {
		return failed
	}
	err := x.post(context.WithoutCancel(ctx), batch)
	if lost := x.lost.Swap(0); err == nil && lost > 0 {
		err = fmt.Errorf("%d spans are lost: more than %d wait", lost, maxQueue)
	}
	if err == nil {
		return ""
	}
	if err.Error() != failed {
		x.warn("OTLP: " + err.Error())
	}
	return err.Error()
}

// post sends a batch to the collector.
func (x *Exporter) post(ctx context.Context, batch []span) error {
	body, err := json.Marshal(tracesOf(batch))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	a, _, err := x.collector.post(ctx, body, "")
	if err == nil && a.StatusCode/100 != 2 {
		err = fmt.Errorf("the collector answered with HTTP %d", a.StatusCode)
	}
	return err
}
