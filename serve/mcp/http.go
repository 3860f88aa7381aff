package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Path is the path of the protocol on an HTTP server.
const Path = "/mcp"

// These limits bound an HTTP server.
const (
	maxHeader     = 32 << 10         // in bytes
	maxRequests   = 2 * maxSessions  // at one time: each session may have one that waits for notifications
	maxConns      = 2 * maxRequests  // open connections
	maxBodies     = 16 * maxMessage  // in bytes, the bodies of all open requests together
	headerTimeout = 10 * time.Second // for a client to send all headers
	idleTimeout   = 2 * time.Minute  // for an idle connection
	sessionIdle   = 30 * time.Minute // for an idle session, which then ends
	closeTimeout  = time.Second      // for connections to close after the last answer
	minToken      = 16               // in bytes
	maxToken      = 4 << 10          // in bytes
)

// bodyTimeout is the time for a client to send a body, and to read each piece of an answer.
var bodyTimeout = 30 * time.Second

// HTTPOptions control which clients may reach a server over HTTP.
type HTTPOptions struct {
	// Token is the bearer token that clients must send, 16 bytes at least. With "" only programs on
	// this machine may connect.
	Token string
}

// Listen opens an address HOST:PORT. Without a token the address must be a loopback address.
func (o HTTPOptions) Listen(ctx context.Context, address string) (net.Listener, error) {
	if o.Token != "" && len(o.Token) < minToken {
		return nil, fmt.Errorf("token: got %d bytes, want at least %d", len(o.Token), minToken)
	}
	if len(o.Token) > maxToken || strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("token: got %d bytes, want at most %d, all of them visible ASCII: no header has others", len(o.Token), maxToken)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address: got %q, want HOST:PORT", address)
	}
	if o.Token == "" && !isLoopback(host) {
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

// isLoopback reports whether a host is a loopback address or localhost.
func isLoopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// ServeHTTP serves clients at [Path] until ctx ends. Then it finishes open requests, for at most
// ten seconds, and closes the listener.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, o HTTPOptions) error {
	server := &http.Server{
		Handler: s.Handler(o), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ConnState:   limitConns(maxConns),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	s.drain(stop)
	last, cancel := context.WithTimeout(stop, closeTimeout)
	defer cancel()
	if server.Shutdown(last) != nil {
		_ = server.Close() // the clients that are left are idle or out of time
	}
	return err
}

// limitConns returns a callback that closes each new connection over a limit.
func limitConns(most int64) func(net.Conn, http.ConnState) {
	var open atomic.Int64
	return func(c net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			if open.Add(1) > most {
				_ = c.Close() // its StateClosed follows and subtracts it
			}
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		}
	}
}

// Handler returns the handler of all HTTP requests. It checks and bounds a request before the SDK
// sees it.
func (s *Server) Handler(o HTTPOptions) http.Handler {
	server := func(*http.Request) *sdk.Server { return s.sdk }
	options := sdk.StreamableHTTPOptions{
		MaxRequestBodyBytes: maxMessage, SessionTimeout: sessionIdle,
		DisableLocalhostProtection: o.Token != "", // with a token, a proxy on this machine may use another Host
	}
	withSessions := sdk.NewStreamableHTTPHandler(server, &options)
	options.Stateless, options.PropagateRequestCancellation = true, true
	stateless := sdk.NewStreamableHTTPHandler(server, &options)
	token := sha256.Sum256([]byte("Bearer " + o.Token))
	slots := make(chan struct{}, maxRequests)
	var bodyBytes atomic.Int64 // in bodies of open requests
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, why := o.checkRequest(r, token); status != 0 {
			http.Error(w, why, status)
			return
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, "too many requests at once", http.StatusServiceUnavailable)
			return
		}
		streamable := withSessions
		if r.Header.Get("Mcp-Protocol-Version") >= statelessVersion {
			streamable = stateless
		}
		newSession := r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" && streamable == withSessions
		if newSession && !s.makeRoom() {
			http.Error(w, "too many sessions", http.StatusServiceUnavailable)
			return
		}
		body := &countedBody{Reader: http.MaxBytesReader(w, r.Body, maxMessage), total: &bodyBytes}
		defer body.release()
		if status, why := readBody(w, r, body); status != 0 {
			http.Error(w, why, status)
			return
		}
		if r.Method == http.MethodPost { // a shutdown must wait for its answer
			if !s.beginRequest() {
				http.Error(w, errDraining.Error(), http.StatusServiceUnavailable)
				return
			}
			defer s.calls.Done()
			defer s.exchanges.add(r)()
		}
		steady := &deadlineWriter{w, http.NewResponseController(w)}
		defer steady.extendDeadline() // for the last bytes, which net/http writes itself
		streamable.ServeHTTP(steady, r)
	})
}

// exchangeHeader names an HTTP request for the functions that answer the messages in it.
const exchangeHeader = "Starhost-Exchange"

// exchanges are the open HTTP requests of clients. The SDK hands over only the headers of a
// request, so its number is one of them.
type exchanges struct {
	mu    sync.Mutex
	count uint64
	open  map[string]<-chan struct{} // each closes when the client hangs up
}

// add adds a request until the caller calls remove.
func (x *exchanges) add(r *http.Request) (remove func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.count++
	name := strconv.FormatUint(x.count, 10)
	r.Header.Set(exchangeHeader, name) // in place of the client's
	if x.open == nil {
		x.open = map[string]<-chan struct{}{}
	}
	x.open[name] = r.Context().Done()
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.open, name)
	}
}

// find returns a channel that closes when the sender of a request hangs up, nil for a request that
// did not come over HTTP.
func (x *exchanges) find(header http.Header) <-chan struct{} {
	name := header.Get(exchangeHeader)
	if name == "" {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if ended := x.open[name]; ended != nil {
		return ended
	}
	gone := make(chan struct{})
	close(gone)
	return gone
}

// checkRequest returns the status and the reason for refusing a request, 0 for a request that may
// pass. It refuses web pages, including a page whose own host name resolves to this machine.
func (o HTTPOptions) checkRequest(r *http.Request, token [sha256.Size]byte) (status int, why string) {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
	switch {
	case o.Token == "" && !isLoopback(host):
		return http.StatusForbidden, "Host: want localhost"
	case !sameOrigin(r):
		return http.StatusForbidden, "Origin: want none, or this server's own"
	case o.Token != "" && subtle.ConstantTimeCompare(got[:], token[:]) == 0:
		return http.StatusUnauthorized, "Authorization: want the bearer token"
	case r.URL.Path != Path:
		return http.StatusNotFound, "the protocol is at " + Path
	}
	return 0, ""
}

// sameOrigin reports whether a request comes from no web page, or from a page of this server.
func sameOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	return err == nil && len(origins) == 1 && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// A countedBody reads a request's body and adds its bytes to the total of all requests.
type countedBody struct {
	io.Reader
	total *atomic.Int64
	read  int64
}

var errBodies = errors.New("too many bodies at once")

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read += int64(n)
	if b.total.Add(int64(n)) > maxBodies {
		return 0, errBodies
	}
	return n, err
}

func (b *countedBody) release() { b.total.Add(-b.read) }

// readBody reads the whole body of a request before its deadline, so that no later step waits for a
// slow client.
func readBody(w http.ResponseWriter, r *http.Request, body io.Reader) (status int, why string) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // the writers of tests have no deadlines
	data, err := io.ReadAll(body)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("body: got more than %d bytes, want less", maxMessage)
	case errors.Is(err, errBodies):
		return http.StatusServiceUnavailable, err.Error()
	case err != nil:
		return http.StatusBadRequest, "body: it did not arrive"
	}
	_ = control.SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(data))
	return 0, ""
}

// A deadlineWriter sets a deadline for each piece of an answer, so that a client that does not read
// loses its connection.
type deadlineWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *deadlineWriter) Write(b []byte) (int, error) {
	w.extendDeadline()
	return w.ResponseWriter.Write(b)
}

// Flush implements [http.Flusher].
func (w *deadlineWriter) Flush() {
	w.extendDeadline()
	_ = w.control.Flush()
}

// extendDeadline gives the client time to read the next piece.
func (w *deadlineWriter) extendDeadline() {
	_ = w.control.SetWriteDeadline(time.Now().Add(bodyTimeout)) // the writers of tests have no deadlines
}

// Unwrap lets [http.ResponseController] find the real writer.
func (w *deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
