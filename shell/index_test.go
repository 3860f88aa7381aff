package shell

import (
	"strings"
	"testing"
)

// TestIndex checks that a long text, which has an index, gets the answers of a short one.
func TestIndex(t *testing.T) {
	pad := strings.Repeat("echo a b c d e f g\n", 40)
	for _, name := range []string{"aws", "helm", "ls", "make", "env", "unlisted"} {
		for _, words := range []string{
			` a */. "$Y"`, ` a */. $Y`, ` */. x=$Y`, ` a "$Y"`, ` a */. [a-z]*/$Y`, " */.; " + name + ` b "$Y"`, " k*l", " a/k*", " [k]ubectl",
			" KUBECTL", " a:kubectl/x kubectl", " 'x kubectl y'", " kubectl.exe", " x",
		} {
			short, long := Parse(name+words, "bash"), Parse(pad+name+words, "bash")
			if long.index == nil {
				t.Fatal("got no index")
			}
			if a, b := short.Runs("kubectl"), long.Runs("kubectl"); a != b {
				t.Errorf("%s: got %s in a long text, %s in a short one", name+words, b, a)
			}
		}
	}
}
