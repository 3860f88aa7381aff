package starlark

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
	"pgregory.net/rapid"
)

// coverageOf runs src and formats the coverage: the lines with their counts, then the conditions.
func coverageOf(t *testing.T, src string) string {
	t.Helper()
	c := &Coverage{}
	if _, _, err := evalIn(New(Options{Coverage: c}), src, Exec{}); err != nil {
		t.Fatal(err)
	}
	report := c.Report()
	if len(report) != 1 || report[0].Path != "f.star" {
		t.Fatalf("got %v, want one file f.star", report)
	}
	var b strings.Builder
	for _, l := range report[0].Lines {
		fmt.Fprintf(&b, "%d:%d ", l.Line, l.Count)
	}
	for _, br := range report[0].Branches {
		fmt.Fprintf(&b, "| %d:%d yes %d no %d ", br.Line, br.Col, br.True, br.False)
	}
	return strings.TrimSpace(b.String())
}

func TestCoverage(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"statements", "x = 1\nx += 1\nx\n", "1:1 2:1 3:1"},
		{"a function that is not called", "def f():\n    'doc'\n    return 1\n", "1:1 3:0"},
		{"a function", "def f(a):\n    b = a\n    return b\nf(1)\nf(2)\n", "1:1 2:2 3:2 4:1 5:1"},
		{"strings and pass are no lines", "'doc'\ndef f():\n    pass\nf()\n", "2:1 4:1"},
		{"more lines than one", "x = [\n  1,\n  2,\n]\n", "1:1"},
		{"a line with two statements", "def f(): return 1\nx = 1; y = 2\n", "1:1 2:1"},
		{"a body that did not run", "for x in []:\n    y = x\n", "1:1 2:0"},
		{"a loop", "for x in [1, 2]:\n    y = x\n", "1:1 2:2"},
		{"if without else", "for x in [1, 2, 3]:\n    if x == 2:\n        y = x\n", "1:1 2:3 3:1 | 2:5 yes 1 no 2"},
		{"else", "if 1:\n    x = 1\nelse:\n    x = 2\n", "1:1 2:1 4:0 | 1:1 yes 1 no 0"},
		{"elif", "for x in range(4):\n  if x == 0:\n    y = 1\n  elif x == 1:\n    y = 2\n  else:\n    y = 3\n",
			"1:1 2:4 3:1 4:3 5:1 7:2 | 2:3 yes 1 no 3 | 4:3 yes 1 no 2"},
		{"and", "for x in range(4):\n  if x > 0 and x > 1 and x > 2:\n    y = 1\n", "1:1 2:4 3:1 | 2:3 yes 1 no 3"},
		{"or", "for x in range(4):\n  if x > 2 or x > 1 or x > 3:\n    y = 1\n", "1:1 2:4 3:2 | 2:3 yes 2 no 2"},
		{"not", "for x in range(3):\n  if not (x == 1 or x == 2) or not x:\n    y = 1\n", "1:1 2:3 3:1 | 2:3 yes 1 no 2"},
		{"not in", "for x in range(3):\n  if x not in [1]:\n    y = 1\n", "1:1 2:3 3:2 | 2:3 yes 2 no 1"},
		{"mixed", "for x in range(8):\n  if not (x & 1 and not x & 2) and x & 4 or x == 0:\n    y = 1\n", "1:1 2:8 3:4 | 2:3 yes 4 no 4"},
		{"a conditional expression", "x = [1 if n else 2 for n in range(3)]\n", "1:1 | 1:8 yes 2 no 1"},
		{"a comprehension", "x = [n for n in range(5) if n % 2]\ny = {n: 1 for n in range(5) if n > 9}\n",
			"1:1 2:1 | 1:26 yes 2 no 3 | 2:29 yes 0 no 5"},
		{"a condition that was never evaluated", "def f(x): return 1 if x else 2\n", "1:1 | 1:20 yes 0 no 0"},
		{"a condition in a lambda", "f = lambda x: 1 if x else 2\nf(0)\n", "1:1 2:1 | 1:17 yes 0 no 1"},
		{"a jump that a condition leads to", "for x in range(3):\n  if x:\n    continue\n  if x > 5:\n    break\n",
			"1:1 2:3 3:2 4:1 5:0 | 2:3 yes 2 no 1 | 4:3 yes 0 no 1"},
		{"a jump behind another statement", "for x in range(3):\n  if x:\n    y = 1\n    break\n", "1:1 2:2 3:1 4:1 | 2:3 yes 1 no 1"},
		{"a jump behind an if", "for x in range(3):\n  if x > 5:\n    pass\n  break\n", "1:1 2:1 4:1 | 2:3 yes 0 no 1"},
		{"a default is evaluated with its def", "def f(x = 1 if True else 2):\n    return x\n", "1:1 2:0"},
		{"assignments to elements", "d = {}\nd[1], d[2] = 3, 4\nd[1] += 1\n", "1:1 2:1 3:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, coverageOf(t, tt.src)); diff != "" {
				t.Errorf("coverage of\n%s(-want +got):\n%s", tt.src, diff)
			}
		})
	}
}

// TestCoverageOfCalls checks that a Coverage counts calls of handlers, also in loaded files and from many
// goroutines.
func TestCoverageOfCalls(t *testing.T) {
	c := &Coverage{}
	s := New(Options{Coverage: c})
	covers := func(name string) string {
		if name == "left_out.star" {
			return ""
		}
		return "lib/" + name
	}
	load := files(map[string]string{"b.star": "def g(x):\n    return 1 if x else 2\n", "left_out.star": "y = 1\n"})
	_, m, err := evalIn(s, "load('b.star', 'g')\nload('left_out.star', 'y')\ndef f(x):\n    return g(x)\n", Exec{Load: load, CoveragePath: covers})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 25 {
				f, args := m.Globals["f"].(starlark.Callable), starlark.Tuple{starlark.MakeInt(i % 5)}
				if _, _, err := s.Call(t.Context(), f, args, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	want := []FileCoverage{
		{Path: "lib/b.star", Lines: []LineCoverage{{1, 1}, {2, 100}}, Branches: []BranchCoverage{{2, 14, 80, 20}}},
		{Path: "lib/f.star", Lines: []LineCoverage{{1, 1}, {2, 1}, {3, 1}, {4, 100}}, Branches: []BranchCoverage{}},
	}
	if diff := cmp.Diff(want, c.Report()); diff != "" {
		t.Errorf("Report (-want +got):\n%s", diff)
	}
}

// TestCoverageOfOneFileTwice evaluates one text twice, whose counts add up, and another text under the same
// path, which gets no counts.
func TestCoverageOfOneFileTwice(t *testing.T) {
	c := &Coverage{}
	for _, src := range []string{"x = 1\n", "x = 1\n", "\n\ny = 2\n"} {
		if _, _, err := evalIn(New(Options{Coverage: c}), src, Exec{}); err != nil {
			t.Fatal(err)
		}
	}
	want := []FileCoverage{{Path: "f.star", Lines: []LineCoverage{{1, 2}}, Branches: []BranchCoverage{}}}
	if diff := cmp.Diff(want, c.Report()); diff != "" {
		t.Errorf("Report (-want +got):\n%s", diff)
	}
}

// traceRun runs src and returns its outputs, effects, errors, usage and values, and the steps of
// the longest run.
func traceRun(src string, limits Limits, c *Coverage) (trace string, steps uint64) {
	var out strings.Builder
	printLine := func(_ context.Context, pos Pos, text string) { fmt.Fprintf(&out, "%v %s\n", pos, text) }
	s := New(Options{Limits: limits, Coverage: c, Print: printLine})
	s.dialect.While = true
	effect := starlark.NewBuiltin("effect", func(
		th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple,
	) (starlark.Value, error) {
		fmt.Fprintf(&out, "effect %v\n", args)
		if len(args) == 0 {
			return starlark.None, nil
		}
		v, _, err := s.Call(s.Context(th), args[0].(starlark.Callable), args[1:], nil)
		fmt.Fprintf(&out, "nested %v\n", err)
		return v, err
	})
	if err := s.Define("effect", effect, Cost{Steps: 1}); err != nil {
		panic(err)
	}
	show := func(usage Usage, err error) {
		steps = max(steps, usage.Steps)
		fmt.Fprintln(&out, usage.Bytes, "bytes")
		var e *Error
		if errors.As(err, &e) {
			fmt.Fprintln(&out, e.Code, e.Msg)
		}
	}
	f, err := s.Parse("f.star", []byte(src))
	if err != nil {
		return err.Error(), 0
	}
	load := files(map[string]string{"lib.star": "def twice(x):\n  if x:\n    return [x, x]\n  return []\n"})
	m, usage, err := s.Run(context.Background(), f, Exec{Load: load})
	show(usage, err)
	if err != nil {
		return out.String(), steps
	}
	if main, ok := m.Globals["main"].(starlark.Callable); ok {
		v, usage, err := s.Call(context.Background(), main, nil, nil)
		show(usage, err)
		fmt.Fprintln(&out, v)
	}
	for _, name := range m.Globals.Keys() {
		v, err := starlark.Call(&starlark.Thread{}, starlark.Universe["repr"], starlark.Tuple{m.Globals[name]}, nil)
		if err == nil && len(v.String()) < 1000 {
			fmt.Fprintln(&out, name, v)
		}
	}
	return out.String(), steps
}

// sameWithCoverage fails if coverage changes the trace of src, or if src fails under coverage with a limit of
// exactly the steps that it needs without coverage.
func sameWithCoverage(t rapid.TB, src string) {
	t.Helper()
	limits := Limits{Memory: 8 << 20, Timeout: time.Minute}
	plain, steps := traceRun(src, limits, nil)
	limits.Steps = steps
	covered, _ := traceRun(src, limits, &Coverage{})
	if diff := cmp.Diff(plain, covered); diff != "" {
		t.Fatalf("limit of %d steps: coverage changes (-without +with):\n%s\n%s", steps, diff, src)
	}
}

// scriptsOfAllKinds have every statement in every place that a probe could disturb. Some have as
// many probes for each step as possible.
var scriptsOfAllKinds = []string{
	"x = 1\n",
	"1\n'doc'\n",
	"[]\n",
	"print()\n",
	"if 1: x = 1\n",
	"if []: x = 1\nelif {}: x = 2\nelse: x = 3\n",
	"if True:\n  pass\nelse:\n  pass\n",
	"for x in range(6):\n  if x == 1: continue\n  if x == 4: break\n",
	"for x in range(6):\n  if x == 1: pass\n  elif x > 2 and x < 4 or not x: continue\n  else: pass\n",
	"for x in range(4):\n  for y in range(x):\n    if x == y: break\n    if x > y: continue\n    pass\n  y = 2\n",
	"for x in range(4):\n  pass\nfor x in [1]: 'doc'\n",
	"x = 1 + len([y for y in range(5) if y % 2 if y > 1])\n",
	"x = {y: [] for y in range(5) if not y or y == 3}\n",
	"x = 1 if not (0 or []) and (1 and 2) else 2\ny = (0 or 3) and (x if x else 4)\n",
	"load('lib.star', 'twice')\nx = twice(1)\nx += twice(0)\n",
	"x = 1\nx += 1\nlen = 5\nlen += x\n",
	"d = {}\nd['a'], d['b'] = 1, 2\nd['a'] += 1\nfor d['c'] in [1, 2]: pass\n",
	"def main():\n  return 1\n",
	"def main():\n  'doc'\n  x = 'a'\n  return x\n",
	"def main():\n  pass\n",
	"def main():\n  return\n",
	"def main():\n  for i in range(10):\n    print(i)\n    effect()\n  return [i]\n",
	"def main():\n  if 1 < 2: return 'a' if 1 > 2 else []\n  return 2\n",
	"def main():\n  x = 0\n  def f(y):\n    if y > 3: return x\n    return f2(y + 1)\n  f2 = lambda y: [] if 5 < y else f3(y)\n  f3 = lambda y: 'z' if y else 'w'\n  return f(1)\n",
	"def f(x = 1 if [] else 2, *a, y = 'a' if 1 else 'b', **k):\n  return (x, y)\ndef main(): return f(**{'z': 1})\n",
	"def f(x):\n  if x > 2: return effect()\n  x = x + 1\n  return x\ndef main():\n  for i in range(5):\n    y = effect(f, i) if i else 0\n",
	"def f(x): return [] if x == 'b' else 1\ndef main(): return sorted(['c', 'b', 'a'], key = lambda x: 0 if x == 'b' else 1)\n",
	"def main():\n  if len([1][5:]) == 0: fail('no', 'more')\n  return 1\n",
	"def main():\n  x = 1\n  return x.nothing if x else 0\n",
	"def main():\n  if 'a' in 5: return 1\n",
	"def main():\n  if main(): return 1\n",
	"def f(n):\n  x = 'x'\n  for i in range(n):\n    x = x + x if i else x * 2\n  return len(x)\ndef main(): return f(40)\n",
	"x = 0\nwhile x < 5:\n  if x == 3:\n    x = 9\n    continue\n  x += 1\n",
	"def main(x = 1):\n" + strings.Repeat("  if x: pass\n", 300),
	"def main():\n  " + strings.Repeat("x = [1, 2] if True else [3]\n  ", 70) + "return x\n", // a function that pays for its frame
}

func TestCoverageChangesNoValue(t *testing.T) {
	for i, src := range scriptsOfAllKinds {
		t.Run(fmt.Sprint(i), func(t *testing.T) { sameWithCoverage(t, src) })
	}
}

func TestCoverageChangesNoValueOfRandomPrograms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &program{t: t}
		for range rapid.IntRange(1, 8).Draw(t, "length") {
			p.statement()
		}
		sameWithCoverage(t, "def main():\n  a = 1\n  b = 1 << 70\n  c = 1\n  i = 0\n  n = 3\n  s = 'st'\n  u = 'uv'\n  xs = [3, 1]\n  ys = [4]\n  d = {1: 2}\n  ok = True\n"+p.b.String()+
			"  return (a, b, c, i, n, s, u, xs, ys, d, ok)\n")
	})
}

// TestCoverageBoundsSteps runs an endless loop under coverage, which must still reach a limit.
func TestCoverageBoundsSteps(t *testing.T) {
	s := New(Options{Coverage: new(Coverage), Limits: Limits{Steps: 1000}})
	_, _, err := evalIn(s, "for x in range(1 << 40):\n    pass\n", Exec{})
	if got := limitOf(t, err); got.Limit != "steps" || got.Max != 8000 {
		t.Errorf("got %+v, want that 8000 steps are the most", got)
	}
}

// TestCoverageRaisesAllowances calls a function with an allowance of exactly the steps that it
// needs without coverage. The usage, which counts against the limit of an event, does not grow
// either.
func TestCoverageRaisesAllowances(t *testing.T) {
	const src = "def f(x = 1):\n    for i in range(100):\n        if x: pass\n"
	call := func(c *Coverage, steps uint64) (Usage, error) {
		s, m, err := evalIn(New(Options{Coverage: c}), src, Exec{})
		if err != nil {
			t.Fatal(err)
		}
		_, usage, err := s.CallWithin(t.Context(), Allowance{Steps: steps}, m.Globals["f"].(starlark.Callable), nil, nil)
		return usage, err
	}
	plain, err := call(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	covered, err := call(new(Coverage), plain.Steps)
	if err != nil || covered.Steps > plain.Steps {
		t.Errorf("got %v, %v, want at most %d steps and no error", covered, err, plain.Steps)
	}
}

// TestCoverageAddFile checks that the report has a file that no run reaches, and that AddFile
// preserves counts.
func TestCoverageAddFile(t *testing.T) {
	c := &Coverage{}
	box := New(Options{Coverage: c})
	file, err := box.Parse("a.star", []byte("x = 1 if \"a\" else 2\ndef f():\n    return x\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := box.Run(t.Context(), file, Exec{}); err != nil {
		t.Fatal(err)
	}
	want := c.Report()
	for _, path := range []string{"a.star", "b.star"} {
		if err := c.AddFile(path, file); err != nil {
			t.Fatal(err)
		}
	}
	want = append(want, FileCoverage{Path: "b.star", Lines: []LineCoverage{{1, 0}, {2, 0}, {3, 0}}, Branches: []BranchCoverage{{1, 7, 0, 0}}})
	if diff := cmp.Diff(want, c.Report()); diff != "" {
		t.Errorf("Report (-want +got):\n%s", diff)
	}
}
