package starnames

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/syntax"
)

func outline(t *testing.T, src string) *Outline {
	t.Helper()
	tree, err := (&syntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true}).Parse("f.star", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	return NewOutline(tree, src)
}

func TestOutlineVariables(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"a global", "a = 1\nb = a\n", "variable a global at 1:1 2:5; variable b global at 2:1 = a"},
		{"a use before the definition", "def f():\n  return a\na = 1\n", "function f global at 1:5; variable a global at 2:10 3:1"},
		{"parameters", "def f(a, *b, c = 1, **d):\n  return a\n",
			"function f global at 1:5; parameter a in 0 at 1:7 2:10; parameter b in 0 at 1:11; parameter c in 0 at 1:14; parameter d in 0 at 1:23"},
		{"a lone star", "def f(*, a):\n  pass\n", "function f global at 1:5; parameter a in 0 at 1:10"},
		{"a shadow", "a = 1\ndef f():\n  a = 2\n  return a\n", "variable a global at 1:1; function f global at 2:5; variable a in 0 at 3:3 4:10"},
		{"a closure", "def f(a):\n  def g():\n    return a\n  return g\n", "function f global at 1:5; parameter a in 0 at 1:7 3:12; function g in 0 at 2:7 4:10"},
		{"a lambda", "f = lambda a: a\n", "variable f global at 1:1; parameter a in 0 at 1:12 1:15"},
		{"a comprehension", "a = 1\nb = [a for a in [a]]\n", "variable a global at 1:1 2:18; variable b global at 2:1; variable a 2:5-2:21 at 2:6 2:12"},
		{"load", "load(\"x\", \"a\", b = \"c\")\nd = a(b)\n", "load a at 1:12 2:5; load b at 1:16 2:7; variable d global at 2:1 = a()"},
		{"members and keywords", "a = 1\nb = c.a(a = 2)\n", "variable a global at 1:1; variable b global at 2:1 = c.a()"},
		{"elements", "x = ctx.y\nfor a in x:\n  pass\nb = x[0]\n",
			"variable x global at 1:1 2:10 4:5 = ctx.y; variable a global at 2:5 = x[]; variable b global at 4:1 = x[]"},
		{"assigned twice", "a = b\na = c\n", "variable a global at 1:1 2:1"},
		{"wide characters", "a = 1\nb = \"é𝄞\" + a\n", "variable a global at 1:1 2:12; variable b global at 2:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, v := range outline(t, tt.src).Variables {
				text := string(v.Kind) + " " + v.Name
				if v.Global {
					text += " global"
				}
				if v.Func >= 0 {
					text += fmt.Sprint(" in ", v.Func)
				}
				if v.From != (Pos{}) {
					text += fmt.Sprintf(" %d:%d-%d:%d", v.From.Line, v.From.Col, v.To.Line, v.To.Col)
				}
				text += " at"
				for _, use := range v.Uses {
					text += fmt.Sprintf(" %d:%d", use.Line, use.Col)
				}
				if v.Value.Path != "" {
					text += " = " + v.Value.Path
				}
				if v.Value.Called {
					text += "()"
				}
				if v.Value.Elem {
					text += "[]"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutlineFunctionsAndCalls(t *testing.T) {
	o := outline(t, "def f(a, b = \"x\", *c):\n  \"\"\"Does.\"\"\"\n  return lambda d: g.h(d, e = \"t\")\n\nregister(f, lambda: 1, n = f)\nload(\"l\", z = \"y\")\n")
	var got []string
	for _, f := range o.Functions {
		got = append(got, fmt.Sprintf("%q %v in %d %q ends %d:%d", f.Name, f.Params, f.Outer, f.Doc, f.End.Line, f.End.Col))
	}
	for _, c := range o.Calls {
		got = append(got, fmt.Sprintf("%s stmt=%v", c.Path, c.Stmt))
		for _, a := range c.Args {
			got = append(got, fmt.Sprintf("  %q text=%q ident=%q func=%d", a.Name, a.Text, a.Ident, a.Func))
		}
	}
	for _, l := range o.Loads {
		got = append(got, fmt.Sprintf("load %s %v", l.Label, l.From))
	}
	want := []string{
		`"f" [a b = "x" *c] in -1 "Does." ends 3:35`,
		`"" [d] in 0 "" ends 3:35`,
		`"" [] in -1 "" ends 5:22`,
		"g.h stmt=false", `  "" text="" ident="d" func=-1`, `  "e" text="t" ident="" func=-1`,
		"register stmt=true", `  "" text="" ident="f" func=-1`, `  "" text="" ident="" func=2`, `  "n" text="" ident="f" func=-1`,
		"load l map[z:y]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("functions, calls and loads (-want +got):\n%s", diff)
	}
}
