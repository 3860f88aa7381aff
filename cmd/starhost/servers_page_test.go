package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/starhost/starhost/report"
)

// A notifier is the standard error of a server. It reports each line that begins with one of the notes about
// an address.
type notifier struct {
	mu    sync.Mutex
	text  bytes.Buffer
	addrs chan string
}

func newNotifier() *notifier { return &notifier{addrs: make(chan string, 10)} }

func (n *notifier) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.text.Len() < 1<<20 { // the log of many clients must not take memory
		n.text.Write(b)
	}
	if _, addr, ok := strings.Cut(strings.TrimSpace(string(b)), " at "); ok && !strings.Contains(addr, " ") {
		n.addrs <- addr
	}
	return len(b), nil
}

func (n *notifier) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// start runs serve with arguments until the test ends. It returns standard error and the addresses
// of the servers.
func start(t *testing.T, dir string, servers int, args ...string) (*notifier, []string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	stderr, ended := newNotifier(), make(chan int, 1)
	args = append([]string{"-C", dir, "serve"}, args...)
	go func() { ended <- run(ctx, args, strings.NewReader(""), io.Discard, stderr) }()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != report.ExitOK {
			t.Errorf("serve: exit code %d\n%s", code, stderr)
		}
	})
	var addrs []string
	for range servers {
		select {
		case addr := <-stderr.addrs:
			addrs = append(addrs, addr)
		case code := <-ended:
			ended <- code
			t.Fatalf("serve ended early:\n%s", stderr)
		}
	}
	return stderr, addrs
}

// curl sends the request of a command line of curl, and returns the body of the answer.
func curl(t *testing.T, dir string, args []string) string {
	t.Helper()
	method, socket, body, url, header := "GET", "", "", "", http.Header{}
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-s":
		case arg == "-d":
			i++
			method, body = "POST", args[i]
		case arg == "-H":
			i++
			name, value, _ := strings.Cut(args[i], ": ")
			header.Set(name, value)
		case arg == "--unix-socket":
			i++
			socket = filepath.Join(dir, args[i])
		case strings.HasPrefix(arg, "-"):
			t.Fatalf("curl: unknown flag %s", arg)
		default:
			url = arg
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if socket != "" {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
		client.Transport = &http.Transport{DisableKeepAlives: true, DialContext: dial}
	}
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// TestServersPage runs the commands of docs/servers.md, and compares what they print. "…" in the
// page stands for any text.
func TestServersPage(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	page, err := os.ReadFile("../../docs/servers.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "s") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	blocks := regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	files := map[string]string{"token": "0123456789abcdef\n"}
	names := []string{"guard.star", "mask.star"}
	for _, block := range blocks {
		if block[1] == "python" {
			files[names[0]], names = block[2], names[1:]
		}
	}
	writeFiles(t, dir, files)
	commands := 0
	for _, block := range blocks {
		if block[1] == "sh" { // the block starts a server
			args := slices.DeleteFunc(strings.Fields(block[2]), func(word string) bool { return word == "&" })
			for i, arg := range args {
				if strings.HasPrefix(arg, "127.0.0.1:") {
					args[i] = "127.0.0.1:0"
				}
			}
			servers := strings.Count(block[2], "127.0.0.1:")
			t.Run(block[2], func(t *testing.T) { start(t, dir, servers, args[2:]...) })
		}
		if block[1] != "console" {
			continue
		}
		for _, part := range strings.Split("\n"+block[2], "\n$ ")[1:] {
			line, want, _ := strings.Cut(part, "\n")
			commands++
			args := words(t, line)
			if args[len(args)-1] == "&" {
				args = args[2 : len(args)-1]
				start(t, dir, strings.Count(line, "unix:"), args...)
				continue
			}
			var got string
			if args[0] == "curl" {
				got = curl(t, dir, args[1:])
			} else {
				var out bytes.Buffer
				args = append([]string{"-C", dir}, args[1:]...)
				if code := run(t.Context(), args, nil, &out, io.Discard); code != report.ExitOK {
					t.Errorf("%s: got exit code %d", line, code)
				}
				got = strings.TrimSpace(out.String())
			}
			pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", "(?s:.*)")
			if !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
				t.Errorf("%s: got\n%s\nwant\n%s", line, got, want)
			}
		}
	}
	if commands < 13 {
		t.Errorf("got %d commands, want at least 13", commands)
	}
}
