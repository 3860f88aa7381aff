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
	codes := []int{2, 0, 0, 0, 0, 1, 0}
	if len(files) != 5 || len(commands) != len(codes) {
		t.Fatalf("got %d files and %d commands, want 5 and %d", len(files), len(commands), len(codes))
	}
	writeFiles(t, dir, map[string]string{
		"plugins/release.star": files[0], "event.json": files[1], "plugins/golden/notes.md": "",
		"log.jsonl": files[2], "freeze.star": files[3], "next/freeze.star": files[4],
	})
	for i, part := range commands {
		line, want, _ := strings.Cut(part, "\n")
		var out bytes.Buffer
		line, from, _ := strings.Cut(line, " < ")
		stdin := ""
		if from != "" {
			stdin = files[1]
		}
		args := append([]string{"-C", dir}, words(t, line)[1:]...)
		code := run(t.Context(), args, strings.NewReader(stdin), &out, &out)
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", ".*")
		got := strings.TrimSpace(out.String())
		if !regexp.MustCompile("(?s)^" + pattern + "$").MatchString(got) {
			t.Errorf("%s: got exit code %d:\n%s\nwant:\n%s", line, code, got, want)
		}
		if wantCode := codes[i]; code != wantCode {
			t.Errorf("%s: got exit code %d, want %d", line, code, wantCode)
		}
	}
}
