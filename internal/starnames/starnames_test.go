package starnames

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/syntax"
)

func TestNames(t *testing.T) {
	tests := []struct {
		name, src, bound, globals string
	}{
		{"assignments", "a = b\n(c, [d, e.f, g[0]]) = h\ni += 1\n", "a c d i", "a c d i"},
		{"load", `load("x", "a", b="c")`, "a b", "a b"},
		{"loops and conditions", "for a, b in c:\n  if d:\n    e = 1\n", "a b e", "a b e"},
		{"def", "def f(a, b=c, *, d, **e):\n  g = 1\n", "a b d e f g", "f"},
		{"def with *args", "def f(*args):\n  pass\n", "args f", "f"},
		{"lambda", "f = lambda a, *b: a\n", "a b f", "f"},
		{"comprehension", "f = [a for a, (b, c) in d if e]\n", "a b c f", "f"},
		{"nested def", "if x:\n  def f(a):\n    def g(): pass\n", "a f g", "f"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := (&syntax.FileOptions{}).Parse("f.star", tt.src, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := words(Bound(f)); got != tt.bound {
				t.Errorf("bound: got %q, want %q", got, tt.bound)
			}
			if got := words(Globals(f)); got != tt.globals {
				t.Errorf("globals: got %q, want %q", got, tt.globals)
			}
		})
	}
}

func words(names map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(names)), " ") }
