package loader

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/starhost/starhost/fragments"
)

// TrustOptions say which project is meant, and where it is remembered which ones
// an operator trusts: in starhost/trust.json of the XDG state folder.
//
// Trust is in the bytes of the project's config and of all files in the folders of
// its plugins and libraries. Once one of them changes, the project is not trusted
// until the operator has seen the difference.
type TrustOptions struct {
	// Dir is the current folder, "" means "."; the project is that of the nearest
	// [ConfigName].
	Dir string
	// Getenv returns environment variables: HOME, XDG_STATE_HOME, and those of
	// [ConfigOptions]. Nil means an empty environment.
	Getenv func(string) string
}

// A TrustState says how far a project is trusted.
type TrustState string

// The states of a project.
const (
	Untrusted   TrustState = "untrusted"
	Trusted     TrustState = "trusted"
	Changed     TrustState = "changed" // since it was trusted, so that it is not
	TrustedPath TrustState = "path"    // trusted whatever its files are
)

// A TrustPlan is what trusting a project means.
type TrustPlan struct {
	// Config is the project's config, as messages show it.
	Config string
	State  TrustState
	// Settings are those that hold if the project is trusted, and not otherwise.
	Settings []Setting
	// Files are what is trusted, sorted, relative to the project's folder, with "/".
	Files []string
	// Changes are the differences to what was trusted; nil unless State is Changed.
	Changes []Change

	now TrustedProject
}

// A Change is one difference between what was trusted and what is.
type Change struct {
	Op   string // "+" new, "-" gone, "~" has other bytes
	What string // a setting as a line of TOML, or a file
}

// String returns "+ plugins/new.star".
func (c Change) String() string { return c.Op + " " + c.What }

// A TrustedProject is what is remembered of one project.
type TrustedProject struct {
	// Folder is absolute, without links.
	Folder string `json:"folder"`
	// Path is true if the project is trusted whatever its files are.
	Path bool `json:"path,omitempty"`
	// Settings are lines of TOML: what held because of the trust.
	Settings []string `json:"settings,omitempty"`
	// Files are relative to Folder, with "/".
	Files map[string]fragments.Hash `json:"files,omitempty"`
}

// Plan returns what trusting the project means, as it is now.
func (o TrustOptions) Plan() (*TrustPlan, error) {
	book, err := o.book().read()
	if err != nil {
		return nil, err
	}
	before, _, err := o.config(false)
	if err != nil {
		return nil, err
	}
	after, project, err := o.config(true)
	if err != nil {
		return nil, err
	}
	p := &TrustPlan{Config: project.shown, Settings: addedSettings(before, after), now: TrustedProject{Folder: project.folder()}}
	for _, s := range p.Settings {
		p.now.Settings = append(p.now.Settings, s.String())
	}
	if p.now.Files, err = project.trustedContent(); err != nil {
		return nil, err
	}
	p.Files = sortedKeys(p.now.Files)
	old := book.find(p.now.Folder)
	switch {
	case old == nil:
		p.State = Untrusted
	case old.Path:
		p.State = TrustedPath
	case maps.Equal(old.Files, p.now.Files):
		p.State = Trusted
	default:
		p.State, p.Changes = Changed, changes(old, &p.now)
	}
	return p, nil
}

// Trust remembers the project as the plan has it, whatever became of its files
// since. With path, it is trusted whatever its files are: that is for a folder of
// the operator's own, while it is edited.
func (o TrustOptions) Trust(p *TrustPlan, path bool) error {
	return o.book().change(func(b *trustBook) error {
		project := p.now
		if path {
			project = TrustedProject{Folder: project.Folder, Path: true}
		}
		b.remove(project.Folder)
		b.Projects = append(b.Projects, project)
		return nil
	})
}

// List returns all trusted projects, by folder.
func (o TrustOptions) List() ([]TrustedProject, error) {
	b, err := o.book().read()
	return b.Projects, err
}

// Revoke forgets the trust in the project and returns its folder. If there is no
// config any more, the folder is Dir or the nearest one above it that is trusted.
func (o TrustOptions) Revoke() (folder string, err error) {
	abs, err := filepath.Abs(cmp.Or(o.Dir, "."))
	if err != nil {
		return "", errorAt(Place{File: o.Dir}, "E0607", "%s", reason(err))
	}
	err = o.book().change(func(b *trustBook) error {
		for folder = resolveLinks(abs); !b.remove(folder); folder = filepath.Dir(folder) {
			if folder == filepath.Dir(folder) {
				return errorAt(Place{}, "E0614", "%s is no trusted project, and in none (starhost trust --list)", cmp.Or(o.Dir, "this folder"))
			}
		}
		return nil
	})
	return folder, err
}

// config returns the config with or without trust in the project, and the
// project's layer.
func (o TrustOptions) config(trust bool) (*Config, *layer, error) {
	var project *layer
	var src []byte
	options := ConfigOptions{Dir: o.Dir, Getenv: func(name string) string {
		if o.Getenv == nil || name == "STARHOST_CONFIG" { // it would be read instead of the project's
			return ""
		}
		return o.Getenv(name)
	}}
	c, _, err := options.load(func(_ *Config, l *layer, b []byte) { project, src, l.trusted = l, b, trust })
	if err != nil {
		return nil, nil, err
	}
	if project == nil {
		return nil, nil, errorAt(Place{}, "E0614", "there is no %s here or above, up to the repository root: nothing to trust", ConfigName)
	}
	project.src = src
	if paths, err := c.Paths(cmp.Or(o.Dir, "."), nil); err == nil {
		found, _ := Discover(paths, 0)
		c.Select(found) // what the project says of its own plugins holds anyway
	}
	return c, project, nil
}

// addedSettings returns the settings of after that before does not have.
func addedSettings(before, after *Config) []Setting {
	had := map[string]bool{}
	for _, s := range before.Settings() {
		had[fmt.Sprint(s, s.Project)] = true
	}
	return slices.DeleteFunc(after.Settings(), func(s Setting) bool { return had[fmt.Sprint(s, s.Project)] })
}

// changes returns what is different: settings, then files.
func changes(old, now *TrustedProject) []Change {
	var list []Change
	add := func(op, what string, yes bool) {
		if yes {
			list = append(list, Change{op, what})
		}
	}
	for _, s := range old.Settings {
		add("-", s, !slices.Contains(now.Settings, s))
	}
	for _, s := range now.Settings {
		add("+", s, !slices.Contains(old.Settings, s))
	}
	both := maps.Clone(old.Files)
	maps.Copy(both, now.Files)
	for _, name := range sortedKeys(both) {
		before, was := old.Files[name]
		after, is := now.Files[name]
		add("-", name, was && !is)
		add("+", name, is && !was)
		add("~", name, is && was && before != after)
	}
	return list
}

// trustProject lets a project's layer be read fully if it is trusted as it is now.
func (c *Config) trustProject(l *layer, src []byte, getenv func(string) string) {
	book := TrustOptions{Getenv: getenv}.book()
	if book.file == "" {
		return
	}
	if _, err := book.read(); err != nil {
		c.warn(Place{}, "no project is trusted: %v", err)
		return
	}
	l.src = src
	old := book.find(l.folder())
	if old == nil {
		return
	}
	t := &trustedFiles{folder: old.Folder}
	if !old.Path {
		files, err := l.trustedContent()
		if err != nil || !maps.Equal(files, old.Files) {
			l.why = "changed since it was trusted"
			return
		}
		t.files = map[string]fragments.Hash{}
		for name, hash := range files {
			t.files[filepath.Join(old.Folder, filepath.FromSlash(name))] = hash
		}
	}
	l.trusted, c.trustedFiles = true, t
}

// trustedFiles are the files of a trusted project.
type trustedFiles struct {
	folder string
	files  map[string]fragments.Hash // by absolute real path; nil if any bytes will do
}

// covers tells whether the plugin is the project's own, so that its grants are
// for it.
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

// folder returns the project's folder, absolute and without links.
func (l *layer) folder() string { return resolveLinks(filepath.Dir(l.real)) }
