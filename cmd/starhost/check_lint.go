package main

import (
	"slices"

	"github.com/bazelbuild/buildtools/build"

	"github.com/starhost/starhost/editor/lint"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// lintFile adds the warnings about the text of one file.
func (c *checkRun) lintFile(plugin, file string, f *build.File, predeclared map[string]bool) {
	for _, w := range lint.Shadows(f, predeclared) {
		if c.hasError(file, w.Line) {
			continue // the error of a load says that the builtin is there
		}
		c.addWarning(plugin, starlark.Pos{File: file, Line: w.Line, Col: w.Col}, "E0805", "%s", w.Msg)
	}
	failures := lint.Failures(f, lint.HostVocabulary(), c.loadedFile(plugin, file))
	failures = append(lint.Misuses(f, lint.HostVocabulary()), failures...)
	failures = slices.DeleteFunc(failures, func(w lint.Finding) bool {
		return c.hasError(file, w.Line) // the error says it already
	})
	for _, w := range failures {
		how := severityError
		if w.Warning == lint.HiddenModule || w.Warning == lint.OtherRefusal {
			how = severityWarning
		}
		c.add(how, plugin, starlark.Pos{File: file, Line: w.Line, Col: w.Col}, lint.FailureCodes[w.Warning], "%s", w.Msg)
	}
	if !c.flags.lint {
		return
	}
	for _, w := range lint.File(f) {
		c.addWarning(plugin, starlark.Pos{File: file, Line: w.Line, Col: w.Col}, lint.Code(w.Warning), "%s", w.Msg)
	}
}

// hasError reports whether loading found an error on a line of a file.
func (c *checkRun) hasError(file string, line int) bool {
	return slices.ContainsFunc(c.findings, func(f finding) bool {
		return f.severity == severityError && f.Pos.File == file && int(f.Pos.Line) == line
	})
}

// loadedFile returns a function that reads the files which a file of a plugin loads, for
// [lint.Failures].
func (c *checkRun) loadedFile(plugin, file string) func(label string) *build.File {
	return func(label string) *build.File {
		i := slices.IndexFunc(c.set.Plugins, func(p loader.Plugin) bool { return p.Name == plugin && p.Inside != nil })
		if i < 0 {
			return nil
		}
		name, src, err := c.set.Plugins[i].Inside.Load(file, label)
		if err != nil {
			return nil
		}
		f, _ := build.ParseDefault(name, src) // nil for Starlark that the parser of the formatter rejects
		return f
	}
}

// noticeCodes are the codes of the warnings that --strict does not count.
var noticeCodes = map[string]string{"unset": "E0811", "untrusted": "E0812", "grant": "E0812"}

// checkCodes explain the codes that only check reports.
var checkCodes = []starlark.Code{
	{Code: "E0801", Title: "a hook that matches no tool",
		Text: "The globs of match= fit the name of no tool that a plugin registers, and of no tool of an agent (see Agents), so the handler never runs. Without a config, other plugins may register the tools, so check reports only names that are nearly right.",
		Bad:  "def restart_pods():\n    \"\"\"Restarts pods.\"\"\"\n\nregister_tool(restart_pods)\nregister_hook(\"pre_tool_call\", lambda: deny(\"no\"), match = \"restart_pod\")\n",
		Good: "def restart_pods():\n    \"\"\"Restarts pods.\"\"\"\n\nregister_tool(restart_pods)\nregister_hook(\"pre_tool_call\", lambda: deny(\"no\"), match = \"restart_*\")\n"},
	{Code: "E0802", Title: "a guard that is not required",
		Text: "The plugin has hooks that deny or approve calls. If it fails to load, everything else goes on without it, and calls pass. If [plugins] required lists it, nothing runs without it.",
		Bad:  "-- starhost.toml --\n[plugins]\npaths = [\"plugins\"]\n-- plugins/policy.star --\nregister_hook(\"pre_tool_call\", lambda: deny(\"no\"))\n",
		Good: "-- starhost.toml --\n[plugins]\npaths = [\"plugins\"]\nrequired = [\"policy\"]\n-- plugins/policy.star --\nregister_hook(\"pre_tool_call\", lambda: deny(\"no\"))\n"},
	{Code: "E0803", Title: "a permission that is not granted",
		Text: "The plugin declares a permission, and no grant of the config matches it, so starhost refuses the calls that need it. Grant it, or leave it out of plugin(permissions = [...]).",
		Bad:  "-- starhost.toml --\n[plugins]\npaths = [\"plugins\"]\n-- plugins/oncall.star --\nplugin(permissions = [\"env:TEAM\"])\n",
		Good: "-- starhost.toml --\n[plugins]\npaths = [\"plugins\"]\n-- plugins/oncall.star --\nplugin(permissions = [])\n"},
	{Code: "E0804", Title: "a grant that is not declared",
		Text: "The config, or --grant, gives a plugin a permission that it does not declare. A permission holds only if both sides name it. Remove the grant, or declare the permission.",
		Bad:  "-- config.toml --\n[plugins]\npaths = [\"plugins\"]\n[grants]\noncall = [\"env:TEAM\"]\n-- plugins/oncall.star --\nplugin(permissions = [])\n",
		Good: "-- config.toml --\n[plugins]\npaths = [\"plugins\"]\n[grants]\noncall = [\"env:TEAM\"]\n-- plugins/oncall.star --\nplugin(permissions = [\"env:TEAM\"])\n"},
	{Code: "E0805", Title: "a builtin that a file hides",
		Text: "The file defines or loads a name at its top level that is also the name of a builtin, so the whole file sees its own. A name inside of a function hides the builtin only there, and check does not report it.",
		Bad:  "text = \"on call\"\n",
		Good: "TITLE = \"on call\"\n"},
	{Code: "E0806", Title: "a member that does not exist",
		Text: "ctx, the module, or the view that a hook receives has no member of that name, so the line fails when it runs. Checks see only names that the file does not define itself.",
		Bad:  "register_hook(\"turn_start\", lambda ctx: ctx.sesion.id)\n",
		Good: "register_hook(\"turn_start\", lambda ctx: ctx.session.id)\n"},
	{Code: "E0807", Title: "a call with wrong arguments",
		Text: "The function takes fewer arguments, wants one that is missing, or has none of that name, so the call fails when it runs.",
		Bad:  "def guard(tool):\n    return deny(\"no\", tool)\n\nregister_hook(\"pre_tool_call\", guard)\n",
		Good: "def guard(tool):\n    return deny(\"no \" + tool)\n\nregister_hook(\"pre_tool_call\", guard)\n"},
	{Code: "E0808", Title: "an assignment to an item of ctx",
		Text: "Members of ctx are no dicts. A function changes their values.",
		Bad:  "def count(ctx):\n    ctx.state[\"n\"] = 1\n\nregister_hook(\"turn_start\", count)\n",
		Good: "def count(ctx):\n    ctx.state.set(\"n\", 1)\n\nregister_hook(\"turn_start\", count)\n"},
	{Code: "E0809", Title: "a local name that hides a module",
		Text: "A variable or parameter of the function has the name of a module, and the function names a member that only the module has. Give the variable another name.",
		Bad:  "def title(text):\n    return text.dedent(text)\n",
		Good: "def title(body):\n    return text.dedent(body)\n"},
	{Code: "E0810", Title: "a line that fails whenever it runs",
		Text: "The line has values in its text that no run can use: a format for more values than it gets, a dict with the same key twice, a sum of a text and a number, a change of the list that a loop runs over, a registration in a handler.",
		Bad:  "def title(team):\n    return \"%s of %s\" % (team,)\n",
		Good: "def title(team):\n    return \"%s\" % (team,)\n"},
	{Code: "E0811", Title: "a variable that is not set here",
		Text: "The plugin declares a variable by requires_env that this machine does not have, so starhost does not run it here. check loads it all the same and reports its mistakes, because a machine for CI rarely has the variables. This is a notice, which --strict does not count.",
		Bad:  "plugin(requires_env = [\"PAGER_TOKEN\"])\n",
		Good: "plugin(requires_env = [])\n"},
	{Code: "E0812", Title: "a setting that waits for trust",
		Text: "The setting comes from a project that is not trusted on this machine, as no fresh clone is. starhost trust shows the settings that would apply. This is a notice, which --strict does not count.",
		Bad:  "-- starhost.toml --\n[plugins]\npaths = [\"plugins\"]\n[model]\ndefault = \"acme/small\"\n-- plugins/oncall.star --\n",
		Good: "-- starhost.toml --\n[plugins]\npaths = [\"plugins\"]\n-- plugins/oncall.star --\n"},
	{Code: "E0813", Title: "a hook that cannot replace the user's words",
		Text: "An agent whose settings run starhost, those of the project or of the user, lets no hook replace the user's words. There, a pre_send hook changes only the context that plugins add, so the model reads a secret in the words. The same is said of a hook on post_tool_call that changes results in an agent that lets no hook do so, and with --agent of any agent. starhost docs redaction shows what to do instead. This is a notice, which --strict does not count.",
		Bad:  "-- .cursor/hooks.json --\n{\"version\": 1, \"hooks\": {\"beforeSubmitPrompt\": [{\"command\": \"starhost hook cursor\"}]}}\n-- redact.star --\nregister_hook(\"pre_send\", lambda messages: None)\n",
		Good: "-- redact.star --\nregister_hook(\"turn_start\", lambda user_message: abort(\"a key\") if \"AKIA\" in user_message else None)\n"},
}
