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
	minVersion string // version; "" for any
}

var (
	requirementForm = lazyRegexp(`^([a-z][a-z0-9_-]{0,63})(?: *>= *([0-9]+(?:\.[0-9]+)*))?$`)
	versionForm     = lazyRegexp(`^([0-9]+(?:\.[0-9]+)*)(-[^+]*)?(\+.*)?$`)
)

// lazyRegexp compiles a regular expression when it is first asked for: few plugins
// require others, and the program starts faster.
func lazyRegexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// requirements reads what the plugin requires.
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

// requirementError returns an error at the plugin's plugin(...).
func (e *evaluation) requirementError(format string, args ...any) error {
	at := e.manifest.Place
	pos := starlark.Pos{File: e.source.Display, Line: int(at.Line), Col: int(at.Col)}
	return e.fail(pos, "E0612", "plugin: requires"+format, args...)
}

// checkRequirements tells of the first plugin that is required and not loaded, or
// too old. Those that could be loaded are, by now.
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

// olderThan compares versions number by number; one that is missing is 0. A
// version with a suffix, such as 1.2-rc1, comes before the one without.
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

// sortByRequirements returns the evaluations so that each comes after those it requires,
// otherwise as they are. All of a cycle fail and are left out.
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

// An ordering is one walk along what plugins require.
type ordering struct {
	byName map[string]*evaluation
	seen   map[*evaluation]bool
	path   []*evaluation // those whose requirements are being visited
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
			continue // told when e is evaluated
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

// failCycle fails the plugins of a cycle, each with the cycle as it sees it.
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
