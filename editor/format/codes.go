package format

import "github.com/starhost/starhost/starlark"

// Codes explain the codes that only this package reports.
var Codes = []starlark.Code{
	{Code: "E0711", Title: "a file that the formatter cannot keep",
		Text: "The file is valid Starlark, but has something that the formatter does not know or would write in a way that Starlark cannot read. " +
			"The file stays as it is. Write that part in another way: bytes have no literal in Bazel's Starlark.",
		Bad:  "MAGIC = b\"PNG\"\n",
		Good: "MAGIC = bytes(\"PNG\")\n"},
}
