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

// isPluginName reports whether s is a valid name: ^[a-z][a-z0-9_-]{0,63}$.
func isPluginName(s string) bool {
	for i := range len(s) {
		lower := 'a' <= s[i] && s[i] <= 'z'
		if !lower && (i == 0 || strings.IndexByte("0123456789_-", s[i]) < 0) {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// Discover finds the plugins at the paths: a .star file, a folder with plugin.star, or a folder
// of these, sorted by name. It skips dot-files and folders named golden. maxSource bounds each
// .star file in bytes; 0 means [DefaultMaxSource].
//
// Discover returns an [*Error] for each path that should be a plugin and is none, beside the
// plugins that it found. It returns a plugin once even if two paths lead to it. Two plugins
// with one name are an error, and Discover returns the first.
func Discover(paths []Path, maxSource int64) ([]*Source, []*Error) {
	d := newDiscovery(maxSource)
	for _, p := range paths {
		d.isNamed, d.isManaged = !p.Project || isPluginFile(p.Shown), p.Managed
		d.addPath(p)
	}
	return d.sources, d.errs
}

// A discovery collects the plugins and errors of one Discover.
type discovery struct {
	maxSource int64
	sources   []*Source
	byName    map[string]*Source
	errs      []*Error
	isNamed   bool // the operator named the path that Discover searches now, or a project names a single file
	isManaged bool // the managed config names the path that Discover searches now
}

func newDiscovery(maxSource int64) *discovery {
	return &discovery{maxSource: cmp.Or(maxSource, DefaultMaxSource), byName: map[string]*Source{}}
}

func (d *discovery) fail(at Place, code, format string, args ...any) {
	d.report(errorAt(at, code, format, args...))
}

// report adds an error. If nobody named the folder, it may well contain no plugin (E0604), because many
// projects have a folder plugins. Any other error may hide a plugin that is a guard.
func (d *discovery) report(e *Error) {
	e.hidesPlugin, e.managed = d.isNamed || e.code != "E0604", d.isManaged
	d.errs = append(d.errs, e)
}

// failForeign reports a file or folder that another user put into a folder where everybody can put files.
// Such an error hides no plugin of the project.
func (d *discovery) failForeign(at Place, shown string) {
	e := errorAt(at, "E0604", "%s: another user put it into a folder that all users can write to, so it is no part of a project of yours", shown)
	e.managed = d.isManaged
	d.errs = append(d.errs, e)
}

// addPath adds the plugins at a path. If the path is a link, addPath follows it, because the operator who
// named the link meant the link's target.
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
	case p.Project && isForeign(p.Real):
		d.failForeign(p.Place, p.Shown)
	case info.IsDir():
		d.addFolder(p, real)
	case filepath.Base(p.Real) == mainFile: // the folder of this file is the plugin
		p.Shown, p.Real = path.Dir(p.Shown), filepath.Dir(p.Real)
		d.addPath(p)
	case !isPluginFile(p.Shown):
		d.fail(p.Place, "E0604", "%s: got a file of another kind, want a .star or .rules file, or a folder", p.Shown)
	default:
		name := pluginName(filepath.Base(p.Real))
		d.add(p, &Source{Name: name, Path: p.Shown, Main: filepath.Base(real), dir: filepath.Dir(real)})
	}
}

// Explain returns the error for a path that the system could not open because of err. If there
// is no such path, the error suggests a similar name.
func (p Path) Explain(err error) *Error {
	if !errors.Is(err, fs.ErrNotExist) {
		return errorAt(p.Place, "E0607", "%s: %s", p.Shown, reason(err))
	}
	var names []string
	entries, _ := os.ReadDir(filepath.Dir(p.Real)) // without entries there is no suggestion
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return errorAt(p.Place, "E0604", "%s: %s%s", p.Shown, reason(err), near.DidYouMean(filepath.Base(p.Real), names))
}

// addFolder adds a folder that is a plugin, or the plugins in it.
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
	entries, err := os.ReadDir(real) // root.FS would ask the system about each file
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

// findPlugins returns the plugins in a folder, unsorted.
func (d *discovery) findPlugins(p Path, real string, fsys fs.FS, entries []fs.DirEntry) []*Source {
	found := make([]*Source, 0, len(entries))
	before, at := len(d.errs), strings.TrimSuffix(path.Join(p.Shown, "x"), "x")
	isOpen := p.Project && isCommon(real)
	for _, e := range entries {
		name := e.Name()
		shown := at + name
		if strings.HasPrefix(name, ".") || name == "golden" {
			continue
		}
		isStar := strings.HasSuffix(name, ".star")
		if isOpen && (isStar || e.IsDir()) && isForeign(filepath.Join(real, name)) {
			d.failForeign(Place{File: shown}, shown)
			continue
		}
		regular := e.Type().IsRegular()
		if isStar && (regular || !utf8.ValidString(name)) { // fs.FS accepts names in UTF-8 only
			name, _ := strings.CutSuffix(name, ".star")
			found = append(found, &Source{Name: name, Path: shown, Main: e.Name(), dir: real, regular: regular})
			continue
		}
		if s := d.findPlugin(real, fsys, name, shown); s != nil {
			found = append(found, s)
		}
	}
	if len(found) == 0 && len(d.errs) == before {
		d.fail(p.Place, "E0604", "%s: got no plugins, want *.star files or folders with %s", p.Shown, mainFile)
	}
	return found
}

// findPlugin returns the plugin that a folder or a link is, or nil if it is none.
func (d *discovery) findPlugin(dir string, fsys fs.FS, name, shown string) *Source {
	isStar := strings.HasSuffix(name, ".star")
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil && (isStar || holdsPlugin(dir, name)):
		d.fail(Place{File: shown}, "E0607", "%s", reason(err))
	case err != nil:
	case isStar && info.IsDir():
		d.fail(Place{File: shown}, "E0604", "got a folder, want a file of this name, or a folder without .star that holds %s", mainFile)
	case isStar:
		return &Source{Name: strings.TrimSuffix(name, ".star"), Path: shown, Main: name, dir: dir}
	case info.IsDir() && holdsPlugin(dir, name):
		return &Source{Name: name, Path: shown, Main: mainFile, Folder: true, dir: dir, sub: name}
	}
	return nil
}

// holdsPlugin reports whether a folder has a file plugin.star. It follows links, so that starhost reports a
// link that leads out of the folder of plugins, and does not skip it silently.
func holdsPlugin(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name, mainFile))
	return err == nil
}

// add adds a plugin if its name is valid and unused.
func (d *discovery) add(p Path, s *Source) {
	s.Place, s.Project, s.Managed, s.maxSource = p.Place, p.Project, p.Managed, d.maxSource
	s.Display = s.Main
	switch {
	case s.Folder:
		s.Display = s.prefix() + mainFile
	case s.Name != pluginName(s.Main): // Discover found a link to Main
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
		d.fail(Place{File: s.Path}, "E0606", "plugin %s is already found at %s: want different names, or one path: leave %s out, and edit %s in its place", s.Name, old.Path, s.Path, old.Path)
	}
}

// suggestName returns a valid name for the plugin's file or folder.
func (s *Source) suggestName() string {
	if s.Folder {
		return PluginName(s.Name)
	}
	return PluginName(s.Name) + ".star"
}

// PluginName returns want if it is a valid name of a plugin, or else a similar name that is valid.
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

// isRules reports whether the plugin is a file of rules.
func (s *Source) isRules() bool { return strings.HasSuffix(s.Main, rulesSuffix) }

// pluginName returns the name of a plugin that is a single file.
func pluginName(file string) string {
	return strings.TrimSuffix(strings.TrimSuffix(file, ".star"), rulesSuffix)
}

// isPluginFile reports whether a single file may be a plugin.
func isPluginFile(name string) bool {
	return strings.HasSuffix(name, ".star") || strings.HasSuffix(name, rulesSuffix)
}
