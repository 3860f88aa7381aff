package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// TestProfile checks that pprof's library reads both files, and that the plugins' profile names
// the most expensive line.
func TestProfile(t *testing.T) {
	dir := t.TempDir()
	plugin := filepath.Join(dir, "p.star")
	source := "def work(messages):\n    return \"x\" * len([str(i) for i in range(1000)])\n\nregister_hook(\"pre_llm_call\", work)\n"
	if err := os.WriteFile(plugin, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "p.out")
	var out, errs bytes.Buffer
	args := []string{"eval", plugin, "-p", "hi", "--no-config", "--profile", file}
	if code := run(t.Context(), args, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("got exit code %d: %s", code, errs.String())
	}
	p := readProfile(t, file)
	var way string
	var steps int64
	for _, s := range p.Sample {
		if s.Value[0] > steps {
			steps = s.Value[0]
			line := s.Location[0].Line[0]
			way = fmt.Sprintf("%s %s:%d", line.Function.Name, line.Function.Filename, line.Line)
		}
	}
	if want := "work p.star:2"; way != want || steps < 4000 {
		t.Errorf("most steps: got %s with %d, want %s", way, steps, want)
	}
	if err := readProfile(t, file+".host").CheckValid(); err != nil {
		t.Error(err)
	}
}

func readProfile(t *testing.T, file string) *profile.Profile {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
