// Package bundle makes, reads and signs bundles: a folder of plugins as one archive, which a machine can
// check before it uses anything of it.
//
// A bundle is a tar.gz of regular files. Its first entry is bundle.json, the [Manifest], which lists all
// other files with their sizes and SHA-256 sums; the SHA-256 of bundle.json is the [Digest] of the bundle.
// So one folder gives one digest on any machine, whatever its file system, clock and version of gzip are.
// Every way to read a bundle goes through the same check, which refuses an archive before it holds more
// than its manifest says; see [maxFiles] and the limits beside it.
//
// The package knows neither plugins nor the network: what the files mean is the loader's business, and
// package fleet fetches and installs bundles. Read bundle.go first, then archive.go, folder.go, sign.go and diff.go.
package bundle

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/starhost/starhost/internal/codes"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// Limits of one bundle.
const (
	maxFiles    = 10_000
	MaxBytes    = 64 << 20 // of all files, and of the archive
	maxManifest = 1 << 20  // of bundle.json
	maxPath     = 240      // bytes of a name, which some file systems still limit with its folder
)

// ManifestName is the name of the manifest, which no other file may have.
const ManifestName = "bundle.json"

// schema is the version of the form of the manifest.
const schema = "starhost.bundle/1"

// A Manifest says what is in a bundle.
type Manifest struct {
	Schema string `json:"schema"`
	// Name is what [bundles.NAME] of the managed config calls the bundle: lower-case letters, digits, _ and -.
	Name string `json:"name"`
	// Sequence orders the bundles of a name: a machine takes none that is older than the one it has.
	Sequence int64 `json:"sequence"`
	// Created is the time of the build, as 2026-11-26T21:30:00Z.
	Created string `json:"created"`
	// Required are the plugins without which a machine with the bundle refuses calls.
	Required []string `json:"required"`
	// Files are all other files of the bundle, sorted by path.
	Files []File `json:"files"`
}

// A File is one file of a bundle.
type File struct {
	Path   string `json:"path"` // relative to the bundle's folder, with "/"
	Size   int64  `json:"size"` // in bytes
	SHA256 string `json:"sha256"`
}

// A Digest is the identity of a bundle: "sha256:" and the SHA-256 of its manifest in hexadecimal.
type Digest string

func digestOf(manifest []byte) Digest {
	sum := sha256.Sum256(manifest)
	return Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// IsValid reports whether the text has the form of a digest.
func (d Digest) IsValid() bool {
	sum, ok := strings.CutPrefix(string(d), "sha256:")
	return ok && isSum(sum)
}

// Folder returns the name of the folder that has the files of the bundle: "sha256-...".
func (d Digest) Folder() string { return strings.Replace(string(d), ":", "-", 1) }

func isSum(text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && len(b) == sha256.Size && text == strings.ToLower(text)
}

// IsName reports whether a bundle may have a name.
func IsName(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == "" && name[0] != '-'
}

// Encode returns bundle.json.
func (m *Manifest) Encode() []byte {
	text, err := jsontext.Encode(m)
	var b bytes.Buffer
	if err = cmp.Or(err, json.Indent(&b, text, "", " ")); err != nil {
		panic(err) // not reached: strings and numbers have a JSON
	}
	return append(b.Bytes(), '\n')
}

// parseManifest reads and checks bundle.json. It accepts only the bytes that Encode writes, so that no two
// readers see different values in them.
func parseManifest(text []byte) (*Manifest, error) {
	m := new(Manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, brokenf("%s: %s", ManifestName, errtext.Clip(err.Error()))
	}
	if m.Schema != schema {
		return nil, brokenf("%s: got schema %s, want %q: this version of starhost reads no other", ManifestName, errtext.Brief(m.Schema), schema)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	if !bytes.Equal(m.Encode(), text) {
		return nil, brokenf("%s: got another form than starhost bundle build writes, want its bytes", ManifestName)
	}
	return m, nil
}

// check returns an error unless the files of the manifest can be written anywhere, inside one folder, and
// are within the limits.
func (m *Manifest) check() error {
	created, err := time.Parse(time.RFC3339, m.Created)
	switch {
	case !IsName(m.Name):
		return brokenf("name: got %s, want 1 to 64 of a-z, 0-9, _ and -", errtext.Brief(m.Name))
	case m.Sequence < 0:
		return brokenf("sequence: got %d, want a whole number from 0", m.Sequence)
	case err != nil || created.UTC().Format(time.RFC3339) != m.Created:
		return brokenf("created: got %s, want a time as 2026-11-26T21:30:00Z", errtext.Brief(m.Created))
	case len(m.Files) > maxFiles:
		return brokenf("got %d files, want at most %d", len(m.Files), maxFiles)
	case m.Required == nil || m.Files == nil:
		return brokenf("%s: got null, want a list", ManifestName)
	}
	for _, name := range m.Required {
		if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return brokenf("required: got %s, want the name of a plugin", errtext.Brief(name))
		}
	}
	return m.checkFiles()
}

// checkFiles is check for the files.
func (m *Manifest) checkFiles() error {
	var total int64
	names := namesakes{}
	for i, f := range m.Files {
		if err := checkPath(f.Path); err != nil {
			return err
		}
		if i > 0 && f.Path <= m.Files[i-1].Path {
			return brokenf("%s: got it after %s, want the files sorted, and each once", errtext.Brief(f.Path), errtext.Brief(m.Files[i-1].Path))
		}
		if err := names.add(f.Path); err != nil {
			return err
		}
		if f.Size < 0 || f.Size > MaxBytes || !isSum(f.SHA256) {
			return brokenf("%s: got size %d and SHA-256 %s, want 0 to %d bytes and 64 hexadecimal digits", errtext.Brief(f.Path), f.Size, errtext.Brief(f.SHA256), MaxBytes)
		}
		if total += f.Size; total > MaxBytes {
			return brokenf("got more than %d bytes in all files, want at most that", MaxBytes)
		}
	}
	return nil
}

// checkPath returns an error for a name that leads out of the folder, or that means another file, or none,
// on some system.
func checkPath(name string) error {
	switch {
	case !fs.ValidPath(name) || name == ".":
		return brokenf("%s: got this path, want one inside the bundle, with / between names and without . and ..", errtext.Brief(name))
	case len(name) > maxPath:
		return brokenf("%s: got a path of %d bytes, want at most %d", errtext.Brief(name), len(name), maxPath)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune(`\:*?"<>|`, r) }):
		return brokenf(`%s: got this path, want one of printable letters without \ : * ? " < > |`, errtext.Brief(name))
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") {
			return brokenf("%s: got a name that ends with a dot or a space, which Windows leaves out", errtext.Brief(name))
		}
	}
	if fold(name) == ManifestName {
		return brokenf("%s: got a second manifest", errtext.Brief(name))
	}
	return nil
}

// namesakes has the names of files and folders so far, by the form that file systems without case compare.
// The value of a file ends without "/", that of a folder with it.
type namesakes map[string]string

// add returns an error if a file or a folder of another spelling, or of the other kind, has the name.
func (n namesakes) add(file string) error {
	for at, shown := file, file; at != "."; at, shown = path.Dir(at), path.Dir(at)+"/" {
		key := fold(at)
		old, ok := n[key]
		if ok && (old != shown || shown == file) {
			return brokenf("%s and %s: got names that are one on some file systems, want different ones", errtext.Brief(strings.TrimSuffix(old, "/")), errtext.Brief(file))
		}
		n[key] = shown
	}
	return nil
}

// fold returns the name that all spellings share, in other cases and with letters and their marks in one
// character or in several, which macOS takes for the same.
func fold(name string) string {
	return norm.NFD.String(strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return unicode.ToLower(least)
	}, norm.NFD.String(name)))
}

// The codes of errors of bundles; see [Codes].
const (
	codeBroken    = "E1001"
	codeSignature = "E1002"
)

// In returns an error with the name of what it is about in front, and with its code.
func In(name string, err error) error {
	if coded, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		return codes.Errorf(coded.Code(), "%s: %s", name, coded.Error())
	}
	return errtext.File(name, err)
}

func brokenf(format string, args ...any) error { return codes.Errorf(codeBroken, format, args...) }
