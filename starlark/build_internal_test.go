package starlark

import (
	"strings"
	"testing"
)

func TestFindBuildID(t *testing.T) {
	const id = "action/main/main/content"
	note := "\x04\x00\x00\x00" + string(rune(len(id))) + "\x00\x00\x00\x04\x00\x00\x00Go\x00\x00"
	text := "\xff Go build ID: \"" + id
	tests := []struct{ name, head, want string }{
		{"a note", "\x7fELF" + note + id + "more", id},
		{"a note that is not all there", "\x7fELF" + note + strings.TrimSuffix(id, "tent"), ""},
		{"a text", "MZ" + text + "\"\n more", id},
		{"a text that is not all there", "MZ" + text, ""},
		{"of another tool", "\x7fELF" + strings.Replace(note, string(rune(len(id))), "\x03", 1) + "a/b", ""},
		{"none", "\x7fELF", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := findBuildID([]byte(tt.head))
			if got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("findBuildID = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
