package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
)

// logDir returns the folder of the decision log, or "" if the environment names none.
func (env Env) logDir(c *loader.Config) string {
	if managed := c.ManagedLog(); managed != "" && os.Geteuid() >= 0 {
		// All users share the path, so each has a folder of their own in it.
		own := filepath.Join(managed, strconv.Itoa(os.Geteuid()))
		if info, err := os.Lstat(own); err == nil && info.IsDir() && disk.Owner(info) == os.Geteuid() {
			return own
		}
	} else if c.Log.Path.Real != "" {
		return c.Log.Path.Real
	}
	sessions := hook.StateDir(env.getenv)
	if sessions == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(sessions), "log")
}

// newLog returns the decision log of a config, or nil if the config does not enable it. agent is the agent
// that records state for events that name none. report receives the errors of writing records.
func (env Env) newLog(c *loader.Config, agent string, report func(error)) *decision.Log {
	if !c.Log.Enabled {
		return nil
	}
	o := decision.Options{
		Describe: builtins.DescribeCalls(c.Kinds),
		Dir:      env.logDir(c), Keep: c.Log.Keep, Max: c.Log.Max, Sync: c.Log.Fsync, Required: c.Log.Required,
		Include: c.Log.Include, Agent: agent, Starhost: version(), Report: report,
	}
	o.KeepLikelyKeys = len(c.Log.Mask) == 0
	o.Mask, o.Patterns = ownMask(c), redactPatterns(c)
	return decision.New(o)
}

// ownMask returns the globs of log.mask in the config without the default one, which the log has anyway.
func ownMask(c *loader.Config) []string {
	return slices.DeleteFunc(slices.Clone(c.Log.Mask), func(glob string) bool { return glob == loader.DefaultMask })
}

// redactPatterns returns the regular expressions of redact.patterns in the config.
func redactPatterns(c *loader.Config) (patterns []*regexp.Regexp) {
	for _, text := range c.Log.Redact {
		patterns = append(patterns, regexp.MustCompile(text)) // no panic, because the config has been checked
	}
	return patterns
}

// observe makes a host pass its events to a log. If log is nil, it does nothing.
func observe(
	l *decision.Log, c *loader.Config, o *host.Options, pass func(starhost.Event, host.Outcome) error,
) {
	if l != nil {
		o.Observe, o.ObserveAll = pass, c.Log.All
	}
}

// recordEvents makes a host record its events. It returns the log, or nil if the config does not enable it.
// An error of writing goes to standard error, but only once if each event has the same.
func (env Env) recordEvents(o *loader.Options) *decision.Log {
	reported := ""
	records := env.newLog(o.Config, "", func(err error) {
		if text := texttable.EscapeLine(err.Error()); text != reported {
			fmt.Fprintln(env.stderr, text)
			reported = text
		}
	})
	if records != nil {
		observe(records, o.Config, &o.Host, records.Observe)
	}
	return records
}

// useSet tells a log which plugins decide about the next events.
func useSet(l *decision.Log, set *loader.Set) {
	if l == nil || set == nil {
		return
	}
	used := decision.Set{Revision: set.Revision()}
	for i := range set.Plugins {
		if p := &set.Plugins[i]; p.Status == loader.StatusLoaded {
			used.Plugins = append(used.Plugins, recordedPlugin(p))
		}
	}
	for name, source := range set.Config.Secrets {
		if source.Command == nil || len(set.Config.Log.Mask) == 0 { // a command that prints a secret can take seconds
			_, _ = set.Secret(name) // reads it, so that Redact removes it; without a value, nothing is to do
		}
	}
	l.Use(used, set.Redact)
}

// recordedPlugin returns what records say about a plugin.
func recordedPlugin(p *loader.Plugin) decision.Plugin {
	r := decision.Plugin{Name: p.Name, Version: p.Version, SHA256: p.Digest.String()}
	if p.Mode != "enforce" {
		r.Mode = p.Mode
	}
	if len(p.Declared) > 0 {
		r.Granted = append([]string{}, p.Granted...)
	}
	for _, s := range p.Settings {
		if r.Config == nil {
			r.Config = map[string]json.RawMessage{}
		}
		r.Config[s.Key] = jsontext.Must(s.Value)
	}
	return r
}

// recordAnswers makes a desk record the events of an agent in a log. If nobody has loaded the config yet, the log
// loads it, because the config says where the log is.
func (env Env) recordAnswers(desk *hook.Desk, l *decision.EventLog, agent string, report func(error)) {
	l.New = func() *decision.Log {
		config, _, err := env.readConfig(false)
		if err != nil {
			return nil
		}
		return env.newLog(config, agent, report)
	}
	desk.Record = func(e *starhost.Event, a hook.Answer) error {
		return l.Record(e, decision.AgentAnswer{Action: a.Action, Refused: a.Refused, Dropped: a.Dropped, Args: a.Args})
	}
}
