package builtins

// language describes the names that Starlark itself has. Where fn is nil, the
// evaluator's own is meant.
var language = []modMember{
	{name: "None", doc: "The value that says nothing.",
		example: `assert_eq(None == False, False)`},
	{name: "True", doc: "The truth.\nIt is no number: True + 1 is an error.",
		example: `assert_eq(not False, True)`},
	{name: "False", doc: "The opposite of True.",
		example: `assert_eq(bool(""), False)`},
	{name: "abs", params: "x", doc: "Returns the absolute value of a number.",
		example: `assert_eq(abs(-3), 3)`},
	{name: "all", params: "x", doc: "Reports whether all elements are true.",
		example: `assert_eq(all([1, "a"]), True)`},
	{name: "any", params: "x", doc: "Reports whether an element is true.",
		example: `assert_eq(any([0, ""]), False)`},
	{name: "bool", params: "x=False", doc: "Converts a value to True or False: 0, None and what is empty are false.",
		example: `assert_eq(bool([0]), True)`},
	{name: "bytes", params: "x", doc: "Converts a string, or ints from 0 to 255, to bytes.",
		example: `assert_eq(bytes("hi"), b"hi")`},
	{name: "chr", params: "i", doc: "Returns the character of a code point.",
		example: `assert_eq(chr(65), "A")`},
	{name: "dict", params: "x={}, **fields", doc: "Makes a dict of pairs or of another dict, and of fields by name.",
		example: `assert_eq(dict([("a", 1)], b = 2), {"a": 1, "b": 2})`},
	{name: "dir", params: "x", doc: "Lists the names of a value's fields and methods.",
		example: `assert_eq("upper" in dir(""), True)`},
	{name: "enumerate", params: "x, start=0", doc: "Returns the elements with their numbers.",
		example: `assert_eq(enumerate(["a"], 1), [(1, "a")])`},
	{name: "fail", params: `*args, sep=" "`, fn: raiseFail, whole: true,
		doc: `Ends the call with a message.
From a tool, the model gets the message alone, as a result that is an error; any
other handler fails. What of the message is not UTF-8, as of a character cut in two,
becomes U+FFFD.`,
		example: `assert_eq(assert_fails(lambda: fail("no", "ticket"), "ticket"), "fail: no ticket")`},
	{name: "float", params: "x=0", doc: "Converts a number, or the text of one, to a float.",
		example: `assert_eq(float("1.5"), 1.5)`},
	{name: "getattr", params: "x, name, default=None", doc: "Returns a field or method by name.\nOne that is missing is an error unless a default is given.",
		example: `assert_eq(getattr(struct(a = 1), "b", 2), 2)`},
	{name: "hasattr", params: "x, name", doc: "Reports whether a value has a field or method of that name.",
		example: `assert_eq(hasattr("", "upper"), True)`},
	{name: "int", params: "x=0, base=10", doc: "Converts a number, or the text of one, to an int.\nA float is cut towards zero.",
		example: `assert_eq(int("ff", 16), 255)`},
	{name: "len", params: "x", doc: "Returns the number of elements, or of a string's bytes.",
		example: `assert_eq(len([1, 2]), 2)`},
	{name: "list", params: "x=[]", doc: "Makes a list of the elements of something.",
		example: `assert_eq(list((1, 2)), [1, 2])`},
	{name: "max", params: "*args, key=None", doc: "Returns the largest of its arguments, or of the elements of one.",
		example: `assert_eq(max([1, 3, 2]), 3)`},
	{name: "min", params: "*args, key=None", doc: "Returns the smallest of its arguments, or of the elements of one.",
		example: `assert_eq(min(2, 1), 1)`},
	{name: "ord", params: "s", doc: "Returns the code point of a string of one character.",
		example: `assert_eq(ord("A"), 65)`},
	{name: "print", params: `*args, sep=" "`, doc: `Writes to the host's log: in a handler it is ctx.log("info", ...).`,
		example: `assert_eq(print("loaded"), None)`},
	{name: "range", params: "start, stop, step=1", doc: "Returns the ints from start up to, and without, stop; range(n) begins at 0.",
		example: `assert_eq(list(range(1, 4)), [1, 2, 3])`},
	{name: "repr", params: "x", doc: "Returns a value as a file would spell it.",
		example: `assert_eq(repr("a"), '"a"')`},
	{name: "reversed", params: "x", doc: "Returns the elements from the last to the first, as a list.",
		example: `assert_eq(reversed([1, 2]), [2, 1])`},
	{name: "set", params: "x=[]", doc: "Makes a set of the elements of something, in their order.",
		example: `assert_eq(list(set([1, 2, 1])), [1, 2])`},
	{name: "sorted", params: "x, key=None, reverse=False", doc: "Returns the elements as a sorted list; equal ones stay in their order.",
		example: `assert_eq(sorted(["b", "a"]), ["a", "b"])`},
	{name: "str", params: "x", doc: "Returns a string as it is, and any other value as repr does.",
		example: `assert_eq(str(1.0), "1.0")`},
	{name: "tuple", params: "x=()", doc: "Makes a tuple of the elements of something.",
		example: `assert_eq(tuple([1, 2]), (1, 2))`},
	{name: "type", params: "x", fn: typeName,
		doc: `Returns the name of a value's type, a string.
Messages, tools and other arguments that stand for a list or a dict say so.`,
		example: `assert_eq(type([]), "list")`},
	{name: "zip", params: "*args", doc: "Returns tuples of the first elements, the second, and so on, up to the shortest.",
		example: `assert_eq(zip([1, 2], ["a", "b"]), [(1, "a"), (2, "b")])`},
}

// languageEntries describes the language's own names.
func languageEntries(rt Runtime) []Entry {
	entries := entriesOf(rt, language)
	for i, m := range language {
		if e := &entries[i]; m.fn == nil && m.params != "" {
			e.Signature = m.name + "(" + m.params + ")"
		}
	}
	return entries
}
