package effects

import (
	"context"
	"encoding/json"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
)

// A keyRequest is the request of an effect on a plugin's values.
type keyRequest struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value,omitempty"` // only for a set
}

// An optionalValue is a value that may be absent.
type optionalValue[T any] struct {
	Value T    `json:"value,omitempty"`
	OK    bool `json:"found"`
}

// StateGet returns the plugin's value of a key in a session; ok is false if there is none.
func (w *World) StateGet(
	ctx context.Context, s *starhost.Session, key string,
) (value json.RawMessage, ok bool, err error) {
	if err := checkLength("state: key", key, maxStateKey); err != nil {
		return nil, false, err
	}
	if err := payForKey(ctx, key, nil); err != nil {
		return nil, false, err
	}
	c := effectCall{kind: "state.get", request: keyRequest{Key: key}, subject: key}
	f, err := do(ctx, w, c, func(context.Context) (f optionalValue[json.RawMessage], err error) {
		f.Value, f.OK = StateOf(s, w.Plugin).Get(key)
		return f, nil
	})
	return f.Value, f.OK, err
}

// StateSet sets a value, which must be valid JSON, with [State.Set].
func (w *World) StateSet(ctx context.Context, s *starhost.Session, key string, value json.RawMessage) error {
	if err := checkLength("state: key", key, maxStateKey); err != nil {
		return err
	}
	if len(value) > MaxState {
		return errorf("E0506", "state: key %s: got a value of %d bytes, want at most %d in a session", errtext.Quote(key), len(value), MaxState)
	}
	if err := payForKey(ctx, key, value); err != nil {
		return err
	}
	c := effectCall{kind: "state.set", request: keyRequest{key, value}, subject: key, writes: true}
	_, err := do(ctx, w, c, func(context.Context) (none struct{}, err error) {
		return none, StateOf(s, w.Plugin).Set(key, value)
	})
	return err
}

// StateDelete deletes a key and reports whether it was there.
func (w *World) StateDelete(ctx context.Context, s *starhost.Session, key string) (bool, error) {
	if err := checkLength("state: key", key, maxStateKey); err != nil {
		return false, err
	}
	if err := payForKey(ctx, key, nil); err != nil {
		return false, err
	}
	c := effectCall{kind: "state.delete", request: keyRequest{Key: key}, subject: key, writes: true}
	return do(ctx, w, c, func(context.Context) (bool, error) { return StateOf(s, w.Plugin).Delete(key), nil })
}

// StateKeys returns the keys of the plugin's values in a session, sorted.
func (w *World) StateKeys(ctx context.Context, s *starhost.Session) ([]string, error) {
	keys, err := do(ctx, w, effectCall{kind: "state.keys", request: struct{}{}}, func(context.Context) (blobs, error) {
		return blobsOf(StateOf(s, w.Plugin).Keys()), nil
	})
	return keys.texts(), err
}

// storeCall returns the call of an effect on a key of the store. A write outlives the session.
func (w *World) storeCall(kind string, r keyRequest, writes bool) (effectCall, error) {
	if len(r.Key) > MaxKey {
		return effectCall{}, errorf("E0506", "store: got a key of %d bytes, want at most %d", len(r.Key), MaxKey)
	}
	if len(r.Value) > MaxValue {
		return effectCall{}, errorf("E0506", "store: key %s: got a value of %d bytes, want at most %d", errtext.Quote(r.Key), len(r.Value), MaxValue)
	}
	return effectCall{
		kind: kind, request: r, subject: r.Key, refusal: w.mayName("store", ""), writes: writes, persistent: writes,
	}, nil
}

// doStore does an effect on the store.
func doStore[T any](
	ctx context.Context, w *World, kind string, r keyRequest, writes bool, run func(context.Context, KV) (T, error),
) (none T, err error) {
	c, err := w.storeCall(kind, r, writes)
	if err != nil {
		return none, err
	}
	if err := payForKey(ctx, r.Key, r.Value); err != nil {
		return none, err
	}
	return do(ctx, w, c, func(ctx context.Context) (T, error) {
		if w.Store == nil {
			return none, errorf("E0518", "there is no store here")
		}
		reply, err := run(ctx, w.Store)
		if coded, ok := err.(*Error); ok || err == nil {
			return reply, errorOrNil(coded)
		}
		return none, errorf("E0518", "%s: %v", kind, err)
	})
}

// errorOrNil turns a nil *Error into a nil error, which a nil *Error in an interface is not.
func errorOrNil(e *Error) error {
	if e == nil {
		return nil
	}
	return e
}

// StoreGet returns the plugin's value of a key in the store; ok is false if there is none.
func (w *World) StoreGet(ctx context.Context, key string) (value json.RawMessage, ok bool, err error) {
	f, err := doStore(ctx, w, "store.get", keyRequest{Key: key}, false, func(
		ctx context.Context, kv KV,
	) (f optionalValue[json.RawMessage], err error) {
		f.Value, f.OK, err = kv.Get(ctx, w.Plugin, key)
		return f, err
	})
	return f.Value, f.OK, err
}

// StoreSet stores a value, which must be valid JSON of at most [MaxValue] bytes, under a key of
// at most [MaxKey] bytes.
func (w *World) StoreSet(ctx context.Context, key string, value json.RawMessage) error {
	_, err := doStore(ctx, w, "store.set", keyRequest{key, value}, true, func(
		ctx context.Context, kv KV,
	) (none struct{}, err error) {
		return none, kv.Set(ctx, w.Plugin, key, value)
	})
	return err
}

// StoreDelete deletes a key and reports whether it was there.
func (w *World) StoreDelete(ctx context.Context, key string) (bool, error) {
	return doStore(ctx, w, "store.delete", keyRequest{Key: key}, true, func(ctx context.Context, kv KV) (bool, error) {
		return kv.Delete(ctx, w.Plugin, key)
	})
}

// StoreKeys returns the keys of the plugin's values in the store, sorted.
func (w *World) StoreKeys(ctx context.Context) ([]string, error) {
	keys, err := doStore(ctx, w, "store.keys", keyRequest{}, false, func(ctx context.Context, kv KV) (blobs, error) {
		keys, err := kv.Keys(ctx, w.Plugin)
		return blobsOf(keys), err
	})
	return keys.texts(), err
}
