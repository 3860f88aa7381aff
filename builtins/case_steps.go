package builtins

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/timetext"
)

// A CaseDriver runs the steps of a golden case. An error fails the step.
type CaseDriver interface {
	// Prompt builds the first prompt of a new turn. full asks for a report with sizes and hashes.
	Prompt(ctx context.Context, r host.Request, full bool) (*host.Prompt, error)
	// CallTool calls a tool as the model would, with hooks and schema. answers are the user's answers to the
	// approvals that the call needs. If there are any answers, the call must need exactly as many.
	CallTool(ctx context.Context, call starhost.ToolCall, answers []bool) (host.ToolReply, error)
	// Fire fires an event. args has the event's arguments by name, as JSON.
	Fire(ctx context.Context, event string, args map[string]json.RawMessage) (host.Outcome, error)
	// Hook sends an agent's event to the plugins, in the form in which the agent writes it. It returns what
	// starhost hook would: output, standard error and exit code.
	Hook(ctx context.Context, agent, event string) (out, stderr string, code int, err error)
	// LoadFragments resolves a reference.
	LoadFragments(ctx context.Context, ref string) (starhost.Context, error)
	// Turn runs a whole turn. The model gives these replies, all of them and in order, and the user gives
	// these answers. full asks for a report, as in Prompt.
	Turn(
		ctx context.Context, r host.Request, replies []starhost.Reply, answers []bool, full bool,
	) (*host.TurnResult, error)
	// Command runs a line such as "/deliver checkout". answers are the user's answers to the
	// questions of the command and of the tools that it calls; all must be used.
	Command(ctx context.Context, line string, answers []bool) (host.CommandReply, error)
	// RenderTemplate loads a template and fills in the user's words and parameters.
	RenderTemplate(ctx context.Context, ref, input string, params map[string]string) (starhost.Template, error)
	// CompleteCommand completes a line such as "/deliver ch".
	CompleteCommand(ctx context.Context, line string) ([]string, error)
	// Advance moves the clock that handlers see.
	Advance(ctx context.Context, d time.Duration) error
	// SetNow sets the clock that handlers see. The clock then stands still.
	SetNow(ctx context.Context, now time.Time) error
	// Row returns the JSON of a value of the row that runs.
	Row(name string) (json.RawMessage, error)
}

// CaseTable returns the entries that only case.star can use, in addition to those of [Table]. d may be nil if
// the caller needs only the descriptions.
func CaseTable(rt call.Runtime, d CaseDriver) []call.Entry {
	return entriesOf(rt, []call.Member{
		{
			Name: "prompt", Params: "text, " + requestParams, Type: "str, " + requestTypes,
			Doc: `Begins a turn with the user's words and builds its prompt.
fragments and system_fragments are references, tools are globs on the names of offered
tools, template is a reference with params for its parameters. messages are the conversation so far,
each a dict with role and content, and client_tools are tools of the caller, each a dict with name,
description and parameters. report = True prints the sizes and hashes of its parts too. Returns the prompt: .text,
.system, .messages, .tools, .fragments, .attachments, .model and .bytes.`,
			Example: `p = prompt("Why is checkout slow?", fragments = ["runbook:checkout"])
assert_contains(p.text, "Why is checkout slow?")
assert_eq(p.fragments.sources, ["runbook:checkout"])`,
			Func: func(c call.Call) (starlark.Value, error) { return casePrompt(c, d) },
		},
		{
			Name: "turn", Params: "text, model_replies=[], answers=[], " + requestParams, Type: "str, list[Any], list[bool], " + requestTypes,
			Doc: `Runs a whole turn: prompts, tool calls, up to the final answer.
model_replies lists the model's replies, one for each round: a string, tool_call(...), or
a list of these; the turn must use all. answers are the user's, True or False, to the approvals
of its calls, in order. The other arguments are as for prompt. Returns .text,
the answer, .completed, .rounds, and .calls, each with .name and the fields that call_tool
returns.`,
			Example: `t = turn("Say hi.", model_replies = [[tool_call("echo", text = "hi")], "I said it."])
assert_eq((t.text, t.completed, t.rounds), ("I said it.", True, 2))
assert_eq([(c.name, c.output) for c in t.calls], [("echo", "hi")])`,
			Func: func(c call.Call) (starlark.Value, error) { return caseTurn(c, d) },
		},
		{
			Name: "tool_call", Params: "name, **arguments", Type: "str, Any -> Any",
			Doc:     "A call that the model of turn asks for.",
			Example: `assert_eq(type(tool_call("echo", text = "hi")), "tool_call")`,
			Func:    makeToolCall,
		},
		{
			Name: "call_tool", Params: "name, answers=[], **arguments", Type: "str, list[bool], Any -> Any",
			Doc: `Calls a tool as the model would: schema, hooks and approval included.
answers lists the user's answers, True or False, to the approvals that the call needs, in order: too
few and too many fail the step. Without answers there is no user, and the call is denied. turn and
tool_call reach a tool that has an argument named answers.
Returns .output, .is_error, .for_user, .silent, .handled, .attachments, the final
.arguments, and .denied: the reason if a hook denied the call, else "".`,
			Example: `assert_eq(call_tool("echo", text = "hi").output, "hi")`,
			Func:    func(c call.Call) (starlark.Value, error) { return caseCallTool(c, d) },
		},
		{
			Name: "fire", Params: "event, **arguments", Type: "str, Any -> Any",
			Doc: `Fires one event.
The case's section events.jsonl declares events of a program, app.*. Returns the common
decision of the handlers: .action, .reason, .changes, .result, .context, and .decisions with
a struct(plugin, action, reason) for each handler that made a decision. For an event about a
tool, agent is the agent whose tool it is; roles and workspace are the session's.`,
			Example: `assert_eq(fire("pre_tool_call", tool = "echo", arguments = {"text": "rm"}).action, "deny")
assert_eq(fire("pre_tool_call", agent = "codex", tool = "Bash", arguments = {"command": "ls"}).action, "")`,
			Func: func(c call.Call) (starlark.Value, error) { return caseFire(c, d) },
		},
		{
			Name: "hook", Params: "agent, event", Type: "str, dict[str, Any] | str -> Any",
			Doc: `Sends an event of an agent through its adapter, as starhost hook AGENT gets it.
event is a dict, or the event's text. Returns .output, the JSON that the agent gets as a dict or
None, .stderr and .code, the exit code. Events of one session share ctx.state, except for
picoclaw, where each event has its own process.`,
			Example: `answer = hook("claude-code", {
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
})
assert_eq((answer.output, answer.stderr, answer.code), (None, "", 0))`,
			Func: func(c call.Call) (starlark.Value, error) { return caseHook(c, d) },
		},
		{
			Name: "command", Params: "line, answers=[]", Type: "str, list[bool] -> Any",
			Doc: `Runs a command, as if the user typed the line.
answers lists the user's answers, True or False, to the questions of the command and to the
approvals that its tools need; the command must use all. Without answers there is no user, and each
question is a no. Returns .name, .args, and the other fields that call_tool returns.`,
			Example: `assert_eq(command("/greet Ada").output, "Hello Ada.")
assert_eq(command("/greet Ada", answers = []).output, "Hello Ada.")`,
			Func: func(c call.Call) (starlark.Value, error) { return caseCommand(c, d) },
		},
		{
			Name: "complete_command", Params: "line", Type: "str -> list[str]",
			Doc: `Completes a line that the user is typing between two turns.
Returns a list: the names of commands, or what complete= of the line's command returns.`,
			Example: `assert_eq(complete_command("/gr"), ["/greet"])
assert_eq(complete_command("/greet A"), ["Ada", "Alan"])`,
			Func: func(c call.Call) (starlark.Value, error) { return caseComplete(c, d) },
		},
		{
			Name: "render_template", Params: `ref, input="", **params`, Type: "str, str, Any -> Template",
			Doc: `Loads a template and fills in parameters, and $input with the user's words.
Returns the template: .prompt and .system as they will be sent, .model, .fragments and
the other fields of template(...).`,
			Example: `assert_eq(render_template("review:Go", what = "change").prompt, "Review this change in Go.")`,
			Func:    func(c call.Call) (starlark.Value, error) { return caseTemplate(c, d) },
		},
		{
			Name: "load_fragments", Params: "ref", Type: "str -> list[Any]",
			Doc:     "Resolves a reference, and returns its fragments and attachments as a list.",
			Example: `assert_eq([f.content for f in load_fragments("runbook:checkout")], ["Runbook of checkout."])`,
			Func:    func(c call.Call) (starlark.Value, error) { return caseLoad(c, d) },
		},
		{
			Name: "advance", Params: "seconds=0, minutes=0, hours=0, days=0", Type: "int, int, int, int -> None",
			Doc:     "Moves the clock that handlers see forward, from the next turn on.",
			Example: `assert_eq(advance(hours = 1, minutes = 30), None)`,
			Func:    func(c call.Call) (starlark.Value, error) { return caseAdvance(c, d) },
		},
		{
			Name: "set_now", Params: "time", Type: "str -> None",
			Doc: `Sets the clock that handlers see, from the next turn on.
time is a text as 2026-01-01T00:00:00Z, or a day. The case's section now does the same for its
first turn.`,
			Example: `assert_eq(set_now("2026-12-24T23:00:00Z"), None)`,
			Func:    func(c call.Call) (starlark.Value, error) { return caseSetNow(c, d) },
		},
		{
			Name: "row", Params: "key", Type: "str -> Any",
			Doc: `Returns a value of the row that runs, in a case with the section rows.jsonl.
The section is a table: each line is a JSON object, all have the same keys, and the first key is
"name", the row's name. The steps run once for each row, in a new session, with the output in the
section want/NAME.`,
			Example: `assert_eq(row("team"), "checkout")`,
			Func:    func(c call.Call) (starlark.Value, error) { return caseRow(c, d) },
		},
		{
			Name: "assert_eq", Params: "got, want", Type: "Any, Any -> None",
			Doc:     "Fails the case unless the two values are equal.\nA view, such as messages, equals a list or a dict with the same members.",
			Example: `assert_eq(1 + 1, 2)`,
			Func:    assertEq,
		},
		{
			Name: "assert_contains", Params: "text, part", Type: "Any, Any -> None",
			Doc: "Fails the case unless text contains part: unless part in text is True.",
			Example: `assert_contains("a runbook", "book")
assert_contains([1, 2], 2)
assert_eq("book" in "a runbook", True)`,
			Func: assertContains,
		},
		{
			Name: "assert_fails", Params: "fn, text", Type: "Callable[[], Any], str -> str",
			Doc: "Fails the case unless fn() fails with a message that contains text.\nReturns the message.",
			Example: `assert_fails(lambda: fail("no ticket"), "ticket")
assert_eq(assert_fails(lambda: fail("no ticket"), ""), "fail: no ticket")`,
			Func: assertFails,
		},
	})
}

// runStep calls work, which runs a step, while the clock of the case's run stands still.
func runStep[T any](c call.Call, work func(ctx context.Context) (T, error)) (got T, err error) {
	got, err = runEffect(c, work)
	if err != nil && !isCoded(err) {
		err = c.Fail("E0319", "%v", err)
	}
	return got, err
}

// isCoded reports whether an error has a code.
func isCoded(err error) bool {
	var coded interface{ Code() string }
	return errors.As(err, &coded)
}

func structOf(name string, fields starlark.StringDict) starlark.Value {
	return starlarkstruct.FromStringDict(starlark.String(name), fields)
}

func casePrompt(c call.Call, d CaseDriver) (starlark.Value, error) {
	var args requestArgs
	if err := args.bind(c); err != nil {
		return nil, err
	}
	r, err := args.request(c)
	if err != nil {
		return nil, err
	}
	p, err := runStep(c, func(ctx context.Context) (*host.Prompt, error) { return d.Prompt(ctx, r, args.report) })
	if err != nil {
		return nil, err
	}
	return promptValue(p), nil
}

func promptValue(p *host.Prompt) starlark.Value {
	rows := make([]fragments.Row, len(p.Fragments))
	for i, r := range p.Fragments {
		rows[i] = *r
	}
	attachments := make([]fragments.Attachment, len(p.Attachments))
	for i, a := range p.Attachments {
		attachments[i] = a.Attachment
	}
	return structOf("prompt", starlark.StringDict{
		"text":        starlark.String(p.Text.String()),
		"system":      starlark.String(p.System),
		"messages":    newListView(&messageKind, p.Messages),
		"tools":       newListView(&toolKind, p.Tools),
		"fragments":   newListView(&rowKind, rows),
		"attachments": attachmentList(attachments),
		"model":       starlark.String(p.Model),
		"bytes":       starlark.MakeInt(p.Bytes()),
	})
}

// namedArguments returns the argument named first, which comes by position or by name, and all other
// arguments. If it comes by position, the others may contain one of the same name.
func namedArguments(c call.Call, first string) (string, *starlark.Dict, error) {
	names := []string{first}
	if len(c.Args) > 0 {
		names = nil
	}
	own, rest := splitNamedArgs(c.Kwargs, names...)
	var s string
	err := c.BindArgs(c.Args, own, first, &s)
	return s, rest, err
}

func caseCallTool(c call.Call, d CaseDriver) (starlark.Value, error) {
	var answers answersArg
	for i, kv := range c.Kwargs {
		if kv[0] != starlark.String("answers") {
			continue
		}
		if err := answers.Unpack(kv[1]); err != nil {
			return nil, c.Fail("E0202", "answers%v", err)
		}
		c.Kwargs = slices.Delete(slices.Clone(c.Kwargs), i, i+1)
		break
	}
	name, args, err := namedArguments(c, "name")
	if err != nil {
		return nil, err
	}
	raw, err := encodeJSON(c, "", args)
	if err != nil {
		return nil, err
	}
	reply, err := runStep(c, func(ctx context.Context) (host.ToolReply, error) {
		return d.CallTool(ctx, starhost.ToolCall{ID: "call", Name: name, Arguments: raw}, answers)
	})
	if err != nil {
		return nil, err
	}
	return replyValue(&reply, objectOrText(reply.Call.Arguments)), nil
}

func caseFire(c call.Call, d CaseDriver) (starlark.Value, error) {
	event, rest, err := namedArguments(c, "event")
	if err != nil {
		return nil, err
	}
	args := map[string]json.RawMessage{}
	for k, v := range rest.Entries() {
		raw, err := toJSON(v)
		if err != nil {
			return nil, c.Fail("E0204", "%s: %v", string(k.(starlark.String)), err)
		}
		args[string(k.(starlark.String))] = raw
	}
	out, err := runStep(c, func(ctx context.Context) (host.Outcome, error) { return d.Fire(ctx, event, args) })
	if err != nil {
		return nil, err
	}
	return outcomeValue(out), nil
}

func caseHook(c call.Call, d CaseDriver) (starlark.Value, error) {
	var agent string
	var event starlark.Value
	if err := c.Bind("agent", &agent, "event", &event); err != nil {
		return nil, err
	}
	text, isText := starlark.AsString(event)
	if !isText {
		if !isObject(event) {
			return nil, c.Fail("E0202", "event: got %s, want a dict or the event's text", event.Type())
		}
		raw, err := toJSON(event)
		if err != nil {
			return nil, c.Fail("E0204", "event: %v", err)
		}
		text = string(raw)
	}
	var stderr string
	var code int
	out, err := runStep(c, func(ctx context.Context) (out string, err error) {
		out, stderr, code, err = d.Hook(ctx, agent, text)
		return out, err
	})
	if err != nil {
		return nil, err
	}
	var output starlark.Value = starlark.None
	if out != "" {
		output = jsonOrText(json.RawMessage(out))
	}
	return structOf("answer", starlark.StringDict{
		"output": output, "stderr": starlark.String(stderr), "code": starlark.MakeInt(code),
	}), nil
}

func outcomeValue(out host.Outcome) starlark.Value {
	var decisions, context []starlark.Value
	for _, d := range out.Decisions {
		decisions = append(decisions, structOf("decision", starlark.StringDict{
			"plugin": starlark.String(d.Plugin), "action": starlark.String(d.Action), "reason": starlark.String(d.Reason),
		}))
	}
	for _, c := range out.Context() {
		context = append(context, contextValues(c)...)
	}
	changes := starlark.NewDict(len(out.Decision.Changes))
	for _, name := range slices.Sorted(maps.Keys(out.Decision.Changes)) {
		setKey(changes, name, changeValue(out.Decision.Changes[name]))
	}
	var result starlark.Value = starlark.None
	if r := out.Decision.Result; r != nil {
		result = &resultValue{*r}
	}
	return structOf("outcome", starlark.StringDict{
		"action":    starlark.String(out.Decision.Action),
		"reason":    starlark.String(out.Decision.Reason),
		"changes":   changes,
		"result":    result,
		"context":   starlark.NewList(context),
		"decisions": starlark.NewList(decisions),
	})
}

// toolTexts returns the names of tools. If a tool has a new description, it follows the name.
func toolTexts(tools []starhost.Tool) []string {
	texts := make([]string, len(tools))
	for i, t := range tools {
		if texts[i] = t.Name; t.Description != "" {
			texts[i] += ": " + t.Description
		}
	}
	return texts
}

// changeValue converts a new value of an argument, from [starhost.Decision].Changes, to Starlark.
func changeValue(v any) starlark.Value {
	switch v := v.(type) {
	case string:
		return starlark.String(v)
	case json.RawMessage:
		return jsonOrText(v)
	case starhost.Result:
		return &resultValue{v}
	case []string:
		return stringList(v)
	case []starhost.Tool:
		return stringList(toolTexts(v))
	case *starhost.Messages:
		return viewOf(v, &messageKind)
	}
	return starlark.None
}

// jsonOrText converts JSON to Starlark. A text that is no JSON becomes a string.
func jsonOrText(raw json.RawMessage) starlark.Value {
	v, err := fromJSON(raw)
	if err != nil {
		return starlark.String(raw)
	}
	return freeze(v)
}

func caseLoad(c call.Call, d CaseDriver) (starlark.Value, error) {
	var ref string
	if err := c.Bind("ref", &ref); err != nil {
		return nil, err
	}
	got, err := runStep(c, func(ctx context.Context) (starhost.Context, error) { return d.LoadFragments(ctx, ref) })
	if err != nil {
		return nil, err
	}
	return starlark.NewList(contextValues(got)), nil
}

// contextValues converts the fragments and attachments of a context to Starlark.
func contextValues(c starhost.Context) []starlark.Value {
	var values []starlark.Value
	for _, f := range c.Fragments {
		values = append(values, &fragmentValue{f})
	}
	for _, a := range c.Attachments {
		values = append(values, &attachmentValue{a})
	}
	return values
}

func caseAdvance(c call.Call, d CaseDriver) (starlark.Value, error) {
	units := []struct {
		name string
		unit time.Duration
		n    starlark.Value
	}{{"seconds?", time.Second, nil}, {"minutes?", time.Minute, nil}, {"hours?", time.Hour, nil}, {"days?", 24 * time.Hour, nil}}
	var pairs []any
	for i := range units {
		pairs = append(pairs, units[i].name, &units[i].n)
	}
	if err := c.Bind(pairs...); err != nil {
		return nil, err
	}
	var total time.Duration
	for _, u := range units {
		if u.n == nil {
			continue
		}
		n, ok := starlark.AsFloat(u.n)
		if !ok || n < 0 || n > 1e9 {
			return nil, c.Fail("E0202", "%s: got %s, want a number from 0 to 1e9", strings.TrimSuffix(u.name, "?"), u.n)
		}
		total += time.Duration(n * float64(u.unit))
	}
	_, err := runStep(c, func(ctx context.Context) (struct{}, error) { return struct{}{}, d.Advance(ctx, total) })
	return starlark.None, err
}

func caseComplete(c call.Call, d CaseDriver) (starlark.Value, error) {
	var line string
	if err := c.Bind("line", &line); err != nil {
		return nil, err
	}
	list, err := runStep(c, func(ctx context.Context) ([]string, error) { return d.CompleteCommand(ctx, line) })
	if err != nil {
		return nil, err
	}
	return stringList(list), nil
}

func caseSetNow(c call.Call, d CaseDriver) (starlark.Value, error) {
	var text string
	if err := c.Bind("time", &text); err != nil {
		return nil, err
	}
	now, err := timetext.Parse(text)
	if err != nil {
		return nil, c.Fail("E0202", "time: %v", err)
	}
	_, err = runStep(c, func(ctx context.Context) (struct{}, error) { return struct{}{}, d.SetNow(ctx, now) })
	return starlark.None, err
}

func caseRow(c call.Call, d CaseDriver) (starlark.Value, error) {
	var key string
	if err := c.Bind("key", &key); err != nil {
		return nil, err
	}
	raw, err := d.Row(key)
	if err != nil {
		return nil, c.Fail("E0319", "%v", err)
	}
	v, err := decodeJSON(c, raw)
	if err != nil && !isCoded(err) {
		err = c.Fail("E0202", "%s: %v", key, err)
	}
	return v, err
}
