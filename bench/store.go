package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/store"
)

// storedFragments measures the database in a running process: SQLite, as it is by default.
func storedFragments(r *rig) error {
	ctx := context.Background()
	dir, err := r.folder("store", map[string]string{"empty": ""})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "a.db")
	db, err := store.Open(store.Options{URL: "sqlite:" + file})
	if err != nil {
		return err
	}
	defer db.Close()
	next := 0
	insert := loop(func() error {
		next++
		text := fmt.Sprintf("%04096d", next)
		return db.Fragments().Put(ctx, fragments.Content{ID: fragments.Sum(text), Text: text})
	})
	first := claim{"P6", "first store of a fragment of 4 KiB, by Python's sqlite3 with llm's schema", atMost(1)}
	err = r.compareWith(first, insert, func() (side, error) { return r.timedPython("sqlite3", "insert.py", dir) })
	if err != nil {
		return err
	}
	if err := db.Set(ctx, "p", "k", json.RawMessage(`{"count":1}`)); err != nil {
		return err
	}
	get := loop(func() error {
		_, _, err := db.Get(ctx, "p", "k")
		return err
	})
	n, err := r.batch(get)
	if err != nil {
		return err
	}
	took, err := get(n)
	if err != nil {
		return err
	}
	each := float64(took) / float64(n) / float64(time.Microsecond)
	r.figure(claim{"P6", "ctx.store.get in a running process", atMost(50).withUnit("µs")}, each)
	return r.countStatements(ctx, dir)
}

// countStatements adds 0 if storing stored fragments again uses the database not at all, else 1.
func (r *rig) countStatements(ctx context.Context, dir string) error {
	file := filepath.Join(dir, "again.db")
	db, err := store.Open(store.Options{URL: "sqlite:" + file})
	if err != nil {
		return err
	}
	var known []fragments.Content
	for i := range 40 {
		text := strings.Repeat("x", i)
		known = append(known, fragments.Content{ID: fragments.Sum(text), Text: text})
	}
	if err := db.Fragments().Put(ctx, known...); err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil {
		return err
	}
	if err := db.Fragments().Put(ctx, known...); err != nil {
		return err
	}
	count := 0.0
	if _, err := os.Stat(file); err == nil {
		count = 1
	}
	r.figure(claim{"P6", "uses of the database for 40 stored fragments", atMost(0).withUnit("uses")}, count)
	return db.Close()
}
