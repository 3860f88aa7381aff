package modules

import "github.com/starhost/starhost/builtins/call"

// jsonMembers are the members of the module json. The evaluator supplies its functions, because they must
// pay while they work.
var jsonMembers = []call.Member{
	{
		Name: "encode", Params: "x", Type: "Any -> str",
		Doc: `Encodes a value as JSON text without spaces.
None, bool, int, finite float, string, list, tuple, set, dict with string keys and
struct can be encoded; the keys of dicts and the fields of structs are sorted. A
tool that returns a dict needs no json.encode: its result becomes JSON with the
keys in the dict's own order.`,
		Example: `assert_eq(json.encode({"b": [1, 2.0, None], "a": "x"}), '{"a":"x","b":[1,2.0,null]}')
assert_eq(json.encode(struct(ok = True)), '{"ok":true}')`,
	},
	{
		Name: "encode_indent", Params: `x, prefix="", indent="\t"`, Type: "Any, str, str -> str",
		Doc: `Encodes a value as JSON text, one member a line.
Each line except the first starts with prefix, then indent once for each level; both are
given by name. The rest is as in json.encode.`,
		Example: `assert_eq(json.encode_indent({"a": [1]}, indent = "  "), '{\n  "a": [\n    1\n  ]\n}')`,
	},
	{
		Name: "decode", Params: "x, default=None", Type: "str | Bytes, Any -> Any",
		Doc: `Decodes JSON text to None, bool, int, float, string, list and dict.
A number with a point or an exponent is a float, any other an int of any size. If a key
stands twice, the last value counts. Text that is not JSON returns the default, or is an
error without one.`,
		Example: `assert_eq(json.decode('{"a": [1, 2.5, null]}'), {"a": [1, 2.5, None]})
assert_eq(json.decode("oops", default = {}), {})`,
	},
	{
		Name: "indent", Params: `text, prefix="", indent="\t"`, Type: "str, str, str -> str",
		Doc: `Formats JSON text with one member on each line.
The order of keys and the spelling of numbers stay. prefix and indent are given by
name, as for json.encode_indent.`,
		Example: `assert_eq(json.indent('{"b":1,"a":2}', indent = " "), '{\n "b": 1,\n "a": 2\n}')`,
	},
}
