package starlark

import (
	"fmt"
	"sort"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// anyOrAll implements any and all. It reads elements until the result is certain.
func anyOrAll(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var xs starlark.Iterable
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 1, &xs); err != nil {
		return nil, err
	}
	stop := starlark.Bool(name == "any")
	err := w.forEach(name, elementVisit, xs, func(x starlark.Value) error {
		if x.Truth() == stop {
			return errStopEarly
		}
		return nil
	})
	switch err {
	case errStopEarly:
		return stop, nil
	case nil:
		return !stop, nil
	}
	return nil, err
}

// minOrMax implements min and max.
func minOrMax(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("%s requires at least one positional argument", name)
	}
	var key starlark.Callable
	if err := starlark.UnpackArgs(name, nil, kwargs, "key?", &key); err != nil {
		return nil, err
	}
	xs := starlark.Value(args)
	if len(args) == 1 {
		xs = args[0]
	}
	if _, ok := xs.(starlark.Iterable); !ok {
		return nil, fmt.Errorf("%s: %s value is not iterable", name, xs.Type())
	}
	op := syntax.LT
	if name == "max" {
		op = syntax.GT
	}
	var best, bestKey starlark.Value
	err := w.forEach(name, elementVisit, xs, func(x starlark.Value) error {
		k, err := w.applyKey(key, x)
		if err != nil {
			return err
		}
		if best == nil {
			best, bestKey = x, k
			return nil
		}
		better, err := w.compare(op, k, bestKey)
		if err != nil {
			return prefixError(w, name, err)
		}
		if better {
			best, bestKey = x, k
		}
		return nil
	})
	if err == nil && best == nil {
		err = fmt.Errorf("%s: argument is an empty sequence", name)
	}
	return best, err
}

// applyKey calls an optional key function.
func (w *worker) applyKey(key starlark.Callable, x starlark.Value) (starlark.Value, error) {
	if key == nil {
		return x, nil
	}
	return starlark.Call(&w.thread, key, starlark.Tuple{x}, nil)
}

// prefixError puts the name of a function before an error, unless the run is stopped.
func prefixError(w *worker, name string, err error) error {
	if w.stopCause != nil {
		return err
	}
	return fmt.Errorf("%s: %v", name, err)
}

// sortValues implements sorted with a stable sort, and charges for each comparison.
func sortValues(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var xs starlark.Iterable
	var key starlark.Callable
	var reverse bool
	if err := starlark.UnpackArgs(name, args, kwargs, "iterable", &xs, "key?", &key, "reverse?", &reverse); err != nil {
		return nil, err
	}
	values, err := w.collect(sortedItem, xs)
	if err != nil {
		return nil, err
	}
	s := &keyedSort{w: w, values: values, keys: values}
	if key != nil {
		if s.keys, err = w.applyKeys(key, values); err != nil {
			return nil, err
		}
	}
	if err := w.pay(sortStep, multiplyClamped(uint64(len(values)), logarithm(len(values)))); err != nil {
		return nil, err
	}
	if reverse {
		sort.Stable(sort.Reverse(s))
	} else {
		sort.Stable(s)
	}
	if s.err != nil {
		return nil, s.err
	}
	return starlark.NewList(values), nil
}

func (w *worker) applyKeys(key starlark.Callable, values []starlark.Value) ([]starlark.Value, error) {
	keys := make([]starlark.Value, len(values))
	for i, x := range values {
		k, err := w.applyKey(key, x)
		if err != nil {
			return nil, err
		}
		keys[i] = k
	}
	return keys, nil
}

// logarithm returns the number of bits of n.
func logarithm(n int) uint64 {
	lg := uint64(0)
	for ; n > 0; n >>= 1 {
		lg++
	}
	return lg
}

// A keyedSort sorts values by keys, which may be the values themselves. Like the interpreter's, it
// continues after an error and reports the last one. When the run is stopped, it treats all values
// as sorted, so that the sort ends.
type keyedSort struct {
	w            *worker
	values, keys []starlark.Value
	err          error
}

func (s *keyedSort) Len() int { return len(s.values) }

func (s *keyedSort) Less(i, j int) bool {
	if s.w.stopCause != nil {
		return false
	}
	less, err := s.w.compare(syntax.LT, s.keys[i], s.keys[j])
	if err != nil {
		s.err = err
	}
	return less
}

func (s *keyedSort) Swap(i, j int) {
	s.values[i], s.values[j] = s.values[j], s.values[i]
	if &s.keys[0] != &s.values[0] {
		s.keys[i], s.keys[j] = s.keys[j], s.keys[i]
	}
}
