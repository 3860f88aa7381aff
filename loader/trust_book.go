package loader

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/disk"
)

// A trustBook is the list of trusted projects and the file that it is stored in.
type trustBook struct {
	Version  int              `json:"trust"` // the value of trustVersion
	Projects []TrustedProject `json:"projects"`

	file, shown string
}

const (
	trustVersion = 1
	maxTrustBook = 64 << 20 // the most bytes of the file
)

// book returns an empty list that knows the path of its file.
func (o TrustOptions) book() *trustBook {
	getenv := o.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	b := &trustBook{Version: trustVersion}
	home, dir := getenv("HOME"), getenv("XDG_STATE_HOME")
	switch {
	case filepath.IsAbs(dir):
	case home != "":
		dir = filepath.Join(home, ".local", "state")
	default:
		return b
	}
	b.file = filepath.Join(dir, "starhost", "trust.json")
	b.shown = abbreviateHome(home, b.file)
	return b
}

// read reads the list from its file. If the file is missing, the list is empty.
func (b *trustBook) read() (*trustBook, error) {
	if b.file == "" {
		return b, errorAt(Place{}, "E0614", "there is no folder for the list of trusted projects: want HOME or XDG_STATE_HOME")
	}
	info, err := os.Stat(b.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b, nil
	case err != nil:
		return b, errorAt(Place{File: b.shown}, "E0607", "%s", reason(err))
	case info.Mode().Perm()&0o022 != 0:
		return b, errorAt(Place{File: b.shown}, "E0614", "others may write it, so starhost ignores it: want mode 0600 (check the file, then chmod 600 %s)", b.shown)
	case info.Size() > maxTrustBook:
		return b, tooLarge(Place{File: b.shown}, info.Size(), maxTrustBook)
	}
	text, err := os.ReadFile(b.file)
	if err != nil {
		return b, errorAt(Place{File: b.shown}, "E0607", "%s", reason(err))
	}
	if err := json.Unmarshal(text, b); err != nil || b.Version != trustVersion {
		b.Projects = nil
		return b, errorAt(Place{File: b.shown}, "E0614", "this is no list of trusted projects of version %d (remove it, and trust again)", trustVersion)
	}
	return b, nil
}

// change reads the list, edits it and replaces the file. If two programs change the list at the
// same time, the last change wins.
func (b *trustBook) change(edit func(*trustBook) error) error {
	if _, err := b.read(); err != nil {
		return err
	}
	if err := edit(b); err != nil {
		return err
	}
	slices.SortFunc(b.Projects, func(x, y TrustedProject) int { return strings.Compare(x.Folder, y.Folder) })
	text, err := json.MarshalIndent(b, "", " ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(b.file), 0o700)
	}
	if err == nil {
		err = disk.Replace(b.file, append(text, '\n'), 0o600)
	}
	if err != nil {
		return errorAt(Place{File: b.shown}, "E0607", "%s", reason(err))
	}
	return nil
}

// find returns the entry of the project at a folder, or nil.
func (b *trustBook) find(folder string) *TrustedProject {
	i := slices.IndexFunc(b.Projects, func(p TrustedProject) bool { return p.Folder == folder })
	if i < 0 {
		return nil
	}
	return &b.Projects[i]
}

// remove removes the entry of the project at a folder, and reports whether there was one.
func (b *trustBook) remove(folder string) bool {
	n := len(b.Projects)
	b.Projects = slices.DeleteFunc(b.Projects, func(p TrustedProject) bool { return p.Folder == folder })
	return len(b.Projects) < n
}
