package starlark

import (
	"errors"
	"strings"

	"go.starlark.net/starlark"
)

// ---- methods of strings ----

// matchAffix implements s.startswith and s.endswith.
func matchAffix(c *call) (starlark.Value, error) {
	affix, ok := c.arg(0).(starlark.String)
	if !ok || len(c.args) != 1 || len(c.kwargs) > 0 || len(affix) > smallText {
		if err := c.method.payFor(c); err != nil {
			return nil, err
		}
		return c.callStock()
	}
	if c.name == "startswith" {
		return starlark.Bool(strings.HasPrefix(c.text(), string(affix))), nil
	}
	return starlark.Bool(strings.HasSuffix(c.text(), string(affix))), nil
}

// joinTexts implements s.join. It adds up the lengths before it joins. It reads a list in place, so
// that joining a column of a conversation copies no list.
func joinTexts(c *call) (starlark.Value, error) {
	if len(c.args) != 1 || len(c.kwargs) > 0 {
		return c.callStock()
	}
	if _, ok := c.args[0].(starlark.Iterable); !ok {
		return c.callStock()
	}
	xs, err := c.w.borrowElements(joinString, c.args[0])
	if err != nil {
		return nil, err
	}
	sep, size := c.text(), 0
	for i := range xs.Len() {
		s, ok := xs.Index(i).(starlark.String)
		if !ok {
			return nil, c.errorf("in list, want string, got %s", xs.Index(i).Type())
		}
		size += len(s) + len(sep)
	}
	if err := c.w.payAs("join", textConcat, uint64(size)); err != nil {
		return nil, err
	}
	if xs.Len() == 1 {
		return xs.Index(0), nil
	}
	var b strings.Builder
	b.Grow(size)
	for i := range xs.Len() {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(string(xs.Index(i).(starlark.String)))
	}
	return starlark.String(b.String()), nil
}

// ---- methods of lists ----

// findInList implements xs.index, and charges for each comparison.
func findInList(c *call) (starlark.Value, error) {
	xs := c.recv.(*starlark.List)
	if len(c.args) < 1 || len(c.args) > 3 || len(c.kwargs) > 0 {
		return c.callStock()
	}
	start, end, err := clampBounds(c.arg(1), c.arg(2), xs.Len())
	if err != nil {
		return nil, c.errorf("%v", err)
	}
	i, err := c.w.indexOf("index", xs, c.args[0], start, end)
	if err != nil {
		return nil, c.nameError(err)
	}
	if i < 0 {
		return nil, c.errorf("value not in list")
	}
	return starlark.MakeInt(i), nil
}

// clampBounds clamps optional bounds to [0:n], as the methods of lists do.
func clampBounds(lo, hi starlark.Value, n int) (start, end int, err error) {
	for _, v := range []*starlark.Value{&lo, &hi} {
		if *v == nil {
			*v = starlark.None
		}
	}
	return sliceBounds(lo, hi, n, 1)
}

// nameError adds the method's name to an error, unless the run is stopped.
func (c *call) nameError(err error) error {
	if c.w.stopCause != nil {
		return err
	}
	return c.errorf("%v", err)
}

// removeFromList implements xs.remove, and charges for each comparison.
func removeFromList(c *call) (starlark.Value, error) {
	xs := c.recv.(*starlark.List)
	if len(c.args) != 1 || len(c.kwargs) > 0 {
		return c.callStock()
	}
	if _, err := stockMethod(xs, "extend").CallInternal(&c.w.thread, starlark.Tuple{starlark.Tuple{}}, nil); err != nil {
		return nil, errors.New(strings.Replace(err.Error(), "extend: cannot extend", "remove: cannot remove from", 1))
	}
	i, err := c.w.indexOf("remove", xs, c.args[0], 0, xs.Len())
	if err != nil {
		return nil, c.nameError(err)
	}
	if i < 0 {
		return nil, c.errorf("element not found")
	}
	if err := c.w.pay(removedShift, uint64(xs.Len()-i)); err != nil {
		return nil, err
	}
	_, err = stockMethod(xs, "pop").CallInternal(&c.w.thread, starlark.Tuple{starlark.MakeInt(i)}, nil)
	return starlark.None, err
}

// ---- methods of dicts and sets ----

// lookUpKey implements a method that looks up its first argument and may remove it.
func lookUpKey(c *call) (starlark.Value, error) {
	if k := c.arg(0); k != nil {
		if err := c.w.payKey(c.name, k); err != nil {
			return nil, err
		}
	}
	c.w.recordPeak(c.recv.(table))
	return c.callStock()
}

// insertKey implements a method that inserts its first argument.
func insertKey(c *call) (starlark.Value, error) {
	k := c.arg(0)
	if k == nil {
		return c.callStock()
	}
	weight, err := c.w.payWeighedKey(c.name, k)
	if err != nil {
		return nil, err
	}
	t := c.recv.(table)
	n := t.Len()
	v, err := c.callStock()
	if err != nil {
		return nil, err
	}
	return v, c.w.watchGrowth(c.name, t, k, n, weight)
}

// clearTable implements d.clear and s.clear, which visit the whole table.
func clearTable(c *call) (starlark.Value, error) {
	t := c.recv.(table)
	c.w.recordPeak(t)
	if err := c.w.pay(clearedEntry, uint64(max(c.w.peaks[t], t.Len()))); err != nil {
		return nil, err
	}
	return c.callStock()
}

// getFromDict implements d.get.
func getFromDict(c *call) (starlark.Value, error) {
	if len(c.args) < 1 || len(c.args) > 2 || len(c.kwargs) > 0 {
		return c.callStock()
	}
	if err := c.w.payKey("get", c.args[0]); err != nil {
		return nil, err
	}
	v, ok, err := c.recv.(*starlark.Dict).Get(c.args[0])
	switch {
	case err != nil:
		return nil, c.errorf("%v", err)
	case ok:
		return v, nil
	case len(c.args) == 2:
		return c.args[1], nil
	}
	return starlark.None, nil
}

// popFirstKey implements d.popitem and s.pop, which look up the first entry by its hash.
func popFirstKey(c *call) (starlark.Value, error) {
	c.w.recordPeak(c.recv.(table))
	iter := starlark.Iterate(c.recv)
	var k starlark.Value
	ok := iter.Next(&k)
	iter.Done()
	if ok {
		if err := c.w.payKey(c.name, k); err != nil {
			return nil, err
		}
	}
	return c.callStock()
}

// updateDictMethod implements d.update.
func updateDictMethod(c *call) (starlark.Value, error) {
	if len(c.args) > 1 {
		return c.callStock()
	}
	if err := c.w.updateDict(c.recv.(*starlark.Dict), c.name, c.args, c.kwargs); err != nil {
		return nil, c.nameError(err)
	}
	return starlark.None, nil
}

// combineSets implements the methods of sets that take other iterables. It charges for hashing the
// elements of the arguments. If the method copies the set, it also charges for hashing those of the
// set again.
func combineSets(c *call) (starlark.Value, error) {
	s := c.recv.(*starlark.Set)
	if len(c.args) == 0 && c.name != "union" && c.name != "update" { // the stock methods panic
		var other starlark.Iterable
		return nil, starlark.UnpackPositionalArgs(c.name, c.args, c.kwargs, 1, &other)
	}
	if c.method.units != nil {
		if err := c.method.payFor(c); err != nil {
			return nil, err
		}
		if err := c.w.payKeys(c.name, s); err != nil {
			return nil, err
		}
	}
	args := make(starlark.Tuple, len(c.args))
	for i, a := range c.args {
		xs, err := c.w.collectKeys(c.name, a)
		if err != nil {
			return nil, err
		}
		args[i] = a
		if xs != nil {
			args[i] = xs
		}
	}
	if grows := c.name == "union" || c.name == "update" || c.name == "symmetric_difference"; grows {
		if err := c.w.payChains(c.name, append(starlark.Tuple{s}, args...)...); err != nil {
			return nil, err
		}
	}
	c.args = args
	return c.callStock()
}

// collectKeys charges for each element of v as a key of a new table. If v has no length, it
// returns the elements; otherwise it returns nil, and the method iterates over v itself.
func (w *worker) collectKeys(op string, v starlark.Value) (starlark.Value, error) {
	if _, ok := v.(starlark.Iterable); !ok {
		return nil, nil
	}
	if n := starlark.Len(v); n >= 0 {
		if err := w.paySequence(newEntry.withOp(op), uint64(n)); err != nil {
			return nil, err
		}
		return nil, w.forEach(op, noCharge, v, func(k starlark.Value) error { return w.payKey(op, k) })
	}
	var keys starlark.Tuple
	err := w.forEach(op, newEntry, v, func(k starlark.Value) error {
		keys = append(keys, k)
		return w.payKey(op, k)
	})
	return keys, err
}

// errStopEarly ends an iteration when its result is certain.
var errStopEarly = errors.New("enough")

// applySubset implements s.issubset(xs). The interpreter's method allocates by the size of the
// table, which does not shrink with the set.
func applySubset(c *call) (starlark.Value, error) {
	var xs starlark.Iterable
	if err := starlark.UnpackPositionalArgs(c.name, c.args, c.kwargs, 1, &xs); err != nil {
		return nil, err
	}
	s, found := c.recv.(*starlark.Set), new(starlark.Set)
	if err := c.w.payAs(c.name, newTable, 1); err != nil {
		return nil, err
	}
	err := c.w.forEach(c.name, elementVisit, xs, func(x starlark.Value) error {
		if err := c.w.payKey(c.name, x); err != nil {
			return err
		}
		if ok, err := s.Has(x); err != nil || !ok {
			return err
		}
		if err := c.w.payAs(c.name, newEntry, 1); err != nil {
			return err
		}
		if err := c.w.addKey(c.name, found, x); err != nil {
			return err
		}
		if found.Len() == s.Len() {
			return errStopEarly
		}
		return nil
	})
	if err != nil && err != errStopEarly {
		return nil, c.nameError(err)
	}
	return starlark.Bool(found.Len() == s.Len()), nil
}
