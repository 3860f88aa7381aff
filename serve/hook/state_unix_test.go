//go:build unix

package hook_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/serve/hook"
)

// TestStatesWithFifos checks that a named pipe in the place of a session's file is an error, and that no
// event waits for the pipe.
func TestStatesWithFifos(t *testing.T) {
	sum := sha256.Sum256([]byte("claude-code\x00one"))
	name := hex.EncodeToString(sum[:])
	for _, file := range []string{"lock-" + name[:1], name + ".lock", name + ".json", name + ".new"} {
		t.Run(strings.ReplaceAll(file, name, "H"), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "sessions")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(filepath.Join(dir, file), 0o600); err != nil {
				t.Fatal(err)
			}
			var reported []string
			o := hook.Options{States: &hook.States{Dir: dir}}
			o.Report = func(err error) { reported = append(reported, err.Error()) }
			h := hostOf(t, hookOn("pre_tool_call", func(context.Context, *starhost.Event) starhost.Decision {
				return starhost.Decision{}
			}))
			answer, err := event(t, h, o, toolOf("one", "Bash"))
			if err != nil || !strings.Contains(strings.Join(reported, "\n"), "got a special file") || !answer.Binding {
				t.Errorf("got %+v, %v, reports %q, want a refusal and an error about a special file", answer, err, reported)
			}
		})
	}
}
