package shell

import (
	"slices"
	"strings"
	"testing"
)

// TestLinear checks that the work for a text grows with its length: the allocations of a text of 64
// KiB are at most 2.5 times those of its half.
func TestLinear(t *testing.T) {
	units := append([]string{
		"a && ", "a || ", "a | ", "a; ", "cd a && ", "cowsay $x; ", "cowsay kubectl; ", "./a.sh; ", "sh a.sh; ", "[ -d a ] && ", "trap 'a' EXIT; ", "case $1 in *) a;; esac; ",
		"f() { a; }; f; ", "unset -f f; ", "git -C a push -f; ", "\"$=x\" ", "$~x ", "make; ", "npm run a; ", "ulimit -n 1; ", "source ./a; ", "tar xf a; ", "> a; ", "if cd a; then b; fi; ",
		"python3 -c 'open(a)'; ", "python3 <<E\n" + strings.Repeat("a.", 3000) + "a\nE\n", "python3 <<E\nfrom pathlib import Path\n" + strings.Repeat("Path(\"a\").a\n", 500) + "E\n", "python3 <<E\n" + strings.Repeat("f\"{a[1]}\"\n", 700) + "E\n",
	}, hostileUnits...)
	files := map[string]string{"a.sh": "cd b && a\n", "a": "a\n", "package.json": `{"scripts":{"a":"npm run a && b"}}`}
	o := Options{Trusted: []string{"make"}, Read: func(name string) (string, bool) { text, ok := files[name]; return text, ok }}
	for _, unit := range units {
		work := func(size int) float64 {
			text := strings.Repeat(unit, size/len(unit)) + "a"
			return testing.AllocsPerRun(1, func() { ParseWith(text, o).Runs("kubectl", []string{"delete"}) })
		}
		half, whole := work(31<<10), work(62<<10)
		if whole > 2.5*half+10_000 {
			t.Errorf("%q: %.0f allocations for 31 KiB, %.0f for 62 KiB", unit, half, whole)
		}
	}
}

// TestTrustedIsCheap checks that runners of other programs cost a command nothing but a comparison.
func TestTrustedIsCheap(t *testing.T) {
	text := strings.Repeat("a; ", 1000)
	allocations := func(o Options) float64 { return testing.AllocsPerRun(1, func() { ParseWith(text, o) }) }
	without, with := allocations(Options{}), allocations(Options{Trusted: slices.Repeat([]string{"npm test", "docker compose up"}, 64)})
	if with > without+100 {
		t.Errorf("%.0f allocations with 128 runners, %.0f without", with, without)
	}
}

// BenchmarkHostile times the units of TestLinear that a careless analysis makes quadratic.
func BenchmarkHostile(b *testing.B) {
	for _, unit := range []string{"a && ", "cd a && ", "cowsay kubectl; ", "f() { a; }; f; ", "[ -d a ] && ", "sh a.sh; "} {
		text := strings.Repeat(unit, (64<<10)/len(unit)-1) + "a"
		b.Run(unit, func(b *testing.B) {
			for b.Loop() {
				Parse(text, "").Runs("kubectl", []string{"delete"})
			}
		})
	}
}
