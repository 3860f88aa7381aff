package starlark

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
)

const profiledSource = `
def inner(x):
    y = [i * i for i in range(x)]
    return str(y)

def outer(x):
    return inner(x) + inner(2)

def last(x):
    return sorted(x, key = lambda n: -n)

A = outer(30)
B = "x" * 1000
`

// TestProfile checks that the samples of all lines add up to the usage of the runs, name the
// callers, and repeat.
func TestProfile(t *testing.T) {
	run := func(p *Profile) Usage {
		t.Helper()
		box := New(Options{Profile: p})
		f, err := box.Parse("a.star", []byte(profiledSource))
		if err != nil {
			t.Fatal(err)
		}
		m, used, err := box.Run(t.Context(), f, Exec{})
		if err != nil {
			t.Fatal(err)
		}
		numbers := starlark.NewList([]starlark.Value{starlark.MakeInt(2), starlark.MakeInt(1)})
		_, call, err := box.Call(t.Context(), m.Globals["last"].(starlark.Callable), starlark.Tuple{numbers}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return Usage{Steps: used.Steps + call.Steps, Bytes: used.Bytes + call.Bytes}
	}
	var p, again Profile
	plain, used := run(nil), run(&p)
	run(&again)
	if plain != used {
		t.Errorf("with a profile: got %+v, want the same as without, %+v", used, plain)
	}
	if diff := cmp.Diff(p.samples(), again.samples()); diff != "" {
		t.Errorf("the same again (-first +second):\n%s", diff)
	}
	var sum Usage
	ways := map[string]uint64{}
	for _, s := range p.samples() {
		sum.Steps += s.Steps
		sum.Bytes += s.Bytes
		var way string
		for _, f := range s.Stack {
			way += f.Fn + " " + f.Pos.String() + "; "
		}
		ways[way] = s.Steps
	}
	if sum != used {
		t.Errorf("the samples add up to %+v, want %+v", sum, used)
	}
	if way := "inner a.star:3; outer a.star:7; <toplevel> a.star:12; "; ways[way] < 300 {
		t.Errorf("%s got %d steps, want the loop's; there are %v", way, ways[way], ways)
	}
	if way := "lambda a.star:10; sorted <builtin>; last a.star:10; "; ways[way] == 0 {
		t.Errorf("%s got no step; there are %v", way, ways)
	}
}

// TestProfileOfNestedCalls checks that the stack of a nested call contains the calling run, and
// that its steps count once.
func TestProfileOfNestedCalls(t *testing.T) {
	var p Profile
	box := New(Options{Profile: &p})
	var callee starlark.Callable
	again := starlark.NewBuiltin("again", func(
		th *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple,
	) (starlark.Value, error) {
		v, _, err := box.Call(box.Context(th), callee, nil, nil)
		return v, err
	})
	if err := box.Define("again", again, Cost{Steps: 7}); err != nil {
		t.Fatal(err)
	}
	f, err := box.Parse("b.star", []byte("def callee():\n    return 1\n\ndef caller():\n    again()\n    return again()\n"))
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := box.Run(t.Context(), f, Exec{})
	if err != nil {
		t.Fatal(err)
	}
	callee = m.Globals["callee"].(starlark.Callable)
	var before, after uint64
	for _, s := range p.samples() {
		before += s.Steps
	}
	_, used, err := box.Call(t.Context(), m.Globals["caller"].(starlark.Callable), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var nested uint64
	for _, s := range p.samples() {
		after += s.Steps
		if len(s.Stack) == 3 && s.Stack[0].Fn == "callee" && s.Stack[1].Fn == "again" && s.Stack[2].Fn == "caller" {
			nested += s.Steps
		}
	}
	if after-before != used.Steps {
		t.Errorf("the samples have %d steps, want %d", after-before, used.Steps)
	}
	if nested < 2000 {
		t.Errorf("got %d steps inside of the nested calls, want 2,000 and more", nested)
	}
}
