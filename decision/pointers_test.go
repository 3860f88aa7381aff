package decision

import "testing"

// TestPointers checks who wrote the text at each pointer of a record, and whether its value can have
// any type.
func TestPointers(t *testing.T) {
	for _, tt := range []struct {
		at     string
		origin origin
		isFree bool
	}{
		{"/agent", isHosts, false}, {"/input", isArgument, false}, {"/input/arguments/command", isPlugins, true},
		{"/input/arguments/command/0", isPlugins, true}, {"/input/arguments/x/command", isArgument, true}, {"/input/command", isArgument, true},
		{"/input/reason", isPlugins, true}, {"/errors/0", isPlugins, false}, {"/context/0/title", isPlugins, false},
		{"/set/plugins/0/config/x", isArgument, true}, {"/set/plugins/0/config", isArgument, false}, {"/set/plugins/0/name/x", isArgument, false},
		{"/decision", isHosts, false}, {"/decision/action", isHosts, false}, {"/decision/reason", isPlugins, false}, {"/decision/value", isArgument, true},
		{"/decision/changes", isArgument, false}, {"/decision/changes/x", isArgument, true}, {"/decision/result/for_llm", isArgument, false},
		{"/handlers", isHosts, false}, {"/handlers/0", isHosts, false}, {"/handlers/0/pos", isHosts, false}, {"/handlers/0/error", isPlugins, false},
		{"/handlers/0/logs/0/text", isPlugins, false}, {"/handlers/0/effects/0", isArgument, false}, {"/handlers/0/effects/0/reply", isArgument, true},
		{"/handlers/0/value", isArgument, true}, {"/handlers/0/changes/x", isArgument, true}, {"/approval/by", isHosts, false},
		{"/approval/asks/0/reason", isPlugins, false}, {"/approval/asks/0/pos", isHosts, false},
	} {
		if got := originOf([]byte(tt.at)); got != tt.origin {
			t.Errorf("origin of %s: got %d, want %d", tt.at, got, tt.origin)
		}
		if got := isFree(tt.at); got != tt.isFree {
			t.Errorf("%s is free: got %v", tt.at, got)
		}
	}
}
