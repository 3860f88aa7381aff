package loader

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/starlark"
)

// A requirement is one entry of a plugin's requires: "policy", "policy>=1.2".
type requirement struct {
	text, name string
	minVersion string // the least version; "" for any
}

var (
	requirementForm = lazyRegexp(`^([a-z][a-z0-9_-]{0,63})(?: *>= *([0-9]+(?:\.[0-9]+)*))?$`)
	versionForm     = lazyRegexp(`^([0-9]+(?:\.[0-9]+)*)(-[^+]*)?(\+.*)?$`)
)

// lazyRegexp returns a function that compiles a regular expression at its first call. Few plugins require
// others, so most programs never compile it.
func lazyRegexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// requirements parses the entries of the plugin's list requires.
func (e *evaluation) requirements() ([]requirement, error) {
	var list []requirement
	for i, text := range e.manifest.Requires {
		m := requirementForm().FindStringSubmatch(text)
		if m == nil {
			return nil, e.requirementError("[%d]: got %q, want NAME or NAME>=VERSION, such as policy>=1.2", i, text)
		}
		list = append(list, requirement{text, m[1], m[2]})
	}
	return list, nil
}

// requirementError returns an error at the plugin(...) call of the plugin.
func (e *evaluation) requirementError(format string, args ...any) error {
	at := e.manifest.Place
	pos := starlark.Pos{File: e.source.Display, Line: int(at.Line), Col: int(at.Col)}
	return e.fail(pos, "E0612", "plugin: requires"+format, args...)
}

// checkRequirements returns an error for the first required plugin that is not loaded or too old. Load calls
// it after loading the required plugins.
func (e *evaluation) checkRequirements() error {
	for _, r := range e.requires {
		i := e.set.index(r.name)
		if i < 0 {
			return e.requirementError(" %q: no plugin is named %s%s", r.text, r.name, near.DidYouMean(r.name, e.names()))
		}
		switch p := &e.set.Plugins[i]; {
		case p.Status != StatusLoaded:
			return e.requirementError(" %q: plugin %s is %s", r.text, r.name, p.Status)
		case r.minVersion != "" && p.Version == "":
			return e.requirementError(" %q: plugin %s has no version", r.text, r.name)
		case r.minVersion != "" && !versionForm().MatchString(p.Version):
			return e.requirementError(" %q: plugin %s has version %q, want one of numbers, such as 1.2.0", r.text, r.name, p.Version)
		case r.minVersion != "" && olderThan(p.Version, r.minVersion):
			return e.requirementError(" %q: plugin %s has version %s", r.text, r.name, p.Version)
		}
	}
	return nil
}

// names returns the names of all plugins that were found.
func (l *loadRun) names() []string {
	names := make([]string, len(l.set.Plugins))
	for i := range l.set.Plugins {
		names[i] = l.set.Plugins[i].Name
	}
	return names
}

// olderThan reports whether a version is older than another. It compares number by number; a missing number
// is 0. A version with a suffix, such as 1.2-rc1, is older than the version without it.
func olderThan(version, least string) bool {
	m := versionForm().FindStringSubmatch(version)
	have, want := strings.Split(m[1], "."), strings.Split(least, ".")
	for i := range max(len(have), len(want)) {
		if c := compareNumbers(versionPart(have, i), versionPart(want, i)); c != 0 {
			return c < 0
		}
	}
	return m[2] != ""
}

func versionPart(parts []string, i int) string {
	if i < len(parts) {
		return strings.TrimLeft(parts[i], "0")
	}
	return ""
}

// compareNumbers compares numbers of any length without leading zeros.
func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// sortByRequirements returns the evaluations in an order in which each plugin comes after the plugins that it
// requires. Apart from that, the order stays. Plugins that require each other in a cycle fail, and the result
// omits them.
func sortByRequirements(list []*evaluation) []*evaluation {
	if !slices.ContainsFunc(list, (*evaluation).isDependent) {
		return list
	}
	o := ordering{byName: map[string]*evaluation{}, seen: map[*evaluation]bool{}}
	for _, e := range list {
		o.byName[e.source.Name] = e
	}
	for _, e := range list {
		o.visit(e)
	}
	return slices.DeleteFunc(o.sorted, func(e *evaluation) bool { return e.plugin.Err != nil })
}

// isDependent reports whether the plugin requires others.
func (e *evaluation) isDependent() bool { return len(e.requires) > 0 }

// An ordering is a walk along the requirements of plugins.
type ordering struct {
	byName map[string]*evaluation
	seen   map[*evaluation]bool
	path   []*evaluation // plugins whose requirements the walk is visiting now
	sorted []*evaluation
}

func (o *ordering) visit(e *evaluation) {
	if o.seen[e] {
		return
	}
	o.seen[e] = true
	o.path = append(o.path, e)
	for _, r := range e.requires {
		next := o.byName[r.name]
		if next == nil {
			continue // the evaluation of e reports the missing plugin
		}
		if i := slices.Index(o.path, next); i >= 0 {
			failCycle(o.path[i:])
			continue
		}
		o.visit(next)
	}
	o.path = o.path[:len(o.path)-1]
	o.sorted = append(o.sorted, e)
}

// failCycle makes the plugins of a cycle fail. The error of each plugin lists the cycle, beginning with that
// plugin.
func failCycle(cycle []*evaluation) {
	var names []string
	for _, e := range cycle {
		names = append(names, e.source.Name)
	}
	for i, e := range cycle {
		if e.plugin.Err == nil {
			seen := slices.Concat(names[i:], names[:i+1])
			e.finish(e.requirementError(": cycle: %s", strings.Join(seen, " -> ")))
		}
	}
}
