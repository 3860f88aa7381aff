package effects_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/starhost/starhost/effects"
)

// TestResolver checks each answer that a resolver can give: a recorded reply, another reply, a recorded
// failure, no reply, and an error.
func TestResolver(t *testing.T) {
	var recorded, failed effects.RecordedEffect
	err := json.Unmarshal([]byte(`{"lane":"1","plugin":"p","env":{"name":"A"},"reply":"recorded"}`), &recorded)
	if err != nil || recorded.Plugin != "p" || recorded.Kind != "env" || string(recorded.Request) != `{"name":"A"}` {
		t.Fatalf("got %+v, %v", recorded, err)
	}
	err = json.Unmarshal([]byte(`{"lane":"1","plugin":"p","env":{"name":"A"},"error":{"message":"broken"}}`), &failed)
	if err != nil || failed.Err == nil {
		t.Fatalf("got %+v, %v, want a failure", failed, err)
	}
	asked := ""
	w := &effects.World{Plugin: "p", Env: func(string) (string, bool) { return "of the machine", true }}
	w.Declared, _ = effects.ParseGrants([]string{"env:*"})
	w.Granted = w.Declared
	type reply = effects.RecordedEffect
	w.Answers = effects.Resolver(func(plugin, kind string, request json.RawMessage) (reply, bool, error) {
		asked += plugin + " " + kind + " " + string(request) + "\n"
		switch {
		case strings.Contains(string(request), "A"):
			return recorded, true, nil
		case strings.Contains(string(request), "B"):
			return reply{Reply: json.RawMessage(`"made up"`)}, true, nil
		case strings.Contains(string(request), "C"):
			return failed, true, nil
		case strings.Contains(string(request), "D"):
			return reply{}, false, nil
		}
		return reply{}, false, errors.New("not recorded")
	})
	for name, want := range map[string]string{
		"A": "recorded", "B": "made up", "C": "error: broken", "D": "of the machine", "E": "error: not recorded",
	} {
		got, _, err := w.GetEnv(t.Context(), name)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if want := `p env {"name":"A"}`; !strings.Contains(asked, want) {
		t.Errorf("got the questions %q, want %q among them", asked, want)
	}
	if err := json.Unmarshal([]byte(`{"reply":1}`), new(effects.RecordedEffect)); err == nil {
		t.Error("a line without an effect is no error")
	}
}
