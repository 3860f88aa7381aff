package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// benchHost has the plugins of an operations team: ten plugins, each with a hook and a loader of
// five fragments of 4 KiB. 40 of the 50 fragments differ.
func benchHost(b *testing.B, o host.Options) (*host.Host, []string) {
	var refs []string
	var plugins []starhost.Plugin
	for i := range 10 {
		var c starhost.Context
		for j := range 5 {
			c.Fragments = append(c.Fragments,
				fragments.Fragment{Content: fmt.Sprintf("%d\n", (i*5+j)%40) + strings.Repeat("0123456789abcde\n",
					255), Source: fmt.Sprintf("%d/%d.md", i, j)})
		}
		prefix := fmt.Sprintf("ref%d", i)
		plugins = append(plugins, starhost.Plugin{
			Name:            fmt.Sprintf("p%d", i),
			Hooks:           []starhost.Hook{hook("pre_llm_call", starhost.TextContext("remember "+prefix))},
			FragmentLoaders: []starhost.FragmentLoader{loader(prefix, func(string) (starhost.Context, error) { return c, nil })},
		})
		refs = append(refs, prefix+":x")
	}
	return newHost(b, o, append(plugins, echo())...), refs
}

// BenchmarkPrompt builds the first prompt of a session from 50 fragments of 4 KiB, ten loaders and
// ten hooks.
func BenchmarkPrompt(b *testing.B) {
	h, refs := benchHost(b, host.Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.NewSession(host.SessionConfig{}).Prompt(context.Background(),
			host.Request{Text: "Why is checkout slow?", Fragments: refs}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPromptLater builds a later prompt of a session with 100 messages of 4 KiB. The hooks
// offer contents that the session already contains.
func BenchmarkPromptLater(b *testing.B) {
	h, _ := benchHost(b, host.Options{})
	var history []starhost.Message
	for i := range 100 {
		history = append(history, starhost.Message{Role: []string{starhost.RoleUser, starhost.RoleAssistant}[i%2],
			Content: fragments.NewText(strings.Repeat("0123456789abcde\n", 256))})
	}
	s := h.NewSession(host.SessionConfig{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Prompt(context.Background(), host.Request{Text: "And now?", History: history}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPromptTools builds prompts that offer a hundred tools and no context.
func BenchmarkPromptTools(b *testing.B) {
	tools := make([]starhost.Tool, 100)
	for i := range tools {
		tools[i] = echo().Tools[0]
		tools[i].Name, tools[i].Description = fmt.Sprintf("tool%02d", i), strings.Repeat("what it does ", 10)
	}
	s := newHost(b, host.Options{}, starhost.Plugin{Name: "p", Tools: tools}).NewSession(host.SessionConfig{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Prompt(context.Background(), host.Request{Text: "Why?", History: []starhost.Message{}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCallTool runs a tool through a guard that lets it pass and through an observer:
// validation, three events, no approval.
func BenchmarkCallTool(b *testing.B) {
	h := newHost(b, host.Options{}, echo(),
		plugin("p", hook(pre, starhost.Decision{}), hook(post, starhost.Decision{})))
	call := starhost.ToolCall{Name: "echo", Arguments: json.RawMessage(`{"text":"hello","n":3}`)}
	inTurns(b, h, func(turn *host.Turn) error {
		_, err := turn.CallTool(context.Background(), call)
		return err
	})
}

// inTurns repeats work. It starts a new turn every thousand times, because a turn's trace grows.
func inTurns(b *testing.B, h *host.Host, work func(*host.Turn) error) {
	s := h.NewSession(host.SessionConfig{})
	var turn *host.Turn
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		if n%1000 == 0 {
			if turn != nil {
				turn.End(context.Background())
			}
			turn = beginIn(b, s, host.Request{})
		}
		n++
		if err := work(turn); err != nil {
			b.Fatal(err)
		}
	}
}
