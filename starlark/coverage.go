package starlark

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"go.starlark.net/starlark"
)

// A Coverage counts how often runs reach the statements of files, and each way out of their
// conditions. Counting takes steps, so a run may take eight times as many as its limit says; it
// changes no value. The zero value is ready; it is safe for concurrent use.
//
// A parameter's default counts with the def that evaluates it: conditions in it are
// no branches of their own. Strings and pass are no lines.
type Coverage struct {
	mu    sync.Mutex
	files map[string]*fileCounters
}

// A FileCoverage is what runs reached of one file.
type FileCoverage struct {
	// Path is that of [Exec.Covers], or the file's name.
	Path string
	// Lines are those on which a statement begins, from the first to the last.
	Lines []LineCoverage
	// Branches are the conditions of if and elif, of conditional expressions and of
	// comprehensions, by their places.
	Branches []BranchCoverage
}

// A LineCoverage says how often the statements that begin on a line were reached; of
// several the one that was reached most often.
type LineCoverage struct {
	Line  int
	Count uint64
}

// A BranchCoverage says how often a condition was true, and how often false.
type BranchCoverage struct {
	Line, Col   int // of the word if or elif
	True, False uint64
}

// Report returns what was counted so far, sorted by paths.
func (c *Coverage) Report() []FileCoverage {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []FileCoverage
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		list = append(list, c.files[path].report(path))
	}
	return list
}

// AddFile puts a file into the report that perhaps nothing reaches, by the path that
// [Exec.Covers] would give it. What was counted under the path stays.
func (c *Coverage) AddFile(path string, f *File) error {
	tree, err := f.takeTree()
	if err != nil {
		return err
	}
	s := &probeSites{}
	if err := rewrite(tree, func(string) bool { return true }, s); err != nil {
		return err
	}
	c.countersOf(path, string(f.src), s)
	return nil
}

// countersOf returns the counters for what was instrumented of a file. It is nil
// where another text was counted under the path: its lines are others.
func (c *Coverage) countersOf(path, text string, s *probeSites) *fileCounters {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.files[path]; ok {
		if f.text != text {
			return nil
		}
		return f
	}
	if c.files == nil {
		c.files = map[string]*fileCounters{}
	}
	f := &fileCounters{text: text, sites: s, counts: make([]atomic.Uint64, s.counters+1)}
	c.files[path] = f
	return f
}

// A counted file is one with counters. That of number 0 is no site's.
type fileCounters struct {
	text   string
	sites  *probeSites
	counts []atomic.Uint64
}

func (f *fileCounters) report(path string) FileCoverage {
	out := FileCoverage{Path: path}
	counts := map[int]uint64{}
	for _, l := range f.sites.lines {
		counts[l.line] = max(counts[l.line], f.counts[l.counter].Load())
	}
	for _, line := range slices.Sorted(maps.Keys(counts)) {
		out.Lines = append(out.Lines, LineCoverage{line, counts[line]})
	}
	for _, b := range f.sites.branches {
		yes, no := f.counts[b.yes].Load(), f.counts[b.no].Load()
		out.Branches = append(out.Branches, BranchCoverage{b.line, b.col, yes, no})
	}
	slices.SortFunc(out.Branches, func(a, b BranchCoverage) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return out
}

// increment counts at the counter that an argument of a probe names.
func (f *fileCounters) increment(counter starlark.Value) {
	if f == nil {
		return
	}
	n, _ := counter.(starlark.Int).Int64()
	f.counts[n].Add(1)
}

// probeNames returns what the probes of an instrumented file call. If the file is nil, they count
// nothing.
func (f *fileCounters) probeNames() starlark.StringDict {
	return starlark.StringDict{
		lineProbe:   &helper{lineProbe, f.countLine},
		branchProbe: &helper{branchProbe, f.countBranch},
	}
}

// lineProbeStmt counts a statement that is about to run: line(counter).
func (f *fileCounters) countLine(_ *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	f.increment(args[0])
	return starlark.None, nil
}

// countBranch counts the outcome of a condition, which it returns: arm(yes, no, condition).
func (f *fileCounters) countBranch(
	_ *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple,
) (starlark.Value, error) {
	condition := args[2]
	if condition.Truth() {
		f.increment(args[0])
	} else {
		f.increment(args[1])
	}
	return condition, nil
}
