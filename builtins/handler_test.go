package builtins_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// fullEvent returns an event with a value in every argument.
func fullEvent(t *testing.T, spec starhost.EventSpec) *starhost.Event {
	t.Helper()
	e := &starhost.Event{Name: spec.Name}
	for _, name := range spec.Args {
		switch p := e.Arg(name).(type) {
		case *string:
			*p = "the " + name
		case *bool:
			*p = true
		case *int:
			*p = 7
		case *json.RawMessage:
			*p = json.RawMessage(`{"z":1,"a":[2.5]}`)
		case *starhost.Result:
			p.ForLLM = "the result"
		case *starhost.Usage:
			*p = starhost.Usage{Input: 100, Output: 20, Cached: 50}
		case *[]string:
			*p = []string{"checkout", "--now"}
		case *[]starhost.ToolCall:
			*p = []starhost.ToolCall{{ID: "c1", Name: "page", Arguments: json.RawMessage(`{"team":"checkout"}`)}}
		case **starhost.CallInfo: // the host makes this argument
			e.Tool, e.ToolKinds = "page", []string{"mcp"}
		case **starhost.Messages:
			*p = starhost.NewList([]starhost.Message{{Role: "user", Content: fragments.NewText("hi")}})
		case **starhost.Tools:
			*p = starhost.NewList([]starhost.Tool{{Name: "page", Description: "Pages.", Parameters: json.RawMessage(`{"type":"object"}`)}})
		case **starhost.List[fragments.Row]:
			*p = starhost.NewList([]fragments.Row{{Fragment: &fragments.Fragment{Content: "c", Source: "c.md"}}})
		default:
			t.Fatalf("%s: no value for %s, a %T", spec.Name, name, p)
		}
	}
	return e
}

// TestEveryArgument fires every event at a handler that names all arguments, and at a handler
// with **kwargs.
func TestEveryArgument(t *testing.T) {
	for _, spec := range starhost.Events() {
		t.Run(spec.Name, func(t *testing.T) {
			pairs := make([]string, len(spec.Args))
			for i, name := range spec.Args {
				pairs[i] = fmt.Sprintf("%q: %s", name, name)
			}
			l := script{src: fmt.Sprintf(`
def named(%[2]s):
    print({%[3]s})

def rest(ctx, %[4]s, **kwargs):
    print(dict([(%[4]q, %[4]s)] + kwargs.items()))

register_hook(%[1]q, named)
register_hook(%[1]q, rest)
`, spec.Name, strings.Join(spec.Args, ", "), strings.Join(pairs, ", "), spec.Args[0])}.mustLoad(t)
			l.turn(t, host.Request{}) // the next turn ends the event session_start
			l.logs = nil
			if _, errs := l.fire(t, fullEvent(t, spec)); len(errs) > 0 {
				t.Fatal(errs)
			}
			logs := l.logs[len(l.logs)-2:]
			for i, name := range spec.Args {
				if !strings.Contains(logs[0].Text, fmt.Sprintf("%q: ", name)) || strings.Contains(logs[0].Text, name+`": None`) {
					t.Errorf("argument %d, %s: got %s", i, name, logs[0].Text)
				}
			}
			if diff := cmp.Diff(logs[0].Text, logs[1].Text); diff != "" {
				t.Errorf("**kwargs saw something else (-named +kwargs):\n%s", diff)
			}
		})
	}
}

// fireOne loads a plugin whose handler has the given body, fires one full event, and returns
// the outcome and the error.
func fireOne(t *testing.T, event, params, body string) (host.Outcome, string) {
	t.Helper()
	l := script{src: fmt.Sprintf("def handler(%s):\n    %s\n\nregister_hook(%q, handler)\n", params, strings.ReplaceAll(body, "\n", "\n    "), event)}.mustLoad(t)
	spec, err := starhost.LookupEvent(event)
	if err != nil {
		t.Fatal(err)
	}
	turn := l.turn(t, host.Request{})
	had := len(turn.Errors())
	out, err := turn.Fire(t.Context(), fullEvent(t, *spec))
	if err != nil {
		t.Fatal(err)
	}
	if errs := turn.Errors()[had:]; len(errs) > 0 {
		return out, errs[0].Error()
	}
	return out, ""
}

func TestDecisions(t *testing.T) {
	tests := []struct {
		name, event, params, body string
		want                      starhost.Decision
	}{
		{"nothing", "pre_tool_call", "", "return None", starhost.Decision{}},
		{"deny", "pre_tool_call", "", `return deny("no")`, starhost.Decision{Action: starhost.ActionDeny, Reason: "no"}},
		{"ask", "pre_tool_call", "", `return ask("sure?")`, starhost.Decision{Action: starhost.ActionAsk, Reason: "sure?"}},
		{"abort", "pre_llm_call", "", `return abort("stop")`, starhost.Decision{Action: starhost.ActionAbort, Reason: "stop"}},
		{"end_session", "turn_end", "", `return end_session("stop")`, starhost.Decision{Action: "end_session", Reason: "stop"}},
		{"approve", "approve_tool_call", "", "return approve()", starhost.Decision{Action: starhost.ActionApprove}},
		{"modify text", "turn_start", "user_message", `return modify(user_message = user_message + "!")`,
			starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"user_message": "the user_message!"}}},
		{"modify an object", "pre_tool_call", "arguments", "return modify(arguments = arguments | {'b': True})",
			starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"arguments": json.RawMessage(`{"z":1,"a":[2.5],"b":true}`)}}},
		{"modify an object by a struct", "pre_tool_call", "", "return modify(arguments = struct(b = 1))",
			starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"arguments": json.RawMessage(`{"b":1}`)}}},
		{"modify options and model", "pre_llm_call", "options", "return modify(model = 'm2', options = dict(options, a = 1))",
			starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"model": "m2", "options": json.RawMessage(`{"z":1,"a":1}`)}}},
		{"modify a result to text", "post_tool_call", "result", "return modify(result = result.upper())",
			starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"result": "THE RESULT"}}},
		{"modify a result to a result", "post_tool_call", "", "return modify(result = result('x', is_error = True))",
			starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"result": starhost.Result{ForLLM: "x", IsError: true}}}},
		{"tools by view", "pre_llm_call", "tools", "return modify(tools = [t for t in tools if t.name == 'page'])",
			starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"tools": []string{"page"}}}},
		{"tools by name", "pre_llm_call", "tools", "return modify(tools = tools.names)",
			starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"tools": []string{"page"}}}},
		{"a whole view of tools", "pre_llm_call", "tools", "return modify(tools = tools)",
			starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"tools": []string{"page"}}}},
	}
	ignore := cmpopts.IgnoreFields(starhost.Decision{}, "Plugin", "Pos", "Context")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, failure := fireOne(t, tt.event, tt.params, tt.body)
			if failure != "" {
				t.Fatal(failure)
			}
			if diff := cmp.Diff(tt.want, out.Decision, ignore); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRespond responds to calls of the plugin's own tool.
func TestRespond(t *testing.T) {
	l := script{src: `
def page():
    """Pages."""
    return "paged"

register_tool(page)
register_hook("pre_tool_call", lambda: respond({"cached": True}))
`}.mustLoad(t)
	if diff := cmp.Diff(`{"cached":true}`, l.call(t, "page", "").Result.ForLLM); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

// TestLongFragments checks the contents of long fragments, made when the plugin is loaded and
// in a call, with and without a host.
func TestLongFragments(t *testing.T) {
	l := script{src: `
BODY = "x" * 2000
AT_LOAD = fragment("head " + BODY)

def ref(arg):
    return [AT_LOAD, fragment("head " + BODY), fragment(arg + " " + BODY), fragment(content = BODY + "!", source = "s")]

register_fragment_loader("ref", ref)
`}.mustLoad(t)
	body := strings.Repeat("x", 2000)
	for range 2 {
		got, err := l.turn(t, host.Request{}).Load(t.Context(), []string{"ref:head"})
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, f := range got[0].Fragments {
			texts = append(texts, f.Content)
		}
		if diff := cmp.Diff([]string{"head " + body, "head " + body, "head " + body, body + "!"}, texts); diff != "" {
			t.Errorf("contents (-want +got):\n%s", diff)
		}
	}
}

func TestHandlerFailures(t *testing.T) {
	const offer = "want a string, a fragment, an attachment, a list of these or None, or a decision"
	tests := []struct{ name, event, params, body, want string }{
		{"an int", "turn_start", "", "return 42", "handler: unsupported return value: got int, " + offer},
		{"a dict", "turn_start", "", "return {}", "handler: unsupported return value: got dict, " + offer},
		{"a list with an int", "turn_start", "", "return ['a', 1]", "handler: unsupported return value: [1]: got int, " + offer},
		{"a change that is not UTF-8", "pre_send", "", `return modify(system = "é"[1:])`, "handler: unsupported return value: modify: system: got text that is not UTF-8, want text (data goes into attachment(content = ...))"},
		{"not UTF-8", "turn_start", "", `return "é"[1:]`, "handler: unsupported return value: got text that is not UTF-8, want text (data goes into attachment(content = ...)), or a decision"},
		{"a long fragment that is not UTF-8", "turn_start", "", `return fragment("x" * 2000 + "é"[1:])`, "handler: unsupported return value: got text that is not UTF-8, want text (data goes into attachment(content = ...)), or a decision"},
		{"a fragment of an int", "turn_start", "", `return fragment(1)`, "test.star:2:20: fragment: for parameter content: got int, want string"},
		{"a decision that the event has not", "session_end", "", `return deny("no")`, "session_end: deny is no decision here, want nothing"},
		{"context where there is none", "pre_tool_call", "", `return "hello"`, "pre_tool_call: context is no decision here, want deny, ask, respond, modify or abort"},
		{"a lost decision", "pre_tool_call", "", `x = deny("no")`, `handler made the decision deny at test.star:2:13 and returned None: write return deny("no")`},
		{"a lost decision that only watches", "post_tool_call", "", `x = modify(result = "no")`, ""},
		{"modify what cannot be", "turn_start", "", `return modify(model = 1)`, "handler: unsupported return value: modify: model: got int, want string"},
		{"modify what is not offered", "turn_start", "", `return modify(system = "x")`, `modify: turn_start cannot change "system", it can change user_message or history`},
		{"modify what nothing has", "turn_start", "", `return modify(foo = "x")`, `modify: turn_start cannot change "foo", it can change user_message or history`},
		{"modify an object to text", "pre_tool_call", "", `return modify(arguments = "x")`, "handler: unsupported return value: modify: arguments: got string, want dict"},
		{"modify an object to no JSON", "pre_tool_call", "", `return modify(arguments = {"f": len})`, "handler: unsupported return value: modify: arguments: at .f: got builtin_function_or_method, want a JSON value"},
		{"modify a result to no JSON", "post_tool_call", "", `return modify(result = len)`, "handler: unsupported return value: modify: result: got builtin_function_or_method, want a JSON value; or a string, None, an attachment or result(...)"},
		{"tools that are no list", "pre_llm_call", "", `return modify(tools = "page")`, "handler: unsupported return value: modify: tools: got string, want a list of tools or of their names"},
		{"a tool with parameters", "pre_llm_call", "", `return modify(tools = [{"name": "page", "parameters": {}}])`, `handler: unsupported return value: modify: tools: [0]: got the key "parameters", want name and description, as parameters stay`},
		{"a tool without a description", "pre_llm_call", "", `return modify(tools = [{"name": "page"}])`, "handler: unsupported return value: modify: tools: [0]: got a dict without name or description, want both"},
		{"a tool with an int", "pre_llm_call", "", `return modify(tools = [{"name": "page", "description": 1}])`, "handler: unsupported return value: modify: tools: [0]: description: got int, want a text that is not empty"},
		{"another's tool with a description", "pre_llm_call", "", `return modify(tools = [{"name": "page", "description": "New."}])`, `modify: tools: "page" is not test's own: the operator must grant "override:page"`},
		{"a tool that is none", "pre_llm_call", "", `return modify(tools = [1])`, "handler: unsupported return value: modify: tools: [0]: got int, want a tool, its name, or a dict of name and description"},
		{"messages that are no list", "pre_send", "", `return modify(messages = {})`, "handler: unsupported return value: modify: messages: got dict, want a list of messages"},
		{"a message that is none", "pre_send", "", `return modify(messages = ["hi"])`, "handler: unsupported return value: modify: messages: [0]: got string, want a message (a dict with role and content)"},
		{"a message with a misspelt key", "pre_send", "", `return modify(messages = [{"rol": "user"}])`, `handler: unsupported return value: modify: messages: [0]: unknown key "rol" (did you mean role?), want role, content, tool_calls, tool_call_id, name, is_error`},
		{"a message with another role", "pre_send", "", `return modify(messages = [{"role": "usr", "content": ""}])`, `handler: unsupported return value: modify: messages: [0]: role: got "usr", want assistant, tool, user (did you mean user?)`},
		{"a message with an int", "pre_send", "", `return modify(messages = [{"role": "user", "content": 1}])`, `handler: unsupported return value: modify: messages: [0]: got "{\"role\":\"user\",\"content\":1}", want a message`},
		{"a message that is no JSON", "pre_send", "", `return modify(messages = [{"role": "user", "content": len}])`, `handler: unsupported return value: modify: messages: [0]: at .content: got builtin_function_or_method, want a JSON value`},
		{"modify without changes", "turn_start", "", `return modify()`, `test.star:2:18: modify: got 0 positional arguments, want changes by name: modify(model = "...")`},
		{"respond with what is none", "pre_tool_call", "", `return respond(len)`, `test.star:2:19: respond: result: got builtin_function_or_method, want a JSON value; or a string, None, an attachment or result(...)`},
		{"approve with a reason", "approve_tool_call", "", `return approve("x")`, `test.star:2:19: approve: got 1 arguments, want at most 0`},
		{"deny without a reason", "pre_tool_call", "", `return deny()`, `test.star:2:16: deny: missing argument for reason`},
		{"a frozen argument", "pre_tool_call", "arguments", `arguments["x"] = 1`, "test.star:2:14: cannot insert into frozen hash table"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, failure := fireOne(t, tt.event, tt.params, tt.body)
			if diff := cmp.Diff(tt.want, failure); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}

// TestContext checks which values a hook or a loader may add to a prompt.
func TestContext(t *testing.T) {
	type part struct{ Content, Source, Target string }
	tests := []struct {
		name, body string
		want       []part
	}{
		{"nothing", "return None", nil},
		{"empty text", `return ""`, nil},
		{"empty list", "return []", nil},
		{"empty fragment", `return fragment("")`, nil},
		{"text", `return "a"`, []part{{"a", "turn_start", "prompt"}}},
		{"fragment without source", `return fragment("a", target = "system")`, []part{{"a", "turn_start", "system"}}},
		{"list", `return ["a", None, "", fragment("b", source = "b.md"), attachment(content = "c", name = "c.txt")]`,
			[]part{{"a", "turn_start", "prompt"}, {"b", "b.md", "prompt"}, {"c", "turn_start", "attachment"}}},
		{"tuple", `return ("a", "b")`, []part{{"a", "turn_start", "prompt"}, {"b", "turn_start", "prompt"}}},
		{"attachment", `return attachment(content = b"\x00", type = "x/y")`, []part{{"\x00", "turn_start", "attachment"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, failure := fireOne(t, "turn_start", "", tt.body)
			if failure != "" {
				t.Fatal(failure)
			}
			var got []part
			for _, c := range out.Context() {
				for _, f := range c.Fragments {
					got = append(got, part{f.Content, f.Source, f.Target.String()})
				}
				for _, a := range c.Attachments {
					got = append(got, part{a.Content, a.Source, "attachment"})
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("context (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoaders(t *testing.T) {
	l := script{src: `
register_fragment_loader("place", lambda anything: "<" + anything + ">")
register_fragment_loader("both", lambda c, ref: c.plugin + " " + ref)
register_fragment_loader("named", lambda ctx, ref = None: ctx.plugin + " " + ref)
register_fragment_loader("more", lambda ref, _suffix = "!": ref + _suffix)
register_fragment_loader("bad", lambda ref: len(ref))
register_fragment_loader("writes", lambda ctx, ref: ctx.state.set("a", 1))
register_fragment_loader("fails", lambda ref: fail("no", ref))
`}.mustLoad(t)
	tests := []struct{ ref, want string }{
		{"place:x:y", "<x:y>"},
		{"both:x", "test x"},
		{"named:x", "test x"},
		{"more:x", "x!"},
		{"bad:x", "error: lambda: unsupported return value: got int, want a string, a fragment, an attachment, a list of these or None"},
		{"writes:x", "error: test.star:7:66: state.set: got a call in a loader, but loaders only read: they run beside each other"},
		{"fails:x", "error: test.star:8:51: fail: no x"},
	}
	for _, tt := range tests {
		t.Run(tt.ref, func(t *testing.T) {
			got, err := l.turn(t, host.Request{}).Load(t.Context(), []string{tt.ref})
			text := ""
			if err != nil {
				text = "error: " + err.Error()
			} else {
				text = got[0].Fragments[0].Content
			}
			if diff := cmp.Diff(tt.want, text); diff != "" {
				t.Errorf("loaded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestToolResults(t *testing.T) {
	tests := []struct {
		name, body string
		want       starhost.Result
	}{
		{"text as it is", `return "a\n"`, starhost.Result{ForLLM: "a\n"}},
		{"nothing", "return None", starhost.Result{}},
		{"JSON in the dict's order", `return {"z": 1, "a": [True, None, 1.0, ("x",)]}`, starhost.Result{ForLLM: `{"z":1,"a":[true,null,1.0,["x"]]}`}},
		{"a dict that says error", `return {"is_error": True, "why": "x"}`, starhost.Result{ForLLM: `{"is_error":true,"why":"x"}`, IsError: true}},
		{"a dict that says error as MCP does", `return {"isError": True}`, starhost.Result{ForLLM: `{"isError":true}`, IsError: true}},
		{"a dict that says success", `return {"is_error": False}`, starhost.Result{ForLLM: `{"is_error":false}`}},
		{"a dict with another is_error", `return {"is_error": 1, "isError": "no"}`, starhost.Result{ForLLM: `{"is_error":1,"isError":"no"}`}},
		{"an inner dict that says error", `return {"reply": {"is_error": True}}`, starhost.Result{ForLLM: `{"reply":{"is_error":true}}`}},
		{"a number", "return 7", starhost.Result{ForLLM: "7"}},
		{"attachment", `return attachment(content = "x", name = "x.txt", type = "text/plain")`,
			starhost.Result{Attachments: []fragments.Attachment{{Content: "x", Name: "x.txt", Type: "text/plain", Source: "t", Plugin: "test", Pos: "test.star:5:14"}}}},
		{"result", `return result({"a": 1}, for_user = "u", silent = True, is_error = True, handled = True, attachments = [attachment(url = "https://a/b.png")])`,
			starhost.Result{ForLLM: `{"a":1}`, ForUser: "u", Silent: true, IsError: true, Handled: true,
				Attachments: []fragments.Attachment{{URL: "https://a/b.png", Name: "b.png", Source: "t", Plugin: "test", Pos: "test.star:5:14"}}}},
		{"fail", `fail("no", "ticket", 1, {"a": None})`, starhost.Result{ForLLM: `no ticket 1 {"a": None}`, IsError: true}},
		{"fail with what is not UTF-8", `fail("é"[1:], "x")`, starhost.Result{ForLLM: "\ufffd x", IsError: true}},
		{"an error that is not UTF-8", `getattr("", "é"[1:])`, starhost.Result{ForLLM: "tool t failed: test.star:3:12: getattr: string has no .\ufffd field or method", IsError: true}},
		{"fail with sep", `fail("a", "b", sep = "")`, starhost.Result{ForLLM: "ab", IsError: true}},
		{"error", "1 // 0", starhost.Result{ForLLM: "tool t failed: test.star:3:7: floored division by zero", IsError: true}},
		{"not UTF-8", `return "é"[1:]`, starhost.Result{ForLLM: "tool t failed: t: unsupported return value: got text that is not UTF-8, want text (data goes into attachment(content = ...))", IsError: true}},
		{"words for the user that are not UTF-8", `return result("a", for_user = "é"[1:])`, starhost.Result{ForLLM: "tool t failed: test.star:3:18: result: for_user: got text that is not UTF-8, want text (data goes into attachment(content = ...))", IsError: true}},
		{"decision", `return deny("x")`, starhost.Result{ForLLM: "tool t failed: t: unsupported return value: got the decision deny, want a result: decisions are for hooks; a tool says fail(...) or result(..., is_error = True)", IsError: true}},
		{"fragment", `return fragment("x")`, starhost.Result{ForLLM: "tool t failed: t: unsupported return value: got fragment, want a result: return its .content", IsError: true}},
		{"function", `return [len]`, starhost.Result{ForLLM: "tool t failed: t: unsupported return value: at [0]: got builtin_function_or_method, want a JSON value; or a string, None, an attachment or result(...)", IsError: true}},
		{"fail with an option that is none", `fail("x", foo = 1)`, starhost.Result{ForLLM: `tool t failed: test.star:3:9: fail: unexpected keyword argument "foo", it takes sep`, IsError: true}},
		{"fail with a value too deep", "x = []\nfor _ in range(300):\n    x = [x]\nfail(x)", starhost.Result{ForLLM: "tool t failed: test.star:6:9: depth limit exceeded: \"fail\" needs 257 levels, limit 256", IsError: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := strings.ReplaceAll(tt.body, "\n", "\n    ")
			l := script{src: "def t():\n    \"T.\"\n    " + body + "\n\nregister_tool(t)"}.mustLoad(t)
			if diff := cmp.Diff(tt.want, l.call(t, "t", "").Result); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// TestToolArguments checks how JSON arguments reach parameters.
func TestToolArguments(t *testing.T) {
	l := script{src: `
SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "list": {"type": "array", "items": {"type": "integer"}},
        "deep": {"type": "object", "properties": {"n": {"type": "integer"}, "x": {"type": "number"}}},
        "x-y": {"type": "string"},
        "unused": {"type": "string"},
        "f": {"type": "number"},
    },
    "required": ["n"],
}

def some(f = 1.0, ctx = None, list = [], n = 0, deep = None, _own = "own"):
    """Takes some."""
    return [type(ctx), n, list, deep, f, _own]

def rest(n, **kwargs):
    """Takes all."""
    return [n, kwargs]

def derived(count, ratio = 0.5):
    """Takes numbers.

    Args:
      count (integer): How many.
    """
    return [count, ratio]

register_tool(some, parameters = {k: SCHEMA[k] if k != "properties" else {p: SCHEMA[k][p] for p in SCHEMA[k] if p != "x-y"} for k in SCHEMA})
register_tool(rest, parameters = SCHEMA | {"properties": SCHEMA["properties"]})
register_tool(derived)
`}.mustLoad(t)
	tests := []struct{ tool, args, want string }{
		{"some", `{"n":5.0}`, `["ctx",5,[],null,1.0,"own"]`},
		{"some", `{"n":5,"list":[1.0,2],"deep":{"n":3.0,"x":4.0,"z":5.0},"f":6,"unused":"u","extra":1}`, `["ctx",5,[1,2],{"n":3,"x":4.0,"z":5.0},6,"own"]`},
		{"rest", `{"x-y":"a","n":1e2,"extra":2.0}`, `[100,{"x-y":"a","extra":2.0}]`},
		{"rest", `{"n":1}`, `[1,{}]`}, // a parameter has no value from the call before
		{"derived", `{"count":2.0}`, `[2,0.5]`},
		{"derived", `{"count":123456789012345678901234567890,"ratio":3}`, `[123456789012345678901234567890,3]`},
	}
	for _, tt := range tests {
		t.Run(tt.tool+tt.args, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, l.call(t, tt.tool, tt.args).Result.ForLLM); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHandlersTogether checks that parallel sessions, which call the same handlers, each get
// their own results.
func TestHandlersTogether(t *testing.T) {
	dir := t.TempDir()
	err := errors.Join(
		os.Mkdir(filepath.Join(dir, "docs"), 0o755),
		os.WriteFile(filepath.Join(dir, "docs/a.md"), []byte("A"), 0o644),
	)
	if err != nil {
		t.Fatal(err)
	}
	l := script{dir: dir, src: `
plugin(permissions = ["fs.read:**"])

def work(arg):
    return arg + str([n for n in range(100)])

register_fragment_loader("read", lambda ctx, arg: ctx.fs.read(arg) + work(arg))
register_fragment_loader("plain", work)
register_hook("pre_llm_call", lambda user_message: [user_message, work("")])
register_tool(lambda: ["a", work("")], name = "list", description = "Lists.")
`}.mustLoad(t)
	request := host.Request{Text: "hi", Fragments: []string{"read:docs/a.md", "plain:a", "plain:b"}}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				p, err := l.NewSession(host.SessionConfig{}).Prompt(t.Context(), request)
				if err != nil || !strings.Contains(p.Rendering(), "Adocs/a.md[0, 1, 2") || !strings.Contains(p.Rendering(), "b[0, 1, 2") {
					t.Errorf("got %v, %v", p, err)
				}
				if reply := l.call(t, "list", "{}"); !strings.HasPrefix(reply.Result.ForLLM, `["a","[0, 1`) {
					t.Errorf("got %v", reply)
				}
			}
		})
	}
	wg.Wait()
}
