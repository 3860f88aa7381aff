package effects_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/starhost/starhost/effects"
)

// TestGuess checks that a plugin that can know no secret gets its texts back as it wrote them, so that it
// cannot tell a good guess from a bad one. It also checks that a plugin with any permission that can bring it
// a secret gets redacted texts. The table says for each kind of permission which of the two it is.
func TestGuess(t *testing.T) {
	const secret = "sesame-open-1234"
	secrets := effects.NewSecrets(effects.SecretOptions{LookupEnv: func(string) (string, bool) { return secret, true }})
	if _, err := secrets.Value("TOKEN"); err != nil {
		t.Fatal(err)
	}
	type row struct {
		layer  string
		grants effects.Grants
		want   string
	}
	rows := []row{{"project", nil, secret}, {"", nil, "<secret TOKEN>"}, {"managed", nil, "<secret TOKEN>"}}
	carries := strings.Fields("fs.read http exec secret tool fragment")
	for _, k := range effects.PermissionKinds() {
		grants, err := effects.ParseGrants([]string{"env:HOME", k.Example})
		if err != nil {
			t.Fatal(err)
		}
		want := secret
		if slices.Contains(carries, k.Name) {
			want = "<secret TOKEN>"
		}
		rows = append(rows, row{"project", grants, want}, row{"", grants, "<secret TOKEN>"})
	}
	for _, tt := range rows {
		owner := &effects.Owner{Name: "p", Layer: tt.layer}
		w := effects.World{Plugin: "p", Secrets: secrets, Granted: tt.grants}
		w.Owner = func() *effects.Owner { return owner }
		if got := w.Redact(secret); got != tt.want || w.Redacts() != (tt.want != secret) {
			t.Errorf("layer %q, permissions %v: got %s, want %s", tt.layer, tt.grants, got, tt.want)
		}
		if got := w.RedactLog(secret); got != "<secret TOKEN>" {
			t.Errorf("layer %q: the log: got %s", tt.layer, got)
		}
	}
}
