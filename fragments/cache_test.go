package fragments_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/fragments"
)

// Merging fragments with digests gives the same rows, ids, provenance and text as merging them
// without.
func TestLawDigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cache := fragments.NewHashCache(rapid.IntRange(0, 1<<10).Draw(t, "max"))
		texts := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("ab\x00é")), 0, 6, -1), 1, 12).Draw(t, "texts")
		for range 3 {
			var plain, fast []fragments.Fragment
			for i, text := range texts {
				target := fragments.Target(rapid.IntRange(0, 1).Draw(t, "target"))
				f := fragments.Fragment{Content: text, Source: fmt.Sprint(i), Target: target}
				plain = append(plain, f)
				if !cache.Identify(&f) {
					t.Fatalf("%q: got no text", text)
				}
				fast = append(fast, f)
			}
			want, got := fragments.Merge(plain), fragments.Merge(fast)
			if diff := cmp.Diff(want.Rows(), got.Rows()); diff != "" {
				t.Fatalf("rows (-without +with digests):\n%s", diff)
			}
			if diff := cmp.Diff(want.Text(), got.Text()); diff != "" {
				t.Fatalf("text (-without +with digests):\n%s", diff)
			}
		}
	})
}

func TestContentReplaced(t *testing.T) {
	cache := fragments.NewHashCache(1 << 10)
	f := fragments.Fragment{Content: "the secret"}
	cache.Identify(&f)
	f.Content = "the ******"
	if got, want := fragments.Merge([]fragments.Fragment{f}).Rows()[0].ID, fragments.Sum("the ******"); got != want {
		t.Errorf("id of a content that was replaced: got %v, want %v", got, want)
	}
}

func TestIdentifyRefusesData(t *testing.T) {
	f := fragments.Fragment{Content: "\xff"}
	if fragments.NewHashCache(1<<10).Identify(&f) || f.Digest != nil {
		t.Errorf("got a digest of %q, want it refused: it is not UTF-8", f.Content)
	}
}

// Equal contents share one digest, which shares no memory with a larger text around them.
func TestIdentifyShares(t *testing.T) {
	cache := fragments.NewHashCache(1 << 10)
	whole := strings.Repeat("x", 90)
	f, g := fragments.Fragment{Content: whole[:50]}, fragments.Fragment{Content: strings.Repeat("x", 50)}
	cache.Identify(&f)
	cache.Identify(&g)
	if f.Digest != g.Digest {
		t.Error("got two digests of one content, want one")
	}
	if fragments.SameMemory(f.Content, whole) {
		t.Error("the cache keeps the larger text alive that the content was cut out of")
	}
}

// Many goroutines that identify contents in a small cache all get the right ids.
func TestIdentifyTogether(t *testing.T) {
	cache := fragments.NewHashCache(1 << 10)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				f := fragments.Fragment{Content: strings.Repeat(fmt.Sprint(i*(worker%2+1)%97), 10)}
				cache.Identify(&f)
				got, want := fragments.Merge([]fragments.Fragment{f}).Rows()[0].ID, fragments.Sum(f.Content)
				if got != want {
					t.Errorf("%q: got %v, want %v", f.Content, got, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkMergeDigests merges 1,000 fragments of 4 KiB with digests.
func BenchmarkMergeDigests(b *testing.B) {
	cache := fragments.NewHashCache(64 << 20)
	list := make([]fragments.Fragment, 1000)
	for i := range list {
		list[i].Content = fmt.Sprintf("%4d", i) + strings.Repeat("x", 4<<10)
		cache.Identify(&list[i])
	}
	b.ReportAllocs()
	for b.Loop() {
		fragments.Merge(list)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/fragment")
}
