package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/serve/front"
	"github.com/starhost/starhost/serve/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testbed.Alone(m)) }

// handlers are the hooks of a test's plugin, by their events.
type handlers = map[string]func(*starhost.Event) starhost.Decision

// newHost returns a host with one plugin.
func newHost(t testing.TB, hooks handlers, tools ...starhost.Tool) *host.Host {
	t.Helper()
	p := starhost.Plugin{Name: "guards", Tools: tools, RespondsTo: []string{"*"}}
	for event, call := range hooks {
		p.Hooks = append(p.Hooks, starhost.Hook{Event: event, Call: func(
			_ context.Context, e *starhost.Event,
		) (starhost.Decision, error) {
			return call(e), nil
		}})
	}
	h := host.New(host.Options{MaxWaiting: 1000})
	if err := h.Add(p); err != nil {
		t.Fatal(err)
	}
	return h
}

// A seen is a request that arrived at the upstream.
type seen struct {
	method, uri, host, body string
	header                  http.Header
}

// An upstream is a fake endpoint. Its scripts answer one request each, and the last script answers all
// further ones.
type upstream struct {
	*httptest.Server
	mu      sync.Mutex
	scripts []http.HandlerFunc
	seen    []seen
	forget  bool // true if it does not collect requests
}

func newUpstream(t testing.TB, scripts ...http.HandlerFunc) *upstream {
	t.Helper()
	u := &upstream{scripts: scripts}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the proxy hung up
		}
		u.mu.Lock()
		if !u.forget {
			u.seen = append(u.seen, seen{r.Method, r.RequestURI, r.Host, string(body), r.Header})
		}
		script := u.scripts[0]
		if len(u.scripts) > 1 {
			u.scripts = u.scripts[1:]
		}
		u.mu.Unlock()
		script(w, r)
	}))
	t.Cleanup(u.Close)
	return u
}

// requests returns the requests that arrived so far.
func (u *upstream) requests() []seen {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]seen(nil), u.seen...)
}

// last returns the request that arrived last.
func (u *upstream) last(t testing.TB) seen {
	t.Helper()
	all := u.requests()
	if len(all) == 0 {
		t.Fatal("no request arrived")
	}
	return all[len(all)-1]
}

// replies returns a script that answers with a body. At each "\x00" the stream makes a pause.
func replies(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		for i, part := range strings.Split(body, "\x00") {
			if i > 0 {
				_ = http.NewResponseController(w).Flush()
			}
			_, _ = io.WriteString(w, part)
		}
	}
}

const (
	jsonType   = "application/json"
	streamType = "text/event-stream; charset=utf-8"
)

// A served is a proxy that runs behind its front.
type served struct {
	*proxy.Server
	url  string
	addr string
	log  *lines
}

// lines collects the lines of a log.
type lines struct {
	mu   sync.Mutex
	list []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, line)
}

func (l *lines) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.list, "\n")
}

// serve starts a proxy for a host until the test ends.
func serve(t testing.TB, h *host.Host, o proxy.Options, token string) *served {
	t.Helper()
	s := &served{log: &lines{}}
	if o.Host == nil {
		o.Host = func() *host.Host { return h }
	}
	if o.Warn == nil {
		o.Warn = func(text string) { s.log.add("warning: " + text) }
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 10}
	t.Cleanup(transport.CloseIdleConnections)
	o.Transport = transport
	var err error
	if s.Server, err = proxy.NewServer(o); err != nil {
		t.Fatal(err)
	}
	f := front.Options{
		Token: token, MaxBody: proxy.MaxBody, MaxRequests: 300, TakeToken: proxy.TakeToken,
		Refuse: s.Refuse, Log: s.log.add,
	}
	l, err := f.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- f.Serve(ctx, l, s) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	s.addr = l.Addr().String()
	s.url = "http://" + s.addr
	return s
}

// ask sends a request and returns the status, the reply's header and its body.
func (s *served) ask(t testing.TB, method, path, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	a, err := testClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Errorf("%s %s: %v after %q", method, path, err, text)
	}
	return a.StatusCode, a.Header, string(text)
}

var testClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}

// raw sends a text over a connection, and returns the first line of the answer.
func (s *served) raw(t *testing.T, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// TestPass checks which bytes reach the upstream, and which come back, if no plugin takes part.
func TestPass(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Request-Id", "req_1")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error": "slow  down"}`)
	})
	s := serve(t, newHost(t, nil), proxy.Options{Upstream: u.URL + "/base/"}, "")
	status, header, body := s.ask(t, "POST", "/v1/files%2Fa?b=1;c=%zz&d", "\x00bytes", "Authorization", "Bearer sk-secret", "X-A", "1",
		"X-Forwarded-For", "10.0.0.1", "Accept-Encoding", "br", "X-Starhost-Token", "not for the upstream")
	if status != 429 || body != `{"error": "slow  down"}` || header.Get("X-Request-Id") != "req_1" {
		t.Errorf("got %d %v %s", status, header, body)
	}
	got := u.last(t)
	got.header.Del("Content-Length")
	got.header.Del("User-Agent")
	want := seen{"POST", "/base/v1/files%2Fa?b=1;c=%zz&d", strings.TrimPrefix(u.URL, "http://"), "\x00bytes", http.Header{
		"Authorization": {"Bearer sk-secret"}, "X-A": {"1"}, "X-Forwarded-For": {"10.0.0.1"}, "Accept-Encoding": {"br"},
	}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(seen{})); diff != "" {
		t.Errorf("the upstream's request (-want +got):\n%s", diff)
	}
	for s.log.String() == "" { // the line comes after the answer
		time.Sleep(time.Millisecond)
	}
	if log := s.log.String(); !strings.HasPrefix(log, "POST /v1/files%2Fa 429 23 B ") || strings.Contains(log, "secret") {
		t.Errorf("got the log %s", log)
	}
}

// TestForms checks the requests that a proxy of one upstream refuses.
func TestForms(t *testing.T) {
	u := newUpstream(t, replies(jsonType, "{}"))
	s := serve(t, newHost(t, nil), proxy.Options{Upstream: u.URL}, "")
	tests := []struct{ name, request, want string }{
		{"plain", "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200 OK"},
		{"absolute form", "GET http://localhost/v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 403 Forbidden"},
		{"absolute form of another host", "GET http://example.com/ HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 403 Forbidden"},
		{"CONNECT", "CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\n\r\n", "HTTP/1.1 403 Forbidden"},
		{"WebSocket", "GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "HTTP/1.1 426 Upgrade Required"},
		{"another Host", "GET /v1/models HTTP/1.1\r\nHost: example.com\r\n\r\n", "HTTP/1.1 403 Forbidden"},
		{"a web page", "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nOrigin: http://example.com\r\n\r\n", "HTTP/1.1 403 Forbidden"},
		{"health", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200 OK"},
		{"OPTIONS *", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200 OK"}, // from net/http
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := s.raw(t, tt.request); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	if n := len(u.requests()); n != 1 {
		t.Errorf("%d requests reached the upstream, want 1", n)
	}
}

// TestToken checks where a client can send the token, and that neither the upstream nor the log gets it.
func TestToken(t *testing.T) {
	const token = "0123456789/abcdef"
	u := newUpstream(t, replies(jsonType, "{}"))
	s := serve(t, newHost(t, nil), proxy.Options{Upstream: u.URL}, token)
	tests := []struct {
		path   string
		header []string
		status int
		uri    string
	}{
		{"/v1/models", nil, 401, ""},
		{"/v1/models", []string{"Authorization", "Bearer " + token}, 401, ""},
		{"/v1/models?a=b", []string{"X-Starhost-Token", token}, 200, "/v1/models?a=b"},
		{"/v1/models", []string{"X-Starhost-Token", token + "x"}, 401, ""},
		{"/t/0123456789%2Fabcdef/v1/models/a%2Fb?a=b", nil, 200, "/v1/models/a%2Fb?a=b"},
		{"/t/0123456789%2Fabcdefx/v1/models", nil, 401, ""},
		{"/t/0123456789%2Fabcdef/healthz", nil, 200, ""},
	}
	for _, tt := range tests {
		before := len(u.requests())
		status, header, body := s.ask(t, "GET", tt.path, "", tt.header...)
		if status != tt.status {
			t.Errorf("%s: got %d %s, want %d", tt.path, status, body, tt.status)
		}
		if status == 401 && (!strings.Contains(body, `"code":"starhost"`) || header.Get("WWW-Authenticate") != "") {
			t.Errorf("%s: got %s, want an error of the dialect", tt.path, body)
		}
		switch all := u.requests(); {
		case tt.uri == "" && len(all) > before:
			t.Errorf("%s reached the upstream", tt.path)
		case tt.uri != "" && (len(all) == before || all[before].uri != tt.uri || all[before].header.Get("X-Starhost-Token") != ""):
			t.Errorf("%s: got %v, want %s", tt.path, all[before:], tt.uri)
		}
	}
	if log := s.log.String(); strings.Contains(log, "0123456789") {
		t.Errorf("the log has the token: %s", log)
	}
}

// TestUpstreams checks which address each request goes to, and which requests get a key.
func TestUpstreams(t *testing.T) {
	u := newUpstream(t, replies(jsonType, "{}"))
	h := newHost(t, nil)
	for _, e := range []starhost.Endpoint{
		{Name: "openai", BaseURL: u.URL + "/o/v1", API: "openai", Models: []string{"*"}, APIKey: "KEY", Headers: map[string]string{"X-Org": "o"}},
		{Name: "anthropic", BaseURL: u.URL + "/a", API: "anthropic", Models: []string{"*"}, APIKey: "KEY"},
		{Name: "local", BaseURL: u.URL + "/x/v1beta", Models: []string{"*"}},
		{Name: "later", BaseURL: u.URL, Models: []string{"*"}, Unavailable: "no permission"},
	} {
		if err := h.Add(starhost.Plugin{Name: e.Name + "_endpoint", Endpoints: []starhost.Endpoint{e}}); err != nil {
			t.Fatal(err)
		}
	}
	secret := func(name string) (string, error) { return "value of " + name, nil }
	tests := []struct {
		upstream, path string
		secret         func(string) (string, error)
		header         []string
		uri, key       string
	}{
		{"", "/v1/messages", nil, nil, "/a/v1/messages", ""},
		{"", "/v1/messages/count_tokens", secret, nil, "/a/v1/messages/count_tokens", "value of KEY"},
		{"", "/v1/chat/completions", secret, nil, "/o/v1/chat/completions", "Bearer value of KEY"},
		{"", "/v1/chat/completions", secret, []string{"Authorization", "Bearer own"}, "/o/v1/chat/completions", "Bearer own"},
		{"", "/v1/chat/completions", nil, nil, "/o/v1/chat/completions", ""},
		{"", "/v1/models", nil, nil, "/o/v1/models", ""},
		{"", "/dashboard", nil, nil, "/o/dashboard", ""},
		{"local", "/v1/messages", secret, nil, "/x/v1beta/messages", ""},
		{"later", "/v1/messages", nil, nil, "", ""},
		{"locl", "/v1/messages", nil, nil, "", ""},
	}
	for _, tt := range tests {
		before := len(u.requests())
		s := serve(t, h, proxy.Options{Upstream: tt.upstream, Secret: tt.secret}, "")
		status, _, body := s.ask(t, "POST", tt.path, "{}", tt.header...)
		all := u.requests()[before:]
		if tt.uri == "" {
			if status != 502 || len(all) > 0 {
				t.Errorf("%s at %q: got %d %s", tt.path, tt.upstream, status, body)
			}
			continue
		}
		if len(all) != 1 || all[0].uri != tt.uri || all[0].header.Get("Authorization")+all[0].header.Get("X-Api-Key") != tt.key {
			t.Errorf("%s at %q: got %v, want %s with the key %q", tt.path, tt.upstream, all, tt.uri, tt.key)
		}
	}
	for _, wrong := range []string{"ftp://a/", "http://a/v1/", "http://u:p@a/", "https://a/?b"} {
		if _, err := proxy.NewServer(proxy.Options{Upstream: wrong}); err == nil {
			t.Errorf("%s: got no error", wrong)
		}
	}
}

// TestUpstreamFails checks the answers if no upstream answers.
func TestUpstreamFails(t *testing.T) {
	u := newUpstream(t, replies(jsonType, "{}"))
	u.Close()
	s := serve(t, newHost(t, nil), proxy.Options{Upstream: u.URL}, "")
	for _, path := range []string{"/v1/messages", "/v1/responses"} {
		status, _, body := s.ask(t, "POST", path, "{}")
		if status != 502 || !strings.Contains(body, "starhost: the upstream does not answer: ") {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
}

// TestDisconnect checks that a client that hangs up ends the request to the upstream.
func TestDisconnect(t *testing.T) {
	ended := make(chan bool)
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", streamType)
		_, _ = io.WriteString(w, "data: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(ended)
	})
	s := serve(t, newHost(t, nil), proxy.Options{Upstream: u.URL}, "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, _ := http.NewRequestWithContext(ctx, "POST", s.url+"/v1/messages", strings.NewReader("{}"))
	a, err := testClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(a.Body).ReadString('\n'); line != "data: {}\n" {
		t.Errorf("got %q", line)
	}
	cancel()
	a.Body.Close()
	<-ended
}

// bodyOf returns a long JSON text, for tests of sizes.
func bodyOf(n int) string {
	return fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]}`, strings.Repeat("x", n))
}

// TestUpstreamStates checks that an upstream is up if it answered its last request with any status. A client
// that hangs up changes nothing about that.
func TestUpstreamStates(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Wait") != "" {
			<-r.Context().Done()
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	s := serve(t, newHost(t, nil), proxy.Options{Upstream: u.URL}, "")
	states := func(want map[string]bool) {
		t.Helper()
		if diff := cmp.Diff(want, s.Upstreams()); diff != "" {
			t.Error(diff)
		}
	}
	states(nil)
	s.ask(t, "GET", "/v1/models", "")
	states(map[string]bool{"proxy": true})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/v1/models", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("X-Wait", "1")
	if a, err := testClient.Do(q); err == nil {
		a.Body.Close()
		t.Error("got an answer, want none")
	}
	states(map[string]bool{"proxy": true})
	u.CloseClientConnections()
	u.Listener.Close()
	s.ask(t, "GET", "/v1/models", "")
	states(map[string]bool{"proxy": false})
}

// TestPanic checks that a panic in a request ends that request alone.
func TestPanic(t *testing.T) {
	u := newUpstream(t, replies(jsonType, "{}"))
	s := serve(t, newHost(t, handlers{"turn_start": says("C")}), proxy.Options{
		Upstream: u.URL, Warn: func(string) { panic("oops") },
	}, "")
	lost := `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"cache_control":{}}]}]}`
	for _, tt := range []struct {
		body string
		want int
	}{{lost, 500}, {`{"messages":[{"role":"user","content":"a"}]}`, 200}} {
		if status, _, body := s.ask(t, "POST", chatPath, tt.body); status != tt.want {
			t.Errorf("got %d %s, want %d", status, body, tt.want)
		}
	}
	if !strings.Contains(s.log.String(), "panic: oops") {
		t.Errorf("got %s, want the panic", s.log)
	}
}
