package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Limits of the live sessions of a database.
const (
	liveAge = 7 * 24 * time.Hour // since the last event
	maxLive = 100_000            // those with the latest events stay
)

// nowMS is the server's clock in milliseconds, so that the clocks of its clients do not count.
const nowMS = `(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT`

// IsServer reports whether the database is a PostgreSQL server, which several machines can use.
func (d *DB) IsServer() bool { return d.server != "" }

// TakeLive gives the record of a live session to a holder for the time of lease, so that no other holder
// changes the session meanwhile. taken is false if another holder has it. A new session has no record. Live
// sessions are those of servers that answer agents' events; the database must be a server.
func (d *DB) TakeLive(
	ctx context.Context, name, holder string, lease time.Duration,
) (record []byte, taken bool, err error) {
	err = d.read(ctx, func(ctx context.Context, db *sql.DB) error { // one statement, which may run again
		err := db.QueryRowContext(ctx, `INSERT INTO starhost_live (name, holder, ends, used, record)
VALUES ($1, $2, `+nowMS+` + $3, `+nowMS+`, '') ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, ends = excluded.ends, used = excluded.used
WHERE starhost_live.ends < `+nowMS+` OR starhost_live.holder = excluded.holder RETURNING record`,
			[]byte(name), []byte(holder), lease.Milliseconds()).Scan(&record)
		taken = err == nil
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	if taken && len(record) == 0 && d.newLive.Add(1)%256 == 1 {
		_ = d.dropLive(ctx) // another event tries again
	}
	return record, taken, err
}

// StoreLive replaces the record of a live session; nil keeps it. held is false, and nothing changes, if the
// lease has ended and another holder has taken the session. The holder has the session for the time of lease
// from now on; 0 gives it back.
func (d *DB) StoreLive(
	ctx context.Context, name, holder string, record []byte, lease time.Duration,
) (held bool, err error) {
	err = d.read(ctx, func(ctx context.Context, db *sql.DB) error {
		result, err := db.ExecContext(ctx, `UPDATE starhost_live SET record = COALESCE($3, record),
ends = CASE WHEN $4 > 0 THEN `+nowMS+` + $4 ELSE 0 END WHERE name = $1 AND holder = $2`,
			[]byte(name), []byte(holder), record, lease.Milliseconds())
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		held = n > 0
		return err
	})
	return held && err == nil, err
}

// dropLive removes the live sessions that are over the limits and that nobody holds.
func (d *DB) dropLive(ctx context.Context) error {
	return d.read(ctx, func(ctx context.Context, db *sql.DB) error {
		_, err := db.ExecContext(ctx, `DELETE FROM starhost_live WHERE ends < `+nowMS+` AND used < GREATEST(`+nowMS+` - $1,
COALESCE((SELECT used FROM starhost_live ORDER BY used DESC OFFSET $2 LIMIT 1), 0))`, liveAge.Milliseconds(), int64(maxLive))
		return err
	})
}
