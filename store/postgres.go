package store

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/lib/pq"
	"github.com/ncruces/go-sqlite3"
)

// answerTime is the longest time between two packets of a server that answers. Without it, a use
// would wait forever for a server that stopped, because the driver waits for the answer.
const answerTime = 4 * time.Second

// openServer returns the handles of a PostgreSQL server. The driver is lib/pq, because linking pgx
// made every command slower, by 0.3 of a hello-world program.
func openServer(server string) (h handles, err error) {
	c, err := pq.NewConnector(withConnectTimeout(server))
	if err != nil {
		return h, errors.New("the URL is not valid") // the driver's error may have the password
	}
	c.Dialer(new(impatientDialer))
	h.write = sql.OpenDB(c)
	h.write.SetMaxOpenConns(8)
	h.read = h.write
	return h, nil
}

// withConnectTimeout adds a limit to a URL of PostgreSQL that has none.
func withConnectTimeout(server string) string {
	u, err := url.Parse(server)
	if err != nil || u.Query().Has("connect_timeout") {
		return server
	}
	q := u.Query()
	q.Set("connect_timeout", "4")
	u.RawQuery = q.Encode()
	return u.String()
}

// An impatientDialer makes connections whose reads end after answerTime. It implements pq.Dialer
// and pq.DialerContext.
type impatientDialer struct{ net.Dialer }

func (d *impatientDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

func (d *impatientDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return impatientConn{conn}, nil
}

type impatientConn struct{ net.Conn }

func (c impatientConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(answerTime)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// passes reports whether a failure can pass: a lock, or a server that starts again.
func (d *DB) passes(err error) bool {
	var committing *commitError
	if d.server == "" {
		var failure *sqlite3.Error
		return errors.As(err, &failure) && failure.Code() == sqlite3.BUSY || errors.Is(err, sqlite3.BUSY)
	}
	if errors.As(err, &committing) || errors.Is(err, context.Canceled) {
		return false
	}
	var answer interface{ SQLState() string }
	if !errors.As(err, &answer) {
		var mine *schemaError
		return !errors.As(err, &mine) // the network
	}
	state := answer.SQLState()
	return strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P") || state == "40001" || state == "40P01" || state == "53300" ||
		state == "23503" // an alias for a content that another process removed
}
