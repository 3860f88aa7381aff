package effects_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/effects"
)

const hidden = `p4ss"w/örd+1`

// TestSecretPrints checks that no way to print a Secret shows more than its name, alone or inside another
// value.
func TestSecretPrints(t *testing.T) {
	w := plugin(t, "secret:*")
	w.Secrets = secrets(map[string]string{"TOKEN": hidden})
	token, err := w.Secret(t.Context(), "TOKEN")
	if err != nil {
		t.Fatal(err)
	}
	s := effects.Join(effects.Plain("Bearer "), token, effects.Plain("!"))
	type inside struct {
		private effects.Secret
		Public  effects.Secret
		Map     map[string]effects.Secret
	}
	in := inside{s, s, map[string]effects.Secret{"k": s}}
	var printed []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%10.3s", "%T"} {
		for _, value := range []any{s, &s, in, &in, []effects.Secret{s}} {
			printed = append(printed, fmt.Sprintf(verb, value))
		}
	}
	for _, v := range []any{s, &s, in, map[string]any{"s": s}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		printed = append(printed, string(b))
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", s, "in", in)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "s", s, "in", in)
	wrapped := fmt.Errorf("%w: %v", os.ErrClosed, s)
	printed = append(printed, log.String(), s.String(), s.GoString(), fmt.Sprint(s.Names()), wrapped.Error())
	for _, p := range printed {
		if strings.Contains(p, "p4ss") || strings.Contains(p, hex.EncodeToString([]byte("p4ss"))) {
			t.Errorf("printed %s", p)
		}
	}
	if got, want := s.String(), "Bearer <secret TOKEN>!"; got != want {
		t.Errorf("String: got %q, want %q", got, want)
	}
	if got, want := fmt.Sprint(s), "Bearer <secret TOKEN>!"; got != want {
		t.Errorf("Sprint: got %q, want %q", got, want)
	}
	if b, _ := json.Marshal(effects.Join()); string(b) != `""` {
		t.Errorf("Marshal of nothing: got %s", b)
	}
}

func TestSecretSources(t *testing.T) {
	dir := folder(t, map[string]string{"a": "of a\n", "crlf": "of crlf\r\n", "two": "1\n2\n\n", "empty": "\n", "large": strings.Repeat("x", 64<<10+1)})
	at := func(name string) string { return filepath.Join(dir, name) }
	env := map[string]string{"ENV": "of env", "BOTH": "of both", "BOTH_FILE": at("a"), "VIA_FILE": at("a"), "SOURCED": "no", "GONE_FILE": at("gone"), "EMPTY": "", "DIR_FILE": dir}
	s := effects.NewSecrets(effects.SecretOptions{
		LookupEnv: lookup(env),
		Sources: map[string]effects.SecretSource{
			"SOURCED": {File: at("crlf")}, "TWO": {File: at("two")}, "BLANK": {File: at("empty")}, "LARGE": {File: at("large")},
			"COMMAND": {Command: []string{"printf", "of command\\n"}}, "FAILS": {Command: []string{"false"}}, "NONE": {Command: []string{at("gone")}},
			"ENDLESS": {Command: []string{"yes"}}, "NOTHING": {Command: []string{}},
		},
	})
	w := plugin(t, "secret:*", "http:http://a.test")
	w.Secrets, w.HTTP = s, network(serve(t, echo))
	const form = `secret %q: %s`
	tests := []struct{ name, value, err string }{
		{"ENV", "of env", ""},
		{"BOTH", "of both", ""},
		{"VIA", "of a", ""},
		{"SOURCED", "of crlf", ""},
		{"TWO", "1\n2\n", ""},
		{"COMMAND", "of command", ""},
		{"ABSENT", "", `there is none: set the environment variable ABSENT or ABSENT_FILE, or name its place in [secrets] of the config`},
		{"SOURCD", "", `there is none: set the environment variable SOURCD or SOURCD_FILE, or name its place in [secrets] of the config (did you mean SOURCED?)`},
		{"GONE", "", `its file, which GONE_FILE names: no such file or folder`},
		{"DIR", "", `its file, which DIR_FILE names: got a folder, want a regular file`},
		{"EMPTY", "", `got an empty value`},
		{"BLANK", "", `got an empty value`},
		{"LARGE", "", `its file in [secrets] of the config: got 65537 bytes, want at most 65536`},
		{"FAILS", "", `its command ended with code 1`},
		{"NONE", "", `its command did not start`},
		{"ENDLESS", "", `got more than 65536 bytes, want at most that`},
		{"NOTHING", "", `got no command`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := ""
			if tt.err != "" {
				want = fmt.Sprintf(form, tt.name, tt.err)
			}
			secret, err := w.Secret(t.Context(), tt.name)
			if diff := cmp.Diff(want, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if err != nil {
				return
			}
			wide, err := w.Run(t.Context(), effects.Command{Argv: []string{"cat"}, Stdin: secret})
			if code(err) != "E0501" {
				t.Errorf("Run: got %+v, %v, want E0501", wide, err)
			}
			runs := *w
			runs.Exec, runs.Declared, runs.Granted = &effects.Exec{}, grants(t, "secret:*", "exec:wc -c"), grants(t, "secret:*", "exec:wc -c")
			out, err := runs.Run(t.Context(), effects.Command{Argv: []string{"wc", "-c"}, Stdin: secret})
			if n, _ := strconv.Atoi(strings.TrimSpace(out.Stdout)); n != len(tt.value) || err != nil {
				t.Errorf("Run: got %+v, %v, want %d", out, err, len(tt.value))
			}
		})
	}
	env["ENV"] = "changed"
	if _, err := w.Secret(t.Context(), "ENV"); err != nil {
		t.Errorf("Secret again: %v", err)
	}
	if got := s.Redact("x of env x changed"); got != "x of env x changed" {
		t.Errorf("Redact: got %q, want short values kept", got)
	}
}

// TestSecretInjection checks that a secret in a header cannot add another header.
func TestSecretInjection(t *testing.T) {
	w := plugin(t, "secret:*", "http:http://a.test")
	w.Secrets, w.HTTP = secrets(map[string]string{"TOKEN": "a\r\nX-Evil: 1"}), network(serve(t, echo))
	s, err := w.Secret(t.Context(), "TOKEN")
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Fetch(t.Context(), effects.Request{URL: "http://a.test/", Headers: map[string]effects.Secret{"A": s}})
	if want := "headers: got a control character in a secret"; message(err) != want {
		t.Errorf("Fetch: got %v, want %s", err, want)
	}
}

// redactor returns secrets that have loaded some values.
func redactor(values map[string]string, patterns ...string) *effects.Secrets {
	o := effects.SecretOptions{LookupEnv: lookup(values)}
	for _, p := range patterns {
		o.Patterns = append(o.Patterns, regexp.MustCompile(p))
	}
	s := effects.NewSecrets(o)
	for name := range values {
		s.Watch(name, "ABSENT")
	}
	return s
}

// TestRedactPatterns checks that patterns mask the texts of JSON before any secret was loaded.
func TestRedactPatterns(t *testing.T) {
	for _, tt := range []struct {
		secrets *effects.Secrets
		want    string
	}{{nil, `{"a":"sk-abc"}`}, {redactor(nil), `{"a":"sk-abc"}`}, {redactor(nil, `sk-[a-z]+`), `{"a":"<masked>"}`}} {
		w := &effects.World{Secrets: tt.secrets}
		if got := string(w.RedactJSON(json.RawMessage(`{"a":"sk-abc"}`))); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestRedact(t *testing.T) {
	s := redactor(map[string]string{"TOKEN": hidden, "LONGER": hidden + "-and-more", "SHORT": "1234567"}, `sk-[a-z0-9]+`)
	quoted, _ := json.Marshal(hidden)
	tests := []struct{ text, want string }{
		{"", ""},
		{"nothing", "nothing"},
		{hidden, "<secret TOKEN>"},
		{"a" + hidden + hidden + "b", "a<secret TOKEN><secret TOKEN>b"},
		{hidden + "-and-more", "<secret LONGER>"},
		{"1234567", "1234567"},
		{"key sk-abc123.", "key <masked>."},
		{url.QueryEscape(hidden), "<secret TOKEN>"},
		{strings.ToLower(url.PathEscape(hidden)), "<secret TOKEN>"},
		{hex.EncodeToString([]byte(hidden)), "<secret TOKEN>"},
		{string(quoted), `"<secret TOKEN>"`},
		{strconv.Quote(hidden), `"<secret TOKEN>"`},
		{strconv.QuoteToASCII(hidden), `"<secret TOKEN>"`},
	}
	for _, tt := range tests {
		if got := s.Redact(tt.text); got != tt.want {
			t.Errorf("Redact(%q): got %q, want %q", tt.text, got, tt.want)
		}
	}
	if got := (*effects.Secrets)(nil).Redact(hidden); got != hidden {
		t.Errorf("Redact of no secrets: got %q", got)
	}
}

// TestRedactEncoded checks that redaction removes most bytes of a value, wherever the value begins in an
// encoded text.
func TestRedactEncoded(t *testing.T) {
	s := redactor(map[string]string{"TOKEN": hidden})
	any := rapid.StringMatching(`[a-zA-Z0-9 :]{0,10}`)
	rapid.Check(t, func(t *rapid.T) {
		text := any.Draw(t, "before") + hidden + any.Draw(t, "after")
		for name, encoded := range map[string]string{
			"plain": text, "hex": hex.EncodeToString([]byte(text)), "query": url.QueryEscape(text),
			"base64": base64.StdEncoding.EncodeToString([]byte(text)), "base64url": base64.RawURLEncoding.EncodeToString([]byte(text)),
		} {
			if got := s.Redact(encoded); !strings.Contains(got, "<secret TOKEN>") {
				t.Errorf("%s: got %q", name, got)
			}
		}
	})
}

// TestRedactErrors checks that redaction removes values from errors, too, and keeps the cause that callers
// test for.
func TestRedactErrors(t *testing.T) {
	w := plugin(t, "fs.read:**", "secret:*")
	w.Workspace = effects.NewFiles(memory(t, map[string]string{"a.md": "s3cret-value in a file"}), effects.FileOptions{})
	w.Secrets = secrets(map[string]string{"TOKEN": "s3cret-value"})
	if _, err := w.Secret(t.Context(), "TOKEN"); err != nil {
		t.Fatal(err)
	}
	_, err := w.ReadFile(t.Context(), "s3cret-value")
	if want := `file "<secret TOKEN>": no such file or folder`; message(err) != want || code(err) != "E0504" || !isNotExist(err) {
		t.Errorf("ReadFile: got %v, want %s", err, want)
	}
	if got, err := w.ReadFile(t.Context(), "a.md"); got != "<secret TOKEN> in a file" || err != nil {
		t.Errorf("ReadFile: got %q, %v", got, err)
	}
	if got := w.Redact("s3cret-value"); got != "<secret TOKEN>" {
		t.Errorf("Redact: got %q", got)
	}
}
