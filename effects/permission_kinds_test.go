package effects_test

import (
	"strings"
	"testing"

	"github.com/starhost/starhost/effects"
)

// TestPermissionKinds checks that the example of each kind is a permission of the kind in its canonical form.
func TestPermissionKinds(t *testing.T) {
	for _, k := range effects.PermissionKinds() {
		t.Run(k.Name, func(t *testing.T) {
			p, err := effects.ParsePermission(k.Example)
			if err != nil {
				t.Fatal(err)
			}
			if p.Kind != k.Name || p.String() != k.Example {
				t.Errorf("got kind %s and %q, want %s and %q", p.Kind, p, k.Name, k.Example)
			}
			if !strings.HasSuffix(k.Doc, ".") {
				t.Errorf("the doc is no sentence: %q", k.Doc)
			}
		})
	}
}
