package builtins

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/builtins/call"
)

// A freeRuntime charges nothing.
type freeRuntime struct{ call.Runtime }

func (freeRuntime) Charge(*starlark.Thread, string, uint64, uint64) error { return nil }

// runFree executes source with all modules and returns its globals.
func runFree(source string) (starlark.StringDict, error) {
	opts := &syntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true}
	return starlark.ExecFileOptions(opts, &starlark.Thread{Name: "test"}, "x.star", source, Modules(Table(freeRuntime{})))
}

func TestAppendJSON(t *testing.T) {
	tests := []struct{ name, expr, want string }{
		{"scalars", `[None, True, False, 0, -5, 1 << 100, "x"]`, `[null,true,false,0,-5,1267650600228229401496703205376,"x"]`},
		{"floats keep a point or an exponent", `[1.0, 0.1, 1e300, -0.0]`, `[1.0,0.1,1e+300,-0.0]`},
		{"dict keys keep their order", `{"b": 1, "a": {"d": [], "c": {}}}`, `{"b":1,"a":{"d":[],"c":{}}}`},
		{"struct fields are sorted", `struct(b = 1, a = struct())`, `{"a":{},"b":1}`},
		{"sequences are arrays", `[(1, 2), (), set([3, 1]), range(2)]`, `[[1,2],[],[3,1],[0,1]]`},
		{"html stays", `"<a href='x'>&</a>"`, `"<a href='x'>&</a>"`},
		{"escapes", `"\"\\\n\r\t\b\f\x01\x7f/\u2028"`, `"\"\\\n\r\t\b\f\u0001` + "\x7f/\u2028" + `"`},
		{"keys are escaped", `{"a\"b": 1}`, `{"a\"b":1}`},
		{"a string that ends like an element", `[","]`, `[","]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			globals, err := runFree("x = " + tt.expr)
			if err != nil {
				t.Fatal(err)
			}
			got, err := toJSON(globals["x"])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("toJSON (-want +got):\n%s", diff)
			}
			if !json.Valid(got) {
				t.Error("not valid JSON")
			}
		})
	}
}

func TestAppendJSONReplacesBrokenText(t *testing.T) {
	got, err := toJSON(starlark.String("a\xffé\xed\xa0\x80\"\xc3"))
	if want := `"a` + "\ufffdé\ufffd\ufffd\ufffd" + `\"` + "\ufffd" + `"`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestAppendJSONErrors(t *testing.T) {
	tests := []struct{ name, source, want string }{
		{"at the top", `x = len`, `got builtin_function_or_method, want a JSON value`},
		{"deep inside", `x = {"a": [1, 2, 3, lambda: 1]}`, `at .a[3]: got function, want a JSON value`},
		{"in a struct", `x = struct(a = (1, {"b c": len}))`, `at .a[1]["b c"]: got builtin_function_or_method, want a JSON value`},
		{"names of keys", `x = {"a_1": {"1a": {"": {"é": len}}}}`, `at .a_1["1a"][""]["é"]: got builtin_function_or_method, want a JSON value`},
		{"bytes", `x = [b"a"]`, `at [0]: got bytes, want a JSON value (str(x) for text, base64.encode(x) for data)`},
		{"a time", `x = [time.hour]`, `at [0]: got time.duration, want a JSON value (str(x) for text)`},
		{"nan", `x = {"a": float("nan")}`, `at .a: got float nan, want a finite number`},
		{"infinity", `x = float("-inf")`, `got float -inf, want a finite number`},
		{"a key", `x = {"a": {1: 2}}`, `at .a: got a key that is int, want string`},
		{"no sequence", `x = "abc".elems()`, ``},
		{"a cycle", "x = []\nx.append(x)", `at [0][0][0][0][0][0][0][0]…: nested deeper than 64 levels, or contains itself`},
		{"deep dicts", "x = 1\nfor _ in range(65):\n    x = {'a': x}", `at .a.a.a.a.a.a.a.a…: nested deeper than 64 levels, or contains itself`},
		{"one list many times", "x = 1\nfor _ in range(60):\n    x = [x, x]", `at [0][0][0][0][0][0][0][0]…: got more than 16777216 bytes of JSON`},
		{"a long range", "x = range(1 << 40)", `at [2236040]: got more than 16777216 bytes of JSON`},
		{"long text", "x = 'x' * (17 << 20)", `got more than 16777216 bytes of JSON`},
		{"long key", "x = {'x' * (17 << 20): 1}", `got more than 16777216 bytes of JSON`},
		{"much escaped text", "x = '\\n' * (9 << 20)", `got more than 16777216 bytes of JSON`},
		{"text and its element", "x = [['x' * (16 << 20)]]", `at [0][0]: got more than 16777216 bytes of JSON`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			globals, err := runFree(tt.source)
			if err != nil {
				t.Fatal(err)
			}
			got, err := toJSON(globals["x"])
			if tt.want == "" && err == nil {
				return
			}
			if err == nil || err.Error() != tt.want {
				t.Errorf("got error %v, want %s", err, tt.want)
			}
			if got != nil {
				t.Errorf("got %q", got)
			}
		})
	}
	if _, err := toJSON(starlark.Tuple{nil}); err == nil || err.Error() != "at [0]: got nothing, want a JSON value" {
		t.Errorf("a tuple of nothing: %v", err)
	}
	noJSON := starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{"a": starlark.Bytes("")})
	if _, err := toJSON(noJSON); err == nil {
		t.Error("bytes in a struct: got no error")
	}
}

// A jsonMapView imitates a host's view of a mapping.
type jsonMapView struct{ *starlark.Dict }

func (jsonMapView) Type() string { return "view" }

// A jsonListView imitates a host's view of a list.
type jsonListView struct{ starlark.Tuple }

func (jsonListView) Type() string { return "view" }

func TestAppendJSONOfViews(t *testing.T) {
	d := new(starlark.Dict)
	if err := d.SetKey(starlark.String("b"), jsonListView{starlark.Tuple{starlark.None}}); err != nil {
		t.Fatal(err)
	}
	got, err := toJSON(jsonMapView{d})
	if err != nil || string(got) != `{"b":[null]}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestFromJSON(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"scalars", ` [null, true, false, "x\u00e9\ud83d\ude00"] `, `[None, True, False, "xé😀"]`},
		{"ints of any size", `[0, -0, 9223372036854775807, -9223372036854775808, 12345678901234567890]`, `[0, 0, 9223372036854775807, -9223372036854775808, 12345678901234567890]`},
		{"floats", `[1.0, 1e2, -0.5E-1]`, `[1.0, 100.0, -0.05]`},
		{"keys keep their order", `{"b": 1, "a": [], "c": {}}`, `{"b": 1, "a": [], "c": {}}`},
		{"broken surrogates and bytes", "[\"\\ud800\", \"\xff\"]", `["�", "�"]`},
		{"64 levels", strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 64) + strings.Repeat("]", 64)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := fromJSON([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.String()); diff != "" {
				t.Errorf("fromJSON (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFromJSONErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", ``, `at byte 0: the text ends too early`},
		{"an open list", `[1,`, `at byte 3: the text ends too early`},
		{"an open object", `{"a"`, `at byte 4: the text ends too early`},
		{"an open string", `"a`, `at byte 0: the text ends too early`},
		{"more text", `{} {}`, `at byte 4: got more text after the value`},
		{"more broken text", `1 x`, `at byte 2: got more text after the value`},
		{"a key twice", `{"a": 1, "b": 2, "a": 3}`, `at byte 20: key "a" stands twice in one object`},
		{"too deep", strings.Repeat("[", 65), `at byte 65: nested deeper than 64 levels`},
		{"too deep objects", strings.Repeat(`{"a":`, 65), `at byte 321: nested deeper than 64 levels`},
		{"a float too large", `[1e999]`, `at byte 6: got number 1e999, want one that a float can hold`},
		{"an int too long", `[` + strings.Repeat("1", 20_001) + `]`, `at byte 20002: got a number of 20001 digits, want 20000 or fewer`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := fromJSON([]byte(tt.text))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, error %v, want %s", got, err, tt.want)
			}
		})
	}
	for _, text := range []string{`nul`, `{1: 2}`, `{"a" 1}`, `[1,]`, `{"a": 1,}`, `[1 2]`, `01`, `+1`, `.5`, `1.`, `'a'`, `{,}`, `]`, `{"a": ]}`, "\"\n\"", `{"a":1]`} {
		if got, err := fromJSON([]byte(text)); err == nil {
			t.Errorf("%s: got %v, want an error", text, got)
		}
	}
}

// Keys with equal hashes would make a dict take quadratic time, so fromJSON refuses many of them.
func TestFromJSONRefusesAFlood(t *testing.T) {
	var b strings.Builder
	for i, n := 0, 0; n < 1400; i++ {
		key := fmt.Sprintf("%x", i)
		if hash, _ := starlark.String(key).Hash(); hash%4096 == 7 || n < 1000 {
			fmt.Fprintf(&b, ",%q:0", key)
			n++
		}
	}
	_, err := fromJSON([]byte("{" + b.String()[1:] + "}"))
	if err == nil || !strings.Contains(err.Error(), "too many keys of one hash") {
		t.Errorf("got %v", err)
	}
}

func TestFromJSONTakesManyKeys(t *testing.T) {
	var b strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&b, ",\"k%d\":%d", i, i)
	}
	v, err := fromJSON([]byte("{" + b.String()[1:] + "}"))
	if err != nil || starlark.Len(v) != 50_000 {
		t.Errorf("got %v", err)
	}
}

// jsonValues generates values that JSON can express, up to depth levels deep.
func jsonValues(depth int) *rapid.Generator[starlark.Value] {
	scalar := rapid.OneOf(
		rapid.Just[starlark.Value](starlark.None),
		rapid.Map(rapid.Bool(), func(b bool) starlark.Value { return starlark.Bool(b) }),
		rapid.Map(rapid.Int64(), func(i int64) starlark.Value {
			return starlark.MakeInt64(i).Mul(starlark.MakeInt64(i))
		}),
		rapid.Map(rapid.Float64Range(-1e308, 1e308), func(f float64) starlark.Value { return starlark.Float(f) }),
		rapid.Map(rapid.String(), func(s string) starlark.Value { return starlark.String(strings.ToValidUTF8(s, "")) }),
	)
	if depth == 0 {
		return scalar
	}
	inner := jsonValues(depth - 1)
	list := rapid.Map(rapid.SliceOfN(inner, 0, 4), func(v []starlark.Value) starlark.Value {
		return starlark.NewList(v)
	})
	keys := rapid.StringMatching(`[a-z"é]{0,6}`)
	dict := rapid.Map(rapid.MapOfN(keys, inner, 0, 4), func(m map[string]starlark.Value) starlark.Value {
		d := new(starlark.Dict)
		for k, v := range m {
			d.SetKey(starlark.String(k), v) // in random order, which is not the order of the keys in the text
		}
		return d
	})
	return rapid.OneOf(scalar, list, dict)
}

// Law: reading the written text returns the same value, with keys in the same order.
func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := jsonValues(3).Draw(t, "value")
		text, err := toJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fromJSON(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if equal, err := starlark.Equal(got, v); err != nil || !equal || got.String() != v.String() {
			t.Fatalf("got %v, want %v (%v)", got, v, err)
		}
	})
}

// Law: fromJSON accepts only valid JSON, agrees with encoding/json, and reads the written value
// as the same value.
func FuzzFromJSON(f *testing.F) {
	f.Add([]byte(`{"a": [1, 2.5, "x\n", null], "b": -12345678901234567890}`))
	f.Add([]byte("[\"\xff\", 1e5, {}]"))
	f.Add([]byte(" {\"\\ud83d\\ude00\\\"\" : \"\\ud83d\", \"\" :[ true ,false ] } "))
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := fromJSON(raw)
		if err != nil {
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("%q is not JSON, and was read as %v", raw, v)
		}
		text, err := toJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := fromJSON(text)
		if err != nil || again.String() != v.String() {
			t.Errorf("got %v, %v, want %v", again, err, v)
		}
		var want, got any
		if json.Unmarshal(raw, &want) != nil {
			return // encoding/json cannot hold such an int
		}
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, %v, want %v", raw, got, err, want)
		}
	})
}
