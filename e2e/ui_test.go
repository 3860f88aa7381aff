package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/starhost/starhost/internal/testbed"
)

// An inspector is a running starhost ui and a browser tab.
type inspector struct {
	t   *testing.T
	ctx context.Context // the tab's
	url string          // without the token
	dir string          // the plugins' folder
	env []string
	bin string
}

// hostile is a text that would show if some view took it for markup.
const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`

// uiPlugin is a plugin whose every text is hostile.
var uiPlugin = `plugin(version = "1.2.0", permissions = ["fs.write:out/*"])

def guard(call):
    if shell.runs(call.command, "kubectl", "delete") != "no":
        return deny(` + "HOSTILE" + `)

def caution(ctx):
    return fragment("Be careful. " + HOSTILE, source = HOSTILE)

def go(ctx, where, n = 1):
    """Go somewhere.

    Args:
      where (string): the place
      n (integer): how often
    """
    ctx.fs.write("out/x", "1")
    return HOSTILE + where

register_tool(go)
register_hook("pre_tool_call", guard, kind = "shell")
register_hook("turn_start", caution)
`

// browser returns the path of a browser, or skips the test.
func browser(t *testing.T) string {
	t.Helper()
	return testbed.Need(t, "chromium", "chromium-browser", "google-chrome")
}

// openInspector starts starhost ui for a plugin and opens the page.
func openInspector(t *testing.T, plugins map[string]string, flags ...string) *inspector {
	t.Helper()
	path := browser(t)
	i := &inspector{t: t, dir: t.TempDir(), env: emptyHome(t), bin: build(t)}
	for name, text := range plugins {
		i.write(name, text)
	}
	names := slices.Sorted(maps.Keys(plugins)) // records of one plugin are short
	first := names[max(0, slices.IndexFunc(names, func(name string) bool {
		return strings.HasSuffix(name, "/plugin.star") && strings.Contains(plugins[name], `"pre_tool_call"`)
	}))]
	stdin := `{"hook_event_name":"PreToolUse","session_id":"s1","cwd":"/","tool_name":"Bash","tool_input":{"command":"%s"}}`
	for _, command := range []string{"ls", "kubectl delete pod web"} {
		cmd := i.command("hook", "claude-code", strings.TrimSuffix(first, "/plugin.star"))
		cmd.Stdin = strings.NewReader(fmt.Sprintf(stdin, command))
		_ = cmd.Run() // exit code 2 denies
	}
	open := launch(t, func(ctx context.Context) *exec.Cmd {
		cmd := exec.CommandContext(ctx, i.bin, append([]string{"ui", ".", "--listen", "127.0.0.1:0"}, flags...)...)
		cmd.Dir, cmd.Env = i.dir, i.env
		return cmd
	}, "open ")
	i.url, _, _ = strings.Cut(open, "?")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("lang", "en"), chromedp.Env(i.env...))
	allocator, closeBrowser := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(closeBrowser)
	tab, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	timed, cancel := context.WithTimeout(tab, 5*time.Minute)
	t.Cleanup(cancel)
	i.ctx = timed
	do(i, chromedp.Navigate(open))
	i.poll(`document.body && document.body.dataset.ready === "yes"`)
	return i
}

func (i *inspector) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(i.t.Context(), i.bin, args...)
	cmd.Dir, cmd.Env = i.dir, i.env
	return cmd
}

// write writes a file of the plugins. HOSTILE in it is the hostile text.
func (i *inspector) write(name, text string) {
	i.t.Helper()
	quoted, err := json.Marshal(hostile)
	file := filepath.Join(i.dir, name)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o777)
	}
	if err == nil {
		err = os.WriteFile(file, []byte(strings.ReplaceAll(text, "HOSTILE", string(quoted))), 0o666)
	}
	if err != nil {
		i.t.Fatal(err)
	}
}

// do runs an action in the tab.
func do[T any](i *inspector, a chromedp.Action[T]) T {
	i.t.Helper()
	v, err := chromedp.Run(i.ctx, a)
	if err != nil {
		body, _ := chromedp.Run(i.ctx, chromedp.Evaluate[string]("document.body.innerText.slice(0, 2000)"))
		i.t.Fatalf("%v; the page says\n%s", err, body)
	}
	return v
}

// eval evaluates a script in the page.
func eval[T any](i *inspector, script string) T {
	i.t.Helper()
	return do(i, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// poll waits until a script is true in the page.
func (i *inspector) poll(script string) {
	i.t.Helper()
	do(i, chromedp.Poll[bool](script, chromedp.WithPollingTimeout(30*time.Second)))
}

// show opens a view.
func (i *inspector) show(view string) {
	i.t.Helper()
	eval[string](i, fmt.Sprintf("location.hash = %q", view))
	time.Sleep(50 * time.Millisecond)
}

// wait waits until the view contains a text.
func (i *inspector) wait(text string) {
	i.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		i.t.Fatal(err)
	}
	i.poll("document.body.innerText.includes(" + string(quoted) + ")")
}

// fill sets a labelled input, as a person who types does. It waits for the input.
func (i *inspector) fill(label, value string) {
	i.t.Helper()
	i.poll(fmt.Sprintf(`[...document.querySelectorAll("label")].some((l) => l.textContent.startsWith(%q))`, label))
	eval[bool](i, fmt.Sprintf(`(() => {
		const label = [...document.querySelectorAll("label")].find((l) => l.textContent.startsWith(%q));
		const input = document.getElementById(label.htmlFor);
		input.value = %q;
		return input.dispatchEvent(new Event("input", { bubbles: true }));
	})()`, label, value))
}

// press presses a button by its words. It waits for the button.
func (i *inspector) press(words string) {
	i.t.Helper()
	i.poll(fmt.Sprintf(`[...document.querySelectorAll("button, summary")].some((b) => b.textContent === %q)`, words))
	eval[bool](i, fmt.Sprintf(`[...document.querySelectorAll("button, summary")].find((b) => b.textContent === %q).click(), true`, words))
}

// screenshot writes a picture if STARHOST_SCREENSHOTS names a folder.
func (i *inspector) screenshot(name string) {
	i.t.Helper()
	dir := os.Getenv("STARHOST_SCREENSHOTS")
	if dir == "" {
		return
	}
	png := do(i, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o666); err != nil {
		i.t.Fatal(err)
	}
}

// TestPage uses each view as an operator does. Whatever a plugin or the log says stays text.
func TestPage(t *testing.T) {
	i := openInspector(t, map[string]string{"demo/plugin.star": uiPlugin}, "--grant", "demo=fs.write:out/*")
	if at := do(i, chromedp.Location()); at != i.url {
		t.Errorf("the URL of the page: got %s, want %s without the token", at, i.url)
	}
	for _, view := range i.views() {
		t.Run(view.name, func(t *testing.T) {
			i.t = t
			do(i, chromedp.EmulateViewport(1200, 900))
			view.use()
			i.screenshot(view.name)
			if strings.Contains(do(i, chromedp.Title()), "owned") {
				t.Error("a hostile text ran as a script")
			}
			if eval[int](i, `document.querySelectorAll("main img, main script").length`) > 0 {
				t.Error("a hostile text became markup")
			}
			do(i, chromedp.EmulateViewport(400, 800))
			if eval[bool](i, `document.documentElement.scrollWidth > 400`) {
				t.Error("the page is wider than 400 px")
			}
			i.screenshot(view.name + "-400")
			i.checkAccess(view.name + "-400") // the last ones: without axe-core they skip
			do(i, chromedp.EmulateViewport(1200, 900))
			i.checkAccess(view.name)
		})
	}
}

// An inspectorView is one view and what a person does there.
type inspectorView struct {
	name string
	use  func()
}

func (i *inspector) views() []inspectorView {
	return []inspectorView{
		{"start", func() {
			i.wait("demo 1.2.0")
			i.wait("kubectl delete pod web")
			i.wait("No agent of this machine has settings.")
			i.wait("There are no cases")
			i.wait("No stored session waits.")
		}},
		{"prompt", func() {
			i.show("prompt")
			i.fill("Question", "Why is p99 up?")
			i.press("Build the prompt")
			i.wait("Be careful. " + hostile)
			i.wait("turn_start")
			i.fill("Question", "And now?")
			i.press("Build the prompt")
			i.wait("And now?")
			i.wait("The first 1 of 2 blocks")
		}},
		{"decide", func() {
			i.show("decide")
			i.wait("An event of an agent")
			i.fill("What the agent sends", `{"hook_event_name":`)
			i.press("Send to hook")
			i.wait("exit code 2")
			i.fill("Command", "kubectl delete pod web # "+hostile)
			i.press("Decide about the command")
			i.wait("exit code 2: refused")
			i.wait("demo/plugin.star: 2 lines")
			i.fill("What the agent sends", `{"hook_event_name":"PreToolUse","session_id":"x","cwd":"/","tool_name":"Bash","tool_input":{"command":"kubectl delete pod web"}}`)
			i.press("Send to hook")
			i.wait("Answer to the agent")
			i.wait(hostile)
			i.fill("Arguments", `{"tool": "Bash", "arguments": {"command": "ls"}}`)
			i.press("Fire the event")
			i.wait("All handlers of pre_tool_call ran.")
			i.wait("demo/plugin.star: 1 line.")
		}},
		{"tools", func() {
			i.show("tools/go")
			i.wait("Go somewhere.")
			i.fill("where", "Rome")
			i.fill("n (optional)", "3")
			i.press("Call")
			i.wait("Rome")
			i.wait("These effects did not run:")
		}},
		{"log", func() {
			i.show("log")
			i.wait("2 of 2 records")
			i.wait("Records over time")
			i.checkRecords()
			i.press("More filters")
			i.fill("Tool, a glob", "kind:write")
			i.wait("0 of 2 records")
			i.fill("Tool, a glob", "kind:shell")
			i.fill("Answer", "deny")
			i.wait("1 of 2 records")
			eval[bool](i, `document.querySelector('a[href^="#log/show/"]').click(), true`)
			i.wait("Save as golden case")
			i.fill("Name of the case", "frozen")
			i.press("Save as golden case")
			i.wait("written: golden/frozen.txtar")
			i.press("Save as golden case")
			i.wait("file exists")
			if out, err := i.command("test", ".").CombinedOutput(); err != nil {
				i.t.Errorf("starhost test: %v\n%s", err, out)
			}
			i.press("What would the plugins on the disk decide?")
			i.press("Replay with the working copy")
			i.wait("same\n2\n")
			i.wait("No decision would change.")
		}},
		{"sessions", func() {
			if out, err := i.command("eval", ".", "--session", "mine", "-p", hostile).CombinedOutput(); err != nil {
				i.t.Fatalf("eval --session: %v\n%s", err, out)
			}
			i.show("sessions")
			i.wait("mine")
			i.show("sessions/mine")
			i.wait("Messages")
			i.wait(hostile)
		}},
		{"plugins", func() {
			i.show("plugins")
			i.press("Run the golden cases")
			i.wait("1 passed, 0 did not")
			i.show("plugins/demo")
			i.wait("fs.write:out/*")
			i.wait(`register_hook("turn_start", caution)`)
			i.wait("In the decision log, by the place of the answer")
			i.press("Measure the hooks")
			i.wait("Measured with an invented event")
			if n := eval[int](i, `document.querySelectorAll(".source .reached").length`); n != 1 {
				i.t.Errorf("lines that the last event reached: got %d, want the 1 of guard", n)
			}
			if n := eval[int](i, `document.querySelectorAll(".source .missed").length`); n != 3 {
				i.t.Errorf("lines that no case reached: got %d, want the 3 of caution and go", n)
			}
			i.write("demo/plugin.star", uiPlugin+"\n\ndef broken(:\n")
			i.wait("Loaded again at")
			i.wait("[E0101]")
			i.write("demo/plugin.star", strings.Replace(uiPlugin, "1.2.0", "1.2.1", 1))
			i.wait("demo 1.2.1")
		}},
	}
}

// checkRecords checks that the list of records comes first, and says what was asked, when by the
// browser's clock, and the last letters of the record's id.
func (i *inspector) checkRecords() {
	i.t.Helper()
	_, last := i.lastRecord()
	var r struct{ ID, Time string }
	if err := json.Unmarshal([]byte(last), &r); err != nil {
		i.t.Fatal(err)
	}
	local := eval[string](i, fmt.Sprintf(`new Date(%q).toLocaleString("sv-SE")`, r.Time))
	row := eval[string](i, `document.querySelector("section[aria-label=Records] .scroll").querySelector("tbody tr").innerText`)
	for _, want := range []string{"Bash kubectl delete pod web", local, r.ID[len(r.ID)-8:]} {
		if !strings.Contains(row, want) {
			i.t.Errorf("the first row of the first table: got %q, want %q in it", row, want)
		}
	}
}

// TestPageOfSamples uses the views with the plugins of the folder scripts, a log that a stranger
// wrote, and a file with a hostile name.
func TestPageOfSamples(t *testing.T) {
	samples := map[string]string{}
	for _, name := range []string{"calculator", "evidence", "guard", "incident", "policy", "redact", "runbooks"} {
		root := filepath.Join("..", "scripts", name)
		err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(file)
			rel, _ := filepath.Rel(filepath.Join("..", "scripts"), file)
			samples[rel] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	i := openInspector(t, samples)
	i.show("prompt")
	i.fill("Question", "Why is checkout slow?")
	i.fill("References", "runbook:HighLatency")
	i.press("Build the prompt")
	i.wait("Check the payment gateway first")
	i.show("decide")
	i.fill("Arguments", `{"tool": "restart_pods", "arguments": {"cluster": "prod-1"}}`)
	i.press("Fire the event")
	i.wait("policy/plugin.star:")
	i.show("tools/calculate")
	i.wait("Evaluate a mathematical expression")
	i.fill("expression", "6 * 7")
	i.press("Call")
	i.wait("42")
	i.show("plugins")
	i.press("Run the golden cases")
	i.wait("passed, 0 did not")
	i.show("plugins/policy/commands")
	i.wait("steps to load it")
	i.addHostileRecord()
	i.show("log")
	i.wait("3 of 3 records")
	eval[bool](i, `document.querySelector('a[href^="#log/show/"]').click(), true`)
	i.wait("Save as golden case")
	i.show("plugins")
	i.write("<img src=x onerror=document.title='owned'>.star", "x = 1\n")
	i.wait("onerror=document.title='owned'")
	if title := do(i, chromedp.Title()); strings.Contains(title, "owned") {
		t.Error("a hostile text ran as a script")
	}
	if n := eval[int](i, `document.querySelectorAll("main img, main script").length`); n > 0 {
		t.Error("a hostile text became markup")
	}
}

// addHostileRecord repeats the last record of the log with hostile texts in it.
func (i *inspector) addHostileRecord() {
	i.t.Helper()
	file, last := i.lastRecord()
	var r map[string]any
	if err := json.Unmarshal([]byte(last), &r); err != nil {
		i.t.Fatal(err)
	}
	for _, name := range []string{"agent", "session", "tool", "kind", "plugin", "answered"} {
		r[name] = hostile
	}
	r["id"] = r["id"].(string)[:20] + "ZZZZZZ"
	said := map[string]any{"action": hostile, "reason": hostile, "plugin": hostile, "pos": hostile + ":1:1", "steps": 1}
	r["decision"], r["handlers"] = said, []any{said}
	line, err := json.Marshal(r)
	if err != nil {
		i.t.Fatal(err)
	}
	i.appendLog(file, "\n"+string(line)+"\n")
}

// checkAccess asks axe-core for barriers in the view, in both colour schemes.
func (i *inspector) checkAccess(name string) {
	i.t.Helper()
	clients(i.t)
	axe, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	if err != nil {
		i.t.Fatal(err)
	}
	for _, scheme := range []string{"light", "dark"} {
		i.setScheme(scheme)
		eval[bool](i, string(axe)+"; true")
		// A part that is being read again is paler.
		i.poll(`!document.querySelector("[aria-busy=true]")`)
		serious := eval[[]string](i, `axe.run().then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical")
			.map((v) => v.id + ": " + v.nodes.map((n) => n.html.slice(0, 150)).join(" | ")))`)
		for _, s := range serious {
			i.t.Errorf("%s, %s: axe-core finds %s", name, scheme, s)
		}
		if scheme == "dark" {
			i.screenshot(name + "-dark")
		}
	}
	i.setScheme("light")
}

// setScheme makes the browser prefer dark or light pages.
func (i *inspector) setScheme(scheme string) {
	i.t.Helper()
	prefer := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
	params := emulation.SetEmulatedMediaParams{Features: prefer}
	if _, err := chromedp.Call(i.ctx, emulation.SetEmulatedMedia, params); err != nil {
		i.t.Fatal(err)
	}
}

// TestPageRefuses attacks the server as another page and another program do.
func TestPageRefuses(t *testing.T) {
	i := openInspector(t, map[string]string{"demo/plugin.star": uiPlugin, "secret.txt": "s3cret"})
	if err := os.Symlink(filepath.Join(i.dir, "secret.txt"), filepath.Join(i.dir, "demo", "link.star")); err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(i.url)
	if err != nil {
		t.Fatal(err)
	}
	if cookie := eval[string](i, "document.cookie"); cookie != "" {
		t.Errorf("a script of the page reads the cookie: got %q", cookie)
	}
	for _, tt := range []struct {
		name, method, path, host, origin, cookie string
		status                                   int
	}{
		{"no cookie", "GET", "/", "", "", "", 401},
		{"no cookie, API", "POST", "/api/list", "", i.url[:len(i.url)-1], "", 401},
		{"a guessed token", "GET", "/?token=AAAAAAAAAAAAAAAAAAAAAAAAAA", "", "", "", 401},
		{"an empty token", "GET", "/?token=", "", "", "", 401},
		{"another page", "POST", "/api/list", "", "https://evil.example", "", 403},
		{"another host", "GET", "/", "evil.example:" + base.Port(), "", "", 403},
		{"a forged cookie", "GET", "/api/about", "", "", "AAAA", 401},
	} {
		target := strings.TrimSuffix(i.url, "/") + tt.path
		r, err := http.NewRequestWithContext(t.Context(), tt.method, target, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = tt.host
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		if tt.cookie != "" {
			r.AddCookie(&http.Cookie{Name: "starhost_ui_" + base.Port(), Value: tt.cookie})
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.status || strings.Contains(string(body), "schema") {
			t.Errorf("%s: got %d %.100q, want %d and no data", tt.name, resp.StatusCode, body, tt.status)
		}
	}
	// The page gets no file outside of the plugin, and its values are no flags.
	ask := func(path, question string) string {
		return fmt.Sprintf(`fetch("/api/%s", {method: "POST", body: JSON.stringify(%s)})`, path, question)
	}
	for _, tt := range []struct{ name, script, want string }{
		{"a file above", `fetch("/api/source?plugin=demo&file=../secret.txt")`, "error"},
		{"a link", `fetch("/api/source?plugin=demo&file=link.star")`, "error"},
		{"another plugin", `fetch("/api/source?plugin=../x&file=plugin.star")`, "error"},
		{"a file as arguments", ask("fire", `{event: "turn_start", args: "@secret.txt"}`), "want a JSON object"},
		{"a flag as a value", ask("session", `{id: "--help"}`), "--help"},
		{"an unknown member", ask("list", `{output: "x"}`), "unknown member"},
		{"a case above", ask("golden", `{id: "x", plugin: "demo", name: "../x"}`), "want small letters"},
	} {
		text := eval[string](i, tt.script+".then((r) => r.text())")
		if !strings.Contains(text, tt.want) || strings.Contains(text, "s3cret") || strings.Contains(text, "Usage") {
			t.Errorf("%s: got %.200q, want %q", tt.name, text, tt.want)
		}
	}
}

// TestPageOfMany shows 1,000 plugins and a log of 100,000 records. It takes a minute.
func TestPageOfMany(t *testing.T) {
	testbed.NeedSet(t, "STARHOST_LONG", "1,000 plugins and 100,000 records take a minute")
	plugins := map[string]string{}
	for n := range 1000 {
		plugins[fmt.Sprintf("p%03d.star", n)] = fmt.Sprintf(
			"def guard(call):\n    return None\n\ndef do%d():\n    \"\"\"Do it.\"\"\"\n    return \"done\"\n\n"+
				"register_hook(\"pre_tool_call\", guard, kind = \"shell\")\nregister_tool(do%d)\n", n, n)
	}
	i := openInspector(t, plugins)
	i.copyRecords(100_000)
	start := time.Now()
	i.show("log")
	i.wait("100002 of 100002 records")
	t.Logf("the log of 100,002 records is read and shown: %v", time.Since(start))
	paint := eval[float64](i, `performance.getEntriesByType("paint").find((e) => e.name === "first-contentful-paint").startTime`)
	t.Logf("first contentful paint: %.0f ms", paint)
	for _, query := range []string{"tool=kind:shell", "action=deny", "text=kubectl", "since=1h&agent=claude-code"} {
		ms := eval[float64](i, fmt.Sprintf(
			`(async () => { const t = performance.now(); await (await fetch("/api/log?%s")).json(); return performance.now() - t; })()`, query))
		t.Logf("filter %s: %.0f ms", query, ms)
	}
	for _, view := range []struct{ name, text string }{
		{"plugins", "700 more"}, {"tools", "700 more"}, {"prompt", "Build the prompt"},
	} {
		start := time.Now()
		i.show(view.name)
		i.wait(view.text)
		t.Logf("view %s with 1,000 plugins: %v", view.name, time.Since(start))
	}
	start = time.Now()
	i.fill("Question", "Why?")
	i.press("Build the prompt")
	i.wait("Handlers in the order")
	t.Logf("a prompt with 1,000 plugins: %v", time.Since(start))
}

// copyRecords repeats the last record of the log under other ids.
func (i *inspector) copyRecords(n int) {
	i.t.Helper()
	file, last := i.lastRecord()
	_, id, _ := strings.Cut(last, `"id":"`)
	id = id[:26]
	var all strings.Builder
	for k := range n {
		all.WriteString("\n" + strings.Replace(last, id, fmt.Sprintf("%s%08d", id[:18], k), 1) + "\n")
	}
	i.appendLog(file, all.String())
}

// lastRecord returns the file of the log and its last line.
func (i *inspector) lastRecord() (file, line string) {
	i.t.Helper()
	files, err := filepath.Glob(filepath.Join(i.home(), "starhost", "log", "decisions-*.jsonl"))
	if err != nil || len(files) != 1 {
		i.t.Fatalf("log: got %v (%v), want one file", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		i.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return files[0], lines[len(lines)-1]
}

// appendLog writes to the end of a file of the log.
func (i *inspector) appendLog(file, text string) {
	i.t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil {
		i.t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		i.t.Fatal(err)
	}
}

// home returns the folder of the state of the program.
func (i *inspector) home() string {
	return strings.TrimPrefix(i.env[len(i.env)-2], "XDG_STATE_HOME=") // emptyHome appends it
}
