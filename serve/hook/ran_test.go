package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/hook"
)

// A ranStage is a session of an agent. Its guard denies calls with the text "evil", asks about calls with
// "asked" and changes calls with "old".
type ranStage struct {
	t       *testing.T
	agent   *hook.Agent
	host    *host.Host
	o       hook.Options
	mu      sync.Mutex
	records []string // the reasons of the records about calls that ran
	reports string
}

func newRanStage(t *testing.T, agent string, inMemory bool) *ranStage {
	s := &ranStage{t: t, agent: hook.AgentOf(agent)}
	s.host = host.New(host.Options{Observe: func(e starhost.Event, out host.Outcome) error {
		if e.Name == "call_ran" {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.records = append(s.records, out.Decision.Reason)
		}
		return nil
	}})
	guard := hookOn("pre_tool_call", func(_ context.Context, e *starhost.Event) starhost.Decision {
		args := string(e.Arguments)
		switch {
		case strings.Contains(args, "evil"):
			return starhost.Decision{Action: starhost.ActionDeny, Reason: "evil"}
		case strings.Contains(args, "old"):
			changed := json.RawMessage(strings.ReplaceAll(args, "old", "new"))
			return starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"arguments": changed}}
		}
		return starhost.Decision{}
	})
	if err := s.host.Add(starhost.Plugin{Name: "guard", Hooks: []starhost.Hook{guard}}); err != nil {
		t.Fatal(err)
	}
	s.o = hook.Options{States: &hook.States{Dir: filepath.Join(t.TempDir(), "sessions")}, Root: "/p"}
	s.o.Report = func(err error) { s.reports += err.Error() + "\n" }
	if inMemory {
		s.o.States.Memory = hook.NewMemory(func(error) {})
	}
	return s
}

// send answers an event, and returns the answer.
func (s *ranStage) send(event string) hook.Answer {
	s.t.Helper()
	e, err := s.agent.Read([]byte(event))
	if err != nil {
		s.t.Fatalf("%s: %v", event, err)
	}
	a, store, err := e.Answer(s.t.Context(), s.host, s.o)
	store()
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// claudeCall returns an event of Claude Code. Its text is "pre ID TOOL ARGUMENTS", "post …" or "failed
// …".
func claudeCall(text string) string {
	part := strings.SplitN(text, " ", 4)
	name := map[string]string{"pre": "PreToolUse", "post": "PostToolUse", "failed": "PostToolUseFailure"}[part[0]]
	id := fmt.Sprintf(`,"tool_use_id":%q`, part[1])
	if part[1] == "-" {
		id = ""
	}
	return fmt.Sprintf(`{"hook_event_name":%q,"session_id":"s","tool_name":%q,"tool_input":%s,"tool_response":"x","error":"x"%s}`,
		name, part[2], part[3], id)
}

// TestRan checks which calls that ran count as calls that starhost judged. After any other call, starhost
// refuses the calls of the session until a person resets it.
func TestRan(t *testing.T) {
	tests := []struct {
		name, events string // events has a line for each call of claudeCall
		want         string // the records that starhost writes
		refuses      bool   // starhost refuses the next calls
	}{
		{"the same", `pre 1 Bash {"command":"ls"}
			post 1 Bash {"command":"ls"}`, "", false},
		{"in another order, with empty values", `pre 1 Bash {"command":"ls","timeout":5}
			post 1 Bash {"timeout":5,"background":false,"note":"","list":[],"more":{},"n":0,"none":null,"command":"ls"}`, "", false},
		{"without empty values", `pre 1 Bash {"command":"ls","background":false}
			post 1 Bash {"command":"ls"}`, "", false},
		{"what the guard changed", `pre 1 Bash {"command":"old"}
			post 1 Bash {"command":"new"}`, "", false},
		{"what the guard changed, unchanged", `pre 1 Bash {"command":"old"}
			post 1 Bash {"command":"old"}`, "ran other arguments: command", true},
		{"another command", `pre 1 Bash {"command":"ls"}
			post 1 Bash {"command":"rm"}`, "ran other arguments: command", true},
		{"another command that fails", `pre 1 Bash {"command":"ls"}
			failed 1 Bash {"command":"rm; exit 1"}`, "ran other arguments: command", true},
		{"another path and content", `pre 1 Write {"file_path":"/a","content":"x","mode":1}
			post 1 Write {"file_path":"/b","content":"y","mode":1}`, "ran other arguments: content, file_path", true},
		{"one more argument", `pre 1 Bash {"command":"ls"}
			post 1 Bash {"command":"ls","sandbox":true}`, "ran other arguments: sandbox", true},
		{"one argument less", `pre 1 Bash {"command":"ls","sandbox":true}
			post 1 Bash {"command":"ls","sandbox":false}`, "ran other arguments: sandbox", true},
		{"a large number", `pre 1 mcp__a__b {"n":1234567890123456789}
			post 1 mcp__a__b {"n":1234567890123456788}`, "ran other arguments: n", true},
		{"inside of a list", `pre 1 mcp__a__b {"list":[{"x":1}]}
			post 1 mcp__a__b {"list":[{"x":2}]}`, "ran other arguments: list", true},
		{"another tool", `pre 1 mcp__a__b {"x":1}
			post 1 mcp__a__c {"x":1}`, "ran other arguments: the tool", true},
		{"another server", `pre 1 mcp__a__b {}
			post 1 mcp__c__b {}`, "ran other arguments: the tool", true},
		{"refused", `pre 1 Bash {"command":"evil"}
			post 1 Bash {"command":"evil"}`, "ran though it was refused", true},
		{"refused, and changed", `pre 1 Bash {"command":"evil"}
			post 1 Bash {"command":"rm"}`, "ran though it was refused", true},
		{"refused, and judged again", `pre 1 Bash {"command":"evil"}
			pre 1 Bash {"command":"ls"}
			post 1 Bash {"command":"ls"}`, "", false},
		{"never asked", `post 1 Bash {"command":"ls"}`, "ran, and starhost was not asked", false},
		{"another id", `pre 1 Bash {"command":"ls"}
			post 2 Bash {"command":"ls"}`, "ran, and starhost was not asked", false},
		{"an id twice", `pre 1 Bash {"command":"ls"}
			post 1 Bash {"command":"ls"}
			post 1 Bash {"command":"rm"}`, "ran other arguments: command", true},
		{"side by side", `pre 1 Bash {"command":"a"}
			pre 2 Bash {"command":"b"}
			post 2 Bash {"command":"b"}
			post 1 Bash {"command":"a"}`, "", false},
		{"exchanged", `pre 1 Bash {"command":"a"}
			pre 2 Bash {"command":"b"}
			post 2 Bash {"command":"a"}`, "ran other arguments: command", true},
		{"without ids", `pre - Bash {"command":"a"}
			pre - Bash {"command":"b"}
			pre - Read {"path":"c"}
			post - Bash {"command":"b"}
			post - Read {"path":"c"}
			post - Bash {"command":"a"}`, "", false},
		{"without ids, another one", `pre - Bash {"command":"a"}
			pre - Bash {"command":"b"}
			post - Bash {"command":"c"}`, "ran other arguments: command", true},
		{"without ids, refused", `pre - Bash {"command":"evil"}
			pre - Bash {"command":"b"}
			post - Bash {"command":"evil"}`, "ran though it was refused", true},
		{"without ids, another tool", `pre - Bash {"command":"a"}
			post - Read {"path":"a"}`, "ran, and starhost was not asked", false},
		{"arguments that are a text", `pre 1 apply_patch {"patch":"a"}
			post 1 apply_patch "a"`, "ran other arguments: arguments, patch", true},
		{"no arguments in the event", `pre 1 Bash {"command":"a"}
			post 1 Bash null`, "", false},
		{"too many arguments", `pre 1 mcp__a__b ` + manyArguments(100, 1) + `
			post 1 mcp__a__b ` + manyArguments(100, 2), "ran other arguments: arguments", true},
		{"a long name", `pre 1 mcp__a__b {"` + strings.Repeat("x", 100) + `":1}
			post 1 mcp__a__b {"` + strings.Repeat("x", 100) + `":2}`, "ran other arguments: arguments", true},
	}
	for _, tt := range tests {
		for _, inMemory := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " ", inMemory), func(t *testing.T) {
				s := newRanStage(t, "claude-code", inMemory)
				var last hook.Answer
				for line := range strings.Lines(tt.events) {
					last = s.send(claudeCall(strings.TrimSpace(line)))
				}
				if got := strings.Join(s.records, "\n"); got != tt.want {
					t.Errorf("records: got %q, want %q", got, tt.want)
				}
				if strings.Contains(last.Out, "systemMessage") != tt.refuses || last.Blocks {
					t.Errorf("the answer to the last event: got %+v", last)
				}
				const next = `pre 9 Bash {"command":"next"}`
				a := s.send(claudeCall(next))
				if a.Blocks != tt.refuses || tt.refuses && !strings.Contains(a.Err, tt.want) {
					t.Errorf("the next call: got %+v", a)
				}
				if a := s.send(promptOf("s", "hi")); strings.Contains(a.Out, tt.want) != tt.refuses && tt.refuses || a.Blocks {
					t.Errorf("the next prompt: got %+v", a)
				}
				if a := s.send(strings.Replace(claudeCall(next), `"s"`, `"other"`, 1)); a.Blocks {
					t.Errorf("another session: got %+v", a)
				}
				open := s.o
				s.o.FailOpen = true
				if a := s.send(claudeCall(next)); a.Blocks {
					t.Errorf("with --fail-open: got %+v", a)
				}
				s.o = open
				if s.reports != "" {
					t.Errorf("got the reports %s", s.reports)
				}
				if inMemory || !tt.refuses {
					return
				}
				pins, err := s.o.States.Pins()
				if err != nil || len(pins) == 0 {
					t.Fatal(pins, err)
				}
				for _, p := range pins {
					if err := s.o.States.Unpin(p); err != nil {
						t.Fatal(err)
					}
				}
				if a := s.send(claudeCall(next)); a.Blocks {
					t.Errorf("after a reset: got %+v", a)
				}
			})
		}
	}
}

// manyArguments returns an object with n members. The last one has the value.
func manyArguments(n, value int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"a%d":1,`, i)
	}
	return fmt.Sprintf("{%s\"last\":%d}", b.String(), value)
}

// TestRanUnsure checks that starhost only records and reports a difference between two events of an agent
// that nobody has run, and that an argument which only one of the two events has is no difference.
func TestRanUnsure(t *testing.T) {
	s := newRanStage(t, "openhands", false)
	call := func(event, args string) hook.Answer {
		return s.send(fmt.Sprintf(`{"event_type":%q,"session_id":"s","tool_name":"terminal","tool_input":%s,"tool_response":"x"}`, event, args))
	}
	call("PreToolUse", `{"command":"ls"}`)
	call("PostToolUse", `{"command":"ls","timeout":30}`)
	if s.records != nil {
		t.Errorf("got records %q", s.records)
	}
	a := call("PostToolUse", `{"command":"rm"}`)
	if fmt.Sprint(s.records) != "[ran other arguments: command]" || !strings.Contains(a.Err, "guards judged another call") {
		t.Errorf("got records %q and answer %+v", s.records, a)
	}
	if a := call("PreToolUse", `{"command":"ls"}`); a.Blocks {
		t.Errorf("got %+v", a)
	}
}

// TestRanParallel checks that parallel events of one session do not overwrite each other's judged calls, also
// when the file of the calls is full, and that the files do not grow.
func TestRanParallel(t *testing.T) {
	s := newRanStage(t, "claude-code", false)
	const workers, calls = 8, 60
	long := strings.Repeat("x", 1000)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for i := range calls {
				for _, part := range []string{"pre", "post"} {
					e, err := s.agent.Read([]byte(claudeCall(fmt.Sprintf(`%s %s-%d-%d Bash {"command":"%d %d"}`, part, long, w, i, w, i))))
					if err != nil {
						t.Error(err)
						return
					}
					o := s.o
					o.Report = func(err error) { t.Error(err) }
					a, store, err := e.Answer(context.Background(), s.host, o)
					if store(); err != nil || a.Out != "" {
						t.Errorf("got %+v, %v", a, err)
						return
					}
				}
			}
		})
	}
	wait.Wait()
	if len(s.records) > 0 {
		t.Errorf("got records %q", s.records)
	}
	files, err := filepath.Glob(filepath.Join(s.o.States.Dir, "*.calls*"))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || info.Size() > 140<<10 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %v, %v", file, info, err)
		}
	}
}

// TestRanFiles checks that starhost says what it could not write or read, and that it refuses a session for
// longer than it stores files, as long as the session has events.
func TestRanFiles(t *testing.T) {
	s := newRanStage(t, "claude-code", false)
	s.send(claudeCall(`pre 1 Bash {"command":"a"}`))
	calls, err := filepath.Glob(filepath.Join(s.o.States.Dir, "*.calls"))
	if err != nil || len(calls) != 1 {
		t.Fatal(calls, err)
	}
	text, err := os.ReadFile(calls[0])
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), `"a"`) {
		t.Errorf("the file has the call's arguments: %s", text)
	}
	if err := os.WriteFile(calls[0], append([]byte("{half of a li\n\x00\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.send(claudeCall(`post 1 Bash {"command":"a"}`)); s.records != nil {
		t.Errorf("half of a line: got %q", s.records)
	}
	if err := os.Remove(calls[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(calls[0], 0o700); err != nil {
		t.Fatal(err)
	}
	s.send(claudeCall(`pre 2 Bash {"command":"a"}`))
	s.send(claudeCall(`post 2 Bash {"command":"a"}`))
	if !strings.Contains(s.reports, "what starhost judged is not remembered: ") || !strings.Contains(strings.Join(s.records, ""), "nobody can tell") {
		t.Errorf("a folder in the file's place: got reports %q and records %q", s.reports, s.records)
	}
	if err := os.Remove(calls[0]); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s.o.States.Now = func() time.Time { return now }
	s.send(claudeCall(`pre 3 Bash {"command":"a"}`))
	s.send(claudeCall(`post 3 Bash {"command":"b"}`))
	for range 10 {
		now = now.Add(25 * time.Hour)
		if a := s.send(claudeCall(`pre 4 Bash {"command":"a"}`)); !a.Blocks {
			t.Fatalf("%v: the session forgot what ran", now)
		}
		pins, _ := filepath.Glob(filepath.Join(s.o.States.Dir, "*.pin"))
		for _, file := range pins {
			if err := os.Chtimes(file, now, now); err != nil { // the file must have a time of the test's clock
				t.Fatal(err)
			}
		}
	}
}
