package starlark

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/internal/testbed"
)

func TestEveryMethodHasAPrice(t *testing.T) {
	values := []starlark.HasAttrs{
		starlark.String(""), starlark.Bytes(""), new(starlark.List), new(starlark.Dict), new(starlark.Set),
	}
	for _, v := range values {
		names := v.AttrNames()
		for _, name := range names {
			m := methods[v.Type()][name]
			switch {
			case m == nil:
				t.Errorf("%s.%s has no row", v.Type(), name)
			case m.units == nil && m.note == "":
				t.Errorf("%s.%s has no units, and nothing says what it pays", v.Type(), name)
			}
		}
		for name := range methods[v.Type()] {
			if !slices.Contains(names, name) {
				t.Errorf("%s.%s is no method of the interpreter", v.Type(), name)
			}
		}
	}
}

func TestEveryFunctionHasAPrice(t *testing.T) {
	for name := range starlark.Universe {
		f, ok := functions[name]
		switch {
		case !ok:
			t.Errorf("%s has no row", name)
		case f.note == "":
			t.Errorf("nothing says what %s pays", name)
		}
	}
	for name := range functions {
		if !starlark.Universe.Has(name) {
			t.Errorf("%s is no function of the interpreter", name)
		}
	}
}

// nodePrices names, for each node of the syntax, the charge for its work.
var nodePrices = map[string]string{
	"File":          "free: its statements pay",
	"AssignStmt":    "$setindex, $i+= and the like, $aug; a name costs its instruction",
	"BranchStmt":    "free: a jump",
	"DefStmt":       "its instruction; $enter pays for the frame of a large body and for **kwargs",
	"ExprStmt":      "free: its expression pays",
	"ForStmt":       "each iteration costs its instructions",
	"WhileStmt":     "each iteration costs its instructions",
	"IfStmt":        "free: a jump",
	"LoadStmt":      "a file of its own, in the same budget",
	"ReturnStmt":    "free: a jump",
	"BinaryExpr":    "$+ and the like, where an operand may be large",
	"CallExpr":      "its instruction; $. and a method's row, $star, $kwstar; functions pay by their row",
	"Comprehension": "each iteration costs its instructions; $dictcomp",
	"CondExpr":      "free: a jump",
	"DictEntry":     "$key and $entry",
	"DictExpr":      "$dict and $entry",
	"DotExpr":       "$attr",
	"Ident":         "free: a load of a variable",
	"IndexExpr":     "$index, unless the index is a small number or a constant",
	"LambdaExpr":    "as DefStmt",
	"ListExpr":      "free: one instruction for each element",
	"Literal":       "free: a constant",
	"ParenExpr":     "free: no instruction",
	"SliceExpr":     "$slice",
	"TupleExpr":     "free: one instruction for each element",
	"UnaryExpr":     "$neg and $~, where the operand may be large",
	"ForClause":     "as ForStmt",
	"IfClause":      "as IfStmt",
}

func TestEverySyntaxNodeHasAPrice(t *testing.T) {
	file := filepath.Join(upstream(t, "syntax"), "syntax.go")
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "Span" || f.Recv == nil {
			continue
		}
		node := f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name
		found[node] = true
		if nodePrices[node] == "" {
			t.Errorf("nothing says what pays for syntax.%s", node)
		}
	}
	for node := range nodePrices {
		if !found[node] {
			t.Errorf("syntax has no %s", node)
		}
	}
}

// operationsToPrice are expressions whose work grows with n. The set-up of each makes values of size n.
var operationsToPrice = []struct{ name, setup, expr string }{
	{"string +", "s = 'x' * n", "s + s"},
	{"string *", "", "'x' * n"},
	{"bytes +", "s = bytes('x' * n)", "s + s"},
	{"list *", "", "[0] * n"},
	{"list +", "s = [0] * n", "s + s"},
	{"tuple +", "s = (0,) * n", "s + s"},
	{"list slice", "s = [0] * n", "s[1:]"},
	{"string slice", "s = 'x' * n", "s[::2]"},
	{"list", "s = range(n)", "list(s)"},
	{"tuple", "s = range(n)", "tuple(s)"},
	{"set", "s = range(n)", "set(s)"},
	{"dict", "s = [(i, i) for i in range(n)]", "dict(s)"},
	{"dict |", "s = {i: i for i in range(n)}", "s | {}"},
	{"set |", "s = set(range(n))", "s | s"},
	{"set &", "s = set(range(n))", "s & s"},
	{"set -", "s = set(range(n))", "s - set()"},
	{"items", "s = {i: i for i in range(n)}", "s.items()"},
	{"keys", "s = {i: i for i in range(n)}", "s.keys()"},
	{"values", "s = {i: i for i in range(n)}", "s.values()"},
	{"sorted", "s = [-i for i in range(n)]", "sorted(s)"},
	{"sorted by key", "s = [-i for i in range(n)]", "sorted(s, key = abs)"},
	{"reversed", "s = range(n)", "reversed(s)"},
	{"enumerate", "s = [0] * n", "enumerate(s)"},
	{"zip", "s = [0] * n", "zip(s, s)"},
	{"str", "s = list(range(n))", "str(s)"},
	{"repr", "s = 'x' * n", "repr(s)"},
	{"%", "s = 'x' * n", "'%s%s' % (s, s)"},
	{"format", "s = 'x' * n", "'{}{}'.format(s, s)"},
	{"join", "s = ['abc'] * n", "','.join(s)"},
	{"split", "s = 'a,' * n", "s.split(',')"},
	{"rsplit", "s = 'a ' * n", "s.rsplit()"},
	{"splitlines", "s = 'a\\n' * n", "s.splitlines()"},
	{"replace", "s = 'ab' * n", "s.replace('a', 'ccc')"},
	{"upper", "s = 'x' * n", "s.upper()"},
	{"lower", "s = 'X' * n", "s.lower()"},
	{"title", "s = 'x' * n", "s.title()"},
	{"capitalize", "s = 'x' * n", "s.capitalize()"},
	{"bytes", "s = 'x' * n", "bytes(s)"},
	{"json.encode", "s = list(range(n))", "json.encode(s)"},
	{"json.encode text", "s = 'x' * n", "json.encode(s)"},
	{"json.decode", "s = '[' + '1,' * n + '1]'", "json.decode(s)"},
	{"json.indent", "s = '[' + '1,' * n + '1]'", "json.indent(s)"},
	{"struct +", "s = struct(**{'a%d' % i: i for i in range(n // 16)})\nz = struct(y = 1)", "s + z"},
	{"*args", "def f(*a): return a\ns = [0] * n", "f(*s)"},
	{"**kwargs", "def f(**a): return a\ns = {'a%d' % i: i for i in range(n // 16)}", "f(**s)"},
	{"dict comprehension", "s = range(n)", "{i: i for i in s}"},
	{"big multiplication", "s = 1\nfor _ in range(n // 512): s = s << 500", "s * s"},
	{"big shift", "s = 1\nfor _ in range(n // 512): s = s << 500", "s << 500"},
	{"big to text", "s = 1\nfor _ in range(n // 512): s = s << 500", "str(s)"},
	{"intersection", "s = set(range(n))", "s.intersection(s)"},
	{"union", "s = set(range(n))", "s.union(s)"},
	{"issubset", "s = set(range(n))", "s.issubset(s)"},
	{"extend", "s = [0] * n", "[].extend(s)"},
	{"+=", "s = [0] * n\ndef f(s):\n    a = []\n    a += s\n    return a", "f(s)"},
	{"dir", "s = struct(**{'a%d' % i: i for i in range(n // 16)})", "dir(s)"},
}

// TestBytesArePaidFor states the law of the cost table: a run pays for all bytes that it allocates, up to a
// constant factor and a constant for each instruction.
func TestBytesArePaidFor(t *testing.T) {
	if testbed.Race {
		t.Skip("the race detector allocates")
	}
	for _, op := range operationsToPrice {
		t.Run(op.name, func(t *testing.T) {
			for _, n := range []int{4096, 8192, 16384} {
				real, usage := measureAllocations(t, op.setup, op.expr, n)
				if limit := 3*usage.Bytes/2 + 72*usage.Steps + 4096; real > limit {
					t.Errorf("n = %d: allocated %d bytes, paid for %d and %d steps", n, real, usage.Bytes, usage.Steps)
				}
			}
		})
	}
}

// TestStepsGrowWithTheWork doubles the work of each operation. The charges must grow with it.
func TestStepsGrowWithTheWork(t *testing.T) {
	for _, op := range operationsToPrice {
		t.Run(op.name, func(t *testing.T) {
			_, small := measureAllocations(t, op.setup, op.expr, 16384)
			_, large := measureAllocations(t, op.setup, op.expr, 32768)
			// Some operations pay with bytes alone; most pay with steps as well.
			if 2*large.Steps < 3*small.Steps && 2*large.Bytes < 3*small.Bytes {
				t.Errorf("charged %v for n, %v for 2n", small, large)
			}
		})
	}
}

// measureAllocations evaluates expr with a set-up of size n. It returns the bytes that Go
// allocated, and the charges.
func measureAllocations(t *testing.T, setup, expr string, n int) (uint64, Usage) {
	t.Helper()
	s := New(Options{Limits: Limits{Steps: 100_000_000, Memory: 1 << 32, Timeout: time.Minute}})
	defineAll(t, s, starlark.StringDict{"struct": starlark.NewBuiltin("struct", starlarkstruct.Make)})
	src := fmt.Sprintf("n = %d\n%s\ndef run():\n    %s\n", n, setup, expr)
	_, m, err := evalIn(s, src, Exec{})
	if err != nil {
		t.Fatalf("%s: %v", strings.TrimSpace(src), err)
	}
	run := m.Globals["run"].(starlark.Callable)
	call := func() Usage {
		_, usage, err := s.Call(context.Background(), run, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return usage
	}
	call() // the first call fills the pools of workers
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	usage := call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, usage
}

// BenchmarkPrices reports the time of a charged step. The cost table aims at 10 to 100 ns.
func BenchmarkPrices(b *testing.B) {
	for _, op := range operationsToPrice {
		b.Run(strings.ReplaceAll(op.name, " ", "_"), func(b *testing.B) {
			s := New(Options{Limits: Limits{Steps: 100_000_000, Memory: 1 << 32, Timeout: time.Minute}})
			defineAll(b, s, starlark.StringDict{"struct": starlark.NewBuiltin("struct", starlarkstruct.Make)})
			_, m, err := evalIn(s, fmt.Sprintf("n = 16384\n%s\ndef run():\n    %s\n", op.setup, op.expr), Exec{})
			if err != nil {
				b.Fatal(err)
			}
			run := m.Globals["run"].(starlark.Callable)
			var usage Usage
			for b.Loop() {
				if _, usage, err = s.Call(context.Background(), run, nil, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(usage.Steps), "ns/step")
		})
	}
}

// TestJoinInPlace checks that join has the same result and price for a list, which it reads in
// place, and for a set, which it copies.
func TestJoinInPlace(t *testing.T) {
	for _, words := range []string{"[]", "['a']", "['a', 'b', '']", "['abc' * 100, 'd' * 1000]", "['a', 1]"} {
		type outcome struct {
			text  string
			usage Usage
		}
		join := func(kind string) outcome {
			s := New(Options{})
			_, m, err := evalIn(s, "xs = "+kind+"("+words+")\ndef run(): return ', '.join(xs)\n", Exec{})
			if err != nil {
				t.Fatal(err)
			}
			v, usage, err := s.Call(t.Context(), m.Globals["run"].(starlark.Callable), nil, nil)
			return outcome{fmt.Sprint(v, err), usage}
		}
		want := join("set") // join copies a set
		for _, kind := range []string{"list", "tuple"} {
			if got := join(kind); got != want {
				t.Errorf("%s(%s): got %v, want %v", kind, words, got, want)
			}
		}
	}
}

// TestSteps checks the short path of price.steps against a division.
func TestSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		per := rapid.SampledFrom([]float64{0.25, 0.5, 1, 3, 7.3, 16, 128}).Draw(t, "per")
		n := rapid.OneOf(rapid.Uint64Range(0, 300), rapid.Uint64()).Draw(t, "n")
		want := uint64(min(float64(n)/per, 1<<63))
		if got := (&price{per: per}).steps(n); got != want {
			t.Errorf("got %d steps for %d units, want %d", got, n, want)
		}
	})
}
