package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bazelbuild/buildtools/build"
	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/editor/lint"
	"github.com/starhost/starhost/starlark"
)

// find returns the warnings of a file as "line:col warning: message".
func find(t *testing.T, src string) []string {
	t.Helper()
	f, err := build.ParseDefault("x.star", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, w := range lint.File(f) {
		list = append(list, fmt.Sprintf("%d:%d %s: %s", w.Line, w.Col, w.Warning, w.Msg))
	}
	return list
}

func TestFile(t *testing.T) {
	tests := []struct {
		name, src string // the source begins in line 2, after a docstring
		want      []string
	}{
		{"nothing", "", nil},
		{"all is well", "load(\"a.star\", \"b\")\nX = b(1)\n\ndef f(a, _b = 1):\n    c = a\n    return c\n", nil},

		{"confusing names", "def f(l):\n    return [l for I in l]\n\nO = 1\n", []string{
			"2:7 confusing-name: l is a name that looks like a number: choose another",
			"5:1 confusing-name: O is a name that looks like a number: choose another"}},
		{"names", "aB = 1\nAB = 2\na_b = 3\n_ = 4\n\ndef getIt(theArg):\n    someThing = theArg\n    return someThing\n", []string{
			"2:1 name-conventions: variable aB: want lower_case, or UPPER_CASE of a constant",
			"7:1 name-conventions: function getIt: want lower_case",
			"7:11 name-conventions: parameter theArg: want lower_case",
			"8:5 name-conventions: variable someThing: want lower_case, or UPPER_CASE of a constant"}},

		{"loads", "load(\"a.star\", \"used\", \"unused\", other = \"x\")\nX = used\n", []string{
			"2:25 load: unused is loaded and not used",
			"2:34 load: other is loaded and not used"}},
		{"a load that a function uses", "load(\"a.star\", \"used\")\n\ndef f():\n    return used\n", nil},
		{"a load behind a name of its own", "load(\"a.star\", \"x\")\n\ndef f(x):\n    return x\n", []string{"2:17 load: x is loaded and not used"}},

		{"unused", "def f(a, b, *args, **kw):\n    c = 1\n    d, _e = a\n\n    def g():\n        return d\n", []string{
			"2:10 unused-variable: parameter b is not used",
			"2:14 unused-variable: parameter args is not used",
			"2:22 unused-variable: parameter kw is not used",
			"3:5 unused-variable: variable c is not used: drop it, or call it _c",
			"6:5 unused-variable: function g is not used: drop it, or call it _g"}},
		{"used by what is inside", "def f(a, b, c, d):\n    return lambda x = a: [x + b for y in c if y] + [{d: 1}]\n", nil},
		{"the names of arguments are no use", "def f(a):\n    return dict(a = 1)\n", []string{"2:7 unused-variable: parameter a is not used"}},
		{"fields are no use", "def f(a, b):\n    return a.b\n", []string{"2:10 unused-variable: parameter b is not used"}},
		{"an element that is set is a use", "def f(a):\n    a[0], a.b = 1, 2\n", nil},
		{"what is added to is used", "def f():\n    n = 0\n    n += 1\n", nil},
		{"loop variables", "def f(xs):\n    for i, x in xs:\n        print(x)\n    for _ in xs:\n        pass\n", []string{
			"3:9 unused-variable: variable i is not used: drop it, or call it _i"}},
		{"handlers of loaders take what they are given", "def f(ctx, arg):\n    return \"x\"\n\nregister_fragment_loader(\"f\", f)\n\ndef g(arg):\n    return \"x\"\n\nregister_template_loader(prefix = \"g\", handler = g)\n", nil},
		{"a comprehension's name hides", "def f(x):\n    return [x for x in [1]]\n", []string{"2:7 unused-variable: parameter x is not used"}},
		{"its first list does not see it", "def f(x):\n    return [x for x in x]\n", nil},

		{"functions twice", "def f():\n    pass\n\ndef f():\n    pass\n", []string{"5:1 redefined-variable: function f is already defined in line 2"}},

		{"dicts", "x = {} + {}\ny = x + dict(a = 1)\nz = ({a: 1 for a in x}) + y\nv = [] + x\n", []string{
			"2:8 dict-concatenation: dicts are not added: write a | b",
			"3:7 dict-concatenation: dicts are not added: write a | b",
			"4:25 dict-concatenation: dicts are not added: write a | b"}},
		{"dict methods", "x = {}\ny = x.get(\"a\", default = 1)\nz = x.pop(key = \"a\")\n\ndef f(ctx):\n    return ctx.state.get(key = \"a\")\n", []string{
			"3:16 dict-method-named-arg: get of a dict takes its arguments by place: write get(key, default)",
			"4:11 dict-method-named-arg: pop of a dict takes its arguments by place: write pop(key, default)"}},
		{"append", "x = []\nx += [1]\nx += [1, 2]\nx += x\n", []string{"3:3 list-append: += of one element: write append(...)"}},

		{"no effect", "x = 1\nx\nx == 2\n[print(y) for y in [1]]\n\"late\"\n(x)\n\ndef f():\n    # a comment\n    \"\"\"Docs.\"\"\"\n    if x:\n        \"no docs\"\n    else:\n        x.y\n    for _ in []:\n        -x\n", []string{
			"3:1 no-effect: nothing uses the result",
			"4:1 no-effect: nothing uses the result",
			"5:1 no-effect: nothing uses the result: write a for loop",
			"6:1 no-effect: a string as a statement does nothing: a docstring stands first, a comment begins with #",
			"7:1 no-effect: nothing uses the result",
			"13:9 no-effect: a string as a statement does nothing: a docstring stands first, a comment begins with #",
			"15:9 no-effect: nothing uses the result",
			"17:9 no-effect: nothing uses the result"}},

		{"returns", "def f(x):\n    if x:\n        return\n    for y in x:\n        return y\n    return\n\ndef g():\n    return\n", []string{
			"4:9 return-value: f returns a value elsewhere: write return None",
			"7:5 return-value: f returns a value elsewhere: write return None"}},

		{"unreachable", "def _f(x):\n    if x:\n        return 1\n    elif x == None:\n        fail(\"no\")\n    else:\n        return 2\n    # why\n    print(1)\n    print(2)\n\ndef g(xs):\n    for x in xs:\n        break\n        print(x)\n    print(3)\n", []string{
			"10:5 unreachable: nothing reaches this statement",
			"16:9 unreachable: nothing reaches this statement"}},

		{"uninitialized", "def _f(x):\n    if x:\n        y = 1\n    print(y, y)\n    z = z + 1\n    for v in x:\n        w = v\n    return [w for u in v]\n", []string{
			"5:11 uninitialized: y may be unset here: assign it on every path",
			"6:9 uninitialized: z may be unset here: assign it on every path",
			"9:13 uninitialized: w may be unset here: assign it on every path",
			"9:24 uninitialized: v may be unset here: assign it on every path"}},
		{"initialized", "def _f(x):\n    if x:\n        y = 1\n    elif x == None:\n        return 0\n    else:\n        y = 2\n    for a, b in x:\n        if a:\n            continue\n        c = b\n        print(c)\n    g = lambda: h\n    h = y\n    return g() + h\n", nil},
		{"parameters have a value", "def f(a, b = 1, *c, **d):\n    a, b, c, d = b, c, d, a\n    return [a, b, c, d]\n", nil},
		{"uninitialized at the top level", "if True:\n    a = 1\nb = a\nprint(c)\nc = 1\nd += 1\n\ndef f():\n    return e\n\ne = 1\n", []string{
			"4:5 uninitialized: a may be unset here: assign it on every path",
			"5:7 uninitialized: c may be unset here: assign it on every path",
			"7:1 uninitialized: d may be unset here: assign it on every path"}},

		{"docstrings", "def long():\n    a = 1\n    if a:\n        a = 2\n    for _ in []:\n        a = 3\n    return a\n\ndef _private():\n    a = 1\n    a = 2\n    a = 3\n    a = 4\n    a = 5\n    return a\n\ndef empty():\n    \"\"\"\n    Text.\n    \"\"\"\n", []string{
			"2:1 function-docstring: function long has no docstring",
			"19:5 function-docstring-header: the docstring of empty begins with an empty line: want what it does in the first one"}},
		{"arguments", "def f(ctx, a, b, c = 1, _d = 2, *args):\n    \"\"\"Does it.\n\n    Args:\n      a (string): The first: of all.\n        With more: lines.\n      *args: The rest.\n\n    Returns:\n      b: what is no argument\n    \"\"\"\n    return [ctx, a, b, c, _d, args]\n", []string{
			"2:15 function-docstring-args: parameter b is missing under Args:",
			"2:18 function-docstring-args: parameter c is missing under Args:"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, find(t, "\"\"\"A test.\"\"\"\n"+tt.src)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestModuleDocstring(t *testing.T) {
	want := []string{"1:1 module-docstring: the file has no docstring: say first what it is for"}
	for src, want := range map[string][]string{
		"":                             nil,
		"# a comment\n":                nil,
		"# a comment\n\n\"\"\"X\"\"\"": nil,
		"x = 1\n":                      want,
	} {
		if diff := cmp.Diff(want, find(t, src)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", src, diff)
		}
	}
}

// TestWarnings checks that the names are sorted, because messages and pages list them so.
func TestWarnings(t *testing.T) {
	if names := lint.Warnings(); !slices.IsSorted(names) || len(slices.Compact(names)) != 16 {
		t.Errorf("got %v, want 16 names, sorted", names)
	}
}

// TestLintCodes checks that each warning has its own code.
func TestLintCodes(t *testing.T) {
	var got []string
	for _, warning := range lint.Warnings() {
		got = append(got, lint.Code(warning))
	}
	var want []string
	for _, c := range lint.Codes {
		want = append(want, c.Code)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes of the warnings, sorted (-table +used):\n%s", diff)
	}
}

// FuzzFile checks that any file that Starlark's parser accepts is linted without a panic, and
// that each warning has a place in the file.
func FuzzFile(f *testing.F) {
	files, _ := filepath.Glob("../../scripts/*/*.star")
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	f.Add("def f(a, *, b = 1, **kw):\n    for (x, [y, z.w]) in a: x, y[0] = (lambda: 1), {**b}\n    return")
	f.Fuzz(func(t *testing.T, src string) {
		if _, err := starlark.New(starlark.Options{}).Parse("x.star", []byte(src)); err != nil {
			return
		}
		parsed, err := build.ParseDefault("x.star", []byte(src))
		if err != nil {
			return
		}
		lines := strings.Count(src, "\n") + strings.Count(src, "\r") + 1
		for _, w := range lint.File(parsed) {
			if w.Line < 1 || w.Line > lines || w.Col < 1 || w.Msg == "" {
				t.Errorf("%+v in %d lines", w, lines)
			}
		}
	})
}
