// Package store keeps what outlives the process in a database: the values of ctx.store, the
// contents and aliases of fragments, and sessions. One set of statements serves SQLite and
// PostgreSQL. A DB opens its database when something first uses it, so a command that needs no
// database opens none. The package knows no plugin, no command and no config.
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
	"strings"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"
	_ "github.com/ncruces/go-sqlite3/driver" // the driver "sqlite3"

	"github.com/starhost/starhost/effects"
)

// patience is the longest time that a use of the database takes, with all repetitions.
const patience = 5 * time.Second

// MaxPlugin is the most bytes of a plugin's keys and values if [Options] say nothing else.
const MaxPlugin = 64 << 20

// Options say which database a [DB] is.
type Options struct {
	// URL is sqlite:, sqlite:PATH or postgres://...; a relative PATH starts at Dir.
	URL string
	// Default is the file of the URL sqlite: without a path; if it is empty, each use fails.
	Default string
	Dir     string
	// MaxPlugin is the most bytes of a plugin's keys and values; 0 means [MaxPlugin].
	MaxPlugin int64
	// Keep is the time after which a write of a content may remove contents that no prompt repeated
	// and that neither an alias nor a session names; 0 means that only Collect removes contents.
	Keep time.Duration
	// Clock replaces the system's clock; nil means time.Now.
	Clock func() time.Time
}

// A DB is a database. It implements effects.KV and host.SessionStore, and Fragments returns it
// as a fragments.Store. Its methods are safe for concurrent use, also by several processes. They
// return an error after at most 5 seconds if the database is locked or away, and 15 if a server
// stops answering.
type DB struct {
	label     string // for messages: the file, or the URL without its password
	file      string // the file for SQLite
	server    string // the URL of PostgreSQL
	foreign   bool   // the file belongs to llm
	maxPlugin int64
	keep      time.Duration
	clock     func() time.Time
	recent    recentIDs
	newLive   atomic.Int64 // counts new live sessions

	turn   chan struct{} // has a token; its holder uses opened
	opened *handles      // nil before the first use
}

// handles are the connections of an opened database. PostgreSQL has one pool for both.
type handles struct{ read, write *sql.DB }

// Open returns the database that options name, and does not open it yet.
func Open(o Options) (*DB, error) {
	d := newDB(o.Clock)
	d.maxPlugin, d.keep = cmp.Or(max(o.MaxPlugin, 0), MaxPlugin), o.Keep
	file, isFile := strings.CutPrefix(o.URL, "sqlite:")
	switch {
	case strings.HasPrefix(o.URL, "postgres://"):
		u, err := url.Parse(o.URL)
		if err != nil {
			return nil, errors.New("store: got a URL that cannot be parsed, want postgres://USER@HOST/DATABASE")
		}
		d.server, d.label = o.URL, "store "+u.Redacted()
		return d, nil
	case !isFile:
		return nil, errors.New("store: want sqlite:, sqlite:PATH or postgres:// and an address")
	case file == "":
		file = o.Default
	case !filepath.IsAbs(file):
		file = filepath.Join(o.Dir, file)
	}
	d.file, d.label = file, "store "+cmp.Or(file, o.URL)
	return d, nil
}

// newDB returns a database without a place.
func newDB(clock func() time.Time) *DB {
	d := &DB{clock: clock, turn: make(chan struct{}, 1)}
	if clock == nil {
		d.clock = time.Now
	}
	d.turn <- struct{}{}
	return d
}

// Close closes the connections. A later use opens them again.
func (d *DB) Close() error {
	<-d.turn
	defer func() { d.turn <- struct{}{} }()
	h := d.opened
	d.opened = nil
	if h == nil {
		return nil
	}
	if h.read == h.write {
		return h.write.Close()
	}
	return errors.Join(h.read.Close(), h.write.Close())
}

// Check opens the database if it exists, and returns the error of a use that would fail.
func (d *DB) Check(ctx context.Context) error {
	return d.read(ctx, func(ctx context.Context, db *sql.DB) error { return db.PingContext(ctx) })
}

// open opens the database if it is not open yet, and brings its schema up to date. A reader gets
// nil if there is no file, because a read makes none.
func (d *DB) open(ctx context.Context, write bool) (*handles, error) {
	select { // opening can take all the time that a use has
	case <-d.turn:
	case <-ctx.Done():
		return nil, errors.New("another use is opening the database")
	}
	defer func() { d.turn <- struct{}{} }()
	if d.opened != nil {
		return d.opened, nil
	}
	var h handles
	var err error
	if d.server == "" && d.file == "" {
		return nil, errors.New("there is no folder for the database: want HOME or XDG_DATA_HOME")
	}
	if d.foreign {
		d.opened, err = openForeign(ctx, d.file)
		return d.opened, err
	}
	if d.server != "" {
		if h, err = openServer(d.server); err != nil {
			return nil, err
		}
	} else {
		if _, err := os.Stat(d.file); err != nil && !write && errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		if err := checkFiles(d.file); err != nil {
			return nil, err
		}
		if err := makeFile(d.file, write); err != nil {
			return nil, err
		}
		h, err = openFile(d.file)
		if err != nil {
			return nil, err
		}
	}
	if err := d.migrate(ctx, &h); err != nil {
		return nil, errors.Join(err, h.read.Close(), h.write.Close())
	}
	d.opened = &h
	return d.opened, nil
}

// checkFiles refuses a database whose files are pipes, devices or folders, because SQLite would
// wait for the other end of a pipe for ever.
func checkFiles(file string) error {
	for _, name := range []string{file, file + "-journal", file + "-wal", file + "-shm"} {
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", filepath.Base(name))
		}
	}
	return nil
}

// makeFile makes the file, which only its owner may read, and its folder.
func makeFile(file string, write bool) error {
	if !write {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// openFile returns the handles of a SQLite file. A wait for another process comes first, because
// the other settings can meet a lock, too.
func openFile(file string) (h handles, err error) {
	path := (&url.URL{Path: filepath.ToSlash(file)}).EscapedPath()
	dsn := fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)", path, patience.Milliseconds())
	h.read, err = sql.Open("sqlite3", dsn+"&mode=ro&_pragma=foreign_keys(on)")
	if err != nil {
		return h, err
	}
	h.write, err = sql.Open("sqlite3", dsn+"&mode=rw&_txlock=immediate&modeof="+url.PathEscape(file)+
		"&_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_pragma=foreign_keys(on)")
	if err != nil {
		return h, errors.Join(err, h.read.Close())
	}
	h.read.SetMaxOpenConns(4)
	h.write.SetMaxOpenConns(1)
	return h, nil
}

// read runs a query function on the reading handle. Without a database file, it does not call it. It is no failure
// if a row is missing.
func (d *DB) read(ctx context.Context, f func(ctx context.Context, db *sql.DB) error) error {
	return d.readFor(ctx, patience, f)
}

// readFor is read with another limit of time.
func (d *DB) readFor(
	ctx context.Context, limit time.Duration, f func(ctx context.Context, db *sql.DB) error,
) error {
	return d.repeat(ctx, limit, func(ctx context.Context) error {
		h, err := d.open(ctx, false)
		if err != nil || h == nil {
			return err
		}
		if err = f(ctx, h.read); errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
}

// write runs a function in a transaction, which it commits. It repeats both if another process
// has a lock, or if the connection was lost before the commit.
func (d *DB) write(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	return d.writeFor(ctx, patience, f)
}

// writeFor is write with another limit of time.
func (d *DB) writeFor(
	ctx context.Context, limit time.Duration, f func(ctx context.Context, tx *sql.Tx) error,
) error {
	return d.repeat(ctx, limit, func(ctx context.Context) error {
		h, err := d.open(ctx, true)
		if err != nil {
			return err
		}
		tx, err := h.write.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := f(ctx, tx); err != nil {
			_ = tx.Rollback() // the error of f says more
			return err
		}
		if err := tx.Commit(); err != nil {
			return &commitError{err}
		}
		return nil
	})
}

// A commitError says that a commit failed. The database may have done it, so it is not repeated.
type commitError struct{ error }

func (e *commitError) Unwrap() error { return e.error }

// A refusal is the caller's mistake, or a limit, and no failure of the database.
type refusal struct{ error }

// putAbsent stores the items of a list of which the database has none by put, if there are some: those that a query
// counts as 0, whose first argument is their id.
func putAbsent[T any](ctx context.Context, d *DB, query string, all []T, id func(T) any, put func([]T) error, more ...any) error {
	list := all // without a file it has nothing
	err := d.read(ctx, func(ctx context.Context, db *sql.DB) error {
		list = nil
		for _, item := range all {
			var n int
			if err := db.QueryRowContext(ctx, query, append([]any{id(item)}, more...)...).Scan(&n); err != nil {
				return err
			}
			if n == 0 {
				list = append(list, item)
			}
		}
		return nil
	})
	if err == nil && len(list) > 0 {
		err = put(list)
	}
	return err
}

// repeat calls f until it succeeds or the limit of time ends. It repeats failures that pass, and
// names the database in others.
func (d *DB) repeat(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if coded, ok := errors.AsType[*effects.Error](err); ok {
			return coded
		}
		if refused, ok := errors.AsType[*refusal](err); ok {
			return refused.error
		}
		switch {
		case errors.Is(err, sqlite3.READONLY):
			err = fmt.Errorf("%w: SQLite must be able to write to the file and its folder, even to read", err)
		case errors.Is(err, sqlite3.IOERR):
			err = fmt.Errorf("%w: is the disk full?", err) // the driver does not say why
		}
		if !d.passes(err) {
			return fmt.Errorf("%s: %w", d.label, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: every try failed, the last with: %w", d.label, err)
		case <-time.After(min(wait, 500*time.Millisecond)):
		}
	}
}
