package starhost_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestHouseOnce keeps one place for small work that many packages need. A file of the list needs a
// form of its own.
func TestHouseOnce(t *testing.T) {
	for _, work := range []struct {
		code, place string
		own         []string
	}{
		{`SetEscapeHTML\(false\)`, "jsontext.Encode", []string{
			"internal/jsontext/jsontext.go",
			"agents/call.go", // it imports the standard library only
		}},
		{`ToValidUTF8\((string\()?\w+\[:`, "errtext.CutTo", []string{
			"internal/errtext/errtext.go",
			"cmd/starhost/repl_terminal.go", // the start that names share, not a length
			"decision/asked.go",             // the mark is within the limit
			"serve/hook/document.go",        // the mark is behind the quotes
			"serve/neko/registry.go",        // it shows broken bytes
		}},
		{`fragments\.Sum\([\w.\[\]]+\.Content\)`, "Fragment.ID, which does not hash a text twice", nil},
		{`func sortedKeys\b`, "slices.Sorted(maps.Keys(m))", nil},
	} {
		code := regexp.MustCompile(work.code)
		for _, file := range goFiles(t) {
			if file.test || slices.Contains(work.own, file.name) {
				continue
			}
			text, err := os.ReadFile(file.name)
			if err != nil {
				t.Fatal(err)
			}
			if at := code.FindIndex(text); at != nil {
				t.Errorf("%s:%d: want %s", file.name, 1+strings.Count(string(text[:at[0]]), "\n"), work.place)
			}
		}
	}
}
