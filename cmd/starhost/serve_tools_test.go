package main

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost/decision"
)

// TestServeTools registers a tool at serve --tools, and checks that guards of plugins see the calls of the
// tool by a client of --mcp. serve must refuse a name that a plugin has, and keep the tool when it reloads
// plugins.
func TestServeTools(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	write(t, filepath.Join(dir, "p.star"), toolNamed("one")+
		`register_hook("pre_tool_call", lambda arguments: deny("no rm") if "rm" in str(arguments) else None)`+"\n")
	write(t, filepath.Join(dir, "config.toml"), `plugins.paths = ["p.star"]
serve.tools.roles = ["day", "night"]
`)
	plugin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"output": {"temp_c": 22}}`)
	}))
	defer plugin.Close()
	_, addrs := start(t, dir, 2, "-c", "config.toml", "--mcp", "127.0.0.1:0", "--tools", "unix:s")
	post := func(path, body string) string {
		t.Helper()
		return curl(t, dir, []string{"--unix-socket", "s", "-d", body, "http://localhost/api/tools" + path})
	}
	write(t, filepath.Join(dir, "p.star"), toolNamed("one")) // serve must not read plugins again for a registration
	tool := `{"name":"%","description":"Weather.","callback_url":"` + plugin.URL + `",` +
		`"parameters":{"type":"object","properties":{"city":{"type":"string"}}}}`
	if got, want := post("/register", strings.Replace(tool, "%", "weather", 1)),
		`{"affected_roles":["day","night"],"failed_roles":[],"ok":true,"registered":"weather"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got := post("/register", strings.Replace(tool, "%", "one", 1))
	if !strings.Contains(got, `"error":"tool 'one' already owned by plugin 'p'"`) {
		t.Errorf("a plugin's name: got %s", got)
	}
	for _, step := range [][2]string{ // serve reads no plugins for these requests, either
		{"/register", strings.Replace(tool, "%", "other", 1)}, {"/unregister", `{"name":"other"}`}, {"/clear", `{"source":"none"}`},
		{"/register", strings.Replace(tool, "%", "weather", 1)},
	} {
		if got := post(step[0], step[1]); !strings.Contains(got, `"ok":true`) {
			t.Errorf("%s: got %s", step[0], got)
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	transport := &sdk.StreamableClientTransport{Endpoint: addrs[0], DisableStandaloneSSE: true}
	c, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for city, want := range map[string]string{"Rome": `{"temp_c":22}`, "rm": "denied by p: no rm"} {
		r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "weather", Arguments: map[string]any{"city": city}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Content[0].(*sdk.TextContent).Text; got != want {
			t.Errorf("%s: got %s, want %s", city, got, want)
		}
	}
}

// TestServeRegister registers the tools of one starhost with another one, and calls them there.
func TestServeRegister(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "empty.star"), "\n")
	write(t, filepath.Join(dir, "p.star"), toolNamed("one"))
	const token = "0123456789abcdef"
	write(t, filepath.Join(dir, "token"), token+"\n")
	_, registry := start(t, dir, 1, "--no-config", "empty.star", "--tools", "127.0.0.1:0", "--token-file", "token")
	registry[0] += "/t/" + token // the URL has the form that plugins of N.E.K.O send
	ok := t.Run("provider", func(t *testing.T) {
		_, provider := start(t, dir, 1, "--no-config", "p.star", "--tools", "127.0.0.1:0", "--register", registry[0], "--token-file", "token")
		var list struct {
			Roles map[string][]struct{ Name, Callback string } `json:"tools_by_role"`
		}
		for len(list.Roles["default"]) == 0 { // the provider registers in the background
			got := curl(t, dir, []string{registry[0] + "/api/tools"})
			if err := json.Unmarshal([]byte(got), &list); err != nil {
				t.Fatal(err)
			}
		}
		got := curl(t, dir, []string{"-d", `{"name":"one","arguments":{},"call_id":"c"}`, provider[0] + "/t/" + token + "/tool_invoke"})
		if got != `{"output":"one","is_error":false}` {
			t.Errorf("got %s", got)
		}
	})
	if !ok {
		return
	}
	got := curl(t, dir, []string{registry[0] + "/api/tools"})
	if want := `{"ok":true,"tools_by_role":{"default":[]}}`; got != want {
		t.Errorf("after the end: got %s, want %s", got, want)
	}
}

// TestServeMetrics checks that the metrics name the same revision as records of the decision log, and say
// which MCP servers answer.
func TestServeMetrics(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "p.star"), "register_hook(\"pre_tool_call\", lambda: deny(\"no\"))\n")
	write(t, filepath.Join(dir, "token"), "0123456789abcdef\n")
	write(t, filepath.Join(dir, "config.toml"), `plugins.paths = ["p.star"]
log.path = "log"
[mcp.gone]
command = ["/no/such/program"]
`)
	_, addrs := start(t, dir, 3, "-c", "config.toml", "--hooks", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--token-file", "token",
		"--proxy", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1")
	token := "Authorization: Bearer 0123456789abcdef"
	curl(t, dir, []string{"-H", token, "-d", `{"input":{"tool":"x"}}`, addrs[1] + "/v1/fire/pre_tool_call"})
	curl(t, dir, []string{"-H", "X-Starhost-Token: 0123456789abcdef", addrs[0] + "/v1/models"})
	files, err := filepath.Glob(filepath.Join(dir, "log", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v, want one file", files, err)
	}
	data, err := os.ReadFile(files[0])
	var record decision.Record
	if err = cmp.Or(err, json.Unmarshal(data, &record)); err != nil {
		t.Fatal(err)
	}
	got := curl(t, dir, []string{"-H", token, addrs[2] + "/metrics"})
	for _, want := range []string{
		`starhost_set_info{revision="` + record.Set.Revision + `"} 1`, `starhost_upstream_up{upstream="mcp.gone"} 0`,
		`starhost_upstream_up{upstream="proxy"} 0`,
	} {
		if record.Set.Revision == "" || !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	const file = "../../docs/servers.md"
	page := regexp.MustCompile("(?m)^\\| `(starhost_[a-z_]+)` \\|").FindAllStringSubmatch(readTestFile(t, file), -1)
	served := regexp.MustCompile("(?m)^# HELP (starhost_[a-z_]+) ").FindAllStringSubmatch(got, -1)
	names := func(found [][]string) (names []string) {
		for _, m := range found {
			names = append(names, m[1])
		}
		return slices.Sorted(slices.Values(names))
	}
	if listed, served := names(page), names(served); !slices.Equal(listed, served) {
		t.Errorf("metrics: got %q, want those of the table of %s: %q", served, file, listed)
	}
}
