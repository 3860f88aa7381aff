package effects

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/afero"
)

// DefaultMaxRead is the most bytes of a file that a read returns by default.
const DefaultMaxRead = 8 << 20

// Bounds of one Glob.
const (
	maxMatches = 10_000
	maxEntries = 100_000 // files and folders that it visits
	maxLinks   = 40      // links on the path of one file; the limit of Linux
)

// FileOptions limit a [Files]. The zero value works.
type FileOptions struct {
	// MaxRead is the most bytes of one file; 0 means [DefaultMaxRead].
	MaxRead int64
}

// A Files is a folder with all files below it. Paths are relative to it, with "/" on every
// system. No path names a file outside, and a link that leads outside is an error. Only regular
// files are opened. A Files is safe for concurrent use.
type Files struct {
	fs      afero.Fs
	writer  writeFS
	links   fs.ReadLinkFS // nil: there are no links
	close   func() error
	maxRead int64
}

// OpenFiles opens a folder of the machine. Its errors do not show the folder's path.
func OpenFiles(dir string, o FileOptions) (*Files, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, readError(".", err, "")
	}
	f := NewFiles(afero.FromIOFS{FS: root.FS()}, o)
	f.writer, f.close = rootWriter{root}, root.Close
	return f, nil
}

// NewFiles returns all files of fsys, whose names have no leading "/". If fsys is an
// afero.FromIOFS that can read links, Files follows a link that stays inside. Other file
// systems must not have links.
func NewFiles(fsys afero.Fs, o FileOptions) *Files {
	f := &Files{fs: fsys, writer: fsys, close: func() error { return nil }, maxRead: cmp.Or(o.MaxRead, DefaultMaxRead)}
	if adopted, ok := fsys.(afero.FromIOFS); ok {
		f.links, _ = adopted.FS.(fs.ReadLinkFS)
	}
	return f
}

// Close closes the folder that [OpenFiles] opened.
func (f *Files) Close() error { return f.close() }

// A FileInfo describes a file or folder.
type FileInfo struct {
	Name  string `json:"name"` // the last part of its path
	Size  int64  `json:"size"` // bytes; 0 for a folder
	IsDir bool   `json:"is_dir"`
}

// Read returns a file's text. A file that is not UTF-8 is an error.
func (f *Files) Read(name string) (string, error) {
	b, err := f.ReadBytes(name)
	if err != nil {
		return "", err
	}
	return text(name, b)
}

// ReadBytes returns a file's bytes.
func (f *Files) ReadBytes(name string) ([]byte, error) {
	actual, err := f.Resolve(name)
	if err != nil {
		return nil, err
	}
	return f.read(actual, name)
}

// read returns the bytes of the file at actual, a path without links, which messages call
// label.
func (f *Files) read(actual, label string) ([]byte, error) {
	return readRegular(f.fs, actual, label, f.maxRead)
}

// Exists reports whether there is a file or folder of that name. A link to a missing file
// counts as missing; a link that leads outside is an error.
func (f *Files) Exists(name string) (bool, error) {
	_, err := f.Resolve(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Stat describes a file or folder, or the target of a link.
func (f *Files) Stat(name string) (FileInfo, error) {
	actual, err := f.Resolve(name)
	if err != nil {
		return FileInfo{}, err
	}
	return f.stat(actual, name)
}

// stat describes the file at actual, a path without links, which messages call label.
func (f *Files) stat(actual, label string) (FileInfo, error) {
	info, err := f.fs.Stat(actual)
	if err != nil {
		return FileInfo{}, readError(label, err, "")
	}
	out := FileInfo{Name: path.Base(path.Clean(label)), IsDir: info.IsDir()}
	if !out.IsDir {
		out.Size = info.Size()
	}
	return out, nil
}

// Glob returns the paths of the regular files that match a pattern, in the order of their
// bytes. "*" matches within a folder, "**" also across folders. A name that begins with a dot
// matches only if the pattern spells the dot, and "**" does not follow links to folders. More
// than 10,000 matches are an error.
func (f *Files) Glob(pattern string) ([]string, error) {
	g, err := parseGlob(pattern)
	if err != nil {
		return nil, err
	}
	return f.glob(g, func(string, bool) bool { return true })
}

// glob returns the matches that filter accepts. The second argument of filter says whether the
// path contains a link.
func (f *Files) glob(g *glob, keep func(name string, linked bool) bool) ([]string, error) {
	w := walk{files: f, glob: g, filter: keep}
	if err := w.folder(".", g.start(), false); err != nil {
		return nil, err
	}
	slices.Sort(w.matches)
	return w.matches, nil
}

// A walk is the state of one Glob.
type walk struct {
	files   *Files
	glob    *glob
	filter  func(name string, linked bool) bool
	entries int
	matches []string
}

// folder visits the entries of a folder, which the pattern has reached at state. A folder that
// cannot be read has no matches.
func (w *walk) folder(dir string, state globState, linked bool) error {
	names, err := w.files.names(dir, maxEntries-w.entries+1)
	if err != nil {
		return nil
	}
	if w.entries += len(names); w.entries > maxEntries {
		return errorf("E0506", "more than %d files to look at, want a narrower path or pattern", maxEntries)
	}
	for _, n := range names {
		if next := w.glob.step(state, n, true); next != nil {
			if err := w.entry(dir, n, state, next, linked); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry visits one entry of dir, which moves the pattern from state to next. An entry that
// cannot be read, or that leads outside, is no match.
func (w *walk) entry(dir, base string, state, next globState, linked bool) error {
	name := path.Join(dir, base)
	info, err := w.files.lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		linked = true
		if info, err = w.files.fs.Stat(name); err == nil && info.IsDir() {
			next = w.glob.step(state, base, false)
		}
	}
	switch {
	case err != nil || next == nil:
		return nil
	case info.IsDir():
		return w.folder(name, next, linked)
	case !info.Mode().IsRegular() || !w.glob.matched(next) || !w.filter(name, linked):
		return nil
	case len(w.matches) == maxMatches:
		return errorf("E0506", "more than %d files match, want a narrower path or pattern", maxMatches)
	}
	w.matches = append(w.matches, name)
	return nil
}

// names returns at most n names in a folder, sorted.
func (f *Files) names(dir string, n int) ([]string, error) {
	file, err := f.fs.Open(dir)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	names, err := file.Readdirnames(n)
	if err != nil && err != io.EOF {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}

func (f *Files) lstat(name string) (fs.FileInfo, error) {
	if f.links == nil {
		return f.fs.Stat(name)
	}
	return f.links.Lstat(name)
}

// Resolve follows all links of a path and returns the path that they lead to. A permission for
// one path is no permission for the other, so callers check both.
func (f *Files) Resolve(name string) (string, error) {
	clean, err := cleanPath(name)
	if err != nil {
		return "", err
	}
	actual, rest := ".", clean
	for links := 0; rest != ""; {
		first, after, _ := strings.Cut(rest, "/")
		switch first {
		case "", ".":
			rest = after
			continue
		case "..":
			if actual == "." {
				return "", linkError(name)
			}
			actual, rest = path.Dir(actual), after
			continue
		}
		next := path.Join(actual, first)
		info, err := f.lstat(next)
		if err != nil {
			return "", readError(name, err, "")
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			actual, rest = next, after
			continue
		}
		if links++; links > maxLinks {
			return "", fileError("E0504", name, "more than %d links lead to it", maxLinks)
		}
		target, err := f.links.ReadLink(next)
		if err != nil {
			return "", readError(name, err, "")
		}
		if filepath.IsAbs(target) {
			return "", linkError(name)
		}
		rest = filepath.ToSlash(target) + "/" + after
	}
	return actual, nil
}

func linkError(name string) error {
	return fileError("E0504", name, "a link leads out of the folder, which is refused: want a copy of the file inside")
}

// text returns b as text, or an error about the file that messages call label.
func text(label string, b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", fileError("E0505", label, "got bytes that are not UTF-8, want text (read_bytes reads any file)")
	}
	return string(b), nil
}

// readRegular returns the bytes of a regular file, which messages call label. It describes the
// file before it opens it, because opening a pipe would wait for a writer.
func readRegular(fsys afero.Fs, name, label string, most int64) ([]byte, error) {
	info, err := fsys.Stat(name)
	switch {
	case err != nil:
		return nil, readError(label, err, "")
	case !info.Mode().IsRegular():
		return nil, fileError("E0504", label, "got a %s, want a regular file", typeName(info.Mode()))
	case info.Size() > most:
		return nil, sizeError(label, info.Size(), most)
	}
	file, err := fsys.Open(name)
	if err != nil {
		return nil, readError(label, err, "")
	}
	defer file.Close()
	return readAll(file, label, most)
}

// readAll reads a stream to its end. It checks the size again, because the file may have grown.
func readAll(r io.Reader, label string, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return nil, readError(label, err, "")
	case int64(len(b)) > most:
		return nil, fileError("E0506", label, "got more than %d bytes", most)
	}
	return b, nil
}

func sizeError(label string, size, most int64) error {
	return fileError("E0506", label, "got %d bytes, want at most %d", size, most)
}

// typeName names the type of a file that is not regular.
func typeName(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "folder"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}
