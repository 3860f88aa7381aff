package modules

import (
	"fmt"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"
)

func TestYAML(t *testing.T) {
	modAsserts(t, []struct{ name, source string }{
		{"scalars", `
for text, want in {
    "": None, "~": None, "null": None, "# only a comment": None, "---": None,
    "true": True, "FALSE": False, "yes": "yes", "on": "on", "n": "n",
    "0": 0, "-12": -12, "+7": 7, "0644": 644, "0x1F": 31, "0o17": 15, "0x": "0x", "-0x1": "-0x1", "1_000": "1_000", "0b1": "0b1",
    "123456789012345678901234567890": 123456789012345678901234567890,
    "1.5": 1.5, ".5": 0.5, "1.": 1.0, "1e3": 1000.0, "-1.5E-1": -0.15, ".": ".", "1.2.3": "1.2.3", "e3": "e3", "+": "+", "-": [None],
    ".inf": float("inf"), "-.INF": float("-inf"), ".nan": float("nan"),
    "2024-05-01": "2024-05-01", "12:30": "12:30", "'1'": "1", '"a\\nb"': "a\nb",
    "!!str 1": "1", "!!int '1'": 1, "!!float 1": 1.0, "!!null ''": None, "!!bool true": True, "!!str": "", "!!seq []": [], "!!map {}": {},
    "a b\n c": "a b c", "|\n a\n  b\n": "a\n b\n", ">-\n a\n b\n": "a b",
}.items():
    assert_eq(yaml.decode(text), want)
    assert_eq(type(yaml.decode(text)), type(want))
`},
		{"collections", `
assert_eq(yaml.decode("[a, [1, {b: c}], ]"), ["a", [1, {"b": "c"}]])
assert_eq(yaml.decode("a:\n- 1\n-\n- x: y\n  z: [1]\n").items(), [("a", [1, None, {"x": "y", "z": [1]}])])
assert_eq(yaml.decode("b: 1\na: 2\n").keys(), ["b", "a"])
assert_eq(yaml.decode("1: a\ntrue: b\n~: c\n1.5: d\n"), {1: "a", True: "b", None: "c", 1.5: "d"})
assert_eq(yaml.decode("%YAML 1.2\n---\na: 1 # one\n# end\n...\n"), {"a": 1})
`},
		{"aliases", `
doc = yaml.decode("base: &b {x: 1, y: [2]}\ncopy: *b\nmore: {<<: *b, x: 3}\nboth: {<<: [{z: 0}, *b, {y: 5}]}\n")
doc["copy"]["y"].append(3)
assert_eq(doc["base"], {"x": 1, "y": [2]})
assert_eq(doc["more"].items(), [("x", 3), ("y", [2])])
assert_eq(doc["both"].items(), [("z", 0), ("x", 1), ("y", [2])])
assert_eq(yaml.decode("'<<': 1"), {"<<": 1})
assert_eq(yaml.decode("- &a 1\n- &a 2\n- *a"), [1, 2, 2])
`},
		{"documents", `
TAGGED = """Resources:
  Logs:
    Name: !Sub "logs-${Env}"
    Port: !Ref 8080
    Arn: !GetAtt [Logs, Arn]
    Script: !reference
      - .setup
      - script
    Policy: !Join
      on: x
      none: !Empty
    Key: !vault |
      $ANSIBLE
      61
    Emoji: !!python/name:material.emoji
    Far: !<tag:example.com,2000:x> y
"""
plain = yaml.decode(TAGGED)["Resources"]["Logs"]
assert_eq(plain, {"Name": "logs-${Env}", "Port": "8080", "Arn": ["Logs", "Arn"], "Script": [".setup", "script"],
    "Policy": {"on": "x", "none": ""}, "Key": "$ANSIBLE\n61\n", "Emoji": "", "Far": "y"})
kept = yaml.decode(TAGGED, tags = "keep")
assert_eq(kept["Resources"]["Logs"]["Script"], yaml.tagged("!reference", [".setup", "script"]))
assert_eq(kept["Resources"]["Logs"]["Policy"].value["none"], yaml.tagged("!Empty", ""))
assert_eq([v.tag for v in kept["Resources"]["Logs"].values()],
    ["!Sub", "!Ref", "!GetAtt", "!reference", "!Join", "!vault", "!!python/name:material.emoji", "tag:example.com,2000:x"])
assert_eq(yaml.decode(yaml.encode(kept), tags = "keep"), kept)
for v in ["x", "a\nb\n", "", 1, None, [], {}, [1, [2]], [{"a": 1}], {"a": [1]}, {"a": {"b": "c\nd"}}]:
    if type(v) in ("int", "NoneType"):
        continue # a scalar with a local tag is text
    for x in [yaml.tagged("!t", v), [yaml.tagged("!t", v)], {"k": yaml.tagged("!t", v), "l": [[yaml.tagged("!u", v)]]}]:
        assert_eq(yaml.decode(yaml.encode(x), tags = "keep"), x)
assert_eq(yaml.decode("- &x !a b\n- *x", tags = "keep"), [yaml.tagged("!a", "b")] * 2)
assert_eq(yaml.decode_all(""), [])
assert_eq(yaml.decode_all("a\n---\n---\nb"), ["a", None, "b"])
`},
		{"encode", `
def lines(*l):
    return "\n".join(l) + "\n"

assert_eq(yaml.encode(None), "null\n")
assert_eq(yaml.encode([1, 1.0, True, 1 << 70, float("nan"), float("inf"), float("-inf"), 1e300]), lines("- 1", "- 1.0", "- true", "- 1180591620717411303424", "- .nan", "- .inf", "- -.inf", "- 1e+300"))
assert_eq(yaml.encode([]), "[]\n")
assert_eq(yaml.encode({}), "{}\n")
assert_eq(yaml.encode({"a": [], "b": {}, "c": ()}), lines("a: []", "b: {}", "c: []"))
assert_eq(yaml.encode([[1, [2]], [], {"a": 1, "b": [3]}]), lines("- - 1", "  - - 2", "- []", "- a: 1", "  b:", "    - 3"))
assert_eq(yaml.encode({"z": {"y": [{"x": 1, "w": 2}]}}), lines("z:", '  "y":', "    - x: 1", "      w: 2"))
assert_eq(yaml.encode(struct(b = 1, a = set([2]))), lines("a:", "  - 2", "b: 1"))
assert_eq(yaml.encode({1: 2, None: 3, True: 4, 1.5: 5}), lines("1: 2", "null: 3", "true: 4", "1.5: 5"))
`},
		{"strings", `
for text, want in {
    "a": "a", "a b": "a b", "/x:y": "/x:y", "_": "_", "é, 日本": "é, 日本", "a#b": "a#b",
    "": '""', "yes": '"yes"', "Null": '"Null"', "N": '"N"', "1": '"1"', "1a": '"1a"', ".": '"."', "-": '"-"', "+x": '"+x"', "~": '"~"', "<<": '"<<"', "=": '"="',
    "a: b": '"a: b"', "a:": '"a:"', "a #b": '"a #b"', " a": '" a"', "a ": '"a "', "{a": '"{a"', "[a": '"[a"', "*a": '"*a"', "&a": '"&a"', "!a": '"!a"', "%a": '"%a"', "@a": '"@a"',
    "a\tb": '"a\\tb"', "\\a\"": '"\\\\a\\""', "a\x7f\u0085\u2028\ufeff": '"a\\u007F\\u0085\\u2028\\uFEFF"', "\x01": '"\\u0001"', "😀": '"😀"',
    "a\nb": "|-\n  a\n  b", "a\n": "|\n  a", "a\n\n": "|+\n  a\n", "a\n\n  b": "|-\n  a\n\n    b",
    " a\nb": '" a\\nb"', "a \nb": '"a \\nb"', "\na": '"\\na"', "a\r\nb": '"a\\r\\nb"', "a\nb ": '"a\\nb "', "\n": '"\\n"',
}.items():
    assert_eq(yaml.encode(text), want + "\n")
    assert_eq(yaml.decode(yaml.encode(text)), text)
    assert_eq(yaml.decode(yaml.encode({text: [text]})), {text: [text]})
long = "k" * 2000
assert_eq(yaml.encode([{long: 1, "b": 2}]), "- ? " + long + "\n  : 1\n  b: 2\n")
assert_eq(yaml.decode(yaml.encode([{long: {long + "'": [1]}, "b": 2}])), [{long: {long + "'": [1]}, "b": 2}])
`},
	})
}

func TestYAMLErrors(t *testing.T) {
	modErrors(t, []struct{ expr, want string }{
		{`yaml.decode("a: 1\nb: 2\na: 3", name = "runbooks/a.yaml")`, `yaml.decode: runbooks/a.yaml: line 3: key "a" stands twice in one mapping`},
		{`yaml.decode("a\n---\nb", "a.yaml")`, `yaml.decode: a.yaml: got 2 documents, want one`},
		{`yaml.decode("a: [", name = "a\nb.yaml")`, `yaml.decode: "a\nb.yaml": after line 1: did not find expected node content`},
		{`yaml.decode("a: \x01", name = "a.yaml")`, `yaml.decode: a.yaml: line 1: got the control character U+0001`},
		{`yaml.decode_all("a: *b", name = "a.yaml")`, `yaml.decode_all: a.yaml: line 1: got the alias "*b", but no anchor of that name in front of it`},
		{`toml.decode("a = ", name = "a.toml")`, `toml.decode: a.toml: line 1: unexpected EOF; expected value`},
		{`toml.decode("'' = 1", name = "a.toml")`, `toml.decode: a.toml: got an empty key, want one with a name`},
		{`csv.decode("a,b\n1,2,3", name = "a.csv")`, `csv.decode: a.csv: line 2: got 3 cells, want 2, as many as in the header`},
		{`yaml.decode("a: 1\nb: 2\na: 3")`, `yaml.decode: text: line 3: key "a" stands twice in one mapping`},
		{`yaml.decode("1: 1\n1.0: 2")`, `yaml.decode: text: line 2: key 1.0 stands twice in one mapping`},
		{`yaml.decode("? [a]\n: 1")`, `yaml.decode: text: line 1: got a list as a key, want a string or a number`},
		{`yaml.decode("{{a: 1}: 2}")`, `yaml.decode: text: line 1: got a dict as a key, want a string or a number`},
		{`yaml.decode("a\n---\nb")`, `yaml.decode: text: got 2 documents, want one`},
		{`yaml.decode("a: 1", tags = "kepe")`, `yaml.decode: tags: got "kepe" (did you mean keep?), want "drop" or "keep"`},
		{`yaml.decode("!a k: 1", tags = "keep")`, `yaml.decode: text: line 1: got a struct as a key, want a string or a number`},
		{`yaml.decode("<<: !a {x: 1}", tags = "keep")`, `yaml.decode: text: line 1: << got struct, want a mapping or a list of mappings`},
		{`yaml.tagged("Sub", 1)`, `yaml.tagged: tag: got "Sub", want a local tag such as "!Sub"`},
		{`yaml.tagged("!!str", 1)`, `yaml.tagged: tag: got "!!str", want a local tag such as "!Sub"`},
		{`yaml.tagged("!a b", 1)`, `yaml.tagged: tag: got "!a b", want a local tag such as "!Sub"`},
		{`yaml.encode([yaml.tagged("!a", yaml.tagged("!b", 1))])`, `yaml.encode: x: at [0]: got the tag "!a", want one of letters and digits for a value without a tag`},
		{`yaml.decode("!!int a")`, `yaml.decode: text: line 1: got "a", which is no !!int`},
		{`yaml.decode("!!bool 1")`, `yaml.decode: text: line 1: got "1", which is no !!bool`},
		{`yaml.decode("!!map [1]")`, `yaml.decode: text: line 1: got a list tagged !!map`},
		{`yaml.decode("!!str {a: 1}")`, `yaml.decode: text: line 1: got a mapping tagged !!str`},
		{`yaml.decode("!!seq a")`, `yaml.decode: text: line 1: got "a", which is no !!seq`},
		{`yaml.decode("a: 1\nb: *nope # *b")`, `yaml.decode: text: line 2: got the alias "*nope", but no anchor of that name in front of it`},
		{`yaml.decode("a: &a [*a]")`, `yaml.decode: text: line 1: nested deeper than 64 levels, or an alias stands within its own anchor`},
		{`yaml.decode("[" * 66 + "]" * 66)`, `yaml.decode: text: line 1: nested deeper than 64 levels, or an alias stands within its own anchor`},
		{`yaml.decode("[" * 20000)`, `yaml.decode: text: line 1: exceeded max depth of 10000`},
		{`yaml.decode("a: &a 1\nb: {<<: *a}")`, `yaml.decode: text: line 2: << got int, want a mapping or a list of mappings`},
		{`yaml.decode("<<: [{a: 1}, 2]")`, `yaml.decode: text: line 1: << got int, want a mapping or a list of mappings`},
		{`yaml.decode("x: 1e999")`, `yaml.decode: text: line 1: got number 1e999, want one that a float can hold`},
		{`yaml.decode("\n\nx: " + "1" * 20001)`, `yaml.decode: text: line 3: got a number of 20001 digits, want 20000 or fewer`},
		{`yaml.decode("a: 1\n\tb: 2")`, `yaml.decode: text: line 2: found a tab character that violates indentation`},
		{`yaml.decode("a: [1\nb: 2")`, `yaml.decode: text: after line 1: did not find expected ',' or ']'`},
		{`yaml.decode("a: b: c")`, `yaml.decode: text: line 1: mapping values are not allowed in this context`},
		{`yaml.decode("'a")`, `yaml.decode: text: line 1: found unexpected end of stream`},
		{`yaml.decode("%TAG ! tag:x\n---\na")`, `yaml.decode: text: line 1: got a %TAG directive, want the core tags only`},
		{`yaml.decode("a\n\x00")`, `yaml.decode: text: line 2: got the control character U+0000`},
		{`yaml.decode("a\n" + "é"[:1])`, `yaml.decode: text: line 2: got bytes that are not UTF-8`},
		{`yaml.decode_all("a: 1\n---\na: 1\n---\n]")`, `yaml.decode_all: text: after line 4: did not find expected node content`},
		{`yaml.encode({"a": [1, len]})`, `yaml.encode: x: at .a[1]: got builtin_function_or_method, want a value that YAML has`},
		{`yaml.encode({1: {"b c": b"x"}})`, `yaml.encode: x: at [1]["b c"]: got bytes, want a value that YAML has (str(x) for text, base64.encode(x) for data)`},
		{`yaml.encode([{(1, 2): 3}])`, `yaml.encode: x: at [0]: got a key that is tuple, want a string or a number`},
		{`yaml.encode({b"a": 3})`, `yaml.encode: x: got bytes, want a value that YAML has (str(x) for text, base64.encode(x) for data)`},
		{`yaml.encode({struct(): 3})`, `yaml.encode: x: got a key that is struct, want a string or a number`},
	})
}

func TestTOML(t *testing.T) {
	modAsserts(t, []struct{ name, source string }{
		{"decode", `
doc = toml.decode("""
# settings
title = 'a "b"'
long = \"\"\"
x "" y \\
    z\"\"\"\"
[b.c] # comment with "quote
i = 0x1f
f = [1.5, inf, -2e3, [true]]
"k.l".m = ''
[a]
d = [1979-05-27T07:32:00Z, 1979-05-27T07:32:00.5-08:00, 1979-05-27T07:32:00, 1979-05-27, 07:32:00.25]
p = { y = 1, x = { w = "}" } }
[[t]]
n = 1
[[t.u]]
[[t]]
""")
assert_eq(doc.keys(), ["title", "long", "b", "a", "t"])
assert_eq(doc["title"], 'a "b"')
assert_eq(doc["long"], 'x "" y z"')
assert_eq(doc["b"], {"c": {"i": 31, "f": [1.5, float("inf"), -2000.0, [True]], "k.l": {"m": ""}}})
assert_eq(doc["a"]["d"], ["1979-05-27T07:32:00Z", "1979-05-27T07:32:00.5-08:00", "1979-05-27T07:32:00", "1979-05-27", "07:32:00.25"])
assert_eq(doc["a"]["p"].items(), [("y", 1), ("x", {"w": "}"})])
assert_eq(doc["t"], [{"n": 1, "u": [{}]}, {}])
assert_eq(toml.decode(""), {})
`},
		{"encode", `
assert_eq(toml.encode({}), "")
assert_eq(toml.encode(struct(b = 1, a = "x")), 'a = "x"\nb = 1\n')
assert_eq(toml.encode({"-": [1, 1.0, float("nan"), float("-inf"), True, "a\nb\x7f", (), {"a b": {}}]}), '- = [1, 1.0, nan, -inf, true, "a\\nb\\u007F", [], {"a b" = {}}]\n')
assert_eq(toml.encode({"a": {"b": {"c": 1}, "d": 2}, "e": 3}), "e = 3\n\n[a]\nd = 2\n\n[a.b]\nc = 1\n")
assert_eq(toml.encode({"a.b": [{"c": 1, "d": [{}]}, {}]}), '[["a.b"]]\nc = 1\n\n[["a.b".d]]\n\n[["a.b"]]\n')
assert_eq(toml.encode({"x": [{}, 1], "y": [[{"a": 1, "b": 2}]]}), "x = [{}, 1]\ny = [[{a = 1, b = 2}]]\n")
`},
	})
}

func TestTOMLErrors(t *testing.T) {
	modErrors(t, []struct{ expr, want string }{
		{`toml.decode("a = 1\nb = ")`, `toml.decode: text: line 2: unexpected EOF; expected value`},
		{`toml.decode("a = 1\na = 2")`, `toml.decode: text: line 2: Key 'a' has already been defined.`},
		{`toml.decode("a = 99999999999999999999")`, `toml.decode: text: line 1: 99999999999999999999 is out of range for an integer`},
		{`toml.decode("a = 1\n" + ".".join(["b"] * 33) + " = 1")`, `toml.decode: text: line 2: got a key of more than 32 parts`},
		{`toml.decode("a = \"\"\"\n\\\n\"\"\"\nb = " + "[" * 33)`, `toml.decode: text: line 4: nested deeper than 32 levels`},
		{`toml.decode("a.b = " + "[" * 32 + "]" * 32)`, `toml.decode: text: nested deeper than 32 levels`},
		{`toml.decode("[a]\n'' = 1")`, `toml.decode: text: got an empty key, want one with a name`},
		{`toml.encode([1])`, `toml.encode: x: got list, want dict or struct`},
		{`toml.encode({1: 2})`, `toml.encode: x: got a key that is int, want string`},
		{`toml.encode({"a": {"b": None}})`, `toml.encode: x: at .a.b: got NoneType, want a value that TOML has`},
		{`toml.encode({"a": [{"b": [1, None]}]})`, `toml.encode: x: at .a[0].b[1]: got NoneType, want a value that TOML has`},
		{`toml.encode({"a": [0, {"b": b""}]})`, `toml.encode: x: at .a[1].b: got bytes, want a value that TOML has (str(x) for text, base64.encode(x) for data)`},
		{`toml.encode({"a": [0, {1: 1}]})`, `toml.encode: x: at .a[1]: got a key that is int, want string`},
		{`toml.encode({"a": {"": 1}})`, `toml.encode: x: at .a: got an empty key, want one with a name`},
		{`toml.encode({"a": 1 << 63})`, `toml.encode: x: at .a: got an int of 65 bits, want one of 64`},
	})
}

// TestDataRefusesDepthAndCycles checks that encoding stops at a depth or at the budget, if a value contains
// itself or contains one value many times.
func TestDataRefusesDepthAndCycles(t *testing.T) {
	const source = `
x = {"a": 1}
for _ in range(%d):
    x = %s
%s.encode(x)
`
	tests := []struct{ name, source, want string }{
		{"yaml lists", fmt.Sprintf(source, 70, "[x]", "yaml"), "x: at [0][0][0][0][0][0][0][0]…: nested deeper than 64 levels, or contains itself"},
		{"yaml itself", "x = {}\nx['x'] = x\nyaml.encode(x)", "nested deeper than 64 levels"},
		{"yaml one list many times", fmt.Sprintf(source, 60, "[x, x]", "yaml"), "over budget"},
		{"yaml a long range", "yaml.encode(range(1 << 40))", "over budget"},
		{"toml tables", fmt.Sprintf(source, 40, `{"x": x}`, "toml"), "nested deeper than 32 levels"},
		{"toml itself", "x = {}\nx['x'] = [x]\ntoml.encode(x)", "nested deeper than 32 levels"},
		{"toml inline", fmt.Sprintf(source, 40, `{"x": [x, 1]}`, "toml"), "nested deeper than 32 levels"},
		{"toml one table many times", fmt.Sprintf(source, 30, `{"a": x, "b": x}`, "toml"), "over budget"},
		{"toml one list many times", "x = [1]\nfor _ in range(30):\n    x = [x, x]\ntoml.encode({'x': x})", "over budget"},
		{"yaml laughs", `yaml.decode("\n".join(["a0: &a0 x"] + ["a%d: &a%d [%s]" % (i, i, ", ".join(["*a%d" % (i - 1)] * 9)) for i in range(1, 30)]))`, "over budget"},
		{"yaml few laughs", `yaml.decode("a: &a [" + "x," * 999 + "]\nb: [" + "*a," * 101 + "]")`, "got more than 100000 values, aliases counted each time"},
		{"toml values", `toml.decode("a = [" + "1," * 100001 + "]")`, "got more than 100000 values"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			limit := uint64(400_000)
			if strings.Contains(tt.want, "100000") {
				limit = 0
			}
			_, err := modRun(&modRuntime{maxSteps: limit}, tt.source)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// The modules refuse or charge for ints that the parsers would take long to convert.
func TestDataLongInts(t *testing.T) {
	x := starlark.MakeInt(1).Lsh(100_000)
	if _, err := modEval(&modRuntime{}, `yaml.encode([x])`, x); err == nil || err.Error() != "yaml.encode: x: at [0]: got an int of 100001 bits, want 65536 at most" {
		t.Errorf("got %v", err)
	}
}

// Keys with equal hashes would make a dict take quadratic time, so the modules refuse many of them.
func TestDataRefusesAFlood(t *testing.T) {
	var ints, words []string
	for i := range 2000 {
		ints = append(ints, fmt.Sprintf("%d: x\n", int64(i)<<40))
	}
	for i := 0; len(words) < 1400; i++ {
		key := fmt.Sprintf("%x", i)
		if hash, _ := starlark.String(key).Hash(); hash%4096 == 7 || len(words) < 1000 {
			words = append(words, fmt.Sprintf("k%s = 1\n", key)[1:])
		}
	}
	tests := []struct{ name, expr, text, want string }{
		{"yaml ints", "yaml.decode(x)", strings.Join(ints, ""), "too many keys of one hash"},
		{"yaml merged", "yaml.decode(x)", "<<:\n- {" + strings.ReplaceAll(strings.Join(ints[:900], ","), "\n", "") + "}\n- {" + strings.ReplaceAll(strings.Join(ints[900:1800], ","), "\n", "") + "}\n", "too many keys of one hash"},
		{"toml", "toml.decode(x)", strings.Join(words, ""), "too many keys of one hash"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := modEval(&modRuntime{}, tt.expr, starlark.String(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %.200v, want %q", err, tt.want)
			}
		})
	}
}

// The work of TOML's parser for a key depends on the keys around it, so the module charges for these.
func TestTOMLPaysForLongKeys(t *testing.T) {
	long := strings.Repeat("k", 1000)
	tests := []struct {
		name, text string
		least      uint64 // bytes
	}{
		{"plain keys", "a=1\nb=1\nc=1\n", 3 * 1024},
		{"a long header", "[" + long + "]\n" + "a=1\nb=1\nc=1\n", 3 * 4 * 1000},
		{"no header any more", "[" + long + "]\n[b]\n" + "a=1\n", 4 * 1000},
		{"a long key of an inline table", long + "={a=1,b=1,c=1}", 3 * 4 * 1000},
		{"a long key of nested arrays", long + "=[[],[],[]]", 3 * 4 * 1000},
		{"a long key of tables in an array", long + "=[{a=1},{a=1},{a=1}]", 3 * 2 * 4 * 1000},
		{"a long key behind an inline table", "a={b={" + long + "=1}}\n" + "c=[{d=1}]", 4 * 1000},
		{"quotes at the end of a text", `a=["""x""""", """"y""",` + "''''z''''']\n" + strings.Repeat("b.", 31) + "c=1", 32 * 32 * 100},
		{"many parts", strings.Repeat("a.", 31) + "a=1", 32 * 32 * 100},
		{"parts in quotes", strings.Repeat(`".".`, 31) + "a=1", 32 * 32 * 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rt := &modRuntime{}
			if _, err := modEval(rt, "toml.decode(x)", starlark.String(tt.text)); err != nil {
				t.Fatal(err)
			}
			if rt.bytes < tt.least {
				t.Errorf("paid %d bytes, want %d", rt.bytes, tt.least)
			}
		})
	}
}

// dataValues generates values that JSON and YAML can express, up to depth levels deep.
func dataValues(depth int) *rapid.Generator[starlark.Value] {
	scalar := rapid.OneOf(
		rapid.Just[starlark.Value](starlark.None),
		rapid.Map(rapid.Bool(), func(b bool) starlark.Value { return starlark.Bool(b) }),
		rapid.Map(rapid.Int64(), func(i int64) starlark.Value {
			return starlark.MakeInt64(i).Mul(starlark.MakeInt64(i))
		}),
		rapid.Map(rapid.Float64Range(-1e308, 1e308), func(f float64) starlark.Value { return starlark.Float(f) }),
		rapid.Map(rapid.String(), func(s string) starlark.Value { return starlark.String(strings.ToValidUTF8(s, "")) }),
	)
	if depth == 0 {
		return scalar
	}
	inner := dataValues(depth - 1)
	list := rapid.Map(rapid.SliceOfN(inner, 0, 4), func(v []starlark.Value) starlark.Value {
		return starlark.NewList(v)
	})
	keys := rapid.StringMatching(`[a-z"é]{0,6}`)
	dict := rapid.Map(rapid.MapOfN(keys, inner, 0, 4), func(m map[string]starlark.Value) starlark.Value {
		d := new(starlark.Dict)
		for k, v := range m {
			d.SetKey(starlark.String(k), v) // in random order
		}
		return d
	})
	return rapid.OneOf(scalar, list, dict)
}

// Law: decoding the encoded YAML returns the same value, with keys in the same order.
func TestYAMLRoundTrip(t *testing.T) {
	text := rapid.Map(rapid.StringMatching("[ab1:#|>'\"?\\[{&*!%,\n\r\t .é\u0085\u2028\ufeff\x01~-]{0,8}"), func(s string) starlark.Value { return starlark.String(s) })
	texts := rapid.Map(rapid.SliceOfN(text, 0, 3), func(v []starlark.Value) starlark.Value {
		return starlark.NewList(v)
	})
	values := rapid.OneOf(dataValues(3), text, texts)
	rapid.Check(t, func(t *rapid.T) {
		v := values.Draw(t, "value")
		checkUndone(t, "yaml.decode(yaml.encode(x))", v)
		checkUndone(t, `yaml.decode(yaml.encode({"k": [{"l": x}], "m": x}))["k"][0]["l"]`, v)
		if k, ok := v.(starlark.String); ok {
			checkUndone(t, `yaml.decode(yaml.encode({x: [{x: 1}]})).keys()[0]`, k)
		}
	})
}

// forTOML returns v without the parts that TOML cannot express.
func forTOML(v starlark.Value) starlark.Value {
	switch v := v.(type) {
	case starlark.Int:
		if _, ok := v.Int64(); ok {
			return v
		}
		return starlark.MakeInt(0)
	case starlark.NoneType:
		return starlark.MakeInt(0)
	case *starlark.List:
		for i := range v.Len() {
			v.SetIndex(i, forTOML(v.Index(i)))
		}
	case *starlark.Dict:
		for _, item := range v.Items() {
			v.SetKey(item[0], forTOML(item[1]))
		}
		v.Delete(starlark.String(""))
	}
	return v
}

// Law: decoding the encoded TOML returns the same value.
func TestTOMLRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := forTOML(dataValues(3).Draw(t, "value"))
		got, err := modEval(&modRuntime{}, `toml.decode(toml.encode({"a": x, "b": {"c": x}}))`, v)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{`x["a"]`, `x["b"]["c"]`} {
			part, err := modEval(&modRuntime{}, path, got)
			if equal, cmpErr := starlark.Equal(part, v); err != nil || cmpErr != nil || !equal {
				t.Fatalf("got %v, %v, want %v", part, err, v)
			}
		}
	})
}

// Law: decoding, encoding and decoding returns the same value, with keys in the same order.
func FuzzYAMLDecode(f *testing.F) {
	f.Add("a: &x [1, 2.5, 'é', null]\nb: {<<: {c: *x}, d: |\n  e\n }\n")
	f.Add("- ? long\n  : - \"\\x41\"\n- !!str 1\n--- >+\n a\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := modEval(&modRuntime{maxSteps: 1_000_000}, "yaml.decode_all(x)", starlark.String(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "yaml.decode_all: ") {
				t.Errorf("error %q", err)
			}
			return
		}
		again, err := modEval(&modRuntime{}, "[yaml.decode(yaml.encode(d)) for d in x]", v)
		if err != nil || again.String() != v.String() {
			t.Errorf("got %v, %v, want %v", again, err, v)
		}
	})
}

// Law: decoding, encoding and decoding returns the same value.
func FuzzTOMLDecode(f *testing.F) {
	f.Add("a = 1\n[b.'c']\nd = [\"\"\"x\"\"\"\", { e = 1979-05-27 }]\n[[f]]\n[[f.g]]\n")
	f.Add("a.b.\"c\\n\" = -0x1\n x = [[], [{}], 07:32:00]#")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := modEval(&modRuntime{maxSteps: 1_000_000}, "toml.decode(x)", starlark.String(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "toml.decode: ") {
				t.Errorf("error %q", err)
			}
			return
		}
		again, err := modEval(&modRuntime{}, "toml.decode(toml.encode(x))", v)
		if equal, cmpErr := starlark.Equal(v, again); err != nil || cmpErr != nil || !equal {
			t.Errorf("got %v, %v, want %v", again, err, v)
		}
	})
}
