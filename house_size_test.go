package starhost_test

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"strings"
	"testing"
)

// sizes are the most code lines of a folder with those inside that the table does not name. Size is
// a budget: who raises a number says why in the commit.
var sizes = map[string]int{
	".":                1090,
	"agents":           2060,
	"agents/install":   3042,
	"agents/trace":     1680,
	"bench":            1828, // 260 of them measure growth, memory, and the guard that users run
	"builtins":         8045,
	"bundle":           670, // archives of policies for many machines
	"builtins/modules": 4455,
	"cmd/starhost":     9398,
	"decision":         4356, // 60 of them name the plugins of a set once, and 70 keep the records of an event until its answer
	"editor/check":     780,
	"editor/format":    170,
	"editor/lint":      1880,
	"editor/lsp":       2793,
	"effects":          5110, // 50 of them tell types by their content, in place of a library
	"fleet":            1311, // fetches, tries and installs bundles, and 300 send the logs of users and ask their doctors
	"fragments":        1000,
	"golden":           4060, // 190 of them write and read the cases of recorded turns, in place of 300 in effects and cmd/starhost
	"guard":            2131, // the engine of rules, 3 of which know the names of tests, 15 the host of an address whose end is open, 50 of which find files behind cd, lists and variables, 5 of which know an address with an open name in it, 38 of which decode most rules without the parser of TOML, with what makes it linear in the length of a line, which was 405 lines of Starlark in each user's folder
	"host":             5590, // 25 of them read a rendering piece by piece, in place of a list in each prompt
	"internal":         4235, // 25 of them write XML, in place of a library, and 42 are one cache in place of four, and 8 replace an item of the cache, in place of 70 in serve and store, and 9 know this machine, in place of five copies
	"loader":           6443,
	"measure":          418,
	"model":            2250,
	"report":           2175,
	"schema":           1090,
	"scripts":          40,
	"serve/decide":     540,
	"serve/front":      560,
	"serve/hook":       5014, // 12 do not make tables before main
	"serve/mcp":        2290,
	"serve/metrics":    220,
	"serve/neko":       780,
	"serve/otlp":       440,
	"serve/process":    760,
	"serve/programs":   220,
	"serve/proxy":      3430,
	"serve/ui":         920,
	"shell":            6384, // 150 of them are rows about the flags of programs, 630 judge one-line programs, 330 what a trusted runner reads, and 120 what a variable stands for
	"starlark":         7215,
	"store":            1532,
}

// maxSize is the most code lines of all folders together.
const maxSize = 108_215

// TestHouseSize counts the code lines of each folder, tests apart: lines with a token that is no
// comment.
func TestHouseSize(t *testing.T) {
	got, all := map[string]int{}, 0
	for _, s := range goSources(t) {
		if s.test {
			continue
		}
		folder := s.folder
		for folder != "." && sizes[folder] == 0 {
			up := "."
			if i := strings.LastIndexByte(folder, '/'); i >= 0 {
				up = folder[:i]
			}
			folder = up
		}
		n := codeLines(t, s.name)
		got[folder] += n
		all += n
	}
	var table strings.Builder
	over := all > maxSize
	for _, folder := range sortedNames(got) {
		fmt.Fprintf(&table, "\n\t%q: %d,", folder, got[folder])
		over = over || got[folder] > sizes[folder]
	}
	if over {
		t.Errorf("%d code lines, want at most %d, and at most those of the table sizes; now:%s", all, maxSize, table.String())
	}
}

// codeLines counts the lines of a file that have a token.
func codeLines(t *testing.T, name string) int {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	file := set.AddFile(name, -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	n, last := 0, 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return n
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue // no token of the file
		}
		first := file.Line(pos)
		for line := max(first, last+1); line <= first+strings.Count(lit, "\n"); line++ {
			n++
			last = line
		}
	}
}
