package builtins

import (
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"
)

// Law: if survivesJSON reports true, reading the object's JSON returns an equal object.
func TestLawSurvivesJSON(t *testing.T) {
	value := rapid.Custom(func(t *rapid.T) starlark.Value {
		return rapid.SampledFrom([]starlark.Value{
			starlark.None, starlark.True,
			starlark.MakeInt64(rapid.Int64().Draw(t, "int")), starlark.MakeUint64(rapid.Uint64().Draw(t, "uint")),
			starlark.String(rapid.String().Draw(t, "text")), starlark.String(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")),
			starlark.Float(rapid.Float64().Draw(t, "float")), starlark.Tuple{starlark.True}, starlark.NewList(nil), new(starlark.Dict),
		}).Draw(t, "value")
	})
	anyBytes := rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })
	key := rapid.OneOf(rapid.String(), anyBytes)
	rapid.Check(t, func(t *rapid.T) {
		object := new(starlark.Dict)
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			setKey(object, key.Draw(t, "key"), value.Draw(t, "value"))
		}
		raw, err := appendJSON(nil, object)
		if err != nil || !survivesJSON(object) {
			return
		}
		want := objectOrText(raw)
		if same, err := starlark.Equal(object, want); !same || err != nil || object.String() != want.String() {
			t.Fatalf("%s: reads as %v, %v, got %v", raw, want, err, object)
		}
	})
}
