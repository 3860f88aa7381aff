package hook_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/starhost/starhost/serve/hook"
)

// TestInTime checks that an answer does not count if its handlers ended because their context ended,
// whichever goroutine notices that first.
func TestInTime(t *testing.T) {
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("a signal"))
	returned := make(chan struct{})
	type give = func(string)
	for _, tt := range []struct {
		name string
		ctx  context.Context
		time time.Duration
		ask  func(context.Context, give)
		want string
	}{
		{"an answer", t.Context(), time.Hour, func(_ context.Context, give give) { give("yes") }, "yes"},
		{"a panic", t.Context(), time.Hour, func(context.Context, give) { panic("boom") }, "starhost failed: panic: boom"},
		{"late", t.Context(), time.Millisecond, func(ctx context.Context, give give) { <-ctx.Done(); give("ended") }, hook.Late(time.Millisecond)},
		{"late, with its reason", t.Context(), time.Millisecond, func(ctx context.Context, give give) {
			<-ctx.Done()
			panic(context.Cause(ctx))
		}, hook.Late(time.Millisecond)},
		{"stopped", stopped, time.Hour, func(_ context.Context, give give) { <-returned; give("ended") }, "a signal"},
	} {
		got, done, err := hook.InTime(tt.ctx, time.Now().Add(tt.time), tt.time, tt.ask)
		if err != nil {
			got = err.Error()
		}
		if tt.name == "stopped" {
			close(returned)
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		<-done
	}
}
