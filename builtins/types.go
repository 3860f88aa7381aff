package builtins

import (
	_ "embed"
	"strings"

	"github.com/starhost/starhost/builtins/call"
)

// Classes is Python code that declares the classes in [TypeOf] with their attributes. It writes
// Python's type bytes as Bytes, because Starlark's function bytes hides that name.
//
//go:embed classes.pyi
var Classes string

// TypeOf returns the types of an entry's parameters, in the order of the signature, and the type of a call's
// result, or of a value that is no function.
func TypeOf(e call.Entry) (params []string, result string) {
	list, result, called := strings.Cut(e.Type, "-> ")
	if !called {
		return nil, e.Type
	}
	return SplitParams(list), result
}

// SplitParams splits the parameters of a signature, without its parentheses, at the commas
// outside of brackets and quotes.
func SplitParams(list string) []string {
	var params []string
	depth, quoted, from := 0, false, 0
	for i, c := range list + "," {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case strings.ContainsRune("([{", c):
			depth++
		case strings.ContainsRune(")]}", c):
			depth--
		case c == ',' && depth == 0:
			if p := strings.TrimSpace(list[from:i]); p != "" {
				params = append(params, p)
			}
			from = i + 1
		}
	}
	return params
}

// viewMethods are the methods of dicts and lists that views have, too.
var viewMethods = map[string][]string{
	"Mapping":  {"clear", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values"},
	"Sequence": {"append", "clear", "extend", "index", "insert", "pop", "remove"},
}

// ClassMembers returns the members of a class in [Classes], or nil if there is no such class. The type of a
// method is "(PARAM, PARAM) -> RESULT". ClassMembers omits Python's operators.
func ClassMembers(class string) []Arg {
	var members []Arg
	inside := false
	for line := range strings.Lines(Classes) {
		if rest, ok := strings.CutPrefix(line, "class "); ok {
			if inside {
				break
			}
			name, base, _ := strings.Cut(strings.TrimRight(rest, ":\n"), "(")
			base, _, _ = strings.Cut(base, "[")
			if inside = name == class; inside {
				for _, method := range viewMethods[base] {
					members = append(members, Arg{Name: method, Type: "(...) -> Any"})
				}
			}
		}
		if member, ok := strings.CutPrefix(line, "    "); inside && ok {
			if m := parseMember(strings.TrimSpace(member)); m.Name != "" && !strings.HasPrefix(m.Name, "__") {
				members = append(members, m)
			}
		}
	}
	return members
}

// parseMember parses a line "name: type" or "def name(self, params) -> type: ...". For a docstring it returns
// no name.
func parseMember(line string) Arg {
	signature, isMethod := strings.CutPrefix(line, "def ")
	if !isMethod {
		name, typ, ok := strings.Cut(line, ": ")
		if !ok || strings.ContainsAny(name, "\" ") {
			return Arg{}
		}
		return Arg{Name: name, Type: typ}
	}
	name, params, _ := strings.Cut(strings.TrimSuffix(signature, ": ..."), "(")
	params = strings.TrimPrefix(strings.TrimPrefix(params, "self"), ", ")
	return Arg{Name: name, Type: "(" + params}
}

// An Arg describes an argument that events have.
type Arg struct {
	// Name is the name by which handlers ask for the argument.
	Name string `json:"name"`
	// Type is the argument's type, in the syntax of [call.Entry.Type].
	Type string `json:"type"`
	// Doc describes the argument in a sentence.
	Doc string `json:"doc"`
}

// Args describes the arguments of all events, in the order of the reference.
func Args() []Arg { return eventArgs }

var eventArgs = []Arg{
	{"session_id", "str", "The id of the session."},
	{"model", "str", "The model that the request goes to."},
	{"platform", "str", `The place of the session: "cli", or a name that the program sets.`},
	{"user_message", "str", "The user's words."},
	{"roles", "list[str]", "The roles of the session."},
	{"workspace", "str", "The absolute folder that the agent works in; empty if starhost does not know it."},
	{"is_first_turn", "bool", "Whether the session begins with this turn."},
	{"messages", "Messages", "The conversation."},
	{"history", "Messages", "The messages of earlier turns, as sent. modify(history = ...) changes them for good."},
	{"tools", "Tools", "The tools on offer."},
	{"options", "dict[str, Any]", "The options for the model's provider, such as temperature."},
	{"round", "int", "The number of the request in its turn, from 1."},
	{"system", "str", "The system text."},
	{"fragments", "FragmentRows", "The fragments of the request, omitted ones included."},
	{"response", "str", "The model's answer."},
	{"usage", "dict[str, int]", "The tokens that the request used."},
	{"tool_calls", "list[dict[str, Any]]", "The calls that the model asked for: id, name and arguments."},
	{"tool", "str", "The tool's name."},
	{"arguments", "dict[str, Any]", "The call's arguments, which cannot be changed in place."},
	{"call", "Call", "The call in words that fit the tools of every agent: kind, command, paths and so on."},
	{"call_id", "str", "The id that the model gave to the call."},
	{"plugin", "str", "The plugin that registered the tool, or for error events the plugin whose handler failed."},
	{"reason", "str", "The reason why approval is needed."},
	{"result", "str", "The text of the result."},
	{"is_error", "bool", "Whether the result is an error."},
	{"duration_ms", "int", "The duration in milliseconds; 0 if an agent does not report it."},
	{"completed", "bool", "Whether there is a final answer."},
	{"interrupted", "bool", "Whether the last turn was interrupted."},
	{"turns", "int", "The number of turns that the session had."},
	{"command", "str", "The command's name."},
	{"args", "list[str]", "The words behind the command."},
	{"path", "str", "The file's path."},
	{"content", "str", "The file's text."},
	{"created", "bool", "Whether the file is new."},
	{"event", "str", "The event, or the kind and name of the called handler."},
	{"message", "str", "The error's message."},
	{"traceback", "str", "The calls that led to the error, one a line."},
}
