package loader

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/BurntSushi/toml"
)

// projectLimits are the [limits] of a project. They apply to its own plugins.
type projectLimits struct {
	LimitsConfig                  // a limit of 0 is not set
	places       map[string]Place // places of the limits, by key: "steps"
}

// over returns the limits of a plugin of the project: those of the project where it sets one, unless a flag
// set the limit, and otherwise limits.
func (p *projectLimits) over(limits LimitsConfig) LimitsConfig {
	overlay(&limits.Steps, p.Steps, limits.Raised["steps"])
	overlay(&limits.Memory, p.Memory, limits.Raised["memory"])
	overlay(&limits.Timeout, p.Timeout, limits.Raised["time"])
	overlay(&limits.Event, p.Event, "")
	overlay(&limits.Source, p.Source, "")
	overlay(&limits.Output, p.Output, "")
	return limits
}

// overlay replaces *limit by the limit of the project, unless the project has none or a flag set *limit.
func overlay[T comparable](limit *T, project T, flag string) {
	var none T
	if project != none && flag == "" {
		*limit = project
	}
}

// LimitsConfig bounds an evaluation.
type LimitsConfig struct {
	// Steps are interpreter steps.
	Steps uint64
	// Memory is in bytes.
	Memory uint64
	// Timeout is wall-clock time.
	Timeout time.Duration
	// Event is the most steps of all hooks of one plugin within one event; 0 means ten times Steps.
	// In a PluginConfig it is 0.
	Event uint64
	// Source is the most bytes of one .star file, Output the most bytes that one evaluation
	// prints. In a PluginConfig they are 0.
	Source, Output int64
	// Raised maps "steps", "memory" and "time" to the flag or table that sets the limit, for error
	// texts. Limits without an entry come from [limits].
	Raised map[string]string
}

// eventCalls is how many calls of a handler fill the budget of an event.
const eventCalls = 10

// EventSteps returns the most steps of all hooks of one plugin within one event.
func (c *LimitsConfig) EventSteps() uint64 {
	if c.Event > 0 {
		return c.Event
	}
	return eventCalls * min(c.Steps, math.MaxUint64/eventCalls)
}

// EventTimeout returns the most time of one event.
func (c *LimitsConfig) EventTimeout() time.Duration {
	return eventCalls * min(c.Timeout, math.MaxInt64/eventCalls)
}

// Raise sets Raised[limit] to by. Copies of c do not change.
func (c *LimitsConfig) Raise(limit, by string) {
	c.Raised = maps.Clone(c.Raised)
	if c.Raised == nil {
		c.Raised = map[string]string{}
	}
	c.Raised[limit] = by
}

// LimitsOf returns the limits of the plugin: for each the lower one of the host's and the plugin's.
// For a plugin of the project, [limits] of the project replace the host's.
// A limit of the managed config bounds both.
func (c *Config) LimitsOf(s *Source) LimitsConfig {
	if s.Managed {
		c = c.configOf(s)
	}
	host := c.Limits
	if c.hasProjectLimits(s) {
		host = c.boundByManaged(c.projectLimits.over(host))
	}
	limits, name := host, s.Name
	p := c.Plugin[name]
	if p == nil {
		return limits
	}
	limits.Steps = tighter(limits.Steps, p.Limits.Steps)
	limits.Memory = tighter(limits.Memory, p.Limits.Memory)
	limits.Timeout = tighter(limits.Timeout, p.Limits.Timeout)
	for _, own := range []struct {
		limit, key string
		holds      bool
	}{
		{"steps", "steps", limits.Steps != host.Steps},
		{"memory", "memory", limits.Memory != host.Memory},
		{"time", "timeout", limits.Timeout != host.Timeout},
	} {
		if own.holds {
			limits.Raise(own.limit, fmt.Sprintf("[plugin.%s] limits.%s", name, own.key))
		}
	}
	return limits
}

// boundByManaged returns the limits of a project, lowered to those that the managed config sets.
func (c *Config) boundByManaged(limits LimitsConfig) LimitsConfig {
	if c.managed == nil {
		return limits
	}
	most := &c.managed.alone.Limits
	for key, bound := range map[string]func(){
		"steps":   func() { limits.Steps = tighter(limits.Steps, most.Steps) },
		"memory":  func() { limits.Memory = tighter(limits.Memory, most.Memory) },
		"timeout": func() { limits.Timeout = tighter(limits.Timeout, most.Timeout) },
		"event":   func() { limits.Event = tighter(limits.Event, most.Event) },
		"source":  func() { limits.Source = tighter(limits.Source, most.Source) },
		"output":  func() { limits.Output = tighter(limits.Output, most.Output) },
	} {
		if _, ok := c.managedPlace("limits", key); ok {
			bound()
		}
	}
	return limits
}

// tighter returns the lower limit; 0 means no limit.
func tighter[T cmp.Ordered](a, b T) T {
	var none T
	if a == none || b != none && b < a {
		return b
	}
	return a
}

// hasProjectLimits reports whether [limits] of the project apply to the plugin.
func (c *Config) hasProjectLimits(s *Source) bool {
	return len(c.projectLimits.places) > 0 && c.governs(s, onlyOwnPlugins)
}

// checkPluginLimits warns of a plugin's limits that are above the host's.
func (c *Config) checkPluginLimits() {
	for _, name := range slices.Sorted(maps.Keys(c.Plugin)) {
		own, effective := c.Plugin[name].Limits, c.LimitsOf(&Source{Name: name})
		void := map[string]bool{
			"memory":  own.Memory > effective.Memory,
			"steps":   own.Steps > effective.Steps,
			"timeout": own.Timeout > effective.Timeout,
		}
		for _, limit := range slices.Sorted(maps.Keys(void)) {
			if void[limit] {
				key := []string{"plugin", name, "limits", limit}
				c.warn(c.Place(key...), "%s is over [limits] %s, which applies", toml.Key(key), limit)
			}
		}
	}
}
