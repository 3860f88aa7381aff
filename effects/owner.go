package effects

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/starhost/starhost/host"
)

// An Owner is whom the values of a plugin belong to, in sessions and in the store.
type Owner struct {
	// Name is the name under which they are stored. Names of plugins repeat, so it also says where
	// the plugin comes from.
	Name string
	// Former is the name under which an earlier version stored them; "" for none. The first use of
	// the store moves them. A dry run moves nothing.
	Former string
	// Layer says whose budget the values in a session use, because no layer takes the room of
	// another: "managed", "project" for a project that nobody trusts, or "" for all others.
	Layer string

	mu    sync.Mutex
	moved bool
}

// owner returns the name under which the plugin's values are stored.
func (w *World) owner() string {
	if w.Owner == nil {
		return w.Plugin
	}
	return w.Owner().Name
}

// state returns the plugin's values in a session.
func (w *World) state(s *host.Session) *State {
	state := StateOf(s, w.owner())
	if w.Owner != nil {
		state.SetLayer(w.Owner().Layer)
	}
	return state
}

// moveValues moves the values of the former owner. A key that the owner has keeps its value. If the
// process ends on the way, the next one goes on.
func (w *World) moveValues(ctx context.Context) error {
	if w.Owner == nil || w.DryRun != nil {
		return nil
	}
	o := w.Owner()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.Former == "" || o.moved {
		return nil
	}
	keys, err := w.Store.Keys(ctx, o.Former)
	for _, key := range keys {
		if err == nil {
			err = o.move(ctx, w.Store, key)
		}
	}
	o.moved = err == nil
	return err
}

func (o *Owner) move(ctx context.Context, kv KV, key string) error {
	value, ok, err := kv.Get(ctx, o.Former, key)
	if err != nil || !ok {
		return err
	}
	keep := func(old json.RawMessage) (json.RawMessage, error) {
		if old != nil {
			return old, nil
		}
		return value, nil
	}
	if err := kv.Update(ctx, o.Name, key, keep); err != nil {
		return err
	}
	_, err = kv.Delete(ctx, o.Former, key)
	return err
}
