package effects

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/starhost/starhost/internal/jsontext"
)

// FuzzTarget states a law: starhost requests the URL that it compared with the permissions. An accepted URL
// is its own normal form, has no "..", and its host has only one meaning.
func FuzzTarget(f *testing.F) {
	for _, text := range []string{
		"https://pager.internal/oncall?team=checkout", "http://127.0.0.1:8080/%7e/..%2f", "http://[::1]:80", "https://u@x", "http://0x7f.1/", "http://a.b:/%25%32%65/",
		"HTTP://A//b/;x=../c", "http://[fe80::1%25e]/", `http:\\a`, "https://a?#",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		target, err := parseTarget(text)
		if err != nil {
			return
		}
		again, err := parseTarget(target.url())
		if err != nil || *again != *target {
			t.Fatalf("%q: %q is read as %+v, %v, want %+v", text, target.url(), again, err, target)
		}
		u, err := url.Parse(target.url())
		if err != nil || u.Host != target.authority() || u.User != nil {
			t.Fatalf("%q: %q is sent to %q, %v, want %q", text, target.url(), u.Host, err, target.authority())
		}
		for name := range strings.SplitSeq(strings.ReplaceAll(u.Path, `\`, "/"), "/") {
			if name == ".." || name == "." {
				t.Errorf("%q: got a path with %q", text, name)
			}
		}
		addr, err := netip.ParseAddr(strings.Trim(u.Hostname(), "[]"))
		if (err == nil) != target.addr.IsValid() || err == nil && addr != target.addr {
			t.Errorf("%q: got address %v, want %v", text, target.addr, addr)
		}
		rule := Permission{"http", target.pattern("GET")}
		if p, err := ParsePermission(rule.String()); err != nil || p != rule || !allowsRequest("GET", target)(p) {
			t.Errorf("%q: %q does not allow it: %v", text, rule, err)
		}
	})
}

// FuzzEntry states a law: a line of a journal that starhost reads and writes again is the same, and no line
// panics.
func FuzzEntry(f *testing.F) {
	f.Add(`{"lane":"3/1","plugin":"oncall","env":{"name":"TEAM"},"reply":"checkout"}`)
	f.Add(`{"exec":{"argv":[{"base64":"/w=="}]},"would_run":true,"error":{"message":"<no>","code":"E0512","cause":"not-exist"}}`)
	f.Fuzz(func(t *testing.T, line string) {
		var e, again RecordedEffect
		if json.Unmarshal([]byte(line), &e) != nil {
			return
		}
		once := e.Line()
		if err := json.Unmarshal(once, &again); err != nil {
			t.Fatalf("%q: written as %s: %v", line, once, err)
		}
		if twice := again.Line(); string(twice) != string(once) {
			t.Errorf("%q: written as %s, then %s", line, once, twice)
		}
		_, _ = decodeReply[Response](e)
		_, _ = decodeReply[blobs](e)
		_, _ = decodeReply[contextReply](e)
	})
}

// FuzzBlob states a law: any bytes are the same after their way through JSON.
func FuzzBlob(f *testing.F) {
	f.Add("text")
	f.Add("\xff\x00")
	f.Add(`{"base64":""}`)
	f.Fuzz(func(t *testing.T, text string) {
		var back jsontext.Text
		if err := json.Unmarshal(jsontext.EncodeOrNull(jsontext.Text(text)), &back); err != nil || string(back) != text {
			t.Errorf("%q: got %q, %v", text, back, err)
		}
	})
}

// FuzzRedactJSON states a law: redacted JSON is JSON, and no string in it has the secret's value.
func FuzzRedactJSON(f *testing.F) {
	f.Add(`{"a":["x s3cret-value y"],"s3cret-value":1}`, "s3cret-value")
	f.Add(`["a\"b\\c\u0041"]`, `a"b\cA"b\c`)
	f.Fuzz(func(t *testing.T, text, value string) {
		inPlaceholder := strings.Contains(placeholder("N")+placeholder("N"), value)
		if !json.Valid([]byte(text)) || len(value) < minRedacted || inPlaceholder {
			return
		}
		s := NewSecrets(SecretOptions{LookupEnv: func(string) (string, bool) { return value, true }})
		s.Watch("N")
		clean := s.redactJSON([]byte(text))
		if !json.Valid(clean) {
			t.Fatalf("%q: got %q, want JSON", text, clean)
		}
	})
}
