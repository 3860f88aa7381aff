// Package scripts_test runs the golden cases of the plugins that ship, and these
// plugins over real data.
package scripts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/loader"
)

// plugins returns the folders of the plugins that ship.
func plugins(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*/plugin.star")
	if err != nil || len(files) == 0 {
		t.Fatalf("no plugins: %v", err)
	}
	for i := range files {
		files[i] = filepath.Dir(files[i])
	}
	return files
}

// TestGolden runs each plugin's cases. A plugin without cases fails.
func TestGolden(t *testing.T) {
	for _, dir := range plugins(t) {
		golden.Run(t, dir)
	}
}

// TestTogether shows that the plugins do not conflict without a config, and that each has a
// description and an author.
func TestTogether(t *testing.T) {
	set, err := loader.Load(t.Context(), loader.Options{Args: []string{"."}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range set.Plugins {
		names = append(names, p.Name)
		if p.Version == "" || p.Description == "" || p.Owner == "" {
			t.Errorf("%s: got version %q, description %q, owner %q, want all three", p.Name, p.Version, p.Description, p.Owner)
		}
	}
	if diff := cmp.Diff(plugins(t), names); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
}

// TestCalculatorNamesItsFunctions shows that the whole docstring reaches the model, because its
// first paragraph names no function.
func TestCalculatorNamesItsFunctions(t *testing.T) {
	set, err := loader.Load(t.Context(), loader.Options{Args: []string{"calculator"}})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for _, tool := range set.Host.Tools() {
		want := map[string]string{"calculate": "sqrt", "unit_convert": "TB"}[tool.Name]
		if !strings.Contains(tool.Description, want) || strings.Contains(tool.Description, "Args:") {
			t.Errorf("%s: got the description %q, want %s in it and no Args", tool.Name, tool.Description, want)
		}
	}
}

// TestBadPattern shows that the plugin redact does not load with an invalid pattern, so that no
// user believes that it redacts.
func TestBadPattern(t *testing.T) {
	config, _, err := loader.ParseConfig("starhost.toml", ".", []byte("[plugin.redact]\nextra = { customer = \"C-([0-9]\" }\n"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := loader.Load(t.Context(), loader.Options{Args: []string{"redact"}, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	got, want := "nil", `redact/plugin.star:40:14: re.search: pattern "C-([0-9]": missing closing )`
	if set.Err() != nil {
		got = set.Err().Error()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("loading (-want +got):\n%s", diff)
	}
}

// write writes a file of a test, and makes its folders.
func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
