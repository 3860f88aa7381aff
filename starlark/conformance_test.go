package starlark

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	smath "go.starlark.net/lib/math"
	stime "go.starlark.net/lib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// upstream returns a folder of go.starlark.net in the module cache.
func upstream(t testing.TB, folder ...string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "go.starlark.net").Output()
	if err != nil {
		t.Skipf("the sources of go.starlark.net are not there: %v", err)
	}
	return filepath.Join(append([]string{strings.TrimSpace(string(out))}, folder...)...)
}

// A chunk is a part of an upstream test file, with the expected errors of its comments by line.
type chunk struct {
	src    string
	expect map[int]*regexp.Regexp
}

// chunks splits a test file as upstream's chunkedfile package does.
func chunks(t testing.TB, text string) []chunk {
	var list []chunk
	line := 1
	for src := range strings.SplitSeq(text, "\n---\n") {
		c := chunk{strings.Repeat("\n", line-1) + src, map[int]*regexp.Regexp{}}
		for l := range strings.SplitSeq(src, "\n") {
			if _, want, ok := strings.Cut(l, "###"); ok {
				pattern, err := strconv.Unquote(strings.TrimSpace(want))
				if err != nil {
					t.Fatalf("line %d: %v", line, err)
				}
				c.expect[line] = regexp.MustCompile(pattern)
			}
			line++
		}
		line++
		list = append(list, c)
	}
	return list
}

// optionsOf reads the dialect of a chunk from its comments.
func optionsOf(src string) syntax.FileOptions {
	has := func(name string) bool { return strings.Contains(src, "option:"+name) }
	return syntax.FileOptions{
		Set: has("set"), While: has("while"), TopLevelControl: has("toplevelcontrol"), GlobalReassign: has("globalreassign"),
		LoadBindsGlobally: has("loadbindsglobally"), Recursion: has("recursion"),
	}
}

// conformanceFiles are the files of upstream's TestExecFile, except proto.star, because no host of
// ours has the protobuf module.
var conformanceFiles = []string{
	"assign.star", "bool.star", "builtins.star", "bytes.star", "control.star", "dict.star", "float.star", "function.star", "int.star",
	"json.star", "list.star", "math.star", "misc.star", "set.star", "string.star", "time.star", "tuple.star", "recursion.star",
	"module.star", "while.star",
}

func TestConformance(t *testing.T) {
	assert, err := os.ReadFile(filepath.Join(upstream(t, "starlarktest"), "assert.star"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range conformanceFiles {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(upstream(t, "starlark", "testdata"), name))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range chunks(t, string(text)) {
				testChunk(t, name, string(assert), c)
			}
		})
	}
}

// testChunk runs one chunk with guards, and compares its failures with the expected ones.
func testChunk(t *testing.T, name, assert string, c chunk) {
	r := &reporter{file: name}
	s := New(Options{Limits: Limits{Timeout: time.Minute}}) // a slow machine must not fail the test
	s.dialect = optionsOf(c.src)
	defineAll(t, s, r.env())
	f, err := s.Parse(name, []byte(c.src))
	if err == nil {
		_, _, err = s.Run(context.Background(), f, Exec{Load: func(_, label string) (string, []byte, error) {
			if label == "assert.star" {
				s.dialect.Set = true
				return label, []byte(assert), nil
			}
			module := strings.TrimSuffix(label, ".star")
			return "lib/" + label, []byte(fmt.Sprintf("%s = %s_", module, module)), nil
		}})
	}
	r.addError(err)
	for _, line := range slices.Sorted(maps.Keys(r.got)) {
		want := c.expect[line]
		delete(c.expect, line)
		place := fmt.Sprintf("%s:%d", name, line)
		if want == nil || !want.MatchString(r.got[line]) {
			t.Errorf("%s: got %q, want %v", place, r.got[line], want)
		}
	}
	for line, want := range c.expect {
		t.Errorf("%s:%d: got no failure, want %v", name, line, want)
	}
}

// A reporter collects the failures of a chunk, by line of its file.
type reporter struct {
	file string
	got  map[int]string
}

func (r *reporter) add(line int, msg string) {
	if r.got == nil {
		r.got = map[int]string{}
	}
	r.got[line] += msg
}

// addError records the error that ended the chunk.
func (r *reporter) addError(err error) {
	var e *Error
	if !errors.As(err, &e) {
		return
	}
	for _, f := range slices.Backward(e.Trace) {
		if f.Pos.File == r.file {
			r.add(f.Pos.Line, e.Msg)
			return
		}
	}
	r.add(e.Pos.Line, e.Msg)
}

// env returns the names that assert.star and the chunks need.
func (r *reporter) env() starlark.StringDict {
	return starlark.StringDict{
		"error": builtin("error", func(th *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			for i := range th.CallStackDepth() {
				if p := th.CallFrame(i).Pos; p.Filename() == r.file {
					r.add(int(p.Line), str(args[0]))
					break
				}
			}
			return starlark.None, nil
		}),
		"catch": builtin("catch", func(th *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			if _, err := starlark.Call(th, args[0], nil, nil); err != nil {
				return starlark.String(err.Error()), nil
			}
			return starlark.None, nil
		}),
		"matches": builtin("matches", func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			ok, err := regexp.MatchString(str(args[0]), str(args[1]))
			return starlark.Bool(ok), err
		}),
		"_freeze": builtin("freeze", func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			args[0].Freeze()
			return args[0], nil
		}),
		"_floateq": builtin("floateq", func(_ *starlark.Thread, args starlark.Tuple) (starlark.Value, error) {
			x, y := float64(args[0].(starlark.Float)), float64(args[1].(starlark.Float))
			near := x == y || math.IsNaN(x) && math.IsNaN(y) || math.Nextafter(x, y) == y
			return starlark.Bool(near), nil
		}),
		"module":    starlark.NewBuiltin("module", starlarkstruct.MakeModule),
		"struct":    starlark.NewBuiltin("struct", starlarkstruct.Make),
		"hasfields": builtin("hasfields", func(*starlark.Thread, starlark.Tuple) (starlark.Value, error) { return &hasFields{}, nil }),
		"fibonacci": fibonacci{},
		"json_":     newJSONModule(),
		"math_":     smath.Module,
		"time_":     stime.Module,
	}
}

func str(v starlark.Value) string {
	if s, ok := starlark.AsString(v); ok {
		return s
	}
	return v.String()
}

// fibonacci is an endless iterable without a length.
type fibonacci struct{}

func (fibonacci) Freeze()                    {}
func (fibonacci) String() string             { return "fib" }
func (fibonacci) Type() string               { return "fib" }
func (fibonacci) Truth() starlark.Bool       { return true }
func (fibonacci) Hash() (uint32, error)      { return 0, errors.New("fib is unhashable") }
func (fibonacci) Iterate() starlark.Iterator { return &fibonacciIterator{0, 1} }

type fibonacciIterator struct{ x, y int }

func (it *fibonacciIterator) Done() {}
func (it *fibonacciIterator) Next(p *starlark.Value) bool {
	*p = starlark.MakeInt(it.x)
	it.x, it.y = it.y, it.x+it.y
	return true
}

// hasFields is a value with fields that a script can set.
type hasFields struct {
	attrs  starlark.StringDict
	frozen bool
}

func (*hasFields) String() string                             { return "hasfields" }
func (*hasFields) Type() string                               { return "hasfields" }
func (*hasFields) Truth() starlark.Bool                       { return true }
func (*hasFields) Hash() (uint32, error)                      { return 42, nil }
func (h *hasFields) Freeze()                                  { h.frozen = true; h.attrs.Freeze() }
func (h *hasFields) Attr(name string) (starlark.Value, error) { return h.attrs[name], nil }
func (h *hasFields) AttrNames() []string                      { return h.attrs.Keys() }
func (h *hasFields) SetField(name string, v starlark.Value) error {
	switch {
	case h.frozen:
		return errors.New("cannot set field on a frozen hasfields")
	case strings.HasPrefix(name, "no"):
		return starlark.NoSuchAttrError(fmt.Sprintf("no .%s field", name))
	case h.attrs == nil:
		h.attrs = starlark.StringDict{}
	}
	h.attrs[name] = v
	return nil
}

// Binary implements list += hasfields, which yields 42.
func (h *hasFields) Binary(op syntax.Token, y starlark.Value, _ starlark.Side) (starlark.Value, error) {
	if _, ok := y.(*starlark.List); ok && op == syntax.PLUS {
		return starlark.MakeInt(42), nil
	}
	return nil, nil
}
