package store_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/store"
)

// eachDatabase runs a test on an empty SQLite file and an empty PostgreSQL database.
func eachDatabase(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite:"+filepath.Join(t.TempDir(), "a.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, newDatabase(t)) })
}

// put stores a text and returns its id.
func put(t *testing.T, db *store.DB, text, source string) fragments.Hash {
	t.Helper()
	id := fragments.Sum(text)
	if err := db.Fragments().Put(t.Context(), fragments.Content{ID: id, Text: text, Source: source}); err != nil {
		t.Fatal(err)
	}
	return id
}

func setAlias(t *testing.T, db *store.DB, name string, id fragments.Hash) {
	t.Helper()
	if err := db.SetAlias(t.Context(), name, id); err != nil {
		t.Fatal(err)
	}
}

func TestList(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url string) {
		now := time.Unix(1_000_000_000, 0)
		db := open(t, store.Options{URL: url, Clock: func() time.Time { return now }})
		if list, more, err := db.List(t.Context(), store.Filter{}); len(list) > 0 || more || err != nil {
			t.Errorf("empty: got %v, %v, %v", list, more, err)
		}
		old := put(t, db, "Old TEXT\x1b[31m\x00\xff"+strings.Repeat("x", 300), strings.Repeat("s", 5000))
		now = now.Add(time.Hour)
		fresh := put(t, db, "New text", "a/B.md")
		setAlias(t, db, "notes", fresh)
		setAlias(t, db, "Another", fresh)
		want := []store.Item{
			{ID: fresh, Size: 8, Stored: now.UTC(), Source: "a/B.md", Aliases: []string{"Another", "notes"}, Begin: "New text"},
			{
				ID: old, Size: 315, Stored: now.Add(-time.Hour).UTC(), Source: strings.Repeat("s", 1000),
				Begin: "Old TEXT\x1b[31m\x00\xff" + strings.Repeat("x", 185),
			},
		}
		for _, test := range []struct {
			filter store.Filter
			want   []store.Item
			more   bool
		}{
			{store.Filter{}, want, false},
			{store.Filter{Limit: 1}, want[:1], true},
			{store.Filter{Limit: 2}, want, false},
			{store.Filter{Named: true}, want[:1], false},
			{store.Filter{Texts: []string{"teXt"}}, want, false},
			{store.Filter{Texts: []string{"text", "b.MD"}}, want[:1], false},
			{store.Filter{Texts: []string{"ANOTHER"}}, want[:1], false},
			{store.Filter{Texts: []string{"\x00\xff"}}, want[1:], false},
			{store.Filter{Texts: []string{old.String()[:9]}}, want[1:], false},
			{store.Filter{Texts: []string{"absent"}}, nil, false},
		} {
			got, more, err := db.List(t.Context(), test.filter)
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" || more != test.more || err != nil {
				t.Errorf("%+v: got more %v, %v, (-want +got):\n%s", test.filter, more, err, diff)
			}
		}
	})
}

// Contents are removed once they are old, unless an alias names them or a prompt repeats them. A
// clock that jumps back removes nothing, and makes no content older.
func TestCollect(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url string) {
		now := time.Unix(1_000_000_000, 0)
		const day = 24 * time.Hour
		db := open(t, store.Options{URL: url, Keep: 90 * day, Clock: func() time.Time { return now }})
		left := func(want ...fragments.Hash) {
			t.Helper()
			list, _, err := db.List(t.Context(), store.Filter{})
			var got []fragments.Hash
			for _, item := range list {
				got = append(got, item.ID)
			}
			sorted := cmpopts.SortSlices(func(a, b fragments.Hash) bool { return a.String() < b.String() })
			if diff := cmp.Diff(want, got, sorted, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("contents (-want +got), %v:\n%s", err, diff)
			}
		}
		named, repeated, old := put(t, db, "named", ""), put(t, db, "repeated", ""), put(t, db, "old", "")
		setAlias(t, db, "a", named)
		now = now.Add(89 * day)
		put(t, db, "repeated", "")
		fresh := put(t, db, "fresh", "")
		left(named, repeated, old, fresh)
		now = now.Add(-50 * day)
		back := put(t, db, "stored by a clock that jumped back", "")
		put(t, db, "repeated", "")
		left(named, repeated, old, fresh, back)
		now = now.Add(60 * day) // old is 99 days old
		latest := put(t, db, "latest", "")
		left(named, repeated, fresh, back, latest)

		dry, err := db.Collect(t.Context(), now.Add(-59*day), true)
		if want := (store.Amount{Contents: 1, Bytes: 34}); dry != want || err != nil {
			t.Errorf("dry run: got %v, %v, want %v", dry, err, want)
		}
		removed, err := db.Collect(t.Context(), now.Add(-59*day), false)
		if removed != dry || err != nil {
			t.Errorf("got %v, %v, want %v", removed, err, dry)
		}
		left(named, repeated, fresh, latest)
		put(t, db, "old", "") // a process that finds a content missing stores it again
		if text, ok, err := db.Fragments().Get(t.Context(), old); text != "old" || !ok || err != nil {
			t.Errorf("got %q, %v, %v", text, ok, err)
		}
	})
}

// The counter and the state of a plugin do not depend on the clock.
func TestClockJumps(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url string) {
		now := time.Unix(2_000_000_000, 0)
		db := open(t, store.Options{URL: url, Clock: func() time.Time { now = now.Add(-24 * time.Hour); return now }})
		for i := range 5 {
			id := put(t, db, "text", "")
			if err := db.Set(t.Context(), "p", "k", json.RawMessage(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
			value, _, err := db.Get(t.Context(), "p", "k")
			if string(value) != fmt.Sprint(i) || err != nil {
				t.Errorf("got %s, %v, want %d", value, err, i)
			}
			if _, ok, err := db.Fragments().Get(t.Context(), id); !ok || err != nil {
				t.Errorf("the content is lost: %v", err)
			}
		}
	})
}

// TestOneWriter checks that a process writes to SQLite by one connection.
func TestOneWriter(t *testing.T) {
	db := open(t, store.Options{URL: "sqlite:" + filepath.Join(t.TempDir(), "a.db")})
	if got := store.CountWriters(t, db); got != 1 {
		t.Errorf("got %d writers, want one", got)
	}
}

// firstSchema is the schema of version 1.
var firstSchema = []string{
	`CREATE TABLE starhost_value (plugin BYTEA NOT NULL, name BYTEA NOT NULL, value BYTEA NOT NULL)`,
	`CREATE UNIQUE INDEX starhost_value_key ON starhost_value (plugin, name)`,
	`CREATE TABLE starhost_plugin (plugin BYTEA NOT NULL, size BIGINT NOT NULL)`,
	`CREATE UNIQUE INDEX starhost_plugin_key ON starhost_plugin (plugin)`,
	`CREATE TABLE starhost_content (id BYTEA NOT NULL, text BYTEA NOT NULL, stored BIGINT NOT NULL)`,
	`CREATE UNIQUE INDEX starhost_content_key ON starhost_content (id)`,
	`CREATE TABLE starhost_alias (name BYTEA NOT NULL, id BYTEA NOT NULL REFERENCES starhost_content (id))`,
	`CREATE UNIQUE INDEX starhost_alias_key ON starhost_alias (name)`,
	`CREATE TABLE starhost_schema (version BIGINT NOT NULL)`,
	`INSERT INTO starhost_schema (version) VALUES (1)`,
}

// A newer program brings an older schema up to date, and loses nothing.
func TestOlderSchema(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	execute(t, file, firstSchema...)
	id := fragments.Sum("text")
	execute(t, file, fmt.Sprintf(`INSERT INTO starhost_content VALUES (X'%s', X'74657874', 1000000000)`, id),
		fmt.Sprintf(`INSERT INTO starhost_alias VALUES (X'6e', X'%s')`, id),
		`INSERT INTO starhost_value VALUES (X'70', X'6b', X'31')`, `INSERT INTO starhost_plugin VALUES (X'70', 2)`)
	db := open(t, store.Options{URL: "sqlite:" + file})
	if value, _, err := db.Get(t.Context(), "p", "k"); string(value) != "1" || err != nil {
		t.Errorf("got %s, %v, want 1", value, err)
	}
	list, _, err := db.List(t.Context(), store.Filter{})
	want := []store.Item{{ID: id, Size: 4, Stored: time.Unix(1_000_000_000, 0).UTC(), Aliases: []string{"n"}, Begin: "text"}}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Errorf("List (-want +got), %v:\n%s", err, diff)
	}
	put(t, db, "text", "a.md")
}

// A process does not ask the database about a content that it had a short time ago. If another
// process removed the content, the process stores it again after a Get or an hour.
func TestRecentContents(t *testing.T) {
	eachDatabase(t, func(t *testing.T, url string) {
		now := time.Unix(1_000_000_000, 0)
		db := open(t, store.Options{URL: url, Clock: func() time.Time { return now }})
		another := open(t, store.Options{URL: url})
		id := put(t, db, "text", "")
		has := func(want bool) {
			t.Helper()
			if _, ok, err := another.Fragments().Get(t.Context(), id); ok != want || err != nil {
				t.Errorf("got %v, %v, want %v", ok, err, want)
			}
		}
		remove := func() {
			t.Helper()
			if _, err := another.Collect(t.Context(), now.Add(1000*time.Hour), false); err != nil {
				t.Fatal(err)
			}
			has(false)
		}
		remove()
		put(t, db, "text", "")
		has(false) // put used no statement
		now = now.Add(time.Hour)
		put(t, db, "text", "")
		has(true)
		remove()
		if _, ok, err := db.Fragments().Get(t.Context(), id); ok || err != nil {
			t.Errorf("Get: got %v, %v", ok, err)
		}
		put(t, db, "text", "")
		has(true)
		remove()
		now = now.Add(-time.Hour) // the clock jumps back
		put(t, db, "text", "")
		has(true)
	})
}
