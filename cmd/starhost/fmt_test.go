package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/report"
)

// TestReplaceFile checks that a file's mode and a link remain. If writing fails, the file must
// stay as it was, without a temporary file beside it.
func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "a.star"), filepath.Join(dir, "b.star")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o640), os.Symlink("a.star", link)); err != nil {
		t.Fatal(err)
	}
	if err := disk.Replace(link, []byte("new"), 0o666); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is none: %v, %v", info, err)
	}
	text, err := os.ReadFile(file)
	if info, _ := os.Stat(file); err != nil || string(text) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("got %q, %v, %v; want new and mode 0640", text, info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("got %v, %v; want two files", entries, err)
	}
}

// TestFmtInterrupted checks that an interrupt leaves every file either as it was or formatted.
func TestFmtInterrupted(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.star": "x=1"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr strings.Builder
	if code := run(ctx, []string{"-C", dir, "fmt", "."}, nil, &stderr, &stderr); code != report.ExitInterrupted {
		t.Errorf("exit code: got %d, want %d\n%s", code, report.ExitInterrupted, stderr.String())
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.star")); err != nil || string(text) != "x=1" {
		t.Errorf("got %q, %v; want the file as it was", text, err)
	}
}

// TestCatchSignals checks that commands catch signals before they write files, and that
// commands that only read do not spend time on it.
func TestCatchSignals(t *testing.T) {
	t.Setenv("CI", "")
	for args, want := range map[string]bool{
		"eval a.star": false, "test a.star": false, "check a.star": false, "eval a.star -p x --record j.txtar": true, "eval a.star -o out": true,
		"eval a.star -p x --profile prof": true, "fmt a.star": true, "new plugin fresh": true, "trust --revoke": true,
		"test a.star --update": true, "test a.star --prune": true, "test a.star --record": true, "test a.star --coverage-out lcov": true,
	} {
		dir := t.TempDir()
		writeFiles(t, dir, map[string]string{"a.star": "x = 1\n", "starhost.toml": ""})
		caught := false
		ctx := context.WithValue(t.Context(), processKey{}, &processSetup{
			catchSignals: func() { caught = true }, prepareRun: func() {},
		})
		var stderr strings.Builder
		run(ctx, append([]string{"-C", dir}, strings.Fields(args)...), strings.NewReader(""), &stderr, &stderr)
		if caught != want {
			t.Errorf("%s: caught signals: got %v, want %v\n%s", args, caught, want, stderr.String())
		}
	}
}

// TestFmtCases checks that fmt formats the steps of golden cases and changes no other byte.
func TestFmtCases(t *testing.T) {
	const head = "Prose,  as it is.\n-- plugins/q.star --\nx=1\n-- case.star --\n"
	const tail = "-- want --\n== call_tool  x\n-- workspace/a.star --\r\ny=2"
	m := machine{t.TempDir()}
	t.Setenv("HOME", t.TempDir())
	writeFiles(t, m.dir, map[string]string{
		"p.star": "x = 1\n", "golden/p_one.txtar": head + "call_tool('x',a=1)\n" + tail, "golden/p_two.txtar": head + "call_tool(\"x\")\n" + tail,
		"golden/p_none.txtar": "x=1\n", "golden/p_bad.txtar": head + "\nx = \n" + tail, "other/x.txtar": head + "x=1\n" + tail,
	})
	out, stderr := m.run(t, report.ExitPlugin, "fmt", "-l", ".")
	if want := "golden/p_one.txtar\n"; out != want || !strings.HasPrefix(stderr, "golden/p_bad.txtar::case.star:2:5: got newline, want primary expression [E0101]\n") {
		t.Errorf("got %q and %q, want %q", out, stderr, want)
	}
	m.run(t, report.ExitOK, "fmt", "other/x.txtar")
	for name, script := range map[string]string{"golden/p_one.txtar": "call_tool(\"x\", a = 1)\n", "other/x.txtar": "x = 1\n"} {
		got, err := os.ReadFile(filepath.Join(m.dir, name))
		if diff := cmp.Diff(head+script+tail, string(got)); diff != "" || err != nil {
			t.Errorf("%s (-want +got), %v:\n%s", name, err, diff)
		}
	}
}

// A file of any size costs no more than the limit of what is read, and each command reports it
// once.
func TestHugePlugin(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"huge.star": ""})
	if err := os.Truncate(filepath.Join(dir, "huge.star"), 3<<30); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ command, want string }{
		{"fmt", "huge.star: got more than 16777216 bytes, want less [E0708]"},
		{"check", "huge.star: got 3221225472 bytes, want at most 262144"},
	}
	for _, tt := range tests {
		var out bytes.Buffer
		code := run(t.Context(), []string{"-C", dir, tt.command, "huge.star"}, strings.NewReader(""), &out, &out)
		if code == report.ExitOK || strings.Count(out.String(), tt.want) != 1 {
			t.Errorf("%s: exit code %d, want an error, and once %q in:\n%s", tt.command, code, tt.want, &out)
		}
	}
}
