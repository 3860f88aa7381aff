package golden

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/loader"
)

const (
	caseFolder = "golden"
	caseSuffix = ".txtar"
	starSuffix = ".star"
	pluginFile = "plugin.star"
)

// A located case is a file and the plugin beside it.
type caseFile struct {
	id     string      // "scripts/oncall::slow": what --run matches and PATH can name
	file   loader.Path // the case's
	plugin loader.Path // zero if the case brings all its plugins
}

// name is what the file is called, without its suffix.
func (l *caseFile) name() string {
	return strings.TrimSuffix(path.Base(filepath.ToSlash(l.file.Real)), caseSuffix)
}

// inGoldenFolder tells whether the file is where the cases of plugins are.
func (l *caseFile) inGoldenFolder() bool {
	return filepath.Base(filepath.Dir(l.file.Real)) == caseFolder
}

// A finder collects cases, each once.
type finder struct {
	cases []*caseFile
	seen  map[string]bool // by real path
}

// findCases returns the cases at the paths of the options, in the order of paths and
// then of names.
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

// orphans returns the cases beside a plugin that is a file that have no plugin.
// Nobody who names a plugin means them, but they are there for nothing.
func orphans(p loader.Path) []*caseFile {
	if !strings.HasSuffix(p.Real, starSuffix) {
		return nil
	}
	cases := listCases(joinPath(parentFolder(p), caseFolder))
	return slices.DeleteFunc(cases, func(c *caseFile) bool { return c.plugin.Real != "" })
}

// argument adds the cases at a path, or the one of that name.
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
		f.seen = make(map[string]bool, len(cases))
	}
	for _, c := range cases {
		if !f.seen[c.file.Real] {
			f.seen[c.file.Real] = true
			f.cases = append(f.cases, c)
		}
	}
}

// selectCase returns the case of that name alone.
func selectCase(cases []*caseFile, p loader.Path, name string) ([]*caseFile, error) {
	var names []string
	for _, c := range cases {
		if c.name() == name {
			return []*caseFile{c}, nil
		}
		names = append(names, c.name())
	}
	slices.Sort(names)
	hint := ""
	if found := near.Name(name, names); found != "" {
		hint = near.Hint(p.Shown + "::" + found)
	}
	return nil, &UsageError{fmt.Errorf("%s has no case %q%s", p.Shown, name, hint)}
}

// casesAt returns the cases of a plugin, of a folder of plugins or of cases, or
// the one that a file is.
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

// findError says that a path does not exist, as loading it would.
func findError(p loader.Path, err error) error {
	if _, problems := loader.Discover([]loader.Path{p}, 0); len(problems) > 0 {
		err = problems[0]
	}
	return &UsageError{err}
}

// casesIn returns the cases of a folder: those of the plugin that it is, else
// those that it holds and those of the plugins in it.
func casesIn(dir loader.Path) []*caseFile {
	cases := listCases(joinPath(dir, caseFolder))
	if exists(joinPath(dir, pluginFile)) {
		return cases
	}
	cases = append(listCases(dir), cases...)
	entries, _ := os.ReadDir(dir.Real) // no entries, no cases
	for _, e := range entries {
		if sub := joinPath(dir, e.Name()); exists(joinPath(sub, pluginFile)) {
			cases = append(cases, listCases(joinPath(sub, caseFolder))...)
		}
	}
	return cases
}

// listCases returns the cases that are files of a folder.
func listCases(dir loader.Path) []*caseFile {
	var cases []*caseFile
	entries, _ := os.ReadDir(dir.Real) // no folder, no cases
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

// A folder is one that cases are in.
type folder struct {
	shown  string
	golden bool        // it is where the cases of plugins are
	outer  loader.Path // that it is in
	plugin bool        // the outer one is a plugin
}

func inspectFolder(dir loader.Path) folder {
	outer := parentFolder(dir)
	return folder{
		path.Clean(dir.Shown), filepath.Base(dir.Real) == caseFolder, outer, exists(joinPath(outer, pluginFile)),
	}
}

// locate finds the plugin beside a case of the folder: the one that golden/ is in, if that
// is one, or NAME.star there for NAME_*.txtar; of several the longest NAME.
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

// pluginFor returns the plugin of a case, zero if there is none.
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

// discover returns the plugin at a path. Whoever led there, it is the operator of the
// case who uses it: names in the case's config are checked, and its grants bind.
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

// parentFolder returns the folder that a path is in.
func parentFolder(p loader.Path) loader.Path {
	p.Shown, p.Real = path.Join(p.Shown, ".."), filepath.Dir(p.Real)
	return p
}
