package e2e

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// viewsPlugins have a handler of each kind that the views show.
var viewsPlugins = map[string]string{
	"ops/dash.png": dashboard(),
	"ops/plugin.star": `plugin(version = "2.0.0", permissions = ["fs.write:out/*", "http:example.com"])

def guard(call):
    if shell.runs(call.command, "kubectl", "delete") != "no":
        return deny("deletes need a ticket")

def pages(tool, arguments):
    return ask("a page wakes somebody")

def go(ctx, where, n = 3, mode = "fast"):
    """Go somewhere.

    Args:
      where (string): the place
      n (integer): how often
      mode (string): one of "fast", "slow"
    """
    ctx.fs.write("out/x", "1")
    return "went to " + where

def note(ctx, name):
    ctx.state.set("last", name)
    return None

def load_note(name):
    return [fragment("Note " + name, source = name), fragment("Shared text", source = "shared")]

def restart(service):
    """Restart a service."""
    return service + " restarted"

def page_oncall(ctx):
    """Wake somebody."""
    return "woken"

def chart(name):
    return [
        attachment(path = "dash.png", name = "dashboard of " + name),
        attachment(content = "<svg xmlns='http://www.w3.org/2000/svg'><script>document.title='owned'</script></svg>", type = "image/svg+xml", name = "evil.svg"),
        attachment(content = "<script>document.title='owned'</script>", type = "image/png", name = "evil.png"),
    ]

register_tool(page_oncall)
register_tool(restart, approval = "ask")
register_fragment_loader("chart", chart)
register_tool(go)
register_hook("pre_tool_call", guard, kind = "shell")
register_hook("pre_tool_call", pages, match = "page_*")
register_hook("turn_start", lambda ctx: note(ctx, "now") or fragment("Be careful.", source = "caution"))
register_fragment_loader("note", load_note)
register_fragment_loader("other", lambda name: fragment("Shared text", source = name))
register_template_loader("explain", lambda name: template(prompt = "Explain $topic to a $who", system = "Be brief.", defaults = {"who": "child"}))
`,
}

// dashboard returns a picture.
func dashboard() string {
	picture := image.NewRGBA(image.Rect(0, 0, 320, 120))
	for x := range 320 {
		for y := 119; y > 119-(20+x*x/1200); y-- {
			picture.Set(x, y, color.RGBA{90, 63, 214, 255})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, picture) // it writes to memory
	return b.String()
}

// TestPageExplains uses what the views say beyond the first answer.
func TestPageExplains(t *testing.T) {
	i := openInspector(t, viewsPlugins)
	for _, view := range []inspectorView{
		{"start", i.explainStart}, {"prompt", i.explainPrompt}, {"pictures", i.showPictures}, {"decide", i.explainDecision}, {"tools", i.explainTool}, {"log", i.explainLog},
		{"sessions", i.explainSession}, {"approve", i.approveCalls}, {"plugins", i.explainPlugin}, {"broken", i.breakPlugin},
	} {
		t.Run(view.name, func(t *testing.T) {
			i.t = t
			do(i, chromedp.EmulateViewport(1280, 900))
			view.use()
			i.checkTables()
			i.screenshot("explain-" + view.name)
			do(i, chromedp.EmulateViewport(400, 800))
			if eval[bool](i, `document.documentElement.scrollWidth > 400`) {
				t.Error("the page is wider than 400 px")
			}
			i.checkTables()
			i.screenshot("explain-" + view.name + "-400")
			i.checkAccess("explain-" + view.name + "-400") // the last ones: without axe-core they skip
			do(i, chromedp.EmulateViewport(1280, 900))
			i.checkAccess("explain-" + view.name)
		})
	}
}

// checkTables checks that no table of the view is cut.
func (i *inspector) checkTables() {
	i.t.Helper()
	cut := eval[string](i, `[...document.querySelectorAll(".scroll")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.ariaLabel).join(", ")`)
	if cut != "" {
		i.t.Errorf("tables that are wider than the page: %s", cut)
	}
}

// explainStart installs the guards into an agent, and writes a case that fails.
func (i *inspector) explainStart() {
	i.wait("No agent of this machine has settings.")
	if out, err := i.command("hook", "install", "claude-code", "ops").CombinedOutput(); err != nil {
		i.t.Fatalf("hook install: %v\n%s", err, out)
	}
	i.write("ops/golden/fails.txtar", "-- case.star --\nassert_eq(prompt(text = \"Why?\").text, \"Why?\")\n")
	i.write("ops/plugin.star", viewsPlugins["ops/plugin.star"]+"\n")
	i.wait("Claude Code\tcan be lifted")
	i.wait("disableAllHooks") // one of what can lift it
	i.wait("0 passed, 1 did not")
	i.wait("No stored session waits.")
	if err := os.RemoveAll(filepath.Join(i.dir, "ops", "golden")); err != nil {
		i.t.Fatal(err)
	}
}

// showPictures builds a prompt with attachments. Only a real picture is shown as one.
func (i *inspector) showPictures() {
	i.show("prompt")
	i.press("More fields")
	i.fill("Template", "")
	i.fill("Parameters of the template", "")
	i.fill("References", "chart:checkout")
	i.press("Build the prompt")
	i.wait("dashboard of checkout image/png")
	i.wait("320 × 120, from ops")
	i.wait("evil.svg image/svg+xml")
	i.wait("This picture is too large or broken")
	i.poll(`document.querySelectorAll("main img").length === 1 && document.querySelector("main img").naturalWidth === 320`)
	if title := do(i, chromedp.Title()); strings.Contains(title, "owned") {
		i.t.Error("a hostile picture ran as a script")
	}
}

func (i *inspector) explainPrompt() {
	i.show("prompt")
	i.fill("Question", "Why?")
	i.fill("References", "note:a\nother:b")
	i.fill("Template", "explain:x")
	i.fill("Parameters of the template", "topic=Rome")
	i.press("Build the prompt")
	i.wait("Explain Rome to a child")
	i.wait("Also given by ops b") // two loaders offered one text
	i.wait("Loaders of the references and of the template")
	i.fill("References", "note:c")
	i.press("Build the prompt")
	i.wait("Note c")
	i.wait("New blocks: 1; gone: 1.")
	i.press("Blocks that are gone")
	i.wait("Note a")
	i.fill("Show", "anthropic")
	i.press("Build the prompt")
	i.wait("--model names one")
	i.fill("Model", "claude-x")
	i.press("Build the prompt")
	i.wait(`"messages"`)
	i.fill("Show", "json")
	i.press("Build the prompt")
	i.wait("Loaders of the references")
	eval[bool](i, `[...document.querySelectorAll(".block pre")].find((p) => p.textContent === "Be careful.").click(), true`)
	i.wait(`register_hook("turn_start"`)
	if here := eval[string](i, `document.querySelector(".source .here").textContent`); !strings.Contains(here, "caution") {
		i.t.Errorf("a click on a block shows the line %q, want the one that registers its hook", here)
	}
	i.show("prompt")
	i.wait("Be careful.")
}

func (i *inspector) explainDecision() {
	i.show("decide")
	i.wait("It has the arguments session_id, tool, arguments")
	i.fill("Agent", "gemini")
	i.fill("Command", "kubectl delete pod web")
	i.press("Example event")
	if got := eval[string](i, `document.querySelector("textarea").value`); !strings.Contains(got, "run_shell_command") || !strings.Contains(got, "kubectl delete pod web") {
		i.t.Errorf("the example event of gemini: got %s", got)
	}
	i.fill("Agent", "claude-code")
	i.press("Decide about the command")
	i.wait("exit code 2: refused")
	i.wait("the event does not fit its match page_*: got Bash, kind shell")
	i.wait("It reached ops/plugin.star: 2 lines.")
	if n := eval[int](i, `[...document.querySelectorAll("caption")].filter((c) => c.textContent === "Handlers that did not run").length`); n != 1 {
		i.t.Errorf("lists of absent handlers: got %d, want 1", n)
	}
	i.fill("What the agent sends", `{"hook_event_name":"Stop","session_id":"x","cwd":"/"}`)
	i.press("Send to hook")
	i.wait("No plugin has a handler of turn_end.")
	i.wait("the agent goes on as without starhost")
	i.wait("It reached no statement")
	i.fill("Event", "turn_start")
	i.press("Example arguments")
	i.press("Fire the event")
	i.wait("It reached ops/plugin.star: 2 lines.")
	i.wait("turn_start\tops")
}

func (i *inspector) explainTool() {
	i.show("tools/go")
	i.wait("Go somewhere.")
	if got := eval[string](i, `[...document.querySelectorAll("form input[type=number]")].map((f) => f.placeholder).join()`); got != "3" {
		i.t.Errorf("the default of n: got %q, want 3", got)
	}
	i.fill("where", "Rome")
	i.fill("mode", `"slow"`)
	do(i, chromedp.Focus("form textarea"))
	do(i, chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2))) // Ctrl
	i.wait("Result: an error that the model reads")
	i.wait(`add to [grants] of your config: ops = ["fs.write:out/*"`)
}

func (i *inspector) explainLog() {
	i.show("log")
	i.wait("2 of 2 records")
	i.wait("Records over time, at most")
	i.press("What would the plugins on the disk decide?")
	i.write("ops/plugin.star", strings.Replace(viewsPlugins["ops/plugin.star"], `"delete"`, `"drain"`, 1))
	i.press("Replay with the working copy")
	i.wait("now pass\tops")
	eval[bool](i, `document.querySelector('a[href^="#log/show/"]').click(), true`)
	i.wait("Save as golden case")
	i.fill("Name of the case", "../x")
	i.press("Save as golden case")
	i.wait("want small letters")
	eval[bool](i, `(document.querySelector("section[aria-label='One record'] button").focus(), true)`)
	do(i, chromedp.KeyEvent(kb.Escape))
	i.poll(`location.hash === "#log" && !document.body.innerText.includes("Save as golden case")`)
	i.write("ops/plugin.star", viewsPlugins["ops/plugin.star"])
}

func (i *inspector) explainSession() {
	for _, args := range [][]string{{"-p", "first", "-f", "note:a"}, {"-p", "second"}} {
		if out, err := i.command(append([]string{"eval", ".", "--session", "mine"}, args...)...).CombinedOutput(); err != nil {
			i.t.Fatalf("eval --session: %v\n%s", err, out)
		}
	}
	i.show("sessions")
	i.wait("stored")
	i.show("sessions/mine")
	i.wait("merged fragments: ")
	i.wait("Values of ctx.state")
	i.wait("second")
}

// approveCalls approves a call of the page, and one for which a stored turn waits.
func (i *inspector) approveCalls() {
	i.show("tools/page_oncall")
	i.wait("Wake somebody.")
	i.press("Call")
	i.wait("The call waits for an approval")
	i.wait("a page wakes somebody")
	i.press("Approve the call")
	i.wait("woken")

	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function",`+
			`"function":{"name":"restart","arguments":"{\"service\": \"db\"}"}}]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer model.Close()
	config := filepath.Join(i.t.TempDir(), "config.toml")
	if err := os.WriteFile(config, []byte("[model.acme]\nbase_url = \""+model.URL+"/v1\"\n"), 0o666); err != nil {
		i.t.Fatal(err)
	}
	out, _ := i.command("run", "ops", "--config", config, "-m", "acme/small", "-p", "Restart it.", "--session", "waiting", "--approve", "later").CombinedOutput()
	if !strings.Contains(string(out), "the turn waits for an approval: restart") {
		i.t.Fatalf("run --approve later: got %s", out)
	}
	i.show("start")
	i.poll(`[...document.querySelectorAll('a[href="#sessions/waiting"]')].length === 1`)
	i.show("sessions/waiting")
	i.wait("A call waits for an approval")
	i.wait("tool restart asks for approval")
	i.screenshot("explain-approve-waiting")
	i.wait("a turn stores them when it ends")
	i.press("Approve the call")
	i.wait("The call has its answer")
	if out, err := i.command("sessions", "show", "waiting").CombinedOutput(); err != nil || !strings.Contains(string(out), "answered") {
		i.t.Errorf("sessions show: got %s, %v; want the answer", out, err)
	}
}

func (i *inspector) explainPlugin() {
	i.show("plugins/ops")
	i.wait(`no; to grant it, add to [grants] of the config: ops = ["http:example.com"]`)
	i.wait("pre_tool_call, match page_*")
	i.wait("fragment loader")
	i.wait("register_template_loader(")
	if got := eval[string](i, `[...document.querySelectorAll(".source .reached")].map((l) => l.textContent).join()`); got != `    ctx.state.set("last", name),    return None` {
		i.t.Errorf("the lines that the last event reached: got %q", got)
	}
	if got := eval[string](i, `[...new Set([...document.querySelectorAll(".source span")].map((s) => s.className))].sort().join()`); got != "code-call,code-number,code-string,code-word" {
		i.t.Errorf("colours of the source: got %s", got)
	}
	want, got := viewsPlugins["ops/plugin.star"], eval[string](i, `[...document.querySelectorAll(".source li")].map((l) => l.textContent).join("\n")`)
	if got != want {
		i.t.Errorf("the source: got\n%s\nwant\n%s", got, want)
	}
}

// breakPlugin saves a plugin with a mistake. The page shows the mistake, and the plugins from
// before answer.
func (i *inspector) breakPlugin() {
	i.show("decide")
	i.wait("An event of an agent")
	i.write("ops/plugin.star", viewsPlugins["ops/plugin.star"]+"\n\ndef broken(:\n")
	i.wait("The plugins from before this mistake answer on this page")
	i.fill("What the agent sends", `{"hook_event_name":"PreToolUse","session_id":"x","cwd":"/","tool_name":"Bash","tool_input":{"command":"kubectl delete pod web"}}`)
	i.press("Send to hook")
	i.wait("exit code 2: refused")
	i.wait("deletes need a ticket")
	i.fill("Event", "pre_tool_call")
	i.fill("Arguments", `{"tool": "page_me", "arguments": {}}`)
	i.press("Fire the event")
	i.wait("a page wakes somebody")
	i.wait("the event does not fit its kind shell")
	i.show("tools/go")
	i.wait("Go somewhere.")
	i.write("ops/plugin.star", viewsPlugins["ops/plugin.star"])
	i.poll(`document.getElementById("problem").textContent === ""`)
}
