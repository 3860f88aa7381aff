package builtins

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/errtext"
)

// Bounds of the permissions of a plugin, because each effect is compared with all of them.
const (
	maxPermissions     = 256
	maxPermissionBytes = 16 << 10 // bytes of all permissions together
)

func setPermissions(m *Manifest, v starlark.Value) error {
	if err := setTexts(&m.Permissions, v); err != nil {
		return err
	}
	if len(m.Permissions) > maxPermissions {
		return fmt.Errorf("got %d permissions, want at most %d", len(m.Permissions), maxPermissions)
	}
	if size := len(strings.Join(m.Permissions, "")); size > maxPermissionBytes {
		return fmt.Errorf("got %d bytes, want at most %d", size, maxPermissionBytes)
	}
	for i, text := range m.Permissions {
		if err := checkPermission(text); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

// checkPermission returns an error if a permission does not have a valid form. A setting may take the place
// of the host.
func checkPermission(text string) error {
	p, ok := parseHostPermission(text)
	if !ok {
		_, err := effects.ParsePermission(text)
		return err
	}
	before := strings.TrimSuffix(strings.TrimSuffix(p.before, "https://"), "http://")
	ofRequest := before == "http:" || strings.HasPrefix(before, "http:") && strings.HasSuffix(before, " ")
	ofRequest = ofRequest && (p.after == "" || strings.HasPrefix(p.after, ":") || strings.HasPrefix(p.after, "/"))
	ofSecret := strings.HasPrefix(before, "secret:") && strings.HasSuffix(before, "@") && p.after == ""
	if !ofRequest && !ofSecret {
		return errtext.Errorf("permission %q: {config.NAME} can only stand for the whole host, as in http:{config.host}/api/* and secret:TOKEN@{config.host}", text)
	}
	if !isIdentifier(p.key) {
		return errtext.Errorf("permission %q: got setting %q, want a name", text, p.key)
	}
	_, err := effects.ParsePermission(p.before + "host" + p.after)
	return err
}

// A hostPermission is a permission whose host is the value of a setting. It has the key, and the texts before
// and after {config.KEY}.
type hostPermission struct{ before, key, after string }

// parseHostPermission splits a permission that names a setting. ok is false if it names none.
func parseHostPermission(text string) (p hostPermission, ok bool) {
	before, rest, ok := strings.Cut(text, "{config.")
	if !ok {
		return p, false
	}
	p.before = before
	p.key, p.after, ok = strings.Cut(rest, "}")
	return p, ok
}

// checkHostSettings returns an error unless the settings that permissions name are declared and are texts.
func (m *Manifest) checkHostSettings() error {
	for _, text := range m.Permissions {
		p, ok := parseHostPermission(text)
		if !ok {
			continue
		}
		value, declared, _ := m.Config.Get(starlark.String(p.key)) // no error, because a text can be hashed
		if _, isText := value.(starlark.String); !declared || !isText {
			return call.Errorf("E0302", "plugin: permissions: %s: want a setting of config whose default is a text", errtext.Quote(text)).At(m.Place)
		}
	}
	return nil
}

// ResolvePermissions returns the permissions, with the value of the setting in place of its name; see
// [Manifest.Configure]. It omits a permission if the value is empty. The error has the place of plugin(...).
func (m *Manifest) ResolvePermissions(settings []Setting) (list []string, err error) {
	if !slices.ContainsFunc(m.Permissions, func(p string) bool { return strings.Contains(p, "{") }) {
		return m.Permissions, nil
	}
	config, err := m.Configure(settings)
	if err != nil {
		return nil, err
	}
	for _, text := range m.Permissions {
		p, ok := parseHostPermission(text)
		if !ok {
			list = append(list, text)
			continue
		}
		value, err := config.(starlark.HasAttrs).Attr(p.key)
		if err != nil {
			return nil, err
		}
		host, _ := starlark.AsString(value)
		if host == "" {
			continue
		}
		resolved := p.before + host + p.after
		_, err = effects.ParsePermission("http:" + host)
		if err == nil && strings.ContainsAny(host, "*? /,@{}") {
			err = errors.New("want one host without wildcards, methods and a path")
		}
		if err == nil {
			_, err = effects.ParsePermission(resolved)
		}
		if err != nil {
			return nil, call.Errorf("E0303", "setting %s: got %s for the host of %s: %v", p.key, errtext.Quote(host), errtext.Quote(text), err).At(m.Place)
		}
		list = append(list, resolved)
	}
	return list, nil
}
