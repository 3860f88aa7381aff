//go:build !race && unix

// The race detector allocates memory of its own, so this test would measure too much.

package builtins_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// The hunt looks for operations that cost more than they charge. It calls each builtin, method, operator and
// effect with values that make some operation expensive: it changes each argument alone, and all together.
// The long form of the test also makes texts of 10 MB and lists of 100,000 elements from these values.

// The bounds of the hunt.
const (
	huntStep   = 500 * time.Nanosecond // CPU of a charged step
	huntListed = 100 * time.Nanosecond
	huntMemory = 2.5                  // allocated bytes for each charged byte
	huntFailed = 4 * time.Millisecond // CPU time of a failed call in addition to its steps, once in a run

	// stepBytes is the memory that a charged step may take in addition to the charged bytes.
	stepBytes = 72
	// failedBytes is the memory that a failed call takes in addition to its charge, once in a run.
	failedBytes = 512 << 10
	// huntRetained is the memory that operations may leave behind in the process, in bytes. It is
	// about twice what the cache of compiled patterns may weigh.
	huntRetained = 40 << 20
)

// The sizes of the hunt's values. The most expensive expressions of the first size also run with the second
// one, because work that grows faster than its charge may be cheap for small values.
const (
	huntSize  = 2048
	huntLarge = 8192
)

// A huntResult is the cost of one expression.
type huntResult struct {
	call    *huntCall
	names   []any
	expr    string
	steps   uint64
	err     error
	spent   time.Duration // CPU time
	perStep time.Duration // CPU time for each step
	perByte float64       // allocated bytes for each byte that is charged or that a step stands for
}

// A hunter runs expressions in one module, as a handler of a plugin with all permissions.
type hunter struct {
	t         testing.TB
	plugin    *loadedScript
	box       *starlark.Sandbox
	module    *starlark.Module
	turn      *host.Turn
	runs      int
	evalBytes float64 // memory that evaluating an expression takes besides the operation
	evalTime  time.Duration
}

// newHunter evaluates the hunt's values for a size.
func newHunter(t testing.TB, n int) *hunter {
	t.Helper()
	echo := starhost.Plugin{
		Name: "other",
		Tools: []starhost.Tool{{Name: "echo", Description: "Echoes.", Call: func(
			context.Context, starhost.ToolCall,
		) (starhost.Result, error) {
			return starhost.Result{ForLLM: "x"}, nil
		}}},
		FragmentLoaders: []starhost.FragmentLoader{{Prefix: "book", Load: func(
			context.Context, string,
		) (starhost.Context, error) {
			return starhost.Context{}, nil
		}}},
	}
	permissions := `["fs.read:**", "fs.write:**", "env:*", "secret:*", "store", "tool:*", "fragment:*", "http:a.test", "exec:echo **"]`
	dir := huntFolder(t)
	s := script{
		src: "plugin(permissions = " + permissions + ")", dir: dir, others: []starhost.Plugin{echo},
		env: map[string]string{"TEAM": strings.Repeat("x", n), "x": "12345678"},
	}
	h := &hunter{t: t, plugin: s.mustLoad(t)}
	h.plugin.world.Own = loader.NewLibrary("own", loader.Path{Shown: dir, Real: dir}, 0)
	wide := h.plugin.box.WithLimits(starlark.Limits{Steps: 1 << 40, Memory: 1 << 40, Timeout: time.Hour})
	file, err := wide.Parse("hunt.star", []byte(huntFile(n)))
	if err != nil {
		t.Fatal(err)
	}
	if h.module, _, err = wide.Run(t.Context(), file, starlark.Exec{}); err != nil {
		t.Fatal(err)
	}
	h.box = h.plugin.box.WithLimits(starlark.Limits{Steps: 4_000_000, Memory: 128 << 20, Timeout: 10 * time.Second})
	h.turn = h.plugin.turn(t, host.Request{})
	nothing := &huntCall{"", "None", 0}
	h.run(nothing, nil, 1) // the first run fills the runtime's pools
	least := h.run(nothing, nil, 1)
	for range 20 {
		r := h.run(nothing, nil, 1)
		least.spent, least.perByte = min(least.spent, r.spent), min(least.perByte, r.perByte)
	}
	h.evalTime, h.evalBytes = least.spent, least.perByte*stepBytes*float64(least.steps)
	return h
}

// huntFolder returns a folder with long names and a deep path.
func huntFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("text of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	deep := strings.Repeat("d/", 60)
	if err := os.MkdirAll(filepath.Join(dir, deep), 0o700); err != nil {
		t.Fatal(err)
	}
	write("a.md")
	write(deep + "a.md")
	for i := range 100 {
		write(fmt.Sprintf("%s%03d", strings.Repeat("x", 200), i))
	}
	return dir
}

// cpuTime returns the time that the process has spent on all cores.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// eval evaluates an expression in a handler.
func (h *hunter) eval(expr string) (text string, usage starlark.Usage, err error) {
	h.plugin.logs = nil
	if h.runs++; h.runs%1000 == 0 { // a turn stores its calls, so its memory grows
		h.turn = h.plugin.turn(h.t, host.Request{})
	}
	h.turn.As(h.t.Context(), "test", func(ctx context.Context) error {
		ctx, names := h.plugin.rec.Inside(ctx)
		text, usage, err = h.box.Eval(ctx, h.module, names, expr)
		return nil
	})
	return text, usage, err
}

// attributes returns the names of the attributes of an expression's value.
func (h *hunter) attributes(expr string) []string {
	text, _, err := h.eval("dir(" + expr + ")")
	if err != nil {
		h.t.Fatal(expr, err)
	}
	var names []string
	if err := json.Unmarshal([]byte(text), &names); err != nil {
		h.t.Fatal(expr, err)
	}
	return names
}

// run evaluates a call k times. It returns nil if the call does not compile.
func (h *hunter) run(c *huntCall, names []any, k int) *huntResult {
	expr := fmt.Sprintf(c.expr, names...)
	loop := fmt.Sprintf("None if [None for _ in range(%d) if [%s] == 0] else None", k, expr)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := cpuTime()
	_, usage, err := h.eval(loop)
	spent := cpuTime() - start
	runtime.ReadMemStats(&after)
	if usage.Steps == 0 {
		return nil
	}
	r := &huntResult{call: c, names: names, expr: expr, steps: usage.Steps, err: err, spent: spent}
	slack := h.evalBytes + 8<<10
	if err != nil {
		slack += failedBytes
	} else {
		r.perStep = max(0, spent-h.evalTime) / time.Duration(usage.Steps)
	}
	r.perByte = max(0, float64(after.TotalAlloc-before.TotalAlloc)-slack) / float64(usage.Bytes+stepBytes*usage.Steps)
	return r
}

// measure runs a call as often as a stable result needs. The short form does not measure time.
func (h *hunter) measure(c *huntCall, names []any, long bool) *huntResult {
	r := h.run(c, names, 1)
	if r == nil {
		return nil
	}
	if long && r.err == nil && r.spent < 2*time.Millisecond {
		r = cmp.Or(h.run(c, names, 32), r)
	}
	tries := 4 // the first runs fill the runtime's pools
	if r.perStep > huntStep {
		tries = 20 // other programs may take the caches of the cores, so a stable result needs more runs
	}
	for i := 0; i < tries && (long && r.isListed() || r.perByte > huntMemory); i++ {
		k := 32
		if r.err != nil || r.spent > 20*time.Millisecond {
			k = 1
		}
		if again := h.run(c, names, k); again != nil {
			r.spent = min(r.spent, again.spent)
			r.perStep, r.perByte = min(r.perStep, again.perStep), min(r.perByte, again.perByte)
		}
	}
	return r
}

// isListed reports whether the CPU of r is worth a second look.
func (r *huntResult) isListed() bool {
	return r.perStep > huntListed || r.err != nil && r.spent > huntFailed
}

// A huntWorst has the worst results that the expressions of one operation had.
type huntWorst struct {
	op       string
	cpu, mem *huntResult
	valued   bool // true if some expression had a value and not an error
}

// add records a result, and reports one over a bound.
func (w *huntWorst) add(t testing.TB, r *huntResult, bound time.Duration, long bool) {
	w.valued = w.valued || r.err == nil
	if w.cpu == nil || r.perStep > w.cpu.perStep {
		w.cpu = r
	}
	if w.mem == nil || r.perByte > w.mem.perByte {
		w.mem = r
	}
	switch {
	case r.err != nil && strings.Contains(r.err.Error(), "a bug of the host"):
		t.Errorf("%s: %v", r.expr, r.err)
	case r.perByte > huntMemory:
		t.Errorf("%s allocates %.1f bytes for each charged one (%d steps)", r.expr, r.perByte, r.steps)
	case long && r.perStep > bound:
		t.Errorf("%s takes %v of CPU a step (%d steps)", r.expr, r.perStep, r.steps)
	case long && r.err != nil && r.spent > huntFailed+bound*time.Duration(r.steps):
		t.Errorf("%s takes %v of CPU for %d steps and its error: %.100s", r.expr, r.spent, r.steps, r.err.Error())
	}
}

// TestHunt checks that no operation allocates more than it charges. With STARHOST_LONG=1 it also
// measures the CPU, tries more combinations of arguments, and lists the dearest operations.
func TestHunt(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	long := os.Getenv("STARHOST_LONG") != ""
	small, large := newHunter(t, huntSize), newHunter(t, huntLarge)
	plain := small.plainStep()
	bound := max(huntStep, 20*plain)
	runtime.GC()
	before := heapAlloc()
	var all []*huntWorst
	calls := slices.Concat(huntOperators(), small.methods(), huntBuiltins(), huntNamed())
	for op, forms := range groupCalls(calls) {
		t.Run(op, func(t *testing.T) {
			w := &huntWorst{op: op}
			all = append(all, w)
			random := rand.New(rand.NewPCG(1, hashOf(op)))
			for _, c := range forms {
				small.tryForm(t, w, c, random, bound, long)
			}
			if why := notHunted[op]; !w.valued && why == "" {
				t.Errorf("no expression of %s has a value: add a value or a call that it takes", op)
			}
			for _, r := range []*huntResult{w.cpu, w.mem} {
				if r == nil {
					continue
				}
				if r = large.measure(r.call, r.names, long); r != nil {
					w.add(t, r, bound, long)
				}
			}
			if n := retainedBytes(before); n > huntRetained {
				t.Errorf("after %s the process retains %d bytes more than before the hunt", op, n)
			}
		})
	}
	t.Logf("%d and %d expressions; a plain step takes %v, the bound is %v", small.runs, large.runs, plain, bound)
	if long {
		reportWorst(t, all)
	}
}

// retainedBytes returns the growth of the heap. It collects garbage only if that matters.
func retainedBytes(before int64) int64 {
	if n := heapAlloc() - before; n <= huntRetained {
		return n
	}
	runtime.GC()
	return heapAlloc() - before
}

// heapAlloc returns the bytes of the heap, with garbage.
func heapAlloc() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// groupCalls yields the operations in order, with their forms.
func groupCalls(calls []huntCall) func(yield func(op string, forms []*huntCall) bool) {
	var order []string
	forms := map[string][]*huntCall{}
	for i, c := range calls {
		if forms[c.op] == nil {
			order = append(order, c.op)
		}
		forms[c.op] = append(forms[c.op], &calls[i])
	}
	return func(yield func(string, []*huntCall) bool) {
		for _, op := range order {
			if !yield(op, forms[op]) {
				return
			}
		}
	}
}

func hashOf(op string) uint64 {
	f := fnv.New64a()
	f.Write([]byte(op))
	return f.Sum64()
}

// tryForm searches arguments that give the call a value. Then it changes each argument alone, and
// all together.
func (h *hunter) tryForm(t testing.TB, w *huntWorst, c *huntCall, random *rand.Rand, bound time.Duration, long bool) {
	try := func(names []any) bool {
		r := h.measure(c, names, long)
		if r != nil {
			w.add(t, r, bound, long)
		}
		return r != nil && r.err == nil
	}
	if c.arity == 0 {
		try(nil)
		return
	}
	if c.arity == 1 {
		for _, v := range huntValues {
			if names := []any{v.name}; try(names) && long {
				for _, names := range h.scaled(names) {
					try(names)
				}
			}
		}
		return
	}
	tries, most, patience := 1, 1, 1500
	if long {
		tries, most = 250, 3
	} else if notHunted[c.op] != "" {
		patience = 30
	}
	var bases [][]any
	for i := 0; i < tries || len(bases) == 0 && !w.valued && i < patience; i++ {
		names := make([]any, c.arity)
		for a := range names {
			names[a] = huntValues[random.IntN(len(huntValues))].name
		}
		if try(names) {
			bases = append(bases, names)
		}
	}
	if long {
		for _, base := range bases[:min(most, len(bases))] {
			for _, names := range h.scaled(base) {
				try(names)
			}
		}
	}
	for _, base := range bases[:min(most, len(bases))] {
		for a := range c.arity {
			for _, v := range huntValues {
				if !long && random.IntN(2*c.arity-2) != 0 {
					continue
				}
				names := slices.Clone(base)
				names[a] = v.name
				try(names)
			}
		}
	}
}

// Sizes of scaled arguments.
const (
	huntText = 10_000_000 // bytes
	huntList = 100_000    // elements
)

// scaled returns lists of arguments in which texts and lists are long: one list for each argument, and one in
// which all are long. They repeat the value of the base, so that most calls still take them.
func (h *hunter) scaled(base []any) [][]any {
	all, changed := slices.Clone(base), 0
	var list [][]any
	for i, name := range base {
		size := huntList
		kind, _, err := h.eval(fmt.Sprintf("type(%s) if len(%s) > 0 else None", name, name))
		switch {
		case err != nil:
			continue
		case kind == `"string"` || kind == `"bytes"`:
			size = huntText
		case kind != `"list"` && kind != `"tuple"`:
			continue
		}
		alone := slices.Clone(base)
		alone[i] = fmt.Sprintf("(%s * (%d // len(%s)))", name, size, name)
		all[i], changed = alone[i], changed+1
		list = append(list, alone)
	}
	if changed > 1 {
		list = append(list, all)
	}
	return list
}

// reportWorst logs the table of operations, the most expensive one first.
func reportWorst(t *testing.T, all []*huntWorst) {
	all = slices.DeleteFunc(all, func(w *huntWorst) bool { return w.cpu == nil })
	slices.SortStableFunc(all, func(a, b *huntWorst) int { return cmp.Compare(b.cpu.perStep, a.cpu.perStep) })
	var b strings.Builder
	for _, w := range all {
		fmt.Fprintf(&b, "| `%s` | %d ns | `%s` | %.2f | `%s` |\n", w.op, w.cpu.perStep.Nanoseconds(), w.cpu.expr, w.mem.perByte, w.mem.expr)
	}
	t.Logf("operation, worst CPU of a step, worst memory of a charged byte:\n%s", b.String())
}

// plainStep returns the time of a step of a loop that calls nothing.
func (h *hunter) plainStep() time.Duration {
	least := time.Hour
	for range 5 {
		start := cpuTime()
		_, usage, err := h.eval("None if [None for i in range(100000) if i == -1] else None")
		if err != nil {
			h.t.Fatal(err)
		}
		least = min(least, (cpuTime()-start)/time.Duration(usage.Steps))
	}
	return least
}
