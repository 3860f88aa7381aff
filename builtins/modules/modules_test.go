package modules

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/builtins/call"
)

// A modRuntime counts the charges of modules, and refuses charges over a maximum. Modules use
// no other method of a runtime.
type modRuntime struct {
	call.Runtime
	steps, bytes       uint64
	maxSteps, maxBytes uint64 // 0 means that there is no maximum
}

var errModBudget = errors.New("over budget")

func (r *modRuntime) Charge(_ *starlark.Thread, op string, steps, bytes uint64) error {
	r.steps += steps
	r.bytes += bytes
	if r.maxSteps > 0 && r.steps > r.maxSteps || r.maxBytes > 0 && r.bytes > r.maxBytes {
		return fmt.Errorf("%s: %w", op, errModBudget)
	}
	return nil
}

// modAllEntries returns the entries of all modules but json, whose functions the evaluator has, and shell.
func modAllEntries(rt call.Runtime) []call.Entry {
	var all []call.Entry
	for _, t := range Topics(rt) {
		if t.Name != "json" && t.Name != "shell" {
			all = append(all, t.Entries...)
		}
	}
	return all
}

// modEnv returns the environment of a script: the modules and assert_eq.
func modEnv(rt call.Runtime) starlark.StringDict {
	env := starlark.StringDict{"assert_eq": starlark.NewBuiltin("assert_eq", modAssertEq)}
	for _, e := range modAllEntries(rt) {
		module, member, dotted := strings.Cut(e.Name, ".")
		if !dotted {
			env[e.Name] = e.Value
			continue
		}
		m, ok := env[module].(*starlarkstruct.Module)
		if !ok {
			m = &starlarkstruct.Module{Name: module, Members: starlark.StringDict{}}
			env[module] = m
		}
		m.Members[member] = e.Value
	}
	return env
}

func modAssertEq(
	_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	var got, want starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "got", &got, "want", &want); err != nil {
		return nil, err
	}
	if equal, err := starlark.Equal(got, want); err != nil || !equal {
		return nil, fmt.Errorf("assert_eq: got %v, want %v (%v)", got, want, err)
	}
	return starlark.None, nil
}

// modRun executes source and returns its globals.
func modRun(rt call.Runtime, source string) (starlark.StringDict, error) {
	opts := &syntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true}
	return starlark.ExecFileOptions(opts, &starlark.Thread{Name: "test"}, "x.star", source, modEnv(rt))
}

// modEval returns the value of an expression, in which x is args[0] and y is args[1].
func modEval(rt call.Runtime, expr string, args ...starlark.Value) (starlark.Value, error) {
	env := modEnv(rt)
	for i, v := range args {
		env[string(rune('x'+i))] = v
	}
	return starlark.EvalOptions(&syntax.FileOptions{Set: true}, &starlark.Thread{Name: "test"}, "x.star", expr, env)
}

// modErrors evaluates each expression and compares its error with the wanted text.
func modErrors(t *testing.T, tests []struct{ expr, want string }) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.expr, func(t *testing.T) {
			v, err := modEval(&modRuntime{}, tt.expr)
			if err == nil {
				t.Fatalf("got %v, want error %s", v, tt.want)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// modAsserts runs each source. The sources call assert_eq.
func modAsserts(t *testing.T, tests []struct{ name, source string }) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := modRun(&modRuntime{}, tt.source); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestModuleEntries(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range modAllEntries(nil) {
		t.Run(e.Name, func(t *testing.T) {
			if seen[e.Name] {
				t.Error("described twice")
			}
			seen[e.Name] = true
			_, callable := e.Value.(starlark.Callable)
			if callable != strings.HasPrefix(e.Signature, e.Name+"(") {
				t.Errorf("signature %q of a %s", e.Signature, e.Value.Type())
			}
			first, _, _ := strings.Cut(e.Doc, "\n")
			if !strings.HasSuffix(first, ".") {
				t.Errorf("doc: the first line %q is no sentence", first)
			}
			if !strings.Contains(e.Example, "assert_eq(") {
				t.Error("the example asserts nothing")
			}
			if _, err := modRun(&modRuntime{}, e.Example); err != nil {
				t.Error(err)
			}
		})
	}
}

// Each function pays at least one step, and returns the error of a payment.
func TestModulesPay(t *testing.T) {
	for _, e := range modAllEntries(nil) {
		if e.Signature == "" || strings.HasPrefix(e.Name, "math.") { // their work is constant, so they pay only the flat cost
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			rt := &modRuntime{}
			if _, err := modRun(rt, e.Example); err != nil {
				t.Fatal(err)
			}
			if rt.steps == 0 || rt.bytes == 0 {
				t.Errorf("paid %d steps and %d bytes", rt.steps, rt.bytes)
			}
			for at := uint64(1); at < rt.steps; at += 1 + rt.steps/50 {
				if _, err := modRun(&modRuntime{maxSteps: at}, e.Example); !errors.Is(err, errModBudget) {
					t.Errorf("with %d of %d steps: got %v, want %v", at, rt.steps, err, errModBudget)
				}
			}
		})
	}
}

// A module charges for at least as many bytes as its result has.
func TestModulesPayForOutput(t *testing.T) {
	tests := []struct{ expr string }{
		{`text.indent("a\n" * 1000, "-" * 100)`},
		{`text.wrap("a " * 5000, 1)`},
		{`text.wrap("a" * 5000, 1)`},
		{`text.pad("", 50000)`},
		{`text.fence("x" * 5000)`},
		{`text.fence("` + "`" + `" * 5000)`},
		{`text.format_number(int("9" * 3000), sep = "-" * 50)`},
		{`text.markdown_table([["|" * 50] * 10] * 20)`},
		{`text.split_sections("#\n" * 1000)`},
		{`re.sub("", "x" * 100, "a" * 500)`},
		{`re.sub("", lambda m: "x" * 100, "a" * 500)`},
		{`re.findall("()()()()", "a" * 2000)`},
		{`re.split("()()()()", "a" * 2000)`},
		{`base64.encode("x" * 1000)`},
		{`yaml.encode(["\x01" * 10] * 300)`},
		{`yaml.encode([[[["a\nb"]]]] * 300)`},
		{`yaml.decode("[" + "{}," * 500 + "]")`},
		{`yaml.decode("- &a [x, y, z]\n" + "- *a\n" * 500)`},
		{`toml.encode({"a": ["\x01" * 10] * 300})`},
		{`toml.encode({"a" * 100: [{"b" * 100: {"c": 1}}] * 100})`},
		{`toml.decode("a = [" + "[]," * 500 + "]")`},
		{`csv.encode([["\"" * 10] * 10] * 30)`},
		{`csv.decode("a,b\n" * 500, header = False)`},
		{`time.time(2026).format("January" * 140)`},
	}
	for _, tt := range tests {
		t.Run(tt.expr, func(t *testing.T) {
			rt := &modRuntime{}
			v, err := modEval(rt, tt.expr)
			if err != nil {
				t.Fatal(err)
			}
			if made := modSize(v); rt.bytes < made {
				t.Errorf("paid %d bytes for %d", rt.bytes, made)
			}
		})
	}
}

// modSize estimates the memory of v.
func modSize(v starlark.Value) uint64 {
	switch v := v.(type) {
	case starlark.String:
		return uint64(len(v)) + 16
	case *starlarkstruct.Struct:
		n := uint64(64)
		for _, f := range v.Entries() {
			n += modSize(f) - uint64(len(f.String())) + 32 // the source pays for the text of the field
		}
		return n
	case starlark.Iterable:
		n := uint64(24)
		for e := range starlark.Elements(v) {
			n += 16 + modSize(e)
		}
		return n
	}
	return 16
}

func TestModuleFunctionsCheckTheirArguments(t *testing.T) {
	for _, e := range modAllEntries(&modRuntime{}) {
		fn, ok := e.Value.(starlark.Callable)
		if !ok {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			args := make(starlark.Tuple, 9)
			for i := range args {
				args[i] = starlark.None
			}
			for n := range len(args) + 1 {
				_, err := starlark.Call(new(starlark.Thread), fn, args[:n], nil)
				if err == nil && !(e.Name == "struct" && n == 0) && e.Name != "yaml.encode" {
					t.Errorf("%d times None: got no error", n)
				}
				if err != nil && !strings.HasPrefix(err.Error(), e.Name+": ") {
					t.Errorf("error %q does not begin with %s", err, e.Name)
				}
			}
			_, err := starlark.Call(new(starlark.Thread), fn, nil, []starlark.Tuple{{starlark.String("nosuch"), starlark.None}})
			if err == nil && e.Name != "struct" {
				t.Error("unknown argument: got no error")
			}
		})
	}
}

func TestModuleErrors(t *testing.T) {
	modErrors(t, []struct{ expr, want string }{
		{`hash.sha256(1)`, `hash.sha256: for parameter data: got int, want string or bytes`},
		{`base64.decode("ab!d")`, `base64.decode: text: got "!" at 2, want letters, digits, "+" and "/"`},
		{`base64.decode("a-_d")`, `base64.decode: text: got "-" at 1, want letters, digits, "+" and "/" (this is the URL alphabet: url=True)`},
		{`base64.decode("a+", url = True)`, `base64.decode: text: got "+" at 1, want letters, digits, "-" and "_" (this is the plain alphabet: leave out url=True)`},
		{`base64.decode("a?", url = True)`, `base64.decode: text: got "?" at 1, want letters, digits, "-" and "_"`},
		{`base64.decode("aGk=a")`, `base64.decode: text: got "=" at 3, want letters, digits, "+" and "/"`},
		{`base64.decode("abcde")`, `base64.decode: text: got 5 characters, want a multiple of 4 (the end is missing)`},
		{`struct(1)`, `struct: got 1 positional arguments, want fields by name`},
		{`math.floor("x")`, `math.floor: got string, want float or int`},
		{`math.sqrt("x")`, `math.sqrt: for parameter 1: got string, want float or int`},
		{`math.log(2, 1)`, `math.log: division by zero`},
		{`math.ceil(float("nan"))`, `math.ceil: cannot convert float NaN to integer`},
	})
}

func TestModulesAreConstantWithoutRuntime(t *testing.T) {
	if n := len(modAllEntries(nil)); n != len(modAllEntries(&modRuntime{})) {
		t.Errorf("%d entries without a runtime", n)
	}
}

// Law: base64.decode reverses base64.encode, in every variant.
func TestBase64RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := starlark.Bytes(rapid.SliceOf(rapid.Byte()).Draw(t, "data"))
		for _, variant := range []string{"base64.decode(base64.encode(x))", "base64.decode(base64.encode(x, pad = False))", "base64.decode(base64.encode(x, url = True), url = True)"} {
			got, err := modEval(&modRuntime{}, variant, data)
			if err != nil || got != data {
				t.Fatalf("%s: got %v, %v, want %v", variant, got, err, data)
			}
		}
	})
}
