package effects_test

import (
	"testing"

	"github.com/starhost/starhost/effects"
)

// TestGuess checks that a plugin that can know no secret gets its texts back as it wrote them, so
// that it cannot tell a good guess from a bad one; and that all other texts are redacted.
func TestGuess(t *testing.T) {
	const secret = "sesame-open-1234"
	secrets := effects.NewSecrets(effects.SecretOptions{LookupEnv: func(string) (string, bool) { return secret, true }})
	if _, err := secrets.Value("TOKEN"); err != nil {
		t.Fatal(err)
	}
	granted, err := effects.ParseGrants([]string{"env:HOME"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		layer  string
		grants effects.Grants
		want   string
	}{
		{"project", nil, secret},
		{"project", granted, "<secret TOKEN>"},
		{"", nil, "<secret TOKEN>"},
		{"managed", nil, "<secret TOKEN>"},
	} {
		owner := &effects.Owner{Name: "p", Layer: tt.layer}
		w := effects.World{Plugin: "p", Secrets: secrets, Granted: tt.grants}
		w.Owner = func() *effects.Owner { return owner }
		if got := w.Redact(secret); got != tt.want || w.Redacts() != (tt.want != secret) {
			t.Errorf("layer %q, %d permissions: got %s, want %s", tt.layer, len(tt.grants), got, tt.want)
		}
		if got := w.RedactLog(secret); got != "<secret TOKEN>" {
			t.Errorf("layer %q: the log: got %s", tt.layer, got)
		}
	}
}
