package effects_test

import (
	"encoding/json"
	"testing"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
)

// TestOwner checks that a session gives values to the owner of a plugin, not to all plugins with its name.
func TestOwner(t *testing.T) {
	s := host.New(host.Options{}).NewSession(host.SessionConfig{})
	owned := func(by string) *effects.World {
		return &effects.World{Plugin: "p", Owner: func() *effects.Owner { return &effects.Owner{Name: by} }}
	}
	a, b, user := owned("p@/a"), owned("p@/b"), &effects.World{Plugin: "p"}
	if err := a.StateSet(t.Context(), s, "k", json.RawMessage("1")); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*effects.World{b, user} {
		if value, ok, err := w.StateGet(t.Context(), s, "k"); ok || err != nil {
			t.Errorf("got %s, %v, want no value", value, err)
		}
	}
	if value, _, _ := a.StateGet(t.Context(), s, "k"); string(value) != "1" {
		t.Errorf("got %s, want 1", value)
	}
}

// TestOwnerLayer checks that a session knows the layer of each plugin's values. If room is short, the values
// of untrusted projects go first.
func TestOwnerLayer(t *testing.T) {
	s := host.New(host.Options{}).NewSession(host.SessionConfig{})
	for _, layer := range []string{"project", "managed", ""} {
		w := &effects.World{Plugin: "p", Owner: func() *effects.Owner { return &effects.Owner{Name: "p@" + layer, Layer: layer} }}
		if err := w.StateSet(t.Context(), s, "k", json.RawMessage("1")); err != nil {
			t.Fatal(err)
		}
		if got := effects.StateOf(s, "p@"+layer).Layer(); got != layer {
			t.Errorf("got the layer %q, want %q", got, layer)
		}
	}
}
