package fragments_test

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/fragments"
)

// stored returns a text as a Content.
func stored(text string) fragments.Content {
	return fragments.Content{ID: fragments.Sum(text), Text: text}
}

func TestStoreLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { storeLaws(t, new(fragments.MemoryStore)) })
}

func FuzzStoreLaws(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { storeLaws(t, new(fragments.MemoryStore)) }))
}

// storeLaws compares an empty store of any kind with maps: after any operations in any order,
// it contains each content that was put, once, and each alias stands for its last content.
func storeLaws(t *rapid.T, s fragments.Store) {
	ctx := t.Context()
	texts, names := map[fragments.Hash]string{}, map[string]fragments.Hash{}
	name := rapid.SampledFrom([]string{"style", "Style", "a.md", "0"})
	t.Repeat(map[string]func(*rapid.T){
		"put": func(t *rapid.T) {
			var list []fragments.Content
			for _, text := range rapid.SliceOfN(content, 0, 3).Draw(t, "texts") {
				list = append(list, stored(text))
				texts[fragments.Sum(text)] = text
			}
			if err := s.Put(ctx, list...); err != nil {
				t.Fatalf("Put: %v", err)
			}
		},
		"alias": func(t *rapid.T) {
			name, id := name.Draw(t, "name"), fragments.Sum(content.Draw(t, "text"))
			_, known := texts[id]
			if err := s.SetAlias(ctx, name, id); (err == nil) != known {
				t.Fatalf("SetAlias of a content that is there (%v): got %v", known, err)
			}
			if known {
				names[name] = id
			}
		},
		"remove": func(t *rapid.T) {
			name := name.Draw(t, "name")
			if err := s.SetAlias(ctx, name, fragments.Hash{}); err != nil {
				t.Fatalf("SetAlias: %v", err)
			}
			delete(names, name)
		},
		"": func(t *rapid.T) {
			id, digits := fragments.Sum(content.Draw(t, "text")), rapid.IntRange(0, 64).Draw(t, "digits")
			want, known := texts[id]
			if got, ok, err := s.Get(ctx, id); got != want || ok != known || err != nil {
				t.Fatalf("Get: got %q, %v, %v, want %q, %v", got, ok, err, want, known)
			}
			checkFind(t, s, texts, id.String()[:digits], rapid.IntRange(0, 3).Draw(t, "limit"))
			got, err := s.Aliases(ctx)
			if diff := cmp.Diff(slices.Sorted(maps.Keys(names)), got); diff != "" || err != nil {
				t.Fatalf("Aliases (-want +got), %v:\n%s", err, diff)
			}
			for _, name := range got {
				if id, ok, err := s.Alias(ctx, name); id != names[name] || !ok || err != nil {
					t.Fatalf("Alias(%q): got %s, %v, %v, want %s", name, id, ok, err, names[name])
				}
			}
		},
	})
}

// checkFind checks that a store finds exactly the first ids that begin with some digits.
func checkFind(t *rapid.T, s fragments.Store, texts map[fragments.Hash]string, digits string, limit int) {
	var want []fragments.Hash
	for id := range texts {
		if strings.HasPrefix(id.String(), digits) {
			want = append(want, id)
		}
	}
	slices.SortFunc(want, func(a, b fragments.Hash) int { return strings.Compare(a.String(), b.String()) })
	got, err := s.Find(t.Context(), digits, limit)
	if diff := cmp.Diff(want[:min(len(want), limit)], got); diff != "" || err != nil {
		t.Fatalf("Find(%q, %d) (-want +got), %v:\n%s", digits, limit, err, diff)
	}
}

func TestStoreFindRefuses(t *testing.T) {
	for _, digits := range []string{"x", "AB", strings.Repeat("0", 65)} {
		if got, err := new(fragments.MemoryStore).Find(t.Context(), digits, 1); err == nil {
			t.Errorf("Find(%q): got %v, want an error", digits, got)
		}
	}
}

func TestCheckAlias(t *testing.T) {
	tests := map[string]bool{
		"a": true, "0": true, "_": true, "house-style_2.md": true, strings.Repeat("a", 64): true,
		"": false, "-": false, "-a": false, ".": false, "..": false, ".env": false, "a b": false, "é": false, "a\n": false,
		"book:x": false, "c:x": false, "docs/a.md": false, `docs\a.md`: false, "a\x00": false, strings.Repeat("a", 65): false,
	}
	for name, ok := range tests {
		if err := fragments.CheckAlias(name); (err == nil) != ok {
			t.Errorf("CheckAlias(%q): got %v, want allowed %v", name, err, ok)
		}
	}
}

func TestMemoryStoreLimits(t *testing.T) {
	s := &fragments.MemoryStore{MaxBytes: 4, MaxContents: 3, MaxAliases: 1}
	ctx := t.Context()
	steps := []struct {
		do   func() error
		want string
	}{
		{func() error { return s.Put(ctx, stored("ab"), stored("ab"), stored("")) }, ""},
		{func() error { return s.Put(ctx, stored("c"), stored("de")) }, "fragment store: got 5 bytes of contents, want at most 4 (MaxBytes)"},
		{func() error { return s.Put(ctx, stored("c")) }, ""},
		{func() error { return s.Put(ctx, stored("d")) }, "fragment store: got 4 contents, want at most 3 (MaxContents)"},
		{func() error { return s.Put(ctx, stored("ab")) }, ""},
		{func() error { return s.SetAlias(ctx, "one", fragments.Sum("ab")) }, ""},
		{func() error { return s.SetAlias(ctx, "one", fragments.Sum("c")) }, ""},
		{func() error { return s.SetAlias(ctx, "two", fragments.Sum("c")) }, "fragment store: got 2 aliases, want at most 1 (MaxAliases)"},
		{func() error { return s.SetAlias(ctx, "a:b", fragments.Sum("c")) }, `alias: got "a:b", want 1 to 64 of A-Z a-z 0-9 _ - . and neither - nor . first`},
		{func() error { return s.SetAlias(ctx, "x", fragments.Sum("d")) }, "alias x: got " + fragments.Sum("d").String() + ", want a content of the store"},
	}
	for i, step := range steps {
		got := ""
		if err := step.do(); err != nil {
			got = err.Error()
		}
		if got != step.want {
			t.Errorf("step %d: got %q, want %q", i, got, step.want)
		}
	}
	if _, ok, _ := s.Get(ctx, fragments.Sum("de")); ok {
		t.Error("a Put over a limit kept a part of it")
	}
}

// TestMemoryStoreAtOnce gives the race detector concurrent calls.
func TestMemoryStoreAtOnce(t *testing.T) {
	s := new(fragments.MemoryStore)
	ctx := t.Context()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				a := stored("a")
				_ = s.Put(ctx, a, stored("b"))
				_ = s.SetAlias(ctx, "a", a.ID)
				_, _, _ = s.Alias(ctx, "a")
				_, _ = s.Aliases(ctx)
				_, _ = s.Find(ctx, "", 2)
			}
		})
	}
	all.Wait()
	if found, err := s.Find(ctx, "", 9); len(found) != 2 || err != nil {
		t.Errorf("Find: got %v, %v, want two", found, err)
	}
}
