package builtins

import (
	"context"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"go.starlark.net/starlark"
)

// toolsCall implements
//
//	ctx.tools.call(name, **arguments)
func toolsCall(c call.Call, h *handlerCall) (starlark.Value, error) {
	name, args, err := namedArguments(c, "name")
	if err != nil {
		return nil, err
	}
	raw, err := encodeJSON(c, "", args)
	if err != nil {
		return nil, err
	}
	reply, err := runEffect(c, func(ctx context.Context) (starhost.ToolReply, error) {
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

// fragmentsGet implements
//
//	ctx.fragments.get(ref)
//
// The name is not load, because load is a keyword of Starlark.
func fragmentsGet(c call.Call, h *handlerCall) (starlark.Value, error) {
	var ref string
	if err := c.Bind("ref", &ref); err != nil {
		return nil, err
	}
	got, err := runEffect(c, func(ctx context.Context) (starhost.Context, error) {
		return h.rec.world.LoadFragment(ctx, h.turn, ref)
	})
	if err != nil {
		return nil, err
	}
	values, size := contextValues(got), int(got.Bytes())
	return starlark.NewList(values), c.Pay(1+len(values)+size/64, 256*len(values)+size)
}
