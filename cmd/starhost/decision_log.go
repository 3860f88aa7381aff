package main

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"regexp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
)

// logDir returns the folder of the decision log, "" if the environment names none.
func (a *app) logDir(c *loader.Config) string {
	if c.Log.Path.Real != "" {
		return c.Log.Path.Real
	}
	sessions := hook.StateDir(a.getenv)
	if sessions == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(sessions), "log")
}

// newLog returns the decision log of a config, or nil if it is not enabled. agent is the agent of
// events that name none. report receives the failures to write a record.
func (a *app) newLog(c *loader.Config, agent string, report func(error)) *decision.Log {
	if !c.Log.Enabled {
		return nil
	}
	o := decision.Options{
		Dir: a.logDir(c), Keep: c.Log.Keep, Max: c.Log.Max, Sync: c.Log.Fsync, Required: c.Log.Required,
		Include: c.Log.Include, Mask: c.Log.Mask, Agent: agent, Starhost: version(), Report: report,
	}
	for _, text := range c.Log.Redact {
		o.Patterns = append(o.Patterns, regexp.MustCompile(text)) // the config was checked
	}
	return decision.New(o)
}

// observe makes a host pass its events to a log, if there is one.
func observe(
	l *decision.Log, c *loader.Config, o *starhost.Options, pass func(starhost.Event, starhost.Outcome) error,
) {
	if l != nil {
		o.Observe, o.ObserveAll = pass, c.Log.All
	}
}

// useSet names the plugins of a set in the next records.
func useSet(l *decision.Log, set *loader.Set) {
	if l == nil || set == nil {
		return
	}
	used := decision.Set{Revision: set.Revision()}
	for i := range set.Plugins {
		if p := &set.Plugins[i]; p.Status == loader.StatusLoaded {
			used.Plugins = append(used.Plugins, recordedPlugin(p, set.Config.Plugin[p.Name]))
		}
	}
	l.Use(used, set.Redact)
}

// recordedPlugin identifies a plugin in records. config has its settings; it may be nil.
func recordedPlugin(p *loader.Plugin, config *loader.PluginConfig) decision.Plugin {
	r := decision.Plugin{Name: p.Name, Version: p.Version, SHA256: p.Digest.String()}
	if p.Mode != "enforce" {
		r.Mode = p.Mode
	}
	if len(p.Declared) > 0 {
		r.Granted = append([]string{}, p.Granted...)
	}
	if config == nil || len(config.Values) == 0 {
		return r
	}
	r.Config = map[string]json.RawMessage{}
	for key, value := range config.Values {
		r.Config[key] = mustJSON(value.V)
	}
	return r
}

// A hookLog collects the records of an agent's event, because they contain the agent's answer.
type hookLog struct {
	log     *decision.Log // nil if it is not enabled
	records []*decision.Record
}

// observe collects an event of plugins.
func (h *hookLog) observe(e starhost.Event, o starhost.Outcome) error {
	h.records = append(h.records, h.log.Record(e, o))
	return nil
}

// write writes the records with the answer. The error is for a log that is required.
func (h *hookLog) write(answer string) (err error) {
	for _, r := range h.records {
		r.Answered = answer
		err = cmp.Or(err, h.log.Deliver(r))
	}
	return err
}
