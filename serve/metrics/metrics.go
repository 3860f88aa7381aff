// Package metrics counts the decisions of plugins, and writes the counts as Prometheus reads them.
//
// Its central idea is that labels are few: events, plugins, outcomes and modes, which the
// configuration bounds. No label and no value comes from a request. Over a limit of series, new
// plugins count as "other".
//
// The package opens no address and knows no server.
package metrics

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// maxSeries is the most series of one counter or histogram.
const maxSeries = 10_000

// other is the plugin's label for series over the limit.
const other = "other"

// A Registry counts. It is safe for concurrent use.
type Registry struct {
	logFailures atomic.Int64

	mu        sync.Mutex
	revision  string
	modes     map[string]string
	decisions map[decisionKey]uint64
	errors    map[errorKey]uint64
	seconds   map[string]*histogram // by event
	steps     map[string]*histogram // by event
	gauges    map[string]gauge      // by name
	upstreams func() map[string]bool
}

type (
	decisionKey struct{ event, plugin, outcome, mode string }
	errorKey    struct{ event, plugin string }
	gauge       struct {
		help  string
		value func() int
	}
)

// New returns an empty registry.
func New() *Registry {
	return &Registry{
		decisions: map[decisionKey]uint64{}, errors: map[errorKey]uint64{}, seconds: map[string]*histogram{},
		steps: map[string]*histogram{}, gauges: map[string]gauge{},
	}
}

// SetPlugins says which plugins decide from now on: their modes by name, and a revision that
// differs for each set.
func (r *Registry) SetPlugins(revision string, modes map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revision, r.modes = revision, maps.Clone(modes)
}

// AddGauge adds a value that is read for each scrape.
func (r *Registry) AddGauge(name, help string, value func() int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gauges[name] = gauge{help, value}
}

// SetUpstreams sets the function that returns which programs and servers answer on which the server
// depends, by their names in the config.
func (r *Registry) SetUpstreams(states func() map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.upstreams = states
}

// FailLog counts a record of the decision log that was not written.
func (r *Registry) FailLog() { r.logFailures.Add(1) }

// These are the upper bounds of the histograms' buckets.
var (
	secondBounds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	stepBounds   = []float64{10, 30, 100, 300, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 1e7}
)

// A histogram counts values by buckets.
type histogram struct {
	bounds  []float64
	buckets []uint64 // one more than bounds
	sum     float64
}

func (h *histogram) add(v float64) {
	i, _ := slices.BinarySearch(h.bounds, v)
	h.buckets[i]++
	h.sum += v
}

// addTo adds a value to the histogram of an event.
func addTo(list map[string]*histogram, event string, bounds []float64, v float64) {
	h := list[event]
	if h == nil {
		if len(list) >= maxSeries {
			event = other
		}
		if h = list[event]; h == nil {
			h = &histogram{bounds: bounds, buckets: make([]uint64, len(bounds)+1)}
			list[event] = h
		}
	}
	h.add(v)
}

// Observe counts an event: see [host.Options.Observe]. Answers of persons and runs of tools are
// no events.
func (r *Registry) Observe(e starhost.Event, o host.Outcome) {
	if e.IsTrace() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	addTo(r.seconds, e.Name, secondBounds, o.Duration.Seconds())
	for i := range o.Hooks {
		h := &o.Hooks[i]
		addTo(r.steps, h.Event, stepBounds, float64(h.Steps))
		if h.Again && h.Action == starhost.ActionNone {
			continue // the host asked again, and nothing changed
		}
		d := decisionKey{h.Event, h.Plugin, cmp.Or(string(h.Action), "none"), r.mode(h.Plugin)}
		if _, ok := r.decisions[d]; !ok && len(r.decisions) >= maxSeries {
			d.plugin, d.mode = other, ""
		}
		r.decisions[d]++
		if h.Action == starhost.ActionError {
			key := errorKey{h.Event, h.Plugin}
			if _, ok := r.errors[key]; !ok && len(r.errors) >= maxSeries {
				key.plugin = other
			}
			r.errors[key]++
		}
	}
}

// mode returns the mode of a plugin: "enforce" for one that no file has.
func (r *Registry) mode(plugin string) string {
	return cmp.Or(r.modes[plugin], "enforce")
}

// ServeHTTP writes all metrics in Prometheus' text format 0.0.4.
func (r *Registry) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(r.text()) // a scraper that is gone asks again
}

// text returns all metrics.
func (r *Registry) text() []byte {
	values, states := r.ask()
	r.mu.Lock()
	defer r.mu.Unlock()
	var b bytes.Buffer
	head(&b, "starhost_decisions_total", "counter", "Calls of hooks, by their decision.")
	for _, k := range slices.SortedFunc(maps.Keys(r.decisions), func(a, b decisionKey) int {
		return cmp.Or(cmp.Compare(a.event, b.event), cmp.Compare(a.plugin, b.plugin),
			cmp.Compare(a.outcome, b.outcome), cmp.Compare(a.mode, b.mode))
	}) {
		sample(&b, "starhost_decisions_total", r.decisions[k],
			"event", k.event, "plugin", k.plugin, "outcome", k.outcome, "mode", k.mode)
	}
	head(&b, "starhost_errors_total", "counter", "Calls of hooks that failed.")
	for _, k := range slices.SortedFunc(maps.Keys(r.errors), func(a, b errorKey) int {
		return cmp.Or(cmp.Compare(a.event, b.event), cmp.Compare(a.plugin, b.plugin))
	}) {
		sample(&b, "starhost_errors_total", r.errors[k], "event", k.event, "plugin", k.plugin)
	}
	writeHistograms(&b, "starhost_event_seconds", "Time of an event with all its hooks.", r.seconds)
	writeHistograms(&b, "starhost_hook_steps", "Interpreter steps of a hook's call.", r.steps)
	head(&b, "starhost_log_failures_total", "counter", "Records of the decision log that were not written.")
	sample(&b, "starhost_log_failures_total", uint64(r.logFailures.Load()))
	head(&b, "starhost_set_info", "gauge", "The plugins in use, by their revision.")
	sample(&b, "starhost_set_info", 1, "revision", r.revision)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		head(&b, name, "gauge", r.gauges[name].help)
		sample(&b, name, values[name])
	}
	if states != nil {
		head(&b, "starhost_upstream_up", "gauge", "1 for a server of the config that answers, 0 for one that does not.")
		for _, name := range slices.Sorted(maps.Keys(states)) {
			up := uint64(0)
			if states[name] {
				up = 1
			}
			sample(&b, "starhost_upstream_up", up, "upstream", name)
		}
	}
	return b.Bytes()
}

// ask returns the values of the gauges and the states of the upstreams. It calls the functions
// without the lock, because they wait for a reload, which calls SetPlugins.
func (r *Registry) ask() (values map[string]uint64, states map[string]bool) {
	r.mu.Lock()
	gauges, upstreams := maps.Clone(r.gauges), r.upstreams
	r.mu.Unlock()
	values = map[string]uint64{}
	for name, g := range gauges {
		values[name] = uint64(max(g.value(), 0))
	}
	if upstreams != nil {
		states = upstreams()
	}
	return values, states
}

func head(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// sample writes one value with labels: names and values in turns.
func sample(w io.Writer, name string, value uint64, labels ...string) {
	io.WriteString(w, name)
	writeLabels(w, labels)
	fmt.Fprintf(w, " %d\n", value)
}

// labelEscapes are the characters that a label's value cannot contain as they are.
var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func writeLabels(w io.Writer, labels []string) {
	for i := 0; i < len(labels); i += 2 {
		open := ","
		if i == 0 {
			open = "{"
		}
		fmt.Fprintf(w, `%s%s="%s"`, open, labels[i], labelEscapes.Replace(strings.ToValidUTF8(labels[i+1], "\uFFFD")))
	}
	if len(labels) > 0 {
		io.WriteString(w, "}")
	}
}

func writeHistograms(w io.Writer, name, help string, list map[string]*histogram) {
	head(w, name, "histogram", help)
	for _, event := range slices.Sorted(maps.Keys(list)) {
		h, count := list[event], uint64(0)
		for i, n := range h.buckets {
			count += n
			bound := "+Inf"
			if i < len(h.bounds) {
				bound = strconv.FormatFloat(h.bounds[i], 'g', -1, 64)
			}
			sample(w, name+"_bucket", count, "event", event, "le", bound)
		}
		fmt.Fprintf(w, "%s_sum{event=%q} %s\n", name, event, strconv.FormatFloat(h.sum, 'g', -1, 64))
		sample(w, name+"_count", count, "event", event)
	}
}
