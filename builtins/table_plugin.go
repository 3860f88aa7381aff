package builtins

import (
	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
)

// registrations describes the functions with which a plugin describes itself and registers.
var registrations = []call.Member{
	{
		Name: "plugin", Params: "api=1, name=None, version=None, description=None, owner=None, permissions=[], requires_env=[], requires=[], config={}",
		Doc: `Says what the plugin is and what it needs.
It may stand once, as a statement at the top level before any registration, and
takes literals only: it is read without running the file. permissions declares
effects, which the operator grants. config holds settings with their defaults, whose
types are the types; requires_env names environment variables without which the
plugin is not loaded.`,
		Example: `plugin(version = "1.0.0", permissions = ["fs.read:runbooks/**"], config = {"team": "checkout"})
assert_eq(config.team, "checkout")`,
		Func: declarePlugin,
	},
	{
		Name: "register_tool", Params: `handler, name=None, description=None, parameters=None, toolset=None, timeout=None, approval="auto", available=None, roles=None, override=False`,
		Doc: `Offers a function to the model.
The name is the function's, behind "TOOLSET_" if a toolset is given; a name that is given
stands as it is. The description
is the first paragraph of the docstring. parameters is a JSON Schema; without one it
is derived: a default makes a parameter optional and gives its type, lines
"name (type): text" under "Args:" in the docstring describe it, with the types
string, integer, number, boolean, object and array of TYPE, and one of "a", "b" for an
enum. The function returns a string, a JSON value, None, an attachment or result(...).
timeout is the most seconds of one call. approval = "ask" wants a person's yes before
each call. available, a function of (ctx) or of nothing, says True or False when a
session starts. roles limit the tool to sessions that have one of them. override = True
takes the place of another plugin's tool, with the grant override:NAME.`,
		Example: `def greet(name, times = 1):
    """Greets somebody.

    Args:
      name: Who is greeted.
      times (integer): How often.
    """
    return "Hello %s. " % name * times

assert_eq(greet("Ada"), "Hello Ada. ")
register_tool(greet)`,
		Func: registerTool, Whole: true,
	},
	{
		Name: "register_hook", Params: "event, handler, priority=0, match=None, on_error=None",
		Doc: `Calls a function whenever an event fires.
The function names the arguments that it wants, among those that the event offers;
ctx is always on offer. Lower priorities run first. match holds globs on the tool's
or the command's name. on_error = "skip", "deny" or "abort" says what a failure of the
function means. Events whose names begin with "app." are those that the program
declares.`,
		Example: `def no_prod_restarts(tool, arguments):
    if "prod" in arguments.get("cluster", ""):
        return deny("restarts in prod need a change ticket")

assert_eq(no_prod_restarts("restart_pods", {"cluster": "dev-1"}), None)
register_hook("pre_tool_call", no_prod_restarts, match = "restart_*")`,
		Func: registerHook, Whole: true,
	},
	{
		Name: "register_fragment_loader", Params: "prefix, handler, description=None",
		Doc: `Resolves references of the form prefix:arg.
The function takes (arg) or (ctx, arg), under any names, and returns a string, a
fragment, an attachment, or a list of these. Loaders of one prompt run beside each
other, so ctx only reads.`,
		Example: `def runbook(service):
    return fragment("Runbook of %s." % service, source = "%s.md" % service)

assert_eq(runbook("checkout").source, "checkout.md")
register_fragment_loader("runbook", runbook)`,
		Func: registerFragmentLoader, Whole: true,
	},
	{
		Name: "register_template_loader", Params: "prefix, handler",
		Doc: `Makes templates from references of the form prefix:arg.
The function takes (arg) or (ctx, arg), under any names, and returns template(...).
ctx only reads.`,
		Example: `def review(language):
    return template(prompt = "Review this $what in %s:" % language, defaults = {"what": "change"})

assert_eq(review("Go").prompt, "Review this $what in Go:")
register_template_loader("review", review)`,
		Func: registerTemplateLoader, Whole: true,
	},
	{
		Name: "register_command", Params: "name, handler, description=None, aliases=[], complete=None",
		Doc: `Offers a command to the user: /name in a session, starhost command NAME.
The function may name ctx, args, the words as a shell splits them, and full_args, the
line as typed. What it returns is for the user: a string, a value or result(...).
complete takes (typed) or (ctx, typed) and returns what the arguments may become.`,
		Example: `def deliver(args):
    """Delivers to a team."""
    return "delivered to " + ", ".join(args)

assert_eq(deliver(["checkout"]), "delivered to checkout")
register_command("deliver", deliver, aliases = ["ship"], complete = lambda typed: [t for t in ["checkout", "search"] if t.startswith(typed)])`,
		Func: registerCommand, Whole: true,
	},
	{
		Name: "register_skill", Params: "path, name=None, description=None",
		Doc: `Offers a text that is loaded on demand: skill:PLUGIN:NAME.
path is a SKILL.md in the plugin's own folder. Its front matter, between two lines "---",
has name and description, where these are not given here. The plugin's other skills and
the files beside it are listed in front of the text.`,
		Example: `register_skill("skills/triage/SKILL.md")
assert_eq(files.glob("skills/*/*.md"), ["skills/triage/SKILL.md", "skills/triage/checklist.md"])`,
		Func: registerSkill, Whole: true,
	},
	{
		Name: "register_model", Params: `name, base_url, models, api="openai", api_key=None, aliases=[], headers={}, default_model=None`,
		Doc: `Offers an endpoint where language models answer, as data: NAME/MODEL.
models are their names, the first one the default; api is the form of requests, "openai"
or "anthropic"; api_key is the name of a secret. Without the permissions http:HOST and
secret:NAME it is listed as unavailable.`,
		Example: `MODELS = ["small", "large"]
register_model("internal", "https://llm.internal/v1", MODELS, api_key = "LLM_KEY", default_model = "large")
assert_eq(len(MODELS), 2)`,
		Func: registerModel, Whole: true,
	},
}

// values describes the values that handlers return, besides text and decisions.
var values = []call.Member{
	{
		Name: "fragment", Params: `content, source="", target="prompt", priority=0, title=""`,
		Doc: `A piece of text for the prompt.
Two fragments with the same content are one. source says where it comes from, in
reports; target is "prompt" or "system"; lower priorities come first and are the last
to be dropped.`,
		Example: `f = fragment("Check the gateway.", source = "checkout.md", priority = 5)
assert_eq(f.content, "Check the gateway.")
assert_eq((f.target, f.priority), ("prompt", 5))`,
		Func: makeFragment,
	},
	{
		Name: "attachment", Params: "content=None, path=None, url=None, type=None, name=None",
		Doc: `Data other than text for the prompt: exactly one of content, path and url.
content is bytes or a string; path a file of the plugin's own folder, or in a handler
one of the workspace that the plugin may read; url is passed on to the model. type is
a MIME type, found from the bytes where it is not given. A content may have 8 MiB.`,
		Example: `a = attachment(content = "a,b\n1,2\n", type = "text/csv", name = "table.csv")
assert_eq((a.type, a.name), ("text/csv", "table.csv"))
assert_eq(attachment(url = "https://example.com/dash.png").name, "dash.png")`,
		Func: makeAttachment,
	},
	{
		Name: "result", Params: `for_llm, for_user="", silent=False, is_error=False, attachments=[], handled=False`,
		Doc: `What a tool returns where text is not enough.
for_llm is what the model reads: a string, or a value that becomes JSON. for_user is
shown to the user beside it; silent: nothing of it is shown; is_error: the call failed;
handled: it is the turn's final answer, no further request is made.`,
		Example: `r = result("2 pods restarted", for_user = "done", handled = True)
assert_eq((r.for_llm, r.is_error, r.handled), ("2 pods restarted", False, True))
assert_eq(result({"pods": 2}).for_llm, '{"pods":2}')`,
		Func: makeResult, Whole: true,
	},
	{
		Name: "template", Params: `prompt="", system="", model=None, fragments=[], system_fragments=[], attachments=[], tools=[], options={}, defaults={}`,
		Doc: `What a request starts from.
prompt and system name parameters as $name or ${name}, $$ is a dollar; $input is the
user's own words, which follow a prompt that does not name them. defaults are values of
parameters; those that are missing are listed together. fragments and system_fragments
are references, resolved with the plugin's own permissions. tools are globs on names.`,
		Example: `t = template(prompt = "Summarise $what.", system = "Be brief.", defaults = {"what": "the incident"})
assert_eq(t.prompt, "Summarise $what.")
assert_eq(t.defaults, {"what": "the incident"})`,
		Func: makeTemplate,
	},
}

// decisions describes the values by which hooks decide.
var decisions = []call.Member{
	{
		Name: "deny", Params: "reason",
		Doc: `Decides that the call does not run, whatever other hooks say.
The reason reaches the user, the model and the log. A decision counts when the
handler returns it.`,
		Example: `def guard(tool):
    return deny("not in prod")

assert_eq(str(guard("restart")), 'deny("not in prod")')
register_hook("pre_tool_call", guard)`,
		Func: makeReasoned(starhost.ActionDeny),
	},
	{
		Name: "ask", Params: "reason",
		Doc: "Decides that a person must approve the call.",
		Example: `def guard(tool):
    return ask("this costs money")

assert_eq(str(guard("buy")), 'ask("this costs money")')
register_hook("pre_tool_call", guard, match = "buy")`,
		Func: makeReasoned(starhost.ActionAsk),
	},
	{
		Name: "approve", Params: "",
		Doc: "Decides that no person is needed, unless another hook asks for one.",
		Example: `def trust(arguments):
    if arguments.get("cluster") == "dev":
        return approve()

assert_eq(str(trust({"cluster": "dev"})), "approve()")
register_hook("approve_tool_call", trust)`,
		Func: makeApprove,
	},
	{
		Name: "respond", Params: "result",
		Doc: `Answers the call instead of the tool.
A plugin responds for its own tools, for others with the grant respond:TOOL. The first
one wins.`,
		Example: `def cached(tool, arguments):
    return respond("42")

assert_eq(type(cached("ask", {})), "decision")
register_hook("pre_tool_call", cached)`,
		Func: makeRespond, Whole: true,
	},
	{
		Name: "modify", Params: "**changes",
		Doc: `Replaces arguments of the event by name.
Each handler sees what the one before left. arguments replaces the whole; which
arguments can be changed is listed with the event.`,
		Example: `def shorter(arguments):
    return modify(arguments = dict(arguments, limit = 10))

assert_eq(str(shorter({"q": "x"})), 'modify(arguments = {"q": "x", "limit": 10})')
register_hook("pre_tool_call", shorter)`,
		Func: makeModify,
	},
	{
		Name: "abort", Params: "reason",
		Doc: "Decides that the turn ends.",
		Example: `def stop(user_message):
    if "password" in user_message:
        return abort("no passwords here")

assert_eq(stop("hello"), None)
register_hook("turn_start", stop)`,
		Func: makeReasoned(starhost.ActionAbort),
	},
}

var configEntry = call.Entry{
	Name: "config",
	Doc: `The plugin's settings: a struct with the keys that plugin(config = ...) declares.
Each is the declared default, unless the operator set another value under
[plugin.NAME].`,
	Example: `plugin(config = {"max_lines": 200})
assert_eq(config.max_lines, 200)`,
}
