package loader

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/near"
)

// governs reports whether the project's config may make a setting for the plugin. It may if the plugin was
// found because of the project. If an argument named a plugin of the project, an untrusted project may only
// give it values. A plugin that the user's config names is the user's, wherever it lies.
func (c *Config) governs(s *Source, setting projectRight) bool {
	switch {
	case c.project == "" || s.Managed:
		return false
	case s.isNamed():
		return c.trustedFiles.covers(s) || setting == ownPlugins && s.isWithin(c.project)
	}
	return s.Project
}

// isVouched reports whether somebody whom the operator trusts has brought the plugin: the operator, by the
// user's config or an argument, or a trusted project.
func (c *Config) isVouched(s *Source) bool { return !s.Project || c.trustedFiles.covers(s) }

// GrantsOf returns the permissions that the config grants to the plugin: the operator's grants if the
// operator named the plugin's path, and the grants of a trusted project if the plugin belongs to it. If the
// managed config has grants for the plugin, these replace all others.
func (c *Config) GrantsOf(s *Source) []string {
	if s.Managed {
		return c.configOf(s).Grants[s.Name]
	}
	var grants []string
	if !s.Project {
		grants = c.Grants[s.Name]
	}
	if _, ok := c.managedPlace("grants", s.Name); ok {
		return grants
	}
	if c.trustedFiles.covers(s) {
		grants = slices.Concat(grants, c.projectGrants[s.Name].permissions)
	}
	return grants
}

// ignoredGrantsOf returns the grants for the plugin that do not count. Each key says where they are and why
// they do not count.
func (c *Config) ignoredGrantsOf(s *Source) map[string]effects.Grants {
	ignored := map[string]effects.Grants{}
	add := func(texts []string, at Place, why string) {
		if grants, err := effects.ParseGrants(texts); err == nil && len(grants) > 0 {
			ignored[at.String()+" grants it, which does not count: "+why] = grants
		}
	}
	project := c.projectGrants[s.Name]
	if project, ok := c.ignoredGrants[s.Name]; ok {
		help := trustCommand(project.place.File)
		if strings.HasPrefix(c.untrusted, changedText) {
			help += ", or " + help + " --path while you edit it"
		}
		add(project.permissions, project.place, "this project "+c.untrusted+" ("+help+")")
	}
	if c.unread != "" && s.isWithin(filepath.Dir(c.unread)) {
		ignored[c.unreadAt.String()+" has a mistake, so nothing of that file counts: the project is not trusted"] = nil
	}
	if s.Project && !s.Managed {
		add(c.Grants[s.Name], c.Place("grants", s.Name), "the plugin is the project's, and your config grants only to plugins that it or an argument names")
	}
	if at, ok := c.managedPlace("grants", s.Name); ok {
		add(project.permissions, project.place, at.String()+" sets grants."+s.Name)
	} else if !c.trustedFiles.covers(s) {
		add(project.permissions, project.place, "the plugin is not one of the trusted project's files")
	}
	return ignored
}

// Paths returns the paths at which Load finds plugins: the arguments; without any, the paths of the
// config; without these, ./plugins, else ./*.star.
func (c *Config) Paths(dir string, args []string) ([]Path, error) {
	if len(args) > 0 {
		paths := make([]Path, len(args))
		for i, arg := range args {
			paths[i] = NewPath(dir, arg)
		}
		return paths, nil
	}
	if len(c.Plugins.Paths) > 0 {
		return c.Plugins.Paths, nil
	}
	return defaultPaths(dir)
}

// ErrNoPlugins is the cause of the error of [Config.Paths] if neither arguments nor the config name
// a plugin and the current folder has none.
var ErrNoPlugins = errors.New("no plugins")

func defaultPaths(dir string) ([]Path, error) {
	if info, err := os.Stat(filepath.Join(dir, "plugins")); err == nil && info.IsDir() {
		p := NewPath(dir, "plugins")
		p.Project = true
		return []Path{p}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, errorAt(Place{File: filepath.ToSlash(dir)}, "E0607", "%s", reason(err))
	}
	var paths []Path
	example := "" // for the error, which proposes it
	for _, e := range entries {
		p := NewPath(dir, e.Name())
		p.Project = true
		if _, err := os.Stat(filepath.Join(p.Real, mainFile)); err == nil && PluginName(e.Name()) == e.Name() {
			example = near.Hint(e.Name())
		}
		switch {
		case e.Name() == mainFile: // the folder is one plugin, and its other files are modules of it
			return []Path{p}, nil
		case strings.HasSuffix(e.Name(), ".star") && !strings.HasPrefix(e.Name(), "."):
			paths = append(paths, p)
		}
	}
	if len(paths) == 0 {
		err := errorAt(Place{}, "E0604", "no plugins: got no PATH, no [plugins] paths in %s, no ./plugins and no ./*.star%s", ConfigName, example)
		err.err = ErrNoPlugins
		return nil, err
	}
	return paths, nil
}

// Select divides the found plugins into those to use and those that are disabled, in the given order. It
// applies the settings that the project's config makes for its own plugins; callers apply flags after that.
// It warns of names in the config that no plugin has, unless arguments named the plugins.
func (c *Config) Select(found []*Source) (used, disabled []*Source, warnings []Warning) {
	return c.selectAmong(found, slices.ContainsFunc(found, (*Source).isNamed))
}

// selectAmong does what Select does, for some of the plugins. byName is true if arguments named some of the
// plugins.
func (c *Config) selectAmong(found []*Source, byName bool) (used, disabled []*Source, warnings []Warning) {
	c.warnings = nil
	names := sync.OnceValue(func() map[string]*Source { // a function, because few configs need the names
		names := make(map[string]*Source, len(found))
		for _, s := range found {
			names[s.Name] = s
		}
		return names
	})
	project := c.applyPending(names, byName)
	for _, s := range found {
		if c.trustedFiles.covers(s) {
			s.pins = c.trustedFiles.files
		}
		if s.Managed {
			c.takeOver(s.Name)
		}
		if c.isUsed(s, project) {
			used = append(used, s)
		} else {
			disabled = append(disabled, s)
		}
	}
	if !byName {
		c.checkNames(names())
	}
	return used, disabled, c.warnings
}

// applyPending applies the project's settings for its own plugins, and returns which plugins the project
// enables and disables. It warns of names that no plugin has, unless byName says that arguments named
// plugins.
func (c *Config) applyPending(names func() map[string]*Source, byName bool) (project PluginsConfig) {
	if len(c.pending) == 0 {
		return project
	}
	found := names()
	own := func(g layerSetting, name string) bool { return found[name] != nil && c.governs(found[name], g.right) }
	refuse := func(g layerSetting, name string) {
		switch s := found[name]; {
		case s == nil && !byName:
			governed := slices.DeleteFunc(slices.Sorted(maps.Keys(found)), func(name string) bool { return !own(g, name) })
			c.warn(g.place, "%s: no plugin is named %s%s", toml.Key(g.key), name, near.DidYouMean(name, governed))
		case s == nil:
		case s.isNamed() && s.isWithin(c.project):
			c.ignore(g, "an argument names %s", name)
		case g.right == onlyOwnPlugins: // trust would change nothing about such a setting
			c.warn(g.place, "%s is ignored: %s is no plugin of this project", toml.Key(g.key), name)
		default:
			c.ignore(g, "%s is no plugin of this project", name)
		}
	}
	for _, g := range c.pending {
		if g.key[0] == "plugin" {
			if name := g.key[1]; own(g, name) {
				c.set(g) // no error, because apply has checked the type
			} else {
				refuse(g, name)
			}
			continue
		}
		list, _ := parseTexts(g.value) // no error, because apply has checked the type
		for _, name := range list {
			switch {
			case !own(g, name):
				refuse(g, name)
			case g.key[1] == "enabled":
				project.Enabled = append(project.Enabled, name)
			default:
				project.Disabled = append(project.Disabled, name)
			}
		}
	}
	return project
}

// isUsed reports whether the config lets the host use the plugin. An argument enables a plugin, too, but
// disabled wins over everything. Layers other than the managed one have no say in managed plugins.
func (c *Config) isUsed(s *Source, project PluginsConfig) bool {
	if !c.managed.enables(s.Name) {
		return false
	}
	if s.Managed {
		return true
	}
	enabled := c.Plugins.Enabled
	if len(project.Enabled) > 0 && c.governs(s, onlyOwnPlugins) {
		enabled = project.Enabled
	}
	if slices.Contains(c.Plugins.Disabled, s.Name) || slices.Contains(project.Disabled, s.Name) {
		return false
	}
	return len(enabled) == 0 || s.isNamed() || slices.Contains(enabled, s.Name)
}

// checkNames warns of names in the config that no plugin has. [Set.Missing] reports such names in [plugins]
// required.
func (c *Config) checkNames(found map[string]*Source) {
	checkAt := func(at Place, name string, key toml.Key) {
		if _, ok := found[name]; !ok {
			c.warn(at, "%s: no plugin is named %s%s", key, name, near.DidYouMean(name, slices.Sorted(maps.Keys(found))))
		}
	}
	check := func(name string, key ...string) { checkAt(c.Place(key...), name, key[:2]) }
	for _, name := range slices.Sorted(maps.Keys(c.ignoredGrants)) {
		if name != starhost.HostPlugin {
			checkAt(c.ignoredGrants[name].place, name, toml.Key{"grants", name})
		}
	}
	for _, name := range c.Plugins.Enabled {
		check(name, "plugins", "enabled")
	}
	for _, name := range c.Plugins.Disabled {
		check(name, "plugins", "disabled", name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Plugin)) {
		check(name, "plugin", name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Grants)) {
		if name != starhost.HostPlugin {
			check(name, "grants", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.projectGrants)) {
		if c.Grants[name] == nil {
			check(name, "grants", name)
		}
	}
}

// trustedFiles are the files of a trusted project.
type trustedFiles struct {
	folder string
	files  map[string]fragments.Hash // hashes of the files, by absolute real path; nil accepts any bytes
}

// covers reports whether the plugin belongs to the trusted project, so that the project's grants
// apply to it.
func (t *trustedFiles) covers(s *Source) bool {
	switch {
	case t == nil:
		return false
	case t.files == nil:
		return s.Project || s.isWithin(t.folder)
	}
	_, known := t.files[s.mainPath()]
	return known
}
