package otlp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/serve/otlp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testbed.Alone(m)) }

func env(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

// outcome is the outcome of an event that a plugin denies.
var outcome = host.Outcome{
	Decision: starhost.Decision{Action: starhost.ActionDeny, Plugin: "guard", Reason: "secret"}, Duration: time.Millisecond,
	Hooks: []host.HookTrace{{Event: "pre_tool_call", Plugin: "guard", Action: starhost.ActionDeny, Detail: "secret", Steps: 7}},
}

// TestExporter checks the request for one event: OTLP's JSON form, the headers, one trace for a
// session, and nothing of the event's content.
func TestExporter(t *testing.T) {
	defer otlp.SetBatchTime(time.Millisecond)()
	bodies := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- r.URL.Path + " " + r.Header.Get("X-Key") + " " + string(body)
	}))
	defer collector.Close()
	x, err := otlp.New(env(map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b, x-other=c",
	}), func(text string) { t.Errorf("warning: %s", text) })
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		x.Run(ctx)
		close(ended)
	}()
	e := starhost.Event{
		Name: "pre_tool_call", SessionID: "secret", Tool: "secret", Agent: "claude-code", Arguments: json.RawMessage(`{"a":"secret"}`),
	}
	x.Observe(e, outcome)
	first := <-bodies
	want := `/v1/traces a b {"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"starhost"}}]},` +
		`"scopeSpans":[{"scope":{"name":"starhost"},"spans":[{"traceId":"HEX32","spanId":"HEX16","name":"pre_tool_call","kind":1,` +
		`"startTimeUnixNano":"TIME","endTimeUnixNano":"TIME","attributes":[{"key":"starhost.outcome","value":{"stringValue":"deny"}},` +
		`{"key":"starhost.agent","value":{"stringValue":"claude-code"}},{"key":"starhost.plugin","value":{"stringValue":"guard"}}],` +
		`"events":[{"timeUnixNano":"TIME","name":"hook","attributes":[{"key":"starhost.plugin","value":{"stringValue":"guard"}},` +
		`{"key":"starhost.outcome","value":{"stringValue":"deny"}},{"key":"starhost.steps","value":{"intValue":"7"}}]}]}]}]}]}`
	shape := regexp.MustCompile(`"[0-9a-f]{32}"`).ReplaceAllString(first, `"HEX32"`)
	shape = regexp.MustCompile(`"\d{19}"`).ReplaceAllString(shape, `"TIME"`)
	shape = regexp.MustCompile(`"[0-9a-f]{16}"`).ReplaceAllString(shape, `"HEX16"`)
	if shape != want {
		t.Errorf("got  %s\nwant %s", shape, want)
	}
	x.Observe(e, outcome)
	stop() // the last span is sent
	<-ended
	trace := regexp.MustCompile(`"traceId":"\w+"`)
	if second := <-bodies; trace.FindString(second) != trace.FindString(first) {
		t.Errorf("two events of a session: got %s and %s", trace.FindString(first), trace.FindString(second))
	}
}

// TestExporterFails checks that a collector that fails is one warning, that spans over the limit
// are dropped, and that nothing waits.
func TestExporterFails(t *testing.T) {
	defer otlp.SetBatchTime(time.Millisecond)()
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
	}))
	defer collector.Close()
	var warnings []string
	x, err := otlp.New(env(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}), func(text string) {
		warnings = append(warnings, text)
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		x.Observe(starhost.Event{Name: "turn_end"}, host.Outcome{})
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	x.Run(ctx)
	if got := strings.Join(warnings, "; "); got != "OTLP: the collector answered with HTTP 500" {
		t.Errorf("got warnings %q", got)
	}
}

// TestExporterRedirect checks that the target of a redirect does not get the headers.
func TestExporterRedirect(t *testing.T) {
	defer otlp.SetBatchTime(time.Millisecond)()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the target of a redirect got %v", r.Header)
	}))
	defer other.Close()
	collector := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer collector.Close()
	var warned string
	x, err := otlp.New(env(map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a",
	}), func(text string) { warned = text })
	if err != nil {
		t.Fatal(err)
	}
	x.Observe(starhost.Event{Name: "turn_end"}, host.Outcome{})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	x.Run(ctx)
	if warned != "OTLP: the collector answered with HTTP 307" {
		t.Errorf("got the warning %q", warned)
	}
}

// TestNew checks the environment variables.
func TestNew(t *testing.T) {
	if x, err := otlp.New(env(nil), nil); x != nil || err != nil {
		t.Errorf("no endpoint: got %v, %v", x, err)
	}
	for name, pairs := range map[string]map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT: want a URL as http://127.0.0.1:4318": {"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4317"},
		"OTEL_EXPORTER_OTLP_HEADERS: want NAME=VALUE,NAME=VALUE": {
			"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_HEADERS": "secret",
		},
	} {
		if _, err := otlp.New(env(pairs), nil); err == nil || err.Error() != name {
			t.Errorf("%v: got %v, want %s", pairs, err, name)
		}
	}
}
