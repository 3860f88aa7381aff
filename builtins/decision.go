package builtins

import (
	"encoding/json"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
)

// A decision is the value of deny(...), ask(...), approve(), respond(...), modify(...) and
// abort(...). It is immutable.
type decision struct {
	action  starhost.Action
	reason  string
	result  starhost.Result // only respond(...) has one
	changes []starlark.Tuple
	place   starhost.Pos
}

func (d *decision) String() string {
	switch d.action {
	case starhost.ActionModify:
		names := make([]string, len(d.changes))
		for i, c := range d.changes {
			names[i] = string(c[0].(starlark.String)) + " = " + c[1].String()
		}
		return "modify(" + strings.Join(names, ", ") + ")"
	case starhost.ActionRespond:
		return "respond(" + (&resultValue{d.result}).String() + ")"
	case starhost.ActionApprove:
		return "approve()"
	}
	return string(d.action) + "(" + starlark.String(d.reason).String() + ")"
}
func (d *decision) Type() string          { return "decision" }
func (d *decision) Truth() starlark.Bool  { return true }
func (d *decision) Hash() (uint32, error) { return unhashable("decision") }
func (d *decision) Freeze() {
	for _, v := range d.Parts() {
		v.Freeze()
	}
}

// Parts returns the values that Freeze freezes, and the texts that the decision prints.
func (d *decision) Parts() []starlark.Value {
	held := append(nonEmptyTexts(d.reason), partsOfResult(&d.result)...)
	for _, c := range d.changes {
		held = append(held, c[1])
	}
	return held
}

// decide returns d, and notes it in the call of the handler. A handler that makes a decision and forgets to
// return it then fails.
func decide(c call.Call, d *decision) (starlark.Value, error) {
	d.place = callerOf(c.Thread)
	if h := handlerOf(c); h != nil {
		h.lastDecision = d
	}
	return d, c.Pay(1, 128)
}

// makeReasoned returns the function of deny, ask and abort:
//
//	deny(reason)
func makeReasoned(action starhost.Action) call.Func {
	return func(c call.Call) (starlark.Value, error) {
		d := &decision{action: action}
		if err := c.Bind("reason", &d.reason); err != nil {
			return nil, err
		}
		d.reason = asText(d.reason) // a text with broken bytes is no reason to let the call pass
		return decide(c, d)
	}
}

// makeApprove implements approve.
func makeApprove(c call.Call) (starlark.Value, error) {
	if err := c.Bind(); err != nil {
		return nil, err
	}
	return decide(c, &decision{action: starhost.ActionApprove})
}

// makeRespond implements respond.
func makeRespond(c call.Call) (starlark.Value, error) {
	var v starlark.Value
	if err := c.Bind("result", &v); err != nil {
		return nil, err
	}
	r, err := toResult(v)
	if err != nil {
		return nil, c.Fail("E0204", "result: %v", err)
	}
	return decide(c, &decision{action: starhost.ActionRespond, result: r})
}

// makeModify implements modify.
func makeModify(c call.Call) (starlark.Value, error) {
	if len(c.Args) > 0 || len(c.Kwargs) == 0 {
		return nil, c.Fail("E0201", "got %d positional arguments, want changes by name: modify(model = \"...\")", len(c.Args))
	}
	return decide(c, &decision{action: starhost.ActionModify, changes: c.Kwargs})
}

// toDecision converts what a hook of the event returned, and stores it in out.
func toDecision(spec *starhost.EventSpec, v starlark.Value, out *starhost.Decision) error {
	d, ok := v.(*decision)
	if !ok && slices.Contains(spec.Actions, starhost.ActionValue) {
		raw, err := toBoundedJSON(v, maxEventJSON)
		if err != nil {
			return call.Errorf("E0312", "%v", err)
		}
		out.Action, out.Value = starhost.ActionValue, raw
		return nil
	}
	if !ok {
		c, err := toContext(v)
		if err != nil {
			return call.Errorf("E0312", "%v, or a decision", err)
		}
		if len(c.Fragments)+len(c.Attachments) > 0 {
			out.Action, out.Context = starhost.ActionContext, c
		}
		return nil
	}
	out.Action, out.Reason, out.Pos = d.action, d.reason, d.place
	if d.action == starhost.ActionRespond {
		out.Result = &d.result
	}
	for _, change := range d.changes {
		name := string(change[0].(starlark.String))
		value, err := toChange(spec, name, change[1])
		if err != nil {
			return call.Errorf("E0312", "modify: %s: %v", name, err)
		}
		if out.Changes == nil {
			out.Changes = map[string]any{}
		}
		out.Changes[name] = value
	}
	return nil
}

// toChange converts a new value of an event's argument to Go. The host checks whether hooks may change that
// argument.
func toChange(spec *starhost.EventSpec, name string, v starlark.Value) (any, error) {
	if spec.Tool && name == "paths" {
		var list []string
		err := setTexts(&list, v)
		return list, err
	}
	switch spec.New().Arg(name).(type) {
	case *string:
		s, ok := starlark.AsString(v)
		if !ok {
			return nil, call.Errorf("E0312", "got %s, want string", v.Type())
		}
		return s, textError(s)
	case *json.RawMessage:
		if !isObject(v) {
			return nil, call.Errorf("E0312", "got %s, want dict", v.Type())
		}
		raw, err := toJSON(v)
		return json.RawMessage(raw), err
	case *starhost.Result:
		return changeResult(v)
	case *starhost.AppArg:
		raw, err := toJSON(v)
		return json.RawMessage(raw), err
	case *[]string:
		var list []string
		err := setTexts(&list, v)
		return list, err
	case **starhost.Messages:
		return toMessages(v)
	case **starhost.Tools:
		return toTools(v)
	}
	return nil, nil
}

func isObject(v starlark.Value) bool {
	if _, ok := v.(*starlarkstruct.Struct); ok {
		return true
	}
	_, ok := v.(starlark.IterableMapping)
	return ok
}

// changeResult converts a new result of a tool to Go. A string replaces only the text for the model.
func changeResult(v starlark.Value) (any, error) {
	if s, ok := v.(starlark.String); ok {
		return string(s), textError(string(s))
	}
	r, err := toResult(v)
	return r, err
}
