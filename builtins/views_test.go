package builtins_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

var conversation = []starhost.Message{
	{Role: "user", Content: fragments.NewText("hi"), Attachments: []fragments.Attachment{{Content: "x", Name: "x.txt", Type: "text/plain"}}},
	{Role: "assistant", Content: fragments.NewText(""), ToolCalls: []starhost.ToolCall{{ID: "c1", Name: "page", Arguments: json.RawMessage(`{"team":"a"}`)}, {ID: "c2", Name: "bad", Arguments: json.RawMessage(`{`)}}},
	{Role: "tool", Content: fragments.NewText("paged"), CallID: "c1", ToolName: "page", IsError: true},
	{Role: "user", Content: fragments.NewText("thanks")},
}

func request() *starhost.Event {
	return &starhost.Event{
		Name:     "pre_send",
		Messages: starhost.NewList(conversation),
		Tools:    starhost.NewList([]starhost.Tool{{Name: "b", Description: "B.", Parameters: json.RawMessage(`{"type":"object"}`)}, {Name: "a", Description: "A."}}),
		Fragments: starhost.NewList([]fragments.Row{{
			Fragment: &fragments.Fragment{
				Content: "c", Source: "c.md", Plugin: "p", Title: "T", Priority: 3, Target: fragments.System,
			},
			ID: fragments.Sum("c"), Status: fragments.Kept, Place: 1, Offset: 4, Length: 1,
		}}),
	}
}

// TestViews checks that views behave like the lists and dicts they stand for.
func TestViews(t *testing.T) {
	const body = `
# a list
assert_eq(len(messages), 4)
assert_eq(type(messages), "list")
assert_eq(bool(messages), True)
assert_eq(messages[0].content, "hi")
assert_eq(messages[-1]["content"], "thanks")
assert_eq([m.role for m in messages], ["user", "assistant", "tool", "user"])
assert_eq(messages.roles, ["user", "assistant", "tool", "user"])
assert_eq(messages.contents, ["hi", "", "paged", "thanks"])
assert_eq(messages.last("user").content, "thanks")
assert_eq(messages.last().role, "user")
assert_eq(messages.last(role = "none"), None)
assert_eq(type(messages[1:3]), "list")
assert_eq([m.role for m in messages[::-2]], ["user", "assistant"])
assert_eq(len(messages + [{"role": "user", "content": "x"}]), 5)
assert_eq(len([{"role": "user", "content": "x"}] + messages), 5)
assert_eq(len(messages + messages), 8)
assert_eq(messages[0] in messages, True)
assert_eq({"role": "user"} in messages, False)
assert_eq({"role": "user", "content": "thanks"} in messages, True)
assert_eq(messages[3:], [{"role": "user", "content": "thanks"}])
assert_eq((messages[3],), ({"role": "user", "content": "thanks"},))
assert_eq({"m": messages[3]}, {"m": {"content": "thanks", "role": "user"}})
assert_fails(lambda: assert_eq(messages[3:], []), "want []")
assert_fails(lambda: assert_eq(messages[3], {"role": "user"}), "want {")
assert_fails(lambda: assert_eq(messages[3], {"role": "user", "text": "thanks"}), "want {")
assert_fails(lambda: assert_eq(messages[3:], [{"role": "user", "content": "no"}]), "want [")
assert_fails(lambda: assert_eq({"m": messages[3]}, {"m": 1}), "want {")
assert_eq(messages == list(messages), True)
assert_eq(messages[3] == {"role": "user", "content": "thanks"}, True)
assert_eq({"role": "user", "content": "thanks"} == messages[3], True)
assert_eq([dict(m) for m in tools] == tools, True)
assert_eq(messages == "x", False)
assert_eq(messages != 1, True)
assert_eq(messages.roles == messages.roles, True)
assert_eq(messages.index(messages[2]), 2)
assert_eq(messages == messages, True)
assert_eq(messages != messages, False)
assert_eq(len(list(messages)), 4)
assert_eq(sorted(messages.roles), ["assistant", "tool", "user", "user"])
assert_eq(tools.names, ["b", "a"])
assert_eq([t.name for t in sorted(tools, key = lambda t: t.name)], ["a", "b"])
assert_eq([x for x in dir(messages) if x in ["append", "index", "last", "roles"]], ["append", "index", "last", "roles"])
assert_eq(hasattr(messages, "foo"), False)
assert_eq(enumerate(tools)[1][1].name, "a")

# a dict
m = messages[0]
assert_eq(type(m), "dict")
assert_eq(bool(m), True)
assert_eq(len(m), 2)
assert_eq(m.get("role"), "user")
assert_eq(m.get("tool_calls", "none"), "none")
assert_eq(m.keys(), ["role", "content"])
assert_eq(m.values(), ["user", "hi"])
assert_eq(m.items(), [("role", "user"), ("content", "hi")])
assert_eq([k for k in m], ["role", "content"])
assert_eq("role" in m, True)
assert_eq("is_error" in m, False)
assert_eq(1 in m, False)
assert_eq(dict(m), {"role": "user", "content": "hi"})
assert_eq(str(m), '{"role": "user", "content": "hi"}')
assert_eq(m.attachments[0].name, "x.txt")
assert_eq(m == messages[0], True)
assert_eq(m == messages[3], False)
assert_eq(({"content": "old", "x": 1} | m), {"content": "hi", "x": 1, "role": "user"})
assert_eq((m | {"content": "new"}).content, "new")
assert_eq((m | {"content": "new"}).attachments, m.attachments)
assert_eq(m.replace(content = "new", role = "assistant"), {"role": "assistant", "content": "new"})
assert_eq(m.replace(attachments = []).attachments, [])
assert_eq(m.content, "hi")
assert_eq("replace" in dir(m) and "content" in dir(m) and "get" in dir(m), True)
assert_eq(json.encode(m), '{"content":"hi","role":"user"}')
assert_eq(messages[1], {"role": "assistant", "content": "", "tool_calls": [
    {"id": "c1", "name": "page", "arguments": {"team": "a"}}, {"id": "c2", "name": "bad", "arguments": "{"}]})
assert_eq(messages[2], {"role": "tool", "content": "paged", "tool_call_id": "c1", "name": "page", "is_error": True})
assert_eq(messages[2].is_error, True)
assert_eq(messages[0].is_error, False)
assert_eq(tools[0], {"name": "b", "description": "B.", "parameters": {"type": "object"}})
assert_eq(tools[0].plugin, "")
assert_eq(fragments.sources, ["c.md"])
assert_eq(fragments.contents, ["c"])
assert_eq(fragments.ids, [hash.sha256("c")])
assert_eq(dict(fragments[0]), {"id": hash.sha256("c"), "content": "c", "source": "c.md", "plugin": "p", "target": "system",
    "priority": 3, "title": "T", "status": "kept", "reason": "", "offset": 4, "length": 1, "provenance": [{"source": "c.md", "plugin": "p"}]})
assert_eq(str(tools[1:]), '[{"name": "a", "description": "A.", "parameters": {}}]')

# immutable
assert_fails(lambda: messages.append(m), "messages_view.append: a messages_view cannot be changed: list(x) is a copy that can")
assert_fails(lambda: m.update(content = "x"), "message_view.update: a message_view cannot be changed: dict(x) is a copy that can")

def assign():
    messages[0] = m

def assign_key():
    m["role"] = "tool"

assert_fails(assign, "does not support item assignment")
assert_fails(assign_key, "does not support item assignment")
assert_fails(lambda: {m: 1}, "unhashable")
assert_fails(lambda: {messages: 1}, "unhashable")
assert_fails(lambda: m.replace("x"), "got 1 positional arguments, want changes by name")
assert_fails(lambda: m.replace(contnt = "x"), '"contnt" cannot be changed (did you mean content?), only attachments, content, role')
assert_fails(lambda: m.replace(content = 1), "content: got int, want string")
assert_fails(lambda: m.replace(role = "usr"), 'role: got "usr"')
assert_fails(lambda: m.replace(role = None), "role: got NoneType, want string")
assert_fails(lambda: m.replace(attachments = ["x"]), "got a fragment, want attachments")
assert_fails(lambda: tools[0] | {"name": "x"}, "|: a tool_view cannot be changed")
assert_fails(lambda: tools[0].replace, "has no .replace")
assert_fails(lambda: m.contnt, "did you mean .content?")
assert_fails(lambda: messages < messages, "not implemented")
assert_fails(lambda: m < m, "not implemented")
assert_fails(lambda: messages + 1, "unknown binary op")
assert_fails(lambda: m | 1, "unknown binary op")
assert_fails(lambda: messages[9], "out of range")
assert_fails(lambda: type(1, 2), "got 2 arguments, want exactly 1")
`
	l := script{src: "def check(messages, tools, fragments):" + strings.ReplaceAll(body, "\n", "\n    ") + "\n\nregister_hook(\"pre_send\", check)"}.mustLoad(t)
	if _, errs := l.fire(t, request()); len(errs) > 0 {
		t.Fatal(errs)
	}
}

// TestChangedMessages checks that views which pre_send returns retain the parts that dicts
// lack.
func TestChangedMessages(t *testing.T) {
	unexported := cmpopts.IgnoreUnexported(starhost.Message{})
	tests := []struct {
		name, body string
		want       []starhost.Message
	}{
		{"the same", "return modify(messages = messages)", conversation},
		{"some", "return modify(messages = messages[:1])", conversation[:1]},
		{"changed", `return modify(messages = [m.replace(content = m.content.upper()) for m in messages[:1]])`,
			[]starhost.Message{{Role: "user", Content: fragments.NewText("HI"), Attachments: conversation[0].Attachments}}},
		{"dicts", `return modify(messages = [dict(m) for m in messages[1:2]] + [{"role": "user", "content": "x"}])`,
			[]starhost.Message{conversation[1], {Role: "user", Content: fragments.NewText("x")}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := "def change(messages):\n    " + tt.body + "\n\nregister_hook(\"pre_send\", change)"
			e := request()
			if tt.name == "dicts" { // a dict has invalid arguments as text
				list := append([]starhost.Message{}, conversation...)
				list[1].ToolCalls = list[1].ToolCalls[:1]
				e.Messages = starhost.NewList(list)
				tt.want[0].ToolCalls = list[1].ToolCalls
			}
			out, errs := script{src: src}.mustLoad(t).fire(t, e)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			got := out.Decision.Changes["messages"].(*starhost.Messages).Items()
			if diff := cmp.Diff(tt.want, got, unexported, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// TestViewsOfNothing checks that an event without lists offers empty lists.
func TestViewsOfNothing(t *testing.T) {
	l := script{src: `
def check(messages, tools, fragments, options):
    assert_eq((len(messages), len(tools), len(fragments), options), (0, 0, 0, {}))
    assert_eq(bool(messages), False)

register_hook("pre_send", check)
`}.mustLoad(t)
	if _, errs := l.fire(t, &starhost.Event{Name: "pre_send"}); len(errs) > 0 {
		t.Fatal(errs)
	}
}

// TestPromptThroughHooks sends a real prompt through handlers of every event.
func TestPromptThroughHooks(t *testing.T) {
	l := script{src: `
register_fragment_loader("runbook", lambda arg: [fragment("Runbook " + arg, source = arg + ".md")])
register_hook("session_start", lambda: "Started.")
register_hook("turn_start", lambda user_message: modify(user_message = user_message.strip()))
register_hook("pre_llm_call", lambda messages: fragment("Last: " + messages.last("user").content, target = "system"))
register_hook("pre_send", lambda messages, system: modify(
    system = system + " !",
    messages = [m.replace(content = m.content.replace("secret", "***")) for m in messages],
))
`}.mustLoad(t)
	p, err := l.turn(t, host.Request{Text: " my secret ", Fragments: []string{"runbook:a"}}).Prompt(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Errors) > 0 {
		t.Fatal(p.Errors)
	}
	if diff := cmp.Diff([]string{"Last: my secret !", "Runbook a\nStarted.\nmy ***"}, []string{p.System, p.Text.String()}); diff != "" {
		t.Errorf("prompt (-want +got):\n%s", diff)
	}
}
