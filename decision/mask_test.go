package decision_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/starhost/starhost/decision"
)

// written returns the only record of a new log, as read and as text.
func written(t *testing.T, o decision.Options, use func(*decision.Log), r *decision.Record) (*decision.Record, string) {
	t.Helper()
	o.Dir = filepath.Join(t.TempDir(), "log")
	l, _ := newLog(t, o)
	if use != nil {
		use(l)
	}
	if err := l.Append(r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(o.Dir, "decisions-2026-11-23.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := decision.ParseRecord(text)
	if err != nil {
		t.Fatal(err)
	}
	return got, string(text)
}

func raw(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// TestDefaultMasks checks which texts a record never contains, and that commands stay readable.
func TestDefaultMasks(t *testing.T) {
	tests := []struct{ text, want string }{
		{"ls -la /tmp", "ls -la /tmp"},
		{"git push origin 3f786850e387550fdab836ed7e6dc881de23001b", "git push origin 3f786850e387550fdab836ed7e6dc881de23001b"},
		{"basic understanding of tokens and keys", "basic understanding of tokens and keys"},
		{"cat /etc/passwd; echo $TOKEN ${API_KEY}", "cat /etc/passwd; echo $TOKEN ${API_KEY}"},
		{"export TOKEN=$OTHER PASSWORD=$(pass show x)", "export TOKEN=$OTHER PASSWORD=$(pass show x)"},
		{"kubectl get secret db -o yaml", "kubectl get secret db -o yaml"},
		{`curl -H "Authorization: Bearer abcdefghijkl" https://x`, `curl -H "Authorization: Bearer <masked>" https://x`},
		{"curl -H 'X-Api-Key: s3cr3tvalue' https://x", "curl -H 'X-Api-Key: <masked>' https://x"},
		{"curl -b 'Cookie: a=b; c=d' x", "curl -b 'Cookie: <masked>' x"},
		{"GITHUB_TOKEN=abcdef123 make", "GITHUB_TOKEN=<masked> make"},
		{"mysql --password hunter2x -u root", "mysql --password <masked> -u root"},
		{"mysql --db-password=hunter2x", "mysql --db-password=<masked>"},
		{"git clone https://user:hunter2x@host/r.git", "git clone https://user:<masked>@host/r.git"},
		{"echo Bearer abc123def456ghi", "echo Bearer <masked>"},
		{"use sk-proj-abcdefghijklmnop please", "use <masked> please"},
		{"ghp_abcdefghijklmnopqrstuvwxyz0123456789", "<masked>"},
		{"aws AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI7MDENGbPxRfiCYEXAMPLEKEY12", "aws <masked> <masked>"},
		{"xoxb-1234567890-abcdefghij", "<masked>"},
		{"jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl.", "jwt <masked>."},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nrest", "<masked>\nrest"},
		{`{"password":"hunter2x","a":1}`, `{"password":"<masked>","a":1}`},
		{`{\"api_key\":\"hunter2x\"}`, `{\"api_key\":\"<masked>\"}`},
		{"Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic <masked>"},
		{"use aBcDeFgHiJkLmNoPqRsTaBcDeFgHiJkLmNoPqR12 now", "use <masked> now"}, // two digits and letters of both cases
		{"use aBcDeFgHiJkLmNoPqRsTaBcDeFgHiJkLmNoPqRs1 now", "use aBcDeFgHiJkLmNoPqRsTaBcDeFgHiJkLmNoPqRs1 now"},
		{"use aaaaaaaaaaaaaaaaaaAAAAAAAAAAAAAAAAAA1111 now", "use aaaaaaaaaaaaaaaaaaAAAAAAAAAAAAAAAAAA1111 now"},
		{"use aBcDeFgHiJkLmNoPqRsTaBcDeFgHiJ12 now", "use <masked> now"}, // 32 letters and digits
		{"use aBcDeFgHiJkLmNoPqRsTaBcDeFgHi12 now", "use aBcDeFgHiJkLmNoPqRsTaBcDeFgHi12 now"},
		{"Authorization: Bearer <secret TOKEN>", "Authorization: Bearer <secret TOKEN>"},
	}
	for _, tt := range tests {
		r, _ := written(t, decision.Options{}, nil, &decision.Record{
			Event: "e", Input: map[string]json.RawMessage{"arguments": raw(map[string]string{"command": tt.text})},
		})
		var got struct{ Command string }
		if err := json.Unmarshal(r.Input["arguments"], &got); err != nil {
			t.Fatal(err)
		}
		diff(t, tt.text, tt.want, got.Command)
		var places []string
		if tt.want != tt.text {
			places = []string{"/input/arguments/command"}
		}
		diff(t, "masked", len(places), len(r.Masked))
	}
}

// TestKeepLikelyKeys checks that values that look like keys stay in a record if the operator wants
// them, and that chosen places, patterns and secrets do not.
func TestKeepLikelyKeys(t *testing.T) {
	const text = "TOKEN=abcdef123 ghp_abcdefghijklmnopqrstuvwxyz0123456789 pinpin cust-42 loaded-secret"
	o := decision.Options{
		KeepLikelyKeys: true, Mask: []string{"/input/arguments/pin"}, Patterns: []*regexp.Regexp{regexp.MustCompile(`cust-\d+`)},
	}
	redact := func(l *decision.Log) {
		l.Use(decision.Set{}, func(s string) string { return strings.ReplaceAll(s, "loaded-secret", "<secret X>") })
	}
	r, _ := written(t, o, redact, &decision.Record{Event: "e", Input: map[string]json.RawMessage{
		"arguments": raw(map[string]string{"password": text, "pin": "pinpin"}),
	}})
	kept := "TOKEN=abcdef123 ghp_abcdefghijklmnopqrstuvwxyz0123456789 <masked> <masked> <secret X>"
	diff(t, "arguments", `{"password":"`+kept+`","pin":"<masked>"}`, string(r.Input["arguments"]))
	diff(t, "masked", []string{"/input/arguments/password", "/input/arguments/pin"}, r.Masked)
}

// TestMasks checks chosen places and named members, and that a masked value is masked wherever it
// occurs.
func TestMasks(t *testing.T) {
	o := decision.Options{
		Mask:     []string{"/input/arguments/*Secret*", "/input/arguments/deep/**", "/handlers/*/reason", "/input/arguments/list"},
		Patterns: []*regexp.Regexp{regexp.MustCompile(`cust-\d+`)},
	}
	redact := func(l *decision.Log) {
		l.Use(decision.Set{}, func(s string) string { return strings.ReplaceAll(s, "loaded-secret", "<secret X>") })
	}
	r, text := written(t, o, redact, &decision.Record{
		Event: "e", Tool: "Bash",
		Input: map[string]json.RawMessage{"arguments": json.RawMessage(`{
			"mysecret":"pinpin","deep":{"a":[{"b":"qw/e"}],"n":17},"list":["zap",3],"password":"hunter2","max_tokens":5,
			"token":"tok/en 9","note":"pinpin qw/e qw%2Fe zap hunter2 tok%2Fen+9 cust-42 loaded-secret","key":{"hunter2":1},
			"auth":"Bearer <secret TOKEN>"}`)},
		Decision: decision.Decision{Action: "deny", Reason: "not with hunter2"}, Answered: "deny",
		Handlers: []decision.Handler{{Decision: decision.Decision{Action: "deny", Reason: "because"}, Effects: []json.RawMessage{
			json.RawMessage(`{"plugin":"p","http.get":{"url":"https://x/?q=hunter2","headers":{"Authorization":"Bearer zzzz1111"}},"reply":{"status":200,"body":"{\"token\":\"abc123def\"}"}}`),
		}}},
	})
	for _, secret := range []string{"pinpin", "qw/e", "qw%2Fe", "zap", "hunter2", "tok/en", "tok%2Fen", "cust-42", "loaded-secret", "zzzz1111", "abc123def", "because"} {
		if strings.Contains(text, secret) {
			t.Errorf("got %q in the record %s", secret, text)
		}
	}
	diff(t, "arguments", `{"mysecret":"<masked>","deep":{"a":"<masked>","n":"<masked>"},"list":"<masked>","password":"<masked>","max_tokens":5,`+
		`"token":"<masked>","note":"<masked> <masked> <masked> <masked> <masked> <masked> <masked> <secret X>","key":{"<masked>":1},`+
		`"auth":"Bearer <secret TOKEN>"}`, string(r.Input["arguments"]))
	diff(t, "reason", "not with <masked>", r.Decision.Reason)
	diff(t, "masked", []string{
		"/input/arguments/mysecret", "/input/arguments/deep/a", "/input/arguments/deep/n", "/input/arguments/list", "/input/arguments/password",
		"/input/arguments/token", "/input/arguments/note", "/handlers/0/reason", "/handlers/0/effects/0/http.get/headers/Authorization",
		"/handlers/0/effects/0/reply/body", "/input/arguments/key", "/decision/reason", "/handlers/0/effects/0/http.get/url",
	}, r.Masked)
}

// TestCuts checks that a record stays below its limit and says what it lacks.
func TestCuts(t *testing.T) {
	long := strings.Repeat("é", 200<<10)
	many := map[string]int{}
	for range 40_000 {
		many[string(rune('a'+len(many)%26))+strings.Repeat("x", 3)+string(raw(len(many)))] = 1
	}
	handlers := make([]decision.Handler, 4000)
	for i := range handlers {
		handlers[i] = decision.Handler{Decision: decision.Decision{Action: "deny", Reason: strings.Repeat("r", 100)}}
	}
	line, quotes := strings.Repeat("a line of words ", 60), strings.Repeat(`"`, 2000)
	lines, logs, few := slices.Repeat([]string{line}, 1000), decision.Handler{}, []decision.Context{{Source: "a.md"}}
	for range 1000 {
		logs.Logs = append(logs.Logs, decision.Line{Text: line})
	}
	key := strings.Repeat("x", 1000) + " sk-" + strings.Repeat("a", 2000)
	tests := []struct {
		name string
		r    decision.Record
		want []string
	}{
		{"a long text", decision.Record{Input: map[string]json.RawMessage{"arguments": raw(map[string]string{"command": long, "b": "short"})}},
			[]string{"/input/arguments/command"}},
		{"a secret at the cut", decision.Record{Input: map[string]json.RawMessage{"a": raw(long), "b": raw(key)}}, []string{"/input/a"}},
		{"many members", decision.Record{Input: map[string]json.RawMessage{"arguments": raw(many)}}, []string{"/input/arguments"}},
		{"many effects", decision.Record{Handlers: []decision.Handler{{Effects: []json.RawMessage{raw(many)}}}}, []string{"/handlers/0/effects"}},
		{"many handlers", decision.Record{Handlers: handlers}, []string{"/handlers"}},
		{"many asks", decision.Record{Approval: &decision.Approval{Asks: slices.Repeat([]decision.Decision{{Reason: line}}, 1000)}}, []string{"/approval/asks"}},
		{"many roles", decision.Record{Roles: lines}, []string{"/roles"}},
		{"many errors", decision.Record{Errors: lines, Handlers: handlers[:1], Context: few}, []string{"/errors"}},
		{"much context", decision.Record{Handlers: handlers[:1], Context: slices.Repeat(few, 5000)}, []string{"/context"}},
		{"many lines", decision.Record{Handlers: []decision.Handler{logs, {}, logs}, Context: few}, []string{"/handlers/0/logs", "/handlers/2/logs"}},
		{"many quotes", decision.Record{Handlers: []decision.Handler{{Logs: slices.Repeat([]decision.Line{{Text: quotes}}, 200)}}}, []string{"/handlers/0/logs"}},
		{"many members and lines", decision.Record{Input: map[string]json.RawMessage{"arguments": raw(many)}, Handlers: []decision.Handler{logs}, Context: few},
			[]string{"/input/arguments", "/handlers/0/logs"}},
	}
	for _, tt := range tests {
		tt.r.Event, tt.r.Decision = "e", decision.Decision{Action: "deny", Reason: "no"}
		r, text := written(t, decision.Options{}, nil, &tt.r)
		diff(t, tt.name, tt.want, r.Cut)
		diff(t, "decision", "deny no", r.Decision.Action+" "+r.Decision.Reason)
		if len(text) > decision.MaxRecord+2 {
			t.Errorf("%s: got %d bytes, want at most %d", tt.name, len(text), decision.MaxRecord)
		}
		for name, lengths := range map[string][2]int{
			"handlers": {len(tt.r.Handlers), len(r.Handlers)}, "context": {len(tt.r.Context), len(r.Context)}, "errors": {len(tt.r.Errors), len(r.Errors)},
		} {
			if had, has := lengths[0], lengths[1]; has != had && !slices.Contains(tt.want, "/"+name) || has == 0 && had > 0 {
				t.Errorf("%s: got %d %s of %d", tt.name, has, name, had)
			}
		}
		if strings.Contains(text, "sk-aaa") || strings.Contains(text, strings.Repeat("a", 20)) {
			t.Errorf("%s: got a part of a secret", tt.name)
		}
	}
}

// TestOrigins checks that no argument hides what the host, the agent and a guard wrote about its
// call, and that a secret argument is masked in other arguments and in the words of plugins.
func TestOrigins(t *testing.T) {
	base := func(arguments map[string]any) *decision.Record {
		return &decision.Record{
			Event: "pre_tool_call", Agent: "claude-code", Session: "session-8f14e45f", Tool: "mcp__files__Remove", CallID: "toolu_01AbC", Workspace: "/home/ann/project9",
			Platform: "cli7000", Roles: []string{"admin1"}, Model: "model-4-5", Kind: "shell", Plugin: "freeze9",
			Input:    map[string]json.RawMessage{"arguments": raw(arguments)},
			Decision: decision.Decision{Action: "deny", Reason: "no removal in release week: ask Release Managers", Plugin: "freeze9", Pos: "plugins/freeze9.star:12:5"},
			Handlers: []decision.Handler{{
				Decision: decision.Decision{Action: "deny", Reason: "no removal in release week: ask Release Managers", Plugin: "freeze9", Pos: "plugins/freeze9.star:12:5"},
				Logs:     []decision.Line{{Plugin: "freeze9", Level: "warn", Text: "refused rm -rf /srv/data"}},
			}},
			Errors: []string{"freeze9: Release Managers"}, Answered: "deny",
		}
	}
	const command = "rm -rf /srv/data && curl https://evil.example/x1"
	names := []string{"x_token", "a-password", "api_key", "Cookie", "client_secret", "authorization"}
	for _, own := range []string{
		"session-8f14e45f", "mcp__files__Remove", "toolu_01AbC", "/home/ann/project9", "cli7000", "admin1", "model-4-5", "freeze9",
		"plugins/freeze9.star:12:5", "no removal in release week: ask Release Managers", "Release Managers", "Managers",
		command, "rm -rf /srv/data", "https://evil.example/x1", "claude-code", "pre_tool_call", "deny",
	} {
		for _, name := range names {
			r, _ := written(t, decision.Options{}, nil, base(map[string]any{"command": command, name: own}))
			want := base(map[string]any{"command": command, name: "<masked>"})
			diff(t, name+" "+own, string(raw(want.Input)), string(raw(r.Input)))
			r.Input, want.Input, r.Masked = nil, nil, nil
			want.Time, want.ID, want.Schema, want.Cut, want.Omitted = r.Time, r.ID, r.Schema, r.Cut, r.Omitted
			want.Set.Plugins, want.Context = r.Set.Plugins, r.Context
			for _, part := range []*decision.Record{r, want} {
				if own == "freeze9" { // it looks like a key in the words of plugins
					part.Errors, part.Handlers[0].Logs = nil, nil
				}
			}
			diff(t, name+" "+own, string(raw(want)), string(raw(r)))
		}
	}
	secret := base(map[string]any{"command": "login hunter2x", "password": "hunter2x", "token": "a b/c.d1", "note": "hunter2x a b/c.d1"})
	secret.Decision.Reason, secret.Handlers[0].Logs[0].Text = "hunter2x is weak", "got hunter2x"
	secret.Handlers[0].Effects = []json.RawMessage{json.RawMessage(`{"plugin":"p","env":{"name":"a b/c.d1"},"reply":"hunter2x"}`)}
	r, text := written(t, decision.Options{}, nil, secret)
	diff(t, "arguments", `{"command":"login <masked>","note":"<masked> <masked>","password":"<masked>","token":"<masked>"}`, string(r.Input["arguments"]))
	for _, value := range []string{"hunter2x", "a b/c.d1"} {
		if strings.Contains(text, value) {
			t.Errorf("got %q in the record %s", value, text)
		}
	}
}

// TestMaskedSet checks that the settings of plugins are masked like other values, and that what
// identifies the plugins stays.
func TestMaskedSet(t *testing.T) {
	set := decision.Set{Revision: "r", Plugins: []decision.Plugin{{
		Name: "p", SHA256: strings.Repeat("0Ab", 20), Granted: []string{"secret:API_TOKEN"}, Config: map[string]json.RawMessage{
			"token": raw("abc123def"), "url": raw("https://u:pw1234@host/x"), "list": raw([]any{"GITHUB_TOKEN=abcdef123", 7}),
			"pin": raw(4711), "deep": raw(map[string]any{"customer": "cust-42", "name": "loaded-secret"}), "limit": raw(5),
		},
	}}}
	o := decision.Options{Mask: []string{"/set/**/pin"}, Patterns: []*regexp.Regexp{regexp.MustCompile(`cust-\d+`)}}
	redact := func(l *decision.Log) {
		l.Use(set, func(s string) string { return strings.ReplaceAll(s, "loaded-secret", "<secret X>") })
	}
	r, text := written(t, o, redact, &decision.Record{Event: "e", Set: set, Decision: decision.Decision{Reason: "abc123def"}})
	for _, value := range []string{"abc123def", "pw1234", "abcdef123", "4711", "cust-42", "loaded-secret"} {
		if strings.Contains(text, value) {
			t.Errorf("got %q in the record %s", value, text)
		}
	}
	diff(t, "masked", []string{
		"/set/plugins/0/config/deep/customer", "/set/plugins/0/config/deep/name", "/set/plugins/0/config/list/0",
		"/set/plugins/0/config/pin", "/set/plugins/0/config/token", "/set/plugins/0/config/url", "/decision/reason",
	}, r.Masked)
	want := set.Plugins[0]
	want.Config = r.Set.Plugins[0].Config
	diff(t, "plugin", want, r.Set.Plugins[0])
	diff(t, "limit", "5", string(r.Set.Plugins[0].Config["limit"]))
}

// TestMaskedElsewhere checks which masked values are masked in other arguments and in the words of
// plugins, too: not those that occur in texts by chance.
func TestMaskedElsewhere(t *testing.T) {
	tests := []struct {
		name, value       string
		arguments, reason bool
	}{
		{"token", "ab12x", false, false}, {"token", "abc12x", true, true}, {"token", "123456", true, false}, {"token", "ab/12x", true, false},
		{"token", "abcdefghijk", false, false}, {"token", "abcdefghijkl", true, false}, {"token", "ABCDEFGHIJK", false, false}, {"token", "aBcDeF", true, false},
		{"pin", "ab", false, false}, {"pin", "abc", true, true}, {"pin", "reason", true, true}, {"pin", "true", false, false}, {"pin", "false", false, false}, {"pin", "null", false, false},
	}
	for _, tt := range tests {
		r, _ := written(t, decision.Options{Mask: []string{"/input/arguments/pin"}}, nil, &decision.Record{
			Event: "e", Input: map[string]json.RawMessage{"arguments": raw(map[string]string{tt.name: tt.value, "note": "a " + tt.value + " b"})},
			Decision: decision.Decision{Action: "deny", Reason: "not " + tt.value},
		})
		var got map[string]string
		if err := json.Unmarshal(r.Input["arguments"], &got); err != nil {
			t.Fatal(err)
		}
		want := func(masked bool) string {
			if masked {
				return "<masked>"
			}
			return tt.value
		}
		diff(t, tt.name+" "+tt.value, "<masked>, a "+want(tt.arguments)+" b, not "+want(tt.reason), got[tt.name]+", "+got["note"]+", "+r.Decision.Reason)
	}
}

// TestMaskLeavesNames checks that no value to mask removes a name of the host from a record: the
// argument of a call could have such a value, and erase the call.
func TestMaskLeavesNames(t *testing.T) {
	o := decision.Options{Mask: []string{"/input/arguments/pin"}}
	for _, name := range []string{"arguments", "input", "user_message", "state.set", "plugin", "key", "reply", "limit", "handlers", "sha256"} {
		r, _ := written(t, o, nil, &decision.Record{
			Event:    "e",
			Input:    map[string]json.RawMessage{"user_message": raw("x"), "arguments": raw(map[string]any{"pin": name, "note": map[string]string{"a " + name: "b"}})},
			Decision: decision.Decision{Action: "modify", Changes: map[string]json.RawMessage{"arguments": raw(1), "limit": raw(2)}},
			Handlers: []decision.Handler{{Effects: []json.RawMessage{json.RawMessage(`{"plugin":"p","state.set":{"key":"k","value":{"` + name + `":1}},"reply":{"a ` + name + `":1}}`)}}},
		})
		got := []string{string(r.Input["arguments"]), string(r.Handlers[0].Effects[0])}
		diff(t, name, []string{`{"note":{"a <masked>":"b"},"pin":"<masked>"}`, `{"plugin":"p","state.set":{"key":"k","value":{"<masked>":1}},"reply":{"a <masked>":1}}`}, got)
		diff(t, name+": names", []string{"arguments", "user_message"}, slices.Sorted(maps.Keys(r.Input)))
		diff(t, name+": changes", []string{"arguments", "limit"}, slices.Sorted(maps.Keys(r.Decision.Changes)))
	}
}
