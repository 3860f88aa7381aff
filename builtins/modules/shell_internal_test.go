package modules

import (
	"testing"

	"github.com/starhost/starhost/shell"
)

// TestSharedScript checks that all guards of an event share the analysis of its line, and that no
// other options do.
func TestSharedScript(t *testing.T) {
	first := sharedScript("make", shell.Options{})
	for _, tt := range []struct {
		name, text string
		options    shell.Options
		want       bool
	}{
		{"the same line", "make", shell.Options{}, true},
		{"a trusted runner", "make", shell.Options{Trusted: []string{"make"}}, false},
		{"another line", "make x", shell.Options{}, false},
		{"files", "make", shell.Options{Read: func(string) (string, bool) { return "", false }}, false},
	} {
		if got := sharedScript(tt.text, tt.options) == first; got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
		first = sharedScript("make", shell.Options{})
	}
}
