package builtins_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
)

// TestFire fires an event of the plugin, and checks that the values of handlers come back in the order of the
// handlers.
func TestFire(t *testing.T) {
	s := wide
	s.others = append(s.others[:len(s.others):len(s.others)], starhost.Plugin{Name: "z"})
	s.events = []starhost.EventSpec{
		{Name: "app.saved", Args: []string{"a"}},
		{Name: "app.z.asked", Args: []string{"a"}, Plugin: "z"},
	}
	s.src += `
register_hook("app.test.asked", lambda a: {"second": a}, priority = 1)
register_hook("app.test.asked", lambda ctx, a: [a, type(a)])
register_hook("app.test.asked", lambda: None)
register_hook("app.test.asked", lambda a: fail("broken") if a == "fail" else False)
register_hook("app.test.asked", lambda a: a.append(1) if type(a) == "list" else None)

def handler(ctx, a):
    if a == "text":
        return "x" * 70000
    if a == "deny":
        return deny("no")
    if a == "modify":
        return modify(a = 1)
    if a == "len":
        return len
    if a == "deep":
        return ctx.fire("app.test.asked", a = a)

register_hook("app.test.asked", handler, priority = 2)
`
	reply := runInTool(t, s, `
assert_eq(ctx.fire("app.test.asked", a = 1), [[1, "int"], False, {"second": 1}])
assert_eq(ctx.fire(name = "app.test.asked"), [[None, "NoneType"], False, {"second": None}])
assert_eq(ctx.fire("app.test.asked", a = {"b": [1.5, "é"]})[2], {"second": {"b": [1.5, "é"]}})
values = ctx.fire("app.test.asked", a = 1)
values[2]["second"] = 2
assert_eq(ctx.fire("app.test.asked", a = 1)[2], {"second": 1})
assert_eq(len(ctx.fire("app.test.asked", a = "fail")), 2)
for bad in ["text", "deny", "modify", "len"]:
    assert_eq(len(ctx.fire("app.test.asked", a = bad)), 3)
assert_eq(ctx.fire("app.test.asked", a = [])[0], [[], "list"])

assert_fails(lambda: ctx.fire("app.test.asked", b = 1), "app.test.asked: unknown argument \"b\", want a")
assert_fails(lambda: ctx.fire("app.test.asked", a = len), "ctx.fire: at .a: got builtin_function_or_method, want a JSON value")
assert_fails(lambda: ctx.fire("app.test.asked", a = ctx.secret("SHORT")), "ctx.fire: at .a: got secret, want a JSON value")
assert_fails(lambda: ctx.fire("app.test.asked", a = "x" * 65536), "ctx.fire: got 65544 bytes of arguments, want at most 65536")
assert_fails(lambda: ctx.fire("app.test.askd"), "\"app.test.askd\" is no event of plugin test (did you mean app.test.asked?)")
assert_fails(lambda: ctx.fire("app.z.asked", a = 1), "\"app.z.asked\" is no event of plugin test")
assert_fails(lambda: ctx.fire("app.saved", a = 1), "\"app.saved\" is no event of plugin test")
assert_fails(lambda: ctx.fire("pre_tool_call", tool = "x"), "\"pre_tool_call\" is no event of plugin test")
assert_fails(lambda: ctx.fire(), "ctx.fire: missing argument for name")
`)
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
}

// TestFireNeedsPermission fires an event that the plugin declares without the permission.
func TestFireNeedsPermission(t *testing.T) {
	s := script{
		src:     `plugin(permissions = ["event:app.test.*"], events = {"app.test.asked": []})` + "\n",
		granted: []string{"event:app.test", "event:app.other.*"},
	}
	reply := runInTool(t, s, `ctx.fire("app.test.asked")`)
	if codeOf(reply.Err) != "E0501" || !strings.Contains(reply.Err.Error(), "no permission event:app.test.asked") {
		t.Errorf("got %v, want E0501", reply.Err)
	}
}

// TestFireLimits lets handlers fire the event that they handle, and checks that they cannot do so without
// end: the depth has a bound, and all calls share the caller's budget.
func TestFireLimits(t *testing.T) {
	s := script{src: `plugin(permissions = ["event:app.test.*"], events = {"app.test.asked": ["n"]})

def down(ctx, n):
    return 1 + sum_of(ctx.fire("app.test.asked", n = n + 1))

def sum_of(values):
    total = 0
    for v in values:
        total += v
    return total

register_hook("app.test.asked", down)
`}
	reply := runInTool(t, s, `assert_eq(ctx.fire("app.test.asked", n = 0), [7])`)
	if reply.Err != nil {
		t.Errorf("a chain: %v", reply.Err)
	}
	for range 20 {
		s.src += "register_hook(\"app.test.asked\", down)\n"
	}
	reply = runInTool(t, s, `ctx.fire("app.test.asked", n = 0)`)
	if codeOf(reply.Err) != "E0401" {
		t.Errorf("a tree: got %v [%s], want [E0401]", reply.Err, codeOf(reply.Err))
	}
}

// TestFireReplays checks that a journal has a lane with the effects of each handler of an event that a plugin
// fires.
func TestFireReplays(t *testing.T) {
	s := script{
		src: `plugin(permissions = ["event:app.test.*"], events = {"app.test.asked": ["n"]})
register_hook("app.test.asked", lambda ctx, n: ctx.random(5) * 0 + n)
`,
		journal: true,
	}
	s.src += "\ndef t(ctx):\n    \"T.\"\n    return ctx.fire(\"app.test.asked\", n = 1)\n\nregister_tool(t)\n"
	l := s.mustLoad(t)
	if got := l.call(t, "t", "").Result.ForLLM; got != "[1]" {
		t.Fatalf("got %s, want [1]", got)
	}
	for i, line := range l.entries {
		if at := strings.Index(line, `"reply"`); at > 0 && strings.Contains(line, `"random"`) {
			l.entries[i] = line[:at]
		}
	}
	want := []string{
		`{"lane":"1/1","plugin":"test","random":{"n":5},`,
		`{"lane":"1","plugin":"test","fire":{"name":"app.test.asked","arguments":{"n":1}},"reply":{}}`,
	}
	if diff := cmp.Diff(want, l.entries); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

// TestHooksOnUndeclaredEvents registers hooks on events that nobody declares: each is a
// warning, and the other registrations stay.
func TestHooksOnUndeclaredEvents(t *testing.T) {
	s := script{
		src: `register_hook("app.saved", lambda whatever: None)
register_hook("app.policy.asked", lambda: None, priority = 3)
register_hook("turn_start", lambda: None)
`,
		events: []starhost.EventSpec{{Name: "app.deploy"}},
	}
	l := s.mustLoad(t)
	var got []string
	for _, w := range l.rec.Warnings() {
		got = append(got, fmt.Sprint(w.Pos, ": ", w.Text))
	}
	want := []string{
		`test.star:1:14: register_hook: the hook never runs: unknown event "app.saved": events app.* are those that the program or a plugin declares`,
		`test.star:2:14: register_hook: the hook never runs: unknown event "app.policy.asked": events app.* are those that the program or a plugin declares`,
	}
	if diff := cmp.Diff(want, got); diff != "" || len(l.plugin.Hooks) != 1 {
		t.Errorf("warnings (-want +got), %d hooks:\n%s", len(l.plugin.Hooks), diff)
	}
}
