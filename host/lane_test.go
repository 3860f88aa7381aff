package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/starhost/starhost/host"
)

// TestAs checks that a function that runs as a plugin gets a lane of the turn, that the program receives its
// logs and records, and that a panic in it is an error.
func TestAs(t *testing.T) {
	var logs []string
	var recorded []string
	h := newHost(t, host.Options{
		Log:    func(l host.LogLine) { logs = append(logs, l.Plugin+": "+l.Text) },
		Record: func(e host.Entry) { recorded = append(recorded, string(e.Line)) },
	})
	turn := begin(t, h, host.Request{})
	var lanes []string
	for range 2 {
		err := turn.As(context.Background(), "p", func(ctx context.Context) error {
			lane := host.LaneOf(ctx)
			lanes = append(lanes, lane.Plugin+" "+lane.Path())
			lane.Logs = append(lane.Logs, host.LogLine{Plugin: "p", Text: "done"})
			lane.Record(json.RawMessage(`{}`))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	diff(t, "lanes", []string{"p 1", "p 2"}, lanes)
	diff(t, "logs", []string{"p: done", "p: done"}, logs)
	diff(t, "recorded", []string{"{}", "{}"}, recorded)
	var panicked *host.PanicError
	if err := turn.As(context.Background(), "p", func(context.Context) error { panic("x") }); !errors.As(err, &panicked) {
		t.Errorf("got %v, want a *PanicError", err)
	}
}
