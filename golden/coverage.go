package golden

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/starlark"
)

// A Coverage says what the cases reached of the files of plugins and of what they
// load, by the paths of the files. What a case brings itself is not in it.
type Coverage []starlark.FileCoverage

// coverageOf returns what was counted, with paths as messages show them: below dir
// relative to it. Files in the folder without are left out.
func coverageOf(c *starlark.Coverage, dir, without string) Coverage {
	dir, without = resolvePath(dir), resolvePath(without)
	list := Coverage{}
	for _, f := range c.Report() {
		real := resolvePath(f.Path)
		if relativePath(without, real) != "" {
			continue
		}
		f.Path = cmp.Or(relativePath(dir, real), filepath.ToSlash(f.Path))
		list = append(list, f)
	}
	return list
}

// resolvePath returns a path without links, as far as it can be told.
func resolvePath(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	return name
}

// relativePath returns the path of a file relative to a folder, with "/", or "" if it is
// not in the folder.
func relativePath(dir, name string) string {
	rel, err := filepath.Rel(dir, name)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// CountLines returns how many lines were reached, of how many.
func (c Coverage) CountLines() (lines, of int) {
	for i := range c {
		n, all := countLines(&c[i])
		lines, of = lines+n, of+all
	}
	return lines, of
}

// CountBranches returns how many ways out of conditions were taken, of how many.
func (c Coverage) CountBranches() (branches, of int) {
	for i := range c {
		n, all := countBranches(&c[i])
		branches, of = branches+n, of+all
	}
	return branches, of
}

// IsBelow tells whether less than a part of the lines was reached, in percent.
func (c Coverage) IsBelow(percent float64) bool {
	lines, of := c.CountLines()
	return 100*float64(lines) < percent*float64(of)
}

func countLines(f *starlark.FileCoverage) (lines, of int) {
	for _, l := range f.Lines {
		if l.Count > 0 {
			lines++
		}
	}
	return lines, len(f.Lines)
}

// countBranches counts both ways out of each condition.
func countBranches(f *starlark.FileCoverage) (taken, of int) {
	for _, b := range f.Branches {
		for _, n := range []uint64{b.True, b.False} {
			if n > 0 {
				taken++
			}
		}
	}
	return taken, 2 * len(f.Branches)
}

// Percent shows a part in percent, rounded down: 100.0 means all. Nothing of nothing is all.
func Percent(n, of int) string {
	if of == 0 {
		n, of = 1, 1
	}
	return strconv.FormatFloat(math.Floor(1000*float64(n)/float64(of))/10, 'f', 1, 64) + " %"
}

// A PluginCoverage is what was reached of a plugin that is a folder, or of a file that
// is in none.
type PluginCoverage struct {
	Path  string
	Files Coverage
}

// Plugins returns the coverage by plugins, in the order of their first files.
func (c Coverage) Plugins() []PluginCoverage {
	folders := map[string]bool{}
	for i := range c {
		if dir, name := path.Split(c[i].Path); name == pluginFile {
			folders[path.Clean(dir)] = true
		}
	}
	var list []PluginCoverage
	place := map[string]int{} // in the list
	for i := range c {
		name := pluginAround(c[i].Path, folders)
		if _, ok := place[name]; !ok {
			place[name] = len(list)
			list = append(list, PluginCoverage{Path: name})
		}
		p := &list[place[name]]
		p.Files = append(p.Files, c[i])
	}
	return list
}

// pluginAround returns the nearest of the folders that a file is in, else the file.
func pluginAround(file string, folders map[string]bool) string {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		switch {
		case folders[dir]:
			return dir
		case dir == path.Dir(dir):
			return file
		}
	}
}

// Text is a table with a row for each file: the part of its lines that was reached,
// which were not, and which conditions had but one outcome. Behind the files of a
// plugin that is a folder comes a row of the plugin, and the last row is of all.
func (c Coverage) Text() string {
	rows := make([][]string, 0, len(c)+1)
	for _, p := range c.Plugins() {
		for i := range p.Files {
			cells := p.Files[i : i+1].cells(texttable.OneLine(p.Files[i].Path))
			rows = append(rows, append(cells, describeGaps(&p.Files[i])))
		}
		if len(p.Files) > 1 {
			rows = append(rows, p.Files.cells(texttable.OneLine(p.Path)))
		}
	}
	rows = append(rows, c.cells("all"))
	return "coverage\n" + texttable.Align(rows, 1)
}

// cells are the columns of a row that sums up files.
func (c Coverage) cells(name string) []string {
	lines, ofLines := c.CountLines()
	branches, ofBranches := c.CountBranches()
	cells := []string{name, Percent(lines, ofLines), fmt.Sprintf("%d/%d lines", lines, ofLines), ""}
	if ofBranches > 0 {
		cells[3] = fmt.Sprintf("%d/%d branches", branches, ofBranches)
	}
	return cells
}

// describeGaps says what was not reached: "not run: 3, 7-9; never false: 2". Of lines that
// were not reached, the conditions are not mentioned.
func describeGaps(f *starlark.FileCoverage) string {
	dead := map[int]bool{}
	var lines, yes, no []string
	for i := 0; i < len(f.Lines); i++ {
		first := i
		for i < len(f.Lines) && f.Lines[i].Count == 0 {
			dead[f.Lines[i].Line] = true
			i++
		}
		switch i - first {
		case 0:
		case 1:
			lines = append(lines, strconv.Itoa(f.Lines[first].Line))
		default:
			lines = append(lines, fmt.Sprintf("%d-%d", f.Lines[first].Line, f.Lines[i-1].Line))
		}
	}
	for _, b := range f.Branches {
		line := strconv.Itoa(b.Line)
		if b.True == 0 && !dead[b.Line] {
			yes = append(yes, line)
		}
		if b.False == 0 && !dead[b.Line] {
			no = append(no, line)
		}
	}
	var parts []string
	for _, p := range []struct {
		what  string
		where []string
	}{{"not run", lines}, {"never true", yes}, {"never false", no}} {
		if len(p.where) > 0 {
			parts = append(parts, p.what+": "+strings.Join(p.where, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// LCOV is the coverage as lcov's tracefiles have it, which genhtml, editors and
// services read. The branches of a condition are 0, where it was true, and 1.
func (c Coverage) LCOV() string {
	var b strings.Builder
	for i := range c {
		f := &c[i]
		fmt.Fprintf(&b, "TN:\nSF:%s\n", f.Path)
		block, line := 0, 0 // number of the condition on its line
		for _, br := range f.Branches {
			if block++; br.Line != line {
				block, line = 0, br.Line
			}
			for arm, n := range []uint64{br.True, br.False} {
				taken := strconv.FormatUint(n, 10)
				if br.True+br.False == 0 {
					taken = "-"
				}
				fmt.Fprintf(&b, "BRDA:%d,%d,%d,%s\n", line, block, arm, taken)
			}
		}
		taken, arms := countBranches(f)
		fmt.Fprintf(&b, "BRF:%d\nBRH:%d\n", arms, taken)
		for _, l := range f.Lines {
			fmt.Fprintf(&b, "DA:%d,%d\n", l.Line, l.Count)
		}
		n, of := countLines(f)
		fmt.Fprintf(&b, "LF:%d\nLH:%d\nend_of_record\n", of, n)
	}
	return b.String()
}
