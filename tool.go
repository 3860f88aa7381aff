package starhost

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A ToolReply is what became of a tool call.
type ToolReply struct {
	// Call is the call with its final arguments.
	Call ToolCall
	// Result is what the model is told.
	Result Result
	// Denied is the decision that kept the tool from running, or nil.
	Denied *Decision
	// Err is the failure of the tool's handler, or nil.
	Err error
	// Steps and Bytes are what the tool's own handler spent.
	Steps, Bytes uint64

	ms int // how long the handler took
}

// CallTool runs a tool that the last prompt offered: it validates the arguments,
// asks pre_tool_call, gets approval if it is needed, runs the tool or takes a
// hook's answer, and passes the result through post_tool_call. Whatever goes
// wrong with the call is told to the model in an is_error result. If the last
// Reply asked for the call, its answer becomes a message of the turn. The error
// is an *AbortError, or that of ctx.
func (t *Turn) CallTool(ctx context.Context, call ToolCall) (ToolReply, error) {
	if len(call.Arguments) == 0 {
		call.Arguments = emptyObject
	}
	reply, err := t.callTool(ctx, call)
	if err != nil {
		return reply, err
	}
	if t.asksFor(call.ID) {
		r := reply.Result
		t.messages = append(t.messages, Message{Role: RoleTool, Content: r.ForLLM, Attachments: r.Attachments, CallID: call.ID, ToolName: call.Name, IsError: r.IsError})
	}
	return reply, nil
}

// asksFor reports whether the turn's last reply has an unanswered call of that id.
func (t *Turn) asksFor(id string) bool {
	for i := len(t.messages) - 1; i >= 0; i-- {
		switch m := &t.messages[i]; m.Role {
		case RoleTool:
			if m.CallID == id {
				return false
			}
		case RoleAssistant:
			return slices.ContainsFunc(m.ToolCalls, func(c ToolCall) bool { return c.ID == id })
		}
	}
	return false
}

func (t *Turn) callTool(ctx context.Context, call ToolCall) (ToolReply, error) {
	tool, problem := t.lookupTool(call.Name)
	if problem != "" {
		return failed(call, problem), nil
	}
	if p := tool.schema.validate(call.Arguments); p != nil {
		return failed(call, problemText(call.Name, p)), nil
	}
	e := t.event("pre_tool_call")
	e.Tool, e.Arguments, e.CallID, e.Plugin = call.Name, call.Arguments, call.ID, tool.plugin
	out, err := t.fire(ctx, e)
	call.Arguments = e.Arguments
	if err != nil {
		return ToolReply{Call: call}, err
	}
	if out.Decision.Action == ActionDeny {
		return denied(call, out.Decision), nil
	}
	if p := tool.schema.validate(call.Arguments); p != nil {
		return failed(call, "a hook changed the arguments: "+problemText(call.Name, p)), nil
	}
	if d, err := t.approve(ctx, tool, e, out); d != nil || err != nil {
		if err != nil {
			return ToolReply{Call: call}, err
		}
		return denied(call, *d), nil
	}
	reply := ToolReply{Call: call}
	if r := out.respond(); r != nil {
		reply.Result = *r.Result
	} else {
		t.runTool(ctx, tool, &reply)
	}
	if err := ctx.Err(); err != nil {
		return reply, err
	}
	return reply, t.postTool(ctx, e, &reply)
}

// lookupTool finds a tool that is on offer and that the host can run.
func (t *Turn) lookupTool(name string) (*Tool, string) {
	var names []string
	for i := range t.offered.Len() {
		tool := t.offered.At(i)
		if tool.Name == name {
			if tool.Call == nil {
				return nil, fmt.Sprintf("tool %q is run by the caller", name)
			}
			return tool, ""
		}
		names = append(names, tool.Name)
	}
	return nil, fmt.Sprintf("unknown tool %q%s", name, didYouMean(name, names))
}

// runTool runs the tool's own handler.
func (t *Turn) runTool(ctx context.Context, tool *Tool, reply *ToolReply) {
	lane := t.lane(ctx, tool.plugin, false)
	start := t.session.host.opts.Clock()
	result, err := protect(func() (Result, error) { return tool.Call(lane.with(ctx), t, reply.Call) })
	reply.ms = int(t.session.host.opts.Clock().Sub(start).Milliseconds())
	t.flush(lane)
	reply.Steps, reply.Bytes = lane.Steps, lane.Bytes
	if err == nil {
		err = t.checkContext(Context{Attachments: result.Attachments})
	}
	if err != nil {
		herr := &HandlerError{Plugin: tool.plugin, What: "tool " + tool.Name, Pos: tool.Pos, Err: err}
		reply.Err = herr
		t.fail(herr)
		result = Result{ForLLM: "tool " + tool.Name + " failed: " + herr.Error(), IsError: true}
	}
	c := Context{Attachments: result.Attachments}.attribute(tool.Name, tool.plugin, tool.Pos, false)
	result.Attachments = c.Attachments
	reply.Result = result
}

// postTool passes the result through post_tool_call.
func (t *Turn) postTool(ctx context.Context, pre *Event, reply *ToolReply) error {
	e := *pre
	e.Name, e.Arguments = "post_tool_call", reply.Call.Arguments
	e.Result, e.IsError, e.DurationMS = reply.Result, reply.Result.IsError, reply.ms
	_, err := t.fire(ctx, &e)
	reply.Result = e.Result
	return err
}

// approve gets the approval that a call needs. It returns the decision that
// denies the call, or nil.
func (t *Turn) approve(ctx context.Context, tool *Tool, pre *Event, out Outcome) (*Decision, error) {
	var reasons []string
	if tool.Approval == ApprovalAsk {
		reasons = append(reasons, fmt.Sprintf("tool %s asks for approval", tool.Name))
	}
	for _, d := range out.Decisions {
		if d.Action == ActionAsk {
			reasons = append(reasons, d.Reason)
		}
	}
	if len(reasons) == 0 {
		return nil, nil
	}
	e := *pre
	e.Name, e.Reason = "approve_tool_call", strings.Join(reasons, "; ")
	verdict, err := t.fire(ctx, &e)
	if err != nil {
		return nil, err
	}
	switch {
	case verdict.Decision.Action == ActionDeny:
		return &verdict.Decision, nil
	case verdict.Decision.Action == ActionApprove && !verdict.Ask:
		return nil, nil
	}
	return t.askPerson(ctx, tool, pre, reasons)
}

// askPerson asks the program's Approver; none, a no, or an error denies.
func (t *Turn) askPerson(ctx context.Context, tool *Tool, pre *Event, reasons []string) (*Decision, error) {
	why := strings.Join(reasons, "; ")
	ask := t.session.host.opts.Approver
	if ask == nil {
		return &Decision{Action: ActionDeny, Reason: "approval is needed and nobody can give it: " + why, Plugin: HostPlugin}, nil
	}
	call := ToolCall{ID: pre.CallID, Name: pre.Tool, Arguments: pre.Arguments}
	ok, err := protect(func() (bool, error) {
		return ask(ctx, ApprovalRequest{SessionID: pre.SessionID, Call: call, Plugin: tool.plugin, Reasons: reasons})
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return &Decision{Action: ActionDeny, Reason: "no approval: " + err.Error(), Plugin: HostPlugin}, nil
	case !ok:
		return &Decision{Action: ActionDeny, Reason: "not approved: " + why, Plugin: HostPlugin}, nil
	}
	return nil, nil
}

// failed answers a call that could not run, in words for the model.
func failed(call ToolCall, problem string) ToolReply {
	return ToolReply{Call: call, Result: Result{ForLLM: problem, IsError: true}}
}

// denied answers a call that was not allowed to run.
func denied(call ToolCall, d Decision) ToolReply {
	return ToolReply{Call: call, Denied: &d, Result: Result{ForLLM: fmt.Sprintf("denied by %s: %s", d.Plugin, d.Reason), IsError: true}}
}

// problemText lists what is wrong with a call's arguments.
func problemText(name string, problems []string) string {
	return fmt.Sprintf("%s: the arguments are not valid:\n%s", name, strings.Join(problems, "\n"))
}

// ParameterTypes returns the schema's properties, for typing arguments that came
// as text: name to JSON Schema type, "" where the schema does not say.
func (t *Tool) ParameterTypes() map[string]string {
	var s struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
	}
	types := map[string]string{}
	if json.Unmarshal(t.Parameters, &s) != nil {
		return types
	}
	for name, p := range s.Properties {
		var typ string
		if json.Unmarshal(p.Type, &typ) != nil {
			typ = ""
		}
		types[name] = typ
	}
	return types
}
