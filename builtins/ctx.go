package builtins

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
)

// A ctxValue is `ctx`, or a group of its members such as `ctx.state`. Each call of a handler
// has its own.
type ctxValue struct {
	call  *handlerCall
	group string // "" for ctx itself, or a group such as "state" or "http"
}

func (v *ctxValue) String() string        { return "<" + v.Type() + ">" }
func (v *ctxValue) Freeze()               {}
func (v *ctxValue) Truth() starlark.Bool  { return true }
func (v *ctxValue) Hash() (uint32, error) { return unhashable(v.Type()) }
func (v *ctxValue) Type() string {
	if v.group == "" {
		return "ctx"
	}
	return "ctx." + v.group
}

// AttrNames returns the names of the members, sorted.
func (v *ctxValue) AttrNames() []string {
	var names []string
	for _, m := range ctxMembers {
		rest, ok := strings.CutPrefix("ctx."+m.name, v.Type()+".")
		first, _, _ := strings.Cut(rest, ".")
		if ok && !slices.Contains(names, first) {
			names = append(names, first)
		}
	}
	slices.Sort(names)
	return names
}

func (v *ctxValue) Attr(name string) (starlark.Value, error) {
	full := strings.TrimPrefix(v.group+"."+name, ".")
	for _, m := range ctxMembers {
		switch {
		case m.name == full && m.get != nil:
			return m.get(v.call)
		case m.name == full:
			return v.method(m), nil
		case strings.HasPrefix(m.name, full+"."):
			return &ctxValue{v.call, full}, nil
		}
	}
	return nil, nil
}

// method returns a member of ctx that is a function.
func (v *ctxValue) method(m ctxMember) starlark.Value {
	full := "ctx." + m.name
	h := v.call
	return starlark.NewBuiltin(full, func(
		th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
	) (starlark.Value, error) {
		c := call.Call{Runtime: h.rec.rt, Thread: th, Name: full, Args: args, Kwargs: kwargs}
		if err := c.Pay(1, 64); err != nil {
			return nil, err
		}
		return m.call(c, h)
	}).BindReceiver(v)
}

// A ctxMember describes one member of ctx. Exactly one of get and call is set.
type ctxMember struct {
	name    string // the name in ctx: "session", "state.get"
	params  string // the parameters, if the member is a function
	typ     string // see [call.Entry.Type]
	doc     string
	example string
	get     func(*handlerCall) (starlark.Value, error)
	call    func(call.Call, *handlerCall) (starlark.Value, error)
}

// entry returns the entry of the member for the reference. It has no value, because each call has its own
// ctx.
func (m ctxMember) entry() call.Entry {
	e := call.Entry{Name: "ctx." + m.name, Type: m.typ, Doc: m.doc, Example: m.example}
	if m.call != nil {
		e.Signature = e.Name + "(" + m.params + ")"
	}
	return e
}

var ctxMembers = []ctxMember{
	{name: "session", typ: "str", doc: "The id of the session, a string.",
		example: `assert_eq(type(ctx.session), "string")`,
		get:     func(h *handlerCall) (starlark.Value, error) { return starlark.String(h.turn.Session().ID()), nil }},
	{name: "turn", typ: "int", doc: "The number of the turn in its session, from 1.",
		example: `assert_eq(ctx.turn, 1)`,
		get:     func(h *handlerCall) (starlark.Value, error) { return starlark.MakeInt(h.turn.Number()), nil }},
	{name: "plugin", typ: "str", doc: "The name of the plugin.",
		example: `assert_eq(type(ctx.plugin), "string")`,
		get:     func(h *handlerCall) (starlark.Value, error) { return starlark.String(h.rec.plugin.Name), nil }},
	{name: "config", typ: "Any", doc: "The plugin's settings: the same value as config.",
		example: `assert_eq(ctx.config, config)`,
		get:     func(h *handlerCall) (starlark.Value, error) { return h.rec.config, nil }},
	{name: "now", typ: "str", doc: "The time of the event, as RFC 3339 text in UTC.\nAll handlers of one event get the same value; each tool call has a separate one.",
		example: `assert_eq(ctx.now[10], "T")
assert_eq(ctx.now[-1], "Z")`,
		get: ctxNow},
	{name: "log", params: "level, msg, **fields", typ: "str, str, Any -> None",
		doc: `Writes a line to the host's log, with fields by name.
level is "debug", "info", "warn" or "error"; fields are JSON values. A call of a handler may
write 1,000 lines with 256 KiB together. Bytes that are not UTF-8 become U+FFFD. print(...) is
ctx.log("info", ...), but drops lines over the limit.`,
		example: `assert_eq(ctx.log("info", "restarted", service = "checkout"), None)`,
		call:    ctxLog},
	{name: "progress", params: `done, total=0, message=""`, typ: "float, float, str -> None",
		doc: `Reports the call's progress to its caller: done of total.
The numbers have any unit, and done grows; 0 stands for an unknown total. The message is for
people. starhost passes reports on to MCP clients that ask for progress. They do not change the
call.`,
		example: `assert_eq(ctx.progress(1, 3, "restarting checkout"), None)`,
		call:    ctxProgress},
	{name: "random", params: "n", typ: "int -> int",
		doc: `Draws an int from 0 up to n - 1.
It depends only on session, turn, plugin and call, so that a repeated turn draws the same
number. Anyone who has these can predict it, so do not use it for keys.`,
		example: `assert_eq(ctx.random(1), 0)
assert_eq(ctx.random(6) < 6, True)`,
		call: ctxRandom},
	{name: "uuid", typ: "-> str", doc: "Draws a text in the form of a version 4 UUID, as ctx.random draws.",
		example: `assert_eq(len(ctx.uuid()), 36)`,
		call:    ctxUUID},
	{name: "state.get", params: "key, default=None", typ: "str, Any -> Any",
		doc:     "Returns the value that the plugin stored in this session under a key, or the default.\nEach call returns a new copy.",
		example: "assert_eq(ctx.state.get(\"seen\", []), [])",
		call:    sessionState.getValue},
	{name: "state.set", params: "key, value", typ: "str, Any -> None",
		doc: `Stores a JSON value under a key, for this plugin and session.
All keys and values of a plugin may have 1 MiB together in a session, and are deleted with
it.`,
		example: `ctx.state.set("seen", ["checkout"])
assert_eq(ctx.state.get("seen"), ["checkout"])`,
		call: sessionState.setValue},
	{name: "state.delete", params: "key", typ: "str -> bool",
		doc: "Deletes a key, and reports whether it existed.",
		example: `ctx.state.set("seen", 1)
assert_eq(ctx.state.delete("seen"), True)
assert_eq(ctx.state.delete("seen"), False)`,
		call: sessionState.deleteValue},
	{name: "state.keys", typ: "-> list[str]",
		doc: "Returns the stored keys, sorted.",
		example: `ctx.state.set("b", 1)
ctx.state.set("a", 2)
assert_eq(ctx.state.keys(), ["a", "b"])`,
		call: sessionState.listKeys},
	{name: "store.get", params: "key, default=None", typ: "str, Any -> Any",
		doc: `Returns the value that the plugin stored across sessions under a key, or the default.
Each call returns a new copy. All members of ctx.store need the permission store. The config's
store.url names the database. In golden cases, the values end with the case.`,
		example: "assert_eq(ctx.store.get(\"seen\", []), [])",
		call:    pluginStore.getValue},
	{name: "store.set", params: "key, value", typ: "str, Any -> None",
		doc: `Stores a JSON value under a key, for this plugin, across sessions.
A key has at most 512 bytes, a value 1 MiB, and all keys and values of a plugin 64 MiB, unless
the config says otherwise (store.max_plugin).`,
		example: `ctx.store.set("seen", ["checkout"])
assert_eq(ctx.store.get("seen"), ["checkout"])`,
		call: pluginStore.setValue},
	{name: "store.add", params: "key, n", typ: "str, int -> int",
		doc: `Adds an int to the value of a key, and returns the sum.
A key without a value counts as 0. The sum has 64 bits. No two calls lose an update, also if they
run in several processes. In a dry run, it returns the sum that it would store.`,
		example: `assert_eq(ctx.store.add("calls", 1), 1)
assert_eq(ctx.store.add("calls", 2), 3)`,
		call: addToStore},
	{name: "store.swap", params: "key, old, new", typ: "str, Any, Any -> bool",
		doc: `Stores new if the value of the key still equals old, and reports whether it did.
None stands for no value: as old it matches a key without one, as new it deletes the key. The order
of a dict does not matter, but 1 does not equal 1.0.`,
		example: `assert_eq(ctx.store.swap("owner", None, "ada"), True)
assert_eq(ctx.store.swap("owner", None, "bob"), False)
assert_eq(ctx.store.swap("owner", "ada", None), True)`,
		call: swapInStore},
	{name: "store.delete", params: "key", typ: "str -> bool",
		doc: "Deletes a key, and reports whether it existed.",
		example: `ctx.store.set("seen", 1)
assert_eq(ctx.store.delete("seen"), True)`,
		call: pluginStore.deleteValue},
	{name: "store.keys", typ: "-> list[str]",
		doc:     "Returns the stored keys, sorted.",
		example: `assert_eq(ctx.store.keys(), [])`,
		call:    pluginStore.listKeys},
	{name: "env", params: "name", typ: "str -> str | None",
		doc: `Returns an environment variable, or None if it is not set.
Needs the permission env:NAME. Use ctx.secret for secrets.`,
		example: `assert_eq(ctx.env("REGION"), "eu-1")
assert_eq(ctx.env("ZONE") or "a", "a")`,
		call: ctxEnv},
	{name: "secret", params: "name", typ: "str -> Secret",
		doc: `Returns a secret, which a plugin can send but not read.
"Bearer " + secret and secret + "\n" are secrets, too. A plugin can use a secret only in headers,
params and auth of ctx.http, and in env and stdin of ctx.exec. Everywhere else it is an error or the
text "<secret NAME>". Needs the permission secret:NAME, or secret:NAME@HOST for requests to one host.`,
		example: `token = "Bearer " + ctx.secret("PAGER_TOKEN")
assert_eq(str(token), "Bearer <secret PAGER_TOKEN>")
assert_fails(lambda: json.encode(token), "secret")`,
		call: ctxSecret},
	{name: "http.get", params: httpParams, typ: "str, " + httpTypes,
		doc: `Sends a GET request, and returns the response whatever its status.
params are added to the URL; auth is a pair (user, password); timeout is in seconds, by default
30. A response has .status, .headers (names in lower case), .text, .body (bytes)
and .json(). Redirects are followed, each under the plugin's permissions. Needs the
permission http:HOST, or http:[METHODS ]HOST[:PORT][/PATH*].`,
		example: `reply = ctx.http.get("https://pager.internal/oncall", params = {"team": "checkout"},
                     headers = {"Authorization": "Bearer " + ctx.secret("PAGER_TOKEN")})
assert_eq(reply.status, 200)
assert_eq(reply.json()["name"], "Ada")`,
		call: sendRequest("GET")},
	{name: "http.post", params: httpBodyParams, typ: "str, str | Bytes | None, Any, " + httpTypes,
		doc: `Sends a POST request with a body, text or bytes, or with a value as JSON.
All else is as in ctx.http.get. Needs the permission http:POST HOST.`,
		example: `reply = ctx.http.post("https://pager.internal/page", json = {"team": "checkout"})
assert_eq((reply.status, reply.text), (201, "paged"))`,
		call: sendRequest("POST")},
	{name: "http.request", params: "method, " + httpBodyParams, typ: "str, str, str | Bytes | None, Any, " + httpTypes,
		doc: `Sends a request with any method.
All else is as in ctx.http.post. Loaders can only send GET and HEAD.`,
		example: `reply = ctx.http.request("HEAD", "https://pager.internal/oncall")
assert_eq(reply.headers["content-type"], "application/json")`,
		call: sendRequest("")},
	{name: "exec", params: `argv, stdin="", env={}, timeout=None`, typ: "list[str], str | bytes | Secret, dict[str, str | int | Secret], float | None -> Any",
		doc: `Runs a program and waits for its end, whatever its exit code.
argv is a list: there is no shell. starhost searches the program in a fixed PATH and gives it a
clean environment with env added. stdin is a string, bytes or a secret. timeout is in seconds,
by default 30; it kills the program and all that it started. Returns .stdout and .stderr, at most
1 MiB of text each, and .code. .stdout_bytes has the bytes of an output that is no text, such as a
picture, because .stdout has U+FFFD in place of bytes that are not UTF-8. Needs the permission
exec:ARGV.`,
		example: `out = ctx.exec(["kubectl", "get", "pods"])
assert_eq((out.code, out.stdout), (0, "checkout-1\n"))
assert_eq(out.stdout_bytes, b"checkout-1\n")`,
		call: ctxExec},
	{name: "tools.call", params: "name, **arguments", typ: "str, Any -> Any",
		doc: `Calls a tool as the model would: schema, hooks, approval and limits included.
Returns .output, the text that the model would read, .is_error and .attachments. is_error
is also True if a hook denied the call. Calls nest at most 8 deep and share the caller's budget.
Needs the permission tool:NAME.`,
		example: `reply = ctx.tools.call("echo", text = "hi")
assert_eq((reply.output, reply.is_error), ("hi", False))`,
		call: toolsCall},
	{name: "fire", params: "name, **args", typ: "str, Any -> list[Any]",
		doc: `Fires an event that the plugin declares, and returns the values of its handlers.
The plugin declares it by plugin(events = {"app.PLUGIN.NAME": ["arg"]}). Handlers of any
plugin return a JSON value each; the result is the list of those that are not None, in the order
of the handlers. A handler that fails is logged and skipped. The arguments are JSON of at most 64
KiB, and so is each value. Calls nest at most 8 deep and share the caller's budget. Needs the
permission event:app.PLUGIN.NAME.`,
		example: `assert_eq(ctx.fire("app.test.greeted", name = "Ada"), ["Hello Ada."])`,
		call:    ctxFire},
	{name: "fragments.get", params: "ref", typ: "str -> list[Fragment | Attachment]",
		doc: `Resolves a reference, and returns its fragments and attachments as a list.
Needs the permission fragment:PREFIX. sha256:ID and aliases, which stand for stored contents of
earlier prompts, need fragment:sha256. Files and URLs need the plugin's permissions for
them.`,
		example: `assert_eq([f.content for f in ctx.fragments.get("greeting:Ada")], ["Hello Ada."])`,
		call:    fragmentsGet},
	{name: "fs.read", params: "path, default=...", typ: "str, Any -> str | Any",
		doc: `Returns the text of a file of the workspace.
path is relative to the workspace, with "/". A file that is missing, or that is not text in UTF-8,
is an error, unless default is given: then the result is default. Needs the permission
fs.read:GLOB.`,
		example: `assert_eq(ctx.fs.read("runbooks/checkout.md"), "Check the gateway.")
assert_eq(ctx.fs.read("runbooks/none.md", default = None), None)
texts = [ctx.fs.read(p, default = None) for p in ctx.fs.glob("runbooks/**")]
assert_eq([t for t in texts if t != None], ["Check the gateway."])`,
		call: fsRead},
	{name: "fs.read_bytes", params: "path", typ: "str -> Bytes",
		doc:     "Returns the bytes of a file of the workspace.\nNeeds the permission fs.read:GLOB.",
		example: `assert_eq(ctx.fs.read_bytes("runbooks/checkout.md")[:5], b"Check")`,
		call:    fsReadBytes},
	{name: "fs.glob", params: "pattern", typ: "str -> list[str]",
		doc: `Returns the files of the workspace that match, sorted by the bytes of the path.
"*" matches within a name, "**" any folders. Names that begin with a dot match only if the
pattern contains the dot. The list omits files that the plugin may not read.`,
		example: `assert_eq(ctx.fs.glob("runbooks/*.md"), ["runbooks/checkout.md"])`,
		call:    fsGlob},
	{name: "fs.exists", params: "path", typ: "str -> bool",
		doc:     "Reports whether the workspace has a file or folder.\nNeeds the permission fs.read:GLOB.",
		example: `assert_eq(ctx.fs.exists("runbooks/checkout.md"), True)`,
		call:    fsExists},
	{name: "fs.stat", params: "path", typ: "str -> Any",
		doc:     "Returns name, size in bytes and is_dir of a file of the workspace.\nNeeds the permission fs.read:GLOB.",
		example: `assert_eq(ctx.fs.stat("runbooks/checkout.md").size, 18)`,
		call:    fsStat},
	{name: "fs.write", params: "path, content", typ: "str, str | Bytes -> None",
		doc: `Writes a file of the workspace, text or bytes: the whole of it or nothing.
It creates missing folders. It refuses to write the config and the files of plugins and
libraries, whatever the permission says. It writes a file or folder whose name begins with a dot
only if the permission spells the dot, as in fs.write:.github/*. Needs the permission
fs.write:GLOB.`,
		example: `ctx.fs.write("reports/today.md", "All is well.")
assert_eq(ctx.fs.read("reports/today.md"), "All is well.")`,
		call: fsWrite},
}

// ctxEntries returns the entries of ctx and its members for the reference. They have no values, because
// handlers receive ctx as an argument.
func ctxEntries() []call.Entry {
	entries := []call.Entry{{
		Name: "ctx", Type: "Ctx",
		Doc: `Effects outside the plugin, for a handler with a parameter of that name.
A handler without it is a pure function of its arguments. Loaders cannot use members that
write, because loaders run in parallel. The examples of the members below are lines of such a
handler.`,
		Example: `def greet(ctx):
    """Greets the user of the session."""
    return "Hello from session " + ctx.session

register_tool(greet)`,
		Check: `assert_eq(type(greet), "function")`,
	}}
	for _, m := range ctxMembers {
		entries = append(entries, m.entry())
	}
	return entries
}

// runEffect calls work, which does an effect, while the clock of the run stands still, because an effect has
// a deadline of its own. The effect charges the run for its work.
func runEffect[T any](c call.Call, work func(ctx context.Context) (T, error)) (T, error) {
	goOn := c.Runtime.Pause(c.Thread)
	got, err := work(effects.WithPay(c.Runtime.Context(c.Thread), c.Pay))
	goOn()
	return got, err
}

// encodeJSON converts an argument to JSON. It pays for each part before it writes the part. Errors begin with
// the name arg, which is "" if v is the only argument of the call.
func encodeJSON(c call.Call, arg string, v starlark.Value) (json.RawMessage, error) {
	p := textPayer{Call: c}
	if err := p.value(v, 0); err != nil {
		return nil, err
	}
	raw, err := toJSON(v)
	if err != nil {
		return nil, c.Fail("E0204", "%s%v", argumentPrefix(arg), err)
	}
	return raw, nil
}

// argumentPrefix returns how a message about an argument begins.
func argumentPrefix(arg string) string {
	if arg == "" {
		return ""
	}
	return arg + ": "
}

// decodeJSON converts JSON to Starlark. It pays for the value before it decodes the text.
func decodeJSON(c call.Call, raw []byte) (starlark.Value, error) {
	if err := c.Pay(1+len(raw)/16, 0); err != nil {
		return nil, err
	}
	bytes := decodedBytes(string(raw))
	if err := c.Pay(len(raw)/16+bytes/128, bytes); err != nil {
		return nil, err
	}
	return readJSON(raw, func(steps int) error { return c.Pay(steps, 0) })
}

// textsSize returns the bytes that a list of texts takes.
func textsSize(list []string) int {
	size := 64 * len(list)
	for _, s := range list {
		size += len(s)
	}
	return size
}

func stringList(list []string) *starlark.List {
	elems := make([]starlark.Value, len(list))
	for i, s := range list {
		elems[i] = starlark.String(s)
	}
	return starlark.NewList(elems)
}
