package builtins

// A Code explains an error code. Bad is a plugin's file that causes the error and Good one that
// does not; both are "" if no file alone can cause the error.
type Code = struct{ Code, Title, Text, Bad, Good string }

// Codes returns the error codes of this package, in their order.
func Codes() []Code { return codes }

var codes = []Code{
	{
		Code: "E0201", Title: "wrong arguments",
		Text: "A builtin was called without an argument that it needs, with too many, or with one of another type. The message says which one, what came and what is wanted.",
		Bad:  `fragment("text", priority = "low")`,
		Good: `fragment("text", priority = 10)`,
	},
	{
		Code: "E0202", Title: "value out of range",
		Text: "An argument has the right type, and a value that means nothing here.",
		Bad:  `fragment("text", target = "sytem")`,
		Good: `fragment("text", target = "system")`,
	},
	{
		Code: "E0203", Title: "unknown argument",
		Text: "A builtin has no argument of that name. The message suggests the one that is spelt like it.",
		Bad:  `fragment("text", sorce = "a.md")`,
		Good: `fragment("text", source = "a.md")`,
	},
	{
		Code: "E0204", Title: "not a JSON value",
		Text: "What goes to the model, into a log or into the state is JSON: None, True, False, numbers, strings, lists, dicts with string keys and structs of these. The message gives the path to what is none.",
		Bad:  `result({"when": [1, len]})`,
		Good: `result({"when": [1, 2]})`,
	},
	{
		Code: "E0301", Title: "fail(...) was called",
		Text: "The plugin ended the call itself. In a tool that is an ordinary way to say that it did not work: the model reads the message. Anywhere else it counts as a failure of the handler.",
		Bad:  `fail("no data")`,
		Good: `print("no data")`,
	},
	{
		Code: "E0302", Title: "plugin(...) cannot be read",
		Text: "plugin(...) is read from the text of the file before anything runs. So it stands once, as a statement of its own at the top level, before any registration, and its arguments are literals given by name.",
		Bad:  `plugin(version = "1." + str(2))`,
		Good: `plugin(version = "1.2")`,
	},
	{
		Code: "E0303", Title: "wrong setting",
		Text: "The configuration sets something for a plugin that the plugin does not declare in plugin(config = {...}), or with another type than the default's. The message begins with the place in the configuration.",
	},
	{
		Code: "E0304", Title: "registration at the wrong time",
		Text: "Registrations happen while plugin.star is evaluated. A handler cannot register, and neither can a module while it is being loaded; a function of a module may, when plugin.star calls it.",
		Bad: `def handler():
    """Registers too late."""
    register_hook("turn_start", lambda: None)

register_tool(handler)`,
		Good: `def handler():
    """Does its work."""
    return "done"

register_tool(handler)
register_hook("turn_start", lambda: None)`,
	},
	{
		Code: "E0305", Title: "registered twice",
		Text: "Two registrations of one plugin have the same name. The message shows where the first one is.",
		Bad: `register_fragment_loader("runbook", lambda arg: arg)
register_fragment_loader("runbook", lambda arg: arg)`,
		Good: `register_fragment_loader("runbook", lambda arg: arg)
register_fragment_loader("policy", lambda arg: arg)`,
	},
	{
		Code: "E0306", Title: "unknown event",
		Text: "No event has that name. The message suggests the one that is meant, also for the names of other systems.",
		Bad:  `register_hook("before_llm", lambda user_message: None)`,
		Good: `register_hook("pre_llm_call", lambda user_message: None)`,
	},
	{
		Code: "E0307", Title: "handler with the wrong parameters",
		Text: "A tool or hook names the arguments that it wants among those on offer; ctx is always one of them. A loader takes (arg) or (ctx, arg). A parameter whose name begins with _ is the handler's own and has a default. A handler is a def or a lambda, and a tool made of a lambda needs a name.",
		Bad:  `register_hook("turn_start", lambda user_mesage: None)`,
		Good: `register_hook("turn_start", lambda user_message: None)`,
	},
	{
		Code: "E0308", Title: "schema and parameters do not fit",
		Text: "The schema of a tool's arguments, given or derived from signature and docstring, does not fit the function: a parameter without a property, a required property without a parameter, a line under Args: about no parameter, a type that JSON Schema does not have.",
		Bad: `def page(team):
    """Pages a team.

    Args:
      team (str): Who.
    """

register_tool(page)`,
		Good: `def page(team):
    """Pages a team.

    Args:
      team (string): Who.
    """

register_tool(page)`,
	},
	{
		Code: "E0309", Title: "handler captures a loop variable",
		Text: "A function that stands in a loop and uses what the loop binds sees the last value when it is called after the loop: all of them do. A default is evaluated at once and keeps each value.",
		Bad: `for level in ["low", "high"]:
    register_tool(lambda: level, name = level, description = "A level.")`,
		Good: `for level in ["low", "high"]:
    register_tool(lambda _level = level: _level, name = level, description = "A level.")`,
	},
	{
		Code: "E0310", Title: "decision without return",
		Text: "deny(...) and its kin make a value; the handler decides by returning it. As a statement of its own it does nothing.",
		Bad: `def guard(tool):
    deny("not today")

register_hook("pre_tool_call", guard)`,
		Good: `def guard(tool):
    return deny("not today")

register_hook("pre_tool_call", guard)`,
	},
	{
		Code: "E0311", Title: "decision was lost",
		Text: "A handler of an event that guards made a decision and returned None. That is a failure of the handler, which denies: a guard that forgets its return must not let the call pass.",
		Bad: `def guard(tool):
    verdict = deny("not today")

register_hook("pre_tool_call", guard)`,
		Good: `def guard(tool):
    verdict = deny("not today")
    return verdict

register_hook("pre_tool_call", guard)`,
	},
	{
		Code: "E0312", Title: "handler returned a value of no use",
		Text: "A tool returns a string, a JSON value, None, an attachment or result(...). A loader returns a string, a fragment, an attachment, a list of these or None; a hook one of these or a decision, as its event allows.",
		Bad:  `register_hook("turn_start", lambda: 42)`,
		Good: `register_hook("turn_start", lambda: "The answer is 42.")`,
	},
	{
		Code: "E0313", Title: "error that quoted a secret",
		Text: "The message of an error, or what it shows of the plugin, had the value of a secret in it. The secret's name stands there instead.",
	},
	{
		Code: "E0316", Title: "file of the plugin cannot be read",
		Text: "files and attachment(path = ...) read the plugin's own folder. A plugin that is a single file has none: NAME.star becomes NAME/plugin.star, with its files beside it. Text is UTF-8; an attachment has a size limit.",
		Bad:  `TEAMS = files.read("teams.txt").splitlines() # in a plugin that is a single file`,
		Good: `TEAMS = ["checkout", "search"]`,
	},
	{
		Code: "E0317", Title: "too much logged",
		Text: "One call of a handler may log 1,000 lines, and 256 KiB together.",
		Bad: `def chatty(ctx):
    """Logs too much."""
    for i in range(1001):
        ctx.log("info", "again")

register_tool(chatty)`,
		Good: `def quiet(ctx):
    """Logs a number."""
    ctx.log("info", "done", times = 1001)

register_tool(quiet)`,
	},
	{
		Code: "E0318", Title: "assertion of a case failed",
		Text: "assert_eq, assert_contains or assert_fails of a golden case did not hold.",
	},
	{
		Code: "E0319", Title: "step of a case failed",
		Text: "A step of a golden case could not be done: an unknown event, a reference that nothing resolves.",
	},
	{
		Code: "E0320", Title: "too much registered",
		Text: "A plugin registers at most 1,000 tools, hooks, loaders, commands, skills and models together. One tool with an argument does what many of one kind do.",
		Bad: `def page(ctx):
    """Pages a team."""

for i in range(1001):
    register_tool(page, name = "page_%d" % i)`,
		Good: `def page(ctx, team):
    """Pages a team."""

register_tool(page)`,
	},
}
