package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"

	"github.com/starhost/starhost/internal/errtext"
)

// IsArchive reports whether bytes begin as an archive does, so that a caller can tell a page of text from
// a broken bundle.
func IsArchive(data []byte) bool { return bytes.HasPrefix(data, []byte{0x1f, 0x8b}) }

// pack writes an archive. Its times and owners are zero.
func pack(m *Manifest, contents [][]byte) ([]byte, error) {
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	out := tar.NewWriter(zip)
	write := func(name string, content []byte) error {
		if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		_, err := out.Write(content)
		return err
	}
	err = write(ManifestName, m.Encode())
	for i := range m.Files {
		if err == nil {
			err = write(m.Files[i].Path, contents[i])
		}
	}
	err = errors.Join(err, out.Close(), zip.Close())
	return b.Bytes(), err
}

// perFile is the most bytes of tar around one file: its headers, with the records of a long name, and the
// end of its last block.
const perFile = 4096

// Read checks a whole archive, and calls each for every file in order, with a reader of the file's contents.
// It returns an error for the first thing that is not as the manifest says; each has then got the contents
// of the files before, and at most the declared bytes of the wrong one. Nil for each only checks.
func Read(archive []byte, each func(File, io.Reader) error) (*Manifest, Digest, error) {
	if len(archive) > MaxBytes {
		return nil, "", brokenf("got an archive of %d bytes, want at most %d", len(archive), MaxBytes)
	}
	compressed := bytes.NewReader(archive)
	zip, err := gzip.NewReader(compressed)
	if err != nil {
		return nil, "", brokenf("got no gzip, want a tar.gz: %s", errtext.Clip(err.Error()))
	}
	zip.Multistream(false)
	in := &io.LimitedReader{R: zip, N: maxManifest + perFile}
	a := archiveReader{tar.NewReader(in)}
	text, err := a.manifest()
	if err != nil {
		return nil, "", err
	}
	m, err := parseManifest(text)
	if err != nil {
		return nil, "", err
	}
	in.N = perFile * 2
	for _, f := range m.Files {
		in.N += f.Size + perFile
		if err := a.file(f, each); err != nil {
			return nil, "", err
		}
	}
	if h, err := a.Next(); err == nil {
		return nil, "", brokenf("%s: got a file that the manifest does not list", errtext.Brief(h.Name))
	} else if err != io.EOF {
		return nil, "", brokenf("after the last file: %s", errtext.Clip(err.Error()))
	}
	in.N = 1 << 16 // tar fills its last record with zeros
	if _, err := io.Copy(io.Discard, in); err != nil || in.N <= 0 || compressed.Len() > 0 {
		return nil, "", brokenf("after the last file: got more bytes, or a wrong checksum of gzip")
	}
	return m, digestOf(text), nil
}

// An archiveReader reads the entries of a tar.
type archiveReader struct{ *tar.Reader }

// next goes to the next entry, which must be a regular file of this name.
func (a archiveReader) next(name string) (*tar.Header, error) {
	h, err := a.Next()
	switch {
	case err == io.EOF:
		return nil, brokenf("%s: got the end of the archive, want this file", errtext.Brief(name))
	case err != nil:
		return nil, brokenf("%s: %s", errtext.Brief(name), errtext.Clip(err.Error()))
	case h.Typeflag != tar.TypeReg:
		return nil, brokenf("%s: got a link, a folder or a device, want regular files only", errtext.Brief(h.Name))
	case h.Name != name:
		return nil, brokenf("got %s, want %s: the files have the order of the manifest", errtext.Brief(h.Name), errtext.Brief(name))
	}
	return h, nil
}

func (a archiveReader) manifest() ([]byte, error) {
	h, err := a.next(ManifestName)
	if err != nil {
		return nil, err
	}
	if h.Size > maxManifest {
		return nil, brokenf("%s: got %d bytes, want at most %d", ManifestName, h.Size, maxManifest)
	}
	text, err := io.ReadAll(io.LimitReader(a, maxManifest+1))
	if err != nil {
		return nil, brokenf("%s: %s", ManifestName, errtext.Clip(err.Error()))
	}
	return text, nil
}

// file reads one file, of which it takes at most the declared size and one byte.
func (a archiveReader) file(f File, each func(File, io.Reader) error) error {
	h, err := a.next(f.Path)
	if err != nil {
		return err
	}
	if h.Size != f.Size {
		return brokenf("%s: got %d bytes, want %d", errtext.Brief(f.Path), h.Size, f.Size)
	}
	return checkFile(f, a, each)
}

// checkFile passes the contents of a file to each, and compares them with the manifest.
func checkFile(f File, in io.Reader, each func(File, io.Reader) error) error {
	sum := sha256.New()
	n := &io.LimitedReader{R: io.TeeReader(in, sum), N: f.Size + 1}
	if each != nil {
		if err := each(f, n); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, n); err != nil {
		return brokenf("%s: %s", errtext.Brief(f.Path), errtext.Clip(err.Error()))
	}
	switch got := f.Size + 1 - n.N; {
	case got > f.Size:
		return brokenf("%s: got more than %d bytes, want as many as the manifest says", errtext.Brief(f.Path), f.Size)
	case got < f.Size:
		return brokenf("%s: got %d bytes, want %d", errtext.Brief(f.Path), got, f.Size)
	case hex.EncodeToString(sum.Sum(nil)) != f.SHA256:
		return brokenf("%s: the contents are not those of the manifest", errtext.Brief(f.Path))
	}
	return nil
}

// Unpack checks an archive and writes its files, bundle.json among them, into an empty folder. Each file and
// each folder is flushed to the disk. After an error the caller removes the folder.
func Unpack(archive []byte, folder string) (*Manifest, Digest, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	folders := map[string]bool{".": true}
	m, digest, err := Read(archive, func(f File, in io.Reader) error {
		for dir := path.Dir(f.Path); !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
		}
		if err := root.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
			return err
		}
		return writeFile(root, f.Path, in)
	})
	if err == nil {
		err = writeFile(root, ManifestName, bytes.NewReader(m.Encode()))
	}
	for dir := range folders {
		if err == nil {
			err = syncFolder(root, dir)
		}
	}
	return m, digest, err
}

// writeFile writes a new file that everybody may read.
func writeFile(root *os.Root, name string, in io.Reader) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	return errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()) // whatever the umask is
}

// syncFolder flushes the names in a folder to the disk, and lets everybody read it.
func syncFolder(root *os.Root, name string) error {
	if err := root.Chmod(name, 0o755); err != nil {
		return err
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(SyncFolder(f), f.Close())
}
