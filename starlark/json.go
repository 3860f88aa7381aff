package starlark

import (
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// newJSONModule returns a module json like the interpreter's own. Its functions pay
// as they go, for what they read and for what they make.
func newJSONModule() *starlarkstruct.Module {
	m := starlark.StringDict{}
	for name, do := range map[string]func(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error){
		"decode": decodeJSON, "encode": encodeJSON, "encode_indent": encodeIndentedJSON, "indent": indentJSON,
	} {
		m[name] = starlark.NewBuiltin("json."+name, func(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return do(workerOf(th), b.Name(), args, kwargs)
		})
	}
	return &starlarkstruct.Module{Name: "json", Members: m}
}
