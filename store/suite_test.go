package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/store"
)

// A backend is one implementation of the interfaces.
type backend struct {
	values   effects.KV
	contents fragments.Store
	sessions host.SessionStore
	max      int // bytes of a plugin's values
}

// eachBackend runs a test on memory, SQLite and PostgreSQL, each empty.
func eachBackend(t *testing.T, test func(t *testing.T, b backend)) {
	t.Run("memory", func(t *testing.T) {
		test(t, backend{&effects.MemoryKV{}, &fragments.MemoryStore{}, &store.Memory{}, effects.MaxStore})
	})
	t.Run("sqlite", func(t *testing.T) {
		db := open(t, store.Options{URL: "sqlite:" + filepath.Join(t.TempDir(), "a b?#%.db"), MaxPlugin: effects.MaxStore})
		test(t, backend{db, db.Fragments(), db, effects.MaxStore})
	})
	t.Run("postgres", func(t *testing.T) {
		db := open(t, store.Options{URL: newDatabase(t), MaxPlugin: effects.MaxStore})
		test(t, backend{db, db.Fragments(), db, effects.MaxStore})
	})
}

// eachContents runs a test on every store of contents. Only llm's refuses text that is not UTF-8.
func eachContents(t *testing.T, test func(t *testing.T, s fragments.Store, binary bool)) {
	eachBackend(t, func(t *testing.T, b backend) { test(t, b.contents, true) })
	t.Run("llm", func(t *testing.T) { test(t, openLLM(t, newLogs(t)), false) })
}

// open returns a database that closes with the test.
func open(t *testing.T, o store.Options) *store.DB {
	t.Helper()
	db, err := store.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestValues(t *testing.T) {
	eachBackend(t, func(t *testing.T, b backend) {
		ctx, kv := t.Context(), b.values
		if value, ok, err := kv.Get(ctx, "p", "a"); value != nil || ok || err != nil {
			t.Errorf("Get of nothing: got %s, %v, %v", value, ok, err)
		}
		if keys, err := kv.Keys(ctx, "p"); len(keys) > 0 || err != nil {
			t.Errorf("Keys of nothing: got %q, %v", keys, err)
		}
		for _, key := range []string{"b", "a", "\xff", "", "é"} {
			if err := kv.Set(ctx, "p", key, json.RawMessage(`{"n": "\u0000 é"}`)); err != nil {
				t.Fatal(err)
			}
		}
		if value, ok, err := kv.Get(ctx, "p", "\xff"); string(value) != `{"n": "\u0000 é"}` || !ok || err != nil {
			t.Errorf("Get: got %s, %v, %v", value, ok, err)
		}
		for _, want := range []bool{true, false} {
			if ok, err := kv.Delete(ctx, "p", "b"); ok != want || err != nil {
				t.Errorf("Delete: got %v, %v, want %v", ok, err, want)
			}
		}
		keys, err := kv.Keys(ctx, "p")
		if diff := cmp.Diff([]string{"", "a", "é", "\xff"}, keys); diff != "" || err != nil {
			t.Errorf("Keys (-want +got), %v:\n%s", err, diff)
		}
		if value, ok, err := kv.Get(ctx, "q", "a"); ok || err != nil {
			t.Errorf("Get of another plugin: got %s, %v", value, err)
		}
	})
}

func TestUpdate(t *testing.T) {
	failure := errors.New("no")
	eachBackend(t, func(t *testing.T, b backend) {
		ctx, kv := t.Context(), b.values
		steps := []struct {
			want, next string // "" is nil
			err        error
		}{{"", "", nil}, {"", "1", nil}, {"1", "9", failure}, {"1", "2", nil}, {"2", "", nil}, {"", "3", failure}, {"", "4", nil}}
		for i, s := range steps {
			err := kv.Update(ctx, "p", "k", func(old json.RawMessage) (json.RawMessage, error) {
				if string(old) != s.want || (old == nil) != (s.want == "") {
					t.Errorf("step %d: got %q, want %q", i, old, s.want)
				}
				if s.next == "" {
					return nil, s.err
				}
				return json.RawMessage(s.next), s.err
			})
			if err != s.err {
				t.Errorf("step %d: got %v, want %v", i, err, s.err)
			}
		}
	})
}

func TestUpdateConcurrent(t *testing.T) {
	eachBackend(t, func(t *testing.T, b backend) {
		w := world(t, b.values)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 25 {
					if _, err := w.StoreAdd(context.Background(), "n", 1); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if got, _, err := b.values.Get(t.Context(), "p", "n"); string(got) != "100" || err != nil {
			t.Errorf("got %s, %v, want 100", got, err)
		}
	})
}

// world returns a plugin's world with a store.
func world(t *testing.T, kv effects.KV) *effects.World {
	t.Helper()
	grants, err := effects.ParseGrants([]string{"store"})
	if err != nil {
		t.Fatal(err)
	}
	return &effects.World{Plugin: "p", Declared: grants, Granted: grants, Store: kv}
}

func TestMaxPlugin(t *testing.T) {
	large := json.RawMessage(`"` + strings.Repeat("x", effects.MaxValue-2) + `"`)
	eachBackend(t, func(t *testing.T, b backend) {
		ctx, kv := t.Context(), b.values
		for i := range 15 {
			if err := kv.Set(ctx, "p", fmt.Sprint(i), large); err != nil {
				t.Fatal(err)
			}
		}
		var coded *effects.Error
		err := kv.Set(ctx, "p", "last", json.RawMessage(`"`+strings.Repeat("x", effects.MaxValue)+`"`))
		want := fmt.Sprintf("want at most %d", b.max)
		if !errors.As(err, &coded) || coded.Code() != "E0506" || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want E0506 with %q", err, want)
		}
		if _, ok, err := kv.Get(ctx, "p", "last"); ok || err != nil {
			t.Errorf("the value is stored: %v", err)
		}
		if ok, err := kv.Delete(ctx, "p", "0"); !ok || err != nil {
			t.Error(ok, err)
		}
		if err := kv.Set(ctx, "p", "last", large[:3]); err != nil {
			t.Error(err)
		}
		if err := kv.Set(ctx, "q", "a", large); err != nil {
			t.Errorf("another plugin: %v", err)
		}
	})
}

func TestContents(t *testing.T) {
	eachContents(t, func(t *testing.T, s fragments.Store, binary bool) {
		ctx, two := t.Context(), "two\x00é"
		if binary {
			two = "two\x00\xff"
		}
		if text, ok, err := s.Get(ctx, fragments.Sum("x")); ok || err != nil {
			t.Errorf("Get of nothing: got %q, %v", text, err)
		}
		var contents []fragments.Content
		for _, text := range []string{"", "one", two, "one", strings.Repeat("long", 1<<18)} {
			contents = append(contents, fragments.Content{ID: fragments.Sum(text), Text: text})
		}
		for range 2 {
			if err := s.Put(ctx, contents...); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range contents {
			if text, ok, err := s.Get(ctx, c.ID); text != c.Text || !ok || err != nil {
				t.Errorf("Get: got %q, %v, %v, want %q", text, ok, err, c.Text)
			}
			for _, n := range []int{2, 8, 64} {
				ids, err := s.Find(ctx, c.ID.String()[:n], 10)
				if diff := cmp.Diff([]fragments.Hash{c.ID}, ids); diff != "" || err != nil {
					t.Errorf("Find %d (-want +got), %v:\n%s", n, err, diff)
				}
			}
		}
		if ids, err := s.Find(ctx, "", 3); len(ids) != 3 || err != nil {
			t.Errorf("Find with a limit: got %v, %v", ids, err)
		}
		if _, err := s.Find(ctx, "zz", 3); err == nil {
			t.Error("Find of no digits: got no error")
		}
	})
}

func TestAliases(t *testing.T) {
	eachContents(t, func(t *testing.T, s fragments.Store, _ bool) {
		ctx := t.Context()
		one, two := fragments.Sum("one"), fragments.Sum("two")
		if err := s.SetAlias(ctx, "a", one); err == nil || !strings.Contains(err.Error(), "want a content of the store") {
			t.Errorf("an alias of nothing: got %v", err)
		}
		if err := s.SetAlias(ctx, "-a", one); err == nil {
			t.Error("-a: got no error")
		}
		if err := s.Put(ctx, fragments.Content{ID: one, Text: "one"}, fragments.Content{ID: two, Text: "two"}); err != nil {
			t.Fatal(err)
		}
		for _, id := range []fragments.Hash{one, two} {
			if err := errors.Join(s.SetAlias(ctx, "b", one), s.SetAlias(ctx, "a", id)); err != nil {
				t.Fatal(err)
			}
			if got, ok, err := s.Alias(ctx, "a"); got != id || !ok || err != nil {
				t.Errorf("Alias: got %s, %v, %v", got, ok, err)
			}
		}
		names, err := s.Aliases(ctx)
		if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" || err != nil {
			t.Errorf("Aliases (-want +got), %v:\n%s", err, diff)
		}
		if err := s.SetAlias(ctx, "a", fragments.Hash{}); err != nil {
			t.Error(err)
		}
		if _, ok, err := s.Alias(ctx, "a"); ok || err != nil {
			t.Errorf("Alias after its removal: got %v, %v", ok, err)
		}
	})
}
