// Package measure measures what plugins cost: loading them, each hook, the loaders of references, and
// a whole prompt or event. Steps and bytes are the charges of evaluation, equal on all machines; times
// are this machine's. The caller loads the plugins, and keeps effects from running.
package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// Options say what to measure.
type Options struct {
	Set   *loader.Set
	Load  func(context.Context) error // loads the plugins of Set once more
	Text  string                      // the user's words
	Refs  []string                    // references, for their loaders, merging and the prompt
	Event string                      // measure the hooks of this event alone; "" measures all
	New   func() (*starhost.Event, error)
	Time  time.Duration // to spend on each sample
	Count int           // samples of everything
	Warn  func(pos starhost.Pos, text string)
}

// A bencher is one run.
type bencher struct {
	Options
	request    host.Request
	turn       *host.Turn // nil between turns
	benchmarks Results
}

// Results are the benchmarks of a run.
type Results []*benchmark

// Run measures. Options.New returns a new event of the name for each call, because hooks change it.
func Run(ctx context.Context, o Options) (Results, error) {
	b := &bencher{Options: o, request: host.Request{Text: o.Text}}
	err := b.run(ctx)
	return b.benchmarks, err
}

// A benchmark measures one operation.
type benchmark struct {
	kind    string // load, hook, loader, merge, prompt or fire
	plugin  string // registered the operation; "" for all plugins
	subject string // the event or the reference
	pos     starhost.Pos
	op      func(context.Context) error
	inTurn  bool           // op needs a turn
	usage   starlark.Usage // by one op
	samples []sample
}

// A sample has the times of one op, from n calls.
type sample struct {
	n              int
	mean, p50, p99 time.Duration
}

// run adds the benchmarks and takes their samples.
func (b *bencher) run(ctx context.Context) error {
	defer b.endTurn(ctx)
	if err := b.addBenchmarks(ctx); err != nil {
		return err
	}
	for range b.Count {
		for _, m := range b.benchmarks {
			s, err := b.measure(ctx, m)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name(" "), err)
			}
			m.samples = append(m.samples, s)
		}
	}
	return nil
}

// addBenchmarks adds a benchmark for everything that can be measured, with its usage.
func (b *bencher) addBenchmarks(ctx context.Context) error {
	b.addLoad()
	if err := b.beginTurn(ctx); err != nil {
		return err
	}
	for _, p := range b.Set.Plugins {
		if p.Registered == nil {
			continue
		}
		for i := range p.Registered.Hooks {
			if b.fires() && p.Registered.Hooks[i].Event != b.Event {
				continue
			}
			if err := b.addHook(ctx, p.Name, &p.Registered.Hooks[i]); err != nil {
				return err
			}
		}
	}
	if b.fires() {
		return b.addFire(ctx)
	}
	if err := b.addLoaders(ctx); err != nil {
		return err
	}
	return b.addPrompt(ctx)
}

// fires reports whether one event is measured.
func (b *bencher) fires() bool { return b.Event != "" }

// addFire adds a benchmark of all hooks of the event of --fire.
func (b *bencher) addFire(ctx context.Context) error {
	m := &benchmark{kind: "fire", subject: b.Event, inTurn: true}
	m.op = func(ctx context.Context) error {
		e, err := b.New()
		if err == nil {
			_, err = b.turn.Fire(ctx, e)
		}
		return err
	}
	seen := len(b.turn.Hooks())
	if err := m.op(ctx); err != nil {
		return err
	}
	if m.addUsage(b.turn.Hooks()[seen:]); len(b.turn.Hooks()) == seen {
		b.warnSkipped(starhost.Pos{}, "--fire "+b.Event, "no hook hears this event with these arguments")
		return nil
	}
	b.benchmarks = append(b.benchmarks, m)
	return nil
}

// warnSkipped adds a warning that names a thing that is not measured, and the reason.
func (b *bencher) warnSkipped(pos starhost.Pos, what, why string) {
	b.Warn(pos, what+" is not measured: "+why)
}

// addLoad adds a benchmark that reads the config and loads all plugins.
func (b *bencher) addLoad() {
	m := &benchmark{kind: "load", op: b.Load}
	for i := range b.Set.Plugins {
		m.usage.Steps += b.Set.Plugins[i].Steps
		m.usage.Bytes += b.Set.Plugins[i].Bytes
	}
	b.benchmarks = append(b.benchmarks, m)
}

// addHook adds a benchmark of a hook, with the first event that the hook accepts.
func (b *bencher) addHook(ctx context.Context, plugin string, h *starhost.Hook) error {
	m := &benchmark{kind: "hook", plugin: plugin, subject: h.Event, pos: h.Pos, inTurn: true}
	why := "no tool or command that it matches is registered: --fire " + h.Event + " --args JSON measures a call of an agent"
	if b.fires() {
		why = "it does not match the event of --fire"
	}
	for _, e := range b.events(h.Event) {
		seen := len(b.turn.Hooks())
		if _, err := b.turn.Fire(ctx, e); err != nil {
			return err
		}
		i := slices.IndexFunc(b.turn.Hooks()[seen:], func(t host.HookTrace) bool {
			return t.Event == h.Event && t.Plugin == plugin && t.Pos == h.Pos
		})
		if i < 0 {
			continue
		}
		trace := b.turn.Hooks()[seen+i]
		if trace.Action == starhost.ActionError {
			why = trace.Detail
			continue
		}
		m.addUsage(b.turn.Hooks()[seen+i : seen+i+1])
		m.op = func(ctx context.Context) error {
			return b.turn.As(ctx, plugin, func(ctx context.Context) error {
				_, err := h.Call(ctx, e)
				return err
			})
		}
		b.benchmarks = append(b.benchmarks, m)
		return nil
	}
	b.warnSkipped(h.Pos, "hook "+h.Event, why)
	return nil
}

// events returns sample events of a name: one for each tool or command that the event can be
// about, else one.
func (b *bencher) events(name string) []*starhost.Event {
	if b.fires() {
		e, err := b.New()
		if err != nil {
			return nil // the caller has made one
		}
		return []*starhost.Event{e}
	}
	spec, err := starhost.LookupEvent(name)
	if err != nil {
		return nil // only a program can fire it
	}
	all := []*starhost.Event{spec.New()}
	switch {
	case spec.Tool:
		all = jsontext.List(b.Set.Host.Tools(), func(t *starhost.Tool) *starhost.Event {
			e := spec.New()
			e.Tool, e.Arguments = t.Name, sampleArguments(t)
			return e
		})
	case spec.Command:
		all = jsontext.List(b.Set.Host.Commands(), func(c *starhost.Command) *starhost.Event {
			e := spec.New()
			e.Command = c.Name
			return e
		})
	}
	for _, e := range all {
		e.Messages = starhost.NewList([]starhost.Message{{Role: starhost.RoleUser, Content: fragments.NewText(b.Text)}})
		e.Tools = starhost.NewList(b.Set.Host.Tools())
	}
	return all
}

// sampleArguments returns arguments that fit the types of a tool's schema.
func sampleArguments(t *starhost.Tool) json.RawMessage {
	sampleValues := map[string]any{
		"string": "x", "integer": 1, "number": 1, "boolean": true, "array": []any{}, "object": map[string]any{}, "null": nil,
	}
	args := map[string]any{}
	for name, typ := range t.ParameterTypes() {
		if v, ok := sampleValues[typ]; ok {
			args[name] = v
		}
	}
	return jsontext.Must(args)
}

// addLoaders adds a benchmark of the loader of each reference, and one that merges all loaded
// fragments. It adds the references that can be loaded to the later requests.
func (b *bencher) addLoaders(ctx context.Context) error {
	var loaded [][]fragments.Fragment
	prefixes := map[string]bool{}
	for _, ref := range b.Refs {
		prefix, _, _ := strings.Cut(ref, ":")
		prefixes[prefix] = true
		seen := len(b.turn.Hooks())
		got, err := b.turn.Load(ctx, []string{ref})
		if _, unknown := errors.AsType[*host.UnknownRefError](err); unknown {
			return err
		}
		if err != nil {
			b.warnSkipped(starhost.Pos{}, "-f "+ref, err.Error())
			continue
		}
		loaded = append(loaded, got[0].Fragments)
		b.request.Fragments = append(b.request.Fragments, ref)
		m := &benchmark{kind: "loader", subject: ref, inTurn: true}
		traces := b.turn.Hooks()[seen:]
		m.plugin, m.pos = traces[0].Plugin, traces[0].Pos
		m.addUsage(traces)
		m.op = func(ctx context.Context) error {
			_, err := b.turn.Load(ctx, []string{ref})
			return err
		}
		b.benchmarks = append(b.benchmarks, m)
	}
	for _, l := range b.Set.Host.FragmentLoaders() {
		if l.Plugin != starhost.HostPlugin && !prefixes[l.Prefix] {
			b.warnSkipped(l.Pos, "loader "+l.Prefix+":", "-f "+l.Prefix+":ARG gives it an argument")
		}
	}
	if len(loaded) > 0 {
		b.benchmarks = append(b.benchmarks, &benchmark{kind: "merge", op: func(context.Context) error {
			_ = fragments.Merge(loaded...).Text()
			return nil
		}})
	}
	return nil
}

// addPrompt adds a benchmark of the first prompt of a session.
func (b *bencher) addPrompt(ctx context.Context) error {
	p, err := b.newSession().Prompt(ctx, b.request)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		b.warnSkipped(starhost.Pos{}, "the prompt", err.Error())
		return nil
	}
	m := &benchmark{kind: "prompt"}
	m.addUsage(p.Hooks)
	m.op = func(ctx context.Context) error {
		_, err := b.newSession().Prompt(ctx, b.request)
		return err
	}
	b.benchmarks = append(b.benchmarks, m)
	return nil
}

// addUsage adds the steps and bytes of handlers.
func (m *benchmark) addUsage(traces []host.HookTrace) {
	for _, t := range traces {
		m.usage.Steps += t.Steps
		m.usage.Bytes += t.Bytes
	}
}

func (b *bencher) newSession() *host.Session {
	return b.Set.Host.NewSession(host.SessionConfig{ID: "bench", Platform: "cli", Model: b.Set.Config.Model.Default})
}

// beginTurn begins a turn in a new session, so that session state stays small.
func (b *bencher) beginTurn(ctx context.Context) (err error) {
	b.endTurn(ctx)
	b.turn, err = b.newSession().Begin(ctx, host.Request{Text: b.Text})
	return err
}

func (b *bencher) endTurn(ctx context.Context) {
	if b.turn != nil {
		b.turn.End(ctx)
		b.turn = nil
	}
}

// Limits of a sample: calls in one turn, and calls in all.
const (
	opsInTurn    = 1000
	opsInSamples = 1 << 20
)

// measure calls op for as long as --time says, but at least once.
func (b *bencher) measure(ctx context.Context, m *benchmark) (sample, error) {
	var took []time.Duration
	var total time.Duration
	for len(took) == 0 || total < b.Time && len(took) < opsInSamples {
		if m.inTurn && len(took)%opsInTurn == 0 {
			if err := b.beginTurn(ctx); err != nil {
				return sample{}, err
			}
		}
		start := time.Now()
		if err := m.op(ctx); err != nil {
			return sample{}, err
		}
		took = append(took, time.Since(start))
		total += took[len(took)-1]
	}
	slices.Sort(took)
	n := len(took)
	return sample{n: n, mean: total / time.Duration(n), p50: took[n/2], p99: took[n*99/100]}, nil
}

// name names the operation, with a separator between its parts.
func (m *benchmark) name(sep string) string {
	parts := []string{m.kind}
	for _, part := range []string{m.plugin, m.subject} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, sep)
}

// place returns the place of the registration, "" for an operation without one.
func (m *benchmark) place() string {
	if m.pos == (starhost.Pos{}) {
		return ""
	}
	return m.pos.String()
}

// WriteText writes a table: a line for each sample.
func (r Results) WriteText(p *page.Page) {
	if len(r) == 0 {
		return
	}
	rows := [][]string{{"benchmark", "n", "p50", "p99", "steps", "bytes", "place"}}
	for _, m := range r {
		for _, s := range m.samples {
			rows = append(rows, []string{
				m.name(" "), fmt.Sprint(s.n), roundTime(s.p50), roundTime(s.p99),
				fmt.Sprint(m.usage.Steps), fmt.Sprint(m.usage.Bytes), m.place(),
			})
		}
	}
	p.Table(rows)
}

// roundTime returns a time with three significant digits.
func roundTime(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

type (
	benchmarkJSON struct {
		Kind       string       `json:"kind"`
		Plugin     string       `json:"plugin"`
		Subject    string       `json:"subject"`
		Pos        string       `json:"pos"`
		Steps      uint64       `json:"steps"`
		AllocBytes uint64       `json:"alloc_bytes"`
		Samples    []sampleJSON `json:"samples"`
	}
	sampleJSON struct {
		N    int   `json:"n"`
		Mean int64 `json:"mean_ns"`
		P50  int64 `json:"p50_ns"`
		P99  int64 `json:"p99_ns"`
	}
)

// JSON returns the benchmarks for JSON.
func (r Results) JSON() []benchmarkJSON {
	return jsontext.List(r, func(m **benchmark) benchmarkJSON { return (*m).json() })
}

func (m *benchmark) json() benchmarkJSON {
	return benchmarkJSON{
		Kind: m.kind, Plugin: m.plugin, Subject: m.subject, Pos: m.place(),
		Steps: m.usage.Steps, AllocBytes: m.usage.Bytes,
		Samples: jsontext.List(m.samples, func(s *sample) sampleJSON {
			return sampleJSON{s.n, s.mean.Nanoseconds(), s.p50.Nanoseconds(), s.p99.Nanoseconds()}
		}),
	}
}

// WriteGoBench writes the format of Go's own benchmarks: a line for each sample. The number of
// processors stands behind the name.
func (r Results) WriteGoBench(p *page.Page) {
	fmt.Fprintf(p, "goos: %s\ngoarch: %s\npkg: starhost\n", runtime.GOOS, runtime.GOARCH)
	for _, m := range r {
		for _, s := range m.samples {
			fmt.Fprintf(p, "Benchmark%s-%d\t%d\t%d ns/op\t%d p50-ns/op\t%d p99-ns/op\t%d steps/op\t%d alloc-B/op\n",
				m.goName(), runtime.GOMAXPROCS(0), s.n, s.mean.Nanoseconds(), s.p50.Nanoseconds(), s.p99.Nanoseconds(),
				m.usage.Steps, m.usage.Bytes)
		}
	}
}

// goName returns the name in the form of Go's benchmarks: a capital first, no spaces. It
// includes the place of a hook, because a plugin can have two hooks for one event.
func (m *benchmark) goName() string {
	name := m.name("/")
	if m.kind == "hook" {
		name += "/" + m.place()
	}
	return strings.ToUpper(name[:1]) + strings.Join(strings.Fields(name[1:]), "_")
}
