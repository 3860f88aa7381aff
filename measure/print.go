package measure

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/page"
)

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
