package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
)

// load loads plugins from their sources, by name.
func (r *rig) load(folder string, sources map[string]string) *loader.Set {
	files := map[string]string{}
	for name, src := range sources {
		files[name+".star"] = src
	}
	dir := r.folder(folder, files)
	set := must(loader.Load(context.Background(), loader.Options{Args: []string{dir}}))
	r.ends = append(r.ends, func() { set.Close() })
	try(set.Err())
	return set
}

// fireEvent makes work that fires an event at a host. The trace of a turn grows with each
// event, so a new turn begins after a hundred events, which is more than real turns have.
func fireEvent(h *host.Host, e *starhost.Event) func() {
	session := h.NewSession(host.SessionConfig{ID: "bench"})
	ctx := context.Background()
	var turn *host.Turn
	n := 0
	return func() {
		if n%100 == 0 {
			if turn != nil {
				turn.End(ctx)
			}
			turn = must(session.Begin(ctx, host.Request{}))
		}
		n++
		must(turn.Fire(ctx, e))
		if len(turn.Errors()) > 0 { // joining none takes time
			try(errors.Join(turn.Errors()...))
		}
	}
}

// standardHook reads 5 roles and 3 tool names and returns a text.
const standardHook = `
def standard(messages, tools):
    return "roles " + ",".join(messages.roles) + "; tools " + ",".join(tools.names)

register_hook("pre_llm_call", standard)
`

// conversation returns the messages that hooks get.
func conversation(messages, bytes int) *starhost.Messages {
	list := make([]starhost.Message, messages)
	roles := [2]string{starhost.RoleUser, starhost.RoleAssistant}
	for i := range list {
		list[i] = starhost.Message{Role: roles[i%2], Content: fragments.NewText(words(bytes / messages))}
	}
	return starhost.NewList(list)
}

// words returns a text of n bytes.
func words(n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = "word "[i%5]
	}
	return string(text)
}

// offeredTools returns the tools that hooks get.
func offeredTools() *starhost.Tools {
	list := make([]starhost.Tool, 3)
	for i := range list {
		list[i] = starhost.Tool{Name: fmt.Sprintf("tool%d", i), Description: "A tool."}
	}
	return starhost.NewList(list)
}

// beforeRequest returns an event as the pipeline fires it.
func beforeRequest(m *starhost.Messages) *starhost.Event {
	return &starhost.Event{Name: "pre_llm_call", SessionID: "bench", Platform: "go", Model: "m", Messages: m, Tools: offeredTools(), Round: 1}
}
