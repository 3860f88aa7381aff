// Package tracetest makes homes for tests, with the transcripts that a run of a real agent left. The
// fixtures come from TestTraces of e2e/agents.
package tracetest

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver" // the driver "sqlite3"
)

// Home returns a home with the transcripts of an agent, from the folder testdata of agents/trace.
func Home(t testing.TB, testdata, agent string) string {
	t.Helper()
	home := t.TempDir()
	if err := os.CopyFS(home, os.DirFS(filepath.Join(testdata, agent))); err != nil {
		t.Fatal(err)
	}
	if agent == "opencode" {
		Database(t, filepath.Join(home, "rows.jsonl"), filepath.Join(home, ".local/share/opencode"))
	}
	return home
}

// Database makes a database as opencode leaves it if it is killed: the rows of a file are in its
// write-ahead log only. Other statements may make other tables than opencode's.
func Database(t testing.TB, rows, dir string, schema ...string) {
	t.Helper()
	text, err := os.ReadFile(rows)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(work, "opencode.db")+"?_pragma=journal_mode(wal)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	run := func(query string, args ...any) {
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	if schema == nil {
		schema = []string{
			"CREATE TABLE session (id, parent_id, directory, version, time_created)",
			"CREATE TABLE part (id, message_id, session_id, time_created, data)",
		}
	}
	for _, statement := range schema {
		run(statement)
	}
	for line := range bytes.Lines(text) {
		var in struct {
			Table string
			Row   []any
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&in); err != nil {
			t.Fatal(err)
		}
		for i, v := range in.Row {
			if n, ok := v.(json.Number); ok {
				in.Row[i], _ = n.Int64()
			}
		}
		run("INSERT INTO "+in.Table+" VALUES (?, ?, ?, ?, ?)", in.Row...)
	}
	for _, name := range []string{"opencode.db", "opencode.db-wal"} { // closing would move the rows
		text, err := os.ReadFile(filepath.Join(work, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
