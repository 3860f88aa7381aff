package starlark

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
)

// A method is a method of a core type and what a call of it costs. The work is
// done by the interpreter's own method, after units were counted and paid for,
// unless do says how it is done here.
type method struct {
	price
	// units counts the work of a call; nil counts nothing.
	units func(c *call) (uint64, error)
	// do works and pays as it goes. It is set where something is compared, hashed
	// or looked up, and where the interpreter's method is needlessly slow.
	run func(c *call) (starlark.Value, error)
	// note says in words what a method without a price of its own pays, or why nothing.
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

// text is the receiver of a method of strings.
func (c *call) text() string { return string(c.recv.(starlark.String)) }

// arg returns the i-th argument, or nil.
func (c *call) arg(i int) starlark.Value {
	if i < len(c.args) {
		return c.args[i]
	}
	return nil
}

// stringArg returns the i-th argument if it is a string, or "".
func (c *call) stringArg(i int) string {
	s, _ := c.arg(i).(starlark.String)
	return string(s)
}

// callStock lets the interpreter's own method work.
func (c *call) callStock() (starlark.Value, error) {
	return stockMethod(c.recv, c.name).CallInternal(&c.w.thread, c.args, c.kwargs)
}

// errorf is an error in the name of the method.
func (c *call) errorf(format string, args ...any) error {
	return fmt.Errorf(c.name+": "+format, args...)
}

// methodOf returns the row of a method, or nil when recv is of no core type or
// has no such method.
func methodOf(recv starlark.Value, name string) *method {
	switch recv.(type) {
	case starlark.String, starlark.Bytes, *starlark.List, *starlark.Dict, *starlark.Set:
		return methods[recv.Type()][name]
	}
	return nil
}

// call pays for and does one call. The worker holds the call, so that it needs no
// memory of its own; one inside another, through a value of the host, has some.
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

// payFor charges the units of a call.
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

// methodHelpers returns the helper of each method name, which finds the type of
// its receiver when it is called. It also makes the methods as values.
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

// methodHelper is recv.name(args), called with the receiver first.
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

// appendHelper is xs.append(x), for a list without more ado.
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

// callMember is recv.name(args) for a value that is not of a core type.
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

// ---- units of work ----

// countReceiver counts the elements, entries or bytes of the receiver.
func countReceiver(c *call) (uint64, error) { return uint64(starlark.Len(c.recv)), nil }

// countScan counts the bytes that a search looks at, which for a long needle that
// nearly matches can be many times the text.
func countScan(c *call) (uint64, error) {
	n, m := uint64(len(c.text())), uint64(len(c.stringArg(0)))
	if n <= smallText {
		return 0, nil
	}
	return multiplyClamped(n, 1+min(m, n)/64), nil
}

// countBackwardScan is scan for a search from the end, which goes byte by byte.
func countBackwardScan(c *call) (uint64, error) {
	n, err := countScan(c)
	return multiplyClamped(n, 8), err
}

// countAffixes counts the bytes compared with a prefix or suffix, or with each of a
// tuple of them.
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

// countStripped counts the bytes of the receiver by the size of the cut set.
func countStripped(c *call) (uint64, error) {
	n := uint64(len(c.text()))
	if n <= smallText/2 {
		return 0, nil
	}
	return multiplyClamped(n, 1+uint64(len(c.stringArg(0)))/8), nil
}

// countReplaced counts the bytes of the result, after it paid for the search and for
// each place that is replaced.
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

// countPieces counts what a split yields, after it paid for the search. It lowers a
// maximum that can have no effect: rsplit makes room for it first.
func countPieces(c *call) (uint64, error) {
	s := c.text()
	if err := c.w.payScan(c.name, len(s), c.arg(0)); err != nil {
		return 0, err
	}
	if sep := c.stringArg(0); sep != "" {
		return uint64(strings.Count(s, sep)) + 1, nil
	}
	if err := c.w.payAs(c.name, scannedByte, 8*uint64(len(s))); err != nil {
		return 0, err
	}
	n := len(strings.Fields(s))
	if most, ok := c.arg(1).(starlark.Int); ok && most.Sign() > 0 {
		if m, ok := most.Int64(); !ok || m > int64(n) {
			c.args = append(starlark.Tuple{c.args[0], starlark.MakeInt(n + 1)}, c.args[2:]...)
		}
	}
	return uint64(n) + 1, nil
}

func countLines(c *call) (uint64, error) {
	s := c.text()
	if err := c.w.payScan(c.name, len(s), nil); err != nil {
		return 0, err
	}
	return uint64(strings.Count(s, "\n")) + 1, nil
}

// payArgElements counts what the argument yields; the price is charged on the way
// when that is not known.
func payArgElements(c *call) (uint64, error) {
	if c.arg(0) == nil {
		return 0, nil
	}
	return 0, c.w.payElements(listGrowth, c.arg(0))
}

// countMoved counts the elements behind the one that list.pop takes out.
func countMoved(c *call) (uint64, error) {
	if len(c.args) == 0 {
		return 0, nil
	}
	return countReceiver(c)
}

// countFormatted bounds the bytes of the result of string.format.
func countFormatted(c *call) (uint64, error) {
	format := c.text()
	fields := uint64(strings.Count(format, "{"))
	// Each field looks its name up among the keywords, one after the other.
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
		return addClamped(uint64(len(format)), sum), nil // each argument once, in order
	}
	return addClamped(uint64(len(format)), multiplyClamped(longest, fields)), nil
}
