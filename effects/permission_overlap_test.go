package effects

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPermissionOverlaps(t *testing.T) {
	tests := []struct {
		name, declared, granted string
		overlaps                bool
	}{
		{"the same", "env:TEAM", "env:TEAM", true},
		{"another kind", "env:TEAM", "secret:TEAM", false},
		{"another name", "env:TEAM", "env:TEAMS", false},
		{"a wider grant", "fs.read:runbooks/a.md", "fs.read:runbooks/**", true},
		{"a narrower grant", "fs.read:runbooks/**", "fs.read:runbooks/checkout/*.md", true},
		{"crossing patterns", "fs.read:runbooks/*/a.md", "fs.read:runbooks/b/*.md", true},
		{"another folder", "fs.read:runbooks/**", "fs.read:policies/**", false},
		{"a folder and a file in it", "fs.read:runbooks", "fs.read:runbooks/a.md", false},
		{"a host's path", "http:pager.internal/oncall*", "http:pager.internal", true},
		{"methods", "http:POST pager.internal", "http:GET,POST *.internal", true},
		{"another host", "http:pager.internal", "http:pages.internal", false},
		{"a secret's host", "secret:TOKEN@pager.internal", "secret:TOKEN", true},
		{"a program", "exec:kubectl get **", "exec:kubectl get pods", true},
		{"another program", "exec:kubectl get **", "exec:helm list", false},
		{"no pattern", "store", "store", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			declared, err1 := ParsePermission(tt.declared)
			granted, err2 := ParsePermission(tt.granted)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			if got := declared.Overlaps(granted); got != tt.overlaps {
				t.Errorf("%s overlaps %s: got %v, want %v", declared, granted, got, tt.overlaps)
			}
			if got := granted.Overlaps(declared); got != tt.overlaps {
				t.Errorf("%s overlaps %s: got %v, want %v", granted, declared, got, tt.overlaps)
			}
		})
	}
}

// TestOverlap states a law: if wildcards replace parts of one text in two ways, the two patterns overlap, in
// both orders. Patterns without wildcards overlap if they are equal.
func TestOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ab/]{0,8}`).Draw(t, "text")
		a, b := wild(t, text), wild(t, text)
		if !overlap(a, b) || !overlap(b, a) {
			t.Fatalf("%q and %q, both of %q, do not overlap", a, b, text)
		}
		other := rapid.StringMatching(`[ab/]{0,8}`).Draw(t, "other")
		if overlap(text, other) != (text == other) {
			t.Fatalf("%q and %q overlap: %v", text, other, text != other)
		}
	})
	if !overlap(strings.Repeat("*a", 1000), strings.Repeat("*b", 1000)) {
		t.Error("patterns of absurd length do not overlap")
	}
}

// wild returns text with some of its parts replaced by wildcards.
func wild(t *rapid.T, text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch rapid.IntRange(0, 5).Draw(t, "wild") {
		case 0:
			b.WriteByte('?')
		case 1:
			b.WriteByte('*')
		case 2:
			b.WriteString("*" + text[i:i+1])
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
