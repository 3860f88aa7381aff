package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/internal/jsontext"
)

// evil moves the cursor, clears the screen and forges lines and commands.
const evil = "e\x1b[2J\x1b]0;t\x07\r\nforged  line\n::error::forged\n-- config.toml --\n\u202e\x00\u009b1m<&]]>"

// evilRecord returns a line of a log with evil in each text, as another program could write it.
func evilRecord(t *testing.T, id, action string, input map[string]any) string {
	t.Helper()
	texts := []string{
		"starhost", "agent", "session", "tool", "plugin", "kind", "call_id", "platform", "workspace", "model",
		"mode", "answered",
	}
	record := map[string]any{
		"schema": decision.Schema, "id": id, "event": "pre_tool_call", "time": time.Now().UTC(), "foreign": true,
		"roles": []string{evil}, "input": input,
		"set": map[string]any{
			"revision": evil, "plugins": []any{map[string]any{"name": evil, "version": evil, "sha256": evil, "config": map[string]any{evil: evil}}},
		},
		"errors": []string{evil}, "masked": []string{}, "cut": []string{}, "omitted": []string{"/input/" + evil},
		"context": []any{map[string]any{"id": evil, "plugin": evil, "source": evil, "title": evil, "content": evil, "bytes": 1}},
	}
	d := map[string]any{"action": action, "reason": evil, "plugin": evil, "pos": evil + ":1:2", "value": evil}
	h := map[string]any{
		"action": action, "reason": evil, "plugin": evil, "pos": evil, "error": evil, "context": []int{0},
		"effects": []any{
			map[string]any{"plugin": evil, "env": map[string]string{"name": evil}, "reply": evil},
			map[string]any{"plugin": evil, evil: map[string]string{"name": evil}, "reply": evil},
		},
		"logs": []any{map[string]any{"plugin": evil, "level": evil, "text": evil, "fields": map[string]string{evil: evil}}},
	}
	record["decision"], record["handlers"] = d, []any{h}
	for _, name := range texts {
		record[name] = evil
	}
	line, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// TestHostileRecords checks that the texts of a record reach a terminal, a report or a spreadsheet only in an
// escaped form, and that starhost counts torn and foreign lines.
func TestHostileRecords(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, "")
	}
	arguments := map[string]any{evil: evil}
	deny := evilRecord(t, "01JDXYZ0", "deny", map[string]any{"arguments": arguments, evil: evil})
	pass := evilRecord(t, "01JDXYZ1", evil, map[string]any{"arguments": arguments})
	forged := evilRecord(t, "$(halt)\x1b", "deny", nil)
	last := evilRecord(t, "01JDXYZ2", "deny", map[string]any{"arguments": arguments})
	writeFiles(t, dir, map[string]string{
		".local/state/starhost/log/decisions-2026-01-01.jsonl": deny + "\n" + forged + "\n\x1b[2J\xff torn\n{\"schema\":\"" + decision.Schema + "\",\"id\":\"\x1b\n",
		".local/state/starhost/log/decisions-2026-01-02.jsonl": "\n" + pass + "\n\n" + deny[:len(deny)/2],
		".local/state/starhost/log/decisions-2026-01-03.jsonl": "\n" + last + "\n",
		"p.star": "def guard(call, tool):\n    return deny(\"now \" + tool + str(call.command))\n\nregister_hook(\"pre_tool_call\", guard)\n",
		"q.star": "register_hook(\"pre_tool_call\", lambda ctx, tool: ctx.env(tool))\n",
	})
	for _, tt := range []struct {
		args []string
		code int
	}{
		{[]string{"log"}, 0},
		{[]string{"log", "-F", "csv"}, 0},
		{[]string{"log", "-F", "json"}, 0},
		{[]string{"log", "-F", "jsonl"}, 0},
		{[]string{"log", "--tool", evil, "--session", evil}, 0},
		{[]string{"log", "--tool", evil + "["}, 2},
		{[]string{"log", "--action", evil}, 2},
		{[]string{"log", "--since", evil}, 2},
		{[]string{"log", "show", "last"}, 0},
		{[]string{"log", "show", "last", "-F", "json"}, 0},
		{[]string{"log", "show", "01JDXYZ0"}, 0},
		{[]string{"log", "show", evil}, 2},
		{[]string{"log", "show", "last", "--golden"}, 0},
		{[]string{"log", "show", "01JDXYZ0", "--golden"}, 1},
		{[]string{"log", "show", "last", "--golden", "--plugin", evil}, 0},
		{[]string{"replay", "p.star"}, 1},
		{[]string{"replay", "p.star", "-F", "json"}, 1},
		{[]string{"replay", "p.star", "-F", "github"}, 1},
		{[]string{"replay", "p.star", "-F", "junit"}, 1},
		{[]string{"replay", "q.star"}, 1},
		{[]string{"replay", "q.star", "-F", "github"}, 1},
		{[]string{"replay", "q.star", "-F", "junit"}, 1},
		{[]string{"replay", "p.star", "--allow", evil}, 1},
		{[]string{"replay", "p.star", "--only", evil}, 0},
		{[]string{"replay", "p.star", "--only", evil + "["}, 2},
	} {
		args := append([]string{"-C", dir, "--no-config"}, tt.args...)
		var out, errs bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), &out, &errs)
		if code != tt.code {
			t.Errorf("%.20q: got exit code %d, want %d\n%s%s", tt.args, code, tt.code, out.String(), errs.String())
		}
		all := out.String() + errs.String()
		isCase := slices.Contains(tt.args, "--golden")
		for _, bad := range []string{"\x1b", "\x07", "\x00", "\u202e", "\u009b", "\nforged", "\n::error::forged"} {
			if strings.Contains(all, bad) && (bad[0] != '\n' || !isCase) {
				t.Errorf("%.20q: got %q in %q", tt.args, bad, all)
			}
		}
		if strings.Contains(strings.ReplaceAll(all, "\r\n", ""), "\r") {
			t.Errorf("%.20q: got a carriage return in %q", tt.args, all)
		}
		if slices.Contains(tt.args, "junit") && xml.Unmarshal(out.Bytes(), new(struct{})) != nil {
			t.Errorf("%.20q: got no XML: %s", tt.args, out.String())
		}
		var sections []string
		for _, f := range txtar.Parse(out.Bytes()).Files {
			sections = append(sections, f.Name)
		}
		if want := "case.star config.toml session.json effects.jsonl want"; isCase && code == 0 && strings.Join(sections, " ") != want {
			t.Errorf("%.20q: got sections %q, want %s:\n%s", tt.args, sections, want, all)
		}
		if len(tt.args) == 1 && !strings.Contains(errs.String(), "4 lines are no records of this version") {
			t.Errorf("log: got %q, want a warning of 4 lines", errs.String())
		}
	}
}

// TestHookLogFails checks the hook of an agent if starhost cannot write the log: the decision stays, and
// standard error says why the record is missing. With required = true the agent gets a refusal.
func TestHookLogFails(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"pass.star": "register_hook(\"pre_tool_call\", lambda ctx: None)\nregister_hook(\"turn_start\", lambda ctx: None)\n",
		"deaf.star": "register_hook(\"turn_end\", lambda ctx: None)\n",
		"file":      "",
		"must.toml": "[log]\npath = \"file/log\"\nrequired = true\n",
		"can.toml":  "[log]\npath = \"file/log\"\n",
	})
	const failure = "decision log: open "
	for _, c := range callEvents {
		out, errs, code, _ := hookIn(t, dir, time.Minute, strings.NewReader(c.event), c.agent, "pass.star", "-c", "can.toml")
		if code != 0 || strings.Contains(out, c.out) || !strings.Contains(errs, "hook: "+failure) {
			t.Errorf("%s: got code %d, %q, %q, want no decision and the failure", c.agent, code, out, errs)
		}
		out, errs, code, _ = hookIn(t, dir, time.Minute, strings.NewReader(c.event), c.agent, "pass.star", "-c", "must.toml")
		want := "the decision was not recorded: " + failure
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(out+errs, want) {
			t.Errorf("%s, required: got code %d, %q, %q, want %s", c.agent, code, out, errs, want)
		}
		out, errs, code, _ = hookIn(t, dir, time.Minute, strings.NewReader(c.event), c.agent, "deaf.star", "-c", "must.toml")
		if code != 0 || out != "" || !strings.Contains(errs, "hook: "+failure) {
			t.Errorf("%s, an event that no handler heard: got code %d, %q, %q", c.agent, code, out, errs)
		}
	}
	prompt := `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"x"}`
	out, _, code, _ := hookIn(t, dir, time.Minute, strings.NewReader(prompt), "claude-code", "pass.star", "-c", "must.toml")
	if code != 2 || !strings.Contains(out, `"decision":"block"`) {
		t.Errorf("a prompt, required: got code %d, %q", code, out)
	}
	lines := `{"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{"version":"1"}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"hook.before_tool","params":{"meta":{"SessionKey":"s"},"tool":"exec","arguments":{}}}` + "\n"
	for config, want := range map[string]string{"can.toml": `"action":"continue"`, "must.toml": "the decision was not recorded"} {
		out, errs, code, _ := hookIn(t, dir, time.Minute, strings.NewReader(lines), "picoclaw", "pass.star", "-c", config)
		if code != 0 || !strings.Contains(out, want) || !strings.Contains(errs, failure) {
			t.Errorf("picoclaw, %s: got code %d, %q, %q, want %s", config, code, out, errs, want)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "file")); err != nil || info.Size() > 0 {
		t.Errorf("the file in the log's way changed: %v, %v", info, err)
	}
}

// TestUndecided checks that an event that starhost itself refuses, because a guard is not loaded or plugins
// do not answer in time, has one record with the reason, and that a replay does not compare this record.
func TestUndecided(t *testing.T) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // TempDir would fail: the abandoned calls may still write states
	writeFiles(t, dir, map[string]string{
		"hang.star":   "def hang():\n    for _ in range(1 << 40):\n        pass\n\nregister_hook(\"pre_tool_call\", hang)\nregister_hook(\"turn_start\", hang)\n",
		"load.star":   "[x for _ in range(1 << 30) for x in range(1 << 30)]\n",
		"broken.star": "register_hook(\"pre_tool_call\", lambda ctx: None)\nregister_hook(\"turn_start\", undefined)\n",
		"bad.toml":    "[plugins]\npaths = 7\n",
		"off.toml":    "[log]\nenabled = false\n",
	})
	const late, deadline = "the plugins gave no answer within 300ms", 300 * time.Millisecond
	forever := []string{"--timeout", "1h", "--max-steps", "1000000000000000"}
	endless, end := io.Pipe() // nobody writes to or closes it
	defer end.Close()
	args := func(agent string, more ...string) []string { return append([]string{agent}, more...) }
	logs := filepath.Join(dir, "home/.local/state/starhost/log")
	type undecided struct {
		what, event, reason string
		args                []string
		deadline            time.Duration
		records             int
	}
	var tests []undecided
	for _, c := range callEvents {
		tests = append(tests,
			undecided{c.agent + ": a lost guard", c.event, "undefined: undefined", args(c.agent, "broken.star"), time.Minute, 1},
			undecided{c.agent + ": a mistake", c.event, "unknown flag", args(c.agent, "--typo", "broken.star"), time.Minute, 1},
			undecided{c.agent + ": a handler", c.event, late, args(c.agent, append(forever, "hang.star")...), deadline, 1},
			undecided{c.agent + ": loading", c.event, late, args(c.agent, append(forever, "load.star")...), deadline, 1},
			undecided{c.agent + ": standard input", "", late, args(c.agent, "hang.star"), deadline, 1},
			undecided{c.agent + ": no config", c.event, "", args(c.agent, "-c", "bad.toml", "hang.star"), deadline, 0},
			undecided{c.agent + ": no log", c.event, "", args(c.agent, "-c", "off.toml", "broken.star"), deadline, 0},
			undecided{c.agent + ": not read", `{"session_id"`, "JSON", args(c.agent, "hang.star"), time.Minute, 1},
			undecided{c.agent + ": open", c.event, "", args(c.agent, "--fail-open", "broken.star"), time.Minute, 0},
		)
	}
	line := `{"jsonrpc":"2.0","id":2,"method":"hook.before_tool","params":{"meta":{"SessionKey":"s"},"tool":"Bash","arguments":{}}}` + "\n"
	tests = append(tests,
		undecided{"picoclaw: a lost guard", line, "undefined: undefined", args("picoclaw", "broken.star"), time.Minute, 1},
		undecided{"picoclaw: a handler", line, late, args("picoclaw", append(forever, "hang.star")...), deadline, 1},
		undecided{"picoclaw: two readings", strings.Replace(line, `"tool":`, `"tool":"Read","tool":`, 1), "cannot read the request", args("picoclaw", "broken.star"), time.Minute, 1},
		undecided{"picoclaw: a part of a line", line[:len(line)-6], "cannot read the request", args("picoclaw", "broken.star"), time.Minute, 1},
		undecided{"picoclaw: loading", line, late, args("picoclaw", append(forever, "load.star")...), deadline, 1},
	)
	for _, tt := range tests {
		if err := os.RemoveAll(logs); err != nil {
			t.Fatal(err)
		}
		var stdin io.Reader = strings.NewReader(tt.event)
		if tt.event == "" {
			stdin = endless
		}
		out, errs, _, took := hookIn(t, dir, tt.deadline, stdin, tt.args...)
		if took > 10*time.Second { // a busy machine may need some seconds
			t.Errorf("%s: the answer took %v", tt.what, took)
		}
		records := recordsIn(t, logs)
		for end := time.Now().Add(10 * time.Second); len(records) < tt.records && time.Now().Before(end); records = recordsIn(t, logs) {
			time.Sleep(10 * time.Millisecond) // hook waits 50 ms for the record, which a busy machine writes later
		}
		if len(records) != tt.records {
			t.Errorf("%s: got %d records, want %d: %s%s", tt.what, len(records), tt.records, out, errs)
			continue
		}
		if tt.records == 0 {
			continue
		}
		r := records[0]
		isRead := strings.HasSuffix(tt.event, "}") || strings.HasSuffix(tt.event, "}\n")
		switch {
		case r.Event != "pre_tool_call" || len(r.Handlers) > 0 || isRead && (r.Session != "s" || r.Tool == "" || !r.Foreign):
			t.Errorf("%s: got the record %+v", tt.what, r)
		case r.Decision.Action != "deny" || r.Answered != "deny" || r.Decision.Plugin != "host":
			t.Errorf("%s: got the decision %+v, answered %q", tt.what, r.Decision, r.Answered)
		case !strings.Contains(r.Decision.Reason, tt.reason) || !strings.Contains(r.Errors[0], tt.reason):
			t.Errorf("%s: got the reasons %q and %q, want %s", tt.what, r.Decision.Reason, r.Errors, tt.reason)
		}
		writeFiles(t, dir, map[string]string{"pass.star": "register_hook(\"pre_tool_call\", lambda ctx: None)\n"})
		report, code := runReplay(t, dir, "--log", logs, "pass.star")
		if report.CannotTell != 1 || code != 0 || !strings.Contains(report.Groups[0].Reason, "no plugin decided: ") {
			t.Errorf("%s: got the replay %s: %+v", tt.what, report.Summary(), report.Groups)
		}
	}
}

// TestNoMask checks that log.mask = [] keeps values that look like keys, so that a replay can compare all
// events, but never the values of [secrets], also if no plugin uses them.
func TestNoMask(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"guard.star": "register_hook(\"pre_tool_call\", lambda call: deny(\"no \" + call.command) if \"ghp_\" in call.command else None)\n",
		"secret":     "the-secret-of-the-pager\n",
		"none.toml":  "log.mask = []\n[secrets]\nPAGER = {file = \"secret\"}\nOTHER = {command = [\"echo\", \"another-secret\"]}\nGONE = {file = \"gone\"}\n",
		"some.toml":  "log.mask = [\"/nothing\"]\n[secrets]\nPAGER = {file = \"secret\"}\n",
	})
	const key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	logs := filepath.Join(dir, "home/.local/state/starhost/log")
	for _, config := range []string{"none.toml", "some.toml"} {
		if err := os.RemoveAll(logs); err != nil {
			t.Fatal(err)
		}
		send := func(command string) string {
			t.Helper()
			event := string(jsontext.Must(map[string]any{
				"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": map[string]string{"command": command},
			}))
			hookIn(t, dir, time.Minute, strings.NewReader(event), "claude-code", "guard.star", "-c", config)
			records := recordsIn(t, logs)
			return string(jsontext.Must(records[len(records)-1]))
		}
		if got := send("use " + key); strings.Contains(got, key) != (config == "none.toml") {
			t.Errorf("%s: got the record %s", config, got)
		}
		report, _ := runReplay(t, dir, "--log", logs, "guard.star")
		if config == "none.toml" && report.Summary() != "1 event of 1 session: 1 same, 0 cannot tell" {
			t.Errorf("%s: got the replay %s", config, report.Summary())
		}
		got := send("use the-secret-of-the-pager and another-secret")
		if strings.Contains(got, "the-secret") || config == "none.toml" && strings.Contains(got, "another-secret") {
			t.Errorf("%s: got a secret in the record %s", config, got)
		}
	}
}
