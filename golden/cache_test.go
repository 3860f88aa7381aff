package golden_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/starlark"
)

// TestCacheChangesNothing runs the cases of all plugins with an empty cache, and then with
// caches in a folder that is empty and one that is full.
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
	folder := filepath.Join(t.TempDir(), "cache")
	for _, when := range []string{"new", "known"} {
		c, err := starlark.OpenCache(folder)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, test(c)); diff != "" {
			t.Errorf("%s (-own +folder):\n%s", when, diff)
		}
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
	}
}
