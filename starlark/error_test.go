package starlark

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
)

func TestDetail(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"runtime", "def f(x):\n\treturn [][x]\nf(3)\n", `f.star:2:11: index 3 out of range: empty list [E0110]
    2 | 	return [][x]
      | 	         ^
  in <toplevel> f.star:3:2
  in f f.star:2:11
  help: starhost docs E0110
`},
		{"habit", "x = f\"a\"\n", `f.star:1:9: got string literal, want newline [E0101]
    1 | x = f"a"
      |         ^
  help: Starlark has no f-strings; write "%s is %d" % (name, n) or "{} is {}".format(name, n)
  help: starhost docs E0101
`},
		{"names", "print(nmae, 1)\nname = vlaue\n", `f.star:1:7: undefined: nmae (did you mean name?) [E0102]
    1 | print(nmae, 1)
      |       ^
  also f.star:2:8: undefined: vlaue
  help: starhost docs E0102
`},
		{"loop", "for i in range(1 << 40):\n    pass\n", `f.star:1:1: steps limit exceeded: the script used 1000000 steps, limit 1000000; [limits] steps or --max-steps raises it [E0401]
    1 | for i in range(1 << 40):
      | ^
  in <toplevel> f.star:1:1
  help: starhost docs E0401
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := runText(t, tt.src, Exec{})
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if diff := cmp.Diff(tt.want, e.Detail()); diff != "" {
				t.Errorf("Detail (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCodes(t *testing.T) {
	run := func(src string) error {
		s, m, err := runText(t, src, Exec{})
		if err != nil {
			return err
		}
		if handle, ok := m.Globals["handle"].(starlark.Callable); ok {
			_, _, err = s.Call(context.Background(), handle, nil, nil)
		}
		return err
	}
	for i, c := range Codes() {
		t.Run(c.Code, func(t *testing.T) {
			if i > 0 && Codes()[i-1].Code >= c.Code {
				t.Error("codes are not in order")
			}
			if c.Bad == "" {
				return // the file does not exist on disk
			}
			var e *Error
			if err := run(c.Bad); !errors.As(err, &e) || e.Code != c.Code {
				t.Errorf("bad example: got %v, want code %s", err, c.Code)
			}
			if err := run(c.Good); err != nil {
				t.Errorf("good example: got %v", err)
			}
		})
	}
}

func TestHabits(t *testing.T) {
	tests := []struct{ src, want string }{
		{"x = f\"a\"", "f-strings"},
		{"x = f'a'", "f-strings"},
		{"print 'a'", "print is a function"},
		{"x = 'a' 'b'", "adjacent strings"},
		{"x = 1 is None", "no is"},
		{"x = 1 is not None", "no is"},
		{"x = 2 ** 3", "no **"},
		{"a = {}\nx = {**a}", "a | b"},
		{"a = []\nx = [*a]", "a + b"},
		{"a = []\nx = [1, *a]", "a + b"},
		{"x = 1\nif x == 1:\n  pass\nelse if x:\n  pass", "elif"},
		{"def f(x):\n  if x = 1:\n    pass", "=="},
		{"x = 1 && 2", "write and"},
		{"x = 1 || 2", "write or"},
		{"x = !True", "write not x"},
		{"x = “a”", "typographic"},
		{"x = ‘a’", "typographic"},
		{"def f(x):\n\tif x:\n        pass", "tabs"},
		{"x = null", "None"},
		{"x = nil", "None"},
		{"x = true", "True"},
		{"x = open('f')", "ctx.fs.read"},
		{"x = datetime.now()", "ctx.now"},
		{"x = requests.get('u')", "ctx.http.get"},
		{"x = os.environ", "ctx.env"},
		{"import os", "load("},
		{"from os import path", "load("},
		{"class A:\n  pass", "classes"},
		{"try:\n  pass\nexcept:\n  pass", "exceptions"},
		{"raise ValueError(1)", "exceptions"},
		{"while True:\n  pass", "for _ in range(n)"},
		{"x := 1", "no :="},
		{"if (n := 3) > 2: pass", "no :="},
		{"def f(x: int): pass", "annotations"},
		{"def f(x: int, y): pass", "annotations"},
		{"f = lambda x: int: x", ""},
		{"def f(now):\n  return now.weekday\nf('2026')", "time.parse_time(ctx.now)"},
		{"x = 1()", ""},
		{"def f(:", ""},
		{"def f(a, :", ""},
		{"def f(*a: int): pass", "annotations"},
		{"def f() -> int: pass", "annotations"},
		{"x: int = 1", "annotations"},
		{"x = '%5.2f' % 1.0", "width or precision"},
		{"x = '{:5.2f}'.format(1.0)", "width or precision"},
		{"def f():\n  global x", "global"},
		{"def f():\n  nonlocal x", "outside"},
		{"def f():\n  yield 1", "generators"},
		{"async def f(): pass", "async"},
		{"with open('x') as f:\n  pass", "with"},
		{"x = 1\nassert x", "assert"},
		{"assert 1 == 2", "assert"},
		{"x = {}\ndel x", "del"},
		{"x = 1 < 2 < 3", "chain"},
		{"def f(n): return f(n)\nf(1)", "recursion"},
		{"@decorator\ndef f(): pass", "decorators"},
		{"x = (i for i in [])", "generator expressions"},
		{"x = {i for i in []}", "set([a, b])"},
		{"x = {1, 2}", "set([a, b])"},
		{"x, *y = 1, 2", "starred"},
		{"match 1:\n  case 1: pass", ""},
		{"x = 1\nmatch x:\n  case 1: pass", "match"},
		{"for x in [1]:\n  pass\nelse:\n  pass", "else"},
		{"x = 1\nx++", "++"},
		{"for c in 'abc': pass", "s.elems()"},
		{"x = isinstance(1, 2)", "type(x)"},
		{"x = map(1, 2)", "comprehension"},
		{"x = 'a' + 1", "str(n)"},
		{"x = [1][5]", ""},
	}
	for _, tt := range tests {
		t.Run(tt.src, func(t *testing.T) {
			_, _, err := runText(t, tt.src+"\n", Exec{})
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if !strings.Contains(e.Help, tt.want) || (tt.want == "") != (e.Help == "") {
				t.Errorf("%v: got help %q, want %q in it", err, e.Help, tt.want)
			}
		})
	}
}

func TestSourceLineIsCut(t *testing.T) {
	for _, src := range []string{
		"x = '" + strings.Repeat("é", 300) + "' + 1",
		strings.Repeat(" ", 0) + "x = 1 + '" + strings.Repeat("a", 900) + "'",
		"x = [" + strings.Repeat("1, ", 200) + "1 + 'a', " + strings.Repeat("2, ", 200) + "]",
	} {
		_, _, err := runText(t, src, Exec{})
		var e *Error
		if !errors.As(err, &e) {
			t.Fatalf("got %v, want an *Error", err)
		}
		if runes := []rune(e.Source); len(e.Source) > maxSource || e.caret >= len(runes) || runes[e.caret] != '+' {
			t.Errorf("got %d bytes with the caret at %d of %q, want it at the +", len(e.Source), e.caret, e.Source)
		}
	}
}

func TestLongTraceIsShortened(t *testing.T) {
	var b strings.Builder
	b.WriteString("def f0(): return 1 // 0\n")
	for i := range 40 {
		b.WriteString("def f" + itoa(i+1) + "(): return f" + itoa(i) + "()\n")
	}
	b.WriteString("f40()\n")
	_, _, err := runText(t, b.String(), Exec{})
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an *Error", err)
	}
	if got := strings.Count(e.Detail(), "  in f"); got != maxFrames-1 || !strings.Contains(e.Detail(), "  ... 22 more ...\n") {
		t.Errorf("got %d frames in:\n%s", got, e.Detail())
	}
}

func itoa(n int) string { return starlark.MakeInt(n).String() }

func TestSourceText(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"crlf", "x = '''a\r\nb'''\r\nif x != 'a\\nb':\r\n    fail(x)\r\n", ""},
		{"byte order mark", "\ufeffx = 1\n", ""},
		{"NUL", "x = 1\ny = 'é\x00'\n", "f.star:2:7: source holds a NUL byte; is it a text file?"},
		{"not UTF-8", "x = 1\ny = '\xff'\n", "f.star:2:6: source is not UTF-8: byte 0xff"},
		{"too long", "#" + strings.Repeat("x", 256<<10), `f.star: source limit exceeded: "f.star" needs 262145 bytes, limit 262144; [limits] source raises it`},
		{"too deep", "x = " + strings.Repeat("a + ", 900) + "1", "syntax limit exceeded: nesting of the source is 801, limit 800"},
		{"parameters", "def f(" + strings.Repeat("a, ", 200) + "): pass", "f.star:1:1: syntax limit exceeded: number of parameters is 200, limit 128"},
		{"long name", strings.Repeat("a", 200) + " = 1", "f.star:1:1: syntax limit exceeded: length of a name is 200, limit 128"},
		{"literal", "x = 1\ny = [0x" + strings.Repeat("f", 20000) + "]", `f.star:2:6: integer size limit exceeded: "literal" needs 80000 bits, limit 65536`},
		{"functions", strings.Repeat("lambda: 1\n", 2001), "f.star:2001:1: syntax limit exceeded: number of functions in a file is 2001, limit 2000"},
		{"loads", strings.Repeat("load('a', 'b')\n", 65), "f.star:65:1: syntax limit exceeded: number of load statements is 65, limit 64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := runText(t, tt.src, Exec{})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if !strings.HasSuffix(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestRedact checks that a redacted error preserves its position, its caret and its limit.
func TestRedact(t *testing.T) {
	hide := func(text string) string { return strings.ReplaceAll(text, "hunter22", "<the secret>") }
	src := "def f():\n    x = \"hunter22\" + 1\nf()\n"
	box := New(Options{})
	file, err := box.Parse("a.star", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = box.Run(t.Context(), file, Exec{})
	cause := errors.New("cause")
	clean := err.(*Error).Redact(hide, cause)
	const want = `a.star:2:20: unknown binary op: string + int [E0110]
    2 |     x = "<the secret>" + 1
      |                        ^
  in <toplevel> a.star:3:2
  in f a.star:2:20
`
	if got, _, _ := strings.Cut(clean.(*Error).Detail(), "  help:"); got != want || !errors.Is(clean, cause) {
		t.Errorf("got %v and\n%s, want\n%s", errors.Unwrap(clean), got, want)
	}
	limit := &LimitError{Limit: "steps", Max: 1}
	got := (&Error{Msg: "hunter22", cause: fmt.Errorf("x: %w", limit)}).Redact(hide, nil)
	if !errors.Is(got, limit) || got.Error() != "<the secret>" {
		t.Errorf("got %v with cause %v, want the limit", got, errors.Unwrap(got))
	}
}
