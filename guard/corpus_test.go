package guard

import (
	"os"
	"strings"
	"testing"

	"github.com/starhost/starhost/shell"
)

// TestCorpus holds the shares of lines that the starter's rules answer in the wrong way: destructive
// lines that pass in silence, and ordinary lines of a day that are asked or denied. The first half of
// each list was there while the packs were written.
func TestCorpus(t *testing.T) {
	s := starterRules(t)
	for _, tt := range []struct {
		file    string
		trusted []string
		most    [2]int // wrong answers in the two halves
	}{
		{"destructive", s.Trusted, [2]int{0, 3}},
		{"ordinary", s.Trusted, [2]int{8, 7}},
		{"ordinary", nil, [2]int{77, 83}}, // nearly all of them run tests, builds and scripts of the project
		{"fresh_destructive", s.Trusted, [2]int{0, 0}},
		{"fresh_ordinary", s.Trusted, [2]int{6, 19}},
		{"fresh_ordinary", nil, [2]int{75, 93}},
	} {
		text, err := os.ReadFile("testdata/" + tt.file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		half, wrong, all := 0, [2]int{}, [2]int{}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if line == "# held" {
				half = 1
			}
			if line[0] == '#' {
				continue
			}
			line = strings.NewReplacer(`\\`, `\`, `\n`, "\n").Replace(line)
			script := shell.ParseWith(line, shell.Options{Trusted: tt.trusted, Folder: "/work/app", Read: readable(tt.trusted)})
			d, err := s.Decide(&Call{Command: line, Kinds: []string{"shell"}, CWD: "/work/app", Script: script})
			if err != nil {
				t.Fatal(err)
			}
			all[half]++
			if (d.Action == "") == (strings.HasSuffix(tt.file, "destructive")) {
				wrong[half]++
				if half == 0 {
					t.Logf("%s: %s << %s", tt.file, line, d.Reason)
				}
			}
		}
		t.Logf("%s, trusted %v: %d wrong of %d", tt.file, tt.trusted != nil, wrong, all)
		if wrong[0] > tt.most[0] || wrong[1] > tt.most[1] {
			t.Errorf("%s, trusted %v: %d wrong answers in the halves, want at most %d", tt.file, tt.trusted != nil, wrong, tt.most)
		}
	}
}

// readable returns the reader of a project's scripts if nothing is trusted.
func readable(trusted []string) func(string) (string, bool) {
	if trusted != nil {
		return nil
	}
	files := map[string]string{
		"package.json":     `{"scripts": {"test": "vitest run", "test:unit": "vitest run", "lint": "eslint .", "typecheck": "tsc --noEmit", "build": "tsc && vite build", "dev": "vite", "start": "node dist/server.js"}}`,
		"scripts/check.sh": "#!/bin/sh\nset -e\ngofmt -l .\ngo vet ./...\n",
		"scripts/lint.sh":  "#!/usr/bin/env bash\nset -euo pipefail\nshellcheck scripts/*.sh\ngrep -rn TODO src || true\n",
		"scripts/build.sh": "#!/bin/sh\nset -e\ngo build ./...\n",
		"scripts/test.sh":  "#!/bin/sh\ngo test ./...\n",
	}
	return func(name string) (string, bool) {
		text, ok := files[strings.TrimPrefix(name, "/work/app/")]
		return text, ok
	}
}
