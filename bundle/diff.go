package bundle

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/starhost/starhost/internal/difftext"
)

// A Change is a file that differs between two bundles.
type Change struct {
	Op   string `json:"op"` // "+" for a new file, "-" for one that is gone, "~" for a changed one
	Path string `json:"path"`
	// Diff is the unified difference; "" for a file that is no text, or larger than 256 KiB.
	Diff string `json:"diff"`
}

// maxDiff is the most bytes of a file whose difference is shown.
const maxDiff = 256 << 10

// Diff returns the manifests of two bundles, and the files that differ, sorted by path.
func Diff(from, to Reader) (old, m *Manifest, changes []Change, err error) {
	if old, _, err = from(nil); err != nil {
		return nil, nil, nil, err
	}
	if m, _, err = to(nil); err != nil {
		return nil, nil, nil, err
	}
	was, is := byPath(old), byPath(m)
	differs := func(f File) bool { return was[f.Path] != is[f.Path] && f.Size <= maxDiff }
	before, after := map[string]string{}, map[string]string{}
	if _, _, err = from(Contents(differs, before)); err != nil {
		return nil, nil, nil, err
	}
	if _, _, err = to(Contents(differs, after)); err != nil {
		return nil, nil, nil, err
	}
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if was[name] == is[name] {
			continue
		}
		c := Change{Op: "~", Path: name}
		if _, ok := was[name]; !ok {
			c.Op = "+"
		} else if _, ok := is[name]; !ok {
			c.Op = "-"
		}
		if x, y := before[name], after[name]; max(was[name].Size, is[name].Size) <= maxDiff && utf8.ValidString(x) && utf8.ValidString(y) {
			c.Diff = difftext.Unified("a/"+name, "b/"+name, x, y)
		}
		changes = append(changes, c)
	}
	return old, m, changes, nil
}

func byPath(m *Manifest) map[string]File {
	files := map[string]File{}
	for _, f := range m.Files {
		files[f.Path] = f
	}
	return files
}
