package builtins

import (
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starhost/starhost/builtins/call"
)

// ArgumentValue converts an argument of an event for handlers.
var ArgumentValue = argumentValue

// Modules returns the values of entries, by the names that a file uses. It groups members such as "text.wrap"
// into frozen modules, and omits entries without a Value.
func Modules(entries []call.Entry) starlark.StringDict {
	env := starlark.StringDict{}
	for _, e := range entries {
		module, member, dotted := strings.Cut(e.Name, ".")
		switch {
		case e.Value == nil:
		case !dotted:
			env[e.Name] = e.Value
		case env[module] == nil:
			env[module] = &starlarkstruct.Module{Name: module, Members: starlark.StringDict{member: e.Value}}
		default:
			env[module].(*starlarkstruct.Module).Members[member] = e.Value
		}
	}
	env.Freeze()
	return env
}
