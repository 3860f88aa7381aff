package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/starhost/starhost/internal/docgen"
	"github.com/starhost/starhost/report"
)

// runTestingPage runs docs/testing.md and docs/cases.md: the files and commands of the first one's
// introduction, then each whole case, each command and the example of each step with the page's
// plugin.
func runTestingPage(t *testing.T) {
	const intro = "../../internal/docgen/intro/testing.md"
	p := newPageRun(t, intro)
	p.check(p.blocks(readTestFile(t, intro)))
	counts := map[string]int{}
	_, running, _ := strings.Cut(readTestFile(t, "../../docs/testing.md"), "\n## ")
	_, cases, _ := strings.Cut(readTestFile(t, "../../docs/cases.md"), "\n## ")
	for _, chapter := range append(strings.Split(running, "\n## "), strings.Split(cases, "\n## ")...) {
		title, body, _ := strings.Cut(chapter, "\n")
		t.Run(title, func(t *testing.T) {
			for i, b := range blocksOf(body) {
				counts[b.language]++
				runTestingBlock(t, p.dir, b, i)
			}
		})
	}
	if counts["text"] < 12 || counts["python"] < 15 || counts["sh"] < 4 || counts["yaml"] != 2 {
		t.Errorf("got blocks %v, want at least 12 cases, 15 steps, 4 commands and 2 settings", counts)
	}
}

// runTestingBlock runs a block of docs/testing.md in a folder with the plugin of the page.
func runTestingBlock(t *testing.T, dir string, b block, i int) {
	t.Helper()
	args := []string{"test", "demo.star::demo_block"}
	text := b.text
	switch b.language {
	case "text":
		if !strings.Contains(text, ".star --\n") { // the block is the signature of a step
			if name, _, _ := strings.Cut(text, "("); wholeReference().Part(name).IsEmpty() {
				t.Errorf("%s: want a case or a signature", text)
			}
			return
		}
		args[1] = "golden/block.txtar"
	case "python":
		text = "A step.\n-- case.star --\n" + b.text
		if strings.Contains(b.text, "row(") {
			text += "-- rows.jsonl --\n{\"name\": \"slow\", \"team\": \"checkout\"}\n"
		}
		args = append(args, "--update") // the example states with assert_eq what it wants
	case "sh":
		args = words(t, b.text)[1:]
	case "yaml":
		checkYAML(t, b.text)
		return
	case "go":
		if src := readTestFile(t, "../../golden/plugins_test.go"); !strings.Contains(src, b.text) {
			t.Errorf("%s: golden/plugins_test.go does not have it", b.text)
		}
		return
	default:
		t.Fatalf("block %d: got language %q, want text, python, sh, yaml or go", i, b.language)
	}
	if b.language != "sh" {
		name := "golden/" + strings.TrimPrefix(strings.TrimSuffix(args[1], ".txtar"), "demo.star::") + ".txtar"
		if b.language == "text" {
			name = args[1]
		}
		writeFiles(t, dir, map[string]string{name: text})
		defer os.Remove(filepath.Join(dir, name))
	}
	var out bytes.Buffer
	if code := run(t.Context(), append([]string{"-C", dir}, args...), nil, &out, &out); code != report.ExitOK {
		t.Errorf("%s: got exit code %d\n%s", text, code, out.String())
	}
}

// checkYAML checks that settings name the repository's hooks and inputs.
func checkYAML(t *testing.T, text string) {
	t.Helper()
	hooks, action := readTestFile(t, "../../.pre-commit-hooks.yaml"), readTestFile(t, "../../action.yml")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		id, isHook := strings.CutPrefix(line, "- id: ")
		input, _, isInput := strings.Cut(line, ": plugins")
		if isHook && !strings.Contains(hooks, "- id: "+id+"\n") || isInput && !strings.Contains(action, "\n  "+input+":\n") {
			t.Errorf("%s: the repository does not have it", line)
		}
	}
}

// TestDocsTestFlags checks that the page has each flag of test once.
func TestDocsTestFlags(t *testing.T) {
	var got, want []string
	for _, c := range docgen.TestChapters {
		got = append(got, c.Flags...)
	}
	new(program).testCommand().Flags().VisitAll(func(f *pflag.Flag) { want = append(want, f.Name) })
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("flags of the page: got %q, want %q", got, want)
	}
}
