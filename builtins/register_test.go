package builtins_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

func TestRegisterTool(t *testing.T) {
	l := script{src: `
def recall(ctx):
    """Recalls."""
    return "r"

register_tool(recall, toolset = "memory", timeout = 1.5, approval = "ask", roles = ["admin", "ops"], available = lambda ctx: ctx.plugin == "test")
register_tool(recall, name = "minute", toolset = "memory", timeout = time.minute, available = lambda: False)
register_tool(recall, name = "never", available = lambda: False, roles = "ops")
register_tool(recall, name = "odd", available = lambda: 1)
register_tool(recall, name = "broken", available = lambda: fail("no idea"))
`}.mustLoad(t)
	got := l.plugin.Tools[0]
	want := starhost.Tool{Name: "memory_recall", Description: "Recalls.", Toolset: "memory", Timeout: 1500 * time.Millisecond, Approval: "ask", Roles: []string{"admin", "ops"}, Derived: true}
	opts := []cmp.Option{
		cmpopts.IgnoreFields(starhost.Tool{}, "Parameters", "Available", "Call", "Pos"),
	}
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("tool (-want +got):\n%s", diff)
	}
	if got := l.plugin.Tools[1]; got.Timeout != time.Minute || got.Name != "minute" {
		t.Errorf("got %s, %v, want the name that was given and a minute", got.Name, got.Timeout)
	}
	turn, err := l.NewSession(host.SessionConfig{Roles: []string{"ops"}}).Begin(t.Context(), host.Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End(t.Context())
	p, err := turn.Prompt(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var offered []string
	for _, tool := range p.Tools {
		offered = append(offered, tool.Name)
	}
	if diff := cmp.Diff([]string{"memory_recall"}, offered); diff != "" {
		t.Errorf("offered (-want +got):\n%s", diff)
	}
	var failures []string
	for _, err := range turn.Errors() {
		failures = append(failures, err.Error())
	}
	wantFailures := []string{"test.star:10:64: fail: no idea", "lambda: unsupported return value: got int, want True or False"}
	if diff := cmp.Diff(wantFailures, failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

func TestToolTimeout(t *testing.T) {
	l := script{src: `register_tool(lambda: len([i for i in range(1 << 40)]), name = "slow", description = "S.", timeout = 0.001)`}.mustLoad(t)
	reply := l.call(t, "slow", "")
	if !reply.Result.IsError {
		t.Errorf("got %+v, want an error", reply.Result)
	}
}

func TestRegisterOverride(t *testing.T) {
	s := script{src: `register_tool(lambda text: "mine " + text, name = "echo", description = "E.", override = True)`, others: exampleWorld.others}
	if _, err := s.load(t); err == nil || !strings.Contains(err.Error(), "override:echo") {
		t.Errorf("without the grant: got %v", err)
	}
}

func TestRegisterCommand(t *testing.T) {
	l := script{src: `
def deliver(ctx, args, full_args, _n = 1):
    """Delivers to a team.

    More.
    """
    if not args:
        fail("to whom?")
    return result("%s|%s|%s" % (ctx.plugin, args, full_args), for_user = "done")

register_command("deliver", deliver, aliases = ["ship", "send"], complete = lambda ctx, typed: [typed + t for t in ["a", "b"]])
register_command("plain", lambda: {"a": 1}, description = "Plain.", complete = lambda typed: None)
register_command("odd", lambda **kwargs: kwargs.keys(), complete = lambda typed: 5)
register_command("bad", lambda: deny("no"))
register_hook("pre_command", lambda command, args: deny("not today") if "late" in args else modify(args = args + ["x"]), match = "deliver")
register_hook("post_command", lambda command, args, result: modify(result = result + "!"), match = "deliver")
`}.mustLoad(t)
	var infos []string
	for _, c := range l.Commands() {
		infos = append(infos, c.Name+" "+strings.Join(c.Aliases, ",")+": "+c.Description)
	}
	if diff := cmp.Diff([]string{"bad : ", "deliver ship,send: Delivers to a team.", "odd : ", "plain : Plain."}, infos); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	session := l.NewSession(host.SessionConfig{})
	tests := []struct {
		line string
		want starhost.Result
	}{
		{"/deliver 'the team' now", starhost.Result{ForLLM: `test|["the team", "now", "x"]|'the team' now x!`, ForUser: "done"}},
		{"/ship a", starhost.Result{ForLLM: `test|["a", "x"]|a x!`, ForUser: "done"}},
		{"/deliver late", starhost.Result{ForLLM: "denied by test: not today", IsError: true}},
		{"/plain", starhost.Result{ForLLM: `{"a":1}`}},
		{"/odd", starhost.Result{ForLLM: `["args","full_args","messages","confirm"]`}},
		{"/bad", starhost.Result{ForLLM: "command bad failed: lambda: unsupported return value: got the decision deny, want a result: decisions are for hooks; a tool says fail(...) or result(..., is_error = True)", IsError: true}},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			reply, err := session.Command(t.Context(), tt.line)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, reply.Result, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
	for line, want := range map[string][]string{"/deliver x": {"xa", "xb"}, "/plain x": nil, "/de": {"/deliver"}} {
		got, err := session.Complete(t.Context(), line)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Complete(%q) (-want +got):\n%s", line, diff)
		}
	}
	if _, err := session.Complete(t.Context(), "/odd x"); err == nil || !strings.Contains(err.Error(), "got int, want a string or a list of strings") {
		t.Errorf("Complete(/odd): got %v", err)
	}
}

func TestRegisterTemplateLoader(t *testing.T) {
	s := script{src: `
plugin(permissions = ["fragment:greeting"])

def review(ctx, language):
    """Reviews by language."""
    return template(
        prompt = "Review this $what in ${where} of %s ($$5):" % language, system = "Be $tone.", model = "small",
        fragments = ["greeting:Ada", "own:x"], system_fragments = "own:y", attachments = [attachment(content = "z", name = "z.txt")],
        tools = ["e*"], options = {"t": 1}, defaults = {"what": "change", "tone": 3, "where": True},
    )

SHARED = template(prompt = "Just $input.")
register_template_loader("review", review)
register_template_loader("shared", lambda arg: SHARED)
register_template_loader("odd", lambda arg: "text")
register_template_loader("stolen", lambda arg: template(fragments = ["file:a.md"]))
register_fragment_loader("own", lambda arg: "Own %s." % arg)

assert_eq(SHARED, template(prompt = "Just $input."))
assert_eq(SHARED != template(), True)
assert_eq((str(SHARED), type(SHARED), bool(template())), ('template(prompt = "Just $input.")', "template", True))
assert_eq((SHARED.prompt, SHARED.fragments, SHARED.attachments, SHARED.options, SHARED.defaults, SHARED.model), ("Just $input.", [], [], {}, {}, ""))
assert_fails(lambda: SHARED.fragments.append("x"), "frozen")
assert_fails(lambda: {SHARED: 1}, "unhashable type: template")
assert_fails(lambda: SHARED < SHARED, "template < template not implemented")
assert_fails(lambda: SHARED.text, "template has no .text field or method")
assert_eq(template(defaults = None, options = None, fragments = None).defaults, {})
`, others: exampleWorld.others, workspace: map[string]string{"a.md": "A"}}
	l := s.mustLoad(t)
	want := []host.LoaderInfo{{Prefix: "odd", Plugin: "test"}, {Prefix: "review", Plugin: "test", Description: "Reviews by language."}, {Prefix: "shared", Plugin: "test"}, {Prefix: "stolen", Plugin: "test"}}
	if diff := cmp.Diff(want, l.TemplateLoaders(), cmpopts.IgnoreFields(host.LoaderInfo{}, "Pos")); diff != "" {
		t.Errorf("template loaders (-want +got):\n%s", diff)
	}
	turn := l.turn(t, host.Request{Text: "func f()", Template: "review:Go", Params: map[string]string{"where": "main"}})
	p, err := turn.Prompt(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := []string{p.Text.String(), p.System, p.Model, string(p.Options), p.Attachments[0].Name}
	wantTexts := []string{"Hello Ada.\nOwn x.\nReview this change in main of Go ($5):\nfunc f()", "Own y.\n\nBe 3.", "small", `{"t":1}`, "z.txt"}
	if diff := cmp.Diff(wantTexts, got); diff != "" {
		t.Errorf("prompt (-want +got):\n%s", diff)
	}
	for ref, want := range map[string]string{
		"odd:x":    "got string, want template(...)",
		"stolen:x": "plugin test has no permission fs.read:a.md",
	} {
		session := l.NewSession(host.SessionConfig{})
		_, err := session.Prompt(t.Context(), host.Request{Template: ref})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", ref, err, want)
		}
	}
}

const skillText = "---\nname: triage\ndescription: >\n  How to sort\n  incidents.\n---\n\nSort them.\n"

func TestRegisterSkill(t *testing.T) {
	s := script{
		files: map[string]string{
			"skills/triage/SKILL.md": skillText, "skills/triage/ref/a.md": "A", "skills/triage/b.sh": "B", "skills/other.md": "just text", "c.md": "---\nname: c",
			"crlf.md": "\ufeff---\r\nname: crlf\r\ndescription: d\r\n---\r\nText.\r\n", "end.md": "---\nname: end\ndescription: d\n---",
		},
		src: `
register_skill("skills/triage/SKILL.md")
register_skill("skills/triage/SKILL.md", name = "sort", description = "Other.")
register_skill(path = "skills/other.md", name = "other", description = "Text.")
register_skill("c.md", "c", "An open front matter is text.")
register_skill("crlf.md")
register_skill("end.md")
`,
	}
	l := s.mustLoad(t)
	want := []host.SkillInfo{
		{Name: "c", Plugin: "test", Description: "An open front matter is text."}, {Name: "crlf", Plugin: "test", Description: "d"}, {Name: "end", Plugin: "test", Description: "d"},
		{Name: "other", Plugin: "test", Description: "Text."}, {Name: "sort", Plugin: "test", Description: "Other."}, {Name: "triage", Plugin: "test", Description: "How to sort incidents."},
	}
	if diff := cmp.Diff(want, l.Skills(), cmpopts.IgnoreFields(host.SkillInfo{}, "Pos")); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	got, err := l.turn(t, host.Request{}).Load(t.Context(), []string{"skill:test:triage", "skill:test:c", "skill:test:crlf", "skill:test:other"})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for i, c := range got {
		others, text, _ := strings.Cut(c.Fragments[0].Content, "Files beside")
		if i == 0 {
			texts = append(texts, others)
		}
		texts = append(texts, "Files beside"+text)
	}
	wantTexts := []string{
		"Other skills of test:\n- skill:test:c: An open front matter is text.\n- skill:test:crlf: d\n- skill:test:end: d\n- skill:test:other: Text.\n- skill:test:sort: Other.\n",
		"Files beside this skill:\n- b.sh\n- ref/a.md\n\nSort them.\n", "Files beside this skill:\n- crlf.md\n- end.md\n- skills/other.md\n- skills/triage/SKILL.md\n- skills/triage/b.sh\n- skills/triage/ref/a.md\n\n---\nname: c",
		"Files beside this skill:\n- c.md\n- end.md\n- skills/other.md\n- skills/triage/SKILL.md\n- skills/triage/b.sh\n- skills/triage/ref/a.md\n\nText.\n",
		"Files beside this skill:\n- triage/SKILL.md\n- triage/b.sh\n- triage/ref/a.md\n\njust text",
	}
	if diff := cmp.Diff(wantTexts, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

func TestRegisterModel(t *testing.T) {
	src := `
plugin(permissions = ["http:POST llm.internal", "secret:LLM_KEY@llm.internal"])
register_model("internal", "https://llm.internal/v1", ["small", "large"], api_key = "LLM_KEY", aliases = ["int"], headers = {"X-Team": "checkout", "X-N": 1}, default_model = "large")
register_model("local", "http://localhost:11434/v1", "tiny", api = "anthropic")
`
	l := script{src: src}.mustLoad(t)
	want := []starhost.Endpoint{
		{Name: "internal", Aliases: []string{"int"}, BaseURL: "https://llm.internal/v1", API: "openai", Models: []string{"small", "large"}, DefaultModel: "large",
			APIKey: "LLM_KEY", Headers: map[string]string{"X-Team": "checkout", "X-N": "1"}},
		{Name: "local", BaseURL: "http://localhost:11434/v1", API: "anthropic", Models: []string{"tiny"}, DefaultModel: "tiny",
			Unavailable: `plugin test has no permission http:http://localhost:11434: add "http:http://localhost:11434" to plugin(permissions = [...]); ` +
				`add to the list test in [grants] of your config: "http:http://localhost:11434" (or --grant test=http:http://localhost:11434)`},
	}
	opts := []cmp.Option{
		cmpopts.IgnoreFields(starhost.Endpoint{}, "Pos", "Plugin"),
		cmpopts.EquateEmpty(),
	}
	isBuiltIn := func(e starhost.Endpoint) bool { return e.PluginName() == "" }
	if diff := cmp.Diff(want, slices.DeleteFunc(l.Endpoints(), isBuiltIn), opts...); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
}

// TestRegistrationErrors checks the text and the place of errors in registrations.
func TestRegistrationErrors(t *testing.T) {
	tests := []struct{ src, code, want string }{
		{`register_tool(lambda: 1, name = "a", description = "A.", timeout = "5")`, "E0201", `register_tool: for parameter "timeout": got string, want a number of seconds`},
		{`register_tool(lambda: 1, name = "a", description = "A.", timeout = -1)`, "E0201", `register_tool: for parameter "timeout": got -1, want more than 0 seconds, at most 86400`},
		{`register_tool(lambda: 1, name = "a", description = "A.", available = lambda model: True)`, "E0307", `register_tool: available: lambda has the parameters (model), want () or (ctx)`},
		{`register_tool(lambda: 1, name = "a", description = "A.", available = len)`, "E0307", `register_tool: available: got the builtin len, want a def or a lambda: lambda x: len(x)`},
		{`register_tool(lambda: 1, name = "a", description = "A.", roles = [1])`, "E0201", `register_tool: for parameter "roles": [0]: got int, want string`},
		{`register_command("a", lambda arg: 1)`, "E0307", `register_command: handler: a command offers no "arg" (did you mean args?); it offers ctx, args, full_args, messages, confirm`},
		{`register_command("a", len)`, "E0307", `register_command: handler: got the builtin len, want a def or a lambda: lambda x: len(x)`},
		{`register_command("a", lambda: 1, complete = lambda: [])`, "E0307", `register_command: complete: lambda has the parameters (), want (arg) or (ctx, arg)`},
		{`register_command("a", lambda: 1, aliases = ["a"])`, "E0305", `register_command: command "a" is already registered at test.star:1:17`},
		{`register_command("help", lambda: 1)`, "E0705", `command name "help" is the host's own`},
		{`register_command("a")`, "E0201", `register_command: missing argument for handler`},
		{`register_template_loader("a")`, "E0201", `register_template_loader: missing argument for handler`},
		{`register_template_loader("tpl", lambda: 1)`, "E0307", `register_template_loader: handler: lambda has the parameters (), want (arg) or (ctx, arg)`},
		{`register_template_loader("T", lambda arg: 1)`, "E0705", `template loader prefix "T": want a lower-case letter, then one or more of a-z 0-9 _ -`},
		{"register_template_loader('tpl', lambda arg: 1)\nregister_template_loader('tpl', lambda arg: 1)", "E0305", `register_template_loader: template loader "tpl" is already registered at test.star:1:25`},
		{`template(prompt = "$what costs $5")`, "E0202", `template: line 1: got "$5", want $name or ${name}, or $$ for a dollar`},
		{`template(prompt = "$what", defaults = {"waht": "x"})`, "E0202", `template: defaults: the template does not name "$waht" (did you mean what?)`},
		{`template(prompt = "$what", defaults = {"what": []})`, "E0201", `template: defaults: what: got list, want a string, a number or a bool`},
		{`template(defaults = {1: "x"})`, "E0201", `template: defaults: got a key that is int, want string`},
		{`template(options = {"k": len})`, "E0204", `template: options: at .k: got builtin_function_or_method, want a JSON value`},
		{`template(attachments = ["x"])`, "E0201", `template: for parameter "attachments": got list, want a list of attachments`},
		{`template(fragments = [1])`, "E0201", `template: for parameter "fragments": [0]: got int, want string`},
		{`register_skill("a.md")`, "E0316", `register_skill: test.star is a single file and has no folder: make it test/plugin.star`},
		{`register_skill()`, "E0201", `register_skill: missing argument for path`},
		{`register_model("m", "https://x.y", [])`, "E0705", `model "m": models: want one name or more`},
		{`register_model("m", "x.y", ["a"])`, "E0202", `register_model: base_url: URL "x.y": got scheme "", want https or http`},
		{`register_model("m", "https://x.y", ["a"], api = "opnai")`, "E0705", `model "m": api: got "opnai", want openai, responses or anthropic`},
		{`register_model("m", "https://x.y", ["a"], headers = {"a": None})`, "E0201", `register_model: headers: a: got NoneType, want a string, a number or a bool`},
		{`register_model("m", "https://x.y", ["a"], aliases = ["n", "n"])`, "E0305", `register_model: model "n" is already registered at test.star:1:15`},
		{`register_model("m", "https://x.y")`, "E0201", `register_model: missing argument for models`},
		{`register_tool(lambda: 1, name = "a", description = "A.", roles = ["r"] * 101)`, "E0202", `register_tool: roles: got 101 names, want at most 100`},
		{`register_hook("pre_tool_call", lambda: None, match = ["*"] * 101)`, "E0202", `register_hook: match: got 101 names, want at most 100`},
		{`register_command("a", lambda: 1, aliases = [str(i) for i in range(101)])`, "E0202", `register_command: aliases: got 101 names, want at most 100`},
		{`register_model("m", "https://x.y", [str(i) for i in range(101)])`, "E0202", `register_model: models: got 101 names, want at most 100`},
		{`register_model("m", "https://x.y", ["a"], aliases = ["b"] * 101)`, "E0202", `register_model: aliases: got 101 names, want at most 100`},
	}
	for _, tt := range tests {
		t.Run(tt.src, func(t *testing.T) {
			_, err := script{src: tt.src}.load(t)
			if err == nil {
				t.Fatal("no error")
			}
			_, got, _ := strings.Cut(err.Error(), ": ")
			if diff := cmp.Diff([]string{tt.code, tt.want}, []string{codeOf(err), got}); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
	skills := []struct{ file, want string }{
		{"---\nname: [\n---\n", "front matter: line "},
		{"---\nname: a\n---\n", "has no description in its front matter, and no description is given"},
		{"text", "has no name in its front matter, and no name is given"},
		{"\xff", "got bytes that are not UTF-8, want text"},
		{"---\nname: " + strings.Repeat("a", 20000) + "\n---\n", "the front matter has 20007 bytes, limit 16384"},
	}
	for _, tt := range skills {
		s := script{src: `register_skill("SKILL.md")`, files: map[string]string{"SKILL.md": tt.file}}
		_, err := s.load(t)
		if err == nil || !strings.Contains(err.Error(), "register_skill: path: SKILL.md") ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.30q: got %v, want %q", tt.file, err, tt.want)
		}
	}
	if _, err := (script{src: `register_skill("none.md")`, files: map[string]string{}}).load(t); err == nil || !strings.Contains(err.Error(), "none.md") {
		t.Errorf("a skill that is not there: got %v", err)
	}
	handler := script{src: `register_tool(lambda: register_command("x", lambda: 1), name = "late", description = "L.")`}.mustLoad(t).call(t, "late", "")
	if codeOf(handler.Err) != "E0304" {
		t.Errorf("a registration in a handler: got %v", handler.Err)
	}
}

// TestRegistrationsAreBounded checks that a plugin can register 1,000 things of all kinds
// together, and that the next one is an error with its place.
func TestRegistrationsAreBounded(t *testing.T) {
	const thousand = `
def f(ctx):
    """F."""

for i in range(250):
    register_tool(f, name = "tool%d" % i)
    register_hook("turn_start", f)
    register_command("command%d" % i, f)
    register_template_loader("tpl%d" % i, g)
`
	const loaded = "def g(arg):\n    return None\n" + thousand
	if l := (script{src: loaded}).mustLoad(t); len(l.plugin.Tools) != 250 {
		t.Errorf("got %d tools, want 250", len(l.plugin.Tools))
	}
	for _, more := range []string{`register_tool(f)`, `register_hook("turn_end", f)`, `register_fragment_loader("ldr", g)`, `register_template_loader("tpl", g)`, `register_command("a", f)`, `register_model("m", "https://x.y", ["a"])`} {
		_, err := script{src: loaded + more}.load(t)
		name, _, _ := strings.Cut(more, "(")
		want := fmt.Sprintf("test.star:12:%d: %s: got registration 1001 of the plugin, want at most 1000 of all kinds", len(name)+1, name)
		if err == nil || err.Error() != want || codeOf(err) != "E0320" {
			t.Errorf("%s: got %v, want %s", more, err, want)
		}
	}
}

// TestAppEvents checks that starhost checks and converts the events of a program as it does those of the
// host.
func TestAppEvents(t *testing.T) {
	s := script{events: []starhost.EventSpec{{
		Name: "app.deploy", Args: []string{"service", "replicas"}, Modify: []string{"replicas"}, Guard: true,
		Actions: []starhost.Action{starhost.ActionDeny, starhost.ActionModify, starhost.ActionContext},
	}}}
	s.src = `
def guard(ctx, service, replicas):
    if replicas > 3:
        return deny("too many for " + service)
    return modify(replicas = [replicas, {"was": replicas}])

register_hook("app.deploy", guard)
`
	l := s.mustLoad(t)
	fire := func(n string) host.Outcome {
		args := map[string]json.RawMessage{"service": json.RawMessage(`"checkout"`), "replicas": json.RawMessage(n)}
		e, err := starhost.NewEvent("app.deploy", args, s.events...)
		if err != nil {
			t.Fatal(err)
		}
		out, errs := l.fire(t, e)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return out
	}
	if diff := cmp.Diff("too many for checkout", fire("5").Decision.Reason); diff != "" {
		t.Errorf("reason (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"replicas": json.RawMessage(`[2,{"was":2}]`)}, fire("2").Decision.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	s.src = `register_hook("app.deploy", lambda servce: None)`
	if _, err := s.load(t); err == nil || !strings.Contains(err.Error(), `app.deploy offers no "servce" (did you mean service?); it offers ctx, service, replicas`) {
		t.Errorf("a misspelt argument: got %v", err)
	}
	s.src = `register_hook("app.deploi", lambda: None)`
	if _, err := s.load(t); err == nil || !strings.Contains(err.Error(), `unknown event "app.deploi" (did you mean app.deploy?)`) {
		t.Errorf("a misspelt event: got %v", err)
	}
}

// TestTemplateValueStays checks that using a template does not change a global value.
func TestTemplateValueStays(t *testing.T) {
	l := leakyScript(`
T = template(prompt = "p", attachments = [attachment(content = ECHO)])
register_template_loader("tpl", lambda ctx, arg: [know(ctx), T][1])
register_tool(lambda: T.attachments[0].content == bytes(ECHO), name = "same", description = "S.")
`).mustLoad(t)
	turn := l.turn(t, host.Request{})
	tm, err := turn.LoadTemplate(t.Context(), "tpl:x")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]fragments.Attachment{{Content: shown, Type: "text/plain"}}, tm.Attachments, cmpopts.IgnoreUnexported(fragments.Attachment{})); diff != "" {
		t.Errorf("attachments (-want +got):\n%s", diff)
	}
	reply, err := turn.CallTool(t.Context(), starhost.ToolCall{Name: "same"})
	if err != nil || reply.Result.ForLLM != "true" {
		t.Errorf("got %v %v, want that the global is as it was", reply.Result.ForLLM, err)
	}
}
