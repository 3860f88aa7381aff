package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// hookAgainstPeers compares the standard hook with the same hook elsewhere. Each peer is called the
// way its own host calls it.
func hookAgainstPeers(r *rig) {
	set := r.load("standard", map[string]string{"standard": standardHook})
	ours := loop(fireEvent(set.Host, beforeRequest(conversation(5, 1000))))
	r.compareAll(ours, []versus{
		{claim{"P1", "standard hook, by pluggy", atMost(1)}, func() side { return r.timedPython("pluggy", "hook.py") }},
		{claim{"P1", "standard hook, by OPA in the process", atMost(1.0 / 10)}, regoHook},
		{claim{"P1", "standard hook, by a Python child on stdio (PicoClaw)", atMost(1.0 / 15)}, r.pythonChild},
		{claim{"P1", "standard hook, by an HTTP callback (N.E.K.O)", atMost(1.0 / 40)}, r.callback},
		{claim{"P1", "standard hook, by CEL in the process", atMost(0.5)}, celHook},
		{claim{"P1", "standard hook, by expr in the process", limit{}}, exprHook},
	})
}

// unreadMessages compares the costs of a hook that names messages and tools and reads neither,
// for growing messages. The costs must be equal to the byte.
func unreadMessages(r *rig) {
	set := r.load("unread", map[string]string{"unread": `
register_hook("pre_llm_call", lambda messages, tools: None)
`})
	least, leastBytes := cost(fireEvent(set.Host, beforeRequest(conversation(5, 1<<10))))
	for _, messages := range []int{5, 500} {
		allocs, bytes := cost(fireEvent(set.Host, beforeRequest(conversation(messages, 1<<20))))
		what := fmt.Sprintf("messages unread, %d of 1 MiB in all against 5 of 1 KiB", messages)
		r.figure(claim{"P1b", what, atMost(0).withUnit("allocs more")}, allocs-least)
		r.figure(claim{"P1b", what, atMost(0).withUnit("B more")}, bytes-leastBytes)
	}
}

// hookAnswer is the return value of the standard hook.
const hookAnswer = "roles user,assistant,user,assistant,user; tools tool0,tool1,tool2"

// check ends the goal at an answer that is not the standard hook's.
func check(got any) {
	if got != hookAnswer {
		try(fmt.Errorf("got %q, want %q", got, hookAnswer))
	}
}

// A wireMessage and a wireTool are what peers get as JSON or by reflection.
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
	for _, t := range offeredTools().Items() {
		q.Tools = append(q.Tools, wireTool{t.Name, t.Description})
	}
	return q
}

// decodedRequest is the request as decoded JSON.
func decodedRequest() map[string]any {
	var v map[string]any
	try(json.Unmarshal(must(json.Marshal(request())), &v))
	return v
}

// pythonChild is a plugin in a separate process, which PicoClaw asks for hook.before_llm.
func (r *rig) pythonChild() side {
	c := r.start(must(python("")), peer("child.py"))
	q, id := request(), 0
	return loop(func() {
		id++
		line := must(json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "hook.before_llm", "params": q}))
		var reply struct{ Result struct{ Request wireRequest } }
		try(json.Unmarshal(c.ask(line), &reply))
		added := reply.Result.Request.Messages[len(q.Messages):]
		check(added[0].Content)
	})
}

// callback posts to a plugin's own HTTP server.
func (r *rig) callback() side {
	c := r.start(must(python("")), peer("callback.py"))
	port := must(c.out.ReadString('\n'))
	url, q := "http://127.0.0.1:"+strings.TrimSpace(port)+"/tool_invoke", request()
	return loop(func() {
		body := must(json.Marshal(map[string]any{"name": "standard", "call_id": "call_1", "arguments": q}))
		answer := must(http.Post(url, "application/json", bytes.NewReader(body)))
		defer answer.Body.Close()
		var reply struct{ Output string }
		try(json.NewDecoder(bufio.NewReader(answer.Body)).Decode(&reply))
		check(reply.Output)
	})
}
