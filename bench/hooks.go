package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// agentHooks compares what agents wait for: the first answer of a hook, an answer of
// one that keeps running, and a process for one event.
func agentHooks(r *rig) error {
	starhost, err := r.program(starhostProgram)
	if err != nil {
		return err
	}
	floor, err := r.program(floorProgram)
	if err != nil {
		return err
	}
	dir, err := r.folder("agents", map[string]string{
		"standard.star": fmt.Sprintf(standardHook, 1),
		"guard.star": `
def guard(tool, arguments):
    if "sudo" in arguments.get("command", ""):
        return ask("sudo needs a person")

register_hook("pre_tool_call", guard)
`,
	})
	if err != nil {
		return err
	}
	hello := r.dialogue([]string{starhost, "hook", "picoclaw", dir + "/standard.star"}, `{"jsonrpc":"2.0","id":1,"method":"hook.hello"}`, `"ok":true`)
	if err := r.compare(claim{"Hooks", "hook picoclaw, start to end with hello answered, by a Go program that does nothing", limit{}}, hello, r.process(nil, floor)); err != nil {
		return err
	}
	stays, err := r.picoclawHook(starhost, "hook", "picoclaw", dir+"/standard.star")
	if err != nil {
		return err
	}
	err = r.against(claim{"Hooks", "round trip of hook picoclaw, by the same hook in Python", atMost(1.0 / 3)}, stays, func() (side, error) {
		interpreter, err := python("json")
		if err != nil {
			return nil, err
		}
		return r.picoclawHook(interpreter, peer("picoclaw_hook.py"))
	})
	if err != nil {
		return err
	}
	event := `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"sudo id"}}`
	once := r.dialogue([]string{starhost, "hook", "claude-code", dir + "/guard.star"}, event, "sudo needs a person")
	return r.against(claim{"Hooks", "process of hook claude-code, by the same hook in Python", atMost(1.0 / 5)}, once, func() (side, error) {
		interpreter, err := python("json")
		if err != nil {
			return nil, err
		}
		return r.dialogue([]string{interpreter, peer("claude_code.py")}, event, "sudo needs a person"), nil
	})
}

// dialogue makes a side of a whole process that is told something, must say
// something of it, and ends with its input.
func (r *rig) dialogue(argv []string, told, want string) side {
	return loop(func() error {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Dir, cmd.Stdin = r.environment(), r.dir, strings.NewReader(told+"\n")
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Run(); err != nil {
			return err
		}
		if !strings.Contains(out.String(), want) {
			return fmt.Errorf("got %s, want %s", out.String(), want)
		}
		return nil
	})
}

// picoclawHook asks a hook that keeps running for hook.before_llm, as PicoClaw does:
// with a system text of 8 KiB, thirty messages of 1,000 bytes and twenty tools. Nothing
// of what is timed is this program's own, but for writing and reading.
func (r *rig) picoclawHook(name string, args ...string) (side, error) {
	c, err := r.start(name, args...)
	if err != nil {
		return nil, err
	}
	messages := []any{wireMessage{"system", strings.Repeat("You are PicoClaw. ", 455)}}
	for _, m := range conversation(31, 31_000).Items() {
		messages = append(messages, wireMessage{m.Role, m.Content.String()})
	}
	var tools []any
	for i := range 20 {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{
			"name": fmt.Sprintf("tool%02d", i), "description": strings.Repeat("what it does ", 10),
			"parameters": map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string", "description": strings.Repeat("what it is ", 12)}}},
		}})
	}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "hook.before_llm", "params": map[string]any{
		"model": "m", "messages": messages, "tools": tools, "options": map[string]any{"max_tokens": 8192}, "channel": "cli", "chat_id": "direct",
	}})
	if err != nil {
		return nil, err
	}
	return loop(func() error {
		answer, err := c.ask(line)
		if err == nil && !bytes.Contains(answer, []byte("; tools tool00,tool01,")) {
			err = fmt.Errorf("got %s", answer)
		}
		return err
	}), nil
}
