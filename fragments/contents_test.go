package fragments_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/starhost/starhost/fragments"
	"pgregory.net/rapid"
)

// Merging what is known comes to what merging comes to: rows, ids, provenance, text.
func TestLawKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		contents := fragments.NewContents(rapid.Int64Range(0, 64).Draw(t, "max"))
		texts := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("ab\x00é")), 0, 6, -1), 1, 12).Draw(t, "texts")
		for range 3 {
			var plain, fast []fragments.Fragment
			for i, text := range texts {
				f := fragments.Fragment{Content: text, Source: fmt.Sprint(i), Target: fragments.Target(rapid.IntRange(0, 1).Draw(t, "target"))}
				plain = append(plain, f)
				if !contents.Know(&f) {
					t.Fatalf("%q: got no text", text)
				}
				fast = append(fast, f)
			}
			want, got := fragments.Merge(plain), fragments.Merge(fast)
			if diff := cmp.Diff(want.Rows(), got.Rows()); diff != "" {
				t.Fatalf("rows (-plain +known):\n%s", diff)
			}
			if diff := cmp.Diff(want.Text(), got.Text()); diff != "" {
				t.Fatalf("text (-plain +known):\n%s", diff)
			}
		}
	})
}

func TestKnownContentReplaced(t *testing.T) {
	contents := fragments.NewContents(1 << 10)
	f := fragments.Fragment{Content: "the secret"}
	contents.Know(&f)
	f.Content = "the ******"
	if got, want := fragments.Merge([]fragments.Fragment{f}).Rows()[0].ID, fragments.Sum("the ******"); got != want {
		t.Errorf("id of a content that was replaced: got %v, want %v", got, want)
	}
}

func TestKnowRefusesData(t *testing.T) {
	f := fragments.Fragment{Content: "\xff"}
	if fragments.NewContents(1<<10).Know(&f) || f.Known != nil {
		t.Errorf("got %q known, want it refused: it is not UTF-8", f.Content)
	}
}

// Equal contents share memory once they are known, and not with what they were cut
// out of.
func TestKnowShares(t *testing.T) {
	contents := fragments.NewContents(1 << 10)
	f, g := fragments.Fragment{Content: strings.Repeat("x", 90)[:50]}, fragments.Fragment{Content: strings.Repeat("x", 50)}
	contents.Know(&f)
	contents.Know(&g)
	if f.Known != g.Known {
		t.Error("got two of one content, want one")
	}
}

// Many goroutines that know many contents, in a table that has room for few, all
// get the right ids.
func TestKnowTogether(t *testing.T) {
	contents := fragments.NewContents(1 << 10)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				f := fragments.Fragment{Content: strings.Repeat(fmt.Sprint(i*(worker%2+1)%97), 10)}
				contents.Know(&f)
				if got, want := fragments.Merge([]fragments.Fragment{f}).Rows()[0].ID, fragments.Sum(f.Content); got != want {
					t.Errorf("%q: got %v, want %v", f.Content, got, want)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkMergeKnown merges 1,000 fragments of 4 KiB whose contents are known.
func BenchmarkMergeKnown(b *testing.B) {
	contents := fragments.NewContents(64 << 20)
	list := make([]fragments.Fragment, 1000)
	for i := range list {
		list[i].Content = fmt.Sprintf("%4d", i) + strings.Repeat("x", 4<<10)
		contents.Know(&list[i])
	}
	b.ReportAllocs()
	for b.Loop() {
		fragments.Merge(list)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/fragment")
}
