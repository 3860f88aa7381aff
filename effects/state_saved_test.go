package effects_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
)

// TestStatesSaved states a law: a session with restored states has the same values, and saving either session
// gives the same bytes.
func TestStatesSaved(t *testing.T) {
	h := host.New(host.Options{})
	rapid.Check(t, func(t *rapid.T) {
		first, second := h.NewSession(host.SessionConfig{}), h.NewSession(host.SessionConfig{})
		for range rapid.IntRange(0, 8).Draw(t, "sets") {
			state := effects.StateOf(first, rapid.SampledFrom([]string{"p", "q"}).Draw(t, "plugin"))
			key := rapid.String().Draw(t, "key")
			value, _ := json.Marshal(rapid.String().Draw(t, "value"))
			if err := state.Set(key, value); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "delete") {
				state.Delete(key)
			}
		}
		saved := effects.SaveStates(first)
		if err := effects.RestoreStates(second, saved); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(saved, effects.SaveStates(second)); diff != "" {
			t.Fatalf("restored (-want +got):\n%s", diff)
		}
	})
}

func TestStatesSavedTooBig(t *testing.T) {
	s := host.New(host.Options{}).NewSession(host.SessionConfig{})
	err := effects.RestoreStates(s, effects.SavedStates{"p": {"k": make(json.RawMessage, effects.MaxState)}})
	if code(err) != "E0506" {
		t.Errorf("RestoreStates: got %v, want E0506", err)
	}
}
