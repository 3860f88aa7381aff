package lsp

import (
	"fmt"
	"strings"
	"testing"
)

func TestScan(t *testing.T) {
	tests := []struct{ text, want string }{
		{"ctx.ht", "path ctx.ht 4"},
		{"x = ctx.", "path ctx. 8"},
		{"x = ", "path  4"},
		{"f(a).b", "path b 5"},
		{"if ctx.now", "path ctx.now 7"},
		{"x # ctx.", "comment"},
		{"f(", "path  2 f/0"},
		{"f(1, g(2), na", "path na 11 f/2"},
		{"f(1, name = x, ", "path  15 f/2"},
		{"f(1, name = ", "path  12 f/1 name"},
		{"f(name == ", "path  10 f/0"},
		{"ctx.http.get(\"a\", [1, ", "path  22 ctx.http.get/1 [/1"},
		{"plugin(permissions = [\"fs.", "text fs. plugin/0 permissions [/0"},
		{"f('''a\n'b", "text a\n'b f/0"},
		{`f("a\"b`, `text a\"b f/0`},
		{`f(r"a\", x`, "path x 9 f/1"},
		{"f(\"open\nctx.", "path ctx. 12 f/0"},
		{"f(a,\ndef g(x", "path x 11 def g/0"},
		{"def na", "path na 4 def"},
		{"x = lambda a: a.b", "path a.b 16"},
		{"load(\"a.star\", \"b", "text b load/1"},
		{"f({\"a\": ", "path  8 f/0 {/0"},
		{"f(a.b(c.d", "path c.d 8 f/0 a.b/0"},
		{"ctx.\n", "path  5"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			c := scan(tt.text, len(tt.text))
			got := []string{"path", c.path, fmt.Sprint(c.from)}
			if c.literal != nil {
				got = []string{"text", c.literal.text}
			}
			if c.comment {
				got = []string{"comment"}
			}
			if c.def {
				got = append(got, "def")
			}
			for _, b := range c.calls {
				name := b.path
				if b.open != '(' {
					name = string(b.open)
				}
				if b.def {
					got = append(got, "def")
				}
				got = append(got, fmt.Sprintf("%s/%d", name, b.arg))
				if b.name != "" {
					got = append(got, b.name)
				}
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
