package starlark

import (
	"go.starlark.net/starlark"
)

// payElements charges for all elements of v at once. If v has no length, payElements counts its
// elements and charges for each.
func (w *worker) payElements(p *price, v starlark.Value) error {
	n := starlark.Len(v)
	if n >= 0 {
		return w.paySequence(p, uint64(n))
	}
	iter := starlark.Iterate(v)
	if iter == nil {
		return nil // the operation itself reports that v cannot be iterated
	}
	defer iter.Done()
	var x starlark.Value
	for iter.Next(&x) {
		if err := w.pay(p, 1); err != nil {
			return err
		}
	}
	return nil
}

// paySequence charges for n elements, and refuses more than maxSequence of them. A range can say that it has
// any number of elements.
func (w *worker) paySequence(p *price, n uint64) error {
	if n > maxSequence {
		return w.stopAtLimit("memory", p.op, multiplyClamped(n, max(p.bytes, 8)), w.budget.maxAlloc, w.budget.alloc)
	}
	return w.pay(p, n)
}

// forEach charges for each element of v and then calls f with it. A value that is not iterable has
// no elements.
func (w *worker) forEach(op string, p *price, v starlark.Value, f func(starlark.Value) error) error {
	iter := starlark.Iterate(v)
	if iter == nil {
		return nil
	}
	defer iter.Done()
	var x starlark.Value
	for iter.Next(&x) {
		if err := w.payAs(op, p, 1); err != nil {
			return err
		}
		if err := f(x); err != nil {
			return err
		}
	}
	return nil
}

// collect returns the elements of v and charges for them.
func (w *worker) collect(p *price, v starlark.Value) ([]starlark.Value, error) {
	n := starlark.Len(v)
	if n < 0 {
		var xs []starlark.Value
		err := w.forEach(p.op, p, v, func(x starlark.Value) error {
			xs = append(xs, x)
			return nil
		})
		return xs, err
	}
	if err := w.paySequence(p, uint64(n)); err != nil {
		return nil, err
	}
	xs := make([]starlark.Value, 0, n)
	iter := starlark.Iterate(v)
	if iter == nil {
		return xs, nil
	}
	defer iter.Done()
	var x starlark.Value
	for iter.Next(&x) {
		xs = append(xs, x)
	}
	return xs, nil
}

// borrowElements returns the elements of v to a caller that only reads them. It charges as collect
// does, but does not copy a list or a tuple.
func (w *worker) borrowElements(p *price, v starlark.Value) (sequence, error) {
	switch v := v.(type) {
	case *starlark.List:
		return v, w.paySequence(p, uint64(v.Len()))
	case starlark.Tuple:
		return v, w.paySequence(p, uint64(len(v)))
	}
	xs, err := w.collect(p, v)
	return starlark.Tuple(xs), err
}
