//go:build unix

package agents

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver" // for opencode's database
)

// calls40 returns replies with 40 calls of all kinds that the agent has: shell, write, read, MCP, wrong,
// failed, denied, asked, changed, parallel, by a subagent and in a resumed session.
func calls40(s *stage) (first, resumed []reply) {
	a := s.agent
	shell := func(names ...string) (r reply) {
		for _, name := range names {
			r.calls = append(r.calls, a.shell("touch "+name))
		}
		return r
	}
	one := func(c call) reply { return reply{calls: []call{c}} }
	wrong := a.shell("x")
	wrong.args = dict{"wrong": 1}
	first = []reply{shell("a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"), shell("b1"), one(a.shell("echo before; exit 3"))}
	if a.read != nil {
		first = append(first, one(a.read(filepath.Join(s.work, "secret.txt"))))
	}
	denials := []reply{shell("denied1"), shell("c1", "denied2", "c2"), shell("old"), shell("asked")}
	if a.write != nil {
		first = append(first, one(a.write(filepath.Join(s.work, "good.txt"), "x")))
		denials = append(denials, one(a.write(filepath.Join(s.work, "kept.txt"), "x")))
	}
	if a.mcp != nil {
		first = append(first, one(a.mcp(filepath.Join(s.work, "mcp1"))))
		denials = append(denials, one(a.mcp(filepath.Join(s.work, "bykind"))))
	}
	first = append(first, one(wrong), one(call{"no_such_tool", dict{"a": 1}}))
	last := []reply{shell("d1", "d2"), {text: "hello"}}
	if a.subagent != nil {
		last = append([]reply{one(a.subagent("E2E-SUB")), shell("sub1"), shell("denied3"), {text: "it is done"}}, last...)
	}
	if a.want["deny"] == "turn ends" {
		first, denials = append(first, shell("d1", "d2")), []reply{shell("denied1")}
		last = nil
	}
	if !a.noResume {
		resumed = []reply{shell("r1", "r2"), shell("r3"), shell("denied4"), shell("same"), shell("same"), {text: "bye"}}
	}
	all := slices.Concat(first, denials, last)
	n := 0
	for _, r := range slices.Concat(all, resumed) {
		n += len(r.calls)
	}
	var fill reply
	for ; n < 40; n++ {
		fill.calls = append(fill.calls, a.shell("touch f"+string(rune('a'+n%26))))
	}
	return append([]reply{fill}, all...), resumed
}

// covered is what hook doctor says of the calls of one agent.
type covered struct {
	Calls    int
	Counts   map[string]int
	Broken   int
	Findings []struct {
		Verdict, Why, Tool, File, Result string
		Call                             string `json:"call_id"`
		Line                             int
	}
}

// coverage returns what hook doctor says of the agent's calls, with the environment of its run.
func (s *stage) coverage(flags ...string) (c covered) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(s.home, "bin", "starhost"), append([]string{"hook", "doctor", s.agent.name, "-F", "json"}, flags...)...)
	cmd.Env, cmd.Dir = slices.Concat(s.environment(), s.agent.env(s), s.moreEnv), s.work
	out, _ := cmd.Output() // it ends with 1 if a guard could be off
	var all struct {
		Agents []struct{ Calls *covered }
	}
	if err := json.Unmarshal(out, &all); err != nil || len(all.Agents) != 1 {
		s.t.Fatalf("hook doctor: %v in %s", err, out)
	}
	if all.Agents[0].Calls == nil {
		return c
	}
	return *all.Agents[0].Calls
}

// TestTraces lets each agent make 40 calls and compares its transcript with what happened: starhost was
// asked about each that the agent did not refuse itself.
func TestTraces(t *testing.T) {
	wanted(t)
	for _, a := range agents {
		if a.name == "droid" {
			continue // starhost reads no transcripts of it
		}
		t.Run(a.name, func(t *testing.T) {
			s := newStage(t, a, plugin)
			if a.lab != nil {
				a.lab(s)
			}
			first, resumed := calls40(s)
			s.model.replies = first
			s.run("go on", false)
			if len(resumed) > 0 {
				s.model.replies = resumed
				s.run("more", true)
			}
			for _, flags := range [][]string{{"--calls"}, nil} {
				c := s.coverage(flags...)
				t.Logf("doctor %q: %d calls, %v", flags, c.Calls, c.Counts)
				if c.Calls != s.model.asked || c.Broken > 0 {
					t.Errorf("doctor %q: got %d calls and %d broken lines, the model asked for %d", flags, c.Calls, c.Broken, s.model.asked)
				}
				for _, f := range c.Findings {
					if f.Verdict == "cannot tell" && f.Tool == "no_such_tool" {
						continue // Cline says of it no more than of a tool that failed
					}
					t.Errorf("doctor %q: %+v", flags, f)
				}
			}
			if *update {
				s.saveTranscripts()
			}
		})
	}
}

// named is what hook doctor must say of the calls of a run: it names as many faults as calls passed a guard
// by, and no other call but those of which the transcript does not say enough.
func (s *stage) named(calls, faults int) {
	s.t.Helper()
	c := s.coverage("--calls")
	n := 0
	for _, f := range c.Findings {
		s.t.Logf("%s: %s %s: %s, %s", f.Verdict, f.Tool, f.Call, f.Result, f.Why)
		if f.Verdict != "cannot tell" {
			n++
		}
	}
	if c.Calls != calls || n != faults || faults > 0 && len(c.Findings) > faults {
		s.t.Errorf("got %d calls, %d faults: %+v, want %d calls, %d faults", c.Calls, n, c, calls, faults)
	}
}

// TestTracesAttacked passes guards by, as docs/agents says that it is possible, and checks that doctor
// names the call that ran, and no other.
func TestTracesAttacked(t *testing.T) {
	wanted(t)
	for _, x := range slices.Concat(attacks, allowing()) {
		a := agents[slices.IndexFunc(agents, func(a *agent) bool { return a.name == x.agent })]
		for level, want := range map[string]string{"user": x.user, "managed": x.managed} {
			if !strings.HasPrefix(want, "runs") || a.name == "droid" {
				continue // the guard held, or starhost reads no transcripts
			}
			t.Run(fmt.Sprint(a.name, " ", x.name, " ", level), func(t *testing.T) {
				calls := []reply{{calls: []call{a.shell("touch denied")}}, {text: "hello"}}
				if x.calls != nil {
					calls = x.calls(a)
				}
				s := newHome(t, a, plugin, calls...)
				if a.setup != nil {
					a.setup(s)
				}
				if level == "user" {
					s.install()
				} else if !s.installManaged() {
					t.Skip("no settings of all users")
				}
				if x.prepare != nil {
					x.prepare(s)
				}
				if got := x.outcome(s); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
				faults := 1
				if x.isHidden {
					faults = 0
				}
				s.named(s.model.asked, faults)
			})
		}
	}
}

// TestTracesLifted lifts the hook while the agent runs, between two calls. Some agents go on to ask, and some
// refuse the second call; doctor names it if it ran.
func TestTracesLifted(t *testing.T) {
	wanted(t)
	lifts := []struct {
		name string
		lift func(s *stage, settings []byte)
	}{
		{"removed by hand", func(s *stage, settings []byte) {
			s.remove(s.agent.settings)
			if settings != nil {
				s.write(s.agent.settings, string(settings))
			}
		}},
		{"starhost is missing", func(s *stage, _ []byte) { s.remove("bin/starhost") }},
		{"starhost is late", func(s *stage, _ []byte) {
			s.writeProgram("bin/starhost", "#!/bin/sh\nexec sleep 30\n")
		}},
	}
	for _, a := range agents {
		for _, x := range lifts {
			if a.name == "droid" {
				continue // starhost reads no transcripts of it
			}
			t.Run(a.name+" "+x.name, func(t *testing.T) {
				s := newHome(t, a, plugin)
				if a.setup != nil {
					a.setup(s)
				}
				settings, _ := os.ReadFile(filepath.Join(s.home, a.settings)) // nil if there are none
				s.install()
				s.model.replies = []reply{
					{calls: []call{a.shell("touch first")}},
					{before: func() { x.lift(s, settings) }, calls: []call{a.shell("touch denied")}}, {text: "hello"},
				}
				s.run("go on", false)
				s.putProgram()
				if !s.has("first") {
					t.Fatal("the first call did not run")
				}
				faults := 0
				if s.has("denied") {
					faults = 1
				}
				t.Logf("the second call ran: %v", s.has("denied"))
				s.named(s.model.asked, faults)
			})
		}
	}
}

// TestTracesForked goes on in a copy of a session, with another id: the copied calls were asked about in the
// first one. Then it does so without the hook, which doctor must not take for asked because of the copies.
func TestTracesForked(t *testing.T) {
	wanted(t)
	add := func(flag string) func(*stage, []string) []string {
		return func(_ *stage, args []string) []string { return append(args, flag) }
	}
	forks := map[string]func(s *stage, args []string) []string{
		"claude-code": add("--fork-session"), "opencode": add("--fork"), "qwen": add("--fork-session"),
		"codex": func(s *stage, args []string) []string {
			files, _ := filepath.Glob(filepath.Join(s.home, ".codex/sessions/*/*/*/*.jsonl"))
			newest := strings.TrimSuffix(filepath.Base(slices.Max(files)), ".jsonl") // the names begin with the time
			args[slices.Index(args, "resume")], args[slices.Index(args, "--last")] = "fork", newest[len(newest)-len("01a21906-03b8-73f2-9869-ee1410a3096d"):]
			return args
		},
	}
	for _, a := range agents {
		if forks[a.name] == nil {
			continue // it cannot copy a session
		}
		t.Run(a.name, func(t *testing.T) {
			forked := *a
			forked.args = func(s *stage, prompt string, resume bool) []string {
				args := a.args(s, prompt, resume)
				if resume {
					args = forks[a.name](s, args)
				}
				return args
			}
			s := newHome(t, &forked, plugin)
			if a.setup != nil {
				a.setup(s)
			}
			settings, _ := os.ReadFile(filepath.Join(s.home, a.settings)) // nil if there are none
			s.install()
			s.model.replies = []reply{{calls: []call{a.shell("touch a1"), a.shell("touch a2")}}, {calls: []call{a.shell("touch a3")}}, {text: "hello"}}
			s.run("go on", false)
			for i, name := range []string{"b1", "b2"} {
				if i == 1 { // without the hook
					s.remove(a.settings)
					if settings != nil {
						s.write(a.settings, string(settings))
					}
				}
				s.model.replies = []reply{{calls: []call{a.shell("touch " + name)}}, {text: "hello"}}
				s.run("fork", true)
				c := s.coverage("--calls")
				if !s.has(name) || len(c.Findings) != i {
					t.Errorf("copy %d: got %d calls, %v, want %d faults: %+v", i+1, c.Calls, c.Counts, i, c.Findings)
				}
				t.Logf("copy %d: %d calls, %v", i+1, c.Calls, c.Counts)
			}
		})
	}
}

// TestTracesInput writes into a program that Codex runs, about which it asks no hook.
func TestTracesInput(t *testing.T) {
	wanted(t)
	a := agents[slices.IndexFunc(agents, func(a *agent) bool { return a.name == "codex" })]
	s := newStage(t, a, plugin,
		reply{calls: []call{{"exec_command", dict{"cmd": "sh -c 'read x; touch $x'", "tty": true, "yield_time_ms": 250}}}},
		reply{calls: []call{{"write_stdin", dict{"session_id": 1, "chars": "denied\n", "yield_time_ms": 1000}}}}, reply{text: "hello"})
	s.model.before = func(body string) { // the id is that of the process
		if _, id, ok := strings.Cut(body, "running with session ID "); ok && len(s.model.replies[0].calls) > 0 {
			n := 0
			_, _ = fmt.Sscan(id, &n)
			s.model.replies[0].calls[0].args["session_id"] = n
		}
	}
	s.run("go on", false)
	faults := 0
	if s.has("denied") {
		faults = 1
	}
	s.named(2, faults)
	if faults == 0 {
		t.Errorf("the input did not arrive: %s", s.output)
	}
}

// TestTracesRefused lets Claude Code call a tool that its own permissions refuse: it asks hooks before.
func TestTracesRefused(t *testing.T) {
	wanted(t)
	a := agents[slices.IndexFunc(agents, func(a *agent) bool { return a.name == "claude-code" })]
	s := newStage(t, a, plugin)
	s.model.replies = []reply{
		{calls: []call{a.read(filepath.Join(s.work, "secret.txt"))}},
		{calls: []call{{"Edit", dict{"file_path": filepath.Join(s.work, "secret.txt"), "old_string": "key", "new_string": "lock"}}}}, {text: "hello"},
	}
	s.run("go on", false)
	s.named(2, 0)
	if c := s.coverage("--calls"); c.Counts["covered"] != 2 {
		t.Errorf("got %v", c.Counts)
	}
	if text, _ := os.ReadFile(filepath.Join(s.work, "secret.txt")); strings.Contains(string(text), "lock") {
		t.Error("the call was not refused")
	}
}

// TestTracesQuiet calls the tools of Codex that touch nothing outside of it, and checks that doctor names none
// of them: Codex asks about each, but for those that the table names.
func TestTracesQuiet(t *testing.T) {
	wanted(t)
	a := agents[slices.IndexFunc(agents, func(a *agent) bool { return a.name == "codex" })]
	question := dict{"id": "q", "header": "h", "question": "which?", "options": []dict{{"label": "a", "description": "a"}, {"label": "b", "description": "b"}}}
	calls := []call{
		{"update_plan", dict{"plan": []dict{{"step": "one", "status": "pending"}}}},
		{"request_user_input", dict{"questions": []dict{question}}},
		{"create_goal", dict{"objective": "x"}},
		{"get_goal", dict{}},
		{"update_goal", dict{"status": "complete"}},
		{"view_image", dict{"path": filepath.Join("none.png")}},
		{"multi_agent_v1/wait_agent", dict{"targets": []string{"01a21906-03b8-73f2-9869-ee1410a3096d"}, "timeout_ms": 1000}},
		{"multi_agent_v1/close_agent", dict{"target": "01a21906-03b8-73f2-9869-ee1410a3096d"}},
		{"multi_agent_v1/send_input", dict{"target": "01a21906-03b8-73f2-9869-ee1410a3096d", "message": "x"}},
		{"multi_agent_v1/resume_agent", dict{"id": "01a21906-03b8-73f2-9869-ee1410a3096d"}},
	}
	var replies []reply
	for _, c := range calls {
		replies = append(replies, reply{calls: []call{c}})
	}
	s := newStage(t, a, plugin, append(replies, reply{text: "hello"})...)
	s.run("go on", false)
	s.named(len(calls), 0)
	t.Logf("%+v", s.coverage("--calls").Counts)
	asked, _ := filepath.Glob(filepath.Join(s.home, ".local/state/starhost/log/answered-*.jsonl"))
	for _, name := range asked {
		text, _ := os.ReadFile(name)
		t.Logf("%s", text)
	}
}

// pastPolicy decides by what a guard reads of a call, and of earlier calls if their order is known.
const pastPolicy = `
def guard(call, arguments, ctx):
    command = call.command or ""
    if "order" in command:
        n = ctx.state.get("n", 0) + 1
        ctx.state.set("n", n)
        return deny("each third") if n % 3 == 0 else None
    if shell.runs(command, "git", "push") != "no":
        return deny("push by " + str(call.agent))
    if "write" in call.kinds:
        for p in call.paths or []:
            if p.endswith("/odd.txt"):
                return ask("odd in " + call.cwd.rsplit("/", 1)[-1] if call.cwd else "odd")
        if "seven" in (call.content or ""):
            return deny("seven")
    if "read" in call.kinds and [p for p in call.paths or [] if p.endswith("/secret.txt")]:
        return deny("secret")
    if call.server == "lab":
        return ask("%s of %s" % (call.tool, call.server))
    if len(str(arguments)) > 300:
        return deny("long")
    if "rm " in command:
        return modify(command = "true")

register_hook("pre_tool_call", guard)
`

// pastReplies returns replies with n calls that change nothing but files of the work folder.
func pastReplies(s *stage, n int) (all []reply) {
	a := s.agent
	for i := range n {
		var c call
		file := filepath.Join(s.work, []string{"even.txt", "odd.txt"}[i%2])
		switch {
		case i%9 == 1 && a.write != nil:
			c = a.write(file, fmt.Sprintf("line %d\n%s", i, []string{"six", "seven", "eight"}[i/9%3]))
		case i%9 == 2 && a.read != nil:
			c = a.read(filepath.Join(s.work, []string{"secret.txt", "even.txt"}[i/9%2]))
		case i%9 == 3 && a.mcp != nil:
			c = a.mcp(filepath.Join(s.work, fmt.Sprint("mcp", i)))
		case i%9 == 4:
			c = a.shell(fmt.Sprintf("cd . && git push --dry-run origin %d 2>/dev/null; true", i))
		case i%9 == 5:
			c = a.shell("echo " + strings.Repeat(fmt.Sprint("é\\n'", i, "' "), i%60))
		case i%9 == 6:
			c = a.shell(fmt.Sprintf("rm -f none%d", i))
		case i%9 == 7:
			c = a.shell(fmt.Sprintf("cat <<'E'\n%d \u2028 <&> \"q\" \\\nE\nexit %d", i, i%2))
		case i%9 == 8:
			c = a.shell(fmt.Sprint("echo order ", i))
		default:
			c = a.shell(fmt.Sprint("echo ", i))
		}
		// Calls in one reply have no order, so that the calls of which it counts come alone.
		if last := len(all) - 1; i%9 == 8 || i%9 == 0 || last < 0 {
			all = append(all, reply{calls: []call{c}})
		} else {
			all[last].calls = append(all[last].calls, c)
		}
	}
	return append(all, reply{text: "done"})
}

// TestTracesReplayed compares what a policy would have done according to an agent's transcripts with what it
// would have done according to the log of the same sessions. With STARHOST_LONG it takes 1,000 calls of each
// agent.
func TestTracesReplayed(t *testing.T) {
	wanted(t)
	runs := 2
	if os.Getenv("STARHOST_LONG") == "1" {
		runs = 20
	}
	for _, a := range agents {
		if a.name == "droid" {
			continue // starhost reads no transcripts of it
		}
		t.Run(a.name, func(t *testing.T) {
			s := newStage(t, a, "register_hook(\"pre_tool_call\", lambda call: None)\n")
			if a.lab != nil {
				a.lab(s)
			}
			s.write(".config/starhost/config.toml", "[log]\ninclude = [\"writes\"]\n")
			s.write("past.star", pastPolicy)
			for i := range runs {
				s.model.replies = pastReplies(s, 50)
				s.run("go on", i > 0 && !a.noResume)
			}
			past, logged := s.replayed("--transcripts", "--agent", a.name), s.replayed()
			t.Logf("%v events of %d calls\n%s", past["events"], s.model.asked, jsonText(past))
			if p, l := jsonText(past), jsonText(logged); p != l || past["events"] != float64(s.model.asked) || past["cannot_tell"] != 0.0 {
				t.Errorf("transcripts:\n%s\nlog:\n%s", p, l)
			}
		})
	}
}

// replayed returns the report about what pastPolicy would have done, without examples.
func (s *stage) replayed(flags ...string) (r dict) {
	s.t.Helper()
	args := append([]string{"-C", s.home, "replay", "past.star", "--only", "*", "-F", "json"}, flags...)
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(s.home, "bin", "starhost"), args...)
	cmd.Env, cmd.Dir = slices.Concat(s.environment(), s.agent.env(s), s.moreEnv), s.work
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output() // it ends with 1 if a decision changed
	if json.Unmarshal(out, &r) != nil || r["groups"] == nil {
		s.t.Fatalf("replay %q: %v in %s%s", flags, err, out, stderr.String())
	}
	for _, g := range r["groups"].([]any) {
		delete(g.(dict), "example")
	}
	return r
}

// saveTranscripts writes the agent's transcripts and starhost's log of answers to the fixtures of
// agents/trace, with stable paths and without what is not about calls.
func (s *stage) saveTranscripts() {
	s.t.Helper()
	target := filepath.Join("../../agents/trace/testdata", s.agent.name)
	_ = os.RemoveAll(target)
	folders := []string{
		".claude/projects", ".cline/data/sessions", ".codex/sessions", ".copilot/session-state", ".gemini/tmp", ".qwen/projects",
		".local/state/starhost/log",
	}
	for _, folder := range folders {
		_ = filepath.WalkDir(filepath.Join(s.home, folder), func(name string, d os.DirEntry, err error) error {
			base := filepath.Base(name)
			isKept := strings.HasPrefix(base, "answered-") || base == ".project_root" || strings.Contains(name, ".cline/data/sessions") ||
				strings.HasSuffix(base, ".jsonl") && !strings.HasPrefix(base, "decisions-")
			if err != nil || !d.Type().IsRegular() || !isKept {
				return nil
			}
			text, err := os.ReadFile(name)
			if err != nil {
				s.t.Fatal(err)
			}
			rel, _ := filepath.Rel(s.home, name)
			rel = strings.ReplaceAll(strings.Replace(rel, ".local/state/starhost/log", "log", 1), strings.ReplaceAll(s.home, "/", "-"), "-home-e2e")
			s.saveFixture(filepath.Join(target, rel), strings.ReplaceAll(callLines(base, string(text)), s.home, "/home/e2e"))
			return nil
		})
	}
	if s.agent.name == "opencode" {
		s.saveFixture(filepath.Join(target, "rows.jsonl"), strings.ReplaceAll(s.databaseRows(), s.home, "/home/e2e"))
	}
}

func (s *stage) saveFixture(name, text string) {
	s.t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o644)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// callLines returns the first lines of a transcript and those about calls, without long texts.
func callLines(base, text string) string {
	if !strings.HasSuffix(base, ".jsonl") || strings.HasPrefix(base, "answered-") {
		return text
	}
	marks := []string{
		"tool_use", `_call"`, `_call_output"`, "turn_context", "toolCalls", "functionCall", "functionResponse", "tool.execution_", `"session.`,
	}
	var out strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		const long = 6000
		var meta struct {
			Payload map[string]any `json:"payload"`
		}
		var all map[string]any
		if strings.Contains(line, `"base_instructions"`) && json.Unmarshal([]byte(line), &meta) == nil && json.Unmarshal([]byte(line), &all) == nil {
			delete(meta.Payload, "base_instructions")
			all["payload"] = meta.Payload
			line = jsonText(all) + "\n"
		}
		isCall := slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(line, mark) })
		if n++; len(line) < long && (n <= 3 || isCall) && !strings.HasPrefix(line, `{"type":"api-request`) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// databaseRows returns the sessions and the calls of opencode's database, a line each.
func (s *stage) databaseRows() string {
	s.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(s.home, "data/opencode/opencode.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	var out strings.Builder
	for table, columns := range map[string]string{
		"session": "id, parent_id, directory, version, time_created", "part": "id, message_id, session_id, time_created, data",
	} {
		rows, err := db.Query("SELECT " + columns + " FROM " + table)
		if err != nil {
			s.t.Fatal(err)
		}
		for rows.Next() {
			row := make([]any, 5)
			if err := rows.Scan(&row[0], &row[1], &row[2], &row[3], &row[4]); err != nil {
				s.t.Fatal(err)
			}
			out.WriteString(jsonText(dict{"table": table, "row": row}) + "\n")
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			s.t.Fatal(err)
		}
	}
	return out.String()
}
