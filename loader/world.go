package loader

import (
	"cmp"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
)

// openWorld sets the parts of the World that all plugins share.
func (l *loadRun) openWorld() error {
	w := &l.World
	if w.Env == nil {
		w.Env = l.LookupEnv
	}
	if w.Secrets == nil {
		w.Secrets = l.secrets()
	}
	l.set.secrets = w.Secrets
	l.set.world = effects.World{Secrets: w.Secrets, Answers: w.Answers, DryRun: w.DryRun}
	if record := l.Host.Record; record != nil {
		l.Host.Record = func(e host.Entry) { // the secrets also redact the texts of models
			e.Line = w.RedactJSON(e.Line)
			record(e)
		}
	}
	if w.Workspace != nil {
		return nil
	}
	dir, err := Workspace(cmp.Or(l.Folder, l.Dir))
	if err != nil {
		return err
	}
	if w.Workspace, err = effects.OpenFiles(dir, effects.FileOptions{}); err != nil {
		return errorAt(Place{File: filepath.ToSlash(l.Dir)}, "E0607", "the workspace cannot be opened: %s", reason(err))
	}
	l.set.workspace, l.workspaceFolder = w.Workspace, resolveLinks(dir)
	w.Folders = []string{filepath.ToSlash(dir), filepath.ToSlash(l.workspaceFolder)}
	w.Protected = slices.Concat(w.Protected, l.protectedPaths(dir))
	return nil
}

// World returns the World of a program that the config adds as a plugin. It has no permissions.
func (s *Set) World(plugin string) *effects.World {
	w := s.world
	w.Plugin = plugin
	return &w
}

// Secret returns the value of a secret of the config, for the host's own requests.
func (s *Set) Secret(name string) (string, error) { return s.secrets.Value(name) }

// secrets returns the secrets of the config.
func (l *loadRun) secrets() *effects.Secrets {
	return l.config.NewSecrets(l.LookupEnv, l.allConfigs()...)
}

// NewSecrets returns the secrets of configs, of which the first with a name counts. They remove what
// redact.patterns of c matches.
func (c *Config) NewSecrets(lookupEnv func(string) (string, bool), configs ...*Config) *effects.Secrets {
	o := effects.SecretOptions{Sources: map[string]effects.SecretSource{}, LookupEnv: lookupEnv}
	for _, from := range configs {
		for name, s := range from.Secrets {
			if _, ok := o.Sources[name]; !ok {
				o.Sources[name] = effects.SecretSource{File: s.File.Real, Command: s.Command, Dir: s.Dir}
			}
		}
	}
	for _, text := range c.Log.Redact {
		o.Patterns = append(o.Patterns, regexp.MustCompile(text)) // no panic, because the config has been checked
	}
	return effects.NewSecrets(o)
}

// protectedPaths returns the paths of configs, plugins and libraries in the workspace. Plugins must not write
// to them, because these files decide which plugins run with which permissions.
func (l *loadRun) protectedPaths(workspace string) []string {
	real := make([]string, 0, len(l.config.files)+len(l.sources))
	for _, c := range l.allConfigs() {
		for _, name := range c.files {
			real = append(real, resolveLinks(name))
		}
		for _, s := range l.librariesOf(c) {
			real = append(real, s.rootPath())
		}
	}
	for _, s := range l.sources {
		real = append(real, s.rootPath())
	}
	var inside []string
	workspace = resolveLinks(workspace)
	for _, name := range real {
		if rel, in := below(workspace, name); in {
			inside = append(inside, filepath.ToSlash(rel))
		}
	}
	slices.Sort(inside)
	return slices.Compact(inside)
}

// protectRootFiles also protects the files that plugins load from the root of their project. It must run
// after reading the plugins, because reading checks the bytes of these files.
func (l *loadRun) protectRootFiles(read []evaluation) {
	if l.set.workspace == nil {
		return
	}
	for i := range read {
		s := read[i].source
		if read[i].file == nil || s.Managed {
			continue
		}
		for _, file := range s.rootFiles() {
			if rel, in := below(l.workspaceFolder, resolveLinks(file.real)); in {
				l.World.Protected = append(l.World.Protected, filepath.ToSlash(rel))
			}
		}
	}
}

// rootPath returns the real path of the plugin's folder, or of its file if it has no folder.
func (s *Source) rootPath() string {
	if s.Folder {
		return s.folderPath()
	}
	return s.mainPath()
}

// openHostWorld sets the World that the host's own references use.
func (l *loadRun) openHostWorld() error {
	w := l.World
	var err error
	if w.Granted, err = effects.ParseGrants(l.config.Grants[starhost.HostPlugin]); err != nil {
		return errorAt(l.config.Place("grants", starhost.HostPlugin), "E0603", "grants.%s: %v", starhost.HostPlugin, err)
	}
	for _, text := range l.Grants {
		name, permission, err := parseGrant(text)
		if err != nil {
			return err
		}
		if name == starhost.HostPlugin && !l.isManaged(nil, name, "--grant "+text, "grants", name) {
			w.Granted = append(w.Granted, permission)
		}
	}
	l.hostWorld = &w
	return nil
}

// world returns the World with the effects that the plugin may do.
func (e *evaluation) world() (*effects.World, error) {
	w := e.World
	if w.Plugin = e.source.Name; e.config.options != nil {
		w.Owner = sync.OnceValue(e.owner)
	}
	if e.source.Folder {
		w.Own = e.source
	}
	var err error
	w.Declared, w.Granted, err = e.rights()
	w.Ignored = e.config.ignoredGrantsOf(e.source)
	return &w, err
}

// owner returns the owner of the plugin's values. The owner's name is the plugin's name, together with the
// layer or the root of the project that the plugin comes from, or else its folder. A plugin at a path of the
// user's config has only its name.
func (e *evaluation) owner() *effects.Owner {
	s := e.source
	if s.Managed {
		return &effects.Owner{Name: s.Name + "@managed", Layer: "managed"}
	}
	main := resolveLinks(s.rootPath())
	for _, p := range e.config.Plugins.Paths {
		if _, in := below(resolveLinks(p.Real), main); in && !p.Project {
			return &effects.Owner{Name: s.Name}
		}
	}
	o := &effects.Owner{Name: s.Name + "@" + cmp.Or(projectRoot(s.folderPath()), filepath.Dir(main))}
	if !e.config.isVouched(s) {
		o.Layer = "project"
	}
	return o
}

// rights returns the permissions that the plugin declares, and those that the config grants it. It also reads
// the secrets that the plugin may use, so that starhost can redact them everywhere.
func (e *evaluation) rights() (declared, granted effects.Grants, err error) {
	if declared, err = effects.ParseGrants(e.plugin.Declared); err != nil {
		return nil, nil, err
	}
	if granted, err = effects.ParseGrants(e.plugin.Granted); err != nil {
		return nil, nil, errorAt(e.config.Place("grants", e.source.Name), "E0603", "grants.%s: %v", e.source.Name, err)
	}
	e.World.Secrets.Watch(append(secretNames(declared, granted), e.requiredSecrets()...)...)
	return declared, granted, nil
}

// requiredSecrets returns the secrets that requires_env names. It returns none for a plugin of an untrusted
// project: any variable would become a secret, so the plugin could make starhost redact words in the texts of
// other plugins.
func (e *evaluation) requiredSecrets() (names []string) {
	for _, v := range e.manifest.RequiresEnv {
		if v.Secret && e.config.isVouched(e.source) {
			names = append(names, v.Name)
		}
	}
	return names
}

// secretNames returns the secrets that a plugin declares by their full names and that the config grants it.
func secretNames(declared, granted effects.Grants) []string {
	var names []string
	for _, p := range declared {
		name, _, _ := strings.Cut(p.Pattern, "@")
		grants := func(g effects.Permission) bool {
			pattern, _, _ := strings.Cut(g.Pattern, "@")
			ok, err := path.Match(pattern, name)
			return g.Kind == p.Kind && ok && err == nil
		}
		if p.Kind == "secret" && !isPattern(name) && slices.ContainsFunc(granted, grants) {
			names = append(names, name)
		}
	}
	return names
}

// commonNames returns the globs on names that a plugin declares and that the config grants it. It omits globs
// that overlap only in part, because no glob describes their overlap.
func commonNames(kind string, declared, granted effects.Grants) []string {
	var names []string
	for _, d := range declared {
		for _, g := range granted {
			if d.Kind != kind || g.Kind != kind {
				continue
			}
			switch {
			case d == g, g.Pattern == "*", !isPattern(d.Pattern) && granted.Allows(kind, d.Pattern):
				names = append(names, d.Pattern)
			case d.Pattern == "*", !isPattern(g.Pattern) && declared.Allows(kind, g.Pattern):
				names = append(names, g.Pattern)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isPattern reports whether a glob can match more than one name.
func isPattern(pattern string) bool { return strings.ContainsAny(pattern, "*?") }
