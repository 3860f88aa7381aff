package builtins

import (
	"context"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/host"
)

// Inside returns the surroundings of a handler of the plugin, so that a program can evaluate an
// expression in them: the context of the evaluation, and config and ctx by name. The caller
// passes a context of [host.Turn.As].
func (r *Recorder) Inside(ctx context.Context, t *host.Turn) (context.Context, starlark.StringDict) {
	h := r.beginCall(ctx, t)
	names := r.Env()
	names[ctxName] = h.ctx()
	return h, names
}
