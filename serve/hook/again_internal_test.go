package hook

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// checkAgain: a text that is read after another one is read as it is by itself.
func checkAgain(t interface {
	Helper()
	Fatalf(string, ...any)
}, text, before string) {
	t.Helper()
	old, ok := readDocument(before)
	if !ok {
		return
	}
	want, wanted := readDocument(text)
	got := &document{text: []byte(text), nodes: []node{{start: 1}}} // of a document before
	ok = got.read(old)
	if ok != wanted {
		t.Fatalf("%q after %q: read %v, want %v", text, before, ok, wanted)
	}
	if ok && (string(got.text) != text || !slices.Equal(got.nodes, want.nodes)) {
		t.Fatalf("%q after %q: got nodes %v, want %v", text, before, got.nodes, want.nodes)
	}
}

func FuzzAgain(f *testing.F) {
	for _, s := range [][2]string{
		{`{"id":10,"m":[{"a":"x"},{"b":[1,2]}]}`, `{"id":9,"m":[{"a":"x"}]}`},
		{`[1,12,[3]]`, `[12,1,[3]]`}, {`["ab","a"]`, `["a","ab"]`}, {`{"a":{"b":1}}`, `[["b",1]]`}, {`[[],{}]`, `[[],[]]`}, {`[{}`, `[{}]`}, {"[\"\xff\"]", "[\"\xff\"]"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, text, before string) { checkAgain(t, text, before) })
}

// Requests of one conversation: values stay, go, come and change their places.
func TestLawAgain(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			switch rapid.IntRange(0, 5-depth/2).Draw(t, "kind") {
			case 0, 1:
				return rapid.SampledFrom([]any{1, 12, true, nil}).Draw(t, "other")
			case 2:
				return rapid.SampledFrom([]string{"", "a", "ab", `\"`, "é"}).Draw(t, "string")
			case 3:
				return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", `"`}), value(depth+1), 0, 3).Draw(t, "object")
			}
			return rapid.SliceOfN(value(depth+1), 0, 4).Draw(t, "array")
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(value(0), 1, 6).Draw(t, "before")
		before, _ := json.Marshal(list)
		next := slices.Clone(list)
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			i := rapid.IntRange(0, len(next)).Draw(t, "at")
			next = slices.Replace(next, i, min(i+rapid.IntRange(0, 1).Draw(t, "gone"), len(next)), value(0).Draw(t, "new"))
		}
		text, _ := json.Marshal(next)
		checkAgain(t, string(text), string(before))
	})
}
