package loader

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/afero"
)

// open calls use with the plugin's folder, which is open only until use returns. A thousand plugins must not
// have a thousand open folders.
func (s *Source) open(use func(*os.Root) error) error {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer root.Close() // no error matters, because the folder was only read
	if s.sub != "" {
		if root, err = root.OpenRoot(s.sub); err != nil {
			return err
		}
		defer root.Close()
	}
	return use(root)
}

// filesOf returns the files of a folder.
func filesOf(root *os.Root) afero.Fs { return afero.FromIOFS{FS: root.FS()} }

// list returns the entries of a folder, sorted by name.
func (s *Source) list(fsys afero.Fs, dir string) ([]fs.DirEntry, error) {
	if entries, ok := s.listings[dir]; ok {
		return entries, nil
	}
	f, err := fsys.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	infos, err := f.Readdir(maxEntries - s.entries + 1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if s.entries+len(infos) > maxEntries {
		return nil, s.errorIn(dir, "E0608", "got more than %d files in the plugin's folders", maxEntries)
	}
	entries := make([]fs.DirEntry, len(infos))
	for i, info := range infos {
		entries[i] = fs.FileInfoToDirEntry(info)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if s.listings == nil {
		s.listings = map[string][]fs.DirEntry{}
	}
	s.listings[dir] = entries
	s.entries += len(entries)
	return entries, nil
}
