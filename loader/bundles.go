package loader

import (
	"encoding/hex"
	"errors"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// A BundleConfig is a [bundles.NAME] of the managed config: a bundle of plugins that starhost sync keeps
// current on this machine. Package fleet fetches it; this package only loads what is installed.
type BundleConfig struct {
	// URL is where the archive is: https, file, oci, or http on this machine.
	URL string
	// Keys are the public keys of minisign of which one must have signed the archive.
	Keys []string
	// Pin is the digest of the only bundle to install, also an older one; "" means the newest.
	Pin string
	// MaxAge is the age of the last successful fetch past which doctor warns; 0 means never.
	MaxAge time.Duration
	// Verify is a program, with its arguments, that must also accept an archive; Dir is its folder.
	Verify []string
	Dir    string
	// Redirects are hosts that the server may redirect to.
	Redirects []string
}

// A TryBundle names a bundle, the folder that has its files, and the plugins that it requires.
type TryBundle struct {
	Name, Folder string
	Required     []string
}

// defaultStatus is the file of status.path.
const defaultStatus = "/var/lib/starhost/status.json"

// currentName is the name of the file that says which version of a bundle is active.
const currentName = "current"

// BundleFolder returns the folder of a bundle on this machine. It has the folders of the installed versions,
// and the file that says which one is active.
func (c *Config) BundleFolder(name string) string {
	return filepath.Join(filepath.Dir(c.Status.Real), "bundles", name)
}

// An ActiveBundle is what the file "current" in the folder of a bundle says.
type ActiveBundle struct {
	// Digest is the identity of the version, as "sha256:...".
	Digest string
	// Required are the plugins that must load. The file has them, so that the plugins of a bundle whose
	// folder is gone are still missed.
	Required []string
}

// Text returns the contents of the file.
func (a ActiveBundle) Text() []byte {
	return []byte(strings.Join(append([]string{a.Digest}, a.Required...), "\n") + "\n")
}

// Folder returns the name of the folder of the version.
func (a ActiveBundle) Folder() string { return strings.Replace(a.Digest, ":", "-", 1) }

// File returns the path of the file "current" in the folder of a bundle.
func (ActiveBundle) File(folder string) string { return filepath.Join(folder, currentName) }

// ReadActiveBundle reads the file in the folder of a bundle.
func ReadActiveBundle(folder string) (a ActiveBundle, err error) {
	file := a.File(folder)
	shown := filepath.ToSlash(file)
	if _, err := os.Lstat(file); err != nil {
		return a, errorAt(Place{File: shown}, "E0618", "%s", reason(err))
	}
	if err := checkManaged(shown, file); err != nil {
		return a, err
	}
	text, wrong := readConfigFile(file, shown)
	if wrong != nil {
		return a, wrong
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	a.Digest, a.Required = lines[0], lines[1:]
	if !isDigest(a.Digest) || slices.ContainsFunc(a.Required, func(name string) bool { return !isPluginName(name) }) {
		return a, errorAt(Place{File: shown}, "E0618", "got no digest and names of plugins, want what starhost sync writes")
	}
	return a, nil
}

func isDigest(text string) bool {
	sum, ok := strings.CutPrefix(text, "sha256:")
	b, err := hex.DecodeString(sum)
	return ok && err == nil && len(b) == 32
}

// addBundles puts the settings of the bundles under those of the managed config, and adds their plugins. A
// bundle that is not there is lost; one with settings that it may not have is an error.
func (m *managedLayer) addBundles(try TryBundle) error {
	own, status := m.alone, m.alone.Status
	m.alone, m.settings = newConfig(), nil
	m.alone.files, m.alone.layers, m.alone.warnings = own.files, own.layers, own.warnings
	for _, name := range slices.Sorted(maps.Keys(own.Bundles)) {
		at := own.places[toml.Key{"bundles", name}.String()]
		active, folder, err := ActiveBundle{Required: try.Required}, try.Folder, error(nil)
		if name != try.Name {
			home := (&Config{Status: status}).BundleFolder(name)
			m.alone.files = append(m.alone.files, active.File(home)) // so that servers take a new version
			active, err = ReadActiveBundle(home)
			if folder = filepath.Join(home, active.Folder()); err == nil {
				_, err = os.Stat(folder)
			}
		}
		m.require(active, at)
		if err != nil {
			m.lose(at, name, err)
			continue
		}
		if err := m.alone.readBundle(name, folder, at); err != nil {
			return err
		}
	}
	required := m.settings
	m.settings = slices.Concat(required, m.alone.found, own.found)
	for _, g := range slices.Concat(required, own.found) {
		if err := m.alone.set(g); err != nil {
			return err // not reached: reading the file has set the same value
		}
	}
	return nil
}

// require adds the plugins that an active bundle requires to those of the managed config.
func (m *managedLayer) require(active ActiveBundle, at Place) {
	if len(active.Required) == 0 {
		return
	}
	names := make([]any, len(active.Required))
	for i, name := range active.Required {
		names[i] = name
	}
	key := []string{"plugins", "required"}
	s := narrow(narrow(settings(), 0, key[0]), 1, key[1])[0]
	m.settings = append(m.settings, layerSetting{s, key, names, at, at, &layer{managed: true}})
}

// lose records that a bundle is not there.
func (m *managedLayer) lose(at Place, name string, err error) {
	e := errorAt(at, "E0618", "bundle %s is not installed: %v (starhost sync installs it)", name, err)
	if wrong, ok := errors.AsType[*Error](err); ok {
		e.code = wrong.code
	}
	e.managed, e.hidesPlugin = true, true
	m.lost = append(m.lost, e)
}

// readBundle reads the config of a bundle, if it has one, and adds the paths of the bundle's plugins.
func (c *Config) readBundle(name, folder string, at Place) error {
	file := filepath.Join(folder, ConfigName)
	paths := c.Plugins.Paths
	if exists(file) {
		l := &layer{shown: filepath.ToSlash(file), real: file, managed: true, bundle: name}
		src, err := readConfigFile(file, l.shown)
		if err != nil {
			return err
		}
		if err := c.read(l, src); err != nil {
			return err
		}
	}
	if len(c.Plugins.Paths) > len(paths) {
		return nil
	}
	found, err := defaultPaths(folder)
	for _, p := range found {
		p.Shown, p.Place, p.Project, p.Managed = filepath.ToSlash(p.Real), at, false, true
		c.Plugins.Paths = append(slices.Clip(c.Plugins.Paths), p)
	}
	return err
}

// bundleKeys are the keys that the config of a bundle may have. "*" stands for any name, and a table stands for
// all of its keys.
var bundleKeys = []string{
	"plugins.paths", "plugins.required", "libraries.*", "plugin.*",
	"limits.steps", "limits.memory", "limits.timeout", "limits.event", "limits.source", "limits.output",
}

// inBundle reports whether the config of a bundle may have a key, or a table that can have such keys.
func inBundle(key []string) bool {
	return slices.ContainsFunc(bundleKeys, func(allowed string) bool {
		parts := strings.Split(allowed, ".")
		for i := range min(len(parts), len(key)) {
			if parts[i] != "*" && parts[i] != key[i] {
				return false
			}
		}
		return true
	})
}

// bundleSettings returns the keys about bundles.
func bundleSettings() []*setting {
	field := func(c *Config, name string) *BundleConfig { return ensureEntry(c.Bundles, name) }
	return []*setting{
		row("bundles.NAME.url", managedOnly, named(value(parseBundleURL, func(c *Config, name string) *string { return &field(c, name).URL })),
			"", `bundles.ops.url = "https://policy.corp.example/stable/ops.tar.gz"`,
			"Where the archive of the bundle is: https://, file:///, or oci://HOST/NAME:TAG of a registry; http:// on this machine only. Its signature is at the same address with .minisig at the end. A group of machines that gets a policy first has a URL of its own."),
		row("bundles.NAME.keys", managedOnly, named(value(parseKeys, func(c *Config, name string) *[]string { return &field(c, name).Keys })),
			"", `bundles.ops.keys = ["RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"]`,
			"The public keys of minisign. One of them must have signed the archive. During a rotation the list has the old key and the new one."),
		row("bundles.NAME.pin", managedOnly, named(value(parsePin, func(c *Config, name string) *string { return &field(c, name).Pin })),
			"", `bundles.ops.pin = "sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"`,
			"The digest of the only bundle to install. It allows an older one, so it is the way back."),
		row("bundles.NAME.max_age", managedOnly, named(inDays(value(parseSpan, func(c *Config, name string) *time.Duration { return &field(c, name).MaxAge }))),
			"", `bundles.ops.max_age = "2d"`,
			"The time since the last successful fetch past which hook doctor warns. Age refuses no call."),
		row("bundles.NAME.redirects", managedOnly, named(list(func(c *Config, name string) *[]string { return &field(c, name).Redirects })),
			"", `bundles.ops.redirects = ["objects.githubusercontent.com"]`,
			"Other hosts to which the server may redirect, as pages of releases do. Without it, a redirect to another host is an error, as a network that wants a log-in makes one."),
		row("bundles.NAME.verify", managedOnly, named(inFolder(
			list(func(c *Config, name string) *[]string { return &field(c, name).Verify }),
			func(c *Config, name string) *string { return &field(c, name).Dir },
		)),
			"", `bundles.ops.verify = ["cosign", "verify-blob", "--key", "/etc/starhost/cosign.pub"]`,
			"A program that must also accept the archive, whose path starhost adds as the last argument: its exit code must be 0. It runs in the folder of the config."),
		row("status.path", managedOnly, access{setStatus, func(c *Config, _ []string) any { return c.Status.Shown }},
			`"`+defaultStatus+`"`, `status.path = "/srv/starhost/status.json"`,
			"The file in which starhost sync writes which bundle is active, how old it is and what failed. The folder bundles beside it has the bundles, so only root may write there."),
	}
}

// named returns an access that refuses a NAME which no bundle can have.
func named(a access) access {
	assign := a.set
	a.set = func(c *Config, g layerSetting) error {
		if !isPluginName(g.name()) {
			return errors.New("a bundle's name of a lower-case letter, then at most 63 of a-z, 0-9, _ and -")
		}
		return assign(c, g)
	}
	return a
}

func setStatus(c *Config, g layerSetting) error {
	file, err := parseText(g.value)
	if err != nil || file == "" {
		return errors.New("the path of a file")
	}
	c.Status, err = g.path(file)
	return err
}

// parseBundleURL parses the address of a bundle.
func parseBundleURL(v any) (string, error) {
	s, _ := v.(string)
	u, err := url.Parse(s)
	if err == nil && u.User == nil && u.Path != "" && u.RawQuery+u.Fragment == "" {
		ip := net.ParseIP(u.Hostname())
		isHere := ip != nil && ip.IsLoopback()
		switch {
		case (u.Scheme == "https" || u.Scheme == "oci" || u.Scheme == "http" && isHere) && u.Host != "":
			return s, nil
		case u.Scheme == "file" && u.Host == "" && filepath.IsAbs(filepath.FromSlash(u.Path)):
			return s, nil
		}
	}
	return "", errors.New("https://HOST/PATH, file:///PATH or oci://HOST/NAME:TAG, without a user and without ?")
}

// parseKeys parses a list of public keys of minisign.
func parseKeys(v any) ([]string, error) {
	list, err := parseTexts(v)
	for i, key := range list {
		if len(key) != 56 || !strings.HasPrefix(key, "RW") {
			return nil, errors.New("a list of public keys of minisign, each 56 letters from RW on (item " + describe(int64(i+1)) + " is none)")
		}
	}
	if err == nil && len(list) == 0 {
		err = errors.New("at least one public key of minisign")
	}
	return list, err
}

// parsePin parses the digest of a bundle.
func parsePin(v any) (string, error) {
	s, _ := v.(string)
	if s != "" && !isDigest(s) {
		return "", errors.New("a digest, as sha256: and 64 hexadecimal digits, or \"\"")
	}
	return s, nil
}
