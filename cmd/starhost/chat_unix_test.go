//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/starhost/starhost/internal/console"
	"github.com/starhost/starhost/report"
)

// TestChatCut checks that ctrl-C cuts an answer, and that the session goes on with its text.
func TestChatCut(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var requests atomic.Int64
	var second atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if requests.Add(1) == 1 {
			io.WriteString(w, `data: {"choices":[{"delta":{"content":"Half of it"}}]}`+"\n\n")
			w.(http.Flusher).Flush()
			<-q.Context().Done()
			return
		}
		second.Store(string(body))
		io.WriteString(w, `data: {"choices":[{"delta":{"content":"Fine."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"config.toml": "[store]\nurl = \"none\"\n[model.m]\nbase_url = \"" + server.URL + "\"\n"})
	out := &when{word: "Half", do: func() {
		cancel(console.SignalError{Signal: os.Interrupt}) // processContext cancels the same way
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Error(err)
		}
	}}
	var stderr bytes.Buffer
	code := run(ctx, []string{"chat", "-C", dir, "-c", "config.toml", "-m", "m/x"}, strings.NewReader("hi\nnext\n"), out, &stderr)
	if code != report.ExitOK || out.text.String() != "Half of it\nFine.\n" || stderr.String() != "cut: the session has the answer so far\n" {
		t.Errorf("got exit code %d, %q, %s", code, out.text.String(), stderr.String())
	}
	if body, _ := second.Load().(string); !strings.Contains(body, `{"role":"assistant","content":"Half of it"},{"role":"user","content":"next"}`) {
		t.Errorf("the next request has %s", body)
	}
}
