package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/loader"
)

// configureRecord makes a host record its effects. The whole turn has one time, as that of a golden case.
func (e *evaluation) configureRecord(o *loader.Options) {
	e.record = new(effects.Journal)
	o.Host.Record = e.record.Record
	if o.Host.Clock == nil {
		now := time.Now().UTC().Round(0)
		o.Host.Clock = func() time.Time { return now }
	}
	e.clock = o.Host.Clock
}

// openRecorded reads the case of --replay, and asks what it asked.
func openRecorded(env Env, f *evalFlags, e *evaluation) (err error) {
	name := f.replay
	if info, err := os.Stat(env.path(name)); err == nil && info.IsDir() {
		return usagef("--replay: %s is a folder, want a case that --record wrote", name)
	} else if err != nil {
		return errtext.File(name, err)
	}
	r, err := golden.ReadRecorded(env.path(name))
	if err != nil {
		return fmt.Errorf("%s: %w", name, &replayError{err})
	}
	e.replay, e.Request, e.config, f.seed = r, r.Request, r.Session, r.Seed
	f.promptGiven, f.args = r.Prompt, string(r.Arguments)
	f.call, f.callGiven, f.fire, f.fireGiven = r.Call, r.Call != "", r.Event, r.Event != ""
	return nil
}

// A replayError says why a file is no case that --record wrote.
type replayError struct{ error }

func (e *replayError) Code() string { return "E0515" }

// configureReplay makes a host take the replies of effects from the case. The host gets no secrets, because
// the case has none and no effect runs.
func (e *evaluation) configureReplay(o *loader.Options) {
	o.World.Answers = e.replay.Replay
	o.World.Secrets = effects.NewSecrets(effects.SecretOptions{Patterns: redactPatterns(o.Config)})
	o.Host.Clock, o.Host.Answer = func() time.Time { return e.replay.Now }, e.replay.Replay.Answer
}

// configDigest returns the SHA-256 of the settings that can change a turn. It does not depend on where files
// are.
func configDigest(c *loader.Config, f *loadFlags) string {
	var b strings.Builder
	for _, s := range c.Settings() {
		table, _, _ := strings.Cut(s.Key, ".")
		if slices.Contains([]string{"grants", "limits", "plugin", "prompt", "tools"}, table) {
			fmt.Fprintln(&b, s)
		}
	}
	fmt.Fprintln(&b, f.grant, f.set)
	return fragments.Sum(b.String()).String()
}

func pluginDigests(set *loader.Set) map[string]string {
	digests := map[string]string{}
	for _, p := range set.Plugins {
		if p.Status == loader.StatusLoaded {
			digests[p.Name] = p.Digest.String()
		}
	}
	return digests
}

// divergence returns an error if a replay differed from its case. If a handler failed because of that, it
// returns the handler's failure, which names a place in the plugin. If a permission is missing, it returns
// only that error.
func (e *evaluation) divergence(failures []error) error {
	err := e.replay.Replay.End()
	var first *effects.DivergenceError
	if !errors.As(err, &first) {
		return err
	}
	if first.Refused != nil {
		err = first.Refused
	}
	for _, failure := range failures {
		if errors.Is(failure, err) {
			return failure
		}
	}
	return err
}

// changesSinceRecording lists the plugins, and perhaps the config, that are not those of the case.
func (e *evaluation) changesSinceRecording(f *evalFlags) string {
	h := e.replay
	now := pluginDigests(e.Set)
	names := maps.Clone(now)
	maps.Copy(names, h.Plugins)
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if now[name] != h.Plugins[name] {
			changed = append(changed, "plugin "+name)
		}
	}
	if configDigest(e.Set.Config, &f.loadFlags) != h.Config {
		changed = append(changed, "the config")
	}
	return strings.Join(changed, ", ")
}

// reportDivergence reports that a replay differed from its case, without results of the turn.
func (res *Result) reportDivergence(f *evalFlags, e *evaluation, err error) {
	e.Turn, e.Prompt, e.Call, e.Fire, e.Expr, res.logs = nil, nil, nil, nil, nil, nil
	e.Now = time.Time{}
	res.addError(err)
	if changed := e.changesSinceRecording(f); changed != "" {
		res.warnings = append(res.warnings, loader.Warning{Place: loader.Place{File: f.replay}, Msg: "not as it was recorded: " + changed})
	}
}

// writeRecord writes the file of --record, which only its owner may read, because it has everything that the
// turn read. If the case passes, it gets the output that starhost test compares.
func writeRecord(ctx context.Context, env Env, f *evalFlags, e *evaluation, id string) (err error) {
	r := golden.RecordedTurn{Session: e.config, Now: e.clock(), Prompt: f.wantsPrompt(), Request: e.Request, Call: f.call, Event: f.fire}
	r.Seed, r.TimeGiven, r.Session.ID = f.seed, f.now != "", id
	r.Config, r.Plugins, r.Arguments = configDigest(e.Set.Config, &f.loadFlags), pluginDigests(e.Set), jsontext.Must(e.arguments)
	if r.Effects, err = e.record.Bytes(); err != nil {
		return err
	}
	var plugins []decision.Plugin
	for i := range e.Set.Plugins {
		if p := &e.Set.Plugins[i]; p.Status == loader.StatusLoaded {
			plugins = append(plugins, recordedPlugin(p))
		}
	}
	text, err := r.Case(e.Set.Config, plugins, e.Set.Redact)
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	const ownerOnly = 0o600
	err = disk.Replace(env.path(f.record), []byte(text), ownerOnly)
	if err != nil || ctx.Err() != nil {
		return errtext.File(f.record, err)
	}
	_, err = golden.Test(ctx, golden.Options{Dir: env.dir, Paths: []string{f.record}, Update: true, Cache: env.cache})
	return err
}
