package builtins_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
)

// wide is a script with all permissions.
var wide = script{
	src: `plugin(permissions = ["fs.read:**", "fs.write:reports/**", "store", "env:*", "secret:*", "http:GET,HEAD,POST,PUT pager.internal",
    "exec:kubectl **", "tool:*", "fragment:greeting", "event:app.test.*"], events = {"app.test.asked": ["a"]})
`,
	workspace: map[string]string{"a.md": "A"},
	env:       map[string]string{"REGION": "eu-1", "PAGER_TOKEN": "correct horse", "SHORT": "abc"},
	answers:   exampleWorld.answers,
	others:    exampleWorld.others,
}

// wideWithAnswers returns the script wide, whose effects get these answers.
func wideWithAnswers(lines ...string) script {
	s := wide
	s.answers = strings.Join(lines, "\n")
	return s
}

func TestHTTP(t *testing.T) {
	s := wideWithAnswers(
		`{"http.get":{"url":"https://pager.internal/a?n=1&team=check+out","headers":{"Accept":"text/plain"}},"reply":{"status":404,"headers":{"content-type":"text/plain","x-n":"1"},"body":"no"}}`,
		`{"http.get":{"url":"https://pager.internal/bytes"},"reply":{"status":200,"body":{"base64":"/wBh"}}}`,
		`{"http.get":{"url":"https://pager.internal/auth","auth":{"user":"ada","password":"<secret PAGER_TOKEN>"}},"reply":{"status":200,"body":"[1, 2.5, {\"a\": null}]"}}`,
		`{"http.post":{"url":"https://pager.internal/page","body":"{\"team\":\"checkout\",\"n\":[1]}"},"reply":{"status":201,"body":""}}`,
		`{"http.post":{"url":"https://pager.internal/raw","body":"text"},"reply":{"status":202,"body":""}}`,
		`{"http.request":{"method":"PUT","url":"https://pager.internal/put","body":"{}"},"reply":{"status":204,"body":""}}`,
		`{"http.get":{"url":"https://pager.internal/down"},"error":{"message":"no answer from pager.internal","code":"E0511"}}`,
	)
	reply := runInTool(t, s, `
r = ctx.http.get("https://pager.internal/a", params = {"team": "check out", "n": 1}, headers = {"Accept": "text/plain"}, timeout = 2.5)
assert_eq((r.status, r.headers, r.text, r.body), (404, {"content-type": "text/plain", "x-n": "1"}, "no", b"no"))
assert_eq((str(r), type(r), bool(r), dir(r)), ("<response 404 2 B>", "response", True, ["body", "headers", "json", "status", "text"]))
assert_fails(lambda: r.json(), "response.json: got status 404 and a body that is no JSON: at byte ")
assert_fails(lambda: r.json(1), "response.json: got 1 arguments, want at most 0")
assert_fails(lambda: r.content, "response has no .content field or method")
assert_fails(lambda: {r: 1}, "unhashable type: response")
assert_fails(lambda: r.headers.update(a = 1), "frozen")

r = ctx.http.get("https://pager.internal/bytes")
assert_eq((r.text, r.body), ("\uFFFD\x00a", b"\xff\x00a"))
r = ctx.http.get("https://pager.internal/auth", auth = ("ada", ctx.secret("PAGER_TOKEN")))
assert_eq(r.json(), [1, 2.5, {"a": None}])
r.json().append(1)
assert_eq(len(r.json()), 3)

assert_eq(ctx.http.post("https://pager.internal/page", json = {"team": "checkout", "n": (1,)}).status, 201)
assert_eq(ctx.http.post("https://pager.internal/raw", b"text").status, 202)
assert_eq(ctx.http.request("PUT", "https://pager.internal/put", json = {}).status, 204)

assert_fails(lambda: ctx.http.get("https://pager.internal/down"), "no answer from pager.internal")
assert_fails(lambda: ctx.http.get("https://pager.internal/none"), '{"http.get":{"url":"https://pager.internal/none"},"reply":{"status":200,"body":""}}')
assert_fails(lambda: ctx.http.get("https://mail.internal"), 'add "http:mail.internal" to plugin(permissions = [...])')
assert_fails(lambda: ctx.http.get(), "ctx.http.get: missing argument for url")
assert_fails(lambda: ctx.http.get("pager.internal"), "want https or http")
assert_fails(lambda: ctx.http.get("https://pager.internal", body = "x"), 'unexpected keyword argument "body"')
assert_fails(lambda: ctx.http.post("https://pager.internal", body = "x", json = 1), "got both body and json, want one of them")
assert_fails(lambda: ctx.http.post("https://pager.internal", json = len), "ctx.http.post: json: got builtin_function_or_method, want a JSON value")
assert_fails(lambda: ctx.http.get("https://pager.internal", params = ["a"]), 'for parameter "params": got list, want a dict')
assert_fails(lambda: ctx.http.get("https://pager.internal", params = {1: "a"}), 'for parameter "params": got a key that is int, want string')
assert_fails(lambda: ctx.http.get("https://pager.internal", params = {"a": 1.5}), 'for parameter "params": a: got float, want a string, an int or a secret')
assert_fails(lambda: ctx.http.get("https://pager.internal", timeout = "5"), 'for parameter "timeout": got string, want a number of seconds')
assert_fails(lambda: ctx.http.get("https://pager.internal", timeout = 0), "got 0, want more than 0 seconds, at most 86400")
assert_fails(lambda: ctx.http.get("https://pager.internal", auth = "ada:x"), 'for parameter "auth": got string, want a pair (user, password)')
assert_fails(lambda: ctx.http.get("https://pager.internal", auth = ("ada",)), "want a pair (user, password)")
assert_fails(lambda: ctx.http.get("https://pager.internal", auth = (None, "x")), "user: got NoneType, want a string, an int or a secret")
assert_fails(lambda: ctx.http.get("https://pager.internal", auth = ("ada", None)), "password: got NoneType")
assert_fails(lambda: ctx.http.get("https://pager.internal", headers = {"Authorization": "Bearer %s" % ctx.secret("PAGER_TOKEN")}),
    'headers": Authorization: got "Bearer <secret PAGER_TOKEN>", which is how a secret prints: join texts and secrets by +')
`)
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
}

func TestExec(t *testing.T) {
	s := wideWithAnswers(
		`{"exec":{"argv":["kubectl","get"],"stdin":"in <secret PAGER_TOKEN>","env":{"N":"1","TOKEN":"<secret SHORT>"}},"reply":{"code":3,"stdout":{"base64":"b3X/"},"stderr":"err"}}`,
		`{"exec":{"argv":["kubectl","version"]},"reply":{"code":0,"stdout":"1","stderr":""}}`,
		`{"exec":{"argv":["kubectl","apply"],"stdin":{"base64":"/wA="}},"reply":{"code":0,"stdout":"bytes","stderr":""}}`,
	)
	reply := runInTool(t, s, `
out = ctx.exec(["kubectl", "get"], stdin = "in " + ctx.secret("PAGER_TOKEN"), env = {"TOKEN": ctx.secret("SHORT"), "N": 1}, timeout = 5)
assert_eq((out.code, out.stdout, out.stderr), (3, "ou\uFFFD", "err"))
assert_eq(out.stdout_bytes, b"ou\xff")
assert_eq(attachment(content = out.stdout_bytes, type = "image/png").content, b"ou\xff")
assert_eq(ctx.exec(("kubectl", "version")).stdout, "1")
assert_eq(ctx.exec(["kubectl", "apply"], stdin = b"\xff\x00").stdout, "bytes")
assert_eq(ctx.exec(["kubectl", "version"], stdin = "<secret is text here>").code, 0)
assert_fails(lambda: ctx.exec("kubectl get"), "ctx.exec: argv: got string, want a list of strings: there is no shell that splits it")
assert_fails(lambda: ctx.exec(["kubectl", 1]), "ctx.exec: argv: [1]: got int, want string")
assert_fails(lambda: ctx.exec([]), "argv: got no program")
assert_fails(lambda: ctx.exec(["rm", "-r"]), "exec:rm -r")
assert_fails(lambda: ctx.exec(["kubectl"], stdin = 1.5), 'for parameter "stdin": got float')
assert_fails(lambda: ctx.exec(["kubectl", ctx.secret("SHORT")]), "ctx.exec: argv: [1]: got secret, want string")
assert_fails(lambda: ctx.exec(), "missing argument for argv")
`)
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
}

func TestEnvStoreAndFiles(t *testing.T) {
	reply := runInTool(t, wide, `
assert_eq((ctx.env("REGION"), ctx.env("ZONE")), ("eu-1", None))
assert_fails(lambda: ctx.env(1), "got int, want string")
assert_fails(lambda: ctx.secret(1), "got int, want string")
assert_fails(lambda: ctx.secret("NONE"), "there is none: set the environment variable NONE or NONE_FILE")

assert_eq(ctx.store.get("k", 5), 5)
ctx.store.set("k", {"b": [1], "a": None})
ctx.store.set("j", 1)
assert_eq((ctx.store.get("k"), ctx.store.keys()), ({"b": [1], "a": None}, ["j", "k"]))
assert_eq((ctx.store.delete("j"), ctx.store.delete("j")), (True, False))
assert_eq((ctx.store.add("n", 2), ctx.store.add("n", -5), ctx.store.get("n")), (2, -3, -3))
assert_fails(lambda: ctx.store.add("k", 1), "store.add: key \"k\": got the value {\"b\":[1],\"a\":null}, want an int")
assert_fails(lambda: ctx.store.add("n", 1 << 63), "n: ")
assert_fails(lambda: ctx.store.add("n", -(1 << 62) * 2), "got the sum of -3 and -9223372036854775808, want an int of 64 bits")
assert_fails(lambda: ctx.store.add("n", 1.0), "got float, want int")
assert_eq((ctx.store.swap("k", {"a": None, "b": [1]}, 2), ctx.store.swap("k", 3, 4), ctx.store.get("k")), (True, False, 2))
assert_eq((ctx.store.swap("k", 2, None), ctx.store.swap("k", None, [1]), ctx.store.keys()), (True, True, ["k", "n"]))
assert_fails(lambda: ctx.store.swap("k", len, 1), "old: got builtin_function_or_method, want a JSON value")
assert_fails(lambda: ctx.store.swap("k" * 600, 1, 1), "got a key of 600 bytes, want at most 512")
assert_fails(lambda: ctx.store.set("k", len), "ctx.store.set: value: got builtin_function_or_method, want a JSON value")
assert_fails(lambda: ctx.store.set("k" * 600, 1), "got a key of 600 bytes, want at most 512")
assert_fails(lambda: ctx.store.get("k" * 600), "got a key of 600 bytes, want at most 512")
assert_fails(lambda: ctx.store.keys(1), "got 1 arguments")

assert_eq(ctx.fs.write("reports/a/b.md", "text"), None)
ctx.fs.write(path = "reports/c.bin", content = b"\xff")
assert_eq((ctx.fs.read("reports/a/b.md"), ctx.fs.read_bytes("reports/c.bin")), ("text", b"\xff"))
assert_fails(lambda: ctx.fs.write("a.md", "x"), "fs.write:a.md")
assert_fails(lambda: ctx.fs.write("reports/a.md", 1), "got int, want string or bytes")
assert_fails(lambda: ctx.fs.write("reports/a.star", ""), "never written by a plugin")
assert_fails(lambda: ctx.fs.write("reports/a.md", ctx.secret("SHORT")), "got secret, want string or bytes")
`)
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
	if reply := runInTool(t, script{}, `ctx.store.keys()`); reply.Err == nil || codeOf(reply.Err) != "E0501" {
		t.Errorf("without a permission: got %v", reply.Err)
	}
}

// TestStoreOutlivesSessions checks that values in ctx.store outlive the session, unlike those
// in ctx.state.
func TestStoreOutlivesSessions(t *testing.T) {
	s := wide
	s.src += `
def count(ctx):
    """Counts."""
    ctx.store.set("n", ctx.store.get("n", 0) + 1)
    return ctx.store.get("n")

register_tool(count)
`
	l := s.mustLoad(t)
	got := []string{l.call(t, "count", "").Result.ForLLM, l.call(t, "count", "").Result.ForLLM}
	if diff := cmp.Diff([]string{"1", "2"}, got); diff != "" {
		t.Errorf("counts of two sessions (-want +got):\n%s", diff)
	}
}

func TestNested(t *testing.T) {
	s := wide
	s.src += `
def own(ctx, name = "", depth = 0):
    """Calls itself by name."""
    if depth > 0:
        return ctx.tools.call("own", depth = depth - 1, name = "x").output
    return "bottom"

register_tool(own)
register_tool(lambda: fail("no way"), name = "fails", description = "Fails.")
register_tool(lambda: deny_me(), name = "guarded", description = "Is guarded.")
register_hook("pre_tool_call", lambda: deny("not you"), match = "guarded")
register_hook("pre_tool_call", lambda: abort("enough"), match = "stop")
register_tool(lambda: "x", name = "stop", description = "Stops.")

def deny_me():
    return "ran"
`
	reply := runInTool(t, s, `
r = ctx.tools.call("echo", text = "hi")
assert_eq((r.output, r.is_error, [a.name for a in r.attachments]), ("hi", False, ["a.txt"]))
assert_eq(ctx.tools.call(name = "echo", text = "hi").output, "hi")
assert_eq(ctx.tools.call("own", name = "x").output, "bottom")
assert_eq(ctx.tools.call("own", depth = 3).output, "bottom")
r = ctx.tools.call("fails")
assert_eq((r.output, r.is_error), ("no way", True))
r = ctx.tools.call("guarded")
assert_eq((r.output, r.is_error), ("denied by test: not you", True))
r = ctx.tools.call("ecko")
assert_eq(r.is_error, True)
assert_contains(r.output, "did you mean echo?")
assert_contains(ctx.tools.call("own", depth = 20).output, "8")
assert_fails(lambda: ctx.tools.call("echo", text = len), "ctx.tools.call: at .text: got builtin_function_or_method, want a JSON value")
assert_fails(lambda: ctx.tools.call("echo", text = ctx.secret("SHORT")), "ctx.tools.call: at .text: got secret, want a JSON value")
assert_fails(lambda: ctx.tools.call(), "ctx.tools.call: missing argument for name")

parts = ctx.fragments.get("greeting:Ada")
assert_eq([(p.content, p.source) for p in parts], [("Hello Ada.", "greeting:Ada")])
assert_eq([p.content for p in ctx.fragments.get("file:a.md")], ["A"])
assert_fails(lambda: ctx.fragments.get("greeting"), "\"greeting\" has no prefix, so it is an alias")
assert_fails(lambda: ctx.fragments.get("./greeting"), "want PREFIX:ARG or an alias")
assert_fails(lambda: ctx.fragments.get("mail:x"), "fragment:mail")
assert_fails(lambda: ctx.fragments.get(1), "got int, want string")
`)
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
	s.src += `
def caller(ctx):
    """Calls what ends the turn."""
    ctx.tools.call("stop")

register_tool(caller)
`
	_, err := s.mustLoad(t).turn(t, host.Request{}).CallTool(t.Context(), starhost.ToolCall{Name: "caller"})
	if _, ok := err.(*host.AbortError); !ok {
		t.Errorf("an abort below: got %v, want an AbortError", err)
	}
}

// TestLoadersOnlyRead calls every writing member of ctx in a loader.
func TestLoadersOnlyRead(t *testing.T) {
	calls := map[string]string{
		`ctx.state.set("k", 1)`: "E0509", `ctx.state.delete("k")`: "E0509", `ctx.store.set("k", 1)`: "E0509", `ctx.store.delete("k")`: "E0509",
		`ctx.store.add("k", 1)`: "E0509", `ctx.store.swap("k", None, 1)`: "E0509",
		`ctx.fs.write("reports/a.md", "x")`: "E0509", `ctx.exec(["kubectl"])`: "E0509", `ctx.tools.call("echo", text = "x")`: "E0509",
		`ctx.fire("app.test.asked", a = 1)`:            "E0509",
		`ctx.http.post("https://pager.internal/page")`: "E0509", `ctx.http.request("PUT", "https://pager.internal/page")`: "E0509",
		`ctx.http.request("HEAD", "https://pager.internal/oncall")`: "", `ctx.http.get("https://pager.internal/oncall", params = {"team": "checkout"})`: "",
		`ctx.state.get("k")`: "", `ctx.store.keys()`: "", `ctx.env("REGION")`: "", `ctx.secret("PAGER_TOKEN")`: "", `ctx.fs.read("a.md")`: "",
		`ctx.fragments.get("greeting:Ada")`: "", `ctx.now`: "", `ctx.random(5)`: "", `ctx.log("info", "x")`: "", `ctx.progress(1)`: "",
	}
	for call, want := range calls {
		t.Run(call, func(t *testing.T) {
			s := wide
			s.src += "def load_it(ctx, arg):\n    " + call + "\n    return \"ok\"\n\nregister_fragment_loader(\"it\", load_it)\n"
			_, err := s.mustLoad(t).turn(t, host.Request{}).Load(t.Context(), []string{"it:x"})
			if got := codeOf(err); got != want || (err == nil) != (want == "") {
				t.Errorf("got %v [%s], want [%s]", err, got, want)
			}
		})
	}
}

// TestDryRun checks that a dry run logs effects that would outlive the session, and does not
// run them.
func TestDryRun(t *testing.T) {
	s := wideWithAnswers()
	s.dryRun = true
	s.src += `
def t(ctx):
    """T."""
    ctx.state.set("k", 1)
    ctx.store.set("k", 1)
    ctx.fs.write("reports/a.md", "x")
    out = ctx.exec(["kubectl", "get"])
    r = ctx.http.post("https://pager.internal/page", body = "x")
    return [ctx.state.get("k"), ctx.store.get("k"), ctx.fs.exists("reports/a.md"), out.code, out.stdout, r.status, r.text]

register_tool(t)
`
	l := s.mustLoad(t)
	if diff := cmp.Diff(`[1,null,false,0,"",0,""]`, l.call(t, "t", "").Result.ForLLM); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	var noted []string
	for _, e := range l.world.DryRun.Effects() {
		noted = append(noted, e.String())
	}
	want := []string{"store.set k", "fs.write reports/a.md (1 B)", "exec kubectl get", "http.post https://pager.internal/page"}
	if diff := cmp.Diff(want, noted); diff != "" {
		t.Errorf("noted (-want +got):\n%s", diff)
	}
}

// TestEffectsGoThroughTheWorld checks that the journal records every member of ctx that reaches
// outside the plugin.
func TestEffectsGoThroughTheWorld(t *testing.T) {
	s := wide
	s.src += `
def t(ctx):
    """T."""
    ctx.now, ctx.random(2), ctx.uuid(), ctx.env("REGION"), ctx.secret("PAGER_TOKEN")
    ctx.state.set("k", 1), ctx.state.get("k"), ctx.state.keys(), ctx.state.delete("k")
    ctx.store.set("k", 1), ctx.store.get("k"), ctx.store.keys(), ctx.store.delete("k"), ctx.store.add("k", 1), ctx.store.swap("k", 1, None)
    ctx.fs.write("reports/a", "x"), ctx.fs.read("a.md"), ctx.fs.read_bytes("a.md"), ctx.fs.glob("*"), ctx.fs.exists("a"), ctx.fs.stat("a.md")
    ctx.exec(["kubectl", "get", "pods"]), ctx.tools.call("echo", text = "x"), ctx.fragments.get("greeting:x")
    ctx.fire("app.test.asked")
    ctx.http.get("https://pager.internal/oncall", params = {"team": "checkout"}), ctx.http.post("https://pager.internal/page")
    ctx.http.request("HEAD", "https://pager.internal/oncall")

register_tool(t)
`
	l := s.mustLoad(t)
	journal := new(effects.Journal)
	h := host.New(host.Options{Record: journal.Record, AppEvents: l.Events()[len(starhost.Events()):]})
	if err := h.Add(append(s.others, *l.plugin)...); err != nil {
		t.Fatal(err)
	}
	turn, err := h.NewSession(host.SessionConfig{}).Begin(t.Context(), host.Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End(context.Background())
	if reply, err := turn.CallTool(t.Context(), starhost.ToolCall{Name: "t"}); err != nil || reply.Err != nil {
		t.Fatal(err, reply.Err)
	}
	text, err := journal.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range strings.Fields(`now random uuid env secret state.set state.get state.keys state.delete store.set store.get store.keys store.delete store.add store.swap
		fs.write fs.read fs.read_bytes fs.glob fs.exists fs.stat exec tools.call fire fragments.get http.get http.post http.request`) {
		if !strings.Contains(string(text), `"`+kind+`":`) {
			t.Errorf("the journal has no %s", kind)
		}
	}
	if strings.Contains(string(text), "correct horse") {
		t.Error("the journal has a secret")
	}
}
