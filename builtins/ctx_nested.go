package builtins

import (
	"context"
	"encoding/json"
	"slices"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// toolsCall implements ctx.tools.call.
func toolsCall(c call.Call, h *handlerCall) (starlark.Value, error) {
	name, args, err := namedArguments(c, "name")
	if err != nil {
		return nil, err
	}
	raw, err := encodeJSON(c, "", args)
	if err != nil {
		return nil, err
	}
	reply, err := runEffect(c, func(ctx context.Context) (host.ToolReply, error) {
		return h.rec.world.CallTool(ctx, h.turn, name, raw)
	})
	if err != nil {
		return nil, err
	}
	r := &reply.Result
	return structOf("reply", starlark.StringDict{
		"output": starlark.String(r.ForLLM), "is_error": starlark.Bool(r.IsError), "attachments": attachmentList(r.Attachments),
	}), c.Pay(2+len(r.ForLLM)/64, 512+len(r.ForLLM))
}

// maxEventJSON is the most bytes that the arguments of ctx.fire may have as JSON, and the most bytes of a
// value that a handler of such an event returns.
const maxEventJSON = 64 << 10

// ctxFire implements ctx.fire.
func ctxFire(c call.Call, h *handlerCall) (starlark.Value, error) {
	name, args, err := namedArguments(c, "name")
	if err != nil {
		return nil, err
	}
	if len(name) > maxName {
		return nil, c.Fail("E0202", "name: got %d bytes, want at most %d", len(name), maxName)
	}
	raw, err := encodeJSON(c, "", args)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxEventJSON {
		return nil, c.Fail("E0506", "got %d bytes of arguments, want at most %d", len(raw), maxEventJSON)
	}
	event, err := h.rec.ownEvent(name, raw)
	if err != nil {
		return nil, c.Fail("E0306", "%v", err)
	}
	list, err := runEffect(c, func(ctx context.Context) ([]json.RawMessage, error) {
		return h.rec.world.FireEvent(ctx, h.turn, event, raw)
	})
	if err != nil {
		return nil, err
	}
	values := make([]starlark.Value, len(list))
	for i, value := range list {
		if values[i], err = decodeJSON(c, value); err != nil {
			return nil, err
		}
	}
	return starlark.NewList(values), c.Pay(1+len(values), 64*len(values))
}

// ownEvent returns an event that the plugin itself declares, with its arguments.
func (r *Recorder) ownEvent(name string, raw json.RawMessage) (*starhost.Event, error) {
	foreign := func(e starhost.EventSpec) bool { return e.Plugin != r.plugin.Name }
	own := slices.DeleteFunc(slices.Clone(r.declared), foreign)
	if !slices.ContainsFunc(own, func(e starhost.EventSpec) bool { return e.Name == name }) {
		names := make([]string, len(own))
		for i := range own {
			names[i] = own[i].Name
		}
		return nil, errtext.Errorf("%q is no event of plugin %s%s: a plugin fires only what its plugin(events = {...}) declares",
			name, r.plugin.Name, near.DidYouMean(name, names))
	}
	args := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, err
	}
	return starhost.NewEvent(name, args, own...)
}

// fragmentsGet implements ctx.fragments.get.
//
// The name is not load, because load is a keyword of Starlark.
func fragmentsGet(c call.Call, h *handlerCall) (starlark.Value, error) {
	var ref string
	if err := c.Bind("ref", &ref); err != nil {
		return nil, err
	}
	got, err := runEffect(c, func(ctx context.Context) (starhost.Context, error) {
		return h.rec.world.LoadFragment(ctx, ref)
	})
	if err != nil {
		return nil, err
	}
	values, size := contextValues(got), int(got.Bytes())
	return starlark.NewList(values), c.Pay(1+len(values)+size/64, 256*len(values)+size)
}
