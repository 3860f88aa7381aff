package builtins

import (
	"context"

	"go.starlark.net/starlark"
)

// Inside returns what a handler of the plugin has around it, so that a program can evaluate an expression
// there: the context of the evaluation, and the values of config and ctx by name. The caller passes the
// context that [host.Turn.As] gives it.
func (r *Recorder) Inside(ctx context.Context) (context.Context, starlark.StringDict) {
	h := r.beginCall(ctx)
	names := r.Env()
	names[ctxName] = h.ctx()
	return h, names
}
