package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/starhost/starhost/fragments"
)

// llmColumns are the columns of logs.db that starhost uses, by table.
var llmColumns = [...]struct {
	table   string
	columns []string
}{
	{"fragments", []string{"id", "hash", "content", "datetime_utc", "source"}},
	{"fragment_aliases", []string{"alias", "fragment_id"}},
	{"attachments", []string{"id", "type", "path", "url", "content"}},
}

// LLM is the database logs.db of the program llm as a store of fragments: llm -f and starhost -f
// find the fragments and aliases of both. It never makes the file, changes its tables or its
// journal mode, or removes a fragment, because llm's migrations own it. Its methods are safe for
// concurrent use, also by several processes.
type LLM struct{ db *DB }

// OpenLLM returns the file of llm, and does not open it yet.
func OpenLLM(file string) *LLM {
	db := newDB(nil)
	db.file, db.label, db.foreign = file, "store llm:"+file, true
	return &LLM{db}
}

// Close closes the connections. A later use opens them again.
func (l *LLM) Close() error { return l.db.Close() }

// Name returns the URL of the store.
func (l *LLM) Name() string { return strings.TrimPrefix(l.db.label, "store ") }

// openForeign opens a file of llm and checks that it has the columns.
func openForeign(ctx context.Context, file string) (*handles, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, &schemaError{"there is no such file, and only llm makes it: llm logs path shows its place"}
	}
	if err := checkFiles(file); err != nil {
		return nil, &schemaError{err.Error()}
	}
	path := (&url.URL{Path: filepath.ToSlash(file)}).EscapedPath()
	db, err := sql.Open("sqlite3", fmt.Sprintf("file:%s?mode=rw&_txlock=immediate&_pragma=busy_timeout(%d)&_pragma=foreign_keys(on)",
		path, patience.Milliseconds()))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	if err := checkForeign(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &handles{read: db, write: db}, nil
}

// checkForeign returns an error if a column is missing.
func checkForeign(ctx context.Context, db *sql.DB) error {
	for _, t := range llmColumns {
		found, err := texts(ctx, db, `SELECT name FROM pragma_table_info($1)`, t.table)
		if err != nil {
			return err
		}
		for _, column := range t.columns {
			if !slices.Contains(found, column) {
				return &schemaError{fmt.Sprintf("the table %s has no column %s: this is no logs.db of llm 0.24 or newer", t.table, column)}
			}
		}
	}
	return nil
}

// Put implements fragments.Store. It refuses text that is not UTF-8, which llm cannot read.
func (l *LLM) Put(ctx context.Context, contents ...fragments.Content) error {
	now := l.db.clock()
	contents = l.db.recent.unknown(contents, now)
	if len(contents) == 0 {
		return nil
	}
	id := func(c fragments.Content) any { return c.ID.String() }
	put := func(missing []fragments.Content) error { return l.putMissing(ctx, missing, now) }
	err := putAbsent(ctx, l.db, `SELECT COUNT(*) FROM fragments WHERE hash = $1`, contents, id, put)
	if err == nil {
		l.db.recent.add(contents, now)
	}
	return err
}

// putMissing stores contents.
func (l *LLM) putMissing(ctx context.Context, missing []fragments.Content, at time.Time) error {
	for _, c := range missing {
		switch {
		case len(c.Text) > maxContent:
			return fmt.Errorf("store: got a content of %d bytes, want at most %d", len(c.Text), maxContent)
		case !utf8.ValidString(c.Text):
			return fmt.Errorf("%s: got a content that is not UTF-8, which llm cannot read", l.db.label)
		}
	}
	now := at.UTC().Format("2006-01-02 15:04:05.000000+00:00") // as llm writes it
	return l.db.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, c := range missing {
			source := nullText(strings.ToValidUTF8(c.Source[:min(len(c.Source), maxSource)], ""))
			_, err := tx.ExecContext(ctx, `INSERT INTO fragments (hash, content, datetime_utc, source)
SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT 1 FROM fragments WHERE hash = $1)`, c.ID.String(), c.Text, now, source)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Get implements fragments.Store. A text that another program changed is an error.
func (l *LLM) Get(ctx context.Context, id fragments.Hash) (text string, ok bool, err error) {
	err = l.db.read(ctx, func(ctx context.Context, db *sql.DB) error {
		var data []byte
		err := db.QueryRowContext(ctx, `SELECT CAST(content AS BLOB) FROM fragments WHERE hash = $1`, id.String()).Scan(&data)
		if text, ok = string(data), err == nil; ok && fragments.Sum(text) != id {
			return &schemaError{fmt.Sprintf("the content of %s has another hash: it was changed", id)}
		}
		return err
	})
	if !ok {
		l.db.recent.remove(id)
	}
	return text, ok && err == nil, err
}

// Find implements fragments.Store. It finds attachments, too.
func (l *LLM) Find(ctx context.Context, digits string, limit int) ([]fragments.Hash, error) {
	column := func(id fragments.Hash) any { return id.String() }
	return l.db.findIDs(ctx, digits, limit, `SELECT hash FROM fragments WHERE hash >= $1 AND hash <= $2
UNION SELECT id FROM attachments WHERE id >= $1 AND id <= $2 ORDER BY 1 LIMIT $3`, column, scanDigits)
}

// SetAlias implements fragments.Store.
func (l *LLM) SetAlias(ctx context.Context, name string, id fragments.Hash) error {
	if id.IsZero() { // llm allows other names
		return l.db.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `DELETE FROM fragment_aliases WHERE alias = $1`, name)
			return err
		})
	}
	if err := fragments.CheckAlias(name); err != nil {
		return err
	}
	return l.db.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var row, others int
		err := tx.QueryRowContext(ctx, `SELECT COALESCE((SELECT id FROM fragments WHERE hash = $1), -1),
(SELECT COUNT(*) FROM fragment_aliases WHERE alias <> $2)`, id.String(), name).Scan(&row, &others)
		if err = cmp.Or(err, checkAlias(name, id, row >= 0, others)); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM fragment_aliases WHERE alias = $1`, name); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO fragment_aliases (alias, fragment_id) VALUES ($1, $2)`, name, row)
		return err
	})
}

// Alias implements fragments.Store.
func (l *LLM) Alias(ctx context.Context, name string) (id fragments.Hash, ok bool, err error) {
	err = l.db.read(ctx, func(ctx context.Context, db *sql.DB) error {
		var text string
		err := db.QueryRowContext(ctx, `SELECT fragments.hash FROM fragment_aliases
JOIN fragments ON fragments.id = fragment_aliases.fragment_id WHERE fragment_aliases.alias = $1`, name).Scan(&text)
		if err == nil {
			id, err = fragments.ParseHash(text)
		}
		ok = err == nil
		return err
	})
	return id, ok, err
}

// Aliases implements fragments.Store.
func (l *LLM) Aliases(ctx context.Context) (names []string, err error) {
	err = l.db.read(ctx, func(ctx context.Context, db *sql.DB) error {
		names, err = texts(ctx, db, `SELECT alias FROM fragment_aliases ORDER BY CAST(alias AS BLOB)`)
		return err
	})
	return names, err
}

// List returns the fragments that a filter selects, the newest first, as [DB.List] does.
func (l *LLM) List(ctx context.Context, f Filter) (list []Item, more bool, err error) {
	part := `SUBSTR(CAST(content AS BLOB), 1, 200)`
	if len(f.Texts) > 0 {
		part = `CAST(content AS BLOB)`
	}
	return f.list(ctx, l.db, `SELECT fragment_aliases.alias, fragments.hash FROM fragment_aliases
JOIN fragments ON fragments.id = fragment_aliases.fragment_id ORDER BY CAST(fragment_aliases.alias AS BLOB)`, `SELECT hash, LENGTH(CAST(content AS BLOB)),
COALESCE(CAST(strftime('%s', datetime_utc) AS INTEGER), 0), COALESCE(source, ''), `+part+`
FROM fragments WHERE LENGTH(hash) = 64 AND content IS NOT NULL ORDER BY id DESC`, scanDigits)
}

// scanDigits returns the id that a column has as digits, the zero id if it is none.
func scanDigits(column []byte) fragments.Hash {
	id, _ := fragments.ParseHash(string(column)) // llm never writes others
	return id
}

// Collect returns an error, because llm's conversations refer to the fragments.
func (l *LLM) Collect(context.Context, time.Time, bool) (Amount, error) {
	return Amount{}, fmt.Errorf("%s: only llm removes fragments from its database", l.db.label)
}
