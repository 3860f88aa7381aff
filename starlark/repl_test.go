package starlark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
)

// linesOf returns a function that returns the lines of a text one after the other, and then an error.
func linesOf(text string, end error) func(bool) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	return func(bool) (string, error) {
		if len(lines) == 0 || lines[0] == "" {
			return "", end
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}
}

// runSession evaluates all lines of a text, and returns the text that a terminal would show.
func runSession(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	s := New(Options{
		Limits: Limits{Steps: 10_000, Memory: 1 << 20, Source: 2000, Output: 1000},
		Print:  func(_ context.Context, pos Pos, text string) { fmt.Fprintf(&out, "%s (%s)\n", text, pos) },
	})
	r := s.REPL(linesOf(text, io.EOF))
	r.Load = filesOf(map[string]string{"lib.star": "def twice(x):\n    return 2 * x\n", "bad.star": "1 + nothing\n"})
	for {
		in, err := r.Read()
		if err == io.EOF {
			return out.String()
		}
		value := ""
		if err == nil {
			value, _, err = r.Run(context.Background(), in)
		}
		if value != "" {
			out.WriteString(value + "\n")
		}
		if e, ok := errors.AsType[*Error](err); ok {
			out.WriteString(e.Detail())
		} else if err != nil {
			t.Fatalf("got %v, want an *Error", err)
		}
	}
}

// filesOf returns a Load function for files by name.
func filesOf(files map[string]string) func(from, label string) (string, []byte, error) {
	return func(from, label string) (string, []byte, error) {
		src, ok := files[label]
		if !ok {
			return "", nil, fmt.Errorf("no file %s for %s", label, from)
		}
		return label, []byte(src), nil
	}
}

func TestREPL(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"values", "1 + 1\n\"é\"\nNone\n[1, 2] * 2\n", "2\n\"é\"\n[1, 2, 1, 2]\n"},
		{"nothing", "\n# a comment\n   \n", ""},
		{"names stay", "x = 1\nx += 2\nx\n", "3\n"},
		{"lists stay as they are", "x = []\nx.append(1)\nx\n", "[1]\n"},
		{"several on a line", "x = 2; y = 3; x * y\nx; y\n", "6\n3\n"},
		{"a block ends at a blank line", "def f(n):\n    return n + 1\n\nf(1)\n", "2\n"},
		{"a block ends before what is not indented", "def f(n):\n    return n + 1\nf(1)\nif f(1) == 2: print('yes')\nf(2)\n", "2\nyes (repl:4:20)\n3\n"},
		{"a block ends at the end", "for x in [1, 2]:\n    print(x)", "1 (repl:2:10)\n2 (repl:2:10)\n"},
		{"else belongs to its if", "if False:\n    1\nelse:\n    print('no')\n\n", "no (repl:4:10)\n"},
		{"brackets go on", "[\n  1,\n\n  2,\n]\n", "[1, 2]\n"},
		{"a text over lines goes on", "'''a\nb'''\n", "\"a\\nb\"\n"},
		{"line ends", "x = 1\r\nx\r\n", "1\n"},
		{"no line end", "1", "1\n"},
		{"a function keeps what it saw", "x = 1\ndef f(): return x\nx = 2\nf()\n", "1\n"},
		{"a function of a name that a later line binds", "def f(x): return x\nx = 3\nf(4) + x\n", "7\n"},
		{"what a comprehension binds does not stay", "x = 5\n[x for x in [1]]\nx\n", "[1]\n5\n"},
		{"a name of the language may be bound", "len = 3\nlen\nlen += 1\nlen\n", "3\n4\n"},
		{"load", "load('lib.star', 'twice')\ntwice(4)\n", "8\n"},
		{"load what is not there", "load('x.star', 'x')\n1\n", `repl:1:1: cannot load x.star: no file x.star for repl [E0103]
    1 | load('x.star', 'x')
      | ^
  in <toplevel> repl:1:1
  help: starhost docs E0103
1
`},
		{"load what fails", "load('bad.star', 'x')\n", `bad.star:1:5: undefined: nothing [E0102]
    1 | 1 + nothing
      |     ^
  in <toplevel> repl:1:1
  help: starhost docs E0102
`},
		{"an error in an earlier line's function", "\ndef f(x):\n    return x + 1\n\nf('a')\n", `repl:3:14: unknown binary op: string + int [E0110]
    3 |     return x + 1
      |              ^
  in <toplevel> repl:5:2
  in f repl:3:14
  help: convert first: "n = " + str(n)
  help: starhost docs E0110
`},
		{"what was bound before an error stays", "x = 1; y = x // 0\nx\n", `repl:1:14: floored division by zero [E0110]
    1 | x = 1; y = x // 0
      |              ^
  in <toplevel> repl:1:14
  help: starhost docs E0110
1
`},
		{"an unknown name", "lenght = 1\nlenght(2) + lenhgt\n", `repl:2:13: undefined: lenhgt (did you mean lenght?) [E0102]
    2 | lenght(2) + lenhgt
      |             ^
  help: starhost docs E0102
`},
		{"a bad line in a block", "def f(:\n1\n", `repl:1:8: got ':', want ')' [E0101]
    1 | def f(:
      |        ^
  help: starhost docs E0101
1
`},
		{"what never ends", "[1,\n", `repl:2:1: got end of file, want ']' [E0101]
  help: starhost docs E0101
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, runSession(t, tt.text)); diff != "" {
				t.Errorf("REPL (-want +got):\n%s", diff)
			}
		})
	}
}

// TestREPLLimits checks that each statement has its own budget, which includes formatting its
// value, and that the REPL continues after a stopped statement.
func TestREPLLimits(t *testing.T) {
	for _, stmt := range []string{
		"[x for x in range(1000000)]",
		"'x' * (1 << 29)",
		"'x' * 2000",
		"print('x' * 2000)",
		"x = [1]; [x := 1]; 1" + strings.Repeat(" ", 2000),
		"$before.x",
	} {
		got := runSession(t, "x = 1\n"+stmt+"\nx + 1\n")
		if !strings.Contains(got, "help: starhost docs") || !strings.HasSuffix(got, "\n2\n") {
			t.Errorf("%.40s: got %q, want an error, and then 2", stmt, got)
		}
	}
	half := "x = [i for i in range(700)]\n"
	if got := runSession(t, strings.Repeat(half, 10)); got != "" {
		t.Errorf("got %q from ten statements of half a budget each", got)
	}
	doubling := "x = [1]\n" + strings.Repeat("x = [x, x]\n", 60) + "x\n"
	if got := runSession(t, doubling); !strings.Contains(got, "limit exceeded") {
		t.Errorf("got %.100q, want a limit: the text of the value has 2^60 parts", got)
	}
}

func TestREPLStops(t *testing.T) {
	s := New(Options{})
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	r := s.REPL(linesOf("x = 1\n", io.EOF))
	in, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Run(cancelled, in); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it is cancelled", err)
	}
	interrupted := errors.New("interrupted")
	r = s.REPL(linesOf("def f():\n    1\n", interrupted))
	if _, err := r.Read(); err != interrupted {
		t.Errorf("got %v, want what the source of the lines said", err)
	}
	r.nextLine = linesOf("7\n", io.EOF)
	in, err = r.Read()
	if err != nil {
		t.Fatal(err)
	}
	if v, _, err := r.Run(context.Background(), in); v != "7" || err != nil {
		t.Errorf("got %q and %v, want 7: what was cut is gone", v, err)
	}
}

// TestREPLUse checks that statements see the names of a module, and that errors quote its lines.
func TestREPLUse(t *testing.T) {
	_, m, err := runText(t, "LIMIT = 3\ndef bad(x):\n    return x // 0\n", Exec{Env: starlark.StringDict{"config": starlark.String("c")}})
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{}).REPL(linesOf("config, LIMIT\nbad(LIMIT)\n", io.EOF))
	r.Use(m)
	in, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	if v, _, err := r.Run(context.Background(), in); v != `("c", 3)` || err != nil {
		t.Errorf("got %s and %v, want the module's names", v, err)
	}
	if in, err = r.Read(); err != nil {
		t.Fatal(err)
	}
	_, _, err = r.Run(context.Background(), in)
	if e, ok := errors.AsType[*Error](err); !ok || e.Source != "    return x // 0" || e.Pos.File != "f.star" {
		t.Errorf("got %v, want an error with its line of the module", err)
	}
}

func TestInput(t *testing.T) {
	tests := []struct {
		text, callee string
		mentions     bool
	}{
		{"prompt('x')", "prompt", false},
		{"prompt(ctx.now)", "prompt", true},
		{"p = prompt('x')", "", false},
		{"a.prompt('x')", "", false},
		{"prompt('x'); 1", "", false},
		{"prompt", "", false},
		{"f(1)(ctx)", "", true},
		{"'ctx'", "", false},
		{"# ctx", "", false},
		{"x.ctx", "", true},
	}
	for _, tt := range tests {
		in, err := New(Options{}).REPL(linesOf("\n"+tt.text, io.EOF)).readTwo()
		if err != nil {
			t.Fatal(err)
		}
		if got := in.Callee(); got != tt.callee {
			t.Errorf("%s: got the callee %q, want %q", tt.text, got, tt.callee)
		}
		if got := in.Mentions("ctx"); got != tt.mentions {
			t.Errorf("%s: got %v, want that it mentions ctx: %v", tt.text, got, tt.mentions)
		}
		if got := in.Text(); got != tt.text+"\n" {
			t.Errorf("got the text %q, want %q", got, tt.text+"\n")
		}
	}
}

// readTwo reads two inputs, and returns the second.
func (r *REPL) readTwo() (*Input, error) {
	if _, err := r.Read(); err != nil {
		return nil, err
	}
	return r.Read()
}

func TestComplete(t *testing.T) {
	s := New(Options{})
	defineAll(t, s, starlark.StringDict{"page": starlark.None, "mod.one": starlark.None, "mod.other": starlark.None})
	r := s.REPL(linesOf("", io.EOF))
	r.Set(starlark.StringDict{"package": starlark.String("x"), "né": starlark.None})
	tests := []struct {
		text  string
		begin int
		want  []string
	}{
		{"", 0, nil},
		{"1 + ", 4, nil},
		{"pa", 0, []string{"package", "page"}},
		{"f(pag", 2, []string{"page"}},
		{"n", 0, []string{"né"}},
		{"x = né", 4, []string{"né"}},
		{"mod.", 4, []string{"one", "other"}},
		{"[mod.ot", 5, []string{"other"}},
		{"package.st", 8, []string{"startswith", "strip"}},
		{"mod.one.x", 8, nil},
		{"mod.none.x", 9, nil},
		{"none.x", 5, nil},
		{"f().st", 4, nil},
		{"'x'.st", 4, nil},
		{"$", 1, nil},
	}
	for _, tt := range tests {
		begin, got := r.Complete(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" || begin != tt.begin {
			t.Errorf("Complete(%q): got %d, want %d (-want +got):\n%s", tt.text, begin, tt.begin, diff)
		}
	}
}

// FuzzREPL states a law for any lines: the REPL reads all of them, and does not panic or hang.
func FuzzREPL(f *testing.F) {
	f.Add("x = 1\nx += 2\ndef f():\n  return x\nf()\n[\n1]\n")
	f.Add("if 1:\n 2\nelse:\n 3\n'''\n")
	f.Add("load('a', 'b')\n\\\n)\n\x00\n\xff\n")
	f.Add("$before.x\nlambda: (yield)\n")
	f.Fuzz(func(t *testing.T, text string) {
		s := New(Options{Limits: Limits{Steps: 1000, Memory: 1 << 16, Source: 1 << 12}})
		r := s.REPL(linesOf(text, io.EOF))
		for {
			in, err := r.Read()
			if err == io.EOF {
				break
			}
			if err == nil {
				_, _, err = r.Run(context.Background(), in)
			}
			var e *Error
			var bug *InternalError
			if err != nil && (!errors.As(err, &e) || errors.As(err, &bug)) {
				t.Fatalf("got %v, want an error of the script", err)
			}
		}
		got, want := strings.Count(string(r.lines), "\n"), strings.Count(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
		if got < want {
			t.Errorf("read %d lines of %d", got, want)
		}
	})
}
