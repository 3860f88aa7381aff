package modules

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
	starsyntax "go.starlark.net/syntax"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/builtins/call"
)

func TestRE(t *testing.T) {
	modAsserts(t, []struct{ name, source string }{
		{"search finds the first", `assert_eq(re.search("b+", "abbabbb").span(), (1, 3))`},
		{"positions are bytes", `m = re.search("é", "aéb")
assert_eq("aéb"[m.start():m.end()], "é")
assert_eq((m.start(), m.end(), len("aéb")), (1, 3, 4))`},
		{"match does not look further, even with m", `assert_eq(re.match("(?m)^b", "a\nb"), None)
assert_eq(re.search("(?m)^b", "a\nb").start(), 2)`},
		{"match takes the first alternative", `assert_eq(re.match("a|ab", "ab").group(), "a")`},
		{"fullmatch tries all alternatives", `assert_eq(re.fullmatch("a|ab", "ab").group(), "ab")`},
		{"fullmatch takes no newline at the end", `assert_eq(re.fullmatch("a$", "a\n"), None)`},
		{"an open quote stays within the pattern", `assert_eq(re.fullmatch(r"\Qa)", "a)").group(), "a)")`},
		{"an unmatched group", `m = re.search("(a)|(?P<b>b)", "b")
assert_eq((m.group(1), m.group("b"), m.start(1), m.span(1), m.end(1)), (None, "b", -1, (-1, -1), -1))
assert_eq(m.groups(), (None, "b"))
assert_eq(m.groups("-"), ("-", "b"))
assert_eq(re.search("(?P<a>a)|b", "b").groupdict(default = ""), {"a": ""})`},
		{"a match prints", `m = re.search("b", "abc")
assert_eq(str(m), '<match span=(1, 2) match="b">')
assert_eq((type(m), bool(m)), ("match", True))
assert_eq(dir(m), ["end", "group", "groupdict", "groups", "span", "start"])`},
		{"findall of a group that took no part", `assert_eq(re.findall("(a)|b", "ab"), ["a", ""])`},
		{"findall of empty matches", `assert_eq(re.findall("x*", "axb"), ["", "x", ""])`},
		{"findall of nothing", `assert_eq(re.findall("x", "ab"), [])`},
		{"findall of many", `assert_eq(len(re.findall("a", "ab" * 5000)), 5000)`},
		{"findall sees what stands before a match", `assert_eq(re.findall(r"\ba", "aab a" * 500), ["a"] * 501)`},
		{"split at groups that took no part", `assert_eq(re.split("(a)|b", "1a2b3"), ["1", "a", "2", None, "3"])`},
		{"split of nothing", `assert_eq(re.split(",", ""), [""])`},
		{"sub of nothing", `assert_eq(re.sub("x", "y", "abc"), "abc")`},
		{"sub of empty matches", `assert_eq(re.sub("", "-", "abc"), "-a-b-c-")`},
		{"sub by number and name", `assert_eq(re.sub("(?P<x>a)(b)?", r"[\g<x>\1\g<0>\2]", "a"), "[aaa]")`},
		{"sub by a number of two digits", `assert_eq(re.sub("(a)" * 11, r"\11-\g<1>1", "a" * 11), "a-a1")`},
		{"sub escapes", `assert_eq(re.sub("a", r"\n\t\r\\\.$1\&", "a"), "\n\t\r\\\\.$1\\&")`},
		{"sub by a function", `assert_eq(re.sub("[a-c]", lambda m: {"a": "1"}.get(m.group(), "-"), "abcd"), "1--d")`},
		{"sub by a builtin", `assert_eq(re.sub("b", type, "abc"), "amatchc")`},
		{"sub with count", `assert_eq(re.sub("a", lambda m: "b", "aaaa", count = 3), "bbba")`},
		{"escape", `assert_eq(re.sub(re.escape("$1.[x]"), "", "a$1.[x]b"), "ab")`},
		{"a literal prefix that the text lacks", `assert_eq(re.findall("abc[0-9]", "x" * 10000), [])`},
		{"newlines", `assert_eq(re.findall("(?s)a.b", "a\nb"), ["a\nb"])
assert_eq(re.findall("a.b", "a\nb"), [])`},
	})
}

func TestREErrors(t *testing.T) {
	modErrors(t, []struct{ expr, want string }{
		{`re.search("a(b", "")`, `re.search: pattern "a(b": missing closing )`},
		{`re.match("[a-z]+[b", "")`, `re.match: pattern "[a-z]+[b": missing closing ] at "[b"`},
		{`re.findall("a(?=b)", "")`, `re.findall: pattern "a(?=b)": invalid or unsupported Perl syntax at "(?=" (RE2 has no lookahead: match what follows too, and read a group)`},
		{`re.findall("a(?!b)", "")`, `re.findall: pattern "a(?!b)": invalid or unsupported Perl syntax at "(?!" (RE2 has no lookahead: match more, and test the result in the script)`},
		{`re.search("(?<=a)b", "")`, `re.search: pattern "(?<=a)b": invalid named capture (RE2 has no lookbehind: match what comes before too, and read a group)`},
		{`re.search(r"(a)\1", "")`, `re.search: pattern "(a)\\1": invalid escape sequence at "\\1" (RE2 has no backreferences: compare two groups in the script)`},
		{`re.search("(?P<n>a)(?P=n)", "")`, `re.search: pattern "(?P<n>a)(?P=n)": invalid or unsupported Perl syntax at "(?P=" (RE2 has no backreferences: compare two groups in the script)`},
		{`re.search("a++", "")`, `re.search: pattern "a++": invalid nested repetition operator at "++" (RE2 has no possessive repetition, and needs none: it never backtracks)`},
		{`re.search("a**", "")`, `re.search: pattern "a**": invalid nested repetition operator at "**"`},
		{`re.search("*", "")`, `re.search: pattern "*": missing argument to repetition operator`},
		{`re.search("a" * 5000, "")`, `re.search: pattern "` + strings.Repeat("a", 120) + `…": got 5000 bytes, want 4096 or fewer`},
		{`re.search("(?:abcdefghi){1000}", "")`, `re.search: pattern "(?:abcdefghi){1000}": got 10000 instructions, want 4096 or fewer (repeat less)`},
		{`re.search("()" * 101, "")`, `re.search: pattern "` + strings.Repeat("()", 60) + `…": got 101 groups, want 100 or fewer (use (?:...) where no group is read)`},
		{`re.search("a", "a").group(1)`, `match.group: group: got 1, want 0 (the pattern has no groups)`},
		{`re.search("(?P<x>a)(b)?", "a").group("y")`, `match.group: group: got "y", want 0 to 2 or "x"`},
		{`re.search("(a)", "a").span(2)`, `match.span: group: got 2, want 0 to 1`},
		{`re.search("(a)", "a").start(-1)`, `match.start: group: got -1, want 0 to 1`},
		{`re.search("(a)", "a").end(None)`, `match.end: group: got NoneType, want the number or name of a group`},
		{`re.search("(a)", "a").group(0, 1)`, `match.group: got 2 arguments, want at most 1`},
		{`re.search("(a)", "a").groups(0, 1)`, `match.groups: got 2 arguments, want at most 1`},
		{`re.search("(a)", "a").groupdict(0, 1)`, `match.groupdict: got 2 arguments, want at most 1`},
		{`re.search("(a)", "a").string`, `match has no .string field or method`},
		{`{re.search("a", "a"): 1}`, `unhashable type: match`},
		{`re.split("a", "a", -1)`, `re.split: maxsplit: got -1, want 0 (no limit) or more`},
		{`re.sub("a", "b", "a", -1)`, `re.sub: count: got -1, want 0 (no limit) or more`},
		{`re.sub("a", 1, "a")`, `re.sub: repl: got int, want string or function`},
		{`re.sub("a", r"\1", "a")`, `re.sub: repl: got 1, want 0 (the pattern has no groups)`},
		{`re.sub("(a)", r"\g<name>", "a")`, `re.sub: repl: got "name", want 0 to 1`},
		{`re.sub("a", r"\q", "a")`, `re.sub: repl: got \q, want \1 to \99, \g<0>, \g<name>, \n, \r, \t or \\`},
		{`re.sub("a", r"\g", "a")`, `re.sub: repl: got \g, want \1 to \99, \g<0>, \g<name>, \n, \r, \t or \\`},
		{`re.sub("a", "\\", "a")`, `re.sub: repl: got a backslash at the end, want \\`},
		{`re.sub("a", lambda m: 1, "a")`, `re.sub: repl: lambda returned int, want string`},
		{`re.sub("a", lambda m: fail("no"), "a")`, `fail: no`},
		{`re.split("[", "a")`, `re.split: pattern "[": missing closing ]`},
		{`re.sub("[", "", "a")`, `re.sub: pattern "[": missing closing ]`},
	})
}

// The parser refuses the example of each hint. If RE2 learns the syntax, the hint must go.
func TestREHintsAreNeeded(t *testing.T) {
	for _, h := range reHints {
		if _, err := compileRE("a"+h.begins+"b)", reAnywhere); err == nil {
			t.Errorf("%s: compiles", h.begins)
		}
	}
}

func TestREMeasure(t *testing.T) {
	for _, source := range []string{"abc", "[a-z]+x?", "(a|b|c){3,50}", `(?i)token[=:]\s*\S+`, "((a{10}){10}){10}", "", "a{0}", "(?:.?){200}b", `\pL+`, "a{3,}", "(?:a*|b+?|)$"} {
		tree, err := syntax.Parse(source, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		got := measureRE(tree).program
		prog, err := syntax.Compile(tree.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if real := len(prog.Inst) - 2; got < real || got > 3*real+2 { // the instructions fail and match do not count
			t.Errorf("%q: measured %d instructions, compiled to %d", source, got, real)
		}
	}
}

// free accepts each size of a pattern, and charges nothing.
func free(reSize) error { return nil }

// heavyPatterns are patterns whose compiled form needs much memory for each character.
var heavyPatterns = []string{
	"a", "abc[0-9]+", "(?:a?){900}x", `\pL{990}`, strings.Repeat(`\PL`, 300),
	"(?i)" + strings.Repeat("k", 900), `[\pL\pN\pS\pM]{400}`, strings.Repeat("(a)", 99),
	`(?i)[\x{41}-\x{ffff}]{40}!`, strings.Repeat("a|b|cd|", 500),
	strings.Repeat("a?b?c?d?e?f?g?h?i?j?k?l?m?", 30), strings.Repeat("[a-c]", 800),
	strings.Repeat("x*", 2000), strings.Repeat(".", 4000), strings.Repeat(`\w`, 2000),
	strings.Repeat("(?:|ab|ac)", 300), strings.Repeat("a?b?c?d?e?", 6), `^\pL{990}$`,
	`\A\pL{990}\z`, `\pL{8}`, "(?m)^$", `\d+-\d+`, `(?:\pL\pN\pZ)*\pS`,
}

// Law: a compiled pattern needs no more memory than compileBytes charges, and no more than its weight in the
// cache.
func TestREWeighsPatterns(t *testing.T) {
	for _, source := range heavyPatterns {
		for _, anchor := range []reAnchor{reAnywhere, reAtStart, reWhole} {
			p, err := parseRE(source, anchor)
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			if err := p.compile(); err != nil {
				t.Fatal(err)
			}
			if anchor == reAnywhere {
				if _, err := p.rest.regexp(); err != nil {
					t.Fatal(err)
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if got := int(after.HeapAlloc) - int(before.HeapAlloc); got > p.weight() {
				t.Errorf("%.30q: got %d bytes, want at most the weight %d", source, got, p.weight())
			}
			paid := 2*p.size.compileBytes() + 72*(parseSteps(source)+p.size.compileSteps()) + 8192
			if anchor == reAnywhere {
				paid *= 2 // the first search also compiles the pattern for the rest of a text
			}
			if got := int(after.TotalAlloc - before.TotalAlloc); got > paid {
				t.Errorf("%.30q: compiling allocated %d bytes, want at most %d for its price", source, got, paid)
			}
			runtime.KeepAlive(p)
		}
	}
}

// TestRECacheBoundsMemory checks that the cache weighs patterns by their memory. An earlier cache weighed
// instructions and ranges, and kept 150 patterns of 8 MB.
func TestRECacheBoundsMemory(t *testing.T) {
	var c reCache
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	large := []string{`\pL{990}`, strings.Repeat(`\PL`, 90), "(?:a?){900}x"}
	for i := range 150 {
		for _, source := range large {
			if _, err := c.get(source+fmt.Sprint(i), reAtStart, free); err != nil {
				t.Fatal(err)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if got := int(after.HeapAlloc) - int(before.HeapAlloc); got > reMaxWeight {
		t.Errorf("the cache needs %d bytes, want at most %d", got, reMaxWeight)
	}
	kept := 0
	for i := range 150 {
		for _, source := range large {
			if _, ok := c.Get(reKey{source + fmt.Sprint(i), reAtStart}); ok {
				kept++
			}
		}
	}
	if kept < 6 { // twelve such patterns fit, and a half of the cache may be empty
		t.Errorf("got %d cached patterns, want more", kept)
	}
	runtime.KeepAlive(&c)
}

func TestRECacheHasNoHugePattern(t *testing.T) {
	var c reCache
	huge := strings.Repeat(`\pL`, 1300)
	for _, source := range []string{"a", huge} {
		if _, err := c.get(source, reAnywhere, free); err != nil {
			t.Fatal(err)
		}
	}
	_, hasSmall := c.Get(reKey{"a", reAnywhere})
	if _, hasHuge := c.Get(reKey{huge, reAnywhere}); hasHuge || !hasSmall {
		t.Errorf("got the small pattern %v, the huge one %v, want the small one alone", hasSmall, hasHuge)
	}
}

// TestREDepth checks the depth of patterns: Go's parser refuses 1,000 levels, and findall adds a level of its
// own.
func TestREDepth(t *testing.T) {
	for _, shape := range []struct{ open, close string }{{"(?:a", ")?"}, {"(?:a", ")*b"}, {"(?:a|b", ")+"}} {
		for _, depth := range []int{60, 90, 110, 250, 330, 499, 600, 990, 999} {
			source := strings.Repeat(shape.open, depth) + "a" + strings.Repeat(shape.close, depth)
			p, err := compileRE(source, reAnywhere)
			if err != nil {
				if !regexp.MustCompile("levels|nesting|bytes").MatchString(err.Error()) {
					t.Errorf("%d levels: %v", depth, err)
				}
				continue
			}
			if _, err := p.rest.regexp(); err != nil {
				t.Errorf("%d levels: search compiles, but findall says %v", depth, err)
			}
		}
	}
}

func TestRECache(t *testing.T) {
	var c reCache
	first, err := c.get("a", reAnywhere, free)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.get("a", reAnywhere, free); again != first {
		t.Error("compiled again")
	}
	if other, _ := c.get("a", reWhole, free); other == first {
		t.Error("anchors share a pattern")
	}
	for i := range reMaxCached {
		if _, err := c.get(fmt.Sprint(i), reAnywhere, free); err != nil {
			t.Fatal(err)
		}
	}
	if again, _ := c.get("a", reAnywhere, free); again == first {
		t.Error("the pattern used longest ago is still kept")
	}
	kept := 0
	for i := range reMaxCached {
		if _, ok := c.Get(reKey{fmt.Sprint(i), reAnywhere}); ok {
			kept++
		}
	}
	if kept < reMaxCached/2 || kept > reMaxCached {
		t.Errorf("kept %d patterns, want from %d to %d", kept, reMaxCached/2, reMaxCached)
	}
}

func TestRECacheIsShared(t *testing.T) {
	var c reCache
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 600 {
				if p, err := c.get(fmt.Sprint("a", i%300), reAnywhere, free); err != nil || p == nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// A search charges the same whether the cache has its pattern or not.
func TestREPriceIgnoresTheCache(t *testing.T) {
	rt := &modRuntime{}
	env := modEnv(rt)
	var prices [2]modRuntime
	for i := range prices {
		*rt = modRuntime{}
		if _, err := starlark.EvalOptions(new(starsyntax.FileOptions), new(starlark.Thread), "x", `re.findall("(a)b*", "abab" * 100)`, env); err != nil {
			t.Fatal(err)
		}
		prices[i] = *rt
	}
	if prices[0] != prices[1] {
		t.Errorf("first %v, then %v", prices[0], prices[1])
	}
}

// Law: searching match by match finds the same matches as package regexp.
func TestREAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.OneOf(
			rapid.SampledFrom([]string{"a", "ab", `a\b`, "a(?m:$)", `(?:a\n)(?m:^)b`, "^ab", `\Ab`, "", "a*", `\b`, "(?m)^", "(a)(b)?", "b$", strings.Repeat("ab", 20)}),
			rapid.StringMatching(`(a|b|ab|\.|\^|\$|\\b|\(|\)|\||\*|\+|\?){1,7}`),
		).Draw(t, "pattern")
		text := strings.Repeat(rapid.StringMatching(`[ab\n ]{1,8}`).Draw(t, "text"), rapid.IntRange(1, 80).Draw(t, "times"))
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		p, err := compileRE(source, reAnywhere)
		if err != nil {
			t.Skip(err)
		}
		got, err := p.all(call.Call{Runtime: &modRuntime{}}, text, limit)
		if err != nil {
			t.Fatal(err)
		}
		if limit == 0 {
			limit = -1
		}
		if diff := cmp.Diff(regexp.MustCompile(source).FindAllStringSubmatchIndex(text, limit), got); diff != "" {
			t.Fatalf("all (-want +got):\n%s", diff)
		}
	})
}

// Law: no pattern panics, and replacing each match by itself changes nothing.
func FuzzRESub(f *testing.F) {
	f.Add(`(\w+)@(?P<host>\w+)`, `\2 of \g<host>`, "me@home")
	f.Add("", `\g<0>`, "é\xff")
	f.Add(`\Qa)`, `\\`, "a)")
	f.Fuzz(func(t *testing.T, pattern, repl, text string) {
		rt := &modRuntime{maxSteps: 10_000_000, maxBytes: 64 << 20}
		env := modEnv(rt)
		env["p"], env["r"], env["t"] = starlark.String(pattern), starlark.String(repl), starlark.String(text)
		eval := func(expr string) (starlark.Value, error) {
			return starlark.EvalOptions(new(starsyntax.FileOptions), new(starlark.Thread), "x", expr, env)
		}
		eval("re.sub(p, r, t)")
		for _, same := range []string{`re.sub(p, r"\g<0>", t)`, `re.sub(p, lambda m: m.group(), t)`} {
			if got, err := eval(same); err == nil && got != starlark.String(text) {
				t.Errorf("%s: got %v, want %q", same, got, text)
			}
		}
	})
}

// Law: re.match finds the first match if that begins at the start of the text, and re.fullmatch
// finds a match from start to end.
func FuzzREAnchors(f *testing.F) {
	f.Add("a|ab", "ab")
	f.Add(`\Qa)`, "a)")
	f.Add("(?i)(?m:^é$)|(?s).*", "É\n")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(text) > 1000 {
			return
		}
		found := map[reAnchor][]int{}
		for _, anchor := range []reAnchor{reAnywhere, reAtStart, reWhole} {
			p, err := compileRE(pattern, anchor)
			if err != nil {
				if len(found) > 0 {
					t.Fatalf("%q compiles with some anchors only: %v", pattern, err)
				}
				return
			}
			found[anchor] = p.re.FindStringSubmatchIndex(text)
		}
		any, start, whole := found[reAnywhere], found[reAtStart], found[reWhole]
		if any != nil && any[0] == 0 {
			if diff := cmp.Diff(any, start); diff != "" {
				t.Errorf("search and match of %q in %q (-search +match):\n%s", pattern, text, diff)
			}
		} else if start != nil {
			t.Errorf("%q matches %q at the start, where search finds %v", pattern, text, any)
		}
		if whole != nil && (start == nil || whole[0] != 0 || whole[1] != len(text)) {
			t.Errorf("%q matches all of %q: %v, at its start %v", pattern, text, whole, start)
		}
	})
}

// compileRE parses and compiles source.
func compileRE(source string, anchor reAnchor) (*rePattern, error) {
	p, err := parseRE(source, anchor)
	if err != nil {
		return nil, err
	}
	return p, p.compile()
}
