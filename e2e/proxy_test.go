package e2e

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// serveProxy serves a proxy of an upstream until the test ends, and returns its URL.
func serveProxy(t *testing.T, program, upstream string, args ...string) string {
	t.Helper()
	args = append([]string{"serve", "--no-config", "proxy.star", "--proxy", "127.0.0.1:0", "--upstream", upstream}, args...)
	env := emptyHome(t)
	return launch(t, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = env
		return cmd
	}, "standing in for endpoints at ")
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
