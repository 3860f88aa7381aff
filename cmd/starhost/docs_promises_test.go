package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pages returns the text of each page for users, by its path in the repository.
func pages(t *testing.T) map[string]string {
	t.Helper()
	var files []string
	err := filepath.WalkDir("../../docs", func(file string, _ os.DirEntry, err error) error {
		if filepath.Ext(file) == ".md" {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, file := range append(files, "../../README.md", "../../SECURITY.md", "../../CONTRIBUTING.md") {
		texts[strings.TrimPrefix(file, "../../")] = readTestFile(t, file)
	}
	return texts
}

var (
	pageLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageFlag    = regexp.MustCompile(`(?:^|[\s` + "`" + `(\[])--([a-z][a-z-]+)`)
	pageSpan    = regexp.MustCompile("`([^`\n]+)`")
	headingSign = regexp.MustCompile("[^a-z0-9 _-]")
)

// TestDocsLinks checks that each link of a page leads to a file, and to a heading that the file has.
func TestDocsLinks(t *testing.T) {
	for name, text := range pages(t) {
		for _, m := range pageLink.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := filepath.Join("../..", filepath.Dir(name), file)
			if file == "" {
				target = filepath.Join("../..", name)
			}
			src, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); statErr == nil && info.IsDir() {
				continue
			}
			if err != nil || anchor != "" && !slices.Contains(anchors(string(src)), anchor) {
				t.Errorf("%s: the link %s leads nowhere (%v)", name, m[1], err)
			}
		}
	}
}

// anchors returns the anchors of a page's headings, as GitHub makes them.
func anchors(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && line[0] == '#' {
			plain := headingSign.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			list = append(list, strings.ReplaceAll(plain, " ", "-"))
		}
	}
	return list
}

// foreignFlags are flags of other programs in the pages.
var foreignFlags = []string{
	"force", "hard", "json", "merge", "repo", "short", "forc", "context", "namespace", // git, gh and kubectl
	"install-extension", "interceptor", "ta", "transport", "unix-socket", // code, docker-mcp and curl
	"bare", "disable", "safe-mode", "session-id", "setting-sources", // Claude Code, Codex and Droid
}

// TestDocsFlags checks that each flag in a page is a flag of a command.
func TestDocsFlags(t *testing.T) {
	flags := map[string]bool{"help": true}
	root := new(program).rootCommand(nil)
	for _, cmd := range append([]*cobra.Command{root}, allCommands(root)...) {
		add := func(f *pflag.Flag) { flags[f.Name] = true }
		cmd.Flags().VisitAll(add)
		cmd.PersistentFlags().VisitAll(add)
	}
	for name, text := range pages(t) {
		if name == "docs/packs.md" { // its commands are those that rules are about
			continue
		}
		for _, m := range pageFlag.FindAllStringSubmatch(text, -1) {
			if !flags[m[1]] && !slices.Contains(foreignFlags, m[1]) {
				t.Errorf("%s: no command has --%s", name, m[1])
			}
		}
	}
}

// TestDocsNames checks that the keys of the config, the members of ctx, the commands and the codes
// in a page exist.
func TestDocsNames(t *testing.T) {
	names := topics()
	var commands []string
	for _, cmd := range allCommands(new(program).rootCommand(nil)) {
		commands = append(commands, strings.TrimPrefix(cmd.CommandPath(), "starhost "))
	}
	key := regexp.MustCompile(`^\[([a-z]+)\] ([a-z_]+)$`)
	member := regexp.MustCompile(`^(ctx\.[a-z_]+(?:\.[a-z_]+)?)`)
	command := regexp.MustCompile(`^starhost ([a-z]+)`)
	code := regexp.MustCompile(`^(E\d{4})$`)
	for page, text := range pages(t) {
		for _, m := range pageSpan.FindAllStringSubmatch(strings.ReplaceAll(text, "\n", " "), -1) {
			span := m[1]
			if found := key.FindStringSubmatch(span); found != nil && !slices.Contains(names, found[1]+"."+found[2]) {
				t.Errorf("%s: no key is named %s", page, span)
			}
			for _, pattern := range []*regexp.Regexp{member, code} {
				if found := pattern.FindStringSubmatch(span); found != nil && !slices.Contains(names, found[1]) {
					t.Errorf("%s: starhost docs has no %s", page, found[1])
				}
			}
			found := command.FindStringSubmatch(span)
			if found != nil && !slices.Contains(commands, found[1]) && found[1] != "help" {
				t.Errorf("%s: no command is named %s", page, found[1])
			}
		}
	}
}
