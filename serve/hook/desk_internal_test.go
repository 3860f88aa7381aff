package hook

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// TestReasonOfEnd checks that a refusal says why the plugins were stopped, also if the goroutine that asks them
// notices it before the one that waits.
func TestReasonOfEnd(t *testing.T) {
	h := host.New(host.Options{})
	pass := func(context.Context, *starhost.Event) (starhost.Decision, error) { return starhost.Decision{}, nil }
	if err := h.Add(starhost.Plugin{Name: "p", Hooks: []starhost.Hook{{Event: "pre_tool_call", Call: pass}}}); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancelCause(t.Context())
	d := &Desk{Warn: func(string) {}, Load: func(context.Context, *Event) Plugins {
		end(errors.New("too late"))
		return Plugins{Host: h}
	}}
	event := `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t","tool_input":{}}`
	q := &question{desk: d, agent: claudeCode, given: make(chan Reply, 1), read: func() ([]byte, error) { return []byte(event), nil }}
	var got Answer
	q.run(ctx, func(r Reply) { got = r.Answer })
	if !got.Blocks || !strings.Contains(got.Out+got.Err, "starhost: too late") {
		t.Errorf("got %+v, want a refusal that says too late", got)
	}
}
