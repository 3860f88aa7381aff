package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/starhost/starhost/report"
)

// A stopper is the standard error of a server, which it stops as soon as the server reports its address.
type stopper struct {
	text bytes.Buffer // not embedded, because WriteString of bytes.Buffer would bypass Write
	stop func()
}

func (s *stopper) Write(b []byte) (int, error) {
	n, err := s.text.Write(b)
	if strings.Contains(s.text.String(), "serving MCP at ") {
		s.stop()
	}
	return n, err
}

// TestMCPPage runs the commands of docs/mcp.md at free ports, and loads the page's plugin and
// config.
func TestMCPPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string][]string{}
	for _, m := range regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		blocks[m[1]] = append(blocks[m[1]], m[2])
	}
	dir := t.TempDir()
	writeFiles(t, dir, exampleFiles)
	writeFiles(t, dir, map[string]string{"token": "0123456789abcdef\n", "page.star": blocks["python"][0], "page.toml": blocks["toml"][0]})
	for _, line := range blocks["sh"] {
		t.Run(line, func(t *testing.T) {
			args := strings.Fields(strings.ReplaceAll(line, ":8080", ":0"))
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			stderr := &stopper{stop: stop}
			args = append([]string{"-C", dir}, args[1:]...)
			if code := run(ctx, args, strings.NewReader(""), io.Discard, stderr); code != report.ExitOK {
				t.Errorf("exit code %d\n%s", code, stderr.text.String())
			}
		})
	}
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"-C", dir, "config", "show", "-c", "page.toml"}, nil, &stderr, &stderr)
	if code != report.ExitOK || !strings.Contains(stderr.String(), "mcp.tickets.url") {
		t.Errorf("config: exit code %d\n%s", code, stderr.String())
	}
	stderr.Reset()
	args := []string{"-C", dir, "eval", "--no-config", "page.star", "--fire", "pre_tool_call", "--args", `{"tool":"github_push","arguments":{"force":true}}`}
	if code := run(t.Context(), args, nil, &stderr, &stderr); code != report.ExitOK || !strings.Contains(stderr.String(), "nobody pushes with force") {
		t.Errorf("plugin: exit code %d\n%s", code, stderr.String())
	}
}
