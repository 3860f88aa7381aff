package mcp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/mcp"
)

// TestSessionFlood fills a server with sessions. A client that uses its session must not lose it to
// clients that only open sessions, and a new client must find a place.
func TestSessionFlood(t *testing.T) {
	address := listen(t, newHost(t, host.Options{}, weather()), "")
	post := func(session, body string) (status int, id string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		}
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Body.Close()
		_, _ = io.Copy(io.Discard, w.Body)
		return w.StatusCode, w.Header.Get("Mcp-Session-Id")
	}
	open := func() string {
		status, id := post("", hello)
		diff(t, "status of initialize", http.StatusOK, status)
		return id
	}
	use := func(session string) int {
		status, _ := post(session, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		return status
	}
	first := open()
	diff(t, "first session", http.StatusOK, use(first))
	sessions := []string{first}
	for range 2 * mcp.MaxSessions {
		sessions = append(sessions, open())
	}
	diff(t, "first session after the flood", http.StatusOK, use(first))
	diff(t, "oldest session without use", http.StatusNotFound, use(sessions[1]))
	diff(t, "newest session", http.StatusOK, use(sessions[len(sessions)-1]))

	for _, session := range sessions {
		use(session)
	}
	status, _ := post("", hello)
	diff(t, "a session beside busy ones", http.StatusServiceUnavailable, status)
	mcp.SetEvictIdle(t, -time.Second)
	use(first)
	last := open()
	diff(t, "new session", http.StatusOK, use(last))
	diff(t, "session with a recent use", http.StatusOK, use(first))
}
