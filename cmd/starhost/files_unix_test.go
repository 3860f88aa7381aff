//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/starhost/starhost/report"
)

const fileTestPlugin = `def hi():
    """Says hi."""
    return 'hi'

register_tool(hi)
`

// TestPipesNeverWait checks that no command waits for somebody to write into a named pipe that is in the
// place of a file.
func TestPipesNeverWait(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.star": fileTestPlugin, "golden/x": ""})
	for _, name := range []string{"pipe", "pipe.star", "golden/a_pipe.txtar"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{
		"fmt pipe.star", "fmt golden/a_pipe.txtar", "fmt .", "check pipe.star", "check .", "list pipe.star", "list", "test", "test golden/a_pipe.txtar",
		"test --update", "eval --prompt-file pipe", "eval -p hi -f pipe", "eval -p hi -a pipe", "eval -i pipe", "eval --call hi --args @pipe a.star",
		"eval --replay pipe", "eval -p hi --against pipe a.star", "eval -p hi -c pipe",
	} {
		t.Run(command, func(t *testing.T) {
			var out, diagnostics bytes.Buffer
			done := make(chan int, 1)
			go func() {
				args := append([]string{"-C", dir}, strings.Split(command, " ")...)
				done <- run(t.Context(), args, strings.NewReader(""), &out, &diagnostics)
			}()
			select {
			case <-done:
			case <-time.After(10 * time.Second):
				t.Fatal("it waits for the pipe")
			}
		})
	}
}

// TestRewriteRefusesLinks checks that commands that rewrite files write neither through a link nor
// into a folder golden/ that is a link.
func TestRewriteRefusesLinks(t *testing.T) {
	t.Setenv("CI", "") // so that --update is allowed
	const unwritten = "-- case.star --\ncall_tool('hi')\n"
	for _, command := range []string{"test --update", "fmt a.star", "fmt golden/a_link.txtar"} {
		for _, linked := range []string{"file", "folder"} {
			t.Run(command+"/"+linked, func(t *testing.T) {
				dir, outside := t.TempDir(), t.TempDir()
				target := filepath.Join(outside, "a_link.txtar")
				writeFiles(t, outside, map[string]string{"a_link.txtar": unwritten, "a.star": fileTestPlugin})
				links := map[string]string{"golden/a_link.txtar": target, "a.star": filepath.Join(outside, "a.star")}
				if linked == "folder" {
					if !strings.HasPrefix(command, "test") {
						t.Skip("fmt names the file itself")
					}
					links = map[string]string{"golden": outside}
					writeFiles(t, dir, map[string]string{"a.star": fileTestPlugin})
				} else if err := os.Mkdir(filepath.Join(dir, "golden"), 0o700); err != nil {
					t.Fatal(err)
				}
				for name, to := range links {
					if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
						t.Fatal(err)
					}
				}
				var out, diagnostics bytes.Buffer
				args := append([]string{"-C", dir}, strings.Split(command, " ")...)
				code := run(t.Context(), args, strings.NewReader(""), &out, &diagnostics)
				if text := out.String() + diagnostics.String(); code == report.ExitOK || !strings.Contains(text, " link") {
					t.Errorf("got exit code %d, %s", code, text)
				}
				for name, want := range map[string]string{"a_link.txtar": unwritten, "a.star": fileTestPlugin} {
					if got, err := os.ReadFile(filepath.Join(outside, name)); err != nil || string(got) != want {
						t.Errorf("%s: got %q, %v", name, got, err)
					}
				}
			})
		}
	}
}
