package effects_test

import (
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/effects"
)

func TestCheckEndpoint(t *testing.T) {
	tests := []struct {
		name, url, secret string
		grants            []string
		want              string
	}{
		{"the host", "https://llm.internal/v1", "", []string{"http:llm.internal"}, ""},
		{"its method", "https://llm.internal/v1", "", []string{"http:POST llm.internal/v1/*"}, ""},
		{"another host", "https://llm.internal/v1", "", []string{"http:pager.internal"}, "http:llm.internal"},
		{"another path", "https://llm.internal/v1", "", []string{"http:llm.internal/v2/*"}, "http:llm.internal/v1/"},
		{"another spelling of its path", "https://llm.internal/%61%30%2d/v1", "", []string{"http:llm.internal/a0-/*"}, ""},
		{"a path that needs its escapes", "https://llm.internal/%3a%3F%5B9", "", []string{"http:llm.internal/x"}, "http:llm.internal/%3A%3F%5B9/"},
		{"no https", "http://localhost:11434", "", []string{"http:http://localhost:11434"}, ""},
		{"https only", "http://localhost:11434", "", []string{"http:localhost:11434"}, "http:http://localhost:11434"},
		{"a key", "https://llm.internal/v1/", "LLM_KEY", []string{"http:llm.internal", "secret:LLM_KEY"}, ""},
		{"its own key", "https://llm.internal/v1", "LLM_KEY", []string{"http:llm.internal", "secret:LLM_KEY@llm.internal"}, ""},
		{"the key of another", "https://llm.internal/v1", "LLM_KEY", []string{"http:llm.internal", "secret:LLM_KEY@pager.internal"}, "secret:LLM_KEY@llm.internal"},
		{"no key", "https://llm.internal/v1", "LLM_KEY", []string{"http:llm.internal"}, "secret:LLM_KEY@llm.internal"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			grants, err := effects.ParseGrants(tt.grants)
			if err != nil {
				t.Fatal(err)
			}
			w := &effects.World{Plugin: "p", Declared: grants, Granted: grants}
			got := ""
			if err := w.CheckEndpoint(tt.url, tt.secret); err != nil {
				refused, ok := err.(*effects.PermissionError)
				if !ok {
					t.Fatal(err)
				}
				got = refused.Permission
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("what is missing (-want +got):\n%s", diff)
			}
		})
	}
	for _, tt := range []struct{ declared, granted, want string }{
		{"http:POST llm.internal", "store", `plugin p has no permission http:POST llm.internal: add to the list p in [grants] of your config: "http:POST llm.internal" (or --grant 'p=http:POST llm.internal')`},
		{"store", "http:POST llm.internal", `plugin p has no permission http:POST llm.internal: add "http:POST llm.internal" to plugin(permissions = [...])`},
		{"http:GET,POST llm.internal/v1/*", "store", `plugin p has no permission http:POST llm.internal/v1/: add to the list p in [grants] of your config: "http:GET,POST llm.internal/v1/*" (or --grant 'p=http:GET,POST llm.internal/v1/*')`},
		{"http:llm.internal", "store", `plugin p has no permission http:llm.internal: add to the list p in [grants] of your config: "http:llm.internal" (or --grant p=http:llm.internal)`},
	} {
		w := &effects.World{Plugin: "p", Declared: grants(t, tt.declared), Granted: grants(t, tt.granted)}
		if diff := cmp.Diff(tt.want, message(w.CheckEndpoint("https://llm.internal/v1", ""))); diff != "" {
			t.Errorf("declared %s, granted %s (-want +got):\n%s", tt.declared, tt.granted, diff)
		}
	}
	if err := (&effects.World{}).CheckEndpoint("llm.internal", ""); err == nil {
		t.Error("an endpoint without a scheme was accepted")
	}
}

func TestRedactJSON(t *testing.T) {
	w := &effects.World{Plugin: "p", Secrets: secrets(map[string]string{"TOKEN": `hunter"2hunter`})}
	w.Secrets.Watch("TOKEN")
	if got := string(w.RedactJSON([]byte(`"is hunter\"2hunter"`))); got != `"is <secret TOKEN>"` {
		t.Errorf("RedactJSON of a string: got %s", got)
	}
	got := string(w.RedactJSON([]byte(`{"a":"is hunter\"2hunter","b":[1,"x"]}`)))
	if diff := cmp.Diff(`{"a":"is <secret TOKEN>","b":[1,"x"]}`, got); diff != "" {
		t.Errorf("RedactJSON (-want +got):\n%s", diff)
	}
	blob := `{"base64":"` + base64.StdEncoding.EncodeToString([]byte("\xff is hunter\"2hunter")) + `"}`
	want := `{"base64":"` + base64.StdEncoding.EncodeToString([]byte("\xff is <secret TOKEN>")) + `"}`
	if got := string(w.RedactJSON([]byte(blob))); got != want {
		t.Errorf("RedactJSON of bytes: got %s, want %s", got, want)
	}
	if got := string(w.RedactJSON([]byte(`{"base64":"hunter\"2hunter"}`))); got != `{"base64":"<secret TOKEN>"}` {
		t.Errorf("RedactJSON of a text that is no base64: got %s", got)
	}
	if got := string((&effects.World{}).RedactJSON([]byte(`{"a":1}`))); got != `{"a":1}` {
		t.Errorf("without secrets: got %s", got)
	}
}
