package starlark

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// addSeeds adds files of all kinds to the corpus of a fuzz test.
func addSeeds(f *testing.F) {
	for _, list := range [][]string{sameExamples, backtraceExamples} {
		for _, src := range list {
			f.Add(src)
		}
	}
	for _, c := range Codes() {
		f.Add(c.Bad)
	}
	paths, _ := filepath.Glob("testdata/hostile/*/*.star")
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && len(text) < 1000 {
			f.Add(string(text))
		}
	}
}

// FuzzRun states a law for any file: its evaluation ends soon, with values or with an *Error that
// has a code, and without a panic.
func FuzzRun(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		s := New(Options{Limits: Limits{Steps: 20_000, Memory: 4 << 20, Timeout: 20 * time.Second}})
		_, _, err := evalIn(s, src, Exec{})
		if err == nil {
			return
		}
		var e *Error
		var internal *InternalError
		if !errors.As(err, &e) || e.Code == "" || errors.As(err, &internal) {
			t.Fatalf("got %#v, want an *Error with a code", err)
		}
		if strings.Contains(e.Detail(), "$") && !strings.Contains(src, "$") {
			t.Errorf("a name of a helper is seen: %s", e.Detail())
		}
	})
}

// FuzzRewrite states a law for any file that parses: the rewritten file compiles, or fails to compile as the
// file itself does, and each operation that amplifies has a guard.
func FuzzRewrite(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		s := New(Options{})
		file, err := s.parse("", "f.star", []byte(src))
		if err != nil {
			return
		}
		tree := file.Syntax()
		if err := rewrite(tree, func(string) bool { return false }, nil); err != nil {
			return // only the rewriter refuses a comprehension that assigns to elements
		}
		all := func(string) bool { return true }
		_, guarded := starlark.FileProgram(tree, all)
		if left := unguardedOps(tree); guarded == nil && len(left) > 0 { // what does not compile never runs
			t.Errorf("left unguarded: %v", left)
		}
		options := dialect
		plain, err := options.Parse("f.star", file.src, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, stock := starlark.FileProgram(plain, all)
		if (guarded == nil) != (stock == nil) {
			t.Errorf("compiling: stock %v, guarded %v", stock, guarded)
		}
	})
}

// FuzzSameAsStock states a law for small programs: they have the same globals or fail with the same
// message as in the plain interpreter, unless a limit stops them.
func FuzzSameAsStock(f *testing.F) {
	addSeeds(f)
	f.Add("T = tuple(range(2900)); d = {}; d[(T, 0)]")
	f.Fuzz(func(t *testing.T, src string) {
		if tooMuch(src) {
			return
		}
		s := New(Options{Limits: Limits{Steps: 50_000, Memory: 4 << 20, Timeout: 20 * time.Second}})
		if err := s.Define("struct", starlark.NewBuiltin("struct", starlarkstruct.Make), Cost{Steps: 1}); err != nil {
			t.Fatal(err)
		}
		_, m, err := evalIn(s, src, Exec{})
		var e *Error
		if errors.As(err, &e) && strings.HasPrefix(e.Code, "E04") || err != nil && isAccepted(nil, err) {
			return // the plain interpreter may crash on this
		}
		want, stock := stockSmall(src)
		switch {
		case stock != nil && err != nil:
			if !sameFailure(stock, err) {
				t.Errorf("stock fails with %q, guarded with %q", stock, err)
			}
		case stock != nil || err != nil:
			if !isAccepted(stock, err) {
				t.Errorf("stock: %v, guarded: %v", stock, err)
			}
		case want.String() != m.Globals.String():
			t.Errorf("stock has %s, guarded %s", want, m.Globals)
		}
	})
}

// tooMuch reports whether the plain interpreter might crash on a source, so that a comparison is
// impossible. For example, rsplit allocates by its maximum.
func tooMuch(src string) bool {
	return len(src) > 2000 || strings.Contains(src, "load(") || strings.Contains(src, "rsplit")
}

func stockSmall(src string) (globals starlark.StringDict, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("panic")
		}
	}()
	return runStock(normaliseString(src))
}

func normaliseString(src string) string {
	text, err := normaliseText("f.star", []byte(src))
	if err != nil {
		return "fail()"
	}
	return string(text)
}

// sameFailure compares messages without positions and suggestions.
func sameFailure(stock, guarded error) bool {
	var e *Error
	if !errors.As(guarded, &e) {
		return false
	}
	msg := stock.Error()
	var list resolve.ErrorList
	var syntaxErr syntax.Error
	var eval *starlark.EvalError
	switch {
	case errors.As(stock, &list), errors.As(stock, &syntaxErr):
		return true // a file with several errors may report any of them first
	case errors.As(stock, &eval):
		msg = eval.Msg
	}
	plain := func(s string) string {
		s, _, _ = strings.Cut(s, " (did you mean")
		return s
	}
	if key, of, ok := strings.Cut(e.Msg, " bytes) not in "); ok && strings.HasPrefix(key, "key (a ") {
		return strings.HasPrefix(msg, "key ") && strings.HasSuffix(msg, " not in "+of) // stock quotes a long key whole
	}
	return plain(clip(msg, maxMessage)) == plain(e.Msg) || isAccepted(stock, guarded)
}

// isAccepted reports whether docs/sandbox.md lists the difference between the errors stock and guarded.
func isAccepted(stock, guarded error) bool {
	for _, err := range []error{stock, guarded} {
		if err == nil {
			continue
		}
		for _, text := range []string{
			"panic",                       // the plain interpreter alone
			"cannot assign to an element", // in the target of a comprehension
			"want a range of less than",   // stock overflows
			"too large to count from",     // stock overflows
			"captures itself",             // stock crashes
			"field or method",             // here after the arguments, in stock before them
			"too many steps",              // helpers take other steps
			"source holds a NUL", "not UTF-8", "fail: ",
		} {
			if strings.Contains(err.Error(), text) {
				return true
			}
		}
	}
	return false
}

// FuzzJSON states a law: json.decode reads everything that json.encode writes, and json.encode can
// write everything that json.decode reads.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5,null,true,"x\u00e9"]}`, `[]`, `-1`, `"`, `[1,]`, `{"a":1,"a":2}`, `1e400`, `12345678901234567890123`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := New(Options{Limits: Limits{Timeout: 20 * time.Second}})
		_, m, err := evalIn(s, "def trip(t):\n    v = json.decode(t)\n    u = json.encode(v)\n    return v == json.decode(u), u == json.encode(json.decode(u))\n", Exec{})
		if err != nil {
			t.Fatal(err)
		}
		trip := m.Globals["trip"].(starlark.Callable)
		v, _, err := s.Call(context.Background(), trip, starlark.Tuple{starlark.String(text)}, nil)
		if err == nil && v.String() != "(True, True)" {
			t.Errorf("%q: same value and same text: got %v", text, v)
		}
	})
}
