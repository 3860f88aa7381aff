package ui

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/decision"
)

// TestArguments checks that no value of the page becomes a flag, and that no flag of the page is
// missing in the command's help.
func TestArguments(t *testing.T) {
	s := NewServer(Options{Global: []string{"-C=x"}, Loading: []string{"--strict=true"}, Paths: []string{"p.star"}})
	tests := []struct {
		command, question string
		want              string
	}{
		{"list", `{}`, `-C=x list -F json --strict=true -- p.star`},
		{"test", `{}`, `-C=x test --coverage --allow-empty -F json -- p.star`},
		{"prompt", `{"prompt":"--help","fragments":["a","-b"],"system":""}`, `-C=x eval -F json --fragment=a --fragment=-b --prompt=--help --strict=true -- p.star`},
		{"session", `{"id":"--help"}`, `-C=x sessions show -F json -- --help`},
		{"call", `{"tool":"go","args":" {\"a\":1}"}`, `-C=x eval -F json --args= {"a":1} --call=go --strict=true -- p.star`},
		{"answer", `{"words":["-s","yes"],"question":"abc"}`, `-C=x sessions answer -F json --question=abc -- -s yes`},
		{"doctor", `{}`, `-C=x hook doctor -F json --`},
		{"reach", `{"event":"turn_start","args":"{}"}`, `-C=x eval --reached -F json --args={} --fire=turn_start --strict=true -- p.star`},
		{"call", `{"tool":"go","args":"@f"}`, `the arguments: want a JSON object`},
		{"call", `{"tool":"go","args":"-"}`, `the arguments: want a JSON object`},
		{"call", `{"tool":1}`, `the question: tool: want a text or a list of texts`},
		{"list", `{"output":"x"}`, `the question: unknown member "output"`},
	}
	for _, tt := range tests {
		var q map[string]json.RawMessage
		if err := json.Unmarshal([]byte(tt.question), &q); err != nil {
			t.Fatal(err)
		}
		c := s.commands[tt.command]
		args, err := s.arguments(&c, q)
		got := strings.Join(args, " ")
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", tt.command, tt.question, got, tt.want)
		}
	}
}

// TestGuard checks who may ask.
func TestGuard(t *testing.T) {
	s := NewServer(Options{Token: "right"})
	const host = "127.0.0.1:8799"
	cookie := "starhost_ui_8799=" + s.secret
	tests := []struct {
		name, method, target string
		header               map[string]string
		want                 int
	}{
		{"the page", "GET", "/", map[string]string{"Cookie": cookie}, 200},
		{"the token", "GET", "/?token=right", nil, 303},
		{"a wrong token", "GET", "/?token=wrong", nil, 401},
		{"the token elsewhere", "GET", "/api/about?token=right", nil, 401},
		{"the token with POST", "POST", "/?token=right", nil, 401},
		{"another port's cookie", "GET", "/", map[string]string{"Cookie": "starhost_ui_80=" + s.secret}, 401},
		{"no Origin", "POST", "/api/list", map[string]string{"Cookie": cookie}, 403},
		{"another Origin", "GET", "/api/about", map[string]string{"Cookie": cookie, "Origin": "http://evil.example"}, 403},
		{"another port's page", "GET", "/api/about", map[string]string{"Cookie": cookie, "Sec-Fetch-Site": "same-site"}, 403},
		{"an unknown path", "GET", "/api/x", map[string]string{"Cookie": cookie}, 404},
		{"a wrong method", "GET", "/api/list", map[string]string{"Cookie": cookie}, 404},
		{"a page above", "GET", "/../ui.go", map[string]string{"Cookie": cookie}, 307},
	}
	for _, tt := range tests {
		r := httptest.NewRequest(tt.method, tt.target, strings.NewReader("{}"))
		r.Host = host
		for name, value := range tt.header {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s: got %d %.100q, want %d", tt.name, w.Code, w.Body, tt.want)
		}
		if got := w.Header().Get("Content-Security-Policy"); got != policy {
			t.Errorf("%s: policy: got %q", tt.name, got)
		}
	}
	if empty := NewServer(Options{}); empty.hasToken("") {
		t.Error("a server without a token takes the empty one")
	}
}

func (s *Server) hasToken(token string) bool { return isSame(token, s.Token) }

// TestIndexOfLongTexts: records whose texts all differ take no more memory than others.
func TestIndexOfLongTexts(t *testing.T) {
	x := newIndex()
	const n = 60_000
	for i := range n {
		long := fmt.Sprintf("%d %s", i, strings.Repeat("x", 400))
		x.add(&decision.Record{
			ID: long, Session: long + "s", Agent: long, Tool: long, Decision: decision.Decision{Plugin: long, Reason: long, Pos: long},
			Handlers: []decision.Handler{{Decision: decision.Decision{Plugin: long, Pos: long, Action: long}}},
		})
	}
	sum := 0
	for _, r := range x.rows {
		sum += len(r.ID + r.Asked + r.Session + r.Agent + r.Event + r.Tool + r.Kind + r.Action + r.Answered + r.Plugin + r.Reason + r.Pos)
	}
	if most := 3000 * maxRows; sum > most || len(x.rows) > maxRows || len(x.rows) < n/10 || len(x.costs) > 0 {
		t.Errorf("got %d rows with %d bytes, and %d costs; want at most %d bytes", len(x.rows), sum, len(x.costs), most)
	}
	if last := x.rows[len(x.rows)-1].ID; !strings.HasPrefix(last, fmt.Sprint(n-1)) {
		t.Errorf("the newest row: got %.20s", last)
	}
}

// TestIndex checks the filters, counts and bounds of the index of the log.
func TestIndex(t *testing.T) {
	x := newIndex()
	day := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for i := range maxRows + 10 {
		r := &decision.Record{
			ID: fmt.Sprintf("id%d", i), Time: day.Add(time.Duration(i) * time.Second), Agent: "codex", Tool: "Bash", Kind: "shell",
			Event: "pre_tool_call", Session: fmt.Sprintf("s%d", i%3), Answered: "none",
		}
		if i%10 == 0 {
			r.Answered, r.Decision = "deny", decision.Decision{Action: "deny", Plugin: "freeze", Reason: strings.Repeat("é", 300)}
			r.Handlers = []decision.Handler{{Decision: decision.Decision{Action: "deny", Plugin: "freeze", Pos: "freeze.star:3:7"}, Steps: 7}}
		}
		if i == 1 {
			r.Handlers = []decision.Handler{{Decision: decision.Decision{Action: "error", Plugin: "freeze"}, Event: "turn_start", Error: "oh"}}
		}
		if i == maxRows {
			r.Input = map[string]json.RawMessage{"arguments": json.RawMessage(`{"command": "git push\u202e"}`)}
		}
		x.add(r)
	}
	if got := x.rows[len(x.rows)-10].Asked; got != `git push\u202e` {
		t.Errorf("asked: got %q, want the command with its harmful letters escaped", got)
	}
	denials := cost{"pre_tool_call", "freeze.star:3:7", "deny", maxRows/10 + 1, 7 * (maxRows/10 + 1), 7, 0}
	if got := x.costsOf("freeze"); len(got) != 2 || got[0] != denials || got[1].Failed != 1 {
		t.Errorf("costs: got %+v", got)
	}
	if len(x.rows) != maxRows/2+10 {
		t.Errorf("rows after the limit: got %d, want %d", len(x.rows), maxRows/2+10)
	}
	for query, want := range map[string]int{
		"": maxRows/2 + 10, "action=deny": maxRows/20 + 1, "action=ask,deny": maxRows/20 + 1, "plugin=freeze": maxRows/20 + 1,
		"tool=B*": maxRows/2 + 10, "tool=kind:write": 0, "text=FREEZE": maxRows/20 + 1, "session=s9": 0, "event=turn_start": 0,
		"since=1s": 1, "agent=x": 0, "text=git push": 1,
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		f, err := readFilter(q, x.rows[len(x.rows)-1].Time.Add(500*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		s := x.summarize(&f)
		if s.Older != maxRows/2 {
			t.Errorf("%s: got %d older records, want %d", query, s.Older, maxRows/2)
		}
		if s.Matched != want || len(s.Rows) != min(want, maxShown) || s.Matched-len(s.Rows) != s.Unlisted {
			t.Errorf("%s: got %d matched, %d rows, want %d", query, s.Matched, len(s.Rows), want)
		}
		sum := 0
		for _, b := range s.Chart {
			sum += b.All
		}
		if sum != want {
			t.Errorf("%s: the chart has %d records, want %d", query, sum, want)
		}
		for _, r := range s.Rows {
			if len(r.Reason) > maxReason+10 {
				t.Errorf("%s: a reason has %d bytes, want at most %d", query, len(r.Reason), maxReason)
			}
		}
	}
	for query, want := range map[string]string{
		"since=yesterday": `since: got "yesterday", want a span such as 24h`, "tool=[": `tool: "[" is no glob`,
	} {
		q, _ := url.ParseQuery(query)
		if _, err := readFilter(q, day); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", query, err, want)
		}
	}
}

// TestSources checks that the page reads and writes only below the folder of a plugin.
func TestSources(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"plugin.star": "x = 1\n", "lib/a.star": "y = 2\n", "bytes.star": "\xff"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.star")); err != nil {
		t.Skip("no links here:", err)
	}
	s := NewServer(Options{
		Folder: func(plugin string) (string, string, bool) {
			return dir, map[string]string{"single": "plugin.star"}[plugin], plugin == "demo" || plugin == "single"
		},
		Run: func(context.Context, []string, bool) Output { return Output{Out: []byte("case")} },
	})
	read := map[[2]string]string{
		{"demo", ""}: "x = 1\n", {"demo", "lib/a.star"}: "y = 2\n", {"single", "plugin.star"}: "x = 1\n",
		{"demo", "../outside"}: "", {"demo", "link.star"}: "", {"demo", outside}: "", {"single", "lib/a.star"}: "",
		{"other", ""}: "", {"demo", "lib"}: "", {"demo", "bytes.star"}: "\xff",
	}
	for q, want := range read {
		got, _, err := s.readSource(q[0], q[1])
		if got != want || (err == nil) != (want != "" && want != "\xff") {
			t.Errorf("%v: got %q (%v), want %q", q, got, err, want)
		}
	}
	for _, name := range []string{"../x", "", "a/b", "X", strings.Repeat("a", 65)} {
		if isCaseName(name) {
			t.Errorf("the name of a case %q is allowed", name)
		}
	}
	if file, err := s.writeCase("demo", "new", []byte("case")); err != nil || file != "golden/new.txtar" {
		t.Errorf("writeCase: got %s, %v", file, err)
	}
	if _, err := s.writeCase("demo", "new", []byte("other")); err == nil {
		t.Error("writeCase replaces a file")
	}
	if file, err := s.writeCase("single", "new", []byte("case")); err != nil || file != "golden/single_new.txtar" {
		t.Errorf("writeCase for a single file: got %s, %v", file, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "golden")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(dir, "golden")); err != nil {
		t.Fatal(err)
	}
	if file, err := s.writeCase("demo", "linked", []byte("case")); err == nil {
		t.Errorf("writeCase follows a link out of the plugin's folder: %s", file)
	}
}

// TestChanges checks that a page hears of changes, and that the server forgets pages that left.
func TestChanges(t *testing.T) {
	s := NewServer(Options{Token: "right"})
	server := httptest.NewServer(s)
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/changes", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: cookieName(&http.Request{Host: r.URL.Host}), Value: s.secret})
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	buffer := make([]byte, 100)
	n, err := resp.Body.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	s.Reload("")
	m, err := resp.Body.Read(buffer[n:])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(": open\n\nevent: plugins\ndata: {\"problem\":\"\"}\n\n", string(buffer[:n+m])); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	leave()
	for range 1000 {
		s.mu.Lock()
		pages := len(s.waiting)
		s.mu.Unlock()
		if pages == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the server still has the page that left")
}

// TestPagesThatWait: pages that wait for changes leave room for questions.
func TestPagesThatWait(t *testing.T) {
	s := NewServer(Options{Token: "right"})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close) // after the bodies
	ask := func(path string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.AddCookie(&http.Cookie{Name: cookieName(&http.Request{Host: r.URL.Host}), Value: s.secret})
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		return resp.StatusCode
	}
	for i := range 40 {
		want := http.StatusOK
		if i >= maxPages {
			want = http.StatusServiceUnavailable
		}
		if got := ask("/api/changes"); got != want {
			t.Errorf("page %d: got %d, want %d", i+1, got, want)
		}
	}
	if got := ask("/api/about"); got != http.StatusOK {
		t.Errorf("a question: got %d, want 200", got)
	}
}

// TestGoldenOfPlugin: the case is about the plugin that the page names, in whose folder it is.
func TestGoldenOfPlugin(t *testing.T) {
	dir := t.TempDir()
	var got []string
	s := NewServer(Options{
		Folder: func(plugin string) (string, string, bool) { return dir, "", plugin == "demo" },
		Run: func(_ context.Context, args []string, _ bool) Output {
			got = args
			return Output{Out: []byte("case")}
		},
	})
	r := httptest.NewRequest(http.MethodPost, "/api/golden", strings.NewReader(`{"id": "x", "plugin": "demo", "name": "new"}`))
	w := httptest.NewRecorder()
	s.answerGolden(w, r)
	if want := []string{"log", "show", "--golden", "--plugin=demo", "--", "x"}; w.Code != 200 || !slices.Equal(got, want) {
		t.Errorf("got %d, %q, want %q", w.Code, got, want)
	}
}

// TestPictures: the page gets small pictures of safe types, whatever a plugin says of them, and the
// server keeps a bounded number.
func TestPictures(t *testing.T) {
	s := NewServer(Options{})
	encoded := func(width, height int) string {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	small := encoded(2, 2)
	header := []byte(small)
	copy(header[16:], "\x00\x01\x00\x00\x00\x01\x00\x00") // 65536 x 65536
	binary.BigEndian.PutUint32(header[29:], crc32.ChecksumIEEE(header[12:29]))
	for name, tt := range map[string]struct {
		content, want string // the type, or ""
	}{
		"png":      {small, "image/png"},
		"padded":   {small + strings.Repeat("x", 1<<20), "image/png"},
		"huge":     {string(header), ""},
		"long":     {small + strings.Repeat("x", maxPicture), ""},
		"svg":      {`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`, ""},
		"html":     {"<!doctype html><script>alert(1)</script>", ""},
		"bmp":      {"BM" + strings.Repeat("\x00", 60), ""},
		"nothing":  {"", ""},
		"polyglot": {"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,<script>alert(1)</script>", "image/gif"},
	} {
		s.KeepPicture(name, tt.content)
		w := httptest.NewRecorder()
		s.answerPicture(w, httptest.NewRequest(http.MethodGet, "/api/picture?id="+name, nil))
		if got := w.Header().Get("Content-Type"); tt.want != "" && got != tt.want || (w.Code == http.StatusOK) != (tt.want != "") {
			t.Errorf("%s: got %d %s, want %q", name, w.Code, got, tt.want)
		}
	}
	for i := range 100 {
		s.KeepPicture(fmt.Sprint(i), small+strings.Repeat("x", 1<<20))
		s.KeepPicture("png", small)
	}
	sum := 0
	for _, p := range s.pictures.list {
		sum += len(p.content)
	}
	has := func(id string) bool { return s.pictures.index(id) >= 0 }
	if sum != s.pictures.bytes || sum > maxPictures || !has("png") || !has("99") || has("1") {
		t.Errorf("got %d pictures with %d bytes, counted as %d", len(s.pictures.list), sum, s.pictures.bytes)
	}
}
