package builtins

import (
	"context"

	"github.com/starhost/starhost"
	"go.starlark.net/starlark"
)

// Inside returns what a handler of the plugin has: a context for an evaluation,
// and config and ctx by name. The turn's [starhost.Turn.As] gives the context that
// it begins with.
func (r *Recorder) Inside(ctx context.Context, t *starhost.Turn) (context.Context, starlark.StringDict) {
	h := &handlerCall{Context: ctx, rec: r, turn: t, lane: starhost.LaneOf(ctx)}
	names := r.Env()
	names[ctxName] = &ctxValue{h, ""}
	return h, names
}
