package builtins

import "github.com/starhost/starhost/builtins/call"

// viewEntries describes arguments of events that handlers see as lists or dicts of the host. They have no
// values, because handlers receive them as arguments.
var viewEntries = []call.Entry{
	{
		Name: "messages", Type: "Messages",
		Doc: `The conversation, for hooks that name it: a list of dicts that cannot be changed.
messages.roles and messages.contents are lists of one field; messages.last(role=None)
is the last message, of a role if one is given, or None. A message m has the keys role and
content and, unless they are empty, tool_calls, tool_call_id, name and is_error; all are
attributes too, and so is m.attachments. m.replace(content = "...") and
m | {"content": "..."} return a changed message with the same attachments, but dict(m) loses
them.`,
		Example: `def example(messages):
    m = messages.last("user")
    assert_eq(m.content, m["content"])
    assert_eq(messages.roles, [m.role for m in messages])
    assert_eq(m.replace(content = "x"), {"role": "user", "content": "x"})

register_hook("pre_llm_call", example)`,
	},
	{
		Name: "call", Type: "Call",
		Doc: `The tool call, for hooks that name it: a dict that cannot be changed, with the same keys in all agents.
call.kinds lists what the call does: shell, write, fetch, read, search, agent, mcp, other.
call.kind is the first of them. The other keys are agent, command, cwd, paths, content, url,
query, server, tool (of another MCP server) and prompt; all are attributes too. A key is None
if the call has no such field, or starhost does not know it. paths are absolute and clean; links
are not followed, and ~ stays. If no table lists the tool, its arguments decide.`,
		Example: `def example(call):
    if "kubectl delete" in call.command:
        assert_eq(call.command, call["command"])
        return deny("%s: %s" % (call.agent, call.command))

register_hook("pre_tool_call", example, kind = "shell")`,
	},
	{
		Name: "tools", Type: "Tools",
		Doc: `The tools on offer, for hooks that name them: a list of dicts that cannot be changed.
tools.names is the list of their names. A tool has the keys name, description and
parameters, a JSON Schema, and plugin if a plugin registered it; all are attributes too.
modify(tools = ...) takes tools or names.`,
		Example: `def example(tools):
    assert_eq(tools.names, [t.name for t in tools])

register_hook("pre_llm_call", example)`,
	},
	{
		Name: "fragments", Type: "FragmentRows",
		Doc: `The fragments of a request, for hooks that name them: a list of dicts that cannot be changed.
fragments.ids, fragments.sources and fragments.contents are lists of one field. A
fragment has the keys id, content, source, plugin, target, priority, title, status,
reason, offset, length and provenance; all are attributes too.`,
		Example: `def example(fragments):
    assert_eq(fragments.sources, [f.source for f in fragments if f.status == "kept"])

register_hook("pre_send", example)
register_hook("turn_start", lambda: "Checkout is slow.")`,
	},
}
