package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/starlark"
)

// The statuses of a plugin.
const (
	StatusLoaded      = "loaded"
	StatusFailed      = "failed"      // the plugin's Err says why
	StatusDisabled    = "disabled"    // the config disables the plugin
	StatusUnavailable = "unavailable" // a variable of requires_env is not set
)

// The modes of a plugin.
const (
	modeEnforce = "enforce"
	modeWarn    = "warn"
)

// A Plugin says how loading one plugin ended.
type Plugin struct {
	Name, Version, Description, Owner string
	// Mode is "enforce", or "warn" if starhost only logs the plugin's decisions.
	Mode string
	// Path is the path for messages.
	Path string
	// Digest is the SHA-256 of the lines that sha256sum prints for the files that the plugin read
	// during its load, with the files of libraries, sorted by name.
	Digest fragments.Hash
	Status string
	// Err says why a plugin failed; it is a *starlark.Error or an *Error.
	Err error
	// Declared and Granted are permissions in the form in which their authors wrote them.
	Declared, Granted []string
	// Settings are the operator's, of the config and then of flags; nil unless the plugin is loaded.
	Settings []builtins.Setting
	// Waiting are the permissions that the plugin gets as soon as the operator trusts its project.
	Waiting []string
	// RequiresEnv lists the environment variables that the plugin needs.
	RequiresEnv []builtins.EnvVar
	// Managed is true if the plugin is at a path of the managed config.
	Managed bool
	// Registered has the registrations; nil unless the plugin is loaded.
	Registered *starhost.Plugin
	// Inside evaluates code as a part of the plugin; nil unless the plugin is loaded.
	Inside *Inside
	// Steps and Bytes are what evaluating the plugin took.
	Steps, Bytes uint64

	unloaded *evaluation // set only if the plugin failed or is unavailable
}

// An Inside evaluates code as a part of a plugin, with the names of its file and its permissions.
type Inside struct {
	of     *evaluation
	module *starlark.Module
	record *builtins.Recorder
}

// Load reads the file that a load statement names. It can be the Load of a [starlark.Exec].
func (i *Inside) Load(from, label string) (name string, src []byte, err error) {
	return i.of.load(from, label)
}

// Module returns the evaluated file of the plugin.
func (i *Inside) Module() *starlark.Module { return i.module }

// Recorder returns the recorder of the plugin's registrations. The plugin's handlers run with it.
func (i *Inside) Recorder() *builtins.Recorder { return i.record }

// Eval evaluates an expression as a handler of the plugin, with the names of its file and ctx. It
// returns the repr of the value.
func (i *Inside) Eval(
	ctx context.Context, t *host.Turn, expr string,
) (text string, usage starlark.Usage, err error) {
	err = t.As(ctx, i.of.source.Name, func(ctx context.Context) (err error) {
		ctx, names := i.record.Inside(ctx)
		text, usage, err = i.of.box.Eval(ctx, i.module, names, expr)
		return err
	})
	return text, usage, err
}

// A Set is a host with its plugins.
type Set struct {
	Host *host.Host
	// Plugins are all plugins that Load found, in path order.
	Plugins []Plugin
	// Problems are the errors of paths that should be plugins and are none.
	Problems []*Error
	Warnings []Warning
	Config   *Config
	// Sources are the files of the plugins. If a caller passes them as [Options.Sources], Load loads the
	// plugins from the bytes that it read for this set, whatever the files contain by then.
	Sources []*Source

	configs    []*Config // configs that plugins from other projects brought
	hasManaged bool      // Load has looked for the managed plugins
	partial    bool      // it is no mistake if Load did not find a required plugin

	inputs    Inputs
	workspace *effects.Files
	world     effects.World // what World copies
	secrets   *effects.Secrets
}

// Inputs are the absolute paths of the files that a Set depends on.
type Inputs struct {
	// Files are config files, and plugins that are single files.
	Files []string
	// Folders are folders of plugins, plugins that are folders, and libraries. The set depends on all files
	// in these folders.
	Folders []string
}

// Inputs returns the files that the set depends on.
func (s *Set) Inputs() Inputs { return s.inputs }

// Err returns the first error of the set, or nil. Errors of paths come first, then errors of plugins in path
// order, then those of required plugins that are not loaded.
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

// HasReported reports whether err is about a required plugin whose own error says why it is not
// loaded, so that a second error says nothing new.
func (s *Set) HasReported(err error) bool {
	var missing *Error
	return errors.As(err, &missing) && slices.ContainsFunc(s.Plugins, func(p Plugin) bool {
		return p.Name == missing.Plugin && p.Err != nil
	})
}

// Missing returns an error for a required plugin that is not loaded, or nil. If several are missing, it
// prefers one that did not fail itself. A program that enforces decisions must not work while Missing returns
// an error.
func (s *Set) Missing() error {
	var missing string
	for _, name := range s.Config.Plugins.Required {
		if !s.isMissing(name) {
			continue
		}
		missing = cmp.Or(missing, name)
		if i := s.index(name); i < 0 || s.Plugins[i].Err == nil {
			return s.missingError(name)
		}
	}
	if missing == "" {
		return nil
	}
	return s.missingError(missing)
}

// isMissing reports whether a required plugin is not loaded. Only a managed plugin meets a requirement of the
// managed config. If Load got its sources from the caller, it did not look for managed plugins, so none
// counts as missing. [Options.RequiredInArgs] says which plugins of other paths count.
func (s *Set) isMissing(name string) bool {
	if s.Config.managed.requires(name) {
		return s.hasManaged && (s.status(name) != StatusLoaded || !s.Plugins[s.index(name)].Managed)
	}
	status := s.status(name)
	return status != StatusLoaded && (status != "" || !s.partial)
}

// missingError returns the error of a required plugin that is not loaded.
func (s *Set) missingError(name string) *Error {
	at, hint := s.Config.Place("plugins", "required", name), s.suggest(name)
	if place, ok := s.Config.managedPlace("plugins", "required", name); ok {
		at = place
		if s.status(name) == StatusLoaded {
			hint = ": " + s.Plugins[s.index(name)].Path + " is not among the managed plugins"
		}
	}
	err := errorAt(at, "E0609", "required plugin %s is not loaded%s", name, hint)
	err.Plugin = name
	return err
}

// suggest returns a hint with the name of a plugin that is similar to name.
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

// status returns the status of the plugin with a name, or "" if there is none.
func (s *Set) status(name string) string {
	if i := s.index(name); i >= 0 {
		return s.Plugins[i].Status
	}
	return ""
}

// index returns the index in Plugins of the plugin with a name, or -1 if there is none.
func (s *Set) index(name string) int {
	for i := range s.Plugins { // read only Name, because other goroutines may write the rest
		if s.Plugins[i].Name == name {
			return i
		}
	}
	return -1
}

// Redact replaces the values of secrets in a text. It replaces the secrets that starhost has read, which are
// at least those that plugins may use.
func (s *Set) Redact(text string) string { return s.secrets.Redact(text) }

// Close closes the workspace that Load opened.
func (s *Set) Close() error {
	if s.workspace == nil {
		return nil
	}
	return s.workspace.Close()
}

// Revision returns a SHA-256 in hexadecimal. It changes if a plugin changes, or its mode, permissions or
// settings, or what else in the config can change a decision. It does not depend on where the files are.
func (s *Set) Revision() string {
	var b strings.Builder
	for i := range s.Plugins {
		p := &s.Plugins[i]
		fmt.Fprintf(&b, "%s %s %s %s %q\n", p.Name, p.Status, p.Mode, p.Digest, p.Granted)
		if p.Registered != nil {
			fmt.Fprintln(&b, p.Registered.Revision)
		}
	}
	for _, c := range append([]*Config{s.Config}, s.configs...) {
		b.Write(jsontext.Must([]any{c.Kinds, c.Limits, c.projectLimits.LimitsConfig, c.Processes, c.Prompt, c.Tools}))
	}
	return fragments.Sum(b.String()).String()
}
