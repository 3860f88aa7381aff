package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/starhost/starhost/serve/hook"
)

// A hostileAgent is an agent with the forms of its events: a call and a prompt. In a form, NAME stands for
// the first members, TOOL and ARGS for the names of the tool and its arguments, and UPPER for ARGS in capital
// letters.
type hostileAgent struct {
	name, names, tool, args string
	command                 string      // the argument with a command; "" is "command"
	before, after           string      // the texts before and after a form
	title, prompt           string      // the first members of a prompt's event, and the name of its text
	deny, block             string      // in the output that refuses a call or a prompt; "" if an exit code refuses it
	unknown                 [][2]string // replacements that make an event unknown, or spell it in another way
}

var hostileAgents = []hostileAgent{
	{
		name: "claude-code", names: `"session_id":"s","hook_event_name":"PreToolUse"`, tool: "tool_name", args: "tool_input",
		title: `"session_id":"s","hook_event_name":"UserPromptSubmit"`, prompt: "prompt",
		deny: `"permissionDecision":"deny"`, block: `"decision":"block"`,
		unknown: [][2]string{{"PreToolUse", "BeforeTools"}, {"PreToolUse", "pretooluse"}, {"PreToolUse", `PreTool\u0000`}},
	},
	{
		name: "copilot", names: `"sessionId":"s","timestamp":1`, tool: "toolName", args: "toolArgs",
		title: `"sessionId":"s","timestamp":1,"transformedPrompt":"rm x"`, prompt: "prompt",
		deny: `"permissionDecision":"deny"`, block: `[A message of the user was withheld`,
		unknown: [][2]string{{`"toolName":"exec","toolArgs"`, `"call"`}, {`"sessionId"`, `"hook_event_name":"BeforeTool","sessionId"`}},
	},
	{
		name: "hermes", names: `"session_id":"s","hook_event_name":"pre_tool_call","extra":{}`, tool: "tool_name", args: "tool_input",
		title: `"session_id":"s","hook_event_name":"pre_llm_call","extra":{"is_first_turn":true,`, prompt: "user_message",
		deny: `"action":"block"`, block: `A policy refuses this message`,
		unknown: [][2]string{{"pre_tool_call", "Pre-Tool-Call"}, {"pre_tool_call", "before_tool"}},
	},
	{
		name: "picoclaw", names: `"meta":{"SessionKey":"s"}`, tool: "tool", args: "arguments",
		before: `{"jsonrpc":"2.0","id":1,"method":"hook.before_tool","params":`, after: "}\n",
		title: `"meta":{"SessionKey":"s"},"messages":[{"role":"user",`, prompt: "content",
		deny: `"action":"deny_tool"`, block: `"action":"abort_turn"`,
		unknown: [][2]string{{"hook.before_tool", "hook.before_everything"}, {"hook.before_tool", "before_tool"}},
	},
	{
		name: "qwen", names: `"session_id":"s","hook_event_name":"PreToolUse"`, tool: "tool_name", args: "tool_input",
		title: `"session_id":"s","hook_event_name":"UserPromptSubmit"`, prompt: "prompt",
		deny: `"permissionDecision":"deny"`, block: `"decision":"block"`,
		unknown: [][2]string{{"PreToolUse", "PreTool"}, {"PreToolUse", "pre_tool_use"}},
	},
	{
		name: "droid", names: `"session_id":"s","hook_event_name":"PreToolUse"`, tool: "tool_name", args: "tool_input",
		title: `"session_id":"s","hook_event_name":"UserPromptSubmit"`, prompt: "prompt",
		deny: `"permissionDecision":"deny"`, block: `"decision":"block"`,
		unknown: [][2]string{{"PreToolUse", "PreTool"}, {"PreToolUse", " PreToolUse"}},
	},
	{
		name: "codex", names: `"session_id":"s","hook_event_name":"PreToolUse"`, tool: "tool_name", args: "tool_input",
		title: `"session_id":"s","hook_event_name":"UserPromptSubmit"`, prompt: "prompt",
		deny: `"permissionDecision":"deny"`, block: `"decision":"block"`,
		unknown: [][2]string{{"PreToolUse", "BeforeTools"}},
	},
	{
		name: "vscode", names: `"sessionId":"s","hookEventName":"PreToolUse"`, tool: "tool_name", args: "tool_input",
		title: `"sessionId":"s","hookEventName":"UserPromptSubmit"`, prompt: "prompt",
		deny: `"permissionDecision":"deny"`, block: `"decision":"block"`,
		unknown: [][2]string{{"PreToolUse", "BeforeTool"}},
	},
	{
		name: "gemini", names: `"session_id":"s","hook_event_name":"BeforeTool"`, tool: "tool_name", args: "tool_input",
		title: `"session_id":"s","hook_event_name":"BeforeAgent"`, prompt: "prompt",
		deny: `"decision":"deny"`, block: `"decision":"deny"`,
		unknown: [][2]string{{"BeforeTool", "BeforeTools"}, {"BeforeTool", "beforetool"}},
	},
	{
		name: "cursor", names: `"conversation_id":"s","hook_event_name":"preToolUse"`, tool: "tool_name", args: "tool_input",
		title: `"conversation_id":"s","hook_event_name":"beforeSubmitPrompt"`, prompt: "prompt",
		deny: `"permission":"deny"`, block: `"continue":false`,
		unknown: [][2]string{{"preToolUse", "PreToolUse"}},
	},
	{
		name: "goose", names: `"session_id":"s","event":"PreToolUse"`, tool: "tool_name", args: "tool_input",
		unknown: [][2]string{{"PreToolUse", "BeforeTool"}},
	},
	{
		name: "kiro", names: `"cwd":"/w","hook_event_name":"preToolUse"`, tool: "tool_name", args: "tool_input",
		unknown: [][2]string{{"preToolUse", "PreToolUse"}},
	},
	{ // the event's name says the tool, so the forms with other tools do not fit
		name: "windsurf", names: `"trajectory_id":"s","agent_action_name":"pre_run_command"`, args: "tool_info", command: "command_line",
		title: `"trajectory_id":"s","agent_action_name":"pre_user_prompt","tool_info":{"cwd":"/w"`, prompt: "user_prompt",
		unknown: [][2]string{{"pre_run_command", "pre_run"}, {"pre_run_command", "Pre_Run_Command"}},
	},
	{
		name: "cline", names: `"x":1`, tool: "toolName", args: "parameters",
		before: `{"hookName":"PreToolUse","taskId":"s","preToolUse":`, after: "}",
		title: `"hookName":"UserPromptSubmit","taskId":"s","userPromptSubmit":{"attachments":[]`, prompt: "prompt",
		deny: `"cancel":true`, block: `"cancel":true`,
		unknown: [][2]string{{`"PreToolUse"`, `"BeforeTool"`}},
	},
	{ // this is the agent's program for the terminal
		name: "cline", names: `"id":"c"`, tool: "name", args: "input",
		before: `{"hookName":"tool_call","taskId":"s","tool_call":`, after: "}",
		deny: `"cancel":true`, block: `"cancel":true`,
		unknown: [][2]string{{`"tool_call"`, `"tool_calls"`}, {`"tool_call"`, `"Tool_Call"`}},
	},
	{
		name: "docker-mcp", names: `"_meta":null`, tool: "name", args: "arguments", before: `{"Session":{},"Params":`, after: `,"Extra":null}`,
		deny: `"isError":true`, block: `"isError":true`,
	},
	{
		name: "gptme", names: `"session":"s","event":"tool.confirm"`, tool: "tool", args: "args",
		unknown: [][2]string{{"tool.confirm", "tool.ask"}},
	},
	{
		name: "opencode", names: `"session":"s","event":"tool.execute.before"`, tool: "tool", args: "args",
		unknown: [][2]string{{"tool.execute.before", "tool.before"}},
	},
	{
		name: "openhands", names: `"session_id":"s","event_type":"PreToolUse"`, tool: "tool_name", args: "tool_input",
		title: `"session_id":"s","event_type":"UserPromptSubmit"`, prompt: "message",
		deny: `"decision":"deny"`, block: `"decision":"deny"`,
		unknown: [][2]string{{"PreToolUse", "BeforeTool"}},
	},
}

// call returns the agent's event of a call in a form.
func (a *hostileAgent) call(form string) string {
	names := strings.NewReplacer("NAME", a.names, "TOOL", cmp.Or(a.tool, "other"), "ARGS", a.args, "UPPER", strings.ToUpper(a.args),
		`ommand"`, cmp.Or(a.command, "command")[1:]+`"`)
	return a.before + names.Replace(form) + a.after
}

// promptEvent returns the agent's event of a prompt, whose text is JSON.
func (a *hostileAgent) promptEvent(text string) string {
	event := "{" + a.title + "," + fmt.Sprintf("%q:", a.prompt) + text + "}"
	switch a.name {
	case "hermes":
		return strings.Replace(event, ",,", ",", 1) + "}"
	case "cline", "windsurf":
		return event + "}"
	case "picoclaw":
		event = strings.Replace(event, ",,", ",", 1)
		return `{"jsonrpc":"2.0","id":1,"method":"hook.before_llm","params":` + event + "]}}\n"
	}
	return event
}

// A hostileOutcome says how hook must answer a hostile event.
type hostileOutcome int

const (
	refused    hostileOutcome = iota // the agent gets a refusal, and standard error or the answer has a reason
	passed                           // the answer is correct and no guard objects: the exit code is 0
	noRequest                        // as refused, but PicoClaw never sends such a text and may get any answer
	promptHeld                       // the agent gets its form of a refused prompt
)

// rm is a form of a call that the guard denies.
const rm = `{NAME,"TOOL":"exec","ARGS":{"command":"rm x"}}`

// withArgs returns a form with other arguments.
func withArgs(args string) string { return `{NAME,"TOOL":"exec","ARGS":` + args + `}` }

// withTool returns a form with another tool.
func withTool(tool string) string { return `{NAME,"TOOL":` + tool + `,"ARGS":{"command":"rm x"}}` }

// A hostileForm is a form of a call.
type hostileForm struct {
	what, form string
	want       hostileOutcome
}

// hostileForms lists forms of calls. Each contains the command that the guard denies in at least
// one reading, except those that pass.
func hostileForms() []hostileForm {
	return []hostileForm{
		{"a plain call that passes", withArgs(`{"command":"ls"}`), passed},
		{"a plain call", rm, refused},
		{"deep objects", withArgs(strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600)), refused},
		{"deep arrays", withArgs(`{"command":"rm x","a":` + strings.Repeat(`[`, 11_000) + strings.Repeat("]", 11_000) + `}`), refused},
		{"deep arrays without an end", withArgs(strings.Repeat(`[`, 100_000)), refused},
		{"a deep unknown member", `{NAME,"TOOL":"exec","ARGS":{"command":"rm x"},"more":` + strings.Repeat(`[`, 600) + strings.Repeat("]", 600) + `}`, refused},
		{"over 16 MiB", withArgs(`{"command":"rm ` + strings.Repeat("x", 17<<20) + `"}`), refused},
		{"8 MiB", withArgs(`{"command":"` + strings.Repeat("x", 8<<20) + ` rm x"}`), refused},
		{"50,000 members", withArgs(`{` + manyMembers(50_000) + `"command":"rm x"}`), refused},
		{"50,000 unknown members", `{NAME,` + manyMembers(50_000) + `"TOOL":"exec","ARGS":{"command":"rm x"}}`, refused},
		{"arguments twice", `{NAME,"TOOL":"exec","ARGS":{"command":"rm x"},"ARGS":{"command":"ls"}}`, refused},
		{"arguments twice, the other way", `{NAME,"TOOL":"exec","ARGS":{"command":"ls"},"ARGS":{"command":"rm x"}}`, refused},
		{"a tool twice", `{NAME,"TOOL":"exec","TOOL":"read","ARGS":{"command":"ls"}}`, refused},
		{"an argument twice", withArgs(`{"command":"rm x","command":"ls"}`), refused},
		{"an argument twice, escaped", withArgs(`{"command":"ls","\u0063ommand":"rm x"}`), refused},
		{"an inner member twice", withArgs(`{"command":"ls","a":[{"b":1,"b":2}]}`), refused},
		{"all names twice", `{NAME,NAME,"TOOL":"exec","ARGS":{"command":"ls"}}`, refused},
		{"arguments in another case", `{NAME,"TOOL":"exec","UPPER":{"command":"rm x"}}`, refused},
		{"a shadow in another case", `{NAME,"TOOL":"exec","ARGS":{"command":"rm x"},"UPPER":{"command":"ls"}}`, refused},
		{"an empty shadow", `{NAME,"TOOL":"exec","UPPER":null,"ARGS":{"command":"ls"}}`, refused},
		{"a command in another case", withArgs(`{"COMMAND":"ls","command":"rm x"}`), refused},
		{"broken UTF-8", withArgs(`{"command":"rm ` + "\xff" + `"}`), refused},
		{"half a rune", withArgs(`{"command":"ls ` + "\xe2\x82" + `"}`), refused},
		{"overlong UTF-8", withArgs(`{"command":"ls ` + "\xc0\xaf" + `"}`), refused},
		{"a surrogate as UTF-8", withArgs(`{"command":"ls ` + "\xed\xa0\x80" + `"}`), refused},
		{"half an escaped surrogate", withArgs(`{"command":"rm \ud800"}`), refused},
		{"a raw NUL", withArgs(`{"command":"rm ` + "\x00" + `"}`), refused},
		{"an escaped NUL", withArgs(`{"command":"rm \u0000"}`), refused},
		{"a raw tab", withArgs(`{"command":"rm ` + "\t" + `x"}`), refused},
		{"a raw escape", withArgs(`{"command":"rm ` + "\x1b[2J" + `"}`), refused},
		{"a wrong escape", withArgs(`{"command":"rm \x41"}`), refused},
		{"half an escape", withArgs(`{"command":"rm \u00"}`), refused},
		{"arguments that are text", withArgs(`"rm x"`), refused},
		{"arguments that are a list", withArgs(`["rm x"]`), refused},
		{"arguments that are a number", withArgs(`7`), refused},
		{"arguments that are true", withArgs(`true`), refused},
		{"no arguments", `{NAME,"TOOL":"exec"}`, passed},
		{"null for arguments", withArgs(`null`), passed},
		{"empty arguments", withArgs(`{}`), passed},
		{"a command that is a list", withArgs(`{"command":["rm","x"]}`), refused},
		{"a command that is a number", withArgs(`{"command":7}`), refused},
		{"a command that is null", withArgs(`{"command":null}`), refused},
		{"no tool", `{NAME,"ARGS":{"command":"rm x"}}`, refused},
		{"null for a tool", withTool(`null`), refused},
		{"a tool that is a number", withTool(`7`), refused},
		{"a tool that is an object", withTool(`{"name":"exec"}`), refused},
		{"an empty tool", withTool(`""`), refused},
		{"a tool with NUL", withTool(`"ex\u0000ec"`), refused},
		{"a tool with a line break", withTool(`"ex\nec"`), refused},
		{"a tool of 1 MiB", withTool(`"` + strings.Repeat("x", 1<<20) + `"`), refused},
		{"a number over all floats", withArgs(`{"command":"rm x","n":1e999}`), refused},
		{"a number of 100,000 digits", withArgs(`{"command":"rm x","n":` + strings.Repeat("9", 100_000) + `}`), refused},
		{"a large number", withArgs(`{"command":"ls","n":123456789012345678901234567890}`), passed},
		{"a number with a zero in front", withArgs(`{"command":"ls","n":01}`), refused},
		{"no number", withArgs(`{"command":"ls","n":NaN}`), refused},
		{"a comma too many", withArgs(`{"command":"ls",}`), refused},
		{"single quotes", withArgs(`{'command':'ls'}`), refused},
		{"a comment", withArgs(`{"command":"ls"/**/}`), refused},
		{"a member without a value", withArgs(`{"command"}`), refused},
		{"a colon too many", withArgs(`{"command"::"ls"}`), refused},
	}
}

// manyMembers returns members of an object, each with a comma.
func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":%d,`, i, i)
	}
	return b.String()
}

// hostileTexts are functions that change the whole text of an event that the guard denies.
var hostileTexts = []struct {
	what   string
	change func(text string) string
	want   hostileOutcome
}{
	{"nothing", func(string) string { return "" }, noRequest},
	{"one byte", func(string) string { return "{" }, noRequest},
	{"an array", func(string) string { return "[]" }, noRequest},
	{"null", func(string) string { return "null" }, noRequest},
	{"a number", func(string) string { return "1e999" }, noRequest},
	{"a text", func(string) string { return `"rm x"` }, noRequest},
	{"NULs", func(string) string { return strings.Repeat("\x00", 1000) }, noRequest},
	{"the last bytes missing", func(s string) string { return strings.TrimRight(s, "}\n") }, refused},
	{"half", func(s string) string { return s[:strings.Index(s, "command")] }, refused},
	{"twice", func(s string) string { return strings.TrimSpace(s) + s }, noRequest},
	{"bytes after it", func(s string) string { return strings.TrimSpace(s) + "x" }, refused},
	{"NUL after it", func(s string) string { return strings.TrimSpace(s) + "\x00" }, refused},
	{"a byte order mark", func(s string) string { return "\ufeff" + s }, refused},
	{"in an array", func(s string) string { return "[" + strings.TrimSpace(s) + "]" }, noRequest},
	{"UTF-16", func(s string) string { return strings.Join(strings.Split(s, ""), "\x00") }, noRequest},
	{"a session that is a number", func(s string) string { return strings.Replace(s, `:"s"`, `:7`, 1) }, refused},
	{"a session that is a path", func(s string) string { return strings.Replace(s, `:"s"`, `:"../../x"`, 1) }, refused},
	{"a session of 1 MiB", func(s string) string { return strings.Replace(s, `:"s"`, `:"`+strings.Repeat("s", 1<<20)+`"`, 1) }, refused},
	{"no session", func(s string) string { return strings.Replace(s, `:"s"`, `:""`, 1) }, refused},
	{"many spaces", func(s string) string { return strings.Repeat(" ", 1<<20) + s }, refused},
}

// hostilePrompts are the texts of prompts, as JSON.
var hostilePrompts = []struct{ what, text string }{
	{"words that a guard refuses", `"rm x"`},
	{"broken UTF-8", `"rm ` + "\xff" + `"`},
	{"deep", strings.Repeat("[", 600) + strings.Repeat("]", 600)},
	{"half a text", `"rm x`},
}

// hostileGuard denies calls and prompts with rm, also if it cannot read them.
const hostileGuard = `
def guard(arguments):
    if "rm" in arguments.get("command_line", arguments.get("command", "")):
        return deny("no rm")
    return None

register_hook("pre_tool_call", guard)
register_hook("turn_start", lambda user_message: abort("no rm") if "rm" in user_message else None)
`

// hostilePlugins are plugins that take longer than the deadline, in Starlark or in Go, or that fail.
var hostilePlugins = []struct{ what, source string }{
	{"spins", "def guard():\n    for _ in range(1 << 40):\n        pass\n\nregister_hook(\"pre_tool_call\", guard)\n"},
	{"spins in a regular expression", "def guard():\n    for _ in range(1000000):\n        re.search(\"(x+x+)+y\", \"x\" * 1000000)\n\nregister_hook(\"pre_tool_call\", guard)\n"},
	{"spins in a sort", "def guard():\n    for _ in range(1000000):\n        sorted(range(100000), key = lambda n: -n)\n\nregister_hook(\"pre_tool_call\", guard)\n"},
	{"spins while it loads", "[x for _ in range(1 << 30) for x in range(1 << 30)]\n"},
	{"fails", "def guard():\n    fail(\"x\" * 100000)\n\nregister_hook(\"pre_tool_call\", guard)\n"},
	{"calls itself", "def again(n):\n    return [again(n + 1)]\n\nregister_hook(\"pre_tool_call\", lambda: again(0))\n"},
	{"takes much memory", "register_hook(\"pre_tool_call\", lambda: \"x\" * (1 << 40))\n"},
	{"returns nonsense", "register_hook(\"pre_tool_call\", lambda: 7)\n"},
	{"denies with control characters", "register_hook(\"pre_tool_call\", lambda: deny(\"\\x1b[2J\\n\" * 1000))\n"},
}

// TestLawHookHostile sends hostile events of each agent to hook. Hook must answer each with the agent's form
// of a refusal or with a correct answer, within the deadline, with the documented exit code and a reason. No
// reason may quote much of the event. The short form of the test gives each agent an eighth of the forms,
// texts and plugins, and another agent the next eighth. The long form gives all of them to each agent, and
// each form in each text.
func TestLawHookHostile(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"guard.star": hostileGuard}
	for i, p := range hostilePlugins {
		files[fmt.Sprintf("p%d.star", i)] = p.source
	}
	writeFiles(t, dir, files)
	least, share := 12, 8
	isLong := os.Getenv("STARHOST_LONG") == "1"
	if isLong {
		least, share = 400, 1
	}
	for i := range hostileAgents {
		a := &hostileAgents[i]
		count := 0
		isOthers := func(j int) bool { return (i+j)%share != 0 }
		send := func(what, text string, want hostileOutcome, deadline time.Duration, args ...string) {
			t.Helper()
			count++
			a.send(t, dir, what, text, want, deadline, args...)
		}
		for j, f := range hostileForms() {
			if isOthers(j) && j > 1 { // each agent gets the plain calls, also in the short form
				continue
			}
			if a.tool == "" && strings.Contains(f.what, "tool") && !strings.Contains(f.what, "twice") {
				continue
			}
			event := a.call(f.form)
			send(f.what, event, f.want, time.Minute, "guard.star")
			for _, x := range hostileTexts {
				if !isLong || f.want == passed || len(event) > 100_000 || !strings.Contains(event, "command") {
					break
				}
				send(f.what+", "+x.what, x.change(event), x.want, time.Minute, "guard.star")
			}
		}
		for j, x := range hostileTexts {
			if isOthers(j) {
				continue
			}
			send(x.what, x.change(a.call(rm)), x.want, time.Minute, "guard.star")
		}
		for _, p := range hostilePrompts {
			if a.title == "" {
				break // the agent cannot refuse prompts
			}
			send("a prompt: "+p.what, a.promptEvent(p.text), promptHeld, time.Minute, "guard.star")
		}
		for _, change := range a.unknown {
			text := strings.Replace(a.call(rm), change[0], change[1], 1)
			want, open := refused, refused
			switch row := hook.AgentOf(a.name); {
			case row.Lines:
				want, open = passed, passed // hook lets the event pass, and reports an error
			case !isSpelling(change[0], change[1]):
				open = passed
				if row.AllEvents {
					send("an unknown event", text, refused, time.Minute, "guard.star")
				}
			}
			send("an unknown event, --fail-closed=false", text, open, time.Minute, "--fail-closed=false", "guard.star")
			send("an unknown event, --fail-closed", text, want, time.Minute, "--fail-closed", "guard.star")
		}
		for j, p := range hostilePlugins {
			if isOthers(j) {
				continue
			}
			file := fmt.Sprintf("p%d.star", j)
			send("a plugin "+p.what, a.call(rm), refused, 150*time.Millisecond, "--timeout", "1h", "--max-steps", "1000000000000000", file)
		}
		if count < least {
			t.Errorf("%s: got %d hostile events, want %d", a.name, count, least)
		}
	}
}

// isSpelling reports whether two names differ only in letter case, blanks and marks.
func isSpelling(a, b string) bool {
	letters := func(s string) string {
		return strings.ToLower(regexp.MustCompile(`\\u0000|[^A-Za-z]`).ReplaceAllString(s, ""))
	}
	return letters(a) == letters(b)
}

// send sends an event to hook and checks the outcome.
func (a *hostileAgent) send(
	t *testing.T, dir, what, text string, want hostileOutcome, deadline time.Duration, args ...string,
) {
	t.Helper()
	var stdin io.Reader = strings.NewReader(text)
	out, stderr, code, took := hookIn(t, dir, deadline, stdin, append([]string{a.name}, args...)...)
	row := hook.AgentOf(a.name)
	isEither := row.Lines && want == noRequest
	refusal, wantCode := a.deny, row.BlockCode
	switch {
	case isEither:
		wantCode = 0
	case want == promptHeld:
		refusal = a.block
		if a.name == "hermes" {
			wantCode = 0 // hermes has no form to refuse prompts
		}
	case want == passed:
		wantCode = 0
	case row.Lines && code == row.FailCode:
		wantCode = code // the plugin does not stop; PicoClaw ignores exit codes
	}
	isRefused := strings.Contains(out, a.deny) || strings.Contains(out, a.block)
	if a.deny == "" {
		isRefused = code == hook.ExitBlock
	}
	switch {
	case code != wantCode, want == passed && isRefused, want != passed && !isEither && !strings.Contains(out, refusal):
		t.Errorf("%s: %s: got code %d after %v, %.400q, %.400q; want code %d", a.name, what, code, took, out, stderr, wantCode)
	case want != passed && !row.Lines && code == 2 && stderr == "":
		t.Errorf("%s: %s: got no reason on standard error", a.name, what)
	case len(out)+len(stderr) > 300_000:
		t.Errorf("%s: %s: got %d bytes of output and %d of messages", a.name, what, len(out), len(stderr))
	case !utf8.ValidString(out):
		t.Errorf("%s: %s: the output is no UTF-8: %.400q", a.name, what, out)
	}
	for line := range strings.Lines(out) {
		if !json.Valid([]byte(line)) {
			t.Errorf("%s: %s: got %.400q, want JSON", a.name, what, line)
		}
	}
}
