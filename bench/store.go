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
func storedFragments(r *rig) {
	ctx := context.Background()
	dir := r.folder("store", map[string]string{"empty": ""})
	file := filepath.Join(dir, "a.db")
	db := must(store.Open(store.Options{URL: "sqlite:" + file}))
	defer db.Close()
	next := 0
	insert := loop(func() {
		next++
		text := fmt.Sprintf("%04096d", next)
		try(db.Fragments().Put(ctx, fragments.Content{ID: fragments.Sum(text), Text: text}))
	})
	first := claim{"P6", "first store of a fragment of 4 KiB, by Python's sqlite3 with llm's schema", atMost(1)}
	r.compareWith(first, insert, func() side { return r.timedPython("sqlite3", "insert.py", dir) })
	try(db.Set(ctx, "p", "k", json.RawMessage(`{"count":1}`)))
	get := loop(func() {
		_, _, err := db.Get(ctx, "p", "k")
		try(err)
	})
	n := r.batch(get)
	each := float64(get(n)) / float64(n) / float64(time.Microsecond)
	r.figure(claim{"P6", "ctx.store.get in a running process", atMost(50).withUnit("µs")}, each)
	r.countStatements(ctx, dir)
}

// countStatements adds 0 if storing stored fragments again uses the database not at all, else 1.
func (r *rig) countStatements(ctx context.Context, dir string) {
	file := filepath.Join(dir, "again.db")
	db := must(store.Open(store.Options{URL: "sqlite:" + file}))
	var known []fragments.Content
	for i := range 40 {
		text := strings.Repeat("x", i)
		known = append(known, fragments.Content{ID: fragments.Sum(text), Text: text})
	}
	try(db.Fragments().Put(ctx, known...))
	try(db.Close())
	try(os.Remove(file))
	try(db.Fragments().Put(ctx, known...))
	count := 0.0
	if _, err := os.Stat(file); err == nil {
		count = 1
	}
	r.figure(claim{"P6", "uses of the database for 40 stored fragments", atMost(0).withUnit("uses")}, count)
	try(db.Close())
}
