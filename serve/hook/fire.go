package hook

import (
	"context"
	"errors"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/host"
)

// callers stands for programs that fire plugin events themselves. Their sessions share no state with the
// sessions of agents.
var callers = &Agent{Agent: &agents.Agent{Name: "fire", Title: "the caller"}}

// Fire fires one plugin event, for a program that uses the plugins' names of events. e.SessionID names the
// session; "" means a session that ends with the event. If the event is about a tool, the tool is the
// program's own, even if a plugin has a tool of the same name, unless e names the plugin. The caller calls
// store after it has sent the outcome. An error means that the event has no outcome, so no guard has allowed
// it.
func Fire(
	ctx context.Context, h *host.Host, e *starhost.Event, o Options,
) (out host.Outcome, store func(), err error) {
	e.Foreign = e.Tool != "" && e.Plugin == ""
	event := &Event{agent: callers, kind: kindTool, session: e.SessionID} // an event without its state is refused
	p, release := o.hold(ctx, event)
	h, remember, unknown := o.guarded(h, event, p)
	s := o.session(ctx, h, event, flow{everyEvent: true})
	out, err = s.Fire(ctx, e)
	v := &verdict{}
	storeState := s.end(ctx, v, err)
	v.closeFor(event, unknown)
	if err == nil && v.block {
		err = errors.New(v.reason)
	}
	return out, func() { storeState(); remember(); release() }, err
}
