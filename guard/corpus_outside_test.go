package guard

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starhost/starhost/shell"
)

// TestCorpusElsewhere says which share of lines from elsewhere gets a wrong answer. STARHOST_CORPUS is a
// folder with ordinary.HALF.jsonl, destructive.HALF.jsonl and wrappers.HALF.jsonl, of which each line is an
// object with line and repo, and files/REPO, the files that the lines of a repository may run. The lines of
// the half "held" are counted and not shown.
func TestCorpusElsewhere(t *testing.T) {
	folder := os.Getenv("STARHOST_CORPUS")
	if folder == "" {
		t.Skip("STARHOST_CORPUS names no folder")
	}
	s := starterRules(t)
	trusted := func(l *elsewhere) bool { return l.decide(t, s, s.Trusted, true) == "" }
	for _, tt := range []struct {
		name, file string
		right      func(*elsewhere) bool
	}{
		{"wrappers", "wrappers", func(l *elsewhere) bool { return shell.Parse(l.Line, "").Runs("kubectl", []string{"delete"}) != "no" }},
		{"destructive", "destructive", func(l *elsewhere) bool { return !trusted(l) }},
		{"ordinary", "ordinary", trusted},
		{"ordinary, scripts not readable", "ordinary", func(l *elsewhere) bool { return l.decide(t, s, s.Trusted, false) == "" }},
		{"ordinary, trusted nothing", "ordinary", func(l *elsewhere) bool { return l.decide(t, s, nil, true) == "" }},
		{"ordinary, trusted nothing, scripts not readable", "ordinary", func(l *elsewhere) bool { return l.decide(t, s, nil, false) == "" }},
	} {
		for _, half := range []string{"open", "held"} {
			text, err := os.ReadFile(filepath.Join(folder, tt.file+"."+half+".jsonl"))
			if err != nil {
				continue
			}
			all, wrong := 0, 0
			for line := range strings.Lines(string(text)) {
				l := &elsewhere{folder: folder}
				if err := json.Unmarshal([]byte(line), l); err != nil {
					t.Fatal(err)
				}
				all++
				if !tt.right(l) {
					wrong++
					if half == "open" || os.Getenv("STARHOST_CORPUS_SHOW") != "" {
						t.Logf("%s: %s: %s  << %s", tt.name, l.Repo, strings.ReplaceAll(l.Line, "\n", "⏎"), l.why)
					}
				}
			}
			t.Logf("TOTAL %s, %s: %d of %d (%.1f %%)", tt.name, half, wrong, all, 100*float64(wrong)/float64(all))
		}
	}
}

// elsewhere is a line of another project.
type elsewhere struct{ Line, Repo, folder, why string }

// decide returns why a set of rules asks or denies, "" if it does not.
func (l *elsewhere) decide(t *testing.T, s *Set, trusted []string, reads bool) string {
	o := shell.Options{Trusted: trusted, Folder: "/work/app"}
	if reads {
		o.Read = func(name string) (string, bool) {
			name, ok := strings.CutPrefix(name, "/work/app/")
			text, err := os.ReadFile(filepath.Join(l.folder, "files", l.Repo, name))
			return string(text), ok && err == nil
		}
	}
	d, err := s.Decide(&Call{Command: l.Line, Kinds: []string{"shell"}, CWD: "/work/app", Script: shell.ParseWith(l.Line, o)})
	if err != nil {
		t.Fatal(err)
	}
	l.why = d.Reason
	return d.Reason
}

// starterRules returns the rules of starhost new guard.
func starterRules(t *testing.T) *Set {
	t.Helper()
	text, err := os.ReadFile("../scripts/guard/rules.toml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Load("rules.toml", string(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
