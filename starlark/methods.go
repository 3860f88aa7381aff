package starlark

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
)

// A method is a row of the table of methods: the code and the price of a method of a core type. A
// call counts and charges its units, and then calls the interpreter's method. If run is set, run
// does all of this.
type method struct {
	price
	// units counts the units of a call before the method works. Nil counts nothing.
	units func(c *call) (uint64, error)
	// run does the work and charges for it. A row has run if the method compares, hashes or looks up values,
	// or if the interpreter's method is slow.
	run func(c *call) (starlark.Value, error)
	// note describes the price in words, if the price is not in this row.
	note string

	value *starlark.Builtin // the method as a value, without its receiver
}

// A call is one call of a method.
type call struct {
	w      *worker
	method *method
	name   string
	recv   starlark.Value
	args   starlark.Tuple
	kwargs []starlark.Tuple
}

// text returns the receiver of a method of strings.
func (c *call) text() string { return string(c.recv.(starlark.String)) }

// arg returns argument i, or nil.
func (c *call) arg(i int) starlark.Value {
	if i < len(c.args) {
		return c.args[i]
	}
	return nil
}

// stringArg returns argument i if it is a string, or "".
func (c *call) stringArg(i int) string {
	s, _ := c.arg(i).(starlark.String)
	return string(s)
}

// callStock calls the interpreter's own method.
func (c *call) callStock() (starlark.Value, error) {
	return stockMethod(c.recv, c.name).CallInternal(&c.w.thread, c.args, c.kwargs)
}

// errorf returns an error that begins with the method's name.
func (c *call) errorf(format string, args ...any) error {
	return fmt.Errorf(c.name+": "+format, args...)
}

// methodOf returns the row of a method. It returns nil if recv is not of a core type or has no such
// method.
func methodOf(recv starlark.Value, name string) *method {
	switch recv.(type) {
	case starlark.String, starlark.Bytes, *starlark.List, *starlark.Dict, *starlark.Set:
		return methods[recv.Type()][name]
	}
	return nil
}

// call charges for a call of the method and executes it. It uses the call struct of the worker, so
// that it allocates nothing. A call inside another one allocates its own.
func (m *method) call(
	w *worker, name string, recv starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	c := &w.call
	if c.w != nil {
		c = new(call)
	}
	c.w, c.method, c.name, c.recv, c.args, c.kwargs = w, m, name, recv, args, kwargs
	v, err := m.perform(c)
	*c = call{}
	return v, err
}

func (m *method) perform(c *call) (starlark.Value, error) {
	if m.run != nil {
		return m.run(c)
	}
	if err := m.payFor(c); err != nil {
		return nil, err
	}
	return c.callStock()
}

// payFor charges for the units of a call, at the price in the method's row.
func (m *method) payFor(c *call) error {
	if m.units == nil {
		return nil
	}
	n, err := m.units(c)
	if err != nil || n == 0 && m.fixed == 0 {
		return err
	}
	return c.w.payAs(c.name, &m.price, n)
}

// methodHelpers returns a helper for each method name. A helper finds the type of its receiver when
// it is called. methodHelpers also makes the bound method of each row.
func methodHelpers() map[string]operation {
	m := make(map[string]operation, 64)
	for _, rows := range methods {
		for name, row := range rows {
			row.value = starlark.NewBuiltin(name, func(
				th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
			) (starlark.Value, error) {
				return row.call(workerOf(th), name, b.Receiver(), args, kwargs)
			})
			m[name] = methodHelper(name)
		}
	}
	m["append"] = appendHelper(m["append"])
	return m
}

// methodHelper returns the helper of recv.name(args). The receiver is the first argument of the
// helper.
func methodHelper(name string) operation {
	rows := [...]*method{
		methods["string"][name], methods["list"][name], methods["dict"][name], methods["set"][name], methods["bytes"][name],
	}
	return func(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var row *method
		recv := args[0]
		switch recv.(type) {
		case starlark.String:
			row = rows[0]
		case *starlark.List:
			row = rows[1]
		case *starlark.Dict:
			row = rows[2]
		case *starlark.Set:
			row = rows[3]
		case starlark.Bytes:
			row = rows[4]
		}
		if row == nil {
			return callMember(th, recv, name, args[1:], kwargs)
		}
		return row.call(workerOf(th), name, recv, args[1:], kwargs)
	}
}

// appendHelper returns the helper that replaces xs.append(x). It appends to a list at once, which is the
// usual case, and lets other do the rest.
func appendHelper(other operation) operation {
	return func(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if l, ok := args[0].(*starlark.List); ok && len(args) == 2 && len(kwargs) == 0 {
			if err := l.Append(args[1]); err != nil {
				return nil, fmt.Errorf("append: %v", err)
			}
			return starlark.None, nil
		}
		return other(th, args, kwargs)
	}
}

// callMember calls recv.name(args) if recv is of no core type.
func callMember(
	th *starlark.Thread, recv starlark.Value, name string, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	v, err := getAttr(recv, name)
	if err != nil {
		return nil, err
	}
	w := workerOf(th)
	b, ok := v.(*starlark.Builtin)
	if !ok || b.Receiver() == nil {
		return starlark.Call(th, v, args, kwargs)
	}
	if m := methodOf(b.Receiver(), b.Name()); m != nil {
		return m.call(w, b.Name(), b.Receiver(), args, kwargs)
	}
	return w.callHostMethod(b, args, kwargs)
}

// ---- functions that count units ----

// countReceiver counts the elements, entries or bytes of the receiver.
func countReceiver(c *call) (uint64, error) { return uint64(starlark.Len(c.recv)), nil }

// countScan counts the bytes that a search reads. A long needle that nearly matches in many places
// makes the search read the text many times.
func countScan(c *call) (uint64, error) {
	n, m := uint64(len(c.text())), uint64(len(c.stringArg(0)))
	if n <= smallText {
		return 0, nil
	}
	return multiplyClamped(n, 1+min(m, n)/64), nil
}

// countBackwardScan counts as countScan does, for a search from the end, which reads byte by byte.
func countBackwardScan(c *call) (uint64, error) {
	n, err := countScan(c)
	return multiplyClamped(n, 8), err
}

// countAffixes counts the compared bytes of a prefix or suffix, or of each one in a tuple.
func countAffixes(c *call) (uint64, error) {
	n := len(c.text())
	if t, ok := c.arg(0).(starlark.Tuple); ok {
		total := uint64(0)
		for _, x := range t {
			s, _ := x.(starlark.String)
			total += smallText + uint64(min(len(s), n))
		}
		return total, nil
	}
	return uint64(min(len(c.stringArg(0)), n)), nil
}

// countStripped counts the bytes of the receiver, weighted by the size of the cutset.
func countStripped(c *call) (uint64, error) {
	n, cutset := uint64(len(c.text())), uint64(len(c.stringArg(0)))
	if n <= smallText/2 && cutset <= 8 {
		return 0, nil
	}
	return addClamped(cutset, multiplyClamped(n, 1+cutset/8)), nil
}

// countReplaced counts the bytes of the result. It charges for the search and for each replaced
// place first.
func countReplaced(c *call) (uint64, error) {
	s, from, to := c.text(), c.stringArg(0), c.stringArg(1)
	if err := c.w.payScan(c.name, len(s), c.arg(0)); err != nil {
		return 0, err
	}
	n := uint64(strings.Count(s, from))
	if err := c.w.pay(replacedPlace, n); err != nil {
		return 0, err
	}
	return addClamped(uint64(len(s)), multiplyClamped(n, uint64(len(to)))), nil
}

// countPieces counts the pieces of a split. It charges for the search first. It lowers a maximum
// that has no effect, because split and rsplit allocate by their maximum.
func countPieces(c *call) (uint64, error) {
	s := c.text()
	if err := c.w.payScan(c.name, len(s), c.arg(0)); err != nil {
		return 0, err
	}
	if sep := c.stringArg(0); sep != "" {
		n := strings.Count(s, sep)
		c.lowerMaximum(n)
		return uint64(n) + 1, nil
	}
	if err := c.w.payAs(c.name, scannedByte, 8*uint64(len(s))); err != nil {
		return 0, err
	}
	n := len(strings.Fields(s))
	c.lowerMaximum(n)
	return uint64(n) + 1, nil
}

// lowerMaximum lowers the maximum of a split to one more than n, the number of its pieces.
func (c *call) lowerMaximum(n int) {
	most, ok := c.arg(1).(starlark.Int)
	if !ok || most.Sign() <= 0 {
		return
	}
	if m, ok := most.Int64(); !ok || m > int64(n) {
		c.args = append(starlark.Tuple{c.args[0], starlark.MakeInt(n + 1)}, c.args[2:]...)
	}
}

func countLines(c *call) (uint64, error) {
	s := c.text()
	if err := c.w.payScan(c.name, len(s), nil); err != nil {
		return 0, err
	}
	return uint64(strings.Count(s, "\n")) + 1, nil
}

// payArgElements charges for the elements of the argument. It returns no units.
func payArgElements(c *call) (uint64, error) {
	if c.arg(0) == nil {
		return 0, nil
	}
	return 0, c.w.payElements(listGrowth, c.arg(0))
}

// countMoved counts the elements that list.pop may move.
func countMoved(c *call) (uint64, error) {
	if len(c.args) == 0 {
		return 0, nil
	}
	return countReceiver(c)
}

// countFormatted returns an upper bound for the length of the result of string.format.
func countFormatted(c *call) (uint64, error) {
	format := c.text()
	fields := uint64(strings.Count(format, "{"))
	// Each field compares its name with the keyword arguments, one after the other.
	if err := c.w.pay(formatField, multiplyClamped(fields, uint64(len(c.kwargs)))); err != nil {
		return 0, err
	}
	quoted := strings.Contains(format, "!r")
	sum, longest, err := c.w.argSizes(c.name, quoted, c.args.Elements())
	if err != nil {
		return 0, err
	}
	for _, kv := range c.kwargs {
		n, err := c.w.argSize(c.name, quoted, kv[1])
		if err != nil {
			return 0, err
		}
		sum, longest = addClamped(sum, n), max(longest, n)
	}
	if strings.Contains(format, "{}") && len(c.kwargs) == 0 {
		return addClamped(uint64(len(format)), sum), nil // each argument occurs once
	}
	return addClamped(uint64(len(format)), multiplyClamped(longest, fields)), nil
}
