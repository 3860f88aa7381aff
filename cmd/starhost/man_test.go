package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// TestDocsMan compares the pages in man with the texts of the commands. With -update it writes them. If groff is installed, it must understand them.
func TestDocsMan(t *testing.T) {
	const dir = "../../man/"
	root := new(program).rootCommand(nil)
	var names []string
	var all bytes.Buffer
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		name := manName(cmd) + ".1"
		names = append(names, name)
		want := manPage(cmd)
		if *update {
			if err := os.WriteFile(dir+name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(readTestFile(t, dir+name), want); diff != "" {
			t.Errorf("%s is stale (go test ./cmd/starhost -run Docs -update writes it; -as it is +as it should be):\n%s", name, diff)
		}
		all.WriteString(want)
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				visit(c)
			}
		}
	}
	visit(root)
	files, err := filepath.Glob(dir + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !slices.Contains(names, filepath.Base(file)) {
			t.Errorf("%s: no command has this page: remove it", file)
		}
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		lint := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-ww", "-z")
		lint.Stdin = &all
		if out, err := lint.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("groff: %v\n%s", err, out)
		}
	}
}
