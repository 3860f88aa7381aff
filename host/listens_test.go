package host_test

import (
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

func TestHostHears(t *testing.T) {
	pure := hook("pre_tool_call", starhost.Decision{})
	pure.Pure, pure.Match = true, []string{"restart_*", "page"}
	asks := hook("pre_tool_call", starhost.Decision{})
	asks.Match = []string{"page"}
	h := newHost(t, host.Options{}, plugin("p", pure, asks, hook("turn_end", starhost.Decision{})))
	tests := []struct {
		event, subject      string
		hears, needsSession bool
	}{
		{"pre_tool_call", "restart_pods", true, false},
		{"pre_tool_call", "page", true, true},
		{"pre_tool_call", "other", false, false},
		{"post_tool_call", "page", false, false},
		{"turn_end", "", true, true},
	}
	for _, tt := range tests {
		if hears, needs := h.ListensTo(tt.event, tt.subject); hears != tt.hears || needs != tt.needsSession {
			t.Errorf("ListensTo(%s, %q): got %v, %v, want %v, %v", tt.event, tt.subject, hears, needs, tt.hears, tt.needsSession)
		}
	}
}
