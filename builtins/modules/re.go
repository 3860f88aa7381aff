package modules

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
)

// reMembers are the members of the module re.
var reMembers = []call.Member{
	{
		Name: "search", Params: "pattern, text", Type: "str, str -> Match | None",
		Doc: `Returns the first match of the pattern anywhere in the text, or None.
Patterns have the syntax of RE2: as in Python, but without lookaround and backreferences. Flags
stand in front: (?i) ignores case, (?m) lets ^ and $ match at lines, (?s) lets . match
newlines. \d, \w and \s are ASCII, and $ is the very end of the text. Write patterns as raw
strings.

A match m has m.group(0) (the whole match), m.group(1) or m.group("name") (a group, None if it
did not match), m.groups(), m.groupdict(), m.start(0), m.end(0) and m.span(0). Positions are
indexes as in text[a:b]. The module caches compiled patterns, so there is no re.compile. A
pattern has at most 4096 bytes, 100 groups and 200 levels. The steps of a search grow with the
length of the text times the length of the pattern. If a pattern begins with letters, as in
"token=\S+", text in front of them is nearly free.`,
		Example: `m = re.search(r"(?P<service>\w+)-(\d+)", "restart checkout-12 now")
assert_eq(m.group(0), "checkout-12")
assert_eq(m.group("service"), "checkout")
assert_eq(m.groups(), ("checkout", "12"))
assert_eq(m.groupdict(), {"service": "checkout"})
assert_eq(m.span(2), (17, 19))
assert_eq(re.search(r"(?i)ERROR", "all fine"), None)`,
		Func: firstMatch(reAnywhere),
	},
	{
		Name: "match", Params: "pattern, text", Type: "str, str -> Match | None",
		Doc: `Returns the match of the pattern at the start of the text, or None.
re.search describes patterns and matches.`,
		Example: `assert_eq(re.match(r"\d+", "12 apples").group(), "12")
assert_eq(re.match(r"\d+", "apples 12"), None)`,
		Func: firstMatch(reAtStart),
	},
	{
		Name: "fullmatch", Params: "pattern, text", Type: "str, str -> Match | None",
		Doc: `Returns the match if the pattern matches the whole text, or None.
re.search describes patterns and matches.`,
		Example: `assert_eq(bool(re.fullmatch(r"[a-z]+-\d+", "web-3")), True)
assert_eq(re.fullmatch(r"[a-z]+-\d+", "web-3 down"), None)`,
		Func: firstMatch(reWhole),
	},
	{
		Name: "findall", Params: "pattern, text", Type: "str, str -> list[Any]",
		Doc: `Returns a list of all matches from left to right, which do not overlap.
Without groups its items are strings; with one group, that group's text; with more,
tuples of all groups. A group that did not match is "". An empty match right behind another
does not count.`,
		Example: `assert_eq(re.findall(r"\d+", "10 of 20"), ["10", "20"])
assert_eq(re.findall(r"(\w+)=(\w+)", "a=1 b=2"), [("a", "1"), ("b", "2")])`,
		Func: reFindall,
	},
	{
		Name: "finditer", Params: "pattern, text", Type: "str, str -> list[Match]",
		Doc: `Returns a list of all matches from left to right, as re.search returns one.
An empty match right behind another does not count.`,
		Example: `assert_eq([m.span() for m in re.finditer(r"\d+", "10 of 20")], [(0, 2), (6, 8)])`,
		Func:    reFinditer,
	},
	{
		Name: "split", Params: "pattern, text, maxsplit=0", Type: "str, str, int -> list[Any]",
		Doc: `Splits the text at the matches of the pattern and returns the pieces.
The texts of groups stand between the pieces (None for a group that did not match).
maxsplit, if not 0, is the most splits; the rest of the text is the last piece.`,
		Example: `assert_eq(re.split(r"\s*[,;]\s*", "a, b;c"), ["a", "b", "c"])
assert_eq(re.split(r"(-)", "a-b-c", maxsplit = 1), ["a", "-", "b-c"])`,
		Func: reSplit,
	},
	{
		Name: "sub", Params: "pattern, repl, text, count=0", Type: "str, str | Callable[[Match], str], str, int -> str",
		Doc: `Replaces the matches of the pattern and returns the new text.
repl is a string, in which \1 or \g<1> is a group, \g<name> a named one, \g<0> the
whole match and \\ a backslash; or a function that gets the match and returns a
string. A group that did not match is "". count, if not 0, is the most replacements.`,
		Example: `assert_eq(re.sub(r"token=\S+", "token=***", "GET /?token=abc ok"), "GET /?token=*** ok")
assert_eq(re.sub(r"(\w+)@(\w+)", r"\2 of \1", "me@home"), "home of me")
assert_eq(re.sub(r"\d+", lambda m: str(int(m.group()) * 2), "1 and 20"), "2 and 40")
assert_eq(re.sub("a", "b", "aaa", count = 2), "bba")`,
		Func: reSub,
	},
	{
		Name: "escape", Params: "text", Type: "str -> str",
		Doc: `Returns a pattern that matches exactly the text.
Use it to put a user's text into a pattern.`,
		Example: `assert_eq(re.escape("a.b"), r"a\.b")
assert_eq(bool(re.search(re.escape("1+1"), "1+1 is 2")), True)`,
		Func: reEscape,
	},
}

// patternOf returns the compiled pattern of source, and pays for compiling it. A cached pattern costs the
// same.
func patternOf(c call.Call, source string, anchor reAnchor) (*rePattern, error) {
	if err := c.Pay(parseSteps(source), 0); err != nil {
		return nil, err
	}
	var unpaid error
	p, err := patterns.get(source, anchor, func(z reSize) error {
		unpaid = c.Pay(z.compileSteps(), z.compileBytes())
		return unpaid
	})
	switch {
	case unpaid != nil:
		return nil, unpaid
	case err != nil:
		return nil, c.Fail("E0202", "%v", err)
	}
	return p, nil
}

// firstMatch returns a function of the module that returns the first match, if the match is where anchor
// says.
func firstMatch(anchor reAnchor) call.Func {
	return func(c call.Call) (starlark.Value, error) {
		var source, text string
		if err := c.Bind("pattern", &source, "text", &text); err != nil {
			return nil, err
		}
		p, err := patternOf(c, source, anchor)
		if err != nil {
			return nil, err
		}
		if err := c.Pay(1, p.matchBytes()); err != nil {
			return nil, err
		}
		at, err := p.find(c, text, 0)
		if err != nil {
			return nil, err
		}
		if at == nil {
			return starlark.None, nil
		}
		return &reMatch{c.Runtime, p, text, at}, nil
	}
}

// allMatches reads the arguments (pattern, text), and returns what value makes of each match.
func allMatches(c call.Call, value func(*reMatch) starlark.Value) (starlark.Value, error) {
	var source, text string
	if err := c.Bind("pattern", &source, "text", &text); err != nil {
		return nil, err
	}
	p, err := patternOf(c, source, reAnywhere)
	if err != nil {
		return nil, err
	}
	found, err := p.all(c, text, 0)
	if err != nil {
		return nil, err
	}
	values := make([]starlark.Value, len(found))
	for i, at := range found {
		values[i] = value(&reMatch{c.Runtime, p, text, at})
	}
	return starlark.NewList(values), nil
}

// reFinditer implements re.finditer.
func reFinditer(c call.Call) (starlark.Value, error) {
	return allMatches(c, func(m *reMatch) starlark.Value { return m })
}

// reFindall implements re.findall.
func reFindall(c call.Call) (starlark.Value, error) {
	return allMatches(c, func(m *reMatch) starlark.Value {
		switch groups := m.captures(starlark.String("")); len(groups) {
		case 0:
			return m.value(0, nil)
		case 1:
			return groups[0]
		default:
			return groups
		}
	})
}

// reSplit implements re.split.
func reSplit(c call.Call) (starlark.Value, error) {
	var (
		source, text string
		maxsplit     int
	)
	if err := c.Bind("pattern", &source, "text", &text, "maxsplit?", &maxsplit); err != nil {
		return nil, err
	}
	if maxsplit < 0 {
		return nil, c.Fail("E0202", "maxsplit: got %d, want 0 (no limit) or more", maxsplit)
	}
	p, err := patternOf(c, source, reAnywhere)
	if err != nil {
		return nil, err
	}
	found, err := p.all(c, text, maxsplit)
	if err != nil {
		return nil, err
	}
	if err := c.Pay(len(found), 48*(len(found)+1)*(1+p.re.NumSubexp())); err != nil {
		return nil, err
	}
	var pieces []starlark.Value
	end := 0
	for _, at := range found {
		pieces = append(pieces, starlark.String(text[end:at[0]]))
		m := &reMatch{c.Runtime, p, text, at}
		pieces = append(pieces, m.captures(starlark.None)...)
		end = at[1]
	}
	return starlark.NewList(append(pieces, starlark.String(text[end:]))), nil
}

// reSub implements re.sub.
func reSub(c call.Call) (starlark.Value, error) {
	var (
		source, text string
		repl         starlark.Value
		count        int
	)
	if err := c.Bind("pattern", &source, "repl", &repl, "text", &text, "count?", &count); err != nil {
		return nil, err
	}
	if count < 0 {
		return nil, c.Fail("E0202", "count: got %d, want 0 (no limit) or more", count)
	}
	p, err := patternOf(c, source, reAnywhere)
	if err != nil {
		return nil, err
	}
	replace, err := replacer(c, p, repl)
	if err != nil {
		return nil, err
	}
	found, err := p.all(c, text, count)
	if err != nil {
		return nil, err
	}
	var pieces []string
	end := 0
	for _, at := range found {
		pieces = append(pieces, text[end:at[0]])
		if pieces, err = replace(pieces, &reMatch{c.Runtime, p, text, at}); err != nil {
			return nil, err
		}
		end = at[1]
	}
	return joinAndPay(c, append(pieces, text[end:]))
}

// joinAndPay pays for joining pieces into one string and joins them.
func joinAndPay(c call.Call, pieces []string) (starlark.Value, error) {
	size := 0
	for _, p := range pieces {
		size += len(p)
	}
	if err := c.Pay(1+len(pieces)/4+size/256, 16+size); err != nil {
		return nil, err
	}
	return starlark.String(strings.Join(pieces, "")), nil
}

// A replaceFunc appends the text that replaces a match to pieces, in one or more pieces.
type replaceFunc func(pieces []string, m *reMatch) ([]string, error)

// replacer returns the function that replaces a match. repl is a string or a function.
func replacer(c call.Call, p *rePattern, repl starlark.Value) (replaceFunc, error) {
	switch repl := repl.(type) {
	case starlark.String:
		return templateReplacer(c, p, string(repl))
	case starlark.Callable:
		return func(pieces []string, m *reMatch) ([]string, error) {
			v, err := starlark.Call(c.Thread, repl, starlark.Tuple{m}, nil)
			if err != nil {
				return nil, err
			}
			s, ok := starlark.AsString(v)
			if !ok {
				return nil, c.Fail("E0202", "repl: %s returned %s, want string", repl.Name(), v.Type())
			}
			return append(pieces, s), c.Pay(1, 48)
		}, nil
	}
	return nil, c.Fail("E0202", "repl: got %s, want string or function", repl.Type())
}

// A replPart is a part of a replacement: a text, or a group of the match.
type replPart struct {
	text  string
	group int // the number of the group; -1 for a text
}

// templateReplacer parses a replacement that contains \1 or \g<name>, and returns a function that fills it
// in.
func templateReplacer(c call.Call, p *rePattern, repl string) (replaceFunc, error) {
	if err := c.Pay(1+len(repl)/4, 32*strings.Count(repl, `\`)+64); err != nil {
		return nil, err
	}
	parts, err := parseRepl(p, repl)
	if err != nil {
		return nil, c.Fail("E0202", "repl: %v", err)
	}
	return func(pieces []string, m *reMatch) ([]string, error) {
		if err := c.Pay(len(parts)/4, 48*len(parts)); err != nil {
			return nil, err
		}
		for _, part := range parts {
			switch {
			case part.group < 0:
				pieces = append(pieces, part.text)
			case m.at[2*part.group] >= 0:
				pieces = append(pieces, m.text[m.at[2*part.group]:m.at[2*part.group+1]])
			}
		}
		return pieces, nil
	}, nil
}

// replEscapes maps the letter of an escape to the character that it means.
var replEscapes = map[byte]string{'\\': `\`, 'n': "\n", 'r': "\r", 't': "\t"}

// parseRepl splits a replacement into its parts.
func parseRepl(p *rePattern, repl string) ([]replPart, error) {
	var parts []replPart
	for {
		text, rest, found := strings.Cut(repl, `\`)
		if text != "" {
			parts = append(parts, replPart{text, -1})
		}
		if !found {
			return parts, nil
		}
		part, n, err := parseEscape(p, rest)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		repl = rest[n:]
	}
}

// reGroupRef matches what may follow a backslash: g<name>, or 1 up to 99.
var reGroupRef = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\A(?:g<([^>]*)>|([1-9][0-9]?))`)
})

// parseEscape parses what follows a backslash, and returns how many bytes it has.
func parseEscape(p *rePattern, s string) (replPart, int, error) {
	if m := reGroupRef().FindStringSubmatch(s); m != nil {
		n, err := p.refNumber(m[1] + m[2])
		return replPart{group: n}, len(m[0]), err
	}
	if s == "" {
		return replPart{}, 0, fmt.Errorf(`got a backslash at the end, want \\`)
	}
	if text, ok := replEscapes[s[0]]; ok {
		return replPart{text, -1}, 1, nil
	}
	if isAlnum(s[0]) {
		return replPart{}, 0, fmt.Errorf(`got \%c, want \1 to \99, \g<0>, \g<name>, \n, \r, \t or \\`, s[0])
	}
	return replPart{`\` + s[:1], -1}, 1, nil // \. stays as it is, as in Python
}

// refNumber returns the number of the group that ref names by digits or by a name.
func (p *rePattern) refNumber(ref string) (int, error) {
	if n, err := strconv.Atoi(ref); err == nil {
		return p.groupNumber(starlark.MakeInt(n))
	}
	return p.groupNumber(starlark.String(ref))
}

func isAlnum(b byte) bool {
	return '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z'
}

// reEscape implements re.escape.
func reEscape(c call.Call) (starlark.Value, error) {
	var text string
	if err := c.Bind("text", &text); err != nil {
		return nil, err
	}
	if err := c.Pay(1+len(text)/16, 16+2*len(text)); err != nil {
		return nil, err
	}
	return starlark.String(regexp.QuoteMeta(text)), nil
}
