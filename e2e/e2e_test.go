// Package e2e tests the program with clients of other projects: the conformance scenarios of
// the Model Context Protocol, its inspector and its JavaScript client. With STARHOST_E2E=1,
// npm installs pinned versions of them; otherwise these tests are skipped.
package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/internal/testbed"
)

// plugin is the plugin that is served.
const plugin = "conformance.star"

// clients installs the clients if they are missing or of another version, and returns the path
// of the Node program for them.
func clients(t *testing.T) string {
	t.Helper()
	testbed.NeedSet(t, "STARHOST_E2E", "npm installs clients of other projects, 426 MB")
	npm := testbed.Need(t, "npm")
	node, _ := filepath.Abs("node_modules/node/bin/node") // the pinned Node
	want, _ := os.ReadFile("package-lock.json")
	if got, _ := os.ReadFile("node_modules/.starhost"); len(want) > 0 && bytes.Equal(got, want) {
		return node
	}
	if out, err := exec.CommandContext(t.Context(), npm, "ci", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	if err := os.WriteFile("node_modules/.starhost", want, 0o666); err != nil {
		t.Fatal(err)
	}
	return node
}

// build builds the program and returns its path.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "starhost")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../cmd/starhost").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// serve serves over HTTP until the test ends, and returns the URL.
func serve(t *testing.T, program string) string {
	t.Helper()
	env := emptyHome(t)
	return launch(t, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, "serve", "--no-config", plugin, "--mcp", "127.0.0.1:0")
		cmd.Env = env
		return cmd
	}, "serving MCP at ")
}

// emptyHome returns the environment with an empty home folder, so that no program finds the store
// of another one.
func emptyHome(t *testing.T) []string {
	t.Helper()
	home := t.TempDir()
	return append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home)
}

// run runs a program with the clients' Node first in the path, and returns its output.
func run(t *testing.T, node, program string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(emptyHome(t), "PATH="+filepath.Dir(node)+string(filepath.ListSeparator)+os.Getenv("PATH"), "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestConformance runs all scenarios of the latest protocol version with sessions and of the one
// without. The scenarios of expected-failures-VERSION.yml must fail, and all others must pass.
func TestConformance(t *testing.T) {
	node := clients(t)
	url := serve(t, build(t))
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			out, err := run(t, node, node, "node_modules/@modelcontextprotocol/conformance/dist/index.js", "server",
				"--url", url, "--suite", "all", "--spec-version", version,
				"--expected-failures", "expected-failures-"+version+".yml")
			if _, summary, ok := strings.Cut(out, "=== SUMMARY ==="); ok {
				t.Log(summary)
			}
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestClient lets the official JavaScript client list and call over both transports, with sessions
// and pinned to the protocol version without.
func TestClient(t *testing.T) {
	node, program := clients(t), build(t)
	want, err := os.ReadFile("client.want")
	if err != nil {
		t.Fatal(err)
	}
	inSession := strings.Index(string(want), "stored: ")
	tests := []struct {
		name, version, want string
		target              []string
	}{
		{"stdio", "sessions", string(want), []string{program, "serve", "-q", "--no-config", plugin, "--mcp", "stdio"}},
		{"http", "sessions", string(want), []string{serve(t, program)}},
		{"stdio without sessions", "2026-07-28", string(want[:inSession]), []string{program, "serve", "-q", "--no-config", plugin, "--mcp", "stdio"}},
		{"http without sessions", "2026-07-28", string(want[:inSession]), []string{serve(t, program)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := run(t, node, node, append([]string{"client.mjs", tt.version}, tt.target...)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if diff := cmp.Diff(tt.want, out); diff != "" {
				t.Errorf("what the client saw (-want +got):\n%s", diff)
			}
		})
	}
}

// TestInspector lets the inspector list and call over both transports.
func TestInspector(t *testing.T) {
	node, program := clients(t), build(t)
	targets := map[string][]string{
		"stdio": {program, "serve", "-q", "--no-config", plugin, "--mcp", "stdio"},
		"http":  {serve(t, program)},
	}
	requests := []struct {
		name, want string
		args       []string
	}{
		{"list", `"name": "test_simple_text"`, []string{"--method", "tools/list"}},
		{"call", `"text": "This is a simple text response for testing."`, []string{"--method", "tools/call", "--tool-name", "test_simple_text"}},
		{"read", `"text": "This is the content of the static text resource."`, []string{"--method", "resources/read", "--uri", "test://static-text"}},
		{"prompt", `"text": "This is a simple prompt for testing."`, []string{"--method", "prompts/get", "--prompt-name", "test_simple_prompt"}},
	}
	for name, target := range targets {
		for _, r := range requests {
			t.Run(fmt.Sprint(name, " ", r.name), func(t *testing.T) {
				args := append([]string{"node_modules/.bin/mcp-inspector", "--cli"}, r.args...)
				out, err := run(t, node, node, append(append(args, "--"), target...)...)
				if err != nil || !strings.Contains(out, r.want) {
					t.Errorf("got %v, want %s in\n%s", err, r.want, out)
				}
			})
		}
	}
}
