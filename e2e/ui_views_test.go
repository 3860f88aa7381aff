package e2e

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// viewsPlugins have a handler of each kind that the views show.
var viewsPlugins = map[string]string{
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

register_tool(go)
register_hook("pre_tool_call", guard, kind = "shell")
register_hook("pre_tool_call", pages, match = "page_*")
register_hook("turn_start", lambda ctx: note(ctx, "now") or fragment("Be careful.", source = "caution"))
register_fragment_loader("note", load_note)
register_fragment_loader("other", lambda name: fragment("Shared text", source = name))
register_template_loader("explain", lambda name: template(prompt = "Explain $topic to a $who", system = "Be brief.", defaults = {"who": "child"}))
`,
}

// TestPageExplains uses what the views say beyond the first answer.
func TestPageExplains(t *testing.T) {
	i := openInspector(t, viewsPlugins)
	for _, view := range []inspectorView{
		{"prompt", i.explainPrompt}, {"decide", i.explainDecision}, {"tools", i.explainTool}, {"log", i.explainLog},
		{"sessions", i.explainSession}, {"plugins", i.explainPlugin}, {"broken", i.breakPlugin},
	} {
		t.Run(view.name, func(t *testing.T) {
			i.t = t
			do(i, chromedp.EmulateViewport(1280, 900))
			view.use()
			i.screenshot("explain-" + view.name)
			i.checkAccess("explain-" + view.name)
			do(i, chromedp.EmulateViewport(400, 800))
			if eval[bool](i, `document.documentElement.scrollWidth > 400`) {
				t.Error("the page is wider than 400 px")
			}
			i.screenshot("explain-" + view.name + "-400")
			i.checkAccess("explain-" + view.name + "-400")
		})
	}
}

func (i *inspector) explainPrompt() {
	i.fill("Question", "Why?")
	i.fill("References", "note:a\nother:b")
	i.fill("Template", "explain:x")
	i.fill("Parameters of the template", "topic=Rome")
	i.press("Build the prompt")
	i.wait("Explain Rome to a child")
	i.wait("also ops b") // two loaders offered one text
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
	i.fill("What the agent sends", `{"hook_event_name":"PreToolUse","session_id":"x","cwd":"/","tool_name":"Bash","tool_input":{"command":"kubectl delete pod web"}}`)
	i.press("Send to hook")
	i.wait("exit code 2: refused")
	i.wait("the event does not fit its match page_*: got Bash, kind shell")
	if n := eval[int](i, `[...document.querySelectorAll("caption")].filter((c) => c.textContent === "Handlers that did not run").length`); n != 1 {
		i.t.Errorf("lists of absent handlers: got %d, want 1", n)
	}
	i.fill("What the agent sends", `{"hook_event_name":"Stop","session_id":"x","cwd":"/"}`)
	i.press("Send to hook")
	i.wait("No plugin has a handler of turn_end.")
	i.wait("the agent goes on as without starhost")
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
	i.wait(`add to [grants] of your config: ops = ["fs.write:out/*"]`)
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
	i.wait("stored (UTC)")
	i.show("sessions/mine")
	i.wait("merged fragments: ")
	i.wait("Values of ctx.state")
	i.wait("second")
}

func (i *inspector) explainPlugin() {
	i.show("plugins/ops")
	i.wait(`no; to grant it, add to [grants] of the config: ops = ["http:example.com"]`)
	i.wait("pre_tool_call, match page_*")
	i.wait("fragment loader")
	i.wait("register_template_loader(")
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
	i.fill("Arguments", `{"tool": "page_me", "arguments": {}}`)
	i.press("Fire the event")
	i.wait("a page wakes somebody")
	i.wait("the event does not fit its kind shell")
	i.show("tools/go")
	i.wait("Go somewhere.")
	i.write("ops/plugin.star", viewsPlugins["ops/plugin.star"])
	i.poll(`document.getElementById("problem").textContent === ""`)
}
