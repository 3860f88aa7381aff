package builtins_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/starlark"
)

// TestSecretsDoNotLeak tries all ways in which a plugin could read a secret.
func TestSecretsDoNotLeak(t *testing.T) {
	reply := runInTool(t, wide, `
s = ctx.secret("PAGER_TOKEN")
b = "Bearer " + s + "!"
assert_eq((type(s), type(b), bool(s)), ("secret", "secret", True))
assert_eq((str(s), repr(s), "%s %r" % (s, b), "{}".format(b)), ("<secret PAGER_TOKEN>", "<secret PAGER_TOKEN>", "<secret PAGER_TOKEN> Bearer <secret PAGER_TOKEN>!", "Bearer <secret PAGER_TOKEN>!"))
assert_eq(str([s, {"k": s}, (b,), struct(x = s)]).count("<secret PAGER_TOKEN>"), 4)
assert_eq(str(s + b + ctx.secret("SHORT")), "<secret PAGER_TOKEN>Bearer <secret PAGER_TOKEN>!<secret SHORT>")

same = ctx.secret("PAGER_TOKEN")
assert_eq((s == s, s == same, s == "correct horse", s == str(s), s != same), (True, False, False, False, True))
assert_eq(([s] == [same], [s] == [s], s in [same], s in [s]), (False, True, False, True))
assert_fails(lambda: s < same, "secret < secret not implemented")
assert_fails(lambda: sorted([s, same]), "secret < secret not implemented")
assert_fails(lambda: max(s, same), "not implemented")
assert_fails(lambda: {s: 1}, "unhashable type: secret")
assert_fails(lambda: set([s]), "unhashable type: secret")
assert_fails(lambda: {}.get(s), "unhashable type: secret")
assert_fails(lambda: len(s), "value of type secret has no len")
assert_fails(lambda: s[0], "unhandled index operation secret[int]")
assert_fails(lambda: s[1:], "invalid slice operand secret")
assert_fails(lambda: [c for c in s], "secret value is not iterable")
assert_fails(lambda: "c" in s, "unknown binary op: string in secret")
assert_fails(lambda: s in "correct horse", "requires string as left operand")
assert_fails(lambda: s * 2, "unknown binary op: secret * int")
assert_fails(lambda: s + 1, "unknown binary op: secret + int")
assert_fails(lambda: s + b"x", "unknown binary op: secret + bytes")
assert_fails(lambda: s % 1, "unknown binary op: secret % int")
assert_fails(lambda: s.upper(), "secret has no .upper field or method")
assert_eq(dir(s), [])
assert_fails(lambda: "".join([s]), "want string")
assert_fails(lambda: "correct horse".startswith(s), "want string")
assert_fails(lambda: "correct horse".find(s), "want string")
assert_fails(lambda: "x".replace("x", s), "want string")
assert_fails(lambda: hash.sha256(s), "got secret, want string or bytes")
assert_fails(lambda: base64.encode(s), "got secret, want string or bytes")
assert_fails(lambda: bytes(s), "")
assert_fails(lambda: int(s), "")
assert_fails(lambda: list(s), "")
assert_fails(lambda: re.search("c", s), "secret")
assert_fails(lambda: text.wrap(s), "got secret, want string")
assert_fails(lambda: json.encode(s), "secret")
assert_fails(lambda: json.encode({"k": [s]}), "secret")
assert_fails(lambda: fail("no", s), "fail: no <secret PAGER_TOKEN>")
assert_fails(lambda: fragment(s), "got secret, want string")
assert_fails(lambda: attachment(content = s), "got secret, want string or bytes")
assert_fails(lambda: attachment(url = "https://x/" + s), "got secret, want string")
assert_fails(lambda: result(s), "got secret, want a JSON value")
assert_fails(lambda: template(prompt = s), "got secret, want string")
assert_fails(lambda: deny(s), "got secret, want string")
assert_fails(lambda: ctx.log("info", s), "got secret, want string")
assert_fails(lambda: ctx.log("info", "x", k = s), "got secret, want a JSON value")
assert_fails(lambda: ctx.state.set("k", s), "got secret, want a JSON value")
assert_fails(lambda: ctx.state.set(s, 1), "got secret, want string")
assert_fails(lambda: ctx.store.set("k", [s]), "got secret, want a JSON value")
assert_fails(lambda: ctx.http.get("https://pager.internal/" + s), "got secret, want string")
assert_fails(lambda: ctx.http.post("https://pager.internal/", body = s), "got secret, want string or bytes")
assert_fails(lambda: ctx.http.post("https://pager.internal/", json = {"k": s}), "got secret, want a JSON value")
assert_fails(lambda: ctx.http.get("https://pager.internal/", headers = {s: "x"}), "unhashable type: secret")
assert_fails(lambda: assert_eq(s, "correct horse"), "got <secret PAGER_TOKEN>, want")
print(s, [b])
`)
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
	for _, body := range []string{
		`return ctx.secret("PAGER_TOKEN")`, `return [ctx.secret("PAGER_TOKEN")]`, `return "x" + ctx.secret("PAGER_TOKEN")`, `fail(ctx.secret("PAGER_TOKEN"))`,
		`return str(ctx.secret("PAGER_TOKEN"))`, `return ctx.secret("PAGER_TOKEN").x`, `{}[ctx.secret("PAGER_TOKEN")]`,
	} {
		reply := runInTool(t, wide, body)
		if all := reply.Result.ForLLM; strings.Contains(all, "correct horse") {
			t.Errorf("%s: got %s", body, all)
		}
	}
}

// TestSecretBounds checks the limits of joined secrets, because joining is free of charge.
func TestSecretBounds(t *testing.T) {
	reply := runInTool(t, wide, `
def grow(s, text, times):
    for _ in range(times):
        s = s + text
    return s

assert_fails(lambda: grow(ctx.secret("SHORT"), "x", 64), "got a secret in a text of 65 parts and 64 bytes, want at most 64 and 65536")
assert_eq(type(grow(ctx.secret("SHORT"), "x", 63)), "secret")
assert_fails(lambda: ctx.secret("SHORT") + "x" * 65537, "2 parts and 65537 bytes")
s = ctx.secret("SHORT")
assert_fails(lambda: [s + s + s + s][0] + grow(s, s, 61), "parts")
`)
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
}

// leakyScript returns a script whose effects repeat a secret, as a server that echoes requests
// does.
func leakyScript(src string) script {
	s := wide
	s.src += `
ECHO = "correct " + "horse"

def know(ctx):
    ctx.secret("PAGER_TOKEN")

` + src
	return s
}

const shown = "<secret PAGER_TOKEN>"

// TestResultsAreRedacted checks that starhost removes secrets from the values of handlers before it computes
// the ids of their contents.
func TestResultsAreRedacted(t *testing.T) {
	l := leakyScript(`
def tool(ctx, how = ""):
    """T."""
    know(ctx)
    if how == "fail":
        fail("it is " + ECHO)
    if how == "error":
        return {}[ECHO]
    print("it is", ECHO)
    ctx.log("warn", ECHO, k = [ECHO])
    return result({"a": ECHO}, for_user = ECHO, attachments = [attachment(content = "x" + ECHO, name = ECHO)])

def loader(ctx, arg):
    know(ctx)
    return [ECHO, fragment("b " + ECHO, source = ECHO, title = ECHO), attachment(url = "https://x.y/?q=correct+horse")]

def hook(ctx, user_message):
    know(ctx)
    return modify(user_message = ECHO)

def sent(ctx, messages):
    know(ctx)
    return modify(messages = [m.replace(content = m.content + ECHO) for m in messages], system = ECHO)

def guard(ctx, arguments):
    know(ctx)
    if "deny" in arguments.values():
        return deny(ECHO)
    return modify(arguments = arguments | {"x": ECHO})

def run(ctx):
    know(ctx)
    return ECHO

register_tool(tool)
register_tool(lambda **kwargs: "ran", name = "other", description = "O.", parameters = {"type": "object"})
register_hook("pre_tool_call", guard, match = "other")
register_hook("post_tool_call", lambda result: modify(result = ECHO), match = "other")
register_hook("turn_start", hook)
register_hook("pre_send", sent)
register_fragment_loader("it", loader)
register_template_loader("it", lambda ctx, arg: [know(ctx), template(prompt = ECHO, system = ECHO, options = {"k": ECHO}, attachments = [attachment(content = ECHO)])][1])
register_command("run", run, complete = lambda ctx, typed: [know(ctx), [ECHO]][1])
`).mustLoad(t)
	turn := l.turn(t, host.Request{Text: "hi", Fragments: []string{"it:x"}})
	p, err := turn.Prompt(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Rendering(), shown) || p.System != shown {
		t.Errorf("the prompt: %s", p.Rendering())
	}
	all := []any{p.Rendering(), p.Attachments[0].URL, p.Fragments[0].Content}
	for _, call := range []string{`{}`, `{"how":"fail"}`, `{"how":"error"}`} {
		reply, err := turn.CallTool(t.Context(), starhost.ToolCall{Name: "tool", Arguments: json.RawMessage(call)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, reply.Result)
		if reply.Err != nil {
			at := checkRedactedPlace(t, reply.Err)
			all = append(all, at.Detail(), reply.Err.Error(), reply.Err.(*host.HandlerError).Traceback())
		}
	}
	for _, call := range []string{`{}`, `{"y":"deny"}`} {
		reply, err := turn.CallTool(t.Context(), starhost.ToolCall{Name: "other", Arguments: json.RawMessage(call)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, reply)
	}
	tm, err := turn.LoadTemplate(t.Context(), "it:x")
	if err != nil {
		t.Fatal(err)
	}
	turn.End(t.Context())
	session := turn.Session()
	reply, err := session.Command(t.Context(), "/run")
	if err != nil {
		t.Fatal(err)
	}
	completed, err := session.Complete(t.Context(), "/run x")
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, tm, reply, completed, l.logs, turn.Hooks())
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"correct horse", "correct+horse"} {
		if i := strings.Index(string(text), bad); i >= 0 {
			t.Errorf("got a secret: %s", text[max(0, i-300):i+len(bad)])
		}
	}
	if diff := cmp.Diff([]string{shown}, completed); diff != "" {
		t.Errorf("completion (-want +got):\n%s", diff)
	}
}

// checkRedactedPlace checks that a redacted error still has its place and source line, and
// returns it.
func checkRedactedPlace(t *testing.T, err error) *starlark.Error {
	t.Helper()
	at, ok := errors.AsType[*starlark.Error](err)
	if !ok {
		t.Fatalf("got %v, want an error with a place", err)
	}
	mark := "\n      |                  ^\n"
	if at.Code != "E0110" || at.Pos.String() != "test.star:16:18" ||
		!strings.Contains(at.Detail(), mark) || !strings.Contains(at.Msg, shown) {
		t.Errorf("the error is %v [%s]", err, codeOf(err))
	}
	return at
}

// TestRedactedErrorsKeepTheirMeaning checks that callers can still test for the cause of a
// redacted error.
func TestRedactedErrorsKeepTheirMeaning(t *testing.T) {
	s := leakyScript(`
def caller(ctx):
    """Calls what ends the turn."""
    know(ctx)
    ctx.tools.call("stop")

register_tool(caller)
register_tool(lambda: "x", name = "stop", description = "Stops.")
`)
	s.others = append(s.others, starhost.Plugin{Name: "police", Hooks: []starhost.Hook{{Event: "pre_tool_call", Match: []string{"stop"},
		Call: goHook(starhost.Decision{Action: starhost.ActionAbort, Reason: "no correct horse here"})}}})
	_, err := s.mustLoad(t).turn(t, host.Request{}).CallTool(t.Context(), starhost.ToolCall{Name: "caller"})
	aborted, ok := errors.AsType[*host.AbortError](err)
	if !ok || aborted.Reason != "no "+shown+" here" {
		t.Errorf("got %v, want an abort without the secret", err)
	}
}
