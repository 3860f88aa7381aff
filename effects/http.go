package effects

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// Bounds of effects that wait for a server or a program.
const (
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 5 * time.Minute // the longest timeout that a plugin can ask for
)

// Bounds of one request.
const (
	maxBody         = 8 << 20          // bytes of a request's or a response's body
	maxQuery        = 64 << 10         // bytes of the parameters of a request
	maxRedirects    = 5                // redirects that one request follows
	dialTimeout     = 10 * time.Second // how long to wait for each address of a host
	maxHeaders      = 100              // headers of a request
	maxHeaderBytes  = 64 << 10         // bytes of the headers of a request, and of a response
	userAgent       = "starhost"
	jsonContentType = "application/json"
)

// An HTTP connects worlds to the network. The zero value uses the machine's resolver and roots
// of trust. There are no proxies and no cookies, no connection outlives a request, and TLS is
// 1.2 or later.
type HTTP struct {
	// Resolve returns the addresses of a host's name; nil means the machine's resolver. Each connection calls
	// it once, and checks each address that it returns.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that the plugin may reach; nil means TCP.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	// Roots are the authorities whose certificates of servers count; nil means the machine's.
	Roots *x509.CertPool
}

// A Request is an HTTP request of a plugin.
type Request struct {
	Method string // "" means GET
	URL    string // absolute, with http or https
	// Params are added to the URL's query, sorted by name.
	Params map[string]Secret
	// Headers are the request's headers by name. A plugin must not set those that control how the request is
	// sent, such as Host.
	Headers map[string]Secret
	// Auth is the user and the password of basic authentication; nil means none.
	Auth *Auth
	// Body is the request's body. If JSON is not nil, it is the body instead, with the type application/json.
	// Only one of them may be set.
	Body string
	JSON json.RawMessage
	// Timeout limits the whole request with its redirects: 0 means [DefaultTimeout], and values
	// over [MaxTimeout] mean MaxTimeout.
	Timeout time.Duration
}

// An Auth is a user's name with a password.
type Auth struct {
	User     Secret `json:"user"`
	Password Secret `json:"password"`
}

// A Response is the answer to a Request. A dry run sends only GET and HEAD; the Response to other methods is
// then the zero value.
type Response struct {
	Status int
	// Headers are the response's headers, by name in lower case. If a name occurs several times, ", " joins
	// the values.
	Headers map[string]string
	Body    string
}

// responseJSON is the form of a Response in a journal.
type responseJSON struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    jsontext.Text     `json:"body"`
}

// MarshalJSON writes a body that is not UTF-8 as {"base64": ...}.
func (r Response) MarshalJSON() ([]byte, error) {
	return jsontext.EncodeOrNull(responseJSON{r.Status, r.Headers, jsontext.Text(r.Body)}), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Response) UnmarshalJSON(b []byte) error {
	var j responseJSON
	err := json.Unmarshal(b, &j)
	*r = Response{j.Status, j.Headers, string(j.Body)}
	return err
}

func (r Response) redact(remove redaction) Response {
	r.Body, r.Headers = remove(r.Body), maps.Clone(r.Headers)
	for name, value := range r.Headers {
		r.Headers[name] = remove(value)
	}
	return r
}

// Fetch sends a request that a permission of the plugin allows, and returns the response of any status. It
// follows up to 5 redirects, each of which needs a permission too. If a redirect leads to another host, Fetch
// does not send the request's headers and auth there.
func (w *World) Fetch(ctx context.Context, r Request) (Response, error) {
	s, err := newHTTPExchange(w, r)
	if err != nil {
		return Response{}, err
	}
	return w.send(ctx, s)
}

// send sends a request whose form newHTTPExchange has checked.
func (w *World) send(ctx context.Context, s *httpExchange) (Response, error) {
	if err := w.payForRequest(ctx, s); err != nil {
		return Response{}, err
	}
	writes := s.method != http.MethodGet && s.method != http.MethodHead
	c := effectCall{
		kind: httpKinds[s.method], request: s.journalRequest(), subject: s.target.base(), refusal: s.refusal(),
		writes: writes, persistent: writes, external: true,
	}
	if c.kind == "" {
		c.kind, c.subject = "http.request", s.method+" "+c.subject
	}
	return do(ctx, w, c, func(ctx context.Context) (Response, error) {
		ctx, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		return s.sendFollowing(ctx)
	})
}

// httpKinds are the kinds of effects of these methods. Requests with other methods are effects of the kind
// http.request.
var httpKinds = map[string]string{"GET": "http.get", "POST": "http.post"}

// An httpExchange is a request on its way, with all redirects that it follows.
type httpExchange struct {
	w         *World
	permitted *World // the world whose permissions count
	method    string
	target    *target
	params    map[string]Secret
	headers   map[string]Secret // by canonical name
	auth      *Auth
	body      string
	timeout   time.Duration
}

// newHTTPExchange checks the form of a request, and makes an httpExchange of it.
func newHTTPExchange(w *World, r Request) (*httpExchange, error) {
	t, err := parseTarget(r.URL)
	if err != nil {
		return nil, err
	}
	if err := checkLength("method", r.Method, maxName); err != nil {
		return nil, err
	}
	s := &httpExchange{
		w: w, permitted: w, method: cmp.Or(strings.ToUpper(r.Method), http.MethodGet), target: t, params: r.Params, headers: map[string]Secret{},
		auth: r.Auth, body: r.Body, timeout: timeoutOf(r.Timeout),
	}
	if !httpMethods().MatchString(s.method) || s.method == http.MethodConnect {
		return nil, errorf("E0510", "method: got %q, want one as GET or POST", r.Method)
	}
	if err := s.checkSizes(); err != nil {
		return nil, err
	}
	if err := s.setHeaders(r.Headers); err != nil {
		return nil, err
	}
	if r.JSON != nil {
		if r.Body != "" {
			return nil, errorf("E0510", "got both body and json, want one of them")
		}
		s.body = string(r.JSON)
		if _, ok := s.headers["Content-Type"]; !ok {
			s.headers["Content-Type"] = Plain(jsonContentType)
		}
	}
	if len(s.body) > maxBody {
		return nil, errorf("E0506", "body: got %d bytes, want at most %d", len(s.body), maxBody)
	}
	return s, nil
}

// checkSizes refuses parameters and passwords that are longer than servers accept.
func (s *httpExchange) checkSizes() error {
	size := 0
	for name, value := range s.params {
		size += len(name) + value.size()
	}
	if size > maxQuery {
		return errorf("E0506", "params: got %d bytes, want at most %d", size, maxQuery)
	}
	if s.auth == nil {
		return nil
	}
	if size = s.auth.User.size() + s.auth.Password.size(); size > maxHeaderBytes {
		return errorf("E0506", "auth: got %d bytes, want at most %d", size, maxHeaderBytes)
	}
	return nil
}

// timeoutOf returns the time that an effect may take if a plugin asks for a timeout.
func timeoutOf(asked time.Duration) time.Duration {
	if asked <= 0 {
		return DefaultTimeout
	}
	return min(asked, MaxTimeout)
}

var headerName = lazyRegexp("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$")

// hostHeaders control how starhost sends a request, and to whom, so plugins must not set them.
var hostHeaders = []string{
	"Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

func (s *httpExchange) setHeaders(headers map[string]Secret) error {
	size := 0
	for name, value := range headers {
		size += len(name) + value.size()
	}
	if len(headers) > maxHeaders || size > maxHeaderBytes {
		return errorf("E0506", "headers: got %d of %d bytes, want at most %d of %d", len(headers), size, maxHeaders, maxHeaderBytes)
	}
	for _, given := range slices.Sorted(maps.Keys(headers)) {
		value := headers[given]
		name := http.CanonicalHeaderKey(given)
		_, twice := s.headers[name]
		switch {
		case !headerName().MatchString(given):
			return errorf("E0510", "headers: got name %s, want one as Accept", errtext.Quote(given))
		case slices.Contains(hostHeaders, name):
			return errorf("E0510", "headers: got %s, which is the host's to set", name)
		case name == "Authorization" && s.auth != nil:
			return errorf("E0510", "headers: got Authorization beside auth, want one of them")
		case twice:
			return errorf("E0510", "headers: got %s twice", name)
		case hasControl(value.String()):
			return errorf("E0510", "headers: %s: got a control character", name)
		}
		s.headers[name] = value
	}
	return nil
}

// hasControl reports whether a text has a control character, which no header may have.
func hasControl(value string) bool {
	return strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// refusal returns an error if the plugin may not send the request, or nil.
func (s *httpExchange) refusal() error {
	if err := s.permitted.mayFetch(s.method, s.target); err != nil {
		return err
	}
	return mayRevealAll(s.w, s.target.host, s.secrets()...)
}

// secrets returns all texts of the request that can contain values of secrets.
func (s *httpExchange) secrets() []Secret {
	list := slices.AppendSeq(slices.Collect(maps.Values(s.params)), maps.Values(s.headers))
	if s.auth != nil {
		list = append(list, s.auth.User, s.auth.Password)
	}
	return list
}

// journalRequest returns the form of the request for a journal, with the names of secrets in place of their
// values.
func (s *httpExchange) journalRequest() any {
	type request struct {
		Method  string            `json:"method,omitempty"` // "" if the kind of the effect says the method
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers,omitempty"`
		Auth    *Auth             `json:"auth,omitempty"`
		Body    jsontext.Text     `json:"body,omitempty"`
	}
	u := *s.target
	u.query = s.query(func(v Secret) string {
		var b strings.Builder
		for _, p := range v.parts {
			if p.secret != nil {
				b.WriteString(placeholder(p.secret.name))
			} else {
				b.WriteString(url.QueryEscape(p.text))
			}
		}
		return b.String()
	})
	r := request{URL: u.url(), Headers: secretTexts(s.headers), Auth: s.auth, Body: jsontext.Text(s.body)}
	if httpKinds[s.method] == "" {
		r.Method = s.method
	}
	return r
}

// query returns the query of the URL with the request's parameters. escaped returns the escaped text of a
// value.
func (s *httpExchange) query(escaped func(Secret) string) string {
	parts := []string{s.target.query}
	if s.target.query == "" {
		parts = nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.params)) {
		parts = append(parts, url.QueryEscape(name)+"="+escaped(s.params[name]))
	}
	return strings.Join(parts, "&")
}

// sendFollowing sends the request, and sends it again to the target of each redirect.
func (s *httpExchange) sendFollowing(ctx context.Context) (Response, error) {
	if s.w.HTTP == nil {
		return Response{}, errorf("E0511", "%s: there is no network here", s.place())
	}
	header, err := s.revealHeaders()
	if err != nil {
		return Response{}, err
	}
	for hops := 0; ; hops++ {
		reply, location, err := s.roundTrip(ctx, header)
		if err != nil || location == "" {
			return reply, s.timeoutError(ctx, err)
		}
		if hops == maxRedirects {
			return Response{}, errorf("E0511", "%s: got more than %d redirects", s.place(), maxRedirects)
		}
		if header, err = s.redirect(reply.Status, location, header); err != nil {
			return Response{}, err
		}
	}
}

// place returns the method and the URL of the request, for messages.
func (s *httpExchange) place() string { return s.method + " " + errtext.Cut(s.target.base()) }

// timeoutError returns an error that says that the request took too long, if that is the reason of err.
func (s *httpExchange) timeoutError(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errorf("E0511", "%s: no answer in %s", s.place(), s.timeout)
	}
	return err
}

// revealHeaders puts the values of secrets into the query, and returns the headers with the values of
// secrets.
func (s *httpExchange) revealHeaders() (http.Header, error) {
	var failed error
	reveal := func(v Secret) string {
		text, err := s.w.reveal(v, s.target.host)
		failed = cmp.Or(failed, err)
		return text
	}
	header := http.Header{"User-Agent": {userAgent}}
	for name, value := range s.headers {
		header.Set(name, reveal(value))
	}
	if s.auth != nil {
		r := http.Request{Header: header}
		r.SetBasicAuth(reveal(s.auth.User), reveal(s.auth.Password))
	}
	s.target.query = s.query(func(v Secret) string { return url.QueryEscape(reveal(v)) })
	for _, values := range header {
		if hasControl(values[0]) && failed == nil {
			failed = errorf("E0510", "headers: got a control character in a secret")
		}
	}
	return header, failed
}

// roundTrip sends the request to one URL. location is the target of a redirect, or "".
func (s *httpExchange) roundTrip(ctx context.Context, header http.Header) (reply Response, location string, err error) {
	req, err := http.NewRequestWithContext(ctx, s.method, s.target.url(), strings.NewReader(s.body))
	if err != nil {
		return reply, "", errorf("E0510", "%s: want a URL that can be sent", s.place())
	}
	req.Header = header
	if s.body == "" {
		req.Body = http.NoBody
	}
	answer, err := s.transport().RoundTrip(req)
	if err != nil {
		return reply, "", s.networkError(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	switch {
	case err != nil:
		return reply, "", s.networkError(err)
	case len(body) > maxBody:
		return reply, "", errorf("E0506", "%s: got more than %d bytes in the answer, want at most that", s.place(), maxBody)
	}
	reply = Response{Status: answer.StatusCode, Headers: map[string]string{}, Body: string(body)}
	for name, values := range answer.Header {
		reply.Headers[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	if slices.Contains(redirects, reply.Status) {
		location = answer.Header.Get("Location")
	}
	return reply, location, nil
}

var redirects = []int{
	http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
	http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
}

// redirect changes the request so that it goes to location, and returns the headers to send there.
func (s *httpExchange) redirect(status int, location string, header http.Header) (http.Header, error) {
	to, err := s.resolve(location)
	if err != nil {
		return nil, errorf("E0511", "%s: redirected: %v", s.place(), err)
	}
	header = header.Clone()
	if status <= http.StatusSeeOther && s.method != http.MethodHead { // other methods become GET, as in browsers
		s.method, s.body = http.MethodGet, ""
		header.Del("Content-Type")
	}
	if s.target.origin() != to.origin() {
		header = http.Header{"User-Agent": {userAgent}}
		if accept, ok := s.headers["Accept"]; ok && len(accept.Names()) == 0 {
			header.Set("Accept", accept.String())
		}
		if typ, ok := s.headers["Content-Type"]; ok && s.body != "" && len(typ.Names()) == 0 {
			header.Set("Content-Type", typ.String())
		}
	}
	s.target = to
	return header, s.permitted.mayFetch(s.method, to)
}

// resolve returns the target that a location means, relative to the current URL.
func (s *httpExchange) resolve(location string) (*target, error) {
	base, err := url.Parse(s.target.base())
	if err != nil {
		return nil, err
	}
	to, err := base.Parse(location)
	if err != nil {
		return nil, errorf("E0510", "location: want a URL")
	}
	to.Fragment, to.RawFragment = "", ""
	return parseTarget(to.String())
}

// transport returns a transport for one request. The transport reuses no connection, because dial checked a
// connection for this plugin, method and path only.
func (s *httpExchange) transport() *http.Transport {
	return &http.Transport{
		DialContext:            s.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: s.w.HTTP.Roots},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// dial connects to the target's host. Every address of the name must be allowed. It dials the
// addresses and not the name, so that a resolver cannot change its answer in between.
func (s *httpExchange) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	addrs := []netip.Addr{s.target.addr}
	if !s.target.addr.IsValid() {
		var err error
		if addrs, err = s.w.HTTP.resolve(ctx, s.target.host); err != nil {
			return nil, err
		}
	}
	for _, addr := range addrs {
		if err := s.permitted.mayDial(s.method, s.target, addr); err != nil {
			return nil, err
		}
	}
	var conn net.Conn
	err := error(&net.DNSError{Err: "no such host", Name: s.target.host, IsNotFound: true})
	for _, addr := range addrs {
		if conn, err = s.w.HTTP.dial(ctx, netip.AddrPortFrom(addr.Unmap(), uint16(s.target.port))); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (h *HTTP) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if h.Resolve != nil {
		return h.Resolve(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

func (h *HTTP) dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	if h.Dial != nil {
		return h.Dial(ctx, addr)
	}
	d := net.Dialer{Timeout: dialTimeout}
	return d.DialContext(ctx, "tcp", addr.String())
}

// networkError writes an error of the network anew, without details of this machine.
func (s *httpExchange) networkError(err error) error {
	var refused *PermissionError
	var dns *net.DNSError
	var errno syscall.Errno
	reason := err.Error()
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &dns) && dns.IsNotFound:
		reason = "there is no such host"
	case errors.As(err, &dns):
		reason = "the host's name could not be resolved"
	case errors.As(err, &errno):
		reason = errno.Error()
	}
	return errorf("E0511", "%s: %s", s.place(), reason)
}

// fetchFragment returns the text of a URL as the context that a reference to the URL has.
func fetchFragment(ctx context.Context, w *World, ref string) (starhost.Context, error) {
	s, err := newHTTPExchange(w, Request{URL: ref})
	if err != nil {
		return starhost.Context{}, err
	}
	return s.fragment(ctx, ref)
}

// fragment sends the request and returns its response as a fragment.
func (s *httpExchange) fragment(ctx context.Context, ref string) (c starhost.Context, err error) {
	r, err := s.w.send(ctx, s)
	if err != nil {
		return c, err
	}
	typ, _, err := mime.ParseMediaType(cmp.Or(r.Headers["content-type"], "text/plain"))
	switch {
	case r.Status < 200 || r.Status > 299:
		return c, errorf("E0511", "%s: got status %d %s, want 200", errtext.Word(ref), r.Status, http.StatusText(r.Status))
	case err != nil || !textType().MatchString(typ):
		return c, errorf("E0505", "%s: got %s, want text", errtext.Word(ref), errtext.Quote(r.Headers["content-type"]))
	}
	addContent(&c, ref, []byte(r.Body))
	if len(c.Attachments) > 0 {
		return starhost.Context{}, errorf("E0505", "%s: got bytes that are not UTF-8, want text", errtext.Word(ref))
	}
	return c, nil
}

// textType matches the MIME types of texts.
var textType = lazyRegexp(`^(text/.*|application/(.*\+)?(json|xml|yaml|toml|javascript|x-yaml|x-ndjson|sql|graphql))$`)
