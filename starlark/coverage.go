package starlark

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"go.starlark.net/starlark"
)

// A Coverage counts how often runs execute each statement of a file, and how often each condition is true and
// false. Counting takes interpreter steps, so a measured run may take eight times as many as its limit says.
// Counting changes no value of a script. The zero value is ready. Many goroutines may use a Coverage at the
// same time.
//
// The default value of a parameter counts as a part of its def statement, and a condition in it is no branch.
// A statement that is only a string or pass is no line.
type Coverage struct {
	mu    sync.Mutex
	files map[string]*fileCounters
}

// A FileCoverage has the counts of one file. No list is nil.
type FileCoverage struct {
	// Path is the result of [Exec.CoveragePath], or the name of the file.
	Path string `json:"path"`
	// Lines are the lines on which a statement begins, in ascending order.
	Lines []LineCoverage `json:"lines"`
	// Branches are the conditions of if, elif, conditional expressions and comprehensions, by
	// position.
	Branches []BranchCoverage `json:"branches"`
}

// A LineCoverage says how often the statements that begin on a line were executed. If there are
// several, it has the count of the most frequent one.
type LineCoverage struct {
	Line  int    `json:"line"`
	Count uint64 `json:"count"`
}

// A BranchCoverage says how often a condition was true and how often it was false.
type BranchCoverage struct {
	Line  int    `json:"line"` // position of the word if or elif
	Col   int    `json:"col"`
	True  uint64 `json:"true"`
	False uint64 `json:"false"`
}

// Report returns the counts so far, sorted by paths.
func (c *Coverage) Report() []FileCoverage {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []FileCoverage
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		list = append(list, c.files[path].report(path))
	}
	return list
}

// AddFile adds a file to the report that perhaps no run executes. Its path is the one that
// [Exec.CoveragePath] returns for it. Existing counts under the path stay.
func (c *Coverage) AddFile(path string, f *File) error {
	s := &probeSites{}
	if err := rewrite(f.Syntax(), func(string) bool { return true }, s); err != nil {
		return err
	}
	c.countersOf(path, string(f.src), s)
	return nil
}

// countersOf returns the counters of an instrumented file. It returns nil if the path already has the
// counters of another text, because the two texts have different lines.
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

// fileCounters are the counters of one file. No probe uses counter 0.
type fileCounters struct {
	text   string
	sites  *probeSites
	counts []atomic.Uint64
}

func (f *fileCounters) report(path string) FileCoverage {
	out := FileCoverage{path, []LineCoverage{}, []BranchCoverage{}}
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

// increment adds one to the counter whose number is an argument of a probe.
func (f *fileCounters) increment(counter starlark.Value) {
	if f == nil {
		return
	}
	n, _ := counter.(starlark.Int).Int64()
	f.counts[n].Add(1)
}

// probeNames returns the functions that the probes of a file call. If f is nil, they count nothing.
func (f *fileCounters) probeNames() starlark.StringDict {
	return starlark.StringDict{
		lineProbe:   &helper{lineProbe, f.countLine},
		branchProbe: &helper{branchProbe, f.countBranch},
	}
}

// countLine implements line(counter): it counts a statement that is about to run.
func (f *fileCounters) countLine(_ *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	f.increment(args[0])
	return starlark.None, nil
}

// countBranch implements arm(yes, no, condition): it counts the outcome of the condition, and
// returns it.
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
