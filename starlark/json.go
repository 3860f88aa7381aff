package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// newJSONModule returns a replacement for the interpreter's module json. Its functions charge for
// their input and output while they work.
func newJSONModule() *starlarkstruct.Module {
	m := starlark.StringDict{}
	for name, run := range map[string]guardedFunc{
		"decode": decodeJSON, "encode": encodeJSON, "encode_indent": encodeIndentedJSON, "indent": indentJSON,
	} {
		m[name] = newGuardedBuiltin("json."+name, run)
	}
	return &starlarkstruct.Module{Name: "json", Members: m}
}
