package starlark

import (
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"pgregory.net/rapid"
)

// keys generates hashable values without long strings, whose hash is random.
func keys() *rapid.Generator[starlark.Value] {
	return rapid.Custom(func(t *rapid.T) starlark.Value {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return starlark.MakeInt64(rapid.Int64().Draw(t, "int"))
		case 1:
			return starlark.Float(rapid.Float64().Draw(t, "float"))
		case 2:
			return starlark.String(rapid.StringMatching(`[a-z]{0,11}`).Draw(t, "string"))
		case 3:
			return starlark.Bool(rapid.Bool().Draw(t, "bool"))
		case 4:
			fields := starlark.StringDict{"a": keys().Draw(t, "a"), "b": starlark.None}
			return starlarkstruct.FromStringDict(starlarkstruct.Default, fields)
		}
		return starlark.Tuple(rapid.SliceOfN(keys(), 0, 4).Draw(t, "tuple"))
	})
}

// TestStableHash compares the hash with the interpreter's for keys without long strings, so that
// both have the same collisions.
func TestStableHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := keys().Draw(t, "key")
		if want, err := k.Hash(); err != nil || stableHash(k) != want {
			t.Fatalf("%v: got %d, want %d (%v)", k, stableHash(k), want, err)
		}
	})
	long := func(i int64) starlark.Value {
		return starlark.Tuple{starlark.String("a string of seeded length"), starlark.MakeInt64(i)}
	}
	if stableHash(long(1)) != stableHash(long(1+1<<32)) || stableHash(long(1)) == stableHash(long(2)) {
		t.Error("tuples with a long string: want collisions just where the integers collide")
	}
}
