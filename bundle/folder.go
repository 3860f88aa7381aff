package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
)

// BuildOptions say what a manifest has beside the files.
type BuildOptions struct {
	Name     string
	Sequence int64
	Created  time.Time
	Required []string
}

// Build makes an archive of a folder. It leaves out files and folders whose name begins with a dot. A link or
// a special file is an error.
func Build(folder string, o BuildOptions) (archive []byte, m *Manifest, d Digest, err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, nil, "", err
	}
	defer root.Close()
	names, err := listFiles(root, func(name string) bool { return strings.HasPrefix(path.Base(name), ".") })
	if err != nil {
		return nil, nil, "", err
	}
	m = &Manifest{Schema: schema, Name: o.Name, Sequence: o.Sequence, Created: o.Created.UTC().Format(time.RFC3339), Required: []string{}, Files: []File{}}
	m.Required = append(m.Required, slices.Sorted(slices.Values(o.Required))...)
	var contents [][]byte
	rest := int64(MaxBytes)
	for _, name := range names {
		content, err := readFile(root, name, rest)
		if err != nil {
			return nil, nil, "", err
		}
		rest -= int64(len(content))
		sum := sha256.Sum256(content)
		m.Files = append(m.Files, File{name, int64(len(content)), hex.EncodeToString(sum[:])})
		contents = append(contents, content)
	}
	if err := m.check(); err != nil {
		return nil, nil, "", err
	}
	text := m.Encode()
	if len(text) > maxManifest {
		return nil, nil, "", brokenf("%s: got %d bytes, want at most %d", ManifestName, len(text), maxManifest)
	}
	archive, err = pack(m, contents)
	return archive, m, digestOf(text), err
}

// listFiles returns the regular files in a folder, sorted, without those that skip leaves out.
func listFiles(root *os.Root, skip func(name string) bool) (names []string, err error) {
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && skip(name):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
		case !d.Type().IsRegular():
			return brokenf("%s: got a link or a special file, want regular files only", errtext.Brief(name))
		case len(names) > maxFiles:
			return brokenf("got more than %d files, want at most that", maxFiles)
		default:
			names = append(names, name)
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

// readFile reads a file of at most most bytes.
func readFile(root *os.Root, name string, most int64) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(content)) > most {
		return nil, brokenf("%s: got more than %d bytes in all files, want at most that", errtext.Brief(name), MaxBytes)
	}
	return content, err
}

// ReadFolder is [Read] for a folder that has the files of a bundle: it checks that they are those of the
// folder's bundle.json, and no others.
func ReadFolder(folder string, each func(File, io.Reader) error) (*Manifest, Digest, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	text, err := readFile(root, ManifestName, maxManifest)
	if err != nil {
		return nil, "", brokenf("%s: it cannot be read: want a folder that starhost sync made", ManifestName)
	}
	m, err := parseManifest(text)
	if err != nil {
		return nil, "", err
	}
	names, err := listFiles(root, func(name string) bool { return name == ManifestName })
	if err != nil {
		return nil, "", err
	}
	listed := map[string]bool{}
	for _, f := range m.Files {
		listed[f.Path] = true
	}
	for _, name := range names {
		if !listed[name] {
			return nil, "", brokenf("%s: got a file that the manifest does not list", errtext.Brief(name))
		}
	}
	for _, f := range m.Files {
		in, err := root.Open(f.Path)
		if err != nil {
			return nil, "", brokenf("%s: %s", errtext.Brief(f.Path), errtext.Clip(err.Error()))
		}
		err = checkFile(f, in, each)
		in.Close() // no error matters, because the file was only read
		if err != nil {
			return nil, "", err
		}
	}
	return m, digestOf(text), nil
}

// A Reader reads a bundle as [Read] does.
type Reader func(each func(File, io.Reader) error) (*Manifest, Digest, error)

// Open returns the reader of a bundle that is an archive or a folder.
func Open(name string) (Reader, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return func(each func(File, io.Reader) error) (*Manifest, Digest, error) { return ReadFolder(name, each) }, nil
	}
	archive, err := ReadArchive(name)
	return func(each func(File, io.Reader) error) (*Manifest, Digest, error) { return Read(archive, each) }, err
}

// ReadArchive reads the file of an archive, and nothing that is larger than a bundle may be.
func ReadArchive(name string) ([]byte, error) {
	f, err := disk.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxBytes+1)) // Read refuses what is longer
}

// Contents returns a function for [Read] that keeps the contents of the files that want names.
func Contents(want func(File) bool, keep map[string]string) func(File, io.Reader) error {
	return func(f File, in io.Reader) error {
		if !want(f) {
			return nil
		}
		var b bytes.Buffer
		_, err := b.ReadFrom(in)
		keep[f.Path] = b.String()
		return err
	}
}

// SyncFolder flushes the names in an open folder to the disk, where the system can.
func SyncFolder(f *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return f.Sync()
}
