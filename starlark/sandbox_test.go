package starlark

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// runText evaluates src as f.star, with a few host functions.
func runText(t testing.TB, src string, e Exec) (*Sandbox, *Module, error) {
	t.Helper()
	s := New(Options{})
	return evalIn(s, src, e)
}

func evalIn(s *Sandbox, src string, e Exec) (*Sandbox, *Module, error) {
	f, err := s.Parse("f.star", []byte(src))
	if err != nil {
		return s, nil, err
	}
	m, _, err := s.Run(context.Background(), f, e)
	return s, m, err
}

// defineAll defines functions and other values at a nominal cost.
func defineAll(t testing.TB, s *Sandbox, env starlark.StringDict) {
	t.Helper()
	for _, name := range env.Keys() {
		if err := s.Define(name, env[name], Cost{Steps: 1}); err != nil {
			t.Fatal(err)
		}
	}
}

// files returns a Load function for file contents by name.
func files(m map[string]string) func(from, label string) (string, []byte, error) {
	return func(from, label string) (string, []byte, error) {
		src, ok := m[label]
		if !ok {
			return "", nil, fmt.Errorf("no file %s beside %s", label, from)
		}
		return label, []byte(src), nil
	}
}

func builtin(name string, f func(th *starlark.Thread, args starlark.Tuple) (starlark.Value, error)) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(
		th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
	) (starlark.Value, error) {
		return f(th, args)
	})
}

func TestRunFreezesGlobalsAndWhatIsKept(t *testing.T) {
	var kept []starlark.Value
	s := New(Options{})
	keep := builtin("keep", func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
		kept = append(kept, args[0])
		return starlark.None, nil
	})
	if err := s.Define("keep", keep, Cost{Steps: 10}); err != nil {
		t.Fatal(err)
	}
	src := `
def outer():
    state = []
    def in_closure():
        state.append(1)
    keep(in_closure)
    def in_default(x, seen = []):
        seen.append(x)
    keep(lambda: in_default(1))

outer()
`
	if _, _, err := evalIn(s, src, Exec{ExtraValues: func() []starlark.Value { return kept }}); err != nil {
		t.Fatal(err)
	}
	for i, v := range kept {
		_, _, err := s.Call(context.Background(), v.(starlark.Callable), nil, nil)
		var e *Error
		if !errors.As(err, &e) || e.Code != "E0106" {
			t.Errorf("call of kept function %d: got %v, want an error E0106", i, err)
		}
	}
}

func TestLoad(t *testing.T) {
	tests := []struct {
		name  string
		src   string
		files map[string]string
		want  string // value of the global x, or the error
	}{
		{"a name", `load("a.star", "x")` + "\ny = x", map[string]string{"a.star": "x = 1"}, ""},
		{"each file once", `load("a.star", "x"); load("b.star", "y")`, map[string]string{"a.star": "x = []", "b.star": `load("a.star", "x"); y = x`}, ""},
		{"cycle", `load("a.star", "x")`, map[string]string{"a.star": `load("b.star", "x")`, "b.star": `load("a.star", "x")`},
			"b.star:1:1: cannot load a.star: cycle: a.star -> b.star -> a.star"},
		{"self", `load("f.star", "x")`, map[string]string{"f.star": "x = 1"}, "f.star:1:1: cannot load f.star: cycle: f.star -> f.star"},
		{"missing file", `load("c.star", "x")`, nil, "f.star:1:1: cannot load c.star: no file c.star beside f.star"},
		{"missing name", `load("a.star", "xs")`, map[string]string{"a.star": "x = 1"}, "f.star:1:1: load: name xs not found in module a.star"},
		{"syntax error inside", "\n" + `load("a.star", "x")`, map[string]string{"a.star": "x = (1"}, "a.star:1:7: got end of file, want ')'"},
		{"failure inside", "\n" + `load("a.star", "x")`, map[string]string{"a.star": "def f():\n    return 1 // 0\nx = f()"}, "a.star:2:14: floored division by zero"},
		{"undefined inside", `load("a.star", "x")`, map[string]string{"a.star": "x = lenn([])"}, "a.star:1:5: undefined: lenn (did you mean len?)"},
		{"private name", `load("a.star", "_x")`, map[string]string{"a.star": "_x = 1"}, "f.star:1:17: load: names with leading underscores are not exported: _x"},
		{"no name at all", `load("a.star", "$+")`, map[string]string{"a.star": "x = 1"}, `f.star:1:17: load: "$+" is not a name`},
		{"frozen", "load('a.star', 'x')\nx.append(1)", map[string]string{"a.star": "x = []"}, "f.star:2:9: append: cannot append to frozen list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := runText(t, tt.src, Exec{Load: files(tt.files)})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadReportsTheFilesInBetween(t *testing.T) {
	for _, inner := range []string{"y = 1 // 0", "y = (", "y = z"} {
		_, _, err := runText(t, `load("a.star", "x")`, Exec{Load: files(map[string]string{
			"a.star": `load("b.star", "y")`, "b.star": inner,
		})})
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("got %v, want an *Error", err)
		}
		if e.Pos.File != "b.star" || len(e.Trace) < 2 || e.Trace[0].Pos.File != "f.star" || e.Trace[1].Pos.File != "a.star" {
			t.Errorf("%s: got place %v and trace %v, want b.star by way of f.star and a.star", inner, e.Pos, e.Trace)
		}
	}
}

func TestModuleFiles(t *testing.T) {
	_, m, err := runText(t, `load("b.star", "y"); load("a.star", "x"); z = 1`, Exec{Load: files(map[string]string{
		"a.star": "x = 1", "b.star": `load("a.star", "x"); y = x`,
	})})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a.star", "b.star", "f.star"}, m.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"z"}, m.Globals.Keys()); diff != "" {
		t.Errorf("globals (-want +got):\n%s", diff)
	}
}

func TestCheckSeesEveryFileAsWritten(t *testing.T) {
	var names []string
	var calls int
	check := func(f *File) error {
		names = append(names, f.Name())
		syntax.Walk(f.Syntax(), func(n syntax.Node) bool {
			if _, ok := n.(*syntax.CallExpr); ok {
				calls++
			}
			return true
		})
		return nil
	}
	_, _, err := runText(t, "load('a.star', 'x')\nz = [] + [x]", Exec{Check: check, Load: files(map[string]string{"a.star": "x = 1 + 2"})})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"f.star", "a.star"}, names); diff != "" || calls != 0 {
		t.Errorf("files checked (-want +got):\n%scalls in the trees: got %d, want 0", diff, calls)
	}
}

func TestLoading(t *testing.T) {
	var got []string
	s := New(Options{})
	where := builtin("where", func(th *starlark.Thread, _ starlark.Tuple) (starlark.Value, error) {
		file, module := s.CurrentFile(th)
		got = append(got, fmt.Sprint(file, module))
		return starlark.None, nil
	})
	if err := s.Define("where", where, Cost{Steps: 1}); err != nil {
		t.Fatal(err)
	}
	_, m, err := evalIn(s, "load('a.star', 'f')\nf()", Exec{Load: files(map[string]string{"a.star": "def f():\n    where()\nf()"})})
	if err != nil {
		t.Fatal(err)
	}
	f := m.Globals["f"]
	if f != nil {
		t.Fatalf("a loaded name is a global: %v", m.Globals)
	}
	if diff := cmp.Diff([]string{"a.startrue", "f.starfalse"}, got); diff != "" {
		t.Errorf("Loading (-want +got):\n%s", diff)
	}
}

func TestDefine(t *testing.T) {
	s := New(Options{})
	f := builtin("f", func(*starlark.Thread, starlark.Tuple) (starlark.Value, error) { return starlark.MakeInt(3), nil })
	steps := []struct {
		name string
		cost Cost
		want string
	}{
		{"f", Cost{Steps: 1}, ""},
		{"f", Cost{Steps: 1}, "f is already defined"},
		{"g", Cost{}, "g: a function needs a cost, got none"},
		{"m.f", Cost{Steps: 1}, ""},
		{"m.g", Cost{Steps: 1}, ""},
		{"m.g", Cost{Steps: 1}, "m.g is already defined"},
		{"m", Cost{Steps: 1}, "m is already defined"},
		{"f.g", Cost{Steps: 1}, "f is already defined, and not as a module"},
	}
	for _, step := range steps {
		got := ""
		if err := s.Define(step.name, f, step.cost); err != nil {
			got = err.Error()
		}
		if got != step.want {
			t.Errorf("Define(%s): got %q, want %q", step.name, got, step.want)
		}
	}
	_, m, err := evalIn(s, "x = m.f() + f()", Exec{})
	if err != nil || m.Globals["x"].String() != "6" {
		t.Errorf("got %v, %v, want x = 6", m, err)
	}
}

func TestNestedCallsShareTheBudget(t *testing.T) {
	s := New(Options{Limits: Limits{Steps: 200_000}})
	var depth int
	var inner starlark.Callable
	var usage Usage
	nest := builtin("nest", func(th *starlark.Thread, _ starlark.Tuple) (starlark.Value, error) {
		depth++
		v, u, err := s.Call(s.Context(th), inner, nil, nil)
		usage = u
		return v, err
	})
	if err := s.Define("nest", nest, Cost{Steps: 1}); err != nil {
		t.Fatal(err)
	}
	_, m, err := evalIn(s, `
def loop(): 
    for i in range(10000): pass
def again(): 
    nest()
def twice():
    loop()
    nest()
`, Exec{})
	if err != nil {
		t.Fatal(err)
	}
	inner = m.Globals["loop"].(starlark.Callable)
	_, all, err := s.Call(context.Background(), m.Globals["twice"].(starlark.Callable), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if all.Steps < 2*usage.Steps-2000 || usage.Steps < 20000 {
		t.Errorf("steps: got %d in all, %d of them nested", all.Steps, usage.Steps)
	}

	inner = m.Globals["again"].(starlark.Callable)
	depth = 0
	_, _, err = s.Call(context.Background(), inner, nil, nil)
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Limit != "nesting" || depth != maxNesting+1 {
		t.Errorf("got %v after %d calls, want the nesting limit after %d", err, depth, maxNesting+1)
	}
}

func TestConcurrentCalls(t *testing.T) {
	s, m, err := runText(t, "xs = [1, 2, 3]\ndef f(n):\n    return [x + n for x in xs]\n", Exec{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 100 {
				f := m.Globals["f"].(starlark.Callable)
				v, _, err := s.Call(context.Background(), f, starlark.Tuple{starlark.MakeInt(i)}, nil)
				if want := fmt.Sprintf("[%d, %d, %d]", i+1, i+2, i+3); err != nil || v.String() != want {
					t.Errorf("got %v, %v, want %s", v, err, want)
				}
			}
		})
	}
	wg.Wait()
}

func TestAPanicOfTheHostIsAnError(t *testing.T) {
	s := New(Options{})
	boom := builtin("boom", func(*starlark.Thread, starlark.Tuple) (starlark.Value, error) { panic("boom") })
	if err := s.Define("boom", boom, Cost{Steps: 1}); err != nil {
		t.Fatal(err)
	}
	_, _, err := evalIn(s, "def f():\n    boom()\nf()", Exec{})
	var internal *InternalError
	if !errors.As(err, &internal) || !strings.HasPrefix(err.Error(), "f.star:2:9: internal error: boom") {
		t.Errorf("got %v, want an InternalError at f.star:2:9", err)
	}
}

func TestCancelledContext(t *testing.T) {
	s, m, err := runText(t, "def f():\n    for i in range(1000000000): pass\n", Exec{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err = s.Call(ctx, m.Globals["f"].(starlark.Callable), nil, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestPrint(t *testing.T) {
	var got []string
	s := New(Options{Limits: Limits{Output: 10}, Print: func(_ context.Context, pos Pos, text string) {
		got = append(got, pos.String()+" "+text)
	}})
	_, _, err := evalIn(s, "print('a', 1)\nprint('b' * 20)", Exec{})
	if diff := cmp.Diff([]string{"f.star:1:6 a 1"}, got); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Limit != "output" {
		t.Errorf("got %v, want the output limit", err)
	}
}
