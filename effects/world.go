package effects

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/starhost/starhost/internal/near"
)

// OwnFiles are the files of a plugin's folder. They are part of the plugin: reading them is no
// effect and needs no permission.
type OwnFiles interface {
	Read(name string) ([]byte, error)
	// Glob calls pay, if that is not nil, before it works.
	Glob(pattern string, pay func(steps int) error) ([]string, error)
	Exists(name string) (bool, error)
}

// A World is everything outside of one plugin that the plugin may reach. Parts that are nil are
// missing. A World is safe for concurrent use after its fields are set. To make another
// plugin's World, copy it and set other fields.
type World struct {
	// Plugin is the plugin's name.
	Plugin string
	// Owner returns the owner of the plugin's values, always the same one. Only plugins that use
	// their values need it. Nil means an owner with the plugin's name.
	Owner func() *Owner
	// Declared are the permissions that the plugin asks for, Granted those that the operator
	// grants. A plugin may do what both allow.
	Declared, Granted Grants
	// Ignored are grants of the plugin that do not count, by their place and the reason, for the
	// text of refusals. They are nil for a config of which nobody knows what it grants.
	Ignored map[string]Grants
	// Own are the plugin's own files; nil if it has no folder.
	Own OwnFiles
	// Workspace is the folder for fs.read and fs.write.
	Workspace *Files
	// Protected are paths of the workspace that no plugin may write, with all that is below:
	// plugins, libraries, config. Files named starhost.toml or *.star are always protected.
	Protected []string
	// Env returns environment variables.
	Env func(name string) (string, bool)
	// Secrets read the values of secrets and remove them from replies.
	Secrets *Secrets
	// HTTP and Exec reach the network and run programs.
	HTTP *HTTP
	Exec *Exec
	// Store has the plugin's values across sessions.
	Store KV
	// Answers, a [Replay] or [Answers], supply replies so that effects are not done.
	Answers answerer
	// DryRun lists the effects that outlive the session in place of doing them; nil means that
	// they are done.
	DryRun *DryRun
}

// pathRequest is the request of effects on a file.
type pathRequest struct {
	Path string `json:"path"`
}

// fileCall returns the call of an effect that reads a path.
func (w *World) fileCall(ctx context.Context, kind, name string) (effectCall, error) {
	if err := w.payForPath(ctx, "fs.read", name); err != nil {
		return effectCall{}, err
	}
	clean, err := cleanPath(name)
	if err != nil {
		return effectCall{}, err
	}
	return effectCall{
		kind: kind, request: pathRequest{name}, subject: name, refusal: w.checkRead(clean), meter: &meter{ctx: ctx},
	}, nil
}

// ReadFile returns the text of a file of the workspace.
func (w *World) ReadFile(ctx context.Context, name string) (string, error) {
	c, err := w.fileCall(ctx, "fs.read", name)
	if err != nil {
		return "", err
	}
	content, err := do(ctx, w, c, func(context.Context) (blob, error) {
		b, err := w.readFile(name, c.meter)
		if err != nil {
			return "", err
		}
		s, err := text(name, b)
		return blob(s), err
	})
	return string(content), err
}

// ReadFileBytes returns the bytes of a file of the workspace.
func (w *World) ReadFileBytes(ctx context.Context, name string) ([]byte, error) {
	c, err := w.fileCall(ctx, "fs.read_bytes", name)
	if err != nil {
		return nil, err
	}
	content, err := do(ctx, w, c, func(context.Context) (blob, error) {
		b, err := w.readFile(name, c.meter)
		return blob(b), err
	})
	return []byte(content), err
}

func (w *World) readFile(name string, m *meter) ([]byte, error) {
	actual, err := w.resolve(name, m)
	if err != nil {
		return nil, err
	}
	return w.Workspace.read(actual, name)
}

// FileExists reports whether the workspace has a file or folder of that name.
func (w *World) FileExists(ctx context.Context, name string) (bool, error) {
	c, err := w.fileCall(ctx, "fs.exists", name)
	if err != nil {
		return false, err
	}
	return do(ctx, w, c, func(context.Context) (bool, error) {
		_, err := w.resolvePath(name, c.meter)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return err == nil, err
	})
}

// StatFile describes a file or folder of the workspace.
func (w *World) StatFile(ctx context.Context, name string) (FileInfo, error) {
	c, err := w.fileCall(ctx, "fs.stat", name)
	if err != nil {
		return FileInfo{}, err
	}
	return do(ctx, w, c, func(context.Context) (FileInfo, error) {
		actual, err := w.resolve(name, c.meter)
		if err != nil {
			return FileInfo{}, err
		}
		return w.Workspace.stat(actual, name)
	})
}

// GlobFiles returns the files of the workspace that match a pattern and that the plugin may
// read, as [Files.Glob] does. A pattern that no permission can match is an error, even if no
// file matches.
func (w *World) GlobFiles(ctx context.Context, pattern string) ([]string, error) {
	type request struct {
		Pattern string `json:"pattern"`
	}
	if err := w.payForPath(ctx, "fs.read", pattern); err != nil {
		return nil, err
	}
	g, err := parseGlob(pattern)
	if err != nil {
		return nil, err
	}
	refused := w.refusal("fs.read", path.Clean(pattern), allowsGlob("fs.read", g))
	c := effectCall{kind: "fs.glob", request: request{pattern}, subject: pattern, refusal: refused, meter: &meter{ctx: ctx}}
	names, err := do(ctx, w, c, func(context.Context) (blobs, error) {
		names, err := w.glob(g, c.meter)
		return blobsOf(names), err
	})
	return names.texts(), err
}

// glob returns the matches that the plugin may read.
func (w *World) glob(g *glob, m *meter) ([]string, error) {
	if err := w.requireWorkspace(); err != nil {
		return nil, err
	}
	declared, granted := w.Declared.allowsFunc("fs.read"), w.Granted.allowsFunc("fs.read")
	allowed := func(name string) bool { return declared(name) && granted(name) }
	weight := 2 * (w.Declared.matchSteps("fs.read", 64) + w.Granted.matchSteps("fs.read", 64))
	return w.Workspace.glob(g, m, func(name string, linked bool) (bool, error) {
		if err := m.pay(weight * (1 + len(name)/64)); err != nil || !allowed(name) || !linked {
			return err == nil && allowed(name), err
		}
		actual, err := w.Workspace.resolve(name, m)
		return err == nil && allowed(actual), m.err()
	})
}

// requireWorkspace returns an error if there is no workspace.
func (w *World) requireWorkspace() error {
	if w.Workspace == nil {
		return errorf("E0504", "there is no workspace here, so no file of it can be read")
	}
	return nil
}

// resolve returns the target of a path, as resolvePath does. The error about a missing file names
// the file that the plugin may have meant.
func (w *World) resolve(name string, m *meter) (string, error) {
	actual, err := w.resolvePath(name, m)
	if errors.Is(err, fs.ErrNotExist) {
		hint := ""
		if m == nil || m.ctx.Value(hintKey{}) == nil {
			hint = w.nearSibling(path.Clean(name))
		}
		return "", readError(name, err, hint)
	}
	return actual, err
}

// hintKey is the key of a context whose effects make no suggestions.
type hintKey struct{}

// WithoutHints returns a context in which the error about a missing file names no other file. It is
// for callers that go on without the file: plugins do not pay for the search, so that it may not
// run more than once.
func WithoutHints(ctx context.Context) context.Context {
	return context.WithValue(ctx, hintKey{}, true)
}

// resolvePath returns the target of a path, if the plugin may read both the path and the target.
// The errors about a file without permission do not say whether it exists.
func (w *World) resolvePath(name string, m *meter) (string, error) {
	if err := w.requireWorkspace(); err != nil {
		return "", err
	}
	clean, err := cleanPath(name)
	if err != nil {
		return "", err
	}
	if err := w.checkRead(clean); err != nil {
		return "", err
	}
	actual, err := w.Workspace.resolve(clean, m)
	if errors.Is(err, fs.ErrNotExist) {
		return "", readError(name, err, "")
	}
	if err != nil || actual == clean {
		return actual, err
	}
	return actual, w.checkRead(actual)
}

// Bounds of the search for a file that the plugin may have meant, for which plugins do not pay.
const (
	maxSiblings     = 256   // files of a folder
	maxSiblingSteps = 8_000 // for the plugin's permissions
)

// nearSibling returns the file beside a missing one that the plugin may have meant, or "". It
// considers only files that the plugin may read.
func (w *World) nearSibling(clean string) string {
	g, err := parseGlob(path.Join(quoteGlob(path.Dir(clean)), "*"))
	if err != nil {
		return ""
	}
	names, err := w.Workspace.names(path.Dir(clean), maxSiblings+1)
	weight := w.Declared.matchSteps("fs.read", 64) + w.Granted.matchSteps("fs.read", 64)
	if err != nil || len(names) > maxSiblings || len(names)*weight > maxSiblingSteps {
		return ""
	}
	siblings, err := w.glob(g, nil)
	if err != nil {
		return ""
	}
	for i, s := range siblings {
		siblings[i] = path.Base(s)
	}
	return nearestSibling(clean, siblings)
}

// nearestSibling returns the path of the sibling whose name is similar to a path's last name,
// or "".
func nearestSibling(name string, siblings []string) string {
	found := near.Name(path.Base(name), siblings)
	if found == "" {
		return ""
	}
	return path.Join(path.Dir(name), found)
}
