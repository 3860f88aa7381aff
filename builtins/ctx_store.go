package builtins

import (
	"context"
	"encoding/json"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
)

// A keyedStore gives plugins their values by key: ctx.state the values of the session, ctx.store the values
// across sessions.
type keyedStore struct {
	get    func(ctx context.Context, h *handlerCall, key string) (json.RawMessage, bool, error)
	set    func(ctx context.Context, h *handlerCall, key string, value json.RawMessage) error
	delete func(ctx context.Context, h *handlerCall, key string) (bool, error)
	keys   func(ctx context.Context, h *handlerCall) ([]string, error)
}

var sessionState = keyedStore{
	get: func(ctx context.Context, h *handlerCall, key string) (json.RawMessage, bool, error) {
		return h.rec.world.StateGet(ctx, h.turn.Session(), key)
	},
	set: func(ctx context.Context, h *handlerCall, key string, value json.RawMessage) error {
		return h.rec.world.StateSet(ctx, h.turn.Session(), key, value)
	},
	delete: func(ctx context.Context, h *handlerCall, key string) (bool, error) {
		return h.rec.world.StateDelete(ctx, h.turn.Session(), key)
	},
	keys: func(ctx context.Context, h *handlerCall) ([]string, error) {
		return h.rec.world.StateKeys(ctx, h.turn.Session())
	},
}

var pluginStore = keyedStore{
	get: func(ctx context.Context, h *handlerCall, key string) (json.RawMessage, bool, error) {
		return h.rec.world.StoreGet(ctx, key)
	},
	set: func(ctx context.Context, h *handlerCall, key string, value json.RawMessage) error {
		return h.rec.world.StoreSet(ctx, key, value)
	},
	delete: func(ctx context.Context, h *handlerCall, key string) (bool, error) {
		return h.rec.world.StoreDelete(ctx, key)
	},
	keys: func(ctx context.Context, h *handlerCall) ([]string, error) { return h.rec.world.StoreKeys(ctx) },
}

// getValue implements ctx.state.get.
func (s *keyedStore) getValue(c call.Call, h *handlerCall) (starlark.Value, error) {
	var (
		key  string
		none starlark.Value = starlark.None
		ok   bool
	)
	if err := c.Bind("key", &key, "default?", &none); err != nil {
		return nil, err
	}
	raw, err := runEffect(c, func(ctx context.Context) (raw json.RawMessage, err error) {
		raw, ok, err = s.get(ctx, h, key)
		return raw, err
	})
	if err != nil || !ok {
		return none, err
	}
	return decodeJSON(c, raw)
}

// setValue implements ctx.state.set.
func (s *keyedStore) setValue(c call.Call, h *handlerCall) (starlark.Value, error) {
	var (
		key   string
		value starlark.Value
	)
	if err := c.Bind("key", &key, "value", &value); err != nil {
		return nil, err
	}
	raw, err := encodeJSON(c, "value", value)
	if err != nil {
		return nil, err
	}
	_, err = runEffect(c, func(ctx context.Context) (none struct{}, err error) { return none, s.set(ctx, h, key, raw) })
	return starlark.None, err
}

// addToStore implements ctx.store.add.
func addToStore(c call.Call, h *handlerCall) (starlark.Value, error) {
	var (
		key string
		n   int64
	)
	if err := c.Bind("key", &key, "n", &n); err != nil {
		return nil, err
	}
	sum, err := runEffect(c, func(ctx context.Context) (int64, error) { return h.rec.world.StoreAdd(ctx, key, n) })
	return starlark.MakeInt64(sum), err
}

// swapInStore implements ctx.store.swap.
func swapInStore(c call.Call, h *handlerCall) (starlark.Value, error) {
	var (
		key       string
		old, next starlark.Value
	)
	if err := c.Bind("key", &key, "old", &old, "new", &next); err != nil {
		return nil, err
	}
	oldJSON, err := encodeJSON(c, "old", old)
	if err != nil {
		return nil, err
	}
	nextJSON, err := encodeJSON(c, "new", next)
	if err != nil {
		return nil, err
	}
	ok, err := runEffect(c, func(ctx context.Context) (bool, error) {
		return h.rec.world.StoreSwap(ctx, key, oldJSON, nextJSON)
	})
	return starlark.Bool(ok), err
}

// deleteValue implements ctx.state.delete.
func (s *keyedStore) deleteValue(c call.Call, h *handlerCall) (starlark.Value, error) {
	var key string
	if err := c.Bind("key", &key); err != nil {
		return nil, err
	}
	ok, err := runEffect(c, func(ctx context.Context) (bool, error) { return s.delete(ctx, h, key) })
	return starlark.Bool(ok), err
}

// listKeys implements ctx.state.keys.
func (s *keyedStore) listKeys(c call.Call, h *handlerCall) (starlark.Value, error) {
	if err := c.Bind(); err != nil {
		return nil, err
	}
	keys, err := runEffect(c, func(ctx context.Context) ([]string, error) { return s.keys(ctx, h) })
	if err != nil {
		return nil, err
	}
	return stringList(keys), c.Pay(1+4*len(keys), 2*textsSize(keys))
}
