package starlark

import (
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
	"pgregory.net/rapid"
)

// TestDearNumbersPay checks that operations on floats and long integers that take microseconds charge for
// them. The table has the steps of 100 operations each.
func TestDearNumbersPay(t *testing.T) {
	for _, tt := range []struct {
		expr string
		want uint64
	}{
		{`"%f" % 1.7e308`, 3000},
		{`"%d" % 1.7e308`, 3000},
		{`"%(a)f" % {"a": 1.7e308}`, 3000},
		{"1.7e308 % 5e-324", 50000},
		{"7 % 5e-324", 20000},
		{"{5e-324: 1}", 5000},
		{"5e-324 in {0: 1}", 5000},
		{`"a".strip("x" * 4096)`, 12000},
	} {
		s := New(Options{})
		f, err := s.Parse("x.star", []byte("r = [("+tt.expr+") for _ in range(100)]\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, usage, err := s.Run(context.Background(), f, Exec{})
		if err != nil || usage.Steps < tt.want {
			t.Errorf("%s: got %d steps for 100, %v, want at least %d", tt.expr, usage.Steps, err, tt.want)
		}
	}
}

// TestLongIntInRange checks that "big in range(10)" does not write the 20,000 digits of big into an error,
// which the interpreter would write and drop.
func TestLongIntInRange(t *testing.T) {
	s := New(Options{})
	f, err := s.Parse("x.star", []byte(`
big = 1
for _ in range(130):
    big = big << 500
n = len([1 for i in range(20000) if big in range(10) or 1e300 in range(10)])
`))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wide := s.WithLimits(Limits{Steps: 1 << 40, Memory: 1 << 40, Timeout: time.Minute})
	m, _, err := wide.Run(context.Background(), f, Exec{})
	if err != nil || m.Globals["n"] != starlark.MakeInt(0) {
		t.Fatalf("got %v, %v", m, err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
		t.Errorf("40,000 tests allocated %d bytes", got)
	}
}

// TestRangesInResultsPay checks that a call and a result pay for each element of a range, because the host
// writes all of them.
func TestRangesInResultsPay(t *testing.T) {
	s := New(Options{})
	f, err := s.Parse("x.star", []byte("def f(): return {'a': [range(10000000)]}\ndef g(): return str([range(10000000)])\n"))
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := s.Run(context.Background(), f, Exec{})
	if err != nil {
		t.Fatal(err)
	}
	call := func(name string) error {
		_, _, err := s.Call(context.Background(), m.Globals[name].(starlark.Callable), nil, nil)
		return err
	}
	if err := call("f"); err == nil {
		t.Error("a result with a long range is free")
	}
	if err := call("g"); err != nil {
		t.Errorf("the text of a range names its bounds only: %v", err)
	}
}

// TestCompareScalarsIsThatOfStock states a law: an integer and a float compare as the interpreter compares
// them.
func TestCompareScalarsIsThatOfStock(t *testing.T) {
	floats := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
		0, -0.5, 0.5, 1 << 53, 1 << 62, 1 << 63, -(1 << 63), 5e-324, -5e-324, 1.7e308,
		math.Inf(1), math.Inf(-1), math.NaN(), math.MaxInt64, 1<<63 - 1024,
	}), rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.Int64().Draw(t, "whole")) }))
	ends := rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, 1 << 53, 1<<53 + 1})
	ints := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-3, 3), ends)
	rapid.Check(t, func(t *rapid.T) {
		f, i := starlark.Float(floats.Draw(t, "f")), starlark.MakeInt64(ints.Draw(t, "i"))
		for _, op := range []syntax.Token{syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE} {
			for _, pair := range [][2]starlark.Value{{i, f}, {f, i}, {f, f}, {i, i}} {
				got, _ := compareScalars(op, pair[0], pair[1])
				if want, _ := starlark.Compare(op, pair[0], pair[1]); got != want {
					t.Fatalf("%v %v %v: got %v, want %v", pair[0], op, pair[1], got, want)
				}
			}
		}
	})
}

// TestCompareScalarsAtEdges tests the law at the edges of the number types, which random values reach only
// now and then.
func TestCompareScalarsAtEdges(t *testing.T) {
	floats := []float64{
		0, 5e-324, -5e-324, 0.5, -0.5, 1 << 53, 1<<53 + 2, 1 << 63, -(1 << 63), 1<<63 - 1024, -(1<<63 + 2048),
		1.7e308, -1.7e308, math.Inf(1), math.Inf(-1), math.NaN(),
	}
	for _, n := range []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, 1<<53 + 1, math.MaxInt64} {
		for _, x := range floats {
			i, f := starlark.MakeInt64(n), starlark.Float(x)
			for _, op := range []syntax.Token{syntax.EQL, syntax.LT, syntax.GT} {
				for _, pair := range [][2]starlark.Value{{i, f}, {f, i}} {
					got, _ := compareScalars(op, pair[0], pair[1])
					if want, _ := starlark.Compare(op, pair[0], pair[1]); got != want {
						t.Errorf("%v %v %v: got %v, want %v", pair[0], op, pair[1], got, want)
					}
				}
			}
		}
	}
}
