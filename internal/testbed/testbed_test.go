package testbed

import (
	"os"
	"path/filepath"
	"testing"
)

type tests func() int

func (run tests) Run() int { return run() }

// TestAlone checks that tests find an empty home without the user's settings, and fail if they
// write there.
func TestAlone(t *testing.T) {
	for _, name := range []string{"HOME", "GOENV", "GOCACHE", "GOPATH"} {
		t.Setenv(name, os.Getenv(name)) // Alone changes them
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("STARHOST_CONFIG", "mine.toml")
	write := func(name string) tests {
		return func() int {
			home := os.Getenv("HOME")
			if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
				t.Errorf("home: got %v, %v; want an empty folder", entries, err)
			}
			for _, name := range []string{"XDG_STATE_HOME", "STARHOST_CONFIG"} {
				if value, set := os.LookupEnv(name); set {
					t.Errorf("%s: got %q, want none", name, value)
				}
			}
			if name == "" {
				return 0
			}
			file := filepath.Join(home, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Error(err)
			}
			return 0
		}
	}
	for name, want := range map[string]int{"": 0, ".config/go/telemetry/mode": 0, ".local/state/starhost/log/2026-01-02.jsonl": 1} {
		if got := Alone(write(name)).Run(); got != want {
			t.Errorf("tests that write %q: got exit code %d, want %d", name, got, want)
		}
		if _, err := os.Stat(os.Getenv("HOME")); err == nil {
			t.Errorf("the home of tests that write %q is still there", name)
		}
	}
	if got := Alone(tests(func() int { return 3 })).Run(); got != 3 {
		t.Errorf("tests that fail: got exit code %d, want theirs, 3", got)
	}
}

// TestNeed checks that a test skips where it lacks a program or a variable, and only there.
func TestNeed(t *testing.T) {
	if path := Need(t, "no-such-program", "go"); path == "" {
		t.Error("go: got no path")
	}
	t.Setenv("STARHOST_LONG", "1")
	NeedSet(t, "STARHOST_LONG", "it takes no time")
	skips := map[string]func(t *testing.T){
		"program":  func(t *testing.T) { Need(t, "no-such-program") },
		"variable": func(t *testing.T) { NeedSet(t, "NO_SUCH_VARIABLE", "") },
	}
	for name, skip := range skips {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if !t.Skipped() {
					t.Error("it goes on")
				}
			}()
			skip(t)
		})
	}
}
