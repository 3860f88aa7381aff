package front

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/starhost/starhost/internal/loopback"
)

// These limits bound a token, in bytes.
const (
	minToken = 16
	maxToken = 4 << 10
)

// unixPrefix begins the address of a Unix socket.
const unixPrefix = "unix:"

// Listen opens an address HOST:PORT or unix:PATH. Without a token the address must be one that
// only programs of this machine reach; for a server that needs a token, only the user's own.
func (o Options) Listen(ctx context.Context, address string) (net.Listener, error) {
	if o.Token != "" && len(o.Token) < minToken {
		return nil, fmt.Errorf("token: got %d bytes, want at least %d", len(o.Token), minToken)
	}
	if len(o.Token) > maxToken || strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("token: got %d bytes, want at most %d, all of them visible ASCII: no header has others", len(o.Token), maxToken)
	}
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		return listenUnix(ctx, path)
	}
	host, _, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return nil, fmt.Errorf("address: got %q, want HOST:PORT or unix:PATH", address)
	case o.Token == "" && o.NeedsToken:
		return nil, fmt.Errorf("address: got %q, which other users of this machine reach: want a token, or unix:PATH", address)
	case o.Token == "" && !loopback.Is(host):
		return nil, fmt.Errorf("address: got %q, which others reach: want one as 127.0.0.1:8080, or a token", address)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if o.Token == "" && !l.Addr().(*net.TCPAddr).IP.IsLoopback() { // a host name can resolve to any address
		return nil, errors.Join(fmt.Errorf("address: %q is %s, which others reach: want one as 127.0.0.1:8080, or a token", address, l.Addr()), l.Close())
	}
	return l, nil
}

// listenUnix opens a socket that only the user can connect to. The socket gets its mode in a folder
// of the user before it gets its name, so that nobody else can connect in between.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if err := checkSocket(ctx, path); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".s") // short: the path of a socket has at most 107 bytes
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	hidden := filepath.Join(dir, "s")
	l, err := new(net.ListenConfig).Listen(ctx, "unix", hidden)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // it would remove the old name
	if err = os.Chmod(hidden, 0o600); err == nil {
		err = os.Rename(hidden, path)
	}
	var made os.FileInfo
	if err == nil {
		made, err = os.Lstat(path)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &socket{Listener: l, path: path, made: made}, nil
}

// checkSocket returns an error if a path is taken. A socket that no program serves any more is
// free.
func checkSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case path == "":
		return errors.New("address: got unix: without a path, want unix:PATH")
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("address: got a file that is no socket, want a free name")
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		c.Close()
		return errors.New("address: another program serves this socket")
	}
	return nil
}

// A socket is a listener that removes its own file at the end.
type socket struct {
	net.Listener
	path  string
	made  os.FileInfo
	close sync.Once
}

// Close closes the socket. It leaves a file that another server put in its place.
func (s *socket) Close() error {
	s.close.Do(func() {
		if info, err := os.Lstat(s.path); err == nil && os.SameFile(info, s.made) {
			_ = os.Remove(s.path) // a socket that is left is free for the next server
		}
	})
	return s.Listener.Close()
}
