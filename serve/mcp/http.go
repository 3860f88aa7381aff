package mcp

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost/serve/front"
)

// Path is the path of the protocol on an HTTP server.
const Path = "/mcp"

// These limits bound an HTTP server.
const (
	maxRequests  = 2 * maxSessions  // at one time: each session may have one that waits for notifications
	sessionIdle  = 30 * time.Minute // for an idle session, which then ends
	closeTimeout = time.Second      // for connections to close after the last answer
)

// Front returns the options of the server's front, and the handler behind it, which serves the
// protocol at [Path]. With a token the server may be at an address that others reach.
func (s *Server) Front(token string) (front.Options, http.Handler) {
	o := front.Options{Token: token, MaxBody: maxMessage, MaxRequests: maxRequests, Drain: s.drain}
	return o, s.protocol(token != "")
}

// protocol returns the handler of the protocol. It bounds the sessions before the SDK sees a
// request. anyHost says that clients may use any name for this machine, as a proxy does.
func (s *Server) protocol(anyHost bool) http.Handler {
	server := func(*http.Request) *sdk.Server { return s.sdk }
	options := sdk.StreamableHTTPOptions{
		MaxRequestBodyBytes: maxMessage, SessionTimeout: sessionIdle, DisableLocalhostProtection: anyHost,
	}
	withSessions := sdk.NewStreamableHTTPHandler(server, &options)
	options.Stateless, options.PropagateRequestCancellation = true, true
	stateless := sdk.NewStreamableHTTPHandler(server, &options)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != Path {
			http.Error(w, "the protocol is at "+Path, http.StatusNotFound)
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
		if r.Method == http.MethodPost { // a shutdown must wait for its answer
			if !s.beginRequest() {
				http.Error(w, errDraining.Error(), http.StatusServiceUnavailable)
				return
			}
			defer s.calls.Done()
			defer s.exchanges.add(r)()
		}
		streamable.ServeHTTP(w, r)
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
