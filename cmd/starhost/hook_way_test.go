package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestWayOfGuard counts the function calls from main to a guard's handler, in the two goroutines that they
// pass. A stranger who follows a call must read at most 18, and enters no package twice.
func TestWayOfGuard(t *testing.T) {
	const most = 18
	dir := t.TempDir()
	guard := "def guard(ctx):\n    return deny(ctx.env(\"WORD\"))\n\nplugin(api = 1, permissions = [\"env:WORD\"])\nregister_hook(\"pre_tool_call\", guard)\n"
	if err := os.WriteFile(filepath.Join(dir, "guard.star"), []byte(guard), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, stderr bytes.Buffer
	p := newProgram(strings.NewReader(callEvents[0].event), &out, &stderr)
	p.env.getenv = func(name string) string { return map[string]string{"HOME": dir}[name] }
	var stack string
	p.env.lookupEnv = func(name string) (string, bool) {
		if name == "WORD" {
			text := make([]byte, 1<<20)
			stack = string(text[:runtime.Stack(text, true)])
		}
		return "no", true
	}
	if code := p.run(t.Context(), []string{"-C", dir, "--no-config", "hook", "claude-code", "--grant", "guard=env:WORD", "guard.star"}); stack == "" {
		t.Fatalf("code %d, output %q, diagnostics %q", code, &out, &stderr)
	}
	var way []string // from the handler to main
	goroutines := strings.Split(stack, "\n\n")
	asks := slices.IndexFunc(goroutines, func(s string) bool { return strings.Contains(s, ".(*program).run(") })
	for _, frames := range []string{goroutines[0], goroutines[asks]} {
		_, frames, _ = strings.Cut(frames, "\n")
		for _, m := range regexp.MustCompile(`(?m)^([\w./-]+)\.(\S+)\(.*\n\t`).FindAllStringSubmatch(frames, -1) {
			way = append(way, m[1]+" "+m[2])
		}
	}
	way = way[slices.IndexFunc(way, func(f string) bool { return strings.Contains(f, "hookCall") }):]
	run := slices.IndexFunc(way, func(f string) bool { return strings.HasSuffix(f, " (*program).run") })
	way = append(way[:run+1], strings.Replace(way[run], "(*program).run", "main", 1))
	if len(way) > most {
		t.Errorf("%d calls from the handler to main, want at most %d:\n%s", len(way), most, strings.Join(way, "\n"))
	}
	var packages []string
	for _, f := range way {
		name, _, _ := strings.Cut(f, " ")
		if n := len(packages); n == 0 || packages[n-1] != name {
			packages = append(packages, name)
		}
	}
	if got := slices.Compact(slices.Sorted(slices.Values(packages))); len(got) != len(packages) {
		t.Errorf("a package is entered twice: %q", packages)
	}
}
