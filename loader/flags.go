package loader

import (
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/near"
)

// An assignment is the key and the value of one --set.
type assignment struct{ key, value string }

// flags gives the permissions and settings of the flags to the plugins they name.
func (l *loadRun) flags(used []*Source) error {
	for _, text := range l.Grants {
		name, permission, err := parseGrant(text)
		if err != nil {
			return err
		}
		if name == starhost.HostPlugin {
			continue // see hostWorld
		}
		if name, err = choosePlugin(used, name, "--grant "+text, "--grant PLUGIN="+permission.String()); err != nil {
			return err
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
		if host, _, _ := strings.Cut(rest, "."); builtins.HostSetting(host) {
			return errorAt(Place{}, "E0610", "--set %s: %s is the host's, no setting of the plugin: want it below [plugin.%s] in the config", text, host, name)
		}
		l.settings[name] = append(l.settings[name], assignment{rest, value})
	}
	return nil
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

// choosePlugin returns the name of the plugin that a flag is for: the name in the flag, else the
// only plugin.
func choosePlugin(used []*Source, name, flag, want string) (string, error) {
	var names []string
	for _, s := range used {
		names = append(names, s.Name)
	}
	switch {
	case name == "" && len(names) == 1:
		return names[0], nil
	case name == "":
		return "", errorAt(Place{}, "E0610", "%s: there are %d plugins, want %s", flag, len(names), want)
	case !slices.Contains(names, name):
		return "", errorAt(Place{}, "E0610", "%s: no plugin is named %s%s", flag, name, near.DidYouMean(name, names))
	}
	return name, nil
}
