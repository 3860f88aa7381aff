package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/serve/process"
)

// TestMain is also the hook process: with HOOK it answers as that says.
func TestMain(m *testing.M) {
	if mode := os.Getenv("HOOK"); mode != "" {
		answerAs(mode)
		return
	}
	os.Exit(testbed.Alone(m).Run())
}

// answers are the results of a hook process by the method, for the modes of HOOK.
var answers = map[string]map[string]string{
	"pass": {},
	"deny": {
		"hook.before_tool": `{"action":"deny_tool","reason":"not today"}`, "hook.approve_tool": `{"approved":false}`,
	},
	"modify": {
		"hook.before_tool": `{"action":"modify","call":{"tool":"page","arguments":{"who":"Bo"}}}`,
		"hook.after_tool":  `{"action":"modify","result":{"tool":"page","result":{"for_llm":"paged","silent":true}}}`,
		"hook.after_llm":   `{"action":"modify","response":{"response":{"content":"Done."}}}`,
		"hook.before_llm":  `{"action":"modify","request":{"model":"large","messages":[{"role":"user","content":"Page Ada, please."},{"role":"user","content":"Soon."}]}}`,
	},
	"abort":    {"hook.before_tool": `{"action":"hard_abort","reason":"enough"}`},
	"respond":  {"hook.before_tool": `{"action":"respond","result":{"for_llm":"from the hook"}}`},
	"rename":   {"hook.before_tool": `{"action":"modify","call":{"tool":"rm","arguments":{}}}`},
	"empty":    {"hook.before_tool": `{}`},
	"list":     {"hook.before_tool": `[]`},
	"twice":    {"hook.before_tool": `{"action":"deny_tool","action":"continue"}`},
	"case":     {"hook.before_tool": `{"action":"deny_tool","Action":"continue"}`},
	"inside":   {"hook.before_tool": `{"action":"modify","call":{"arguments":{"who":"Bo","who":"Ada"}}}`},
	"approve":  {"hook.approve_tool": `{"approved":true}`},
	"withhold": {"hook.after_tool": `{"action":"abort_turn","reason":"a key"}`},
}

// answerAs runs a hook process.
func answerAs(mode string) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if file := os.Getenv("SEEN"); file != "" {
			f, _ := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			fmt.Fprintln(f, lines.Text())
			f.Close()
		}
		var r struct {
			ID     int    `json:"id"`
			Method string `json:"method"`
		}
		_ = json.Unmarshal(lines.Bytes(), &r)
		result := `{"action":"continue"}`
		if own := answers[mode][r.Method]; own != "" {
			result = own
		}
		switch {
		case r.ID == 0:
			continue
		case r.Method == "hook.hello" && mode == "refuse":
			result = `{"ok":false}`
		case r.Method == "hook.hello":
			result = `{"ok":true,"name":"test"}`
		case mode == "slow":
			continue
		case mode == "die":
			fmt.Fprintln(os.Stderr, "first\nsegmentation \x1bfault")
			os.Exit(3)
		case mode == "env":
			result = fmt.Sprintf(`{"action":"deny_tool","reason":%q}`, strings.Join(os.Environ(), " "))
		case mode == "long":
			result = `"` + strings.Repeat("x", 2<<20) + `"`
		case mode == "error":
			fmt.Printf("hello there\n{\"jsonrpc\":\"2.0\",\"id\":%d,\"error\":{\"code\":-32601,\"message\":\"no %s\"}}\n", r.ID, r.Method)
			continue
		}
		fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}\n", r.ID, result)
	}
}

// all are the options of a process that answers everything.
func all(mode string) process.Options {
	exe, _ := os.Executable()
	return process.Options{
		Name: "t", Command: []string{exe}, Env: map[string]string{"HOOK": mode},
		Intercept: []string{"before_llm", "after_llm", "before_tool", "after_tool", "approve_tool"},
		Observe:   []string{"agent.turn.start", "agent.turn.end"}, Timeout: time.Minute,
	}
}

// newHost returns a host with a tool page and the plugin of a process.
func newHost(t *testing.T, p *process.Process, o host.Options, change ...func(*starhost.Plugin)) *host.Host {
	t.Helper()
	t.Cleanup(p.Close)
	h := host.New(o)
	tool := starhost.Tool{
		Name: "page", Description: "Pages somebody.", Parameters: json.RawMessage(`{"type":"object","properties":{"who":{"type":"string"}}}`),
		Call: func(_ context.Context, c starhost.ToolCall) (starhost.Result, error) {
			return starhost.Result{ForLLM: "called " + string(c.Arguments)}, nil
		},
	}
	plugin := p.Plugin(&effects.World{Plugin: "process-t", Secrets: effects.NewSecrets(effects.SecretOptions{})})
	for _, c := range change {
		c(&plugin)
	}
	for _, add := range []starhost.Plugin{{Name: "p", Tools: []starhost.Tool{tool}}, plugin} {
		if err := h.Add(add); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// pagingModel calls page once and then answers. It stores the prompts.
type pagingModel struct{ prompts []*host.Prompt }

func (m *pagingModel) Complete(_ context.Context, p *host.Prompt) (starhost.Reply, error) {
	m.prompts = append(m.prompts, p)
	if len(m.prompts) == 1 {
		return starhost.Reply{ToolCalls: []starhost.ToolCall{{ID: "c", Name: "page", Arguments: json.RawMessage(`{"who":"Ada"}`)}}}, nil
	}
	return starhost.Reply{Content: "I paged."}, nil
}

// runTurn runs a turn in which the model calls page.
func runTurn(t *testing.T, h *host.Host) (*host.TurnResult, *pagingModel, error) {
	t.Helper()
	m := new(pagingModel)
	s := h.NewSession(host.SessionConfig{ID: "s", Platform: "cli", Model: "m"})
	r, err := s.Turn(t.Context(), host.Request{Text: "Page Ada."}, m)
	return r, m, err
}

// TestDecisions checks what each answer does to a call.
func TestDecisions(t *testing.T) {
	for _, tt := range []struct{ mode, result, err string }{
		{mode: "pass", result: `called {"who":"Ada"}`},
		{mode: "deny", result: "denied by process-t: not today"},
		{mode: "modify", result: "paged"},
		{mode: "abort", err: "turn aborted by process-t: enough"},
		{mode: "rename", result: `got tool "rm", want "page": a hook cannot change the tool`},
		{mode: "empty", result: `got action "", want continue, modify`},
		{mode: "list", result: "got [], want an answer as an object"},
		{mode: "twice", result: `it failed: "action" stands twice in one object`},
		{mode: "case", result: `it failed: "action" and "Action" stand in one object`},
		{mode: "inside", result: `it failed: "who" stands twice in one object`},
		{mode: "respond", result: `the operator must grant "respond:page"`},
		{mode: "withhold", result: "the result is withheld: a key"},
		{mode: "refuse", result: "hook.hello: got a refusal"},
		{mode: "long", result: "got a line of over 1048576 bytes"},
		{mode: "error", result: "it failed: no hook.before_tool"},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			o := all(tt.mode)
			if tt.mode != "pass" && tt.mode != "modify" {
				o.Intercept, o.Observe = []string{"before_tool", "after_tool"}, nil
			}
			r, _, err := runTurn(t, newHost(t, process.New(o), host.Options{}))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil || len(r.Calls) != 1 || !strings.Contains(r.Calls[0].Result.ForLLM, tt.result) {
				t.Errorf("got %+v, %v, want %s", r.Calls, err, tt.result)
			}
		})
	}
}

// TestRespond checks that a process with the right answers a call of another plugin.
func TestRespond(t *testing.T) {
	grant := func(p *starhost.Plugin) { p.RespondsTo = []string{"pa*"} }
	h := newHost(t, process.New(all("respond")), host.Options{}, grant)
	r, _, err := runTurn(t, h)
	if err != nil || r.Calls[0].Result.ForLLM != "from the hook" {
		t.Errorf("got %+v, %v", r.Calls, err)
	}
}

// TestApprove checks that a process approves for a person, or does not.
func TestApprove(t *testing.T) {
	for mode, want := range map[string]string{"approve": "called", "deny": "not today"} {
		o := all(mode)
		if mode == "deny" {
			o.Intercept, want = []string{"approve_tool"}, "the hook process does not approve it"
		}
		h := newHost(t, process.New(o), host.Options{})
		ask := func(context.Context, *starhost.Event) (starhost.Decision, error) {
			return starhost.Decision{Action: starhost.ActionAsk, Reason: "careful"}, nil
		}
		asks := starhost.Hook{Event: "pre_tool_call", Call: ask}
		if err := h.Add(starhost.Plugin{Name: "asks", Hooks: []starhost.Hook{asks}}); err != nil {
			t.Fatal(err)
		}
		r, _, err := runTurn(t, h)
		if err != nil || !strings.Contains(r.Calls[0].Result.ForLLM, want) {
			t.Errorf("%s: got %+v, %v", mode, r.Calls, err)
		}
	}
}

// TestRequests checks the requests as PicoClaw's documentation shows them, and that changes of the
// messages and of the answer arrive.
func TestRequests(t *testing.T) {
	o := all("modify")
	o.Env["SEEN"] = t.TempDir() + "/seen"
	p := process.New(o)
	r, m, err := runTurn(t, newHost(t, p, host.Options{}))
	if err != nil || r.Text != "Done." {
		t.Fatalf("got %q, %v", r.Text, err)
	}
	var texts []string
	for _, message := range m.prompts[0].Messages {
		texts = append(texts, message.Content.String())
	}
	if diff := cmp.Diff([]string{"Page Ada, please.", "Soon."}, texts); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if got := m.prompts[0].Model; got != "large" {
		t.Errorf("got model %q, want the one of the answer", got)
	}
	p.Close()
	seen, err := os.ReadFile(o.Env["SEEN"])
	if err != nil {
		t.Fatal(err)
	}
	const meta = `"meta":{"AgentID":"starhost","TurnID":"s-turn-1","ParentTurnID":"","SessionKey":"s","Iteration":1,"TracePath":"runTurn","Source":"turn.`
	for i, want := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{"modes":["observe","llm","tool","approve"],"name":"t","version":1}}`,
		`{"jsonrpc":"2.0","method":"hook.runtime_event","params":{"kind":"agent.turn.start","source":{"component":"agent","name":"starhost"},` +
			`"scope":{"agent_id":"starhost","channel":"cli","chat_id":"s","session_key":"s","turn_id":"s-turn-1"},"payload":{}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"hook.before_llm","params":{` + meta + `llm.request"},"model":"m","messages":[{"role":"user","content":"Page Ada."}],` +
			`"tools":[{"type":"function","function":{"name":"page","description":"Pages somebody.","parameters":{"type":"object","properties":{"who":{"type":"string"}}}}}],` +
			`"options":{},"channel":"cli","chat_id":"s"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"hook.after_llm","params":{` + meta + `llm.response"},"model":"large","response":{"role":"assistant","content":"",` +
			`"tool_calls":[{"id":"c","type":"function","function":{"name":"page","arguments":"{\"who\":\"Ada\"}"}}],"finish_reason":"tool_calls",` +
			`"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}},"channel":"cli","chat_id":"s"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"hook.before_tool","params":{` + meta + `tool.before"},"tool":"page","arguments":{"who":"Ada"},"channel":"cli","chat_id":"s"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"hook.after_tool","params":{` + meta + `tool.after"},"tool":"page","arguments":{"who":"Bo"},` +
			`"result":{"for_llm":"called {\"who\":\"Bo\"}","silent":false,"is_error":false,"async":false}`,
	} {
		line := strings.Split(string(seen), "\n")[i]
		if !strings.HasPrefix(line, want) {
			t.Errorf("line %d: got\n%s\nwant\n%s", i, line, want)
		}
	}
}

// TestEnvironment checks that the program gets no variable that the config does not name.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "hush")
	o := all("env")
	o.Intercept = []string{"before_tool"}
	r, _, err := runTurn(t, newHost(t, process.New(o), host.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	text := r.Calls[0].Result.ForLLM
	if text != "denied by process-t: HOOK=env LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin" {
		t.Errorf("got %s", text)
	}
}

// TestSlow checks that a program without an answer blocks the call, and goes on to be asked.
func TestSlow(t *testing.T) {
	o := all("slow")
	o.Intercept, o.Observe, o.Timeout = []string{"before_tool"}, nil, 300*time.Millisecond
	h := newHost(t, process.New(o), host.Options{})
	for range 2 {
		r, _, err := runTurn(t, h)
		// On a slow machine, the start of the program may take all of the time.
		if err != nil || !strings.Contains(r.Calls[0].Result.ForLLM, "no answer in 300ms") {
			t.Errorf("got %+v, %v", r.Calls, err)
		}
	}
}

// TestRestart checks that a program that ends blocks the call, says why, and starts again.
func TestRestart(t *testing.T) {
	o := all("die")
	o.Intercept, o.Observe = []string{"before_tool"}, nil
	h := newHost(t, process.New(o), host.Options{})
	r, _, err := runTurn(t, h)
	const ended = `hook.before_tool: it ended: exit status 3: segmentation ` + "\x1bfault"
	if err != nil || !strings.Contains(r.Calls[0].Result.ForLLM, ended) {
		t.Errorf("got %+v, %v", r.Calls, err)
	}
	r, _, err = runTurn(t, h)
	if err != nil || !strings.Contains(r.Calls[0].Result.ForLLM, "; it can start again in ") {
		t.Errorf("in the pause: got %+v, %v", r.Calls, err)
	}
	defer process.SetTimes(0, time.Second)()
	o.Env["SEEN"] = t.TempDir() + "/seen"
	h = newHost(t, process.New(o), host.Options{})
	for range 3 {
		if r, _, err = runTurn(t, h); err != nil || !strings.Contains(r.Calls[0].Result.ForLLM, ended) {
			t.Errorf("got %+v, %v", r.Calls, err)
		}
	}
	if seen, _ := os.ReadFile(o.Env["SEEN"]); strings.Count(string(seen), "hook.hello") != 3 {
		t.Errorf("got %s, want 3 starts", seen)
	}
}

// TestManyCalls checks that sessions share one program, and that each request gets its answer.
func TestManyCalls(t *testing.T) {
	o := all("modify")
	o.Env["SEEN"] = t.TempDir() + "/seen"
	h := newHost(t, process.New(o), host.Options{})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if r, _, err := runTurn(t, h); err != nil || r.Text != "Done." || r.Calls[0].Result.ForLLM != "paged" {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
	wg.Wait()
	if seen, _ := os.ReadFile(o.Env["SEEN"]); strings.Count(string(seen), "hook.hello") != 1 {
		t.Error("got several starts, want one")
	}
}

// TestNotFound checks that a program that does not exist blocks.
func TestNotFound(t *testing.T) {
	o := all("pass")
	for command, want := range map[string]string{"no-such-program": "no program", "./x": "want a program's name or an absolute path"} {
		o.Command, o.Intercept, o.Observe = []string{command}, []string{"before_tool"}, nil
		r, _, err := runTurn(t, newHost(t, process.New(o), host.Options{}))
		if err != nil || !strings.Contains(r.Calls[0].Result.ForLLM, want) {
			t.Errorf("%s: got %+v, %v", command, r.Calls, err)
		}
	}
}

// TestGuardsOfMessages checks that a failure about a request or an answer of a model ends the turn.
func TestGuardsOfMessages(t *testing.T) {
	for _, method := range []string{"before_llm", "after_llm"} {
		o := all("die")
		o.Intercept, o.Observe = []string{method}, nil
		_, _, err := runTurn(t, newHost(t, process.New(o), host.Options{}))
		if err == nil || !strings.Contains(err.Error(), "turn aborted by process-t: the hook of process-t failed") {
			t.Errorf("%s: got %v", method, err)
		}
	}
}

// TestDryRun checks that a dry run lists a question and starts no program.
func TestDryRun(t *testing.T) {
	o := all("deny")
	o.Command = []string{"/no/such/program"}
	p := process.New(o)
	defer p.Close()
	dry := new(effects.DryRun)
	plugin := p.Plugin(&effects.World{Plugin: "process-t", DryRun: dry, Secrets: effects.NewSecrets(effects.SecretOptions{})})
	h := host.New(host.Options{})
	if err := h.Add(plugin); err != nil {
		t.Fatal(err)
	}
	out, err := h.Fire(t.Context(), &starhost.Event{Name: "pre_tool_call", Tool: "x"})
	isListed := slices.ContainsFunc(dry.Effects(), func(e effects.Effect) bool { return e.Kind == "process" })
	if err != nil || out.Decision.Action != starhost.ActionNone || !isListed {
		t.Errorf("got %+v, %v, %v", out.Decision, err, dry.Effects())
	}
}
