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

// Bounds of regular expressions. RE2 runs in time linear in text times program,
// and copies the groups' positions at each step, so that all three are bounded.
const (
	reMaxSource  = 4 << 10 // bytes of a pattern
	reMaxProgram = 4096    // instructions; x{1000} has a thousand
	reMaxGroups  = 100
	reMaxCached  = 256     // patterns kept compiled
	reMaxWeight  = 1 << 18 // instructions and character ranges of all that are kept
)

// A reAnchor says where a match must begin and end.
type reAnchor int

const (
	reAnywhere reAnchor = iota // re.search and all that finds many
	reAtStart                  // re.match
	reWhole                    // re.fullmatch
)

// reAnchors are the texts around a pattern, by anchor. The pattern's own "^"
// and "$" may be those of lines; these are not.
var reAnchors = [...]struct{ before, after string }{
	reAnywhere: {"", ""},
	reAtStart:  {`\A(?:`, `)`},
	reWhole:    {`\A(?:`, `)\z`},
}

// A rePattern is a compiled pattern and the sizes that its work depends on.
type rePattern struct {
	source  string // as the plugin wrote it
	re      *regexp.Regexp
	program int    // instructions, at most
	ranges  int    // character ranges, which cost when compiled
	prefix  string // every match begins with it, and looks at nothing before it; "" when nothing is known
	rest    reRest // finds a match behind the first
}

// Steps of a class of Unicode, such as \pL, which has hundreds of ranges; and of one
// of which all cases are sought.
const (
	reClassSteps = 2_000
	reFoldSteps  = 30_000
)

// parseSteps is the price of parsing a pattern, by what its text shows. A range such
// as [\x{50}-\x{ffff}] is read character by character where case does not matter.
func parseSteps(source string) int {
	steps := 8 + len(source)/2
	if len(source) > reMaxSource {
		return steps // it is refused
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

// sizeSteps is the price of the pattern's size, beyond that of its length.
func (p *rePattern) sizeSteps() int { return (p.program + p.ranges/2) / 2 }

// rangeSteps is the price of running the program over n bytes. At each character the engine may
// be at all instructions, and copies the positions of all groups.
func (p *rePattern) rangeSteps(n int) int { return n * p.byteSteps() / 16 }

// skipSteps is the price of looking for the prefix in n bytes. strings.Index compares up to all of
// a long prefix, at some places.
func (p *rePattern) skipSteps(n int) int { return 1 + n/64*(1+len(p.prefix)/64) }

// byteSteps is the price of one byte, in sixteenths of a step.
func (p *rePattern) byteSteps() int { return 8 + p.program + p.program*p.re.NumSubexp()/16 }

// pieceBytes is the most bytes that the program runs over before they are paid for.
func (p *rePattern) pieceBytes() int { return min(pieceBytes, 16*pieceSteps/p.byteSteps()+1) }

// matchBytes is the memory of one match: its positions, and a value a group.
func (p *rePattern) matchBytes() int { return 128 + 48*p.re.NumSubexp() }

// compileRE compiles source. Its errors show the pattern.
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
		text = a.before + tree.String() + a.after // not source: its \Q may be open
	}
	if p.re, err = regexp.Compile(text); err != nil {
		return nil, explainRE(source, err)
	}
	if anchor == reAnywhere {
		p.prefix, p.rest.tree = prefixRE(tree), tree.String()
	}
	return p, nil
}

// prefixRE returns a literal that every match begins with. Nothing in front of the literal matters:
// "^a" has none, although [regexp.Regexp.LiteralPrefix] returns one.
func prefixRE(tree *syntax.Regexp) string {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return ""
	}
	prefix, _ := prog.Prefix()
	return prefix
}

// measureRE returns how many instructions re compiles to, at most, and how many
// character ranges it lists.
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

// badRE returns an error about a pattern, which it shows.
func badRE(source, format string, args ...any) error {
	return fmt.Errorf("pattern %s: %s", errtext.Quote(source), fmt.Sprintf(format, args...))
}

// reHints say what RE2 has instead of what other engines have, by how the part
// that the parser refuses begins.
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

// reHint returns the hint for the part of a pattern that was refused, or "".
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

// explainRE words an error of the parser.
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

// A reCache keeps the patterns that were used last. It may be shared.
type reCache struct {
	mu     sync.Mutex
	byKey  map[reKey]*list.Element // of *reCacheEntry
	recent list.List               // last used first
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

// get returns the compiled pattern, compiling it when it is not kept.
func (c *reCache) get(source string, anchor reAnchor) (*rePattern, error) {
	key := reKey{source, anchor}
	if p := c.find(key); p != nil {
		return p, nil
	}
	p, err := compileRE(source, anchor) // without the lock: it may take milliseconds
	if err != nil {
		return nil, err
	}
	c.keep(key, p)
	return p, nil
}

// find returns the kept pattern, or nil.
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

// keep adds the pattern and drops those whose use is longest ago.
func (c *reCache) keep(key reKey, p *rePattern) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil {
		return // somebody compiled it meanwhile
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
