package builtins

import (
	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
)

// registrations describes the functions by which a plugin's file describes the plugin and registers handlers.
var registrations = []call.Member{
	{
		Name: "register_tool", Params: `handler, name=None, description=None, parameters=None, toolset=None, timeout=None, approval="auto", available=None, roles=None, override=False, kind=None, enum=None`, Type: "Callable[..., Any], str | None, str | None, dict[str, Any] | None, str | None, float | None, str, Callable[..., bool] | None, str | list[str] | None, bool, str | list[str] | None, dict[str, Any] | None -> None",
		Doc: `Offers a function to the model.
Without name, the tool has the function's name, with "TOOLSET_" in front if toolset is given.
Without description, it has the docstring. parameters is a JSON Schema. Without one, starhost
makes it from the signature and the docstring: a default makes a parameter optional and gives
its type, and a line "name (type): text" under "Args:" describes the parameter name. starhost
moves these lines from the description into the schema. type is string, integer, number,
boolean, object, "array of" one of these, or an enum: the texts that the argument may be, as in
level ("low", "high"): text. The forms level (one of "low", "high"): text and
level: one of "low", "high" mean the same. For values of a variable, enum maps names of
parameters to lists of strings, numbers or bools. If the model sends null for an optional
argument, the argument counts as left out, unless the schema takes null.
The function returns a string, a JSON value, None, an attachment or result(...). A dict with
"is_error": True (or MCP's "isError") is the result of a failed call, like fail(...).
timeout is the most seconds of one call. With approval = "ask" a person must approve each call.
available, a function of (ctx) or without parameters, returns True or False when a session
starts. roles limits the tool to sessions with one of these roles. override = True replaces
another plugin's tool, with the grant override:NAME. kind is what the tool's calls do, for hooks
with a kind: one of shell, write, fetch, read, search, agent, mcp, or a list; without it, other.`,
		Example: `def greet(name, times = 1):
    """Greets somebody.

    Args:
      name: Who is greeted.
      times (integer): How often.
    """
    return "Hello %s. " % name * times

register_tool(greet)

ENVIRONMENTS = ["staging", "prod"]

def restart(environment, force = "no"):
    """Restarts the service.

    Args:
      environment: Where.
      force ("no", "yes"): Whether to kill it.
    """

register_tool(restart, enum = {"environment": ENVIRONMENTS})`,
		Check: `assert_eq(greet("Ada"), "Hello Ada. ")`,
		Func:  registerTool, Whole: true,
	},
	{
		Name: "register_hook", Params: "event, handler, priority=0, match=None, kind=None, on_error=None", Type: "str, Callable[..., Any], int, str | list[str] | None, str | list[str] | None, str | None -> None",
		Doc: `Calls a function whenever an event fires.
The function's parameters name the arguments that it needs. Each event offers some; all offer
ctx. Lower priorities run first, behind the hooks of plugins that the operator trusts more. match is a glob, or a list of globs, on the name of the tool or
the command. kind is the kind of the tool's call, or a list: shell, write, fetch, read, search,
agent, mcp, other. Kinds are the same in all agents, but names of tools are not. on_error says what
an error in the function does: "skip", or "deny" or "abort" if the event takes such a decision: post_tool_call takes none, because the tool has run. Without it, an error denies a call, and
refuses, or withholds, what the plugin's abort or modify could stop or change. An event whose name begins with "app."
exists if the program, or a plugin in plugin(events = ...), declares it.`,
		Example: `def no_prod_restarts(tool, arguments):
    if "prod" in arguments.get("cluster", ""):
        return deny("restarts in prod need a change ticket")

register_hook("pre_tool_call", no_prod_restarts, match = "restart_*")
register_hook("pre_tool_call", lambda call: ask(call.command), kind = "shell")`,
		Check: `assert_eq(no_prod_restarts("restart_pods", {"cluster": "dev-1"}), None)`,
		Func:  registerHook, Whole: true,
	},
	{
		Name: "register_guard", Params: `rules="rules.toml"`, Type: "str -> None",
		Doc: `Guards all tool calls by rules, which stand in a file of the plugin's folder.
The rules name programs, paths and hosts, and packs of rules that come with starhost: see
starhost docs guards and starhost docs packs. A rule denies a call or asks a person, also if only
the shell knows whether a command does what the rule names. starhost check and starhost test
prove the examples of the rules.`,
		Example: `register_guard("data/rules.toml")`,
		Check:   `assert_eq(register_guard("data/rules.toml"), None)`,
		Func:    registerGuard,
	},
	{
		Name: "register_fragment_loader", Params: "prefix, handler, description=None", Type: "str, Callable[..., Any], str | None -> None",
		Doc: `Resolves references of the form prefix:arg.
The function takes (arg) or (ctx, arg), under any names, and returns a string, a
fragment, an attachment, or a list of these. Loaders of one prompt run in parallel, so
ctx can only read.`,
		Example: `def runbook(service):
    return fragment("Runbook of %s." % service, source = "%s.md" % service)

register_fragment_loader("runbook", runbook)`,
		Check: `assert_eq(runbook("checkout").source, "checkout.md")`,
		Func:  registerFragmentLoader, Whole: true,
	},
	{
		Name: "plugin", Params: "api=1, name=None, version=None, description=None, owner=None, permissions=[], requires_env=[], requires=[], config={}, events={}", Type: "int, str | None, str | None, str | None, str | None, list[str], list[str | dict[str, Any]], list[str], dict[str, Any], dict[str, list[str]] -> None",
		Doc: `Describes the plugin and its needs.
A file calls it at most once, as a statement at the top level before any registration, with
literals only, because starhost reads it without running the file. permissions lists the effects
that the plugin needs, at most 256; the operator grants them. In a permission of http,
{config.NAME} stands for the host, as in "http:{config.host}/api/*" and "secret:TOKEN@{config.host}", and the grant names the host
itself. config maps settings to their defaults, which also give their types. requires_env lists
environment variables by name, or as {"name": ..., "description": ..., "url": ..., "secret": True}.
starhost does not load the plugin if one of them is missing, and shows description and url in
lists and messages. starhost removes the value of a secret from texts; the value may also come
from [secrets] of the config or from the file that NAME_FILE names. events maps the events that the
plugin fires by ctx.fire, "app.PLUGIN.NAME", to lists of their arguments; hooks of every plugin may
name them.`,
		Example: `plugin(version = "1.0.0", permissions = ["fs.read:runbooks/**"], config = {"team": "checkout"})`,
		Check:   `assert_eq(config.team, "checkout")`,
		Func:    declarePlugin,
	},
	{
		Name: "register_command", Params: "name, handler, description=None, aliases=[], complete=None", Type: "str, Callable[..., Any], str | None, str | list[str], Callable[..., list[str] | None] | None -> None",
		Doc: `Offers a command to the user: /name in a session, starhost command NAME.
The function's parameters may be ctx, args, the words as a shell splits them, full_args, the text
behind the name, messages, the conversation so far, and confirm. confirm(question) asks the user
and returns True for a yes; without a user, or without an answer in time, it returns False. The
handler returns a string, a value or result(...) for the user. complete takes (typed) or
(ctx, typed) and returns completions of the arguments.`,
		Example: `def deliver(args):
    """Delivers to a team."""
    return "delivered to " + ", ".join(args)

register_command("deliver", deliver, aliases = ["ship"])`,
		Check: `assert_eq(deliver(["checkout"]), "delivered to checkout")`,
		Func:  registerCommand, Whole: true,
	},
	{
		Name: "register_template_loader", Params: "prefix, handler", Type: "str, Callable[..., Template] -> None",
		Doc: `Returns templates for references of the form prefix:arg.
The function takes (arg) or (ctx, arg), under any names, and returns template(...). ctx can
only read.`,
		Example: `def review(language):
    return template(prompt = "Review this $what in %s:" % language, defaults = {"what": "change"})

register_template_loader("review", review)`,
		Check: `assert_eq(review("Go").prompt, "Review this $what in Go:")`,
		Func:  registerTemplateLoader, Whole: true,
	},
	{
		Name: "register_skill", Params: "path, name=None, description=None", Type: "str, str | None, str | None -> None",
		Doc: `Offers a text that is loaded on demand: skill:PLUGIN:NAME.
path is a SKILL.md in the plugin's own folder. Its front matter, between two lines "---",
supplies name and description if the call does not. starhost lists the plugin's other skills
and the files beside the SKILL.md in front of the text.`,
		Example: `register_skill("skills/triage/SKILL.md")`,
		Check:   `assert_eq(files.glob("skills/*/*.md"), ["skills/triage/SKILL.md", "skills/triage/checklist.md"])`,
		Func:    registerSkill, Whole: true,
	},
	{
		Name: "register_model", Params: `name, base_url, models, api="openai", api_key=None, aliases=[], headers={}, default_model=None, context=0, fallback=[]`, Type: "str, str, str | list[str], str, str | None, str | list[str], dict[str, str], str | None, int, str | list[str] -> None",
		Doc: `Offers the models of an endpoint as NAME/MODEL.
models lists their names; the first one is the default, and "*" stands for any. api is the format
of requests, "openai", "responses" or "anthropic"; api_key is the name of a secret. context is the
most tokens of a request. If a model does not answer, starhost run asks those of fallback, by their
names or as NAME/MODEL. Without the permissions http:HOST and
secret:NAME, starhost lists the endpoint as unavailable.`,
		Example: `register_model("internal", "https://llm.internal/v1", ["small", "large"], api_key = "LLM_KEY")`,
		Check:   `assert_eq(type(register_model), "builtin_function_or_method")`,
		Func:    registerModel, Whole: true,
	},
}

// values describes the values that handlers return, besides text and decisions.
var values = []call.Member{
	{
		Name: "fragment", Params: `content, source="", target="prompt", priority=0, title=""`, Type: "str, str, str, int, str -> Fragment",
		Doc: `A piece of text for the prompt.
Two fragments with the same content count as one. Reports show source as the origin. target is
"prompt" or "system". Lower priorities come first and are dropped last.`,
		Example: `f = fragment("Check the gateway.", source = "checkout.md", priority = 5)`,
		Check:   `assert_eq((f.content, f.target, f.priority), ("Check the gateway.", "prompt", 5))`,
		Func:    makeFragment,
	},
	{
		Name: "attachment", Params: "content=None, path=None, url=None, type=None, name=None, source=None", Type: "str | Bytes | None, str | None, str | None, str | None, str | None, str | None -> Attachment",
		Doc: `Data other than text for the prompt: exactly one of content, path and url.
content is bytes or a string. path is a file of the plugin's own folder or, in a handler, a
file of the workspace that the plugin may read. The model fetches url itself. type is a MIME
type; without it, starhost detects it from the bytes. source says in reports where it comes from. A
content has at most 8 MiB.`,
		Example: `table = attachment(content = "a,b\n1,2\n", type = "text/csv", name = "table.csv")
picture = attachment(url = "https://example.com/dash.png")`,
		Check: `assert_eq((table.type, table.name, picture.name), ("text/csv", "table.csv", "dash.png"))`,
		Func:  makeAttachment,
	},
	{
		Name: "result", Params: `for_llm, for_user="", silent=False, is_error=False, attachments=[], handled=False`, Type: "Any, str, bool, bool, list[Attachment], bool -> Result",
		Doc: `A tool's result with more than text.
The model reads for_llm, a string or a value that becomes JSON. The user also sees for_user.
silent shows nothing of the result to the user. is_error marks a failed call. handled makes
the result the turn's final answer, without a further request.`,
		Example: `r = result("2 pods restarted", for_user = "done", handled = True)
assert_eq(result({"pods": 2}).for_llm, '{"pods":2}')`,
		Check: `assert_eq((r.for_llm, r.is_error, r.handled), ("2 pods restarted", False, True))`,
		Func:  makeResult, Whole: true,
	},
	{
		Name: "template", Params: `prompt="", system="", model=None, fragments=[], system_fragments=[], attachments=[], tools=[], options={}, defaults={}`, Type: "str, str, str | None, str | list[str], str | list[str], list[Attachment], str | list[str], dict[str, Any], dict[str, Any] -> Template",
		Doc: `The start of a request.
prompt and system contain parameters as $name or ${name}; $$ is a dollar. $input stands for the
user's words; a prompt without $input ends with them. defaults gives values of parameters. An
error lists all missing parameters. fragments and system_fragments are references, which
starhost resolves with the plugin's permissions. tools are globs on names.`,
		Example: `t = template(prompt = "Summarise $what.", system = "Be brief.", defaults = {"what": "the incident"})`,
		Check:   `assert_eq((t.prompt, t.defaults), ("Summarise $what.", {"what": "the incident"}))`,
		Func:    makeTemplate,
	},
}

// decisions describes the values by which hooks decide.
var decisions = []call.Member{
	{
		Name: "deny", Params: "reason", Type: "str -> Decision",
		Doc: `Decides that the call does not run, whatever other hooks say.
The reason reaches the user, the model and the log. A decision only counts if the handler
returns it.`,
		Example: `def guard(tool):
    return deny("not in prod")

register_hook("pre_tool_call", guard)`,
		Check: `assert_eq(str(guard("restart")), 'deny("not in prod")')`,
		Func:  makeReasoned(starhost.ActionDeny),
	},
	{
		Name: "ask", Params: "reason", Type: "str -> Decision",
		Doc: "Decides that a person must approve the call.",
		Example: `def guard(tool):
    return ask("this costs money")

register_hook("pre_tool_call", guard, match = "buy")`,
		Check: `assert_eq(str(guard("buy")), 'ask("this costs money")')`,
		Func:  makeReasoned(starhost.ActionAsk),
	},
	{
		Name: "approve", Params: "", Type: "-> Decision",
		Doc: "Decides that no person is needed, unless another hook asks for one.",
		Example: `def trust(arguments):
    if arguments.get("cluster") == "dev":
        return approve()

register_hook("approve_tool_call", trust)`,
		Check: `assert_eq(str(trust({"cluster": "dev"})), "approve()")`,
		Func:  makeApprove,
	},
	{
		Name: "respond", Params: "result", Type: "Any -> Decision",
		Doc: `Answers the call instead of the tool.
A plugin may respond for its own tools, and for others with the grant respond:TOOL. The first
response wins.`,
		Example: `def cached(tool, arguments):
    return respond("42")

register_hook("pre_tool_call", cached)`,
		Check: `assert_eq(type(cached("ask", {})), "decision")`,
		Func:  makeRespond, Whole: true,
	},
	{
		Name: "modify", Params: "**changes", Type: "Any -> Decision",
		Doc: `Replaces arguments of the event by name.
Each handler sees the changes of the handlers before it. arguments = ... replaces all arguments
of a tool; command = ... and paths = ... replace them in the form that the agent's tool has. The
reference of each event lists the arguments that hooks can change. tools = ... of pre_llm_call
lists the tools that one request offers, by name or as the event has them; a dict with name and
description gives a tool another description. A plugin can add and describe its own tools, also
unavailable ones, and with the grant override:NAME those of other plugins, of the request and of
the agent.`,
		Example: `def shorter(arguments):
    return modify(arguments = dict(arguments, limit = 10))

register_hook("pre_tool_call", shorter)`,
		Check: `assert_eq(str(shorter({"q": "x"})), 'modify(arguments = {"q": "x", "limit": 10})')`,
		Func:  makeModify,
	},
	{
		Name: "abort", Params: "reason", Type: "str -> Decision",
		Doc: "Decides that the turn ends.",
		Example: `def stop(user_message):
    if "password" in user_message:
        return abort("no passwords here")

register_hook("turn_start", stop)`,
		Check: `assert_eq(stop("hello"), None)`,
		Func:  makeReasoned(starhost.ActionAbort),
	},
	{
		Name: "end_session", Params: "reason", Type: "str -> Decision",
		Doc: `Decides that the session ends after the turn.
The turn goes on to its end, then session_end fires, and the session takes no more turns. In the
session of an agent, which starhost only guards, this logs a warning and has no effect.`,
		Example: `def leave(user_message):
    if user_message == "bye":
        return end_session("the user left")

register_hook("turn_start", leave)`,
		Check: `assert_eq(leave("hello"), None)`,
		Func:  makeReasoned("end_session"),
	},
}

var configEntry = call.Entry{
	Name: "config", Type: "Any",
	Doc: `The plugin's settings: a struct with the keys that plugin(config = ...) declares.
Each has its declared default unless the operator sets another value under [plugin.NAME].`,
	Example: `plugin(config = {"max_lines": 200})
LINES = config.max_lines`,
	Check: `assert_eq(LINES, 200)`,
}
