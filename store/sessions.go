package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
)

// MaxSession is the most bytes of a stored session, in JSON.
const MaxSession = 32 << 20

// A Session describes a stored session.
type Session struct {
	ID, Agent string
	Version   int64 // how often it was stored
	Turns     int
	Status    string    // [host.SavedSession.Status]
	Size      int64     // bytes
	Created   time.Time // when it was first stored
	Stored    time.Time // when it was last stored
}

// encodeSession returns a session as JSON. It refuses a session that is too large.
func encodeSession(s host.SavedSession) ([]byte, error) {
	if err := (host.SessionConfig{ID: s.ID}).CheckID(); err != nil {
		return nil, err
	}
	s.Version++
	text, err := jsontext.Encode(&s)
	if err != nil {
		return nil, fmt.Errorf("session %q: %w", s.ID, err)
	}
	if text = append(text, '\n'); len(text) > MaxSession {
		return nil, fmt.Errorf("session %q: got %d bytes, want at most %d (store.MaxSession): messages, ctx.state and attachments count",
			s.ID, len(text), MaxSession)
	}
	return text, nil
}

// decodeSession returns a session, after it checked the sum.
func decodeSession(id string, version int64, data, sum []byte) (s host.SavedSession, err error) {
	want := sha256.Sum256(data)
	if bytes.Equal(sum, want[:]) {
		err = json.Unmarshal(data, &s)
	} else {
		err = errors.New("its sum is wrong")
	}
	if err != nil || s.ID != id || s.Version != version {
		return host.SavedSession{}, &schemaError{fmt.Sprintf(
			"session %q is damaged, and stays as it is (starhost sessions rm removes it)", id)}
	}
	return s, nil
}

// busyError says that the store has another version of a session than the caller.
func busyError(id string, version int64) error {
	return fmt.Errorf("session %q: %w: another process has stored it after version %d", id, host.ErrBusy, version)
}

// LoadSession implements host.SessionStore.
func (d *DB) LoadSession(ctx context.Context, id string) (s host.SavedSession, err error) {
	err = d.read(ctx, func(ctx context.Context, db *sql.DB) error {
		var version int64
		var data, sum []byte
		err := db.QueryRowContext(ctx, `SELECT version, sum, data FROM starhost_session WHERE id = $1`, []byte(id)).
			Scan(&version, &sum, &data)
		if err != nil {
			return err
		}
		s, err = decodeSession(id, version, data, sum)
		return err
	})
	return s, err
}

// StoreSession implements host.SessionStore.
func (d *DB) StoreSession(ctx context.Context, s host.SavedSession) error {
	data, err := encodeSession(s)
	if err != nil {
		return err
	}
	sum, busy := sha256.Sum256(data), false
	err = d.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		changed, err := d.putSession(ctx, tx, &s, data, sum[:])
		if busy = changed == 0; err != nil || busy {
			return err
		}
		return putReferences(ctx, tx, &s)
	})
	var unsure *commitError
	if errors.As(err, &unsure) && d.hasSession(ctx, s.ID, sum[:]) {
		return nil
	}
	if err == nil && busy {
		err = busyError(s.ID, s.Version)
	}
	return err
}

// putSession inserts or updates the row of a session, and returns the number of changed rows.
func (d *DB) putSession(
	ctx context.Context, tx *sql.Tx, s *host.SavedSession, data, sum []byte,
) (changed int64, err error) {
	statement := `UPDATE starhost_session SET version = $1, agent = $2, turns = $3, status = $4, stored = $5, sum = $6, data = $7
WHERE id = $8 AND version = $9`
	now := d.clock().Unix()
	args := []any{s.Version + 1, []byte(s.Agent), int64(s.Turns), []byte(s.Status()), now, sum, data, []byte(s.ID)}
	if s.Version == 0 {
		statement = `INSERT INTO starhost_session (version, agent, turns, status, stored, created, sum, data, id)
VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING`
	} else {
		args = append(args, s.Version)
	}
	result, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// putReferences replaces the contents that a session refers to.
func putReferences(ctx context.Context, tx *sql.Tx, s *host.SavedSession) error {
	id := []byte(s.ID)
	rows, err := texts(ctx, tx, `SELECT content FROM starhost_session_content WHERE session = $1`, id)
	if err != nil {
		return err
	}
	old := make(map[fragments.Hash]bool, len(rows))
	for _, row := range rows {
		old[scanID([]byte(row))] = true
	}
	for _, content := range s.Contents() {
		if old[content] {
			delete(old, content)
			continue
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO starhost_session_content (session, content) VALUES ($1, $2)`, id, content[:])
		if err != nil {
			return err
		}
	}
	for content := range old {
		_, err := tx.ExecContext(ctx, `DELETE FROM starhost_session_content WHERE session = $1 AND content = $2`, id, content[:])
		if err != nil {
			return err
		}
	}
	return nil
}

// hasSession reports whether a session was stored with a sum, after a commit without an answer.
func (d *DB) hasSession(ctx context.Context, id string, sum []byte) (has bool) {
	err := d.read(ctx, func(ctx context.Context, db *sql.DB) error {
		var stored []byte
		err := db.QueryRowContext(ctx, `SELECT sum FROM starhost_session WHERE id = $1`, []byte(id)).Scan(&stored)
		has = bytes.Equal(sum, stored)
		return err
	})
	return has && err == nil
}

// RemoveSession removes a session, also a damaged one, and reports whether there was one. Contents
// to which only this session refers can expire.
func (d *DB) RemoveSession(ctx context.Context, id string) (existed bool, err error) {
	err = d.read(ctx, func(ctx context.Context, db *sql.DB) error { // a write would make a file
		var n int
		err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM starhost_session WHERE id = $1`, []byte(id)).Scan(&n)
		existed = n > 0
		return err
	})
	if err != nil || !existed {
		return false, err
	}
	err = d.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM starhost_session WHERE id = $1`, []byte(id))
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		existed = n > 0
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM starhost_session_content WHERE session = $1`, []byte(id))
		return err
	})
	return existed && err == nil, err
}

// Sessions returns at most limit sessions, the last stored first.
func (d *DB) Sessions(ctx context.Context, limit int) (list []Session, err error) {
	err = d.readFor(ctx, longPatience, func(ctx context.Context, db *sql.DB) error {
		list = nil
		return eachRow(ctx, db, func(rows *sql.Rows) error {
			var (
				s                 Session
				id, agent, status []byte
				created, stored   int64
			)
			err := rows.Scan(&id, &agent, &s.Version, &s.Turns, &status, &s.Size, &created, &stored)
			s.ID, s.Agent, s.Status = string(id), string(agent), string(status)
			s.Created, s.Stored = time.Unix(created, 0).UTC(), time.Unix(stored, 0).UTC()
			list = append(list, s)
			return err
		}, `SELECT id, agent, version, turns, status, LENGTH(data), created, stored
FROM starhost_session ORDER BY stored DESC, id LIMIT $1`, int64(limit))
	})
	return list, err
}
