package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// migrations are the steps of the schema. Step n brings a database from version n to n+1. A step
// never changes once a release has it. BYTEA contains any bytes in both databases.
var migrations = []string{
	`CREATE TABLE starhost_value (plugin BYTEA NOT NULL, name BYTEA NOT NULL, value BYTEA NOT NULL);
CREATE UNIQUE INDEX starhost_value_key ON starhost_value (plugin, name);
CREATE TABLE starhost_plugin (plugin BYTEA NOT NULL, size BIGINT NOT NULL);
CREATE UNIQUE INDEX starhost_plugin_key ON starhost_plugin (plugin);
CREATE TABLE starhost_content (id BYTEA NOT NULL, text BYTEA NOT NULL, stored BIGINT NOT NULL);
CREATE UNIQUE INDEX starhost_content_key ON starhost_content (id);
CREATE TABLE starhost_alias (name BYTEA NOT NULL, id BYTEA NOT NULL REFERENCES starhost_content (id));
CREATE UNIQUE INDEX starhost_alias_key ON starhost_alias (name)`,
	`ALTER TABLE starhost_content ADD COLUMN source BYTEA NOT NULL DEFAULT '';
CREATE INDEX starhost_content_stored ON starhost_content (stored)`,
	`CREATE TABLE starhost_session (id BYTEA NOT NULL, agent BYTEA NOT NULL, version BIGINT NOT NULL, turns BIGINT NOT NULL, status BYTEA NOT NULL,
created BIGINT NOT NULL, stored BIGINT NOT NULL, sum BYTEA NOT NULL, data BYTEA NOT NULL);
CREATE UNIQUE INDEX starhost_session_key ON starhost_session (id);
CREATE INDEX starhost_session_stored ON starhost_session (stored);
CREATE TABLE starhost_session_content (session BYTEA NOT NULL, content BYTEA NOT NULL);
CREATE UNIQUE INDEX starhost_session_content_key ON starhost_session_content (session, content);
CREATE INDEX starhost_session_content_id ON starhost_session_content (content)`,
	`ALTER TABLE starhost_content ADD COLUMN type BYTEA NOT NULL DEFAULT ''`, // an attachment's; empty for a text
	`CREATE TABLE starhost_live (name BYTEA NOT NULL, holder BYTEA NOT NULL, ends BIGINT NOT NULL, used BIGINT NOT NULL, record BYTEA NOT NULL);
CREATE UNIQUE INDEX starhost_live_key ON starhost_live (name);
CREATE INDEX starhost_live_used ON starhost_live (used)`,
}

// migrationLock is the number of the advisory lock that a migration of PostgreSQL takes.
const migrationLock = 0x57a2

// A schemaError says why starhost does not use a database.
type schemaError struct{ msg string }

func (e *schemaError) Error() string { return e.msg }

// migrate brings the schema up to date.
func (d *DB) migrate(ctx context.Context, h *handles) error {
	version, err := d.version(ctx, h.read)
	if err != nil || version == len(migrations) {
		return err
	}
	tx, err := h.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	if d.server != "" {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
			return err
		}
	}
	version, err = d.version(ctx, tx) // another process may have been first
	if err != nil || version == len(migrations) {
		return err
	}
	if version == 0 {
		if _, err := tx.ExecContext(ctx, `CREATE TABLE starhost_schema (version BIGINT NOT NULL)`); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO starhost_schema (version) VALUES (0)`); err != nil {
			return err
		}
	}
	for _, step := range migrations[version:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("migration: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, `UPDATE starhost_schema SET version = $1`, int64(len(migrations))); err != nil {
		return err
	}
	return tx.Commit()
}

// A querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// version returns the version of the schema, 0 for an empty database.
func (d *DB) version(ctx context.Context, q querier) (int, error) {
	tables := `SELECT COUNT(*), COALESCE(SUM(CASE WHEN name = 'starhost_schema' THEN 1 ELSE 0 END), 0) FROM sqlite_master`
	if d.server != "" {
		tables = `SELECT COUNT(*), COUNT(*) FROM pg_tables WHERE tablename = 'starhost_schema' AND schemaname = current_schema()`
	}
	var all, ours, version int
	if err := q.QueryRowContext(ctx, tables).Scan(&all, &ours); err != nil {
		return 0, err
	}
	switch {
	case ours == 0 && all > 0:
		return 0, &schemaError{"the file is a database of another program: name another file"}
	case ours == 0:
		return 0, nil
	}
	err := q.QueryRowContext(ctx, `SELECT version FROM starhost_schema`).Scan(&version)
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && version < 1:
		return 0, &schemaError{"the database has no version: it is damaged"}
	case err != nil:
		return 0, err
	case version > len(migrations):
		return 0, &schemaError{fmt.Sprintf(
			"the database has version %d, and this starhost knows versions up to %d: use a newer starhost", version, len(migrations))}
	}
	return version, nil
}
