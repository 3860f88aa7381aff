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
	"github.com/starhost/starhost/internal/markdown"
	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/serve/hook"
)

// agentPages returns the text of the page about all agents and of the page of each agent, by path.
func agentPages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/agents/*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, file := range append(files, "../../docs/agents.md") {
		abs, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[abs] = readTestFile(t, file)
	}
	return texts
}

var (
	// agentBlock matches a block of a page: its language, the text behind the language, and its
	// lines.
	agentBlock = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?ms)^```(\\w+) ?([^\n]*)\n(.*?)^```$") })
	// agentMark matches the place of a generated table, and its name.
	agentMark = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)(<!-- (\w+): go test ./cmd/starhost -run AgentsPages -update -->\n).*?(<!-- end of \w+ -->)`)
	})
)

// TestAgentsPages compares generated parts of the pages about agents with their sources: the output of the
// command that a block names, and the agents' rows in tables. It runs the blocks of shell commands, and
// checks that other blocks are valid in their language. With -update it writes the pages.
func TestAgentsPages(t *testing.T) {
	texts, tables := agentPages(t), append(agentTables(readRealRuns(t)), redactionTable)
	guards, err := filepath.Abs("../../docs/guards.md")
	if err != nil {
		t.Fatal(err)
	}
	texts[guards] = readTestFile(t, guards)
	dir := t.TempDir()
	t.Chdir(dir)
	writeFiles(t, dir, exampleFiles)
	for file, src := range texts {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		got := agentBlock().ReplaceAllStringFunc(src, func(block string) string {
			m := agentBlock().FindStringSubmatch(block)
			if file == guards {
				return block // TestGuardsPage tests the block
			}
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
		got = agentMark().ReplaceAllStringFunc(got, func(place string) string {
			m := agentMark().FindStringSubmatch(place)
			i := slices.IndexFunc(tables, func(table agentTable) bool { return table.name == m[2] })
			if i < 0 {
				t.Fatalf("%s: there is no table %s", file, m[2])
			}
			text := tables[i].all()
			if a := hook.AgentOf(name); a != nil {
				text = tables[i].of(a)
			}
			return m[1] + text + m[3]
		})
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(src, got); diff != "" {
			t.Errorf("%s (-as it is +as it should be; go test ./cmd/starhost -run AgentsPages -update writes it):\n%s", file, diff)
		}
	}
}

// TestAgentsIndex checks that each agent has a page with every table that has a row for it, and a
// row in the first table of docs/agents.md. A page of another name has no agent.
func TestAgentsIndex(t *testing.T) {
	front := readTestFile(t, "../../docs/agents.md")
	names := []string{"llm", "neko"} // these programs have pages although they have no hooks
	for _, a := range hook.Agents {
		names = append(names, a.Name)
		page := readTestFile(t, "../../docs/agents/"+a.Name+".md")
		for _, table := range agentTables(readRealRuns(t)) {
			if table.rowsOf(a) != nil && !strings.Contains(page, "<!-- "+table.name+": ") {
				t.Errorf("docs/agents/%s.md has no place for the table %s", a.Name, table.name)
			}
		}
	}
	for _, name := range names {
		if !regexp.MustCompile(`(?m)^\| \[[^]]+\]\(agents/` + name + `\.md\) \|`).MatchString(front) {
			t.Errorf("docs/agents.md has no row for %s", name)
		}
	}
	for file := range agentPages(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if name != "agents" && name != "compare" && !slices.Contains(names, name) {
			t.Errorf("%s: no agent is named %s", file, name)
		}
	}
}

// An agentTable is a table about agents. The page that compares them has a row for each agent, and
// the page of an agent has its row as two columns.
type agentTable struct {
	name    string
	columns []string
	row     func(*hook.Agent) []string   // nil if the table says nothing about the agent
	rows    func(*hook.Agent) [][]string // for a table with several rows of an agent, in place of row
}

// rowsOf returns the rows of an agent.
func (table agentTable) rowsOf(a *hook.Agent) [][]string {
	if table.rows != nil {
		return table.rows(a)
	}
	if row := table.row(a); row != nil {
		return [][]string{row}
	}
	return nil
}

// agentTables returns the tables.
func agentTables(runs map[string]realRun) []agentTable {
	kinds := agents.Kinds[:slices.Index(agents.Kinds, "mcp")]
	real := agentTable{name: "real", columns: []string{"version", "date"}, row: func(a *hook.Agent) []string { return realRow(a, runs) }}
	for _, c := range realChecks {
		real.columns = append(real.columns, c.title)
	}
	return []agentTable{
		{name: "codes", columns: []string{
			"context", "refuse a prompt", "replace the user's words", "ask a person", "change arguments", "change results", "starhost missing or late",
			"timeout", "exit code that blocks", "exit code that blocks nothing", "version",
		}, row: codeRow},
		{name: "files", columns: []string{"user", "variable for the user's folder", "project", "all users (Linux)", "macOS", "Windows"}, row: fileRow},
		{name: "tools", columns: slices.Concat([]string{"name in plugins"}, kinds, []string{"other servers' tools"}), row: toolRow},
		{name: "lifts", columns: []string{"what lifts or passes the guard", "in the settings of all users, stopped by", "what starhost does", "seen with version"}, rows: liftRows},
		{name: "attacks", columns: []string{"attack", "settings of the user", "settings of all users", "version"}, rows: func(a *hook.Agent) [][]string { return attackRows(a, runs) }},
		real,
	}
}

// redactionTable says what a plugin can hide from the model of an agent. It is on the page about guards.
var redactionTable = agentTable{name: "redaction", columns: []string{
	"user's words", "context of plugins", "results of tools", "a refused prompt",
}, row: func(a *hook.Agent) []string {
	words, context, refused := "stay", "cleaned", "not sent"
	if a.ReplacesWords {
		words = "cleaned"
	}
	if !a.TakesContext {
		context = "none"
	}
	results := strings.Replace(eventsText(a.Redacts), "at ", "cleaned at ", 1)
	switch a.Redacts {
	case "":
		results = "stay"
	case "*":
		results = "cleaned"
	}
	switch {
	case a.TellsModel:
		refused = "sent, with the reason"
	case !a.RefusesPrompts:
		refused = "sent"
	}
	return []string{words, context, results, refused}
}}

// all returns the table with a row for each agent about which the table says something.
func (table agentTable) all() string {
	rows := [][]string{append([]string{"agent"}, table.columns...)}
	for _, a := range hook.Agents {
		for _, row := range table.rowsOf(a) {
			rows = append(rows, append([]string{a.Title}, row...))
		}
	}
	return markdown.Table(rows)
}

// of returns the row of an agent as two columns: a line for each column with a text. If the table has several
// rows of the agent, of returns those.
func (table agentTable) of(a *hook.Agent) string {
	if table.rows != nil {
		return markdown.Table(append([][]string{table.columns}, table.rows(a)...))
	}
	rows := [][]string{{"", a.Title}}
	for i, cell := range table.row(a) {
		if cell != "" {
			rows = append(rows, []string{table.columns[i], cell})
		}
	}
	return markdown.Table(rows)
}

// toolRow returns the names of an agent's tools, by the kind of their calls.
func toolRow(a *hook.Agent) []string {
	row := []string{markdown.Code(a.Name)}
	for _, kind := range agents.Kinds[:slices.Index(agents.Kinds, "mcp")] {
		var names []string
		for _, tool := range a.Tools {
			for name := range strings.FieldsSeq(tool.Names) {
				if tool.Kind == kind && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		row = append(row, markdown.Code(names...))
	}
	server := ""
	switch {
	case a.MCPSeparator != "":
		server = a.MCPPrefix + "SERVER" + a.MCPSeparator + "TOOL"
	case a.MCPPrefix != "":
		server = a.MCPPrefix + "TOOL"
	}
	return append(row, markdown.Code(server))
}

// codeRow returns what an agent accepts from a hook, and its exit codes.
func codeRow(a *hook.Agent) []string {
	blocks := fmt.Sprint(a.BlockCode)
	switch {
	case a.Lines:
		blocks = "its answer"
	case a.BlockCode == 0:
		blocks = "0 and JSON"
	}
	return []string{
		yesNo(a.TakesContext), yesNo(a.RefusesPrompts), yesNo(a.ReplacesWords), eventsText(a.Asks),
		eventsText(a.Rewrites),
		eventsText(a.Redacts), a.Missing, fmt.Sprintf("%.0f s", a.Timeout.Seconds()), blocks, fmt.Sprint(a.FailCode), a.Seen,
	}
}

// fileRow returns the places of an agent's settings.
func fileRow(a *hook.Agent) []string {
	f := a.Files
	user := "by hand"
	if f.User != "" {
		user = markdown.Code(f.Folder + "/" + f.User)
	}
	row := []string{user}
	for _, text := range []string{f.Env, f.Project, f.Linux, f.MacOS, f.Windows} {
		row = append(row, markdown.Code(text))
	}
	return row
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
	dir := t.TempDir()
	writeFiles(t, dir, exampleFiles)
	for _, m := range agentBlock().FindAllStringSubmatch(readTestFile(t, "../../docs/agents/neko.md"), -1) {
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
