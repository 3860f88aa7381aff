package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/serve/hook"
)

const agentsPage = "../../docs/agents.md"

// agentBlock matches a block of docs/agents.md: its language, the text behind the language, and
// its lines.
var agentBlock = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?ms)^```(\\w+) ?([^\n]*)\n(.*?)^```$") })

// TestAgentsPage compares each block that names a command with the command's output, runs the
// shell blocks, and checks the language of the others. With -update it writes the output.
func TestAgentsPage(t *testing.T) {
	src, err := os.ReadFile(agentsPage)
	if err != nil {
		t.Fatal(err)
	}
	page, err := filepath.Abs(agentsPage)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	writeFiles(t, dir, exampleFiles)
	got := agentBlock().ReplaceAllStringFunc(string(src), func(block string) string {
		m := agentBlock().FindStringSubmatch(block)
		language, about, text := m[1], m[2], m[3]
		if strings.HasPrefix(about, "starhost ") {
			text = runLine(t, about)
		}
		if language == "sh" {
			for line := range strings.Lines(text) {
				command, _, _ := strings.Cut(line, " > ")
				runLine(t, command)
			}
		}
		checkBlock(t, language, text)
		return "```" + strings.TrimSpace(language+" "+about) + "\n" + text + "```"
	})
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(src), got); diff != "" {
		t.Errorf("docs/agents.md (-as it is +as it should be; go test ./cmd/starhost -run AgentsPage -update writes it):\n%s", diff)
	}
}

// TestAgentsTools compares the table of tools in docs/agents.md with the agents' rows. With -update
// it writes the table.
func TestAgentsTools(t *testing.T) {
	src, err := os.ReadFile(agentsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(src), "-run AgentsTools -update -->\n")
	_, after, ok := strings.Cut(rest, "<!-- end of tools -->")
	if !ok {
		t.Fatal("docs/agents.md has no place for the table of tools")
	}
	got := before + "-run AgentsTools -update -->\n" + toolTable() + "<!-- end of tools -->" + after
	if *update {
		if err := os.WriteFile(agentsPage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(src), got); diff != "" {
		t.Errorf("docs/agents.md (-as it is +as it should be; go test ./cmd/starhost -run AgentsTools -update writes it):\n%s", diff)
	}
}

// toolTable returns a table with a row for each agent and a column for each kind of call.
func toolTable() string {
	kinds := agents.Kinds[:slices.Index(agents.Kinds, "mcp")]
	var b strings.Builder
	b.WriteString("| agent | name in plugins | " + strings.Join(kinds, " | ") + " | other servers' tools |\n|" + strings.Repeat("---|", 3+len(kinds)) + "\n")
	for _, a := range agents.All {
		if a.Name == "" {
			continue
		}
		fmt.Fprintf(&b, "| %s | `%s` |", a.Title, a.Name)
		for _, kind := range kinds {
			var names []string
			for _, row := range a.Tools {
				for name := range strings.FieldsSeq(row.Names) {
					if name = "`" + name + "`"; row.Kind == kind && !slices.Contains(names, name) {
						names = append(names, name)
					}
				}
			}
			b.WriteString(" " + strings.Join(names, ", ") + " |")
		}
		server := ""
		switch {
		case a.MCPSeparator != "":
			server = "`" + a.MCPPrefix + "SERVER" + a.MCPSeparator + "TOOL`"
		case a.MCPPrefix != "":
			server = "`" + a.MCPPrefix + "TOOL`"
		}
		b.WriteString(" " + server + " |\n")
	}
	return b.String()
}

// TestAgentsCodes compares the table of exit codes and abilities in docs/agents.md with the agents'
// rows. With -update it writes the table.
func TestAgentsCodes(t *testing.T) {
	src, err := os.ReadFile(agentsPage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- codes: go test ./cmd/starhost -run AgentsCodes -update -->\n", "<!-- end of codes -->"
	before, rest, _ := strings.Cut(string(src), begin)
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatal("docs/agents.md has no place for the table of exit codes")
	}
	got := before + begin + codeTable() + end + after
	if *update {
		if err := os.WriteFile(agentsPage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(src), got); diff != "" {
		t.Errorf("docs/agents.md (-as it is +as it should be; go test ./cmd/starhost -run AgentsCodes -update writes it):\n%s", diff)
	}
}

// codeTable returns a table with a row for each agent that hook supports.
func codeTable() string {
	var b strings.Builder
	b.WriteString("| agent | blocks | failed, blocks nothing | timeout | context | refuse a prompt | ask a person | change arguments |" +
		" change results | starhost missing or late | version |\n|" + strings.Repeat("---|", 11) + "\n")
	for _, a := range hook.Agents {
		blocks := fmt.Sprint(a.BlockCode)
		switch {
		case a.Lines:
			blocks = "its answer"
		case a.BlockCode == 0:
			blocks = "0 and JSON"
		}
		cells := []string{
			a.Title, blocks, fmt.Sprint(a.FailCode), fmt.Sprintf("%.0f s", a.Timeout.Seconds()),
			yesNo(a.TakesContext), yesNo(a.RefusesPrompts),
			eventsText(a.Asks), eventsText(a.Rewrites), eventsText(a.Redacts), a.Missing, a.Seen,
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

// TestAgentsFiles compares the table of settings files in docs/agents.md with the agents' rows.
// With -update it writes the table.
func TestAgentsFiles(t *testing.T) {
	src, err := os.ReadFile(agentsPage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- files: go test ./cmd/starhost -run AgentsFiles -update -->\n", "<!-- end of files -->"
	before, rest, _ := strings.Cut(string(src), begin)
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatal("docs/agents.md has no place for the table of settings files")
	}
	got := before + begin + fileTable() + end + after
	if *update {
		if err := os.WriteFile(agentsPage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(src), got); diff != "" {
		t.Errorf("docs/agents.md (-as it is +as it should be; go test ./cmd/starhost -run AgentsFiles -update writes it):\n%s", diff)
	}
}

// fileTable returns a table with a row for each agent that hook supports.
func fileTable() string {
	var b strings.Builder
	b.WriteString("| agent | user | variable | project | all users (Linux) | macOS | Windows |\n|" + strings.Repeat("---|", 7) + "\n")
	for _, a := range hook.Agents {
		f := a.Files
		user := "by hand"
		if f.User != "" {
			user = "`" + f.Folder + "/" + f.User + "`"
		}
		cells := []string{a.Title, user}
		for _, text := range []string{f.Env, f.Project, f.Linux, f.MacOS, f.Windows} {
			if text != "" {
				text = "`" + text + "`"
			}
			cells = append(cells, text)
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

func yesNo(ok bool) string { return map[bool]string{false: "no", true: "yes"}[ok] }

// eventsText returns the cell for events at which an agent can do something.
func eventsText(names string) string {
	switch names {
	case "":
		return "no"
	case "*":
		return "yes"
	}
	return "at `" + strings.ReplaceAll(names, " ", "`, `") + "`"
}

// runLine runs a command line of starhost and returns its output.
func runLine(t *testing.T, line string) string {
	t.Helper()
	var out, stderr bytes.Buffer
	args := splitLine(strings.TrimSpace(line))
	if code := run(t.Context(), args[1:], strings.NewReader(""), &out, &stderr); code != 0 {
		t.Errorf("%s: exit code %d\n%s", line, code, stderr.String())
	}
	return out.String()
}

// splitLine splits a command line at spaces outside of quotes.
func splitLine(line string) []string {
	var words []string
	for _, m := range regexp.MustCompile(`"([^"]*)"|'([^']*)'|\S+`).FindAllString(line, -1) {
		words = append(words, strings.Trim(m, `"'`))
	}
	return words
}

// checkBlock checks that a text is valid in its language.
func checkBlock(t *testing.T, language, text string) {
	t.Helper()
	check := map[string]func([]byte) error{
		"json": func(b []byte) error { return json.Unmarshal(b, new(map[string]any)) },
		"yaml": func(b []byte) error { return yaml.Unmarshal(b, new(map[string]any)) },
		"toml": func(b []byte) error { return toml.Unmarshal(b, new(map[string]any)) },
	}[language]
	if check == nil {
		return
	}
	if err := check([]byte(text)); err != nil {
		t.Errorf("a block of %s: %v\n%s", language, err, text)
	}
}

// nekoSDK replaces the part of N.E.K.O's SDK that the page's plugin uses.
const nekoSDK = `
import asyncio, sys, types

class NekoPluginBase:
    def __init__(self):
        self.tools = {}

    def register_llm_tool(self, name, description, parameters, handler):
        self.tools[name] = handler

sdk = types.ModuleType("plugin.sdk.plugin")
sdk.NekoPluginBase, sdk.Ok = NekoPluginBase, lambda v: v
sdk.lifecycle = lambda id: lambda f: f
sdk.neko_plugin = lambda c: c
for name in ["plugin", "plugin.sdk"]:
    sys.modules[name] = types.ModuleType(name)
sys.modules["plugin.sdk.plugin"] = sdk
module = {}
exec(open("plugin.py").read(), module)

async def main():
    p = module["Starhost"]()
    await p.startup()
    print(sorted(p.tools), await p.tools["restart_pods"](cluster="prod-1"), (await p.tools["restart_pods"](cluster=7))["is_error"])

asyncio.run(main())
`

// TestAgentsNeko runs the page's plugin for N.E.K.O against nekoSDK.
func TestAgentsNeko(t *testing.T) {
	python := testbed.Need(t, "python3")
	src, err := os.ReadFile(agentsPage)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFiles(t, dir, exampleFiles)
	for _, m := range agentBlock().FindAllStringSubmatch(string(src), -1) {
		if m[2] == "plugin.py" {
			writeFiles(t, dir, map[string]string{"plugin.py": m[3], "main.py": nekoSDK})
		}
	}
	cmd := exec.Command(python, "main.py")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir) // TestMain has put starhost into PATH
	out, err := cmd.CombinedOutput()
	if want := "['restart_pods'] restarted prod-1 True\n"; err != nil || string(out) != want {
		t.Errorf("got %v, %s, want %s", err, out, want)
	}
}
