package builtins

import (
	_ "embed"
	"slices"
	"strings"
)

// A Type describes the type of an entry for editors, in the syntax of Python's typing.
type Type struct {
	// Params are the types of the parameters, in the order of the signature. The type of *args
	// or **kwargs is the type of each value.
	Params []string
	// Result is the type of a call's result, or of a value that is no function.
	Result string
}

// Classes is Python code that declares the classes in [TypeOf] with their attributes. It writes
// Python's type bytes as Bytes, because Starlark's function bytes hides that name.
//
//go:embed classes.pyi
var Classes string

// TypeOf returns the type of an entry of [Table] or [CaseTable]. ok is false for names that mean the same in
// Python.
func TypeOf(name string) (Type, bool) {
	i := slices.IndexFunc(types, func(t typeRow) bool { return t.name == name })
	if i < 0 {
		return Type{}, false
	}
	params, result, called := strings.Cut(types[i].text, "-> ")
	if !called {
		return Type{Result: params}, true
	}
	return Type{SplitParams(params), result}, true
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

// A typeRow is the type of one entry: "PARAM, PARAM -> RESULT", or the type of a
// value.
type typeRow struct{ name, text string }

var types = []typeRow{
	{"plugin", "int, str | None, str | None, str | None, str | None, list[str], list[str | dict[str, Any]], list[str], dict[str, Any], dict[str, list[str]] -> None"},
	{"register_tool", "Callable[..., Any], str | None, str | None, dict[str, Any] | None, str | None, float | None, str, Callable[..., bool] | None, str | list[str] | None, bool, str | list[str] | None, dict[str, Any] | None -> None"},
	{"register_hook", "str, Callable[..., Any], int, str | list[str] | None, str | list[str] | None, str | None -> None"},
	{"register_guard", "str -> None"},
	{"register_fragment_loader", "str, Callable[..., Any], str | None -> None"},
	{"register_template_loader", "str, Callable[..., Template] -> None"},
	{"register_command", "str, Callable[..., Any], str | None, str | list[str], Callable[..., list[str] | None] | None -> None"},
	{"register_skill", "str, str | None, str | None -> None"},
	{"register_model", "str, str, str | list[str], str, str | None, str | list[str], dict[str, str], str | None, int, str | list[str] -> None"},

	{"fragment", "str, str, str, int, str -> Fragment"},
	{"attachment", "str | Bytes | None, str | None, str | None, str | None, str | None -> Attachment"},
	{"result", "Any, str, bool, bool, list[Attachment], bool -> Result"},
	{"template", "str, str, str | None, str | list[str], str | list[str], list[Attachment], str | list[str], dict[str, Any], dict[str, Any] -> Template"},

	{"deny", "str -> Decision"},
	{"ask", "str -> Decision"},
	{"approve", "-> Decision"},
	{"respond", "Any -> Decision"},
	{"modify", "Any -> Decision"},
	{"abort", "str -> Decision"},
	{"end_session", "str -> Decision"},

	{"config", "Any"},

	{"ctx", "Ctx"},
	{"ctx.session", "str"},
	{"ctx.turn", "int"},
	{"ctx.plugin", "str"},
	{"ctx.config", "Any"},
	{"ctx.now", "str"},
	{"ctx.log", "str, str, Any -> None"},
	{"ctx.progress", "float, float, str -> None"},
	{"ctx.random", "int -> int"},
	{"ctx.uuid", "-> str"},
	{"ctx.state.get", "str, Any -> Any"},
	{"ctx.state.set", "str, Any -> None"},
	{"ctx.state.delete", "str -> bool"},
	{"ctx.state.keys", "-> list[str]"},
	{"ctx.store.get", "str, Any -> Any"},
	{"ctx.store.set", "str, Any -> None"},
	{"ctx.store.add", "str, int -> int"},
	{"ctx.store.swap", "str, Any, Any -> bool"},
	{"ctx.store.delete", "str -> bool"},
	{"ctx.store.keys", "-> list[str]"},
	{"ctx.env", "str -> str | None"},
	{"ctx.secret", "str -> Secret"},
	{"ctx.http.get", "str, dict[str, str | int | Secret], dict[str, str | int | Secret], tuple[str | Secret, str | Secret] | None, float | None -> Response"},
	{"ctx.http.post", "str, str | Bytes | None, Any, dict[str, str | int | Secret], dict[str, str | int | Secret], tuple[str | Secret, str | Secret] | None, float | None -> Response"},
	{"ctx.http.request", "str, str, str | Bytes | None, Any, dict[str, str | int | Secret], dict[str, str | int | Secret], tuple[str | Secret, str | Secret] | None, float | None -> Response"},
	{"ctx.exec", "list[str], str | bytes | Secret, dict[str, str | int | Secret], float | None -> Any"},
	{"ctx.tools.call", "str, Any -> Any"},
	{"ctx.fire", "str, Any -> list[Any]"},
	{"ctx.fragments.get", "str -> list[Fragment | Attachment]"},
	{"ctx.fs.read", "str, Any -> str | Any"},
	{"ctx.fs.read_bytes", "str -> Bytes"},
	{"ctx.fs.glob", "str -> list[str]"},
	{"ctx.fs.exists", "str -> bool"},
	{"ctx.fs.stat", "str -> Any"},
	{"ctx.fs.write", "str, str | Bytes -> None"},

	{"call", "Call"},
	{"messages", "Messages"},
	{"tools", "Tools"},
	{"fragments", "FragmentRows"},

	{"files.read", "str -> str"},
	{"files.read_bytes", "str -> Bytes"},
	{"files.glob", "str -> list[str]"},
	{"files.exists", "str -> bool"},

	{"json.encode", "Any -> str"},
	{"json.encode_indent", "Any, str, str -> str"},
	{"json.decode", "str | Bytes, Any -> Any"},
	{"json.indent", "str, str, str -> str"},

	{"math.ceil", "float -> int"},
	{"math.copysign", "float, float -> float"},
	{"math.fabs", "float -> float"},
	{"math.floor", "float -> int"},
	{"math.mod", "float, float -> float"},
	{"math.pow", "float, float -> float"},
	{"math.remainder", "float, float -> float"},
	{"math.round", "float -> float"},
	{"math.exp", "float -> float"},
	{"math.sqrt", "float -> float"},
	{"math.acos", "float -> float"},
	{"math.asin", "float -> float"},
	{"math.atan", "float -> float"},
	{"math.atan2", "float, float -> float"},
	{"math.cos", "float -> float"},
	{"math.hypot", "float, float -> float"},
	{"math.sin", "float -> float"},
	{"math.tan", "float -> float"},
	{"math.degrees", "float -> float"},
	{"math.radians", "float -> float"},
	{"math.acosh", "float -> float"},
	{"math.asinh", "float -> float"},
	{"math.atanh", "float -> float"},
	{"math.cosh", "float -> float"},
	{"math.sinh", "float -> float"},
	{"math.tanh", "float -> float"},
	{"math.log", "float, float -> float"},
	{"math.gamma", "float -> float"},
	{"math.e", "float"},
	{"math.pi", "float"},

	{"time.parse_time", "str, str, str -> Time"},
	{"time.time", "int, int, int, int, int, int, int, str -> Time"},
	{"time.from_timestamp", "int, int -> Time"},
	{"time.is_valid_timezone", "str -> bool"},
	{"time.parse_duration", "str -> Duration"},
	{"time.nanosecond", "Duration"},
	{"time.microsecond", "Duration"},
	{"time.millisecond", "Duration"},
	{"time.second", "Duration"},
	{"time.minute", "Duration"},
	{"time.hour", "Duration"},

	{"re.search", "str, str -> Match | None"},
	{"re.match", "str, str -> Match | None"},
	{"re.fullmatch", "str, str -> Match | None"},
	{"re.findall", "str, str -> list[Any]"},
	{"re.finditer", "str, str -> list[Match]"},
	{"re.split", "str, str, int -> list[Any]"},
	{"re.sub", "str, str | Callable[[Match], str], str, int -> str"},
	{"re.escape", "str -> str"},

	{"text.dedent", "str -> str"},
	{"text.indent", "str, str -> str"},
	{"text.wrap", "str, int -> list[str]"},
	{"text.truncate", "str, int, str -> str"},
	{"text.fence", "str, str -> str"},
	{"text.pad", "str, int, str -> str"},
	{"text.format_number", "float, int | None, str -> str"},
	{"text.markdown_table", "Sequence[Any], Sequence[str] | None -> str"},
	{"text.split_sections", "str -> list[Any]"},

	{"yaml.decode", "str, str, str -> Any"},
	{"yaml.decode_all", "str, str, str -> list[Any]"},
	{"yaml.tagged", "str, Any -> Tagged"},
	{"yaml.encode", "Any -> str"},

	{"toml.decode", "str, str -> dict[str, Any]"},
	{"toml.encode", "Any -> str"},

	{"csv.decode", "str, bool, str, str -> list[Any]"},
	{"csv.encode", "Iterable[Any], str -> str"},

	{"base64.encode", "str | Bytes, bool, bool -> str"},
	{"base64.decode", "str | Bytes, bool -> Bytes"},

	{"hash.sha256", "str | Bytes -> str"},
	{"hash.sha512", "str | Bytes -> str"},
	{"hash.sha1", "str | Bytes -> str"},
	{"hash.md5", "str | Bytes -> str"},

	{"shell.parse", "str, str, Any | None, str | None, Sequence[str] | None -> Any"},
	{"shell.runs", "Any, str, str | Sequence[str] -> str"},
	{"shell.flag", "Any, str -> bool | None"},
	{"shell.option", "Any, str, bool -> str | list[str | None] | None"},
	{"shell.quote", "Iterable[str] -> str"},

	{"struct", "Any -> Any"},

	{"bytes", "str | Iterable[int] -> Bytes"},
	{"enumerate", "Iterable[Any], int -> list[tuple[int, Any]]"},
	{"fail", "Any, str -> NoReturn"},
	{"reversed", "Iterable[Any] -> list[Any]"},
	{"sum", "Iterable[int | float], int | float -> int | float"},
	{"type", "Any -> str"},
	{"zip", "Iterable[Any] -> list[tuple[Any, ...]]"},

	{"prompt", "str, list[str], list[str], list[Attachment], str, list[str], str, dict[str, Any], str, dict[str, Any], bool -> Any"},
	{"turn", "str, list[Any], list[bool], list[str], list[str], list[Attachment], str, list[str], str, dict[str, Any], str, dict[str, Any], bool -> Any"},
	{"tool_call", "str, Any -> Any"},
	{"call_tool", "str, list[bool], Any -> Any"},
	{"fire", "str, Any -> Any"},
	{"hook", "str, dict[str, Any] | str -> Any"},
	{"command", "str, list[bool] -> Any"},
	{"render_template", "str, str, Any -> Template"},
	{"load_fragments", "str -> list[Any]"},
	{"advance", "int, int, int, int -> None"},
	{"row", "str -> Any"},
	{"set_now", "str -> None"},
	{"complete_command", "str -> list[str]"},
	{"assert_eq", "Any, Any -> None"},
	{"assert_contains", "Any, Any -> None"},
	{"assert_fails", "Callable[[], Any], str -> str"},
}

// An Arg describes an argument that events have.
type Arg struct {
	// Name is the name by which handlers ask for the argument.
	Name string
	// Type is the argument's type, in the syntax of [Type].
	Type string
	// Doc describes the argument in a sentence.
	Doc string
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
