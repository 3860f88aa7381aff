//go:build !race

// The race detector allocates.

package builtins_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/starlark"
)

// The hunt looks for operations that cost more than they charge. It calls every builtin, method
// and operator with values that are dear for some operation, each argument alone and all together.

// A huntValue is a value of the hunt. Its size grows with n.
type huntValue struct{ name, expr string }

// huntValues are globals of the hunt's file. The names of values without a size begin with "c".
var huntValues = []huntValue{
	{"c_none", "None"}, {"c_text", "'a'"}, {"c_empty", "''"}, {"c_int", "7"}, {"c_zero", "0"}, {"c_minus", "-1"},
	{"c_word", "1 << 40"}, {"c_float", "1.5"}, {"c_huge", "1.7e308"}, {"c_tiny", "5e-324"}, {"c_inf", "float('inf')"},
	{"c_list", "['a']"}, {"c_dict", "{'a': 1}"}, {"c_set", "set([1])"}, {"c_bytes", "b'a'"}, {"c_func", "len"},
	{"c_struct", "struct(a = 1)"}, {"c_time", "time.time(2026)"}, {"c_duration", "time.hour"}, {"c_range", "range(10)"},
	{"c_format", "'%f'"}, {"c_decimal", "'%d'"}, {"c_shown", "'%s'"}, {"c_braces", "'{}'"}, {"c_pattern", "'a|b'"},
	{"c_match", "re.search('(a)(?P<b>b)?', 'xa')"}, {"c_zone", "'Europe/Berlin'"}, {"c_layout", "'2006-01-02'"},
	{"text", "'x' * n"}, {"words", "'a b ' * (n // 4)"}, {"spaces", "' ' * n"}, {"escapes", "'\\x1b' * n"},
	{"accents", "'é' * (n // 2)"}, {"lines", "'a\\n' * (n // 2)"}, {"digits", "'1' * n"}, {"fraction", "'0.' + '1' * n"},
	{"slashes", "'A/' * (n // 2)"}, {"formats", "'%s' * (n // 2)"}, {"fields", "'{}' * (n // 2)"}, {"keys", "'a: 1\\n' * (n // 5)"},
	{"brackets", "'[' * n"}, {"json", "'[' + '1,' * (n // 2) + '1]'"}, {"floats", "'[' + '1e308,' * (n // 6) + '1]'"},
	{"big", "big_int(min(4 * n, 65000))"}, {"huge_float_int", "big_int(1000)"},
	{"minus_big", "-big_int(min(4 * n, 65000)) + 1"}, {"bytes_", "bytes('x' * n)"},
	{"ints", "list(range(n))"}, {"texts", "['x'] * n"}, {"long_texts", "['x' * n] * 8"}, {"tinies", "[5e-324] * n"},
	{"mixed", "[5e-324, 1] * (n // 2)"}, {"bigs", "[big_int(min(4 * n, 65000))] * 64"}, {"pairs", "[('a', 1)] * n"},
	{"rows", "[['a', 1]] * (n // 2)"}, {"dicts", "[{'a': 1}] * (n // 2)"}, {"tuple_", "('x',) * n"}, {"shared", "share(n)"},
	{"counts", "{k: k for k in range(n // 4)}"}, {"names", "{'k%d' % k: k for k in range(n // 4)}"},
	{"float_keys", "{k + 0.5: k for k in range(n // 16)}"}, {"numbers", "set(range(n // 4))"},
	{"range_", "range(n)"}, {"fields_", "struct(**{'k%d' % k: k for k in range(n // 16)})"},
	{"long_fields", "struct(**{'k' * 64 + str(k): k for k in range(n // 64)})"},
	{"classes", "'\\\\pL{%d}' % min(n // 8, 990)"}, {"optional", "'(?:a?){%d}x' % min(n // 8, 900)"},
	{"near", "'x' * (n // 8) + 'b'"}, {"groups", "'(x?)' * min(n // 64, 99) + 'z'"},
}

// huntFile returns the source of the file whose globals are the hunt's values.
func huntFile(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `n = %d

def big_int(bits):
    x = 1
    for _ in range(bits // 500):
        x = x << 500
    return x + 1

def share(n):
    x = ["x"]
    for _ in range(n // 1024):
        x = [x, x]
    return x

`, n)
	for _, v := range huntValues {
		fmt.Fprintf(&b, "%s = %s\n", v.name, v.expr)
	}
	return b.String()
}

// A huntCall is an operation on names of huntValues. Its expression has %[1]s for the first name.
type huntCall struct {
	op    string // as the table shows it
	expr  string
	arity int
}

// huntOperators are the operators and the forms of syntax that can do more than constant work.
func huntOperators() []huntCall {
	var calls []huntCall
	ops := []string{
		"+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or",
	}
	for _, op := range ops {
		calls = append(calls, huntCall{"x " + op + " y", "(%[1]s " + op + " %[2]s)", 2})
	}
	return append(calls,
		huntCall{"-x", "-%[1]s", 1}, huntCall{"~x", "~%[1]s", 1}, huntCall{"+x", "+%[1]s", 1}, huntCall{"not x", "not %[1]s", 1},
		huntCall{"x[y]", "%[1]s[%[2]s]", 2}, huntCall{"x[1:]", "%[1]s[1:]", 1}, huntCall{"x[::-1]", "%[1]s[::-1]", 1},
		huntCall{"{x: 1}", "{%[1]s: 1}", 1}, huntCall{"[*x]", "[y for y in %[1]s]", 1}, huntCall{"f(*x)", "max(0, *%[1]s)", 1},
		huntCall{"f(**x)", "dict(**%[1]s)", 1}, huntCall{"{k: v for x}", "{y: 1 for y in %[1]s}", 1},
	)
}

// huntMethods are the methods of core types. Receivers that a method changes are copied.
func huntMethods() []huntCall {
	var calls []huntCall
	for _, m := range starlark.MethodNames() {
		kind, name, _ := strings.Cut(m, ".")
		recv := map[string]string{"list": "list(%[1]s)", "dict": "dict(%[1]s)", "set": "set(%[1]s)"}[kind]
		if recv == "" {
			recv = "%[1]s"
		}
		for arity := 1; arity <= 3; arity++ {
			args := []string{"", "%[2]s", "%[2]s, %[3]s"}[arity-1]
			calls = append(calls, huntCall{m, recv + "." + name + "(" + args + ")", arity})
		}
	}
	for _, m := range []string{"group", "start", "groups", "groupdict", "format", "in_location"} {
		calls = append(calls, huntCall{"match, time." + m, "%[1]s." + m + "(%[2]s)", 2})
	}
	return calls
}

// huntBuiltins are the functions of the language and of the table of builtins.
func huntBuiltins() []huntCall {
	var calls []huntCall
	add := func(name string, most int) {
		for arity := 1; arity <= most; arity++ {
			args := []string{"%[1]s", "%[1]s, %[2]s", "%[1]s, %[2]s, %[3]s"}[arity-1]
			calls = append(calls, huntCall{name, name + "(" + args + ")", arity})
		}
	}
	for _, name := range starlark.FunctionNames() {
		if name != "print" && name != "fail" {
			add(name, 3)
		}
	}
	for _, e := range builtins.Table(starlark.New(starlark.Options{})) {
		// plugin and register_… only work at the top level, once.
		if e.Signature != "" && !strings.HasPrefix(e.Name, "register_") && e.Name != "plugin" && e.Name != "fail" {
			add(e.Name, min(3, 1+strings.Count(e.Signature, ",")))
		}
	}
	return calls
}

// A huntResult is the worst case of one operation.
type huntResult struct {
	op, expr string
	steps    uint64
	perStep  time.Duration // CPU for each step
	real     float64       // allocated bytes
	spent    time.Duration
	value    bool    // the expression has a value
	perByte  float64 // allocated bytes for each byte that is charged or that a step stands for
}

// stepBytes is the memory that a charged step may take in addition to the charged bytes.
const stepBytes = 72

// hunt runs an expression k times, and returns the cost or nil if it has no value.
func (h *hunter) hunt(c huntCall, names []any, k int) *huntResult {
	expr := fmt.Sprintf(c.expr, names...)
	loop := fmt.Sprintf("None if [None for _ in range(%d) if [%s] == 0] else None", k, expr)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	_, usage, err := h.box.Eval(h.t.Context(), h.module, nil, loop)
	spent := time.Since(start)
	runtime.ReadMemStats(&after)
	h.runs++
	if usage.Steps == 0 {
		return nil // it does not compile
	}
	r := &huntResult{op: c.op, expr: expr, steps: usage.Steps}
	real := float64(after.TotalAlloc - before.TotalAlloc)
	r.spent, r.real, r.value = spent, real, err == nil
	slack := h.evalBytes + 8<<10
	if err != nil {
		slack += 512 << 10 // the text of the error, once in a run
	}
	r.perByte = max(0, real-slack) / float64(usage.Bytes+stepBytes*usage.Steps)
	if err == nil {
		h.values++
		r.perStep = max(0, spent-40*time.Microsecond) / time.Duration(usage.Steps)
	}
	return r
}

// A hunter runs expressions in one module.
type hunter struct {
	t            testing.TB
	box          *starlark.Sandbox
	module       *starlark.Module
	runs, values int
	evalBytes    float64                // memory that an expression takes without an operation
	worst        map[string]*huntResult // by operation: the worst CPU
	heaviest     map[string]*huntResult // by operation: the worst memory
}

func newHunter(t testing.TB, n int) *hunter {
	box := starlark.New(starlark.Options{Limits: starlark.Limits{Steps: 4_000_000, Memory: 128 << 20, Timeout: 5 * time.Second}})
	h := &hunter{t: t, box: box, worst: map[string]*huntResult{}, heaviest: map[string]*huntResult{}}
	wide := box.WithLimits(starlark.Limits{Steps: 1 << 40, Memory: 1 << 40, Timeout: time.Hour})
	h.module = define(t, wide, huntFile(n))
	h.hunt(huntCall{"", "None", 0}, nil, 1) // fills pools
	nothing := h.hunt(huntCall{"", "None", 0}, nil, 1)
	h.evalBytes = nothing.real
	return h
}

// add records a result if it is the worst of its operation.
func (h *hunter) add(r *huntResult) {
	if w := h.worst[r.op]; w == nil || r.perStep > w.perStep {
		h.worst[r.op] = r
	}
	if w := h.heaviest[r.op]; w == nil || r.perByte > w.perByte {
		h.heaviest[r.op] = r
	}
}

// The bounds of the hunt.
const (
	huntStep   = 500 * time.Nanosecond
	huntListed = 100 * time.Nanosecond
	huntMemory = 2.5
)

// TestHunt checks that no operation allocates more than it charges. With STARHOST_LONG=1 it also
// measures the CPU, tries all combinations of arguments, and lists the dearest operations.
func TestHunt(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	long := os.Getenv("STARHOST_LONG") != ""
	repeat := 8
	if long {
		repeat = 32
	}
	h := newHunter(t, 4096)
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range slices.Concat(huntOperators(), huntMethods(), huntBuiltins()) {
		for _, names := range h.choose(c, long, random) {
			r := h.hunt(c, names, 1)
			if r == nil {
				continue
			}
			if r.value && r.spent < 2*time.Millisecond { // too short to measure
				r = h.hunt(c, names, repeat)
			}
			for range 4 { // the runtime fills pools, and other programs take the processor
				if (!long || r.perStep <= huntListed) && r.perByte <= huntMemory {
					break
				}
				if again := h.hunt(c, names, 32); again != nil {
					r.perStep, r.perByte = min(r.perStep, again.perStep), min(r.perByte, again.perByte)
				}
			}
			if r.perByte > huntMemory {
				t.Errorf("%s allocates %.1f bytes for each charged one (%d steps)", r.expr, r.perByte, r.steps)
			}
			h.add(r)
		}
	}
	t.Logf("%d expressions, %d with a value", h.runs, h.values)
	if long {
		h.report()
	}
}

// choose returns the names of arguments to try: all values of each argument, and all pairs in the
// long form, a sample of them in the short form.
func (h *hunter) choose(c huntCall, long bool, random *rand.Rand) [][]any {
	var all [][]any
	most := [...]int{1: 100, 2: 60, 3: 30}[c.arity]
	if long {
		most = 3600
	}
	total := 1
	for range c.arity {
		total *= len(huntValues)
	}
	for i := range min(total, most) {
		if total > most {
			i = random.IntN(total)
		}
		names := make([]any, c.arity)
		for a := range names {
			names[a] = huntValues[i%len(huntValues)].name
			i /= len(huntValues)
		}
		all = append(all, names)
	}
	return all
}

// report lists the operations over 100 ns, and fails for those over the bound.
func (h *hunter) report() {
	plain := h.plainStep()
	bound := max(huntStep, 20*plain)
	h.t.Logf("a plain step takes %v, the bound is %v", plain, bound)
	var ops []string
	for op := range h.worst {
		ops = append(ops, op)
	}
	slices.SortFunc(ops, func(a, b string) int { return int(h.worst[b].perStep - h.worst[a].perStep) })
	for _, op := range ops {
		r, m := h.worst[op], h.heaviest[op]
		if r.perStep > huntListed {
			h.t.Logf("%-28s %8v a step  %-40s %5.2f bytes a byte  %s", op, r.perStep, r.expr, m.perByte, m.expr)
		}
		if r.perStep > bound {
			h.t.Errorf("%s takes %v a step", r.expr, r.perStep)
		}
	}
}

// plainStep returns the time of a step of a loop that calls nothing.
func (h *hunter) plainStep() time.Duration {
	least := time.Hour
	for range 5 {
		start := time.Now()
		_, usage, err := h.box.Eval(h.t.Context(), h.module, nil, "None if [None for i in range(100000) if i == -1] else None")
		if err != nil {
			h.t.Fatal(err)
		}
		least = min(least, time.Since(start)/time.Duration(usage.Steps))
	}
	return least
}
