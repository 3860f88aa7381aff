package guard

import (
	"testing"

	"github.com/starhost/starhost/shell"
)

// FuzzDecide checks that more packs never loosen an answer, and that the same call gets the same
// answer from rules that are decoded already.
func FuzzDecide(f *testing.F) {
	for _, line := range []string{
		"git push -f", "A=1", "> f", "rm -rf \"$x\" ~/y *", "{ cat; } < .env", "ssh a 'rm -rf /' | tee x", "bash <(curl x)", "cd ../.ssh && cat *",
		"env -C ~/.aws cat credentials", "psql <<E\ndrop table x;\nE", "$x $y", "f() { rm -r x; }; f", "curl https://%65xample.com", "echo 'a", "kubectl --context prod delete {a,b}",
	} {
		f.Add(line)
	}
	few, err := Load("rules.toml", `packs = ["git", "files", "secrets"]`)
	if err != nil {
		f.Fatal(err)
	}
	all := allPacks(f)
	ranks := map[string]int{"": 0, "ask": 1, "deny": 2}
	f.Fuzz(func(t *testing.T, line string) {
		call := &Call{Command: line, URL: line, Paths: []string{line}, Kinds: []string{"shell"}, CWD: "/w", Script: shell.Parse(line, "")}
		a, errA := few.Decide(call)
		b, errB := all.Decide(call)
		again, errAgain := all.Decide(call)
		if errA != nil || errB != nil || errAgain != nil {
			t.Fatal(errA, errB, errAgain)
		}
		if ranks[string(a.Action)] > ranks[string(b.Action)] {
			t.Errorf("few packs: %s, all packs: %s", a, b)
		}
		if b.String() != again.String() {
			t.Errorf("got %s, then %s", b, again)
		}
	})
}
