package e2e

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// serveProxy serves a proxy of an upstream until the test ends, and returns its URL.
func serveProxy(t *testing.T, program, upstream string, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	args = append([]string{"serve", "--no-config", "proxy.star", "--proxy", "127.0.0.1:0", "--upstream", upstream}, args...)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = emptyHome(t)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	ended := make(chan bool)
	t.Cleanup(func() {
		stop()
		<-ended
		_ = cmd.Wait() // an error: the test killed it
	})
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "standing in for endpoints at "); ok {
			go func() {
				defer close(ended)
				for lines.Scan() {
					t.Log(lines.Text())
				}
			}()
			return url
		}
	}
	close(ended)
	t.Fatal("the proxy did not say where it is")
	return ""
}

// TestProxy lets the official clients of OpenAI and Anthropic ask a mock through the proxy.
func TestProxy(t *testing.T) {
	node, program := clients(t), build(t)
	mock := endpoint(t, node)
	t.Run("guards", func(t *testing.T) {
		out, err := run(t, node, node, "proxy.mjs", serveProxy(t, program, mock), "status", "restart", "wipe")
		want := `chat whole Let me do it.|denied by proxy: nothing is wiped on Fridays status{"service":"checkout"} restart{"service":"db"} tool_calls
chat 403 PermissionDeniedError
chat stream Let me do it.|denied by proxy: nothing is wiped on Fridays status{"service":"checkout"} restart{"service":"db"} tool_calls
chat 403 PermissionDeniedError
responses whole Let me do it.|denied by proxy: nothing is wiped on Fridays status{"service":"checkout"} restart{"service":"db"} completed
responses 403 PermissionDeniedError
responses stream Let me do it.|denied by proxy: nothing is wiped on Fridays status{"service":"checkout"} restart{"service":"db"} completed
responses 403 PermissionDeniedError
messages whole Let me do it.|denied by proxy: nothing is wiped on Fridays status{"service":"checkout"} restart{"service":"db"} tool_use
messages 403 PermissionDeniedError
messages stream Let me do it.|denied by proxy: nothing is wiped on Fridays status{"service":"checkout"} restart{"service":"db"} tool_use
messages 403 PermissionDeniedError
`
		if diff := cmp.Diff(want, out); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
	t.Run("tools", func(t *testing.T) {
		out, err := run(t, node, node, "proxy.mjs", serveProxy(t, program, mock, "--tool", "s*"), "restart", "wipe")
		for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
			isText := strings.Contains(line, "Let me do it.|The database is back.  ")
			if strings.Contains(line, "403") || isText && !strings.Contains(line, "tool") {
				continue
			}
			t.Errorf("got %s", line)
		}
		if err != nil {
			t.Error(err)
		}
	})
}
