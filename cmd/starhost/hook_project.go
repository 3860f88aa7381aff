package main

import (
	"os"
	"path/filepath"
	"slices"
)

// projectPaths returns the paths of plugins that lie in the project around a folder. The project is
// the outermost folder that has any of them, because the model may work in a folder inside, where
// somebody put other files of these names. It never is a folder that everybody may write, nor one
// above it or above the user's home folder.
func projectPaths(workspace, home string, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	if i := slices.IndexFunc(paths, func(p string) bool { return !filepath.IsLocal(p) }); i >= 0 {
		return nil, usagef("hook --project: got %s, want a path inside of the project", quote(paths[i]))
	}
	workspace, err := filepath.Abs(workspace) // an event without a folder means the current one
	if err != nil {
		return nil, err
	}
	project := ""
	for at := filepath.Clean(workspace); ; at = filepath.Dir(at) {
		if isShared(at) {
			break
		}
		if hasAny(at, paths) {
			project = at
		}
		if at == filepath.Dir(at) || at == filepath.Clean(home) {
			break
		}
	}
	if project == "" {
		return nil, usagef("hook --project: got no folder with %s in %s or above", quote(paths[0]), workspace)
	}
	full := make([]string, len(paths))
	for i, p := range paths {
		full[i] = filepath.Join(project, filepath.FromSlash(p))
	}
	return full, nil
}

// isShared reports whether everybody may write in a folder, or nobody can tell.
func isShared(folder string) bool {
	info, err := os.Stat(folder)
	return err == nil && info.Mode()&0o002 != 0 && filepath.Separator == '/'
}

// hasAny reports whether a folder has one of the paths.
func hasAny(folder string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		_, err := os.Stat(filepath.Join(folder, filepath.FromSlash(p)))
		return err == nil
	})
}
