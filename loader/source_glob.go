package loader

import (
	"io/fs"
	"os"
	"slices"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/spf13/afero"
)

// Glob returns the names of the files that match a pattern, sorted by bytes. "*" stays within a
// folder, "**" does not. A name that begins with a dot matches only if the pattern has the dot.
// Glob does not follow links to folders.
func (s *Source) Glob(pattern string) ([]string, error) {
	if err := s.checkPattern(pattern); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	err := s.open(func(root *os.Root) (err error) {
		g := &globFS{source: s, fs: filesOf(root), left: maxEntries}
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
		return nil, errorAt(Place{File: s.File(pattern)}, "E0608", "got %d matches, want at most %d", len(names), maxMatches)
	}
	return names, nil
}

func (s *Source) checkPattern(pattern string) error {
	switch {
	case len(pattern) > maxPattern:
		return tooLarge(Place{File: s.Display}, int64(len(pattern)), maxPattern)
	case !doublestar.ValidatePattern(pattern):
		return errorAt(Place{File: s.Display}, "E0604", "pattern: got %q, want a glob as *.md or **/*.md, with brackets closed", pattern)
	}
	return s.check(pattern)
}

// A globFS lists a source's folders for doublestar. It bounds the work of one pattern, because
// nested braces and stars can list a folder very often.
type globFS struct {
	source *Source
	fs     afero.Fs
	left   int
}

// Open opens a file. Matching does not need it.
func (g *globFS) Open(name string) (fs.File, error) { return g.fs.Open(name) }

func (g *globFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := g.source.list(g.fs, name)
	if err != nil {
		return nil, err
	}
	return entries, g.spend(1 + len(entries))
}

func (g *globFS) Stat(name string) (fs.FileInfo, error) {
	if err := g.spend(1); err != nil {
		return nil, err
	}
	return g.fs.Stat(name)
}

func (g *globFS) spend(n int) error {
	if g.left -= n; g.left < 0 {
		return errorAt(Place{File: g.source.Display}, "E0608", "the pattern looks at more than %d files, want a simpler one", maxEntries)
	}
	return nil
}

// isFolder reports whether a match is a link to a folder.
func (g *globFS) isFolder(name string) bool {
	info, err := g.fs.Stat(name)
	return err == nil && info.IsDir()
}
