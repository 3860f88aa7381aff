package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	if out, stderr := m.run(t, exitOK, "check", "plugins"); stderr != "" {
		t.Errorf("check: got %s%s", out, stderr)
	}
	m.run(t, exitOK, "new", "plugin", "starter")
	m.run(t, exitOK, "docs", "--format", "pyi", "-o", "__builtins__.pyi")
	if err := os.Rename(filepath.Join(dir, "starter/plugin.star"), filepath.Join(dir, "starter.py")); err != nil {
		t.Fatal(err)
	}
	pyright, err := exec.LookPath("pyright")
	if err != nil {
		t.Skip("needs pyright")
	}
	cmd := exec.CommandContext(t.Context(), pyright, "runbook.py", "starter.py", "wrong.py")
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput() // Pyright fails if it finds mistakes
	if stderr := string(out); !strings.Contains(stderr, "wrong.py:2:10 - error: ") || !strings.Contains(stderr, "\n1 error, ") {
		t.Errorf("got %s, want one error, of wrong.py", stderr)
	}
}

// TestEditorsVSCode checks that the settings are JSON and that the problem matcher finds the
// output of check.
func TestEditorsVSCode(t *testing.T) {
	files := editorBlocks(t)
	var settings struct {
		Associations map[string]string `json:"files.associations"`
	}
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
	for name, v := range map[string]any{".vscode/settings.json": &settings, ".vscode/tasks.json": &tasks} {
		if err := json.Unmarshal([]byte(files[name]), v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"plugins/page.star": wrongPlugin})
	task := tasks.Tasks[0]
	var out, stderr bytes.Buffer
	code := run(t.Context(), append([]string{"-C", dir}, task.Args...), nil, &out, &stderr)
	if code != exitPlugin || task.Command != "starhost" {
		t.Fatalf("%s: got exit code %d, want %d\n%s", task.Command, code, exitPlugin, stderr.String())
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

// TestEditorsNeovim checks that init.lua shows mistakes in an unsaved text and formats it when
// it is written.
func TestEditorsNeovim(t *testing.T) {
	nvim, err := exec.LookPath("nvim")
	if err != nil {
		t.Skip("needs nvim")
	}
	const before = "vim.g.do_filetype_lua = 1 -- as 0.7 wants it\nvim.lsp.start = function() end\n"
	const try = `
vim.cmd("edit plugins/page.star")
local function stderr(what)
  for _, d in ipairs(vim.diagnostic.get(0)) do
    print(what .. " " .. d.lnum .. ":" .. d.col .. " " .. d.message)
  end
end
print(vim.bo.filetype)
stderr("opened")
vim.fn.setline(9, '    return "é" + team + 1 // 0')
vim.fn.setline(11, 'register_tool(page,nam = "page")')
vim.cmd("doautocmd TextChanged")
stderr("changed")
vim.fn.setline(11, 'register_tool(page,name = "page")')
vim.cmd("silent write")
stderr("written")
print(vim.fn.getline(11))
vim.cmd("qa!")
`
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"plugins/page.star": wrongPlugin, "init.lua": before + editorBlocks(t)["init.lua"], "try.lua": try})
	cmd := exec.CommandContext(t.Context(), nvim, "--headless", "-u", "init.lua", "-i", "NONE", "-c", "luafile try.lua")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := `python
opened 2:9 parameter team is not used
opened 8:18 undefined: taem (did you mean team?)
changed 10:13 register_tool: unexpected keyword argument "nam" (did you mean name?)
register_tool(page, name = "page")`
	if diff := cmp.Diff(want, strings.TrimSpace(strings.ReplaceAll(string(out), "\r", ""))); diff != "" {
		t.Errorf("what Neovim shows (-want +got):\n%s", diff)
	}
}
