package cache

import (
	"sync"
	"testing"
)

func TestCache(t *testing.T) {
	var c Cache[string, int]
	if _, ok := c.Get("a"); ok {
		t.Error("an empty cache has an item")
	}
	if got := c.Add("a", 1, 4, 20); got != 1 {
		t.Errorf("Add: got %d, want 1", got)
	}
	if got := c.Add("a", 2, 4, 20); got != 1 {
		t.Errorf("Add of an item that is there: got %d, want 1", got)
	}
	c.Add("large", 3, 11, 20)
	if _, ok := c.Get("large"); ok {
		t.Error("an item over half of the cache is kept")
	}
	c.Add("b", 4, 4, 20)
	c.Add("c", 5, 4, 20) // a and b are old
	if got, ok := c.Get("a"); got != 1 || !ok {
		t.Errorf("an old item: got %d, %v, want 1", got, ok)
	}
	c.Add("d", 6, 4, 20) // a and c are old
	if _, ok := c.Get("b"); ok {
		t.Error("an item that nobody asked for is kept")
	}
	if got, ok := c.Get("a"); got != 1 || !ok {
		t.Errorf("an item that somebody asked for: got %d, %v, want 1", got, ok)
	}
}

// TestCacheBound checks that both halves together are within the bound.
func TestCacheBound(t *testing.T) {
	var c Cache[int, int]
	for i := range 1000 {
		c.Add(i, i, 1+i%7, 100)
		c.Get(i / 2)
		c.Set(i/3, -i, 1+i%5, 100)
		if got, ok := c.Get(i / 3); got != -i || !ok {
			t.Fatalf("after Set: got %d, %v, want %d", got, ok, -i)
		}
		size := 0
		for _, half := range []map[int]item[int]{c.young, c.old} {
			for _, kept := range half {
				size += kept.size
			}
		}
		if size > 100 {
			t.Fatalf("after %d items: got a size of %d, want at most 100", i, size)
		}
	}
}

func TestCacheShared(t *testing.T) {
	var c Cache[int, int]
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 2000 {
				if got, ok := c.Get(i % 50); ok && got != i%50 {
					t.Errorf("got %d, want %d", got, i%50)
				}
				c.Add(i%50, i%50, 1, 40)
			}
		})
	}
	wg.Wait()
}
