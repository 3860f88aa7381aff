package agents

import "testing"

// TestGuessesAreCheap checks that names without a role cost no allocation each. With eleven for
// each name, an event of 9 MB took 2 GiB.
func TestGuessesAreCheap(t *testing.T) {
	list := make([]any, 1000)
	for i := range list {
		list[i] = map[string]any{"aa": 1.0, "b_c": "x"}
	}
	allocs := testing.AllocsPerRun(5, func() {
		g := guesses{places: map[role][]string{}, seen: map[string]bool{}}
		g.walk(list, "", 0)
	})
	if each := allocs / float64(len(list)); each > 3 { // the keys, and a name without "_"
		t.Errorf("got %.1f allocations for each object, want at most 3", each)
	}
}

// TestGuessesHaveADepth checks that arguments that are nested deeper than any tool's are a call of
// every kind, so that no guard misses what stands below.
func TestGuessesHaveADepth(t *testing.T) {
	for depth, want := range map[int]bool{maxPlaceDepth - 1: false, maxPlaceDepth + 2: true} {
		var v any = "rm -rf x"
		for range depth {
			v = map[string]any{"a": v}
		}
		g := guesses{places: map[role][]string{}, seen: map[string]bool{}}
		if g.walk(v, "", 0); g.tooMany != want {
			t.Errorf("%d levels: got %v, want %v", depth, g.tooMany, want)
		}
	}
}
