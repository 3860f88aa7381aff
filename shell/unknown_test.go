package shell

import (
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnknowns(t *testing.T) {
	type reason struct {
		Text            string
		Offset          int
		Reason, Program string
	}
	tests := []struct {
		text string
		want []reason
	}{
		{"kubectl delete pod web | tee out", nil},
		{"ls; kubectl $verb pod", []reason{{"kubectl $verb pod", 4, "an argument of kubectl is decided at run time", "kubectl"}}},
		{"cd /srv && $tool delete", []reason{{"$tool delete", 11, "its program is decided at run time", ""}}},
		{"sudo bash deploy.sh", []reason{{"sudo bash deploy.sh", 0, "bash runs a file, or a text that is decided at run time", ""}}},
		{"make build && npm test", []reason{{"make build", 0, "make runs code that the command does not show", ""},
			{"npm test", 14, "npm runs scripts of the project", ""}}},
		{"python3 -c 'import pty'", []reason{{"python3 -c 'import pty'", 0, "python3 runs code of another language", ""}}},
		{"f() { rm -r x; }; f", []reason{{"f", 18, "the text defines f itself", "f"}}},
		{"echo 'a", []reason{{"'a", 5, "syntax: 1:6: reached EOF without closing quote `'`", ""}}},
		{"[[ $a -eq $b ]]", []reason{{"[[ $a -eq $b ]]", 0, otherReading, ""}}},
	}
	for _, tt := range tests {
		var got []reason
		for _, u := range Parse(tt.text, "").Unknowns {
			got = append(got, reason{u.Text, u.Offset, u.Reason(), u.Program})
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

// Law: an answer "maybe" has a reason, for all programs or for this one.
func TestUnknownsExplainMaybe(t *testing.T) {
	for _, file := range []string{"deletions.txt", "harmless.txt", "ordinary.txt", "unknown.txt"} {
		lines, separate := corpusLines(t, file)
		for _, text := range append(lines, separate...) {
			s := Parse(text, "")
			reasons := map[string]bool{}
			for _, u := range s.Unknowns {
				reasons[u.Program] = true
				if u.Reason() == "" || len(u.Text) > 203 || u.Offset < 0 || u.Offset > len(text) {
					t.Errorf("%s: %q: got %+v", file, text, u)
				}
			}
			if s.wild && !reasons[""] {
				t.Errorf("%s: %q: any program may run, but no reason says so", file, text)
			}
			for _, c := range s.calls {
				name := path.Base(c.argv[0].text)
				for _, words := range [][][]string{nil, {{"delete"}}, {{"x"}, {"-f"}}} {
					if s.Runs(name, words...) == "maybe" && !reasons[""] && !reasons[name] {
						t.Errorf("%s: %q: %s is maybe for no reason", file, text, name)
					}
				}
			}
		}
	}
}
