package check

// Checks for an editor: of one plugin, with the texts of open files.

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/editor/lsp"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
)

// discoverEdited finds the plugin of the edited file, and the plugins at the paths, because it may
// load from them or clash with them. Texts replace files that the editor has not saved. problem is
// the error of the paths: there may be no other plugin.
func (c *checker) discoverEdited(paths []loader.Path, problem error) error {
	var unusable *loader.Error
	if problem != nil && !errors.Is(problem, loader.ErrNoPlugins) && !errors.As(problem, &unusable) {
		return problem
	}
	edited := c.options.Edited
	if strings.HasSuffix(edited, ".txtar") {
		if edited = caseSubject(edited); edited == "" {
			c.sources = []*loader.Source{}
			return nil
		}
	}
	plugin, file := owningPlugin(loader.NewPath(c.options.Load.Dir, edited))
	all, own, err := loader.DiscoverEdited(paths, plugin)
	if err != nil {
		return err
	}
	c.sources, c.editedPlugin, c.editedFile = all, own, file
	if text, ok := c.options.Unsaved[edited]; ok {
		if err := own.Replace(file, []byte(text)); err != nil {
			return err
		}
	}
	for _, s := range c.sources {
		for path, text := range c.options.Unsaved {
			replaceUnsaved(s, path, text)
		}
	}
	return nil
}

// owningPlugin returns the plugin of a file and the file's name in it: the nearest folder above
// the file that contains a plugin.star, else the file itself.
func owningPlugin(p loader.Path) (plugin loader.Path, file string) {
	for dir := filepath.Dir(p.Real); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "plugin.star")); err == nil {
			file, _ := filepath.Rel(dir, p.Real) // no error: dir is above the file
			file = filepath.ToSlash(file)
			shown := strings.TrimSuffix(strings.TrimSuffix(p.Shown, file), "/")
			return loader.Path{Shown: cmp.Or(shown, "."), Real: dir}, file
		}
		if dir == filepath.Dir(dir) {
			return p, filepath.Base(p.Real)
		}
	}
}

// PluginRoot returns the folder of the plugin of a file or golden case, "" for a plugin that is a
// single file.
func PluginRoot(path string) string {
	plugin, _ := owningPlugin(loader.Path{Real: path})
	if plugin.Real == path {
		return ""
	}
	return plugin.Real
}

// caseSubject returns a file of the plugin that a golden case is about, "" if there is none: the
// plugin's folder is around the case, or NAME.star is beside golden/NAME_x.txtar.
func caseSubject(file string) string {
	if root := PluginRoot(file); root != "" {
		return filepath.Join(root, "plugin.star")
	}
	dir := filepath.Dir(filepath.Dir(file))
	name := strings.TrimSuffix(filepath.Base(file), ".txtar")
	for name != "" {
		if star := filepath.Join(dir, name+".star"); isFile(star) {
			return star
		}
		name = name[:max(strings.LastIndexByte(name, '_'), 0)]
	}
	return ""
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// Analyse checks the plugin of an open file. err is that of reading the config; then there is no
// more to find.
func Analyse(ctx context.Context, o Options, err error) lsp.Analysis {
	c := newChecker(o)
	if err == nil {
		err = c.run(ctx)
	}
	if c.Set != nil {
		defer c.Set.Close()
	}
	var found lsp.Analysis
	if err != nil { // the project's config, mostly
		p := report.Describe(err)
		found.Findings = []lsp.Finding{{Path: o.Edited, Line: 1, Code: p.Code, Message: p.Where(), Help: p.Help}}
		return found
	}
	if c.editedPlugin == nil {
		return found
	}
	paths := c.openPaths()
	for _, f := range c.Findings {
		found.Findings = append(found.Findings, lsp.Finding{
			Path: paths[c.realPath(f.Pos.File)], Line: f.Pos.Line, Col: f.Pos.Col, Severity: string(f.Severity),
			Code: f.Code, Message: f.Message, Help: f.Help,
		})
	}
	found.Facts = c.facts()
	i := slices.Index(c.sources, c.editedPlugin)
	found.Failed = i < 0 || c.Set.Plugins[i].Err != nil
	return found
}

// replaceUnsaved gives a plugin the text of an open file, if the file belongs to it.
func replaceUnsaved(s *loader.Source, path, text string) {
	name, err := filepath.Rel(s.Real("."), resolved(path))
	if err == nil && (s.Folder || name == s.Main) {
		_ = s.Replace(filepath.ToSlash(name), []byte(text)) // it refuses files outside
	}
}

// resolved returns a path without links. A file that does not exist may be in a folder behind
// links.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// openPaths returns the paths of the open files as the editor writes them, by their real paths.
func (c *checker) openPaths() map[string]string {
	paths := map[string]string{}
	for path := range c.options.Unsaved {
		paths[resolved(path)] = path
	}
	return paths
}

// realPath returns the real path of a file of the edited plugin by its displayed name. Findings
// without a file are about the main file.
func (c *checker) realPath(shown string) string {
	s := c.editedPlugin
	name, inside := strings.CutPrefix(shown, s.Name+"/")
	if shown == s.Display || !inside {
		name = s.Main
	}
	return s.Real(name)
}

// facts returns the names that the loaded plugins register.
func (c *checker) facts() *lsp.Facts {
	host := c.Set.Host
	f := &lsp.Facts{Root: PluginRoot(c.options.Edited), Libraries: map[string]string{}}
	for _, name := range starNames(c.editedPlugin) {
		if name != c.editedPlugin.Main {
			f.Files = append(f.Files, name)
		}
	}
	for name, folder := range c.config.Libraries {
		f.Libraries[name] = folder.Real
		names, err := loader.NewLibrary(name, folder, 0).Glob("**/*.star", nil)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // loading reports a library that a plugin needs
		}
		for _, file := range names {
			f.Files = append(f.Files, "@"+name+"//"+file)
		}
	}
	slices.Sort(f.Files)
	for _, t := range host.Tools() {
		f.Tools = append(f.Tools, lsp.Fact{Name: t.Name, Doc: texttable.FirstLine(t.Description)})
	}
	for _, l := range host.FragmentLoaders() {
		if strings.Trim(l.Prefix, "-") != "" { // "-" is standard input
			f.Prefixes = append(f.Prefixes, lsp.Fact{Name: l.Prefix, Doc: texttable.FirstLine(l.Description)})
		}
	}
	for _, l := range host.TemplateLoaders() {
		f.Templates = append(f.Templates, lsp.Fact{Name: l.Prefix, Doc: texttable.FirstLine(l.Description)})
	}
	f.Events = host.Events()[len(starhost.Events()):]
	return f
}

// maxSharedAnalyses is how many analyses use one cache of compiled plugins before a new cache begins. Almost
// every analysis compiles a text that no other one uses.
const maxSharedAnalyses = 50

// Caches returns a function that returns the cache for the next analysis.
func Caches() func() *starlark.Cache {
	uses, cache := 0, new(starlark.Cache)
	return func() *starlark.Cache {
		if uses++; uses > maxSharedAnalyses {
			uses, cache = 0, new(starlark.Cache)
		}
		return cache
	}
}
