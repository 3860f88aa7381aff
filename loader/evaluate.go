package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/BurntSushi/toml"
	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/starlark"
)

// An evaluation loads one plugin, in two steps: what all plugins say of
// themselves is known before the first one runs. It stays as long as the plugin, whose
// files may be evaluated only when something of them is needed: see [evaluation.get].
type evaluation struct {
	*loading
	source   *Source
	plugin   *Plugin
	box      *starlark.Sandbox // once the file was parsed
	file     *starlark.File
	manifest *builtins.Manifest
	requires []requirement
	borrowed map[string]fragments.Hash // files of libraries, as positions call them
	warnings []Warning

	unavailable string // why the plugin is unavailable

	key      starlark.Key // of the snapshot; zero if there can be none
	snapshot snapshot     // that was found, if it is known
	kept     []byte       // what becomes one, or nil

	registered *starhost.Plugin // what the evaluation gave
	logs       []starhost.LogLine
	err        error

	opening sync.Mutex
	files   atomic.Pointer[opened] // nil until they are needed
	inside  Inside                 // e itself
}

// prepare reads a plugin and what it says of itself.
func (e *evaluation) prepare() {
	err := e.read()
	if err == nil && !e.available() {
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
	if !e.snapshot.known() && builtins.Check(e.file) == nil { // else the evaluation tells
		e.box.Prepare(e.file, builtins.ConfigName)
	}
}

// finish notes how the evaluation ended.
func (e *evaluation) finish(err error) {
	p := e.plugin
	p.Status, p.Err, p.Digest = StatusLoaded, err, e.digest()
	if err != nil {
		p.Status, p.Registered, p.unloaded = StatusFailed, nil, e
	}
}

// digest returns the SHA-256 of what sha256sum prints for the files that were
// read so far, sorted by name.
func (e *evaluation) digest() fragments.Hash {
	files := e.source.appendSums(make([]summed, 0, 4)) // more are seldom
	for name, sum := range e.borrowed {
		files = append(files, summed{name, sum})
	}
	slices.SortFunc(files, func(a, b summed) int { return strings.Compare(a.name, b.name) })
	lines := make([]byte, 0, 128)
	for _, f := range files {
		lines = append(hex.AppendEncode(lines, f.sum[:]), "  "...)
		lines = append(append(lines, f.name...), '\n')
	}
	return sha256.Sum256(lines)
}

// read reads the plugin's file and takes over what it says of itself.
func (e *evaluation) read() error {
	f, err := e.source.file(e.source.Main, e.ledgers)
	if err != nil {
		return err
	}
	if e.recall(f.sum); !e.snapshot.known() {
		if err := e.parse(); err != nil {
			return err
		}
	}
	p, m := e.plugin, e.manifest
	p.Version, p.Description, p.Owner = m.Version, m.Description, m.Owner
	p.Declared = m.Permissions
	p.Granted = e.granting()
	return nil
}

// granting returns the permissions that the operator gives to the plugin.
func (e *evaluation) granting() []string {
	return slices.Concat(e.config.GrantsOf(e.source), e.granted[e.source.Name])
}

// parse parses the file, and reads what it says of itself.
func (e *evaluation) parse() (err error) {
	src, err := e.source.Read(e.source.Main)
	if err != nil {
		return err
	}
	if e.box, err = e.boxOf(e.source); err != nil {
		return err
	}
	if e.file, err = e.box.Parse(e.source.Display, src); err != nil {
		return err
	}
	if e.manifest, err = builtins.ReadManifest(e.file); err != nil {
		return e.locate(err)
	}
	if err := e.manifest.CheckName(e.source.Name); err != nil {
		return e.locate(err)
	}
	return nil
}

// textOf returns a source file with line ends as the sandbox counts them.
func textOf(src []byte) string {
	text := strings.TrimPrefix(string(src), "\ufeff")
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// locate gives err, which knows its place, the form of all errors of plugins.
func (e *evaluation) locate(err error) error {
	return starlark.Locate(err, func(file string) string {
		if file != e.source.Display {
			return ""
		}
		src, _ := e.source.Read(e.source.Main) // what cannot be read is not shown
		return textOf(src)
	})
}

// fail returns an error of the plugin at a place in it.
func (e *evaluation) fail(pos starlark.Pos, code, format string, args ...any) error {
	return e.locate(&starlark.Error{Pos: pos, Code: code, Msg: fmt.Sprintf(format, args...)})
}

// available reports whether the plugin's environment is there, and warns if not.
func (e *evaluation) available() bool {
	for _, name := range e.manifest.RequiresEnv {
		if _, set := e.LookupEnv(name); !set {
			e.unavailable = fmt.Sprintf("plugin %s is unavailable: the environment variable %s is not set", e.source.Name, name)
			e.warnings = append(e.warnings, Warning{Place: Place{File: e.source.Display}, Msg: e.unavailable})
			return false
		}
	}
	return true
}

// evaluate runs the plugin's files, unless it is known what they do.
func (e *evaluation) evaluate(ctx context.Context) error {
	if err := e.checkRequirements(); err != nil {
		return err
	}
	if e.snapshot.known() && e.restore() {
		return nil
	}
	files, err := e.open(ctx)
	if files != nil {
		e.plugin.Steps, e.plugin.Bytes = files.usage.Steps, files.usage.Bytes
		e.logs = files.record.Logs()
	}
	if err != nil {
		return err
	}
	e.remember(files)
	e.registered = files.registered
	e.files.Store(files)
	return nil
}

// open runs the plugin's files. The result is there beside an error, too, once they ran.
func (e *evaluation) open(ctx context.Context) (*opened, error) {
	if e.file == nil {
		if err := e.parse(); err != nil {
			return nil, err
		}
	}
	config, err := e.manifest.Configure(e.settingsOf())
	if err != nil {
		return nil, e.settingError(err)
	}
	world, err := e.world()
	if err != nil {
		return nil, err
	}
	files := &opened{registered: new(starhost.Plugin), box: e.box}
	e.describe(files.registered, world.Declared, world.Granted)
	files.registered.Resolve = world.LoadFragment
	note := func(kind uint64, from, name string) {
		if len(files.looks) <= maxLooks {
			files.looks = append(files.looks, look{kind: kind, from: from, name: name})
		}
	}
	if e.source.Folder {
		world.Own = watched{e.source, e.ledgers, note}
		defer func() { world.Own = e.source }() // what handlers look at is theirs
	}
	files.record = builtins.Record(files.registered, e.box, world, config, e.Host.AppEvents...)
	files.module, files.usage, err = e.box.Run(files.record.Attach(ctx), e.file, starlark.Exec{
		Env: files.record.Env(), Kept: files.record.Kept, Covers: e.realPath, Check: func(f *starlark.File) error { return files.record.Check(f) },
		Load: func(from, label string) (string, []byte, error) {
			note(lookLoad, from, label)
			return e.load(from, label)
		},
	})
	files.record.End()
	e.file = nil // it has run, and is large
	return files, err
}

// added takes over what the evaluation gave, unless the host refused it.
func (e *evaluation) added(err error) {
	if err != nil {
		e.finish(e.refused(err))
		return
	}
	if e.kept != nil {
		e.Cache.Keep(e.key, e.kept)
		e.kept = nil
	}
	e.inside.of = e
	e.plugin.Registered, e.plugin.Inside = e.registered, &e.inside
	e.finish(nil)
}

// describe says of the plugin what its file need not run for.
func (e *evaluation) describe(p *starhost.Plugin, declared, granted effects.Grants) {
	m := e.manifest
	p.Name, p.Version, p.Description, p.Owner = e.source.Name, m.Version, m.Description, m.Owner
	p.Warn, p.Restricted = e.plugin.Mode == modeWarn, !e.config.vouched(e.source)
	limits := e.config.LimitsOf(e.source)
	p.EventSteps = limits.EventSteps()
	p.RespondsTo, p.Overrides = both("respond", declared, granted), both("override", declared, granted)
}

// refused gives the host's refusal the form of all errors of plugins.
func (e *evaluation) refused(err error) error {
	var conflict *starhost.ConflictError
	var invalid *starhost.RegistrationError
	switch {
	case errors.As(err, &conflict):
		return e.fail(starlark.Pos(conflict.Pos), "E0704", "%s is already registered at %s", conflict.What, conflict.Old)
	case errors.As(err, &invalid):
		return e.fail(starlark.Pos(invalid.Pos), "E0705", "%s", invalid.Msg)
	}
	return e.fail(starlark.Pos{File: e.source.Display}, "E0705", "%v", err)
}

// settingsOf returns the operator's settings of the plugin, those of flags last.
func (e *evaluation) settingsOf() []builtins.Setting {
	var list []builtins.Setting
	values := e.config.pluginOf(e.source.Name).Values
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, builtins.Setting{Key: key, Value: values[key].V, Place: values[key].Place.String()})
	}
	for _, s := range e.settings[e.source.Name] {
		list = append(list, e.flagSetting(s))
	}
	return list
}

// flagSetting reads a --set: as TOML writes values where the plugin takes that,
// else as text.
func (e *evaluation) flagSetting(s assignment) builtins.Setting {
	out := builtins.Setting{Key: s.key, Value: s.value, Place: "--set " + s.key}
	var value struct{ V any }
	if _, err := toml.Decode("V = "+s.value, &value); err != nil || strings.ContainsAny(s.value, "\r\n") {
		return out
	}
	typed := out
	var err error
	if typed.Value, err = plain(value.V); err != nil {
		return out
	}
	if _, err := e.manifest.Configure([]builtins.Setting{typed}); err != nil {
		return out
	}
	return typed
}

// settingError places an error about a setting, which begins with the place as
// text.
func (e *evaluation) settingError(err error) error {
	for _, v := range e.config.pluginOf(e.source.Name).Values { // those on one line have one place
		if msg, ok := strings.CutPrefix(err.Error(), v.Place.String()+": "); ok {
			return errorAt(v.Place, "E0303", "%s", msg)
		}
	}
	return errorAt(Place{}, "E0303", "%v", err) // of a flag
}

// load reads what a load() label means.
func (e *evaluation) load(from, label string) (string, []byte, error) {
	name, f, err := e.loaded(from, label)
	if err != nil {
		return name, nil, err
	}
	src, err := f.source.Read(f.name)
	return name, src, err
}

// A loadedFile is a file of a plugin or library that a load() label means.
type loadedFile struct {
	sourceFile
	source *Source
	name   string // in it
}

// loaded resolves a load() label: "lib/x.star" in the folder or library that the
// loading file is from, "@NAME//x.star" in a library of the config.
func (e *evaluation) loaded(from, label string) (string, loadedFile, error) {
	f := loadedFile{source: e.source, name: label}
	if strings.HasPrefix(from, "@") {
		name, _, _ := strings.Cut(from[1:], "//")
		f.source = e.libraries[name]
	}
	if rest, ok := strings.CutPrefix(label, "@"); ok {
		name, path, ok := strings.Cut(rest, "//")
		if f.source = e.libraries[name]; !ok || f.source == nil {
			return "", f, e.noLibrary(label, name, ok)
		}
		f.name = path
	}
	var err error
	f.sourceFile, err = f.source.file(f.name, e.ledgers)
	name := f.source.File(f.name)
	if err == nil && f.source != e.source {
		if e.borrowed == nil {
			e.borrowed = map[string]fragments.Hash{}
		}
		e.borrowed[name] = f.sum
	}
	return name, f, err
}

// realPath returns where the file is that positions call by a name.
func (e *evaluation) realPath(name string) string {
	if rest, ok := strings.CutPrefix(name, "@"); ok {
		library, _, _ := strings.Cut(rest, "//")
		return e.libraries[library].realPath(name)
	}
	return e.source.realPath(name)
}

func (e *evaluation) noLibrary(label, name string, named bool) error {
	if !named {
		return errorAt(Place{}, "E0611", "got %q, want @NAME//FILE", label)
	}
	return errorAt(Place{}, "E0611", "no library is named %s%s: [libraries] of the config names them",
		name, near.DidYouMean(name, slices.Sorted(maps.Keys(e.libraries))))
}
