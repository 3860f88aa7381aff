package loader

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/near"
)

// A layer is one config file.
type layer struct {
	shown, real string
	home        string // the folder that "~" means; "" if there is none
	project     bool   // the config came with the code that it configures
	trusted     bool   // the operator trusts the code of the project
	managed     bool   // the managed config, or a bundle of it
	bundle      string // the name of the bundle that the config is in, or ""
	why         string // why the project is not trusted, for warnings
	src         []byte // the config's text, set for a project only
}

// name returns the name of the layer that [Setting].Layer shows.
func (l *layer) name() string {
	switch {
	case l.managed:
		return layerManaged
	case l.project:
		return layerProject
	}
	return layerUser
}

// untrusted reports whether the layer comes from a project that the operator does not trust.
func (l *layer) untrusted() bool { return l.project && !l.trusted }

// A layerSetting is one setting that a layer makes.
type layerSetting struct {
	*setting
	key   []string
	value any // as the TOML parser returns it
	place Place
	table Place // the place of the first two parts of the key: [plugin.NAME]
	layer *layer
}

// name returns the second part of the key: the plugin, the secret or the server.
func (g layerSetting) name() string { return g.key[1] }

// configFiles returns the existing config files in the order of layers.
func (o ConfigOptions) configFiles() ([]*layer, error) {
	home := o.Getenv("HOME")
	if o.None && o.File != "" {
		return nil, errorAt(Place{}, "E0604", "got --config %s and --no-config, want one of them", o.File)
	}
	if o.None {
		return nil, nil
	}
	if file := cmp.Or(o.File, o.Getenv("STARHOST_CONFIG")); file != "" {
		p := NewPath(o.Dir, file)
		return []*layer{{shown: p.Shown, real: p.Real, home: home}}, nil
	}
	var files []*layer
	if file := userConfig(o.Getenv); file != "" && exists(file) {
		files = append(files, &layer{shown: abbreviateHome(home, file), real: file, home: home})
	}
	folders, _, err := ancestry(o.Dir)
	if err != nil {
		return nil, err
	}
	if file := cmp.Or(o.projectFile, nearestConfig(folders)); file != "" {
		shown := relativePath(folders[0], file)
		files = append(files, &layer{shown: shown, real: file, home: home, project: true, why: "is not trusted"})
	}
	return files, nil
}

// userConfig returns the path of the user's config, or "" if no home folder is known. It ignores an
// XDG_CONFIG_HOME that is not absolute, as the XDG specification demands.
func userConfig(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "starhost", "config.toml")
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// abbreviateHome returns the path of a file with "~" in place of the home folder.
func abbreviateHome(home, file string) string {
	if rel, err := filepath.Rel(home, file); home != "" && err == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel)
	}
	return filepath.ToSlash(file)
}

func relativePath(dir, file string) string {
	if rel, err := filepath.Rel(dir, file); err == nil {
		file = rel
	}
	return filepath.ToSlash(file)
}

// read applies the settings of one config file to c.
func (c *Config) read(l *layer, src []byte) error {
	table, lines, err := parseTOML(l.shown, src)
	if err != nil {
		return err
	}
	w := walker{layer: l, lines: lines}
	w.table(nil, settings(), table)
	if l.untrusted() && len(w.errs) == 0 {
		w.checkValues()
	}
	if len(w.errs) > 0 {
		return joinErrors(w.errs)
	}
	c.files = append(c.files, l.real)
	c.layers[l.shown] = l.name()
	c.warnings = append(c.warnings, w.refused...)
	if l.managed {
		c.found = append(c.found, w.found...)
	}
	if l.project {
		c.project = l.folder()
	}
	slices.SortStableFunc(w.found, func(a, b layerSetting) int { return cmp.Compare(a.place.Line, b.place.Line) })
	for _, g := range w.found {
		if err := c.apply(g); err != nil {
			w.errs = append(w.errs, err)
		}
	}
	return joinErrors(w.errs)
}

// A walker collects the settings of a file and its unknown keys.
type walker struct {
	layer *layer
	lines keyLines
	found []layerSetting
	errs  []*Error

	refused []Warning // warnings about tables that no project may set
}

// userTables are the tables that only the user's and the managed config may have.
var userTables = []string{"bundles", "kinds", "log", "redact", "shell", "status"}

// table collects the settings of a table whose keys the list describes.
func (w *walker) table(key []string, list []*setting, table map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(table)) {
		sub := append(key[:len(key):len(key)], name)
		at := w.place(sub)
		next := narrow(list, len(key), name)
		inner, isTable := table[name].(map[string]any)
		switch {
		case len(key) == 0 && slices.Contains(userTables, name) && w.layer.project:
			w.refused = append(w.refused, Warning{Place: at, Msg: toml.Key(sub).String() + " is ignored: " + userOnlyText})
		case w.layer.bundle != "" && !inBundle(sub):
			w.errs = append(w.errs, errorAt(at, "E0617", "%s: a bundle cannot set it, want it in the managed config of the machine", toml.Key(sub)))
		case len(next) == 0:
			w.errs = append(w.errs, errorAt(at, "E0602", "unknown key %q%s", toml.Key(sub), suggestKey(list, key, name)))
		case len(next[0].key) == len(sub):
			w.found = append(w.found, layerSetting{next[0], sub, table[name], at, w.place(sub[:2]), w.layer})
		case isTable:
			w.table(sub, next, inner)
		default:
			w.errs = append(w.errs, wrongType(at, sub, table[name], "a table"+suggestSibling(list, len(key), name)))
		}
	}
}

// checkValues finds wrong values before read applies the first setting, because starhost uses either all of
// an untrusted project's config or nothing of it.
func (w *walker) checkValues() {
	scratch := newConfig()
	for _, g := range w.found {
		if g.right == userOnly || g.right == ifTrusted && g.key[0] != "grants" {
			continue // apply ignores the setting; the operator sees a wrong grant before trusting
		}
		if err := scratch.set(g); err != nil {
			w.errs = append(w.errs, err)
		}
	}
}

func (w *walker) place(key []string) Place {
	return Place{File: w.layer.shown, Line: w.lines.of(key)}
}

// narrow returns the settings whose key has this name at this depth. The name itself wins over "*".
func narrow(list []*setting, depth int, name string) []*setting {
	for _, part := range []string{name, "*"} {
		next := slices.DeleteFunc(slices.Clone(list), func(s *setting) bool { return s.key[depth] != part })
		if len(next) > 0 {
			return next
		}
	}
	return nil
}

// suggestKey returns a hint with the name that an unknown key probably should have.
func suggestKey(list []*setting, table []string, name string) string {
	var names []string
	for _, s := range list {
		if n := s.key[len(table)]; !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if hint := near.DidYouMean(name, names); hint != "" {
		return hint
	}
	for _, s := range settings() {
		if s.key[len(s.key)-1] == name {
			return near.Hint(strings.Join(s.key, "."))
		}
	}
	slices.Sort(names)
	return " (want one of " + strings.Join(names, ", ") + ")"
}

// suggestSibling returns a hint for a key that is no table, beside tables with names of the user's choice:
// model.defalt may be meant as a table [model.defalt], or is a misspelt model.default.
func suggestSibling(list []*setting, depth int, name string) string {
	var names []string
	for _, s := range list {
		if n := s.key[depth]; n != "*" && len(s.key) == depth+1 {
			names = append(names, n)
		}
	}
	return near.DidYouMean(name, names)
}

// apply makes a setting of a layer, if the layer has the right to make it.
func (c *Config) apply(g layerSetting) *Error {
	switch {
	case g.right == managedOnly && !g.layer.managed:
		c.warn(g.place, "%s is ignored: only the managed config may set it", toml.Key(g.key))
	case !g.layer.project, g.right == always, g.right == ownLimits, g.right == ownFolder,
		g.layer.trusted && (g.right == ifTrusted || g.right == ownPlugins):
		return c.set(g)
	case g.right == userOnly:
		c.warn(g.place, "%s is ignored: %s", toml.Key(g.key), userOnlyText)
	case g.right == ownPlugins || g.right == onlyOwnPlugins:
		if err := newConfig().set(g); err != nil { // reports a value of the wrong type now
			return err
		}
		c.pending = append(c.pending, g)
	default:
		if g.key[0] == "grants" {
			texts, _ := parseTexts(g.value) // a wrong value grants nothing, whether the project is trusted or not
			c.ignoredGrants[g.name()], c.untrusted = projectGrant{texts, g.place}, g.layer.why
		}
		c.ignore(g, "this project %s", g.layer.why)
	}
	return nil
}

// userOnlyText says who may make a setting that no project may make.
const userOnlyText = "only the user's and the managed config may set it, never a project"

func (c *Config) set(g layerSetting) *Error {
	err := g.set(c, g)
	var (
		hidden     hiddenValueError
		permission *effects.Error
	)
	switch {
	case err == nil:
		c.places[toml.Key(g.key[:2]).String()] = g.table
		c.places[toml.Key(g.key).String()] = g.place
	case err == errIgnored:
	case errors.As(err, &hidden):
		return errorAt(g.place, "E0603", "%s: want %s", toml.Key(g.key), hidden)
	case errors.As(err, &permission):
		return errorAt(g.place, permission.Code(), "%s: %v", toml.Key(g.key), err)
	default:
		return wrongType(g.place, g.key, g.value, err.Error())
	}
	return nil
}

// ignore warns that starhost ignores a setting of a project.
func (c *Config) ignore(g layerSetting, format string, args ...any) {
	why := errorAt(Place{}, "", format, args...).Msg
	trust := trustCommand(g.layer.shown)
	help := trust + " shows the settings that would apply"
	if strings.HasPrefix(g.layer.why, changedText) {
		help = trust + " shows what changed; " + trust + " --path trusts the folder while you edit it"
	}
	c.warn(g.place, "%s is ignored: %s (%s)", toml.Key(g.key), why, help)
	notice := &c.warnings[len(c.warnings)-1].Notice
	if *notice = "untrusted"; g.key[0] == "grants" {
		*notice = "grant"
	}
}

// environment applies the settings that environment variables make.
func (c *Config) environment(getenv func(string) string) error {
	for _, v := range []struct {
		name string
		key  []string
	}{
		{"STARHOST_MODEL", []string{"model", "default"}},
		{"STARHOST_STORE", []string{"store", "url"}},
	} {
		value := getenv(v.name)
		if value == "" {
			continue
		}
		s := narrow(narrow(settings(), 0, v.key[0]), 1, v.key[1])[0]
		at := Place{File: v.name}
		c.layers[v.name] = layerEnvironment
		if err := c.set(layerSetting{s, v.key, value, at, at, &layer{}}); err != nil {
			return err
		}
	}
	return nil
}
