package modules

import (
	"container/list"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/starhost/starhost/internal/errtext"
)

// Limits of regular expressions. RE2 takes time linear in text times program, and copies the
// positions of the groups at each step, so all three need a limit.
const (
	reMaxSource  = 4 << 10 // bytes of a pattern
	reMaxProgram = 4096    // instructions; x{1000} needs 1,000
	reMaxGroups  = 100
	reMaxCached  = 256     // patterns in the cache
	reMaxWeight  = 1 << 18 // instructions and character ranges of all patterns in the cache
)

// A reAnchor says which part of the text a match must cover.
type reAnchor int

const (
	reAnywhere reAnchor = iota // re.search and the functions that return many matches
	reAtStart                  // re.match
	reWhole                    // re.fullmatch
)

// reAnchors are the texts around a pattern, by anchor. The pattern may contain "^" and "$" that
// match at lines, but these match only at the ends of the text.
var reAnchors = [...]struct{ before, after string }{
	reAnywhere: {"", ""},
	reAtStart:  {`\A(?:`, `)`},
	reWhole:    {`\A(?:`, `)\z`},
}

// A rePattern is a compiled pattern with the sizes on which its prices depend.
type rePattern struct {
	source  string // as the plugin wrote it
	re      *regexp.Regexp
	program int    // most instructions
	ranges  int    // character ranges, which make compiling slow
	prefix  string // literal with which every match begins, whatever stands in front; or ""
	rest    reRest // finds matches behind the first one
}

// Prices in steps of a Unicode class such as \pL, which has hundreds of ranges, without and
// with case folding.
const (
	reClassSteps = 2_000
	reFoldSteps  = 30_000
)

// parseSteps returns the price of parsing a pattern, estimated from its text. With case
// folding, the parser reads a range such as [\x{50}-\x{ffff}] character by character.
func parseSteps(source string) int {
	steps := 8 + len(source)/2
	if len(source) > reMaxSource {
		return steps // the parser refuses it
	}
	class, folds := reClassSteps, foldsCase(source)
	if folds {
		class = reFoldSteps
	}
	for i := range len(source) {
		switch source[i] {
		case '[':
			steps += 32
		case '\\':
			steps += 32
			if i+1 < len(source) && (source[i+1] == 'p' || source[i+1] == 'P') {
				steps += class
			}
		case '-':
			if end := source[i+1:]; folds && end != "" && (end[0] >= utf8.RuneSelf || strings.HasPrefix(end, `\x{`)) {
				steps += class
			}
		}
	}
	return steps
}

// foldsCase reports whether a pattern may have the flag i.
func foldsCase(source string) bool {
	for {
		_, rest, found := strings.Cut(source, "(?")
		if !found {
			return false
		}
		end := strings.IndexAny(rest, ":)<")
		if strings.Contains(rest[:max(end, 0)], "i") {
			return true
		}
		source = rest
	}
}

// sizeSteps returns the price of the pattern's size, in addition to that of its length.
func (p *rePattern) sizeSteps() int { return (p.program + p.ranges/2) / 2 }

// rangeSteps returns the price of running the program over n bytes. At each character the
// engine may be at all instructions, and it copies the positions of all groups.
func (p *rePattern) rangeSteps(n int) int { return n * p.byteSteps() / 16 }

// skipSteps returns the price of searching the prefix in n bytes. strings.Index may compare a
// whole long prefix at some positions.
func (p *rePattern) skipSteps(n int) int { return 1 + n/64*(1+len(p.prefix)/64) }

// byteSteps returns the price of one byte, in sixteenths of a step.
func (p *rePattern) byteSteps() int { return 8 + p.program + p.program*p.re.NumSubexp()/16 }

// pieceBytes returns the most bytes that the program reads before they are paid for.
func (p *rePattern) pieceBytes() int { return min(pieceBytes, 16*pieceSteps/p.byteSteps()+1) }

// matchBytes returns the memory of one match: its positions, and a value for each group.
func (p *rePattern) matchBytes() int { return 128 + 48*p.re.NumSubexp() }

// compileRE compiles source. Its errors quote the pattern.
func compileRE(source string, anchor reAnchor) (*rePattern, error) {
	if len(source) > reMaxSource {
		return nil, badRE(source, "got %d bytes, want %d or fewer", len(source), reMaxSource)
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, explainRE(source, err)
	}
	p := &rePattern{source: source}
	p.program, p.ranges = measureRE(tree)
	if p.program > reMaxProgram {
		return nil, badRE(source, "got %d instructions, want %d or fewer (repeat less)", p.program, reMaxProgram)
	}
	if n := tree.MaxCap(); n > reMaxGroups {
		return nil, badRE(source, "got %d groups, want %d or fewer (use (?:...) where no group is read)", n, reMaxGroups)
	}
	text := source
	if a := reAnchors[anchor]; anchor != reAnywhere {
		text = a.before + tree.String() + a.after // source itself may contain an open \Q
	}
	if p.re, err = regexp.Compile(text); err != nil {
		return nil, explainRE(source, err)
	}
	if anchor == reAnywhere {
		p.prefix, p.rest.tree = prefixRE(tree), tree.String()
	}
	return p, nil
}

// prefixRE returns a literal with which every match begins, whatever text stands in front of
// it. So "^a" has none, although [regexp.Regexp.LiteralPrefix] returns one.
func prefixRE(tree *syntax.Regexp) string {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return ""
	}
	prefix, _ := prog.Prefix()
	return prefix
}

// measureRE returns an upper bound of the instructions of re, and the number of its character
// ranges.
func measureRE(re *syntax.Regexp) (program, ranges int) {
	for _, sub := range re.Sub {
		p, r := measureRE(sub)
		program, ranges = program+p, ranges+r
	}
	switch re.Op {
	case syntax.OpLiteral:
		program += len(re.Rune)
	case syntax.OpConcat:
	case syntax.OpAlternate:
		program += len(re.Sub) - 1
	case syntax.OpCapture:
		program += 2
	case syntax.OpRepeat:
		program = (program + 1) * max(re.Min, re.Max, 1)
	case syntax.OpCharClass:
		ranges += len(re.Rune) / 2
		program++
	default:
		program++
	}
	return program, ranges
}

// badRE returns an error about a pattern, with the pattern in its text.
func badRE(source, format string, args ...any) error {
	return fmt.Errorf("pattern %s: %s", errtext.Quote(source), fmt.Sprintf(format, args...))
}

// reHints maps syntax of other engines, by its first characters, to the alternative in RE2.
var reHints = []struct{ begins, hint string }{
	{"(?=", "RE2 has no lookahead: match what follows too, and read a group"},
	{"(?!", "RE2 has no lookahead: match more, and test the result in the script"},
	{"(?<=", "RE2 has no lookbehind: match what comes before too, and read a group"},
	{"(?<!", "RE2 has no lookbehind: match more, and test the result in the script"},
	{"(?>", "RE2 has no atomic groups, and needs none: it never backtracks"},
	{"(?P=", "RE2 has no backreferences: compare two groups in the script"},
	{"(?(", "RE2 has no conditions: write both forms with |"},
	{"(?#", "RE2 has no comments: write them beside the pattern"},
	{"(?x", "RE2 has no verbose mode: join the parts with +"},
	{`\Z`, `RE2 spells the end of the text \z`},
	{`\u`, `RE2 spells a code point \x{00E9}; the character itself works too`},
	{`\k`, "RE2 has no backreferences: compare two groups in the script"},
}

// reHint returns the hint for a refused part of a pattern, or "".
func reHint(part string) string {
	for _, h := range reHints {
		if strings.HasPrefix(part, h.begins) {
			return h.hint
		}
	}
	if len(part) == 2 && part[0] == '\\' && '1' <= part[1] && part[1] <= '9' {
		return "RE2 has no backreferences: compare two groups in the script"
	}
	if len(part) > 1 && strings.HasSuffix(part, "+") {
		return "RE2 has no possessive repetition, and needs none: it never backtracks"
	}
	return ""
}

// explainRE converts an error of the parser to a message.
func explainRE(source string, err error) error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return badRE(source, "%v", err)
	}
	part := e.Expr
	if part == "(?P" && strings.Contains(source, "(?P=") {
		part = "(?P="
	}
	where := ""
	if part != "" && part != source {
		where = " at " + errtext.Quote(part)
	}
	if hint := reHint(part); hint != "" {
		return badRE(source, "%s%s (%s)", e.Code, where, hint)
	}
	return badRE(source, "%s%s", e.Code, where)
}

// A reCache stores the patterns of the latest searches. Goroutines may share it.
type reCache struct {
	mu     sync.Mutex
	byKey  map[reKey]*list.Element // the values are *reCacheEntry
	recent list.List               // the latest use is first
	weight int
}

type reKey struct {
	source string
	anchor reAnchor
}

type reCacheEntry struct {
	key     reKey
	pattern *rePattern
}

// get returns the compiled pattern from the cache, or compiles it.
func (c *reCache) get(source string, anchor reAnchor) (*rePattern, error) {
	key := reKey{source, anchor}
	if p := c.find(key); p != nil {
		return p, nil
	}
	p, err := compileRE(source, anchor) // without the lock, because it may take milliseconds
	if err != nil {
		return nil, err
	}
	c.add(key, p)
	return p, nil
}

// find returns the pattern from the cache, or nil.
func (c *reCache) find(key reKey) *rePattern {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*reCacheEntry).pattern
}

// add adds a pattern and drops the patterns of the oldest searches.
func (c *reCache) add(key reKey, p *rePattern) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil {
		return // another goroutine compiled it meanwhile
	}
	if c.byKey == nil {
		c.byKey = map[reKey]*list.Element{}
	}
	c.byKey[key] = c.recent.PushFront(&reCacheEntry{key, p})
	c.weight += p.program + p.ranges
	for c.recent.Len() > reMaxCached || c.weight > reMaxWeight {
		last := c.recent.Remove(c.recent.Back()).(*reCacheEntry)
		delete(c.byKey, last.key)
		c.weight -= last.pattern.program + last.pattern.ranges
	}
}
