//go:build unix

package install

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/serve/hook"
)

// othersIn returns settings of other tools in a format: a hook at the event, and comments.
func othersIn(f format, event string) string {
	switch f {
	case formJSON:
		return "// mine\n{\n    \"model\": \"opus\", /* the best */\n    \"hooks\": {\n        \"" + event +
			"\": [\n            {\"command\": \"audit.sh\"}, // keep this\n        ],\n    },\n}\n"
	case formYAML:
		return "# mine\nmodel: x\nhooks:\n  " + event + ":\n    - command: audit.sh # keep this\n"
	case formTOML:
		return "# mine\nmodel = \"x\" # the best\n\n[other]\nkey = 1\n"
	}
	return ""
}

// treeOf returns the text of each file in a folder, by path.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		tree[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestInstallRestores installs and uninstalls starhost in each agent and each scope, beside settings of other
// tools. It checks that each file then has the same bytes as before, and those that somebody added meanwhile.
func TestInstallRestores(t *testing.T) {
	variants := []struct {
		name   string
		change func(string) string
		json   string // the text of a JSON file; the test then does not call change
		edit   bool   // somebody adds to the files between install and uninstall
	}{
		{name: "no file"},
		{name: "an empty file", change: func(string) string { return "" }},
		{name: "white space in an empty object", json: "{ }\n"},
		{name: "a line in an empty object", json: "{\r\n}"},
		{name: "a comment in an empty object", json: "\ufeff{ // mine\n\t}"},
		{name: "white space in an empty object, and an edit", json: "{ }\n", edit: true},
		{name: "a line in an empty object, and an edit", json: "{\r\n}\r\n", edit: true},
		{name: "other hooks and comments", change: func(s string) string { return s }},
		{name: "other hooks and comments, and an edit", change: func(s string) string { return s }, edit: true},
		{name: "CRLF", change: func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
		{name: "a byte order mark", change: func(s string) string { return "\ufeff" + s }},
		{name: "no line end", change: func(s string) string { return strings.TrimRight(s, "\n") }},
	}
	for _, agent := range hook.Agents {
		for _, whose := range []Scope{{User: true}, {Project: true}, {Managed: true}} {
			flag := map[Scope]string{{User: true}: "--user", {Project: true}: "--project", {Managed: true}: "--managed"}[whose]
			for _, v := range variants {
				t.Run(fmt.Sprint(agent.Name, flag, " ", v.name), func(t *testing.T) {
					dir := t.TempDir()
					for _, folder := range []string{"repo/.git", "home"} {
						if err := os.MkdirAll(filepath.Join(dir, folder), 0o777); err != nil {
							t.Fatal(err)
						}
					}
					t.Setenv("HOME", filepath.Join(dir, "home"))
					for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", agent.Files.Env} {
						if name != "" {
							t.Setenv(name, "")
						}
					}
					t.Chdir(filepath.Join(dir, "repo"))
					m := &Machine{Dir: ".", Root: filepath.Join(dir, "root"), Getenv: os.Getenv}
					main, err := m.SettingsFile(agent, &whose)
					if err != nil {
						t.Skip(err) // the agent has no such file
					}
					flags := Flags{Paths: []string{"guard.star"}}
					line := flags.Settings(agent, "/bin/starhost", nil)
					line.Project, line.Managed = whose.Project, whose.Managed
					event := agent.Events[0].Name
					for _, e := range agent.Events {
						if agent.AsksAt(e.Name) {
							event = e.Name
						}
					}
					for _, p := range agent.Pieces(line) {
						file := pieceFile(main, &p)
						text := othersIn(file.format, event)
						switch {
						case v.json != "" && file.format == formJSON:
							text = v.json
						case v.change == nil || text == "":
							continue
						default:
							text = v.change(text)
						}
						if err := os.MkdirAll(filepath.Dir(file.Path()), 0o755); err != nil {
							t.Fatal(err)
						}
						if err := os.WriteFile(file.Path(), []byte(text), 0o644); err != nil {
							t.Fatal(err)
						}
					}
					before := treeOf(t, dir)
					for range 2 {
						if _, err := m.Install(agent, main, &line); err != nil {
							t.Fatal(err)
						}
						if cmp.Equal(before, treeOf(t, dir)) {
							t.Fatal("install changed nothing")
						}
					}
					for _, p := range agent.Pieces(line) {
						file := pieceFile(main, &p)
						text, _, err := file.Read()
						if err != nil || file.format == formJSON && bytes.Count(text, []byte("/bin/starhost")) == 0 {
							t.Errorf("%s: got %s, %v", file.Path(), text, err)
						}
					}
					if v.edit && formatOf(main.Name) == formJSON && before[main.Path()] != "" {
						const more = "// more\n"
						before[main.Path()] += more
						text, _, err := main.Read()
						if err == nil {
							err = os.WriteFile(main.Path(), append(text, more...), 0o644)
						}
						if err != nil {
							t.Fatal(err)
						}
					}
					if _, err := m.Uninstall(agent, main, &line); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(before, treeOf(t, dir)); diff != "" {
						t.Errorf("after uninstall (-before +after):\n%s", diff)
					}
				})
			}
		}
	}
}
