package loader

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/starhost/starhost/fragments"
)

// trustedContent returns the hashes of the files that an operator trusts with a project, by path
// relative to its folder: the config, all files of its plugins and libraries, and its files that
// commands in the config name.
func (l *layer) trustedContent() (map[string]fragments.Hash, error) {
	own := newConfig()
	alone := &layer{shown: l.shown, real: l.real, home: l.home, project: true, trusted: true}
	if err := own.read(alone, l.src); err != nil {
		return nil, err
	}
	t := tally{folder: l.folder(), files: map[string]fragments.Hash{}}
	t.add(l.real, fragments.Sum(string(l.src)))
	sources, _ := Discover(l.paths(own), 0)
	for name, folder := range own.Libraries {
		sources = append(sources, NewLibrary(name, folder, 0))
	}
	for _, s := range sources {
		if err := t.source(s); err != nil {
			return nil, err
		}
	}
	for _, s := range sources {
		for _, file := range s.rootFiles(projectRoot(s.folderPath())) {
			if f, err := file.source.file(file.name); err == nil && isInside(t.folder, file.real) {
				t.add(file.real, f.sum)
			}
		}
	}
	for _, s := range own.Secrets {
		t.command(s.Command)
	}
	for _, m := range own.MCP {
		t.command(m.Command)
	}
	return t.files, nil
}

// paths returns the paths of the project's plugins.
func (l *layer) paths(own *Config) []Path {
	paths, err := own.Paths(l.folder(), nil)
	if err != nil { // there are no plugins
		return nil
	}
	return paths
}

// A tally collects the hashes of files.
type tally struct {
	folder string
	files  map[string]fragments.Hash
}

// add adds the hash of a file with an absolute path.
func (t *tally) add(file string, hash fragments.Hash) {
	t.files[relativePath(t.folder, resolveLinks(file))] = hash
}

// source adds all files of a plugin or library. It skips files that it cannot read, because the
// plugin cannot read them either.
func (t *tally) source(s *Source) error {
	if !s.Folder {
		if f, err := s.file(s.Main); err == nil {
			t.add(s.mainPath(), f.sum)
		}
		return nil
	}
	err := s.open(func(root *os.Root) error { return t.walk(s, root.FS()) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (t *tally) walk(s *Source, fsys fs.FS) error {
	base := resolveLinks(filepath.Join(s.dir, s.sub))
	var entries int
	var bytes int64
	return fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if e.IsDir() && e.Name() == ".git" { // plugins do not read it
			return fs.SkipDir
		}
		if entries++; entries > maxEntries {
			return errorAt(Place{File: s.Path}, "E0608", "got more than %d files to trust", maxEntries)
		}
		hash, n := hashEntry(fsys, name, e)
		if bytes += n; bytes > maxPluginBytes {
			return errorAt(Place{File: s.Path}, "E0608", "got more than %d bytes to trust", maxPluginBytes)
		}
		if !hash.IsZero() {
			t.files[relativePath(t.folder, filepath.Join(base, name))] = hash
		}
		return nil
	})
}

// hashEntry returns the hash and size of a file, or the hash of the target of a link. The hash is
// zero if there are no bytes to read.
func hashEntry(fsys fs.FS, name string, e fs.DirEntry) (fragments.Hash, int64) {
	if e.Type()&fs.ModeSymlink != 0 {
		target, err := fs.ReadLink(fsys, name)
		if err != nil {
			return fragments.Hash{}, 0
		}
		return fragments.Sum("-> " + target), 0
	}
	if !e.Type().IsRegular() {
		return fragments.Hash{}, 0
	}
	f, err := fsys.Open(name)
	if err != nil {
		return fragments.Hash{}, 0
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxPluginBytes+1))
	if err != nil {
		return fragments.Hash{}, n
	}
	return fragments.Hash(h.Sum(nil)), n
}

// command adds the files of the project that a command names.
func (t *tally) command(argv []string) {
	for _, arg := range argv {
		p := NewPath(t.folder, arg)
		info, err := os.Stat(p.Real)
		if err != nil || !info.Mode().IsRegular() || !isInside(t.folder, p.Real) {
			continue
		}
		fsys := os.DirFS(filepath.Dir(p.Real))
		hash, _ := hashEntry(fsys, filepath.Base(p.Real), fs.FileInfoToDirEntry(info))
		t.add(p.Real, hash)
	}
}
