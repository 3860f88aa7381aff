package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/loader"
)

// A recording writes down a turn. Its journal begins when the plugins are loaded,
// which nothing that is written down can come before.
type recorder struct {
	journal *effects.Journal
	clock   func() time.Time
}

// configureHost makes a host record.
func (r *recorder) configureHost(o *loader.Options) {
	clock := o.Host.Clock
	if clock == nil {
		clock = time.Now
	}
	r.clock = clock
	o.Host.Clock = func() time.Time { return r.clock() }
	o.Host.Record = func(e starhost.Entry) { r.journal.Record(e) }
}

// startJournal starts the journal.
func (r *recorder) startJournal(h effects.Header) {
	r.journal = effects.NewJournal(h)
	r.clock = r.journal.Clock(r.clock)
}

// openJournal reads the journal that is replayed.
func (a *app) openJournal(name string) (*effects.Replay, error) {
	file, err := os.Open(a.path(name))
	if err != nil {
		return nil, wrapFileError(name, err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, usagef("--replay: %s is a folder, want a journal that --record wrote", name)
	}
	replay, err := effects.ReadJournal(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return replay, nil
}

// configureReplay makes a host take its effects from a journal. It needs no secrets: the
// journal has none, and no effect is done.
func configureReplay(r *effects.Replay, o *loader.Options) {
	o.World.Answers = r
	o.World.Secrets = effects.NewSecrets(effects.SecretOptions{})
	o.Host.Clock, o.Host.Answer = r.Clock, r.Answer
}

// recordedQuestion returns what the journal says was asked, and takes over its seed and time.
// If the flags ask anything, it must be the same, which is checked when all of it is
// known.
func (e *evaluation) recordedQuestion(f *evalFlags) (*question, error) {
	var q question
	if err := json.Unmarshal(e.replay.Header.Input, &q); err != nil {
		return nil, fmt.Errorf("%s: %w", f.replay, &replayError{"E0515", "the first line does not say what was asked"})
	}
	f.seed, f.now = e.replay.Header.Seed, cmp.Or(f.now, q.Now)
	return &q, nil
}

// A replayError says why a journal cannot be replayed, apart from its effects.
type replayError struct{ code, msg string }

func (e *replayError) Error() string { return e.msg }
func (e *replayError) Code() string  { return e.code }

// journalHeader returns the first line of a journal of this turn.
func (e *evaluation) journalHeader(f *evalFlags, session *starhost.Session) effects.Header {
	return effects.Header{
		Starhost: version(), Sandbox: dependency("go.starlark.net"),
		Session: session.ID(), Turn: 1, Seed: f.seed,
		Config: configDigest(e.set.Config, &f.loadFlags), Plugins: pluginDigests(e.set),
		Input: json.RawMessage(e.set.Redact(string(mustJSON(e.newQuestion(f))))),
	}
}

// configDigest returns the hash of what the operator decided that a turn depends
// on, wherever the files are.
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

// checkQuestion refuses to replay a journal of another question.
func (e *evaluation) checkQuestion(f *evalFlags) error {
	return e.replay.CheckInput(mustJSON(e.newQuestion(f)))
}

// divergence returns where a replay did other than its journal says, or nil: the
// failure that knows the place in the plugin, if there is one, and where a permission
// is what is missing, that alone.
func (e *evaluation) divergence(failures []error) error {
	err := e.replay.End()
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

// changesSinceRecording names what is not as it was recorded, "" if all is.
func (e *evaluation) changesSinceRecording(f *evalFlags) string {
	h := &e.replay.Header
	now := pluginDigests(e.set)
	names := maps.Clone(now)
	maps.Copy(names, h.Plugins)
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if now[name] != h.Plugins[name] {
			changed = append(changed, "plugin "+name)
		}
	}
	if configDigest(e.set.Config, &f.loadFlags) != h.Config {
		changed = append(changed, "the config")
	}
	return strings.Join(changed, ", ")
}

// reportDivergence reports a divergence, and nothing that came of the turn.
func (a *app) reportDivergence(f *evalFlags, e *evaluation, err error) {
	e.turn, e.prompt, e.call, e.fire, e.expr, a.logs = nil, nil, nil, nil, nil, nil
	a.addError(err)
	if changed := e.changesSinceRecording(f); changed != "" {
		a.warnings = append(a.warnings, loader.Warning{Place: loader.Place{File: f.replay}, Msg: "not as it was recorded: " + changed})
	}
}

// writeJournal writes the file that --record names.
func (a *app) writeJournal(name string, j *effects.Journal) error {
	data, err := j.Bytes()
	if err != nil {
		return err
	}
	return wrapFileError(name, effects.ReplaceFile(a.path(name), data, 0o600)) // what a turn saw is its owner's
}
