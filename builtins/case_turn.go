package builtins

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// These are the parameters of a step that makes a request, except for the request's text, and their types.
const (
	requestTypes  = "list[str], list[str], list[Attachment], str, list[str], str, dict[str, Any], str, dict[str, Any], list[dict[str, Any]], list[dict[str, Any]], bool -> Any"
	requestParams = `fragments=[], system_fragments=[], attachments=[], system="", tools=[], model="", options={}, template="", params={}, messages=[], client_tools=[], report=False`
)

// requestArgs are the arguments of a step that makes a request.
type requestArgs struct {
	r                       host.Request
	refs, systemRefs, tools stringOrList
	attachments             attachmentArg
	options, params         *starlark.Dict
	messages, clientTools   *starlark.List
	report                  bool
}

// bind stores the arguments of a step: the text, those that behind names, and those of the request.
func (a *requestArgs) bind(c call.Call, behind ...any) error {
	pairs := append([]any{"text", &a.r.Text}, behind...)
	return c.Bind(append(pairs, "fragments?", &a.refs, "system_fragments?", &a.systemRefs, "attachments??", &a.attachments,
		"system?", &a.r.System, "tools?", &a.tools, "model?", &a.r.Model, "options?", &a.options, "template??", &a.r.Template, "params??", &a.params,
		"messages??", &a.messages, "client_tools??", &a.clientTools, "report?", &a.report)...)
}

// request returns the request that the arguments describe.
func (a *requestArgs) request(c call.Call) (r host.Request, err error) {
	r = a.r
	r.Fragments, r.SystemFragments, r.OnlyTools, r.Attachments = a.refs, a.systemRefs, a.tools, a.attachments
	if r.Options, err = optionsJSON(c, a.options); err != nil {
		return r, err
	}
	if r.Params, err = stringParameters(c, "params", a.params); err != nil {
		return r, err
	}
	if r.History, err = decodeList[starhost.Message](c, "messages", a.messages); err != nil {
		return r, err
	}
	r.Tools, err = decodeList[starhost.Tool](c, "client_tools", a.clientTools)
	for i := range r.Tools {
		t := &r.Tools[i]
		if string(t.Parameters) == "null" {
			t.Parameters = nil
		}
		if t.Name == "" {
			return r, c.Fail("E0202", "client_tools[%d]: got no name, want one", i)
		}
	}
	for i, m := range r.History {
		if m.Role != starhost.RoleUser && m.Role != starhost.RoleAssistant && m.Role != starhost.RoleTool {
			return r, c.Fail("E0202", "messages[%d]: got role %s, want user, assistant or tool", i, errtext.Quote(m.Role))
		}
	}
	return r, err
}

// decodeList converts a list of dicts, in the form of their JSON. It returns nil for nil.
func decodeList[T any](c call.Call, arg string, v *starlark.List) (list []T, err error) {
	if v == nil {
		return nil, nil
	}
	raw, err := encodeJSON(c, arg, v)
	if err == nil && json.Unmarshal(raw, &list) != nil {
		err = c.Fail("E0202", "%s: %s", arg, jsontext.Explain(json.Unmarshal(raw, &list)))
	}
	return list, err
}

// A toolCallValue is the value of tool_call(...): a call that a scripted model asks for. It is
// immutable.
type toolCallValue struct{ call starhost.ToolCall }

func (v *toolCallValue) String() string {
	return fmt.Sprintf("<tool_call %s %s>", v.call.Name, v.call.Arguments)
}
func (v *toolCallValue) Type() string          { return "tool_call" }
func (v *toolCallValue) Freeze()               {}
func (v *toolCallValue) Truth() starlark.Bool  { return true }
func (v *toolCallValue) Hash() (uint32, error) { return unhashable("tool_call") }

// makeToolCall implements tool_call.
func makeToolCall(c call.Call) (starlark.Value, error) {
	name, args, err := namedArguments(c, "name")
	if err != nil {
		return nil, err
	}
	raw, err := encodeJSON(c, "", args)
	if err != nil {
		return nil, err
	}
	return &toolCallValue{starhost.ToolCall{Name: name, Arguments: raw}}, nil
}

// repliesArg is an argument that lists the model's replies, one for each round.
type repliesArg []starhost.Reply

// Unpack implements starlark.Unpacker.
func (a *repliesArg) Unpack(v starlark.Value) error {
	list, ok := elementsOf(v)
	if !ok {
		return fmt.Errorf("got %s, want a list with a reply a round", v.Type())
	}
	calls := 0
	for i, e := range list {
		r, err := toReply(e)
		if err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
		for j := range r.ToolCalls {
			calls++
			r.ToolCalls[j].ID = "call_" + strconv.Itoa(calls)
		}
		*a = append(*a, r)
	}
	return nil
}

// answersArg is an argument that lists the user's answers to questions, in order.
type answersArg []bool

// Unpack implements starlark.Unpacker.
func (a *answersArg) Unpack(v starlark.Value) error {
	list, ok := elementsOf(v)
	if !ok {
		return fmt.Errorf(": got %s, want a list of True and False", v.Type())
	}
	for i, e := range list {
		yes, ok := e.(starlark.Bool)
		if !ok {
			return fmt.Errorf("[%d]: got %s, want bool", i, e.Type())
		}
		*a = append(*a, bool(yes))
	}
	return nil
}

// toReply converts one reply: text, a tool call, or a list of these.
func toReply(v starlark.Value) (starhost.Reply, error) {
	parts, ok := elementsOf(v)
	if !ok {
		parts = []starlark.Value{v}
	}
	var r starhost.Reply
	var said []string
	for _, p := range parts {
		switch p := p.(type) {
		case starlark.String:
			said = append(said, string(p))
		case *toolCallValue:
			r.ToolCalls = append(r.ToolCalls, p.call)
		default:
			return r, fmt.Errorf("got %s, want a string, tool_call(...) or a list of these", p.Type())
		}
	}
	r.Content = strings.Join(said, "\n")
	return r, nil
}

func caseTurn(c call.Call, d CaseDriver) (starlark.Value, error) {
	var (
		args    requestArgs
		replies repliesArg
		answers answersArg
	)
	if err := args.bind(c, "model_replies??", &replies, "answers??", &answers); err != nil {
		return nil, err
	}
	r, err := args.request(c)
	if err != nil {
		return nil, err
	}
	result, err := runStep(c, func(ctx context.Context) (*host.TurnResult, error) {
		return d.Turn(ctx, r, replies, answers, args.report)
	})
	if err != nil {
		return nil, err
	}
	calls := make([]starlark.Value, len(result.Calls))
	for i := range result.Calls {
		calls[i] = replyValue(&result.Calls[i], objectOrText(result.Calls[i].Call.Arguments))
	}
	return structOf("turn", starlark.StringDict{
		"text": starlark.String(result.Text), "completed": starlark.Bool(result.Completed), "rounds": starlark.MakeInt(result.Rounds),
		"calls": starlark.NewList(calls),
	}), nil
}

// replyValue converts the reply to a tool call with these arguments.
func replyValue(reply *host.ToolReply, arguments starlark.Value) starlark.Value {
	return replyStruct(&reply.Result, reply.Denied, reply.Call.Name, "arguments", arguments)
}

// replyStruct converts a result to a struct of the given kind. denied is the decision that
// denied the call, or nil; name and arguments say which call.
func replyStruct(
	r *starhost.Result, denied *starhost.Decision, name string, kind starlark.String, arguments starlark.Value,
) starlark.Value {
	reason := ""
	if denied != nil {
		reason = denied.Reason
	}
	return starlarkstruct.FromKeywords(starlark.String("reply"), []starlark.Tuple{
		{kind, arguments},
		{starlark.String("attachments"), attachmentList(r.Attachments)},
		{starlark.String("denied"), starlark.String(reason)},
		{starlark.String("for_user"), starlark.String(r.ForUser)},
		{starlark.String("handled"), starlark.Bool(r.Handled)},
		{starlark.String("is_error"), starlark.Bool(r.IsError)},
		{starlark.String("name"), starlark.String(name)},
		{starlark.String("output"), starlark.String(r.ForLLM)},
		{starlark.String("silent"), starlark.Bool(r.Silent)},
	})
}

func caseCommand(c call.Call, d CaseDriver) (starlark.Value, error) {
	var line string
	var answers answersArg
	if err := c.Bind("line", &line, "answers??", &answers); err != nil {
		return nil, err
	}
	reply, err := runStep(c, func(ctx context.Context) (host.CommandReply, error) {
		return d.Command(ctx, line, answers)
	})
	if err != nil {
		return nil, err
	}
	return replyStruct(&reply.Result, reply.Denied, reply.Call.Name, "args", stringList(reply.Call.Args)), nil
}

func caseTemplate(c call.Call, d CaseDriver) (starlark.Value, error) {
	var ref, input string
	own, rest := splitNamedArgs(c.Kwargs, "ref", "input")
	if err := c.BindArgs(c.Args, own, "ref", &ref, "input?", &input); err != nil {
		return nil, err
	}
	params, err := stringParameters(c, "params", rest)
	if err != nil {
		return nil, err
	}
	tm, err := runStep(c, func(ctx context.Context) (starhost.Template, error) {
		return d.RenderTemplate(ctx, ref, input, params)
	})
	return &templateValue{tm}, err
}
