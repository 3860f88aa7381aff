package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"

	"github.com/starhost/starhost"
)

// hookAgainstPeers compares the standard hook, and one that does nothing, with the
// same hooks elsewhere. All but pluggy are asked as their own hosts ask them.
func hookAgainstPeers(r *rig) error {
	standard, err := r.hooks("standard", standardHook, 1)
	if err != nil {
		return err
	}
	noop, err := r.hooks("noop", noopHook, 1)
	if err != nil {
		return err
	}
	event := beforeRequest(conversation(5, 1000))
	ours, nothing := loop(fired(standard.Host, event)), loop(fired(noop.Host, event))
	for _, peer := range []struct {
		claim claim
		ours  side
		start func() (side, error)
	}{
		{claim{"G2", "standard hook, by pluggy", atMost(1)}, ours, func() (side, error) { return r.timedPython("pluggy", "hooks.py", "standard") }},
		{claim{"G2", "standard hook, by a Python child on stdio (PicoClaw)", atMost(1.0 / 80)}, ours, r.picoclawPython},
		{claim{"G2", "standard hook, by a Go child on stdio (PicoClaw)", limit{}}, ours, r.picoclawGo},
		{claim{"G2", "standard hook, by an HTTP callback (N.E.K.O)", atMost(1.0 / 40)}, ours, r.callback},
		{claim{"G2", "standard hook, by OPA in the process", atMost(1.0 / 10)}, ours, regoHook},
		{claim{"G2", "standard hook, by CEL in the process", atMost(1)}, ours, celHook},
		{claim{"G2", "standard hook, by expr in the process", atMost(1)}, ours, exprHook},
		{claim{"G2", "standard hook, by goja in the process", limit{}}, ours, gojaHook},
		{claim{"G2", "standard hook, by a Go closure behind the same host", limit{}}, ours, goHook},
		{claim{"G2b", "no-op hook, by pluggy", atMost(1.0 / 8)}, nothing, func() (side, error) { return r.timedPython("pluggy", "hooks.py", "noop") }},
	} {
		if err := r.against(peer.claim, peer.ours, peer.start); err != nil {
			return err
		}
	}
	return nil
}

// said is what the standard hook returns.
const said = "roles user,assistant,user,assistant,user; tools tool0,tool1,tool2"

// check reports an answer that is not the standard hook's.
func check(got string, err error) error {
	if err == nil && got != said {
		err = fmt.Errorf("got %q, want %q", got, said)
	}
	return err
}

// A wireMessage and a wireTool are what peers are shown as JSON or by reflection.
type wireMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type wireTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type wireRequest struct {
	Model    string         `json:"model,omitempty"`
	Messages []wireMessage  `json:"messages"`
	Tools    []wireTool     `json:"tools"`
	Options  map[string]any `json:"options,omitempty"`
}

// request is the conversation of the standard hook.
func request() wireRequest {
	q := wireRequest{Model: "m", Options: map[string]any{}}
	for _, m := range conversation(5, 1000).Items() {
		q.Messages = append(q.Messages, wireMessage{m.Role, m.Content.String()})
	}
	for _, t := range offered().Items() {
		q.Tools = append(q.Tools, wireTool{t.Name, t.Description})
	}
	return q
}

// plain is the request as decoded JSON.
func plain() map[string]any {
	var v map[string]any
	text, _ := json.Marshal(request())
	if err := json.Unmarshal(text, &v); err != nil {
		panic(err) // it was just written
	}
	return v
}

// picoclawPython is a plugin as PicoClaw runs it.
func (r *rig) picoclawPython() (side, error) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		return nil, missing{"apt install python3"}
	}
	return r.picoclaw(interpreter, peer("picoclaw.py"))
}

// picoclawGo is the same plugin in Go.
func (r *rig) picoclawGo() (side, error) {
	program, err := r.program(childProgram)
	if err != nil {
		return nil, err
	}
	return r.picoclaw(program, "hook")
}

// picoclaw asks a child for hook.before_llm.
func (r *rig) picoclaw(name string, args ...string) (side, error) {
	c, err := r.start(name, args...)
	if err != nil {
		return nil, err
	}
	q, id := request(), 0
	return loop(func() error {
		id++
		line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "hook.before_llm", "params": q})
		if err != nil {
			return err
		}
		answer, err := c.ask(line)
		if err != nil {
			return err
		}
		var reply struct{ Result struct{ Request wireRequest } }
		if err := json.Unmarshal(answer, &reply); err != nil {
			return err
		}
		added := reply.Result.Request.Messages[len(q.Messages):]
		return check(added[0].Content, nil)
	}), nil
}

// callback posts to a plugin's own HTTP server.
func (r *rig) callback() (side, error) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		return nil, missing{"apt install python3"}
	}
	c, err := r.start(interpreter, peer("callback.py"))
	if err != nil {
		return nil, err
	}
	port, err := c.out.ReadString('\n')
	if err != nil {
		return nil, err
	}
	url, q := "http://127.0.0.1:"+strings.TrimSpace(port)+"/tool_invoke", request()
	return loop(func() error {
		body, err := json.Marshal(map[string]any{"name": "standard", "call_id": "call_1", "arguments": q})
		if err != nil {
			return err
		}
		answer, err := http.Post(url, "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		var reply struct{ Output string }
		err = json.NewDecoder(bufio.NewReader(answer.Body)).Decode(&reply)
		return check(reply.Output, err)
	}), nil
}

// goHook is the hook as a Go function: the same dispatch without Starlark.
func goHook() (side, error) {
	plugin := starhost.Plugin{Name: "standard", Hooks: []starhost.Hook{{Event: "pre_llm_call", Call: goStandard}}}
	h := starhost.New(starhost.Options{})
	if err := h.Add(plugin); err != nil {
		return nil, err
	}
	return loop(fired(h, beforeRequest(conversation(5, 1000)))), nil
}
