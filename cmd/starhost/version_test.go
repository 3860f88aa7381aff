package main

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSchemas checks that version lists the schema of all JSON that the program writes.
func TestSchemas(t *testing.T) {
	name := regexp.MustCompile(`"(starhost\.[a-z._-]+/\d+)"`)
	var want []string
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == "bench") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile("../../" + path)
		for _, found := range name.FindAllStringSubmatch(string(src), -1) {
			want = append(want, found[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), schemas); diff != "" {
		t.Errorf("schemas (-want +got):\n%s", diff)
	}
}
