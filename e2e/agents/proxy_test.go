//go:build unix

package agents

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// proxyPlugin decides as plugin does, and has a tool that the agents do not have.
const proxyPlugin = plugin + `
def e2e_lookup(key):
    """Looks a key up.

    Args:
      key (string): The key.
    """
    return "E2E-FOUND-" + key

register_tool(e2e_lookup)
`

// newProxyStage makes a home whose agent asks the model through the proxy, without hooks.
func newProxyStage(t *testing.T, a *agent, replies ...reply) *stage {
	t.Helper()
	s := newHome(t, a, proxyPlugin, replies...)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, filepath.Join(s.home, "bin", "starhost"), "serve", "--no-config", filepath.Join(s.home, "policy.star"),
		"--proxy", "127.0.0.1:0", "--upstream", s.model.URL, "--tool", "e2e_*")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Env = s.environment()
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines, ended := bufio.NewScanner(stderr), make(chan bool)
	t.Cleanup(func() {
		stop()
		<-ended
		_ = cmd.Wait() // an error: the test ended it
	})
	for s.base == s.model.URL && lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "standing in for endpoints at "); ok {
			s.base = url
		}
	}
	go func() {
		defer close(ended)
		for lines.Scan() {
			t.Log(lines.Text())
		}
	}()
	if s.base == s.model.URL {
		t.Fatal("the proxy did not say where it is")
	}
	if a.setup != nil {
		a.setup(s)
	}
	return s
}

// proxyChecks are the tests of each agent behind the proxy.
var proxyChecks = []struct {
	name, want string
	run        func(t *testing.T, a *agent) string
}{
	{"context", "once", func(t *testing.T, a *agent) string {
		s := newProxyStage(t, a, reply{calls: []call{a.shell("touch ran")}}, reply{text: "hello"})
		s.run("say hello", false)
		if !s.has("ran") {
			return "the tool did not run"
		}
		return occurrences(s.lastRequest(), "E2E-SESSION", "E2E-TURN-")
	}},
	{"prompt", "not sent", func(t *testing.T, a *agent) string {
		s := newProxyStage(t, a)
		s.run("this is forbidden", false)
		if len(s.model.seen()) > 0 {
			return "sent"
		}
		return "not sent"
	}},
	{"deny", "not run, with the reason", func(t *testing.T, a *agent) string {
		return checkProxyShell(newProxyStage(t, a, reply{calls: []call{a.shell("touch denied")}}), "denied", "E2E-DENIED")
	}},
	{"ask", "not run, with the reason", func(t *testing.T, a *agent) string {
		return checkProxyShell(newProxyStage(t, a, reply{calls: []call{a.shell("touch asked")}}), "asked", "E2E-ASKED")
	}},
	{"modify", "changed", func(t *testing.T, a *agent) string {
		s := newProxyStage(t, a, reply{calls: []call{a.shell("touch old")}}, reply{text: "hello"})
		got := checkProxyShell(s, "old", "hello")
		if s.has("new") && !s.has("old") {
			return "changed"
		}
		return got
	}},
	{"eight", "guarded", func(t *testing.T, a *agent) string {
		names := []string{"file0", "file1", "denied", "file3"}
		var calls []call
		for _, name := range names {
			calls = append(calls, a.shell("touch "+name))
		}
		s := newProxyStage(t, a, reply{calls: calls}, reply{text: "hello"})
		s.run("make files", false)
		for _, name := range names {
			if s.has(name) != (name != "denied") {
				return name + " is wrong"
			}
		}
		return "guarded"
	}},
	{"tool", "answered", func(t *testing.T, a *agent) string {
		s := newProxyStage(t, a, reply{calls: []call{{"e2e_lookup", dict{"key": "k"}}}}, reply{text: "E2E-LAST"})
		s.run("look it up", false)
		switch {
		case !strings.Contains(s.lastRequest(), "E2E-FOUND-k"):
			return "no result"
		case !strings.Contains(s.output, "E2E-LAST"), strings.Contains(s.output, "e2e_lookup"):
			return "the agent got something else"
		}
		return "answered"
	}},
}

// checkProxyShell runs an agent whose model calls a command, and says whether its file appears.
func checkProxyShell(s *stage, name, reason string) string {
	s.run("go on", false)
	switch {
	case len(s.model.seen()) == 0:
		return "no request"
	case s.has(name):
		return "runs"
	case !strings.Contains(s.output, reason):
		return "not run"
	}
	return "not run, with the reason"
}

// TestProxy runs agents of all three protocols behind the proxy.
func TestProxy(t *testing.T) {
	wanted(t)
	for _, a := range agents {
		if a.name != "claude-code" && a.name != "codex" && a.name != "qwen" {
			continue
		}
		for _, c := range proxyChecks {
			t.Run(a.name+" "+c.name, func(t *testing.T) {
				if got := c.run(t, a); got != c.want {
					t.Errorf("%s %s: %s: got %q, want %q", a.name, pinned(t, a.pkg), c.name, got, c.want)
				}
			})
		}
	}
}
