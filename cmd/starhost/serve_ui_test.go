package main

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/report"
)

// TestServeUI opens the page of serve beside another server, as the operator's browser, and attacks
// it as another page and another program do. The folder of plugins has the name of a kind of list.
func TestServeUI(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"tools/p.star": "def guard(call):\n    return deny(\"frozen\")\n\nregister_hook(\"pre_tool_call\", guard)\n", "token": "0123456789abcdef\n",
	})
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	stderr, addrs := start(t, dir, 1, "tools", "--quiet", "--hooks", "unix:hooks", "--token-file", "token", "--ui", "127.0.0.1:0")
	page := addrs[len(addrs)-1]
	base, token, ok := strings.Cut(page, "/?token=")
	if !ok || len(token) < 26 {
		t.Fatalf("got %q, want a URL with a token\n%s", page, stderr)
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ask := func(method, path, body string, header map[string]string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range header {
			if r.Header.Set(name, value); name == "Host" {
				r.Host = value
			}
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Body.Close() })
		return a
	}
	opened := ask("GET", "/?token="+token, "", nil)
	if opened.StatusCode != http.StatusSeeOther || len(opened.Cookies()) != 1 {
		t.Fatalf("the URL: got %s, %v", opened.Status, opened.Header)
	}
	cookie := opened.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || opened.Header.Get("Location") != "/" {
		t.Errorf("got cookie %v and location %q", cookie, opened.Header.Get("Location"))
	}
	with := func(more ...string) map[string]string {
		h := map[string]string{"Cookie": cookie.Name + "=" + cookie.Value}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	for _, tt := range []struct {
		name, method, path string
		header             map[string]string
		want               int
	}{
		{"the page", "GET", "/", with(), 200},
		{"no cookie", "GET", "/", nil, 401},
		{"the token of serve", "GET", "/", map[string]string{"Authorization": "Bearer 0123456789abcdef"}, 401},
		{"the token of serve in the URL", "GET", "/?token=0123456789abcdef", nil, 401},
		{"another Host", "GET", "/", with("Host", "evil.example"), 403},
		{"another Origin", "POST", "/api/list", with("Origin", "https://evil.example"), 403},
		{"no Origin", "POST", "/api/list", with(), 403},
		{"another port's page", "GET", "/api/about", with("Sec-Fetch-Site", "same-site"), 403},
	} {
		if a := ask(tt.method, tt.path, "{}", tt.header); a.StatusCode != tt.want {
			t.Errorf("%s: got %s, want %d", tt.name, a.Status, tt.want)
		}
	}
	var list struct {
		Output struct{ Plugins []struct{ Name string } }
	}
	a := ask("POST", "/api/list", "{}", with("Origin", base))
	err := json.NewDecoder(a.Body).Decode(&list)
	if err != nil || len(list.Output.Plugins) != 1 || list.Output.Plugins[0].Name != "p" {
		t.Errorf("list: got %+v, %v", list, err)
	}
	const event = `{"event":"pre_tool_call","args":"{\"tool\":\"Bash\",\"arguments\":{}}"}`
	text, _ := io.ReadAll(ask("POST", "/api/fire", event, with("Origin", base)).Body)
	if !strings.Contains(string(text), "frozen") {
		t.Errorf("fire: got %s", text)
	}
	// The example of each agent is its event before a command.
	var about struct{ Examples map[string]string }
	if err := json.NewDecoder(ask("GET", "/api/about", "", with()).Body).Decode(&about); err != nil || len(about.Examples) < 10 {
		t.Fatalf("about: got %v, %v", about, err)
	}
	for agent, example := range about.Examples {
		sent := strings.ReplaceAll(example, `"@COMMAND@"`, `"rm -r /"`)
		type record struct {
			Kind  string
			Input struct{ Arguments map[string]any }
		}
		var answer struct {
			Records []record
			Reached []report.ReachedFile
		}
		isCall := func(r record) bool {
			return r.Kind == "shell" && slices.Contains(slices.Collect(maps.Values(r.Input.Arguments)), any("rm -r /"))
		}
		question := jsontext.Must(map[string]string{"agent": agent, "event": sent})
		err := json.NewDecoder(ask("POST", "/api/hook", string(question), with("Origin", base)).Body).Decode(&answer)
		if err != nil || sent == example || !slices.ContainsFunc(answer.Records, isCall) {
			t.Errorf("%s: got %+v, %v; want a record of the command\n%s", agent, answer, err, sent)
		}
		if want := []report.ReachedFile{{Path: "tools/p.star", Lines: []int{2}}}; !reflect.DeepEqual(answer.Reached, want) {
			t.Errorf("%s: reached: got %+v, want %+v", agent, answer.Reached, want)
		}
	}
	// The other server must answer meanwhile.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "unix", dir+"/hooks")
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
