package builtins

import (
	"context"
	"time"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
)

// ctxNow returns the time of the current event.
func ctxNow(h *handlerCall) (starlark.Value, error) {
	now, err := h.rec.world.Now(h, h.turn)
	return starlark.String(now.UTC().Format(time.RFC3339)), err
}

// ctxRandom implements ctx.random.
func ctxRandom(c call.Call, h *handlerCall) (starlark.Value, error) {
	var n int64
	if err := c.Bind("n", &n); err != nil {
		return nil, err
	}
	x, err := runEffect(c, func(ctx context.Context) (int64, error) { return h.rec.world.Random(ctx, h.turn, n) })
	return starlark.MakeInt64(x), err
}

// ctxUUID implements ctx.uuid.
func ctxUUID(c call.Call, h *handlerCall) (starlark.Value, error) {
	if err := c.Bind(); err != nil {
		return nil, err
	}
	id, err := runEffect(c, func(ctx context.Context) (string, error) { return h.rec.world.UUID(ctx, h.turn) })
	return starlark.String(id), err
}

// ctxEnv implements ctx.env.
func ctxEnv(c call.Call, h *handlerCall) (starlark.Value, error) {
	var (
		name string
		set  bool
	)
	if err := c.Bind("name", &name); err != nil {
		return nil, err
	}
	value, err := runEffect(c, func(ctx context.Context) (value string, err error) {
		value, set, err = h.rec.world.GetEnv(ctx, name)
		return value, err
	})
	if err != nil || !set {
		return starlark.None, err
	}
	return starlark.String(value), c.Pay(1+len(value)/64, len(value))
}

// ctxSecret implements ctx.secret.
func ctxSecret(c call.Call, h *handlerCall) (starlark.Value, error) {
	var name string
	if err := c.Bind("name", &name); err != nil {
		return nil, err
	}
	s, err := runEffect(c, func(ctx context.Context) (effects.Secret, error) { return h.rec.world.Secret(ctx, name) })
	return &secretValue{s: s, parts: 1}, err
}
