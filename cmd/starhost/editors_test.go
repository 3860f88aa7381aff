package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/report"
)

// editorBlocks returns the files that docs/editors.md describes. The blocks of one file are
// joined.
func editorBlocks(t *testing.T) map[string]string {
	t.Helper()
	src, err := os.ReadFile("../../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, m := range regexp.MustCompile("(?ms)^```\\w+ (\\S+)\n(.*?)^```$").FindAllStringSubmatch(string(src), -1) {
		files[m[1]] += m[2]
	}
	return files
}

const wrongPlugin = `"""Pages."""

def page(team):
    """Pages a team.

    Args:
      team (string): Which one.
    """
    return "é" + taem

register_tool(page,name = "page")
`

// TestEditorsPyright checks the page's plugin with types. If Pyright is installed, it must
// understand the plugin and the starter from the stubs.
func TestEditorsPyright(t *testing.T) {
	const name = "plugins/runbook.star"
	source := editorBlocks(t)[name]
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		name: source, "runbook.py": source, "wrong.py": "register_tol(1)\nfragment(1)\n",
		"pyrightconfig.json": `{"reportUndefinedVariable": false}`,
	})
	m := machine{dir}
	if out, stderr := m.run(t, report.ExitOK, "check", "plugins"); stderr != "" {
		t.Errorf("check: got %s%s", out, stderr)
	}
	m.run(t, report.ExitOK, "new", "plugin", "starter")
	m.run(t, report.ExitOK, "docs", "--format", "pyi", "-o", "__builtins__.pyi")
	if err := os.Rename(filepath.Join(dir, "starter/plugin.star"), filepath.Join(dir, "starter.py")); err != nil {
		t.Fatal(err)
	}
	pyright := testbed.Need(t, "pyright")
	cmd := exec.CommandContext(t.Context(), pyright, "runbook.py", "starter.py", "wrong.py")
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput() // Pyright fails if it finds mistakes
	if stderr := string(out); !strings.Contains(stderr, "wrong.py:2:10 - error: ") || !strings.Contains(stderr, "\n1 error, ") {
		t.Errorf("got %s, want one error, of wrong.py", stderr)
	}
}

// TestEditorsVSCode checks that the tasks are JSON and that the problem matcher finds the output of
// check.
func TestEditorsVSCode(t *testing.T) {
	var tasks struct {
		Tasks []struct {
			Command        string
			Args           []string
			ProblemMatcher struct {
				Pattern struct {
					Regexp                                      string
					Severity, File, Line, Column, Code, Message int
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(editorBlocks(t)[".vscode/tasks.json"]), &tasks); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"plugins/page.star": wrongPlugin})
	task := tasks.Tasks[0]
	var out, stderr bytes.Buffer
	code := run(t.Context(), append([]string{"-C", dir}, task.Args...), nil, &out, &stderr)
	if code != report.ExitPlugin || task.Command != "starhost" {
		t.Fatalf("%s: got exit code %d, want %d\n%s", task.Command, code, report.ExitPlugin, stderr.String())
	}
	p := task.ProblemMatcher.Pattern
	matcher := regexp.MustCompile(p.Regexp)
	var got [][]string
	for line := range strings.Lines(out.String()) {
		if m := matcher.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			got = append(got, []string{m[p.Severity], m[p.File], m[p.Line], m[p.Column], m[p.Code], m[p.Message]})
		}
	}
	want := [][]string{
		{"warning", "plugins/page.star", "3", "10", "E0916", "parameter team is not used"},
		{"error", "plugins/page.star", "9", "18", "E0102", "undefined: taem (did you mean team?)"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// TestEditorsVSCodeExtension checks the extension for the parts that packing does not check: its
// files exist, and it starts the command that the program has.
func TestEditorsVSCodeExtension(t *testing.T) {
	const dir = "../../editors/vscode/"
	var manifest struct {
		Main        string
		Contributes struct {
			Languages []struct {
				ID            string
				Extensions    []string
				Configuration string
			}
			Grammars []struct{ Language, Path string }
		}
	}
	if err := json.Unmarshal([]byte(readTestFile(t, dir+"package.json")), &manifest); err != nil {
		t.Fatal(err)
	}
	c := manifest.Contributes
	if len(c.Languages) != 2 || c.Languages[0].Extensions[0] != ".star" {
		t.Errorf("languages: got %+v, want those of .star and of golden cases", c.Languages)
	}
	files := []string{manifest.Main, c.Languages[0].Configuration, "LICENSE", "README.md"}
	for _, g := range c.Grammars {
		files = append(files, g.Path)
	}
	for _, file := range files {
		text := readTestFile(t, dir+file)
		if strings.HasSuffix(file, ".json") && !json.Valid([]byte(text)) {
			t.Errorf("%s is not JSON", file)
		}
	}
	if !strings.Contains(readTestFile(t, dir+manifest.Main), `args: ["lsp"]`) {
		t.Errorf("%s does not start starhost lsp", manifest.Main)
	}
}

// TestEditorsSettings checks that the settings of Zed and Helix parse and start the server.
func TestEditorsSettings(t *testing.T) {
	blocks := editorBlocks(t)
	var zed struct {
		LSP map[string]struct{ Binary struct{ Arguments []string } }
	}
	if err := json.Unmarshal([]byte(blocks["zed/settings.json"]), &zed); err != nil {
		t.Fatal(err)
	}
	var helix struct {
		Server   map[string]struct{ Args []string } `toml:"language-server"`
		Language []struct {
			Name    string
			Servers []string `toml:"language-servers"`
		}
	}
	if _, err := toml.Decode(blocks["helix/languages.toml"], &helix); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"Zed": zed.LSP["starpls"].Binary.Arguments, "Helix": helix.Server["starhost"].Args} {
		if !slices.Equal(args, []string{"lsp"}) {
			t.Errorf("%s: got the arguments %q, want lsp", name, args)
		}
	}
	if len(helix.Language) != 1 || !slices.Equal(helix.Language[0].Servers, []string{"starhost"}) {
		t.Errorf("Helix: got %+v, want a language with the server", helix.Language)
	}
}

// oldNeovim defines those functions of Neovim 0.8 which the page uses, by means of the client of Neovim 0.7.
const oldNeovim = `
if not vim.lsp.start then
  vim.g.do_filetype_lua = 1
  local id
  vim.lsp.start = function(config)
    id = id or vim.lsp.start_client(config)
    vim.lsp.buf_attach_client(0, id)
  end
  vim.lsp.buf.format = function() vim.lsp.buf.formatting_sync(nil, 20000) end
end
`

// tryNeovim sends requests to the server through Neovim's own client, and prints the answers.
const tryNeovim = `
local function show(...) io.write(table.concat(vim.tbl_map(tostring, { ... }), " ") .. "\n") end
local function wait(what, test)
  if not vim.wait(30000, test, 20) then show("waited in vain for " .. what) end
end
local function edit(name)
  vim.cmd("edit " .. name)
  wait("the server", function()
    for _, c in pairs(vim.lsp.buf_get_clients(0)) do
      if c.initialized then return true end
    end
  end)
end
-- set replaces the text and puts the cursor at the bar.
local function set(lines)
  for i, line in ipairs(lines) do
    local at = line:find("|", 1, true)
    if at then
      lines[i] = line:sub(1, at - 1) .. line:sub(at + 1)
      vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
      vim.api.nvim_win_set_cursor(0, { i, at - 1 })
    end
  end
end
local function ask(method, more)
  local params = vim.tbl_extend("force", vim.lsp.util.make_position_params(0, "utf-16"), more or {})
  for _, answer in pairs(vim.lsp.buf_request_sync(0, method, params, 30000) or {}) do
    if answer.error then show(method, answer.error.message) end
    return answer.result
  end
end
local function has(what, wanted)
  local labels = {}
  for _, item in ipairs(ask("textDocument/completion").items) do labels[item.label] = true end
  for _, label in ipairs(wanted) do
    if not labels[label] then show(what .. " has no " .. label) end
  end
  show(what, "completed")
end
local function findings() 
  local list = vim.diagnostic.get(0)
  table.sort(list, function(a, b) return a.lnum < b.lnum end)
  return list
end

edit("plugins/oncall/plugin.star")
wait("findings", function() return #findings() == 2 end)
for _, d in ipairs(findings()) do show("opened", d.lnum, d.col, d.message) end

-- The text breaks in the middle: the other findings stay.
vim.api.nvim_buf_set_lines(0, 1, 2, false, { "broken = (", "" })
wait("the mistake", function()
  local list = findings()
  return #list == 2 and list[2].lnum == 9
end)
for _, d in ipairs(findings()) do show("broken", d.lnum, d.col, d.message) end

local head = { 'load("lib/text.star", "shorten")', "" }
local function after(...)
  local lines = vim.list_extend({}, head)
  set(vim.list_extend(lines, { ... }))
end
after("def page(ctx, team):", "    x = (ctx.|)", "", "register_tool(page)")
has("ctx.", { "http", "fs", "state", "now" })
after("register_tool(|)")
has("keyword arguments", { "name = ", "description = " })
after('register_hook("|", len)')
has("events", { "pre_tool_call", "turn_start" })
after('plugin(permissions = ["|"])')
has("permissions", { "fs.read:", "http:" })

set({ 'plugin(config = {"team": "checkout"})', "", "x = (config.|)" })
has("settings", { "team" })
after('def f(ctx): return ctx.fragments.get("|")')
has("prefixes", { "file:" })
after("def page(team):", "    return team", "group = pa|ge")
show("symbols", table.concat(vim.tbl_map(function(s) return s.name end, ask("textDocument/documentSymbol")), " "))

after("def page(team):", '    """Pages."""', "    return |taem", "", "register_tool(page)")
wait("the typo", function()
  local last = findings()[#findings()]
  return last and last.lnum == 4 and last.message:match("did you mean team")
end)
for _, action in ipairs(ask("textDocument/codeAction", {
  range = { start = { line = 4, character = 11 }, ["end"] = { line = 4, character = 15 } },
  context = { diagnostics = { findings()[#findings()].user_data.lsp } },
})) do
  vim.lsp.util.apply_workspace_edit(action.edit, "utf-16")
end
show("mended", vim.fn.getline(5))

after("x = regi|ster_tool")
show("hover", ask("textDocument/hover").contents.value:match("register_tool%([%w, ]+"))
show("signature", (function()
  after('shorten("a", |)')
  local help = ask("textDocument/signatureHelp")
  return help.signatures[1].label .. " " .. help.activeParameter
end)())

after("def page(team):", "    group = team", "    return gr|oup", "", "x = 1")
vim.lsp.buf.rename("squad")
wait("the new name", function() return vim.fn.getline(5) == "    return squad" end)
show("renamed", vim.fn.getline(4), vim.fn.getline(5))

set({ "def page( team ):", "  return 'a|'" })
vim.lsp.buf.format()
wait("the format", function() return vim.fn.getline(1) == "def page(team):" end)
show("formatted", vim.fn.getline(1), vim.fn.getline(2))

after("y = shor|ten")
vim.bo.modified = false
vim.lsp.buf.definition()
wait("the definition", function() return vim.fn.expand("%:t") == "text.star" end)
show("definition", vim.fn.expand("%:t"), vim.fn.line("."), vim.fn.col("."))

vim.cmd("edit! plugins/oncall/plugin.star")
vim.api.nvim_buf_set_lines(0, 0, -1, false, { "def page(team):", '    """Pages."""', "    return team", "", "register_tool(page)" })
vim.cmd("silent write")
edit("plugins/oncall/golden/page.txtar")
vim.lsp.codelens.refresh()
wait("the lens", function() return #vim.lsp.codelens.get(0) == 1 end)
local lens = vim.lsp.codelens.get(0)[1]
show("lens", lens.range.start.line, lens.command.title)
vim.api.nvim_win_set_cursor(0, { lens.range.start.line + 1, 0 })
vim.lsp.codelens.run()
wait("the failure", function() return #findings() == 1 end)
show("case", findings()[1].lnum, findings()[1].message:match('%+"[^\n]*') or findings()[1].message)
vim.cmd("qa!")
`

// TestEditorsNeovim checks that init.lua starts the server, and what Neovim's own client gets from
// it.
func TestEditorsNeovim(t *testing.T) {
	nvim := testbed.Need(t, "nvim")
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"plugins/oncall/plugin.star": wrongPlugin, "plugins/oncall/lib/text.star": lspPlugin["plugins/oncall/lib/text.star"],
		"plugins/oncall/golden/page.txtar": "It pages.\n-- case.star --\ncall_tool(\"page\", team = \"a\")\n-- want --\n== call_tool page\n\"b\"\n",
		"init.lua":                         oldNeovim + editorBlocks(t)["init.lua"], "try.lua": tryNeovim,
	})
	cmd := exec.CommandContext(t.Context(), nvim, "--headless", "-u", "init.lua", "-i", "NONE", "-n", "-c", "luafile try.lua")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := `opened 2 9 parameter team is not used
opened 8 18 undefined: taem (did you mean team?)
broken 3 0 got def, want primary expression
broken 9 18 undefined: taem (did you mean team?)
ctx. completed
keyword arguments completed
events completed
permissions completed
settings completed
prefixes completed
symbols page group
mended     return team
hover register_tool(handler, name
signature shorten(text, most = 9) 1
renamed     squad = team     return squad
formatted def page(team):     return "a"
definition text.star 5 5
lens 1 run case
case 3 +"a"`
	if diff := cmp.Diff(want, strings.TrimSpace(strings.ReplaceAll(string(out), "\r", ""))); diff != "" {
		t.Errorf("what Neovim shows (-want +got):\n%s", diff)
	}
}
