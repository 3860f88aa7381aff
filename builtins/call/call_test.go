package call_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
)

func TestBind(t *testing.T) {
	named := func(name string, v starlark.Value) []starlark.Tuple {
		return []starlark.Tuple{{starlark.String(name), v}}
	}
	tests := []struct {
		name   string
		args   starlark.Tuple
		kwargs []starlark.Tuple
		code   string
		want   string // the text or the error
	}{
		{"by position", starlark.Tuple{starlark.String("a")}, nil, "", "a"},
		{"by name", nil, named("text", starlark.String("a")), "", "a"},
		{"missing", nil, nil, "E0201", "f: missing argument for text"},
		{"of another type", starlark.Tuple{starlark.True}, nil, "E0201", "f: for parameter text: got bool, want string or bytes"},
		{"misspelt", nil, named("txet", starlark.String("a")), "E0203", `f: unexpected keyword argument "txet" (did you mean text?)`},
		{"unknown", nil, named("zzz", starlark.None), "E0203", `f: unexpected keyword argument "zzz", it takes text, n`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var (
				text call.TextOrBytes
				n    int
				code string
			)
			c := call.Call{Name: "f", Args: tt.args, Kwargs: tt.kwargs}
			err := c.Bind("text", &text, "n?", &n)
			got := string(text)
			if coded, ok := errors.AsType[*call.Error](err); ok {
				got, code = coded.Error(), coded.Code()
			}
			if diff := cmp.Diff([]string{tt.code, tt.want}, []string{code, got}); diff != "" {
				t.Errorf("Bind (-want +got):\n%s", diff)
			}
		})
	}
}

// Names and texts of a plugin in a message may have megabytes, which a terminal should not get.
func TestErrorfCutsLongMessages(t *testing.T) {
	err := call.Errorf("E0202", "got %s", strings.Repeat("é", 1<<20))
	if got := len(err.Error()); got > 17<<10 {
		t.Errorf("got a message of %d bytes", got)
	}
}

func TestKeyFlood(t *testing.T) {
	var chosen, usual call.KeyFlood
	var err error
	for i, n := 0, 0; n < 1400 && err == nil; i++ {
		key := starlark.String(fmt.Sprintf("%x", i))
		if hash, _ := key.Hash(); hash%4096 == 7 || n < 1000 {
			err = chosen.Add(key)
			n++
		}
	}
	if err == nil || !strings.Contains(err.Error(), "too many keys of one hash") {
		t.Errorf("chosen keys: got %v", err)
	}
	for i := range 50_000 {
		if err := usual.Add(starlark.String(fmt.Sprint("k", i))); err != nil {
			t.Fatalf("key %d: %v", i, err)
		}
	}
}

func TestCollisions(t *testing.T) {
	tests := []struct {
		name  string
		names []string
		want  int
	}{
		{"other names", []string{"a", "b", "c"}, 0},
		{"one name three times", []string{"a", "a", "a"}, 3},
		{"long names have a seeded hash", []string{"abcdefghijkl", "abcdefghijkl"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := call.Collisions(tt.names); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
