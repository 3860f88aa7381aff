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
		Text: "An argument has the right type, but not a valid value.",
		Bad:  `fragment("text", target = "sytem")`,
		Good: `fragment("text", target = "system")`,
	},
	{
		Code: "E0203", Title: "unknown argument",
		Text: "A builtin has no argument of that name. The message suggests one with a similar name.",
		Bad:  `fragment("text", sorce = "a.md")`,
		Good: `fragment("text", source = "a.md")`,
	},
	{
		Code: "E0204", Title: "not a JSON value",
		Text: "Values for the model, a log or the state must be JSON: None, True, False, numbers, strings, lists, dicts with string keys and structs of these. The message gives the path to the value that is not.",
		Bad:  `result({"when": [1, len]})`,
		Good: `result({"when": [1, 2]})`,
	},
	{
		Code: "E0301", Title: "fail(...) was called",
		Text: "The plugin ended the call itself. In a tool this is an ordinary way to report a failure: the model reads the message. In other handlers it counts as an error of the handler.",
		Bad:  `fail("no data")`,
		Good: `print("no data")`,
	},
	{
		Code: "E0302", Title: "plugin(...) cannot be read",
		Text: "starhost reads plugin(...) from the text of the file before the file runs. So a file contains it at most once, as a separate statement at the top level before any registration, and its arguments are literals by name.",
		Bad:  `plugin(version = "1." + str(2))`,
		Good: `plugin(version = "1.2")`,
	},
	{
		Code: "E0303", Title: "wrong setting",
		Text: "The configuration has a setting that the plugin does not declare in plugin(config = {...}), or a value of another type than the default's. The message begins with the place in the configuration.",
	},
	{
		Code: "E0304", Title: "registration at the wrong time",
		Text: "A plugin can register only while plugin.star is evaluated. A handler cannot register, and neither can a module while it is being loaded. A function of a module can register if plugin.star calls it.",
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
		Text: "Two registrations of one plugin have the same name. The message gives the place of the first one.",
		Bad: `register_fragment_loader("runbook", lambda arg: arg)
register_fragment_loader("runbook", lambda arg: arg)`,
		Good: `register_fragment_loader("runbook", lambda arg: arg)
register_fragment_loader("policy", lambda arg: arg)`,
	},
	{
		Code: "E0306", Title: "unknown event",
		Text: "No event has that name. The message suggests a similar one, also for the names that other systems use. Events app.* are those of the program and of plugins: a hook on one that nobody declares is a warning, and ctx.fire fires only those that plugin(events = {...}) declares.",
		Bad:  `register_hook("before_llm", lambda user_message: None)`,
		Good: `register_hook("pre_llm_call", lambda user_message: None)`,
	},
	{
		Code: "E0307", Title: "handler with the wrong parameters",
		Text: "The parameters of a tool or hook name offered arguments; ctx is always offered. A loader takes (arg) or (ctx, arg). A parameter whose name begins with _ is private and needs a default. A handler is a def or a lambda, and a tool whose handler is a lambda needs a name.",
		Bad:  `register_hook("turn_start", lambda user_mesage: None)`,
		Good: `register_hook("turn_start", lambda user_message: None)`,
	},
	{
		Code: "E0308", Title: "schema and parameters do not fit",
		Text: "The schema of a tool's arguments, given or derived from signature and docstring, does not fit the function: a parameter without a property, a required property without a parameter, a line under Args: about no parameter, a type that JSON Schema does not have. The forms of a line under Args: are \"name: text\", \"name (TYPE): text\", \"name (\"low\", \"high\"): text\", and the same with one of in front of the values; TYPE is string, integer, number, boolean, object or array of TYPE. register_tool(enum = {\"name\": VALUES}) takes the values from a variable.",
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
		Text: "A function in a loop that uses the loop's variable sees the variable's last value when it is called after the loop, as all functions of the loop do. A default is evaluated at once, so it stores the current value.",
		Bad: `for level in ["low", "high"]:
    register_tool(lambda: level, name = level, description = "A level.")`,
		Good: `for level in ["low", "high"]:
    register_tool(lambda _level = level: _level, name = level, description = "A level.")`,
	},
	{
		Code: "E0310", Title: "decision without return",
		Text: "deny(...), ask(...) and the like return a value; the handler decides by returning that value. As a separate statement, the call does nothing.",
		Bad: `def guard(tool):
    deny("not today")

register_hook("pre_tool_call", guard)`,
		Good: `def guard(tool):
    return deny("not today")

register_hook("pre_tool_call", guard)`,
	},
	{
		Code: "E0311", Title: "decision was lost",
		Text: "A handler of a guarding event made a decision and returned None. This counts as an error of the handler, which denies the call, because a guard that forgets its return must not let the call pass.",
		Bad: `def guard(tool):
    verdict = deny("not today")

register_hook("pre_tool_call", guard)`,
		Good: `def guard(tool):
    verdict = deny("not today")
    return verdict

register_hook("pre_tool_call", guard)`,
	},
	{
		Code: "E0312", Title: "unsupported return value",
		Text: "A tool returns a string, a JSON value, None, an attachment or result(...). A loader returns a string, a fragment, an attachment, a list of these or None; a hook one of these or a decision, as its event allows.",
		Bad:  `register_hook("turn_start", lambda: 42)`,
		Good: `register_hook("turn_start", lambda: "The answer is 42.")`,
	},
	{
		Code: "E0313", Title: "error that quoted a secret",
		Text: "The message of an error, or the source line that it shows, contained the value of a secret. It shows the secret's name instead.",
	},
	{
		Code: "E0316", Title: "file of the plugin cannot be read",
		Text: "files and attachment(path = ...) read the plugin's own folder. A plugin that is a single file has none: move NAME.star to NAME/plugin.star, with its files beside it. Text must be UTF-8, and an attachment has a size limit.",
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
		Text: "assert_eq, assert_contains or assert_fails failed in a golden case.",
	},
	{
		Code: "E0319", Title: "step of a case failed",
		Text: "A step of a golden case failed: for example, because of an unknown event or a reference that no loader resolves.",
	},
	{
		Code: "E0320", Title: "too much registered",
		Text: "A plugin registers at most 1,000 tools, hooks, loaders, commands, skills and models together. One tool with an argument can replace many tools of one kind.",
		Bad: `def page(ctx):
    """Pages a team."""

for i in range(1001):
    register_tool(page, name = "page_%d" % i)`,
		Good: `def page(ctx, team):
    """Pages a team."""

register_tool(page)`,
	},
	{
		Code: "E0321", Title: "a mistake in a rule",
		Text: "A file of rules for register_guard has a mistake: a key or a value that no rule has, or an example that its rule answers in another way. match lists calls that the rule certainly matches, not_match calls that it certainly does not. A guard that does not load blocks.",
	},
}
