package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// onEveryMachine are the programs that a golden may run without a condition: starhost and the programs of
// coreutils.
var onEveryMachine = strings.Fields("starhost cat chmod cp ln ls mkdir mkfifo mv rm sleep stat tail test touch true wc")

// TestCLIPrograms checks that a golden that runs another program has a condition that skips it on machines
// without the program.
func TestCLIPrograms(t *testing.T) {
	runs := regexp.MustCompile(`(?m)^(?:\[[^]]*\] *)*(?:! *)?(?:exec|exit \d+) +([\w-]+)(.*)`)
	within := regexp.MustCompile(`\b(sed|find|grep|awk) `) // programs in the text of sh -c
	files, err := filepath.Glob("../../golden/cli/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		script := string(archive.Comment)
		for _, m := range runs.FindAllStringSubmatch(script, -1) {
			programs := []string{m[1]}
			if m[1] == "sh" {
				for _, inner := range within.FindAllStringSubmatch(m[2], -1) {
					programs = append(programs, inner[1])
				}
			}
			for _, p := range programs {
				if !slices.Contains(onEveryMachine, p) && !strings.Contains(script, "[!exec:"+p+"] skip") {
					t.Errorf("%s runs %s: want the line [!exec:%s] skip 'needs %s'", filepath.Base(file), p, p, p)
				}
			}
		}
	}
}
