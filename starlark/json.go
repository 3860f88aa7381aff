package starlark

import "go.starlark.net/starlark"

// JSON returns the functions of a json module like the interpreter's, by their
// dotted names. They pay as they go, for what they read and for what they make.
func JSON() starlark.StringDict {
	m := starlark.StringDict{}
	for name, do := range map[string]func(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error){
		"json.decode": jsonDecode, "json.encode": jsonEncode, "json.encode_indent": jsonEncodeIndent, "json.indent": jsonIndent,
	} {
		m[name] = starlark.NewBuiltin(name, func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return do(workerOf(th), name, args, kwargs)
		})
	}
	return m
}
