package ci

import (
	"bytes"
	"encoding/xml"
	"testing"

	"pgregory.net/rapid"
)

// TestEscapeXML states a law: a text is what encoding/xml writes.
func TestEscapeXML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching("[<>&'\"\t\r\n\x00\x1b a-c]*"), rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		})).Draw(t, "text")
		var want bytes.Buffer
		if err := xml.EscapeText(&want, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := escapeXML(text); got != want.String() {
			t.Errorf("escapeXML(%q): got %s, want %s", text, got, want.String())
		}
	})
}
