package shell

import (
	"os"
	"strings"
	"testing"
)

// TestWrappers checks the lines of testdata/wrappers.txt: each runs a program through another one, so
// "no" is wrong. At most 5 % of each half may be so.
func TestWrappers(t *testing.T) {
	data, err := os.ReadFile("testdata/wrappers.txt")
	if err != nil {
		t.Fatal(err)
	}
	for i, half := range strings.SplitN(string(data), "\n# The second half", 2) {
		lines, wrong := 0, 0
		for line := range strings.Lines(half) {
			fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
			if len(fields) < 3 {
				continue
			}
			lines++
			var words [][]string
			for _, w := range strings.Fields(fields[1]) {
				words = append(words, []string{w})
			}
			if Parse(strings.NewReplacer(`\n`, "\n", `\\`, `\`).Replace(fields[2]), "").Runs(fields[0], words...) == "no" {
				wrong++
				t.Logf("half %d: %s", i+1, fields[2])
			}
		}
		t.Logf("half %d: %d of %d lines are wrongly no", i+1, wrong, lines)
		if lines < 150 || wrong*100 > 5*lines {
			t.Errorf("half %d: %d of %d lines are wrongly no, want at most 5 %% of at least 150", i+1, wrong, lines)
		}
	}
}
