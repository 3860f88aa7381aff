package e2e

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// launch starts a program that runs until the test ends. It returns what follows the note in the
// first line of standard error that has it, or without a note the first line of standard output.
// Later lines go to the test's log.
func launch(t *testing.T, cmd func(ctx context.Context) *exec.Cmd, note string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	c := cmd(ctx)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	pipe := c.StderrPipe
	if note == "" {
		pipe = c.StdoutPipe
	}
	out, err := pipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		stop()
		t.Fatal(err)
	}
	lines, ended := bufio.NewScanner(out), make(chan bool)
	t.Cleanup(func() {
		stop()
		<-ended
		_, _ = io.Copy(io.Discard, out) // a line that is too long ends the scanner
		_ = c.Wait()                    // an error: the test interrupted it
	})
	for lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), note); ok {
			go func() {
				defer close(ended)
				for lines.Scan() {
					t.Log(lines.Text())
				}
			}()
			return rest
		}
	}
	close(ended)
	t.Fatalf("%s did not print %q", c.Path, note)
	return ""
}
