package starlark

import (
	"context"
	"math"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
	"pgregory.net/rapid"
)

// TestInterpolate compares the result or error of format % arg with the interpreter's.
func TestInterpolate(t *testing.T) {
	values := []starlark.Value{
		starlark.String(""), starlark.String("é%d"), starlark.String(strings.Repeat("long ", 200)),
		starlark.MakeInt(0), starlark.MakeInt(-7), starlark.MakeInt64(math.MinInt64),
		starlark.MakeUint64(math.MaxUint64),
		starlark.None, starlark.True, starlark.Float(1.5), starlark.NewList(nil), starlark.Bytes("b"), starlark.NewDict(0),
	}
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SampledFrom([]string{"", "a", "é ", "%s", "%s", "%d", "%d", "%i", "%%", "%r", "%x", "%c", "%f", "%(k)s", "%", "%q"})
		format := starlark.String(strings.Join(rapid.SliceOfN(pieces, 0, 6).Draw(t, "format"), ""))
		args := rapid.SliceOfN(rapid.SampledFrom(values), 0, 4).Draw(t, "args")
		var arg starlark.Value = starlark.Tuple(args)
		if len(args) == 1 && rapid.Bool().Draw(t, "alone") {
			arg = args[0]
		}
		want, wantErr := starlark.Binary(syntax.PERCENT, format, arg)
		got, err := interpolateIn(format, arg)
		if errorText(err) != errorText(wantErr) || err == nil && got != want {
			t.Errorf("%q %% %v: got %v (%v), want %v (%v)", format, arg, got, err, want, wantErr)
		}
	})
}

// interpolateIn evaluates format % arg in a run with much memory.
func interpolateIn(format starlark.String, arg starlark.Value) (starlark.Value, error) {
	w, err := New(Options{}).startRun(context.Background())
	if err != nil {
		return nil, err
	}
	v, err := w.interpolate(format, arg)
	_, err = w.endRun(err)
	return v, err
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
