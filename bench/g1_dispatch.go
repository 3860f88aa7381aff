package main

import (
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// dispatch compares the host's way to a hook with starlark.Call of the same
// compiled function on a frozen argument.
func dispatch(r *rig) error {
	standard, err := r.load("standard", map[string]string{"standard": standardHook})
	if err != nil {
		return err
	}
	noop, err := r.load("noop", map[string]string{"noop": noopHook})
	if err != nil {
		return err
	}
	event := beforeRequest(conversation(5, 1000))
	fn, err := global(standard, "standard")
	if err != nil {
		return err
	}
	ours := fired(standard.Host, event)
	base := raw(fn, column("roles", "user", "assistant", "user", "assistant", "user"), column("names", "tool0", "tool1", "tool2"))
	if err := r.compare(claim{"G1", "standard hook, by starlark.Call of it", atMost(1.10)}, loop(ours), base); err != nil {
		return err
	}
	if fn, err = global(noop, "noop"); err != nil {
		return err
	}
	nothing := fired(noop.Host, event)
	if err := r.compare(claim{"G1", "no-op hook, by starlark.Call of it", limit{}}, loop(nothing), raw(fn)); err != nil {
		return err
	}
	return r.dispatchCosts(nothing)
}

// dispatchCosts adds what one call of a hook that does nothing costs.
func (r *rig) dispatchCosts(nothing func() error) error {
	allocs, _, err := cost(nothing)
	if err != nil {
		return err
	}
	r.figure(claim{"G1", "no-op hook, allocations", atMost(2).of("allocs")}, allocs)
	var times []float64
	n, err := r.batch(loop(nothing))
	for i := 0; i < r.pairs && err == nil; i++ {
		var took time.Duration
		took, err = loop(nothing)(n)
		times = append(times, float64(took)/float64(n))
	}
	if err != nil {
		return err
	}
	r.add(row{claim: claim{"G1", "no-op hook, time", atMost(250).of("ns")}, got: spreadOf(times)})
	return nil
}

// column is a frozen value with one attribute, a list of strings.
func column(name string, words ...string) starlark.Value {
	list := make([]starlark.Value, len(words))
	for i, w := range words {
		list[i] = starlark.String(w)
	}
	s := starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{name: starlark.NewList(list)})
	s.Freeze()
	return s
}
