package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/starhost/starhost/serve/hook"
)

// TestWithHome checks that the home of the user database replaces an empty HOME, and nothing else.
func TestWithHome(t *testing.T) {
	for _, tt := range []struct{ set, database, want string }{
		{"/home/a", "/home/b", "/home/a"},
		{"", "/home/b", "/home/b"},
		{"", "", ""},
		{"home", "/home/b", ""},
	} {
		getenv := withHome(func(string) string { return tt.set }, func() string { return tt.database })
		if got := getenv("HOME"); got != tt.want {
			t.Errorf("HOME=%q, database %q: got %q, want %q", tt.set, tt.database, got, tt.want)
		}
		if got := getenv("XDG_STATE_HOME"); got != tt.set {
			t.Errorf("another variable: got %q, want %q", got, tt.set)
		}
	}
}

// TestEventFolder checks that plugins read the files of the folder in which the session began, and not those
// of a folder that the model entered later.
func TestEventFolder(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"repo/.git/HEAD": "", "repo/sub/a": "", "other/a": "", "file": ""})
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, tt := range []struct {
		what, cwd, want string
		pin             hook.Pin
	}{
		{"a new session", at("repo/sub"), at("repo"), hook.Pin{}},
		{"a session with a root", at("other"), at("repo"), hook.Pin{Root: dir, Folder: at("repo/sub")}},
		{"a root of an earlier version", at("other"), "", hook.Pin{Root: dir}},
		{"a folder that is gone", at("nowhere"), "", hook.Pin{}},
		{"a file", at("file"), "", hook.Pin{}},
		{"a relative folder", ".", "", hook.Pin{}},
		{"no folder", "", "", hook.Pin{}},
	} {
		text, err := json.Marshal(map[string]string{"hook_event_name": "Stop", "session_id": "s", "cwd": tt.cwd})
		if err != nil {
			t.Fatal(err)
		}
		e, err := hook.AgentOf("claude-code").Read(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := eventFolder(&tt.pin, e); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.what, got, tt.want)
		}
	}
}
