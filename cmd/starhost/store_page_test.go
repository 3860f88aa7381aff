package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/starhost/starhost/report"
)

// TestStorePage runs the commands of docs/store.md, and compares what they print. "…" in the page
// stands for any text in a line.
func TestStorePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/store.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "STARHOST_STORE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", dir)
	blocks := regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	files := map[string]string{"style.md": "Write short sentences.\nNo jargon.\n", "plugins/none.star": ""}
	commands := 0
	for _, block := range blocks {
		switch block[1] {
		case "python":
			files["deploy.star"] = block[2]
		case "toml":
			files["llm.toml"] = block[2]
		}
	}
	writeFiles(t, dir, files)
	for _, block := range blocks {
		if block[1] != "console" {
			continue
		}
		for _, part := range strings.Split("\n"+block[2], "\n$ ")[1:] {
			line, want, _ := strings.Cut(part, "\n")
			args := words(t, line)
			var out bytes.Buffer
			code := run(t.Context(), append([]string{"-C", dir}, args[1:]...), strings.NewReader(""), &out, &out)
			pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", ".*")
			got := strings.TrimSpace(out.String())
			if code != report.ExitOK || !regexp.MustCompile("^"+pattern+"$").MatchString(got) {
				t.Errorf("%s: got exit code %d:\n%s\nwant:\n%s", line, code, got, want)
			}
			commands++
		}
	}
	if commands < 9 {
		t.Errorf("got %d commands, want at least 9", commands)
	}
	var out bytes.Buffer
	code := run(t.Context(), []string{"-C", dir, "config", "show", "-c", "llm.toml"}, nil, &out, &out)
	if code != report.ExitOK || !strings.Contains(out.String(), `store.fragments = "llm:/home/me`) {
		t.Errorf("config: got exit code %d:\n%s", code, &out)
	}
}
