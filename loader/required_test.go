package loader_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/loader"
)

// TestRequiredInArgs loads parts of a project for a command that enforces no decisions. Only
// required plugins at the arguments must load, unless the arguments lead to all paths of the
// config.
func TestRequiredInArgs(t *testing.T) {
	const project = "-- config.toml --\n[plugins]\npaths = [\"p\", \"q\"]\nrequired = [\"bad\", \"policies\"]\n" +
		"-- p/good.star --\n-- p/bad.star --\nx()\n-- q/other.star --\n-- r/none.star --\n"
	bad, gone := "required plugin bad is not loaded", "required plugin policies is not loaded"
	for _, tt := range []struct{ name, args, enforced, shown string }{
		{"a plugin", "p/good.star", bad + gone, ""},
		{"a required plugin", "p/bad.star", gone, bad},
		{"its folder", "p", gone, bad},
		{"a folder that the config does not name", "r", bad + gone, ""},
		{"all folders of the config", "q p", gone, gone},
		{"the folder above them, which has no plugin", ".", bad, bad},
		{"no argument", "", gone, gone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := loads(t, project, strings.Fields(tt.args)...)
			if err := l.set.Missing(); err == nil || !strings.Contains(tt.enforced, text(err)) {
				t.Errorf("a command that enforces decisions: got %v, want %s", err, tt.enforced)
			}
			l.options.RequiredInArgs = true
			set, err := loader.Load(t.Context(), l.options)
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			if diff := cmp.Diff(tt.shown, text(set.Missing())); diff != "" {
				t.Errorf("a command that enforces none (-want +got):\n%s", diff)
			}
		})
	}
}

// text returns the text of an error without its place.
func text(err error) string {
	if err == nil {
		return ""
	}
	_, msg, _ := strings.Cut(err.Error(), ": ")
	return msg
}
