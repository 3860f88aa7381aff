package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/cmd/starhost/lint"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/loader"
)

// TestShipped: the plugins that ship are formatted and have no findings.
func TestShipped(t *testing.T) {
	for _, args := range [][]string{
		{"fmt", "--check", "../../scripts", "../../golden/testdata", "../../golden/plugins"},
		{"check", "--strict", "--no-config", "../../scripts"},
		{"check", "--strict", "--no-config", "../../golden/plugins"},
	} {
		var said strings.Builder
		if code := run(t.Context(), args, nil, &said, &said); code != exitOK {
			t.Errorf("starhost %s: exit code %d\n%s", strings.Join(args, " "), code, said.String())
		}
	}
}

// TestLintCodes: every warning has a code of its own.
func TestLintCodes(t *testing.T) {
	var got []string
	for _, warning := range lint.Warnings() {
		got = append(got, lintCode(warning))
	}
	var want []string
	for _, c := range lintCodes {
		want = append(want, c.Code)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes of the warnings, sorted (-table +used):\n%s", diff)
	}
}

func TestPermissionsWithout(t *testing.T) {
	tests := []struct {
		name, declared, granted string
		meets                   bool
	}{
		{"the same", "env:TEAM", "env:TEAM", true},
		{"another kind", "env:TEAM", "secret:TEAM", false},
		{"another name", "env:TEAM", "env:TEAMS", false},
		{"a wider grant", "fs.read:runbooks/a.md", "fs.read:runbooks/**", true},
		{"a narrower grant", "fs.read:runbooks/**", "fs.read:runbooks/checkout/*.md", true},
		{"crossing patterns", "fs.read:runbooks/*/a.md", "fs.read:runbooks/b/*.md", true},
		{"another folder", "fs.read:runbooks/**", "fs.read:policies/**", false},
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
			declared, granted := parsed([]string{tt.declared}), parsed([]string{tt.granted})
			if len(declared)+len(granted) != 2 {
				t.Fatal("want two valid permissions")
			}
			for _, both := range [][2][]effects.Permission{{declared, granted}, {granted, declared}} {
				if got := len(without(both[0], both[1])) == 0; got != tt.meets {
					t.Errorf("%v and %v meet: got %v, want %v", both[0], both[1], got, tt.meets)
				}
			}
		})
	}
}

// TestOverlap: two patterns that were made of one text by putting wildcards into it
// overlap, either way round; patterns without a wildcard do if they are equal.
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

// TestOwner finds the plugin that a file of an editor belongs to.
func TestOwner(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"plugins/oncall/plugin.star": "", "plugins/oncall/lib/text.star": "", "plugins/policy.star": ""})
	for file, want := range map[string][2]string{
		"plugins/oncall/plugin.star":   {"plugins/oncall", "plugin.star"},
		"plugins/oncall/lib/text.star": {"plugins/oncall", "lib/text.star"},
		"plugins/policy.star":          {"plugins/policy.star", "policy.star"},
		"plugins/new.star":             {"plugins/new.star", "new.star"},
	} {
		plugin, name := owner(loader.NewPath(dir, file))
		if diff := cmp.Diff(want, [2]string{plugin.Shown, name}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}
