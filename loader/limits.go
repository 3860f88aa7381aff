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

// projectLimits are the [limits] of a project, which concern its own plugins.
type projectLimits struct {
	LimitsConfig                  // 0 is none
	places       map[string]Place // by key: "steps"
}

// over returns the limits of a plugin of the project. Flags win over the project.
func (p *projectLimits) over(limits LimitsConfig) LimitsConfig {
	overlay(&limits.Steps, p.Steps, limits.Raised["steps"])
	overlay(&limits.Memory, p.Memory, limits.Raised["memory"])
	overlay(&limits.Timeout, p.Timeout, limits.Raised["time"])
	overlay(&limits.Event, p.Event, "")
	overlay(&limits.Source, p.Source, "")
	overlay(&limits.Output, p.Output, "")
	return limits
}

// overlay sets a limit that the project has and no flag.
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
	// The host has it, a plugin has none of its own.
	Event uint64
	// Source and Output are the most bytes of one .star file, and of what one
	// evaluation prints; the host has them, a plugin has none of its own.
	Source, Output int64
	// Raised says what raises steps, memory and time (the timeout), where that is not
	// [limits] and a flag alike: a flag that was given, a plugin's own table.
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

// Raise notes what raises a limit, without a change to copies of c.
func (c *LimitsConfig) Raise(limit, by string) {
	c.Raised = maps.Clone(c.Raised)
	if c.Raised == nil {
		c.Raised = map[string]string{}
	}
	c.Raised[limit] = by
}

// LimitsOf returns the limits of the plugin: the lower ones of the host's and its own. For a
// plugin of the project, [limits] of the project replace the host's.
func (c *Config) LimitsOf(s *Source) LimitsConfig {
	host := c.Limits
	if c.hasProjectLimits(s) {
		host = c.projectLimits.over(host)
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

// tighter returns the lower limit, where 0 is none.
func tighter[T cmp.Ordered](a, b T) T {
	var none T
	if a == none || b != none && b < a {
		return b
	}
	return a
}

// hasProjectLimits reports whether [limits] of the project concern the plugin.
func (c *Config) hasProjectLimits(s *Source) bool {
	return len(c.projectLimits.places) > 0 && c.governs(s, onlyOwnPlugins)
}

// checkPluginLimits warns of a plugin's limit that the host's makes void.
func (c *Config) checkPluginLimits() {
	for _, name := range slices.Sorted(maps.Keys(c.Plugin)) {
		own, holds := c.Plugin[name].Limits, c.LimitsOf(&Source{Name: name})
		void := map[string]bool{
			"memory":  own.Memory > holds.Memory,
			"steps":   own.Steps > holds.Steps,
			"timeout": own.Timeout > holds.Timeout,
		}
		for _, limit := range slices.Sorted(maps.Keys(void)) {
			if void[limit] {
				key := []string{"plugin", name, "limits", limit}
				c.warn(c.Place(key...), "%s is over [limits] %s, which holds", toml.Key(key), limit)
			}
		}
	}
}
