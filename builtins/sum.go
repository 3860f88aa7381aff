package builtins

import (
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/builtins/call"
)

// sumNumbers implements sum. It pays for each addition before it adds, by the size of the numbers,
// because a sum of long ints copies the total each time.
func sumNumbers(c call.Call) (starlark.Value, error) {
	var (
		x     starlark.Iterable
		total starlark.Value = starlark.MakeInt(0)
	)
	if err := c.Bind("x", &x, "start?", &total); err != nil {
		return nil, err
	}
	if !isNumber(total) {
		return nil, c.Fail("E0201", "start: got %s, want int or float", total.Type())
	}
	iter := x.Iterate()
	defer iter.Done()
	var item starlark.Value
	for i := 0; iter.Next(&item); i++ {
		if !isNumber(item) {
			return nil, c.Fail("E0201", "element %d: got %s, want int or float", i, item.Type())
		}
		size := numberSize(item) + numberSize(total)
		err := c.Pay(1+size/64, size)
		if err == nil {
			total, err = starlark.Binary(syntax.PLUS, total, item)
		}
		if err != nil {
			return nil, err
		}
	}
	return total, nil
}

// isNumber reports whether v is an int or a float.
func isNumber(v starlark.Value) bool {
	switch v.(type) {
	case starlark.Int, starlark.Float:
		return true
	}
	return false
}

// numberSize returns the bytes of a number in memory. A number of 64 bits counts as 16.
func numberSize(v starlark.Value) int {
	n, ok := v.(starlark.Int)
	if !ok {
		return 16
	}
	if _, small := n.Int64(); small {
		return 16
	}
	return 16 + n.BigInt().BitLen()/8
}
