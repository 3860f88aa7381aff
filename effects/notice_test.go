package effects

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starhost/starhost/internal/testbed"
)

// TestReplacersByName checks that the replacer for a plugin has the secrets of that plugin only, whichever
// plugin asked first.
func TestReplacersByName(t *testing.T) {
	s := NewSecrets(SecretOptions{LookupEnv: func(name string) (string, bool) { return "value-of-" + name, true }})
	for _, name := range []string{"ONE", "TWO"} {
		if _, err := s.Value(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, names := range [][2]string{{"ONE", "TWO"}, {"TWO", "ONE"}, {"ONE", "TWO"}} {
		r := s.replacerFor(func(name string) bool { return name == names[0] })
		got := r.Replace("value-of-ONE value-of-TWO")
		if strings.Contains(got, "value-of-"+names[0]) || !strings.Contains(got, "value-of-"+names[1]) {
			t.Errorf("a plugin with %s: got %q", names[0], got)
		}
	}
}

// TestSecretCommandRunsOnce checks that the command that prints a secret runs once, however often plugins
// read the secret.
func TestSecretCommandRunsOnce(t *testing.T) {
	testbed.Need(t, "sh")
	runs := filepath.Join(t.TempDir(), "runs")
	command := []string{"sh", "-c", `echo run >> "$0"; echo value-of-it`, runs}
	s := NewSecrets(SecretOptions{Sources: map[string]SecretSource{"IT": {Command: command}}})
	for range 3 {
		if got, err := s.Value("IT"); err != nil || got != "value-of-it" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	text, err := os.ReadFile(runs)
	if err != nil || string(text) != "run\n" {
		t.Errorf("got the runs %q, %v, want one", text, err)
	}
}
