package effects

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
)

// OwnFiles are the files of a plugin's folder. They are a part of the plugin: reading them is no effect and
// needs no permission.
type OwnFiles interface {
	Read(name string) ([]byte, error)
	// Glob calls pay before it works, if pay is not nil.
	Glob(pattern string, pay func(steps int) error) ([]string, error)
	Exists(name string) (bool, error)
}

// A World is everything outside of one plugin that the plugin may reach. A part that is nil is missing. A
// World is safe for concurrent use after its fields are set. To make another plugin's World, copy the World
// and set other fields.
type World struct {
	// Plugin is the plugin's name.
	Plugin string
	// Owner returns the owner of the plugin's values, the same one at each call. A plugin that uses no values
	// needs no owner. Nil means an owner with the plugin's name.
	Owner func() *Owner
	// Declared are the permissions that the plugin asks for, Granted those that the operator
	// grants. A plugin may do what both allow.
	Declared, Granted Grants
	// Ignored are grants of the plugin that do not count. Each key says where the grants are and why they do
	// not count, for the text of refusals. Ignored is nil if nobody has read which grants the config has.
	Ignored map[string]Grants
	// Own are the plugin's own files; nil if it has no folder.
	Own OwnFiles
	// Workspace is the folder in which fs.read and fs.write find files.
	Workspace *Files
	// Folders are absolute paths of Workspace, also behind links; nil if nobody knows one.
	Folders []string
	// Protected are paths of the workspace that no plugin may write to: plugins, libraries and config, with
	// everything below. Files named starhost.toml or *.star are always protected.
	Protected []string
	// Env returns the value of an environment variable, and whether it is set.
	Env func(name string) (string, bool)
	// Secrets read the values of secrets and remove them from replies.
	Secrets *Secrets
	// HTTP sends requests to the network, and Exec runs programs.
	HTTP *HTTP
	Exec *Exec
	// Store has the plugin's values across sessions.
	Store KV
	// Answers is a [Replay], [Answers] or a [Resolver]. It supplies replies, so that the World does not do
	// these effects.
	Answers answerer
	// DryRun, if not nil, gets a list of the effects that would outlive the session. The World does not do
	// them.
	DryRun *DryRun
}

// pathRequest is the form in a journal of a request for a file.
type pathRequest struct {
	Path string `json:"path"`
}

// fileCall returns the call of an effect that reads a path.
func fileCall(ctx context.Context, w *World, kind, name string) (effectCall, error) {
	if err := w.payForPath(ctx, "fs.read", name); err != nil {
		return effectCall{}, err
	}
	clean, err := cleanPath(name)
	if err != nil {
		return effectCall{}, err
	}
	return effectCall{
		kind: kind, request: pathRequest{name}, subject: name, refusal: checkRead(w, clean), meter: &meter{ctx: ctx},
	}, nil
}

// ReadFile returns the text of a file of the workspace.
func (w *World) ReadFile(ctx context.Context, name string) (string, error) {
	c, err := fileCall(ctx, w, "fs.read", name)
	if err != nil {
		return "", err
	}
	content, err := do(ctx, w, c, func(context.Context) (jsontext.Text, error) {
		b, err := w.readFile(name, c.meter)
		if err != nil {
			return "", err
		}
		s, err := text(name, b)
		return jsontext.Text(s), err
	})
	return string(content), err
}

// Below returns the path of a file from the workspace on, for an absolute path in it. It returns all other
// paths as they are.
func (w *World) Below(name string) string {
	for _, folder := range w.Folders {
		if rest, ok := strings.CutPrefix(name, folder+"/"); ok {
			return rest
		}
	}
	return name
}

// ReadFileBytes returns the bytes of a file of the workspace.
func (w *World) ReadFileBytes(ctx context.Context, name string) ([]byte, error) {
	c, err := fileCall(ctx, w, "fs.read_bytes", name)
	if err != nil {
		return nil, err
	}
	content, err := do(ctx, w, c, func(context.Context) (jsontext.Text, error) {
		b, err := w.readFile(name, c.meter)
		return jsontext.Text(b), err
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
	c, err := fileCall(ctx, w, "fs.exists", name)
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
	c, err := fileCall(ctx, w, "fs.stat", name)
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

// resolve returns the path that name leads to, as resolvePath does. The error about a missing file names the
// file that the plugin may have meant.
func (w *World) resolve(name string, m *meter) (string, error) {
	actual, err := w.resolvePath(name, m)
	if errors.Is(err, fs.ErrNotExist) {
		hint := ""
		if m == nil || m.ctx.Value(hintKey{}) == nil {
			hint = nearSibling(w, path.Clean(name))
		}
		return "", readError(name, err, hint)
	}
	return actual, err
}

// hintKey is the key of a context in which errors suggest no other file.
type hintKey struct{}

// WithoutHints returns a context in which the error about a missing file names no other file. Callers that go
// on without the file use it: nobody pays for the search for another name, so it should not run often.
func WithoutHints(ctx context.Context) context.Context {
	return context.WithValue(ctx, hintKey{}, true)
}

// resolvePath returns the path that name leads to, if the plugin may read both paths. The error about a file
// without permission does not say whether the file exists.
func (w *World) resolvePath(name string, m *meter) (string, error) {
	if err := w.requireWorkspace(); err != nil {
		return "", err
	}
	clean, err := cleanPath(name)
	if err != nil {
		return "", err
	}
	if err := checkRead(w, clean); err != nil {
		return "", err
	}
	actual, err := w.Workspace.resolve(clean, m)
	if errors.Is(err, fs.ErrNotExist) {
		return "", readError(name, err, "")
	}
	if err != nil || actual == clean {
		return actual, err
	}
	return actual, checkRead(w, actual)
}

// Bounds of the search for a file that the plugin may have meant. Plugins do not pay for this search.
const (
	maxSiblings     = 256   // files of a folder that the search compares
	maxSiblingSteps = 8_000 // steps for comparing names with the plugin's permissions
)

// nearSibling returns the file beside a missing one that the plugin may have meant, or "". It
// considers only files that the plugin may read.
func nearSibling(w *World, clean string) string {
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

// nearestSibling returns the path of the sibling whose name is similar to the last name of a path, or "".
func nearestSibling(name string, siblings []string) string {
	found := near.Name(path.Base(name), siblings)
	if found == "" {
		return ""
	}
	return path.Join(path.Dir(name), found)
}
