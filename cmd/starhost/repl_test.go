package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/starhost/starhost/report"
)

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

// A when is a writer that calls a function when somebody writes a certain word.
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

// TestREPLEnds checks that a session ends in every state when the program's context ends.
func TestREPLEnds(t *testing.T) {
	for name, line := range map[string]string{"running": forever, "waiting": "print(\"started\")\n"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			in, keys := io.Pipe()
			defer keys.Close()
			go io.WriteString(keys, line)
			out := &when{word: "started", do: cancel}
			code, stderr := replIn(t, ctx, in, out)
			if code != report.ExitInterrupted || !strings.Contains(stderr, "interrupted [E0709]") {
				t.Errorf("got exit code %d and %q, want %d and that it was interrupted", code, stderr, report.ExitInterrupted)
			}
		})
	}
}

// TestREPLBrokenPipe checks that a session ends when the reader of its output is gone.
func TestREPLBrokenPipe(t *testing.T) {
	code, stderr := replIn(t, t.Context(), strings.NewReader("1\n2\n3\n"), brokenPipe{})
	if want := "standard output: broken pipe [E0708]\n  help: starhost docs E0708\n"; code != report.ExitFile || stderr != want {
		t.Errorf("got exit code %d and %q, want %d and %q", code, stderr, report.ExitFile, want)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return 0, errors.New("broken pipe")
}
