package effects

import (
	"errors"
	"io/fs"
)

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

// Exists reports whether a file or folder has that name. A link to a missing file counts as missing; a link
// that leads outside is an error.
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

// Resolve follows all links of a path and returns the path that they lead to. A permission for
// one path is no permission for the other, so callers check both.
func (f *Files) Resolve(name string) (string, error) { return f.resolve(name, nil) }
