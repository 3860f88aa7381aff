package builtins

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// A ctxValue is `ctx`, or a group of its members such as `ctx.state`. It belongs
// to one call of a handler.
type ctxValue struct {
	call  *handlerCall
	group string // "", "state", "fs"
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
			return m.get(v.call), nil
		case m.name == full:
			return v.method(m), nil
		case strings.HasPrefix(m.name, full+"."):
			return &ctxValue{v.call, full}, nil
		}
	}
	return nil, nil
}

// method returns a member that is called. The effects of loaders may not be
// seen by others: they run beside each other.
func (v *ctxValue) method(m ctxMember) starlark.Value {
	full := "ctx." + m.name
	h := v.call
	return starlark.NewBuiltin(full, func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		c := modCall{rt: h.rec.rt, th: th, name: full, args: args, kwargs: kwargs}
		if m.writes && h.lane.ReadOnly {
			return nil, c.fail("E0314", "got a call in a loader, which only reads: they run beside each other")
		}
		if err := c.pay(1, 64); err != nil {
			return nil, err
		}
		return m.call(c, h)
	}).BindReceiver(v)
}

// A ctxMember describes one member of ctx. Exactly one of get and call is set.
type ctxMember struct {
	name    string // "session", "state.get"
	params  string // of a member that is called
	doc     string
	example string
	get     func(*handlerCall) starlark.Value
	call    func(modCall, *handlerCall) (starlark.Value, error)
	writes  bool // not for loaders
}

// entry describes the member for readers; the value comes with each call.
func (m ctxMember) entry() Entry {
	e := Entry{Name: "ctx." + m.name, Doc: m.doc}
	if m.call != nil {
		e.Signature = e.Name + "(" + m.params + ")"
	}
	var body strings.Builder
	for line := range strings.Lines(m.example) {
		body.WriteString("    " + line)
	}
	e.Example = "def example(ctx):\n    \"An example.\"\n" + body.String() + "\n\nregister_tool(example)"
	return e
}

var ctxMembers = []ctxMember{
	{name: "session", doc: "The id of the session, a string.",
		example: `assert_eq(type(ctx.session), "string")`,
		get:     func(h *handlerCall) starlark.Value { return starlark.String(h.turn.Session().ID()) }},
	{name: "turn", doc: "The number of the turn in its session, from 1.",
		example: `assert_eq(ctx.turn, 1)`,
		get:     func(h *handlerCall) starlark.Value { return starlark.MakeInt(h.turn.Number()) }},
	{name: "plugin", doc: "The name of the plugin.",
		example: `assert_eq(type(ctx.plugin), "string")`,
		get:     func(h *handlerCall) starlark.Value { return starlark.String(h.rec.plugin.Name) }},
	{name: "config", doc: "The plugin's settings: the same value as config.",
		example: `assert_eq(ctx.config, config)`,
		get:     func(h *handlerCall) starlark.Value { return h.rec.config }},
	{name: "now", doc: "The time of the turn, as RFC 3339 text in UTC.\nIt is one value for the whole turn, whichever handler asks.",
		example: `assert_eq(ctx.now[10], "T")
assert_eq(ctx.now[-1], "Z")`,
		get: func(h *handlerCall) starlark.Value { return starlark.String(h.turn.Now().UTC().Format(time.RFC3339)) }},
	{name: "log", params: "level, msg, **fields",
		doc: `Writes a line to the host's log, with fields by name.
level is "debug", "info", "warn" or "error"; fields are JSON values. A call of a
handler may write 1,000 lines of 256 KiB together. print(...) is
ctx.log("info", ...), and drops what is over.`,
		example: `assert_eq(ctx.log("info", "restarted", service = "checkout"), None)`,
		call:    ctxLog},
	{name: "random", params: "n",
		doc: `Draws an int from 0 up to n - 1.
It is derived from session, turn, plugin and call, so that the same turn draws the
same again. Whoever knows these can predict it: it is not for keys.`,
		example: `assert_eq(ctx.random(1), 0)
assert_eq(ctx.random(6) < 6, True)`,
		call: ctxRandom},
	{name: "uuid", doc: "Draws a text in the form of a version 4 UUID, as ctx.random draws.",
		example: `assert_eq(len(ctx.uuid()), 36)`,
		call:    ctxUUID},
	{name: "state.get", params: "key, default=None",
		doc:     "Returns what the plugin keeps in this session under a key, or the default.\nThe value is a new one each time.",
		example: "assert_eq(ctx.state.get(\"seen\", []), [])",
		call:    stateGet},
	{name: "state.set", params: "key, value", writes: true,
		doc: `Keeps a JSON value under a key, for this plugin and session.
All keys and values of a plugin may take 1 MiB in a session, and end with it.`,
		example: `ctx.state.set("seen", ["checkout"])
assert_eq(ctx.state.get("seen"), ["checkout"])`,
		call: stateSet},
	{name: "state.delete", params: "key", writes: true,
		doc: "Forgets a key, and returns whether it was there.",
		example: `ctx.state.set("seen", 1)
assert_eq(ctx.state.delete("seen"), True)
assert_eq(ctx.state.delete("seen"), False)`,
		call: stateDelete},
	{name: "state.keys",
		doc: "Returns the keys that are kept, sorted.",
		example: `ctx.state.set("b", 1)
ctx.state.set("a", 2)
assert_eq(ctx.state.keys(), ["a", "b"])`,
		call: stateKeys},
	{name: "fs.read", params: "path",
		doc: `Returns the text of a file of the workspace.
path is relative to the workspace, with "/". Needs the permission fs.read:GLOB.`,
		example: `assert_eq(ctx.fs.read("runbooks/checkout.md"), "Check the gateway.")`,
		call:    fsRead},
	{name: "fs.read_bytes", params: "path",
		doc:     "Returns the bytes of a file of the workspace.\nNeeds the permission fs.read:GLOB.",
		example: `assert_eq(ctx.fs.read_bytes("runbooks/checkout.md")[:5], b"Check")`,
		call:    fsReadBytes},
	{name: "fs.glob", params: "pattern",
		doc: `Returns the files of the workspace that match, sorted by the bytes of the path.
"*" matches within a name, "**" any folders; names that begin with a dot match only
where the pattern spells the dot. Files that the plugin may not read are left out.`,
		example: `assert_eq(ctx.fs.glob("runbooks/*.md"), ["runbooks/checkout.md"])`,
		call:    fsGlob},
	{name: "fs.exists", params: "path",
		doc:     "Reports whether the workspace has a file or folder.\nNeeds the permission fs.read:GLOB.",
		example: `assert_eq(ctx.fs.exists("runbooks/checkout.md"), True)`,
		call:    fsExists},
	{name: "fs.stat", params: "path",
		doc:     "Returns name, size in bytes and is_dir of a file of the workspace.\nNeeds the permission fs.read:GLOB.",
		example: `assert_eq(ctx.fs.stat("runbooks/checkout.md").size, 18)`,
		call:    fsStat},
}

// ctxEntries describe ctx and its members. They have no values: ctx is a
// parameter.
func ctxEntries() []Entry {
	entries := []Entry{{
		Name: "ctx",
		Doc: `Everything that crosses the wall, for a handler with a parameter of that name.
A handler without it is a pure function of its arguments. In loaders, members that
write are errors, as loaders run beside each other.`,
		Example: "def example(ctx):\n    \"An example.\"\n    assert_eq(type(ctx), \"ctx\")\n\nregister_tool(example)",
	}}
	for _, m := range ctxMembers {
		entries = append(entries, m.entry())
	}
	return entries
}

var logLevels = []string{"debug", "info", "warn", "error"}

// ctxLog implements
//
//	ctx.log(level, msg, **fields)
func ctxLog(c modCall, h *handlerCall) (starlark.Value, error) {
	var level, msg string
	own, fields := splitNamed(c.kwargs, "level", "msg")
	if err := unpackArgs(c.name, c.args, own, "level", &level, "msg", &msg); err != nil {
		return nil, err
	}
	if !slices.Contains(logLevels, level) {
		return nil, c.fail("E0202", "level: got %q, want %s%s", level, strings.Join(logLevels, ", "), didYouMean(level, logLevels))
	}
	line := starhost.LogLine{Plugin: h.rec.plugin.Name, Level: level, Text: msg, Pos: callerOf(c.th)}
	if fields.Len() > 0 {
		raw, err := appendJSON(nil, fields)
		if err != nil {
			return nil, c.fail("E0204", "%v", err)
		}
		line.Fields = raw
	}
	if err := c.pay(2, len(msg)+len(line.Fields)); err != nil {
		return nil, err
	}
	if limit := h.write(line); limit != "" {
		return nil, c.fail("E0317", "over the limit of %s a call", limit)
	}
	return starlark.None, nil
}

// splitNamed separates the arguments of a function's own parameters from the
// rest, which comes as a dict.
func splitNamed(kwargs []starlark.Tuple, names ...string) (own []starlark.Tuple, rest *starlark.Dict) {
	rest = starlark.NewDict(len(kwargs))
	for _, kv := range kwargs {
		if slices.Contains(names, string(kv[0].(starlark.String))) {
			own = append(own, kv)
			continue
		}
		rest.SetKey(kv[0], kv[1]) // a string, in a new dict
	}
	return own, rest
}

// Bounds of what one call of a handler logs.
const (
	maxLogLines = 1000
	maxLogBytes = 256 << 10
)

// A logBook counts what a call logged.
type logBook struct {
	lines []starhost.LogLine // of the evaluation of files, which has no lane
	count int
	bytes int
	full  bool
}

// write logs a line, or returns the limit that it is over.
func (h *handlerCall) write(line starhost.LogLine) (limit string) {
	b := &h.logs
	switch {
	case b.count == maxLogLines:
		return "1,000 lines"
	case b.bytes+len(line.Text)+len(line.Fields) > maxLogBytes:
		return "256 KiB"
	}
	b.count++
	b.bytes += len(line.Text) + len(line.Fields)
	h.keep(line)
	return ""
}

func (h *handlerCall) keep(line starhost.LogLine) {
	if h.lane == nil {
		h.logs.lines = append(h.logs.lines, line)
		return
	}
	h.lane.Logs = append(h.lane.Logs, line)
}

// PrintTo logs what a plugin printed, with the place of the print, in the log of
// the call or evaluation that ctx belongs to. What is over the limits of a call
// is dropped, and a last line says so.
func PrintTo(ctx context.Context, file string, line, col int, text string) {
	h, _ := ctx.Value(handlerKey{}).(*handlerCall)
	if h == nil {
		return
	}
	l := starhost.LogLine{Plugin: h.rec.plugin.Name, Level: "info", Text: text, Pos: starhost.Pos{File: file, Line: line, Col: col}}
	if limit := h.write(l); limit != "" && !h.logs.full {
		h.logs.full = true
		l.Level, l.Text = "warn", "more output is dropped: over the limit of "+limit+" a call"
		h.keep(l)
	}
}

// ctxRandom implements
//
//	ctx.random(n)
func ctxRandom(c modCall, h *handlerCall) (starlark.Value, error) {
	var n int64
	if err := c.bind("n", &n); err != nil {
		return nil, err
	}
	x, err := effects.RandomInt(h.turn, h.lane, n)
	return starlark.MakeInt64(x), err
}

// ctxUUID implements
//
//	ctx.uuid()
func ctxUUID(c modCall, h *handlerCall) (starlark.Value, error) {
	if err := c.bind(); err != nil {
		return nil, err
	}
	return starlark.String(effects.UUID(h.turn, h.lane)), nil
}

func (h *handlerCall) state() *effects.State {
	return effects.StateOf(h.turn.Session(), h.rec.plugin.Name)
}

// stateGet implements
//
//	ctx.state.get(key, default=None)
func stateGet(c modCall, h *handlerCall) (starlark.Value, error) {
	var (
		key  string
		none starlark.Value = starlark.None
	)
	if err := c.bind("key", &key, "default?", &none); err != nil {
		return nil, err
	}
	raw, ok := h.state().Get(key)
	if !ok {
		return none, nil
	}
	if err := c.pay(1+len(raw)/16, 16*len(raw)); err != nil {
		return nil, err
	}
	return fromJSON(raw)
}

// stateSet implements
//
//	ctx.state.set(key, value)
func stateSet(c modCall, h *handlerCall) (starlark.Value, error) {
	var (
		key   string
		value starlark.Value
	)
	if err := c.bind("key", &key, "value", &value); err != nil {
		return nil, err
	}
	raw, err := appendJSON(nil, value)
	if err != nil {
		return nil, c.fail("E0204", "value: %v", err)
	}
	if err := c.pay(1+len(raw)/16, len(raw)); err != nil {
		return nil, err
	}
	return starlark.None, h.state().Set(key, json.RawMessage(raw))
}

// stateDelete implements
//
//	ctx.state.delete(key)
func stateDelete(c modCall, h *handlerCall) (starlark.Value, error) {
	var key string
	if err := c.bind("key", &key); err != nil {
		return nil, err
	}
	return starlark.Bool(h.state().Delete(key)), nil
}

// stateKeys implements
//
//	ctx.state.keys()
func stateKeys(c modCall, h *handlerCall) (starlark.Value, error) {
	if err := c.bind(); err != nil {
		return nil, err
	}
	return stringList(h.state().Keys()), nil
}

func stringList(list []string) *starlark.List {
	elems := make([]starlark.Value, len(list))
	for i, s := range list {
		elems[i] = starlark.String(s)
	}
	return starlark.NewList(elems)
}

// effect does work in the workspace, named by the argument that want is called,
// with the run's clock stopped.
func effect[T any](c modCall, want string, work func(ctx context.Context, arg string) (T, error)) (T, error) {
	var (
		arg string
		got T
	)
	if err := c.bind(want, &arg); err != nil {
		return got, err
	}
	err := c.rt.Paused(c.th, func() (err error) {
		got, err = work(c.rt.Context(c.th), arg)
		return err
	})
	return got, err
}

// fsRead implements
//
//	ctx.fs.read(path)
func fsRead(c modCall, h *handlerCall) (starlark.Value, error) {
	text, err := effect(c, "path", h.rec.world.ReadFile)
	if err != nil {
		return nil, err
	}
	return starlark.String(text), c.pay(1+len(text)/64, len(text))
}

// fsReadBytes implements
//
//	ctx.fs.read_bytes(path)
func fsReadBytes(c modCall, h *handlerCall) (starlark.Value, error) {
	data, err := effect(c, "path", h.rec.world.ReadFileBytes)
	if err != nil {
		return nil, err
	}
	return starlark.Bytes(data), c.pay(1+len(data)/64, len(data))
}

// fsGlob implements
//
//	ctx.fs.glob(pattern)
func fsGlob(c modCall, h *handlerCall) (starlark.Value, error) {
	names, err := effect(c, "pattern", h.rec.world.GlobFiles)
	if err != nil {
		return nil, err
	}
	return stringList(names), c.pay(1+len(names), 64*len(names))
}

// fsExists implements
//
//	ctx.fs.exists(path)
func fsExists(c modCall, h *handlerCall) (starlark.Value, error) {
	ok, err := effect(c, "path", h.rec.world.FileExists)
	return starlark.Bool(ok), err
}

// fsStat implements
//
//	ctx.fs.stat(path)
func fsStat(c modCall, h *handlerCall) (starlark.Value, error) {
	info, err := effect(c, "path", h.rec.world.StatFile)
	if err != nil {
		return nil, err
	}
	return starlarkstruct.FromStringDict(starlark.String("stat"), starlark.StringDict{
		"name": starlark.String(info.Name), "size": starlark.MakeInt64(info.Size), "is_dir": starlark.Bool(info.IsDir),
	}), nil
}
