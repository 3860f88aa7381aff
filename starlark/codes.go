package starlark

import (
	"context"
	"errors"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// A Code explains an error code: its meaning, a file that fails with it (Bad), and a file that works (Good).
// The type is an alias, so that packages that may not import this one can declare the same type.
type Code = struct{ Code, Title, Text, Bad, Good string }

// Codes returns the error codes of this package in ascending order.
func Codes() []Code { return codes }

// codesByMessage finds the code of an interpreter's error by its message, because all these errors
// have one type. A row matches if the message contains all its texts.
var codesByMessage = []struct {
	code  string
	texts []string
}{
	{"E0103", []string{"cannot load "}},
	{"E0103", []string{"load: name ", " not found in module "}},
	{"E0105", []string{" referenced before assignment"}},
	{"E0106", []string{"cannot ", " frozen "}},
	{"E0107", []string{"function ", " called recursively"}},
}

// codeOf returns the code of an error: the result of its Code method, or else a code by its type or
// its message.
func codeOf(err error, msg string) string {
	var (
		coded     interface{ Code() string }
		syntaxErr syntax.Error
		list      resolve.ErrorList
		one       resolve.Error
	)
	switch {
	case errors.As(err, &coded):
		return coded.Code()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "E0410"
	case errors.As(err, &syntaxErr):
		return codeOfSyntax(msg)
	case errors.As(err, &list), errors.As(err, &one):
		return codeOfName(msg)
	case strings.HasPrefix(msg, "fail: "):
		return "E0110"
	}
	for _, row := range codesByMessage {
		if containsAll(msg, row.texts) {
			return row.code
		}
	}
	return "E0110"
}

func codeOfSyntax(msg string) string {
	if strings.Contains(msg, "excessive nesting") {
		return "E0407"
	}
	return "E0101"
}

func codeOfName(msg string) string {
	switch {
	case strings.HasPrefix(msg, "undefined: "):
		return "E0102"
	case strings.HasPrefix(msg, "load"):
		return "E0103"
	case strings.HasPrefix(msg, "cannot reassign"), strings.HasPrefix(msg, "can't assign"):
		return "E0105"
	}
	return "E0101"
}

func containsAll(s string, texts []string) bool {
	for _, t := range texts {
		if !strings.Contains(s, t) {
			return false
		}
	}
	return true
}

var codes = []Code{
	{
		"E0101", "the source is not Starlark",
		`The file does not follow the grammar. Starlark is a small Python. The parts that it
lacks (f-strings, classes, try, import, while, is, **) are syntax errors, and the help line shows
the Starlark way.`,
		"name = \"x\"\ngreeting = f\"hello {name}\"\n",
		"name = \"x\"\ngreeting = \"hello %s\" % name\n",
	},
	{
		"E0102", "a name is not defined",
		`No name of this spelling is built in, predeclared, loaded or assigned in the file. Look for a typo:
the message suggests similar names.`,
		"names = [\"a\"]\ncount = len(nmaes)\n",
		"names = [\"a\"]\ncount = len(names)\n",
	},
	{
		"E0103", "a load statement cannot be followed",
		`load("lib/x.star", "name") binds names of another file of the same folder, load("//lib/x.star",
"name") those of a file of the same project, load("@lib//x.star", "name") those of a library in the
configuration. The file must exist, must not load itself in a
circle, and must bind the name; names that begin with _ are private.`,
		"load(\"lib/missing.star\", \"shorten\")\n",
		"def shorten(s):\n    return s[:80]\n",
	},
	{
		"E0104", "the file is not text",
		`A source file is UTF-8 without NUL bytes. A byte order mark is dropped, and \r\n counts as \n.`,
		"x = \"a\x00b\"\n",
		"x = \"a\\0b\"\n",
	},
	{
		"E0105", "a variable is used in the wrong place",
		`A function that assigns to a name has its own variable of that name, also before the assignment. No
function changes a global, so a counter in one does not work: keep what calls change with
ctx.state.get and ctx.state.set. Names that a file loads cannot be assigned again.`,
		"total = 1\n\ndef add(n):\n    total = total + n\n    return total\n\nadd(2)\n",
		"total = 1\n\ndef add(n):\n    return total + n\n\nadd(2)\n",
	},
	{
		"E0106", "a frozen value cannot change",
		`When a file ends, starhost freezes its globals and all values that registered functions refer to, so
that calls can run at the same time without seeing each other. It freezes a loaded file before the
file that loads it continues. Return a new value instead, or keep what calls change
with ctx.state.get and ctx.state.set, which last as long as the session.`,
		"seen = []\n\ndef handle():\n    seen.append(1)\n",
		"seen = []\n\ndef handle():\n    return seen + [1]\n",
	},
	{
		"E0107", "a function calls itself",
		`Starlark has no recursion, direct or through other functions: every program ends. Loop over a list
of the work that is left.`,
		"def count(n):\n    return 0 if n == 0 else 1 + count(n - 1)\n\ncount(3)\n",
		"def count(n):\n    return len(range(n))\n\ncount(3)\n",
	},
	{
		"E0110", "evaluation failed",
		`An operation got values that it does not support, a key or index does not exist, or the script
called fail. The message says which of these it was.`,
		"port = {\"http\": 80}[\"https\"]\n",
		"port = {\"http\": 80}.get(\"https\", 443)\n",
	},
	{
		"E0111", "internal error",
		`starhost recovered a panic. This is a bug of the host, not of the script; please report it with the
script.`,
		"", "",
	},
	{
		"E0401", "too many steps",
		`A run may take a fixed number of interpreter steps (1,000,000 unless set otherwise); operations on
large values count for more. Look for a loop that does not end or does the same work again, or raise
[limits] steps or --max-steps.`,
		"n = 0\nfor i in range(1 << 40):\n    n += 1\n",
		"n = 0\nfor i in range(1 << 10):\n    n += 1\n",
	},
	{
		"E0402", "too much memory",
		`A run may allocate a fixed number of bytes (64 MiB unless set otherwise); freed memory is not
credited. Build less, or raise [limits] memory or --max-memory.`,
		"s = \"x\" * (1 << 29)\n",
		"s = \"x\" * (1 << 10)\n",
	},
	{
		"E0403", "out of time",
		`A run may take a fixed time on the clock (2 s unless set otherwise), effects not counted. Steps and
memory run out first on any ordinary machine, so look for another program that keeps it busy, or
raise [limits] timeout or --timeout.`,
		"", "",
	},
	{
		"E0404", "too much output",
		`A run may print a fixed number of bytes (1 MiB unless set otherwise). Print less, or raise [limits]
output.`,
		"for i in range(100000):\n    print(\"line\", i, \"of a very long report\")\n",
		"for i in range(10):\n    print(\"line\", i)\n",
	},
	{
		"E0405", "too many nested calls",
		`Calls from plugin to plugin, as when a tool calls another tool, may nest 8 deep. Two tools probably
call each other.`,
		"", "",
	},
	{
		"E0406", "an integer is too big",
		`Integers may have 65,536 bits, about 19,700 digits.`,
		"n = 3\nfor _ in range(40):\n    n = n * n\n",
		"n = 3\nfor _ in range(4):\n    n = n * n\n",
	},
	{
		"E0407", "the source is too big or too deep",
		`A file may have 256 KiB (unless set otherwise), 2,000 functions, 64 load statements, 128 parameters
a function, names of 128 bytes, and nest 800 deep. Split it into library files, and move data into
data files.`,
		"x = " + strings.Repeat("-", 900) + "1\n",
		"x = -1\n",
	},
	{
		"E0408", "values cannot be frozen",
		`The globals of a file, and the result of a function, must be a bounded tree: at most 100,000 values,
nested at most 512 deep, without a function that captures itself. Define such a function at the top
level, where it sees itself as a global.`,
		"def outer():\n    def f():\n        return f\n    return f\n\nx = outer()\n",
		"def f():\n    return f\n\nx = f\n",
	},
	{
		"E0409", "a value is nested too deeply",
		`Values that are printed, encoded or used as keys may nest 256 deep.`,
		"x = []\nfor _ in range(1000):\n    x = [x]\ns = str(x)\n",
		"x = []\nfor _ in range(10):\n    x = [x]\ns = str(x)\n",
	},
	{
		"E0410", "the run was stopped",
		`The caller of the run gave up: an interrupt, or a deadline outside of the script, stopped it.`,
		"", "",
	},
}
