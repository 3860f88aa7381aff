package hook

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A conversation that is read after another one is as it is by itself, and both stay so
// when the memory of their documents is used again.
func TestLawConversation(t *testing.T) {
	message := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) any {
			m := map[string]any{
				"role":    rapid.SampledFrom([]string{"system", "user", "assistant", "tool", "developer"}).Draw(t, "role"),
				"content": rapid.SampledFrom([]any{"a", "b", `"`, nil, []any{map[string]any{"type": "text", "text": "part"}}}).Draw(t, "content"),
			}
			if rapid.Bool().Draw(t, "calls") {
				m["tool_calls"] = []any{map[string]any{"id": "c", "function": map[string]any{"name": "f", "arguments": `{"x":1}`}}}
			}
			return m
		}),
		rapid.SampledFrom([]any{1, "user", []any{}}),
	)
	read := func(list []any, before *document) *document {
		text, _ := json.Marshal(map[string]any{"messages": list, "n": len(list)})
		d := &document{text: text}
		if !d.read(before) {
			t.Fatalf("%s is not read", text)
		}
		d.conversation(d.get(0, "messages"))
		return d
	}
	rapid.Check(t, func(t *rapid.T) {
		lists := [][]any{rapid.SliceOfN(message, 0, 6).Draw(t, "first")}
		for range 3 {
			next := slices.Clone(lists[len(lists)-1])
			i := rapid.IntRange(0, len(next)).Draw(t, "at")
			next = slices.Replace(next, i, min(i+rapid.IntRange(0, 1).Draw(t, "gone"), len(next)), rapid.SliceOfN(message, 0, 2).Draw(t, "new")...)
			lists = append(lists, next)
		}
		var d *document
		var got []*document
		for _, list := range lists {
			d = read(list, d)
			got = append(got, d)
		}
		for _, d := range got {
			clear(d.text)
		}
		for i, d := range got {
			want := read(lists[i], nil)
			if !reflect.DeepEqual(d.talk.messages, want.talk.messages) || !reflect.DeepEqual(d.talk.chat(), want.talk.chat()) {
				t.Fatalf("%v after %v: got %v, want %v", lists[i], lists[max(i-1, 0)], d.talk.messages, want.talk.messages)
			}
		}
	})
}
