package loader

import (
	"bytes"
	"context"
	"crypto/sha256"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/starlark"
)

// A snapshot is all that is known of a plugin once its files were evaluated, but for
// what only they can do: to call a handler. The evaluation is a function of the files,
// the settings and the limits, so that a plugin need not be evaluated again to be listed, or
// to be registered beside others that are asked.
type snapshot struct {
	manifest   builtins.Manifest // without Config
	looks      []look
	logs       []starhost.LogLine // Plugin is left out, and Fields are none
	registered registration
	encoded    []byte // registered, as it was read; nil if there is no snapshot
}

// known reports whether there is a snapshot.
func (s *snapshot) known() bool { return s.encoded != nil }

// A registration is what a plugin registered, and what that cost.
type registration struct {
	plugin starhost.Plugin // what the files gave: registrations alone
	usage  starlark.Usage
}

// recall looks for the snapshot of the plugin, whose file has a digest.
func (e *evaluation) recall(sum fragments.Hash) {
	if e.ledgers == nil {
		return
	}
	e.key = e.keyOf(sum)
	if e.snapshot.decode(e.Cache.Recall(e.key)); e.snapshot.known() {
		e.manifest = &e.snapshot.manifest
	}
}

// keyOf returns the key of the snapshot: a digest of what decides what the plugin's
// file does, but for other files, and of what its registrations say of grants.
func (e *evaluation) keyOf(sum fragments.Hash) starlark.Key {
	own, key := e.ownKey(), make([]byte, 0, 256)
	for _, part := range []fragments.Hash{e.common, sum, own} {
		key = append(key, part[:]...)
	}
	return starlark.ShelfStart.Key(sha256.Sum256(append(key, e.source.Display...)))
}

// ownKey returns a digest of what the operator says of the plugin alone, the zero Hash if
// that is nothing.
func (e *evaluation) ownKey() fragments.Hash {
	name := e.source.Name
	granted, flags := e.granting(), e.settings[name]
	if e.config.Plugin[name] == nil && !e.config.limitsApart(e.source) && len(granted) == 0 && len(flags) == 0 {
		return fragments.Hash{}
	}
	var c coder
	c.limits(e.config.LimitsOf(e.source))
	codeTexts(&c, &granted)
	values := e.config.pluginOf(name).Values
	for _, key := range sortedKeys(values) {
		codeText(&c, &key)
		c.value(values[key].V)
	}
	for _, s := range flags {
		codeText(&c, &s.key)
		c.value(s.value)
	}
	return sha256.Sum256(c.out)
}

// restore takes over what the snapshot has. It reports whether all is as it was when
// the snapshot was made.
func (e *evaluation) restore() bool {
	for i := range e.snapshot.looks {
		l := &e.snapshot.looks[i]
		if found, err := e.find(l); err != nil || found != l.found {
			return false
		}
	}
	declared, granted, err := e.rights()
	if err != nil {
		return false
	}
	for i := range e.snapshot.logs {
		l := &e.snapshot.logs[i]
		if l.Plugin = e.source.Name; e.World.Redact(l.Text) != l.Text { // a secret that was none
			return false
		}
	}
	r := &e.snapshot.registered
	e.registered = &r.plugin
	e.describe(e.registered, declared, granted)
	e.registered.Resolve = e.resolve
	e.bind(e.registered)
	e.logs, e.plugin.Steps, e.plugin.Bytes = e.snapshot.logs, r.usage.Steps, r.usage.Bytes
	return true
}

// resolve is the plugin's part in resolving references. Few plugins are asked.
func (e *evaluation) resolve(ctx context.Context, t *starhost.Turn, ref string) (starhost.Context, error) {
	world, err := e.world()
	if err != nil {
		return starhost.Context{}, err
	}
	return world.LoadFragment(ctx, t, ref)
}

// reopen evaluates the files of a plugin that came from a snapshot: they must register
// what the snapshot has, or it is dropped.
func (e *evaluation) reopen(ctx context.Context) (*opened, error) {
	files, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	got := registration{*files.registered, files.usage}
	if !bytes.Equal(got.encode(), e.snapshot.encoded) {
		_ = e.Cache.Drop(e.key) // if it stays, the next one that opens it drops it
		return nil, e.fail(starlark.Pos{File: e.source.Display}, "E0705", "the plugin registers something else than when it was last evaluated: load it again")
	}
	return files, nil
}

// remember makes a snapshot of what was evaluated, for when it is registered.
func (e *evaluation) remember(files *opened) {
	if e.key == (starlark.Key{}) || files.record.Redacted() || len(files.looks) > maxLooks {
		return
	}
	s := snapshot{
		manifest: *e.manifest, looks: files.looks, logs: files.record.Logs(),
		registered: registration{*files.registered, files.usage},
	}
	for i := range s.looks {
		var err error
		if s.looks[i].found, err = e.find(&s.looks[i]); err != nil {
			return
		}
	}
	c := coder{}
	s.code(&c)
	e.kept = c.out
}

// decode reads a snapshot, which is known then; nil is none.
func (s *snapshot) decode(data []byte) {
	if data == nil {
		return
	}
	c := coder{reading: true, in: data}
	s.code(&c)
	if c.broken || len(c.in) > 0 {
		*s = snapshot{}
		return
	}
	s.manifest.API = builtins.APIVersion
}

func (r *registration) encode() []byte {
	c := coder{}
	r.code(&c)
	return c.out
}
