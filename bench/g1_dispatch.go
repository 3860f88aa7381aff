package main

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// dispatch compares the host's way to a hook with starlark.Call of the same compiled
// function on a frozen argument: of one hook, which pays for the whole event, and of
// ten that share it.
func dispatch(r *rig) error {
	for _, times := range []int{1, 10} {
		if err := r.dispatchOf(times); err != nil {
			return err
		}
	}
	return nil
}

// dispatchOf adds the rows of an event that has that many hooks.
func (r *rig) dispatchOf(times int) error {
	e := beforeRequest(conversation(5, 1000))
	of := fmt.Sprintf(", each of %d of an event", times)
	standard, err := r.hooks("standard", standardHook, times)
	if err != nil {
		return err
	}
	fn, err := global(standard, "standard")
	if err != nil {
		return err
	}
	base := raw(fn, column("roles", "user", "assistant", "user", "assistant", "user"), column("names", "tool0", "tool1", "tool2"))
	if err := r.compare(claim{"G1", "standard hook" + of + ", by starlark.Call", atMost(1.10)}, loop(fired(standard.Host, e)).per(times), base); err != nil {
		return err
	}
	noop, err := r.hooks("noop", noopHook, times)
	if err != nil {
		return err
	}
	nothing := fired(noop.Host, e)
	allocs, _, err := cost(nothing)
	if err != nil {
		return err
	}
	if fn, err = global(noop, "noop"); err != nil {
		return err
	}
	const calls = 1000
	own, _, err := cost(func() error {
		_, err := raw(fn)(calls)
		return err
	})
	if err != nil {
		return err
	}
	r.figure(claim{"G1", "no-op hook" + of + ", allocations beside those of starlark.Call", atMost(2).of("allocs")}, allocs/float64(times)-own/calls)
	return r.time(claim{"G1", "no-op hook" + of + ", time", atMost(250).of("ns")}, loop(nothing).per(times))
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
