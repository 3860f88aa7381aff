package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const casesPerFile = 20

// goldenCases compares 1,000 golden cases of 50 plugins with as many trivial tests of peers. A peer runs each test once, so each case runs once.
func goldenCases(r *rig) {
	dir := r.cases(r.files())
	once := r.process(r.starhost, "test", dir, "-F", "json", "--once")
	r.compareAll(once, []versus{
		{claim{"P9", "1,000 cases once, speed by opa test", atLeast(2)}, r.opaTests},
		{claim{"P9", "1,000 cases once, speed by pytest", atLeast(10)}, r.pytests},
	})
}

// files returns the number of plugins with cases.
func (r *rig) files() int { return max(r.scale(50), 2) }

// cases writes plugins of a tool, a guard and a loader, and cases of one call each, because a
// test of a peer has one comparison. The first run writes the outputs that the cases want.
func (r *rig) cases(plugins int) string {
	files := map[string]string{}
	for p := range plugins {
		files[fmt.Sprintf("plugin%d/plugin.star", p)] = fmt.Sprintf(`"""Plugin %[1]d."""

plugin(version = "1.0.0", config = {"team": "checkout"})

def who_is_on_call_%[1]d(team = config.team):
    """Who is on call for a team today.

    Args:
      team (string): Team name, for example "checkout".
    """
    return {"checkout": "Ada", "orders": "Grace"}.get(team, "nobody")

register_tool(who_is_on_call_%[1]d)
register_hook("pre_tool_call", lambda arguments: deny("no") if arguments.get("team") == "prod" else None, match = "who_*")
register_fragment_loader("runbook%[1]d", lambda arg: "Read the runbook of %%s." %% arg)
`, p)
		for c := range casesPerFile {
			files[fmt.Sprintf("plugin%d/golden/case%d.txtar", p, c)] = fmt.Sprintf(`The team of case %[2]d has somebody on call.
-- case.star --
call_tool("who_is_on_call_%[1]d", team = "checkout")
-- want --
`, p, c)
		}
	}
	dir := r.folder(fmt.Sprint("cases", plugins), files)
	r.run(command{argv: []string{r.starhost, "test", dir, "--update"}})
	text := must(os.ReadFile(filepath.Join(dir, "plugin0", "golden", "case0.txtar")))
	if !strings.Contains(string(text), "Ada") {
		try(fmt.Errorf("a case was not updated: %s", text))
	}
	return dir
}

// opaTests are as many tests, each of one comparison, as there are cases.
func (r *rig) opaTests() side {
	opa := r.program(opaProgram)
	dir := r.folder("regotests", many(r.files(), "%d_test.rego", func(p int) string {
		text := fmt.Sprintf("package plugin%d\n\non_call := {\"checkout\": \"Ada\", \"orders\": \"Grace\"}\n", p)
		for c := range casesPerFile {
			text += fmt.Sprintf("\ntest_case_%d if on_call.checkout == \"Ada\"\n", c)
		}
		return text
	}))
	return r.process(opa, "test", dir)
}

// pytests are as many tests, each of one comparison, as there are cases.
func (r *rig) pytests() side {
	interpreter := must(python("pytest"))
	files := map[string]string{}
	for p := range r.files() {
		text := "ON_CALL = {\"checkout\": \"Ada\", \"orders\": \"Grace\"}\n"
		for c := range casesPerFile {
			text += fmt.Sprintf("\n\ndef test_case_%d():\n    assert ON_CALL[\"checkout\"] == \"Ada\"\n", c)
		}
		files[fmt.Sprintf("test_plugin%d.py", p)] = text
	}
	dir := r.folder("pytests", files)
	return r.process(interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", dir)
}
