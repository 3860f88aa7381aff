package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/fragments"
)

const (
	// longPatience is the longest time of a use that reads or removes many contents.
	longPatience = 2 * time.Minute
	// maxListed is the most contents of a list, unless a Filter says otherwise.
	maxListed = 1000
	// maxBegin is the most bytes of a content in a list.
	maxBegin = 200
)

// An Item describes a stored content.
type Item struct {
	ID      fragments.Hash `json:"id"`
	Size    int64          `json:"size"`    // bytes
	Stored  time.Time      `json:"stored"`  // when a prompt last contained it, to the day
	Source  string         `json:"source"`  // the reference or the plugin that it first came from, "" if unknown
	Aliases []string       `json:"aliases"` // sorted, never nil
	Begin   string         `json:"begin"`   // at most the first 200 bytes of the text, or the type of an attachment
}

// A Filter selects contents. The zero value selects all.
type Filter struct {
	// Texts must all occur in the content, its source or an alias, or begin the id. Upper and
	// lower case are equal.
	Texts []string
	// Named selects the contents that have an alias.
	Named bool
	// Limit is the most contents; 0 means 1,000.
	Limit int
}

// List returns the contents that a filter selects, the newest first. more reports whether it
// selects others beyond its limit.
func (d *DB) List(ctx context.Context, f Filter) (list []Item, more bool, err error) {
	part := `SUBSTR(text, 1, 200)`
	if len(f.Texts) > 0 {
		part = `text`
	}
	part = `CASE WHEN LENGTH(type) = 0 THEN ` + part + ` ELSE type END`
	return f.list(ctx, d, `SELECT name, id FROM starhost_alias ORDER BY name`, `SELECT id, LENGTH(text), stored, source, `+part+`
FROM starhost_content ORDER BY stored DESC, id`, scanID)
}

// scanID returns the id that a column has.
func scanID(column []byte) (id fragments.Hash) {
	copy(id[:], column)
	return id
}

// errMore ends a list at its limit.
var errMore = errors.New("there are more contents")

// list returns the rows of a query that the filter selects. A row has an id, a size, a time, a source, and the
// text or its first bytes. A row of the query for aliases has an alias and an id.
func (f *Filter) list(
	ctx context.Context, d *DB, aliases, query string, scan func([]byte) fragments.Hash,
) (list []Item, more bool, err error) {
	limit := cmp.Or(max(f.Limit, 0), maxListed)
	err = d.readFor(ctx, longPatience, func(ctx context.Context, db *sql.DB) error {
		list = nil
		byID := map[fragments.Hash][]string{}
		err := eachRow(ctx, db, func(rows *sql.Rows) error {
			var name, id []byte
			err := rows.Scan(&name, &id)
			byID[scan(id)] = append(byID[scan(id)], string(name))
			return err
		}, aliases)
		if err != nil {
			return err
		}
		err = eachRow(ctx, db, func(rows *sql.Rows) error {
			var (
				item             Item
				id, source, text []byte
				stored           int64
			)
			if err := rows.Scan(&id, &item.Size, &stored, &source, &text); err != nil {
				return err
			}
			item.ID = scan(id)
			item.Stored, item.Source, item.Aliases = time.Unix(stored, 0).UTC(), string(source), append([]string{}, byID[item.ID]...)
			if f.Named && len(item.Aliases) == 0 || !f.matches(&item, text) {
				return nil
			}
			if len(list) >= limit {
				return errMore
			}
			item.Begin = string(text[:min(len(text), maxBegin)])
			list = append(list, item)
			return nil
		}, query)
		if more = errors.Is(err, errMore); more {
			return nil
		}
		return err
	})
	return list, more, err
}

// matches reports whether all texts of the filter occur.
func (f *Filter) matches(item *Item, text []byte) bool {
	if len(f.Texts) == 0 {
		return true
	}
	text = bytes.ToLower(text)
	names := append([]string{item.Source}, item.Aliases...)
	return !slices.ContainsFunc(f.Texts, func(want string) bool {
		want = strings.ToLower(want)
		isNamed := slices.ContainsFunc(names, func(name string) bool {
			return strings.Contains(strings.ToLower(name), want)
		})
		return !isNamed && !bytes.Contains(text, []byte(want)) && !strings.HasPrefix(item.ID.String(), want)
	})
}

// An Amount is a number of contents and their bytes.
type Amount struct {
	Contents int64 `json:"fragments"`
	Bytes    int64 `json:"bytes"`
}

// Collect removes the contents that were last stored before a time and that neither an alias nor a
// session names, and returns what it removed. A dry run removes nothing.
func (d *DB) Collect(ctx context.Context, before time.Time, dry bool) (removed Amount, err error) {
	count := func(ctx context.Context, q querier) error {
		return q.QueryRowContext(ctx, `SELECT COUNT(*), CAST(COALESCE(SUM(LENGTH(text)), 0) AS BIGINT)
FROM starhost_content WHERE `+expired, before.Unix()).Scan(&removed.Contents, &removed.Bytes)
	}
	err = d.readFor(ctx, longPatience, func(ctx context.Context, db *sql.DB) error { return count(ctx, db) })
	if err != nil || dry || removed.Contents == 0 {
		return removed, err
	}
	err = d.writeFor(ctx, longPatience, func(ctx context.Context, tx *sql.Tx) error {
		if err := count(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM starhost_content WHERE `+expired, before.Unix())
		return err
	})
	if err == nil && d.server == "" {
		err = d.shrink(ctx)
	}
	return removed, err
}

// shrink gives the free pages of a SQLite file back to the system. Another process that uses the
// file can prevent it, which is no error.
func (d *DB) shrink(ctx context.Context) error {
	h, err := d.open(ctx, true)
	if err == nil {
		_, _ = h.write.ExecContext(ctx, `VACUUM`)
	}
	return err
}
