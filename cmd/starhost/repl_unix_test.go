//go:build unix

package main

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/starhost/starhost/internal/console"
	"github.com/starhost/starhost/report"
)

// TestREPLCut checks that ctrl-C stops the running line and the session continues.
func TestREPLCut(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	out := &when{word: "started", do: func() {
		cancel(console.SignalError{Signal: os.Interrupt}) // processContext cancels the same way
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Error(err)
		}
	}}
	code, stderr := replIn(t, ctx, strings.NewReader("x = 1\n"+forever+"x + 1\nctx.turn\n"), out)
	if want := "started\n2\n1\n"; code != report.ExitOK || out.text.String() != want {
		t.Errorf("got exit code %d and %q, want %d and %q", code, out.text.String(), report.ExitOK, want)
	}
	if want := "interrupted [E0709]\n  help: starhost docs E0709\n"; stderr != want {
		t.Errorf("got %q, want %q", stderr, want)
	}
}
