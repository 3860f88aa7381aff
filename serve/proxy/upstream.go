package proxy

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
)

// connectTimeout bounds how long the proxy waits for a connection, and then for its TLS handshake.
const connectTimeout = 10 * time.Second

// newTransport returns the transport to upstreams. It sets no limit to the time of a reply, because models
// take long: a client that no longer wants to wait hangs up.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout: connectTimeout, ForceAttemptHTTP2: true, DisableCompression: true,
		MaxIdleConns: 256, MaxIdleConnsPerHost: 256, IdleConnTimeout: time.Minute,
		MaxResponseHeaderBytes: 256 << 10, ReadBufferSize: bufferSize, WriteBufferSize: bufferSize,
	}
}

// bufferSize is the size in bytes of the buffers of one stream. It is small, because 1,000 streams may be
// open.
const bufferSize = 1 << 10

// nopLog drops the messages of [httputil.ReverseProxy], because they could contain texts of clients and
// endpoints.
var nopLog = log.New(io.Discard, "", 0)

// buffers makes the buffers for copying replies, because those of [httputil.ReverseProxy] are too large.
type buffers struct{}

// Get implements [httputil.BufferPool].
func (buffers) Get() []byte { return make([]byte, bufferSize) }

// Put implements [httputil.BufferPool].
func (buffers) Put([]byte) {}

// An upstream is the address that one request goes to.
type upstream struct {
	url      *url.URL
	endpoint *starhost.Endpoint // nil if the upstream is the URL of --upstream
}

// findUpstream returns the upstream for a request with an escaped path.
func (s *Server) findUpstream(h *host.Host, path string) (*upstream, error) {
	if s.base != nil {
		u, err := joinPath(s.base, path)
		return &upstream{url: u}, err
	}
	name := s.Upstream
	if name == "" {
		name = "openai"
		if strings.HasPrefix(path, messagesPath) {
			name = "anthropic"
		}
	}
	list := h.Endpoints()
	i := slices.IndexFunc(list, func(e starhost.Endpoint) bool {
		return e.Name == name || slices.Contains(e.Aliases, name)
	})
	if i < 0 {
		return nil, refuse(http.StatusBadGateway, "starhost: no endpoint is named %q%s", name, near.DidYouMean(name, jsontext.List(list, func(e *starhost.Endpoint) string { return e.Name })))
	}
	e := &list[i]
	if e.Unavailable != "" {
		return nil, refuse(http.StatusBadGateway, "starhost: endpoint %q: %s", name, e.Unavailable)
	}
	base, err := url.Parse(e.BaseURL)
	if err != nil {
		return nil, refuse(http.StatusBadGateway, "starhost: endpoint %q has no URL", name)
	}
	if e.API != "anthropic" { // the endpoint's base URL has the /v1 that the client's path begins with
		if rest, ok := strings.CutPrefix(path, "/v1/"); ok {
			path = "/" + rest
		} else {
			base.Path = strings.TrimSuffix(strings.TrimSuffix(base.Path, "/"), "/v1")
		}
	}
	u, err := joinPath(base, path)
	return &upstream{u, e}, err
}

// joinPath returns the URL of an escaped path below a base URL.
func joinPath(base *url.URL, path string) (*url.URL, error) {
	u, err := url.Parse(base.Scheme + "://" + base.Host + strings.TrimSuffix(base.EscapedPath(), "/") + path)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "starhost: got a path that is none")
	}
	return u, nil
}

// name returns the name that metrics show for an upstream.
func (u *upstream) name() string {
	if u.endpoint == nil {
		return "proxy"
	}
	return "model." + u.endpoint.Name
}

// A watchedTransport notes in Server.states which upstreams answer. A request that its client ended says
// nothing about the upstream.
type watchedTransport struct {
	http.RoundTripper
	states *sync.Map
}

// RoundTrip implements [http.RoundTripper].
func (t *watchedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := t.RoundTripper.RoundTrip(r)
	if x, ok := r.Context().Value(exchangeKey{}).(*exchange); ok && (err == nil || r.Context().Err() == nil) {
		t.states.Store(x.upstream.name(), err == nil)
	}
	return a, err
}

// rewrite directs a request to its upstream, with the endpoint's key.
func (s *Server) rewrite(p *httputil.ProxyRequest) {
	x := p.In.Context().Value(exchangeKey{}).(*exchange)
	to := *x.upstream.url
	to.RawQuery, to.ForceQuery = p.In.URL.RawQuery, p.In.URL.ForceQuery
	p.Out.URL, p.Out.Host = &to, ""
	p.Out.Header.Del(tokenHeader)
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values := p.In.Header.Values(name); len(values) > 0 { // the header stays as the client sent it
			p.Out.Header[name] = values
		}
	}
	if x.readsReply() {
		p.Out.Header.Set("Accept-Encoding", "identity")
	}
	s.addKey(x, p.Out.Header)
}

// addKey adds the endpoint's key to a request that has none, if the proxy may do so.
func (s *Server) addKey(x *exchange, h http.Header) {
	e := x.upstream.endpoint
	if s.Secret == nil || e == nil || h.Get("Authorization") != "" || h.Get("X-Api-Key") != "" {
		return
	}
	for name, value := range e.Headers {
		h.Set(name, value)
	}
	if e.APIKey == "" {
		return
	}
	key, err := s.Secret(e.APIKey)
	switch {
	case err != nil:
		s.Warn(err.Error()) // without a key, the endpoint refuses the request
	case e.API == "anthropic":
		h.Set("X-Api-Key", key)
	default:
		h.Set("Authorization", "Bearer "+key)
	}
}
