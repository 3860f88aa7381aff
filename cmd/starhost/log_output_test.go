package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestStreamOut checks that the file of -o has all old or all new contents, however the command ends, and
// that no other file is left beside it.
func TestStreamOut(t *testing.T) {
	failed := errors.New("failed")
	for _, tt := range []struct {
		name         string
		atOnce       bool
		err          error
		during, want string
	}{
		{"complete", false, nil, "old", "new"},
		{"failed", false, failed, "old", "old"},
		{"followed", true, nil, "new", "new"},
		{"followed, then failed", true, failed, "new", "new"},
	} {
		for _, isLink := range []bool{false, true} {
			dir := t.TempDir()
			name := filepath.Join(dir, "out")
			if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			env, res := Env{output: name}.fresh(), new(Result)
			if isLink { // starhost writes through a link directly, without another file
				env.output, tt.during, tt.want = filepath.Join(dir, "link"), "new", "new"
				if err := os.Symlink(name, env.output); err != nil {
					t.Fatal(err)
				}
			}
			read := func() string {
				text, err := os.ReadFile(name)
				return string(text) + errText(err)
			}
			out, end, err := streamOut(env, res, tt.atOnce)
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(out, "new")
			if got := read(); got != tt.during {
				t.Errorf("%s: got %q while it is written, want %q", tt.name, got, tt.during)
			}
			if err := end(tt.err); !errors.Is(err, tt.err) {
				t.Errorf("%s: got %v, want %v", tt.name, err, tt.err)
			}
			if got := read(); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
			}
			if list, err := os.ReadDir(dir); err != nil || len(list) > 2 || !isLink && len(list) > 1 {
				t.Errorf("%s: got %v %v, want the file alone", tt.name, list, err)
			}
		}
	}
	env, res := Env{output: filepath.Join(t.TempDir(), "no", "folder")}.fresh(), new(Result)
	if _, _, err := streamOut(env, res, false); err == nil {
		t.Error("a missing folder: got no error")
	}
}

// errText returns the text of an error, "" for none.
func errText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}
