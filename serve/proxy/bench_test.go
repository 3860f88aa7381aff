package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/serve/proxy"
)

// agentBody returns a request of 47 KB, as an agent sends in the middle of its work.
func agentBody() string {
	list := []any{}
	for i := range 15 {
		id := fmt.Sprint("toolu_", i)
		list = append(list, map[string]any{"role": "user", "content": "Look at it."},
			map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "tool_use", "id": id, "name": "Read", "input": map[string]any{}}}},
			map[string]any{"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": strings.Repeat("func main() {\n", 200)}}})
	}
	text, _ := json.Marshal(map[string]any{"model": "m", "messages": append(list, map[string]any{"role": "user", "content": "Go on."})})
	return string(text)
}

// BenchmarkRequest measures a request of 47 KB through the proxy, with context and a guard, and the same
// request through httputil.ReverseProxy. Their quotient is the goal P10.
func BenchmarkRequest(b *testing.B) {
	u := newUpstream(b, replies(jsonType, `{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}],"stop_reason":"tool_use"}`))
	u.forget = true
	hooks := guard("other", starhost.Deny("no"))
	hooks["turn_start"] = says("Answer in one line.")
	s := serve(b, newHost(b, hooks), proxy.Options{Upstream: u.URL}, "")
	to, _ := url.Parse(u.URL)
	rewrite := func(p *httputil.ProxyRequest) { p.SetURL(to) }
	plain := httptest.NewServer(&httputil.ReverseProxy{Rewrite: rewrite, FlushInterval: -1})
	b.Cleanup(plain.Close)
	body := agentBody()
	for _, side := range []struct{ name, base string }{{"starhost", s.url}, {"ReverseProxy", plain.URL}} {
		b.Run(side.name, func(b *testing.B) {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			b.ReportAllocs()
			for b.Loop() {
				a, err := client.Post(side.base+messagesPath, jsonType, strings.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, a.Body)
				a.Body.Close()
			}
		})
	}
}
