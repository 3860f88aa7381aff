package programs

import (
	"os"
	"testing"
	"time"

	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/loader"
)

func TestMain(m *testing.M) { os.Exit(testbed.Alone(m).Run()) }

// TestMountTimeout checks that the timeout of a server's config bounds its calls, and that a server
// without one has the default.
func TestMountTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "timeout = \"5m\"\n": 5 * time.Minute} {
		c, _, err := loader.ParseConfig("starhost.toml", ".", []byte("[mcp.x]\nurl = \"https://x.internal\"\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		m := &Servers{Getenv: func(string) string { return "" }}
		if got := m.options("x", c.MCP["x"]).Timeout; got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
