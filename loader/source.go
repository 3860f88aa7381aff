package loader

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/near"
)

// DefaultMaxSource is the most bytes of one .star file.
const DefaultMaxSource = 256 << 10

// Bounds of one plugin's reads and listings.
const (
	maxPluginBytes = 64 << 20 // bytes of all files that a plugin reads
	maxEntries     = 100_000  // files in all folders that a plugin lists, and that one Glob compares
	maxMatches     = 10_000   // results of one Glob
	maxPattern     = 1_000    // bytes of a pattern

	maxAlternatives = 64 // patterns that one pattern with braces stands for
)

// A Source has the files of a plugin or of a library. It reads each file and lists each folder
// once, so that all calls return the same. No file stays open. It is safe for concurrent use.
type Source struct {
	// Name is the name of the plugin, or "@NAME" for a library.
	Name string
	// Path is the path for messages, with "/".
	Path string
	// Main is the name, for Read, of the plugin's file that starhost evaluates; "" for a library.
	Main string
	// Display is the name of Main in positions: "oncall.star", "oncall/plugin.star".
	Display string
	// Folder is false for a plugin that is a single file and can read Main only.
	Folder bool
	// Place is the place in the config that names the path; zero for an argument.
	Place Place
	// Project is true if the path comes from a project's config or a default only.
	Project bool
	// Managed is true if the path comes from the managed config.
	Managed bool

	untrusted bool // a library of a project that is not trusted
	maxSource int64
	dir, sub  string // dir is an absolute path without links; the plugin is in sub
	regular   bool   // Main is a file in dir and not a link

	// pins are the hashes that the files of the trusted project had when the operator trusted it, by absolute
	// real path. Nil accepts any bytes.
	pins map[string]fragments.Hash

	mu       sync.Mutex
	files    map[string]*sourceFile // the files that were read
	bytes    int64
	listings map[string][]fs.DirEntry
	entries  int
}

// A sourceFile has the bytes of a file, and their SHA-256.
type sourceFile struct {
	bytes []byte
	sum   fragments.Hash
}

func newSourceFile(b []byte) sourceFile { return sourceFile{b, sha256.Sum256(b)} }

// NewLibrary returns the source of load("@name//..."). maxSource bounds each .star file in bytes; 0
// means [DefaultMaxSource].
func NewLibrary(name string, folder Path, maxSource int64) *Source {
	return &Source{
		Name: "@" + name, Path: folder.Shown, Folder: true,
		Place: folder.Place, Project: folder.Project, Managed: folder.Managed,
		Display: "@" + name, maxSource: cmp.Or(maxSource, DefaultMaxSource), dir: resolveLinks(folder.Real),
	}
}

// File returns the name that positions have for a file.
func (s *Source) File(name string) string {
	if name == s.Main {
		return s.Display
	}
	return s.prefix() + name
}

// prefix returns the text that positions have in front of the names of this source's files.
func (s *Source) prefix() string {
	switch {
	case s.Name == rootPrefix:
		return rootPrefix
	case strings.HasPrefix(s.Name, "@"):
		return s.Name + "//"
	}
	return s.Name + "/"
}

// pathFromHere returns the path for messages of a file of this source.
func (s *Source) pathFromHere(name string) string {
	if !s.Folder && name == s.Main {
		return s.Path
	}
	return path.Join(s.Path, name)
}

// errorIn returns an error about a file. The text has the file's name in positions, because plugins can read
// the text, which must be the same in whatever folder the user works.
func (s *Source) errorIn(name, code, format string, args ...any) *Error {
	e := errorAt(Place{File: s.File(name)}, code, format, args...)
	e.fileFromHere = s.pathFromHere(name)
	return e
}

// nameOf returns the name of the file that positions call shown.
func (s *Source) nameOf(shown string) string {
	if shown == s.Display {
		return s.Main
	}
	return strings.TrimPrefix(shown, s.prefix())
}

// realPath returns the absolute path of the file that positions call shown.
func (s *Source) realPath(shown string) string { return s.Real(s.nameOf(shown)) }

// Real returns the absolute path of a file of this source.
func (s *Source) Real(name string) string { return filepath.Join(s.dir, s.sub, name) }

// keep stores a file that was read.
func (s *Source) keep(name string, f sourceFile) {
	if s.files == nil {
		s.files = map[string]*sourceFile{}
	}
	s.files[name] = &f
}

// Read returns the bytes of a file, which the caller must not change. The name is relative to the
// plugin's folder, with "/". Links that lead out of the folder are errors.
func (s *Source) Read(name string) ([]byte, error) {
	f, err := s.file(name)
	return f.bytes, err
}

// file returns the bytes and the digest of a file.
func (s *Source) file(name string) (f sourceFile, err error) {
	if err := s.check(name); err != nil {
		return f, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.files[name]; ok {
		return *f, nil
	}
	err = s.open(func(root *os.Root) (err error) {
		f, err = s.find(root, name)
		return err
	})
	if err == nil {
		err = s.checkPin(name, f.sum)
	}
	if err != nil {
		return sourceFile{}, s.explain(name, err)
	}
	s.keep(name, f)
	s.bytes += int64(len(f.bytes))
	return f, nil
}

// find reads a file of the open folder.
func (s *Source) find(root *os.Root, name string) (f sourceFile, err error) {
	info, err := s.stat(root, name)
	if err != nil {
		return f, err
	}
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // saves a system call of os.File
	if err != nil {
		return f, err
	}
	defer file.Close()
	b, err := s.readAll(file, name, info.Size())
	if err != nil {
		return f, err
	}
	return newSourceFile(b), nil
}

// A fileDigest is the SHA-256 of a file with the file's name in the digest of a plugin.
type fileDigest struct {
	name string
	sum  fragments.Hash
}

// appendDigests appends the digests of all files that the Source has read, unsorted.
func (s *Source) appendDigests(sums []fileDigest) []fileDigest {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, f := range s.files {
		sums = append(sums, fileDigest{name, f.sum})
	}
	return sums
}

// WasRead reports whether the plugin has read a file, or listed its folder.
func (s *Source) WasRead(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, read := s.files[name]
	_, listed := s.listings[path.Dir(name)]
	return read || listed
}

// maxBytes returns the most bytes that the next file may have.
func (s *Source) maxBytes(name string) int64 {
	most := maxPluginBytes - s.bytes
	if isPluginFile(name) {
		most = min(most, s.maxSource)
	}
	return most
}

// sizeError returns the error of a file that has more bytes than maxBytes allows.
func (s *Source) sizeError(name string, got int64) error {
	most := s.maxBytes(name)
	if isPluginFile(name) && most == s.maxSource {
		return s.errorIn(name, "E0608", "got %d bytes, want at most %d ([limits] source raises it)", got, most)
	}
	return s.errorIn(name, "E0608", "got %d bytes, want at most %d", got, most)
}

// stat describes a regular file of at most maxBytes.
func (s *Source) stat(root *os.Root, name string) (fs.FileInfo, error) {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, s.errorIn(name, "E0607", "got a %s, want a file", kindOf(info))
	case info.Size() > s.maxBytes(name):
		return nil, s.sizeError(name, info.Size())
	}
	return info, nil
}

// readAll reads a file. size is the number of bytes that the file had a moment ago.
func (s *Source) readAll(file io.Reader, name string, size int64) ([]byte, error) {
	most := s.maxBytes(name)
	var b bytes.Buffer
	b.Grow(int(size) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(file, most+1))
	if err == nil && n > most { // the file has grown
		err = s.sizeError(name, n)
	}
	return b.Bytes(), err
}

// explain turns a failure to read a file into an [*Error].
func (s *Source) explain(name string, err error) error {
	if located, ok := errors.AsType[*Error](err); ok {
		return located
	}
	e := s.errorIn(name, "E0607", "%s", reason(err))
	if errors.Is(err, fs.ErrNotExist) {
		e.Msg = "no such file"
		if sibling := near.Name(path.Base(name), s.siblings(name)); sibling != "" {
			e.Msg += near.Hint(path.Join(path.Dir(name), sibling))
		}
		e.err = fs.ErrNotExist
	}
	return e
}

// siblings returns the names in the folder that a file is in.
func (s *Source) siblings(name string) (names []string) {
	if !s.Folder {
		return nil
	}
	_ = s.open(func(root *os.Root) error { // a folder that cannot be opened has no names
		entries, err := s.list(filesOf(root), path.Dir(name))
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return err
	})
	return names
}

// Exists reports whether there is a file or folder with this name.
func (s *Source) Exists(name string) (bool, error) {
	if err := s.check(name); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.files[name]; ok || name == "." {
		return true, nil
	}
	found := false
	err := s.open(func(root *os.Root) error {
		entries, err := s.list(filesOf(root), path.Dir(name))
		_, found = slices.BinarySearchFunc(entries, path.Base(name), func(e fs.DirEntry, base string) int {
			return strings.Compare(e.Name(), base)
		})
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, s.explain(name, err)
	}
	return found, nil
}

// check refuses names outside of the plugin's folder.
func (s *Source) check(name string) error {
	switch {
	case !s.Folder && name != s.Main:
		return s.errorIn(s.Main, "E0604", "path %q: a plugin that is a single file has no folder (make it %s/%s)", name, s.Name, mainFile)
	case strings.ContainsAny(name, "\x00\\") || !fs.ValidPath(name):
		return s.errorIn(s.Main, "E0604", "path: got %q, want one inside the plugin's folder, with / between names and without . and ..", name)
	}
	return nil
}

// isNamed reports whether the operator typed the path as an argument.
func (s *Source) isNamed() bool { return s.Place == Place{} && !s.Project }

// isWithin reports whether the plugin is in the folder, which is a real path. The folder "" contains no
// plugin.
func (s *Source) isWithin(folder string) bool {
	if folder == "" {
		return false
	}
	_, in := below(folder, s.folderPath())
	return in
}

// folderPath returns the real path of the plugin's folder, or of the folder of its file.
func (s *Source) folderPath() string {
	if s.sub == "" {
		return s.dir
	}
	return resolveLinks(filepath.Join(s.dir, s.sub))
}

// below returns the path of a file relative to a folder, if it is in the folder. Both paths are
// real.
func below(folder, file string) (rel string, in bool) {
	if file == folder {
		return ".", true
	}
	rel, in = strings.CutPrefix(file, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
	return rel, in
}

// checkPin refuses a file that changed since the operator trusted its project.
func (s *Source) checkPin(name string, sum fragments.Hash) error {
	if s.pins == nil {
		return nil
	}
	real := s.mainPath()
	if name != s.Main {
		real = resolveLinks(filepath.Join(s.dir, s.sub, name))
	}
	if s.pins[real] == sum {
		return nil
	}
	return s.errorIn(name, "E0613", "the file is not as it was when its project was trusted (starhost trust shows the difference; starhost trust --path trusts the folder while you edit it)")
}

// isSame reports whether two sources have the same main file.
func (s *Source) isSame(o *Source) bool { return s.mainPath() == o.mainPath() }

// mainPath returns the real path of Main.
func (s *Source) mainPath() string {
	if s.regular {
		return filepath.Join(s.dir, s.Main) // dir is real
	}
	name := filepath.Join(s.dir, s.sub, s.Main)
	if info, err := os.Lstat(name); s.sub == "" && err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return name
	}
	return resolveLinks(name)
}
