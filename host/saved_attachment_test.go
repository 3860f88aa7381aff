package host_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// TestSavedAttachment checks that a stored session has the ids of attachments, and writes each key in one
// way. It also reads sessions of earlier versions, whose keys are names of Go fields.
func TestSavedAttachment(t *testing.T) {
	picture := fragments.Attachment{Content: "\x89PNG", Type: "image/png", Name: "a.png"}
	link := fragments.Attachment{URL: "https://x.test/a.png", Type: "image/png"}
	s := newHost(t, host.Options{}).NewSession(host.SessionConfig{})
	r := host.Request{Text: "hi", Attachments: []fragments.Attachment{picture, link}}
	m := scriptedModel{{Content: "a picture"}}
	if _, err := s.Turn(t.Context(), r, &m); err != nil {
		t.Fatal(err)
	}
	first := saveAndLoad(t, s)
	text, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	var check func(value any)
	check = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, inner := range v {
				if strings.ToLower(key) != key {
					t.Errorf("got the key %q", key)
				}
				check(inner)
			}
		case []any:
			for _, inner := range v {
				check(inner)
			}
		}
	}
	var all any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	check(all)
	names := strings.NewReplacer(`"url"`, `"URL"`, `"type"`, `"Type"`, `"bytes"`, `"Bytes"`, `"pinned"`, `"Pinned"`)
	older := names.Replace(string(text))
	for _, form := range []string{string(text), older} {
		var saved host.SavedSession
		if err := json.Unmarshal([]byte(form), &saved); err != nil {
			t.Fatal(err)
		}
		list := saved.Messages[0].Attachments
		diff(t, "ids", []fragments.Hash{picture.ID(), link.ID()}, []fragments.Hash{list[0].ID(), list[1].ID()})
		again := newHost(t, host.Options{}).Resume(host.SessionConfig{}, saved)
		live, err := again.Save(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		messages, err := json.Marshal(live.Messages)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := json.Marshal(first.Messages)
		diff(t, "messages", string(want), string(messages))
	}
}
