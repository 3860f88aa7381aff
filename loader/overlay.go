package loader

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// DiscoverEdited finds plugins as [Discover] does, for an editor. all are the plugins at the paths, and own
// is the plugin that the edited file belongs to. The file need not exist yet. The caller passes its text to
// [Source.Replace].
func DiscoverEdited(paths []Path, edited Path) (all []*Source, own *Source, problem *Error) {
	d := newDiscovery(0)
	if _, err := os.Stat(edited.Real); err == nil {
		d.addPath(edited)
	} else {
		d.addUnsaved(edited)
	}
	if len(d.errs) > 0 {
		return nil, nil, d.errs[0]
	}
	own = d.sources[0]
	d = newDiscovery(0)
	for _, p := range paths {
		d.addPath(p)
	}
	d.errs = nil
	if d.add(edited, own); len(d.errs) > 0 {
		return nil, nil, d.errs[0]
	}
	return d.sources, d.byName[own.Name], nil
}

// addUnsaved adds the plugin of a file that does not exist yet.
func (d *discovery) addUnsaved(p Path) {
	dir, file := filepath.Split(p.Real)
	s := &Source{Name: strings.TrimSuffix(file, ".star"), Path: p.Shown, Main: file, dir: resolveLinks(filepath.Clean(dir))}
	switch {
	case file == mainFile:
		s.Name, s.Path, s.Folder = filepath.Base(dir), path.Dir(p.Shown), true
	case !strings.HasSuffix(file, ".star"):
		d.fail(p.Place, "E0604", "%s: got a file of another kind, want a .star file", p.Shown)
		return
	}
	d.add(p, s)
}

// Replace makes Read return text instead of the file's bytes, for an editor with an unsaved file.
// Call it before the first Read.
func (s *Source) Replace(name string, text []byte) error {
	if err := s.check(name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(name, newSourceFile(text))
	return nil
}
