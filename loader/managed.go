package loader

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// A managedLayer is the config of the machine's administrator. It wins over all other layers and
// over flags.
type managedLayer struct {
	// alone is the managed config over the built-in layer, without any other layer. It configures the managed
	// plugins, so that no other layer can disable or soften them.
	alone *Config
	// settings are the settings of the managed config, in the order of its lines.
	settings []layerSetting
	// lost are the errors of bundles that are not installed as they should be.
	lost []*Error
}

// ErrManaged is the cause of an error about the managed config. If a caller cannot read the
// administrator's rules, no flag of the user may let calls pass.
var ErrManaged = errors.New("the managed config cannot be used")

// readManaged reads the managed config, and the bundles that it names. Without the file there is no managed
// layer, unless a caller tries a bundle.
func (c *Config) readManaged(file string, try TryBundle) error {
	m := &managedLayer{alone: newConfig()}
	_, err := os.Lstat(file)
	exists := file != "" && !errors.Is(err, fs.ErrNotExist)
	if !exists && try.Name == "" {
		return nil
	}
	if exists {
		if err := m.alone.readManagedFile(file); err != nil {
			return causedByManaged(err)
		}
	}
	if m.settings = m.alone.found; try.Name != "" {
		ensureEntry(m.alone.Bundles, try.Name)
	}
	if len(m.alone.Bundles) > 0 {
		if err := m.addBundles(try); err != nil {
			return causedByManaged(err)
		}
	}
	c.managed = m
	c.files = append(c.files, m.alone.files...)
	maps.Copy(c.layers, m.alone.layers)
	c.warnings = append(c.warnings, m.alone.warnings...)
	return nil
}

// readManagedFile applies the settings of the file to c.
func (c *Config) readManagedFile(file string) error {
	l := &layer{shown: filepath.ToSlash(file), real: file, managed: true}
	if err := checkManaged(l.shown, file); err != nil {
		return err
	}
	src, err := readConfigFile(file, l.shown)
	if err != nil {
		return err
	}
	return c.read(l, src)
}

// causedByManaged returns the errors in err with the cause [ErrManaged].
func causedByManaged(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var list []error
		for _, e := range many.Unwrap() {
			list = append(list, causedByManaged(e))
		}
		return errors.Join(list...)
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.err = ErrManaged
	}
	return err
}

// applyManaged applies the settings of the managed config over those of all other layers. It may
// apply them again, after a caller changed the config.
func (c *Config) applyManaged() {
	if c.managed == nil {
		return
	}
	alone := c.managed.alone
	deleteNamed(c, "secrets", c.Secrets, alone.Secrets) // secrets of other layers must not keep their other sources
	clear(c.Bundles)
	deleteNamed(c, "kinds", c.Kinds, alone.Kinds)
	deleteNamed(c, "mcp", c.MCP, alone.MCP)
	deleteNamed(c, "process", c.Processes, alone.Processes)
	for _, g := range c.managed.settings {
		if err := c.set(g); err != nil {
			panic(err) // not reached: readManaged has set the same value
		}
		if g.key[0] == "limits" {
			delete(c.Limits.Raised, raisedLimits[g.key[1]])
		}
	}
}

// deleteNamed deletes the items that the managed config has too from a table of c, with their places.
func deleteNamed[T any](c *Config, table string, items, managed map[string]T) {
	for name := range managed {
		delete(items, name)
		prefix := toml.Key{table, name}.String() + "."
		maps.DeleteFunc(c.places, func(key string, _ Place) bool { return strings.HasPrefix(key, prefix) })
	}
}

// managedPlace returns the place where the managed config makes a setting. If it does not make the setting,
// ok is false.
func (c *Config) managedPlace(key ...string) (p Place, ok bool) {
	if c.managed == nil {
		return p, false
	}
	p, ok = c.managed.alone.places[toml.Key(key).String()]
	return p, ok
}

// ManagedLog returns the folder of the log that the managed config names, or "".
func (c *Config) ManagedLog() string {
	if _, ok := c.managedPlace("log", "path"); !ok {
		return ""
	}
	return c.Log.Path.Real
}

// configOf returns the config that configures the plugin. A managed plugin is configured by the managed
// config alone.
func (c *Config) configOf(s *Source) *Config {
	if s.Managed && c.managed != nil {
		return c.managed.alone
	}
	return c
}

// ManagedPaths returns the paths of the managed config, whose plugins [Load] always loads.
func (c *Config) ManagedPaths() []Path {
	if c.managed == nil {
		return nil
	}
	return c.managed.alone.Plugins.Paths
}

// requires reports whether the managed config requires a plugin. Only a managed plugin meets such
// a requirement, because a project can give any name to its plugins.
func (m *managedLayer) requires(name string) bool {
	return m != nil && slices.Contains(m.alone.Plugins.Required, name)
}

// enables reports whether the managed config allows the use of a plugin.
func (m *managedLayer) enables(name string) bool {
	if m == nil {
		return true
	}
	p := &m.alone.Plugins
	return !slices.Contains(p.Disabled, name) && (len(p.Enabled) == 0 || slices.Contains(p.Enabled, name))
}

// takeOver drops the settings that other layers make for a managed plugin, and warns of each.
func (c *Config) takeOver(name string) {
	alone := c.managed.alone
	plugin, grants := toml.Key{"plugin", name}.String()+".", toml.Key{"grants", name}.String()
	disabled := toml.Key{"plugins", "disabled", name}.String()
	for _, key := range slices.Sorted(maps.Keys(c.places)) {
		if key != grants && key != disabled && !strings.HasPrefix(key, plugin) {
			continue
		}
		if place := c.places[key]; place != alone.places[key] {
			c.warn(place, "%s is ignored: %s is a plugin of the managed config, which alone configures it", key, name)
			delete(c.places, key)
		}
	}
	delete(c.Plugin, name)
	if p := alone.Plugin[name]; p != nil {
		c.Plugin[name] = p
	}
	delete(c.Grants, name)
	if list := alone.Grants[name]; list != nil {
		c.Grants[name] = list
	}
	c.Plugins.Disabled = slices.DeleteFunc(c.Plugins.Disabled, func(other string) bool {
		return other == name && !slices.Contains(alone.Plugins.Disabled, name)
	})
}

// checkRaised returns warnings about limits that flags raised and that the managed config sets.
func (c *Config) checkRaised() (warnings []Warning) {
	for _, limit := range []string{"steps", "memory", "timeout"} {
		flag := c.Limits.Raised[raisedLimits[limit]]
		if place, ok := c.managedPlace("limits", limit); ok && flag != "" {
			warnings = append(warnings, Warning{Place: place, Msg: flag + " is ignored: the managed config sets limits." + limit})
		}
	}
	return warnings
}

// raisedLimits maps keys of [limits] to keys of [LimitsConfig.Raised].
var raisedLimits = map[string]string{"steps": "steps", "memory": "memory", "timeout": "time"}
