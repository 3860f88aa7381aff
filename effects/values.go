package effects

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
)

// A keyRequest is the form in a journal of a request for one key of a plugin's values.
type keyRequest struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value,omitempty"` // set by state.set and store.set only
}

// An addRequest is the form in a journal of a call of store.add.
type addRequest struct {
	Key string `json:"key"`
	N   int64  `json:"n"`
}

// A swapRequest is the form in a journal of a call of store.swap. null stands for no value.
type swapRequest struct {
	Key string          `json:"key"`
	Old json.RawMessage `json:"old"`
	New json.RawMessage `json:"new"`
}

// An optionalValue is the form in a journal of a value that may be absent.
type optionalValue[T any] struct {
	Value T    `json:"value,omitempty"`
	OK    bool `json:"found"`
}

// StateGet returns the value that the plugin stored under a key in a session; ok is false if there is none.
func (w *World) StateGet(
	ctx context.Context, s *host.Session, key string,
) (value json.RawMessage, ok bool, err error) {
	if err := checkLength("state: key", key, maxStateKey); err != nil {
		return nil, false, err
	}
	if err := payForKey(ctx, key, nil); err != nil {
		return nil, false, err
	}
	c := effectCall{kind: "state.get", request: keyRequest{Key: key}, subject: key}
	f, err := do(ctx, w, c, func(context.Context) (f optionalValue[json.RawMessage], err error) {
		f.Value, f.OK = w.state(s).Get(key)
		return f, nil
	})
	return f.Value, f.OK, err
}

// StateSet sets a value, which must be valid JSON, as [State.Set] does.
func (w *World) StateSet(ctx context.Context, s *host.Session, key string, value json.RawMessage) error {
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
		return none, w.state(s).Set(key, value)
	})
	return err
}

// StateDelete deletes a key and reports whether the key had a value.
func (w *World) StateDelete(ctx context.Context, s *host.Session, key string) (bool, error) {
	if err := checkLength("state: key", key, maxStateKey); err != nil {
		return false, err
	}
	if err := payForKey(ctx, key, nil); err != nil {
		return false, err
	}
	c := effectCall{kind: "state.delete", request: keyRequest{Key: key}, subject: key, writes: true}
	return do(ctx, w, c, func(context.Context) (bool, error) { return w.state(s).Delete(key), nil })
}

// StateKeys returns the keys of the plugin's values in a session, sorted.
func (w *World) StateKeys(ctx context.Context, s *host.Session) ([]string, error) {
	keys, err := do(ctx, w, effectCall{kind: "state.keys", request: struct{}{}}, func(context.Context) (blobs, error) {
		return blobsOf(w.state(s).Keys()), nil
	})
	return keys.texts(), err
}

// A storeEffect is an effect on the plugin's values in the store. It works on one key, or on all keys.
type storeEffect[T any] struct {
	kind    string
	key     string
	values  []json.RawMessage // further values of the request
	request any
	writes  bool                                        // the change outlives the session
	run     func(context.Context, KV) (T, error)        // does the effect with the store
	dry     func(ctx context.Context, kv KV) (T, error) // the reply of a dry run; nil means the zero reply
}

// do runs the effect, after a check of the bounds of keys and values.
func (e storeEffect[T]) do(ctx context.Context, w *World) (none T, err error) {
	if len(e.key) > MaxKey {
		return none, errorf("E0506", "store: got a key of %d bytes, want at most %d", len(e.key), MaxKey)
	}
	for _, v := range e.values {
		if len(v) > MaxValue {
			return none, errorf("E0506", "store: key %s: got a value of %d bytes, want at most %d", errtext.Quote(e.key), len(v), MaxValue)
		}
	}
	if err := payForKey(ctx, e.key, nil); err != nil {
		return none, err
	}
	for _, v := range e.values {
		if err := payForKey(ctx, "", v); err != nil {
			return none, err
		}
	}
	c := effectCall{
		kind: e.kind, request: e.request, subject: e.key, refusal: w.mayName("store", ""),
		writes: e.writes, persistent: e.writes,
	}
	if e.dry != nil {
		c.dryReply = func(ctx context.Context) (any, error) { return e.call(ctx, w, e.dry) }
	}
	return do(ctx, w, c, func(ctx context.Context) (T, error) { return e.call(ctx, w, e.run) })
}

// call calls a function with the world's store, and gives the store's error a code.
func (e storeEffect[T]) call(
	ctx context.Context, w *World, f func(context.Context, KV) (T, error),
) (none T, _ error) {
	if w.Store == nil {
		return none, errorf("E0518", "there is no store here")
	}
	reply, err := f(ctx, w.Store)
	if _, isCoded := err.(*Error); isCoded || err == nil {
		return reply, err
	}
	return none, errorf("E0518", "%s: %v", e.kind, err)
}

// StoreGet returns the value that the plugin stored under a key; ok is false if there is none.
func (w *World) StoreGet(ctx context.Context, key string) (value json.RawMessage, ok bool, err error) {
	f, err := storeEffect[optionalValue[json.RawMessage]]{
		kind: "store.get", key: key, request: keyRequest{Key: key},
		run: func(ctx context.Context, kv KV) (f optionalValue[json.RawMessage], err error) {
			f.Value, f.OK, err = kv.Get(ctx, w.owner(), key)
			return f, err
		},
	}.do(ctx, w)
	return f.Value, f.OK, err
}

// StoreSet stores a value, which must be valid JSON of at most [MaxValue] bytes, under a key of
// at most [MaxKey] bytes.
func (w *World) StoreSet(ctx context.Context, key string, value json.RawMessage) error {
	_, err := storeEffect[struct{}]{
		kind: "store.set", key: key, values: []json.RawMessage{value}, request: keyRequest{key, value}, writes: true,
		run: func(ctx context.Context, kv KV) (none struct{}, err error) {
			return none, kv.Set(ctx, w.owner(), key, value)
		},
	}.do(ctx, w)
	return err
}

// StoreAdd adds n to the integer that the plugin stored under a key, or to 0 if there is none, and returns
// the sum. The sum must fit 64 bits.
func (w *World) StoreAdd(ctx context.Context, key string, n int64) (sum int64, err error) {
	return storeEffect[int64]{
		kind: "store.add", key: key, request: addRequest{key, n}, writes: true,
		run: func(ctx context.Context, kv KV) (sum int64, err error) {
			err = kv.Update(ctx, w.owner(), key, func(old json.RawMessage) (json.RawMessage, error) {
				sum, err = addTo(key, old, n)
				return strconv.AppendInt(nil, sum, 10), err
			})
			return sum, err
		},
		dry: func(ctx context.Context, kv KV) (int64, error) {
			old, _, err := kv.Get(ctx, w.owner(), key)
			if err != nil {
				return 0, err
			}
			return addTo(key, old, n)
		},
	}.do(ctx, w)
}

// addTo returns the sum of n and a stored value. A value of nil counts as 0.
func addTo(key string, old json.RawMessage, n int64) (int64, error) {
	if old == nil {
		return n, nil
	}
	was, err := strconv.ParseInt(string(old), 10, 64)
	if err != nil {
		return 0, errorf("E0521", "store.add: key %s: got the value %s, want an int of 64 bits", errtext.Quote(key), old)
	}
	sum := was + n
	if (sum > was) != (n > 0) && n != 0 {
		return 0, errorf("E0521", "store.add: key %s: got the sum of %d and %d, want an int of 64 bits", errtext.Quote(key), was, n)
	}
	return sum, nil
}

// errNotOld ends a swap whose key has another value than the caller expects.
var errNotOld = errors.New("the value is another one")

// StoreSwap stores next under a key if the key's value equals old, and reports whether it did. Nil and null
// both stand for no value. Two objects are equal if their members are, in any order, but 1 does not equal
// 1.0.
func (w *World) StoreSwap(ctx context.Context, key string, old, next json.RawMessage) (bool, error) {
	old, next = orNull(old), orNull(next)
	return storeEffect[bool]{
		kind: "store.swap", key: key, values: []json.RawMessage{old, next}, request: swapRequest{key, old, next}, writes: true,
		run: func(ctx context.Context, kv KV) (bool, error) {
			err := kv.Update(ctx, w.owner(), key, func(value json.RawMessage) (json.RawMessage, error) {
				switch {
				case !equalJSON(orNull(value), old):
					return nil, errNotOld
				case isNull(next):
					return nil, nil
				}
				return next, nil
			})
			if err == errNotOld {
				return false, nil
			}
			return err == nil, err
		},
		dry: func(ctx context.Context, kv KV) (bool, error) {
			value, _, err := kv.Get(ctx, w.owner(), key)
			return err == nil && equalJSON(orNull(value), old), err
		},
	}.do(ctx, w)
}

// orNull returns a value, or null for nil.
func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}

// equalJSON reports whether two JSON values without spaces are equal. It compares lengths first, because
// another order of the members does not change the length.
func equalJSON(a, b json.RawMessage) bool {
	return bytes.Equal(a, b) || len(a) == len(b) && reflect.DeepEqual(decodeText(a), decodeText(b))
}

// isNull reports whether a value is null.
func isNull(value json.RawMessage) bool { return string(value) == "null" }

// StoreDelete deletes a key and reports whether the key had a value.
func (w *World) StoreDelete(ctx context.Context, key string) (bool, error) {
	return storeEffect[bool]{
		kind: "store.delete", key: key, request: keyRequest{Key: key}, writes: true,
		run: func(ctx context.Context, kv KV) (bool, error) { return kv.Delete(ctx, w.owner(), key) },
	}.do(ctx, w)
}

// StoreKeys returns the keys of the plugin's values in the store, sorted.
func (w *World) StoreKeys(ctx context.Context) ([]string, error) {
	keys, err := storeEffect[blobs]{
		kind: "store.keys", request: keyRequest{},
		run: func(ctx context.Context, kv KV) (blobs, error) {
			keys, err := kv.Keys(ctx, w.owner())
			return blobsOf(keys), err
		},
	}.do(ctx, w)
	return keys.texts(), err
}
