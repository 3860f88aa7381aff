package lint

import (
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/starlark"
)

// FailureCodes are the codes of the warnings of [lint.Misuses] and [lint.Failures].
var FailureCodes = map[string]string{
	UnknownMember: "E0806", WrongArguments: "E0807", ItemAssignment: "E0808",
	FrozenValue: "E0106", UnsetName: "E0105", SelfCall: "E0107",
	HiddenModule: "E0809", LostLine: "E0810",
	LostDecision: "E0706", OtherRefusal: "E0706",
}

// HostVocabulary returns the names that the host gives to files, from the table of builtins. Names of
// Starlark itself are missing, because the evaluator's functions bind their arguments otherwise.
var HostVocabulary = sync.OnceValue(func() Vocabulary {
	v := Vocabulary{Params: map[string][]string{}, Views: map[string][]string{}, Decisions: map[string][]string{}}
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

// Code returns the error code of a warning. The title of a code begins with the name of its
// warning.
func Code(warning string) string {
	i := slices.IndexFunc(Codes, func(c starlark.Code) bool { return strings.HasPrefix(c.Title, warning+": ") })
	return Codes[i].Code
}

// Codes explain the warnings of lint. Each title begins with the name of its warning.
var Codes = []starlark.Code{
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
