package golden_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/starlark"
)

// TestCacheChangesNothing runs the cases of all plugins without a cache, with an empty one
// and with one that is full.
func TestCacheChangesNothing(t *testing.T) {
	paths := append(guides(t), "plugins/combining", "plugins/references", "../scripts")
	test := func(c *starlark.Cache) golden.Summary {
		s, err := golden.Test(t.Context(), golden.Options{Paths: paths, Once: true, Cache: c})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	want := test(nil)
	c := new(starlark.Cache)
	for _, when := range []string{"new", "known"} {
		if diff := cmp.Diff(want, test(c)); diff != "" {
			t.Errorf("%s (-own +given):\n%s", when, diff)
		}
	}
}
