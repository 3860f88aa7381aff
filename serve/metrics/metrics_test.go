package metrics_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/metrics"
)

// scrape returns the metrics of a registry without comments.
func scrape(r *metrics.Registry) string {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// outcome returns an outcome with one call.
func outcome(plugin string, a starhost.Action, steps uint64, d time.Duration) host.Outcome {
	return host.Outcome{Duration: d, Hooks: []host.HookTrace{{Event: "pre_tool_call", Plugin: plugin, Action: a, Steps: steps}}}
}

// TestRegistry checks the text of a registry: counters, buckets that include their bound and the
// smaller ones, escapes, and no label of an event's content.
func TestRegistry(t *testing.T) {
	r := metrics.New()
	r.SetPlugins("abc", map[string]string{"soft": "warn"})
	r.AddGauge("starhost_sessions", "Sessions in memory.", func() int { return 7 })
	e := starhost.Event{Name: "pre_tool_call", Tool: "secret", SessionID: "secret"}
	r.Observe(e, outcome("a\"b\\\n", starhost.ActionDeny, 100, time.Millisecond))
	r.Observe(e, outcome("soft", starhost.ActionDeny, 101, 20*time.Second))
	r.Observe(e, outcome("soft", starhost.ActionNone, 5, 0))
	r.Observe(e, outcome("soft", starhost.ActionError, 5, 0))
	r.FailLog()
	got := scrape(r)
	for _, want := range []string{
		`starhost_decisions_total{event="pre_tool_call",plugin="a\"b\\\n",outcome="deny",mode="enforce"} 1`,
		`starhost_decisions_total{event="pre_tool_call",plugin="soft",outcome="deny",mode="warn"} 1`,
		`starhost_decisions_total{event="pre_tool_call",plugin="soft",outcome="none",mode="warn"} 1`,
		`starhost_errors_total{event="pre_tool_call",plugin="soft"} 1`,
		`starhost_event_seconds_bucket{event="pre_tool_call",le="0.0001"} 2`,
		`starhost_event_seconds_bucket{event="pre_tool_call",le="0.001"} 3`,
		`starhost_event_seconds_bucket{event="pre_tool_call",le="10"} 3`,
		`starhost_event_seconds_bucket{event="pre_tool_call",le="+Inf"} 4`,
		`starhost_event_seconds_sum{event="pre_tool_call"} 20.001`,
		`starhost_event_seconds_count{event="pre_tool_call"} 4`,
		`starhost_hook_steps_bucket{event="pre_tool_call",le="100"} 3`,
		`starhost_hook_steps_bucket{event="pre_tool_call",le="300"} 4`,
		`starhost_hook_steps_sum{event="pre_tool_call"} 211`,
		`starhost_log_failures_total 1`,
		`starhost_set_info{revision="abc"} 1`,
		`starhost_sessions 7`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("got no line %s", want)
		}
	}
	if strings.Contains(got, "secret") {
		t.Errorf("a label has content of an event:\n%s", got)
	}
}

// TestRegistryBounded checks that plugins that come and go do not fill the memory, and that no call
// is lost.
func TestRegistryBounded(t *testing.T) {
	r := metrics.New()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 3000 {
				r.Observe(starhost.Event{Name: "pre_tool_call"}, outcome(fmt.Sprint(i, "-", n), starhost.ActionError, 1, 0))
			}
		})
	}
	wg.Wait()
	got := scrape(r)
	for _, want := range []string{
		`starhost_decisions_total{event="pre_tool_call",plugin="other",outcome="error",mode=""} 2000`,
		`starhost_errors_total{event="pre_tool_call",plugin="other"} 2000`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("got no line %s", want)
		}
	}
	if n := strings.Count(got, "starhost_decisions_total"); n != 10_001 {
		t.Errorf("got %d series, want 10001", n)
	}
}

// TestRegistryAsks checks that a function of a gauge or of upstreams may wait for a caller of the
// registry: a reload has the lock of both and calls SetPlugins.
func TestRegistryAsks(t *testing.T) {
	r := metrics.New()
	reload := func() { r.SetPlugins("new", nil) }
	r.AddGauge("starhost_sessions", "Sessions.", func() int { reload(); return 1 })
	r.SetUpstreams(func() map[string]bool { reload(); return map[string]bool{"mcp.a": true} })
	got := scrape(r)
	for _, want := range []string{"starhost_sessions 1", `starhost_upstream_up{upstream="mcp.a"} 1`, `revision="new"`} {
		if !strings.Contains(got, want) {
			t.Errorf("got no line %s:\n%s", want, got)
		}
	}
}
