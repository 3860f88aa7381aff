package starlark

import (
	"fmt"

	"go.starlark.net/starlark"
)

// makeSet implements set(xs).
func makeSet(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var xs starlark.Iterable
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 0, &xs); err != nil {
		return nil, err
	}
	if err := w.payAs(name, newTable, 1); err != nil {
		return nil, err
	}
	s := new(starlark.Set)
	if xs == nil {
		return s, nil
	}
	if n := starlark.Len(xs); n >= 0 {
		if err := w.paySequence(newEntry.withOp(name), uint64(n)); err != nil {
			return nil, err
		}
	}
	err := w.forEach(name, elementVisit, xs, func(x starlark.Value) error {
		if starlark.Len(xs) < 0 {
			if err := w.payAs(name, newEntry, 1); err != nil {
				return err
			}
		}
		return w.addKey(name, s, x)
	})
	if err != nil {
		return nil, prefixError(w, name, err)
	}
	return s, nil
}

// makeDict implements dict(pairs, **kwargs).
func makeDict(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 1 {
		return nil, fmt.Errorf("dict: got %d arguments, want at most 1", len(args))
	}
	if err := w.payAs(name, newTable, 1); err != nil {
		return nil, err
	}
	d := new(starlark.Dict)
	if err := w.updateDict(d, name, args, kwargs); err != nil {
		return nil, prefixError(w, name, err)
	}
	return d, nil
}

// updateDict inserts the entries of a mapping, or the pairs of an iterable, into d, and then the
// keyword arguments.
func (w *worker) updateDict(d *starlark.Dict, op string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	if len(args) == 1 {
		if err := w.updatePairs(d, op, args[0]); err != nil {
			return err
		}
	}
	names := map[starlark.Value]bool{}
	for _, kv := range kwargs {
		if names[kv[0]] {
			return fmt.Errorf("duplicate keyword arg: %v", kv[0])
		}
		names[kv[0]] = true
		if err := w.payAs(op, newEntry, 1); err != nil {
			return err
		}
		if err := w.setKey(op, d, kv[0], kv[1]); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) updatePairs(d *starlark.Dict, op string, v starlark.Value) error {
	entry := newEntry.withOp(op)
	if m, ok := v.(starlark.IterableMapping); ok {
		if err := w.paySequence(entry, uint64(max(starlark.Len(m), 0))); err != nil {
			return err
		}
		for _, item := range m.Items() {
			if err := w.setKey(op, d, item[0], item[1]); err != nil {
				return err
			}
		}
		return nil
	}
	if _, ok := v.(starlark.Iterable); !ok {
		return fmt.Errorf("got %s, want iterable", v.Type())
	}
	if n := starlark.Len(v); n > maxSequence {
		return w.paySequence(entry, uint64(n))
	}
	i := 0
	return w.forEach(op, entry, v, func(x starlark.Value) error {
		k, value, err := pairOf(x, i)
		i++
		if err != nil {
			return err
		}
		return w.setKey(op, d, k, value)
	})
}

// pairOf returns the two elements of x, which is element i of the argument of dict.
func pairOf(x starlark.Value, i int) (k, v starlark.Value, err error) {
	iter := starlark.Iterate(x)
	if iter == nil {
		return nil, nil, fmt.Errorf("dictionary update sequence element #%d is not iterable (%s)", i, x.Type())
	}
	defer iter.Done()
	switch n := starlark.Len(x); {
	case n < 0:
		return nil, nil, fmt.Errorf("dictionary update sequence element #%d has unknown length (%s)", i, x.Type())
	case n != 2:
		return nil, nil, fmt.Errorf("dictionary update sequence element #%d has length %d, want 2", i, n)
	}
	iter.Next(&k)
	iter.Next(&v)
	return k, v, nil
}

// payKeyOfDisplay is the helper key(k), which the rewriter puts around a key k of {k: v}.
func payKeyOfDisplay(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return args[0], workerOf(th).payDisplayKey(args[0])
}

// payDisplayKey charges for a key. If the key is long, it charges for its text as well, because the
// interpreter quotes a duplicate key in its error.
func (w *worker) payDisplayKey(k starlark.Value) error {
	if err := w.payKey("key", k); err != nil {
		return err
	}
	if starlark.Len(k) < maxErrorText/8 {
		if _, ok := k.(starlark.Tuple); !ok {
			return nil
		}
	}
	n, err := w.textSize("key", k)
	if err != nil || n < maxErrorText {
		return err
	}
	return w.payAs("key", textBytes, multiplyClamped(n, 3))
}

// payFirstKey is the helper entry(k, n), which the rewriter puts around the first key k of a dict {k: v} with
// n entries. It charges for the key and for the dict.
func payFirstKey(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	w := workerOf(th)
	n, _ := args[1].(starlark.Int).Uint64()
	if err := w.payTable(n); err != nil {
		return nil, err
	}
	return args[0], w.payDisplayKey(args[0])
}

// payTable charges for a new dict of n entries. The fixed price of a dict includes its first eight entries.
func (w *worker) payTable(n uint64) error {
	if n <= 8 {
		n = 0
	}
	return w.charge(newTable.op, 0, newTable.bytes+multiplyClamped(n, newEntry.bytes))
}

// newEmptyDict is the helper that replaces {}.
func newEmptyDict(th *starlark.Thread, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return new(starlark.Dict), workerOf(th).payTable(0)
}

// dictOfPairs is the helper that replaces {k: v for ...}: it makes a dict of a list of pairs.
func dictOfPairs(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	w := workerOf(th)
	pairs := args[0].(*starlark.List)
	if err := w.payTable(uint64(pairs.Len())); err != nil {
		return nil, err
	}
	d := new(starlark.Dict)
	for x := range pairs.Elements() {
		kv := x.(starlark.Tuple)
		if err := w.setKey("key", d, kv[0], kv[1]); err != nil {
			return nil, err
		}
	}
	return d, w.charge("key", uint64(pairs.Len()), 0)
}
