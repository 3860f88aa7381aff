package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// A caseCount counts the golden cases that log --golden makes of records.
type caseCount struct {
	passed  int
	kinds   map[string]int // the cases, by event and action
	refused map[string]int // the records that gave no case, by reason
}

// test writes a case for each plugin of each record, and runs the cases without --update.
func (c *caseCount) test(t *testing.T, dir string, records []*decision.Record, paths ...string) {
	t.Helper()
	if c.kinds == nil {
		c.kinds, c.refused = map[string]int{}, map[string]int{}
	}
	folders := map[string]string{} // the folders of plugins, by name
	for _, p := range paths {
		folder := filepath.Join(filepath.Dir(p), "golden")
		folders[strings.TrimSuffix(filepath.Base(p), ".star")] = folder
		if err := os.RemoveAll(filepath.Join(dir, folder)); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]string{}
	for _, r := range records {
		for k := range r.Handlers {
			plugin := r.Handlers[k].Plugin
			name := fmt.Sprintf("%s/%s_%s.txtar", folders[plugin], plugin, r.ID)
			if _, ok := cases[name]; ok {
				continue
			}
			text, err := golden.CaseOf(r, plugin)
			if err != nil {
				_, why, _ := strings.Cut(err.Error(), ": ")
				c.refused[why]++
				continue
			}
			cases[name] = text
			c.kinds[r.Event+" "+r.Handlers[k].Action]++
		}
	}
	if len(cases) == 0 {
		return
	}
	writeFiles(t, dir, cases)
	var out, errs bytes.Buffer
	args := append([]string{"-C", dir, "--no-config", "test"}, paths...)
	want := fmt.Sprintf("%d passed", len(cases))
	code := run(t.Context(), args, strings.NewReader(""), &out, &errs)
	if code != 0 || !strings.Contains(out.String(), want) {
		t.Errorf("got exit code %d, want %s:\n%s%s", code, want, out.String(), errs.String())
	}
	c.passed += len(cases)
}

// TestGoldenOfRecords checks that the golden case of each record passes unchanged, over the
// recorded exchanges of all agents.
func TestGoldenOfRecords(t *testing.T) {
	var count caseCount
	for _, file := range hookArchives(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := newRecord(t, archive)
			for i, e := range exchangesOf(r.file) {
				if len(e.paths) == 0 {
					continue // cases must be beside their plugins, and these plugins are elsewhere
				}
				dir := filepath.Join(r.dir, fmt.Sprint("log", i))
				e.record(t, r.dir, &loadFlags{}, decision.New(decision.Options{Dir: dir, Include: everything}))
				count.test(t, r.dir, recordsIn(t, dir), e.paths...)
			}
		})
	}
	if count.passed < 400 || len(count.kinds) < 20 {
		t.Errorf("got %d cases of %d kinds, want 400 of 20: %v", count.passed, len(count.kinds), count.kinds)
	}
	t.Logf("%d cases passed: %v; refused: %v", count.passed, count.kinds, count.refused)
}

// worldPlugin is a plugin that calls each effect.
const worldPlugin = `plugin(
    permissions = [
        "fs.read:**", "fs.write:out/*", "http:GET,POST SERVER", "exec:echo **", "env:TEAM", "secret:PAGER",
        "store", "event:app.world.*", "tool:count", "respond:*",
    ],
    config = {"limit": 3, "names": ["a"]},
    events = {"app.world.asked": ["what"]},
)

def count(n = 1):
    """Counts.

    Args:
      n (integer): A number.
    """
    return n + 1

register_tool(count)
register_hook("app.world.asked", lambda what: "asked " + what)

def effect(ctx, tool, arguments, roles, workspace, call_id, platform):
    if tool == "read":
        return deny(ctx.fs.read("a.txt") + str(ctx.fs.exists("b.txt")) + str(ctx.fs.glob("*.txt")) + ctx.fs.stat("a.txt").name)
    if tool == "missing":
        ctx.fs.read("b.txt")
    if tool == "bytes":
        return ask(str(len(ctx.fs.read_bytes("raw"))))
    if tool == "write":
        ctx.fs.write("out/x", "text \x1b of\n" + arguments["text"])
    if tool == "get":
        r = ctx.http.get("SERVER/who", params = {"q": "é&"}, headers = {"Authorization": "Bearer " + ctx.secret("PAGER")})
        return modify(arguments = {"on_call": r.text, "status": r.status})
    if tool == "post":
        return respond(str(ctx.http.post("SERVER/x", json = {"a": [1, 2.5, None, True, "\"\\\n"]}).json))
    if tool == "echo":
        return respond(result(ctx.exec(["echo", "-n", "hi\n-- want --"]).stdout, for_user = "for the user", is_error = True))
    if tool == "env":
        return deny("team %s" % ctx.env("TEAM"))
    if tool == "state":
        n = ctx.state.get("n", 0) + 1
        ctx.state.set("n", n)
        ctx.state.set("other", {"a": [n]})
        return deny("%d of %s" % (n, ctx.state.keys())) if n > 1 else None
    if tool == "store":
        was = ctx.store.get("last")
        ctx.store.set("last", arguments)
        swapped = ctx.store.swap("flag", None, ctx.now)
        return deny("%s %s %d %s" % (was, swapped, ctx.store.add("n", 2), ctx.store.delete("gone")))
    if tool == "random":
        return deny("%d %d %s" % (ctx.random(1000), ctx.random(1000), ctx.uuid()))
    if tool == "now":
        return abort("it is " + ctx.now)
    if tool == "who":
        return deny("%s %s %s %s %s %d" % (roles, workspace, call_id, platform, ctx.session, ctx.turn))
    if tool == "call":
        return deny(str(ctx.tools.call("count", n = 4)))
    if tool == "fire":
        return deny(str(ctx.fire("app.world.asked", what = "this")))
    if tool == "config":
        return deny("%d %s" % (ctx.config.limit, ctx.config.names))
    if tool == "log":
        ctx.log("warn", "a line\n-- case.star --\n", tool = tool, n = 1)
    if tool == "fail":
        fail("broken " + tool)

register_hook("pre_tool_call", effect)
register_hook("approve_tool_call", lambda tool: approve() if tool == "get" else deny("no approval"))
register_hook("post_tool_call", lambda ctx, result: modify(result = result + str(ctx.state.get("n"))))
register_hook("turn_start", lambda user_message: modify(user_message = user_message.upper()))
register_hook("turn_start", lambda: ["a prompt\n-- now --\n", fragment("of the system", title = "T", priority = 3, target = "system")])
register_hook("pre_llm_call", lambda model: modify(model = model + "-large", options = {"temperature": 0.5}))
register_hook("pre_send", lambda system: modify(system = system + " Be brief."))
register_hook("post_llm_call", lambda response: modify(response = response + "\n\\-- want --"))
register_hook("pre_command", lambda command, args: deny("no " + command) if "x" in args else modify(args = args + ["y"]))
register_hook("post_command", lambda result: modify(result = "done: " + result))
register_hook("pre_file_save", lambda path, content: modify(content = path + content))
register_hook("post_file_save", lambda ctx, path: ctx.log("info", path))
register_hook("turn_end", lambda ctx, completed: ctx.state.set("done", completed))
register_hook("session_start", lambda platform: "on " + platform)
register_hook("session_reset", lambda ctx: ctx.state.delete("n"))
`

// worldEvents returns two events for each hook of worldPlugin.
func worldEvents() (list []starhost.Event) {
	for range 2 {
		for _, tool := range []string{
			"read", "missing", "bytes", "write", "get", "post", "echo", "env", "state", "store", "random", "now", "who", "call", "fire",
			"config", "log", "fail", "other",
		} {
			arguments := json.RawMessage(`{"text":"\u001b[2J\u202e 😀 -- want --\n-- want --\n","n":-1.50,"o":{"b":null,"a":[true,{}]}}`)
			list = append(list, starhost.Event{
				Name: "pre_tool_call", Tool: tool, Foreign: true, Agent: "claude-code", CallID: "call-" + tool, UserMessage: "words",
				Arguments: arguments, Roles: []string{"admin", "on-call"}, Workspace: "/home/ada", Model: "m1", Platform: "cli",
			})
		}
		list = append(list,
			starhost.Event{Name: "approve_tool_call", Tool: "get", Foreign: true, Arguments: json.RawMessage(`{}`)},
			starhost.Event{Name: "approve_tool_call", Tool: "put", Foreign: true, Reason: "why", Arguments: json.RawMessage(`{}`)},
			starhost.Event{Name: "post_tool_call", Tool: "get", Foreign: true, Result: starhost.Result{ForLLM: "got\n"}, DurationMS: 7},
			starhost.Event{Name: "turn_start", UserMessage: "words\n-- want --", IsFirstTurn: true},
			starhost.Event{Name: "pre_llm_call", Model: "m1", Round: 2},
			starhost.Event{Name: "pre_send", System: "You are here."},
			starhost.Event{Name: "post_llm_call", Response: "answer"},
			starhost.Event{Name: "pre_command", Command: "deliver", Args: []string{"x"}},
			starhost.Event{Name: "pre_command", Command: "deliver", Args: []string{"z"}},
			starhost.Event{Name: "post_command", Command: "deliver", Result: starhost.Result{ForLLM: "sent"}},
			starhost.Event{Name: "pre_file_save", Path: "a.txt", Content: "text"},
			starhost.Event{Name: "post_file_save", Path: "a.txt"},
			starhost.Event{Name: "turn_end", Completed: true},
			starhost.Event{Name: "session_start", Platform: "cli"},
			starhost.Event{Name: "session_reset"},
		)
	}
	return list
}

// TestGoldenOfEffects checks the golden cases of a plugin that uses all effects.
func TestGoldenOfEffects(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"on_call":"Ada","query":%q}`, r.URL.RawQuery)
	}))
	defer server.Close()
	t.Setenv("TEAM", "checkout")
	t.Setenv("PAGER", "the-value-of-the-secret")
	for _, mode := range []string{"enforce", "warn"} {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("HOME", dir)
			source := strings.ReplaceAll(worldPlugin, "SERVER", server.URL)
			source = strings.Replace(source, "secret:PAGER", "secret:PAGER@127.0.0.1", 1)
			writeFiles(t, dir, map[string]string{
				"world.star": source, "a.txt": "text of a\n", "raw": "\x00\xff",
				"starhost.toml": "[plugin.world]\nlimit = 7\nmode = \"" + mode + "\"\n",
			})
			var permissions []string
			for _, p := range []string{
				"fs.read:**", "fs.write:out/*", "http:GET,POST " + server.URL, "exec:echo **", "env:TEAM",
				"secret:PAGER@127.0.0.1", "store", "event:app.world.*", "tool:count", "respond:*",
			} {
				permissions = append(permissions, "world="+p)
			}
			log := decision.New(decision.Options{
				Dir: filepath.Join(dir, "log"), Include: everything, Report: func(err error) { t.Error(err) },
			})
			env, res := Env{
				stdout: io.Discard, stderr: io.Discard,
				getenv: os.Getenv, lookupEnv: os.LookupEnv,
				dir: dir, config: "starhost.toml",
			}.fresh(), new(Result)
			set, err := env.loadWith(t.Context(), res, &loadFlags{grant: permissions}, []string{"world.star"}, func(o *loader.Options) {
				o.World.Store = new(effects.MemoryKV)
				o.Host.Observe = log.Observe
			})
			if err != nil || len(res.problems) > 0 {
				t.Fatal(err, res.problems)
			}
			defer set.Close()
			useSet(log, set)
			session := set.Host.NewSession(host.SessionConfig{
				ID: "s1", Platform: "cli", Roles: []string{"admin"}, Workspace: "/home/ada", Model: "m1", Guarded: true,
			})
			events := worldEvents()
			for i := range events {
				if _, err := session.Fire(t.Context(), &events[i]); err != nil && events[i].Tool != "now" { // the handler aborts
					t.Errorf("%s %s: %v", events[i].Name, events[i].Tool, err)
				}
			}
			records := recordsIn(t, filepath.Join(dir, "log"))
			var count caseCount
			count.test(t, dir, records, "world.star")
			if diff := gocmp.Diff(map[string]int{}, count.refused); diff != "" || count.passed < len(events) {
				t.Errorf("got %d cases of %d events: refused (-want +got):\n%s", count.passed, len(events), diff)
			}
		})
	}
}

// TestNoGolden checks that starhost makes no golden case of a record that lacks something, and that the
// reason names what the record lacks.
func TestNoGolden(t *testing.T) {
	tests := []struct {
		event   starhost.Event
		include []string
		want    string
	}{
		{starhost.Event{Arguments: json.RawMessage(`{"command":"TOKEN=abcdef123 make"}`)}, everything,
			"/input/arguments/command is masked, and a case must not contain the value"},
		{starhost.Event{Arguments: jsontext.Must(map[string]string{"command": strings.Repeat("long ", 100_000)})}, everything,
			"/input/arguments/command is cut"},
		{starhost.Event{Arguments: json.RawMessage(`{"file_path":"a","content":"text"}`), Tool: "Write"}, nil,
			`/input/arguments/content is omitted ([log] include = ["writes"] records it)`},
		{starhost.Event{Name: "post_tool_call", Result: starhost.Result{ForLLM: "r"}}, nil,
			`/handlers/0/changes/result is omitted ([log] include records it)`},
		{starhost.Event{Name: "turn_start"}, nil, `it has no text of its context ([log] include = ["prompt"] records it)`},
		{starhost.Event{Name: "turn_end"}, everything, `no handler of the plugin "q" answered the event`},
		{starhost.Event{Arguments: json.RawMessage(`[1]`)}, everything, "the call's arguments are no object, and a case has only objects"},
		{starhost.Event{ToolAlias: "p-Bash"}, everything, `the tool "Bash" may also be "p-Bash", and a case names one`},
	}
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	writeFiles(t, dir, map[string]string{"p.star": `register_hook("pre_tool_call", lambda: None)
register_hook("post_tool_call", lambda result: modify(result = "other"))
register_hook("turn_start", lambda: "context")
register_hook("turn_end", lambda: None)
`})
	for i, tt := range tests {
		o := decision.Options{Dir: filepath.Join(dir, fmt.Sprint(i), "starhost", "log"), Include: tt.include}
		log := decision.New(o)
		env, res := Env{
			stdout: io.Discard, stderr: io.Discard,
			getenv: os.Getenv, lookupEnv: os.LookupEnv,
			dir: dir,
		}.fresh(), new(Result)
		observed := func(o *loader.Options) { o.Host.Observe = log.Observe }
		set, err := env.loadWith(t.Context(), res, &loadFlags{}, []string{"p.star"}, observed)
		if err != nil {
			t.Fatal(err)
		}
		e := tt.event
		e.Name = cmp.Or(e.Name, "pre_tool_call")
		if strings.Contains(e.Name, "tool") {
			e.Tool, e.Foreign, e.Agent = cmp.Or(e.Tool, "Bash"), true, "claude-code"
		}
		if _, err := set.Host.NewSession(host.SessionConfig{}).Fire(t.Context(), &e); err != nil {
			t.Fatal(err)
		}
		set.Close()
		t.Setenv("XDG_STATE_HOME", filepath.Join(dir, fmt.Sprint(i)))
		args := []string{"-C", dir, "log", "show", "last", "--golden"}
		if strings.Contains(tt.want, `"q"`) {
			args = append(args, "--plugin", "q")
		}
		var out, errs bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), &out, &errs)
		if code != report.ExitNegative || !strings.HasSuffix(errs.String(), " makes no golden case: "+tt.want+"\n") || out.Len() > 0 {
			t.Errorf("got exit code %d, %q, want 1 and %q", code, errs.String(), tt.want)
		}
	}
}
