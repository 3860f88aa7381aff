package loader

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/texttable"
)

// A Setting is one key of a config with its value after all layers.
type Setting struct {
	// Key is the key in TOML: "plugin.oncall.team".
	Key string
	// Value is string, int64, float64, bool, []any or map[string]any of these.
	Value any
	// Place is the place of the last layer that sets the key; zero for a built-in value.
	Place Place
	// Layer is the name of that layer: "built-in", "user", "project", "environment" or "managed".
	Layer string
	// Project is true for grants and limits that apply only to plugins of the project.
	Project bool
}

// The names of layers.
const (
	layerBuiltIn     = "built-in"
	layerUser        = "user"
	layerProject     = "project"
	layerEnvironment = "environment"
	layerManaged     = "managed"
)

// String returns the setting as a line of TOML. Control characters and those that change the
// direction of text are escaped.
func (s Setting) String() string { return texttable.EscapeLine(s.Key + " = " + inTOML(s.Value)) }

// Settings returns the current settings in the order of the config's documentation. Keys of
// plugins, libraries, secrets and servers are there if a layer set them; all other keys are always
// there. Settings hides passwords in URLs. The settings of an untrusted project for its plugins are
// missing before [Config.Select].
func (c *Config) Settings() []Setting {
	var rows []Setting
	for rest := settings(); len(rest) > 0; {
		table := rest[0].key[0]
		end := slices.IndexFunc(rest, func(s *setting) bool { return s.key[0] != table })
		if end < 0 {
			end = len(rest)
		}
		for _, name := range c.names(table) {
			for _, s := range rest[:end] {
				rows = c.show(rows, s, name)
			}
		}
		switch table {
		case "grants":
			rows = c.showProjectGrants(rows)
		case "limits":
			rows = c.showProjectLimits(rows, rest[:end])
		}
		rest = rest[end:]
	}
	return rows
}

// names returns the names that the first "*" of the keys in a table stands for. "" stands for the keys
// without "*".
func (c *Config) names(table string) []string {
	switch table {
	case "libraries":
		return slices.Sorted(maps.Keys(c.Libraries))
	case "plugin":
		return slices.Sorted(maps.Keys(c.Plugin))
	case "grants":
		return slices.Sorted(maps.Keys(c.Grants))
	case "secrets":
		return slices.Sorted(maps.Keys(c.Secrets))
	case "kinds":
		return slices.Sorted(maps.Keys(c.Kinds))
	case "mcp":
		return slices.Sorted(maps.Keys(c.MCP))
	case "bundles":
		return slices.Sorted(maps.Keys(c.Bundles))
	case "process":
		return slices.Sorted(maps.Keys(c.Processes))
	case "model":
		return append([]string{""}, slices.Sorted(maps.Keys(c.Model.Endpoints))...)
	}
	return []string{""}
}

// show appends the current values of a setting to rows. name stands for the first "*" of the setting's key.
func (c *Config) show(rows []Setting, s *setting, name string) []Setting {
	if slices.Contains(s.key, "*") != (name != "") {
		return rows
	}
	if s.right == managedOnly && c.managed == nil {
		return rows // only a managed config has a use for it
	}
	for _, key := range c.expand(s.key, name) {
		v := s.get(c, key)
		if v == nil {
			continue
		}
		if name != "" && reflect.ValueOf(v).IsZero() && c.Place(key...) == (Place{}) {
			continue
		}
		place := c.Place(key...)
		layer := cmp.Or(c.layers[place.File], layerBuiltIn)
		rows = append(rows, Setting{Key: toml.Key(key).String(), Value: settingValue(v), Place: place, Layer: layer})
	}
	return rows
}

// expand returns the keys of the config that match a key with "*", if the first "*" stands for name.
func (c *Config) expand(key []string, name string) [][]string {
	if name == "" {
		return [][]string{key}
	}
	key = slices.Clone(key)
	key[1] = name
	if key[len(key)-1] != "*" {
		return [][]string{key}
	}
	var keys [][]string
	for _, last := range slices.Sorted(maps.Keys(c.PluginOf(name).Values)) {
		keys = append(keys, []string{key[0], name, last})
	}
	return keys
}

func (c *Config) showProjectGrants(rows []Setting) []Setting {
	for _, name := range slices.Sorted(maps.Keys(c.projectGrants)) {
		g := c.projectGrants[name]
		key := toml.Key{"grants", name}.String()
		rows = append(rows, projectSetting(key, g.permissions, g.place))
	}
	return rows
}

// projectSetting returns the row of a setting that applies only to plugins of the project.
func projectSetting(key string, value any, place Place) Setting {
	return Setting{Key: key, Value: settingValue(value), Place: place, Layer: layerProject, Project: true}
}

func (c *Config) showProjectLimits(rows []Setting, limits []*setting) []Setting {
	own := &Config{Limits: c.projectLimits.LimitsConfig}
	for _, s := range limits {
		if place, ok := c.projectLimits.places[s.key[1]]; ok {
			rows = append(rows, projectSetting(toml.Key(s.key).String(), s.get(own, s.key), place))
		}
	}
	return rows
}

// settingValue converts a value of a Config to one of the types of [Setting].
func settingValue(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case uint64:
		return int64(v)
	case time.Duration:
		return v.String()
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return list
	}
	return v
}

// inTOML returns a value of a [Setting] as one line of TOML.
func inTOML(v any) string {
	var parts []string
	switch v := v.(type) {
	case float64:
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	case []any:
		for _, item := range v {
			parts = append(parts, inTOML(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, toml.Key{key}.String()+" = "+inTOML(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	text, _ := jsontext.Encode(v) // JSON strings, whole numbers and booleans are TOML, too
	return string(text)
}
