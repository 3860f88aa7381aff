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
	Root  string // the value of --project-root: absolute, or relative to the repository's root; "" in old lines
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
	base, root, err := p.find(paths)
	for _, name := range paths {
		full = append(full, filepath.Join(base, filepath.FromSlash(name)))
	}
	return root, full, err
}

// find returns the folder that the paths of plugins begin at, and the root of the project. The two differ if
// there is no repository and nobody names the root: find then also looks in folders above, but plugins there
// are not the project's.
//
// If the line has no root, find takes the plugins of the only folder that has any. If several folders have
// some, none of them is better than the others: the model may have written those in the outermost folder as
// well as those in the innermost.
func (p ProjectPlace) find(paths []string) (base, root string, err error) {
	named := filepath.FromSlash(p.Root)
	if !filepath.IsAbs(named) {
		start, err := filepath.Abs(p.Start) // if the event names no folder, this is the current one
		if err != nil {
			return "", "", err
		}
		folders, repository := p.folders(start)
		if repository == "" || named == "" {
			return onlyFolder(start, cmp.Or(repository, start), folders, paths)
		}
		named = filepath.Join(repository, named)
	}
	if len(paths) > 0 && !hasAny(named, paths) {
		return "", "", misusef("got no %s in the project's root %s", quote(paths[0]), named)
	}
	return named, named, nil
}

// onlyFolder returns the only one of the folders that has any of the paths.
func onlyFolder(start, root string, folders, paths []string) (string, string, error) {
	if len(paths) == 0 {
		return start, root, nil
	}
	having := slices.DeleteFunc(folders, func(folder string) bool { return !hasAny(folder, paths) })
	switch len(having) {
	case 0:
		return "", "", misusef("got no folder with %s in %s or above", quote(paths[0]), start)
	case 1:
		return having[0], root, nil
	}
	return "", "", misusef("got %s in %s and in %s, want one (run starhost hook install --project again, which names the root)",
		quote(paths[0]), having[0], having[len(having)-1])
}

// folders returns a folder and the folders above it, up to the root of its repository. Outside of a
// repository, it goes up to the user's home folder. It stops before a folder that everybody may write to.
func (p ProjectPlace) folders(start string) (folders []string, repository string) {
	for at := filepath.Clean(start); !isShared(at); at = filepath.Dir(at) {
		folders = append(folders, at)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return folders, at
		}
		if at == filepath.Dir(at) || at == filepath.Clean(p.Home) {
			break
		}
	}
	return folders, ""
}

// RootFromRepository returns the value of --project-root for a folder.
func RootFromRepository(folder, home string) string {
	_, repository := ProjectPlace{Home: home}.folders(folder)
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
