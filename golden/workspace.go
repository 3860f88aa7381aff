package golden

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/spf13/afero"
)

// A workspace is a file system in memory that notes which of its files were read. Whoever lists a folder
// counts as a reader of all files in it. A workspace is safe for concurrent use, except for reset.
type workspace struct {
	afero.Fs
	mu          sync.Mutex
	unusedFiles []string
}

// reset replaces all files of the workspace.
func (w *workspace) reset(files map[string][]byte) error {
	w.Fs, w.unusedFiles = afero.NewMemMapFs(), slices.Sorted(maps.Keys(files))
	for _, name := range w.unusedFiles {
		if err := afero.WriteFile(w.Fs, name, files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Open opens a file or folder.
func (w *workspace) Open(name string) (afero.File, error) {
	w.markUsed(name, true)
	return w.Fs.Open(name)
}

// Stat describes a file or folder.
func (w *workspace) Stat(name string) (os.FileInfo, error) {
	w.markUsed(name, false)
	return w.Fs.Stat(name)
}

// markUsed notes that somebody read a file or listed a folder.
func (w *workspace) markUsed(name string, listed bool) {
	name = path.Clean(filepath.ToSlash(name))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unusedFiles = slices.DeleteFunc(w.unusedFiles, func(file string) bool {
		return file == name || listed && path.Dir(file) == name
	})
}
