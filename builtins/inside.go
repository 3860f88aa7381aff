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
	h := r.begin(ctx, t)
	names := r.Env()
	names[ctxName] = h.ctx()
	return h, names
}
