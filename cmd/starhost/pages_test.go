package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/starhost/starhost/internal/docgen"
)

// TestDocsGuides runs every block of the pages that explain one subject with whole projects. With
// -update it writes the output of their commands.
func TestDocsGuides(t *testing.T) {
	for _, name := range []string{"prompts", "libraries", "team"} {
		t.Run(name, func(t *testing.T) {
			file := "../../docs/" + name + ".md"
			p := newPageRun(t, file)
			p.check(p.blocks(readTestFile(t, file)))
		})
	}
}

// docsGoals has a link of the index for each thing that readers look for, with the section that answers and
// words of it.
var docsGoals = []struct{ link, target, words string }{
	{"load a library", "libraries.md#a-library-of-the-project", "stands for the project's root, the folder"},
	{"put an image into a prompt", "prompts.md#attachments", "attachment(path = "},
	{"restrict an argument to an enum", "builtins.md#register_tool", "enum"},
	{"know what dedup hashes", "prompts.md#equal-contents", "SHA-256"},
	{"ask for the weekday", "modules/time.md", "t.format(x)"},
	{"give an approval in a test", "testing.md#call_toolname-answers-arguments", "answers lists the user's"},
	{"trust plugins in CI", "team.md#ci", "trust"},
	{"try a guard in warn mode", "team.md#warn-first", `mode = "warn"`},
	{"know what a call costs", "team.md#cost-of-a-call", " ms"},
	{"roll out to a team", "team.md", "starhost hook install"},
	{"undo an installation", "team.md#undo-an-installation", "starhost hook uninstall"},
	{"know what a guard cannot see", "guards.md#limits", "A parser is no wall"},
}

// TestDocsGoals checks that one link of the index leads to the answer for each of these goals.
func TestDocsGoals(t *testing.T) {
	index := readTestFile(t, "../../docs/README.md")
	for _, g := range docsGoals {
		if !strings.Contains(index, "["+g.link+"]("+g.target+")") {
			t.Errorf("docs/README.md has no link [%s](%s)", g.link, g.target)
			continue
		}
		page, anchor, _ := strings.Cut(g.target, "#")
		text := section(readTestFile(t, "../../docs/"+page), anchor)
		if !strings.Contains(text, g.words) {
			t.Errorf("%s: %s does not have %q:\n%s", g.link, g.target, g.words, text)
		}
	}
}

// TestDocsPins checks that pages pin the versions of programs to the release, and nothing to a branch.
func TestDocsPins(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pins := 0
	for _, page := range append(pages, "../../README.md") {
		for _, m := range regexp.MustCompile(`(?:uses: starhost/starhost@|\brev: |\bversion: )(\S+)`).FindAllStringSubmatch(readTestFile(t, page), -1) {
			if pins++; m[1] != docgen.Release {
				t.Errorf("%s: %s: want %s", page, m[0], docgen.Release)
			}
		}
	}
	if pins < 4 {
		t.Errorf("got %d pins, want those of testing.md and team.md", pins)
	}
}

// section returns the part of a page below the heading of an anchor, up to the next heading of its
// level or above. Without an anchor it is the whole page.
func section(page, anchor string) string {
	if anchor == "" {
		return page
	}
	var out strings.Builder
	level := 0
	for line := range strings.Lines(page) {
		depth := len(line) - len(strings.TrimLeft(line, "#"))
		switch {
		case level == 0 && depth > 0 && slices.Contains(anchors(line), anchor):
			level = depth
		case level > 0 && depth > 0 && depth <= level && line[depth] == ' ':
			return out.String()
		}
		if level > 0 {
			out.WriteString(line)
		}
	}
	return out.String()
}

// TestDocsLength bounds the pages that people read from start to end. errors.md and builtins.md are
// for looking up one name.
func TestDocsLength(t *testing.T) {
	const most = 600
	for file, text := range pages(t) {
		lines := strings.Count(text, "\n")
		if lines > most && !slices.Contains([]string{"docs/errors.md", "docs/builtins.md"}, file) {
			t.Errorf("%s has %d lines, want at most %d: split it by what readers look for", file, lines, most)
		}
	}
}
