package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReplayPage runs the commands of docs/replay.md, and compares what they print. "…" in the page
// stands for any text in a line.
func TestReplayPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/replay.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", dir)
	blocks := regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	var files, commands []string
	for _, block := range blocks {
		if block[1] == "console" {
			commands = append(commands, strings.Split("\n"+block[2], "\n$ ")[1:]...)
		} else {
			files = append(files, block[2])
		}
	}
	if len(files) != 3 || len(commands) != 3 {
		t.Fatalf("got %d files and %d commands, want 3 and 3", len(files), len(commands))
	}
	writeFiles(t, dir, map[string]string{
		"log.jsonl": files[0], "freeze.star": files[1], "next/freeze.star": files[2],
	})
	for i, part := range commands {
		line, want, _ := strings.Cut(part, "\n")
		var out bytes.Buffer
		args := append([]string{"-C", dir}, words(t, line)[1:]...)
		code := run(t.Context(), args, strings.NewReader(""), &out, &out)
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", ".*")
		got := strings.TrimSpace(out.String())
		if !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
			t.Errorf("%s: got exit code %d:\n%s\nwant:\n%s", line, code, got, want)
		}
		if wantCode := []int{0, 1, 0}[i]; code != wantCode {
			t.Errorf("%s: got exit code %d, want %d", line, code, wantCode)
		}
	}
}
