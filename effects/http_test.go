package effects_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/shellwords"
)

// somewhere is a public address, to which nobody connects in these tests.
var somewhere = netip.MustParseAddr("93.184.216.34")

// network returns a network in which every name has a public address, and every address leads
// to one server.
func network(server string) *effects.HTTP {
	return &effects.HTTP{
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{somewhere}, nil },
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server)
		},
	}
}

// resolving returns a copy of h in which every name has the addresses addrs.
func resolving(h *effects.HTTP, addrs ...string) *effects.HTTP {
	other := *h
	other.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		var list []netip.Addr
		for _, a := range addrs {
			list = append(list, netip.MustParseAddr(a))
		}
		return list, nil
	}
	return &other
}

// serve runs a server until the test ends and returns its address.
func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// echo answers a request with a description of it.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Date", "")
	w.Header().Add("X-Two", "1")
	w.Header().Add("X-Two", "2")
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, "%s %s %s type=%q accept=%q auth=%q agent=%q %s", r.Method, r.Host, r.URL,
		r.Header.Get("Content-Type"), r.Header.Get("Accept"), r.Header.Get("Authorization"), r.UserAgent(), body)
}

// plugin returns a world with permissions that are both declared and granted.
func plugin(t interface{ Fatal(...any) }, permissions ...string) *effects.World {
	g := grants(t, permissions...)
	return &effects.World{Plugin: "p", Declared: g, Granted: g}
}

func TestFetch(t *testing.T) {
	w := plugin(t, "http:GET,HEAD,POST,PUT http://pager.test", "secret:TOKEN")
	w.HTTP = network(serve(t, echo))
	w.Secrets = secrets(map[string]string{"TOKEN": "s3cret-value"})
	token, err := w.Secret(t.Context(), "TOKEN")
	if err != nil {
		t.Fatal(err)
	}
	text := effects.Plain
	tests := []struct {
		name string
		r    effects.Request
		want string
	}{
		{"plain", effects.Request{URL: "http://PAGER.test:80"},
			`GET pager.test / type="" accept="" auth="" agent="starhost" `},
		{"parameters", effects.Request{URL: "http://pager.test/a?x=1", Params: map[string]effects.Secret{"b": text("ü&"), "a": text("")}},
			`GET pager.test /a?x=1&a=&b=%C3%BC%26 type="" accept="" auth="" agent="starhost" `},
		{"headers", effects.Request{URL: "http://pager.test/", Headers: map[string]effects.Secret{"accept": text("text/plain"), "User-Agent": text("me")}},
			`GET pager.test / type="" accept="text/plain" auth="" agent="me" `},
		{"json", effects.Request{Method: "post", URL: "http://pager.test/", JSON: json.RawMessage(`{"a":1}`)},
			`POST pager.test / type="application/json" accept="" auth="" agent="starhost" {"a":1}`},
		{"body", effects.Request{Method: "PUT", URL: "http://pager.test/", Body: "hi", Headers: map[string]effects.Secret{"Content-Type": text("text/x")}},
			`PUT pager.test / type="text/x" accept="" auth="" agent="starhost" hi`},
		{"an escaped path", effects.Request{URL: "http://pager.test/%61%2fb%20c"},
			`GET pager.test /a%2Fb%20c type="" accept="" auth="" agent="starhost" `},
		{"a secret header, which the reply has no more", effects.Request{URL: "http://pager.test/", Headers: map[string]effects.Secret{"Authorization": effects.Join(text("Bearer "), token)}},
			`GET pager.test / type="" accept="" auth="Bearer <secret TOKEN>" agent="starhost" `},
		{"a secret parameter", effects.Request{URL: "http://pager.test/", Params: map[string]effects.Secret{"key": token}},
			`GET pager.test /?key=<secret TOKEN> type="" accept="" auth="" agent="starhost" `},
		{"basic authentication", effects.Request{URL: "http://pager.test/", Auth: &effects.Auth{User: text("ada"), Password: token}},
			`GET pager.test / type="" accept="" auth="Basic YWRhOn<secret TOKEN>Q==" agent="starhost" `},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := w.Fetch(t.Context(), tt.r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if got.Status != 202 || got.Headers["x-two"] != "1, 2" {
				t.Errorf("got status %d, headers %v", got.Status, got.Headers)
			}
		})
	}
	if got, err := w.Fetch(t.Context(), effects.Request{Method: "HEAD", URL: "http://pager.test/"}); err != nil || got.Body != "" || got.Status != 202 {
		t.Errorf("HEAD: got %+v, %v", got, err)
	}
	headers := map[string]effects.Secret{}
	for i := range 102 { // with up to one more than a request may have
		_, err := w.Fetch(t.Context(), effects.Request{URL: "http://pager.test/", Headers: headers})
		if (err == nil) != (len(headers) <= 100) {
			t.Errorf("%d headers: got %v", len(headers), err)
		}
		headers[fmt.Sprint("X-", i)] = text("1")
	}
	w.DryRun = &effects.DryRun{}
	for _, method := range []string{"GET", "HEAD"} {
		got, err := w.Fetch(t.Context(), effects.Request{Method: method, URL: "http://pager.test/"})
		if err != nil || got.Status != 202 || len(w.DryRun.Effects()) > 0 {
			t.Errorf("%s in a dry run: got %+v, %v", method, got, err)
		}
	}
}

// TestFetchPermissions checks that a permission allows exactly its method, scheme, host, port and path.
func TestFetchPermissions(t *testing.T) {
	tests := []struct {
		grant, method, url string
		ok                 bool
	}{
		{"pager.test", "GET", "https://pager.test/x", true},
		{"pager.test", "HEAD", "https://pager.test/x", true},
		{"pager.test", "POST", "https://pager.test/x", false},
		{"pager.test", "GET", "http://pager.test/x", false},
		{"pager.test", "GET", "https://pager.test:8443/x", false},
		{"pager.test", "GET", "https://evil.test/x", false},
		{"pager.test", "GET", "https://xpager.test/x", false},
		{"pager.test", "GET", "https://pager.test.evil.test/x", false},
		{"POST pager.test", "POST", "https://pager.test/", true},
		{"POST pager.test", "GET", "https://pager.test/", false},
		{"http://pager.test", "GET", "http://pager.test/", true},
		{"http://pager.test", "GET", "https://pager.test/", false},
		{"pager.test:8443", "GET", "https://pager.test:8443/", true},
		{"pager.test:8443", "GET", "https://pager.test/", false},
		{"*.test", "GET", "https://a.b.test/", true},
		{"*.test", "GET", "https://test/", false},
		{"*", "GET", "https://anything.example/", true},
		{"*", "GET", "https://1.1.1.1/", true},
		{"1.1.*", "GET", "https://1.1.1.1/", true},
		{"1.1.*", "GET", "https://1.1.evil.test/", false},
		{"*.1", "GET", "https://1.1.1.1/", false},
		{"[2606:4700::1]", "GET", "https://[2606:4700:0:0::1]/", true},
		{"[2606:4700::1]", "GET", "https://[2606:4700::2]/", false},
		{"pager.test/v1/*", "GET", "https://pager.test/v1/x", true},
		{"pager.test/v1/*", "GET", "https://pager.test/v1", false},
		{"pager.test/v1/*", "GET", "https://pager.test/v2/", false},
		{"pager.test/v1/*", "GET", "https://pager.test/V1/x", false},
		{"pager.test/v1/*", "GET", "https://pager.test/%76%31/x", true},
		{"pager.test/%7Euser", "GET", "https://pager.test/~user", true},
		{"pager.test/v1", "GET", "https://pager.test/v1", true},
		{"pager.test/v1", "GET", "https://pager.test/v1?q=1", true},
		{"pager.test/v1", "GET", "https://pager.test/v1/x", false},
		{"pager.test/", "GET", "https://pager.test", true},
		{"pager.test/v1/*", "GET", "https://pager.test/v1/../v2", false},
		{"pager.test/v1/*", "GET", "https://pager.test/v1/%2e%2e/v2", false},
		{"pager.test/v1/*", "GET", "https://pager.test/v1/..%2fv2", false},
		{"pager.test/v1/*", "GET", "https://pager.test/v1/..%5cv2", false},
	}
	reached := errors.New("reached")
	for _, tt := range tests {
		t.Run(tt.grant+" "+tt.method+" "+tt.url, func(t *testing.T) {
			w := plugin(t, "http:"+tt.grant)
			w.HTTP = network("")
			w.HTTP.Dial = func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, reached }
			_, err := w.Fetch(t.Context(), effects.Request{Method: tt.method, URL: tt.url})
			if got := code(err) == "E0511"; got != tt.ok {
				t.Errorf("Fetch: got %v, want allowed %v", err, tt.ok)
			}
		})
	}
}

// TestFetchRefusals checks that a request needs a permission that is both declared and granted.
func TestFetchRefusals(t *testing.T) {
	w := &effects.World{Plugin: "oncall", Declared: grants(t, "http:pager.test"), Granted: grants(t, "http:*.example"), HTTP: network("")}
	tests := []struct{ method, url, want string }{
		{"", "https://pager.test/x?y", `plugin oncall has no permission http:pager.test: add to the list oncall in [grants] of your config: "http:pager.test", "http:paths.test/api/*" (or --grant oncall=http:pager.test --grant 'oncall=http:paths.test/api/*')`},
		{"POST", "http://a.example:81/", `plugin oncall has no permission http:POST http://a.example:81: add "http:POST http://a.example:81" to plugin(permissions = [...]); ` +
			`add to the list oncall in [grants] of your config: "http:POST http://a.example:81", "http:pager.test", "http:paths.test/api/*" (or --grant 'oncall=http:POST http://a.example:81' --grant oncall=http:pager.test --grant 'oncall=http:paths.test/api/*')`},
		{"", "https://a.example", `plugin oncall has no permission http:a.example: add "http:a.example" to plugin(permissions = [...])`},
	}
	w.Declared = append(w.Declared, grants(t, "http:paths.test/api/*")...)
	tests = append(tests, struct{ method, url, want string }{"", "https://paths.test/other?q",
		`plugin oncall has no permission http:paths.test/other: add "http:paths.test/other" to plugin(permissions = [...]); ` +
			`add to the list oncall in [grants] of your config: "http:paths.test/other", "http:pager.test", "http:paths.test/api/*" (or --grant oncall=http:paths.test/other --grant oncall=http:pager.test --grant 'oncall=http:paths.test/api/*')`})
	for _, tt := range tests {
		_, err := w.Fetch(t.Context(), effects.Request{Method: tt.method, URL: tt.url})
		if diff := cmp.Diff(tt.want, message(err)); diff != "" {
			t.Errorf("error (-want +got):\n%s", diff)
		}
	}
}

// hiddenHosts are spellings of addresses of this machine or its network that do not look like them.
var hiddenHosts = []string{
	"127.0.0.1", "127.255.0.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.0.8", "168.63.129.16", "192.80.8.124",
	"198.18.0.1", "224.0.0.1", "255.255.255.255",
	"[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[fe80::1]", "[fe80::1%25eth0]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[fec0::1]",
	"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:169.254.169.254]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::1]",
	"[2002:7f00:1::]", "[2001:0:7f00:1::]", "[2001:db8::1]",
	"2130706433", "0x7f000001", "0X7F000001", "017700000001", "0x7f.1", "127.1", "127.0.1", "0177.0.0.1", "127.0.0.01", "0x7f.0.0.0x1", "127.0.0.1.", "127.0.0.0x",
	"%31%32%37.0.0.1", "127%2e0%2e0%2e1", "①②⑦.⓪.⓪.①", "127。0。0。1", "[127.0.0.1]", "", ".", "localhost.", "a..b", "*", "10.*",
}

// TestFetchHiddenHosts checks that a wildcard lets no spelling of a private address through.
func TestFetchHiddenHosts(t *testing.T) {
	w := plugin(t, "http:http://*", "http:http://*.*", "http:http://1*")
	w.HTTP = network("")
	w.HTTP.Dial = func(_ context.Context, addr netip.AddrPort) (net.Conn, error) {
		t.Errorf("dialed %s", addr)
		return nil, errors.New("dialed")
	}
	for _, h := range hiddenHosts {
		t.Run(h, func(t *testing.T) {
			_, err := w.Fetch(t.Context(), effects.Request{URL: "http://" + h + "/latest/meta-data"})
			if c := code(err); c != "E0501" && c != "E0510" {
				t.Errorf("Fetch: got %v, want a refusal", err)
			}
		})
	}
}

// TestFetchHiddenRedirects checks that no redirect to a spelling of a private address gets through.
func TestFetchHiddenRedirects(t *testing.T) {
	to := ""
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "start.test" {
			t.Errorf("reached %s", r.Host)
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	})
	w := plugin(t, "http:http://*")
	w.HTTP = network(server)
	for _, h := range hiddenHosts {
		for _, to = range []string{"http://" + h + "/", "//" + h + "/x"} {
			if h == "" {
				continue // the redirect leads to the same host
			}
			if _, err := w.Fetch(t.Context(), effects.Request{URL: "http://start.test/"}); err == nil {
				t.Errorf("Fetch: redirected to %s, want a refusal", to)
			}
		}
	}
	for _, to = range []string{"https://other.test/", "http://other.test:81/", "file:///etc/passwd", "gopher://x/", "http://u:p@other.test/", "http://%zz/"} {
		if _, err := w.Fetch(t.Context(), effects.Request{URL: "http://start.test/"}); err == nil {
			t.Errorf("Fetch: redirected to %s, want a refusal", to)
		}
	}
}

// TestFetchRebinding checks that starhost checks every address of a resolver's answer, and connects to a
// checked address only.
func TestFetchRebinding(t *testing.T) {
	server := serve(t, echo)
	answers := [][]netip.Addr{
		{somewhere},
		{netip.MustParseAddr("127.0.0.1")},
		{somewhere, netip.MustParseAddr("10.0.0.1")},
		{netip.MustParseAddr("::ffff:127.0.0.1")},
		{netip.MustParseAddr("fe80::1%eth0")},
		{},
	}
	asked := 0
	var dialed []string
	w := plugin(t, "http:http://rebind.test")
	w.HTTP = network(server)
	w.HTTP.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		asked++
		return answers[asked-1], nil
	}
	direct := w.HTTP.Dial
	w.HTTP.Dial = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
		dialed = append(dialed, addr.String())
		return direct(ctx, addr)
	}
	var got []string
	for range answers {
		_, err := w.Fetch(t.Context(), effects.Request{URL: "http://rebind.test/"})
		got = append(got, message(err))
	}
	refused := func(addr string) string {
		return fmt.Sprintf("plugin p has no permission http:http://%[1]s (rebind.test leads to an address that is not public): "+
			`add to [grants] of your config: p = ["http:http://%[1]s"] (or --grant %[2]s)`, addr, shellwords.Quote("p=http:http://"+addr))
	}
	want := []string{"", refused("127.0.0.1"), refused("10.0.0.1"), refused("127.0.0.1"), refused("[fe80::1%eth0]"), "GET http://rebind.test/: there is no such host"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"93.184.216.34:80"}, dialed); diff != "" {
		t.Errorf("dialed (-want +got):\n%s", diff)
	}
}

// TestFetchPrivateAddress checks that an address that is not public needs a grant that spells it.
func TestFetchPrivateAddress(t *testing.T) {
	server := serve(t, echo)
	tests := []struct {
		name     string
		granted  []string
		url      string
		resolved string
		ok       bool
	}{
		{"the host itself", []string{"http:http://10.0.0.7"}, "http://10.0.0.7/", "", true},
		{"the host by its first numbers", []string{"http:http://10.0.*"}, "http://10.0.0.7/", "", true},
		{"a loopback host", []string{"http:http://[::1]:8080"}, "http://[::1]:8080/", "", true},
		{"a name alone", []string{"http:http://pager.test"}, "http://pager.test/", "10.0.0.7", false},
		{"a name and its address", []string{"http:http://pager.test", "http:http://10.0.0.7"}, "http://pager.test/", "10.0.0.7", true},
		{"a name and a network", []string{"http:http://pager.test", "http:http://10.*"}, "http://pager.test/", "10.0.0.7", true},
		{"a name and all", []string{"http:http://pager.test", "http:http://*"}, "http://pager.test/", "10.0.0.7", false},
		{"a name and a part of a number", []string{"http:http://pager.test", "http:http://1*"}, "http://pager.test/", "10.0.0.7", false},
		{"a name and a network, elsewhere", []string{"http:http://pager.test", "http:http://10.1.*"}, "http://pager.test/", "10.0.0.7", false},
		{"a name and a network of another port", []string{"http:http://pager.test", "http:http://10.*:81"}, "http://pager.test/", "10.0.0.7", false},
		{"a name and a network of another path", []string{"http:http://pager.test", "http:http://10.*/status"}, "http://pager.test/", "10.0.0.7", false},
		{"a mapped address", []string{"http:http://pager.test", "http:http://10.0.0.7"}, "http://pager.test/", "::ffff:10.0.0.7", true},
		{"localhost", []string{"http:http://localhost"}, "http://localhost/", "127.0.0.1", false},
		{"localhost and its address", []string{"http:http://localhost", "http:http://127.0.0.1"}, "http://localhost/", "127.0.0.1", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := &effects.World{Plugin: "p", Declared: grants(t, "http:http://*", "http:http://*:8080", "http:http://[::1]:8080"), Granted: grants(t, tt.granted...)}
			w.HTTP = resolving(network(server), "10.0.0.7")
			if tt.resolved != "" {
				w.HTTP = resolving(network(server), tt.resolved)
			}
			_, err := w.Fetch(t.Context(), effects.Request{URL: tt.url})
			if (err == nil) != tt.ok {
				t.Errorf("Fetch: got %v, want allowed %v", err, tt.ok)
			}
		})
	}
}

// TestFetchMachine checks that the real resolver and dialer reach a server of this machine if it is granted,
// and ignore the proxies of the environment.
func TestFetchMachine(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	server := serve(t, echo)
	w := plugin(t, "http:http://"+server)
	w.HTTP = &effects.HTTP{}
	if got, err := w.Fetch(t.Context(), effects.Request{URL: "http://" + server + "/"}); err != nil || got.Status != 202 {
		t.Errorf("Fetch: got %+v, %v", got, err)
	}
	_, port, _ := net.SplitHostPort(server)
	w = plugin(t, "http:http://localhost:"+port, "http:http://127.0.0.1:"+port, "http:http://[::1]:"+port)
	w.HTTP = &effects.HTTP{}
	if _, err := w.Fetch(t.Context(), effects.Request{URL: "http://localhost:" + port + "/"}); err != nil {
		t.Logf("localhost does not resolve to both here: %v", err)
	}
}

func TestFetchTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	w := plugin(t, "http:example.com", "http:other.test")
	w.HTTP = network(s.Listener.Addr().String())
	w.HTTP.Roots = x509.NewCertPool()
	w.HTTP.Roots.AddCert(s.Certificate())
	if got, err := w.Fetch(t.Context(), effects.Request{URL: "https://example.com/"}); err != nil || got.Status != 202 {
		t.Errorf("Fetch: got %+v, %v", got, err)
	}
	for _, url := range []string{"https://other.test/", "https://example.com/"} {
		_, err := w.Fetch(t.Context(), effects.Request{URL: url})
		if code(err) != "E0511" {
			t.Errorf("Fetch(%s): got %v, want E0511", url, err)
		}
		w.HTTP.Roots = x509.NewCertPool()
	}
}

func TestFetchRedirects(t *testing.T) {
	var seen []string
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, fmt.Sprintf("%s %s%s auth=%q x=%q type=%q accept=%q %s", r.Method, r.Host, r.URL, r.Header.Get("Authorization"),
			r.Header.Get("X-Key"), r.Header.Get("Content-Type"), r.Header.Get("Accept"), body))
		status := http.StatusFound
		switch r.URL.Path {
		case "/307":
			status = http.StatusTemporaryRedirect
		case "/300":
			status = http.StatusMultipleChoices
		case "/end":
			return
		case "/loop":
			w.Header().Set("Location", "/loop?again")
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Location", r.URL.Query().Get("to"))
		w.WriteHeader(status)
	})
	w := plugin(t, "http:GET,POST http://a.test", "http:GET,POST http://b.test", "secret:TOKEN@a.test", "http:GET http://get.test")
	w.HTTP = network(server)
	w.Secrets = secrets(map[string]string{"TOKEN": "s3cret-value"})
	token, err := w.Secret(t.Context(), "TOKEN")
	if err != nil {
		t.Fatal(err)
	}
	headers := map[string]effects.Secret{"Authorization": token, "X-Key": effects.Plain("k"), "Accept": effects.Plain("text/x"), "Content-Type": effects.Plain("text/y")}
	tests := []struct {
		name, url string
		status    int
		want      []string
	}{
		{"the same host", "http://a.test/302?to=/end", 200, []string{
			`POST a.test/302?to=/end auth="s3cret-value" x="k" type="text/y" accept="text/x" body`,
			`GET a.test/end auth="s3cret-value" x="k" type="" accept="text/x" `}},
		{"another host", "http://a.test/307?to=//b.test/end", 200, []string{
			`POST a.test/307?to=//b.test/end auth="s3cret-value" x="k" type="text/y" accept="text/x" body`,
			`POST b.test/end auth="" x="" type="text/y" accept="text/x" body`}},
		{"there and back", "http://a.test/302?to=http://b.test/302%3Fto=http://a.test/end", 200, []string{
			`POST a.test/302?to=http://b.test/302%3Fto=http://a.test/end auth="s3cret-value" x="k" type="text/y" accept="text/x" body`,
			`GET b.test/302?to=http://a.test/end auth="" x="" type="" accept="text/x" `,
			`GET a.test/end auth="" x="" type="" accept="text/x" `}},
		{"none", "http://a.test/300?to=/end", 300, []string{
			`POST a.test/300?to=/end auth="s3cret-value" x="k" type="text/y" accept="text/x" body`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seen = nil
			got, err := w.Fetch(t.Context(), effects.Request{Method: "POST", URL: tt.url, Headers: headers, Body: "body"})
			if err != nil || got.Status != tt.status {
				t.Errorf("Fetch: got %d, %v, want %d", got.Status, err, tt.status)
			}
			if diff := cmp.Diff(tt.want, seen); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := w.Fetch(t.Context(), effects.Request{Method: "POST", URL: "http://a.test/307?to=http://get.test/end"}); code(err) != "E0501" {
		t.Errorf("Fetch: redirected a POST, got %v, want E0501", err)
	}
	seen = nil
	_, err = w.Fetch(t.Context(), effects.Request{URL: "http://a.test/loop"})
	if diff := cmp.Diff("GET http://a.test/loop: got more than 5 redirects", message(err)); diff != "" || len(seen) != 6 {
		t.Errorf("error after %d requests (-want +got):\n%s", len(seen), diff)
	}
}

func TestFetchForm(t *testing.T) {
	w := plugin(t, "http:http://a.test", "http:GET,POST a.test")
	text := effects.Plain
	header := func(name, value string) effects.Request {
		return effects.Request{URL: "https://a.test", Headers: map[string]effects.Secret{name: text(value)}}
	}
	tests := []struct {
		name string
		r    effects.Request
		want string
	}{
		{"no URL", effects.Request{}, `URL "": got scheme "", want https or http`},
		{"no host", effects.Request{URL: "https://"}, `URL "https://": got host "", want a name as pager.internal, or an address as 10.0.0.1 or [::1]`},
		{"another scheme", effects.Request{URL: "ftp://a.test"}, `URL "ftp://a.test": got scheme "ftp", want https or http`},
		{"a password", effects.Request{URL: "https://u:hunter22@a.test"}, `URL: got a user's name or password in it, want these in auth`},
		{"a backslash", effects.Request{URL: `https://a.test\@b.test`}, `URL "https://a.test\\@b.test": want one as https://pager.internal/oncall`},
		{"a newline", effects.Request{URL: "https://a.test/\r\nX: y"}, `URL "https://a.test/\r\nX: y": want one as https://pager.internal/oncall`},
		{"a port", effects.Request{URL: "https://a.test:0"}, `URL "https://a.test:0": got port "0", want 1 to 65535`},
		{"a long URL", effects.Request{URL: "https://a.test/" + strings.Repeat("x", 8192)}, `URL "https://a.test/` + strings.Repeat("x", 105) + `…": got 8207 bytes, want at most 8192`},
		{"dots with parameters", effects.Request{URL: "https://a.test/api/..;/y"}, `URL "https://a.test/api/..;/y": got path "/api/..;/y", want one without a . or .. among its names`},
		{"escaped dots with parameters", effects.Request{URL: "https://a.test/api/%2e.%3Bx=1/y"}, `URL "https://a.test/api/%2e.%3Bx=1/y": got path "/api/%2e.%3Bx=1/y", want one without a . or .. among its names`},
		{"dots", effects.Request{URL: "https://a.test/x/%2E%2E/y"}, `URL "https://a.test/x/%2E%2E/y": got path "/x/%2E%2E/y", want one without a . or .. among its names`},
		{"a method", effects.Request{Method: "G T", URL: "https://a.test"}, `method: got "G T", want one as GET or POST`},
		{"a tunnel", effects.Request{Method: "CONNECT", URL: "https://a.test"}, `method: got "CONNECT", want one as GET or POST`},
		{"host", header("host", "b.test"), `headers: got Host, which is the host's to set`},
		{"length", header("content-LENGTH", "1"), `headers: got Content-Length, which is the host's to set`},
		{"a header's name", header("a b", "1"), `headers: got name "a b", want one as Accept`},
		{"a header's value", header("A", "1\r\nB: 2"), `headers: A: got a control character`},
		{"a header twice", effects.Request{URL: "https://a.test", Headers: map[string]effects.Secret{"A": text(""), "a": text("")}}, `headers: got A twice`},
		{"two kinds of auth", effects.Request{URL: "https://a.test", Auth: &effects.Auth{}, Headers: map[string]effects.Secret{"authorization": text("")}}, `headers: got Authorization beside auth, want one of them`},
		{"long headers", header("A", strings.Repeat("x", 65537)), `headers: got 1 of 65538 bytes, want at most 100 of 65536`},
		{"two bodies", effects.Request{Method: "POST", URL: "https://a.test", Body: "x", JSON: json.RawMessage("1")}, `got both body and json, want one of them`},
		{"a long body", effects.Request{Method: "POST", URL: "https://a.test", Body: strings.Repeat("x", 8<<20+1)}, `body: got 8388609 bytes, want at most 8388608`},
		{"no network", effects.Request{URL: "https://a.test/x?y"}, `GET https://a.test/x: there is no network here`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.Fetch(t.Context(), tt.r)
			if diff := cmp.Diff(tt.want, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFetchFailures(t *testing.T) {
	release := make(chan struct{})
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			io.Copy(w, io.LimitReader(zeros{}, 8<<20+1))
		case "/headers":
			w.Header().Set("X", strings.Repeat("x", 128<<10))
		case "/slow":
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case "/broken":
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
		}
	})
	defer close(release)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	w := plugin(t, "http:http://a.test")
	open := network(server)
	noName := *open
	noName.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		return nil, &net.DNSError{Err: "timed out at 10.0.0.1"}
	}
	tests := []struct {
		name string
		h    *effects.HTTP
		r    effects.Request
		want string
	}{
		{"large", open, effects.Request{URL: "http://a.test/large"}, `GET http://a.test/large: got more than 8388608 bytes in the answer, want at most that`},
		{"headers", open, effects.Request{URL: "http://a.test/headers"}, `GET http://a.test/headers: net/http: HTTP/1.x transport connection broken: net/http: server response headers exceeded 65536 bytes; aborted`},
		{"slow", open, effects.Request{URL: "http://a.test/slow?key", Timeout: 20 * time.Millisecond}, `GET http://a.test/slow: no answer in 20ms`},
		{"broken", open, effects.Request{URL: "http://a.test/broken"}, `GET http://a.test/broken: EOF`},
		{"closed", network(closed.Addr().String()), effects.Request{URL: "http://a.test"}, `GET http://a.test/: connection refused`},
		{"no name", &noName, effects.Request{URL: "http://a.test"}, `GET http://a.test/: the host's name could not be resolved`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w.HTTP = tt.h
			_, err := w.Fetch(t.Context(), tt.r)
			if diff := cmp.Diff(tt.want, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestFetchSecretHosts checks that a secret goes only to its own host.
func TestFetchSecretHosts(t *testing.T) {
	var asked atomic.Int64
	server := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	w := plugin(t, "http:http://*", "http:http://[2606:4700::1]", "secret:BOUND@a.test", "secret:WIDE@*.test", "secret:FREE", "secret:SIX@[2606:4700::1]")
	w.HTTP = network(server)
	w.Secrets = secrets(map[string]string{"BOUND": "1", "WIDE": "2", "FREE": "3", "SIX": "6"})
	tests := []struct {
		secret, url string
		ok          bool
	}{
		{"BOUND", "http://a.test", true},
		{"BOUND", "http://b.test", false},
		{"BOUND", "http://a.test.evil.example", false},
		{"WIDE", "http://b.test", true},
		{"WIDE", "http://b.example", false},
		{"FREE", "http://b.example", true},
		{"SIX", "http://[2606:4700::1]", true},
		{"SIX", "http://a.test", false},
	}
	for _, tt := range tests {
		t.Run(tt.secret+" "+tt.url, func(t *testing.T) {
			s, err := w.Secret(t.Context(), tt.secret)
			if err != nil {
				t.Fatal(err)
			}
			one := map[string]effects.Secret{"X-Key": s}
			for _, r := range []effects.Request{{Headers: one}, {Params: one}, {Auth: &effects.Auth{Password: s}}, {Auth: &effects.Auth{User: s}}} {
				r.URL = tt.url
				before := asked.Load()
				_, err := w.Fetch(t.Context(), r)
				if reached := asked.Load() > before; (err == nil) != tt.ok || reached != tt.ok {
					t.Errorf("Fetch: got %v, reached %v, want %v", err, reached, tt.ok)
				}
			}
		})
	}
}

// TestURLReferences checks that a user may fetch a URL by typing it, and that a plugin needs a permission of
// its own.
func TestURLReferences(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/picture":
			w.Header().Set("Content-Type", "image/png")
		case "/binary":
			w.Header().Set("Content-Type", "text/plain")
			w.Write([]byte("\xff"))
			return
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		case "/away":
			http.Redirect(w, r, "http://b.test/text", http.StatusFound)
		case "/inside":
			http.Redirect(w, r, "http://127.0.0.1/text", http.StatusFound)
		case "/json":
			w.Header().Set("Content-Type", "application/problem+json; charset=utf-8")
		}
		fmt.Fprint(w, "text of "+r.URL.Path)
	})
	world := &effects.World{HTTP: network(server)}
	tests := []struct{ ref, want, err string }{
		{"http://a.test/text", "http://a.test/text = text of /text", ""},
		{"http://a.test:81/json?x=1", "http://a.test:81/json?x=1 = text of /json", ""},
		{"http://127.0.0.1/text", "http://127.0.0.1/text = text of /text", ""},
		{"http://a.test/away", "http://a.test/away = text of /text", ""},
		{"http://a.test/inside", "", `plugin host has no permission http:http://127.0.0.1 (127.0.0.1 leads to an address that is not public): ` +
			`add to [grants] of your config: host = ["http:http://127.0.0.1"] (or --grant host=http:http://127.0.0.1)`},
		{"http://a.test/picture", "", `http://a.test/picture: got "image/png", want text`},
		{"http://a.test/binary", "", `http://a.test/binary: got bytes that are not UTF-8, want text`},
		{"http://a.test/missing", "", `http://a.test/missing: got status 404 Not Found, want 200`},
		{"https:x", "", `URL "https:x": want one as https://pager.internal/oncall`},
	}
	for _, tt := range tests {
		t.Run(tt.ref, func(t *testing.T) {
			got, err := load(t, effects.RefOptions{World: world}, tt.ref)
			if diff := cmp.Diff(tt.err, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("Load (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := load(t, effects.RefOptions{}, "https://a.test/"); !strings.Contains(message(err), "unknown fragment reference") {
		t.Errorf("Load without a network: got %v", err)
	}
	inHook(t, host.Options{}, func(ctx context.Context, turn *host.Turn) {
		w := plugin(t, "http:http://a.test", "fs.read:notes/*")
		w.HTTP, w.Workspace = network(server), effects.NewFiles(memory(t, map[string]string{"notes/a.md": "A"}), effects.FileOptions{})
		for ref, want := range map[string]string{
			"http://a.test/text": "", "http://b.test/text": "E0501", "file:notes/a.md": "", "file:other.md": "E0501", "file:/etc/passwd": "E0503",
			"notes/a.md": "E0503", "-": "E0503", "c:x": "E0503", "runbook:x": "E0501",
		} {
			got, err := w.LoadFragment(ctx, ref)
			if code(err) != want || err == nil && len(got.Fragments) != 1 {
				t.Errorf("LoadFragment(%q): got %+v, %v, want code %q", ref, got, err, want)
			}
		}
	})
}
