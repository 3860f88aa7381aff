package lint_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bazelbuild/buildtools/build"

	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/editor/lint"
	"github.com/starhost/starhost/starlark"
)

// moduleWords are the modules of the law below.
var moduleWords = lint.Vocabulary{
	Params:  map[string][]string{"json.decode": {"x"}, "json.encode": {"x"}, "text.dedent": {"s"}, "text.split": {"s"}, "time.parse": {"x"}},
	Modules: []string{"json", "text", "time"},
}

// failures are files with a function f, and the findings about them. A finding is a proof: f fails
// at its line. A file without a finding works, or fails only for some values (then "?" says so).
var failures = []struct{ name, src, want string }{
	{"an item of a global", "N = {'x': 0}\ndef f():\n  N['x'] += 1", "3 N is frozen when handlers run, so this line fails whenever it runs: keep what calls change with ctx.state.get and ctx.state.set"},
	{"an item of a value in a global", "N = {'x': {}}\ndef f():\n  N['x']['y'] = 1", "3 N is frozen"},
	{"append to a global", "SEEN = []\ndef f():\n  SEEN.append(1)", "3 SEEN is frozen when handlers run, so append fails"},
	{"append to a list in a global", "SEEN = {'a': []}\ndef f():\n  SEEN['a'].append(1)", "3 SEEN is frozen when handlers run, so append fails"},
	{"update of a global", "SEEN = dict()\ndef f():\n  SEEN.update(a = 1)", "3 SEEN is frozen when handlers run, so update fails"},
	{"add to a global set", "SEEN = set()\ndef f():\n  SEEN.add(1)", "3 SEEN is frozen when handlers run, so add fails"},
	{"through a helper", "SEEN = []\ndef g():\n  SEEN.append(1)\ndef f():\n  g()", "3 SEEN is frozen"},
	{"state of a maker", "def make():\n  seen = []\n  def g():\n    seen.append(1)\n  return g\nregister_hook('e', make())\nf = make()", "?"},
	{"a read of a global", "SEEN = []\ndef f():\n  return SEEN + [1]", ""},
	{"a registry that the top level fills", "SEEN = []\ndef add(x):\n  SEEN.append(x)\nadd(1)\ndef f():\n  return SEEN", ""},
	{"a registry through a helper", "SEEN = []\ndef add(x):\n  SEEN.append(x)\ndef all():\n  add(1)\nall()\ndef f():\n  return SEEN", ""},
	{"a registry through a table", "SEEN = []\ndef add(x):\n  SEEN.append(x)\n[g(1) for g in [add]]\ndef f():\n  return SEEN", ""},
	{"a local of the name", "SEEN = []\ndef f():\n  SEEN = []\n  SEEN.append(1)\n  return SEEN", ""},
	{"a parameter of the name", "SEEN = []\ndef f(SEEN = None):\n  SEEN = SEEN or []\n  SEEN.append(1)", ""},
	{"an unknown value", "S = struct(append = lambda x: x)\ndef f():\n  return S.append(1)", ""},
	{"a counter", "n = 0\ndef f():\n  n += 1", "3 n is a local variable here, because line 3 assigns it, and has no value yet; no function changes a global: keep"},
	{"a counter in a loop", "n = 0\ndef f():\n  for x in [1]:\n    n += 1", "4 n is a local variable here"},
	{"a read before", "n = 0\ndef f():\n  x = n\n  n = x + 1", "3 n is a local variable here"},
	{"never a value", "def f():\n  return n\n  n = 1", "2 n has no value here: no line before this one assigns it"},
	{"a value on one path", "def f():\n  if len([]):\n    n = 1\n  return n", "?"},
	{"a value of an earlier pass", "def f():\n  for i in [1, 2]:\n    if i == 2:\n      return n\n    n = i", ""},
	{"a closure", "def f():\n  def g():\n    return n\n  n = 1\n  return g()", ""},
	{"a name of a comprehension", "def f():\n  return [n for n in [1]]", ""},
	{"a module", "def f():\n  json = json.decode('1')\n  return json", "2 json is a local variable here, because line 2 assigns it, and hides the module json: give it another name"},
	{"a local as a module", "def f():\n  text = 'x'\n  return text.dedent(text)", "3 text is the variable of line 2 here, and hides the module text that text.dedent names: give it another name"},
	{"a parameter as a module", "def f(text = 'x'):\n  return text.dedent(text)", "2 text is the parameter of line 1 here"},
	{"a method of a string", "def f(text = 'x'):\n  return text.split('y')", ""},
	{"a module by another name", "def f():\n  text = json\n  return text.encode(1)", ""},
	{"recursion", "def f(n = 3):\n  return 0 if n == 0 else f(n - 1)", "2 f calls itself, which fails: Starlark has no recursion"},
	{"recursion of two", "def f(n = 3):\n  return g(n)\ndef g(n):\n  return f(n)", "4 f calls itself through g"},
	{"recursion of a local", "def f():\n  def g(n):\n    return g(n)\n  return g(1)", "3 g calls itself"},
	{"a later call of a name", "def g():\n  return 1\ndef f():\n  return g() + g()", ""},
	{"too few", "def g(a, b):\n  return a\ndef f():\n  return g(1)", "4 g: missing argument b; want g(a, b)"},
	{"too many", "def g(a):\n  return a\ndef f():\n  return g(1, 2)", "4 g: got 2 arguments by position, want at most 1; want g(a)"},
	{"an unknown one", "def g(a, color = 1):\n  return a\ndef f():\n  return g(1, colour = 2)", "4 g: unknown argument colour (did you mean color?)"},
	{"twice", "def g(a):\n  return a\ndef f():\n  return g(1, a = 2)", "4 g: argument a is there twice"},
	{"by name only", "def g(*, a):\n  return a\ndef f():\n  return g(1)", "4 g: got 1 arguments by position, want at most 0"},
	{"by name only, missing", "def g(*, a):\n  return a\ndef f():\n  return g()", "4 g: missing argument a"},
	{"defaults", "def g(a, b = 2, *c, d = 1, **e):\n  return a\ndef f():\n  return g(1, 2, 3, d = 4, x = 5)", ""},
	{"starred arguments", "def g(a):\n  return a\ndef f():\n  return g(*[1])", ""},
	{"two functions of a name", "def g(a):\n  return a\ndef g():\n  return 1\ndef f():\n  return g()", ""},
	{"of a library, too few", "load('lib.star', 'g')\ndef f():\n  return g(1)", "3 g: missing argument b; want g(a, b)"},
	{"of a library, right", "load('lib.star', h = 'g')\ndef f():\n  return h(1, 2)", ""},
	{"an item of a library's value", "load('lib.star', 'D')\ndef f():\n  D['a'] = 1", "3 D is frozen"},
	{"too few values", "def f():\n  return '%s %s' % (1,)", "2 the format takes more than 1 values and gets 1, so this line fails whenever it runs"},
	{"too many values", "def f():\n  return '%s' % (1, 2)", "2 the format takes 1 values and gets 2"},
	{"one value for two", "def f():\n  return '%s %s' % 'x'", "2 the format takes more than 1 values"},
	{"any value", "def f(x = (1, 2)):\n  return '%s %s' % x", ""},
	{"a width", "def f(x = 1):\n  return '%5d' % x", "2 the format has %5, want one of"},
	{"a percent sign at the end", "def f(x = 1):\n  return '%d%' % x", "2 the format ends with %: write %% for a percent sign"},
	{"a text for a number", "def f():\n  return '%d' % 'x'", "2 %d of the format takes no string"},
	{"names", "def f():\n  return '%(a)s %%' % {'a': 1}", ""},
	{"names without a dict", "def f():\n  return '%(a)s' % 'x'", "2 %(name)s wants a dict"},
	{"format, too few", "def f():\n  return '{} {}'.format(1)", "2 the format takes more than 1 values"},
	{"format by number", "def f():\n  return '{1}'.format(1)", "2 the format takes value {1} and gets 1 values"},
	{"format by name", "def f():\n  return '{a}'.format(b = 1)", "2 the format takes \"a\", which is no argument"},
	{"format of both", "def f():\n  return '{} {0}'.format(1)", "2 the format mixes {} and {0}"},
	{"format with a width", "def f():\n  return '{:>3}'.format(1)", "2 format has no width or precision, here \">3\""},
	{"format with a brace", "def f():\n  return 'a } {}'.format(1)", "2 the format has a single }: write }}"},
	{"format with an open brace", "def f():\n  return 'a {'.format(1)", "2 the format has a { without }: write {{"},
	{"format, right", "def f():\n  return '{{{}}} {a}'.format(1, 2, a = 3)", ""},
	{"a key twice", "def f():\n  return {'a': 1, 'a': 2}", "2 the dict has the key \"a\" twice"},
	{"a list as a key", "def f():\n  return {[1]: 2}", "2 a list is no key of a dict"},
	{"unpacking", "def f():\n  a, b = 1, 2, 3", "2 got 3 values for 2 names"},
	{"a sum of a text and a number", "def f():\n  return 'n' + 1", "2 string + int has no value, so this line fails whenever it runs: write str(x) for a text"},
	{"a sum of dicts", "def f():\n  return {} + {'a': 1}", "2 dicts are not added"},
	{"a sum of numbers", "def f():\n  return 1 + 2.5", ""},
	{"a change in a loop", "def f():\n  d = {'a': 1}\n  for k in d:\n    d.pop(k)", "4 d does not change while a loop runs over it, so this line fails whenever it runs: write for ... in list(d)"},
	{"an item in a loop", "def f():\n  d = {'a': 1}\n  for k in d:\n    d[k] = 2", "4 d does not change while a loop runs over it"},
	{"a copy in a loop", "def f():\n  d = {'a': 1}\n  for k in list(d):\n    d.pop(k)", ""},
	{"a field", "def f():\n  x = struct(a = 1)\n  x.a = 2", "3 a field takes no assignment"},
}

const library = "def g(a, b):\n  return a + b\nD = {}\n"

// TestFailures checks the findings, and against the evaluator that they are true.
func TestFailures(t *testing.T) {
	box := starlark.New(starlark.Options{})
	for _, e := range builtins.Table(box) {
		if e.Value == nil {
			continue
		}
		if err := box.Define(e.Name, e.Value, e.Cost); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range failures {
		t.Run(tt.name, func(t *testing.T) {
			lib, _ := build.ParseDefault("lib.star", []byte(library))
			file, err := build.ParseDefault("f.star", []byte(tt.src+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range lint.Failures(file, moduleWords, func(string) *build.File { return lib }) {
				got = append(got, fmt.Sprintf("%d %s", w.Line, w.Msg))
			}
			want := strings.TrimPrefix(tt.want, "?")
			if len(got) > 1 || !strings.HasPrefix(strings.Join(got, ""), want) || want == "" && len(got) > 0 {
				t.Errorf("got %q, want %q", got, want)
			}
			if tt.want == "?" {
				return
			}
			var failed []int // the lines of the calls that lead to the failure
			if err := evaluate(t, box, tt.src); err != nil {
				failed = append(failed, err.Pos.Line)
				for _, frame := range err.Trace {
					failed = append(failed, frame.Pos.Line)
				}
			}
			line := 0
			fmt.Sscan(want, &line)
			if (line > 0) != (failed != nil) || line > 0 && !slices.Contains(failed, line) {
				t.Errorf("check says line %d, the evaluator %d", line, failed)
			}
		})
	}
}

// evaluate calls f of a file.
func evaluate(t *testing.T, box *starlark.Sandbox, src string) *starlark.Error {
	t.Helper()
	f, err := box.Parse("f.star", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	load := func(_, name string) (string, []byte, error) { return name, []byte(library), nil }
	m, _, err := box.Run(t.Context(), f, starlark.Exec{Load: load})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = box.Eval(t.Context(), m, nil, "f()")
	located, _ := errors.AsType[*starlark.Error](err)
	return located
}

// TestFormats checks the findings about formats against the evaluator, for all short formats.
func TestFormats(t *testing.T) {
	box := starlark.New(starlark.Options{})
	check := func(expr string) {
		src := "def f():\n  return " + expr
		file, err := build.ParseDefault("f.star", []byte(src+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		found := lint.Failures(file, moduleWords, nil)
		if failed := evaluate(t, box, src); (failed != nil) != (len(found) > 0) {
			t.Errorf("%s: got findings %v, evaluator %v", expr, found, failed)
		}
	}
	parts := []string{"", "%", "%%", "%s", "%d", "%5s", "%(a)s", "x"}
	for _, a := range parts {
		for _, b := range parts {
			for _, args := range []string{"()", "(1,)", "(1, 2)", "'t'", "{'a': 1}", "7"} {
				check(fmt.Sprintf("%q %% %s", a+b, args))
			}
		}
	}
	parts = []string{"", "{", "}", "{}", "{{", "}}", "{0}", "{1}", "{a}", "{:x}", "{-1}", "{+0}", "x"}
	for _, a := range parts {
		for _, b := range parts {
			for _, args := range []string{"", "1", "1, 2", "a = 1", "1, a = 2"} {
				check(fmt.Sprintf("%q.format(%s)", a+b, args))
			}
		}
	}
}
