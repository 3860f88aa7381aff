package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost/report"
)

// A tap is a writer that sends each text to a channel.
type tap chan string

func (t tap) Write(p []byte) (int, error) {
	t <- string(p)
	return len(p), nil
}

// next returns the next text that is not empty.
func (t tap) next() string {
	for text := range t {
		if text != "" {
			return text
		}
	}
	return ""
}

// TestWatch checks that a change of a plugin, of the config or of a file that a flag names
// makes a new result. If plugins cannot be loaded, eval reports it and prints no result.
func TestWatch(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	hook := func(text string) string { return "register_hook(\"pre_llm_call\", lambda: \"" + text + "\")\n" }
	writeFiles(t, dir, map[string]string{
		"plugins/a.star": hook("one"), "plugins/b/plugin.star": "load(\"lib/x.star\", \"x\")\n" + hook("two"), "plugins/b/lib/x.star": "x = 1\n",
		"starhost.toml": "", "prompt.md": "Why?",
	})
	out, stderr := make(tap, 100), make(tap, 100) // the channels have room for all texts
	ctx, stop := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"-C", dir, "eval", "--prompt-file", "prompt.md", "-F", "text", "--watch"}, strings.NewReader(""), out, stderr)
	}()
	expect := func(from tap, want string) {
		t.Helper()
		if got := from.next(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	write := func(name, text string) {
		t.Helper()
		// Write another file and rename it, as an editor does.
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.WriteFile(file+"~", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+"~", file); err != nil {
			t.Fatal(err)
		}
	}
	expect(out, "one\ntwo\nWhy?\n")
	write("prompt.md", "Why not?")
	expect(stderr, "changed: prompt.md\n")
	expect(out, "one\ntwo\nWhy not?\n")
	write("starhost.toml", "[plugins]\ndisabled = [\"b\"]\n")
	expect(stderr, "changed: starhost.toml\n")
	expect(out, "one\nWhy not?\n")
	write("plugins/a.star", "x = \n")
	expect(stderr, "changed: plugins/a.star~\n")
	if got := stderr.next(); !strings.HasPrefix(got, "plugins/a.star:1:5: got newline, want primary expression [E0101]\n") {
		t.Errorf("got %q, want the mistake", got)
	}
	write("plugins/a.star", hook("three"))
	expect(stderr, "changed: plugins/a.star~\n")
	expect(out, "three\nWhy not?\n")
	stop()
	if got := <-code; got != report.ExitInterrupted {
		t.Errorf("got exit code %d, want %d", got, report.ExitInterrupted)
	}
}

// TestWatchNothing checks that eval ends if there is nothing to load and so nothing to watch.
func TestWatchNothing(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	m := machine{t.TempDir()}
	if _, stderr := m.run(t, report.ExitUsage, "eval", "-p", "hi", "--watch"); !strings.Contains(stderr, "[E0604]") {
		t.Errorf("got %q", stderr)
	}
	if _, stderr := m.run(t, report.ExitUsage, "eval", "-p", "-", "--watch"); !strings.Contains(stderr, "--watch: got - for standard input") {
		t.Errorf("got %q", stderr)
	}
	if _, stderr := m.run(t, report.ExitUsage, "eval", "-p", "hi", "--watch", "--record", "x.txtar"); !strings.Contains(stderr, "--watch: got --record, --replay or --profile") {
		t.Errorf("got %q", stderr)
	}
}

// TestWatchOutput checks that the file of -o has the last result that did not fail, also after the
// end of eval --watch and test --watch, and that a command without a result leaves it alone.
func TestWatchOutput(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"eval", "-p", "hi", "-F", "text", "--watch"}, "one\nhi\n"},
		{[]string{"test", "--allow-empty", "--watch"}, "no cases"},
		{[]string{"serve", "--mcp", "127.0.0.1:0"}, "old"},
		{[]string{"ui", "127.0.0.1:0"}, "old"},
		{[]string{"lsp"}, "old"},
	} {
		t.Run(tt.args[0], func(t *testing.T) {
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{
				"plugins/a.star": "register_hook(\"pre_llm_call\", lambda: \"one\")\n", "starhost.toml": "", "file": "old",
			})
			ctx, stop := context.WithCancel(t.Context())
			code := make(chan int, 1)
			go func() {
				code <- run(ctx, append([]string{"-C", dir, "-o", "file"}, tt.args...), strings.NewReader(""), io.Discard, io.Discard)
			}()
			text := func() string {
				text, err := os.ReadFile(filepath.Join(dir, "file"))
				if err != nil {
					t.Error(err)
				}
				return string(text)
			}
			for !strings.HasPrefix(text(), tt.want) && !t.Failed() {
				time.Sleep(time.Millisecond)
			}
			stop()
			<-code
			if got := text(); !strings.HasPrefix(got, tt.want) {
				t.Errorf("the file has %q at the end, want %q", got, tt.want)
			}
		})
	}
}
