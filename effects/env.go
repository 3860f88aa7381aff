package effects

import (
	"context"
	"time"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
)

// GetEnv returns the value of an environment variable; ok is false if the variable is not set.
func (w *World) GetEnv(ctx context.Context, name string) (value string, ok bool, err error) {
	type request struct {
		Name string `json:"name"`
	}
	if err := checkLength("env: name", name, maxName); err != nil {
		return "", false, err
	}
	if err := w.payFor(ctx, "env", len(name)); err != nil {
		return "", false, err
	}
	c := effectCall{kind: "env", request: request{name}, subject: name, refusal: w.mayName("env", name)}
	v, err := do(ctx, w, c, func(context.Context) (*jsontext.Text, error) {
		if w.Env == nil {
			return nil, nil
		}
		value, ok := w.Env(name)
		if !ok {
			return nil, nil
		}
		clean := jsontext.Text(w.Secrets.Redact(value)) // the plugin did not write the value
		return &clean, nil
	})
	if v == nil {
		return "", false, err
	}
	return string(*v), true, err
}

// Now returns the time of the current event. In a replay it returns the journal's time, but asks the turn all
// the same, because the turn records that a handler asked.
func (w *World) Now(ctx context.Context, t *host.Turn) (time.Time, error) {
	now := t.Now()
	return do(ctx, w, effectCall{kind: "now", request: struct{}{}}, func(context.Context) (time.Time, error) { return now, nil })
}

// laneOf returns the lane of a handler's call, or an empty lane outside of a handler.
func (w *World) laneOf(ctx context.Context) *host.Lane {
	if lane := host.LaneOf(ctx); lane != nil {
		return lane
	}
	return &host.Lane{Plugin: w.Plugin}
}
