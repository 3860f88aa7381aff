package agents

import (
	"slices"
	"strings"
)

// A lift is something that lifts a guard in an agent, or passes it by, and no right of
// the user's account: whoever removes starhost's line from its settings removes the guard.
type lift struct {
	// By is a noun for it, as in "can be lifted by another hook that answers updatedInput".
	By string
	// StoppedBy is what in the settings of all users stops it, "" if they do not.
	StoppedBy string
	// Ours says what starhost does about it.
	Ours string
}

// These say how starhost answers the lifts of several agents.
const (
	comparesRan  = "compares what ran with what it judged: a record, a message, and no more calls in the session; doctor lists other hooks"
	recordsRan   = "compares what ran with what it judged: a record and a message; doctor lists other hooks"
	doctorSaysIt = "doctor reports it"
	doctorBlind  = "nothing: doctor cannot see it"
)

// managedHooks stops what only lifts the hooks of the user and of projects.
const managedHooks = "managed hooks"

// Grade describes how an agent's guard holds, with the lifts that remain: "holds", "holds unless …"
// if the settings of all users have starhost's line, or "can be lifted by …".
func (a *Agent) Grade(isManaged bool) (grade, by string) {
	var left []string
	for _, l := range a.Lifts() {
		if !isManaged || l.StoppedBy == "" {
			left = append(left, strings.ReplaceAll(l.By, "`", ""))
		}
	}
	switch {
	case len(left) == 0:
		return "holds", ""
	case isManaged:
		return "holds unless", "lifted by " + enumerate(left)
	}
	return "can be lifted", "by " + enumerate(left)
}

// Stopped says which lifts the settings of all users stop: "all of them", "all but …", "" for none.
func (a *Agent) Stopped() string {
	var left []string
	all := a.Lifts()
	for _, l := range all {
		if l.StoppedBy == "" {
			left = append(left, strings.ReplaceAll(l.By, "`", ""))
		}
	}
	switch len(left) {
	case len(all):
		return ""
	case 0:
		return "all of them"
	}
	return "all but " + enumerate(left)
}

// enumerate joins nouns: "a", "a or b", "a; b; or c".
func enumerate(nouns []string) string {
	switch n := len(nouns); n {
	case 0, 1:
		return strings.Join(nouns, "")
	case 2:
		return strings.Join(nouns, " or ")
	default:
		return strings.Join(nouns[:n-1], "; ") + "; or " + nouns[n-1]
	}
}

// lifts has a row for each agent that somebody ran or read, and what lifts its guard there: see
// [Agent.Seen]. Other agents have otherHooks. It is no map, because a map costs each start.
var lifts = []struct {
	agent string
	lifts []lift
}{
	{"claude-code", []lift{
		{"another hook that answers `updatedInput`", "`allowManagedHooksOnly`", comparesRan},
		{"the code of a plugin", "`allowManagedHooksOnly`", "doctor lists enabled plugins; a call that ran though it was refused ends the session's calls"},
		{"`disableAllHooks` in the settings of the user or the project", managedHooks, doctorSaysIt},
		{"`--bare`, `--safe-mode`, `--setting-sources`, `CLAUDE_CODE_SIMPLE` or `CLAUDE_CONFIG_DIR`", managedHooks, doctorBlind},
		{"commands in skills and slash commands (`!`), which ask no hook", "`disableSkillShellExecution`", "`install --managed` writes the setting; the user's settings may have it, too"},
		{"settings in `~/.claude/remote-settings.json`, which replace the managed file", "", doctorSaysIt},
	}},
	{"codex", []lift{
		{"another hook that answers `updatedInput`", "`allow_managed_hooks_only`", comparesRan},
		{"hooks that nobody trusts in `/hooks`, or that changed since", managedHooks, "doctor says off"},
		{"`enabled = false` in `hooks.state` of the user's `config.toml`", managedHooks, "doctor says off"},
		{"`features.hooks = false`, also in a profile, or `--disable hooks`", "`features.hooks` of `requirements.toml`", "doctor reads the files, and cannot see the flag"},
		{"`CODEX_HOME`", managedHooks, doctorBlind},
		{"`write_stdin` into a shell that runs, which asks no hook", "", "a command that starts an interpreter without a text needs an approval, which Codex denies"},
	}},
	{"copilot", []lift{
		{"another hook that answers `modifiedArgs`", "", comparesRan},
		{"`disableAllHooks` in the settings of the project", managedHooks, doctorSaysIt},
		{"`COPILOT_HOME`", managedHooks, doctorBlind},
	}},
	{"gemini", []lift{
		{"another hook that answers `tool_input`", "", comparesRan},
		{"`hooksConfig.enabled = false` of the user or the project", "", doctorSaysIt},
	}},
	{"qwen", []lift{
		{"`disableAllHooks` in the settings of the user or the project", "", doctorSaysIt},
	}},
	{"droid", []lift{
		{"another hook that answers `updatedInput`", "", recordsRan},
		{"`hooksDisabled` in the user's settings", managedHooks, doctorSaysIt},
	}},
	{"opencode", []lift{
		{"another plugin that changes the arguments", "", recordsRan},
		{"`XDG_CONFIG_HOME`", "", doctorBlind},
	}},
	{"gptme", []lift{
		{"`[plugins] enabled` without starhost in a project's `gptme.toml`", "", doctorSaysIt},
		{"the hook of another plugin with a higher priority", "", doctorBlind},
	}},
	{"hermes", []lift{
		{"a line without consent in `shell-hooks-allowlist.json`", "", "doctor says off"},
		{"`HERMES_HOME`", "", doctorBlind},
	}},
}

// otherHooks is for agents whose programs nobody could run.
var otherHooks = []lift{{"another hook that changes the call", "", recordsRan}}

// Lifts returns what lifts the agent's guard, or passes it by.
func (a *Agent) Lifts() []lift {
	for i := range lifts {
		if lifts[i].agent == a.Name {
			return lifts[i].lifts
		}
	}
	return otherHooks
}

// reportsRan are the agents whose runs showed that the event after a call has the arguments that
// ran, and which of them the program itself changes.
var reportsRan = []string{"claude-code", "codex", "copilot", "gemini", "opencode", "qwen"}

// ReportsRan reports whether a difference between the arguments that starhost judged and those that
// ran is sure. Then it ends the session's calls. For other agents, starhost only records and tells
// it.
func (a *Agent) ReportsRan() bool { return slices.Contains(reportsRan, a.Name) }
