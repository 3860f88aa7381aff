package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/store"
)

// logsSchema is the part of llm 0.27's logs.db that concerns fragments and attachments. The 30
// migrations of llm 0.32, run with sqlite-utils, make these tables with the same columns, types and
// keys; its responses has more columns.
var logsSchema = []string{
	`CREATE TABLE [_llm_migrations] ([name] TEXT PRIMARY KEY, [applied_at] TEXT)`,
	`CREATE TABLE [responses] ([id] TEXT PRIMARY KEY, [model] TEXT, [prompt] TEXT, [response] TEXT)`,
	`CREATE TABLE [attachments] ([id] TEXT PRIMARY KEY, [type] TEXT, [path] TEXT, [url] TEXT, [content] BLOB)`,
	`CREATE TABLE [fragments] ([id] INTEGER PRIMARY KEY, [hash] TEXT, [content] TEXT, [datetime_utc] TEXT, [source] TEXT)`,
	`CREATE UNIQUE INDEX [idx_fragments_hash] ON [fragments] ([hash])`,
	`CREATE TABLE [fragment_aliases] ([alias] TEXT PRIMARY KEY, [fragment_id] INTEGER REFERENCES [fragments]([id]))`,
	`CREATE TABLE [prompt_fragments] ([response_id] TEXT REFERENCES [responses]([id]),
[fragment_id] INTEGER REFERENCES [fragments]([id]), [order] INTEGER, PRIMARY KEY ([response_id], [fragment_id], [order]))`,
}

// newLogs returns an empty logs.db.
func newLogs(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "logs.db")
	execute(t, file, logsSchema...)
	return file
}

func openLLM(t *testing.T, file string) *store.LLM {
	t.Helper()
	l := store.OpenLLM(file)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// query returns the rows of a query as text.
func query(t *testing.T, file, statement string) (list []string) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		list = append(list, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// A fragment that llm stored is one of starhost, with its alias, source and time.
func TestLLMReads(t *testing.T) {
	file := newLogs(t)
	id := fragments.Sum("from llm é\n")
	execute(t, file,
		`INSERT INTO fragments (hash, content, datetime_utc, source) VALUES ('`+id.String()+
			`', 'from llm é' || char(10), '2026-03-01 10:20:30.123456+00:00', '/home/me/a.md')`,
		`INSERT INTO fragment_aliases VALUES ('notes', 1), ('a name that only llm allows', 1)`,
		`INSERT INTO fragments (hash, content, datetime_utc) VALUES ('`+strings.Repeat("0", 64)+`', 'changed', 'no time')`,
		`INSERT INTO fragments (hash, content) VALUES ('short', 'x'), (NULL, NULL)`)
	l := openLLM(t, file)
	if text, ok, err := l.Get(t.Context(), id); text != "from llm é\n" || !ok || err != nil {
		t.Errorf("Get: got %q, %v, %v", text, ok, err)
	}
	if got, ok, err := l.Alias(t.Context(), "notes"); got != id || !ok || err != nil {
		t.Errorf("Alias: got %s, %v, %v", got, ok, err)
	}
	if _, _, err := l.Get(t.Context(), fragments.Hash{}); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("changed content: got %v", err)
	}
	list, more, err := l.List(t.Context(), store.Filter{Texts: []string{"FROM LLM"}})
	want := []store.Item{{
		ID: id, Size: 12, Stored: time.Date(2026, 3, 1, 10, 20, 30, 0, time.UTC), Source: "/home/me/a.md",
		Aliases: []string{"a name that only llm allows", "notes"}, Begin: "from llm é\n",
	}}
	if diff := cmp.Diff(want, list); diff != "" || more || err != nil {
		t.Errorf("List: %v, %v (-want +got):\n%s", more, err, diff)
	}
	if list, _, err := l.List(t.Context(), store.Filter{}); len(list) != 2 || err != nil {
		t.Errorf("List: got %v, %v, want 2", list, err)
	}
	if removed, err := l.Collect(t.Context(), time.Now(), false); err == nil || removed.Contents > 0 {
		t.Errorf("Collect: got %v, %v, want an error", removed, err)
	}
}

// llm finds what starhost stored: the hash is the SHA-256 of the text, the text is TEXT, the time
// has llm's format, and the file has its journal mode.
func TestLLMWrites(t *testing.T) {
	file := newLogs(t)
	l := openLLM(t, file)
	id := fragments.Sum("from starhost")
	content := fragments.Content{ID: id, Text: "from starhost", Source: "a.md"}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := l.Put(t.Context(), content, content); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := l.SetAlias(t.Context(), "star", id); err != nil {
		t.Fatal(err)
	}
	got := query(t, file, `SELECT hash || '|' || content || '|' || source || '|' || typeof(hash) || '|' || typeof(content) || '|' ||
(datetime_utc GLOB '20[0-9][0-9]-[01][0-9]-[0-3][0-9] [012][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]+00:00') FROM fragments`)
	if diff := cmp.Diff([]string{id.String() + "|from starhost|a.md|text|text|1"}, got); diff != "" {
		t.Errorf("fragments (-want +got):\n%s", diff)
	}
	got = query(t, file, `SELECT alias || '|' || hash FROM fragment_aliases JOIN fragments ON fragments.id = fragment_id`)
	if diff := cmp.Diff([]string{"star|" + id.String()}, got); diff != "" {
		t.Errorf("aliases (-want +got):\n%s", diff)
	}
	if mode := query(t, file, `PRAGMA journal_mode`); mode[0] != "delete" {
		t.Errorf("the journal mode is %s now", mode)
	}
	if err := l.Put(t.Context(), fragments.Content{ID: fragments.Sum("\xff"), Text: "\xff"}); err == nil {
		t.Error("text that is not UTF-8: got no error")
	}
	if got := query(t, file, `SELECT type || ' ' || name FROM sqlite_master WHERE name LIKE '%starhost%'`); len(got) > 0 {
		t.Errorf("starhost made %q", got)
	}
}

// A file that is not llm's stays as it is, and the message says why. No file is made.
func TestLLMRefuses(t *testing.T) {
	dir := t.TempDir()
	own, err := filepath.Abs(filepath.Join(dir, "own.db"))
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, store.Options{URL: "sqlite:" + own})
	put(t, db, "x", "")
	db.Close()
	execute(t, filepath.Join(dir, "other.db"), `CREATE TABLE fragments (id INT, hash TEXT, content TEXT)`)
	execute(t, filepath.Join(dir, "none.db"), logsSchema[3:]...)
	execute(t, filepath.Join(dir, "old.db"), logsSchema[:3]...)
	execute(t, filepath.Join(dir, "missing.db"), append(logsSchema[:5:5], `CREATE TABLE fragment_aliases (alias TEXT)`)...)
	for name, text := range map[string]string{"text.db": strings.Repeat("text ", 1000), "empty.db": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"absent.db":  "there is no such file, and only llm makes it",
		".":          "is not a regular file",
		"own.db":     "the table fragments has no column id",
		"none.db":    "the table attachments has no column id",
		"other.db":   "the table fragments has no column datetime_utc",
		"old.db":     "the table fragments has no column id",
		"missing.db": "the table fragment_aliases has no column fragment_id",
		"text.db":    "file is not a database",
		"empty.db":   "the table fragments has no column id",
	} {
		file := filepath.Join(dir, name)
		before, _ := os.ReadFile(file)
		l := openLLM(t, file)
		_, _, getErr := l.Get(t.Context(), fragments.Sum("x"))
		putErr := l.Put(t.Context(), fragments.Content{ID: fragments.Sum("y"), Text: "y"})
		for _, err := range []error{getErr, putErr, l.SetAlias(t.Context(), "a", fragments.Sum("x"))} {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
				t.Errorf("%s: got %v, want an error with %q and the file", name, err, want)
			}
		}
		after, _ := os.ReadFile(file)
		if string(before) != string(after) {
			t.Errorf("%s changed", name)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "absent.db")); err == nil {
		t.Error("the absent file exists now")
	}
}

// While llm writes, starhost waits, and gives up in the end.
func TestLLMLocked(t *testing.T) {
	file := newLogs(t)
	db, err := sql.Open("sqlite3", "file:"+file+"?_txlock=exclusive")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := openLLM(t, file)
	content := fragments.Content{ID: fragments.Sum("x"), Text: "x"}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := l.Put(ctx, content); err == nil {
		t.Error("a locked file: got no error")
	}
	done := make(chan error)
	go func() { done <- l.Put(t.Context(), content) }()
	time.Sleep(100 * time.Millisecond)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("after the lock: %v", err)
	}
}

// Four processes write at the same time, and lose nothing.
func TestLLMProcesses(t *testing.T) {
	file := newLogs(t)
	var wg sync.WaitGroup
	for i := range 4 {
		cmd := other(t, fmt.Sprintf("llm %d", i), file)
		wg.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := query(t, file, `SELECT COUNT(*) FROM fragments`); got[0] != "80" {
		t.Errorf("got %s fragments, want 80", got)
	}
}

// A prompt's attachments are in llm's table, each once, and an id of llm stands for its bytes.
func TestLLMAttachments(t *testing.T) {
	file := newLogs(t)
	l := openLLM(t, file)
	h := host.New(host.Options{Fragments: l})
	picture := fragments.Attachment{Content: "\x89PNG\x00", Type: "image/png"}
	link := fragments.Attachment{URL: "https://example.com/a.pdf", Type: "application/pdf"}
	for range 2 {
		session := h.NewSession(host.SessionConfig{})
		_, err := session.Prompt(t.Context(), host.Request{Text: "hi", Attachments: []fragments.Attachment{picture, link}})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := query(t, file, `SELECT id || '|' || type || '|' || COALESCE(path, 'NULL') || '|' || COALESCE(url, 'NULL') || '|' ||
COALESCE(hex(content), 'NULL') || '|' || typeof(content) FROM attachments ORDER BY type`)
	want := []string{
		link.ID().String() + "|application/pdf|NULL|https://example.com/a.pdf||null",
		picture.ID().String() + "|image/png|NULL|NULL|89504E4700|blob",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attachments (-want +got):\n%s", diff)
	}
	if a, ok, err := l.Attachment(t.Context(), picture.ID()); a != picture || !ok || err != nil {
		t.Errorf("got %+v, %v, %v", a, ok, err)
	}
	if _, ok, err := l.Attachment(t.Context(), fragments.Sum("absent")); ok || err != nil {
		t.Errorf("absent: got %v, %v", ok, err)
	}
	ids, err := l.Find(t.Context(), picture.ID().String()[:8], 2)
	if len(ids) != 1 || ids[0] != picture.ID() || err != nil {
		t.Errorf("Find: got %v, %v", ids, err)
	}
	execute(t, file, `ALTER TABLE attachments RENAME TO other`)
	if err := l.PutAttachments(t.Context(), &fragments.AttachmentRow{Attachment: picture, ID: picture.ID()}); err == nil || !strings.Contains(err.Error(), "attachments") {
		t.Errorf("PutAttachments without the table: got %v", err)
	}
	execute(t, file, `ALTER TABLE other RENAME TO attachments`)
	changed := fragments.Sum("changed")
	execute(t, file, `INSERT INTO attachments (id, content) VALUES ('`+changed.String()+`', X'00')`)
	for id, want := range map[fragments.Hash]string{link.ID(): "name its file or URL", changed: "was changed"} {
		if _, ok, err := l.Attachment(t.Context(), id); ok || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v, want an error with %q", ok, err, want)
		}
	}
}
