package loader

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/starlark"
)

// rootPrefix begins the labels and positions of files that are named from the project's root.
const rootPrefix = "//"

// load reads the file that a load() label means: "lib/x.star" in the folder or library that
// the loading file is from, "@NAME//x.star" in a library of the config, "//lib/x.star" in the
// project of the plugin.
func (e *evaluation) load(from, label string) (string, []byte, error) {
	if label == rulesLibrary && e.source.isRules() {
		return label, []byte(rulesGuard), nil
	}
	loading := e.sourceOf(from)
	source, file, err := e.resolve(loading, label)
	if err != nil {
		return "", nil, e.explainLoad(loading, from, label, err)
	}
	f, err := source.file(file)
	if err != nil {
		return "", nil, e.explainLoad(loading, from, label, err)
	}
	name := source.File(file)
	if source != e.source {
		if e.libraryFiles == nil {
			e.libraryFiles = map[string]fragments.Hash{}
		}
		e.libraryFiles[name] = f.sum
	}
	return name, f.bytes, nil
}

// sourceOf returns the source that has the file which positions call name.
func (e *evaluation) sourceOf(name string) *Source {
	if strings.HasPrefix(name, rootPrefix) {
		return e.root
	}
	if rest, ok := strings.CutPrefix(name, "@"); ok {
		library, _, _ := strings.Cut(rest, rootPrefix)
		return e.libraries[library]
	}
	return e.source
}

// resolve returns the source that has the file of a label, and the file's name in it.
func (e *evaluation) resolve(loading *Source, label string) (*Source, string, error) {
	if file, ok := strings.CutPrefix(label, rootPrefix); ok {
		root, err := e.openRoot(loading)
		return root, file, err
	}
	rest, ok := strings.CutPrefix(label, "@")
	if !ok {
		return loading, label, nil
	}
	name, file, ok := strings.Cut(rest, rootPrefix)
	source := e.libraries[name]
	if !ok || source == nil || e.source.Managed && !source.Managed || !e.sees(source) {
		return nil, "", e.noLibrary(label, name, ok)
	}
	return source, file, nil
}

// sees reports whether the plugin may load a library. Only plugins of a project that is not trusted may load
// the project's libraries, so that these take no part in the user's plugins.
func (e *evaluation) sees(library *Source) bool {
	return !library.untrusted || e.config.governs(e.source, ownPlugins)
}

// openRoot returns the files of the plugin's project: those in the folder of the nearest starhost.toml, or
// else in the repository. They need no trust, because the plugin is a part of its project just as they are,
// and none of these files has more rights than the plugin.
func (e *evaluation) openRoot(loading *Source) (*Source, error) {
	if e.root == nil {
		folder := projectRoot(e.source.folderPath())
		if known := cmp.Or(e.config.project, e.config.caseRoot); folder == "" && e.source.isWithin(known) {
			folder = known
		}
		switch {
		case e.source.Managed:
			return nil, errorAt(Place{}, "E0611", "a managed plugin loads only libraries of the managed config")
		case folder == "":
			return nil, errorAt(Place{}, "E0611", "// begins at the project's root, and the plugin is in no project: want a %s or a git repository around it", ConfigName)
		}
		here, err := filepath.Abs(e.Dir)
		if err != nil {
			return nil, errorAt(Place{}, "E0607", "%s", reason(err))
		}
		real := resolveLinks(folder)
		shown := relativePath(resolveLinks(here), real)
		root := NewLibrary("", Path{Real: real, Shown: shown, Project: e.source.Project}, e.source.maxSource)
		root.Name, root.Display, root.pins = rootPrefix, rootPrefix, e.source.pins
		e.root = root
	}
	if loading != e.source && loading != e.root && !loading.isWithin(e.root.dir) {
		return nil, errorAt(Place{}, "E0611", "library %s is outside of the plugin's project, and knows no //", loading.Name)
	}
	return e.root, nil
}

// ShareFiles lets the plugins of c load the files of another config's project: the files that // names, and
// the project's libraries, unless c has a library of the same name. ShareFiles gives no other rights. It
// reports whether o has a project.
func (c *Config) ShareFiles(o *Config) bool {
	for name, folder := range o.Libraries {
		if _, ok := c.Libraries[name]; !ok {
			c.Libraries[name] = Path{Shown: folder.Shown, Real: folder.Real}
		}
	}
	c.caseRoot = o.project
	return o.project != ""
}

// PathFromHere returns the path, from the user's folder, of a plugin's or library's file. shown is the name
// that positions have, which is relative to the plugin's or library's folder. PathFromHere returns any other
// name unchanged.
func (s *Set) PathFromHere(shown string) string {
	first, rest, isInFolder := strings.Cut(shown, "/")
	owner, isFile := strings.CutSuffix(shown, ".star")
	for i := range s.Plugins { // compares without joining names, because list calls this for each row
		switch p := &s.Plugins[i]; {
		case isInFolder && first == p.Name:
			return path.Join(p.Path, rest)
		case isFile && owner == p.Name:
			return p.Path
		}
	}
	if file, ok := s.projectFile(shown); ok {
		return file
	}
	name, rest, ok := strings.Cut(strings.TrimPrefix(shown, "@"), rootPrefix)
	if library, exists := s.Config.Libraries[name]; ok && exists {
		return filepath.ToSlash(filepath.Join(library.Shown, rest))
	}
	return shown
}

// MoveHere returns a copy of a script's error in which the places have paths from the user's folder.
func (s *Set) MoveHere(e *starlark.Error) *starlark.Error {
	moved := *e
	moved.Pos.File, moved.Trace = s.PathFromHere(e.Pos.File), slices.Clone(e.Trace)
	for i := range moved.Trace {
		moved.Trace[i].Pos.File = s.PathFromHere(e.Trace[i].Pos.File)
	}
	return &moved
}

// projectFile returns the path for messages of the file that positions call "//FILE". ok is false if no
// plugin loaded such a file from the root of its project.
func (s *Set) projectFile(name string) (shown string, ok bool) {
	for i := range s.Plugins {
		e := s.Plugins[i].unloaded
		if inside := s.Plugins[i].Inside; inside != nil {
			e = inside.of
		}
		if e == nil {
			continue // the config disables this plugin
		}
		file, fromRoot := strings.CutPrefix(name, rootPrefix)
		if _, loaded := e.libraryFiles[name]; loaded && fromRoot {
			return path.Join(e.root.Path, file), true
		}
	}
	return "", false
}

// projectRoot returns the folder of the project that dir is in: that of the nearest config, in dir or above
// it in the repository, or else the root of the repository. It returns "" outside of any project.
func projectRoot(dir string) string {
	folders, repository, _ := ancestry(dir) // if this fails, both are empty
	if file := nearestConfig(folders); file != "" {
		return filepath.Dir(file)
	}
	return repository
}

// A rootFile is a file that a plugin loads from the root of its project.
type rootFile struct {
	source     *Source
	name, real string
}

// mayLoad reports whether a text can have a load statement: whether one of its words ends with "load". A name
// cannot be written with escapes.
func mayLoad(src []byte) bool {
	for found := true; found; {
		_, src, found = bytes.Cut(src, []byte("load"))
		if r, _ := utf8.DecodeRune(src); found && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return true
		}
	}
	return false
}

// labelsOf returns the labels in the load statements of a file. It returns none for a file with a syntax
// error, because evaluating that file fails anyway.
func labelsOf(name string, src []byte) []string {
	words, err := vocabulary()
	if err != nil || !mayLoad(src) {
		return nil
	}
	f, err := words.WithLimits(starlark.Limits{Source: int64(len(src))}).Parse(name, src)
	if err != nil {
		return nil
	}
	return builtins.ReadHooks(f.Syntax()).Loads
}

// rootFiles returns the files below the project's root that the files of a plugin or library load by //,
// directly or through other files. Trust pins these files, and plugins may not write them.
func (s *Source) rootFiles() (all []rootFile) {
	if s.Main != "" && !s.mentionsRoot() {
		return nil
	}
	root := projectRoot(s.folderPath())
	if root == "" {
		return nil
	}
	files := NewLibrary("", Path{Real: root}, s.maxSource)
	files.Name, files.Display = rootPrefix, rootPrefix
	type text struct {
		source *Source
		name   string
	}
	seen := map[text]bool{}
	queue := []text{{s, s.Main}}
	if s.Main == "" { // s is a library
		names, _ := s.Glob("**/*.star", nil)
		queue = nil
		for _, name := range names {
			queue = append(queue, text{s, name})
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		f, err := at.source.file(at.name)
		if seen[at] || err != nil {
			continue // the evaluation will report the error
		}
		seen[at] = true
		if at.source == files {
			all = append(all, rootFile{files, at.name, files.Real(at.name)})
		}
		for _, label := range labelsOf(at.name, f.bytes) {
			if name, ok := strings.CutPrefix(label, rootPrefix); ok {
				queue = append(queue, text{files, name})
			} else if !strings.HasPrefix(label, "@") {
				queue = append(queue, text{at.source, label})
			}
		}
	}
	return all
}

// mentionsRoot reports whether the plugin's file can have a load statement at all. Most files have none, and
// need no parsing here.
func (s *Source) mentionsRoot() bool {
	f, err := s.file(s.Main)
	return err == nil && mayLoad(f.bytes)
}

// realPath returns the absolute path of the file that positions call name.
func (e *evaluation) realPath(name string) string {
	if name == rulesLibrary {
		return ""
	}
	return e.sourceOf(name).realPath(name)
}

func (e *evaluation) noLibrary(label, name string, named bool) error {
	if !named {
		return errorAt(Place{}, "E0611", "got %q, want @NAME//FILE", label)
	}
	if e.source.Managed && e.libraries[name] != nil {
		const want = "a managed plugin loads only libraries of the managed config"
		return errorAt(Place{}, "E0611", "library %s comes from another config: %s", name, want)
	}
	return errorAt(Place{}, "E0611", "no library is named %s%s: [libraries] of the config names them",
		name, near.DidYouMean(name, slices.Sorted(maps.Keys(e.libraries))))
}

// explainLoad returns the error of a label that leads to no file. If the label would be right elsewhere, the
// error says what to write instead: for a label in Bazel's form, from the folder of the loading file, or
// without the ending, and for a module that plugins have without load. The caller knows the place of the
// label.
func (e *evaluation) explainLoad(loading *Source, from, label string, err error) error {
	located, ok := errors.AsType[*Error](err)
	if !ok || located.code != "E0604" && located.code != "E0611" && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	explained := *located
	explained.Place = Place{}
	if other := e.otherLabel(loading, from, label); other != "" {
		explained.Msg = "no such file: paths begin at the folder of the plugin or library, so write load(\"" + other + "\", ...)"
	} else if host := hostName(label); host != "" {
		explained.Msg = host
	} else if located.code == "E0607" {
		explained.Place = located.Place
		explained.Msg += e.rootOfLabel(loading, label)
	}
	return &explained
}

// rootOfLabel says in words at which folder the path of a label begins. If the label itself shows this, the
// result is "".
func (e *evaluation) rootOfLabel(loading *Source, label string) string {
	source, _, err := e.resolve(loading, label)
	if err != nil || source == e.source {
		return ""
	}
	return fmt.Sprintf(" (%s is the folder %s)", source.prefix(), cmp.Or(source.Path, "."))
}

// otherLabel returns a label that is similar to the given one and leads to a file, or "".
func (e *evaluation) otherLabel(loading *Source, from, label string) string {
	if strings.HasPrefix(label, "@") {
		return ""
	}
	bare, fromRoot := strings.CutPrefix(label, rootPrefix)
	bare = strings.TrimPrefix(strings.ReplaceAll(bare, ":", "/"), "/")
	dir := path.Dir(strings.TrimPrefix(from, loading.prefix()))
	for _, name := range []string{path.Join(dir, bare), path.Clean(bare)} {
		for _, end := range []string{"", ".star"} {
			if exists, err := loading.Exists(name + end); err == nil && exists && path.Ext(name+end) != "" {
				return strings.TrimSuffix(loading.prefix(), loading.Name+"/") + name + end
			}
		}
	}
	if fromRoot && e.root != nil {
		if exists, err := e.root.Exists(bare); err == nil && exists && bare != "" {
			return rootPrefix + bare
		}
	}
	return ""
}

// hostName returns a text that says under which name starhost has the module that a label such as
// "encoding/json.star" means, or "".
func hostName(label string) string {
	name := strings.TrimPrefix(label, "encoding/")
	if !strings.HasPrefix(label, "@") && strings.Contains(name, "/") {
		return "" // such a label means a file
	}
	name = path.Base(strings.ReplaceAll(name, ":", "/"))
	for _, end := range []string{".star", ".bzl", ".sky"} {
		name = strings.TrimSuffix(name, end)
	}
	for _, topic := range builtins.Topics(nil) {
		if topic.Module && topic.Name == name {
			return name + " is there without load: drop this line"
		}
		has := func(member string) bool {
			return member == "ctx."+name || strings.HasPrefix(member, "ctx."+name+".")
		}
		for i := range topic.Entries {
			if has(topic.Entries[i].Name) {
				return name + " is ctx." + name + " in handlers, without load: drop this line"
			}
		}
	}
	return ""
}
