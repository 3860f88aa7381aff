package guard

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/shell"
)

// allPacks is a file of rules with every pack.
func allPacks(t testing.TB) *Set {
	t.Helper()
	s, err := Load("rules.toml", `packs = ["`+strings.Join(PackNames, `", "`)+`"]`)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPacks proves the examples of all packs.
func TestPacks(t *testing.T) {
	for _, err := range allPacks(t).Prove(nil) {
		t.Error(err)
	}
}

// TestField shows that the packs ask about what the field's guards and reports are about.
func TestField(t *testing.T) {
	text, err := os.ReadFile("testdata/field.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := allPacks(t)
	covered, out := 0, 0
	for line := range strings.Lines(string(text)) {
		source, command, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			continue
		}
		if d := answerTo(t, s, command); (d.Action == "") != (source[0] == '-') {
			t.Errorf("%s: %s: got %q", source, command, d)
		}
		if covered++; source[0] == '-' {
			covered, out = covered-1, out+1
		}
	}
	page, err := os.ReadFile("../docs/guards.md")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("They ask about or deny %d of %d", covered, covered+out)
	if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), want) {
		t.Errorf("docs/guards.md: want %q", want)
	}
}

// answerTo returns what a set says about a command line, in which \\n is a line break and \\\\ a
// backslash.
func answerTo(t *testing.T, s *Set, command string) starhost.Decision {
	t.Helper()
	command = strings.NewReplacer(`\\`, `\`, `\n`, "\n").Replace(command)
	d, err := s.Decide(&Call{Command: command, Kinds: []string{"shell"}, CWD: "/w", Script: shell.Parse(command, "")})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestThousandRules shows that a call only decodes the rules of its programs, so that its cost does
// not grow with the others.
func TestThousandRules(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "[[rule]]\nname = \"rule-%d\"\nprograms = [\"tool%d\", \"other\"]\nsub = [\"delete\"]\nmatch = [\"tool%d delete x\"]\nnot_match = [\"ls\"]\n\n", i, i%500, i%500)
	}
	for _, tt := range []struct {
		command string
		want    int
	}{
		{"ls && git status", 0},
		{"sudo tool7 get x", 2},
		{"make all", 0}, // may run any: the question needs no rule's text
		{"other get x", 1000},
	} {
		s, err := Load("rules.toml", b.String())
		if err != nil {
			t.Fatal(err)
		}
		answerTo(t, s, tt.command)
		got := 0
		for _, b := range s.own {
			if b.rule != nil {
				got++
			}
		}
		if got != tt.want {
			t.Errorf("%s: %d rules were decoded, want %d", tt.command, got, tt.want)
		}
	}
}

// TestOlderRules proves the rules that the guard of an earlier release had, which people go on to
// use.
func TestOlderRules(t *testing.T) {
	text, err := os.ReadFile("testdata/older_rules.toml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Load("rules.toml", string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Prove(nil) {
		t.Error(err)
	}
}
