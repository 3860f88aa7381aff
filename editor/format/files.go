package format

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// Files returns the .star files and golden cases at the paths, each once: see [loader.Path].
func Files(paths []loader.Path) ([]loader.Path, error) {
	var files []loader.Path
	seen := map[string]bool{}
	for _, p := range paths {
		found, err := starFilesAt(p)
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			if !seen[file.Real] {
				seen[file.Real] = true
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// isArchive reports whether a file may be a golden case.
func isArchive(file string) bool { return strings.HasSuffix(file, ".txtar") }

// isFormattable reports whether the formatter formats a file in a folder.
func isFormattable(file string) bool {
	return strings.HasSuffix(file, ".star") || isArchive(file) && filepath.Base(filepath.Dir(file)) == "golden"
}

// starFilesAt returns the file at a path, or all files of a folder and its subfolders. It skips
// hidden files and folders, and does not follow links.
func starFilesAt(p loader.Path) ([]loader.Path, error) {
	info, err := os.Stat(p.Real)
	switch {
	case err != nil:
		return nil, p.Explain(err)
	case !info.IsDir() && !strings.HasSuffix(p.Real, ".star") && !isArchive(p.Real):
		return nil, report.Usagef("%s: got a file of another kind, want a .star file, a golden case or a folder", p.Shown)
	case !info.IsDir():
		return []loader.Path{p}, nil
	}
	var files []loader.Path
	err = filepath.WalkDir(p.Real, func(file string, d fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(d.Name(), ".") && file != p.Real
		switch {
		case err != nil:
			return err
		case hidden && d.IsDir():
			return fs.SkipDir
		case d.Type().IsRegular() && !hidden && isFormattable(file):
			rel, err := filepath.Rel(p.Real, file)
			files = append(files, loader.Path{Shown: path.Join(p.Shown, filepath.ToSlash(rel)), Real: file})
			return err
		}
		return nil
	})
	return files, errtext.File(p.Shown, err)
}

// A Result says how the formatter changed a file.
type Result struct {
	Path    string `json:"path"`
	Changed bool   `json:"changed"`
	Diff    string `json:"diff"`
}

// NewResult returns the result for a file whose text was before.
func NewResult(name, before, after string) Result {
	return Result{Path: name, Changed: before != after, Diff: udiff.Unified(name, name, before, after)}
}

// File formats a file, and writes it if inPlace is set.
func File(p loader.Path, inPlace bool) (Result, error) {
	before, err := disk.Read(p.Real)
	if err != nil {
		return Result{}, errtext.File(p.Shown, err)
	}
	after, err := Text(p.Shown, string(before))
	if err != nil {
		return Result{}, err
	}
	out := NewResult(p.Shown, string(before), after)
	if out.Changed && inPlace {
		err = errtext.File(p.Shown, disk.Rewrite(p.Real, []byte(after)))
	}
	return out, err
}
