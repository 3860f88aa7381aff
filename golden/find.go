package golden

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/loader"
)

const (
	caseFolder = "golden"
	caseSuffix = ".txtar"
	starSuffix = ".star"
	pluginFile = "plugin.star"
)

// A caseFile is the file of a case, with the plugin beside the case.
type caseFile struct {
	id     string      // for example "scripts/oncall::slow": --run matches it, and PATH can name it
	file   loader.Path // the case's path
	plugin loader.Path // zero if the case contains all its plugins
	// rowNames are the names of the rows to run; nil means all rows.
	rowNames []string
}

// name returns the file's name without its suffix.
func (l *caseFile) name() string {
	return strings.TrimSuffix(path.Base(filepath.ToSlash(l.file.Real)), caseSuffix)
}

// inGoldenFolder reports whether the file is in a folder golden/.
func (l *caseFile) inGoldenFolder() bool {
	return filepath.Base(filepath.Dir(l.file.Real)) == caseFolder
}

// A finder collects cases, each once.
type finder struct {
	cases []*caseFile
	seen  map[string]*caseFile // the cases found so far, by their real paths
}

// findCases returns the cases at the paths of the options, in the order of the paths, and at each path in the
// order of their names.
func findCases(o *Options) ([]*caseFile, error) {
	var f finder
	for _, arg := range o.Paths {
		where, name, one := strings.Cut(arg, "::")
		if err := f.argument(loader.NewPath(o.Dir, where), name, one); err != nil {
			return nil, err
		}
	}
	if len(o.Paths) > 0 {
		return f.cases, nil
	}
	paths, err := o.Config.Paths(o.Dir, nil)
	if err != nil {
		return nil, &UsageError{err}
	}
	for _, p := range paths {
		if err := f.argument(p, "", false); err != nil {
			return nil, err
		}
	}
	for _, p := range paths {
		f.add(orphans(p))
	}
	return f.cases, nil
}

// orphans returns the cases that lie where cases of the plugin file p would, but have no plugin. A run over
// all configured plugins includes them, so that they are reported. A run of a named plugin does not.
func orphans(p loader.Path) []*caseFile {
	if !strings.HasSuffix(p.Real, starSuffix) {
		return nil
	}
	cases := listCases(joinPath(parentFolder(p), caseFolder))
	return slices.DeleteFunc(cases, func(c *caseFile) bool { return c.plugin.Real != "" })
}

// argument adds the cases at a path. If one is true, it adds only the case that name names.
func (f *finder) argument(p loader.Path, name string, one bool) error {
	found, err := casesAt(p)
	if err != nil {
		return err
	}
	if one {
		if found, err = selectCase(found, p, name); err != nil {
			return err
		}
	}
	f.add(found)
	return nil
}

func (f *finder) add(cases []*caseFile) {
	f.cases = slices.Grow(f.cases, len(cases))
	if f.seen == nil {
		f.seen = make(map[string]*caseFile, len(cases))
	}
	for _, c := range cases {
		switch old := f.seen[c.file.Real]; {
		case old == nil:
			f.seen[c.file.Real] = c
			f.cases = append(f.cases, c)
		case c.rowNames == nil:
			old.rowNames = nil
		case old.rowNames != nil:
			old.rowNames = append(old.rowNames, c.rowNames...)
		}
	}
}

// selectCase returns the only case that name names. A row's name may follow the case's name: CASE/ROW.
func selectCase(cases []*caseFile, p loader.Path, name string) ([]*caseFile, error) {
	var names []string
	name, row, hasRow := strings.Cut(name, "/")
	for _, c := range cases {
		if c.name() == name {
			if hasRow {
				c.rowNames = []string{row}
			}
			return []*caseFile{c}, nil
		}
		names = append(names, c.name())
	}
	slices.Sort(names)
	hint := ""
	if found := near.Name(name, names); found != "" {
		hint = near.Hint(p.Shown + "::" + found)
	}
	return nil, &UsageError{errtext.Errorf("%s has no case %q%s", p.Shown, name, hint)}
}

// casesAt returns the cases at a path. The path is a plugin, a folder of plugins or cases, or the file of a
// case.
func casesAt(p loader.Path) ([]*caseFile, error) {
	info, err := os.Stat(p.Real)
	switch {
	case err != nil:
		return nil, findError(p, err)
	case info.IsDir():
		return casesIn(p), nil
	case strings.HasSuffix(p.Real, caseSuffix):
		in := inspectFolder(parentFolder(p))
		return []*caseFile{in.locate(p)}, nil
	case filepath.Base(p.Real) == pluginFile:
		return listCases(joinPath(parentFolder(p), caseFolder)), nil
	}
	cases := listCases(joinPath(parentFolder(p), caseFolder))
	return slices.DeleteFunc(cases, func(c *caseFile) bool { return c.plugin.Real != p.Real }), nil
}

// findError returns the error that loading a plugin at a missing path returns.
func findError(p loader.Path, err error) error {
	if _, problems := loader.Discover([]loader.Path{p}, 0); len(problems) > 0 {
		err = problems[0]
	}
	return &UsageError{err}
}

// casesIn returns the cases of a folder. If the folder is a plugin, these are the plugin's cases. Otherwise
// they are the cases in the folder, and those of the plugins in the folder.
func casesIn(dir loader.Path) []*caseFile {
	cases := listCases(joinPath(dir, caseFolder))
	if exists(joinPath(dir, pluginFile)) {
		return cases
	}
	cases = append(listCases(dir), cases...)
	entries, _ := os.ReadDir(dir.Real) // a folder that cannot be read has no entries
	for _, e := range entries {
		if sub := joinPath(dir, e.Name()); exists(joinPath(sub, pluginFile)) {
			cases = append(cases, listCases(joinPath(sub, caseFolder))...)
		}
	}
	return cases
}

// listCases returns the cases whose files are in a folder.
func listCases(dir loader.Path) []*caseFile {
	var cases []*caseFile
	entries, _ := os.ReadDir(dir.Real) // a folder that cannot be read has no cases
	if len(entries) == 0 {
		return nil
	}
	in := inspectFolder(dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), caseSuffix) && !strings.HasPrefix(e.Name(), ".") {
			cases = append(cases, in.locate(joinPath(dir, e.Name())))
		}
	}
	return cases
}

// A folder is a folder that contains the files of cases.
type folder struct {
	shown  string
	golden bool        // the folder's name is golden
	outer  loader.Path // the folder around it
	plugin bool        // the folder outer is a plugin
}

// inspectFolder finds out where a folder is, once for all of its cases.
func inspectFolder(dir loader.Path) folder {
	outer := parentFolder(dir)
	return folder{
		path.Clean(dir.Shown), filepath.Base(dir.Real) == caseFolder, outer, exists(joinPath(outer, pluginFile)),
	}
}

// locate returns a case of the folder with its plugin. The plugin is the folder around golden/, or NAME.star
// beside golden/ for a case NAME_*.txtar. If several NAMEs fit, the longest one wins.
func (f *folder) locate(file loader.Path) *caseFile {
	c := &caseFile{file: file}
	name := c.name()
	if f.golden {
		c.plugin = f.pluginFor(name)
	}
	shown := f.shown
	if c.plugin.Real != "" {
		shown = c.plugin.Shown
	}
	c.id = shown + "::" + name
	return c
}

// pluginFor returns the plugin of the case with a name; the result is zero if the case has none.
func (f *folder) pluginFor(name string) loader.Path {
	if f.plugin {
		return f.outer
	}
	for i := strings.LastIndexByte(name, '_'); i > 0; i = strings.LastIndexByte(name[:i], '_') {
		if single := joinPath(f.outer, name[:i]+starSuffix); exists(single) {
			return single
		}
	}
	return loader.Path{}
}

// discover returns the plugin at a path. Whoever wrote the case counts as the plugin's user, even if a
// project's config named the path: loading checks the names in the case's config, and applies its grants.
func discover(p loader.Path) (*loader.Source, error) {
	p.Place, p.Project = loader.Place{File: p.Shown}, false
	sources, problems := loader.Discover([]loader.Path{p}, 0)
	switch {
	case len(problems) > 0:
		return nil, problems[0]
	case len(sources) != 1:
		return nil, errors.New(p.Shown + " is no plugin")
	}
	return sources[0], nil
}

func exists(p loader.Path) bool {
	_, err := os.Stat(p.Real)
	return err == nil
}

func joinPath(dir loader.Path, name string) loader.Path {
	dir.Shown, dir.Real = path.Join(dir.Shown, name), filepath.Join(dir.Real, name)
	return dir
}

// parentFolder returns the folder that contains a path.
func parentFolder(p loader.Path) loader.Path {
	p.Shown, p.Real = path.Join(p.Shown, ".."), filepath.Dir(p.Real)
	return p
}

// AddInputs adds what the results of cases depend on: a folder, or the files that belong to a file: the plugin's folder that the file is in,
// or the plugins and cases beside it.
func AddInputs(in *loader.Inputs, name string) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		in.Folders = append(in.Folders, name)
		return
	}
	home := filepath.Dir(name)
	if filepath.Base(home) == "golden" {
		home = filepath.Dir(home)
	}
	if _, err := os.Stat(filepath.Join(home, "plugin.star")); err == nil {
		in.Folders = append(in.Folders, home)
		return
	}
	cases := filepath.Join(home, "golden")
	plugins, _ := filepath.Glob(filepath.Join(home, "*.star")) // no error, because the pattern is valid
	in.Files = append(append(in.Files, cases, name), plugins...)
	in.Folders = append(in.Folders, cases)
}
