//go:build unix

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/mcp"
)

// A servedMCP is a running server: the lines of its standard error, and a client.
type servedMCP struct {
	lines  *bufio.Scanner
	client *sdk.ClientSession
}

// serveMCP serves over HTTP with the arguments until the test ends.
func serveMCP(t *testing.T, dir string, args ...string) *servedMCP {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	stderr, writer := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"-C", dir, "serve", "--mcp", "127.0.0.1:0"}, args...), strings.NewReader(""), io.Discard, writer)
		writer.Close()
	}()
	s := &servedMCP{lines: bufio.NewScanner(stderr)}
	url := strings.TrimPrefix(s.wait(t, "serving MCP at "), "serving MCP at ")
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	var err error
	if s.client, err = client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.client.Close()
		go io.Copy(io.Discard, stderr)
		stop()
		if code := <-ended; code != report.ExitOK {
			t.Errorf("exit code %d", code)
		}
	})
	return s
}

// wait returns the next line of standard error that begins with a text.
func (s *servedMCP) wait(t *testing.T, begin string) string {
	t.Helper()
	var lines []string
	for s.lines.Scan() {
		if strings.HasPrefix(s.lines.Text(), begin) {
			return s.lines.Text()
		}
		lines = append(lines, s.lines.Text())
	}
	t.Fatalf("got %q, want a line that begins with %q", lines, begin)
	return ""
}

// tools returns the tools that the client gets.
func (s *servedMCP) tools(t *testing.T) string {
	t.Helper()
	list, err := s.client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

func wantTools(t *testing.T, s *servedMCP, want string) {
	t.Helper()
	if got := s.tools(t); got != want {
		t.Errorf("tools: got %q, want %q", got, want)
	}
}

// write replaces a file by renaming, as editors do.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name+".new", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

func toolNamed(name string) string {
	return "def " + name + "():\n    \"A tool.\"\n    return \"" + name + "\"\n\nregister_tool(" + name + ")\n"
}

// TestServeReloads checks that serve loads a changed file. If the file cannot be loaded, serve
// reports it and continues with the old plugin. A hangup signal does the same without --watch.
func TestServeReloads(t *testing.T) {
	for _, how := range []string{"--watch", "hangup"} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			plugin := filepath.Join(dir, "p.star")
			write(t, plugin, toolNamed("one"))
			args := []string{"--no-config", "p.star"}
			changed := func() {}
			if how == "--watch" {
				args = append(args, how)
			} else {
				changed = func() { syscall.Kill(os.Getpid(), syscall.SIGHUP) }
			}
			s := serveMCP(t, dir, args...)
			wantTools(t, s, "load_fragment one")
			write(t, plugin, "register_tool(two)\n")
			changed()
			s.wait(t, "the plugins from before stay")
			wantTools(t, s, "load_fragment one")
			write(t, plugin, toolNamed("two"))
			changed()
			s.wait(t, "loaded p (1)")
			wantTools(t, s, "load_fragment two")
		})
	}
}

// TestServeMounts checks that the tools of the config's servers go through the guards of
// plugins and need approval.
func TestServeMounts(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "starhost")) // under this name, the test binary is the program
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "other.star"), toolNamed("one"))
	write(t, filepath.Join(dir, "guard.star"), `register_hook("pre_tool_call", lambda tool: deny("not that one"), match = "other_*")`)
	write(t, filepath.Join(dir, "config.toml"), `plugins.paths = ["guard.star"]
[mcp.other]
command = ["`+filepath.Join(dir, "starhost")+`", "serve", "--no-config", "other.star", "--mcp", "stdio"]
`)
	s := serveMCP(t, dir, "-c", filepath.Join(dir, "config.toml"))
	wantTools(t, s, "load_fragment other_load_fragment other_one")
	r, err := s.client.CallTool(t.Context(), &sdk.CallToolParams{Name: "other_one"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Content[0].(*sdk.TextContent).Text, "denied by guard: not that one"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestServeMountsBesideOthers checks that starhost mounts a server without those tools whose names are taken.
func TestServeMountsBesideOthers(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "starhost"))
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "other.star"), toolNamed("one")+toolNamed("fragment")+toolNamed("two"))
	write(t, filepath.Join(dir, "mine.star"), toolNamed("load_one"))
	write(t, filepath.Join(dir, "config.toml"), `plugins.paths = ["mine.star"]
[mcp.load]
command = ["`+filepath.Join(dir, "starhost")+`", "serve", "--no-config", "other.star", "--mcp", "stdio"]
`)
	wantTools(t, serveMCP(t, dir, "-c", filepath.Join(dir, "config.toml")), "load_fragment load_load_fragment load_one load_two")
}

// TestServeMountsWithToken checks that a server at a URL gets the token of the config, and that
// no output shows the token.
func TestServeMountsWithToken(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	const token = "0123456789abcdef"
	h := host.New(host.Options{})
	if err := h.Add(starhost.Plugin{Name: "other", Tools: []starhost.Tool{{
		Name: "one", Description: "A tool.",
		Call: func(context.Context, starhost.ToolCall) (starhost.Result, error) {
			return starhost.Result{ForLLM: "one"}, nil
		},
	}}}); err != nil {
		t.Fatal(err)
	}
	tools := mcp.NewServer(host.NewLiveHost(h), mcp.Options{})
	o, protocol := tools.Front(token)
	other := httptest.NewServer(o.Handler(protocol))
	t.Cleanup(other.Close)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "token"), token+"\n")
	write(t, filepath.Join(dir, "one.star"), toolNamed("one"))
	write(t, filepath.Join(dir, "config.toml"), `plugins.paths = ["one.star"]
secrets.OTHER_TOKEN.file = "token"
[mcp.other]
url = "`+other.URL+mcp.Path+`"
token = "OTHER_TOKEN"
approval = "auto"
`)
	s := serveMCP(t, dir, "-c", filepath.Join(dir, "config.toml"))
	wantTools(t, s, "load_fragment one other_one")
	r, err := s.client.CallTool(t.Context(), &sdk.CallToolParams{Name: "other_one"})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Content[0].(*sdk.TextContent).Text; got != "one" {
		t.Errorf("got %q, want one", got)
	}
	var shown strings.Builder
	args := []string{"-C", dir, "config", "show", "-c", filepath.Join(dir, "config.toml")}
	if code := run(t.Context(), args, nil, &shown, &shown); code != report.ExitOK || strings.Contains(shown.String(), token) {
		t.Errorf("config show: code %d, got %s, want no token", code, shown.String())
	}
}

// TestServeManyCallsAtOnce checks that serve refuses none of many calls at once.
func TestServeManyCallsAtOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "p.star"), toolNamed("one"))
	in := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n"
	for i := range 100 {
		in += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"one"}}`, i+1) + "\n"
	}
	var out, stderr strings.Builder
	if code := run(t.Context(), []string{"-C", dir, "serve", "--no-config", "p.star", "--mcp", "stdio"}, strings.NewReader(in), &out, &stderr); code != report.ExitOK {
		t.Errorf("exit code %d\n%s", code, stderr.String())
	}
	if n := strings.Count(out.String(), `"text":"one"`); n != 100 {
		t.Errorf("got %d answers, want 100\n%s", n, out.String())
	}
}

// TestServeTwice checks the exit code for an address that another program uses.
func TestServeTwice(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.star"), []byte("register_tool(lambda: 1, name = \"one\", description = \"One.\")\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	code := run(t.Context(), []string{"-C", dir, "serve", "p.star", "--no-config", "--mcp", l.Addr().String()}, strings.NewReader(""), io.Discard, &errs)
	want := l.Addr().String() + ": bind: address already in use [E0708]\n"
	if code != report.ExitFile || !strings.HasPrefix(errs.String(), want) {
		t.Errorf("got exit code %d and %q, want %d and %q", code, errs.String(), report.ExitFile, want)
	}
}
