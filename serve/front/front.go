// Package front is the HTTP front of the servers: every request of a client passes through it
// before a server sees it.
//
// Its central idea is that a server gets whole requests from clients that may ask. The front
// checks Host, Origin and the token, reads the body before the server runs, and bounds headers,
// bodies, times, requests and connections. It answers /healthz and /readyz, writes one line of log
// for each request, and finishes open requests when it stops.
//
// The front decides nothing about a request's content, and its log has none of it.
package front

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// These limits hold for every server.
const (
	maxHeader     = 32 << 10         // in bytes
	maxBodies     = 16               // times Options.MaxBody: the bodies of all open requests together
	connsEach     = 2                // connections for each of Options.MaxRequests
	headerTimeout = 10 * time.Second // for a client to send all headers
	idleTimeout   = 2 * time.Minute  // for an idle connection
	grace         = 10 * time.Second // for open requests after the end
	closeTimeout  = time.Second      // for connections to close after the last answer
)

// bodyTimeout is the time for a client to send a body, and to read each piece of an answer.
var bodyTimeout = 30 * time.Second

// Options describe a server for the front.
type Options struct {
	// Token is the bearer token that clients must send, 16 bytes at least. With "" only programs on
	// this machine may connect.
	Token string
	// NeedsToken is true for a server that decides or shows data: a TCP address then needs a token
	// even on loopback, because other users of the machine reach it. A Unix socket needs none.
	NeedsToken bool
	// MaxBody is the most bytes of a request's body.
	MaxBody int64
	// MaxRequests is the most requests at one time.
	MaxRequests int
	// Ready returns why the server cannot serve now, nil if it can. Nil means that it always can.
	Ready func() error
	// TakeToken returns the token of a request, "" without one, and removes it from the request,
	// for a server that passes requests on. Nil takes the bearer token of the header Authorization.
	TakeToken func(r *http.Request) string
	// Refuse answers a request that the front refuses for its token, its body or its number, for a
	// server whose clients take an error for a permission. Nil answers with the status and reason.
	Refuse func(w http.ResponseWriter, r *http.Request, status int, reason string)
	// Drain finishes the open requests at the end of the server, for a server that knows which of
	// them end by themselves. Nil waits for all.
	Drain func(context.Context)
	// Log receives a line for each request, without a newline. Nil drops them.
	Log func(line string)
}

// A front is a running server's front.
type front struct {
	Options
	next      http.Handler
	token     [32]byte // the hash of the token
	slots     chan struct{}
	bodyBytes atomic.Int64 // in bodies of open requests
	conns     *connLimit   // nil for a handler alone

	mu       sync.Mutex
	draining bool
	open     sync.WaitGroup // requests; draining prevents new ones
}

// Handler returns the handler of all requests: it passes those that may pass on to next.
func (o Options) Handler(next http.Handler) http.Handler { return o.newFront(next) }

func (o Options) newFront(next http.Handler) *front {
	return &front{
		Options: o, next: next, token: hashToken(o.Token), slots: make(chan struct{}, o.MaxRequests),
	}
}

// Serve serves clients until ctx ends. Then it finishes open requests, for at most ten seconds, and
// closes the listener.
func (o Options) Serve(ctx context.Context, l net.Listener, next http.Handler) error {
	base, cancelRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelRequests()
	f := o.newFront(next)
	f.conns = &connLimit{most: connsEach * o.MaxRequests, open: map[net.Conn]*list.Element{}}
	server := &http.Server{
		Handler: f, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return base },
		ConnContext: withConn, ConnState: f.conns.follow,
		ErrorLog: log.New(lineWriter(f.log), "", 0),
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
	f.drain(stop)
	last, cancel := context.WithTimeout(stop, closeTimeout)
	defer cancel()
	if server.Shutdown(last) != nil {
		_ = server.Close() // the clients that are left are idle or out of time
	}
	return err
}

// drain refuses new requests and waits for open ones.
func (f *front) drain(ctx context.Context) {
	f.mu.Lock()
	f.draining = true
	f.mu.Unlock()
	if f.Drain != nil {
		f.Drain(ctx)
		return
	}
	ended := make(chan struct{})
	go func() {
		f.open.Wait()
		close(ended)
	}()
	select {
	case <-ctx.Done():
	case <-ended:
	}
}

// begin counts a request. It returns false if the server stops.
func (f *front) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.draining {
		f.open.Add(1)
	}
	return !f.draining
}

// A lineWriter passes the lines of net/http on.
type lineWriter func(string)

func (w lineWriter) Write(line []byte) (int, error) {
	w(strings.TrimSpace(string(line)))
	return len(line), nil
}

func (f *front) log(line string) {
	if f.Log != nil {
		f.Log(line)
	}
}

// ServeHTTP answers a request or passes it on, and logs it.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	a := &answer{ResponseWriter: w, control: http.NewResponseController(w)}
	_ = a.control.SetReadDeadline(start.Add(bodyTimeout)) // the writers of tests have no deadlines
	token := f.takeToken(r)                               // before the log has the path
	method, path := r.Method, r.URL.EscapedPath()         // the next handler may change the request
	defer func() {
		a.extendDeadline() // for the last bytes, which net/http writes itself
		f.log(fmt.Sprintf("%s %s %d %d B %.1f ms", cut(method), cut(path), a.code(), a.bytes, float64(time.Since(start))/1e6))
	}()
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p != http.ErrAbortHandler {
			f.log(fmt.Sprintf("panic: %v", p))
		}
		if p == http.ErrAbortHandler || a.status != 0 {
			panic(http.ErrAbortHandler) // half of the answer is written: cut the connection
		}
		f.refuse(a, r, http.StatusInternalServerError, "the server failed")
	}()
	if status, why := f.checkSender(r); status != 0 { // a web page gets no form of an answer that it could use
		http.Error(a, why, status)
		return
	}
	if f.answerHealth(a, r) {
		return
	}
	f.pass(a, r, token)
}

// cut returns at most 100 bytes of a text from a request.
func cut(s string) string {
	quoted := strconv.QuoteToASCII(s)
	if quoted = quoted[1 : len(quoted)-1]; len(quoted) > 100 {
		return quoted[:100] + "..."
	}
	return quoted
}

// answerHealth answers the questions of a supervisor, which needs no token.
func (f *front) answerHealth(w http.ResponseWriter, r *http.Request) bool {
	isHealth := r.URL.Path == "/healthz"
	if !isHealth && r.URL.Path != "/readyz" {
		return false
	}
	w.Header().Set("Connection", "close") // it needs no token, so it keeps no place
	var err error
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
		return true
	}
	f.mu.Lock()
	draining := f.draining
	f.mu.Unlock()
	switch {
	case isHealth:
	case draining:
		err = errStopping
	case f.Ready != nil:
		err = f.Ready()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return true
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
	return true
}

var errStopping = errors.New("the server stops")

// pass checks the token, reads the body and runs the next handler.
func (f *front) pass(w *answer, r *http.Request, token string) {
	if f.Token != "" && !f.isToken(token) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		f.refuse(w, r, http.StatusUnauthorized, "Authorization: want the bearer token")
		return
	}
	f.conns.pass(r)
	if f.Token == "" {
		defer f.conns.release(r)
	}
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	default:
		f.refuse(w, r, http.StatusServiceUnavailable, "too many requests at once")
		return
	}
	if !f.begin() {
		f.refuse(w, r, http.StatusServiceUnavailable, errStopping.Error())
		return
	}
	defer f.open.Done()
	body := &countedBody{Reader: http.MaxBytesReader(w, r.Body, f.MaxBody), total: &f.bodyBytes}
	body.most = maxBodies * f.MaxBody
	defer body.release()
	if status, why := f.readBody(w, r, body); status != 0 {
		f.refuse(w, r, status, why)
		return
	}
	f.next.ServeHTTP(w, r)
}

// refuse answers a request that does not pass.
func (f *front) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if f.Refuse != nil {
		f.Refuse(w, r, status, why)
		return
	}
	http.Error(w, why, status)
}
