package host_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// TestRefusalForms checks that deny, ask and abort refuse each event that a hook can refuse, and fail on all
// others. If an event does not know the action, the host takes another one that refuses the event.
func TestRefusalForms(t *testing.T) {
	for _, spec := range starhost.Events() {
		for _, action := range []starhost.Action{starhost.ActionDeny, starhost.ActionAsk, starhost.ActionAbort} {
			d := starhost.Decision{Action: action, Reason: "no"}
			h := newHost(t, host.Options{}, pluginWith(1, hook(spec.Name, d)))
			out, err := h.Fire(t.Context(), &starhost.Event{Name: spec.Name})
			if err != nil {
				t.Fatal(err)
			}
			got, want := out.Decision.Action, action
			switch {
			case slices.Contains(spec.Actions, action):
			case slices.Contains(spec.Actions, starhost.ActionDeny):
				want = starhost.ActionDeny
			case slices.Contains(spec.Actions, starhost.ActionAbort):
				want = starhost.ActionAbort
			default:
				want = starhost.ActionNone
			}
			if got != want || want != starhost.ActionNone && out.Decision.Reason != "no" {
				t.Errorf("%s: %s became %v, want %s", spec.Name, action, out.Decision, want)
			}
		}
	}
}

// TestLose checks which events a host refuses while a guard is not loaded, and that the host calls no handler
// for them.
func TestLose(t *testing.T) {
	tests := []struct {
		name   string
		guard  host.Guard
		closed []string
	}{
		{"a guard without known events", host.Guard{}, nil},
		{"a guard of prompts", host.Guard{Events: []string{"pre_llm_call"}},
			[]string{"turn_start", "pre_llm_call", "pre_send"}},
		{"a guard of replies", host.Guard{Events: []string{"post_llm_call", "turn_end"}},
			[]string{"post_llm_call"}},
		{"an open guard", host.Guard{Events: []string{"turn_start"}, Open: true}, []string{"open"}},
	}
	for _, tt := range tests {
		tt.guard.Err = errors.New("g.star:1:1: broken")
		for _, spec := range starhost.Events() {
			heard := false
			h := newHost(t, host.Options{}, pluginWith(1, starhost.Hook{
				Event: spec.Name,
				Call: func(context.Context, *starhost.Event) (starhost.Decision, error) {
					heard = true
					return starhost.Decision{}, nil
				},
			}))
			h.Lose(tt.guard)
			out, err := h.Fire(t.Context(), &starhost.Event{Name: spec.Name})
			if err != nil {
				t.Fatal(err)
			}
			want := !tt.guard.Open && (spec.Guard || slices.Contains(tt.closed, spec.Name))
			refused, says := out.Decision.Action != starhost.ActionNone, h.Refuses(spec.Name) != nil
			if refused != want || heard == want || says != want {
				t.Errorf("%s: %s: got %v, heard %v, want refused %v", tt.name, spec.Name, out.Decision, heard, want)
			}
		}
	}
}
