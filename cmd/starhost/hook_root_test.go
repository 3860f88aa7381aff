package main

import "testing"

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
