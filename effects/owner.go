package effects

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/starhost/starhost/host"
)

// An Owner says under which name sessions and the store have a plugin's values.
type Owner struct {
	// Name is the name that the values are stored under. Two plugins can have one name, so Name also says
	// where the plugin comes from.
	Name string
	// Former is the name under which an earlier version of starhost stored the values; "" for none. The first
	// use of the store moves the values from Former to Name. A dry run moves nothing.
	Former string
	// Layer says which layer's budget the plugin's values in a session use: "managed", "project" for a
	// project that nobody trusts, or "" for all others. No layer can use up the room of another.
	Layer string

	mu    sync.Mutex
	moved bool
}

// owner returns the name that the plugin's values are stored under.
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

// moveValues moves values from the former owner to the owner. If the owner has a key already, the key keeps
// the owner's value. If the process ends in between, the next process moves the rest.
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
