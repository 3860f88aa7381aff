package report

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// A Reach finds the lines of plugins that run after the plugins loaded.
type Reach struct {
	starlark.Coverage
	loaded map[string]map[int]uint64 // counts of lines by file, from loading
}

// A ReachedFile has the lines of one file that ran.
type ReachedFile struct {
	Path  string `json:"path"`
	Lines []int  `json:"lines"`
}

// Measure counts the lines of the plugins that o loads.
func (r *Reach) Measure(o *loader.Options) { o.Coverage = &r.Coverage }

// Begin says that the plugins loaded: only later runs count.
func (r *Reach) Begin() {
	r.loaded = map[string]map[int]uint64{}
	for _, f := range r.Report() {
		counts := map[int]uint64{}
		for _, l := range f.Lines {
			counts[l.Line] = l.Count
		}
		r.loaded[f.Path] = counts
	}
}

// Files returns the lines that ran since Begin, with paths from a folder.
func (r *Reach) Files(dir string) []ReachedFile {
	here, err := filepath.Abs(dir)
	out := []ReachedFile{}
	for _, f := range r.Report() {
		file := ReachedFile{Path: filepath.ToSlash(f.Path)}
		if rel, wrong := filepath.Rel(here, f.Path); err == nil && wrong == nil {
			file.Path = filepath.ToSlash(rel)
		}
		for _, l := range f.Lines {
			if l.Count > r.loaded[f.Path][l.Line] {
				file.Lines = append(file.Lines, l.Line)
			}
		}
		if file.Lines != nil {
			out = append(out, file)
		}
	}
	return out
}

// writeReached writes the lines of each file.
func (e *Evaluation) writeReached(out *page.Page) {
	WriteLine(out, "reached", jsontext.List(e.Reached, func(f *ReachedFile) string {
		return texttable.EscapeLine(f.Path) + ": " + lineRanges(f.Lines)
	})...)
}

// lineRanges returns numbers in their order as "3-5, 9".
func lineRanges(lines []int) string {
	var b strings.Builder
	for i := 0; i < len(lines); {
		j := i + 1
		for j < len(lines) && lines[j] == lines[j-1]+1 {
			j++
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if fmt.Fprint(&b, lines[i]); j > i+1 {
			fmt.Fprintf(&b, "-%d", lines[j-1])
		}
		i = j
	}
	return b.String()
}
