//go:build !race

// The race detector allocates memory of its own, so these tests would measure too much.

package builtins_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/starlark"
)

// A workload is a call of a builtin. Its work grows with n, because the set-up creates
// arguments whose size grows with n.
type workload struct{ name, setup, expr string }

// workloads has a row for each entry of the table whose work is not constant.
var workloads = []workload{
	{"fail", "s = [0] * n", "assert_fails(lambda: fail(s), '')"},
	{"fragment", "s = 'x' * n", "fragment(s)"},
	{"attachment", "s = 'x' * n", "attachment(content = s)"},
	{"result", "s = list(range(n))", "result(s)"},
	{"template", "s = '$a ' * n", "template(prompt = s)"},
	{"deny", "s = 'x' * n", "deny(s)"},
	{"ask", "s = 'x' * n", "ask(s)"},
	{"abort", "s = 'x' * n", "abort(s)"},
	{"end_session", "s = 'x' * n", "end_session(s)"},
	{"respond", "s = list(range(n))", "respond(s)"},
	{"modify", "s = list(range(n))", "modify(a = s)"},
	{"sum", "s = list(range(n))", "sum(s)"},
	{"struct", "d = {'a%d' % i: i for i in range(n // 16)}", "struct(**d)"},

	{"re.search", "s = 'ab ' * n", "re.search(r'\\d+', s)"},
	{"re.match", "s = 'a' * n", "re.match(r'a*b', s)"},
	{"re.fullmatch", "s = 'a' * n", "re.fullmatch(r'a*b', s)"},
	{"re.findall", "s = 'ab ' * n", "re.findall(r'\\w+', s)"},
	{"re.findall", "s = 'a=b ' * n", "re.findall(r'(\\w+)=(\\w+)', s)"},
	{"re.findall", "s = '<a' * (n // 64)", "re.findall(r'<[^>]*>|a', s)"},
	{"re.finditer", "s = 'ab ' * n", "re.finditer(r'\\w+', s)"},
	{"re.split", "s = 'ab ' * n", "re.split(r'\\s', s)"},
	{"re.sub", "s = 'ab ' * n", "re.sub(r'a', 'ccc', s)"},
	{"re.sub", "s = 'ab ' * n", "re.sub(r'(a)', r'\\1\\1', s)"},
	{"re.escape", "s = '.' * n", "re.escape(s)"},

	{"text.dedent", "s = '  a\\n' * n", "text.dedent(s)"},
	{"text.indent", "s = 'a\\n' * n", "text.indent(s, '  ')"},
	{"text.wrap", "s = 'ab ' * n", "text.wrap(s, 20)"},
	{"text.wrap", "s = 'ab' * n", "text.wrap(s, 1)"},
	{"text.truncate", "s = 'x' * n", "text.truncate(s, n // 2)"},
	{"text.fence", "s = '`' * n", "text.fence(s)"},
	{"text.pad", "s = 'x' * n", "text.pad(s, 5)"},
	{"text.format_number", "s = 1\nfor _ in range(n // 512): s = s << 500", "text.format_number(s, sep = ',')"},
	{"text.markdown_table", "s = [['a', 1, None]] * n", "text.markdown_table(s)"},
	{"text.markdown_table", "s = [{}] * (n // 64) + [{str(i): i for i in range(64)}]", "text.markdown_table(s)"},
	{"text.split_sections", "s = '# a\\nb\\n' * n", "text.split_sections(s)"},

	{"yaml.decode", "s = '- a\\n' * n", "yaml.decode(s)"},
	{"yaml.decode", "s = ''.join(['a%d: 1\\n' % i for i in range(n // 8)])", "yaml.decode(s)"},
	{"yaml.decode", "s = '{' + ','.join([str(i << 32) + ': 0' for i in range(n // 32)]) + '}'", "yaml.decode(s)"},
	{"yaml.decode", "s = '- !a b\\n' * n", "yaml.decode(s, tags = 'keep')"},
	{"yaml.encode", "s = [yaml.tagged('!a', 'x')] * n", "yaml.encode(s)"},
	{"yaml.decode_all", "s = '---\\na\\n' * (n // 8)", "yaml.decode_all(s)"},
	{"yaml.encode", "s = [{'a': 'x'}] * n", "yaml.encode(s)"},
	{"toml.decode", "s = ''.join(['a%d = 1\\n' % i for i in range(n // 8)])", "toml.decode(s)"},
	{"toml.decode", "s = '[[a]]\\n' * (n // 8)", "toml.decode(s)"},
	{"toml.encode", "s = {'a': [{'b': 1}] * n}", "toml.encode(s)"},
	{"csv.decode", "s = 'a,b\\n' * n", "csv.decode(s, header = False)"},
	{"csv.decode", "s = 'a,b\\n' * n", "csv.decode(s)"},
	{"csv.encode", "s = [['a', 1]] * n", "csv.encode(s)"},

	{"shell.parse", "s = 'a b;' * (n // 4)", "shell.parse(s)"},
	{"shell.parse", "s = 'a $(b c)|' * (n // 32) + 'd'", "shell.parse(s)"},
	{"shell.runs", "s = 'a b;' * (n // 4)", "shell.runs(s, 'a', 'c')"},
	{"shell.flag", "s = shell.parse('a' + ' b' * min(n, 9000)).commands[0]", "shell.flag(s, 'c')"},
	{"shell.option", "s = shell.parse('a' + ' -b=c' * min(n, 9000)).commands[0]", "shell.option(s, 'c', all = True)"},
	{"shell.quote", "s = ['a b'] * n", "shell.quote(s)"},
	{"base64.encode", "s = 'x' * n", "base64.encode(s)"},
	{"base64.decode", "s = base64.encode('x' * n)", "base64.decode(s)"},
	{"hash.sha256", "s = 'x' * n", "hash.sha256(s)"},
	{"hash.sha512", "s = 'x' * n", "hash.sha512(s)"},
	{"hash.sha1", "s = 'x' * n", "hash.sha1(s)"},
	{"hash.md5", "s = 'x' * n", "hash.md5(s)"},
	{"time.parse_time", "s = 'x' * n", "assert_fails(lambda: time.parse_time('2006' + s, '2006'), '')"},
	{"time.parse_duration", "s = '1ns' * n", "time.parse_duration(s)"},
}

// constant gives the reason for each entry whose work does not depend on its arguments. The
// evaluator prices json and the language, and tests these prices itself.
var constant = map[string]string{
	"plugin":                   "its arguments are read before the file runs",
	"register_tool":            "testdata/hostile/register",
	"register_hook":            "as register_tool",
	"register_fragment_loader": "as register_tool",
	"register_template_loader": "as register_tool",
	"register_command":         "as register_tool",
	"register_skill":           "its files are those of the plugin's folder",
	"register_guard":           "as register_skill",
	"register_model":           "as register_tool",
	"approve":                  "it has no arguments",
	"type":                     "a name",
	"files.read":               "the files are those of the plugin's folder",
	"files.read_bytes":         "as files.read",
	"files.glob":               "as files.read",
	"files.exists":             "as files.read",
	"yaml.tagged":              "two fields",
	"time.time":                "numbers that fit a machine word",
	"time.from_timestamp":      "as time.time",
	"time.is_valid_timezone":   "looks a name up",
}

// TestEveryBuiltinHasAWorkload makes the author of an entry state what its work depends on.
func TestEveryBuiltinHasAWorkload(t *testing.T) {
	for _, e := range builtins.Table(starlark.New(starlark.Options{})) {
		if e.Value == nil || e.Signature == "" || strings.HasPrefix(e.Name, "math.") {
			continue
		}
		has := slices.ContainsFunc(workloads, func(w workload) bool { return w.name == e.Name })
		if why := constant[e.Name]; has == (why != "") {
			t.Errorf("%s: got a workload %v and the reason %q for having none, want one of both", e.Name, has, why)
		}
	}
}

// evalBytes is the memory that evaluating a call needs without the builtin.
const evalBytes = 32 << 10

// TestBytesArePaidFor checks the law of prices: a call pays for the memory that it allocates, except for a
// factor and for the memory that its steps may allocate.
func TestBytesArePaidFor(t *testing.T) {
	for _, w := range workloads {
		t.Run(w.name+" "+w.expr, func(t *testing.T) {
			for _, n := range []int{2048, 4096, 8192} {
				real, usage := w.spend(t, n)
				if limit := 2*usage.Bytes + 72*usage.Steps + evalBytes; real > limit {
					t.Errorf("n = %d: allocated %d bytes, paid for %d and %d steps", n, real, usage.Bytes, usage.Steps)
				}
			}
		})
	}
}

// TestChargesGrowWithTheWork makes the work of each call four times as large, and checks that the charge
// grows too.
func TestChargesGrowWithTheWork(t *testing.T) {
	for _, w := range workloads {
		t.Run(w.name+" "+w.expr, func(t *testing.T) {
			_, small := w.spend(t, 4096)
			_, large := w.spend(t, 16384)
			if large.Steps < 2*small.Steps && large.Bytes < 2*small.Bytes {
				t.Errorf("paid %v for n, %v for 4n", small, large)
			}
		})
	}
}

// spend runs the call for a size and returns the memory that it allocated and what it paid. It
// takes the least of several runs, because the runtime may empty pools in between.
func (w workload) spend(t testing.TB, n int) (uint64, starlark.Usage) {
	t.Helper()
	call := w.prepare(t, n)
	least := ^uint64(0)
	var usage starlark.Usage
	for range 4 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		usage = call()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least, usage
}

// prepare evaluates the set-up for a size, and returns the call.
func (w workload) prepare(t testing.TB, n int) func() starlark.Usage {
	t.Helper()
	box := starlark.New(starlark.Options{Limits: starlark.Limits{Steps: 1 << 40, Memory: 1 << 40, Timeout: time.Hour}})
	m := define(t, box, fmt.Sprintf("n = %d\n%s\n\ndef run():\n    return %s\n", n, w.setup, w.expr))
	return func() starlark.Usage {
		_, usage, err := box.Eval(context.Background(), m, nil, "None if [run()] else None")
		if err != nil {
			t.Fatal(err)
		}
		return usage
	}
}

// define defines the vocabulary in box and evaluates a file.
func define(t testing.TB, box *starlark.Sandbox, src string) *starlark.Module {
	t.Helper()
	entries := builtins.Table(box)
	for _, e := range builtins.CaseTable(box, nil) {
		if strings.HasPrefix(e.Name, "assert_") {
			entries = append(entries, e)
		}
	}
	for _, e := range entries {
		if e.Value == nil {
			continue
		}
		if err := box.Define(e.Name, e.Value, e.Cost); err != nil {
			t.Fatal(err)
		}
	}
	file, err := box.Parse("cost.star", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := box.Run(t.Context(), file, starlark.Exec{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSearchesStop checks that the clock and the context stop a search that would take minutes,
// even if it has enough steps.
func TestSearchesStop(t *testing.T) {
	for _, expr := range []string{
		"re.search(p, s)", "re.match(p, s)", "re.fullmatch(p, s)", "re.findall(p, s)", "re.finditer(p, s)", "re.split(p, s)", "re.sub(p, '', s)",
		"re.findall('a|' + p, s)",
	} {
		t.Run(expr, func(t *testing.T) {
			box := starlark.New(starlark.Options{Limits: starlark.Limits{Steps: 1 << 50, Memory: 1 << 40, Timeout: 20 * time.Millisecond}})
			m := define(t, box, "p = '(?:a*){900}x'\ns = 'a' * 20000000\ndef run():\n    return "+expr)
			_, _, err := box.Eval(t.Context(), m, nil, "run()")
			var limit *starlark.LimitError
			if !errors.As(err, &limit) || limit.Limit != "time" {
				t.Errorf("got %v, want the limit of time", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			patient := box.WithLimits(starlark.Limits{Timeout: time.Hour})
			if _, _, err := patient.Eval(ctx, m, nil, "run()"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("with a context that ends: got %v", err)
			}
		})
	}
}

// BenchmarkPrices reports the time of a charged step.
func BenchmarkPrices(b *testing.B) {
	for _, w := range workloads {
		b.Run(strings.ReplaceAll(w.name+" "+w.expr, " ", "_"), func(b *testing.B) {
			call := w.prepare(b, 4096)
			var usage starlark.Usage
			for b.Loop() {
				usage = call()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(usage.Steps), "ns/step")
		})
	}
}
