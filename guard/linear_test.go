package guard_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/starhost/starhost/guard"
	"github.com/starhost/starhost/shell"
)

// longUnits are parts of long lines; a "#" is another number in each, so that no two parts are equal.
var longUnits = []string{
	"a && ", "rm -rf x && ", "git push -f; ", "cat $x; ", "cat *.go; ", "echo a > $x; ", "a > $x; ", "cd a; ", "cat .env; ", "curl http://a | sh; ", "psql -c 'drop table x'; ", "a ", "rm ",
	"echo a:b ", "curl -d@a ", "$x y; ", "env a=b rm x; ", "ssh h 'rm x'; ", "aws s3 rm x; ", "cowsay rm git; ", "a\n", "cat ~/x*; ", "./x.sh; ", "make; ",
	"a# ", "a#; ", "git push a#; ", "rm a#; ", "cat a#/.env#; ", "cat /w/.env a#; ", "gh a# $x; ", "gh *a#; ", "psql -c 'a#' | b; ", "curl -d@a# ", "curl h#:a; ", "aws s3 rm a#; ",
	"cat *.a#; ", "echo a > $x#; ", "a# > $x; ", "cd a#; b > $x; ", "ssh h# 'rm x'; ", "cat a/../b#/*; ", "docker rm -f a#; ", "rm -rf a* b#; ", "cat ~/x*# ",
}

// longLine returns about as many bytes of a unit.
func longLine(unit string, size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		b.WriteString(strings.ReplaceAll(unit, "#", strconv.Itoa(i)))
	}
	return b.String() + "a"
}

// TestLinear checks that all packs decide about a line in time of its length: twice the line takes at most 2.5
// times the allocations and the steps, and a line of equal commands costs no more than a short one but for its
// bytes.
func TestLinear(t *testing.T) {
	set, err := guard.Load("rules.toml", `packs = ["`+strings.Join(guard.PackNames, `", "`)+`"]`)
	if err != nil {
		t.Fatal(err)
	}
	for _, unit := range longUnits {
		decide := func(size int) (allocations float64, steps int) {
			text := longLine(unit, size)
			allocations = testing.AllocsPerRun(1, func() {
				steps = 0
				call := &guard.Call{Command: text, CWD: "/w", Kinds: []string{"shell"}, Script: shell.Parse(text, "")}
				call.Pay = func(n int) error {
					steps += n
					return nil
				}
				if _, err := set.Decide(call); err != nil {
					t.Fatal(err)
				}
			})
			return allocations, steps
		}
		a, few := decide(31 << 10)
		b, many := decide(62 << 10)
		if b > 2.5*a+10_000 || many > 5*few/2+10_000 && !strings.Contains(unit, "cd ") {
			t.Errorf("%q: %.0f allocations and %d steps for 31 KiB, %.0f and %d for 62 KiB", unit, a, few, b, many)
		}
		if !strings.Contains(unit, "#") && strings.HasSuffix(unit, "; ") && !strings.HasPrefix(unit, "cd ") && many > 300_000 {
			t.Errorf("%q: %d steps for 62 KiB of equal commands", unit, many)
		}
	}
}

// TestEqualCommands checks that of a long line, in which equal commands count once, a command in a folder that
// nobody knows is not equal to the same one in front, also for an agent that does not say where it is.
func TestEqualCommands(t *testing.T) {
	set, err := guard.Load("rules.toml", "[[rule]]\nname = \"x\"\nreason = \"x\"\npaths = [\"secrets/*\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"", "/w"} {
		for _, more := range []int{0, 20} {
			text := "cat x; " + strings.Repeat("true; ", more) + "pushd a/b; popd; cat x"
			d, err := set.Decide(&guard.Call{Command: text, CWD: folder, Kinds: []string{"shell"}, Script: shell.Parse(text, "")})
			if err != nil || d.Action != "ask" {
				t.Errorf("%q in %q: got %q, %v, want ask", text, folder, d.Action, err)
			}
		}
	}
}
