package starnames

import (
	"strings"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// TextOfJSON returns valid JSON as a Starlark expression. The members of objects keep their order.
func TextOfJSON(raw string) string {
	v, err := starlark.Call(&starlark.Thread{}, json.Module.Members["decode"], starlark.Tuple{starlark.String(raw)}, nil)
	if err != nil { // a number that is too large for a float; Starlark writes numbers as JSON does
		return raw
	}
	return v.String()
}

// Quote returns a text as a Starlark string without characters that a terminal obeys.
func Quote(text string) string { return syntax.Quote(strings.ToValidUTF8(text, "\uFFFD"), false) }
