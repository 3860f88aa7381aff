package mediatype_test

import (
	"testing"

	"github.com/starhost/starhost/internal/mediatype"
)

func TestIsText(t *testing.T) {
	for _, tt := range []struct {
		typ, content string
		want         bool
	}{
		{"text/plain", "a", true}, {"application/json", "{}", true}, {"text/csv", "\xff", false}, {"image/png", "a", false},
	} {
		if got := mediatype.IsText(tt.typ, tt.content); got != tt.want {
			t.Errorf("%s %q: got %v", tt.typ, tt.content, got)
		}
	}
}

func TestAddress(t *testing.T) {
	if got := mediatype.Address("", "text/plain", "a"); got != "data:text/plain;base64,YQ==" {
		t.Errorf("got %s", got)
	}
	if got := mediatype.Address("https://a.test", "text/plain", "a"); got != "https://a.test" {
		t.Errorf("got %s", got)
	}
}

func TestLabel(t *testing.T) {
	id := func() string { return "id" }
	for want, got := range map[string]string{
		"url": mediatype.Label("url", "name", id), "name": mediatype.Label("", "name", id), "id": mediatype.Label("", "", id),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
