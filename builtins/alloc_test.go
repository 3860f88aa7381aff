//go:build !race

// The race detector allocates memory of its own, so these tests would measure too much.

package builtins_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// The host makes two allocations for a hook in addition to those of the hook's script: the lane, and the
// call, which is also the context of the call. The trace doubles its memory when it is full. For a hook that
// adds a text, the host also allocates the event's list of decisions, the fragment, and the copy of the
// fragment with the plugin's name. Each list among the hook's arguments costs the func value that asks for
// the view that all hooks share.
func TestHookAllocations(t *testing.T) {
	want := map[string]float64{"noop": 2, "standard": 7, "columns": 7}
	for _, hook := range benchHooks {
		l := script{src: hook.def + "\nregister_hook(\"pre_llm_call\", hook)\n", endless: true}.mustLoad(t)
		e := benchEvent(5, 200)
		turn := l.turn(t, host.Request{})
		fire := testing.AllocsPerRun(50, func() {
			if _, err := turn.Fire(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		})
		l.raw(t, e, hook.args, func(call func() error) {
			raw := testing.AllocsPerRun(50, func() { _ = call() })
			if got := fire - raw; got > want[hook.name] {
				t.Errorf("%s: got %v allocations, %v of them the script's; want at most %v beside these", hook.name, fire, raw, want[hook.name])
			}
		})
	}
}

// TestHookAllocationsConstant checks that a hook that does not read the conversation allocates the same for a
// conversation of any length.
func TestHookAllocationsConstant(t *testing.T) {
	for _, def := range []string{"lambda: None", "lambda messages: None", "lambda messages, tools, model: model", "lambda messages: messages.last()[\"role\"]"} {
		l := script{src: fmt.Sprintf("register_hook(\"pre_llm_call\", %s)\n", def)}.mustLoad(t)
		small := l.measureHook(t, benchEvent(5, 1<<10))
		for _, e := range []*starhost.Event{benchEvent(5, 1<<20), benchEvent(500, 1<<10)} {
			if got := l.measureHook(t, e); got != small {
				t.Errorf("%s: got %+v for %d messages, want %+v", def, got, e.Messages.Len(), small)
			}
		}
	}
}

// An allocation says how often one call allocates memory, and how many bytes.
type allocation struct{ allocs, bytes uint64 }

// measureHook returns the allocation of a call of the script's hook. It ignores the first call,
// which builds the event's views.
func (l *loadedScript) measureHook(t *testing.T, e *starhost.Event) allocation {
	t.Helper()
	const runs = 100
	l.turn(t, host.Request{})
	call := func() {
		if _, err := l.plugin.Hooks[0].Call(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a garbage collection would empty the pools
	call()
	least := allocation{math.MaxUint64, math.MaxUint64} // other goroutines may allocate, too
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			call()
		}
		runtime.ReadMemStats(&after)
		least.allocs = min(least.allocs, (after.Mallocs-before.Mallocs)/runs)
		least.bytes = min(least.bytes, (after.TotalAlloc-before.TotalAlloc)/runs)
	}
	return least
}
