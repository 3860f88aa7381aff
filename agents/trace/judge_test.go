package trace

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
)

// base is the time from which the tables count seconds.
var base = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time { return base.Add(time.Duration(seconds * float64(time.Second))) }

// shellArgs returns the arguments of a command.
func shellArgs(command string) json.RawMessage {
	return jsontext.Must(map[string]string{"command": command})
}

// An askedFor is an answer in a table.
type askedFor struct {
	at                   float64
	session, id, command string
	answered             string // "none" if it is ""
}

// A done is a call in a table, with the verdict about it.
type done struct {
	from, to             float64 // to is 0 for no result
	session, id, command string
	want                 Verdict
	change               func(*Call)
}

// readTable returns the answers of a table as the log has them.
func readTable(t *testing.T, agent string, list []askedFor) *answers {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	for i, a := range list {
		tool := "Bash"
		if agent != "claude-code" {
			tool = "run_shell_command"
		}
		if a.answered == "" {
			a.answered = "none"
		}
		line := jsontext.Must(decision.Answered{
			Schema: "starhost.answered/1", ID: fmt.Sprint("id", i), Time: after(a.at), Agent: agent, Session: a.session, CallID: a.id, Tool: tool,
			Answered: a.answered, Args: decision.ArgsMark(shellArgs(a.command)),
		})
		text.WriteString("\n" + string(line))
	}
	if err := os.WriteFile(filepath.Join(dir, "answered-2026-11-26.jsonl"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := readAnswers(dir, time.Time{}, func(*agents.Agent, *decision.Answered) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestJudge compares calls with answers that look as if they were theirs.
func TestJudge(t *testing.T) {
	zero := "" // a command whose mark is 0000, as if it had none
	for i := 0; decision.ArgsMark(shellArgs(zero)) != "0000"; i++ {
		zero = fmt.Sprint("rm ", i)
	}
	at := func(folder, start string, began float64) func(*Call) {
		return func(c *Call) { c.Folder, c.start, c.began = folder, start, after(began) }
	}
	installed := []Change{{Time: after(-1000), In: true}}
	inProject := []Change{{Time: after(-1000), In: true, Folder: "/p"}}
	for _, tt := range []struct {
		name, agent string
		changes     []Change
		asked       []askedFor
		done        []done
	}{
		{"one id in two sessions", "claude-code", installed, []askedFor{{0.1, "a", "0", "ls", ""}}, []done{
			{0, 1, "b", "0", "rm", NotAsked, nil}, {0, 1, "a", "0", "ls", Covered, nil}, {600, 601, "c", "0", "ls", NotAsked, nil},
		}},
		{"a denial of one id in another session", "claude-code", installed, []askedFor{{0.1, "a", "0", "ls", "deny"}, {0.2, "b", "0", "rm", ""}}, []done{
			{0, 1, "b", "0", "rm", Covered, nil}, {0, 1, "a", "0", "ls", DeniedRan, nil},
		}},
		{"an id that counts anew in its session", "claude-code", installed, []askedFor{{0.1, "a", "0", "ls", ""}}, []done{
			{0, 1, "a", "0", "ls", Covered, nil}, {60, 61, "a", "0", "rm", NotAsked, nil}, {90, 91, "a", "0", "ls", NotAsked, nil},
		}},
		{"a copy of a session", "claude-code", installed, []askedFor{{0.1, "a", "0", "ls", ""}, {5, "b", "1", "rm", ""}}, []done{
			{0, 1, "b", "0", "ls", Covered, nil}, {0, 1, "a", "0", "ls", Covered, nil}, {5, 6, "b", "1", "rm", Covered, nil},
		}},
		{"a clock that went back", "claude-code", installed, []askedFor{{-5, "a", "0", "ls", ""}}, []done{{0, 1, "a", "0", "ls", Covered, nil}}},
		{"a late answer", "claude-code", installed, []askedFor{{600, "a", "0", "ls", ""}}, []done{{0, 1, "a", "0", "ls", TooLate, nil}}},

		{"two at once", "qwen", installed, []askedFor{{0.1, "a", "", "ls", ""}, {0.2, "a", "", "ls", ""}}, []done{
			{0, 1, "a", "1", "ls", Covered, nil}, {0, 1, "a", "2", "ls", Covered, nil}, {0, 1, "a", "3", "ls", NotAsked, nil},
		}},
		{"two at once, one denied", "qwen", installed, []askedFor{{0.1, "a", "", "ls", "deny"}, {0.2, "a", "", "ls", ""}}, []done{
			{0, 1, "a", "1", "ls", Covered, func(c *Call) { c.Result = Denied }}, {0, 1, "a", "2", "ls", Covered, nil},
		}},
		{"two at once, the other denied", "qwen", installed, []askedFor{{0.1, "a", "", "ls", ""}, {0.2, "a", "", "ls", "deny"}}, []done{
			{0, 1, "a", "1", "ls", Covered, func(c *Call) { c.Result = Denied }}, {0, 1, "a", "2", "ls", Covered, nil},
		}},
		{"two at once were denied, and ran", "qwen", installed, []askedFor{{0.1, "a", "", "ls", "deny"}, {0.2, "a", "", "ls", "deny"}}, []done{
			{0, 1, "a", "1", "ls", DeniedRan, nil}, {0, 1, "a", "2", "ls", DeniedRan, nil},
		}},
		{"two lines of the settings, one denies", "qwen", installed, []askedFor{{0.1, "a", "", "ls", ""}, {0.2, "a", "", "ls", "deny"}}, []done{
			{0, 1, "a", "1", "ls", CannotTell, nil},
		}},
		{"an aborted call, and again", "qwen", installed, []askedFor{{60.1, "a", "", "ls", ""}}, []done{
			{0, 0, "a", "1", "ls", Covered, nil}, {60, 61, "a", "2", "ls", Covered, nil}, {62, 63, "a", "3", "ls", NotAsked, nil},
		}},
		{"not asked, and again", "qwen", installed, []askedFor{{30.1, "a", "", "ls", ""}, {40.1, "a", "", "ls", ""}}, []done{
			{0, 1, "a", "1", "ls", TooLate, nil}, {30, 31, "a", "2", "ls", Covered, nil}, {40, 41, "a", "3", "ls", Covered, nil},
		}},
		{"a transcript that is there twice", "qwen", installed, []askedFor{{0.1, "a", "", "ls", ""}}, []done{
			{0, 1, "a", "1", "ls", Covered, nil}, {0, 1, "a", "1", "ls", Covered, nil}, {0.2, 1, "a", "2", "ls", NotAsked, nil},
		}},
		{"arguments with the mark of none", "qwen", installed, []askedFor{{0.1, "a", "", "ls", ""}}, []done{
			{0, 1, "a", "1", zero, NotAsked, nil}, {0, 1, "a", "2", "ls", Covered, nil},
		}},
		{"another session", "qwen", installed, []askedFor{{0.1, "a", "", "ls", ""}}, []done{{0, 1, "b", "1", "ls", NotAsked, nil}}},

		{"a project's hook, and cd", "claude-code", inProject, []askedFor{{0.1, "a", "0", "ls", ""}}, []done{
			{5, 6, "b", "1", "rm", NotAsked, at("/tmp", "/p/sub", 0)}, {5, 6, "c", "2", "rm", Before, at("/tmp", "/tmp", 0)},
			{5, 6, "a", "3", "rm", NotAsked, at("/tmp", "/tmp", 0)}, {5, 6, "d", "4", "rm", Before, at("/p2", "/p2", 0)},
		}},
		{"a session older than the hook", "claude-code", []Change{{Time: after(10), In: true}}, []askedFor{{20, "a", "1", "ls", ""}}, []done{
			{5, 6, "a", "0", "rm", Before, at("/w", "/w", 0)}, {15, 16, "a", "2", "rm", Before, at("/w", "/w", 0)},
			{25, 26, "a", "3", "rm", NotAsked, at("/w", "/w", 0)}, {15, 16, "b", "4", "rm", NotAsked, at("/w", "/w", 12)},
		}},
		{"nobody knows since when", "claude-code", nil, []askedFor{{20, "a", "1", "ls", ""}, {50, "b", "1", "ls", ""}}, []done{
			{5, 6, "a", "0", "rm", CannotTell, at("/w", "/w", 0)}, {25, 26, "a", "2", "rm", NotAsked, at("/w", "/w", 0)},
			{40, 41, "b", "0", "rm", NotAsked, at("/w", "/w", 30)}, {40, 41, "c", "0", "rm", Before, at("/w", "/w", 30)},
		}},
		{"a call without a time", "claude-code", installed, []askedFor{{0.1, "a", "1", "ls", ""}}, []done{
			{0, 1, "a", "0", "rm", CannotTell, func(c *Call) { c.Time = time.Time{} }},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			agent := agents.Find(tt.agent)
			all := readTable(t, tt.agent, tt.asked)
			x := &Comparison{Log: "x", Changes: map[string][]Change{tt.agent: tt.changes}}
			for i, d := range tt.done {
				c := &Call{Agent: tt.agent, Session: d.session, ID: d.id, Tool: "Bash", Arguments: shellArgs(d.command), Time: after(d.from), Ended: after(d.to), Result: Ran, began: base}
				if tt.agent != "claude-code" {
					c.Tool = "run_shell_command"
				}
				if d.to == 0 {
					c.Ended, c.Result = time.Time{}, None
				}
				if d.change != nil {
					d.change(c)
				}
				if got, why := x.judge(agent, all, c); got != d.want {
					t.Errorf("call %d, %s: got %s (%s), want %s", i+1, d.command, got, why, d.want)
				}
			}
		})
	}
}

// TestOldest checks since when the quick look reads answers.
func TestOldest(t *testing.T) {
	call := func(agent string, at, began float64) *Call {
		return &Call{Agent: agent, Time: after(at), began: after(began)}
	}
	x := &Comparison{Changes: map[string][]Change{"codex": {{Time: after(50), In: true}}}}
	for _, tt := range []struct {
		name  string
		calls [][]*Call
		want  time.Time
	}{
		{"no calls", [][]*Call{nil, {}}, time.Time{}},
		{"a call without a time", [][]*Call{{{Agent: "codex"}, call("codex", 90, 60)}}, after(90)},
		{"a session that is younger than the hook", [][]*Call{{call("codex", 90, 60)}}, after(90)},
		{"a session that is older", [][]*Call{{call("codex", 90, 40)}}, after(40)},
		{"no time of a hook", [][]*Call{{call("codex", 90, 60)}, {call("qwen", 95, 70)}}, after(70)},
	} {
		if got := x.oldest(tt.calls); !got.Equal(tt.want) {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestTimes reads times as agents write them.
func TestTimes(t *testing.T) {
	for text, want := range map[string]time.Time{
		`"2026-11-26T12:00:00Z"`: base, `"2026-11-26T14:00:00.000+02:00"`: base, `"2026-11-26T05:30:00-06:30"`: base, `1795694400000`: base, `1795694400`: base,
		`"2026-11-26T12:00:00"`: {}, `"yesterday"`: {}, `-1`: {}, `null`: {}, `{}`: {},
	} {
		parsed, err := jsontext.ParseFew(`{"t":`+text+`}`, maxNesting, maxValues)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&document{parsed}).time(0, "t"); !got.Equal(want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestOddCalls reads calls of which the lines do not say what became of them.
func TestOddCalls(t *testing.T) {
	use := func(id, tool, command string) string {
		return fmt.Sprintf(`{"type":"assistant","sessionId":"s","cwd":"/w","timestamp":"2026-11-26T18:02:05Z","message":{"content":[{"type":"tool_use","id":"%s","name":"%s","input":{"command":"%s"}}]}}`+"\n", id, tool, command)
	}
	end := func(id, text string) string {
		return fmt.Sprintf(`{"type":"user","sessionId":"s","timestamp":"2026-11-26T18:02:06Z","message":{"content":[{"type":"tool_result","tool_use_id":"%s","is_error":true,"content":"%s"}]}}`+"\n", id, text)
	}
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"one id for two calls", use("1", "Bash", "ls") + use("1", "Bash", "rm") + end("1", "no"), []string{"ls unknown", "rm unknown"}},
		{"a line that is there twice", use("1", "Bash", "ls") + use("1", "Bash", "ls") + end("1", "no"), []string{"ls failed"}},
		{"an id that comes again", use("1", "Bash", "ls") + end("1", "no") + use("1", "Bash", "rm"), []string{"ls failed", "rm none"}},
		{"the agent refuses", use("1", "Bash", "ls") + end("1", "<tool_use_error>no"), []string{"ls refused"}},
		{"a server says so", use("1", "mcp__x__y", "ls") + end("1", "<tool_use_error>no"), []string{"ls worded"}},
		{"no time", strings.ReplaceAll(use("1", "Bash", "ls"), "timestamp", "time"), []string{"ls none"}},
	} {
		_, getenv := newTranscript(t, tt.text)
		var got []string
		for c := range (&Reader{Getenv: getenv, Since: base}).Calls(agents.Find("claude-code")) {
			var args struct{ Command string }
			_ = json.Unmarshal(c.Arguments, &args)
			got = append(got, args.Command+" "+string(c.Result))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestCopiedLines reads a session of Qwen Code that was made of another one, and calls that a person stopped.
func TestCopiedLines(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".qwen/projects/-w/chats/b.jsonl")
	call := `{"sessionId":"b","timestamp":"2026-11-26T18:02:05Z",%s"message":{"parts":[{"functionCall":{"id":"%s","name":"x","args":{}}}]}}` + "\n"
	end := `{"sessionId":"b","timestamp":"2026-11-26T18:02:06Z",%s"message":{"parts":[{"functionResponse":{"id":"%s"}}]},"toolCallResult":{"executionStatus":"%s","errorType":"x"}}` + "\n"
	copied := `"forkedFrom":{"sessionId":"a"},`
	text := fmt.Sprintf(call+end+call+end+call+end, copied, "1", copied, "1", "success", "", "2", "", "2", "cancelled", "", "3", "", "3", "not_started")
	err := os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for c := range (&Reader{Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}).Calls(agents.Find("qwen")) {
		got = append(got, c.ID+" "+string(c.Result))
	}
	if diff := cmp.Diff([]string{"2 none", "3 refused"}, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestPastTimes leaves calls without a time out, because guards would see another one.
func TestPastTimes(t *testing.T) {
	_, getenv := newTranscript(t, strings.Replace(fmt.Sprintf(claudeCall, "1", "ls"), "timestamp", "time", 1)+fmt.Sprintf(claudeCall, "2", "ls"))
	p := &Past{Reader: &Reader{Getenv: getenv, Since: base}, Log: decision.New(decision.Options{}), Host: host.New(host.Options{}), Days: map[string]bool{}}
	n := 0
	for r, err := range p.Records([]*agents.Agent{agents.Find("claude-code")}) {
		if n++; err != nil || r.CallID != "2" {
			t.Errorf("got %v, %v", r, err)
		}
	}
	if n != 1 || p.Skipped != 1 || len(p.Days) != 1 {
		t.Errorf("got %d records of %d days, %s", n, len(p.Days), p)
	}
}

// TestGapAtMidnight compares calls with a log that removed the day before.
func TestGapAtMidnight(t *testing.T) {
	all := readTable(t, "claude-code", []askedFor{{0.1, "a", "1", "ls", ""}, {5.1, "a", "2", "ls", ""}, {0.2, "a", "4", "ls", "deny"}})
	x := &Comparison{Log: "x", Changes: map[string][]Change{"claude-code": {{Time: after(-1000), In: true}}}, gaps: []decision.Gap{{To: base, Why: "removed"}}}
	for _, d := range []done{
		{-0.1, 1, "a", "1", "ls", CannotTell, nil}, {5, 6, "a", "2", "ls", Covered, nil}, {-9, 3, "a", "3", "ls", CannotTell, nil},
		{-0.1, 1, "a", "4", "ls", DeniedRan, nil}, {5, 6, "a", "5", "ls", NotAsked, nil},
	} {
		c := &Call{Agent: "claude-code", Session: d.session, ID: d.id, Tool: "Bash", Arguments: shellArgs(d.command), Time: after(d.from), Ended: after(d.to), Result: Ran, began: base}
		if got, why := x.judge(agents.Find("claude-code"), all, c); got != d.want {
			t.Errorf("call %s: got %s (%s), want %s", d.id, got, why, d.want)
		}
	}
}

// TestUnnotedHook checks that taking out a hook of which nobody noted that it was put in does not count against
// another one.
func TestUnnotedHook(t *testing.T) {
	for _, changes := range [][]Change{
		{{Time: after(-9)}, {Time: after(-8), In: true}},
		{{Time: after(-9), Folder: "/a"}, {Time: after(-8), In: true, Folder: "/b"}},
		{{Time: after(-9), In: true, Folder: "/b"}, {Time: after(-8), Folder: "/a"}},
	} {
		x := &Comparison{Log: "x", Changes: map[string][]Change{"claude-code": changes}}
		all := readTable(t, "claude-code", []askedFor{{at: 1, session: "s", id: "1", command: "a"}})
		c := &Call{
			Agent: "claude-code", Session: "s", ID: "2", Tool: "Bash", Arguments: shellArgs("b"), Time: after(2), Ended: after(3), Result: Ran,
			Folder: "/b", began: after(0),
		}
		if got, why := x.judge(agents.Find("claude-code"), all, c); got != NotAsked {
			t.Errorf("%v: got %q, %q, want %q", changes, got, why, NotAsked)
		}
	}
}
