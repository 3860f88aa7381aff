package hook_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/starhost/starhost"
)

// BenchmarkServe measures one round of PicoClaw: a request with thirty messages of 1,000 bytes and
// twenty tools, and its answer.
func BenchmarkServe(b *testing.B) {
	h := hostOf(b, hookOn("pre_llm_call", func(context.Context, *starhost.Event) starhost.Decision { return starhost.TextContext("context") }))
	messages := []any{}
	for i := range 31 {
		messages = append(messages, map[string]any{"role": []string{"user", "assistant"}[i%2], "content": strings.Repeat("words. ", 143)})
	}
	tools := []any{}
	for i := range 20 {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": fmt.Sprint("tool", i), "description": strings.Repeat("a tool. ", 50)}})
	}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "hook.before_llm", "params": map[string]any{"model": "m", "messages": messages, "tools": tools, "options": map[string]any{"temperature": 0.5}}})
	if err != nil {
		b.Fatal(err)
	}
	line = append(line, '\n')
	in, requests := io.Pipe()
	replies, out := io.Pipe()
	done := make(chan error)
	go func() { done <- serve(b, h, in, out) }()
	lines := bufio.NewReaderSize(replies, 1<<20)
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := requests.Write(line); err != nil {
			b.Fatal(err)
		}
		if _, err := lines.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	requests.Close()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
