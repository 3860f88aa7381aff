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

// A Coverage says for each file of the tested plugins, and for each file that they load, which lines and
// branches the cases ran. It omits the files that a case contains.
type Coverage []starlark.FileCoverage

// coverageOf returns the counts of c. A file below dir has its path relative to dir, as in messages.
// coverageOf omits the files in the folder without.
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

// resolvePath returns the absolute path of a file after all links. If the system cannot tell one of these,
// the path stays as it was.
func resolvePath(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	return name
}

// relativePath returns the path of a file relative to a folder, with "/", or "" if the file is
// not in the folder.
func relativePath(dir, name string) string {
	rel, err := filepath.Rel(dir, name)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// CountLines returns the number of lines that ran, and the number of all lines.
func (c Coverage) CountLines() (lines, of int) {
	for i := range c {
		n, all := countLines(&c[i])
		lines, of = lines+n, of+all
	}
	return lines, of
}

// CountBranches returns the number of branches that ran, and the number of all branches. Each condition has
// two branches: true and false.
func (c Coverage) CountBranches() (branches, of int) {
	for i := range c {
		n, all := countBranches(&c[i])
		branches, of = branches+n, of+all
	}
	return branches, of
}

// IsBelow reports whether less than percent of the lines ran.
func (c Coverage) IsBelow(percent float64) bool {
	lines, of := c.CountLines()
	return 100*float64(lines) < percent*float64(of)
}

// countLines does for one file what CountLines does for all.
func countLines(f *starlark.FileCoverage) (lines, of int) {
	for _, l := range f.Lines {
		if l.Count > 0 {
			lines++
		}
	}
	return lines, len(f.Lines)
}

// countBranches does for one file what CountBranches does for all.
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

// Percent formats n of a total as a percentage, rounded down, so that "100.0 %" means all. If
// the total is 0, the result is "100.0 %".
func Percent(n, of int) string {
	if of == 0 {
		n, of = 1, 1
	}
	return strconv.FormatFloat(math.Floor(1000*float64(n)/float64(of))/10, 'f', 1, 64) + " %"
}

// A PluginCoverage is the coverage of a plugin that is a folder, or of a single file.
type PluginCoverage struct {
	Path  string
	Files Coverage
}

// Plugins returns the coverage of each plugin, in the order of the plugins' first files.
func (c Coverage) Plugins() []PluginCoverage {
	folders := map[string]bool{}
	for i := range c {
		if dir, name := path.Split(c[i].Path); name == pluginFile {
			folders[path.Clean(dir)] = true
		}
	}
	var list []PluginCoverage
	place := map[string]int{} // the index in the list, by plugin
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

// pluginAround returns the innermost plugin folder that contains a file. If none does, it returns the file
// itself.
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

// Text returns a table with a row for each file: the percentage of its lines that ran, the lines that did not
// run, and the conditions that were only true or only false. After the files of a plugin folder comes a row
// for the whole plugin, and the last row is for all files.
func (c Coverage) Text() string {
	if c == nil { // nobody asked for it
		return ""
	}
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

// cells returns the columns of the row for the files of c.
func (c Coverage) cells(name string) []string {
	lines, ofLines := c.CountLines()
	branches, ofBranches := c.CountBranches()
	cells := []string{name, Percent(lines, ofLines), fmt.Sprintf("%d/%d lines", lines, ofLines), ""}
	if ofBranches > 0 {
		cells[3] = fmt.Sprintf("%d/%d branches", branches, ofBranches)
	}
	return cells
}

// describeGaps lists the lines and branches of a file that did not run: "not run: 3, 7-9; never false: 2". It
// omits the conditions on lines that did not run.
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

// LCOV returns the coverage as a tracefile of lcov, which genhtml, editors and services read. A
// condition has branch 0 for true and branch 1 for false.
func (c Coverage) LCOV() string {
	var b strings.Builder
	for i := range c {
		f := &c[i]
		fmt.Fprintf(&b, "TN:\nSF:%s\n", f.Path)
		block, line := 0, 0 // block is the number of a condition on its line
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
