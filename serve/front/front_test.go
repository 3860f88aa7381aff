package front_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/serve/front"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testbed.Alone(m)) }

const token = "0123456789abcdef"

// A served front is a running server with its log.
type served struct {
	address string
	stop    func() error // stops it and waits

	mu    sync.Mutex
	lines []string
}

func (s *served) log(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

func (s *served) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// serve runs a server at an address until the test ends.
func serve(t *testing.T, address string, o front.Options, h http.HandlerFunc) *served {
	t.Helper()
	s := &served{}
	if o.Log == nil {
		o.Log = s.log
	}
	if o.MaxBody == 0 {
		o.MaxBody = 1000
	}
	if o.MaxRequests == 0 {
		o.MaxRequests = 10
	}
	l, err := o.Listen(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- o.Serve(ctx, l, h) }()
	s.address = l.Addr().String()
	s.stop = sync.OnceValue(func() error {
		stop()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		return <-ended
	})
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

// echo answers with the body.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "got %s", body)
}

// send sends a request and returns the status and the body.
func send(t *testing.T, method, address, path, body string, header map[string]string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, strings.TrimSpace(string(text))
}

// TestFront checks which requests reach a server with a token and one without.
func TestFront(t *testing.T) {
	open := serve(t, "127.0.0.1:0", front.Options{}, echo).address
	closed := serve(t, "127.0.0.1:0", front.Options{Token: token}, echo).address
	bearer := "Bearer " + token
	tests := []struct {
		name, method, server, path, body string
		header                           map[string]string
		status                           int
		want                             string
	}{
		{"a program", "POST", open, "/x", "hi", nil, 200, "got hi"},
		{"by name", "POST", open, "/x", "hi", map[string]string{"Host": "localhost:1"}, 200, "got hi"},
		{"rebinding", "POST", open, "/x", "hi", map[string]string{"Host": "evil.example"}, 403, "Host: want localhost"},
		{"a name that begins well", "POST", open, "/x", "", map[string]string{"Host": "localhost.evil.example"}, 403, "Host: want localhost"},
		{"a web page", "POST", open, "/x", "", map[string]string{"Origin": "http://evil.example"}, 403, "Origin: want none, or this server's own"},
		{"a local file", "POST", open, "/x", "", map[string]string{"Origin": "null"}, 403, "Origin: want none, or this server's own"},
		{"its own page", "POST", open, "/x", "hi", map[string]string{"Origin": "http://" + open}, 200, "got hi"},
		{"health of a web page", "GET", open, "/healthz", "", map[string]string{"Host": "evil.example"}, 403, "Host: want localhost"},
		{"no token", "POST", closed, "/x", "hi", nil, 401, "Authorization: want the bearer token"},
		{"half a token", "POST", closed, "/x", "hi", map[string]string{"Authorization": bearer[:12]}, 401, "Authorization: want the bearer token"},
		{"another scheme", "POST", closed, "/x", "hi", map[string]string{"Authorization": token}, 401, "Authorization: want the bearer token"},
		{"the token", "POST", closed, "/x", "hi", map[string]string{"Authorization": bearer}, 200, "got hi"},
		{"the token behind a proxy", "POST", closed, "/x", "hi", map[string]string{"Authorization": bearer, "Host": "starhost.example"}, 200, "got hi"},
		{"the token on a web page", "POST", closed, "/x", "hi", map[string]string{"Authorization": bearer, "Origin": "http://evil.example"}, 403, "Origin: want none, or this server's own"},
		{"health", "GET", closed, "/healthz", "", nil, 200, "ok"},
		{"ready", "HEAD", closed, "/readyz", "", nil, 200, ""},
		{"health with a body", "POST", closed, "/healthz", "hi", nil, 405, "want GET"},
		{"the largest body", "POST", open, "/x", strings.Repeat("x", 1000), nil, 200, "got " + strings.Repeat("x", 1000)},
		{"a larger body", "POST", open, "/x", strings.Repeat("x", 1001), nil, 413, "body: got more than 1000 bytes, want less"},
		{"large headers", "GET", open, "/x", "", map[string]string{"X-Large": strings.Repeat("x", 64<<10)}, 431, "431 Request Header Fields Too Large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, text := send(t, tt.method, tt.server, tt.path, tt.body, tt.header)
			if status != tt.status || text != tt.want {
				t.Errorf("got %d %q, want %d %q", status, text, tt.status, tt.want)
			}
		})
	}
}

// TestLog checks that a line of log has the request's outcome, and neither query, headers, body nor
// bytes that a terminal obeys.
func TestLog(t *testing.T) {
	s := serve(t, "127.0.0.1:0", front.Options{}, echo)
	send(t, "POST", s.address, "/a%1b%0ab/"+strings.Repeat("c", 200)+"?secret=1", "secret", map[string]string{"X-Secret": "secret"})
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	line, took, ok := strings.Cut(s.logged(), " B ")
	if want := "POST /a%1b%0ab/" + strings.Repeat("c", 90) + "... 200 10"; !ok || line != want {
		t.Errorf("got %q, want %q", line, want)
	}
	if strings.Contains(line+took, "secret") || !strings.HasSuffix(took, " ms") {
		t.Errorf("got %q, want a time in ms", took)
	}
}

// TestListen checks the addresses that a server refuses.
func TestListen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	deciding := front.Options{NeedsToken: true}
	tests := []struct {
		name    string
		o       front.Options
		address string
		want    string
	}{
		{"no port", front.Options{}, "127.0.0.1", `address: got "127.0.0.1", want HOST:PORT or unix:PATH`},
		{"others reach it", front.Options{}, "0.0.0.0:0", `address: got "0.0.0.0:0", which others reach: want one as 127.0.0.1:8080, or a token`},
		{"other users reach it", deciding, "127.0.0.1:0", `address: got "127.0.0.1:0", which other users of this machine reach: want a token, or unix:PATH`},
		{"a word", deciding, "hooks", `address: got "hooks", want HOST:PORT or unix:PATH`},
		{"a short token", front.Options{Token: "short"}, "127.0.0.1:0", "token: got 5 bytes, want at least 16"},
		{"a token that no header has", front.Options{Token: token + "\n"}, "127.0.0.1:0", "token: got 17 bytes, want at most 4096, all of them visible ASCII: no header has others"},
		{"no path", deciding, "unix:", "address: got unix: without a path, want unix:PATH"},
		{"a file", deciding, "unix:" + file, "address: got a file that is no socket, want a free name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l, err := tt.o.Listen(t.Context(), tt.address)
			if err == nil {
				l.Close()
			}
			if got := fmt.Sprint(err); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestUnix checks that a socket has mode 0600 from its first moment, that a second server does not
// take it, and that a server takes the socket of one that is gone.
func TestUnix(t *testing.T) {
	dir, err := os.MkdirTemp("", "f") // t.TempDir is too long for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	o := front.Options{NeedsToken: true}
	s := serve(t, "unix:"+path, o, echo)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want mode 0600", info.Mode(), err)
	}
	client := http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}, DisableKeepAlives: true,
	}}
	r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://any.host/x", strings.NewReader("hi"))
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if string(text) != "got hi" {
		t.Errorf("got %q", text)
	}
	if _, err := o.Listen(t.Context(), "unix:"+path); err == nil || err.Error() != "address: another program serves this socket" {
		t.Errorf("a second server: got %v", err)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if names, _ := os.ReadDir(dir); len(names) > 0 {
		t.Errorf("files are left: %v", names)
	}

	gone, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	gone.(*net.UnixListener).SetUnlinkOnClose(false)
	gone.Close()
	serve(t, "unix:"+path, o, echo)
}

// TestSlowBody checks that a body that does not arrive ends with 400, also for a client without the
// token, which must not hold a connection for longer.
func TestSlowBody(t *testing.T) {
	defer front.SetBodyTimeout(50 * time.Millisecond)()
	for _, o := range []front.Options{{}, {Token: token}} {
		s := serve(t, "127.0.0.1:0", o, echo)
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf")
		text, err := io.ReadAll(c) // to the end of the connection
		c.Close()
		status, _, _ := strings.Cut(string(text), "\r\n")
		if err != nil || o.Token == "" && status != "HTTP/1.1 400 Bad Request" || strings.Contains(status, "200") {
			t.Errorf("token %q: got %q, %v, want status 400 or the end of the connection", o.Token, status, err)
		}
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestMany checks that requests over the limit get 503 and do not wait, and that later ones pass.
func TestMany(t *testing.T) {
	inside, release := make(chan bool), make(chan bool)
	s := serve(t, "127.0.0.1:0", front.Options{MaxRequests: 2}, func(http.ResponseWriter, *http.Request) {
		inside <- true
		<-release
	})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if status, _ := send(t, "GET", s.address, "/x", "", nil); status != 200 {
				t.Errorf("got %d, want 200", status)
			}
		})
		<-inside
	}
	if status, text := send(t, "GET", s.address, "/x", "", nil); status != 503 || text != "too many requests at once" {
		t.Errorf("got %d %q, want 503", status, text)
	}
	close(release)
	wg.Wait()
	wg.Go(func() { <-inside })
	if status, _ := send(t, "GET", s.address, "/x", "", nil); status != 200 {
		t.Errorf("after the others: got %d, want 200", status)
	}
	wg.Wait()
}

// TestConnections checks that connections over the limit are closed.
func TestConnections(t *testing.T) {
	s := serve(t, "127.0.0.1:0", front.Options{MaxRequests: 2}, echo)
	var open []net.Conn
	for range 10 {
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open = append(open, c)
	}
	answered := 0
	for range 2 { // in the first round, a connection may give way to a later one after its answer
		answered = 0
		for _, c := range open {
			fmt.Fprint(c, "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if answer, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				answered++
			}
		}
	}
	if answered != 4 {
		t.Errorf("got %d open connections of 10, want 4", answered)
	}
}

// TestConnectionsGiveWay checks that connections without the token keep nobody out, and that they
// do not close one whose client has the token.
func TestConnectionsGiveWay(t *testing.T) {
	s := serve(t, "127.0.0.1:0", front.Options{MaxRequests: 2, Token: token}, echo)
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	ask := func(c net.Conn, path, header string) string {
		t.Helper()
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, header)
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		io.Copy(io.Discard, answer.Body)
		return fmt.Sprint(answer.StatusCode, " ", answer.Close)
	}
	const bearer = "Authorization: Bearer " + token + "\r\n"
	mine := dial()
	if got := ask(mine, "/x", bearer); got != "200 false" {
		t.Fatalf("got %s", got)
	}
	for range 3 {
		for i := range 20 {
			const refused = "GET /x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer none\r\n\r\n"
			fmt.Fprint(dial(), []string{
				"", "GET /x HTTP/1.1\r\n", refused, refused + "GET /x HTTP/1.1\r\n",
				"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf of a body",
			}[i%5])
		}
		if got := ask(dial(), "/x", "Connection: close\r\n"+bearer); got != "200 true" {
			t.Errorf("a new client with the token: got %s", got)
		}
		if got := ask(mine, "/x", bearer); got != "200 false" {
			t.Errorf("the first client with the token: got %s", got)
		}
	}
	if got := ask(dial(), "/healthz", ""); got != "200 true" {
		t.Errorf("health: got %s, want the end of the connection", got)
	}
}

// TestPanic checks that a panic of a server reaches its client as a refusal, and never as half an
// answer that looks whole.
func TestPanic(t *testing.T) {
	refuse := func(w http.ResponseWriter, _ *http.Request, status int, why string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"deny":"%d %s"}`, status, why)
	}
	s := serve(t, "127.0.0.1:0", front.Options{Refuse: refuse, Token: token}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/half" {
			fmt.Fprint(w, "half")
		}
		panic("oops")
	})
	bearer := map[string]string{"Authorization": "Bearer " + token}
	if status, text := send(t, "GET", s.address, "/x", "", bearer); status != 200 || text != `{"deny":"500 the server failed"}` {
		t.Errorf("got %d %q", status, text)
	}
	if status, text := send(t, "GET", s.address, "/x", "", nil); status != 200 || text != `{"deny":"401 Authorization: want the bearer token"}` {
		t.Errorf("without a token: got %d %q", status, text)
	}
	r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.address+"/half", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err == nil {
		_, err = io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	if err == nil {
		t.Error("half an answer: got no error")
	}
	if !strings.Contains(s.logged(), "panic: oops") {
		t.Errorf("log: got %q", s.logged())
	}
}

// TestStop checks that a server that stops finishes open requests, is not ready and takes no more.
func TestStop(t *testing.T) {
	inside, release := make(chan bool), make(chan bool)
	var notReady error
	o := front.Options{Ready: func() error { return notReady }}
	s := serve(t, "127.0.0.1:0", o, func(w http.ResponseWriter, _ *http.Request) {
		inside <- true
		<-release
		fmt.Fprint(w, "done")
	})
	notReady = errors.New("a guard is not loaded")
	if status, text := send(t, "GET", s.address, "/readyz", "", nil); status != 503 || text != "a guard is not loaded" {
		t.Errorf("/readyz: got %d %q", status, text)
	}
	notReady = nil
	idle, err := net.Dial("tcp", s.address) // it must not delay the end
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	got := make(chan string, 1)
	go func() {
		_, text := send(t, "GET", s.address, "/x", "", nil)
		got <- text
	}()
	<-inside
	ended := make(chan error, 1)
	go func() { ended <- s.stop() }()
	for status := 200; status == 200; {
		status, _ = send(t, "GET", s.address, "/readyz", "", nil)
	}
	if status, text := send(t, "GET", s.address, "/x", "", nil); status != 503 || text != "the server stops" {
		t.Errorf("a new request: got %d %q", status, text)
	}
	close(release)
	if text := <-got; text != "done" {
		t.Errorf("the open request: got %q", text)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
