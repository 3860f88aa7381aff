package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// newJSONModule returns a module json like the interpreter's own. Its functions pay
// as they go, for what they read and for what they make.
func newJSONModule() *starlarkstruct.Module {
	m := starlark.StringDict{}
	for name, run := range map[string]guardedFunc{
		"decode": decodeJSON, "encode": encodeJSON, "encode_indent": encodeIndentedJSON, "indent": indentJSON,
	} {
		m[name] = newGuardedBuiltin("json."+name, run)
	}
	return &starlarkstruct.Module{Name: "json", Members: m}
}
