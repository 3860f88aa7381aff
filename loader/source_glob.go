package loader

import (
	"cmp"
	"io/fs"
	"os"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/spf13/afero"
)

// Glob returns the names of the files that match a pattern, sorted by bytes. "*" matches within a folder,
// "**" also across folders. A name that begins with a dot matches only if the pattern has the dot. Glob does
// not follow links to folders. If pay is not nil, Glob calls it before it works.
func (s *Source) Glob(pattern string, pay func(steps int) error) ([]string, error) {
	if err := s.checkPattern(pattern); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	err := s.open(func(root *os.Root) (err error) {
		g := &globFS{source: s, fs: filesOf(root), left: maxEntries, pattern: pattern, pay: pay}
		names, err = doublestar.Glob(g, pattern, doublestar.WithFilesOnly(), doublestar.WithNoFollow(),
			doublestar.WithNoHidden(), doublestar.WithFailOnIOErrors())
		names = slices.DeleteFunc(names, g.isFolder)
		return err
	})
	if err != nil {
		return nil, s.explain(pattern, err)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > maxMatches {
		return nil, s.errorIn(pattern, "E0608", "got %d matches, want at most %d", len(names), maxMatches)
	}
	return names, nil
}

func (s *Source) checkPattern(pattern string) error {
	switch {
	case len(pattern) > maxPattern:
		return s.errorIn(s.Main, "E0608", "got %d bytes, want at most %d", len(pattern), maxPattern)
	case countAlternatives(pattern) > maxAlternatives:
		return s.errorIn(s.Main, "E0608", "pattern: got more than %d alternatives in braces", maxAlternatives)
	case !doublestar.ValidatePattern(pattern):
		return s.errorIn(s.Main, "E0604", "pattern: got %q, want a glob as *.md or **/*.md, with brackets closed", pattern)
	}
	return s.check(pattern)
}

// A globFS lists a source's folders for doublestar. It bounds the work of one pattern, because
// nested braces and stars can list a folder very often.
type globFS struct {
	source  *Source
	fs      afero.Fs
	left    int
	pattern string
	pay     func(steps int) error // charges for work; nil charges nobody
}

// Open opens a file. Matching does not need it.
func (g *globFS) Open(name string) (fs.File, error) { return g.fs.Open(name) }

func (g *globFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := g.charge(listSteps, 0); err != nil {
		return nil, err
	}
	entries, err := g.source.list(g.fs, name)
	if err != nil {
		return nil, err
	}
	if err := g.spend(1 + len(entries)); err != nil {
		return nil, err
	}
	bytes := 0
	for _, e := range entries {
		bytes += 16 + len(e.Name())
	}
	return entries, g.charge(4*len(entries), bytes)
}

func (g *globFS) Stat(name string) (fs.FileInfo, error) {
	if err := cmp.Or(g.spend(1), g.charge(listSteps, 0)); err != nil {
		return nil, err
	}
	return g.fs.Stat(name)
}

func (g *globFS) spend(n int) error {
	if g.left -= n; g.left < 0 {
		return g.source.errorIn(g.source.Main, "E0608", "the pattern looks at more than %d files, want a simpler one", maxEntries)
	}
	return nil
}

// listSteps is the price of a call of the system.
const listSteps = 32

// charge pays for steps of work, and for comparing names with that many bytes together with the pattern.
func (g *globFS) charge(steps, bytes int) error {
	if g.pay == nil {
		return nil
	}
	return g.pay(steps + bytes*len(g.pattern)/128)
}

// countAlternatives returns an upper bound of the number of patterns without braces that a pattern stands
// for. Matching tries all of them.
func countAlternatives(pattern string) int {
	all, open := 1, []int(nil)
	for _, c := range pattern {
		switch last := len(open) - 1; {
		case c == '{':
			open = append(open, 1)
		case c == ',' && last >= 0:
			open[last]++
		case c == '}' && last >= 0:
			all *= open[last]
			open = open[:last]
		}
		if all > maxAlternatives {
			break
		}
	}
	return all
}

// isFolder reports whether a file that matched is a link to a folder.
func (g *globFS) isFolder(name string) bool {
	info, err := g.fs.Stat(name)
	return err == nil && info.IsDir()
}
