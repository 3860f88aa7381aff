package loader

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/shellwords"
)

// TrustOptions select a project and the list of trusted projects, which is starhost/trust.json in
// the XDG state folder.
//
// An operator trusts the bytes of the project's config and of all files in the folders of its
// plugins and libraries. If one of them changes, starhost does not trust the project until the
// operator has seen the difference. Golden cases decide nothing about tool calls and prompts, so
// that a change of one ends only the right of starhost test --record to run the effects of cases.
type TrustOptions struct {
	// Dir is the current folder; "" means ".". The project is the folder of the nearest
	// [ConfigName].
	Dir string
	// Getenv returns environment variables: HOME, XDG_STATE_HOME, and the variables of
	// [ConfigOptions]. Nil means an empty environment.
	Getenv func(string) string
	// Managed is the path of the managed config; see [ConfigOptions.Managed].
	Managed string
}

// A TrustState is the state of a project in the list of trusted projects.
type TrustState string

// The states of a project.
const (
	Untrusted   TrustState = "untrusted"
	Trusted     TrustState = "trusted"
	Changed     TrustState = "changed" // not trusted: files have changed since the operator trusted them
	TrustedPath TrustState = "path"    // starhost trusts the project with any files
)

// A TrustPlan says what would change if the operator trusted a project.
type TrustPlan struct {
	// Config is the path of the project's config for messages.
	Config string
	State  TrustState
	// Settings are the settings that apply only if the project is trusted.
	Settings []Setting
	// Files are the trusted files, sorted, relative to the project's folder, with "/".
	Files []string
	// Unpinned describes commands of the config that run files beyond those in Files, so that trust does not
	// pin them.
	Unpinned []string
	// Changes are the differences since the operator trusted the project. They are nil unless State is
	// Changed, or State is Trusted and golden cases changed.
	Changes []Change

	now TrustedProject
}

// A Change is one difference between the trusted and the current project.
type Change struct {
	Op   string `json:"op"`   // "+" added, "-" removed, "~" changed
	What string `json:"what"` // a setting as a line of TOML, or the path of a file
}

// String returns "+ plugins/new.star".
func (c Change) String() string { return c.Op + " " + c.What }

// A TrustedProject is an entry in the list of trusted projects.
type TrustedProject struct {
	// Folder is the absolute path of the project without links.
	Folder string `json:"folder"`
	// Path is true if starhost trusts the project with any files.
	Path bool `json:"path,omitempty"`
	// Settings are the settings that applied because of the trust, as lines of TOML.
	Settings []string `json:"settings,omitempty"`
	// Files maps paths to hashes. The paths are relative to Folder, with "/".
	Files map[string]fragments.Hash `json:"files,omitempty"`
	// Cases are the golden cases in the same form.
	Cases map[string]fragments.Hash `json:"cases,omitempty"`
}

// Plan returns what would change if the operator trusted the project as it is now.
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
	content, unpinned, err := project.trustedContent()
	if err != nil {
		return nil, err
	}
	p.now.Files, p.now.Cases, p.Unpinned = content.files, content.cases, unpinned
	p.Files = slices.Sorted(maps.Keys(p.now.all()))
	old := book.find(p.now.Folder)
	switch {
	case old == nil:
		p.State = Untrusted
	case old.Path:
		p.State = TrustedPath
	case maps.Equal(old.Files, p.now.Files):
		p.State, p.Changes = Trusted, changes(old, &p.now)
	default:
		p.State, p.Changes = Changed, changes(old, &p.now)
	}
	return p, nil
}

// Trust adds the project of a plan to the list, with the hashes of the plan and not of the current
// files. If path is set, starhost trusts the project with any files: that is for an operator who
// edits the project.
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

// List returns all trusted projects, sorted by folder.
func (o TrustOptions) List() ([]TrustedProject, error) {
	b, err := o.book().read()
	return b.Projects, err
}

// Revoke removes a project from the list, and returns its folder. The project is the one at Dir, or else at
// the nearest folder above Dir that is in the list. It need not have a config any more.
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

// config returns the config, as it is with trust in the project or without, and the layer of the project.
func (o TrustOptions) config(trust bool) (*Config, *layer, error) {
	var project *layer
	var src []byte
	options := ConfigOptions{Dir: o.Dir, Managed: o.Managed, Getenv: func(name string) string {
		if o.Getenv == nil || name == "STARHOST_CONFIG" { // its file would replace the project's
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
		c.Select(found) // Select applies the settings for the project's own plugins, which need no trust
	}
	return c, project, nil
}

// addedSettings returns the settings that after has and before has not.
func addedSettings(before, after *Config) []Setting {
	had := map[string]bool{}
	for _, s := range before.Settings() {
		had[fmt.Sprint(s, s.Project)] = true
	}
	return slices.DeleteFunc(after.Settings(), func(s Setting) bool { return had[fmt.Sprint(s, s.Project)] })
}

// changes returns the differences of two states of a project: first settings, then files.
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
	oldFiles, nowFiles := old.all(), now.all()
	both := maps.Clone(oldFiles)
	maps.Copy(both, nowFiles)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		before, was := oldFiles[name]
		after, is := nowFiles[name]
		add("-", name, was && !is)
		add("+", name, is && !was)
		add("~", name, is && was && before != after)
	}
	return list
}

// all returns the files and the cases.
func (p *TrustedProject) all() map[string]fragments.Hash {
	all := make(map[string]fragments.Hash, len(p.Files)+len(p.Cases))
	maps.Copy(all, p.Files)
	maps.Copy(all, p.Cases)
	return all
}

// trustProject marks a project's layer as trusted if the operator trusts its current bytes.
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
		now, _, err := l.trustedContent()
		if err != nil || !maps.Equal(now.files, old.Files) {
			l.why = changedText
			if err == nil {
				l.why += ": " + shortList(changes(&TrustedProject{Files: old.Files}, &TrustedProject{Files: now.files}))
			}
			return
		}
		t.files = map[string]fragments.Hash{}
		for name, hash := range old.all() { // plugins read no cases, so a case that changed ends no trust
			t.files[filepath.Join(old.Folder, filepath.FromSlash(name))] = hash
		}
	}
	l.trusted, c.trustedFiles = true, t
}

// trustCommand returns the command line that asks the operator to trust a project. shown is the path of the
// project's config from the current folder.
func trustCommand(shown string) string {
	dir := path.Dir(shown)
	if strings.Trim(dir, "./") == "" { // the project is the current folder or one above it
		return "starhost trust"
	}
	return "starhost -C " + shellwords.Quote(dir) + " trust"
}

// changedText begins the reason why starhost does not trust a project that it trusted before.
const changedText = "changed since it was trusted"

// shortList returns a text with the first changes, and the number of the others.
func shortList(list []Change) string {
	const most = 3
	text := ""
	for i, c := range list[:min(most, len(list))] {
		if i > 0 {
			text += ", "
		}
		text += c.String()
	}
	if len(list) > most {
		text += fmt.Sprintf(" and %d more", len(list)-most)
	}
	return text
}

// folder returns the absolute path of the project's folder, without links.
func (l *layer) folder() string { return resolveLinks(filepath.Dir(l.real)) }

// TrustedFolders returns a function that reports whether a folder is in a project that the user trusts. Many
// goroutines may call it.
func TrustedFolders(getenv func(string) string) func(folder string) bool {
	var mu sync.Mutex
	known := map[string]bool{}
	return func(folder string) bool {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := known[folder]; !ok {
			known[folder] = isTrusted(folder, getenv)
		}
		return known[folder]
	}
}

// isTrusted reports whether the user trusts the project that a folder is in, with its golden cases as they
// are now. The project is that of the nearest config, in the folder or above it.
func isTrusted(folder string, getenv func(string) string) bool {
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ConfigName)); err == nil {
			plan, err := TrustOptions{Dir: dir, Getenv: getenv}.Plan()
			return err == nil && (plan.State == TrustedPath || plan.State == Trusted && len(plan.Changes) == 0)
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}
