package install

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
)

// CanaryReason returns the reason for the denial of a canary. It names the revision of the set, the guards,
// the hooks that have less effect in this agent than elsewhere, and the guards that have no effect in it. A
// semicolon precedes each of them.
func CanaryReason(nonce string, agent *hook.Agent, set *loader.Set) string {
	parts := []string{fmt.Sprintf("%s %s: set %s", hook.CanaryTool, nonce, revision(set))}
	var guards, idle []string
	events := map[string]starhost.EventSpec{}
	for _, e := range set.Host.Events() {
		events[e.Name] = e
	}
	decides := map[string][]string{}
	for i := range set.Plugins {
		if p := &set.Plugins[i]; p.Registered != nil {
			decides[p.Name] = p.Registered.Decides
		}
	}
	kept := KeptWords(agent, set)
	for i, h := range set.Host.Hooks() {
		// A hook that redacts is a guard, too, if the agent accepts its change.
		if e := events[h.Event]; !e.Guard && (!e.FailsClosed(decides[h.Plugin]) || kept[i] != "") {
			continue
		}
		if !slices.Contains(guards, h.Plugin) {
			guards = append(guards, h.Plugin)
		}
		if !matchesAgent(h.Match, agent, set) {
			idle = append(idle, fmt.Sprintf("%s: match %s: %s has no such tool", h.Plugin, strings.Join(h.Match, ", "), agent.Title))
		}
	}
	slices.Sort(guards)
	parts = append(parts, "guards "+strings.Join(guards, ", "))
	for i := range set.Plugins {
		if p := &set.Plugins[i]; p.Mode == "warn" && slices.Contains(guards, p.Name) {
			idle = append(idle, p.Name+" only warns (mode in the config)")
		}
	}
	for _, note := range slices.Compact(slices.Sorted(maps.Values(kept))) { // each note once for a plugin
		parts = append(parts, hook.CanaryNote+note)
	}
	return strings.ReplaceAll(strings.Join(append(parts, idle...), "; "), "\n", " ")
}

// KeptWords returns a sentence for each hook whose change of the user's words or of results the agent
// ignores. The keys are indexes among the host's hooks.
func KeptWords(agent *hook.Agent, set *loader.Set) map[int]string {
	kept := map[int]string{}
	for i, h := range set.Host.Hooks() {
		switch {
		case h.Event == "pre_send" && !agent.ReplacesWords:
			kept[i] = fmt.Sprintf("%s: %s lets no hook replace the user's words, so pre_send changes only the context that plugins add (starhost docs redaction)",
				h.Plugin, agent.Title)
		case h.Event == "post_tool_call" && agent.Redacts == "" && changesResults(set, h.Plugin):
			kept[i] = fmt.Sprintf("%s: %s lets no hook change results, so the model reads them as they are (starhost docs redaction)", h.Plugin, agent.Title)
		}
	}
	return kept
}

// changesResults reports whether a plugin's files contain a change of a result.
func changesResults(set *loader.Set, plugin string) bool {
	return slices.ContainsFunc(set.Plugins, func(p loader.Plugin) bool {
		return p.Name == plugin && p.Registered != nil && slices.Contains(p.Registered.Decides, "modify result")
	})
}

// matchesAgent reports whether one of the globs matches a tool of the agent, of a plugin or of another
// server.
func matchesAgent(globs []string, agent *hook.Agent, set *loader.Set) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(glob string) bool {
		isServer := agent.MCPPrefix == "" && agent.MCPSeparator != "" && strings.Contains(glob, agent.MCPSeparator)
		return isServer || agent.Matches(glob) || slices.ContainsFunc(set.Host.Tools(), func(t starhost.Tool) bool {
			fits, _ := path.Match(glob, t.Name)
			return fits
		})
	})
}

// revision returns a short hash of the plugins, with their files, settings, permissions and limits.
func revision(set *loader.Set) string {
	h := sha256.New()
	for i := range set.Plugins {
		p := &set.Plugins[i]
		fmt.Fprintf(h, "%s %s %s %s\n", p.Name, p.Mode, p.Status, p.Digest)
		if p.Registered != nil {
			fmt.Fprintf(h, "%s %t\n", p.Registered.Revision, p.Registered.Restricted)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
