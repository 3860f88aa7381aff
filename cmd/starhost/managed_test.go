package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starhost/starhost/serve/hook"
)

// TestHookManaged checks that hook blocks calls that the guard of the managed config denies, and all calls if
// it cannot use the config or the guard, whatever the flags and the environment say.
func TestHookManaged(t *testing.T) {
	const guard = `register_hook("pre_tool_call", lambda: deny("managed"))
register_hook("approve_tool_call", lambda: deny("managed"))
`
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"the guard denies", map[string]string{"etc/config.toml": "plugins.paths = [\"guards\"]\n", "etc/guards/guard.star": guard}, "managed"},
		{"the guard is broken", map[string]string{"etc/config.toml": "plugins.paths = [\"guards\"]\n", "etc/guards/guard.star": guard + "broken"}, "undefined: broken"},
		{"another plugin has the name", map[string]string{"repo/plugins/guard.star": "x = 1\n", "etc/config.toml": "plugins.required = [\"guard\"]\n"}, "required plugin guard is not loaded"},
		{"the paths are missing", map[string]string{"etc/config.toml": "plugins.paths = [\"guards\"]\n"}, "no such file or folder"},
		{"no TOML", map[string]string{"etc/config.toml": "["}, "invalid TOML"},
		{"a wrong value", map[string]string{"etc/config.toml": "limits.steps = 0"}, "limits.steps: got 0"},
		{"a folder", map[string]string{"etc/config.toml/x": ""}, "got a folder"},
	}
	events := append(callEvents[:len(callEvents):len(callEvents)], struct {
		agent, event string
		code         int
		out          string
	}{"picoclaw", `{"jsonrpc":"2.0","id":1,"method":"hook.approve_tool","params":{"tool":"exec","arguments":{"command":"rm"}}}` + "\n", 0, `"approved":false`})
	for _, tt := range tests {
		for _, e := range events {
			for _, flags := range [][]string{nil, {"--fail-open"}, {"--fail-open", "--no-config"}, {"--fail-open", "other.star"}} {
				t.Run(fmt.Sprint(tt.name, " ", e.agent, flags), func(t *testing.T) {
					dir := t.TempDir()
					writeFiles(t, dir, map[string]string{
						"repo/other.star": "", "repo/.git/x": "",
						"repo/starhost.toml": "plugins.disabled = [\"guard\"]\nplugin.guard.mode = \"warn\"\n",
						"none.toml":          "plugins.disabled = [\"guard\"]\n",
					})
					writeFiles(t, dir, tt.files)
					t.Setenv("HOME", filepath.Join(dir, "home"))
					t.Setenv("STARHOST_CONFIG", filepath.Join(dir, "none.toml"))
					if len(flags) > 1 {
						t.Setenv("STARHOST_CONFIG", "")
					}
					for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
						t.Setenv(name, "")
					}
					var out, errs bytes.Buffer
					p := &program{env: Env{
						stdin: strings.NewReader(e.event), stdout: &out, stderr: &errs,
						getenv: os.Getenv, lookupEnv: os.LookupEnv,
						managed: filepath.Join(dir, "etc", "config.toml"), deadline: hook.Deadline,
					}}
					runInTime(t, p, append([]string{"-C", filepath.Join(dir, "repo"), "hook", e.agent}, flags...))
					if text := out.String(); !strings.Contains(text, e.out) {
						t.Errorf("got %s%s, want %s", &out, &errs, e.out)
					}
					if text := out.String() + errs.String(); !strings.Contains(text, tt.want) {
						t.Errorf("got %s, want %s", text, tt.want)
					}
				})
			}
		}
	}
}
