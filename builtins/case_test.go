package builtins_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/starlark"
)

// A driver runs the steps of a case in one session.
type driver struct {
	session  *host.Session
	turn     *host.Turn
	advanced time.Duration
	now      time.Time
}

func (d *driver) current(ctx context.Context) *host.Turn {
	if d.turn == nil {
		d.turn, _ = d.session.Begin(ctx, host.Request{})
	}
	return d.turn
}

func (d *driver) Prompt(ctx context.Context, r host.Request, _ bool) (*host.Prompt, error) {
	if d.turn != nil {
		d.turn.End(ctx)
	}
	var err error
	if d.turn, err = d.session.Begin(ctx, r); err != nil {
		return nil, err
	}
	return d.turn.Prompt(ctx)
}

func (d *driver) CallTool(ctx context.Context, call starhost.ToolCall, _ []bool) (host.ToolReply, error) {
	if call.Name == "broken" {
		return host.ToolReply{}, errors.New("the driver is broken")
	}
	return d.current(ctx).CallTool(ctx, call)
}

func (d *driver) Fire(ctx context.Context, event string, args map[string]json.RawMessage) (host.Outcome, error) {
	e, err := starhost.NewEvent(event, args)
	if err != nil {
		return host.Outcome{}, err
	}
	return d.current(ctx).Fire(ctx, e)
}

func (d *driver) LoadFragments(ctx context.Context, ref string) (starhost.Context, error) {
	got, err := d.current(ctx).Load(ctx, []string{ref})
	if err != nil {
		return starhost.Context{}, err
	}
	return got[0], nil
}

// scriptedModel is a model that returns its replies in their order.
type scriptedModel []starhost.Reply

func (m *scriptedModel) Complete(context.Context, *host.Prompt) (starhost.Reply, error) {
	if len(*m) == 0 {
		return starhost.Reply{}, errors.New("the model has said all")
	}
	r := (*m)[0]
	*m = (*m)[1:]
	return r, nil
}

func (d *driver) Turn(
	ctx context.Context, r host.Request, replies []starhost.Reply, _ []bool, _ bool,
) (*host.TurnResult, error) {
	if d.turn != nil {
		d.turn.End(ctx)
		d.turn = nil
	}
	return d.session.Turn(ctx, r, (*scriptedModel)(&replies))
}

func (d *driver) Command(ctx context.Context, line string, _ []bool) (host.CommandReply, error) {
	return d.current(ctx).Command(ctx, line)
}

func (d *driver) RenderTemplate(
	ctx context.Context, ref, input string, params map[string]string,
) (starhost.Template, error) {
	tm, err := d.current(ctx).LoadTemplate(ctx, ref)
	if err != nil {
		return tm, err
	}
	tm.Prompt, tm.System, err = tm.Fill(input, params)
	return tm, err
}

func (d *driver) CompleteCommand(ctx context.Context, line string) ([]string, error) {
	if d.turn != nil {
		d.turn.End(ctx)
		d.turn = nil
	}
	return d.session.Complete(ctx, line)
}

func (d *driver) SetNow(_ context.Context, now time.Time) error {
	d.now = now
	return nil
}

func (d *driver) Hook(_ context.Context, agent, event string) (out, stderr string, code int, err error) {
	if strings.Contains(event, "rm") {
		return `{"agent":"` + agent + `"}`, "denied\n", 2, nil
	}
	return "", "", 0, nil
}

func (d *driver) Row(name string) (json.RawMessage, error) {
	if name != "team" {
		return nil, errors.New("no such key")
	}
	return json.RawMessage(`"checkout"`), nil
}

func (d *driver) Advance(_ context.Context, by time.Duration) error {
	d.advanced += by
	return nil
}

// underTest is the plugin that the cases of these tests run against.
const underTest = `
def echo(text, name = ""):
    """Echoes."""
    if text == "fail":
        fail("no echo")
    return result(text + name, for_user = "u", attachments = [attachment(content = "x", name = "x.txt")])

register_tool(echo)
register_fragment_loader("runbook", lambda arg: ["Runbook of %s." % arg, attachment(content = "a")])
register_command("greet", lambda args: "Hello %s." % args[0] if args else fail("whom?"), complete = lambda typed: complete(typed))
def complete(typed):
    if typed == "nobody":
        fail("nobody is here")
    return [name for name in ["Ada", "Alan", "Bob"] if name.startswith(typed)]
register_hook("pre_command", lambda args: deny("not him") if args == ["Bob"] else None)
register_template_loader("review", lambda arg: template(prompt = "Review this $what in %s." % arg, system = "Be $tone.", defaults = {"tone": "kind"}))
register_hook("pre_tool_call", lambda arguments: deny("no rm") if arguments.get("text") == "rm" else None)
register_hook("pre_tool_call", lambda arguments: modify(arguments = dict(arguments, text = "new")) if arguments.get("text") == "old" else None)
register_hook("pre_llm_call", lambda model: modify(model = "big", options = {"t": 1}) if model == "small" else None)
register_hook("pre_send", lambda messages: modify(messages = [m.replace(content = m.content + "!") for m in messages]))
BAD = result("BAD", is_error = True)
register_hook("post_tool_call", lambda result: modify(result = BAD if result == "bad" else result.upper()) if result != "hi" else None)
register_hook("pre_llm_call", lambda model, tools: modify(tools = tools[1:]) if model == "few" else None)
register_hook("turn_start", lambda user_message: ["A", attachment(content = "b")] if user_message == "add" else None)
register_hook("pre_tool_call", lambda arguments: respond("cached") if arguments.get("text") == "cached" else None)
`

// playCase runs a case against the plugin.
func playCase(t *testing.T, src string) (*driver, error) {
	t.Helper()
	l := script{src: underTest}.mustLoad(t)
	d := &driver{session: l.NewSession(host.SessionConfig{ID: "case"})}
	box := starlark.New(starlark.Options{})
	for _, e := range append(builtins.Table(box), builtins.CaseTable(box, d)...) {
		if e.Value == nil {
			continue
		}
		if err := box.Define(e.Name, e.Value, e.Cost); err != nil {
			t.Fatal(err)
		}
	}
	f, err := box.Parse("case.star", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = box.Run(t.Context(), f, starlark.Exec{})
	return d, err
}

// TestCaseExamples runs the examples of the functions that cases have.
func TestCaseExamples(t *testing.T) {
	for _, e := range builtins.CaseTable(nil, nil) {
		t.Run(e.Name, func(t *testing.T) {
			example := e.Example
			if e.Name == "load_fragments" { // the example is for a plugin with fewer fragments
				example = `assert_eq([type(f) for f in load_fragments("runbook:checkout")], ["fragment", "attachment"])`
			}
			if _, err := playCase(t, example); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCaseSteps(t *testing.T) {
	d, err := playCase(t, `
p = prompt("hi", fragments = "runbook:a", system_fragments = ["runbook:b"], attachments = [attachment(content = "z", name = "z.txt")],
    system = "S", tools = ["e*"], model = "small", options = {"a": 1})
assert_eq(p.text, "Runbook of a.\nhi!")
assert_eq(p.system, "Runbook of b.\n\nS")
assert_eq(p.model, "big")
assert_eq(p.tools.names, ["echo"])
assert_eq(p.messages.roles, ["user"])
assert_eq(p.fragments.sources, ["runbook:b", "runbook:a"])
assert_eq([a.name for a in p.attachments], ["z.txt", ""])
assert_eq(p.bytes, len(p.text) + len(p.system))

r = call_tool("echo", text = "hi", name = "!")
assert_eq((r.output, r.is_error, r.for_user, r.silent, r.handled, r.denied), ("HI!", False, "u", False, False, ""))
assert_eq([a.name for a in r.attachments], ["x.txt"])
assert_eq(call_tool(name = "echo", text = "old").arguments, {"text": "new"})
assert_eq(call_tool("echo", text = "rm").denied, "no rm")
assert_eq(call_tool("echo", text = "fail").output, "NO ECHO")
assert_contains(call_tool("ecko", text = "x").output, "did you mean echo?")

assert_eq(fire("pre_tool_call", tool = "echo", arguments = {"text": "rm"}).reason, "no rm")
o = fire("pre_tool_call", tool = "echo", arguments = {"text": "old"})
assert_eq((o.action, o.changes), ("modify", {"arguments": {"text": "new"}}))
assert_eq([(d.plugin, d.action) for d in o.decisions], [("test", "modify")])
o = fire("pre_tool_call", tool = "echo", arguments = {"text": "cached"})
assert_eq((o.action, o.result.for_llm), ("respond", "cached"))
o = fire("pre_llm_call", model = "small")
assert_eq(o.changes, {"model": "big", "options": {"t": 1}})
o = fire("pre_send", messages = [{"role": "user", "content": "x"}])
assert_eq(o.changes["messages"], [{"role": "user", "content": "x!"}])
o = fire("pre_llm_call", model = "few", tools = [{"name": "a", "description": "", "parameters": {}}, {"name": "b", "description": "", "parameters": {}}])
assert_eq(o.changes, {"tools": ["b"]})
o = fire("post_tool_call", result = "bad", tool = "echo")
assert_eq((o.changes["result"].for_llm, o.changes["result"].is_error), ("BAD", True))
o = fire("turn_start", user_message = "add")
assert_eq([type(x) for x in o.context], ["fragment", "attachment"])
o = fire("post_tool_call", result = "x", tool = "echo")
assert_eq(o.changes, {"result": "X"})
assert_eq(fire(event = "turn_start").action, "")

parts = load_fragments("runbook:c")
assert_eq((parts[0].content, parts[0].source, str(parts[1].content)), ("Runbook of c.", "runbook:c", "a"))
p = prompt("x", template = "review:Go", params = {"what": "change"})
assert_eq((p.text, p.system), ("Review this change in Go.\nx!", "Runbook of b.\n\nBe kind."))

t = turn("Go.", [["Wait.", tool_call("echo", text = "hi", name = "!"), tool_call("echo", text = "rm")], tool_call(name = "echo", text = "old"), "Done."],
    fragments = ["runbook:d"], options = {"a": 1})
assert_eq((t.text, t.completed, t.rounds), ("Done.", True, 3))
assert_eq([(c.output, c.denied, c.arguments) for c in t.calls], [("HI!", "", {"text": "hi", "name": "!"}), ("denied by test: no rm", "no rm", {"text": "rm"}), ("NEW\n[attachment \"x.txt\" is in an earlier message]", "", {"text": "new"})])
assert_eq((str(tool_call("echo", a = 1)), bool(tool_call("x"))), ('<tool_call echo {"a":1}>', True))
assert_fails(lambda: {tool_call("x"): 1}, "unhashable type: tool_call")

c = command("/greet Ada now")
assert_eq((c.name, c.args, c.output, c.is_error, c.denied), ("greet", ["Ada", "now"], "Hello Ada.", False, ""))
assert_eq((command("/greet Bob").denied, command("greet").output), ("not him", "whom?"))

tm = render_template("review:Go", what = 5, tone = "brief")
assert_eq((tm.prompt, tm.system), ("Review this 5 in Go.", "Be brief."))
assert_eq(render_template("review:Go", "words", what = True).prompt, "Review this true in Go.\nwords")
advance(seconds = 1, minutes = 1.5, hours = 1, days = 2)
set_now("2026-12-24T23:00:00+01:00")
assert_eq(complete_command("/"), ["/greet"])
assert_eq(complete_command("/greet A"), ["Ada", "Alan"])
assert_eq(complete_command("/none x"), [])
`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(49*time.Hour+91*time.Second, d.advanced); diff != "" {
		t.Errorf("advanced (-want +got):\n%s", diff)
	}
	if now := d.now.Format(time.RFC3339); now != "2026-12-24T23:00:00+01:00" {
		t.Errorf("now: got %s", now)
	}
}

func TestCaseErrors(t *testing.T) {
	tests := []struct{ src, code, want string }{
		{`assert_eq([1], [2])`, "E0318", `assert_eq: got [1], want [2]`},
		{`assert_eq(1)`, "E0201", `assert_eq: missing argument for want`},
		{`assert_contains("abc", "x")`, "E0318", `assert_contains: got "abc", want it to contain "x"`},
		{`assert_contains(1, 2)`, "E0318", `assert_contains: unknown binary op: int in int`},
		{`assert_contains("a")`, "E0201", `assert_contains: missing argument for part`},
		{`assert_fails(lambda: 1, "x")`, "E0318", `assert_fails: lambda gave int, want a failure`},
		{`assert_fails(lambda: fail("y"), "x")`, "E0318", `assert_fails: got the failure "fail: y", want one with "x"`},
		{`assert_fails(1, "x")`, "E0201", `assert_fails: for parameter fn: got int, want callable`},
		{`call_tool("echo", x = len)`, "E0204", `call_tool: at .x: got builtin_function_or_method, want a JSON value`},
		{`call_tool()`, "E0201", `call_tool: missing argument for name`},
		{`prompt("x", messages = [1])`, "E0202", `prompt: messages: got number, want an object`},
		{`prompt("x", messages = [{"role": "bogus", "content": ""}])`, "E0202", `prompt: messages[0]: got role "bogus", want user, assistant or tool`},
		{`prompt("x", client_tools = [{"description": "A."}])`, "E0202", `prompt: client_tools[0]: got no name, want one`},
		{`call_tool("broken")`, "E0319", `call_tool: the driver is broken`},
		{`fire("pre_lm_call")`, "E0319", `fire: unknown event "pre_lm_call" (did you mean pre_llm_call?)`},
		{`fire("turn_start", foo = 1)`, "E0319", `fire: turn_start: unknown argument "foo", want session_id, user_message, history, is_first_turn, model, platform`},
		{`fire("turn_start", foo = len)`, "E0204", `fire: foo: got builtin_function_or_method, want a JSON value`},
		{`fire()`, "E0201", `fire: missing argument for event`},
		{`load_fragments("runbok:x")`, "E0319", `load_fragments: unknown fragment reference "runbok:x" (did you mean runbook:x?)`},
		{`load_fragments()`, "E0201", `load_fragments: missing argument for ref`},
		{`prompt()`, "E0201", `prompt: missing argument for text`},
		{`prompt("x", fragments = ["none"])`, "E0319", `prompt: unknown fragment reference "none": no loader has its prefix, and no alias or file its name; prefixes: runbook:`},
		{`prompt("x", attachments = ["y"])`, "E0201", `prompt: for parameter "attachments": got list, want a list of attachments`},
		{`prompt("x", options = {"a": len})`, "E0204", `prompt: options: at .a: got builtin_function_or_method, want a JSON value`},
		{`prompt("x", template = "reviw:Go")`, "E0319", `prompt: unknown template "reviw:Go" (did you mean review:Go?)`},
		{`prompt("x", template = "review:Go", params = {"what": []})`, "E0201", `prompt: params: what: got list, want a string, a number or a bool`},
		{`prompt("x", params = {"what": "y"})`, "E0319", `prompt: got parameters what, but no template`},
		{`turn("x")`, "E0319", `turn: model : the model has said all`},
		{`turn("x", "y")`, "E0201", `turn: for parameter model_replies: got string, want a list with a reply a round`},
		{`turn("x", [["y", 1]])`, "E0201", `turn: for parameter model_replies: [0]: got int, want a string, tool_call(...) or a list of these`},
		{`turn("x", options = {"a": len})`, "E0204", `turn: options: at .a: got builtin_function_or_method, want a JSON value`},
		{`tool_call()`, "E0201", `tool_call: missing argument for name`},
		{`tool_call("x", a = len)`, "E0204", `tool_call: at .a: got builtin_function_or_method, want a JSON value`},
		{`command()`, "E0201", `command: missing argument for line`},
		{`command("/gret x")`, "E0319", `command: unknown command "/gret" (did you mean /greet?)`},
		{`command("/greet 'x")`, "E0319", `command: /greet: unbalanced ' in the arguments`},
		{`render_template()`, "E0201", `render_template: missing argument for ref`},
		{`render_template("review:Go")`, "E0319", `render_template: missing parameters: what`},
		{`render_template("review:Go", what = len)`, "E0201", `render_template: params: what: got builtin_function_or_method, want a string, a number or a bool`},
		{`advance(hours = -1)`, "E0202", `advance: hours: got -1, want a number from 0 to 1e9`},
		{`advance(hours = "1")`, "E0202", `advance: hours: got "1", want a number from 0 to 1e9`},
		{`advance(weeks = 1)`, "E0203", `advance: unexpected keyword argument "weeks", it takes seconds, minutes, hours, days`},
		{`set_now("noon")`, "E0202", `set_now: time: got "noon", want a time as 2026-01-01T00:00:00Z, or a day`},
		{`set_now()`, "E0201", `set_now: missing argument for time`},
		{`complete_command()`, "E0201", `complete_command: missing argument for line`},
		{`complete_command("/greet nobody")`, "E0301", `fail: nobody is here`},
		{`register_hook("turn_start", lambda: None)`, "E0304", `register_hook: this file is no plugin: only a plugin registers`},
		{`plugin()`, "E0304", `plugin: this file is no plugin: only a plugin registers`},
		{`files.read("x")`, "E0316", `files.read: this file is no plugin: only a plugin has files`},
		{`attachment(path = "x")`, "E0316", `attachment: this file is no plugin: only a plugin has files`},
		{"x = []\nx.append(x)\nassert_eq(x, 1)", "E0202", "assert_eq: got a value nested deeper than 256 levels (or one that contains itself)"},
		{"x = []\nx.append(x)\ny = []\ny.append(y)\nassert_eq(x, y)", "E0318", "assert_eq: comparison exceeded maximum recursion depth"},
	}
	for _, tt := range tests {
		t.Run(tt.src, func(t *testing.T) {
			_, err := playCase(t, tt.src)
			if err == nil {
				t.Fatal("no error")
			}
			_, got, _ := strings.Cut(err.Error(), ": ")
			if diff := cmp.Diff([]string{tt.code, tt.want}, []string{codeOf(err), got}); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := playCase(t, `deny("outside of a plugin it decides nothing")`+"\n"+fmt.Sprintf("assert_eq(type(ask(%q)), %q)", "x", "decision")); err != nil {
		t.Error(err)
	}
}
