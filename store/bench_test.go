package store_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/store"
)

// BenchmarkGet measures ctx.store.get in a running process, without the plugin's call.
func BenchmarkGet(b *testing.B) {
	db := benchDB(b)
	if err := db.Set(b.Context(), "p", "k", json.RawMessage(`{"count": 1}`)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, ok, err := db.Get(b.Context(), "p", "k"); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

// BenchmarkAdd measures one write with its commit.
func BenchmarkAdd(b *testing.B) {
	db := benchDB(b)
	for b.Loop() {
		if err := addOne(b.Context(), db); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPut measures the first store of a fragment of 4 KiB, and its repetition.
func BenchmarkPut(b *testing.B) {
	text := func(i int) string { return fmt.Sprintf("%04096d", i) }
	b.Run("new", func(b *testing.B) {
		db, i := benchDB(b), 0
		for b.Loop() {
			i++
			putText(b, db, text(i))
		}
	})
	b.Run("known", func(b *testing.B) {
		db := benchDB(b)
		for b.Loop() {
			putText(b, db, text(1))
		}
	})
}

func putText(b *testing.B, db *store.DB, text string) {
	if err := db.Fragments().Put(b.Context(), fragments.Content{ID: fragments.Sum(text), Text: text}); err != nil {
		b.Fatal(err)
	}
}

func benchDB(b *testing.B) *store.DB {
	db, err := store.Open(store.Options{URL: "sqlite:" + filepath.Join(b.TempDir(), "a.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return db
}
