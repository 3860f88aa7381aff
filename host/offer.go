// Which tools a turn may offer.

package host

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/starhost/starhost"
)

// catalog returns the tools that the request may offer, by name.
func (t *Turn) catalog() []starhost.Tool {
	tools := t.registry.toolsWhere(t.mayOffer)
	if len(t.request.Tools) == 0 {
		return tools
	}
	for _, theirs := range t.request.Tools {
		theirs.Plugin, theirs.Validator, theirs.Replaced = nil, nil, nil
		theirs.Parameters = bytes.Clone(theirs.Parameters) // the program may change its request later
		tools = append(tools, theirs)
	}
	slices.SortStableFunc(tools, func(a, b starhost.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(tools, func(a, b starhost.Tool) bool { return a.Name == b.Name })
}

// mayOffer reports whether the roles of the session and the filters of the request allow a tool.
func (t *Turn) mayOffer(tool *starhost.Tool) bool {
	return !t.session.unavailable[tool.Name] && admits(t, tool)
}

// askAvailable asks each tool by its Available, in the order of names, once for each set of plugins.
func (t *Turn) askAvailable(ctx context.Context) error {
	s := t.session
	if s.availabilityOf == t.registry {
		return nil
	}
	var without map[string]bool
	deadline := t.startEvent(ctx)
	for i := range t.registry.catalog {
		tool := &t.registry.catalog[i]
		if tool.Available == nil {
			continue
		}
		ok, err := t.available(ctx, tool, deadline)
		if err != nil {
			return err
		}
		if without == nil {
			without = map[string]bool{}
		}
		without[tool.Name] = !ok
	}
	s.availabilityOf, s.unavailable = t.registry, without
	return nil
}

// available asks one tool. An error ends the turn.
func (t *Turn) available(ctx context.Context, tool *starhost.Tool, deadline time.Time) (ok bool, err error) {
	lane := t.newLane(ctx, tool.Plugin.Name, false)
	if err = t.limitCall(lane, tool.Plugin.EventSteps, deadline); err == nil {
		ok, err = protect(func() (bool, error) { return tool.Available(lane.context(ctx)) })
		err = t.addSteps(lane, err)
	}
	trace := &HookTrace{Event: eventAvailable, Plugin: tool.Plugin.Name, Pos: tool.Pos, Steps: lane.Steps, Bytes: lane.Bytes}
	switch {
	case err != nil:
		trace.Action, trace.Detail = starhost.ActionError, err.Error()
	case !ok:
		trace.Detail = "tool " + tool.Name + " is not available"
	}
	t.deliverRecords(lane)
	t.addNote(lane).trace = trace
	if err := endingError(ctx, err); err != nil {
		return false, err
	}
	if err != nil {
		t.reportFailure(ctx, &HandlerError{Plugin: tool.Plugin.Name, What: "available of tool " + tool.Name, Pos: tool.Pos, Err: err})
	}
	return ok && err == nil, nil
}
