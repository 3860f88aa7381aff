package effects

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/spf13/afero"

	"github.com/starhost/starhost/internal/disk"
)

// MaxWrite is the most bytes of a file that a plugin writes.
const MaxWrite = DefaultMaxRead

// A rootWriter is a folder to write into, which no link leads out of.
type rootWriter struct{ *os.Root }

func (r rootWriter) OpenFile(name string, flag int, mode fs.FileMode) (afero.File, error) {
	f, err := r.Root.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// WriteFile writes a file of the workspace, completely or not at all, and makes missing
// folders. It never writes config, plugins and protected paths, and it writes a name that
// begins with a dot only if the permission spells the dot. It follows a link in the middle of
// the path if the plugin may write to the target. A link at the end is an error.
func (w *World) WriteFile(ctx context.Context, name, content string) error {
	type request struct {
		Path   string `json:"path"`
		Bytes  int    `json:"bytes"`
		SHA256 string `json:"sha256"`
	}
	if _, err := cleanPath(name); err != nil {
		return err
	}
	if len(content) > MaxWrite {
		return fileError("E0506", name, "got %d bytes to write, want at most %d", len(content), MaxWrite)
	}
	if err := w.payForPath(ctx, "fs.write", name); err != nil {
		return err
	}
	if err := pay(ctx, writeSteps+len(content)/64, 0); err != nil {
		return err
	}
	clean, refused := mayWrite(w, name)
	sum := sha256.Sum256([]byte(content))
	c := effectCall{
		kind: "fs.write", request: request{name, len(content), hex.EncodeToString(sum[:])}, subject: fmt.Sprintf("%s (%d B)", name, len(content)),
		refusal: refused, writes: true, persistent: true,
	}
	_, err := do(ctx, w, c, func(context.Context) (none struct{}, err error) {
		return none, w.writeFile(clean, name, content)
	})
	return err
}

// mayWrite returns the clean form of a path, if the plugin may write there.
func mayWrite(w *World, name string) (string, error) {
	clean, err := cleanPath(name)
	if err != nil {
		return "", err
	}
	if err := w.refusal("fs.write", quoteGlob(clean), allowsName("fs.write", clean)); err != nil {
		return "", err
	}
	if w.protects(clean) {
		return "", fileError("E0520", name, "plugins, their libraries and the config are never written by a plugin")
	}
	return clean, nil
}

// protects reports whether a path is a plugin, a library or config, which nobody may write. It ignores case,
// because the file system may.
func (w *World) protects(clean string) bool {
	lower := strings.ToLower(clean)
	if strings.HasSuffix(lower, ".star") || strings.HasSuffix(lower, ".rules") || path.Base(lower) == "starhost.toml" {
		return true
	}
	for _, p := range w.Protected {
		p = strings.ToLower(p)
		if lower == p || strings.HasPrefix(lower, p+"/") || p == "." {
			return true
		}
	}
	return false
}

// writeFile writes to a path that mayWrite accepts. If links lead to another path, mayWrite must accept that
// path, too.
func (w *World) writeFile(clean, name, content string) error {
	switch {
	case w.Workspace == nil:
		return errorf("E0514", "there is no workspace here, so no file of it can be written")
	}
	actual, err := w.Workspace.destination(clean, name)
	if err != nil {
		return err
	}
	if actual != clean {
		if _, err := mayWrite(w, actual); err != nil {
			return err
		}
	}
	if err := w.Workspace.write(actual, content); err != nil {
		return writeError(name, err)
	}
	return nil
}

// writeError writes an error of a file system anew, without the path in it.
func writeError(label string, err error) error {
	return fileError("E0514", label, "not written: %v", plainError(err))
}

// destination returns the path to write to, after all links of the folders that exist.
func (f *Files) destination(clean, label string) (string, error) {
	info, err := f.lstat(clean)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return "", fileError("E0514", label, "got a link, want a path that is none")
	case err == nil && !info.Mode().IsRegular():
		return "", fileError("E0514", label, "got a %s, want a regular file", typeName(info.Mode()))
	}
	dir, rest := path.Dir(clean), path.Base(clean)
	for {
		actual, err := f.resolve(dir, nil)
		switch {
		case err == nil:
			return path.Join(actual, rest), nil
		case dir == "." || !errors.Is(err, fs.ErrNotExist) || f.isLink(dir):
			return "", err
		}
		dir, rest = path.Dir(dir), path.Join(path.Base(dir), rest)
	}
}

// isLink reports whether a path is a link, also to a missing file.
func (f *Files) isLink(name string) bool {
	info, err := f.lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// write writes a temporary file and renames it, and makes missing folders before.
func (f *Files) write(name, content string) error {
	if err := f.writer.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if info, err := f.fs.Stat(name); err == nil {
		return disk.ReplaceIn(f.writer, name, []byte(content), info.Mode().Perm(), true)
	}
	return disk.ReplaceIn(f.writer, name, []byte(content), 0o644, false)
}
