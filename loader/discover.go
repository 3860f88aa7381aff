package loader

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/near"
)

// mainFile is the file of a plugin folder that is evaluated.
const mainFile = "plugin.star"

// isPluginName reports whether a plugin may be called so: ^[a-z][a-z0-9_-]{0,63}$.
func isPluginName(s string) bool {
	for i := range len(s) {
		lower := 'a' <= s[i] && s[i] <= 'z'
		if !lower && (i == 0 || strings.IndexByte("0123456789_-", s[i]) < 0) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// Discover finds the plugins at the paths: a .star file, a folder with
// plugin.star, or a folder of these, which come in the order of their names.
// Dot-files and folders named golden are passed over. maxSource bounds each
// .star file in bytes; 0 means [DefaultMaxSource].
//
// What is no plugin but should be is an [*Error]; the other plugins are found
// nevertheless. The same plugin named twice is one; two plugins of one name are
// an error, and the first stays.
func Discover(paths []Path, maxSource int64) ([]*Source, []*Error) {
	d := newDiscovery(maxSource)
	for _, p := range paths {
		d.isNamed = !p.Project
		d.addPath(p)
	}
	return d.sources, d.errs
}

// A discovery collects what Discover finds.
type discovery struct {
	maxSource int64
	sources   []*Source
	byName    map[string]*Source
	folders   map[string]*sharedFolder // by path
	errs      []*Error
	isNamed   bool // the operator named the path that is being searched
}

func newDiscovery(maxSource int64) *discovery {
	return &discovery{maxSource: cmp.Or(maxSource, DefaultMaxSource), byName: map[string]*Source{}, folders: map[string]*sharedFolder{}}
}

func (d *discovery) fail(at Place, code, format string, args ...any) {
	d.report(errorAt(at, code, format, args...))
}

// report adds an error. A path that no operator named may well lead to no plugin (E0604): many
// projects have a folder plugins. Any other error hides a plugin, which may be a guard.
func (d *discovery) report(e *Error) {
	e.hidesPlugin = d.isNamed || e.code != "E0604"
	d.errs = append(d.errs, e)
}

// addPath looks at one path that was named. Links are followed here: whoever named
// the path meant what it leads to.
func (d *discovery) addPath(p Path) {
	real, err := filepath.EvalSymlinks(p.Real)
	if err != nil {
		d.report(p.Explain(err))
		return
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		d.report(p.Explain(err))
	case info.IsDir():
		d.addFolder(p, real)
	case filepath.Base(p.Real) == mainFile: // its folder is the plugin
		p.Shown, p.Real = path.Dir(p.Shown), filepath.Dir(p.Real)
		d.addPath(p)
	case !strings.HasSuffix(p.Shown, ".star"):
		d.fail(p.Place, "E0604", "%s: got a file of another kind, want a .star file or a folder", p.Shown)
	default:
		name := strings.TrimSuffix(filepath.Base(p.Real), ".star")
		d.add(p, &Source{Name: name, Path: p.Shown, Main: filepath.Base(real), dir: filepath.Dir(real)})
	}
}

// Explain returns what err, the system's answer to a look at the path, means for
// who named it: of a path that is not there with a name that is near to it.
func (p Path) Explain(err error) *Error {
	if !errors.Is(err, fs.ErrNotExist) {
		return errorAt(p.Place, "E0607", "%s: %s", p.Shown, reason(err))
	}
	var names []string
	entries, _ := os.ReadDir(filepath.Dir(p.Real)) // no folder, no suggestion
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return errorAt(p.Place, "E0604", "%s: %s%s", p.Shown, reason(err), near.DidYouMean(filepath.Base(p.Real), names))
}

// addFolder looks at a folder that was named: it is a plugin or holds plugins.
func (d *discovery) addFolder(p Path, real string) {
	root, err := os.OpenRoot(real)
	if err != nil {
		d.fail(p.Place, "E0607", "%s: %s", p.Shown, reason(err))
		return
	}
	defer root.Close()
	if _, err := root.Lstat(mainFile); err == nil {
		d.add(p, &Source{Name: filepath.Base(p.Real), Path: p.Shown, Main: mainFile, Folder: true, dir: real})
		return
	}
	if strings.HasSuffix(p.Shown, ".star") {
		d.fail(p.Place, "E0604", "%s: got a folder, want a file of this name, or a folder without .star that holds %s", p.Shown, mainFile)
		return
	}
	entries, err := os.ReadDir(real) // that of a root looks at each file
	if err != nil {
		d.fail(p.Place, "E0607", "%s: %s", p.Shown, reason(err))
		return
	}
	found := d.findPlugins(p, real, root.FS(), entries)
	slices.SortStableFunc(found, func(a, b *Source) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range found {
		d.add(p, s)
	}
}

// findPlugins returns the plugins in a folder of plugins.
func (d *discovery) findPlugins(p Path, real string, fsys fs.FS, entries []fs.DirEntry) []*Source {
	found := make([]*Source, 0, len(entries))
	before, at := len(d.errs), strings.TrimSuffix(path.Join(p.Shown, "x"), "x")
	for _, e := range entries {
		name := e.Name()
		shown := at + name
		if strings.HasPrefix(name, ".") || name == "golden" {
			continue
		}
		isStar := strings.HasSuffix(name, ".star")
		if regular := e.Type().IsRegular(); isStar && (regular || !utf8.ValidString(name)) { // a fs.FS has no such names
			found = append(found, &Source{Name: strings.TrimSuffix(name, ".star"), Path: shown, Main: name, dir: real, regular: regular})
			continue
		}
		info, err := fs.Stat(fsys, name)
		switch {
		case err != nil && (isStar || holdsPlugin(real, name)):
			d.fail(Place{File: shown}, "E0607", "%s", reason(err))
		case err != nil:
		case isStar && info.IsDir():
			d.fail(Place{File: shown}, "E0604", "got a folder, want a file of this name, or a folder without .star that holds %s", mainFile)
		case isStar:
			found = append(found, &Source{Name: strings.TrimSuffix(name, ".star"), Path: shown, Main: name, dir: real})
		case info.IsDir() && holdsPlugin(real, name):
			found = append(found, &Source{Name: name, Path: shown, Main: mainFile, Folder: true, dir: real, sub: name})
		}
	}
	if len(found) == 0 && len(d.errs) == before {
		d.fail(p.Place, "E0604", "%s: got no plugins, want *.star files or folders with %s", p.Shown, mainFile)
	}
	return found
}

// holdsPlugin tells whether a folder means to be a plugin. It follows links, so
// that one that leaves the folder of plugins is told and not passed over.
func holdsPlugin(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name, mainFile))
	return err == nil
}

// add takes a plugin whose name is right and its own.
func (d *discovery) add(p Path, s *Source) {
	s.Place, s.Project, s.maxSource = p.Place, p.Project, d.maxSource
	if s.shared = d.folders[s.dir]; s.shared == nil {
		s.shared = new(sharedFolder)
		d.folders[s.dir] = s.shared
	}
	s.Display = s.Main
	switch {
	case s.Folder:
		s.Display = s.prefix() + mainFile
	case s.Name != strings.TrimSuffix(s.Main, ".star"): // a link leads to Main
		s.Display = s.Name + ".star"
	}
	old := d.byName[s.Name]
	switch {
	case !isPluginName(s.Name):
		d.fail(Place{File: s.Path}, "E0605", "plugin name: got %q, want a lower-case letter, then at most 63 of a-z, 0-9, _ and - (rename it to %s)",
			s.Name, s.suggestName())
	case s.Name == starhost.HostPlugin:
		d.fail(Place{File: s.Path}, "E0605", "plugin name: got %q, which is the host's own (rename it)", s.Name)
	case old == nil:
		d.byName[s.Name] = s
		d.sources = append(d.sources, s)
	case old.isSame(s):
		old.Project = old.Project && s.Project
	default:
		d.fail(Place{File: s.Path}, "E0606", "plugin %s is already found at %s: want names of their own (rename one, or leave one of the paths out)", s.Name, old.Path)
	}
}

// suggestName returns what the plugin's file or folder could be called.
func (s *Source) suggestName() string {
	if s.Folder {
		return PluginName(s.Name)
	}
	return PluginName(s.Name) + ".star"
}

// PluginName returns the name that a plugin may have and that is nearest to one
// that somebody wants: that name itself, if it is allowed.
func PluginName(want string) string {
	if isPluginName(want) {
		return want
	}
	good := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(want))
	good = strings.TrimRight(strings.TrimLeft(good, "0123456789_-"), "-")
	return cmp.Or(good[:min(len(good), 64)], "my-plugin")
}
