package effects

import (
	"io/fs"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Bounds of one pattern. A plugin writes the pattern, and the work of matching grows with all three.
const (
	maxPattern      = 1024 // bytes
	maxAlternatives = 64   // patterns that remain when each {a,b} is written out
	maxSegments     = 62   // names between "/"; each name has one bit of a uint64
)

// A glob is a pattern of paths: a list of alternatives, each a list of the names between "/". doublestar
// compares one name with one name of the pattern; "**" stands for any number of names that do not begin with
// a dot. A name that begins with a dot matches only a name of the pattern that begins with a dot.
//
// Matching goes down a path name by name, and stores the set of places in the pattern that the names so far
// can have reached. So a pattern with many "**" takes no longer than one with one, and a walk can skip
// folders that cannot lead to a match.
type glob struct {
	alternatives [][]string
	names, bytes int // sums over all alternatives
}

// matchSteps is the number of steps that a plugin pays for matching one name of a path.
func (g *glob) matchSteps(name string) int { return 1 + g.names/8 + g.bytes*len(name)/128 }

// A globState has a set of bits for each alternative: the places in the pattern that a path can have reached.
type globState []uint64

// parseGlob reads a pattern, and cleans it with [cleanPath].
func parseGlob(pattern string) (*glob, error) {
	if len(pattern) > maxPattern {
		return nil, errorf("E0503", "pattern: got %d bytes, want at most %d", len(pattern), maxPattern)
	}
	clean, err := cleanPath(pattern)
	if err != nil {
		return nil, err
	}
	plain, err := expandBraces(nil, "", clean)
	if err != nil {
		return nil, err
	}
	g := &glob{}
	for _, p := range plain {
		names, err := splitPattern(p)
		if err != nil {
			return nil, err
		}
		g.alternatives = append(g.alternatives, names)
		g.names += len(names)
		g.bytes += len(p)
	}
	return g, nil
}

// splitPattern splits a pattern without braces into names.
func splitPattern(pattern string) ([]string, error) {
	clean, err := cleanPath(pattern)
	if err != nil {
		return nil, err
	}
	names := splitNames(clean)
	if len(names) > maxSegments {
		return nil, errorf("E0503", "pattern: got %d names between /, want at most %d", len(names), maxSegments)
	}
	for _, n := range names {
		if !doublestar.ValidatePattern(n) {
			return nil, errorf("E0503", "pattern: got %q, want a glob as *.md or **/*.md, with brackets closed", pattern)
		}
	}
	return names, nil
}

// expandBraces appends to dst all patterns that head+rest stands for when each {a,b} is written out. head has
// no braces.
func expandBraces(dst []string, head, rest string) ([]string, error) {
	start, end, parts := findBraces(rest)
	switch {
	case start < 0 && end >= 0:
		return nil, errorf("E0503", "pattern: got %q, want each { closed by a }", head+rest)
	case start < 0 && len(dst) == maxAlternatives:
		return nil, errorf("E0503", "pattern: got more than %d alternatives", maxAlternatives)
	case start < 0:
		return append(dst, head+rest), nil
	}
	for _, p := range parts {
		var err error
		if dst, err = expandBraces(dst, head+rest[:start], p+rest[end+1:]); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// findBraces finds the first {a,b} and returns its start, its end and the texts between its
// commas. Without braces, start and end are -1. If a brace has no partner, start is -1 and end
// is its place.
func findBraces(s string) (start, end int, parts []string) {
	start = -1
	depth, from := 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '[':
			i += max(0, strings.IndexByte(s[i:], ']'))
		case c == '{':
			if depth++; depth == 1 {
				start, from = i, i+1
			}
		case c == ',' && depth == 1:
			parts, from = append(parts, s[from:i]), i+1
		case c == '}':
			if depth--; depth < 0 {
				return -1, i, nil
			}
			if depth == 0 {
				return start, i, append(parts, s[from:i])
			}
		}
	}
	return -1, start, nil
}

// start returns the state before the first name of a path.
func (g *glob) start() globState {
	s := make(globState, len(g.alternatives))
	for i, names := range g.alternatives {
		s[i] = skipStars(names, 1)
	}
	return s
}

// step returns the state after one more name of the path. It returns nil if no longer path can match. If deep
// is false, "**" does not match the name.
func (g *glob) step(s globState, name string, deep bool) globState {
	deep = deep && name[0] != '.'
	next, alive := make(globState, len(s)), false
	for i, names := range g.alternatives {
		var to uint64
		for at, pattern := range names {
			switch {
			case s[i]&(1<<at) == 0:
			case pattern == "**":
				if deep {
					to |= 1 << at
				}
			case matchName(pattern, name):
				to |= 1 << (at + 1)
			}
		}
		next[i] = skipStars(names, to)
		alive = alive || to != 0
	}
	if !alive {
		return nil
	}
	return next
}

// goesOn reports whether a longer path than the one that led to s can match.
func (g *glob) goesOn(s globState) bool {
	for i := range s {
		if s[i]&^(1<<len(g.alternatives[i])) != 0 {
			return true
		}
	}
	return false
}

// skipStars adds to the reached places the place behind each "**" among them, because "**" may match no name.
func skipStars(names []string, at uint64) uint64 {
	for i, n := range names {
		if n == "**" && at&(1<<i) != 0 {
			at |= 1 << (i + 1)
		}
	}
	return at
}

// matched reports whether the path that led to s matches.
func (g *glob) matched(s globState) bool {
	for i := range s {
		if s[i]&(1<<len(g.alternatives[i])) != 0 {
			return true
		}
	}
	return false
}

// match reports whether a path matches. A path that is not clean does not.
func (g *glob) match(name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	s := g.start()
	for _, n := range splitNames(name) {
		if s = g.step(s, n, true); s == nil {
			return false
		}
	}
	return g.matched(s)
}

// overlaps reports whether some path could match both patterns. It may report true wrongly,
// never false.
func (g *glob) overlaps(h *glob) bool {
	for _, a := range g.alternatives {
		for _, b := range h.alternatives {
			if overlapPaths(a, b) {
				return true
			}
		}
	}
	return false
}

func overlapPaths(a, b []string) bool {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] == "**" || b[i] == "**" {
			return true
		}
		if !overlapNames(a[i], b[i]) {
			return false
		}
	}
	rest := append(a[n:len(a):len(a)], b[n:]...)
	return len(rest) == 0 || rest[0] == "**"
}

func overlapNames(a, b string) bool {
	switch {
	case !hasMeta(a):
		return matchName(b, a)
	case !hasMeta(b):
		return matchName(a, b)
	}
	return true
}

// matchName matches one name, without "/".
func matchName(pattern, name string) bool {
	if name[0] == '.' && pattern[0] != '.' {
		return false
	}
	return doublestar.MatchUnvalidated(pattern, name)
}

func hasMeta(pattern string) bool { return strings.ContainsAny(pattern, "*?[") }

// splitNames returns the names of a clean path; "." has none.
func splitNames(clean string) []string {
	if clean == "." {
		return nil
	}
	return strings.Split(clean, "/")
}

var quoter = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", "{", "[{]", "}", "[}]")

// quoteGlob returns the pattern that matches only the path name.
func quoteGlob(name string) string { return quoter.Replace(name) }

// cleanPath returns a path in the only form that means its file, or an error if there is none.
func cleanPath(name string) (string, error) {
	if err := checkLength("path", name, maxPath); err != nil {
		return "", err
	}
	clean := path.Clean(name)
	if name == "" || strings.ContainsAny(name, "\x00\\") || !fs.ValidPath(clean) || hasDotDot(name) {
		return "", errorf("E0503", "path: got %q, want one relative to the folder, with / between names and without .., NUL and backslash", name)
	}
	if n := 1 + strings.Count(clean, "/"); n > maxPathDepth {
		return "", errorf("E0503", "path: got %d names between /, want at most %d", n, maxPathDepth)
	}
	return clean, nil
}

func hasDotDot(name string) bool {
	for n := range strings.SplitSeq(name, "/") {
		if n == ".." {
			return true
		}
	}
	return false
}
