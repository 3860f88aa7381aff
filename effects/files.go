package effects

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/afero"

	"github.com/starhost/starhost/internal/disk"
)

// DefaultMaxRead is the most bytes of a file that a read returns by default.
const DefaultMaxRead = 8 << 20

// Bounds of the work of one Glob.
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

// A Files is a folder with all files below it. Paths are relative to the folder, with "/" on every system. No
// path names a file outside of the folder, and a link that leads outside is an error. A Files opens regular
// files only. A Files is safe for concurrent use.
type Files struct {
	fs      afero.Fs
	writer  disk.FS
	links   fs.ReadLinkFS // nil if the file system has no links
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

// NewFiles returns all files of fsys, whose names have no leading "/". If fsys is an afero.FromIOFS that can
// read links, the Files follows a link that stays inside fsys. Other file systems must not have links.
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

// read returns the bytes of the file at actual, a path without links, which messages call
// label.
func (f *Files) read(actual, label string) ([]byte, error) {
	return readRegular(f.fs, actual, label, f.maxRead)
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
	return f.glob(g, nil, func(string, bool) (bool, error) { return true, nil })
}

// glob returns the matches that filter accepts, and lets m charge for the walk. The argument linked of filter
// says whether the path contains a link.
func (f *Files) glob(g *glob, m *meter, filter func(name string, linked bool) (bool, error)) ([]string, error) {
	w := walk{files: f, glob: g, meter: m, filter: filter}
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
	meter   *meter
	filter  func(name string, linked bool) (bool, error)
	entries int
	matches []string
}

// folder visits the entries of a folder. state has the places in the pattern that the folder's path can have
// reached. A folder that cannot be read has no matches.
func (w *walk) folder(dir string, state globState, linked bool) error {
	entries, err := w.list(dir)
	if err != nil {
		return err
	}
	steps := 0
	for _, e := range entries {
		steps += w.glob.matchSteps(e.name)
	}
	if err := w.meter.pay(steps); err != nil {
		return err
	}
	for _, e := range entries {
		if next := w.glob.step(state, e.name, true); next != nil {
			if err := w.entry(dir, e, state, next, linked); err != nil {
				return err
			}
		}
	}
	return nil
}

// list returns the sorted entries of a folder, and charges for them piece by piece. It returns no entries for
// a folder that cannot be read.
func (w *walk) list(dir string) ([]dirEntry, error) {
	if err := w.meter.pay(folderSteps + levelSteps*(1+strings.Count(dir, "/"))); err != nil {
		return nil, err
	}
	var all []dirEntry
	err := w.files.list(dir, listPiece, func(part []dirEntry) error {
		if w.entries += len(part); w.entries > maxEntries {
			return errorf("E0506", "more than %d files to look at, want a narrower path or pattern", maxEntries)
		}
		all = append(all, part...)
		return w.meter.pay(entrySteps * len(part))
	})
	if coded, ok := err.(*Error); ok {
		return nil, coded
	}
	if err != nil {
		return nil, w.meter.err()
	}
	slices.SortFunc(all, func(a, b dirEntry) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// entry visits one entry of dir. state has the places in the pattern that dir can have reached, and next
// those that the entry can have reached. An entry that cannot be read, or that leads outside, is no match.
func (w *walk) entry(dir string, e dirEntry, state, next globState, linked bool) error {
	name, mode := path.Join(dir, e.name), e.mode
	if mode&fs.ModeSymlink != 0 {
		linked = true
		if err := w.meter.pay(maxLinks*nameSteps + levelSteps*(1+strings.Count(dir, "/"))); err != nil {
			return err
		}
		info, err := w.files.fs.Stat(name)
		if err != nil {
			return nil
		}
		if mode = info.Mode(); mode.IsDir() {
			next = w.glob.step(state, e.name, false)
		}
	}
	switch {
	case next == nil:
		return nil
	case mode.IsDir() && !w.glob.goesOn(next):
		return nil
	case mode.IsDir():
		return w.folder(name, next, linked)
	case !mode.IsRegular() || !w.glob.matched(next):
		return nil
	}
	if ok, err := w.filter(name, linked); err != nil || !ok {
		return err
	}
	if len(w.matches) == maxMatches {
		return errorf("E0506", "more than %d files match, want a narrower path or pattern", maxMatches)
	}
	w.matches = append(w.matches, name)
	return nil
}

// names returns at most n names in a folder, sorted.
func (f *Files) names(dir string, n int) ([]string, error) {
	var names []string
	err := f.list(dir, min(n, listPiece), func(part []dirEntry) error {
		for _, e := range part {
			names = append(names, e.name)
		}
		if len(names) >= n {
			return io.EOF
		}
		return nil
	})
	if err != nil && err != io.EOF {
		return nil, err
	}
	slices.Sort(names)
	return names[:min(n, len(names))], nil
}

// A dirEntry is the name of a file, folder or link, and the bits of its mode that say which of these it is.
type dirEntry struct {
	name string
	mode fs.FileMode
}

// listPiece is the number of entries of a folder that starhost reads in one call.
const listPiece = 1024

// list passes the entries of a folder to visit in pieces, without order, until visit returns an
// error.
func (f *Files) list(dir string, piece int, visit func(part []dirEntry) error) error {
	read, err := f.openFolder(dir)
	if err != nil {
		return err
	}
	defer read.Close()
	for {
		part, err := read.next(piece)
		if len(part) > 0 {
			if err := visit(part); err != nil {
				return err
			}
		}
		if err == io.EOF || err == nil && len(part) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// An openFolder reads the entries of a folder.
type openFolder struct {
	io.Closer
	next func(n int) ([]dirEntry, error)
}

// openFolder opens a folder. A folder of the operating system tells the type of each entry with its name, so
// that starhost need not ask for each file.
func (f *Files) openFolder(dir string) (openFolder, error) {
	if adopted, ok := f.fs.(afero.FromIOFS); ok {
		file, err := adopted.FS.Open(dir)
		if err != nil {
			return openFolder{}, err
		}
		if folder, ok := file.(fs.ReadDirFile); ok {
			return openFolder{folder, func(n int) ([]dirEntry, error) {
				entries, err := folder.ReadDir(n)
				return dirEntriesOf(entries, fs.DirEntry.Type), err
			}}, nil
		}
		file.Close()
	}
	file, err := f.fs.Open(dir)
	if err != nil {
		return openFolder{}, err
	}
	return openFolder{file, func(n int) ([]dirEntry, error) {
		infos, err := file.Readdir(n)
		return dirEntriesOf(infos, fs.FileInfo.Mode), err
	}}, nil
}

func dirEntriesOf[E interface{ Name() string }](list []E, mode func(E) fs.FileMode) []dirEntry {
	entries := make([]dirEntry, len(list))
	for i, e := range list {
		entries[i] = dirEntry{e.Name(), mode(e).Type()}
	}
	return entries
}

func (f *Files) lstat(name string) (fs.FileInfo, error) {
	if f.links == nil {
		return f.fs.Stat(name)
	}
	return f.links.Lstat(name)
}

// resolve follows all links of a path, and charges m for each name in the target of a link. A permission
// for one path is no permission for the other, so callers check both. The
// caller paid for the names of the path.
func (f *Files) resolve(name string, m *meter) (string, error) {
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
		if err := m.pay(pathSteps(1 + strings.Count(target, "/") + strings.Count(next, "/"))); err != nil {
			return "", err
		}
		rest = filepath.ToSlash(target) + "/" + after
	}
	return actual, nil
}

func linkError(name string) error {
	return fileError("E0504", name, "a link leads out of the folder, which is refused: want a copy of the file inside")
}

// text returns b as text. If b is not UTF-8, the error is about the file that messages call label.
func text(label string, b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", fileError("E0505", label, "got bytes that are not UTF-8, want text (read_bytes reads any file; read(path, default = None) returns None for such a file)")
	}
	return string(b), nil
}

// readRegular returns the bytes of a regular file, which messages call label. It asks for the file's type
// before it opens the file, because opening a pipe would wait for a writer.
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
	return readAll(file, label, info.Size(), most)
}

// readAll reads a stream to its end. size is the stream's length so far. readAll checks the limit again while
// it reads, because the file may have grown.
func readAll(r io.Reader, label string, size, most int64) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(int(size) + bytes.MinRead)
	_, err := buf.ReadFrom(io.LimitReader(r, most+1))
	b := buf.Bytes()
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

// typeName returns a name for the type of a file that is not regular, for errors.
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
