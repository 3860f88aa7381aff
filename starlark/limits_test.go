package starlark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// limitOf returns the limit that err reports.
func limitOf(t testing.TB, err error) *LimitError {
	t.Helper()
	var limit *LimitError
	if !errors.As(err, &limit) {
		t.Fatalf("got %v, want a LimitError", err)
	}
	return limit
}

func TestLimitErrorSaysWhatWhereAndHowMuch(t *testing.T) {
	_, _, err := runText(t, "def f(n):\n    return 'x' * n\nf(1 << 27)\n", Exec{})
	want := &LimitError{
		Limit: "memory", Op: "*", Need: 1<<27 + 48, Max: 64 << 20, Pos: Pos{"f.star", 2, 16}, Func: "f",
	}
	got := *limitOf(t, err)
	got.fromCaller = false
	if got != *want {
		t.Errorf("got %+v, want %+v", got, *want)
	}
	text := `f.star:2:16: memory limit exceeded: "*" needs 134217776 bytes, limit 67108864; [limits] memory or --max-memory raises it`
	if diff := cmp.Diff(text, err.Error()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// TestLimitsOfResultsHaveAPlace checks that the error of a result has the position of the handler's
// definition, because the handler has ended.
func TestLimitsOfResultsHaveAPlace(t *testing.T) {
	s, m, err := runText(t, "x = 1\ndef f():\n    x = [1]\n    for _ in range(40):\n        x = [x, x]\n    return x\n", Exec{})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Call(context.Background(), m.Globals["f"].(starlark.Callable), nil, nil)
	if limit := limitOf(t, err); limit.Op != "result" || !strings.HasPrefix(err.Error(), "f.star:2:1: steps limit exceeded") {
		t.Errorf("got %v, want the result of f at f.star:2:1", err)
	}
}

// TestLimitOfStepsIsTheMost checks that a run may take exactly the steps of its limit, and that one
// step more is an error.
func TestLimitOfStepsIsTheMost(t *testing.T) {
	const src = "x = 0\nfor i in range(30000):\n    x += i\n"
	with := func(limit uint64) (uint64, error) {
		s := New(Options{Limits: Limits{Steps: limit}})
		f, err := s.Parse("f.star", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		_, usage, err := s.Run(context.Background(), f, Exec{})
		return usage.Steps, err
	}
	need, _ := with(0)
	if _, err := with(need); err != nil {
		t.Errorf("limit %d: got %v, want none", need, err)
	}
	_, err := with(need - 1)
	if got := limitOf(t, err); got.Need != need || got.Used != need-1 || got.Max != need-1 {
		t.Errorf("limit %d: got %+v, want that %d were needed", need-1, got, need)
	}
}

// TestLimitSaysWhoseItIs checks that the error names the setting of the limit that applies, which
// may be the caller's in a nested call.
func TestLimitSaysWhoseItIs(t *testing.T) {
	for _, tt := range []struct {
		name         string
		outer, inner uint64
		want         string
	}{{"the caller's", 10_000, 20_000, "outer raises it"}, {"its own", 20_000, 10_000, "inner raises it"}} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{Limits: Limits{Steps: tt.outer, Settings: map[string]string{"steps": "outer"}}})
			inner := s.WithLimits(Limits{Steps: tt.inner, Settings: map[string]string{"steps": "inner"}})
			var loop starlark.Callable
			try := builtin("try_loop", func(th *starlark.Thread, _ starlark.Tuple) (starlark.Value, error) {
				_, _, err := inner.Call(s.Context(th), loop, nil, nil)
				return nil, err
			})
			if err := s.Define("try_loop", try, Cost{Steps: 1}); err != nil {
				t.Fatal(err)
			}
			_, m, err := evalIn(s, "def loop():\n    for i in range(1 << 40): pass\ndef outer():\n    try_loop()\n", Exec{})
			if err != nil {
				t.Fatal(err)
			}
			loop = m.Globals["loop"].(starlark.Callable)
			_, _, err = s.Call(context.Background(), m.Globals["outer"].(starlark.Callable), nil, nil)
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("got %v, want ... %s", err, tt.want)
			}
		})
	}
}

// TestNothingSwallowsALimit runs operations that treat an error as a result. A run that reached its limit
// stops at the next step all the same.
func TestNothingSwallowsALimit(t *testing.T) {
	for _, src := range []string{
		"x = json.decode('[' * 300 + ']' * 300, default = 1)\n",
		"def f():\n    return json.decode('[' * 300 + ']' * 300, default = 1)\nx = f()\n",
		"k = (1,)\nfor _ in range(40): k = (k, k)\nx = k in {}\n",
	} {
		s := New(Options{})
		if _, _, err := evalIn(s, src, Exec{}); err == nil {
			t.Errorf("%q: got no error", src)
		} else {
			limitOf(t, err)
		}
	}
}

func TestTimeout(t *testing.T) {
	src := "def f():\n    for i in range(1 << 60): pass\n"
	s, m, err := runText(t, src, Exec{})
	if err != nil {
		t.Fatal(err)
	}
	f := m.Globals["f"].(starlark.Callable)
	slow := s.WithLimits(Limits{Steps: 1 << 60, Timeout: time.Millisecond})
	_, _, err = slow.Call(context.Background(), f, nil, nil)
	if limit := limitOf(t, err); limit.Limit != "time" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the time limit as a deadline", err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	give := builtin("give_up", func(*starlark.Thread, starlark.Tuple) (starlark.Value, error) {
		cancel()
		return starlark.None, nil
	})
	if err := s.Define("give_up", give, Cost{Steps: 1}); err != nil {
		t.Fatal(err)
	}
	_, m, err = evalIn(s, "def g():\n    give_up()\n    for i in range(1 << 60): pass\n", Exec{})
	if err != nil {
		t.Fatal(err)
	}
	s = s.WithLimits(Limits{Steps: 1 << 60, Timeout: time.Minute})
	_, _, err = s.Call(ctx, m.Globals["g"].(starlark.Callable), nil, nil)
	var e *Error
	if !errors.Is(err, context.Canceled) || !errors.As(err, &e) || e.Code != "E0410" || e.Pos.Line != 3 {
		t.Errorf("got %v, want context.Canceled at line 3", err)
	}
	if _, _, err := s.Call(ctx, f, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a call of a context that is over: got %v, want context.Canceled", err)
	}

	// A stopped thread must not stop the next run.
	if _, _, err := evalIn(s, "x = [i for i in range(1000)]", Exec{}); err != nil {
		t.Error(err)
	}
}

func TestPausedTimeDoesNotCount(t *testing.T) {
	s := New(Options{Limits: Limits{Timeout: 300 * time.Millisecond}})
	wait := builtin("wait", func(th *starlark.Thread, _ starlark.Tuple) (starlark.Value, error) {
		goOn := s.Pause(th)
		time.Sleep(400 * time.Millisecond)
		goOn()
		return starlark.None, nil
	})
	if err := s.Define("wait", wait, Cost{Steps: 1}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := evalIn(s, "for i in range(20000): pass\nwait()\nfor i in range(20000): pass\n", Exec{}); err != nil {
		t.Error(err)
	}
}

func TestWithLimits(t *testing.T) {
	s, m, err := runText(t, "def f(n): return [0] * n\n", Exec{})
	if err != nil {
		t.Fatal(err)
	}
	low := s.WithLimits(Limits{Memory: 1000})
	f := m.Globals["f"].(starlark.Callable)
	_, _, err = low.Call(context.Background(), f, starlark.Tuple{starlark.MakeInt(100)}, nil)
	if limit := limitOf(t, err); limit.Max != 1000 {
		t.Errorf("got %v, want the limit of 1000 bytes", err)
	}
	if low.limits.Steps != s.limits.Steps {
		t.Errorf("steps: got %d, want those of the first sandbox", low.limits.Steps)
	}
}

// TestWith checks that sandboxes share names, but not limits, texts and output.
func TestWith(t *testing.T) {
	s := New(Options{})
	defineAll(t, s, starlark.StringDict{"answer": starlark.MakeInt(42)})
	var printed []string
	with := s.With(Options{Limits: Limits{Memory: 1000}, Print: func(_ context.Context, _ Pos, text string) { printed = append(printed, text) }})
	if _, _, err := evalIn(with, "print(answer)\n", Exec{}); err != nil {
		t.Error(err)
	}
	_, _, err := evalIn(with, "x = [0] * answer * answer\n", Exec{})
	if limit := limitOf(t, err); limit.Max != 1000 {
		t.Errorf("got %v, want the limit of 1000 bytes", err)
	}
	if _, _, err := evalIn(s, "print([0] * answer * answer)\n", Exec{}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"42"}, printed); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

// TestNestedLimits checks two nested calls: one that spends the caller's budget stops both, and one
// that reaches its own lower limit fails with an error that the caller may survive.
func TestNestedLimits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		inner Limits
		stops bool
	}{{"the caller's", Limits{}, true}, {"its own", Limits{Steps: 20_000}, false}} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(Options{Limits: Limits{Steps: 100_000}})
			var loop starlark.Callable
			try := builtin("try_loop", func(th *starlark.Thread, _ starlark.Tuple) (starlark.Value, error) {
				_, _, err := s.WithLimits(tt.inner).Call(s.Context(th), loop, nil, nil)
				return starlark.Bool(err == nil), nil
			})
			if err := s.Define("try_loop", try, Cost{Steps: 1}); err != nil {
				t.Fatal(err)
			}
			_, m, err := evalIn(s, "def loop():\n    for i in range(1 << 40): pass\ndef outer():\n    return try_loop()\n", Exec{})
			if err != nil {
				t.Fatal(err)
			}
			loop = m.Globals["loop"].(starlark.Callable)
			_, usage, err := s.Call(context.Background(), m.Globals["outer"].(starlark.Callable), nil, nil)
			if stopped := err != nil; stopped != tt.stops {
				t.Errorf("got %v after %d steps, want stopped: %v", err, usage.Steps, tt.stops)
			}
		})
	}
}

// TestAllowance checks a call with less than the limits of the sandbox. The lower of the two limits
// applies, also in a nested call, and the error names its setting.
func TestAllowance(t *testing.T) {
	s := New(Options{Limits: Limits{Steps: 100_000}})
	var loop starlark.Callable
	try := builtin("try_loop", func(th *starlark.Thread, _ starlark.Tuple) (starlark.Value, error) {
		_, _, err := s.CallWithin(s.Context(th), Allowance{20_000, "more"}, loop, nil, nil)
		return starlark.String(fmt.Sprint(err)), nil
	})
	if err := s.Define("try_loop", try, Cost{Steps: 1}); err != nil {
		t.Fatal(err)
	}
	_, m, err := evalIn(s, "def loop():\n    for i in range(1 << 40): pass\ndef outer():\n    return try_loop()\n", Exec{})
	if err != nil {
		t.Fatal(err)
	}
	loop = m.Globals["loop"].(starlark.Callable)
	for _, tt := range []struct {
		most  Allowance
		steps uint64
		want  string
	}{
		{Allowance{20_000, "more"}, 20_000, "limit 20000; more raises it"},
		{Allowance{}, 100_000, "limit 100000; [limits] steps or --max-steps raises it"},
		{Allowance{200_000, "more"}, 100_000, "limit 100000; [limits] steps or --max-steps raises it"},
	} {
		_, usage, err := s.CallWithin(t.Context(), tt.most, loop, nil, nil)
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) || usage.Steps != tt.steps {
			t.Errorf("%+v: got %v after %d steps, want %s after %d", tt.most, err, usage.Steps, tt.want, tt.steps)
		}
	}
	v, _, err := s.Call(t.Context(), m.Globals["outer"].(starlark.Callable), nil, nil)
	if text, _ := starlark.AsString(v); err != nil || !strings.HasSuffix(text, "; more raises it") {
		t.Errorf("nested: got %v, %v", v, err)
	}
}

// TestContextOfEndedRun checks that calls with the context of an ended run have
// separate budgets.
func TestContextOfEndedRun(t *testing.T) {
	s := New(Options{})
	var kept context.Context
	keep := builtin("keep", func(th *starlark.Thread, _ starlark.Tuple) (starlark.Value, error) {
		kept = s.Context(th)
		return starlark.None, nil
	})
	if err := s.Define("keep", keep, Cost{Steps: 1}); err != nil {
		t.Fatal(err)
	}
	_, m, err := evalIn(s, "keep()\ndef f():\n    for i in range(100000): pass\n", Exec{})
	if err != nil {
		t.Fatal(err)
	}
	for range 12 { // more than one budget
		if _, _, err := s.Call(kept, m.Globals["f"].(starlark.Callable), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHostFunctionsPay(t *testing.T) {
	s := New(Options{Limits: Limits{Steps: 10_000, Memory: 1 << 20}})
	shared := starlark.NewList([]starlark.Value{starlark.MakeInt(1)})
	for range 40 {
		shared = starlark.NewList([]starlark.Value{shared, shared})
	}
	defineAll(t, s, starlark.StringDict{
		"charge": builtin("charge", func(th *starlark.Thread, _ starlark.Tuple) (starlark.Value, error) {
			return starlark.None, s.Charge(th, "charge", 20_000, 0)
		}),
		"shared": builtin("shared", func(*starlark.Thread, starlark.Tuple) (starlark.Value, error) { return shared, nil }),
	})
	copies := builtin("copies", func(*starlark.Thread, starlark.Tuple) (starlark.Value, error) { return starlark.None, nil })
	if err := s.Define("copies", copies, Cost{Steps: 5, BytesPerArgByte: 100}); err != nil {
		t.Fatal(err)
	}
	for src, want := range map[string]string{
		"charge()":                       "steps",
		"shared()":                       "steps",
		"copies('x' * 20000)":            "memory",
		"copies(a = ['x' * 20000])":      "memory",
		"for i in range(9000): copies()": "steps",
	} {
		_, _, err := evalIn(s, src, Exec{})
		if limit := limitOf(t, err); limit.Limit != want {
			t.Errorf("%s: got %v, want the limit of %s", src, err, want)
		}
	}
	_, _, err := evalIn(s, "x = 1", Exec{Env: starlark.StringDict{"f": copies}})
	if err == nil || !strings.Contains(err.Error(), "f: a function of the host has no cost") {
		t.Errorf("a function in Exec.Env: got %v, want it refused", err)
	}
}

func TestNames(t *testing.T) {
	s := New(Options{})
	defineAll(t, s, starlark.StringDict{"answer": starlark.MakeInt(42)})
	names := s.Names()
	if !slices.Contains(names, "answer") || !slices.Contains(names, "len") || !slices.IsSorted(names) {
		t.Errorf("got %v, want answer and len, sorted", names)
	}
	if i := slices.IndexFunc(names, func(s string) bool { return !isIdentifier(s) }); i >= 0 {
		t.Errorf("a name that no script can spell: %q", names[i])
	}
}

func TestFile(t *testing.T) {
	f, err := New(Options{}).Parse("a/b.star", []byte("load('x.star', 'x')\nload('@lib//y.star', 'y')\n"))
	if err != nil {
		t.Fatal(err)
	}
	if f.Name() != "a/b.star" || len(f.Syntax().Stmts) != 2 {
		t.Errorf("got %s with %d statements", f.Name(), len(f.Syntax().Stmts))
	}
	if one, other := f.Syntax(), f.Syntax(); one == other {
		t.Error("two callers got the same tree")
	}
	if f, err = New(Options{}).Parse("no-file.star", nil); err != nil || len(f.Syntax().Stmts) != 0 {
		t.Errorf("no text: got %v", err) // a nil source is an empty file
	}
}

// TestRewritingIsNotSeen checks that a script cannot observe the rewriter.
func TestRewritingIsNotSeen(t *testing.T) {
	body := strings.Repeat("    x = x + [x]\n", 200) // a function that pays for its frame
	src := "def f(x, *a, **k):\n    \"\"\"The doc string.\"\"\"\n" + body + "    return x\ng = lambda **k: 1\ny = [str(f), repr(f), type(f), dir(f), str(g), str('a'.join), str(len), hasattr(f, 'x')]\n"
	_, m, err := runText(t, src, Exec{})
	if err != nil {
		t.Fatal(err)
	}
	want := `["<function f>", "<function f>", "function", [], "<function lambda>", "<built-in method join of string value>", "<built-in function len>", False]`
	if diff := cmp.Diff(want, m.Globals["y"].String()); diff != "" {
		t.Errorf("y (-want +got):\n%s", diff)
	}
	if doc := m.Globals["f"].(*starlark.Function).Doc(); doc != "The doc string." {
		t.Errorf("doc: got %q", doc)
	}
	if diff := cmp.Diff([]string{"f", "g", "y"}, m.Globals.Keys()); diff != "" {
		t.Errorf("globals (-want +got):\n%s", diff)
	}
}

func TestComprehensionTargets(t *testing.T) {
	_, _, err := runText(t, "a = [0]\nx = [1 for a[0] in [1]]\n", Exec{})
	if err == nil || !strings.HasPrefix(err.Error(), "f.star:2:8: a comprehension cannot assign to an element") {
		t.Errorf("got %v", err)
	}
}

// A listView stands for a list, as the lists of a host do.
type listView struct{ starlark.Tuple }

func (listView) Type() string      { return "view" }
func (listView) StandsFor() string { return "list" }
func (v listView) CompareSameType(op syntax.Token, y starlark.Value, depth int) (bool, error) {
	other, ok := y.(*starlark.List)
	same := ok && other.Len() == v.Len()
	for i := 0; same && i < v.Len(); i++ {
		same, _ = starlark.Equal(v.Index(i), other.Index(i))
	}
	return same == (op == syntax.EQL), nil
}

func TestHostValuesStandForCoreTypes(t *testing.T) {
	s := New(Options{})
	view := listView{starlark.Tuple{starlark.MakeInt(1), starlark.String("a")}}
	defineAll(t, s, starlark.StringDict{"view": view})
	_, m, err := evalIn(s, "x = [type(view), view == [1, 'a'], [1, 'a'] == view, [2] == view, view != [1], [1, 'a'] in [view], [[1, 'a']] == [view]]", Exec{})
	if err != nil {
		t.Fatal(err)
	}
	want := `["list", True, True, False, True, True, True]`
	if diff := cmp.Diff(want, m.Globals["x"].String()); diff != "" {
		t.Errorf("x (-want +got):\n%s", diff)
	}
}

// A valueBox contains a value of a script.
type valueBox struct {
	starlark.Value
	value starlark.Value
}

func (b valueBox) Parts() []starlark.Value { return []starlark.Value{b.value} }

func TestFreezeCheck(t *testing.T) {
	var deep starlark.Value = starlark.None
	for range 600 {
		deep = starlark.Tuple{deep}
	}
	var dag starlark.Value = starlark.None
	for range 30 {
		dag = starlark.Tuple{dag, dag}
	}
	var shared starlark.Value = starlark.None
	for range 30 {
		shared = starlark.NewList([]starlark.Value{shared, shared}) // a list, which freezes once
	}
	cyclic := starlark.NewDict(1)
	if err := cyclic.SetKey(starlark.String("self"), cyclic); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		v    starlark.Value
		want string
	}{
		{"scalar", starlark.MakeInt(1), ""},
		{"shared lists", shared, ""},
		{"cyclic dict", cyclic, ""},
		{"deep tuple", deep, "freeze limit exceeded: \"nesting of values\" needs 513 values, limit 512"},
		{"many tuples", dag, "freeze limit exceeded: \"number of values\" needs 100001 values, limit 100000"},
		{"in a struct", starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{"a": dag}), "freeze limit exceeded: \"number of values\" needs 100001 values, limit 100000"},
		{"in a host's value", valueBox{starlark.None, dag}, "freeze limit exceeded: \"number of values\" needs 100001 values, limit 100000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := freeze("f.star", starlark.StringDict{"x": tt.v}, nil); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLocateWithoutSandbox(t *testing.T) {
	if e := Locate(nil, nil); e != nil {
		t.Errorf("Locate(nil): got %v", e)
	}
	e := Locate(fmt.Errorf("some cause"), nil)
	if e.Error() != "some cause" || e.Code != "E0110" || e.Detail() != "some cause [E0110]\n  help: starhost docs E0110\n" {
		t.Errorf("got %#v", e)
	}
	coded := Locate(fmt.Errorf("outside: %w", &codedError{}), func(string) string { return "a\nb\n" })
	want := "g.star:2:1: outside: it broke [E0999]\n    2 | b\n      | ^\n  help: mend it\n  help: starhost docs E0999\n"
	if diff := cmp.Diff(want, coded.Detail()); diff != "" {
		t.Errorf("Detail (-want +got):\n%s", diff)
	}
}

// A codedError is an error of a builtin with a code, a place and a help text.
type codedError struct{}

func (*codedError) Error() string { return "it broke" }
func (*codedError) Code() string  { return "E0999" }
func (*codedError) Help() string  { return "mend it" }
func (*codedError) Place() syntax.Position {
	file := "g.star"
	return syntax.MakePosition(&file, 2, 1)
}
