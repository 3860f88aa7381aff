package builtins

import "github.com/starhost/starhost/builtins/call"

// language describes the names of Starlark itself, and sum, which Starlark does not have. If a row has no
// function, the evaluator's own function stays.
var language = []call.Member{
	{Name: "None", Doc: "The value that stands for no value.",
		Example: `assert_eq(None == False, False)`},
	{Name: "True", Doc: "The true value.\nIt is no number: True + 1 is an error.",
		Example: `assert_eq(not False, True)`},
	{Name: "False", Doc: "The opposite of True.",
		Example: `assert_eq(bool(""), False)`},
	{Name: "abs", Params: "x", Doc: "Returns the absolute value of a number.",
		Example: `assert_eq(abs(-3), 3)`},
	{Name: "all", Params: "x", Doc: "Reports whether all elements are true.",
		Example: `assert_eq(all([1, "a"]), True)`},
	{Name: "any", Params: "x", Doc: "Reports whether an element is true.",
		Example: `assert_eq(any([0, ""]), False)`},
	{Name: "bool", Params: "x=False", Doc: "Converts a value to True or False: 0, None and empty values are false.",
		Example: `assert_eq(bool([0]), True)`},
	{Name: "bytes", Params: "x", Type: "str | Iterable[int] -> Bytes", Doc: "Converts a string, or ints from 0 to 255, to bytes.",
		Example: `assert_eq(bytes("hi"), b"hi")`},
	{Name: "chr", Params: "i", Doc: "Returns the character of a code point.",
		Example: `assert_eq(chr(65), "A")`},
	{Name: "dict", Params: "x={}, **fields", Doc: "Returns a dict of pairs, or of another dict's items, and of fields by name.",
		Example: `assert_eq(dict([("a", 1)], b = 2), {"a": 1, "b": 2})`},
	{Name: "dir", Params: "x", Doc: "Lists the names of a value's fields and methods.",
		Example: `assert_eq("upper" in dir(""), True)`},
	{Name: "enumerate", Params: "x, start=0", Type: "Iterable[Any], int -> list[tuple[int, Any]]", Doc: "Returns the elements with their numbers.",
		Example: `assert_eq(enumerate(["a"], 1), [(1, "a")])`},
	{Name: "fail", Params: `*args, sep=" "`, Type: "Any, str -> NoReturn", Func: raiseFail, Whole: true,
		Doc: `Ends the call with a message.
If a tool fails, the model reads the message as an error result. Any other handler fails with
an error. Bytes of the message that are not UTF-8, as of a character cut in two, become
U+FFFD.`,
		Example: `assert_eq(assert_fails(lambda: fail("no", "ticket"), "ticket"), "fail: no ticket")`},
	{Name: "float", Params: "x=0", Doc: "Converts a number, or the text of one, to a float.",
		Example: `assert_eq(float("1.5"), 1.5)`},
	{Name: "getattr", Params: "x, name, default=None", Doc: "Returns a field or method by name.\nA missing one is an error unless a default is given.",
		Example: `assert_eq(getattr(struct(a = 1), "b", 2), 2)`},
	{Name: "hasattr", Params: "x, name", Doc: "Reports whether a value has a field or method of that name.",
		Example: `assert_eq(hasattr("", "upper"), True)`},
	{Name: "int", Params: "x=0, base=10", Doc: "Converts a number, or the text of one, to an int.\nA float is cut towards zero.",
		Example: `assert_eq(int("ff", 16), 255)`},
	{Name: "len", Params: "x", Doc: "Returns the number of elements, or of a string's bytes.",
		Example: `assert_eq(len([1, 2]), 2)`},
	{Name: "list", Params: "x=[]", Doc: "Returns a list of the elements of x.",
		Example: `assert_eq(list((1, 2)), [1, 2])`},
	{Name: "max", Params: "*args, key=None", Doc: "Returns the largest of its arguments, or of the elements of one.",
		Example: `assert_eq(max([1, 3, 2]), 3)`},
	{Name: "min", Params: "*args, key=None", Doc: "Returns the smallest of its arguments, or of the elements of one.",
		Example: `assert_eq(min(2, 1), 1)`},
	{Name: "ord", Params: "s", Doc: "Returns the code point of a string of one character.",
		Example: `assert_eq(ord("A"), 65)`},
	{Name: "print", Params: `*args, sep=" "`, Doc: `Writes to the host's log: in a handler it is ctx.log("info", ...).`,
		Example: `assert_eq(print("loaded"), None)`},
	{Name: "range", Params: "start, stop, step=1", Doc: "Returns the ints from start up to, and without, stop; range(n) begins at 0.",
		Example: `assert_eq(list(range(1, 4)), [1, 2, 3])`},
	{Name: "repr", Params: "x", Doc: "Returns a value as a file would write it.",
		Example: `assert_eq(repr("a"), '"a"')`},
	{Name: "reversed", Params: "x", Type: "Iterable[Any] -> list[Any]", Doc: "Returns the elements from the last to the first, as a list.",
		Example: `assert_eq(reversed([1, 2]), [2, 1])`},
	{Name: "set", Params: "x=[]", Doc: "Returns a set of the elements of x, in their order.",
		Example: `assert_eq(list(set([1, 2, 1])), [1, 2])`},
	{Name: "sorted", Params: "x, key=None, reverse=False", Doc: "Returns the elements as a sorted list; equal ones stay in their order.",
		Example: `assert_eq(sorted(["b", "a"]), ["a", "b"])`},
	{Name: "str", Params: "x", Doc: "Returns a string as it is, and any other value as repr does.",
		Example: `assert_eq(str(1.0), "1.0")`},
	{Name: "sum", Params: "x, start=0", Type: "Iterable[int | float], int | float -> int | float", Func: sumNumbers,
		Doc:     "Returns the sum of numbers, ints or floats.\nsum([]) is start.",
		Example: `assert_eq(sum([1, 2, 0.5]), 3.5)`},
	{Name: "tuple", Params: "x=()", Doc: "Returns a tuple of the elements of x.",
		Example: `assert_eq(tuple([1, 2]), (1, 2))`},
	{Name: "type", Params: "x", Type: "Any -> str", Func: typeName,
		Doc: `Returns the name of a value's type, a string.
The type of messages, tools and other views is "list" or "dict".`,
		Example: `assert_eq(type([]), "list")`},
	{Name: "zip", Params: "*args", Type: "Iterable[Any] -> list[tuple[Any, ...]]", Doc: "Returns tuples of the first elements, the second, and so on, up to the shortest.",
		Example: `assert_eq(zip([1, 2], ["a", "b"]), [(1, "a"), (2, "b")])`},
}

// languageEntries returns the entries of Starlark's own names.
func languageEntries(rt call.Runtime) []call.Entry {
	entries := entriesOf(rt, language)
	for i, m := range language {
		if e := &entries[i]; m.Func == nil && m.Params != "" {
			e.Signature = m.Name + "(" + m.Params + ")"
		}
	}
	return entries
}
