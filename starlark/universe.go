package starlark

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// A function is one of the universe's, and what a call of it costs.
type function struct {
	// pay charges for a call before the interpreter's own function works.
	pay func(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) error
	// do works here instead, and pays as it goes.
	do   func(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)
	note string // what it pays in words, or why nothing
}

// functions has a row for every name of the universe.
var functions = map[string]function{
	"None":      {note: "a constant"},
	"True":      {note: "a constant"},
	"False":     {note: "a constant"},
	"abs":       {pay: payInt, note: "a step and 64 bytes for 8 words"},
	"all":       {do: quantify, note: "a step for each element visited"},
	"any":       {do: quantify, note: "a step for each element visited"},
	"bool":      {note: "looks at a length or a flag"},
	"bytes":     {pay: payBytesOf, note: "a step for 64 bytes, and 3 bytes for each; a step for each element of an iterable"},
	"chr":       {note: "one code point"},
	"dict":      {do: makeDict, note: "512 bytes; 4 steps and 160 bytes for each entry, its key and its collisions"},
	"dir":       {pay: payDir, note: "a step and 64 bytes for each name"},
	"enumerate": {pay: payEnumerate, note: "2 steps and 88 bytes for each element"},
	"fail":      {pay: payText, note: "as str"},
	"float":     {pay: payFloat, note: "a step for 4 bytes of text, or 8 words"},
	"getattr":   {do: getattr, note: "a step and 64 bytes for 16 bytes of the name; a step for 4 fields of a large struct"},
	"hasattr":   {pay: payName, note: "as getattr"},
	"hash":      {pay: payHash, note: "a step for 8 bytes"},
	"int":       {pay: payParseInt, note: "a step for each digit beyond 64"},
	"len":       {note: "a length that is stored"},
	"list":      {pay: payCollect, note: "a step and 24 bytes for each element"},
	"max":       {do: extreme, note: "a step for each element, and the comparisons"},
	"min":       {do: extreme, note: "a step for each element, and the comparisons"},
	"ord":       {pay: payOrd, note: "a step for 32 bytes of a string that is too long"},
	"print":     {pay: payText, note: "as str, and the output limit"},
	"range":     {do: makeRange, note: "nothing: three integers"},
	"repr":      {pay: payQuoted, note: "as str"},
	"reversed":  {pay: payCollect, note: "a step and 24 bytes for each element"},
	"set":       {do: makeSet, note: "512 bytes; 5 steps and 160 bytes for each element, its key and its collisions"},
	"sorted":    {do: sorted, note: "a step and 64 bytes for each element; n times the logarithm of n steps, and the comparisons"},
	"str":       {pay: payText, note: "a step for each value in the expanded tree, 32 bytes of text and 32 bytes between quotes"},
	"tuple":     {pay: payCollect, note: "a step and 24 bytes for each element"},
	"type":      {do: typeOf, note: "nothing: a name"},
	"zip":       {pay: payZip, note: "a step and 40 bytes for each row and two elements"},
}

// universe is the guarded universe. Predeclared names win over the
// interpreter's own, so that no script reaches an unguarded one.
var universe = makeUniverse()

func makeUniverse() starlark.StringDict {
	m := starlark.StringDict{}
	for name, f := range functions {
		stock, ok := starlark.Universe[name].(*starlark.Builtin)
		if !ok || f.pay == nil && f.do == nil {
			m[name] = starlark.Universe[name]
			continue
		}
		m[name] = starlark.NewBuiltin(name, func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			w := workerOf(th)
			if f.do != nil {
				return f.do(w, name, args, kwargs)
			}
			if err := f.pay(w, name, args, kwargs); err != nil {
				return nil, err
			}
			return stock.CallInternal(th, args, kwargs)
		})
	}
	return m
}

// operand returns an argument by its position or its name, or nil.
func operand(args starlark.Tuple, kwargs []starlark.Tuple, i int, name string) starlark.Value {
	if i < len(args) {
		return args[i]
	}
	for _, kv := range kwargs {
		if kv[0] == starlark.String(name) {
			return kv[1]
		}
	}
	return nil
}

func payInt(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	if x, ok := operand(args, nil, 0, "").(starlark.Int); ok && !isSmallInt(x) {
		return w.payAs(name, intWords, words(x))
	}
	return nil
}

// payCollect pays for a new list or tuple of the argument's elements.
func payCollect(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	p := collected
	p.op = name
	if x := operand(args, nil, 0, ""); x != nil {
		return w.payElements(p, x)
	}
	return w.pay(p, 0)
}

func payEnumerate(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	x := operand(args, nil, 0, "")
	if x == nil {
		return nil
	}
	if start, ok := operand(args, nil, 1, "").(starlark.Int); ok {
		if n, ok := start.Int64(); ok && n > math.MaxInt64-maxSequence {
			return fmt.Errorf("%s: start %d is too large to count from", name, n)
		}
	}
	return w.payElements(price{name, "elements", 0.5, 88, 48}, x)
}

// makeRange is range, but for ranges whose length or stride the interpreter
// would compute with overflow.
func makeRange(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var first, second int
	step := 1
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 1, &first, &second, &step); err != nil {
		return nil, err
	}
	start, stop := first, second
	if len(args) == 1 {
		start, stop = 0, first
	}
	if span := uint64(max(start, stop)) - uint64(min(start, stop)); span > math.MaxInt64 || step == math.MinInt {
		return nil, fmt.Errorf("%s: got %d to %d by %d, want a range of less than 1<<63", name, start, stop, step)
	}
	return starlark.Universe[name].(*starlark.Builtin).CallInternal(w.thread, args, kwargs)
}

func payZip(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	rows, known := uint64(maxSequence)+1, len(args) > 0
	for _, a := range args {
		if n := starlark.Len(a); n >= 0 {
			rows = min(rows, uint64(n))
		} else {
			known = false
		}
	}
	p := price{name, "elements of all rows", 1, 16, 48}
	if known {
		return w.paySequence(price{name, "rows", 1, 40, 48}, times(rows, 1+uint64(len(args))/2))
	}
	// Without lengths the rows end with the shortest: count the longest.
	for _, a := range args {
		if n := starlark.Len(a); n < 0 {
			p.bytes = 40 + 16*uint64(len(args))
			return w.payElements(p, a)
		}
	}
	return nil
}

func payBytesOf(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	switch x := operand(args, nil, 0, "").(type) {
	case nil, starlark.Bytes:
		return nil
	case starlark.String:
		return w.pay(price{name, "bytes", 64, 3, 16}, uint64(len(x)))
	default:
		return w.payElements(price{name, "elements", 1, 2, 16}, x)
	}
}

// payText pays for the text of the arguments: of strings, the bytes as they are.
func payText(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	size := uint64(0)
	for _, a := range args {
		n, err := w.argSize(name, false, a)
		if err != nil {
			return err
		}
		if s, ok := a.(starlark.Bytes); ok {
			n = 3 * uint64(len(s)) // each bad byte becomes U+FFFD
		}
		size = saturate(size, n)
	}
	if sep, ok := operand(nil, kwargs, 0, "sep").(starlark.String); ok {
		size = saturate(size, times(uint64(len(sep)), uint64(len(args))))
	}
	if _, whole := operand(args, nil, 0, "").(starlark.String); whole && name == "str" {
		return nil // the string itself
	}
	return w.payAs(name, textBytes, size)
}

func payQuoted(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	x := operand(args, nil, 0, "")
	if x == nil {
		return nil
	}
	n, err := w.textSize(name, x)
	if err != nil {
		return err
	}
	return w.payAs(name, textBytes, n)
}

// payFloat pays for reading a number, or for converting a long integer.
func payFloat(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	switch x := operand(args, nil, 0, "").(type) {
	case starlark.String:
		return w.pay(price{name, "bytes", 4, 2, 0}, uint64(min(len(x), maxErrorText)+len(x)))
	case starlark.Int:
		return w.payAs(name, wordPair, words(x))
	}
	return nil
}

// payParseInt pays for reading an integer, which takes longer than linear time.
func payParseInt(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	switch x := operand(args, kwargs, 0, "x").(type) {
	case starlark.String:
		if len(x) <= 64 {
			return nil
		}
		if bits := times(uint64(len(x)), 6); bits > 6*maxBits/4 {
			return w.exceed("integer size", name, times(uint64(len(x)), 4), maxBits, 0)
		}
		return w.pay(price{name, "digits", 1, 2, 64}, uint64(len(x)))
	case starlark.Float:
		return w.charge(name, 16, 256)
	}
	return nil
}

func payHash(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	if n := starlark.Len(operand(args, nil, 0, "")); n > 0 {
		return w.pay(price{name, "bytes", 8, 0, 0}, uint64(n))
	}
	return nil
}

// payOrd pays for the error, which counts the code points of a long string.
func payOrd(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	if s, ok := operand(args, nil, 0, "").(starlark.String); ok && len(s) > smallText {
		return w.pay(price{name, "bytes", 32, 0, 0}, uint64(len(s)))
	}
	return nil
}

func payDir(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	n := uint64(64)
	if s, ok := operand(args, nil, 0, "").(*starlarkstruct.Struct); ok {
		n = uint64(s.Len())
	}
	return w.pay(price{name, "names", 1, 64, 48}, n)
}

// payName pays for looking an attribute up, and for saying that it is not there,
// which takes the names of all others.
func payName(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	if s, ok := operand(args, nil, 0, "").(*starlarkstruct.Struct); ok && s.Len() > 16 {
		if err := w.charge(name, uint64(s.Len())/4, 16*uint64(s.Len())); err != nil {
			return err
		}
	}
	if s, ok := operand(args, nil, 1, "").(starlark.String); ok {
		return w.payAs(name, nameBytes, uint64(len(s)))
	}
	return nil
}

// getattr is the function, with methods of core types that pay.
func getattr(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := payName(w, name, args, kwargs); err != nil {
		return nil, err
	}
	v, err := starlark.Universe["getattr"].(*starlark.Builtin).CallInternal(w.thread, args, kwargs)
	if err != nil {
		return nil, errors.New(cut(err.Error(), maxErrorText))
	}
	return w.paying(v)
}

// typeOf is type(x). A host's value may say which type it stands for.
func typeOf(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 1 && len(kwargs) == 0 {
		if s, ok := args[0].(interface{ StandsFor() string }); ok {
			return starlark.String(s.StandsFor()), nil
		}
	}
	return starlark.Universe["type"].(*starlark.Builtin).CallInternal(w.thread, args, kwargs)
}

// quantify is any and all: it looks at elements until the answer is known.
func quantify(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var xs starlark.Iterable
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 1, &xs); err != nil {
		return nil, err
	}
	stop := starlark.Bool(name == "any")
	err := w.forEach(name, visited, xs, func(x starlark.Value) error {
		if x.Truth() == stop {
			return errEnough
		}
		return nil
	})
	switch err {
	case errEnough:
		return stop, nil
	case nil:
		return !stop, nil
	}
	return nil, err
}

// extreme is min and max.
func extreme(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
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
	err := w.forEach(name, visited, xs, func(x starlark.Value) error {
		k, err := w.keyOf(key, x)
		if err != nil {
			return err
		}
		if best == nil {
			best, bestKey = x, k
			return nil
		}
		better, err := w.compare(op, k, bestKey)
		if err != nil {
			return w.prefixed(name, err)
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

// keyOf applies an optional key function.
func (w *worker) keyOf(key starlark.Callable, x starlark.Value) (starlark.Value, error) {
	if key == nil {
		return x, nil
	}
	return starlark.Call(w.thread, key, starlark.Tuple{x}, nil)
}

// prefixed puts a name in front of an error, unless the run is stopped.
func (w *worker) prefixed(name string, err error) error {
	if w.stopped != nil {
		return err
	}
	return fmt.Errorf("%s: %v", name, err)
}

// sorted is the function: a stable sort with paid comparisons.
func sorted(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var xs starlark.Iterable
	var key starlark.Callable
	var reverse bool
	if err := starlark.UnpackArgs(name, args, kwargs, "iterable", &xs, "key?", &key, "reverse?", &reverse); err != nil {
		return nil, err
	}
	values, err := w.collect(name, price{name, "elements", 1, 64, 48}, xs)
	if err != nil {
		return nil, err
	}
	s := &sortable{w: w, values: values, keys: values, op: syntax.LT}
	if reverse {
		s.op = syntax.GT
	}
	if key != nil {
		if s.keys, err = w.keysOf(key, values); err != nil {
			return nil, err
		}
	}
	if err := w.pay(sorting, times(uint64(len(values)), logarithm(len(values)))); err != nil {
		return nil, err
	}
	sort.Stable(s)
	if s.err != nil {
		return nil, s.err
	}
	return starlark.NewList(values), nil
}

func (w *worker) keysOf(key starlark.Callable, values []starlark.Value) ([]starlark.Value, error) {
	keys := make([]starlark.Value, len(values))
	for i, x := range values {
		k, err := w.keyOf(key, x)
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

// A sortable sorts values by keys, which may be the values themselves. Like the
// interpreter's it goes on after an error and reports the last; when the run is
// stopped it calls everything sorted, so that the sort ends.
type sortable struct {
	w            *worker
	values, keys []starlark.Value
	op           syntax.Token
	err          error
}

func (s *sortable) Len() int { return len(s.values) }

func (s *sortable) Less(i, j int) bool {
	if s.w.stopped != nil {
		return false
	}
	less, err := s.w.compare(s.op, s.keys[i], s.keys[j])
	if err != nil {
		s.err = err
	}
	return less
}

func (s *sortable) Swap(i, j int) {
	s.values[i], s.values[j] = s.values[j], s.values[i]
	if &s.keys[0] != &s.values[0] {
		s.keys[i], s.keys[j] = s.keys[j], s.keys[i]
	}
}

// makeSet is set(xs).
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
		if err := w.paySequence(price{name, "elements", newEntry.per, newEntry.bytes, 0}, uint64(n)); err != nil {
			return nil, err
		}
	}
	err := w.forEach(name, visited, xs, func(x starlark.Value) error {
		if starlark.Len(xs) < 0 {
			if err := w.payAs(name, newEntry, 1); err != nil {
				return err
			}
		}
		return w.addKey(name, s, x)
	})
	if err != nil {
		return nil, w.prefixed(name, err)
	}
	return s, nil
}

// makeDict is dict(pairs, **kwargs).
func makeDict(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 1 {
		return nil, fmt.Errorf("dict: got %d arguments, want at most 1", len(args))
	}
	if err := w.payAs(name, newTable, 1); err != nil {
		return nil, err
	}
	d := new(starlark.Dict)
	if err := w.updateDict(d, name, args, kwargs); err != nil {
		return nil, w.prefixed(name, err)
	}
	return d, nil
}

// updateDict puts the entries of a mapping or the pairs of an iterable into d,
// then the keyword arguments.
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
	entry := price{op, "entries", newEntry.per, newEntry.bytes, 0}
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

// pairOf returns the two elements of the i-th element of a dict's argument.
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

// displayKey is a key of a dict display: key(k).
func displayKey(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return args[0], workerOf(th).payDisplayKey(args[0])
}

// payDisplayKey pays for a key and, if that is long, for its text: the interpreter
// quotes a key that is given twice.
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
	return w.payAs("key", textBytes, times(n, 3))
}

// firstEntry is the first key of a dict display, which pays for the dict with
// room for n entries: entry(k, n).
func firstEntry(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	w := workerOf(th)
	n, _ := args[1].(starlark.Int).Uint64()
	if err := w.payTable(n); err != nil {
		return nil, err
	}
	return args[0], w.payDisplayKey(args[0])
}

// payTable pays for a new dict with room for n entries; eight are in it.
func (w *worker) payTable(n uint64) error {
	if n <= 8 {
		n = 0
	}
	return w.charge(newTable.op, 0, newTable.bytes+times(n, newEntry.bytes))
}

// emptyDict is {}.
func emptyDict(th *starlark.Thread, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return new(starlark.Dict), workerOf(th).payTable(0)
}

// dictComprehension makes a dict of a list of pairs: {k: v for ...}.
func dictComprehension(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
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
