package install

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// A File is a settings file on the disk. No part of its path below Root may be a link, because whoever
// controls the folder Root could lead starhost elsewhere by a link.
type File struct {
	Root string // a folder that exists, or that Apply makes
	Name string // the path below Root, with slashes
	Mode fs.FileMode
	format
}

// Path returns the file's path.
func (f *File) Path() string { return filepath.Join(f.Root, filepath.FromSlash(f.Name)) }

// Read returns the bytes of the file, and whether it exists.
func (f *File) Read() (text []byte, exists bool, err error) {
	root, err := os.OpenRoot(f.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer root.Close()
	return f.read(root)
}

func (f *File) read(root *os.Root) (text []byte, exists bool, err error) {
	info, err := f.check(root)
	if err != nil || info == nil {
		return nil, false, err
	}
	file, err := root.Open(filepath.FromSlash(f.Name))
	if err != nil {
		return nil, true, err
	}
	defer file.Close()
	text, err = io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err == nil && len(text) > maxBytes {
		err = &mistake{Message: fmt.Sprintf("got more than %d bytes", maxBytes)}
	}
	return text, true, err
}

// check returns the properties of the file, or nil if it does not exist. It refuses links, and everything
// else that is no regular file.
func (f *File) check(root *os.Root) (fs.FileInfo, error) {
	at := ""
	parts := strings.Split(f.Name, "/")
	for i, part := range parts {
		at = filepath.Join(at, part)
		info, err := root.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := root.Readlink(at)
			return nil, &mistake{Message: fmt.Sprintf("%s is a link to %s, want a real file or folder", filepath.Join(f.Root, at), target)}
		case i < len(parts)-1 && !info.IsDir():
			return nil, &mistake{Message: filepath.Join(f.Root, at) + " is no folder"}
		case i == len(parts)-1 && !info.Mode().IsRegular():
			return nil, &mistake{Message: "it is no regular file"}
		case i == len(parts)-1:
			return info, nil
		}
	}
	return nil, nil
}

// backupName returns the name of the backup of the file that text has replaced.
func (f *File) backupName(text []byte) string {
	sum := sha256.Sum256(text)
	return f.Name + ".starhost-" + hex.EncodeToString(sum[:6]) + ".bak"
}

// original returns the bytes that install has replaced by text. ok is false if it did not.
func (f *File) original(root *os.Root, text []byte) (original []byte, ok bool, err error) {
	backup := &File{Root: f.Root, Name: f.backupName(text)}
	return backup.read(root)
}

// backups returns the names of the backups beside the file.
func (f *File) backups() (names []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(f.Path()))
	own := regexp.MustCompile(`^` + regexp.QuoteMeta(path.Base(f.Name)) + `\.starhost-[0-9a-f]{12}\.bak$`)
	for _, e := range entries {
		if own.MatchString(e.Name()) && e.Type().IsRegular() {
			names = append(names, path.Join(path.Dir(f.Name), e.Name()))
		}
	}
	return names, err
}

// A change is a change of a file that is planned and not made yet.
type change struct {
	File    *File
	Backup  string // the path of the backup that Apply will write, or ""
	Text    []byte // the new text; nil removes the file
	old     []byte
	existed bool
	stale   []string // backups that Apply will remove, because nobody needs them any more
	saved   []byte   // the bytes of the backup
}

// IsNeeded reports whether the change changes anything.
func (c *change) IsNeeded() bool {
	return c.existed != (c.Text != nil) || !bytes.Equal(c.old, c.Text)
}

// Install plans to merge the settings want into the file.
func (f *File) Install(want []byte, own owner) (*change, error) {
	c := &change{File: f}
	root, err := os.OpenRoot(f.Root)
	if errors.Is(err, fs.ErrNotExist) {
		c.Text, err = f.Merge(nil, want, own)
		return c, err
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if c.old, c.existed, err = f.read(root); err != nil {
		return nil, err
	}
	if !c.existed {
		c.Text, err = f.Merge(nil, want, own)
		return c, err
	}
	if err := f.checkWritable(root); err != nil {
		return nil, err
	}
	base := c.old
	original, ours, err := f.original(root, c.old)
	if err != nil {
		return nil, err
	}
	if ours {
		base = original
	}
	if c.Text, err = f.Merge(base, want, own); err != nil {
		return nil, err
	}
	if c.IsNeeded() {
		c.saved, c.Backup = base, filepath.Join(f.Root, f.backupName(c.Text))
		if ours {
			c.stale = []string{f.backupName(c.old)}
		}
	}
	return c, nil
}

// checkWritable refuses a file without write permission. A rename would replace it all the same.
func (f *File) checkWritable(root *os.Root) error {
	info, err := root.Lstat(filepath.FromSlash(f.Name))
	if err == nil && info.Mode()&0o200 == 0 {
		err = &mistake{Message: "the file is read-only"}
	}
	return err
}

// Uninstall plans to restore the original bytes, if the file is as install left it. Otherwise it plans to
// remove the owner's entries. It also plans to remove the backups: without the entries, the file has
// everything that they had. void is the text that the file would have without other settings: for [formWhole]
// with the entries, otherwise without them.
func (f *File) Uninstall(void []byte, own owner) (*change, error) {
	c := &change{File: f}
	root, err := os.OpenRoot(f.Root)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if c.old, c.existed, err = f.read(root); err != nil || !c.existed {
		return c, err
	}
	original, ok, err := f.original(root, c.old)
	if err != nil {
		return nil, err
	}
	if c.stale, err = f.backups(); err != nil {
		return nil, err
	}
	if c.Text, err = f.without(c.old, void, own); err != nil {
		return nil, err
	}
	if !ok && f.format == formJSON { // the file was also changed by somebody else
		c.unset(root, void)
	}
	if ok {
		if f.format != formWhole {
			left, err := f.Remove(original, own)
			ok = err == nil && bytes.Equal(left, original)
		}
		if ok {
			c.Text = append([]byte{}, original...)
		}
	} else if c.IsNeeded() && f.format != formWhole && f.isVoid(c.Text, void) && len(c.stale) == 0 {
		c.Text = nil // install has made the file
	}
	if c.IsNeeded() {
		err = f.checkWritable(root)
	}
	return c, err
}

// without returns text without the owner's entries.
func (f *File) without(text, void []byte, own owner) ([]byte, error) {
	switch {
	case f.format != formWhole:
		return f.Remove(text, own)
	case isOurProgram(text, void, own):
		return nil, nil
	}
	return text, nil
}

// unset removes the values of void that the backup does not have, because install set them.
func (c *change) unset(root *os.Root, void []byte) {
	for _, name := range c.stale {
		backup := &File{Root: c.File.Root, Name: name}
		base, _, err := backup.read(root)
		base, _, errBase := formJSON.open(base)
		text, bom, errText := formJSON.open(c.Text)
		if errors.Join(err, errBase, errText) != nil {
			continue
		}
		if text, err = unsetJSON(text, void, base); err == nil {
			c.Text = append(bom, text...)
		}
	}
}

// isVoid reports whether a text has no settings beyond those of void.
func (f *File) isVoid(text, void []byte) bool {
	if f.format == formJSON {
		_, a, errA := parseJSON(text, nil)
		_, b, errB := parseJSON(void, nil)
		return errA == nil && errB == nil && isSame(*a, *b)
	}
	return len(bytes.TrimSpace(text)) == 0
}

// Apply makes the change: it writes the backup, then a new file, which it renames. If somebody else has
// changed the file meanwhile, the file stays.
func (c *change) Apply() error {
	f := c.File
	folder := f.Mode | f.Mode&0o444>>2 | 0o100 // whoever may read the file may search its folder
	if err := os.MkdirAll(f.Root, folder); err != nil {
		return err
	}
	root, err := os.OpenRoot(f.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	now, exists, err := f.read(root)
	switch {
	case err != nil:
		return err
	case exists != c.existed || !bytes.Equal(now, c.old):
		return &mistake{Message: "the file changed meanwhile: run the command again"}
	case c.Text == nil:
		return errors.Join(root.Remove(filepath.FromSlash(f.Name)), c.removeStale(root))
	}
	mode := f.Mode
	if info, err := root.Lstat(filepath.FromSlash(f.Name)); err == nil {
		mode = info.Mode().Perm()
	}
	if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(f.Name)), folder); err != nil {
		return err
	}
	if c.Backup != "" {
		if err := writeFile(root, f.backupName(c.Text), c.saved, mode); err != nil {
			return err
		}
	}
	if err := writeFile(root, f.Name, c.Text, mode); err != nil {
		return err
	}
	return c.removeStale(root)
}

// removeStale removes the backups that nobody needs any more.
func (c *change) removeStale(root *os.Root) error {
	for _, name := range c.stale {
		if err := root.Remove(filepath.FromSlash(name)); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file as a whole: it writes another file, and renames that.
func writeFile(root *os.Root, name string, text []byte, mode fs.FileMode) error {
	name = filepath.FromSlash(name)
	beside := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text()[:8])
	file, err := root.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = root.Rename(beside, name)
	}
	if err != nil {
		_ = root.Remove(beside)
	}
	return err
}
