package main

import (
	"testing"
	"time"

	"github.com/starhost/starhost/loader"
)

// TestMountTimeout checks that the timeout in the config of a server limits calls of its tools, and that the
// default applies to a server without one.
func TestMountTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "timeout = \"5m\"\n": 5 * time.Minute} {
		c, _, err := loader.ParseConfig("starhost.toml", ".", []byte("[mcp.x]\nurl = \"https://x.internal\"\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		m := &mounts{getenv: func(string) string { return "" }}
		if got := m.options("x", c.MCP["x"]).Timeout; got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
