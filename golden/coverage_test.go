package golden_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/starlark"
)

// covered has plugins with a module and a library. Their cases run only a part of the lines.
var covered = map[string]string{
	"one.star": `def one(n = 0):
    """Counts.

    Args:
      n: how far.
    """
    if n > 2 and n < 9:
        return "some"
    return [x for x in range(n) if x]

register_tool(one)
`,
	"golden/one_few.txtar": `Few.
-- case.star --
call_tool("one", n = 2)
call_tool("one", n = 1)
-- want --
== call_tool one
[1]
== call_tool one
[]
`,
	"two/plugin.star": `load("lib/part.star", "part")
load("@common//text.star", "shout")
def two():
    """Answers."""
    return shout(part(True))

def never():
    x = 1
    return x

register_tool(two)
`,
	"two/lib/unused.star": "def a():\n    return 1\n",
	"two/lib/broken.star": "def a(:\n",
	"two/lib/part.star":   "def part(x): return \"a\" if x else \"b\"\n",
	"shared/text.star":    "def shout(s):\n    if not s:\n        return \"\"\n    return s.upper()\n",
	"two/golden/case.txtar": `Another plugin of the case itself.
-- case.star --
call_tool("two")
-- config.toml --
[libraries]
common = "../../shared"
-- plugins/other.star --
register_hook("pre_tool_call", lambda: None)
-- want --
== call_tool two
"A"
hooks        pre_tool_call: other
`,
}

func TestCoverage(t *testing.T) {
	dir := tree(t, covered)
	for _, jobs := range []int{1, 3} {
		s, text := test(t, golden.Options{Dir: dir, Paths: []string{"."}, Coverage: true, Jobs: jobs})
		if s.Passed != 2 {
			t.Fatal(text)
		}
		want := `coverage
  one.star              80.0 %  4/5 lines    3/4 branches  not run: 8; never true: 7
  shared/text.star      75.0 %  3/4 lines    1/2 branches  not run: 3; never true: 2
  two/lib/part.star    100.0 %  1/1 lines    1/2 branches  never false: 1
  two/lib/unused.star    0.0 %  0/2 lines                  not run: 1-2
  two/plugin.star       75.0 %  6/8 lines                  not run: 8-9
  two                   63.6 %  7/11 lines   1/2 branches
  all                   70.0 %  14/20 lines  5/8 branches
`
		if diff := cmp.Diff(want, s.Coverage.Text()); diff != "" {
			t.Errorf("Text (-want +got):\n%s", diff)
		}
		var plugins []string
		for _, p := range s.Coverage.Plugins() {
			plugins = append(plugins, fmt.Sprint(p.Path, " ", len(p.Files)))
		}
		if diff := cmp.Diff([]string{"one.star 1", "shared/text.star 1", "two 3"}, plugins); diff != "" {
			t.Errorf("Plugins (-want +got):\n%s", diff)
		}
		want = `TN:
SF:one.star
BRDA:7,0,0,0
BRDA:7,0,1,2
BRDA:9,0,0,1
BRDA:9,0,1,2
BRF:4
BRH:3
DA:1,1
DA:7,2
DA:8,0
DA:9,2
DA:11,1
LF:5
LH:4
end_of_record
`
		if diff := cmp.Diff(want, s.Coverage[:1].LCOV()); diff != "" {
			t.Errorf("LCOV (-want +got):\n%s", diff)
		}
		if s.Coverage.IsBelow(70) || !s.Coverage.IsBelow(71) {
			t.Errorf("14 of 20 lines: got under 70 %v, under 71 %v; want false, true", s.Coverage.IsBelow(70), s.Coverage.IsBelow(71))
		}
	}
}

func TestCoverageOfNothing(t *testing.T) {
	s, _ := test(t, golden.Options{Dir: tree(t, map[string]string{"a.star": "x = 1\n"}), Paths: []string{"."}, Coverage: true})
	if got, want := s.Coverage.Text(), "coverage\n  all  100.0 %  0/0 lines\n"; got != want || s.Coverage.IsBelow(100) {
		t.Errorf("got %q, under 100 %% %v; want %q, false", got, s.Coverage.IsBelow(100), want)
	}
}

func TestPercent(t *testing.T) {
	tests := []struct {
		n, of int
		want  string
	}{
		{0, 3, "0.0 %"}, {1, 3, "33.3 %"}, {3, 3, "100.0 %"}, {9_999, 10_000, "99.9 %"}, {0, 0, "100.0 %"},
	}
	for _, tt := range tests {
		if got := golden.Percent(tt.n, tt.of); got != tt.want {
			t.Errorf("Percent(%d, %d): got %q, want %q", tt.n, tt.of, got, tt.want)
		}
	}
}

// TestCoverageChangesNoResult runs all cases of this project with and without coverage.
func TestCoverageChangesNoResult(t *testing.T) {
	files := 0
	for _, dir := range []string{"testdata", "testdata/combine", "plugins", "../scripts"} {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			continue
		}
		plain, err := golden.Test(t.Context(), golden.Options{Paths: []string{dir}})
		if err != nil {
			t.Fatal(err)
		}
		counted, err := golden.Test(t.Context(), golden.Options{Paths: []string{dir}, Coverage: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain.Results, counted.Results); diff != "" {
			t.Errorf("%s: results (-without coverage +with):\n%s", dir, diff)
		}
		files += len(counted.Coverage)
	}
	if files < 20 {
		t.Errorf("got coverage of %d files, want more", files)
	}
}

// TestGenhtmlReadsLCOV runs genhtml on a tracefile in the folder of the plugins, as people do.
func TestGenhtmlReadsLCOV(t *testing.T) {
	genhtml := testbed.Need(t, "genhtml")
	dir := tree(t, covered)
	s, _ := test(t, golden.Options{Dir: dir, Paths: []string{"."}, Coverage: true})
	if err := os.WriteFile(filepath.Join(dir, "lcov.info"), []byte(s.Coverage.LCOV()), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(genhtml, "--branch-coverage", "--output-directory", "html", "lcov.info")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"70.0% (14 of 20 lines)", "62.5% (5 of 8 branches)"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("genhtml says %s\nwant %q", out, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "html", "index.html")); err != nil {
		t.Error(err)
	}
}

// TestLCOVHasTheFormOfTracefiles reads each line of a tracefile as tools do, and adds up the counts.
func TestLCOVHasTheFormOfTracefiles(t *testing.T) {
	c := golden.Coverage{
		{Path: "a.star", Lines: []starlark.LineCoverage{{Line: 1, Count: 2}, {Line: 4}}},
		{Path: "b.star", Branches: []starlark.BranchCoverage{{Line: 3, Col: 1, True: 1}, {Line: 3, Col: 9}, {Line: 5, Col: 1, True: 1, False: 7}}},
	}
	var got []string
	for line := range strings.Lines(c.LCOV()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if strings.HasSuffix(name, "F") || strings.HasSuffix(name, "H") || name == "BRDA" {
			got = append(got, fmt.Sprint(name, " ", value))
		}
	}
	want := []string{
		"SF a.star", "BRF 0", "BRH 0", "LF 2", "LH 1",
		"SF b.star", "BRDA 3,0,0,1", "BRDA 3,0,1,0", "BRDA 3,1,0,-", "BRDA 3,1,1,-", "BRDA 5,0,0,1", "BRDA 5,0,1,7", "BRF 6", "BRH 3", "LF 0", "LH 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("LCOV (-want +got):\n%s", diff)
	}
}
