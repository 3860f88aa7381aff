//go:build unix

// Package agents runs the real agents from npm with starhost as their hook, offline against a fake
// model on loopback, each in a fresh home.
package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// secret is what the plugin removes from results.
const secret = "4711-4712"

// plugin decides by words in commands and prompts.
const plugin = `
register_hook("session_start", lambda: "E2E-SESSION.")

def count(ctx):
    n = ctx.state.get("n", 0) + 1
    ctx.state.set("n", n)
    return "E2E-TURN-%d." % n

register_hook("pre_llm_call", count)
register_hook("turn_start", lambda user_message: abort("E2E-WITHHELD") if "forbidden" in user_message else None)

def guard(call, arguments):
    command = call.command or ""
    if "denied" in command:
        return deny("E2E-DENIED")
    if "asked" in command:
        return ask("E2E-ASKED")
    if "old" in command:
        return modify(command = command.replace("old", "new"))
    if "ended" in command:
        return abort("E2E-ENDED")
    if "write" in call.kinds and [p for p in call.paths or [] if p.endswith("/kept.txt")]:
        return deny("E2E-PATH")
    if "E2E-BAD" in (call.content or ""):
        return deny("E2E-CONTENT")
    if call.server == "lab" and "mcp" in call.kinds and [p for p in call.paths or [] if "bykind" in p]:
        return deny("E2E-KIND")
    if call.server == "lab" and "byargument" in str(arguments):
        return deny("E2E-ARGUMENT")

register_hook("pre_tool_call", guard)
register_hook("post_tool_call", lambda result: modify(result = result.replace("` + secret + `", "E2E-HIDDEN")) if "` + secret + `" in result else None)
`

// checks are the tests of each agent. A check returns what the agent did, in one or two words.
var checks = []struct {
	name, want string
	run        func(t *testing.T, a *agent) string
}{
	{"context", "once", checkContext},
	{"resume", "once", checkResume},
	{"prompt", "not sent", checkPrompt},
	{"deny", "not run", checkDeny},
	{"ask", "not run", checkAsk},
	{"modify", "changed", checkModify},
	{"redact", "changed", checkRedact},
	{"abort", "turn ends", checkAbort},
	{"eight", "guarded", checkEight},
	{"broken", "not run", checkBroken},
	{"missing", "runs", checkMissing},
	{"late", "runs", checkLate},
	{"missing at a prompt", "sent", checkMissingPrompt},
	{"write by path", "not run", checkWritePath},
	{"write by content", "not run", checkWriteContent},
	{"mcp by argument", "not run", checkMCP("byargument", "E2E-ARGUMENT")},
	{"mcp by kind", "not run", checkMCP("bykind", "E2E-KIND")},
	{"subagent", "not run", checkSubagent},
	{"deny in a resumed session", "not run", checkDenyResumed},
	{"background", "not run", checkBackground},
	{"interactive shell", "not run", checkInteractive},
}

// TestAgents runs all checks with all agents, one after the other. With -update it writes what it
// saw to results.json, from which docs/agents has a table.
func TestAgents(t *testing.T) {
	wanted(t)
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			seen := map[string]string{}
			for _, c := range checks {
				t.Run(c.name, func(t *testing.T) {
					want := c.want
					if a.want[c.name] != "" {
						want = a.want[c.name]
					}
					got := c.run(t, a)
					if got == "" {
						t.Skip("the agent cannot do that here")
					}
					seen[c.name] = got
					if seen[c.name] != want {
						t.Errorf("%s %s: %s: got %q, want %q", a.name, pinned(t, a.pkg), c.name, seen[c.name], want)
					}
				})
			}
			checkOffered(t, a)
			if *update {
				saveResults(t, a, result{Checks: seen, Tools: a.offered})
			}
		})
	}
}

// occurrences describes how often texts are in a request.
func occurrences(request string, texts ...string) string {
	for _, text := range texts {
		switch n := strings.Count(request, text); n {
		case 1:
		case 0:
			return "none"
		default:
			return fmt.Sprintf("%s %d times", text, n)
		}
	}
	return "once"
}

func checkContext(t *testing.T, a *agent) string {
	s := newStage(t, a, plugin, reply{calls: []call{a.shell("touch ran")}}, reply{text: "hello"})
	s.run("say hello", false)
	a.offered = offeredTools(s.lastRequest())
	if got := occurrences(s.lastRequest(), "E2E-SESSION", "E2E-TURN-1"); got != "once" {
		return got
	}
	if !s.has("ran") {
		return "the tool did not run"
	}
	return "once"
}

// checkResume gives a second prompt in another process.
func checkResume(t *testing.T, a *agent) string {
	if a.noResume {
		return ""
	}
	s := newStage(t, a, plugin, reply{text: "hello"}, reply{text: "hello again"})
	s.run("say hello", false)
	s.run("say more", true)
	if n := len(s.model.seen()); n != 2 {
		return fmt.Sprintf("%d requests", n)
	}
	if !strings.Contains(s.lastRequest(), "say hello") {
		return "not resumed"
	}
	return occurrences(s.lastRequest(), "E2E-SESSION", "E2E-TURN-1", "E2E-TURN-2")
}

func checkPrompt(t *testing.T, a *agent) string {
	s := newStage(t, a, plugin)
	s.run("this is forbidden", false)
	for _, r := range s.model.seen() {
		if strings.Contains(r, "this is forbidden") {
			return "sent"
		}
	}
	if len(s.model.seen()) > 0 {
		return "reason sent"
	}
	return "not sent"
}

// checkShell runs one command and returns "runs" if its file appears.
func checkShell(t *testing.T, a *agent, reason, name string) (*stage, string) {
	s := newStage(t, a, plugin, reply{calls: []call{a.shell("touch " + name)}}, reply{text: "hello"})
	s.run("go on", false)
	switch {
	case len(s.model.seen()) == 0:
		return s, "no request"
	case s.has(name):
		return s, "runs"
	case len(s.model.seen()) == 1:
		return s, "turn ends"
	case !strings.Contains(s.lastRequest(), reason):
		return s, "not run, without the reason"
	}
	return s, "not run"
}

func checkDeny(t *testing.T, a *agent) string {
	_, got := checkShell(t, a, "E2E-DENIED", "denied")
	return got
}

func checkAsk(t *testing.T, a *agent) string {
	_, got := checkShell(t, a, "", "asked")
	return got
}

func checkAbort(t *testing.T, a *agent) string {
	_, got := checkShell(t, a, "", "ended")
	return got
}

func checkModify(t *testing.T, a *agent) string {
	s, got := checkShell(t, a, "", "old")
	if s.has("new") && !s.has("old") {
		return "changed"
	}
	return got
}

func checkRedact(t *testing.T, a *agent) string {
	s := newStage(t, a, plugin, reply{calls: []call{a.shell("cat secret.txt")}}, reply{text: "hello"})
	s.run("read the file", false)
	last := s.lastRequest()
	switch {
	case strings.Contains(last, secret):
		return "not changed"
	case strings.Contains(last, "E2E-HIDDEN"):
		return "changed"
	}
	return "no result"
}

// checkEight makes eight calls in one reply. A guard denies the fourth.
func checkEight(t *testing.T, a *agent) string {
	var calls []call
	for i := range 8 {
		name := fmt.Sprint("file", i)
		if i == 3 {
			name = "denied"
		}
		calls = append(calls, a.shell("touch "+name))
	}
	s := newStage(t, a, plugin, reply{calls: calls}, reply{text: "hello"})
	s.run("make files", false)
	if len(s.model.seen()) == 1 && !s.has("denied") {
		return "turn ends"
	}
	for i := range 8 {
		if name := fmt.Sprint("file", i); s.has(name) != (i != 3) {
			return name + " is wrong"
		}
	}
	if s.has("denied") {
		return "the denied call ran"
	}
	return "guarded"
}

// checkBroken breaks the plugin after the agent's settings name it.
func checkBroken(t *testing.T, a *agent) string {
	s := newStage(t, a, plugin, reply{calls: []call{a.shell("touch ran")}}, reply{text: "hello"})
	s.write("policy.star", "register_hook(\"pre_tool_call\", lambda call: deny(")
	s.run("go on", false)
	return ranOrNot(s)
}

// checkMissing removes starhost after the prompt, before the call of a tool.
func checkMissing(t *testing.T, a *agent) string {
	var s *stage
	remove := func() { s.remove("bin/starhost") }
	s = newStage(t, a, plugin, reply{before: remove, calls: []call{a.shell("touch ran")}}, reply{text: "hello"})
	s.run("go on", false)
	return ranOrNot(s)
}

// checkLate makes starhost slower than the agent waits, for the call of a tool.
func checkLate(t *testing.T, a *agent) string {
	var s *stage
	slow := func() {
		s.writeProgram("bin/starhost", "#!/bin/sh\nmkdir '"+s.home+"/late' && exec sleep 30\n")
	}
	s = newStage(t, a, plugin, reply{before: slow, calls: []call{a.shell("touch ran")}}, reply{text: "hello"})
	s.run("go on", false)
	return ranOrNot(s)
}

// checkMissingPrompt removes starhost before the prompt.
func checkMissingPrompt(t *testing.T, a *agent) string {
	s := newStage(t, a, plugin, reply{text: "hello"})
	s.remove("bin/starhost")
	s.run("go on", false)
	if len(s.model.seen()) > 0 {
		return "sent"
	}
	return "not sent"
}

// ranCalls describes a run with calls of which one would make a file. A record of a call that ran
// otherwise than guards judged it would be an error of starhost's here.
func (s *stage) ranCalls(reason, file string) string {
	s.t.Helper()
	s.run("go on", false)
	switch {
	case s.ranRecords() != "":
		return "recorded: " + s.ranRecords()
	case len(s.model.seen()) == 0:
		return "no request"
	case s.has(file):
		return "runs"
	case !strings.Contains(strings.Join(s.model.seen(), ""), reason):
		return "not run, without the reason"
	}
	return "not run"
}

func checkWritePath(t *testing.T, a *agent) string {
	if a.write == nil {
		return ""
	}
	s := newStage(t, a, plugin, reply{text: "hello"})
	s.model.replies = []reply{{calls: []call{a.write(filepath.Join(s.work, "kept.txt"), "x")}}, {text: "hello"}}
	return s.ranCalls("E2E-PATH", "kept.txt")
}

func checkWriteContent(t *testing.T, a *agent) string {
	if a.write == nil {
		return ""
	}
	s := newStage(t, a, plugin, reply{text: "hello"})
	s.model.replies = []reply{
		{calls: []call{a.write(filepath.Join(s.work, "good.txt"), "x")}}, {calls: []call{a.write(filepath.Join(s.work, "bad.txt"), "E2E-BAD")}},
		{text: "hello"},
	}
	got := s.ranCalls("E2E-CONTENT", "bad.txt")
	if !s.has("good.txt") {
		return "the harmless call did not run"
	}
	return got
}

func checkMCP(name, reason string) func(*testing.T, *agent) string {
	return func(t *testing.T, a *agent) string {
		if a.lab == nil {
			return ""
		}
		s := newStage(t, a, plugin, reply{text: "hello"})
		a.lab(s)
		s.model.replies = []reply{
			{calls: []call{a.mcp(filepath.Join(s.work, "good"))}}, {calls: []call{a.mcp(filepath.Join(s.work, name))}}, {text: "hello"},
		}
		got := s.ranCalls(reason, name)
		if !s.has("good") {
			return "the harmless call did not run"
		}
		return got
	}
}

func checkSubagent(t *testing.T, a *agent) string {
	if a.subagent == nil {
		return ""
	}
	s := newStage(t, a, plugin, reply{calls: []call{a.subagent("E2E-SUB")}}, reply{calls: []call{a.shell("touch denied")}}, reply{text: "it is done"},
		reply{text: "hello"})
	return s.ranCalls("E2E-DENIED", "denied")
}

func checkDenyResumed(t *testing.T, a *agent) string {
	if a.noResume {
		return ""
	}
	s := newStage(t, a, plugin, reply{text: "hello"}, reply{calls: []call{a.shell("touch denied")}}, reply{text: "hello"})
	s.run("say hello", false)
	s.run("go on", true)
	if n := len(s.model.seen()); n < 3 {
		return fmt.Sprintf("%d requests", n)
	}
	return ranFile(s, "denied")
}

func checkBackground(t *testing.T, a *agent) string {
	if a.background == nil {
		return ""
	}
	s := newStage(t, a, plugin, reply{calls: []call{a.background("touch denied")}}, reply{text: "hello"})
	return s.ranCalls("E2E-DENIED", "denied")
}

// checkInteractive begins a shell, and writes a command into it.
func checkInteractive(t *testing.T, a *agent) string {
	if a.interactive == nil {
		return ""
	}
	var replies []reply
	for _, c := range a.interactive("touch denied") {
		replies = append(replies, reply{calls: []call{c}})
	}
	s := newStage(t, a, plugin, append(replies, reply{text: "hello"})...)
	return s.ranCalls("", "denied")
}

// ranFile describes a run whose command touches a file.
func ranFile(s *stage, file string) string {
	if s.has(file) {
		return "runs"
	}
	return "not run"
}

// ranOrNot describes a run whose command touches the file ran.
func ranOrNot(s *stage) string {
	switch {
	case s.has("ran"):
		return "runs"
	case len(s.model.seen()) == 0:
		return "no request"
	case len(s.model.seen()) == 1:
		return "turn ends"
	}
	return "not run"
}

// TestClaudeCode checks what only Claude Code has: context for subagents, changed results in them,
// and changed results of its tools.
func TestClaudeCode(t *testing.T) {
	wanted(t)
	a := agents[slices.IndexFunc(agents, func(a *agent) bool { return a.name == "claude-code" })]
	t.Run("subagent", func(t *testing.T) {
		agent := call{"Agent", dict{
			"description": "d", "prompt": "say it", "subagent_type": "general-purpose", "run_in_background": false,
		}}
		s := newStage(t, a, plugin, reply{calls: []call{agent}}, reply{calls: []call{a.shell("cat secret.txt")}},
			reply{text: "it is " + secret}, reply{text: "hello"})
		s.run("go on", false)
		all := s.model.seen()
		if len(all) != 4 {
			t.Fatalf("got %d requests, want 4", len(all))
		}
		if got := occurrences(all[1], "E2E-SESSION"); got != "once" {
			t.Errorf("the subagent's first request has %s", got)
		}
		if strings.Contains(all[2], secret) || strings.Contains(all[3], secret) {
			t.Errorf("a request has the secret: %s\n%s", all[2], all[3])
		}
		if strings.Count(all[3], "E2E-HIDDEN") != 1 {
			t.Errorf("the subagent's result did not come back: %s", all[3])
		}
	})
	t.Run("results", func(t *testing.T) {
		s := newStage(t, a, plugin)
		notebook := filepath.Join(s.work, "n.ipynb")
		s.write("work/n.ipynb", `{"cells":[{"cell_type":"code","id":"a","metadata":{},"outputs":[],"execution_count":null,`+
			`"source":["x = '`+secret+`'"]}],"metadata":{"language_info":{"name":"python"}},"nbformat":4,"nbformat_minor":5}`)
		s.model.replies = []reply{
			{calls: []call{{"Read", dict{"file_path": filepath.Join(s.work, "secret.txt")}}}},
			{calls: []call{{"Read", dict{"file_path": notebook}}}},
		}
		s.run("go on", false)
		if last := s.lastRequest(); strings.Contains(last, secret) || strings.Count(last, "E2E-HIDDEN") != 2 {
			t.Errorf("got %d changed results, want 2, without the secret in %s", strings.Count(last, "E2E-HIDDEN"), last)
		}
	})
}

// TestClaudeCommand gives the command for Claude Code to agents with similar hooks.
func TestClaudeCommand(t *testing.T) {
	wanted(t)
	for _, a := range agents {
		if a.name != "codex" && a.name != "gemini" {
			continue
		}
		for _, name := range []string{"denied", "asked", "old", "ended"} {
			t.Run(a.name+" "+name, func(t *testing.T) {
				s := newStage(t, a, plugin, reply{calls: []call{a.shell("touch " + name)}}, reply{text: "hello"})
				text, err := os.ReadFile(filepath.Join(s.home, a.settings))
				if err != nil {
					t.Fatal(err)
				}
				s.write(a.settings, strings.ReplaceAll(string(text), "hook "+a.name, "hook claude-code"))
				if a.trust != nil { // the hash is that of the line before
					config, err := os.ReadFile(filepath.Join(s.home, ".codex/config.toml"))
					if err != nil {
						t.Fatal(err)
					}
					before, _, _ := strings.Cut(string(config), "\n[hooks.state")
					s.write(".codex/config.toml", before)
					a.trust(s)
				}
				s.run("go on", false)
				if len(s.model.seen()) == 0 || s.has(name) || s.has("new") != (name == "old") {
					t.Errorf("%d requests, %s ran: %v, new ran: %v", len(s.model.seen()), name, s.has(name), s.has("new"))
				}
			})
		}
	}
}
