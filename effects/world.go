package effects

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/starhost/starhost"
)

// OwnFiles are the files that a plugin came with. They are part of the plugin:
// reading them is no effect and needs no permission.
type OwnFiles interface {
	Read(name string) ([]byte, error)
	Glob(pattern string) ([]string, error)
	Exists(name string) (bool, error)
}

// A World is what lies outside of one plugin, as far as the plugin may reach it.
// It is safe for concurrent use once its fields are set.
type World struct {
	// Plugin is the plugin's name.
	Plugin string
	// Declared and Granted are what the plugin asks for and what the operator
	// allows; what both allow is allowed.
	Declared, Granted Grants
	// Own are the plugin's own files; nil if it has no folder.
	Own OwnFiles
	// Workspace is the folder that fs.read permissions are about; nil if there is
	// none.
	Workspace *Files
}

// ReadFile returns the text of a file of the workspace.
func (w *World) ReadFile(ctx context.Context, name string) (string, error) {
	b, err := w.ReadFileBytes(ctx, name)
	if err != nil {
		return "", err
	}
	return text(name, b)
}

// ReadFileBytes returns the bytes of a file of the workspace.
func (w *World) ReadFileBytes(ctx context.Context, name string) ([]byte, error) {
	actual, err := w.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	return w.Workspace.read(actual, name)
}

// FileExists reports whether the workspace has a file or folder of that name.
func (w *World) FileExists(ctx context.Context, name string) (bool, error) {
	_, err := w.resolve(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// StatFile describes a file or folder of the workspace.
func (w *World) StatFile(ctx context.Context, name string) (FileInfo, error) {
	actual, err := w.resolve(ctx, name)
	if err != nil {
		return FileInfo{}, err
	}
	return w.Workspace.stat(actual, name)
}

// GlobFiles returns the files of the workspace that match a pattern and that the
// plugin may read, as [Files.Glob] does. A pattern that no permission reaches is
// an error, whatever files there are.
func (w *World) GlobFiles(ctx context.Context, pattern string) ([]string, error) {
	if err := w.ready(ctx); err != nil {
		return nil, err
	}
	g, err := parseGlob(pattern)
	if err != nil {
		return nil, err
	}
	if err := w.refusal("fs.read", path.Clean(pattern), w.Declared.reaches("fs.read", g), w.Granted.reaches("fs.read", g)); err != nil {
		return nil, err
	}
	declared, granted := w.Declared.allowing("fs.read"), w.Granted.allowing("fs.read")
	allowed := func(name string) bool { return declared(name) && granted(name) }
	return w.Workspace.glob(g, func(name string, linked bool) bool {
		if !allowed(name) || !linked {
			return allowed(name)
		}
		actual, err := w.Workspace.Resolve(name)
		return err == nil && allowed(actual)
	})
}

// ready checks what every effect on files needs.
func (w *World) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.Workspace == nil {
		return errorf("E0504", "there is no workspace here, so no file of it can be read")
	}
	return nil
}

// resolve returns where a path leads, if the plugin may read both the path and
// what it leads to. What it may not read it does not learn anything about.
func (w *World) resolve(ctx context.Context, name string) (string, error) {
	if err := w.ready(ctx); err != nil {
		return "", err
	}
	clean, err := cleanPath(name)
	if err != nil {
		return "", err
	}
	if err := w.checkRead(clean); err != nil {
		return "", err
	}
	actual, err := w.Workspace.Resolve(clean)
	if errors.Is(err, fs.ErrNotExist) {
		return "", notRead(name, err, w.near(ctx, clean))
	}
	if err != nil || actual == clean {
		return actual, err
	}
	return actual, w.checkRead(actual)
}

// near returns the file beside a missing one that its name may mean, of those
// that the plugin may read.
func (w *World) near(ctx context.Context, clean string) string {
	siblings, err := w.GlobFiles(ctx, path.Join(quoteGlob(path.Dir(clean)), "*"))
	if err != nil {
		return ""
	}
	for i, s := range siblings {
		siblings[i] = path.Base(s)
	}
	return beside(clean, siblings)
}

// beside returns the path of the sibling that a path's last name may mean, or "".
func beside(name string, siblings []string) string {
	near := starhost.Nearest(path.Base(name), siblings)
	if near == "" {
		return ""
	}
	return path.Join(path.Dir(name), near)
}

func (w *World) checkRead(clean string) error {
	return w.refusal("fs.read", quoteGlob(clean), w.Declared.Allows("fs.read", clean), w.Granted.Allows("fs.read", clean))
}

// refusal returns an error unless the plugin both declared a permission and was
// granted it.
func (w *World) refusal(kind, pattern string, declared, granted bool) error {
	if declared && granted {
		return nil
	}
	p := Permission{Kind: kind, Pattern: pattern}
	return &PermissionError{Plugin: w.Plugin, Permission: p.String(), Declared: declared, Granted: granted}
}
