package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServeTraces checks that serve sends the spans of its events at the end, at the latest.
func TestServeTraces(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	bodies := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	dir, err := os.MkdirTemp("", "t") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	write(t, filepath.Join(dir, "p.star"), `register_hook("turn_end", lambda: None)`)
	t.Run("serve", func(t *testing.T) {
		start(t, dir, 1, "--no-config", "p.star", "--hooks", "unix:s")
		curl(t, dir, []string{"--unix-socket", "s", "-d", "{}", "http://localhost/v1/fire/turn_end"})
	})
	if body := <-bodies; !strings.Contains(body, `"name":"turn_end"`) {
		t.Errorf("got %s", body)
	}
}
