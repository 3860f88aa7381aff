package starlark

import (
	"regexp"
	"sync"
)

// A habit is a construct that is right in Python and an error here. The interpreter's message
// identifies it, sometimes together with the source line.
type habit struct {
	msg, line string // regular expressions; an empty one matches everything
	help      string // the help; ${1} and so on stand for the groups of line
}

// The first habit that matches gives the help.
var habits = []habit{
	{`^got string literal, want`, `\b[fF]['"]`, `Starlark has no f-strings; write "%s is %d" % (name, n) or "{} is {}".format(name, n)`},
	{`^got string literal, want`, `^\s*print\s+['"]`, `print is a function; write print("...")`},
	{`^got string literal, want`, `['"]\s*[rb]?['"]`, `adjacent strings are not joined; write "a" + "b"`},
	{`^got is, want`, ``, `Starlark has no is; write x == None, x != None`},
	{`^got '\*\*', want primary`, `\{`, `Starlark has no {**a}; write a | b for two dicts, or dict(a, key = 1)`},
	{`^got '\*\*', want`, ``, `Starlark has no ** operator; multiply, or use math.pow`},
	{`^got '\*', want primary expression`, `[\[(]\s*\*|[\[(].*,\s*\*`, `Starlark has no [*a]; write a + b, or list(a) + [x]`},
	{`^got if, want ':'`, `\belse\s+if\b`, `Starlark writes else if as elif`},
	{`^got '=', want ':'`, `^\s*(if|elif)\b`, `= assigns; write == to compare`},
	{`^got '=', want`, `\bif\b`, `= assigns; write == to compare`},
	{`^got '&', want`, `&&`, `Starlark has no &&; write and`},
	{`^got '\|', want`, `\|\|`, `Starlark has no ||; write or`},
	{`^got .*, want indent|^unindent does not match`, ``, `indent the lines of a block by the same four spaces; do not mix tabs and spaces`},
	{`^unexpected input character '!'`, ``, `Starlark has no !; write not x`},
	{`^unexpected input character '[“”‘’„«»]'`, ``, `these are typographic quotes; write "..." or '...'`},
	{`^got (import|from), want`, ``, `Starlark has no import; json, math, re and the like are there without one; of a file write load("lib/x.star", "name")`},
	{`^got class, want`, ``, `Starlark has no classes; use dicts, struct(...) and functions`},
	{`^got (try|except|finally|raise), want`, ``, `Starlark has no exceptions; look first (if k in d, d.get(k, default)), and stop with fail("why")`},
	{`does not support while loops`, ``, `Starlark has no while; write for _ in range(n), and break`},
	{`^got ':=?, want|^got ':', want`, `:=`, `Starlark has no :=; assign in a separate statement`},
	{`^got ':', want ('\)'|',')`, `\blambda\b|\bdef\b.*[(,]\s*\**\w+\s*:`, `parameters have no type annotations; put types into the docstring`},
	{`^got '-', want ':'`, `->`, `functions have no type annotations; put types into the docstring`},
	{`^got ':', want newline`, `^\s*\w+\s*:`, `variables have no type annotations; write x = 1`},
	{`^unknown conversion %[-+# 0-9.*]`, ``, `% has no width or precision here; use %d, %s, %f and pad or round the value itself`},
	{`^format spec features not supported`, ``, `format has no width or precision here; use {} and pad or round the value itself`},
	{`^got global, want`, ``, `a function cannot assign to a global; return the value`},
	{`^got nonlocal, want`, ``, `a function cannot assign to a variable outside; return the value, or change a list or dict`},
	{`^got yield, want`, ``, `Starlark has no generators; build a list and return it`},
	{`^got (async|await), want`, ``, `Starlark has no async; functions simply return their result`},
	{`^got with, want`, ``, `Starlark has no with; there is nothing to close`},
	{`^got identifier, want newline`, `^\s*assert\b`, `Starlark has no assert; write if not x: fail("why")`},
	{`^got .*, want newline`, `^\s*assert\b`, `Starlark has no assert; write if not x: fail("why")`},
	{`^got identifier, want newline`, `^\s*match\b`, `Starlark has no match; use if and elif`},
	{`^got del, want`, ``, `Starlark has no del; write d.pop(key) or xs.pop(i)`},
	{`^(\w+: )?cannot .* frozen `, ``, `globals are frozen when handlers run; keep what calls change with ctx.state.get(key) and ctx.state.set(key, value)`},
	{`^local variable \w+ referenced before assignment`, ``, `a function that assigns to a name has its own variable, and changes no global; keep what calls change with ctx.state.get(key) and ctx.state.set(key, value)`},
	{`does not associate with`, ``, `comparisons do not chain; write a < b and b < c`},
	{`called recursively`, ``, `Starlark has no recursion; loop over a list of what is left to do`},
	{`^unexpected input character '@'`, `^\s*@`, `Starlark has no decorators; call the function after the def`},
	{`^got for, want ['][),]'`, ``, `Starlark has no generator expressions; write a list, [x for x in xs]`},
	{`^got for, want ':'|^got ',', want ':'|^got '}', want ':'`, `\{`, `Starlark has no {a, b} for sets; write set([a, b])`},
	{`^got '\*', want primary expression`, `=`, `Starlark has no starred assignment; write x, y = xs[0], xs[1:]`},
	{`^got else, want primary expression`, ``, `loops have no else; set a variable before break`},
	{`^got newline, want primary expression`, `(\+\+|--)\s*$`, `Starlark has no ++ and --; write x += 1`},
	{`^string value is not iterable|got string, want iterable`, ``, `strings are not iterated; write s.elems() or s.codepoints()`},
	{`^undefined: isinstance\b`, ``, `write type(x) == "string"`},
	{`^undefined: (null|nil)\b`, ``, `Starlark writes None`},
	{`^undefined: (true|false)\b`, ``, `Starlark writes True and False`},
	{`^undefined: open\b`, ``, `a handler reads files with ctx.fs.read(path), and the plugin's own with files.read(name)`},
	{`^undefined: datetime\b`, ``, `a handler reads the clock with ctx.now; the module time parses and formats times`},
	{`^undefined: (requests|urllib|http)\b`, ``, `a handler sends requests with ctx.http.get(url) and ctx.http.request(...)`},
	{`^undefined: (os|subprocess|sys)\b`, ``, `a handler runs programs with ctx.exec(...) and reads variables with ctx.env(name)`},
	{`has no \.dumps? field`, `\bjson\.dumps?\b`, `write json.encode(x)`},
	{`has no \.loads? field`, `\bjson\.loads?\b`, `write json.decode(text)`},
	{`has no \.(safe_load|load) field`, `\byaml\.`, `write yaml.decode(text)`},
	{`has no \.compile field`, `\bre\.`, `starhost compiles patterns itself; write re.search(pattern, text)`},
	{`^string has no \.\w+ field`, `\bnow\.\w`, `ctx.now is a text; write time.parse_time(ctx.now).weekday, .hour, .date and the like`},
	{`^invalid call of non-function`, `\.(\w+)\s*$`, `.${1} is a value and no function; write it without ()`},
	{`has no \.now field`, `\btime\.`, `a handler reads the clock with ctx.now`},
	{`^undefined: round\b`, ``, `write text.format_number(x, 2) for a text of two decimals, or int(math.round(x))`},
	{`^undefined: pow\b`, ``, `write math.pow(x, y)`},
	{`^undefined: divmod\b`, ``, `write a // b, a % b`},
	{`^undefined: (hex|oct|bin)\b`, ``, `write "%x" % n, or "%o" % n`},
	{`^undefined: (next|iter)\b`, ``, `write xs[0] if xs else None for the first of a list`},
	{`^undefined: format\b`, ``, `write "{}".format(x), or text.format_number(x, 2) for decimals`},
	{`^undefined: frozenset\b`, ``, `write set(xs)`},
	{`^undefined: (input|callable|super|object|self|cls|eval|exec|globals|locals|id)\b`, ``, `Starlark has no classes, no input and no eval; use functions, dicts and struct(...)`},
	{`^undefined: ([A-Z]\w*(Error|Exception)|Exception)\b`, ``, `Starlark has no exceptions; stop with fail("why")`},
	{`^undefined: (Path|pathlib|shutil|glob)\b`, ``, `a handler reads files with ctx.fs.read(path) and lists them with ctx.fs.glob(pattern)`},
	{`^undefined: random\b`, ``, `a handler draws numbers with ctx.random()`},
	{`^undefined: uuid\b`, ``, `a handler makes one with ctx.uuid()`},
	{`^undefined: (logging|logger|log)\b`, ``, `a handler logs with ctx.log("info", "text")`},
	{`^undefined: (itertools|functools|collections|defaultdict|Counter)\b`, ``, `Starlark has no such module; write loops, comprehensions and d[k] = d.get(k, 0) + 1`},
	{`^undefined: (map|filter)\b`, ``, `write a comprehension: [f(x) for x in xs if ok(x)]`},
	{`^not an identifier`, `\b(json|yaml|toml|csv)\.load\b`, `write ${1}.decode(text)`},
	{`^not an identifier`, `\.load\b`, `load is a word of the language and names no field; references are resolved by ctx.fragments.get(ref)`},
	{`^not an identifier`, `(\w+)\.(as|assert|async|await|class|def|del|from|global|if|import|in|is|not|pass|raise|return|try|while|with|yield)\b`, `${2} is a word of the language and names no field; write ${1}["${2}"] for a dict, or getattr(${1}, "${2}")`},
	{`^invalid escape sequence`, `("[^"]*\\[^abfnrtvxuU0-7'"\\][^"]*")`, `a backslash of a pattern or a path; write r${1}`},
	{`^invalid escape sequence`, `('[^']*\\[^abfnrtvxuU0-7'"\\][^']*')`, `a backslash of a pattern or a path; write r${1}`},
	{`^invalid escape sequence`, ``, `a text of patterns or paths begins with r, as in r"\d+"; else write \\ for a backslash`},
	{`^got identifier, want`, `\b(\d+)_(\d+)(?:_(\d+))?(?:_(\d+))?\b`, `numbers have no _; write ${1}${2}${3}${4}`},
	{`^obsolete form of octal literal`, `\b0+([0-7]+)\b`, `write 0o${1}`},
	{`^unexpected input character '\?'`, ``, `Starlark has no ?:; write a if ok else b`},
	{`^conditional expression without else`, ``, `write a if ok else None`},
	{`^unknown binary op: (string \+ \w+|\w+ \+ string)`, ``, `convert first: "n = " + str(n)`},
}

// habitPatterns compiles the expressions at the first error instead of at start-up.
var habitPatterns = sync.OnceValue(func() [][2]*regexp.Regexp {
	list := make([][2]*regexp.Regexp, len(habits))
	for i, h := range habits {
		list[i] = [2]*regexp.Regexp{regexp.MustCompile(h.msg), regexp.MustCompile(h.line)}
	}
	return list
})

// helpFor returns the help of the first habit that matches, or "".
func helpFor(msg, line string) string {
	for i, re := range habitPatterns() {
		if !re[0].MatchString(msg) {
			continue
		}
		if groups := re[1].FindStringSubmatchIndex(line); groups != nil {
			return string(re[1].ExpandString(nil, habits[i].help, line, groups))
		}
	}
	return ""
}
