package shellwords_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/starhost/starhost/internal/shellwords"
)

func TestSplit(t *testing.T) {
	tests := []struct {
		line string
		want []string
		fail string
	}{
		{"", nil, ""},
		{"  a\tb\n c ", []string{"a", "b", "c"}, ""},
		{`'a b' "c d"`, []string{"a b", "c d"}, ""},
		{`a'b'"c"d`, []string{"abcd"}, ""},
		{`'' ""`, []string{"", ""}, ""},
		{`a\ b \'`, []string{"a b", "'"}, ""},
		{`"a\"b\\c\d"`, []string{`a"b\c\d`}, ""},
		{`'a\'`, []string{`a\`}, ""},
		{"$HOME *.md #x", []string{"$HOME", "*.md", "#x"}, ""},
		{"a\x00b", []string{"a\x00b"}, ""},
		{`don't`, nil, "unbalanced ' in the arguments"},
		{`a "b`, nil, `unbalanced " in the arguments`},
		{`"a\`, nil, `unbalanced " in the arguments`},
		{`a\`, nil, "a backslash at the end of the arguments quotes nothing"},
	}
	for _, tt := range tests {
		got, err := shellwords.Split(tt.line)
		if !slices.Equal(tt.want, got) {
			t.Errorf("Split(%q): got %q, want %q", tt.line, got, tt.want)
		}
		if (err != nil) != (tt.fail != "") || err != nil && err.Error() != tt.fail {
			t.Errorf("Split(%q): got error %v, want %q", tt.line, err, tt.fail)
		}
	}
}

// TestLawSplit checks that Split returns the words that Join joined.
func TestLawSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOf(rapid.StringOf(rapid.RuneFrom([]rune("ab '\"\\\n\té$")))).Draw(t, "args")
		got, err := shellwords.Split(shellwords.Join(args))
		if err != nil || !slices.Equal(args, got) {
			t.Fatalf("%q: got %q, %v", args, got, err)
		}
	})
}

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"a/b.star::c": "a/b.star::c", "a=http:GET": "a=http:GET", "a b": "'a b'", "it's": `'it'\''s'`, "": "''",
		"fs.read:**": "'fs.read:**'", "$HOME": "'$HOME'", "a;b": "'a;b'", "~": "'~'",
	} {
		if got := shellwords.Quote(word); got != want {
			t.Errorf("Quote(%q): got %s, want %s", word, got, want)
		}
	}
}

// FuzzSplit checks that Split ends for any line, and that it splits the joined words again.
func FuzzSplit(f *testing.F) {
	f.Add(`a 'b c' "d\"e" f\ g`)
	f.Add("'")
	f.Fuzz(func(t *testing.T, line string) {
		words, err := shellwords.Split(line)
		if err != nil {
			return
		}
		if again, err := shellwords.Split(shellwords.Join(words)); err != nil || !slices.Equal(words, again) {
			t.Errorf("%q: got %q, then %q, %v", line, words, again, err)
		}
	})
}
