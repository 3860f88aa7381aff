package builtins_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/host"
)

var workspace = map[string]string{"runbooks/a.md": "A", "runbooks/b.md": "B", "data.bin": "\xff\x00", "secret.md": "S"}

// runInTool runs body in the handler of a tool with ctx, and returns the tool's reply.
func runInTool(t *testing.T, s script, body string) host.ToolReply {
	t.Helper()
	s.src += "\ndef t(ctx):\n    \"T.\"\n    " + strings.ReplaceAll(strings.TrimSpace(body), "\n", "\n    ") + "\n\nregister_tool(t)\n"
	return s.mustLoad(t).call(t, "t", "")
}

func TestCtx(t *testing.T) {
	s := script{
		src:       `plugin(permissions = ["fs.read:runbooks/**", "fs.read:data.bin"], config = {"team": "checkout"})`,
		workspace: workspace,
	}
	reply := runInTool(t, s, `
assert_eq((ctx.session, ctx.turn, ctx.plugin, ctx.now), ("s1", 1, "test", "2026-01-02T03:04:05Z"))
assert_eq(ctx.config, config)
assert_eq(ctx.config.team, "checkout")
assert_eq(str(ctx), "<ctx>")
assert_eq((type(ctx), type(ctx.state), bool(ctx)), ("ctx", "ctx.state", True))
assert_eq(dir(ctx), ["config", "env", "exec", "fire", "fragments", "fs", "http", "log", "now", "plugin", "progress", "random", "secret", "session", "state", "store", "tools", "turn", "uuid"])
assert_eq(dir(ctx.fs), ["exists", "glob", "read", "read_bytes", "stat", "write"])
assert_eq((dir(ctx.state), dir(ctx.store)), (["delete", "get", "keys", "set"], ["add", "delete", "get", "keys", "set", "swap"]))
assert_eq((dir(ctx.http), dir(ctx.tools), dir(ctx.fragments)), (["get", "post", "request"], ["call"], ["get"]))
assert_fails(lambda: ctx.sesion, "ctx has no .sesion field or method (did you mean .session?)")
assert_fails(lambda: ctx.htp, "ctx has no .htp field or method (did you mean .http?)")
assert_fails(lambda: ctx.state.delet, "ctx.state has no .delet field or method (did you mean .delete?)")
assert_fails(lambda: {ctx: 1}, "unhashable type: ctx")

a, b = ctx.uuid(), ctx.uuid()
assert_eq(a != b, True)
assert_eq((len(a), a[14], a[8]), (36, "4", "-"))
assert_eq(ctx.progress(0), None)
assert_fails(lambda: ctx.progress(-1), "ctx.progress: for parameter done: got -1, want a number from 0 to 1e15")
assert_fails(lambda: ctx.progress(1, float("nan")), "total: got NaN, want a number from 0 to 1e15")
assert_fails(lambda: ctx.progress("1"), "done: got string, want a number")
assert_eq([ctx.random(1) for _ in range(3)], [0, 0, 0])
assert_eq(len(set([ctx.random(1000000) for _ in range(20)])) > 15, True)
assert_fails(lambda: ctx.random(0), "random: got n = 0, want 1 or more")
assert_fails(lambda: ctx.random("1"), "got string, want int")
assert_fails(lambda: ctx.uuid(1), "got 1 arguments, want at most 0")

assert_eq(ctx.state.get("k"), None)
assert_eq(ctx.state.get("k", 5), 5)
ctx.state.set("k", {"b": [1, 2.0, None], "a": "x"})
ctx.state.set(key = "j", value = struct(x = 1))
assert_eq(ctx.state.get("k"), {"b": [1, 2.0, None], "a": "x"})
ctx.state.get("k")["b"].append(3)
assert_eq(ctx.state.get("k")["b"], [1, 2.0, None])
assert_eq(ctx.state.keys(), ["j", "k"])
assert_eq(ctx.state.delete("j"), True)
assert_eq(ctx.state.delete("j"), False)
assert_fails(lambda: ctx.state.set("k", len), "ctx.state.set: value: got builtin_function_or_method, want a JSON value")
assert_fails(lambda: ctx.state.set("k"), "missing argument for value")
assert_fails(lambda: ctx.state.set("k", "x" * (1 << 20)), "want at most 1048576 in a session")
assert_fails(lambda: ctx.state.delete(1), "got int, want string")
assert_fails(lambda: ctx.state.get(1), "got int, want string")
assert_fails(lambda: ctx.state.keys(1), "got 1 arguments")

assert_eq(ctx.fs.read("runbooks/a.md"), "A")
assert_eq(ctx.fs.read_bytes("data.bin"), b"\xff\x00")
assert_eq(ctx.fs.glob("**/*.md"), ["runbooks/a.md", "runbooks/b.md"])
assert_eq(ctx.fs.exists("runbooks/c.md"), False)
assert_eq(ctx.fs.stat("runbooks").is_dir, True)
assert_eq(ctx.fs.stat("runbooks/a.md"), ctx.fs.stat(path = "runbooks/a.md"))
assert_fails(lambda: ctx.fs.read("secret.md"), "fs.read:secret.md")
assert_fails(lambda: ctx.fs.read("data.bin"), "UTF-8")
assert_fails(lambda: ctx.fs.read_bytes("secret.md"), "fs.read:secret.md")
assert_fails(lambda: ctx.fs.stat("../x"), "..")
assert_fails(lambda: ctx.fs.glob("["), "[")
assert_fails(lambda: ctx.fs.exists(1), "got int, want string")

assert_eq(ctx.log("warn", "hello", b = [1], a = "x"), None)
assert_fails(lambda: ctx.log("warning", "x"), 'ctx.log: level: got "warning", want debug, info, warn, error (did you mean warn?)')
assert_fails(lambda: ctx.log("info", "x", f = len), "ctx.log: at .f: got builtin_function_or_method, want a JSON value")
assert_fails(lambda: ctx.log("info"), "missing argument for msg")
`)
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
}

func TestLogs(t *testing.T) {
	l := script{src: `
print("loading", 1)

def t(ctx):
    """T."""
    print("hello")
    ctx.log("error", "bad", z = 1, level2 = None)
    ctx.log(level = "debug", msg = "fine " + "é"[1:])
    print("é"[:1], "cut")

register_tool(t)
`}.mustLoad(t)
	l.call(t, "t", "")
	want := []host.LogLine{
		{Plugin: "test", Level: "info", Text: "loading 1", Pos: starhost.Pos{File: "test.star", Line: 2, Col: 6}},
		{Plugin: "test", Level: "info", Text: "hello", Pos: starhost.Pos{File: "test.star", Line: 6, Col: 10}},
		{Plugin: "test", Level: "error", Text: "bad", Fields: json.RawMessage(`{"z":1,"level2":null}`), Pos: starhost.Pos{File: "test.star", Line: 7, Col: 12}},
		{Plugin: "test", Level: "debug", Text: "fine \ufffd", Pos: starhost.Pos{File: "test.star", Line: 8, Col: 12}},
		{Plugin: "test", Level: "info", Text: "\ufffd cut", Pos: starhost.Pos{File: "test.star", Line: 9, Col: 10}},
	}
	if diff := cmp.Diff(want, append(l.rec.Logs(), l.logs...)); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
	builtins.PrintTo(t.Context(), "x", 1, 1, "nobody listens") // no call and so no log: must not panic
}

func TestLogLimits(t *testing.T) {
	tests := []struct {
		name, body, err string
		lines           int
		last            string
	}{
		{"lines", "for _ in range(1001):\n    ctx.log('info', 'x')", "ctx.log: over the limit of 1,000 lines a call", 1001, "tool t: "},
		{"bytes", "for _ in range(3):\n    ctx.log('info', 'x' * 100000)", "ctx.log: over the limit of 256 KiB a call", 3, "tool t: "},
		{"printed lines", "for _ in range(2000):\n    print('x')", "", 1001, "more output is dropped: over the limit of 1,000 lines a call"},
		{"printed bytes", "for _ in range(4):\n    print('x' * 100000)", "", 3, "more output is dropped: over the limit of 256 KiB a call"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := script{src: "def t(ctx):\n    \"T.\"\n    " + strings.ReplaceAll(tt.body, "\n", "\n    ") + "\n\nregister_tool(t)"}
			l := s.mustLoad(t)
			reply := l.call(t, "t", "")
			if reply.Err == nil && tt.err != "" || reply.Err != nil && !strings.HasSuffix(reply.Err.Error(), tt.err) {
				t.Errorf("got %v, want %q", reply.Err, tt.err)
			}
			if got := len(l.logs); got != tt.lines || !strings.HasPrefix(l.logs[got-1].Text, tt.last) {
				t.Errorf("got %d lines, the last one %.80q, want %d and %q", got, l.logs[got-1].Text, tt.lines, tt.last)
			}
		})
	}
}

// TestStateIsThePluginsOwn checks that each session of a plugin has its own state.
func TestStateIsThePluginsOwn(t *testing.T) {
	l := script{src: `
def count(ctx):
    """Counts."""
    ctx.state.set("n", ctx.state.get("n", 0) + 1)
    return ctx.state.get("n")

register_tool(count)
`}.mustLoad(t)
	turn := l.turn(t, host.Request{})
	var got []string
	for range 2 {
		reply, err := turn.CallTool(t.Context(), starhost.ToolCall{Name: "count"})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, reply.Result.ForLLM)
	}
	got = append(got, l.call(t, "count", "").Result.ForLLM)
	if diff := cmp.Diff([]string{"1", "2", "1"}, got); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// TestDrawsRepeat checks that the same turn draws the same numbers and UUIDs.
func TestDrawsRepeat(t *testing.T) {
	draw := func() string {
		return runInTool(t, script{}, `return [ctx.uuid(), ctx.random(1 << 40), ctx.random(1 << 40)]`).Result.ForLLM
	}
	if a, b := draw(), draw(); a != b {
		t.Errorf("got %s, then %s", a, b)
	}
}

// TestSteps checks that the lane counts the handler's steps.
func TestSteps(t *testing.T) {
	reply := runInTool(t, script{}, "x = [i for i in range(1000)]\nreturn len(x)")
	if reply.Steps < 1000 {
		t.Errorf("got %d steps, want more than 1000", reply.Steps)
	}
}

func TestFiles(t *testing.T) {
	s := script{files: map[string]string{"data/a.txt": "A", "data/b.bin": "\xff"}}
	s.src = `
A = files.read("data/a.txt")
assert_eq(A, "A")
assert_eq(files.read_bytes("data/b.bin"), b"\xff")
assert_eq(files.glob("data/*"), ["data/a.txt", "data/b.bin"])
assert_eq((files.exists("data/a.txt"), files.exists("data/c.txt")), (True, False))
assert_fails(lambda: files.read("data/b.bin"), "files.read: data/b.bin: got bytes that are not UTF-8, want text: files.read_bytes reads any")
assert_fails(lambda: files.read("data/c.txt"), "files.read: open data/c.txt: file does not exist")
assert_fails(lambda: files.read_bytes("data/c.txt"), "files.read_bytes: open data/c.txt: file does not exist")
assert_fails(lambda: files.glob("["), "files.glob: syntax error in pattern")
assert_fails(lambda: files.exists("../x"), "files.exists: invalid argument")
assert_fails(lambda: files.read(1), "got int, want string")
assert_fails(lambda: files.read_bytes(1), "got int, want string")
assert_fails(lambda: files.glob(1), "got int, want string")
assert_fails(lambda: files.exists(1), "got int, want string")
`
	if reply := runInTool(t, s, `assert_eq(files.read("data/a.txt"), A)`); reply.Err != nil {
		t.Error(reply.Err)
	}
	single := "test.star is a single file and has no folder: make it test/plugin.star"
	inLoad := script{src: `
assert_fails(lambda: files.read("a"), "files.read: ` + single + `")
assert_fails(lambda: files.glob("a"), "files.glob: ` + single + `")
assert_fails(lambda: files.exists("a"), "files.exists: ` + single + `")
assert_fails(lambda: attachment(path = "a"), "attachment: ` + single + `")
`}
	inLoad.mustLoad(t)
}

func TestAttachment(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x02\x00\x00\x00\x03\x08\x06\x00\x00\x00"
	folder := script{
		src:       `plugin(permissions = ["fs.read:runbooks/**", "fs.read:shot.png"])`,
		files:     map[string]string{"own.txt": "own", "runbooks/a.md": "mine"},
		workspace: map[string]string{"runbooks/a.md": "A", "runbooks/b.md": "B", "shot.png": png, "secret.md": "S"},
		granted:   []string{"fs.read:runbooks/**"},
	}
	single := folder
	single.files = nil
	bare := single
	bare.src = ""
	tests := []struct {
		name string
		s    script
		body string
		want string // the result, or the end of the error text
	}{
		{"own file", folder, `a = attachment(path = "own.txt"); return [str(a.content), a.name, a.type, a.url, a.width, a.height]`, `["own","own.txt","text/plain","",0,0]`},
		{"own file before the workspace's", folder, `return str(attachment(path = "runbooks/a.md").content)`, "mine"},
		{"workspace", folder, `return str(attachment(path = "runbooks/b.md", name = "x").content)`, "B"},
		{"workspace of a single file", single, `return str(attachment(path = "runbooks/a.md").content)`, "A"},
		{"missing in the workspace", folder, `attachment(path = "runbooks/c.md")`, "attachment: path: file \"runbooks/c.md\": no such file or folder"},
		{"declared and not granted", folder, `attachment(path = "shot.png")`, "fs.read:shot.png"},
		{"not declared", folder, `attachment(path = "secret.md")`, `attachment: path: "secret.md" is not in the plugin's folder; if it is the workspace's: `},
		{"not declared, single file", bare, `attachment(path = "secret.md")`, "attachment: test.star is a single file and has no folder: make it test/plugin.star"},
		{"none", folder, `attachment(name = "x")`, "attachment: got 0 of content, path and url, want exactly one"},
		{"two", folder, `attachment(content = "", url = "https://a/b")`, "attachment: got 2 of content, path and url, want exactly one"},
		{"empty content", folder, `return len(attachment(content = "").content)`, "0"},
		{"content of another type", folder, `attachment(content = 1)`, `got int, want string or bytes`},
		{"url without host", folder, `attachment(url = "file:///etc/passwd")`, `attachment: url: got "file:///etc/passwd", want an http or https URL`},
		{"url", folder, `a = attachment(url = "https://a.example/", type = "image/png"); return [a.name, a.type, a.url, str(a)]`, `["","image/png","https://a.example/","<attachment \"https://a.example/\" image/png 0 B>"]`},
		{"type of the bytes", folder, `return attachment(content = b"` + strings.NewReplacer("\x89", `\x89`, "\r", `\r`, "\n", `\n`, "\x1a", `\x1a`, "\x00", `\x00`, "\x02", `\x02`, "\x03", `\x03`, "\x08", `\x08`, "\x06", `\x06`).Replace(png) + `").type`, "image/png"},
		{"too large", folder, `attachment(content = "x" * (8 * 1024 * 1024 + 1))`, "attachment: got 8388609 bytes, limit 8388608"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reply := runInTool(t, tt.s, strings.ReplaceAll(tt.body, "; return", "\nreturn"))
			got := reply.Result.ForLLM
			if reply.Err != nil {
				got = reply.Err.Error()
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	_, err := script{src: `plugin(permissions = ["fs.read:**"])` + "\nattachment(path = 'a')", files: map[string]string{"b": ""}}.load(t)
	if err == nil || !strings.HasSuffix(err.Error(), `attachment: path: "a" is not in the plugin's folder; files of the workspace are read in handlers`) {
		t.Errorf("while loading: got %v", err)
	}
}

// TestValues checks how values of builtins compare and print.
func TestValues(t *testing.T) {
	script{src: `
f = fragment("a", source = "a.md")
assert_eq(str(f), 'fragment(content = "a", source = "a.md", target = "prompt")')
assert_eq(f == fragment("a", source = "a.md"), True)
assert_eq(f != fragment("a", source = "b.md"), True)
assert_eq(f == "a", False)
assert_eq(dir(f), ["content", "priority", "source", "target", "title"])
assert_eq((bool(f), type(f)), (True, "fragment"))
assert_fails(lambda: f < f, "fragment < fragment not implemented")
assert_fails(lambda: {f: 1}, "unhashable type: fragment")
assert_fails(lambda: f.contents, "did you mean .content?")
assert_fails(lambda: fragment("a", target = "promt"), 'fragment: target: got "promt", want "prompt" or "system" (did you mean prompt?)')
assert_fails(lambda: fragment(1), "fragment: for parameter content: got int, want string")

a = attachment(content = "x", name = "x.txt", type = "text/plain")
assert_eq(str(a), '<attachment "x.txt" text/plain 1 B>')
assert_eq(a == attachment(content = b"x", name = "x.txt", type = "text/plain"), True)
assert_eq(dir(a), ["content", "height", "name", "type", "url", "width"])
assert_eq((bool(a), type(a)), (True, "attachment"))
assert_fails(lambda: {a: 1}, "unhashable type: attachment")

r = result("x", is_error = True, attachments = [a])
assert_eq(str(r), 'result(for_llm = "x", is_error = True, attachments = [<attachment "x.txt" text/plain 1 B>])')
assert_eq(r == result("x", is_error = True, attachments = (a,)), True)
assert_eq(dir(r), ["attachments", "for_llm", "for_user", "handled", "is_error", "silent"])
assert_eq((bool(r), type(r), r.silent), (True, "result", False))
assert_eq(result(None).for_llm, "")
assert_fails(lambda: {r: 1}, "unhashable type: result")
assert_fails(lambda: result(len), "result: for_llm: got builtin_function_or_method, want a JSON value")
assert_fails(lambda: result("x", attachments = ["y"]), "result: attachments[0]: got string, want attachment")
assert_fails(lambda: result(), "missing argument for for_llm")

d = [deny("x"), ask("y"), approve(), respond("z"), modify(a = [1]), abort("w")]
assert_eq([str(x) for x in d], ['deny("x")', 'ask("y")', 'approve()', 'respond(result(for_llm = "z"))', 'modify(a = [1])', 'abort("w")'])
assert_eq((bool(d[0]), type(d[0])), (True, "decision"))
assert_fails(lambda: {d[0]: 1}, "unhashable type: decision")
assert_fails(lambda: respond(), "missing argument for result")
M = modify(list = [1])

def t():
    """T."""
    return str(M)

register_tool(t)
`}.mustLoad(t)
}

// TestStandInsAreJSON checks that views become JSON as lists and dicts do.
func TestStandInsAreJSON(t *testing.T) {
	l := script{src: `
def check(messages, tools):
    return modify(options = {"messages": messages[:1], "tools": tools})

register_hook("pre_llm_call", check)
`}.mustLoad(t)
	e := request()
	e.Name = "pre_llm_call"
	out, errs := l.fire(t, e)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := `{"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"b","description":"B.","parameters":{"type":"object"}},{"name":"a","description":"A.","parameters":{}}]}`
	if got := out.Decision.Changes["options"].(json.RawMessage); !bytes.Equal(got, []byte(want)) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTimesAreNoJSON checks that the error for a time in JSON suggests a remedy.
func TestTimesAreNoJSON(t *testing.T) {
	for expr, want := range map[string]string{
		`json.encode([time.hour])`:     "json.encode: at list index 0: cannot encode time.duration as JSON (str(x) for text)",
		`json.encode(time.time(2026))`: "json.encode: cannot encode time.time as JSON (str(x) for text)",
	} {
		_, err := script{src: "x = " + expr}.load(t)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", expr, err, want)
		}
	}
}
