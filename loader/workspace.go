package loader

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Workspace returns the absolute path of the folder whose files plugins can get permissions for: the folder
// of the nearest config, or else the repository root, or else dir.
func Workspace(dir string) (string, error) {
	folders, repository, err := ancestry(dir)
	if err != nil {
		return "", err
	}
	if file := nearestConfig(folders); file != "" {
		return filepath.Dir(file), nil
	}
	return cmp.Or(repository, folders[0]), nil
}

// ancestry returns dir and the folders above it up to the repository root, which contains .git.
// Outside of a repository it returns only dir.
func ancestry(dir string) (folders []string, repository string, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", errorAt(Place{File: dir}, "E0607", "%s", reason(err))
	}
	for at := abs; ; at = filepath.Dir(at) {
		folders = append(folders, at)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return folders, at, nil
		}
		if at == filepath.Dir(at) {
			return folders[:1], "", nil
		}
	}
}

// nearestConfig returns the path of the first config in the folders, or "" if none has one. It skips a config
// that isForeign reports.
func nearestConfig(folders []string) string {
	for _, folder := range folders {
		file := filepath.Join(folder, ConfigName)
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) && !isForeign(file) {
			return file
		}
	}
	return ""
}

// resolveLinks follows the links of a path. If the path does not exist, it follows the links of the
// part that exists.
func resolveLinks(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	parent := filepath.Dir(name)
	if parent == name {
		return name
	}
	return filepath.Join(resolveLinks(parent), filepath.Base(name))
}

// isInside reports whether a path leads into the folder after all links.
func isInside(folder, name string) bool {
	rel, err := filepath.Rel(resolveLinks(folder), resolveLinks(name))
	return err == nil && filepath.IsLocal(rel)
}
