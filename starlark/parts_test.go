package starlark

import (
	"context"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"
)

// A taker takes the text of its parameter text in parts, and counts how often it got
// more than one.
type taker struct {
	*starlark.Builtin
	inParts *int
}

func (t taker) PartsParam() string { return "text" }

// newTaker returns take(text, more=None), which returns what text is.
func newTaker() taker {
	inParts := new(int)
	return taker{starlark.NewBuiltin("take", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var text, more starlark.Value
		if err := starlark.UnpackArgs("take", args, kwargs, "text", &text, "more?", &more); err != nil {
			return nil, err
		}
		if p, ok := text.(interface{ Parts() []string }); ok {
			*inParts++
			return starlark.String(strings.Join(p.Parts(), "")), nil
		}
		return text, nil
	}), inParts}
}

// TestParts: a function that takes texts in parts comes to what it came to if they were
// made, with the same errors and for the same price.
func TestParts(t *testing.T) {
	tests := []struct {
		call    string
		inParts int
	}{
		{`take(long + "a")`, 1},
		{`take("a" + long + text)`, 1},
		{`take("%s!" % text + long + "b")`, 1}, // a sum of texts
		{`take((long + "a"))`, 0},
		{`take(text = long + "a", more = long + "b")`, 1},
		{`take(more = 1, text = long + "a")`, 1},
		{`take(long, long + "a")`, 0},
		{`take(*[long + "a"])`, 0},
		{`take(text + "short")`, 0},
		{`take("literal" + "literal")`, 0},
		{`take(n + n)`, 0},
		{`take([n] + [n])`, 0},
		{`take(long + n)`, 0},
		{`take(long + "a" + n)`, 0},
		{`take(n + (long + "a"))`, 0},
		{`take(long + "a", text = "b")`, 0}, // an error
		{`take(long + "a", nobody = 1)`, 0},
		{`[take(long + str(i)) for i in range(3)]`, 3},
	}
	for _, tt := range tests {
		t.Run(tt.call, func(t *testing.T) {
			f := newTaker()
			got, gotUsage := callParts(t, tt.call, f)
			want, wantUsage := callParts(t, tt.call, f.Builtin)
			if got != want || gotUsage != wantUsage {
				t.Errorf("got %.80q for %v, want %.80q for %v", got, gotUsage, want, wantUsage)
			}
			if *f.inParts != tt.inParts {
				t.Errorf("got %d texts in parts, want %d", *f.inParts, tt.inParts)
			}
		})
	}
}

// callParts returns what a call of take comes to.
func callParts(t *testing.T, call string, take starlark.Callable) (string, Usage) {
	t.Helper()
	box := New(Options{})
	if err := box.Define("take", take, Cost{Steps: 1}); err != nil {
		t.Fatal(err)
	}
	m := runPlain(t, box, "long, text, n = \"x\" * 2000, \"t\", 1\ndef f():\n    return "+call+"\n")
	v, usage, err := box.Call(context.Background(), m.Globals["f"].(starlark.Callable), nil, nil)
	if err != nil {
		return err.Error(), usage
	}
	return v.String(), usage
}

// sums returns expressions of sums, nested so deep, also of what cannot be added.
func sums(levels int) *rapid.Generator[string] {
	plain := rapid.SampledFrom([]string{"long", "text", `"a"`, "n", "[n]", "1 << 70", "str(n)", `"%s%%" % text`})
	if levels == 0 {
		return plain
	}
	return rapid.Custom(func(t *rapid.T) string {
		part := func() string { return sums(levels-1).Draw(t, "part") }
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return plain.Draw(t, "plain")
		case 1:
			return "(" + part() + ")"
		case 2:
			return "(" + part() + " if " + part() + " else n)"
		case 3:
			return "take(" + part() + ")"
		}
		return part() + " + " + part()
	})
}

// The law of [TestParts], for any sums.
func TestLawParts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		call := "take(" + sums(4).Draw(rt, "text") + ", more = " + sums(2).Draw(rt, "more") + ")"
		f := newTaker()
		got, gotUsage := callParts(t, call, f)
		want, wantUsage := callParts(t, call, f.Builtin)
		if got != want || gotUsage != wantUsage {
			rt.Errorf("%s: got %.80q for %v, want %.80q for %v", call, got, gotUsage, want, wantUsage)
		}
	})
}

// TestPartsOfAnother: a name that stands for another function takes no parts.
func TestPartsOfAnother(t *testing.T) {
	f := newTaker()
	box := New(Options{})
	if err := box.Define("take", f, Cost{Steps: 1}); err != nil {
		t.Fatal(err)
	}
	runPlain(t, box, "def take(text):\n    return text.upper()\nn = take(\"x\" * 2000 + \"a\")\n")
	runPlain(t, box, "def f(take):\n    return take(\"x\" * 2000 + \"a\")\nn = f(len)\n")
	m := runPlain(t, box, "def take(text):\n    return len(text.upper())\n")
	for _, names := range []starlark.StringDict{nil, {"take": m.Globals["take"]}} {
		got, _, err := box.Eval(context.Background(), m, names, "take(\"x\" * 2000 + \"a\")")
		if err != nil || got != "2001" {
			t.Errorf("beside the module: got %s, %v, want 2001", got, err)
		}
	}
	if *f.inParts != 0 {
		t.Errorf("got %d texts in parts, want none", *f.inParts)
	}
}

// runPlain runs a file.
func runPlain(t *testing.T, box *Sandbox, src string) *Module {
	t.Helper()
	file, err := box.Parse("x.star", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := box.Run(context.Background(), file, Exec{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestManyParts: a term more is an element more, and no copy of those before it.
func TestManyParts(t *testing.T) {
	const terms = 700
	box := New(Options{})
	if err := box.Define("take", newTaker(), Cost{Steps: 1}); err != nil {
		t.Fatal(err)
	}
	m := runPlain(t, box, "long, e = \"x\" * 2000, \"\"\ndef f():\n    return take(long"+strings.Repeat(" + e", terms)+")\n")
	f := m.Globals["f"].(starlark.Callable)
	allocs := testing.AllocsPerRun(5, func() {
		if _, _, err := box.Call(context.Background(), f, nil, nil); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 3*terms { // two are what any call takes
		t.Errorf("got %v allocations for %d terms, want less than three for each", allocs, terms)
	}
}
