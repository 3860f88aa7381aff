package guard

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/shell"
)

var update = flag.Bool("update", false, "rewrite testdata/answers.txt")

// TestAnswers compares what all packs together say about each example of each rule with
// testdata/answers.txt, so that a change of a pack, or of package shell, shows which answers it
// changes.
func TestAnswers(t *testing.T) {
	packs, err := Packs()
	if err != nil {
		t.Fatal(err)
	}
	all := allPacks(t)
	var b strings.Builder
	for _, pack := range packs {
		for _, r := range pack.Rules {
			fmt.Fprintf(&b, "\n%s\n", r.ID())
			for i, e := range append(r.Match[:len(r.Match):len(r.Match)], r.NotMatch...) {
				call := &Call{Command: e.Command, URL: e.URL, Kinds: e.Kinds, Paths: e.Paths, CWD: "/w"}
				if e.Command != "" {
					call.Script = shell.Parse(e.Command, "")
				}
				d, err := all.Decide(call)
				if err != nil {
					t.Fatal(err)
				}
				sign := "+"
				if i >= len(r.Match) {
					sign = "-"
				}
				fmt.Fprintf(&b, "%s %s\n", sign, strings.ReplaceAll(e.String(), "\n", "⏎"))
				if d.Action != "" {
					fmt.Fprintf(&b, "    %s %s\n", d.Action, d.Pos)
				}
			}
		}
	}
	const file = "testdata/answers.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}
