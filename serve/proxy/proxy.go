// Package proxy stands between clients of language models and their endpoints, so that plugins work in every
// client: they add context to requests, offer tools, and guard the calls of replies.
//
// Its central idea is that bytes which no plugin changed pass as they arrived. The proxy never encodes a
// request or a reply anew. It finds in the text the values that plugins changed, and replaces only those. If
// no plugin takes part in requests or replies, the proxy does not parse them.
//
// The protocols are rows of data: see [dialect]. The package opens no address and checks no token:
// serve/front does.
package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/cache"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/serve/hook"
)

// These limits bound a proxy. The front enforces the first two.
const (
	// MaxBody is the most bytes of a request.
	MaxBody = 32 << 20
	// MaxRequests is the most requests at one time. A stream counts as one request until it ends.
	MaxRequests = 4096
	// maxReply is the most bytes of a reply that the proxy reads whole, and of the events of a stream that it
	// holds back.
	maxReply = 16 << 20
	// pingTime is the time between two signs of life to a client that waits while plugins decide about a
	// call.
	pingTime = 15 * time.Second
)

// Options say how a proxy works. Host and Warn are required.
type Options struct {
	// Host returns the plugins in use.
	Host func() *host.Host
	// Upstream is the URL that requests go to, without /v1, or the name of an endpoint. If it is "", requests
	// of Messages go to the endpoint "anthropic", and all others to "openai".
	Upstream string
	// Secret returns the value of a secret, for the key of an endpoint. The proxy adds the key to requests
	// without a key. If Secret is nil, the proxy adds no key.
	Secret func(name string) (string, error)
	// Tools are globs of names. The proxy offers the plugins' tools whose names match one of them.
	Tools []string
	// Rounds is the most requests that the proxy sends to the model for one request of a client. 0 means 25.
	Rounds int
	// PassUnknown lets requests for paths that the proxy does not read pass, although plugins may refuse
	// requests or calls.
	PassUnknown bool
	// Transport sends requests to upstreams. Nil means the transport of net/http, without compression.
	Transport http.RoundTripper
	// Warn receives lines that the operator should read.
	Warn func(string)
	// Undecided receives each request and each call that the proxy denied because plugins did not decide it,
	// with the answer, "deny", and the reason. Nil drops them.
	Undecided func(e *starhost.Event, answered, reason string)
}

// A Server is a proxy. It is safe for concurrent use.
type Server struct {
	Options
	memory  *hook.Memory
	ids     cache.Cache[string, string] // see continueID
	forward httputil.ReverseProxy
	states  sync.Map    // for each upstream whether it answered its last request
	guarded atomic.Bool // some host of this process has guarded calls
	// unpacked counts the bytes of compressed bodies in open requests, after their expansion.
	unpacked atomic.Int64
	// replies counts the bytes of replies that plugins must see before the client does.
	replies atomic.Int64
	base    *url.URL      // the URL Upstream; nil if Upstream is the name of an endpoint
	ping    time.Duration // pingTime, or less in tests
}

// NewServer returns a proxy without sessions. The error says why an upstream is not valid.
func NewServer(o Options) (*Server, error) {
	s := &Server{Options: o, ping: pingTime}
	s.Rounds = cmp.Or(s.Rounds, 25)
	s.memory = hook.NewMemory(func(err error) { s.Warn(err.Error()) })
	if strings.Contains(o.Upstream, "/") {
		base, err := url.Parse(o.Upstream)
		switch {
		case err != nil, base.Scheme != "http" && base.Scheme != "https", base.Host == "",
			base.User != nil, base.RawQuery != "", base.Fragment != "":
			return nil, fmt.Errorf("got %q, want http or https, a host and a path, or the name of an endpoint", errtext.Cut(o.Upstream))
		case strings.HasSuffix(strings.TrimSuffix(base.Path, "/"), "/v1"):
			return nil, fmt.Errorf("got %q, want it without /v1, which requests begin with", errtext.Cut(o.Upstream))
		}
		s.base = base
	}
	if s.Transport == nil {
		s.Transport = newTransport()
	}
	s.Transport = &watchedTransport{s.Transport, &s.states}
	s.forward = httputil.ReverseProxy{
		Rewrite: s.rewrite, Transport: s.Transport, BufferPool: buffers{},
		ModifyResponse: s.readReply, ErrorHandler: s.failUpstream, ErrorLog: nopLog,
	}
	return s, nil
}

// deny reports to Undecided an event that plugins did not decide.
func (s *Server) deny(e *starhost.Event, why string) {
	if s.Undecided != nil {
		s.Undecided(e, string(starhost.ActionDeny), why)
	}
}

// Sessions returns the number of sessions in memory.
func (s *Server) Sessions() int { return s.memory.Len() }

// Upstreams says for each upstream whether it answered its last request, by its name in the config, as
// model.openai. The name of an upstream that is a URL is "proxy". An upstream that got no request has no
// entry.
func (s *Server) Upstreams() map[string]bool {
	var up map[string]bool // nil for no entry
	s.states.Range(func(name, answers any) bool {
		if up == nil {
			up = map[string]bool{}
		}
		up[name.(string)] = answers.(bool)
		return true
	})
	return up
}

// tokenHeader is the header in which clients send the proxy's token. The header Authorization is for the
// endpoint.
const tokenHeader = "X-Starhost-Token"

// tokenPath begins a path that contains the token, for clients that cannot set a header.
const tokenPath = "/t/"

// TakeToken returns the token that a request brings, and removes it from the request: see [front.Options].
func TakeToken(r *http.Request) string {
	if token := r.Header.Get(tokenHeader); token != "" {
		r.Header.Del(tokenHeader)
		return token
	}
	rest, ok := strings.CutPrefix(r.URL.EscapedPath(), tokenPath)
	if !ok || r.URL.IsAbs() {
		return ""
	}
	segment, rest, _ := strings.Cut(rest, "/")
	token, err := url.PathUnescape(segment)
	path, wrong := url.PathUnescape("/" + rest)
	if err != nil || wrong != nil {
		return ""
	}
	r.URL.Path, r.URL.RawPath = path, "/"+rest
	r.RequestURI = r.URL.RequestURI()
	return token
}

// A refusal is an error with the status and the kind of an answer to the client.
type refusal struct {
	status   int
	reason   string
	isUnread bool // plugins did not see this reply
}

func (e *refusal) Error() string { return e.reason }

func refuse(status int, format string, args ...any) error {
	return &refusal{status: status, reason: fmt.Sprintf(format, args...)}
}

// unreadable returns the refusal of a reply that guards cannot read.
func unreadable(format string, args ...any) error {
	return &refusal{http.StatusBadGateway, "starhost: plugins cannot read the reply: " + fmt.Sprintf(format, args...), true}
}

// recordUnread reports to Undecided a reply that plugins did not see, if err is such a refusal.
func (x *exchange) recordUnread(err error) {
	if r, ok := errors.AsType[*refusal](err); ok && r.isUnread {
		x.deny(&starhost.Event{Name: "post_llm_call", SessionID: x.session, Platform: "proxy", Agent: x.agent}, r.reason)
	}
}

// refusalOf returns the refusal that err is, or a new one. An abort by a plugin has the status 403.
func refusalOf(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	if aborted, ok := errors.AsType[*host.AbortError](err); ok {
		reason := "denied by " + aborted.Plugin + ": " + aborted.Reason
		if aborted.Lost != nil {
			reason = "starhost: " + aborted.Reason
		}
		return &refusal{status: http.StatusForbidden, reason: reason}
	}
	return &refusal{status: http.StatusInternalServerError, reason: "starhost: " + err.Error()}
}

// ServeHTTP answers a request, or passes it on to an upstream.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := checkForm(r); err != nil {
		s.answerError(w, r, err)
		return
	}
	x, err := s.newExchange(r)
	if err == nil {
		defer x.releaseBodies()
		err = x.readApart(r)
	}
	if err != nil {
		s.answerError(w, r, err)
		return
	}
	out := r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	if x.dialect != nil { // the server keeps r while the reply lasts, and with it the text
		r.Body, r.GetBody = http.NoBody, nil
	}
	s.forward.ServeHTTP(w, out)
}

// checkForm refuses requests that name another address than the upstream's, or ask for another protocol.
func checkForm(r *http.Request) error {
	switch {
	case r.Method == http.MethodConnect, !strings.HasPrefix(r.RequestURI, "/"):
		return refuse(http.StatusForbidden, "starhost: this proxy passes requests to its upstream only: want a path as /v1/messages")
	case r.Header.Get("Upgrade") != "":
		return refuse(http.StatusUpgradeRequired, "starhost: this proxy has no WebSockets: want plain requests")
	}
	return nil
}

// Refuse answers a request that the front refuses, in the form of the request's dialect.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, status int, reason string) {
	if status == http.StatusUnauthorized {
		w.Header().Del("WWW-Authenticate")
		reason = "want the token in the header " + tokenHeader + ", or as " + tokenPath + "TOKEN before the path"
	}
	s.answerError(w, r, &refusal{status: status, reason: "starhost: " + reason})
}

// answerError answers a request with an error, in the form of the request's dialect.
func (s *Server) answerError(w http.ResponseWriter, r *http.Request, err error) {
	d := cmp.Or(findDialect(http.MethodPost, r.URL.EscapedPath()), &chat)
	why := refusalOf(err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(why.status)
	_, _ = w.Write(append(jsontext.Must(d.newError(why)), '\n')) // a client that has hung up gets no answer
}

// failUpstream answers a request that got no reply, or whose reply plugins refuse.
func (s *Server) failUpstream(w http.ResponseWriter, r *http.Request, err error) {
	if _, ok := errors.AsType[*refusal](err); !ok && !isAbort(err) {
		err = refuse(http.StatusBadGateway, "starhost: the upstream does not answer: %s", errtext.Cut(err.Error()))
	}
	if r.Context().Err() != nil {
		w.WriteHeader(statusGone)
		return
	}
	if x, ok := r.Context().Value(exchangeKey{}).(*exchange); ok {
		x.recordUnread(err)
	}
	s.answerError(w, r, err)
}

// statusGone is the status that the log shows for a request whose client hung up.
const statusGone = 499

func isAbort(err error) bool {
	_, ok := errors.AsType[*host.AbortError](err)
	return ok
}
