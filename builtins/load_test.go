package builtins_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// TestLoadErrors shows what an author reads when a plugin does not load.
func TestLoadErrors(t *testing.T) {
	const page = "def page(team):\n    \"Pages.\"\n\n"
	tests := []struct{ name, src, code, want string }{
		{"unknown builtin", `register_tol(len)`, "E0102", `test.star:1:1: undefined: register_tol (did you mean register_tool?)`},
		{"misspelt argument", page + `register_tool(name = "page", handlr = page)`, "E0203",
			`test.star:4:14: register_tool: unexpected keyword argument "handlr" (did you mean handler?)`},
		{"misspelt argument far behind", `register_hook("pre_tool_call", lambda: None, mach = "x")`, "E0203",
			`test.star:1:14: register_hook: unexpected keyword argument "mach" (did you mean match?)`},
		{"argument of no name", `fragment("x", colour = 1)`, "E0203",
			`test.star:1:9: fragment: unexpected keyword argument "colour", it takes content, source, target, priority, title`},
		{"missing argument", `register_tool()`, "E0201", `test.star:1:14: register_tool: missing argument for handler`},
		{"wrong type", page + `register_hook("turn_start", lambda: None, priority = "low")`, "E0201",
			`test.star:4:14: register_hook: for parameter "priority": got string, want int`},
		{"wrong match", page + `register_hook("pre_tool_call", lambda: None, match = [1])`, "E0201",
			`test.star:4:14: register_hook: for parameter "match": [0]: got int, want string`},
		{"match of another type", page + `register_hook("pre_tool_call", lambda: None, match = 1)`, "E0201",
			`test.star:4:14: register_hook: for parameter "match": got int, want a string or a list of strings`},
		{"unknown event", `register_hook("pre_lm_call", lambda: None)`, "E0306",
			`test.star:1:14: register_hook: unknown event "pre_lm_call" (did you mean pre_llm_call?)`},
		{"event of another system", `register_hook("TOOL_PRE_EXECUTE", lambda: None)`, "E0306",
			`test.star:1:14: register_hook: unknown event "TOOL_PRE_EXECUTE" (gptme's TOOL_PRE_EXECUTE is pre_tool_call)`},
		{"unknown parameter of a hook", `register_hook("turn_start", lambda user_mesage: None)`, "E0307",
			`test.star:1:14: register_hook: handler: turn_start offers no "user_mesage" (did you mean user_message?); it offers ctx, session_id, user_message, history, is_first_turn, model, platform`},
		{"unknown parameter with a default", `register_hook("turn_start", lambda limit = 3: None)`, "E0307",
			`test.star:1:14: register_hook: handler: turn_start offers no "limit"; it offers ctx, session_id, user_message, history, is_first_turn, model, platform`},
		{"misspelt ctx", `register_hook("turn_start", lambda ctxt: None)`, "E0307",
			`test.star:1:14: register_hook: handler: turn_start offers no "ctxt" (did you mean ctx?); it offers ctx, session_id, user_message, history, is_first_turn, model, platform`},
		{"private without default", `register_hook("turn_start", lambda _x: None)`, "E0307",
			`test.star:1:14: register_hook: handler: parameter _x of lambda is private, as its name begins with _, so it needs a default`},
		{"builtin as handler", `register_hook("turn_start", len)`, "E0307",
			`test.star:1:14: register_hook: handler: got the builtin len, want a def or a lambda: lambda x: len(x)`},
		{"handler that is none", `register_hook("turn_start", 1)`, "E0201",
			`test.star:1:14: register_hook: for parameter handler: got int, want callable`},
		{"*args", `register_hook("turn_start", lambda *args: None)`, "E0307",
			`test.star:1:14: register_hook: handler: lambda has *args, but arguments arrive by name: use **kwargs`},
		{"nameless lambda", `register_tool(lambda: 1, description = "x")`, "E0307",
			`test.star:1:14: register_tool: name: a lambda has none: give the tool a name`},
		{"loader without argument", `register_fragment_loader("note", lambda: "")`, "E0307",
			`test.star:1:25: register_fragment_loader: handler: lambda has the parameters (), want (arg) or (ctx, arg)`},
		{"loader with ctx alone", `register_fragment_loader("note", lambda ctx: "")`, "E0307",
			`test.star:1:25: register_fragment_loader: handler: lambda has the parameters (ctx), want (arg) or (ctx, arg)`},
		{"loader whose second has a default", `register_fragment_loader("note", lambda arg, limit = 3: "")`, "E0307",
			`test.star:1:25: register_fragment_loader: handler: lambda has the parameters (arg, limit), want (arg) or (ctx, arg)`},
		{"loader with three", `register_fragment_loader("note", lambda a, b, c: "")`, "E0307",
			`test.star:1:25: register_fragment_loader: handler: lambda has the parameters (a, b, c), want (arg) or (ctx, arg)`},
		{"no schema", page + `register_tool(page, parameters = {"type": "object", "properties": {}})`, "E0308",
			`test.star:4:14: register_tool: parameters: parameter team of page has no property: the model could never set it`},
		{"misspelt property", page + `register_tool(page, parameters = {"type": "object", "properties": {"taem": {}}})`, "E0308",
			`test.star:4:14: register_tool: parameters: parameter team of page has no property (did you mean taem?): the model could never set it`},
		{"required without parameter", page + `register_tool(page, parameters = {"type": "object", "properties": {"team": {}, "urgency": {}}, "required": ["urgency"]})`, "E0308",
			`test.star:4:14: register_tool: parameters: required property "urgency": page has no parameter that takes it`},
		{"schema that is no JSON", page + `register_tool(page, parameters = {"type": "object", "properties": {"team": {"default": len}}})`, "E0308",
			`test.star:4:14: register_tool: parameters: at .properties.team.default: got builtin_function_or_method, want a JSON value`},
		{"bad type in a schema", page + `register_tool(page, parameters = {"type": "object", "properties": {"team": {"type": "sting"}}})`, "E0705",
			`test.star:4:14: tool "page": parameters: team: type: got "sting", want one of array, boolean, integer, null, number, object, string (did you mean string?)`},
		{"no description", "def page(team):\n    return team\n\nregister_tool(page)", "E0705",
			`test.star:4:14: tool "page" has no description: a model cannot know when to call it`},
		{"tool twice", page + "register_tool(page)\nregister_tool(page)", "E0305",
			`test.star:5:14: register_tool: tool "page" is already registered at test.star:4:14`},
		{"loader twice", "register_fragment_loader(\"a1\", lambda x: x)\nregister_fragment_loader(\"a1\", lambda x: x)", "E0305",
			`test.star:2:25: register_fragment_loader: fragment loader "a1" is already registered at test.star:1:25`},
		{"lambda in a loop", "for n in [\"a\", \"b\"]:\n    register_tool(lambda: n, name = n, description = \"x\")", "E0309",
			`test.star:2:18: register_tool: handler: lambda uses n, which the loop at test.star:1:1 binds: called later, each of them sees the last value`},
		{"lost decision", "def guard(tool):\n    deny(\"no\")\n\nregister_hook(\"pre_tool_call\", guard)", "E0310",
			`test.star:2:5: deny(...) decides nothing as a separate statement: write return deny(...)`},
		{"plugin after a registration", "register_hook(\"turn_start\", lambda: None)\nplugin()", "E0302",
			`test.star:2:7: plugin: must stand before the first registration`},
		{"registration in a module", `load("lib.star", "x")`, "E0304",
			`test/lib.star:1:14: register_hook: got a registration while test/lib.star is being loaded as a module: put it into a function that plugin.star calls`},
		{"plugin in a module", `load("meta.star", "x")`, "E0304",
			`test/meta.star:1:7: plugin: got a registration while test/meta.star is being loaded as a module: put it into a function that plugin.star calls`},
		{"lost decision in a module", `load("lost.star", "x")`, "E0310",
			`test/lost.star:2:5: ask(...) decides nothing as a separate statement: write return ask(...)`},
	}
	modules := map[string]string{
		"lib.star":  "register_hook(\"turn_start\", lambda: None)\nx = 1",
		"meta.star": "plugin()\nx = 1",
		"lost.star": "def x(tool):\n    ask(\"sure?\")\n",
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := script{src: tt.src, modules: modules}.load(t)
			if err == nil {
				t.Fatal("it loaded")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.code, codeOf(err)); diff != "" {
				t.Errorf("code (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCaptures checks which functions in loops capture a variable of the loop.
func TestCaptures(t *testing.T) {
	const reg = `, name = n, description = "x")`
	tests := []struct {
		name, src string
		trap      bool
	}{
		{"lambda, target", "for n in ['a']:\n    register_tool(lambda: n" + reg, true},
		{"lambda, default", "for n in ['a']:\n    register_tool(lambda _n = n: _n" + reg, false},
		{"lambda, other name", "x = 1\nfor n in ['a']:\n    register_tool(lambda: x" + reg, false},
		{"lambda, own parameter", "for n in ['a']:\n    register_tool(lambda _n = n: [n for n in [_n]]" + reg, false},
		{"field of that name", "s = struct(n = 1)\nfor n in ['a']:\n    register_tool(lambda: s.n" + reg, false},
		{"keyword of that name", "for n in ['a']:\n    register_tool(lambda: dict(n = 1)" + reg, false},
		{"bound in the body", "for n in ['a']:\n    y = n\n    register_tool(lambda: y" + reg, true},
		{"bound by a tuple", "for n, (m, [k]) in [('a', (1, [2]))]:\n    register_tool(lambda: k" + reg, true},
		{"def", "for n in ['a']:\n    def f():\n        return n\n    register_tool(f" + reg, true},
		{"def that binds the name itself", "for n in ['a']:\n    def f():\n        n = 1\n        return n\n    register_tool(f" + reg, false},
		{"def whose nested loop binds it", "for n in ['a']:\n    def f():\n        for n in [1]:\n            pass\n        return n\n    register_tool(f" + reg, false},
		{"comprehension", "[register_tool(lambda: n" + reg + " for n in ['a']]", true},
		{"comprehension, dict", "{n: register_tool(lambda: n" + reg + " for n in ['a'] if n}", true},
		{"made in a comprehension, registered in a loop", "fs = [lambda: k for k in [1]]\nfor n in ['a']:\n    register_tool(fs[0]" + reg, true},
		{"made by a function", "def make(n):\n    return lambda: n\n\nfor n in ['a']:\n    register_tool(make(n)" + reg, false},
		{"made by a function in the loop", "for n in ['a']:\n    def make(n):\n        return lambda: n\n    register_tool(make(n)" + reg, false},
		{"made by a function that captures", "for n in ['a']:\n    def make():\n        return lambda: n\n    register_tool(make()" + reg, true},
		{"written outside", "def f():\n    return 1\n\nfor n in ['a']:\n    register_tool(f" + reg, false},
		{"sort key, not registered", "for n in ['a']:\n    register_tool(lambda _x = sorted([n], key = lambda k: k + n): 1" + reg, false},
		{"loop in a function", "def all():\n    for n in ['a']:\n        register_tool(lambda: n" + reg + "\n\nall()", true},
		{"loop of a function, bound outside", "def all(x):\n    for n in ['a']:\n        register_tool(lambda: x" + reg + "\n\nall(1)", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := script{src: tt.src}.load(t)
			if got := codeOf(err) == "E0309"; got != tt.trap || !tt.trap && err != nil {
				t.Errorf("got %v, want a trap: %v", err, tt.trap)
			}
			if tt.trap && helpOf(err) == "" {
				t.Error("no way out")
			}
		})
	}
}

// TestShadowing checks that a file may define the names of builtins for itself.
func TestShadowing(t *testing.T) {
	script{src: `
def deny(reason):
    print(reason)

def plugin(x):
    pass

deny("this is no decision")
plugin(len)
def f():
    deny("nor is this")
f()
`}.mustLoad(t)
	script{src: `load("own.star", "ask")` + "\ndef f():\n    ask(1)\nf()\n", modules: map[string]string{"own.star": "def ask(n):\n    pass"}}.mustLoad(t)
	script{src: `load("own.star", ask = "tell")` + "\ndef f():\n    ask(1)\nf()\n", modules: map[string]string{"own.star": "def tell(n):\n    pass"}}.mustLoad(t)
}

func TestRegisterInHandler(t *testing.T) {
	l := script{src: `
def late():
    """Registers too late."""
    register_tool(late)

register_tool(late)
`}.mustLoad(t)
	reply := l.call(t, "late", "")
	want := `test.star:4:18: register_tool: got a registration in a handler, want it while the plugin is loaded: move it to the top level`
	if reply.Err == nil {
		t.Fatal("it registered")
	}
	if diff := cmp.Diff(want, reply.Err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// TestRegisteredByHelper checks that a function of a module may register, and that the
// registration's place is in plugin.star.
func TestRegisteredByHelper(t *testing.T) {
	l := script{
		src:     "load(\"lib.star\", \"offer\")\n\noffer(\"page\")\n",
		modules: map[string]string{"lib.star": "def offer(name):\n    register_tool(lambda: name, name = name, description = \"x\")\n"},
	}.mustLoad(t)
	if diff := cmp.Diff("test.star:3:6", l.Tools()[0].Pos.String()); diff != "" {
		t.Errorf("place (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("page", l.call(t, "page", "").Result.ForLLM); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

// TestRegistrations checks the starhost.Plugin that a file's registrations produce.
func TestRegistrations(t *testing.T) {
	l := script{src: `
def page(team):
    """Pages
    a team.

    More."""

def runbook(ctx, service):
    """Runbooks by service.

    One file each."""

register_tool(page, toolset = "pager", approval = "ask")
register_tool(lambda: 1, name = "one", description = "One.")
register_hook("pre_tool_call", lambda: None, priority = -3, match = "pager_*", on_error = "skip")
register_hook("pre_tool_call", lambda: None, match = ["a", "b"])
register_fragment_loader("runbook", runbook)
register_fragment_loader("note", lambda x: x, description = "Notes.")
`}.mustLoad(t)
	var got [][]any
	for _, x := range l.plugin.Tools {
		got = append(got, []any{x.Name, x.Description, x.Approval, x.Pos.String()})
	}
	for _, x := range l.plugin.Hooks {
		got = append(got, []any{x.Event, x.Priority, x.Match, x.OnError, x.Pos.String()})
	}
	for _, x := range l.plugin.FragmentLoaders {
		got = append(got, []any{x.Prefix, x.Description, x.Pos.String()})
	}
	want := [][]any{
		{"pager_page", "Pages a team.\n\nMore.", starhost.ApprovalAsk, "test.star:13:14"},
		{"one", "One.", starhost.ApprovalAuto, "test.star:14:14"},
		{"pre_tool_call", -3, []string{"pager_*"}, starhost.FailSkip, "test.star:15:14"},
		{"pre_tool_call", 0, []string{"a", "b"}, starhost.FailMode(""), "test.star:16:14"},
		{"runbook", "Runbooks by service.", "test.star:17:25"},
		{"note", "Notes.", "test.star:18:25"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("registrations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(6, len(l.rec.Handlers())); diff != "" {
		t.Errorf("kept values (-want +got):\n%s", diff)
	}
}

// TestConcurrentSessions runs one plugin's handlers in many sessions at once.
func TestConcurrentSessions(t *testing.T) {
	l := script{src: `
register_fragment_loader("note", lambda ctx, arg: [arg, fragment(ctx.session)])
register_hook("pre_send", lambda messages, tools: modify(messages = [m.replace(content = m.content + "!") for m in messages + messages[:0]]))
register_hook("pre_llm_call", lambda ctx, messages: [str(messages.last()), ctx.state.get("n", "none")])
`}.mustLoad(t)
	l.logs = nil
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s := l.NewSession(host.SessionConfig{})
			for range 3 {
				p, err := s.Prompt(t.Context(), host.Request{Text: fmt.Sprint(i), Fragments: []string{"note:a", "note:b"}})
				if err != nil || len(p.Errors) > 0 {
					t.Error(err, p)
				}
			}
		})
	}
	wg.Wait()
}

// TestCalledWithoutHost checks that a tool's Go function works without a host.
func TestCalledWithoutHost(t *testing.T) {
	l := script{src: "register_tool(lambda: 'called', name = 'x', description = 'X.')"}.mustLoad(t)
	r, err := l.plugin.Tools[0].Call(t.Context(), starhost.ToolCall{})
	if err != nil || r.ForLLM != "called" {
		t.Errorf("got %+v, %v", r, err)
	}
	for _, args := range []string{"[]", "{"} {
		if _, err := l.plugin.Tools[0].Call(t.Context(), starhost.ToolCall{Arguments: []byte(args)}); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}
