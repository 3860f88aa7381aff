package loader

import (
	"context"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/starlark"
)

// The statuses of a plugin.
const (
	StatusLoaded      = "loaded"
	StatusFailed      = "failed"      // Err says why
	StatusDisabled    = "disabled"    // by the config
	StatusUnavailable = "unavailable" // a variable of requires_env is not set
)

// The modes of a plugin.
const (
	modeEnforce = "enforce"
	modeWarn    = "warn"
)

// A Plugin is what became of one plugin that was found.
type Plugin struct {
	Name, Version, Description, Owner string
	// Mode is "enforce", or "warn" where the config wants denials logged only.
	Mode string
	// Path is as messages show it.
	Path string
	// Digest is the SHA-256 of the lines that sha256sum prints for the files that
	// were read while the plugin was loaded, those of libraries among them, sorted
	// by name.
	Digest fragments.Hash
	Status string
	// Err says why a plugin failed; it is a *starlark.Error or an *Error.
	Err error
	// Declared and Granted are permissions, as their authors wrote them.
	Declared, Granted []string
	// Registered is what the plugin offers; nil unless it is loaded.
	Registered *starhost.Plugin
	// Inside is what its own file sees; nil unless it is loaded.
	Inside *Inside
	// Steps and Bytes are what its evaluation spent.
	Steps, Bytes uint64

	unloaded *evaluation // nil unless it failed or is unavailable
}

// An Inside evaluates code as a part of a plugin: with the names of its file, and its rights.
type Inside struct {
	of     *evaluation
	module *starlark.Module
	record *builtins.Recorder
}

// Load is what load statements ask, as in [starlark.Exec].
func (i *Inside) Load(from, label string) (name string, src []byte, err error) {
	return i.of.load(from, label)
}

// Module returns the evaluated file of the plugin.
func (i *Inside) Module() *starlark.Module { return i.module }

// Recorder returns the recorder that the plugin's handlers run with.
func (i *Inside) Recorder() *builtins.Recorder { return i.record }

// Eval evaluates an expression as a handler of the plugin would that sees the names
// of its file, and ctx. It returns the text of the value, as repr gives it.
func (i *Inside) Eval(ctx context.Context, t *starhost.Turn, expr string) (text string, usage starlark.Usage, err error) {
	err = t.As(ctx, i.of.source.Name, func(ctx context.Context) (err error) {
		ctx, names := i.record.Inside(ctx, t)
		text, usage, err = i.of.box.Eval(ctx, i.module, names, expr)
		return err
	})
	return text, usage, err
}

// A Set is a host with its plugins.
type Set struct {
	Host *starhost.Host
	// Plugins are all that were found, in path order.
	Plugins []Plugin
	// Problems are paths that should be plugins and are none.
	Problems []*Error
	Warnings []Warning
	Config   *Config

	inputs    Inputs
	workspace *effects.Files
	secrets   *effects.Secrets
}

// Inputs are the files that decide what Load gives, by absolute paths.
type Inputs struct {
	// Files are the config's and plugins that are single files.
	Files []string
	// Folders are folders of plugins, plugins that are folders, and libraries: all
	// that is in them counts.
	Folders []string
}

// Inputs returns what the set was loaded from.
func (s *Set) Inputs() Inputs { return s.inputs }

// Err returns the first error in path order: of a path, of a plugin, of a plugin
// that is required and not loaded. Nil means that all is well.
func (s *Set) Err() error {
	if len(s.Problems) > 0 {
		return s.Problems[0]
	}
	for i := range s.Plugins {
		if s.Plugins[i].Err != nil {
			return s.Plugins[i].Err
		}
	}
	return s.Missing()
}

// Missing returns an error for the first plugin that the config requires and
// that is not loaded. Whoever enforces decisions must not work without it.
func (s *Set) Missing() error {
	for _, name := range s.Config.Plugins.Required {
		if s.status(name) != StatusLoaded {
			return s.missingError(name)
		}
	}
	return nil
}

// missingError returns the error of a required plugin that is not loaded.
func (s *Set) missingError(name string) *Error {
	return errorAt(s.Config.Place("plugins", "required", name), "E0609", "required plugin %s is not loaded%s", name, s.suggest(name))
}

// suggest returns which plugin a name that none bears may mean.
func (s *Set) suggest(name string) string {
	names := make([]string, len(s.Plugins))
	for i := range s.Plugins {
		names[i] = s.Plugins[i].Name
	}
	if slices.Contains(names, name) {
		return ""
	}
	slices.Sort(names)
	return near.DidYouMean(name, names)
}

// status returns the status of a plugin, "" if there is none of that name.
func (s *Set) status(name string) string {
	if i := s.index(name); i >= 0 {
		return s.Plugins[i].Status
	}
	return ""
}

// index returns where a plugin is, -1 if there is none of that name.
func (s *Set) index(name string) int {
	for i := range s.Plugins { // the others may be under way
		if s.Plugins[i].Name == name {
			return i
		}
	}
	return -1
}

// Redact takes the values of secrets out of a text: of those that were read, which
// at least those are that plugins may use.
func (s *Set) Redact(text string) string { return s.secrets.Redact(text) }

// Close frees what the set holds open.
func (s *Set) Close() error {
	if s.workspace == nil {
		return nil
	}
	return s.workspace.Close()
}
