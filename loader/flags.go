package loader

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/shellwords"
)

// An assignment is the key and the value of one flag --set.
type assignment struct{ key, value string }

// flags stores the permissions and settings of flags for the plugins that the flags name.
func (l *loadRun) flags(used []*Source) error {
	for _, text := range l.Grants {
		name, permission, err := parseGrant(text)
		if err != nil {
			return err
		}
		if name == starhost.HostPlugin {
			continue // hostWorld reads the permissions of the host
		}
		if name, err = choosePlugin(used, name, "--grant "+text, "--grant PLUGIN="+permission.String()); err != nil {
			return err
		}
		if l.isManaged(used, name, "--grant "+text, "grants", name) {
			continue
		}
		l.granted[name] = append(l.granted[name], permission.String())
	}
	for _, text := range l.Set {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return errorAt(Place{}, "E0610", "--set %s: got no =, want [PLUGIN.]KEY=VALUE", text)
		}
		name, rest, named := strings.Cut(key, ".")
		if !named {
			name, rest = "", key
		}
		name, err := choosePlugin(used, name, "--set "+text, "--set PLUGIN."+text)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(rest, ".")
		if builtins.HostSetting(first) {
			return errorAt(Place{}, "E0610", "--set %s: %s is the host's, no setting of the plugin: want it below [plugin.%s] in the config", text, first, name)
		}
		if value == "" { // most likely from a variable of the shell that is not set
			return errorAt(Place{}, "E0610", "--set %s: got no value, want one; the empty text is %s", text, shellwords.Quote(key+`=""`))
		}
		if _, err := parseFlagValue(value); err != nil {
			return errorAt(Place{}, "E0610", "--set %s: %v", text, err)
		}
		if l.isManaged(used, name, "--set "+text, "plugin", name, first) {
			continue
		}
		l.settings[name] = append(l.settings[name], assignment{rest, value})
	}
	return nil
}

// parseFlagValue parses the value of a flag --set as JSON, or else as TOML. The result is nil for any other
// text, which stands for itself. A text that begins as a list, a table or a quoted text and cannot be parsed
// is an error.
func parseFlagValue(text string) (any, error) {
	var value any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	wrong := d.Decode(&value)
	if wrong == nil && d.More() {
		wrong = errors.New("there is text behind the value")
	}
	if wrong == nil {
		plain, err := plainValue(value)
		if err == nil {
			return plain, nil
		}
		got := "null"
		if number, ok := errors.AsType[endlessNumber](err); ok {
			got = string(number)
		}
		wrong = fmt.Errorf("got %s, want %w", errtext.Cut(got), err)
	}
	var table struct{ V any }
	_, err := toml.Decode("V = "+text, &table)
	if err == nil && !strings.ContainsAny(text, "\r\n") {
		if plain, err := plainValue(table.V); err == nil {
			return plain, nil
		}
	}
	trimmed := strings.TrimSpace(text)
	if wrong != nil && err != nil && trimmed != "" && strings.ContainsRune("[{\"'", rune(trimmed[0])) {
		return nil, fmt.Errorf("got %s, which is neither JSON (%s) nor TOML, want one of them; a text that begins so stands in quotes: %s",
			errtext.Clip(text), jsontext.Explain(wrong), shellwords.Quote(errtext.Clip(string(jsontext.EncodeOrNull(text)))))
	}
	return nil, nil
}

// isManaged reports whether the managed config makes this setting or grants this permission. If it does,
// isManaged warns that the flag has no effect.
func (l *loadRun) isManaged(used []*Source, name, flag string, key ...string) bool {
	why := ""
	if place, ok := l.config.managedPlace(key...); ok {
		why = place.String() + " sets " + toml.Key(key).String()
	}
	if slices.ContainsFunc(used, func(s *Source) bool { return s.Name == name && s.Managed }) {
		why = name + " is a plugin of the managed config, which alone configures it"
	}
	if why != "" {
		l.set.Warnings = append(l.set.Warnings, Warning{Msg: flag + " is ignored: " + why})
	}
	return why != ""
}

// parseGrant parses [PLUGIN=]PERMISSION; name is "" without PLUGIN.
func parseGrant(text string) (name string, p effects.Permission, err error) {
	name, rest, named := strings.Cut(text, "=")
	if !named || !isPluginName(name) {
		name, rest = "", text
	}
	if p, err = effects.ParsePermission(rest); err != nil {
		return "", p, errorAt(Place{}, "E0502", "--grant %s: %v", text, err)
	}
	return name, p, nil
}

// choosePlugin returns the name of the plugin that a flag is for: the name in the flag, or else the name of
// the only plugin that is not managed.
func choosePlugin(used []*Source, name, flag, want string) (string, error) {
	var names, others []string
	for _, s := range used {
		names = append(names, s.Name)
		if !s.Managed {
			others = append(others, s.Name)
		}
	}
	switch {
	case name == "" && len(others) == 1:
		return others[0], nil
	case name == "":
		return "", errorAt(Place{}, "E0610", "%s: there are %d plugins, want %s", flag, len(names), want)
	case !slices.Contains(names, name):
		return "", errorAt(Place{}, "E0610", "%s: no plugin is named %s%s", flag, name, near.DidYouMean(name, names))
	}
	return name, nil
}
