package loader

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/starlark"
)

// An evaluation loads one plugin, in two steps: first starhost reads the manifests of all plugins, then it
// evaluates each plugin.
type evaluation struct {
	*loadRun
	source       *Source
	plugin       *Plugin
	box          *starlark.Sandbox // the plugin's sandbox; nil before read
	loadBox      *starlark.Sandbox // runs the plugin's file, if loading may use less memory than handlers
	file         *starlark.File
	config       *Config            // the config that decides about the plugin: see configFor
	libraries    map[string]*Source // the libraries that the config names
	manifest     *builtins.Manifest
	requires     []requirement
	libraryFiles map[string]fragments.Hash // files of libraries, by their names in positions
	root         *Source                   // the files that load("//...") reads; nil before the first one
	warnings     []Warning

	unavailable string // says why the plugin is unavailable, or ""
	unmet       bool   // a plugin that this one requires is missing
	probed      bool   // probe filled in registered, but the plugin is not loaded

	registered *starhost.Plugin // the registrations; nil before the evaluation
	inside     Inside
	logs       []host.LogLine
	idle       []Warning // warnings about registrations without effect
	err        error
}

// prepare reads a plugin and its manifest, and compiles its file.
func (e *evaluation) prepare() {
	err := e.read()
	if err == nil && !e.isAvailable() && !e.AllowUnset {
		e.plugin.Status, e.plugin.Digest, e.plugin.unloaded = StatusUnavailable, e.digest(), e
		return
	}
	if err == nil {
		e.requires, err = e.requirements()
	}
	if err != nil {
		e.finish(err)
		return
	}
	if builtins.Check(e.file) == nil { // otherwise the evaluation reports the mistake
		e.box.Prepare(e.file, builtins.ConfigName)
	}
}

// finish records how loading the plugin ended: it failed if err is not nil.
func (e *evaluation) finish(err error) {
	p := e.plugin
	p.Status, p.Err, p.Digest = StatusLoaded, err, e.digest()
	if err != nil {
		p.Status, p.Registered, p.unloaded = StatusFailed, nil, e
	}
}

// digest returns the digest of the plugin: the SHA-256 of the lines that sha256sum prints for the files that
// the plugin has read so far, sorted by name.
func (e *evaluation) digest() fragments.Hash {
	files := e.source.appendDigests(make([]fileDigest, 0, 4)) // few plugins read more than four files
	for name, sum := range e.libraryFiles {
		files = append(files, fileDigest{name, sum})
	}
	slices.SortFunc(files, func(a, b fileDigest) int { return strings.Compare(a.name, b.name) })
	lines := make([]byte, 0, 128)
	for _, f := range files {
		lines = append(hex.AppendEncode(lines, f.sum[:]), "  "...)
		lines = append(append(lines, f.name...), '\n')
	}
	return sha256.Sum256(lines)
}

// read reads and parses the plugin's file, and stores the file's manifest.
func (e *evaluation) read() error {
	src, err := e.source.Read(e.source.Main)
	if err != nil {
		return err
	}
	if e.box, err = e.boxOf(e.source); err != nil {
		return err
	}
	first := ""
	if e.source.isRules() {
		first = rulesFunctions
	}
	if e.file, err = e.box.ParseBehind(first, e.source.Display, src); err != nil {
		return err
	}
	if e.manifest, err = builtins.ReadManifest(e.file); err != nil {
		return e.locate(err)
	}
	if err := e.manifest.CheckName(e.source.Name); err != nil {
		return e.locate(err)
	}
	if e.source.isRules() {
		e.manifest.Permissions = rulesPermissions
	}
	p, m := e.plugin, e.manifest
	p.Version, p.Description, p.Owner = m.Version, m.Description, m.Owner
	p.Declared, p.RequiresEnv = m.Permissions, m.RequiresEnv
	p.Granted = slices.Concat(e.config.GrantsOf(e.source), e.granted[e.source.Name])
	if e.config.governs(e.source, ownPlugins) {
		p.Waiting = e.config.ignoredGrants[e.source.Name].permissions
	}
	return nil
}

// textOf returns a source file with the line ends that the sandbox counts.
func textOf(src []byte) string {
	text := strings.TrimPrefix(string(src), "\ufeff")
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// locate returns err, which knows its position, as a *starlark.Error that quotes the source line.
func (e *evaluation) locate(err error) error {
	return starlark.Locate(err, func(file string) string {
		if file != e.source.Display {
			return ""
		}
		src, _ := e.source.Read(e.source.Main) // without the text the error quotes no line
		return textOf(src)
	})
}

// fail returns an error of the plugin at a place in it.
func (e *evaluation) fail(pos starlark.Pos, code, format string, args ...any) error {
	return e.locate(&starlark.Error{Pos: pos, Code: code, Msg: fmt.Sprintf(format, args...)})
}

// isAvailable reports whether the machine sets the environment variables that the manifest requires. It warns
// of a variable that is not set.
func (e *evaluation) isAvailable() bool {
	for _, v := range e.manifest.RequiresEnv {
		if !e.isSet(v) {
			e.unavailable = fmt.Sprintf("plugin %s is unavailable: the environment variable %s is not set", e.source.Name, v)
			w := e.warning(Place{File: e.source.Display}, e.unavailable)
			w.Notice = "unset"
			e.warnings = append(e.warnings, w)
			return false
		}
	}
	return true
}

// warning returns a warning at a position.
func (e *evaluation) warning(at Place, msg string) Warning {
	w := Warning{Place: at, Msg: msg}
	if s := e.sourceOf(at.File); s != nil && at.File != "" {
		w.fileFromHere = s.pathFromHere(s.nameOf(at.File))
	}
	return w
}

// isSet reports whether an environment variable is set. The value of a secret can also come from a file or a
// command.
func (e *evaluation) isSet(v builtins.EnvVar) bool {
	_, set := e.LookupEnv(v.Name)
	if !set && v.Secret {
		_, set = e.LookupEnv(v.Name + "_FILE")
		if _, placed := e.config.Secrets[v.Name]; placed {
			set = true
		}
	}
	return set
}

// evaluate runs the plugin's files, and stores what they register and print, and the steps and bytes that
// they take.
func (e *evaluation) evaluate(ctx context.Context) error {
	if err := e.checkRequirements(); err != nil {
		e.unmet = true
		return err
	}
	config, err := e.manifest.Configure(e.settingsOf())
	if err != nil {
		return e.settingError(err)
	}
	if err := e.declare(); err != nil {
		return err
	}
	world, err := e.world()
	if err != nil {
		return err
	}
	e.registered = new(starhost.Plugin)
	e.describe(e.registered, world.Declared, world.Granted)
	e.registered.Resolve = world.LoadFragment
	record := builtins.Record(e.registered, e.box, world, config, e.Host.AppEvents...)
	record.Prove = e.Prove
	record.Trusted = e.config.Shell
	module, usage, err := cmp.Or(e.loadBox, e.box).Run(record.Attach(ctx), e.file, starlark.Exec{
		Env: record.Env(), Load: e.load, ExtraValues: record.Handlers, CoveragePath: e.realPath,
		Check: func(f *starlark.File) error { return record.Check(f) },
	})
	record.End()
	e.registered.Revision = e.revision()
	e.file = nil // lets the garbage collector free the syntax tree
	e.nameSettings(err)
	e.inside = Inside{of: e, module: module, record: record}
	e.plugin.Steps, e.plugin.Bytes, e.logs = usage.Steps, usage.Bytes, record.Logs()
	for _, w := range record.Warnings() {
		e.idle = append(e.idle, e.warning(Place(w.Pos), w.Text))
	}
	return err
}

// declare stores the permissions that the plugin declares, with its settings in place of their names. The
// config of a project that is not trusted names no host.
func (e *evaluation) declare() (err error) {
	if len(e.manifest.Permissions) == 0 {
		return nil
	}
	settings := e.settingsOf()
	if !e.config.isVouched(e.source) {
		settings = e.flagSettings()
	}
	if e.plugin.Declared, err = e.manifest.ResolvePermissions(settings); err != nil {
		return e.locate(err)
	}
	if e.GrantDeclared {
		e.plugin.Granted = e.plugin.Declared
	}
	return nil
}

// recordResult makes the evaluated plugin a plugin of the set. If the host refused the plugin with err, the
// plugin fails.
func (e *evaluation) recordResult(err error) {
	if err != nil {
		e.finish(e.refusalError(err))
		return
	}
	e.plugin.Registered, e.plugin.Inside, e.plugin.Settings = e.registered, &e.inside, e.settingsOf()
	e.finish(nil)
}

// describe sets the fields of p that come from the manifest and the config.
func (e *evaluation) describe(p *starhost.Plugin, declared, granted effects.Grants) {
	m := e.manifest
	p.Name, p.Version, p.Description, p.Owner = e.source.Name, m.Version, m.Description, m.Owner
	p.From, p.Required = e.source.mainPath(), slices.Contains(e.loadRun.config.Plugins.Required, p.Name)
	p.Warn, p.Restricted = e.plugin.Mode == modeWarn && !e.Enforce, !e.config.isVouched(e.source)
	switch {
	case e.source.Managed:
		p.Rank = -1
	case p.Restricted:
		p.Rank = 1
	}
	limits := e.config.LimitsOf(e.source)
	p.EventSteps = limits.EventSteps()
	p.RespondsTo, p.Overrides = commonNames("respond", declared, granted), commonNames("override", declared, granted)
}

// revision returns a text that changes if the files, the settings, the grants or the limits of the plugin
// change.
func (e *evaluation) revision() string {
	limits := e.config.LimitsOf(e.source)
	text := fmt.Sprintf("%s\n%q\n%d %d %s %d\n",
		e.digest(), fmt.Sprint(e.plugin.Granted), limits.Steps, limits.Memory, limits.Timeout, limits.EventSteps())
	for _, s := range e.settingsOf() {
		text += fmt.Sprintf("%q %q\n", s.Key, fmt.Sprint(s.Value))
	}
	return fragments.Sum(text).String()
}

// refusalError returns the error of the plugin that the host's refusal is.
func (e *evaluation) refusalError(err error) error {
	var conflict *host.ConflictError
	var invalid *host.RegistrationError
	switch {
	case errors.As(err, &conflict):
		return e.fail(starlark.Pos(conflict.Pos), "E0704", "%s is already registered at %s", conflict.What, conflict.Old)
	case errors.As(err, &invalid):
		return e.fail(starlark.Pos(invalid.Pos), invalid.Code(), "%s", invalid.Msg)
	}
	return e.fail(starlark.Pos{File: e.source.Display}, "E0705", "%v", err)
}

// settingsOf returns the operator's settings of the plugin: those of the config first, then those of flags.
func (e *evaluation) settingsOf() []builtins.Setting {
	var list []builtins.Setting
	values := e.config.configOf(e.source).pluginOf(e.source.Name).Values
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, builtins.Setting{Key: key, Value: values[key].V, Place: values[key].Place.String()})
	}
	return append(list, e.flagSettings()...)
}

// flagSettings returns the settings that flags make for the plugin.
func (e *evaluation) flagSettings() (list []builtins.Setting) {
	for _, s := range e.settings[e.source.Name] {
		list = append(list, e.flagSetting(s))
	}
	return list
}

// flagSetting parses the value of a flag --set. If the plugin accepts only the unparsed text, the setting is
// the text.
func (e *evaluation) flagSetting(s assignment) builtins.Setting {
	text := builtins.Setting{Key: s.key, Value: s.value, Place: "--set " + s.key}
	typed := text
	var err error
	if typed.Value, err = parseFlagValue(s.value); err != nil || typed.Value == nil {
		return text
	}
	if _, err = e.manifest.Configure([]builtins.Setting{typed}); err == nil {
		return typed
	}
	if _, err = e.manifest.Configure([]builtins.Setting{text}); err == nil {
		return text
	}
	return typed // the error should be about the parsed value
}

// settingError returns an error about a setting with the setting's place, which the text of err begins with.
func (e *evaluation) settingError(err error) error {
	own := e.config.configOf(e.source).pluginOf(e.source.Name)
	for _, v := range own.Values { // settings on one line have the same place
		if msg, ok := strings.CutPrefix(err.Error(), v.Place.String()+": "); ok {
			return errorAt(v.Place, "E0303", "%s", msg)
		}
	}
	return errorAt(Place{}, "E0303", "%v", err) // the setting is from a flag
}

// nameSettings adds the places of settings to an error that the plugin itself reports, if the error mentions
// these settings.
func (e *evaluation) nameSettings(err error) {
	var located *starlark.Error
	if !errors.As(err, &located) || located.Help != "" {
		return
	}
	var places []string
	for _, s := range e.settingsOf() {
		key := regexp.QuoteMeta(s.Key)
		named := regexp.MustCompile(`\b` + key + `\b`).MatchString(located.Msg)
		if named || regexp.MustCompile(`\bconfig\.`+key+`\b`).MatchString(located.Source) {
			places = append(places, s.Place+" sets "+s.Key)
		}
	}
	if len(places) > 0 {
		located.Help = strings.Join(places, "; ")
	}
}
