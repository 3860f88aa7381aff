// Where the plugins of a project are, for lines that name no absolute folder.

package install

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
)

// A ProjectPlace is what hook --project knows about the place of a project. It does not look for files by
// their names to find out which project it is, because the model may write files with any names, in and
// around the project.
type ProjectPlace struct {
	Root  string // the value of --project-root: absolute, or relative to the repository's root, which "" stands for
	Start string // the folder that the agent names as the project's, or else the folder of the event
	Home  string // the user's home folder
}

// Paths returns the project's root, and the paths of its plugins.
func (p ProjectPlace) Paths(paths []string) (root string, full []string, err error) {
	for i, name := range append([]string{p.Root}, paths...) {
		if name = filepath.FromSlash(name); i == 0 && (name == "" || filepath.IsAbs(name)) || filepath.IsLocal(name) {
			continue
		}
		return "", nil, misusef("got %s, want a path inside of the project", quote(name))
	}
	if root, err = p.find(paths); err != nil {
		return "", nil, err
	}
	for _, name := range paths {
		full = append(full, filepath.Join(root, filepath.FromSlash(name)))
	}
	return root, full, nil
}

// find returns the root of the project. The line says where it is from the repository's root, or as a whole
// path: the folder of an event says nothing, because the model may have written the same names there.
func (p ProjectPlace) find(paths []string) (string, error) {
	root := filepath.FromSlash(p.Root)
	if !filepath.IsAbs(root) {
		start, err := filepath.Abs(p.Start) // if the event names no folder, this is the current one
		if err != nil {
			return "", err
		}
		repository := p.repository(start)
		if repository == "" && len(paths) > 0 {
			return "", misusef("got no repository around %s, want --project-root with the whole path (starhost hook install --project writes it)", start)
		}
		root = filepath.Join(cmp.Or(repository, start), root)
	}
	if len(paths) > 0 && !hasAny(root, paths) {
		return "", misusef("got no %s in the project's root %s", quote(paths[0]), root)
	}
	return root, nil
}

// repository returns the root of the repository around a folder, "" for none. It looks no higher than the
// user's home folder, and not above a folder that everybody may write to.
func (p ProjectPlace) repository(start string) string {
	for at := filepath.Clean(start); !isShared(at); at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) || at == filepath.Clean(p.Home) {
			break
		}
	}
	return ""
}

// RootFromRepository returns the value of --project-root for a folder.
func RootFromRepository(folder, home string) string {
	repository := ProjectPlace{Home: home}.repository(folder)
	if rel, err := filepath.Rel(repository, folder); err == nil && repository != "" {
		folder = rel
	}
	return filepath.ToSlash(folder)
}

// isShared reports whether everybody may write to a folder, or nobody can tell.
func isShared(folder string) bool {
	info, err := os.Stat(folder)
	return err == nil && info.Mode()&0o002 != 0 && filepath.Separator == '/'
}

// hasAny reports whether a folder has a file at one of the paths.
func hasAny(folder string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		_, err := os.Stat(filepath.Join(folder, filepath.FromSlash(p)))
		return err == nil
	})
}

func quote(path string) string { return `"` + path + `"` }
