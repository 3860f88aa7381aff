package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/front"
	"github.com/starhost/starhost/serve/mcp"
)

// listen serves a host over HTTP until the test ends, and returns its address.
func listen(t *testing.T, h *host.Host, token string) string {
	t.Helper()
	l, err := front.Options{Token: token}.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	server := mcp.NewServer(host.NewLiveHost(h), mcp.Options{})
	go func() { served <- serveHTTP(ctx, l, server, token) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return l.Addr().String()
}

// serveHTTP serves clients behind the front until ctx ends.
func serveHTTP(ctx context.Context, l net.Listener, s *mcp.Server, token string) error {
	o, protocol := s.Front(token)
	return o.Serve(ctx, l, protocol)
}

// dial connects a client over HTTP.
func dial(ctx context.Context, address string) (*sdk.ClientSession, error) {
	return dialAs(ctx, address, nil, withSessions)
}

// dialAs is dial for a client of a protocol version.
func dialAs(ctx context.Context, address string, o *sdk.ClientOptions, version string) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	transport := &sdk.StreamableClientTransport{Endpoint: "http://" + address + mcp.Path, MaxRetries: -1}
	return client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
}

func TestHTTP(t *testing.T) {
	address := listen(t, newHost(t, host.Options{}, weather()), "")
	for version, end := range map[string]string{withSessions: "}", stateless: `,"resultType":"complete"}`} {
		c, err := dialAs(t.Context(), address, nil, version)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		diff(t, "version", version, c.InitializeResult().ProtocolVersion)
		want := `{"content":[{"type":"text","text":"sun"}]` + end
		diff(t, "answer", want, call(t, c, "forecast", `{"city":"Rome"}`))
	}
}

// TestShutdown checks that a server that stops still finishes open calls.
func TestShutdown(t *testing.T) {
	started, release := make(chan bool), make(chan bool)
	slow := starhost.Plugin{Name: "slow", Tools: []starhost.Tool{{Name: "nap", Description: "Sleeps.", Call: func(
		context.Context, starhost.ToolCall,
	) (starhost.Result, error) {
		started <- true
		<-release
		return starhost.Result{ForLLM: "awake"}, nil
	}}}}
	l, err := front.Options{}.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() {
		live := host.NewLiveHost(newHost(t, host.Options{}, slow))
		served <- serveHTTP(ctx, l, mcp.NewServer(live, mcp.Options{}), "")
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	c, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: "http://" + l.Addr().String() + mcp.Path, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-started
		stop()
		close(release)
	}()
	diff(t, "answer", `{"content":[{"type":"text","text":"awake"}],"resultType":"complete"}`, call(t, c, "nap", ""))
	if err := <-served; err != nil {
		t.Error(err)
	}
	c.Close()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// TestHTTPRefuses checks that a server answers only programs on this machine or clients with the
// token. It must refuse every web page, whatever its host name.
func TestHTTPRefuses(t *testing.T) {
	const token = "0123456789abcdef"
	open := listen(t, newHost(t, host.Options{}, weather()), "")
	closed := listen(t, newHost(t, host.Options{}, weather()), token)
	_, port, _ := net.SplitHostPort(open)
	tests := []struct {
		name, server, method, path string
		header                     map[string]string
		body                       string
		want                       int
	}{
		{"a program", open, "POST", "/mcp", nil, hello, 200},
		{"by name", open, "POST", "/mcp", map[string]string{"Host": "localhost:" + port}, hello, 200},
		{"its own page", open, "POST", "/mcp", map[string]string{"Origin": "http://" + open}, hello, 200},
		{"rebinding", open, "POST", "/mcp", map[string]string{"Host": "evil.example.com"}, hello, 403},
		{"rebinding with its origin", open, "POST", "/mcp", map[string]string{"Host": "evil.example.com", "Origin": "http://evil.example.com"}, hello, 403},
		{"a name that begins well", open, "POST", "/mcp", map[string]string{"Host": "localhost.evil.example.com"}, hello, 403},
		{"a page", open, "POST", "/mcp", map[string]string{"Origin": "https://evil.example.com"}, hello, 403},
		{"a page of another port", open, "POST", "/mcp", map[string]string{"Origin": "http://127.0.0.1:1"}, hello, 403},
		{"a page without origin", open, "POST", "/mcp", map[string]string{"Origin": "null"}, hello, 403},
		{"a page that reads news", open, "GET", "/mcp", map[string]string{"Origin": "https://evil.example.com"}, "", 403},
		{"a page that asks first", open, "OPTIONS", "/mcp", map[string]string{"Origin": "https://evil.example.com"}, "", 403},
		{"a form", open, "POST", "/mcp", map[string]string{"Content-Type": "text/plain"}, hello, 415},
		{"elsewhere", open, "GET", "/", nil, "", 404},
		{"a large body", open, "POST", "/mcp", nil, strings.Repeat(" ", 5<<20), 413},
		{"large headers", open, "POST", "/mcp", map[string]string{"X-Large": strings.Repeat("x", 64<<10)}, hello, 431},
		{"garbage", open, "POST", "/mcp", nil, "garbage", 400},
		{"a session that is none", open, "POST", "/mcp", map[string]string{"Mcp-Session-Id": "none"}, hello, 404},
		{"no token", closed, "POST", "/mcp", nil, hello, 401},
		{"another token", closed, "POST", "/mcp", map[string]string{"Authorization": "Bearer 0123456789abcdeg"}, hello, 401},
		{"the token alone", closed, "POST", "/mcp", map[string]string{"Authorization": token}, hello, 401},
		{"the token", closed, "POST", "/mcp", map[string]string{"Authorization": "Bearer " + token}, hello, 200},
		{"the token under another name", closed, "POST", "/mcp", map[string]string{"Authorization": "Bearer " + token, "Host": "starhost.internal"}, hello, 200},
		{"the token from a page", closed, "POST", "/mcp", map[string]string{"Authorization": "Bearer " + token, "Origin": "https://evil.example.com"}, hello, 403},
		{"nothing elsewhere without the token", closed, "GET", "/", nil, "", 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), tt.method, "http://"+tt.server+tt.path, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			for name, value := range tt.header {
				r.Header.Set(name, value)
			}
			r.Host = tt.header["Host"]
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != tt.want {
				t.Errorf("got %s (%s), want %d", resp.Status, text, tt.want)
			}
			if strings.Contains(string(text), token) {
				t.Errorf("the answer has the token: %s", text)
			}
		})
	}
}

// TestManyBodies sends bodies that never end. The server must bound their sum, refuse a further
// client with a reason, and answer it after the others have gone.
func TestManyBodies(t *testing.T) {
	address := listen(t, newHost(t, host.Options{}, weather()), "")
	statuses := make(chan int, 20)
	var conns []net.Conn
	for range 20 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		go func() {
			fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", address, 4<<20, strings.Repeat(" ", 4<<20-1))
			if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				resp.Body.Close()
				statuses <- resp.StatusCode
			}
		}()
	}
	diff(t, "one too many", http.StatusServiceUnavailable, <-statuses)
	for _, conn := range conns {
		conn.Close()
	}
	for { // until the server has dropped all bodies
		c, err := dial(t.Context(), address)
		if err == nil {
			c.Close()
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// TestManyClients runs many clients at the same time. They call names that exist and names that do
// not, and some send a request and do not read the answer. Each of the others must get the right
// answer, and the memory in use must not grow. With STARHOST_LONG there are 200 clients for a
// minute.
func TestManyClients(t *testing.T) {
	clients, most := 64, 300*time.Millisecond
	if os.Getenv("STARHOST_LONG") != "" {
		clients, most = 200, time.Minute
	}
	address := listen(t, newHost(t, host.Options{}, weather()), "")
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	var calls atomic.Int64
	var all sync.WaitGroup
	for i := range clients {
		if i%8 == 7 {
			all.Go(func() { hangUp(t, ctx, address) })
			continue
		}
		all.Go(func() {
			c, err := dial(t.Context(), address)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			n := 0
			for random := rand.New(rand.NewPCG(uint64(i), 0)); n < 4 || ctx.Err() == nil; n++ {
				requestOfKind(t, c, random.IntN(6))
			}
			calls.Add(int64(n))
		})
	}
	half := make(chan uint64, 1)
	time.AfterFunc(most/2, func() { half <- heapInUse() })
	all.Wait()
	before, after := <-half, heapInUse()
	t.Logf("%d calls, %d KiB in use half way, %d KiB at the end", calls.Load(), before>>10, after>>10)
	if after > before+16<<20 {
		t.Errorf("%d bytes in use half way, %d at the end: want no growth", before, after)
	}
}

// heapInUse returns the bytes of the heap after a collection.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// hangUp sends requests until ctx ends, and closes each connection without reading the answer.
func hangUp(t *testing.T, ctx context.Context, address string) {
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	for ctx.Err() == nil {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
			"Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: %s\r\nContent-Length: %d\r\n\r\n%s",
			address, stateless, len(list), list)
		time.Sleep(5 * time.Millisecond)
		c.Close()
	}
}

// requestOfKind sends one request of a kind and checks the answer.
func requestOfKind(t *testing.T, c *sdk.ClientSession, kind int) {
	ctx := t.Context()
	tool := func(name, arguments, want string) {
		r, err := c.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
		if err != nil {
			t.Errorf("%s %s: %v", name, arguments, err)
		} else if text := r.Content[0].(*sdk.TextContent).Text; !strings.Contains(text, want) {
			t.Errorf("%s %s: got %s, want %s", name, arguments, text, want)
		}
	}
	switch kind {
	case 0:
		tool("table", `{}`, "21")
	case 1:
		tool("broken", `{}`, "satellite")
	case 2:
		_, err := c.CallTool(ctx, &sdk.CallToolParams{Name: "none"})
		checkInvalid(t, err, `unknown tool "none"`)
	case 3:
		if list, err := c.ListTools(ctx, nil); err != nil || len(list.Tools) != 5 {
			t.Errorf("tools: got %v, %v", list, err)
		}
	case 4:
		if _, err := c.ReadResource(ctx, &sdk.ReadResourceParams{URI: "starhost://city/Rome"}); err != nil {
			t.Error(err)
		}
	case 5:
		if _, err := c.GetPrompt(ctx, &sdk.GetPromptParams{Name: "none"}); err == nil {
			t.Error("a prompt that is none: got no error")
		}
	}
}
