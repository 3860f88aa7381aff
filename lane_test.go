package starhost_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/starhost/starhost"
)

// TestAs: work that is done as a plugin has a lane of the turn, what it logs and
// records arrives, and its panic is an error.
func TestAs(t *testing.T) {
	var logs []string
	var recorded []string
	h := newHost(t, starhost.Options{
		Log:    func(l starhost.LogLine) { logs = append(logs, l.Plugin+": "+l.Text) },
		Record: func(e starhost.Entry) { recorded = append(recorded, string(e.Line)) },
	})
	turn := begin(t, h, starhost.Request{})
	var lanes []string
	for range 2 {
		err := turn.As(context.Background(), "p", func(ctx context.Context) error {
			lane := starhost.LaneOf(ctx)
			lanes = append(lanes, lane.Plugin+" "+lane.Path())
			lane.Logs = append(lane.Logs, starhost.LogLine{Plugin: "p", Text: "done"})
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
	var panicked *starhost.PanicError
	if err := turn.As(context.Background(), "p", func(context.Context) error { panic("x") }); !errors.As(err, &panicked) {
		t.Errorf("got %v, want a *PanicError", err)
	}
}

// A lane is used again only if the call's own context is given back: not by who keeps
// it, and not by who was given one that was derived from it. What it holds stays in it.
func TestUnkept(t *testing.T) {
	type key struct{}
	tests := []struct {
		name string
		end  func(ctx context.Context)
		want bool
	}{
		{"kept", func(context.Context) {}, false},
		{"given back", func(ctx context.Context) { starhost.LaneOf(ctx).Unkept(ctx) }, true},
		{"derived", func(ctx context.Context) {
			starhost.LaneOf(ctx).Unkept(context.WithValue(ctx, key{}, 1))
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var lanes []*starhost.Lane
			var paths []string
			var held []any
			h := newHost(t, starhost.Options{}, plugin("p", starhost.Hook{Event: post, Call: func(ctx context.Context, _ *starhost.Turn, _ *starhost.Event) (starhost.Decision, error) {
				lane := starhost.LaneOf(ctx)
				lanes, paths, held = append(lanes, lane), append(paths, lane.Path()), append(held, lane.Held)
				if len(lane.Logs) > 0 || lane.Steps != 0 {
					t.Errorf("got a lane with %v, %d steps", lane.Logs, lane.Steps)
				}
				lane.Logs = append(lane.Logs, starhost.LogLine{Text: "said"})
				lane.Spent(1, 1)
				lane.Held = "held"
				tt.end(ctx)
				return starhost.Decision{}, nil
			}}))
			turn := begin(t, h, starhost.Request{})
			for range 2 {
				if _, err := turn.Fire(t.Context(), &starhost.Event{Name: post, Tool: "echo"}); err != nil {
					t.Fatal(err)
				}
			}
			if got := lanes[0] == lanes[1]; got != tt.want {
				t.Errorf("used again: got %v, want %v", got, tt.want)
			}
			if got := held[1] == "held"; held[0] != nil || got != tt.want {
				t.Errorf("held: got %v, want it the second time: %v", held, tt.want)
			}
			if diff := cmp.Diff([]string{"1", "2"}, paths); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}
