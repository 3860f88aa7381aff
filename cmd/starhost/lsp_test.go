package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/report"
)

// lspPlugin is a plugin of two files.
var lspPlugin = map[string]string{
	"plugins/oncall/plugin.star": "",
	"plugins/oncall/lib/text.star": `"""Texts."""

LIMIT = 3

def shorten(text, most = 9):
    """Shortens a text.

    Args:
      text: The text.
      most: Bytes.
    """
    return text[:most]
`,
}

const oncall = "plugins/oncall/plugin.star"

func TestLSPDiagnostics(t *testing.T) {
	c := startLSP(t, lspPlugin)
	const good = `"""Pages."""

def page(team):
    """Pages a team.

    Args:
      team (string): Which one.
    """
    return "é𝄞" + taem

register_tool(page, name = "page")
`
	c.open(oncall, good)
	want := []string{`8:19-23 E0102 undefined: taem (did you mean team?)`, `2:9-13 E0916 parameter team is not used`}
	slices.Sort(want)
	check := func(want ...string) {
		t.Helper()
		got := c.diagnostics(oncall)
		slices.Sort(got)
		want = append([]string{}, want...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("diagnostics (-want +got):\n%s", diff)
		}
	}
	check(want...)
	// After this edit the text breaks after the findings. The findings stay, and move with their lines.
	broken := strings.Replace(good, "\ndef page", "x = (\n\n\ndef page", 1)
	c.change(oncall, broken)
	got := c.diagnostics(oncall)
	if !slices.Contains(got, `10:19-23 E0102 undefined: taem (did you mean team?)`) || len(got) != 2 {
		t.Errorf("broken: got %q, want a finding two lines further down, and the mistake", got)
	}
	c.change(oncall, strings.Replace(good, "taem", "team", 1))
	check()
	// The server uses the text of a file that is not saved for the files that load it.
	c.change(oncall, strings.Replace(good, "taem", "shorten(team)", 1)+"load(\"lib/text.star\", \"shorten\")\n")
	check()
	c.open("plugins/oncall/lib/text.star", "def shrink(text):\n    return text\n")
	got = c.diagnostics(oncall)
	if len(got) != 1 || !strings.Contains(got[0], "shorten not found") {
		t.Errorf("a name that another open file lost: got %q", got)
	}
	c.change(oncall, "")
	c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri(oncall)}})
	for {
		if m := c.note("textDocument/publishDiagnostics"); strings.Contains(string(m.Params), `"diagnostics":[]`) {
			break
		}
	}
	if code := c.end(); code != report.ExitOK {
		t.Errorf("exit code: got %d, want 0", code)
	}
}

func TestLSPCompletion(t *testing.T) {
	c := startLSP(t, lspPlugin)
	const head = `plugin(permissions = [], config = {"team": "checkout", "max": 3})

load("lib/text.star", "shorten")

def page(ctx, team):
    """Pages."""
    return team

register_tool(page)
register_fragment_loader("runbook", lambda arg: arg)
`
	c.open(oncall, head)
	c.diagnostics(oncall)
	tests := []struct {
		name, text    string
		want, without string // labels, separated by spaces
	}{
		{"ctx", head + "def f(ctx):\n    ctx.|\n", "config exec fs http now state store", "page"},
		{"a part of ctx", head + "def f(ctx):\n    x = (ctx.http.|\n\ndef g(): pass\n", "get post request", "fs"},
		{"a module", head + "x = text.|", "dedent wrap", "get"},
		{"names", head + "def f(ctx, more):\n    local = 1\n    x = |\n", "local more ctx page shorten register_tool deny len text config", "messages call prompt"},
		{"names of another function", head + "def f(hidden):\n    pass\n\nx = |\n", "page", "hidden"},
		{"a comprehension", head + "x = [y| for y in [1]]\n", "y", ""},
		{"a comprehension that is not finished", head + "x = [te| for team, n in [(1, 2)]\ny = (\n", "team n", "local"},
		{"the file's own module", head + "text = struct(a = 1)\ny = text.|", "", "wrap"},
		{"keywords of a builtin", head + "register_tool(page, |)\n", "name\u00a0=\u00a0 kind\u00a0=\u00a0 page", "handler\u00a0=\u00a0"},
		{"keywords of a function", head + "page(te|)\n", "team\u00a0=\u00a0", ""},
		{"keywords of a loaded function", head + "shorten(\"a\", |)\n", "most\u00a0=\u00a0", "text\u00a0=\u00a0"},
		{"no keywords behind one", head + "register_tool(page, name = |)\n", "page", "kind\u00a0=\u00a0"},
		{"events", head + "register_hook(\"|\")\n", "pre_tool_call turn_start", "page"},
		{"events by name", head + "register_hook(handler = page, event = \"pre|", "pre_llm_call", ""},
		{"an event's arguments", head + "def guard(|):\n    pass\n\nregister_hook(\"pre_tool_call\", guard)\n", "ctx tool arguments call", "response"},
		{"permissions", head + "plugin(permissions = [\"|\"])\n", "fs.read: http: store exec:", "page"},
		{"kinds", head + "register_hook(\"pre_tool_call\", page, kind = [\"|\"])\n", "shell write", ""},
		{"prefixes", head + "def f(ctx):\n    ctx.fragments.get(\"|\")\n", "runbook: file:", ""},
		{"tools", head + "register_hook(\"pre_tool_call\", page, match = \"|\")\n", "page", "pre_tool_call"},
		{"config", head + "x = config.|\n", "team max", "get"},
		{"ctx.config", head + "def f(ctx):\n    return ctx.config.|\n", "team max", "get"},
		{"a view", head + "def f(messages):\n    messages.|\nregister_hook(\"pre_llm_call\", f)\n", "last roles", ""},
		{"an element of a view", head + "def f(messages):\n    for m in messages:\n        m.|\n", "role content", ""},
		{"a result", head + "def f(ctx):\n    r = ctx.http.get(\"u\")\n    r.|\n", "status json body", ""},
		{"a text", head + "def f(tool):\n    tool.|\n", "startswith upper", "append"},
		{"files", "load(\"|\")\n" + head, "lib/text.star", "plugin.star"},
		{"names of a file", "load(\"lib/text.star\", \"|\")\n" + head, "shorten LIMIT", ""},
		{"a comment", head + "# ctx.|\n", "", "http page"},
		{"another text", head + "x = \"ctx.|\"\n", "", "http page"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := c.labels(c.at(oncall, tt.text))
			for _, label := range strings.Fields(strings.ReplaceAll(tt.want, "\u00a0", "~")) {
				if label = strings.ReplaceAll(label, "~", " "); !slices.Contains(got, label) {
					t.Errorf("got %q, want also %q", got, label)
				}
			}
			for _, label := range strings.Fields(strings.ReplaceAll(tt.without, "\u00a0", "~")) {
				if label = strings.ReplaceAll(label, "~", " "); slices.Contains(got, label) {
					t.Errorf("got %q, want no %q", got, label)
				}
			}
		})
	}
}

func TestLSPHover(t *testing.T) {
	c := startLSP(t, lspPlugin)
	const head = `plugin(config = {"team": "checkout"})
load("lib/text.star", "shorten")

def page(ctx, tool, n = 1):
    """Pages a team."""
    return shorten(tool)

register_hook("pre_tool_call", page)
`
	tests := []struct{ name, text, want string }{
		{"a builtin", head + "regi|ster_tool(page)\n", "register_tool(handler, name=None"},
		{"an example", head + "regi|ster_tool(page)\n", "register_tool(greet)"},
		{"a member of ctx", head + "def f(ctx):\n    ctx.http.ge|t(\"a\")\n", "ctx.http.get(url, params={}"},
		{"a module", head + "x = te|xt.wrap(\"a\")\n", "Text for people and models"},
		{"a keyword", head + "register_tool(page, na|me = \"x\")\n", "Offers a function to the model"},
		{"a function", head + "x = pa|ge\n", "def page(ctx, tool, n = 1)"},
		{"a docstring", head + "x = pa|ge\n", "Pages a team."},
		{"a loaded function", strings.Replace(head, "return shorten", "return short|en", 1), "def shorten(text, most = 9)"},
		{"an event", strings.Replace(head, "pre_tool", "pre_|tool", 1), "Fires when: the model asked for a tool"},
		{"an argument of an event", strings.Replace(head, "shorten(tool", "shorten(to|ol", 1), "The tool's name."},
		{"a permission", "plugin(permissions = [\"fs.r|ead:a/**\"])\n", "reads, lists and searches files of the workspace"},
		{"a setting", head + "x = config.te|am\n", `default "checkout"`},
		{"a member of a result", head + "def f(ctx):\n    r = ctx.http.get(\"a\")\n    return r.sta|tus\n", "r.status: int"},
		{"nothing", head + "x = 1|\n", "null"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := string(c.request("textDocument/hover", c.at(oncall, tt.text)))
			var h struct{ Contents struct{ Value string } }
			if err := json.Unmarshal([]byte(got), &h); err == nil && h.Contents.Value != "" {
				got = h.Contents.Value
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %q in it", got, tt.want)
			}
		})
	}
}

func TestLSPSignature(t *testing.T) {
	c := startLSP(t, lspPlugin)
	tests := []struct{ text, label, active string }{
		{"fragment(|", "fragment(content,", "content"},
		{"fragment(\"a\", |", "fragment(content,", `source=""`},
		{"fragment(\"a\", priority = |", "fragment(content,", "priority=0"},
		{"load(\"lib/text.star\", \"shorten\")\nx = shorten(1, |", "shorten(text, most = 9)", "most = 9"},
		{"def f(a, b):\n    pass\n\nf(a, |)\n", "f(a, b)", "b"},
		{"def f(ctx):\n    ctx.log(\"info\", \"x\", n = |", "ctx.log(level", ""},
		{"def f(messages):\n    messages.last(|", "messages.last(role", "role: str | None = None"},
		{"fail(1, 2, |", "fail(*args", "*args"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			var got struct {
				Signatures []struct {
					Label      string
					Parameters []struct{ Label string }
				}
				ActiveParameter int
			}
			raw := c.request("textDocument/signatureHelp", c.at(oncall, tt.text))
			if err := json.Unmarshal(raw, &got); err != nil || len(got.Signatures) != 1 {
				t.Fatalf("got %s, %v", raw, err)
			}
			active := ""
			if sig := got.Signatures[0]; got.ActiveParameter < len(sig.Parameters) && tt.active != "" {
				active = sig.Parameters[got.ActiveParameter].Label
			}
			if !strings.HasPrefix(got.Signatures[0].Label, tt.label) || active != tt.active {
				t.Errorf("got %s, parameter %q, want %s and %q", got.Signatures[0].Label, active, tt.label, tt.active)
			}
		})
	}
}

func TestLSPDefinition(t *testing.T) {
	c := startLSP(t, lspPlugin)
	const head = "plugin(config = {\"team\": 1})\nload(\"lib/text.star\", \"shorten\", short = \"shorten\")\n\ndef page(ctx):\n    x = 1\n    return x\n\n"
	const lib = "plugins/oncall/lib/text.star"
	tests := []struct{ name, text, want string }{
		{"a function", head + "register_tool(pa|ge)\n", oncall + " 3:4"},
		{"a local", strings.Replace(head, "return x", "return |x", 1), oncall + " 4:4"},
		{"a loaded function", head + "y = shorte|n(\"a\")\n", lib + " 4:4"},
		{"a renamed function", head + "y = sho|rt(\"a\")\n", lib + " 4:4"},
		{"a loaded file", strings.Replace(head, "lib/te", "lib/t|e", 1), lib + " 0:0"},
		{"a name in load", strings.Replace(head, "\"shorten\", ", "\"short|en\", ", 1), lib + " 4:4"},
		{"a setting", head + "y = config.te|am\n", oncall + " 0:18"},
		{"a builtin", head + "y = le|n(\"a\")\n", "null"},
		{"a broken text", "\n" + head + "register_tool(pa|ge, (\n", oncall + " 4:4"},
		{"a file that is open", head + "y = short|en(\"a\")\n", lib + " 1:4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "a file that is open" {
				c.open(lib, "\ndef shorten(text):\n    return text\n")
			}
			raw := c.request("textDocument/definition", c.at(oncall, tt.text))
			var l struct {
				URI   string
				Range struct{ Start struct{ Line, Character int } }
			}
			if err := json.Unmarshal(raw, &l); err != nil {
				t.Fatal(err)
			}
			got := "null"
			if l.URI != "" {
				got = fmt.Sprintf("%s %d:%d", strings.TrimPrefix(l.URI, c.uri("")+"/"), l.Range.Start.Line, l.Range.Start.Character)
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestLSPRename(t *testing.T) {
	c := startLSP(t, lspPlugin)
	const text = `load("lib/text.star", "shorten", cut = "shorten")

_MOST = 9

def page(team, short = 1):
    """Pages a team."""
    short = [team for team in [team]]
    return [short, _MOST, cut(team)]

def guard(tool):
    return page("a", short = tool)

register_tool(page)
register_hook("post_tool_call", guard)

def _inner(team):
    return (lambda team: team)(team)

x = _inner(team = 1)
`
	place := func(before string) string {
		return strings.Replace(text, before, before[:len(before)-1]+"|"+before[len(before)-1:], 1)
	}
	tests := []struct{ name, text, to, want string }{
		{"a parameter and its keyword", place("_inner(team"), "group", `
def _inner(group):
    return (lambda team: team)(group)

x = _inner(group = 1)
`},
		{"a private global", place("_MOST"), "_MANY", "_MANY = 9\n"},
		{"a use of it", place("short, _MOST"), "_MANY", "[short, _MANY, cut(team)]"},
		{"a loaded name", place("cut("), "clip", `load("lib/text.star", "shorten", clip = "shorten")`},
		{"a comprehension's variable", place("[team"), "one", "short = [one for one in [team]]"},
		{"a tool's parameter", place("def page(tea"), "group", "rename: team is the parameter of a handler: starhost passes arguments by these names"},
		{"a hook's parameter", place("def guard(to"), "x", "rename: tool is the parameter of a handler: starhost passes arguments by these names"},
		{"a global", place("\nx"), "y", "rename: other files may load x: only local names and names that begin with _ can be renamed"},
		{"a name of another file", place("\"shor"), "y", "rename: want the name of a variable of this file"},
		{"a word of the language", place("_MOST"), "for", "rename: for is a word of the language"},
		{"no name", place("_MOST"), "a b", "rename: got \"a b\", want a name of letters, digits and _"},
		{"a taken name", place("_inner(team"), "x", "rename: x is already a name here"},
		{"a builtin", place("_inner(team"), "len", "rename: len is a builtin, which the new name would hide"},
		{"a broken text", place("_MOST") + "(", "_MANY", "rename: the text does not parse: correct its mistakes first"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at := c.at(oncall, tt.text)
			at["newName"] = tt.to
			raw, got := c.try("textDocument/rename", at)
			if got == "" {
				got = applyEdits(t, strings.Replace(tt.text, "|", "", 1), editsOf(t, raw, c.uri(oncall)))
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %q in it", got, tt.want)
			}
		})
	}
}

// An lspEdit replaces a part of a text.
type lspEdit struct {
	Range   struct{ Start, End struct{ Line, Character int } }
	NewText string
}

func editsOf(t *testing.T, raw json.RawMessage, uri string) []lspEdit {
	t.Helper()
	var edit struct{ Changes map[string][]lspEdit }
	if err := json.Unmarshal(raw, &edit); err != nil || len(edit.Changes) != 1 {
		t.Fatalf("got %s, %v, want the edits of one file", raw, err)
	}
	return edit.Changes[uri]
}

// applyEdits returns a text of ASCII after edits.
func applyEdits(t *testing.T, text string, edits []lspEdit) string {
	t.Helper()
	lines := strings.SplitAfter(text, "\n")
	offset := func(p struct{ Line, Character int }) int { return len(strings.Join(lines[:p.Line], "")) + p.Character }
	slices.SortFunc(edits, func(a, b lspEdit) int { return offset(b.Range.Start) - offset(a.Range.Start) })
	for _, e := range edits {
		text = text[:offset(e.Range.Start)] + e.NewText + text[offset(e.Range.End):]
	}
	return text
}

func TestLSPFormat(t *testing.T) {
	c := startLSP(t, lspPlugin)
	const ugly = "def page( team ):\n  return 'a'\n\nx=1\ny = 2\n"
	const pretty = "def page(team):\n    return \"a\"\n\nx = 1\ny = 2\n"
	for name, text := range map[string]string{oncall: "%s", "plugins/oncall/golden/a.txtar": "A case.\n-- case.star --\n%s-- want --\nx=1\n"} {
		before, want := fmt.Sprintf(text, ugly), fmt.Sprintf(text, pretty)
		c.open(name, before)
		raw := c.request("textDocument/formatting", map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}, "options": map[string]any{}})
		var edits []lspEdit
		if err := json.Unmarshal(raw, &edits); err != nil || len(edits) == 0 {
			t.Fatalf("%s: got %s, %v", name, raw, err)
		}
		if got := applyEdits(t, before, edits); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	c.change(oncall, "x = (")
	_, failure := c.try("textDocument/formatting", map[string]any{"textDocument": map[string]any{"uri": c.uri(oncall)}})
	if !strings.Contains(failure, "plugin.star:1:6: got end of file") {
		t.Errorf("a broken text: got %q", failure)
	}
}

func TestLSPActions(t *testing.T) {
	c := startLSP(t, lspPlugin)
	const text = `"""Pages."""

def guard(tool):
    """Refuses."""
    return tool + toool

register_hook("pre_tool_cal", guard)
register_hook(
    "pre_tool_call",
    guard,
    priorty = 1,
)
`
	c.open(oncall, text)
	now := text
	for _, want := range []string{"Change toool to tool", "Change pre_tool_cal to pre_tool_call", "Change priorty to priority"} {
		c.diagnostics(oncall)
		raw := c.request("textDocument/codeAction", map[string]any{
			"textDocument": map[string]any{"uri": c.uri(oncall)}, "context": map[string]any{"diagnostics": []any{}},
			"range": map[string]any{"start": map[string]int{"line": 0, "character": 0}, "end": map[string]int{"line": 99, "character": 0}},
		})
		var actions []struct {
			Title string
			Edit  json.RawMessage
		}
		if err := json.Unmarshal(raw, &actions); err != nil || len(actions) == 0 || actions[0].Title != want {
			t.Fatalf("got %s, %v, want %q", raw, err, want)
		}
		now = applyEdits(t, now, editsOf(t, actions[0].Edit, c.uri(oncall)))
		c.change(oncall, now)
	}
	if got := c.diagnostics(oncall); len(got) != 0 {
		t.Errorf("after the actions: got %q in\n%s", got, now)
	}
}

func TestLSPSymbols(t *testing.T) {
	c := startLSP(t, lspPlugin)
	c.open(oncall, "A = 1\n\ndef page(team, n = 2):\n    def inner():\n        return n\n    return inner\n\nregister_tool(page, name = \"p\")\nregister_hook(\"turn_start\", page)\n")
	raw := c.request("textDocument/documentSymbol", map[string]any{"textDocument": map[string]any{"uri": c.uri(oncall)}})
	type symbol struct {
		Name, Detail string
		Children     []symbol
	}
	var list []symbol
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	want := []symbol{
		{"page", "(team, n = 2)", []symbol{{"inner", "()", nil}}}, {"A", "", nil},
		{"tool page", "register_tool", nil}, {"hook turn_start", "register_hook", nil},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("symbols (-want +got):\n%s", diff)
	}
}

func TestLSPCase(t *testing.T) {
	const name = "plugins/oncall/golden/page.txtar"
	const text = "It pages.\n-- case.star --\ncall_tool(\"page\", team = \"a\")\n-- want --\n"
	files := map[string]string{
		oncall: "def page(team):\n    \"\"\"Pages.\"\"\"\n    return team\n\nregister_tool(page)\n",
		name:   text + "== call_tool page\n\"b\"\n",
	}
	c := startLSP(t, files)
	c.open(name, files[name])
	doc := map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}}
	var lenses []struct {
		Range   struct{ Start struct{ Line int } }
		Command struct {
			Title, Command string
			Arguments      []string
		}
	}
	raw := c.request("textDocument/codeLens", doc)
	err := json.Unmarshal(raw, &lenses)
	if err != nil || len(lenses) != 1 || lenses[0].Command.Title != "run case" || lenses[0].Range.Start.Line != 1 {
		t.Fatalf("got %s, %v", raw, err)
	}
	runCase := func() (diagnostics []string, message string) {
		c.request("workspace/executeCommand", map[string]any{"command": lenses[0].Command.Command, "arguments": lenses[0].Command.Arguments})
		diagnostics = c.diagnostics(name)
		return diagnostics, string(c.note("window/showMessage").Params)
	}
	got, message := runCase()
	if len(got) != 1 || !strings.HasPrefix(got[0], "3:0-10 ") || !strings.Contains(got[0], `+"a"`) || !strings.Contains(message, "page.txtar: failed") {
		t.Errorf("a failing case: got %q, %s", got, message)
	}
	files[name] = text + "== call_tool page\n\"a\"\n"
	writeFiles(t, c.dir, files)
	if got, message = runCase(); len(got) != 0 || !strings.Contains(message, "page.txtar: ok") {
		t.Errorf("a passing case: got %q, %s", got, message)
	}
	for text, want := range map[string]string{"-- case.star --\nfi|": "fire", "-- case.star --\nx = regi|": "register_tool", "-- case.star --\nfire(\"|\")\n-- want --\n": "pre_tool_call",
		"-- case.star --\nrow(\"|\")\n-- rows.jsonl --\n{\n\n{\"name\": \"a\", \"team\": [1]}\n": "team"} {
		if got := c.labels(c.at(name, text)); !slices.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"A |case.\n-- case.star --\n1\n", "-- case.star --\n1\n-- want --\nfi|re\n"} {
		if got := c.labels(c.at(name, text)); len(got) != 0 {
			t.Errorf("%q: got %q, want nothing", text, got)
		}
	}
}
