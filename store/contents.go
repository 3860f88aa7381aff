package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost/fragments"
)

// Bounds of contents and aliases.
const (
	maxContent = 64 << 20 // bytes of a content
	maxSource  = 1000     // bytes of its source; the rest is cut
	maxAliases = 10_000
)

const day = 24 * time.Hour

// expired is the condition for contents that were last stored before a time, and that neither an
// alias nor a session names.
const expired = `stored < $1 AND NOT EXISTS (SELECT 1 FROM starhost_alias WHERE starhost_alias.id = starhost_content.id)
AND NOT EXISTS (SELECT 1 FROM starhost_session_content WHERE starhost_session_content.content = starhost_content.id)`

// Put implements fragments.Store. It removes some expired contents, too; see [Options].Keep.
func (d *DB) Put(ctx context.Context, contents ...fragments.Content) error {
	now := d.clock()
	contents = d.recent.unknown(contents, now)
	if len(contents) == 0 {
		return nil
	}
	err := d.put(ctx, contents, "", now)
	if err == nil {
		d.recent.add(contents, now)
	}
	return err
}

// PutAttachments stores the bytes of attachments as contents with a type. It stores no URL, because
// the model fetches what is there. A text with the same bytes stays a text.
func (d *DB) PutAttachments(ctx context.Context, list ...*fragments.AttachmentRow) error {
	byType := map[string][]fragments.Content{}
	for _, a := range list {
		if a.URL == "" {
			kind := cmp.Or(a.Type, "application/octet-stream")
			c := fragments.Content{ID: a.ID, Text: a.Content, Source: cmp.Or(a.Source, a.Name)}
			byType[kind] = append(byType[kind], c)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(byType)) {
		if err := d.put(ctx, byType[kind], kind, d.clock()); err != nil {
			return err
		}
	}
	return nil
}

// put stores the contents of a type that are not stored, or whose time is a day old. Most prompts repeat
// contents, and a read waits for no writer.
func (d *DB) put(ctx context.Context, contents []fragments.Content, kind string, now time.Time) error {
	query := `SELECT COUNT(*) FROM starhost_content WHERE id = $1 AND stored > $2`
	if kind == "" {
		query += ` AND LENGTH(type) = 0`
	}
	id := func(c fragments.Content) any { return c.ID[:] }
	put := func(due []fragments.Content) error { return d.putDue(ctx, due, kind, now) }
	return putAbsent(ctx, d, query, contents, id, put, now.Add(-day).Unix())
}

// putDue stores contents. A content that is put as a text once is a text.
func (d *DB) putDue(ctx context.Context, due []fragments.Content, kind string, now time.Time) error {
	for _, c := range due {
		if len(c.Text) > maxContent {
			return fmt.Errorf("store: got a content of %d bytes, want at most %d", len(c.Text), maxContent)
		}
	}
	return d.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for _, c := range due {
			_, err := tx.ExecContext(ctx, `INSERT INTO starhost_content (id, text, stored, source, type) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (id) DO UPDATE SET stored = excluded.stored,
type = CASE WHEN LENGTH(starhost_content.type) = 0 THEN starhost_content.type ELSE excluded.type END
WHERE starhost_content.stored < excluded.stored OR LENGTH(excluded.type) = 0`,
				c.ID[:], []byte(c.Text), now.Unix(), []byte(c.Source[:min(len(c.Source), maxSource)]), []byte(kind))
			if err != nil {
				return err
			}
		}
		if d.keep <= 0 {
			return nil
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM starhost_content WHERE id IN
(SELECT id FROM starhost_content WHERE `+expired+` LIMIT 100)`, now.Add(-d.keep).Unix())
		return err
	})
}

// Attachment returns the attachment of an id; ok is false if there is none.
func (d *DB) Attachment(ctx context.Context, id fragments.Hash) (a fragments.Attachment, ok bool, err error) {
	text, kind, ok, err := d.find(ctx, id)
	if !ok || kind == "" {
		return a, false, err
	}
	return fragments.Attachment{Content: text, Type: kind}, true, nil
}

// find returns a content and its type.
func (d *DB) find(ctx context.Context, id fragments.Hash) (text, kind string, ok bool, err error) {
	err = d.read(ctx, func(ctx context.Context, db *sql.DB) error {
		var data, typ []byte
		err := db.QueryRowContext(ctx, `SELECT text, type FROM starhost_content WHERE id = $1`, id[:]).Scan(&data, &typ)
		if text, kind, ok = string(data), string(typ), err == nil; ok && fragments.Sum(text) != id {
			return &schemaError{fmt.Sprintf("the content of %s has another hash: the database is damaged", id)}
		}
		return err
	})
	if !ok || kind != "" {
		d.recent.remove(id)
	}
	return text, kind, ok && err == nil, err
}

// Find implements fragments.Store.
func (d *DB) Find(ctx context.Context, digits string, limit int) ([]fragments.Hash, error) {
	column := func(id fragments.Hash) any { return id[:] }
	return d.findIDs(ctx, digits, limit, `SELECT id FROM starhost_content WHERE id >= $1 AND id <= $2 ORDER BY id LIMIT $3`, column, scanID)
}

// findIDs returns the ids with some first digits that a query finds: from $1 to $2, at most $3. column and scan
// convert an id to a value of the column and back.
func (d *DB) findIDs(
	ctx context.Context, digits string, limit int, query string, column func(fragments.Hash) any, scan func([]byte) fragments.Hash,
) (ids []fragments.Hash, err error) {
	first, err := padHash(digits, "0")
	if err != nil {
		return nil, err
	}
	last, _ := padHash(digits, "f") // as valid as the first
	err = d.read(ctx, func(ctx context.Context, db *sql.DB) error {
		found, err := texts(ctx, db, query, column(first), column(last), int64(limit))
		ids = nil
		for _, text := range found {
			if id := scan([]byte(text)); !id.IsZero() {
				ids = append(ids, id)
			}
		}
		return err
	})
	return ids, err
}

// padHash returns the id that begins with some digits and continues with repetitions of one
// digit.
func padHash(digits, digit string) (fragments.Hash, error) {
	return fragments.ParseHash(digits + strings.Repeat(digit, max(0, 2*len(fragments.Hash{})-len(digits))))
}

// SetAlias implements fragments.Store.
func (d *DB) SetAlias(ctx context.Context, name string, id fragments.Hash) error {
	if err := fragments.CheckAlias(name); err != nil {
		return err
	}
	return d.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if id.IsZero() {
			_, err := tx.ExecContext(ctx, `DELETE FROM starhost_alias WHERE name = $1`, []byte(name))
			return err
		}
		var stored, others int
		err := tx.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM starhost_content WHERE id = $1), (SELECT COUNT(*) FROM starhost_alias WHERE name <> $2)`,
			id[:], []byte(name)).Scan(&stored, &others)
		if err = cmp.Or(err, checkAlias(name, id, stored > 0, others)); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO starhost_alias (name, id) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET id = excluded.id`, []byte(name), id[:])
		return err
	})
}

// checkAlias refuses an alias for a content that is not stored, and one more beside so many others.
func checkAlias(name string, id fragments.Hash, isStored bool, others int) error {
	switch {
	case !isStored:
		return &refusal{fmt.Errorf("alias %s: got %s, want a content of the store", name, id)}
	case others >= maxAliases:
		return &refusal{fmt.Errorf("fragment store: got %d aliases, want at most %d", others+1, maxAliases)}
	}
	return nil
}

// Alias implements fragments.Store.
func (d *DB) Alias(ctx context.Context, name string) (id fragments.Hash, ok bool, err error) {
	err = d.read(ctx, func(ctx context.Context, db *sql.DB) error {
		var data []byte
		err := db.QueryRowContext(ctx, `SELECT id FROM starhost_alias WHERE name = $1`, []byte(name)).Scan(&data)
		ok = err == nil && copy(id[:], data) == len(id)
		return err
	})
	return id, ok, err
}

// Aliases implements fragments.Store.
func (d *DB) Aliases(ctx context.Context) (names []string, err error) {
	err = d.read(ctx, func(ctx context.Context, db *sql.DB) error {
		names, err = texts(ctx, db, `SELECT name FROM starhost_alias ORDER BY name`)
		return err
	})
	return names, err
}

// Fragments returns the database as a fragments.Store.
func (d *DB) Fragments() fragments.Store { return contentStore{d} }

// A contentStore is a DB whose Get returns contents.
type contentStore struct{ *DB }

// Get implements fragments.Store.
func (c contentStore) Get(ctx context.Context, id fragments.Hash) (text string, ok bool, err error) {
	text, kind, ok, err := c.find(ctx, id)
	if !ok || kind != "" {
		return "", false, err
	}
	return text, true, nil
}
