package format_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bazelbuild/buildtools/build"
	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/editor/format"
	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/starlark"
)

func TestMain(m *testing.M) { os.Exit(testbed.Alone(m).Run()) }

func TestFormatSource(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"nothing", "", ""},
		{"blanks", "x=[1,2 , 3]\n\n\n\n\ny = {'a':1}", "x = [1, 2, 3]\n\ny = {\"a\": 1}\n"},
		{"comments stay", "# first\nx = 1 # one\n# last\n", "# first\nx = 1  # one\n# last\n"},
		{"line ends", "\ufeffx=1\r\ny=2\r", "x = 1\ny = 2\n"},
		{"text that is not ASCII", "x = 'café'\ny = 'a\\u00e9\\'\"'\nz = '''d'é'''\n", "x = \"café\"\ny = 'a\\u00e9\\'\"'\nz = \"\"\"d'é\"\"\"\n"},
		{"escapes", "x = 'it\\'s \\\\ \\x41 \\n'\ny = r'\\d'\n", "x = \"it's \\\\ \\x41 \\n\"\ny = r\"\\d\"\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := format.Source("x.star", tt.src)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("formatted (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzFormat checks that formatting twice changes nothing more, and that all comments and
// strings remain.
func FuzzFormat(f *testing.F) {
	err := filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(file, ".star") {
			src, err := os.ReadFile(file)
			f.Add(string(src))
			return err
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("x = 'é\\'' # a\nload('b', 'c') # d\nf(a = 1, *b)\nx = (lambda: 1)\n")
	f.Fuzz(func(t *testing.T, src string) {
		once, err := format.Source("x.star", src)
		if err != nil {
			var located *starlark.Error
			if !errors.As(err, &located) {
				t.Fatalf("no located error: %v", err)
			}
			return
		}
		twice, err := format.Source("x.star", once)
		if err != nil || once != twice {
			t.Fatalf("formatted again: %v\n%s", err, cmp.Diff(once, twice))
		}
	})
}

// TestCommentsStay formats our plugins from texts without blank lines, and checks that every
// comment remains.
func TestCommentsStay(t *testing.T) {
	files, err := filepath.Glob("../../scripts/*/*.star")
	if err != nil || len(files) == 0 {
		t.Fatalf("no plugins: %v", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		squeezed := strings.ReplaceAll(string(src), "\n\n", "\n")
		got, err := format.Source(file, squeezed)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(comments(t, squeezed), comments(t, got)); diff != "" {
			t.Errorf("%s: comments (-before +after):\n%s", file, diff)
		}
	}
}

// comments returns the comments of a file in the order of its tree.
func comments(t *testing.T, src string) []string {
	t.Helper()
	f, err := build.ParseDefault("x.star", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	build.Walk(f, func(x build.Expr, _ []build.Expr) {
		c := x.Comment()
		for _, group := range [][]build.Comment{c.Before, c.Suffix, c.After} {
			for _, one := range group {
				list = append(list, one.Token)
			}
		}
	})
	return list
}
