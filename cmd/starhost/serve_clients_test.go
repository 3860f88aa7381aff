package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// A clientRequest is a request of a client, with a text that the answer contains.
type clientRequest struct{ method, path, header, body, want string }

// busy is the answer of a server that has too many requests at once. If it has too many
// connections, it closes the next one without an answer.
const busy = "HTTP/1.1 503 "

// TestServeClients checks --guardrail, --tools and --metrics of one process with many clients at
// once, of which some read their answers a byte at a time and some hang up within a request: all
// others get their answers, the memory in use does not grow, and no goroutine remains. With
// STARHOST_LONG there are 200 clients for a minute.
func TestServeClients(t *testing.T) {
	before := goleak.IgnoreCurrent()
	clients, most := 20, 300*time.Millisecond
	if os.Getenv("STARHOST_LONG") != "" {
		clients, most = 200, time.Minute
	}
	plugin := httptest.NewServer(http.NotFoundHandler())
	t.Run("clients", func(t *testing.T) { // the end of this test stops the servers
		dir := t.TempDir()
		write(t, filepath.Join(dir, "mask.star"), `register_hook("turn_start", lambda user_message: abort("no passwords") if "password" in user_message else None)`+"\n")
		write(t, filepath.Join(dir, "token"), "0123456789abcdef\n")
		write(t, filepath.Join(dir, "config.toml"), "log.enabled = false\n")
		_, addrs := start(t, dir, 3, "mask.star", "-c", "config.toml", "--guardrail", "127.0.0.1:0", "--tools", "127.0.0.1:0",
			"--metrics", "127.0.0.1:0", "--token-file", "token")
		ctx, cancel := context.WithTimeout(t.Context(), most)
		defer cancel()
		half := make(chan uint64, 1)
		time.AfterFunc(most/2, func() { half <- heapAfterGC() })
		var answers [3]atomic.Int64
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() {
				for n := 0; n < 3 || ctx.Err() == nil; n++ {
					server := (i + n) % len(addrs)
					q := requestFor(server, i, n, plugin.URL)
					got := q.ask(t, strings.TrimPrefix(addrs[server], "http://"), i%5 == 3, i%5 == 4)
					isBusy := server == 2 && (got == "" || strings.HasPrefix(got, busy))
					if i%5 == 4 || isBusy { // the client hung up
						continue
					}
					if !strings.Contains(got, q.want) {
						t.Errorf("%s %s: got %q, want %q", q.method, q.path, got, q.want)
						return
					}
					answers[server].Add(1)
				}
			})
		}
		all.Wait()
		early, late := <-half, heapAfterGC()
		for i := range answers {
			if t.Logf("%d answers of %s", answers[i].Load(), addrs[i]); answers[i].Load() == 0 {
				t.Errorf("got no answer of %s", addrs[i])
			}
		}
		t.Logf("%d KiB in use half way, %d KiB at the end", early>>10, late>>10)
		if late > early+16<<20 {
			t.Errorf("%d bytes in use half way, %d at the end: want no growth", early, late)
		}
	})
	plugin.Close()
	goleak.VerifyNone(t, before)
}

// requestFor returns the n-th request of a client to a server: --guardrail, --tools or --metrics.
func requestFor(server, client, n int, callback string) clientRequest {
	const token = "Authorization: Bearer 0123456789abcdef\r\n"
	switch server {
	case 0:
		text, want := "hello", `"action":"NONE"`
		if n%2 == 1 {
			text, want = "the password is x", "no passwords"
		}
		body := fmt.Sprintf(`{"input_type":"request","texts":[%q],"request_data":{},"litellm_trace_id":"%d"}`, text, client)
		return clientRequest{"POST", "/litellm/beta/litellm_basic_guardrail_api", token, body, want}
	case 1:
		tool := fmt.Sprintf(`{"name":"tool_%d","description":"A tool.","parameters":{"type":"object","properties":{}},"callback_url":%q}`, client, callback)
		if n%2 == 1 {
			return clientRequest{"POST", "/api/tools/unregister", token, fmt.Sprintf(`{"name":"tool_%d"}`, client), `"ok":true`}
		}
		return clientRequest{"POST", "/api/tools/register", token, tool, fmt.Sprintf(`"registered":"tool_%d"`, client)}
	}
	return clientRequest{"GET", "/metrics", token, "", "starhost_set_info"}
}

// ask sends the request to an address and returns the answer. A slow client reads a byte at a
// time; one that hangs up sends the request without its end and reads nothing.
func (q *clientRequest) ask(t *testing.T, address string, isSlow, hangsUp bool) string {
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer c.Close()
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s",
		q.method, q.path, address, q.header, len(q.body), q.body)
	if hangsUp {
		_, _ = io.WriteString(c, text[:len(text)-1]) // the server may have refused the request
		time.Sleep(time.Millisecond)
		return ""
	}
	if _, err := io.WriteString(c, text); err != nil {
		return err.Error()
	}
	if !isSlow {
		answer, _ := io.ReadAll(c) // an incomplete answer counts as none
		return string(answer)
	}
	_ = c.(*net.TCPConn).SetReadBuffer(1)
	var answer []byte
	for b := make([]byte, 1); ; {
		if _, err := c.Read(b); err != nil {
			return string(answer)
		}
		if answer = append(answer, b[0]); len(answer)%50 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// heapAfterGC returns the bytes of the heap after a collection.
func heapAfterGC() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
