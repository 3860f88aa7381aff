package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"hash/fnv"

	"github.com/starhost/starhost/effects"
)

// Get implements effects.KV.
func (d *DB) Get(ctx context.Context, plugin, key string) (value json.RawMessage, ok bool, err error) {
	err = d.read(ctx, func(ctx context.Context, db *sql.DB) error {
		value, err = getValue(ctx, db, plugin, key)
		return err
	})
	return value, value != nil, err
}

// getValue returns a value, nil if there is none.
func getValue(ctx context.Context, q querier, plugin, key string) (json.RawMessage, error) {
	var value []byte
	err := q.QueryRowContext(ctx, `SELECT value FROM starhost_value WHERE plugin = $1 AND name = $2`,
		[]byte(plugin), []byte(key)).Scan(&value)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if !json.Valid(value) {
		return nil, &schemaError{"a value is no JSON: the database is damaged"}
	}
	return value, nil
}

// Set implements effects.KV.
func (d *DB) Set(ctx context.Context, plugin, key string, value json.RawMessage) error {
	value = append(json.RawMessage{}, value...) // nil deletes
	return d.Update(ctx, plugin, key, func(json.RawMessage) (json.RawMessage, error) { return value, nil })
}

// Delete implements effects.KV.
func (d *DB) Delete(ctx context.Context, plugin, key string) (existed bool, err error) {
	err = d.Update(ctx, plugin, key, func(old json.RawMessage) (json.RawMessage, error) {
		existed = old != nil
		return nil, nil
	})
	return existed && err == nil, err
}

// Update implements effects.KV. If the plugin's keys and values would be larger than
// [Options].MaxPlugin, it returns an error and changes nothing.
func (d *DB) Update(
	ctx context.Context, plugin, key string, change func(old json.RawMessage) (json.RawMessage, error),
) error {
	return d.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := d.lockPlugin(ctx, tx, plugin); err != nil {
			return err
		}
		old, err := getValue(ctx, tx, plugin, key)
		if err != nil {
			return err
		}
		value, err := change(old)
		switch {
		case err != nil:
			return &refusal{err}
		case value == nil && old == nil:
			return nil
		}
		return d.setValue(ctx, tx, plugin, key, old, value)
	})
}

// lockPlugin makes other changes of a plugin's values wait for the transaction. A transaction of
// SQLite has the lock of the whole file.
func (d *DB) lockPlugin(ctx context.Context, tx *sql.Tx, plugin string) error {
	if d.server == "" {
		return nil
	}
	h := fnv.New64a()
	h.Write([]byte(plugin))
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(h.Sum64()))
	return err
}

// setValue replaces a value, and counts the bytes of the plugin. Nil is no value.
func (d *DB) setValue(ctx context.Context, tx *sql.Tx, plugin, key string, old, value json.RawMessage) error {
	var size int64
	err := tx.QueryRowContext(ctx, `SELECT size FROM starhost_plugin WHERE plugin = $1`, []byte(plugin)).Scan(&size)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if old != nil {
		size -= int64(len(key) + len(old))
	}
	if value == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM starhost_value WHERE plugin = $1 AND name = $2`, []byte(plugin), []byte(key))
	} else {
		size += int64(len(key) + len(value))
		if size > d.maxPlugin {
			return effects.StoreSizeError(key, size, d.maxPlugin)
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO starhost_value (plugin, name, value) VALUES ($1, $2, $3)
ON CONFLICT (plugin, name) DO UPDATE SET value = excluded.value`, []byte(plugin), []byte(key), []byte(value))
	}
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO starhost_plugin (plugin, size) VALUES ($1, $2)
ON CONFLICT (plugin) DO UPDATE SET size = excluded.size`, []byte(plugin), size)
	return err
}

// Keys implements effects.KV.
func (d *DB) Keys(ctx context.Context, plugin string) (keys []string, err error) {
	err = d.read(ctx, func(ctx context.Context, db *sql.DB) error {
		keys, err = texts(ctx, db, `SELECT name FROM starhost_value WHERE plugin = $1 ORDER BY name`, []byte(plugin))
		return err
	})
	return keys, err
}

// texts returns the rows of a query with one column.
func texts(ctx context.Context, q querier, query string, args ...any) (list []string, err error) {
	err = eachRow(ctx, q, func(rows *sql.Rows) error {
		var text []byte
		err := rows.Scan(&text)
		list = append(list, string(text))
		return err
	}, query, args...)
	return list, err
}

// eachRow calls do for the rows of a query, up to its first error.
func eachRow(ctx context.Context, q querier, do func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close() // Err says what failed
	for rows.Next() {
		if err := do(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
