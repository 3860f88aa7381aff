package modules

import (
	"math/bits"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starhost/starhost/builtins/call"
)

// structModule returns the entry of the function struct.
func structModule(rt call.Runtime) []call.Entry {
	return []call.Entry{call.Member{
		Name: "struct", Params: "**fields", Type: "Any -> Any",
		Doc: `Returns an immutable value with the given fields.
s.name reads a field and dir(s) lists their names. Two structs are equal when
their fields are. a + b has the fields of both; if both have a field, b's counts. Printing and
JSON sort the fields by name.`,
		Example: `s = struct(name = "checkout", tier = 1)
assert_eq(s.name, "checkout")
assert_eq(s, struct(tier = 1, name = "checkout"))
assert_eq((s + struct(tier = 2)).tier, 2)
assert_eq(dir(s), ["name", "tier"])`,
		Func: makeStruct,
	}.Entry(rt, "struct")}
}

// makeStruct implements struct.
func makeStruct(c call.Call) (starlark.Value, error) {
	if len(c.Args) > 0 {
		return nil, c.Fail("E0202", "got %d positional arguments, want fields by name", len(c.Args))
	}
	names := 0 // bytes that sorting may compare, because long names may differ only at their ends
	for _, kv := range c.Kwargs {
		names += len(kv[0].(starlark.String))
	}
	n := len(c.Kwargs)
	if err := c.Pay(1+n+names*bits.Len(uint(n))/128, 64*(1+n)); err != nil {
		return nil, err
	}
	return starlarkstruct.FromKeywords(starlarkstruct.Default, c.Kwargs), nil
}
