// This file runs a call of a tool: schema, guards, approval, the handler, post_tool_call.

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/codes"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// A ToolReply is the outcome of a tool call.
type ToolReply struct {
	// Call is the call with its final arguments.
	Call starhost.ToolCall
	// Result is the result for the model.
	Result starhost.Result
	// Denied is the decision that stopped the call, or nil.
	Denied *starhost.Decision
	// Err is the failure of the tool's handler, or nil.
	Err error
	// Paused says that the call has no result, because it waits for an approval: see
	// [Options.PauseTurns].
	Paused bool
	// Steps and Bytes are the usage of the tool's handler.
	Steps, Bytes uint64

	ms int // milliseconds that the handler took
}

// CallTool runs a tool that the last prompt offered. It validates the arguments, fires pre_tool_call, gets an
// approval if the call needs one, runs the tool or takes the answer of a hook, and fires post_tool_call. The
// model gets each failure as an is_error result. If the model asked for the call, the answer becomes a
// message of the turn. A handler may call tools, too, with its own context; the lane of such a call is nested
// in the handler's. The error is an *AbortError, the error of ctx, ErrReadOnly or ErrDepth.
func (t *Turn) CallTool(ctx context.Context, call starhost.ToolCall) (ToolReply, error) {
	if readsOnly(ctx) {
		return ToolReply{Call: call}, ErrReadOnly
	}
	if err := checkDepth(ctx); err != nil {
		return ToolReply{Call: call}, err
	}
	if len(call.Arguments) == 0 {
		call.Arguments = noArguments
	}
	reply, err := t.callTool(ctx, call)
	if err == errPaused {
		return ToolReply{Call: reply.Call, Paused: true}, nil
	}
	if err == nil && LaneOf(ctx) == nil {
		cutResult(t, &reply.Result)
		appendAnswer(t, &reply)
	}
	return reply, err
}

// cutResult cuts a result that is too long for the model.
func cutResult(t *Turn, r *starhost.Result) {
	most := t.host.opts.MaxResult
	if len(r.ForLLM) <= most {
		return
	}
	start := r.ForLLM[:errtext.RuneStart(r.ForLLM, most)]
	r.ForLLM = fmt.Sprintf("%s\n[starhost cut this result: it had %d bytes, limit %d ([tools] max_result)]",
		start, len(r.ForLLM), most)
}

// ErrReadOnly says that a fragment loader called a tool.
var ErrReadOnly = errors.New("a fragment loader only reads: it cannot call tools")

// appendAnswer stores the reply to a call of the model as a message. It omits attachments over a limit and
// those that an earlier message has. The result's text says so for each.
func appendAnswer(t *Turn, reply *ToolReply) {
	call, r := reply.Call, &reply.Result
	if !slices.ContainsFunc(unanswered(t), func(c starhost.ToolCall) bool { return c.ID == call.ID }) {
		return
	}
	var set fragments.Set
	set.Attach(r.Attachments)
	set.InSession(t.inSession)
	_ = set.Fit(t.remainingBudget()) // no error, because only fragments can exceed the budget
	m := starhost.Message{Role: starhost.RoleTool, CallID: call.ID, ToolName: call.Name, IsError: r.IsError}
	for _, row := range set.Attachments() {
		switch row.Status {
		case fragments.Kept:
			t.addContent(&m, row.ID)
			m.Attachments = append(m.Attachments, row.Attachment)
		case fragments.InSession:
			r.ForLLM = appendLine(r.ForLLM, errtext.Format("[attachment %q is in an earlier message]", cmp.Or(row.Name, row.Source, row.URL)))
		}
	}
	for _, note := range set.Notes() {
		r.ForLLM = appendLine(r.ForLLM, note)
	}
	r.Attachments, m.Content = m.Attachments, fragments.NewText(r.ForLLM)
	t.messages = append(t.messages, m)
	if r.Handled {
		t.completed, t.response = true, shownText(r)
	}
}

func (t *Turn) callTool(ctx context.Context, call starhost.ToolCall) (ToolReply, error) {
	tool, problem := lookupTool(t, call.Name)
	if problem != "" {
		return failedReply(call, problem), nil
	}
	if p, err := validateCall(ctx, tool, &call); err != nil {
		return failedReply(call, err.Error()), nil
	} else if p != nil {
		return failedReply(call, problemText(call.Name, p)), nil
	}
	e := t.newEvent("pre_tool_call")
	e.Tool, e.Arguments, e.CallID, e.Plugin, e.ToolKinds = call.Name, call.Arguments, call.ID, tool.PluginName(), tool.Kinds
	e.ToolAlias = tool.Alias
	out, err := t.fireEvent(ctx, e)
	reply := ToolReply{Call: call}
	reply.Call.Arguments = e.Arguments
	switch {
	case err != nil:
		return reply, err
	case out.Decision.Action == starhost.ActionDeny:
		return deniedReply(reply.Call, out.Decision), nil
	case out.problems != nil:
		return failedReply(reply.Call, "a hook changed the arguments: "+problemText(call.Name, out.problems)), nil
	}
	if no, err := t.approve(ctx, tool, e, out); err != nil {
		return reply, err
	} else if no != nil {
		return deniedReply(reply.Call, *no), nil
	}
	traceOverride(t, tool)
	if d := out.firstRespond(); d != nil {
		reply.Result = *d.Result
	} else if err := t.runTool(ctx, tool, e, &reply); err != nil {
		return reply, err
	}
	return reply, t.postTool(ctx, e, &reply)
}

// validateCall returns what is wrong with the arguments of a call, and drops the nulls that stand for absent
// arguments. If a handler makes the call, the handler's plugin pays for the check. The error says that the
// plugin's budget is spent.
func validateCall(ctx context.Context, tool *starhost.Tool, call *starhost.ToolCall) (problems []string, err error) {
	lane := LaneOf(ctx)
	if lane != nil && lane.MaxSteps > 0 && lane.Steps >= lane.MaxSteps {
		return nil, errtext.Errorf("the handlers of %s used %d steps in this event, which [limits] event raises", lane.Plugin, lane.Steps)
	}
	fit, problems, steps := tool.Validator.Validate(call.Arguments)
	call.Arguments = fit
	if lane != nil {
		lane.AddUsage(steps, 0)
	}
	return problems, nil
}

// lookupTool returns a tool that was offered and that the host can run. Otherwise problem says why there is
// none.
func lookupTool(t *Turn, name string) (tool *starhost.Tool, problem string) {
	for i := range t.offeredTools.Len() {
		if tool := t.offeredTools.At(i); tool.Name == name {
			if tool.Validator == nil {
				return nil, errtext.Format("tool %q is run by the caller", name)
			}
			return tool, ""
		}
	}
	return nil, errtext.Format("unknown tool %q%s", name, near.DidYouMean(name, toolNames(t.offeredTools)))
}

// traceOverride adds a trace that names the overridden tool.
func traceOverride(t *Turn, tool *starhost.Tool) {
	if old := tool.Replaced; old != nil {
		detail := fmt.Sprintf("tool %s, not that of %s (%s)", tool.Name, old.PluginName(), old.Pos)
		t.notes = append(t.notes, traceNote{trace: &HookTrace{Event: eventOverride, Plugin: tool.PluginName(),
			Pos: tool.Pos, Detail: detail}})
	}
}

// runTool runs the tool's handler. An error ends the turn.
func (t *Turn) runTool(ctx context.Context, tool *starhost.Tool, pre *starhost.Event, reply *ToolReply) error {
	around := t.swapReading(clockReading{})
	defer t.swapReading(around)
	run := t.startRun(ctx, pre, starhost.EventToolRun)
	lane := t.newLane(ctx, tool.PluginName(), false)
	clock := t.host.opts.Clock
	start := clock()
	result, err := callWithTimeout(lane.context(ctx), tool, reply.Call)
	reply.ms = int(clock().Sub(start).Milliseconds())
	t.deliverRecords(lane)
	t.finishRun(run, lane, tool.Pos, err)
	reply.Steps, reply.Bytes = lane.Steps, lane.Bytes
	if err := endingError(ctx, err); err != nil {
		return err
	}
	if err == nil {
		err = t.checkContext(&starhost.Context{Attachments: result.Attachments})
	}
	if err != nil {
		herr := &HandlerError{Plugin: tool.PluginName(), What: "tool " + tool.Name, Pos: tool.Pos, Err: err}
		reply.Err = herr
		t.reportFailure(ctx, herr)
		result = starhost.Result{ForLLM: "tool " + tool.Name + " failed: " + herr.Error(), IsError: true}
	}
	reply.Result = attributeResult(result, tool.Name, tool.PluginName(), tool.Pos)
	return nil
}

// callWithTimeout calls the tool. If the tool takes longer than its timeout, callWithTimeout returns an error
// that says so.
func callWithTimeout(ctx context.Context, tool *starhost.Tool, call starhost.ToolCall) (starhost.Result, error) {
	if tool.Timeout == 0 {
		return protect(func() (starhost.Result, error) { return tool.Call(ctx, call) })
	}
	late := codes.Errorf(codes.Time, "no result within %v, its timeout", tool.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, tool.Timeout, late)
	defer cancel()
	result, err := protect(func() (starhost.Result, error) { return tool.Call(ctx, call) })
	if err != nil && context.Cause(ctx) == late {
		err = late
	}
	return result, err
}

// postTool fires post_tool_call with the result.
func (t *Turn) postTool(ctx context.Context, pre *starhost.Event, reply *ToolReply) error {
	if !t.hasHooks("post_tool_call") {
		return nil
	}
	e := *pre
	e.Name, e.Arguments = "post_tool_call", reply.Call.Arguments
	e.Result, e.IsError, e.DurationMS = reply.Result, reply.Result.IsError, reply.ms
	_, err := t.fireEvent(ctx, &e)
	reply.Result = e.Result
	return err
}

// approve gets the approvals that a call needs. If the call is denied, it returns the decision that denies
// it, or else nil.
func (t *Turn) approve(ctx context.Context, tool *starhost.Tool, pre *starhost.Event, out Outcome) (*starhost.Decision, error) {
	var reasons []string
	var asks []starhost.Decision
	if tool.Approval == starhost.ApprovalAsk {
		reasons = append(reasons, fmt.Sprintf("tool %s asks for approval", tool.Name))
	}
	for _, d := range out.Decisions {
		// A handler that the host calls again repeats its reason.
		if d.Action == starhost.ActionAsk && !slices.Contains(reasons, d.Reason) {
			reasons, asks = append(reasons, d.Reason), append(asks, d)
		}
	}
	if len(reasons) == 0 {
		return nil, nil
	}
	e := *pre
	e.Name, e.Reason = "approve_tool_call", joinReasons(reasons)
	verdict, err := t.fireEvent(ctx, &e)
	if err != nil {
		return nil, err
	}
	switch verdict.Decision.Action { // a deny wins over an ask, and an ask over an approve
	case starhost.ActionDeny:
		return &verdict.Decision, nil
	}
	r := ApprovalRequest{
		Call: starhost.ToolCall{ID: pre.CallID, Name: pre.Tool, Arguments: pre.Arguments}, Plugin: tool.PluginName(), Reasons: reasons, Asks: asks,
	}
	var got approval
	if verdict.Decision.Action == starhost.ActionApprove {
		got = approval{Approved: true, by: "plugin", asked: time.Now(), given: time.Now()}
		t.observeApproval(ctx, &r, &got, verdict.Decision)
	} else if got, err = t.askPerson(ctx, &r); err != nil {
		return nil, err
	}
	if got.Approved {
		return nil, nil
	}
	return &starhost.Decision{Action: starhost.ActionDeny, Reason: got.Reason, Plugin: starhost.HostPlugin}, nil
}

// askPerson gets the stored answer of a resumed turn, or asks the program's Approver. It denies the call if
// there is no Approver, if the answer is no or an error, and if no answer comes in time.
func (t *Turn) askPerson(ctx context.Context, r *ApprovalRequest) (approval, error) {
	ask := func() (approval, error) { return t.askApprover(ctx, r) }
	if stored, ok := storedApproval(t, r); ok {
		ask = func() (approval, error) { return stored, nil }
	}
	got, err := t.requestApproval(ctx, r, ask)
	if err == errPaused {
		t.waitFor(r)
	}
	return got, err
}

// Confirm asks the program's Approver whether a command may go on. The call of r has the command's name with
// its slash, and Reasons has the question. The result is false if no answer comes in time, if the Approver
// returns an error, and if there is none. The error comes from ctx or from [Options.Answer].
func (t *Turn) Confirm(ctx context.Context, r ApprovalRequest) (bool, error) {
	got, err := t.requestApproval(ctx, &r, func() (approval, error) { return t.askApprover(ctx, &r) })
	return got.Approved, err
}

// requestApproval calls ask, and records the question and the answer. All questions of a turn pass
// here.
func (t *Turn) requestApproval(
	ctx context.Context, r *ApprovalRequest, ask func() (approval, error),
) (approval, error) {
	r.SessionID = t.session.ID()
	asked := func() any { return approvalRequest{r.Call.Name, r.Call.Arguments, r.Call.ID, r.Plugin, r.Reasons} }
	start := time.Now()
	got, err := askInput(ctx, t, InputApproval, asked, ask)
	if ctx.Err() != nil {
		return got, ctx.Err()
	}
	if got.asked.IsZero() {
		got.asked, got.given = start, time.Now()
	}
	d := starhost.Decision{Action: starhost.ActionDeny, Reason: got.Reason}
	switch {
	case err == errPaused:
		d.Action, got.by, got.given = starhost.ActionAsk, "later", time.Time{}
	case got.Approved:
		d.Action = starhost.ActionApprove
	}
	got.by = cmp.Or(got.by, "journal")
	if err == nil || err == errPaused {
		t.observeApproval(ctx, r, &got, d)
	}
	return got, err
}

// askApprover asks the program's Approver. If nobody can answer and the turn can wait, the error is
// errPaused.
func (t *Turn) askApprover(ctx context.Context, r *ApprovalRequest) (approval, error) {
	got, err := Answer{}, errors.ErrUnsupported
	if t.host.opts.Approver != nil {
		got, err = t.host.askApprover(ctx, *r)
	}
	if errors.Is(err, errors.ErrUnsupported) && t.canPause(ctx, r) {
		return approval{}, errPaused
	}
	problem := t.host.whyNotApproved(joinReasons(r.Reasons), got.Yes, err)
	if got.By = cmp.Or(got.By, "program"); err != nil {
		got.By = "nobody"
	}
	return approval{Approved: problem == "", Reason: problem, by: got.By}, nil
}

// whyNotApproved returns a text that says why the call is not approved, or "" if it is.
func (h *Host) whyNotApproved(why string, ok bool, err error) (problem string) {
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return "approval is needed and nobody can give it: " + why
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no approval within %v: %s", h.opts.ApprovalTimeout, why)
	case err != nil:
		return "no approval: " + err.Error()
	case !ok:
		return "not approved: " + why
	}
	return ""
}

// askApprover waits for the Approver's answer until the timeout.
func (h *Host) askApprover(ctx context.Context, r ApprovalRequest) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, h.opts.ApprovalTimeout)
	defer cancel()
	type reply struct {
		Answer
		err error
	}
	replies := make(chan reply, 1)
	go func() {
		given, err := protect(func() (Answer, error) { return h.opts.Approver(ctx, r) })
		replies <- reply{given, err}
	}()
	select {
	case given := <-replies:
		return given.Answer, given.err
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

// failedReply returns the reply to a call that could not run, with a text for the model.
func failedReply(call starhost.ToolCall, problem string) ToolReply {
	return ToolReply{Call: call, Result: starhost.Result{ForLLM: problem, IsError: true}}
}

// deniedReply returns the reply to a denied call.
func deniedReply(call starhost.ToolCall, d starhost.Decision) ToolReply {
	return ToolReply{Call: call, Denied: &d, Result: starhost.Result{ForLLM: fmt.Sprintf("denied by %s: %s", d.Plugin, d.Reason), IsError: true}}
}

// problemText lists the problems of a call's arguments.
func problemText(name string, problems []string) string {
	return fmt.Sprintf("%s: the arguments are not valid:\n%s", name, strings.Join(problems, "\n"))
}

// appendLine returns a text with one more line.
func appendLine(text, line string) string { return strings.TrimPrefix(text+"\n"+line, "\n") }
