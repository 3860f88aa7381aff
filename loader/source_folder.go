package loader

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/afero"
)

// open calls use with the plugin's folder, which is open only until use returns. A thousand plugins must not
// have a thousand open folders.
func (s *Source) open(use func(*os.Root) error) error {
	root, err := s.shared.acquire(s.dir)
	if err != nil {
		return err
	}
	defer s.shared.release(root)
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

// A sharedFolder is a folder that several plugins share. It stays open while it has users. A nil sharedFolder
// stands for a folder with one plugin.
type sharedFolder struct {
	mu    sync.Mutex
	root  *os.Root
	users int
}

// acquire returns the folder at dir, which it opens for the first user. The caller calls release.
func (f *sharedFolder) acquire(dir string) (*os.Root, error) {
	if f == nil {
		return os.OpenRoot(dir)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users == 0 {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, err
		}
		f.root = root
	}
	f.users++
	return f.root, nil
}

// release closes the folder after its last user.
func (f *sharedFolder) release(root *os.Root) {
	if f == nil {
		root.Close() // no error matters, because the folder was only read
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users == 0 {
		root.Close() // no error matters, because the folder was only read
	}
}

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
