package main

import (
	"slices"
	"strings"
	"sync"

	"github.com/bazelbuild/buildtools/build"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
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
	failures := lint.Failures(f, vocabulary(), c.loadedFile(plugin, file))
	failures = append(lint.Misuses(f, vocabulary()), failures...)
	failures = slices.DeleteFunc(failures, func(w lint.Finding) bool {
		return c.hasError(file, w.Line) // the error says it already
	})
	for _, w := range failures {
		how := severityError
		if w.Warning == lint.HiddenModule || w.Warning == lint.OtherRefusal {
			how = severityWarning
		}
		c.add(how, plugin, starlark.Pos{File: file, Line: w.Line, Col: w.Col}, failureCodes[w.Warning], "%s", w.Msg)
	}
	if !c.flags.lint {
		return
	}
	for _, w := range lint.File(f) {
		c.addWarning(plugin, starlark.Pos{File: file, Line: w.Line, Col: w.Col}, lintCode(w.Warning), "%s", w.Msg)
	}
}

// hasError reports whether loading found an error on a line of a file.
func (c *checkRun) hasError(file string, line int) bool {
	return slices.ContainsFunc(c.findings, func(f finding) bool {
		return f.severity == severityError && f.pos.File == file && int(f.pos.Line) == line
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

// failureCodes are the codes of the warnings of [lint.Misuses] and [lint.Failures].
var failureCodes = map[string]string{
	lint.UnknownMember: "E0806", lint.WrongArguments: "E0807", lint.ItemAssignment: "E0808",
	lint.FrozenValue: "E0106", lint.UnsetName: "E0105", lint.SelfCall: "E0107",
	lint.HiddenModule: "E0809", lint.LostLine: "E0810",
	lint.LostDecision: "E0706", lint.OtherRefusal: "E0706",
}

// vocabulary returns the names that the host gives to files, from the table of builtins. Names of
// Starlark itself are missing, because the evaluator's functions bind their arguments otherwise.
var vocabulary = sync.OnceValue(func() lint.Vocabulary {
	v := lint.Vocabulary{Params: map[string][]string{}, Views: map[string][]string{}, Decisions: map[string][]string{}}
	for _, topic := range builtins.Topics(nil) {
		if topic.Name == "Language" || topic.Name == "Arguments" {
			continue
		}
		if topic.Module {
			v.Modules = append(v.Modules, topic.Name)
		}
		for _, e := range topic.Entries {
			params, isFunction := strings.CutPrefix(e.Signature, e.Name+"(")
			v.Params[e.Name] = nil
			if isFunction {
				v.Params[e.Name] = append([]string{}, builtins.SplitParams(strings.TrimSuffix(params, ")"))...)
			}
		}
	}
	for _, arg := range builtins.Args() {
		for _, member := range builtins.ClassMembers(arg.Type) {
			v.Views[arg.Name] = append(v.Views[arg.Name], member.Name)
		}
	}
	for _, event := range starhost.Events() {
		v.Decisions[event.Name] = []string{}
		for _, action := range event.Actions {
			if _, isFunction := v.Params[string(action)]; isFunction {
				v.Decisions[event.Name] = append(v.Decisions[event.Name], string(action))
				v.Decisions[""] = append(v.Decisions[""], string(action))
			}
		}
	}
	return v
})

// lintCode returns the error code of a warning. The title of a code begins with the name of its
// warning.
func lintCode(warning string) string {
	i := slices.IndexFunc(lintCodes, func(c starlark.Code) bool { return strings.HasPrefix(c.Title, warning+": ") })
	return lintCodes[i].Code
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

// lintCodes explain the warnings of lint. Each title begins with the name of its warning.
var lintCodes = []starlark.Code{
	{Code: "E0901", Title: "confusing-name: a name that looks like a number",
		Text: "l, I and O are hard to tell from 1 and 0.",
		Bad:  "l = [1, 2]\n", Good: "levels = [1, 2]\n"},
	{Code: "E0902", Title: "dict-concatenation: dicts that are added",
		Text: "Dicts have no +. The operator | makes a dict of both; if they share a key, the value of the right one stays.",
		Bad:  "DEFAULTS = {\"team\": \"checkout\"}\n\ndef settings(own):\n    return DEFAULTS + dict(own)\n",
		Good: "DEFAULTS = {\"team\": \"checkout\"}\n\ndef settings(own):\n    return DEFAULTS | dict(own)\n"},
	{Code: "E0903", Title: "dict-method-named-arg: a named argument of a dict's method",
		Text: "get, pop and setdefault of a dict take their arguments by position.",
		Bad:  "def team(config):\n    return config.get(\"team\", default = \"checkout\")\n",
		Good: "def team(config):\n    return config.get(\"team\", \"checkout\")\n"},
	{Code: "E0904", Title: "function-docstring: a long function without a docstring",
		Text: "A function of six statements or more says in a docstring what it does. A function whose name begins with _ needs none.",
		Bad:  "def count(words):\n    seen = {}\n    for word in words:\n        if word not in seen:\n            seen[word] = 0\n        seen[word] += 1\n    return seen\n",
		Good: "def count(words):\n    \"\"\"How often each word is there.\"\"\"\n    seen = {}\n    for word in words:\n        if word not in seen:\n            seen[word] = 0\n        seen[word] += 1\n    return seen\n"},
	{Code: "E0905", Title: "function-docstring-args: a parameter that is not described",
		Text: "A docstring that has Args: describes all parameters, except ctx and names that begin with _. Models read it.",
		Bad:  "def page(team, reason):\n    \"\"\"Pages a team.\n\n    Args:\n      team (string): Who.\n    \"\"\"\n    return [team, reason]\n",
		Good: "def page(team, reason):\n    \"\"\"Pages a team.\n\n    Args:\n      team (string): Who.\n      reason (string): Why.\n    \"\"\"\n    return [team, reason]\n"},
	{Code: "E0906", Title: "function-docstring-header: a docstring that does not begin with what the function does",
		Text: "The first line says what the function does, right behind the quotes. Lists show it alone.",
		Bad:  "def page(team):\n    \"\"\"\n    Pages a team.\n    \"\"\"\n    return team\n",
		Good: "def page(team):\n    \"\"\"Pages a team.\"\"\"\n    return team\n"},
	{Code: "E0907", Title: "list-append: a list of one element that is added",
		Text: "append adds an element without a list around it.",
		Bad:  "def double(x):\n    both = [x]\n    both += [x]\n    return both\n",
		Good: "def double(x):\n    both = [x]\n    both.append(x)\n    return both\n"},
	{Code: "E0908", Title: "load: a name that is loaded and not used",
		Text: "Nothing in the file uses the name. Leave it out of the load statement.",
		Bad:  "-- plugins/oncall/plugin.star --\nload(\"lib.star\", \"shorten\")\n-- plugins/oncall/lib.star --\ndef shorten(s):\n    return s[:9]\n",
		Good: "-- plugins/oncall/plugin.star --\nload(\"lib.star\", \"shorten\")\n\nTITLE = shorten(\"on call duty\")\n-- plugins/oncall/lib.star --\ndef shorten(s):\n    return s[:9]\n"},
	{Code: "E0909", Title: "module-docstring: a file without a docstring",
		Text: "A file begins with a string that says what it is for. The docstring of plugin.star is the plugin's description, which lists show.",
		Bad:  "TEAM = \"checkout\"\n", Good: "\"\"\"Who is on call.\"\"\"\n\nTEAM = \"checkout\"\n"},
	{Code: "E0910", Title: "name-conventions: a name in the wrong case",
		Text: "Names are in lower_case, names of constants in UPPER_CASE.",
		Bad:  "theTeam = \"checkout\"\n", Good: "THE_TEAM = \"checkout\"\n"},
	{Code: "E0911", Title: "no-effect: a statement that does nothing",
		Text: "An expression that is not a call does nothing as a statement. Usually an assignment or a return is missing. A comment begins with #.",
		Bad:  "def total(a, b):\n    a + b\n", Good: "def total(a, b):\n    return a + b\n"},
	{Code: "E0912", Title: "redefined-variable: a function that is defined twice",
		Text: "The second function of a name replaces the first, which nothing can call then.",
		Bad:  "def team():\n    return \"checkout\"\n\ndef team():\n    return \"search\"\n",
		Good: "def team():\n    return \"checkout\"\n\ndef other_team():\n    return \"search\"\n"},
	{Code: "E0913", Title: "return-value: a return without a value, beside others with one",
		Text: "A bare return gives None. If other returns of the function give a value, write return None to show that this is intended.",
		Bad:  "def first(xs):\n    if not xs:\n        return\n    return xs[0]\n",
		Good: "def first(xs):\n    if not xs:\n        return None\n    return xs[0]\n"},
	{Code: "E0914", Title: "uninitialized: a name that may be unset",
		Text: "One path to this place does not assign the name, because a branch is not taken or a loop runs over an empty list. Reading it then is an error.",
		Bad:  "def level(usage):\n    if usage > 0.9:\n        name = \"high\"\n    return name\n",
		Good: "def level(usage):\n    name = \"low\"\n    if usage > 0.9:\n        name = \"high\"\n    return name\n"},
	{Code: "E0915", Title: "unreachable: a statement that nothing reaches",
		Text: "Every path to the statement ends before it, with return, break, continue or fail.",
		Bad:  "def team():\n    return \"checkout\"\n    print(\"asked\")\n",
		Good: "def team():\n    print(\"asked\")\n    return \"checkout\"\n"},
	{Code: "E0916", Title: "unused-variable: a name of a function that nothing uses",
		Text: "Nothing reads the variable, parameter or inner function. A hook receives only the parameters that it names, so an unused one costs time for nothing. lint does not report names that begin with _, nor parameters of loaders, which starhost passes by position.",
		Bad:  "def team(service):\n    name = service.split(\"-\")[0]\n    return service\n",
		Good: "def team(service):\n    name = service.split(\"-\")[0]\n    return name\n"},
}
