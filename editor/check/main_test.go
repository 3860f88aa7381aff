package check

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/loader"
)

func TestMain(m *testing.M) { os.Exit(testbed.Alone(m).Run()) }

// TestOwner finds the plugin of a file that an editor shows.
func TestOwner(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"plugins/oncall/plugin.star", "plugins/oncall/lib/text.star", "plugins/policy.star"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string][2]string{
		"plugins/oncall/plugin.star":   {"plugins/oncall", "plugin.star"},
		"plugins/oncall/lib/text.star": {"plugins/oncall", "lib/text.star"},
		"plugins/policy.star":          {"plugins/policy.star", "policy.star"},
		"plugins/new.star":             {"plugins/new.star", "new.star"},
	} {
		plugin, name := owningPlugin(loader.NewPath(dir, file))
		if diff := cmp.Diff(want, [2]string{plugin.Shown, name}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}
