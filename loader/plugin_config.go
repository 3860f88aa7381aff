package loader

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
)

// If an argument names a plugin, the plugin brings the config of its own project, wherever the program works:
// a team's guards have the same settings, limits, grants, libraries and requirements in each folder. Such a
// config has the rights of any project's config. So the trust in its bytes decides: whoever names a plugin
// trusts the plugin, and not what lies around it. The config of the folder that the program works in does not
// apply to such a plugin, unless the plugin is in the same project.

// findConfigs finds the configs of the plugins from other projects.
func (l *loadRun) findConfigs() error {
	byFile := map[string]*Config{l.config.projectFile: l.config, "": l.config}
	o := l.config.options
	if o == nil || o.None || cmp.Or(o.File, o.Getenv("STARHOST_CONFIG")) != "" {
		return nil // one config decides about all plugins
	}
	files := map[string]string{} // config files by the folders of plugins
	for _, s := range l.sources {
		if s.Managed || !s.isNamed() {
			continue
		}
		folder := s.folderPath()
		file, known := files[folder]
		if !known {
			file = projectFile(folder)
			files[folder] = file
		}
		if byFile[file] == nil {
			own, warnings, err := l.config.ofProject(file)
			if err != nil {
				return err
			}
			byFile[file] = own
			l.set.Warnings = append(l.set.Warnings, warnings...)
			l.ownConfigs = append(l.ownConfigs, own)
			l.takeRequired(own)
		}
		if own := byFile[file]; own != l.config {
			l.configOfSource[s] = own
			s.maxSource = own.LimitsOf(s).Source
		}
	}
	return nil
}

// projectFile returns the real path of the config of the project that a folder is in, searching upward as far
// as the folder's repository, or "". A config in a folder that everybody may write to does not count.
func projectFile(dir string) string {
	folders, _, err := ancestry(dir)
	if err != nil {
		return ""
	}
	file := nearestConfig(folders)
	if file == "" {
		return ""
	}
	folder := resolveLinks(filepath.Dir(file))
	if info, err := os.Stat(folder); err != nil || info.Mode()&0o002 != 0 && filepath.Separator == '/' {
		return ""
	}
	return filepath.Join(folder, ConfigName)
}

// ofProject returns a copy of the config that has another project's file in place of this project's, and the
// warnings about that file. Limits that a caller changed stay.
func (c *Config) ofProject(file string) (*Config, []Warning, error) {
	o := *c.options
	o.projectFile = file
	own, warnings, err := LoadConfig(o)
	if err != nil {
		return nil, nil, err
	}
	own.Limits = c.Limits
	return own, slices.DeleteFunc(warnings, func(w Warning) bool { return w.Place.File != own.projectShown }), nil
}

// takeRequired adds the plugins that a plugin's own config requires to those that the set requires.
func (l *loadRun) takeRequired(own *Config) {
	c := l.config
	for _, name := range own.Plugins.Required {
		if !slices.Contains(c.Plugins.Required, name) {
			c.Plugins.Required = append(slices.Clip(c.Plugins.Required), name)
			c.places["plugins.required."+name] = own.Place("plugins", "required", name)
		}
	}
}

// configFor returns the config that decides about a plugin.
func (l *loadRun) configFor(s *Source) *Config {
	if own := l.configOfSource[s]; own != nil {
		return own
	}
	return l.config
}

// allConfigs returns the config of the program, and then the configs that plugins brought.
func (l *loadRun) allConfigs() []*Config {
	return append([]*Config{l.config}, l.ownConfigs...)
}

// choose returns the plugins that their configs enable, in the given order.
func (l *loadRun) choose() (used []*Source) {
	if len(l.ownConfigs) == 0 {
		used, _, warnings := l.config.Select(l.sources)
		l.set.Warnings = append(l.set.Warnings, warnings...)
		return used
	}
	enabled := map[*Source]bool{}
	byName := slices.ContainsFunc(l.sources, (*Source).isNamed)
	for _, c := range l.allConfigs() {
		var own []*Source
		for _, s := range l.sources {
			if l.configFor(s) == c {
				own = append(own, s)
			}
		}
		chosen, _, warnings := c.selectAmong(own, byName)
		l.set.Warnings = append(l.set.Warnings, warnings...)
		for _, s := range chosen {
			enabled[s] = true
		}
	}
	for _, s := range l.sources {
		if enabled[s] {
			used = append(used, s)
		}
	}
	return used
}

// librariesOf returns the libraries that a config names.
func (l *loadRun) librariesOf(c *Config) map[string]*Source {
	if known := l.libraries[c]; known != nil {
		return known
	}
	libraries := map[string]*Source{}
	for name, folder := range c.Libraries {
		s := NewLibrary(name, folder, c.Limits.Source)
		s.untrusted = c.ownLibraries[name]
		s.maxSource = c.LimitsOf(s).Source
		if folder.Project && c.trustedFiles != nil {
			s.pins = c.trustedFiles.files
		}
		libraries[name] = s
	}
	l.libraries[c] = libraries
	return libraries
}
