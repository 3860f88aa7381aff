package builtins_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/schema"
)

func TestDerivedSchema(t *testing.T) {
	tests := []struct{ name, params, doc, want string }{
		{"nothing", "", "T.", `{"type":"object","properties":{},"additionalProperties":false}`},
		{"ctx and private ones are none", "ctx, _x = 1", "T.", `{"type":"object","properties":{},"additionalProperties":false}`},
		{"no type says string", "a, b = None", "T.", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
		{"defaults give types", `a = "x", b = 1, c = 1.5, d = True, e = {"k": 1}, f = [1, 2], g = [], h = (["x"],), i = [1, "x"]`, "T.",
			`{"type":"object","properties":{"a":{"type":"string","default":"x"},"b":{"type":"integer","default":1},"c":{"type":"number","default":1.5},` +
				`"d":{"type":"boolean","default":true},"e":{"type":"object","default":{"k":1}},"f":{"type":"array","items":{"type":"integer"},"default":[1,2]},` +
				`"g":{"type":"array","default":[]},"h":{"type":"array","items":{"type":"array","items":{"type":"string"}},"default":[["x"]]},"i":{"type":"array","default":[1,"x"]}},"additionalProperties":false}`},
		{"docs", "team, *, level = None, ids = [], ratio = 1",
			`Pages.

    Args:
      team: Team name,
        for example "checkout".

      level (string): How loud, one of "low", "mid" or "high".
      ids (array of array of integer): Numbers.
      ratio (number): A share.

    Returns:
      nothing: at all`,
			`{"type":"object","properties":{"team":{"type":"string","description":"Team name, for example \"checkout\"."},` +
				`"level":{"type":"string","enum":["low","mid","high"],"description":"How loud, one of \"low\", \"mid\" or \"high\"."},` +
				`"ids":{"type":"array","items":{"type":"array","items":{"type":"integer"}},"description":"Numbers.","default":[]},` +
				`"ratio":{"type":"number","description":"A share.","default":1}},"required":["team"],"additionalProperties":false}`},
		{"an enum of any array's elements", `levels = []`, "T.\n\n    Args:\n      levels: One of \"low\", \"high\".",
			`{"type":"object","properties":{"levels":{"type":"array","items":{"type":"string","enum":["low","high"]},"description":"One of \"low\", \"high\".","default":[]}},"additionalProperties":false}`},
		{"an enum of an array's elements", `levels = ["low"]`, "T.\n\n    Args:\n      levels (array of string): Each one of \"low\", \"high\".",
			`{"type":"object","properties":{"levels":{"type":"array","items":{"type":"string","enum":["low","high"]},"description":"Each one of \"low\", \"high\".","default":["low"]}},"additionalProperties":false}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := script{src: "def t(" + tt.params + "):\n    \"\"\"" + tt.doc + "\n    \"\"\"\n\nregister_tool(t)"}.mustLoad(t)
			if diff := cmp.Diff(tt.want, string(l.Tools()[0].Parameters)); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEnumForms shows the ways to write an enum, which give one schema.
func TestEnumForms(t *testing.T) {
	const texts = `{"a":{"type":"string","enum":["low (1)","high"]`
	const list = `{"a":{"type":"array","items":{"type":"string","enum":["x","y"]}`
	tests := []struct{ params, line, args, want string }{
		{"a", `a ("low (1)", "high"): T.`, "", texts},
		{"a", `a (one of "low (1)", "high"): T.`, "", texts},
		{"a", `a ("low (1)" or "high"): T.`, "", texts},
		{"a", `a ("low (1)" | "high"): T.`, "", texts},
		{"a", `a (string, one of "low (1)" or "high"): T.`, "", texts},
		{"a", `a: T, one of "low (1)", "high".`, "", texts},
		{"a", `a (string): T, one of "low (1)", "high".`, "", texts},
		{"a", `a: T.`, `enum = {"a": ["low (1)", "high"]}`, texts},
		{"a", `a (string): T, one of "other".`, `enum = {"a": ("low (1)", "high")}`, texts},
		{"a", `a: T.`, `enum = {"a": {"low (1)": 1, "high": 2}}`, texts},
		{`a = "high"`, `a ("low (1)", "high"): T.`, "", texts},
		{"a", `a (array of "x", "y"): T.`, "", list},
		{"a = []", `a (array of one of "x", "y"): T.`, "", list},
		{`a = ["x"]`, `a: T.`, `enum = {"a": ["x", "y"]}`, list},
		{"a", "a: T.", `enum = {"a": [1, 2]}`, `{"a":{"type":"integer","enum":[1,2]`},
		{"a = 2", "a (number): T.", `enum = {"a": [1, 2.5, 2]}`, `{"a":{"type":"number","enum":[1,2.5,2]`},
		{"a = None", "a: T.", `enum = {"a": [True]}`, `{"a":{"type":"boolean","enum":[true]`},
		{"a", "a: T.", `enum = {"b": ["x"]}`, `register_tool: enum: "b" is no parameter of t`},
		{"a", "a: T.", `enum = {"a": []}`, "register_tool: enum: a: got no values, want one or more"},
		{"a", "a: T.", `enum = {"a": "low"}`, "register_tool: enum: a: got string, want a list of values"},
		{"a", "a: T.", `enum = {"a": ["x", ["y"]]}`, "register_tool: enum: a: [1]: got list, want a string, a number or a bool"},
		{"a", "a: T.", `enum = {"a": ["x", 2]}`, "register_tool: parameter a: 2 is one of the values, but the type is string"},
		{`a = "z"`, "a: T.", `enum = {"a": ["x"]}`, `register_tool: parameter a: the default "z" is not one of "x"`},
		{"a", "a: T.", `enum = {"a": ["x"]}, parameters = {"type": "object", "properties": {"a": {}}}`, "register_tool: got both enum and parameters, want one of them"},
	}
	for _, tt := range tests {
		l, err := script{src: "def t(" + tt.params + "):\n    \"\"\"T.\n\n    Args:\n      " + tt.line + "\n    \"\"\"\n\nregister_tool(t, " + tt.args + ")"}.load(t)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = string(l.Tools()[0].Parameters)
			if _, err := schema.Compile(l.Tools()[0].Parameters); err != nil {
				t.Errorf("%s, %s: %v", tt.line, tt.args, err)
			}
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s, %s: got %s, want %s in it", tt.line, tt.args, got, tt.want)
		}
	}
}

func TestDerivedSchemaErrors(t *testing.T) {
	tests := []struct{ name, params, args, want string }{
		{"no parameter", "team", "taem: x", `the docstring's Args: "taem" is no parameter of t (did you mean team?)`},
		{"ctx", "ctx", "ctx: x", `the docstring's Args: "ctx" is no parameter of t`},
		{"unknown type", "a", "a (sting): x", `the docstring's Args: a: unknown type "sting" (did you mean string?), want string, integer, number, boolean, object, array, array of TYPE or texts such as "low", "high"`},
		{"a type of Python", "a", "a (int): x", `the docstring's Args: a: unknown type "int" (did you mean integer?), want string, integer, number, boolean, object, array, array of TYPE or texts such as "low", "high"`},
		{"array of an unknown type", "a", "a (array of zebras): x", `the docstring's Args: a: unknown type "zebras", want string, integer, number, boolean, object, array, array of TYPE or texts such as "low", "high"`},
		{"no line of its own", "a", "what a is", `the docstring's Args: got "what a is", want a line "name (type): text"`},
		{"twice", "a", "a: x\n      a: y", `the docstring's Args: a is described twice`},
		{"default of another type", "a = 1", "a (string): x", `parameter a: the default is integer, the docstring says string`},
		{"elements of another type", "a = [1]", "a (array of string): x", `parameter a: the default is array of integer, the docstring says array of string`},
		{"default that is no JSON", "a = len", "", `parameter a: the default is builtin_function_or_method, want a JSON value`},
		{"default outside the enum", `a = "z"`, `a: one of "x", "y"`, `parameter a: the default "z" is not one of "x", "y"`},
		{"enum of numbers", "a", `a (integer): one of "x", "y"`, `parameter a: "x" is one of the values, but the type is integer`},
		{"default outside the enum of the type", `a = "z"`, `a ("x", "y"): T.`, `parameter a: the default "z" is not one of "x", "y"`},
		{"an open parenthesis", "a", `a ("x)", "y": T.`, `the docstring's Args: got "a (\"x)\", \"y\": T.", want a line "name (type): text"`},
		{"numbers as a type", "a", `a (1, 2): T.`, `the docstring's Args: a: unknown type "1, 2", want string, integer, number, boolean, object, array, array of TYPE or texts such as "low", "high"`},
		{"**kwargs", "**kwargs", "", `t has **kwargs: list what they may be in parameters = {...}`},
		{"default that JSON cannot say", `a = {1: 2}`, "", `parameters: at .properties.a.default: got a key that is int, want string`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc := "T."
			if tt.args != "" {
				doc += "\n\n    Args:\n      " + tt.args
			}
			_, err := script{src: "def t(" + tt.params + "):\n    \"\"\"" + strings.ReplaceAll(doc, `"""`, "") + "\n    \"\"\"\n\nregister_tool(t)"}.load(t)
			if codeOf(err) != "E0308" {
				t.Fatalf("got %v", err)
			}
			_, got, _ := strings.Cut(err.Error(), "register_tool: ")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDerivedSchemaIsTaken checks that a host accepts each derived schema, both with and
// without checking it when the tool is added.
func TestDerivedSchemaIsTaken(t *testing.T) {
	kinds := []string{"string", "integer", "number", "boolean", "object", "array"}
	value := rapid.OneOf(
		rapid.SampledFrom([]string{"", "=None", "=True", "=0", "=-7", "=1.5", "=1e308", "=[]", `=["x"]`, "=[[1]]", `={"k": [1]}`, "=1" + strings.Repeat("0", 400)}),
		rapid.Map(rapid.StringMatching(`[a-z"é\\\\{]{0,6}`), func(s string) string { return fmt.Sprintf("=%q", s) }),
		rapid.Map(rapid.IntRange(0, 90), func(n int) string { return "=" + strings.Repeat("[", n) + "1" + strings.Repeat("]", n) }),
		rapid.Map(rapid.IntRange(0, 5000), func(n int) string { return fmt.Sprintf("='x'*%d", n) }),
		rapid.Just("='é'[:1]"), // a text that is not UTF-8
	)
	typ := rapid.Custom(func(t *rapid.T) string {
		depth := rapid.SampledFrom([]int{0, 0, 1, 2, 30, 59, 60, 61, 62, 63}).Draw(t, "depth")
		return strings.Repeat("array of ", depth) + rapid.SampledFrom(kinds).Draw(t, "kind")
	})
	checked := 0
	rapid.Check(t, func(rt *rapid.T) {
		var params, docs string
		for i := range rapid.IntRange(0, 3).Draw(rt, "parameters") {
			name := fmt.Sprintf("p%d", i)
			if rapid.Bool().Draw(rt, "typed") {
				params += name + ", "
				docs += "\n      " + name + " (" + typ.Draw(rt, "type") + "): x"
			} else {
				params += name + value.Draw(rt, "default") + ", "
			}
		}
		l, err := script{src: "def t(*, " + params + "_ = 0):\n    \"\"\"T.\n\n    Args:" + docs + "\n    \"\"\"\n\nregister_tool(t)"}.load(t)
		if err != nil {
			return
		}
		checked++
		first := l.plugin.Tools[0]
		tool := starhost.Tool{Name: "t", Description: "T.", Parameters: first.Parameters, Call: first.Call}
		if err := host.New(host.Options{}).Add(starhost.Plugin{Name: "again", Tools: []starhost.Tool{tool}}); err != nil {
			rt.Fatalf("%s: %v", tool.Parameters, err)
		}
	})
	if checked == 0 {
		t.Error("no schema was checked")
	}
}
