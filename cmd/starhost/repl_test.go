package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// keyboard returns a terminal that reads the keys, and a buffer of its output.
func keyboard(keys string) (*terminal, *bytes.Buffer) {
	var screen bytes.Buffer
	return &terminal{
		keys: struct {
			io.Reader
			io.Writer
		}{iotest.OneByteReader(strings.NewReader(keys)), &screen},
		makeRaw: func() (func(), error) { return func() {}, nil },
		size:    func() (int, int) { return 80, 24 },
		complete: func(text string) (int, []string) {
			begin := strings.LastIndexAny(text, " (") + 1
			var names []string
			for _, name := range []string{"page", "pager", "prompt", "né", "nè"} {
				if strings.HasPrefix(name, text[begin:]) && text[begin:] != "" {
					names = append(names, name)
				}
			}
			return begin, names
		},
	}, &screen
}

func TestTerminal(t *testing.T) {
	const up, left = "\x1b[A", "\x1b[D"
	tests := []struct {
		name, keys string
		lines      []string
		end        error // the error behind the lines
	}{
		{"lines", "1\r2\r\x04", []string{"1", "2"}, io.EOF},
		{"history", "first\r" + up + "!\r" + up + up + "\r\x04", []string{"first", "first!", "first"}, io.EOF},
		{"one candidate", "pro\t('x')\r", []string{"prompt('x')"}, io.EOF},
		{"several candidates", "pa\tr\r", []string{"pager"}, io.EOF},
		{"candidates that differ in a byte of a letter", "n\té\r", []string{"né"}, io.EOF},
		{"no candidate", "zz\t\r", []string{"zz"}, io.EOF},
		{"within a line", "f(pr)" + left + "\t\r", []string{"f(prompt)"}, io.EOF},
		{"a tab at the beginning", "\treturn 1\r", []string{"    return 1"}, io.EOF},
		{"ctrl-C", "half\x03", nil, errInterrupted},
		{"ctrl-D", "\x04", nil, io.EOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			term, _ := keyboard(tt.keys)
			var lines []string
			line, err := term.readLine(false)
			for ; err == nil; line, err = term.readLine(true) {
				lines = append(lines, line)
			}
			if diff := cmp.Diff(tt.lines, lines); diff != "" || err != tt.end {
				t.Errorf("lines, then %v, want %v (-want +got):\n%s", err, tt.end, diff)
			}
		})
	}
}

// TestTerminalGoesOn checks that a new line begins after ctrl-C, and that the history remains.
func TestTerminalGoesOn(t *testing.T) {
	term, screen := keyboard("one\rtw\x03\x1b[A\r")
	if line, err := term.readLine(false); line != "one" || err != nil {
		t.Fatalf("got %q and %v", line, err)
	}
	if _, err := term.readLine(false); err != errInterrupted {
		t.Fatalf("got %v, want that it is cut", err)
	}
	if line, err := term.readLine(false); line != "one" || err != nil {
		t.Errorf("got %q and %v, want the line from before", line, err)
	}
	if !strings.Contains(screen.String(), "tw^C\r\n>>> ") {
		t.Errorf("got the screen %q, want ^C and a new line", screen)
	}
}

// TestTerminalShowsCandidates checks that tab shows the candidates if there are several.
func TestTerminalShowsCandidates(t *testing.T) {
	term, screen := keyboard("page\t\r")
	if line, err := term.readLine(false); line != "page" || err != nil {
		t.Errorf("got %q and %v", line, err)
	}
	if !strings.Contains(screen.String(), "page  pager\r\n") {
		t.Errorf("got the screen %q, want both names", screen)
	}
}

func TestHistory(t *testing.T) {
	env := map[string]string{}
	getenv := func(name string) string { return env[name] }
	if got := historyFile(getenv, "history"); got != "" {
		t.Errorf("got %q without a home, want none", got)
	}
	dir := t.TempDir()
	env["HOME"] = filepath.Join(dir, "home")
	if got, want := historyFile(getenv, "history"), filepath.Join(dir, "home", ".local", "state", "starhost", "history"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	env["XDG_STATE_HOME"] = dir
	h := history{file: historyFile(getenv, "history")}
	h.load()
	for i := range maxHistory + 5 {
		h.Add(fmt.Sprint("line ", i))
	}
	for _, line := range []string{"again", "again", "", "  "} {
		h.Add(line)
	}
	if err := h.save(); err != nil {
		t.Fatal(err)
	}
	again := history{file: h.file}
	again.load()
	if diff := cmp.Diff(h.lines, again.lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	got, want := []string{again.At(0), again.At(1), again.At(again.Len() - 1)}, []string{"again", "line 1004", "line 6"}
	if !cmp.Equal(got, want) || again.Len() != maxHistory {
		t.Errorf("got %v and %d lines, want %v and %d", got, again.Len(), want, maxHistory)
	}
	info, err := os.Stat(h.file)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("got mode %o, want 600", mode)
	}
}

// replIn runs repl on lines without limits.
func replIn(t *testing.T, ctx context.Context, lines io.Reader, out io.Writer) (code int, stderr string) {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.star": "register_hook(\"pre_llm_call\", lambda: \"hi\")\n"})
	t.Setenv("HOME", dir)
	var diagnostics bytes.Buffer
	code = run(ctx, []string{"-C", dir, "repl", "a.star", "--max-steps", "1000000000000", "--timeout", "1h"}, lines, out, &diagnostics)
	return code, diagnostics.String()
}

// A when is a writer that calls a function when a word is written.
type when struct {
	word string
	do   func()
	text bytes.Buffer
}

func (w *when) Write(p []byte) (int, error) {
	if w.do != nil && strings.Contains(string(p), w.word) {
		w.do()
		w.do = nil
	}
	return w.text.Write(p)
}

const forever = "print(\"started\"); [x for x in range(1 << 40) if x < 0]\n"

// TestREPLEnds checks that the end of the program's context ends the session in every state.
func TestREPLEnds(t *testing.T) {
	for name, line := range map[string]string{"running": forever, "waiting": "print(\"started\")\n"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			in, keys := io.Pipe()
			defer keys.Close()
			go io.WriteString(keys, line)
			out := &when{word: "started", do: cancel}
			code, stderr := replIn(t, ctx, in, out)
			if code != exitInterrupted || !strings.Contains(stderr, "interrupted [E0709]") {
				t.Errorf("got exit code %d and %q, want %d and that it was interrupted", code, stderr, exitInterrupted)
			}
		})
	}
}

// TestREPLBrokenPipe checks that a session ends if its output is closed.
func TestREPLBrokenPipe(t *testing.T) {
	code, stderr := replIn(t, t.Context(), strings.NewReader("1\n2\n3\n"), brokenPipe{})
	if want := "standard output: broken pipe [E0708]\n  help: starhost docs E0708\n"; code != exitFile || stderr != want {
		t.Errorf("got exit code %d and %q, want %d and %q", code, stderr, exitFile, want)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return 0, errors.New("broken pipe")
}
