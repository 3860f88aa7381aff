package modules

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/starhost/starhost/internal/errtext"
)

// Limits of regular expressions. RE2 takes time linear in text times program, and copies the
// positions of the groups at each step, so all three need a limit.
const (
	reMaxSource  = 4 << 10 // the most bytes of a pattern
	reMaxProgram = 4096    // the most instructions; x{1000} needs 1,000
	reMaxGroups  = 100
	reMaxDepth   = 200      // the most levels of groups and repetitions; Go's parser refuses 1,000
	reMaxCopies  = 64 << 10 // the most bytes of the one-pass form of a program
	reMaxCached  = 1024     // the most patterns in the cache
	reMaxWeight  = 16 << 20 // the most bytes of all patterns in the cache
)

// A reAnchor says which part of the text a match must be.
type reAnchor int

const (
	reAnywhere reAnchor = iota // re.search and the functions that return many matches
	reAtStart                  // re.match
	reWhole                    // re.fullmatch
)

// reAnchors are the texts that go before and after a pattern, by anchor. "^" and "$" in the pattern itself
// may match at lines, but these texts match only at the ends of the text.
var reAnchors = [...]struct{ before, after string }{
	reAnywhere: {"", ""},
	reAtStart:  {`\A(?:`, `)`},
	reWhole:    {`\A(?:`, `)\z`},
}

// A rePattern is a compiled pattern, with the sizes that its prices depend on.
type rePattern struct {
	source string // the pattern that the plugin wrote
	text   string // the pattern that starhost compiles
	re     *regexp.Regexp
	size   reSize
	prefix string // the literal that every match begins with, whatever precedes the match; or ""
	rest   reRest // finds the matches after the first one
}

// A reSize has upper bounds of the sizes of a compiled pattern.
type reSize struct {
	program int // the number of instructions
	ranges  int // the number of character ranges, which make compiling slow
	copies  int // the number of character ranges in the one-pass form, which has the ranges of each instruction
	choices int // the number of instructions with two ways out, whose ranges the one-pass form merges
	depth   int // the levels of groups and repetitions
}

// These are the prices in steps of a Unicode class such as \pL, which has hundreds of ranges: without folding
// of letter case, and with it.
const (
	reClassSteps = 2_000
	reFoldSteps  = 30_000
)

// parseSteps returns the price of parsing a pattern, which it estimates from the pattern's text. If the
// pattern ignores letter case, the parser reads a range such as [\x{50}-\x{ffff}] character by character.
func parseSteps(source string) int {
	steps := 8 + len(source)
	if len(source) > reMaxSource {
		return steps // the parser refuses such a pattern
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

// foldsCase reports whether a pattern may have the flag i, by which letter case does not matter.
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

// compileSteps returns the price of compiling a pattern of this size, in addition to the price for its
// length.
func (z reSize) compileSteps() int { return z.program + z.ranges/2 }

// compileBytes returns the memory of a compiled pattern.
func (z reSize) compileBytes() int {
	bytes := 128*z.program + 16*z.ranges
	if z.onePass() {
		bytes += z.onePassBytes()
	}
	return bytes
}

// onePassBytes returns the memory of the one-pass form of the program. Package regexp makes this form for
// some patterns that match only at the start of the text.
func (z reSize) onePassBytes() int { return 16 * (z.copies + z.choices*(z.program+z.ranges)) }

// onePass reports whether package regexp may make the one-pass form. That form has the ranges of \pL for each
// instruction of \pL{990}, which takes 8 MB.
func (z reSize) onePass() bool { return z.onePassBytes() <= reMaxCopies }

// weight returns how many bytes the cache counts for p and its rest.
func (p *rePattern) weight() int {
	return 2048 + 4*len(p.source) + 2*p.size.compileBytes()
}

// rangeSteps returns the price of running the program over n bytes. At each character, the engine may be at
// all instructions at once, and copies the positions of all groups.
func (p *rePattern) rangeSteps(n int) int { return n * p.byteSteps() / 16 }

// skipSteps returns the price of looking for the prefix in n bytes. strings.Index may compare all of a long
// prefix at some positions.
func (p *rePattern) skipSteps(n int) int { return 1 + n/64*(1+len(p.prefix)/64) }

// byteSteps returns the price of running the program over one byte, in sixteenths of a step.
func (p *rePattern) byteSteps() int { return 8 + p.size.program + p.size.program*p.re.NumSubexp()/16 }

// pieceBytes returns the most bytes that the program reads before somebody pays for them.
func (p *rePattern) pieceBytes() int { return min(pieceBytes, 16*pieceSteps/p.byteSteps()+1) }

// matchBytes returns the memory of one match: its positions, and a value for each group.
func (p *rePattern) matchBytes() int { return 128 + 48*p.re.NumSubexp() }

// parseRE parses a pattern and measures it. Its errors quote the pattern.
func parseRE(source string, anchor reAnchor) (*rePattern, error) {
	if len(source) > reMaxSource {
		return nil, badRE(source, "got %d bytes, want %d or fewer", len(source), reMaxSource)
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, explainRE(source, err)
	}
	p := &rePattern{source: source, size: measureRE(tree)}
	if n := p.size.program; n > reMaxProgram {
		return nil, badRE(source, "got %d instructions, want %d or fewer (repeat less)", n, reMaxProgram)
	}
	if n := tree.MaxCap(); n > reMaxGroups {
		return nil, badRE(source, "got %d groups, want %d or fewer (use (?:...) where no group is read)", n, reMaxGroups)
	}
	if p.size.depth > reMaxDepth {
		return nil, explainRE(source, &syntax.Error{Code: syntax.ErrNestingDepth})
	}
	closed := source + closeQuote(source)
	p.text = reAnchors[anchor].before + closed + reAnchors[anchor].after
	if !p.size.onePass() {
		p.text = "(?:)(?:" + p.text + ")" // package regexp makes a one-pass form only if \A comes first
	}
	if anchor == reAnywhere {
		p.prefix, p.rest.pattern = prefixRE(tree), closed
	}
	return p, nil
}

// compile compiles p. The caller has paid for that.
func (p *rePattern) compile() (err error) {
	if p.re, err = regexp.Compile(p.text); err != nil {
		return explainRE(p.source, err)
	}
	return nil
}

// closeQuote returns the \E that is missing after the last \Q of a pattern, or "".
func closeQuote(source string) string {
	for {
		_, rest, found := strings.Cut(source, `\`)
		if !found || rest == "" {
			return ""
		}
		if rest[0] != 'Q' {
			source = rest[1:]
			continue
		}
		if _, source, found = strings.Cut(rest, `\E`); !found {
			return `\E`
		}
	}
}

// prefixRE returns a literal that every match begins with, whatever text precedes the match. So "^a" has
// none, although [regexp.Regexp.LiteralPrefix] returns one.
func prefixRE(tree *syntax.Regexp) string {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return ""
	}
	prefix, _ := prog.Prefix()
	return prefix
}

// measureRE returns upper bounds of the sizes of re.
func measureRE(re *syntax.Regexp) (z reSize) {
	for _, sub := range re.Sub {
		s := measureRE(sub)
		z.program += s.program
		z.ranges += s.ranges
		z.copies += s.copies
		z.choices += s.choices
		z.depth = max(z.depth, s.depth)
	}
	z.depth++
	switch re.Op {
	case syntax.OpLiteral:
		z.program += len(re.Rune)
		z.copies += 4 * len(re.Rune) // if letter case does not matter, a letter stands for up to four
	case syntax.OpConcat:
	case syntax.OpAlternate:
		z.program += len(re.Sub) - 1
		z.choices += len(re.Sub) - 1
	case syntax.OpCapture:
		z.program += 2
	case syntax.OpRepeat:
		n := max(re.Min, re.Max, 1)
		z.program, z.copies, z.choices = (z.program+1)*n, z.copies*n, (z.choices+1)*n
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		z.program++
		z.choices++
	case syntax.OpCharClass:
		z.ranges += len(re.Rune) / 2
		z.copies += len(re.Rune) / 2
		z.program++
	default:
		z.program++
		z.copies += 2
	}
	return z
}

// badRE returns an error about a pattern. The error quotes the pattern.
func badRE(source, format string, args ...any) error {
	return fmt.Errorf("pattern %s: %s", errtext.Quote(source), fmt.Sprintf(format, args...))
}

// reHints maps how syntax of other engines begins to what RE2 has instead.
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

// reHint returns the hint for the part of a pattern that RE2 refuses, or "".
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

// explainRE turns an error of the parser into a message for the plugin's author.
func explainRE(source string, err error) error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return badRE(source, "%v", err)
	}
	if e.Code == syntax.ErrNestingDepth {
		return badRE(source, "want %d levels of groups and repetitions or fewer", reMaxDepth)
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
