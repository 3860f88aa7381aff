package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/starhost/starhost/report"
)

// TestFullDisk checks that each command that writes reports a full disk in one line, and leaves
// existing files as they were.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no small disk can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	writeFiles(t, dir, map[string]string{"a.star": "x=1\n", "out": "old\n"})
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = filler.Write(make([]byte, 4096))
	}
	filler.Close() // the disk is full
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"a.star: no space left on device [E0708]", []string{"fmt", "a.star"}},
		{"policy: no space left on device [E0708]", []string{"new", "plugin", "policy"}},
		{"out: no space left on device [E0708]", []string{"list", "a.star", "-o", "out"}},
		{"out.txtar: no space left on device [E0708]", []string{"eval", "a.star", "-p", "1", "-F", "text", "-o", "/dev/null", "--record", "out.txtar"}},
	} {
		var out, stderr bytes.Buffer
		code := run(t.Context(), append([]string{"-C", dir, "--no-config"}, tt.args...), strings.NewReader(""), &out, &stderr)
		first, _, _ := strings.Cut(stderr.String(), "\n")
		if code != report.ExitFile || first != tt.want || out.Len() > 0 {
			t.Errorf("%v: got exit code %d, %q, want %d, %q\n%s", tt.args, code, stderr.String(), report.ExitFile, tt.want, out.String())
		}
	}
	t.Setenv("HOME", t.TempDir())
	deny := filepath.Join(t.TempDir(), "deny.star")
	if err := os.WriteFile(deny, []byte("register_hook(\"pre_tool_call\", lambda ctx: deny(\"no\"))\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, states := range []string{filepath.Join(dir, "filler"), dir} {
		t.Setenv("XDG_STATE_HOME", states)
		var out, stderr bytes.Buffer
		code := run(t.Context(), []string{"-C", dir, "hook", "claude-code", deny}, strings.NewReader(callEvents[0].event), &out, &stderr)
		if code != 2 || !strings.Contains(out.String(), "denied by deny: no") || !strings.Contains(stderr.String(), "hook: decision log: ") {
			t.Errorf("hook: got exit code %d, %q, %q", code, out.String(), stderr.String())
		}
	}
	required := filepath.Join(t.TempDir(), "required.toml") // XDG_STATE_HOME is the full disk
	if err := os.WriteFile(required, []byte("log.required = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pass := filepath.Join(t.TempDir(), "pass.star")
	if err := os.WriteFile(pass, []byte("register_hook(\"pre_tool_call\", lambda ctx: None)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, stderr bytes.Buffer
	args := []string{"-C", dir, "-c", required, "hook", "claude-code", pass}
	code := run(t.Context(), args, strings.NewReader(callEvents[0].event), &out, &stderr)
	const want = "the decision was not recorded: decision log: "
	if code != 2 || !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "no space left on device") {
		t.Errorf("hook with a required log: got exit code %d, %q, %q", code, out.String(), stderr.String())
	}
	_ = os.RemoveAll(filepath.Join(dir, "starhost"))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("got %v, %v, want a.star, filler and out", entries, err)
	}
	for name, want := range map[string]string{"a.star": "x=1\n", "out": "old\n"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != want {
			t.Errorf("%s: got %q, %v, want it as it was", name, text, err)
		}
	}
}
