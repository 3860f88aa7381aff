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
	// Attacks are the attacks of e2e/agents that showed it, with ", " between them.
	Attacks string
	// Read says where somebody read it, if no attack showed it.
	Read string
}

// These say how starhost answers the lifts of several agents.
const (
	comparesRan  = "compares what ran with what it judged: a record, a message, and no more calls in the session; doctor lists other hooks"
	recordsRan   = "compares what ran with what it judged: a record and a message; doctor lists other hooks"
	doctorSaysIt = "doctor says off"
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

// lifts has a row for each agent that somebody attacked or read, and what lifts its guard there.
// Other agents have notTried. It is no map, because a map costs each start.
var lifts = []struct {
	agent string
	lifts []lift
}{
	{"claude-code", []lift{
		{By: "another hook that answers `updatedInput`", StoppedBy: "`allowManagedHooksOnly`", Ours: comparesRan, Attacks: "another hook"},
		{By: "the code of a plugin", StoppedBy: "`allowManagedHooksOnly`", Attacks: "the code of a plugin",
			Ours: "doctor lists enabled plugins; a call that ran though it was refused ends the session's calls"},
		{By: "`disableAllHooks` in the settings of the user or the project", StoppedBy: managedHooks, Ours: doctorSaysIt,
			Attacks: "disableAllHooks of the project, disableAllHooks of the folder"},
		{By: "`--bare`, `--safe-mode`, `--setting-sources`, `CLAUDE_CODE_SIMPLE` or `CLAUDE_CONFIG_DIR`", StoppedBy: managedHooks, Ours: doctorBlind,
			Attacks: "--bare, --safe-mode, --setting-sources, CLAUDE_CODE_SIMPLE, CLAUDE_CONFIG_DIR"},
		{By: "commands in skills and slash commands (`!`), which ask no hook", StoppedBy: "`disableSkillShellExecution`", Attacks: "a command in a skill",
			Ours: "`install --managed` writes the setting; the user's settings may have it, too"},
		{By: "settings in `~/.claude/remote-settings.json`, which replace the managed file", Ours: doctorSaysIt,
			Read: "version 2.1.330; 2.1.332 kept the managed file without an organisation's account"},
	}},
	{"codex", []lift{
		{By: "another hook that answers `updatedInput`", StoppedBy: "`allow_managed_hooks_only`", Ours: comparesRan, Attacks: "another hook"},
		{By: "hooks that nobody trusts in `/hooks`, or that changed since", StoppedBy: managedHooks, Ours: doctorSaysIt, Attacks: "hooks that nobody trusts"},
		{By: "`enabled = false` in `hooks.state` of the user's `config.toml`", StoppedBy: managedHooks, Ours: doctorSaysIt, Attacks: "hooks.state"},
		{By: "`features.hooks = false`, also in a profile", StoppedBy: "`features.hooks` of `requirements.toml`", Ours: doctorSaysIt, Attacks: "features.hooks"},
		{By: "`--disable hooks` or `CODEX_HOME`", StoppedBy: managedHooks, Ours: doctorBlind, Attacks: "--disable hooks, CODEX_HOME"},
		{By: "`write_stdin` into a shell that runs, which asks no hook", Read: "version 0.169.0",
			Ours: "a command that starts an interpreter without a text needs an approval, which Codex denies"},
	}},
	{"copilot", []lift{
		{By: "another hook that answers `modifiedArgs`", Ours: comparesRan, Read: "an earlier run of 1.0.102; a new repository's hooks do not run"},
		{By: "`disableAllHooks` in the settings of the project", StoppedBy: managedHooks, Ours: doctorSaysIt,
			Read: "an earlier run of 1.0.102; a new repository's settings do not count"},
		{By: "`COPILOT_HOME`", StoppedBy: managedHooks, Ours: doctorBlind, Attacks: "COPILOT_HOME"},
	}},
	{"gemini", []lift{
		{By: "another hook that answers `tool_input`", Ours: comparesRan, Attacks: "another hook"},
		{By: "`hooksConfig.enabled = false` of the user or the project", StoppedBy: "`hooksConfig.enabled`", Ours: doctorSaysIt,
			Attacks: "hooksConfig of the user, hooksConfig of the project"},
		{By: "`hooksConfig.disabled` with starhost's line", Ours: doctorSaysIt, Attacks: "hooksConfig.disabled with the line"},
		{By: "`GEMINI_CLI_HOME`", StoppedBy: managedHooks, Ours: doctorBlind, Attacks: "GEMINI_CLI_HOME"},
		{By: "`GEMINI_CLI_SYSTEM_SETTINGS_PATH`, which replaces the managed file", Ours: doctorBlind, Attacks: "GEMINI_CLI_SYSTEM_SETTINGS_PATH"},
	}},
	{"qwen", []lift{
		{By: "another hook that answers `allow`", Ours: recordsRan, Attacks: "another hook that allows"},
		{By: "`disableAllHooks` in the settings of the user or the project", StoppedBy: "`disableAllHooks`", Ours: doctorSaysIt,
			Attacks: "disableAllHooks of the project"},
		{By: "`QWEN_CODE_SYSTEM_SETTINGS_PATH`, which replaces the managed file", Ours: doctorBlind, Attacks: "QWEN_CODE_SYSTEM_SETTINGS_PATH"},
	}},
	{"droid", []lift{
		{By: "another hook that answers `updatedInput`", Ours: recordsRan, Attacks: "another hook"},
		{By: "`hooks.hooksDisabled` in the settings of the user or the project", StoppedBy: "`hooks.hooksDisabled`", Ours: doctorSaysIt,
			Attacks: "hooksDisabled of the user, hooksDisabled of the project"},
		{By: "`--settings` or `FACTORY_HOME_OVERRIDE`", StoppedBy: "`hooks.hooksDisabled`", Ours: doctorBlind, Attacks: "--settings, FACTORY_HOME_OVERRIDE"},
	}},
	{"cline", []lift{
		{By: "another hook that answers `overrideInput`", Ours: recordsRan, Attacks: "another hook"},
	}},
	{"opencode", []lift{
		{By: "another plugin that changes the arguments", Ours: comparesRan, Attacks: "another plugin"},
		{By: "`XDG_CONFIG_HOME`", Ours: doctorBlind, Attacks: "XDG_CONFIG_HOME"},
	}},
	{"gptme", []lift{
		{By: "`[plugins] enabled` without starhost in a project's `gptme.toml`", Ours: doctorSaysIt, Read: "the source of commit d27f98d3a"},
		{By: "the hook of another plugin with a higher priority", Ours: doctorBlind, Read: "the source of commit d27f98d3a"},
	}},
	{"hermes", []lift{
		{By: "a line without consent in `shell-hooks-allowlist.json`", Ours: doctorSaysIt, Read: "the source of commit 00067189d"},
		{By: "`HERMES_HOME` or `HERMES_SAFE_MODE`", Ours: doctorBlind, Read: "the source of commit 00067189d"},
	}},
}

// The lifts of agents whose programs nobody could run.
var (
	notTried   = lift{By: "what nobody could try, because the program did not run here", Ours: recordsRan}
	otherHooks = lift{By: "another hook that changes the call", Ours: recordsRan}
)

// Lifts returns what lifts the agent's guard, or passes it by.
func (a *Agent) Lifts() []lift {
	for i := range lifts {
		if lifts[i].agent == a.Name {
			return lifts[i].lifts
		}
	}
	if a.Rewrites == "" {
		return []lift{notTried}
	}
	return []lift{otherHooks, notTried}
}

// reportsRan are the agents whose runs showed that the event after a call has the arguments that
// ran, and which of them the program itself changes.
var reportsRan = []string{"claude-code", "codex", "copilot", "gemini", "opencode", "qwen"}

// ReportsRan reports whether a difference between the arguments that starhost judged and those that
// ran is sure. Then it ends the session's calls. For other agents, starhost only records and tells
// it.
func (a *Agent) ReportsRan() bool { return slices.Contains(reportsRan, a.Name) }
