package host_test

import (
	"context"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// TestProgress checks that a program that waits for a tool gets the tool's reports of progress, also if
// another tool called it, and that a report without such a program does nothing.
func TestProgress(t *testing.T) {
	outer := tool("outer", func(ctx context.Context, c starhost.ToolCall) (starhost.Result, error) {
		turn := host.TurnOf(ctx)
		starhost.Progress{Done: 1, Total: 2, Message: "half"}.Report(ctx)
		reply, err := turn.CallTool(ctx, starhost.ToolCall{ID: "2", Name: "inner"})
		return reply.Result, err
	})
	inner := tool("inner", func(ctx context.Context, c starhost.ToolCall) (starhost.Result, error) {
		starhost.Progress{Done: 2, Total: 2}.Report(ctx)
		return starhost.Result{}, nil
	})
	h := newHost(t, host.Options{}, starhost.Plugin{Name: "p", Tools: []starhost.Tool{outer, inner}})
	var told []starhost.Progress
	call := func(ctx context.Context) error {
		turn, err := h.NewSession(host.SessionConfig{}).BetweenTurns(ctx)
		if err != nil {
			return err
		}
		defer turn.End(ctx)
		_, err = turn.CallTool(ctx, starhost.ToolCall{ID: "1", Name: "outer"})
		return err
	}
	if err := call(starhost.WithProgress(t.Context(), func(p starhost.Progress) {
		told = append(told, p)
	})); err != nil {
		t.Fatal(err)
	}
	if err := call(t.Context()); err != nil {
		t.Fatal(err)
	}
	diff(t, "progress", []starhost.Progress{{Done: 1, Total: 2, Message: "half"}, {Done: 2, Total: 2}}, told)
}

func tool(
	name string, call func(context.Context, starhost.ToolCall) (starhost.Result, error),
) starhost.Tool {
	return starhost.Tool{Name: name, Description: "A tool.", Call: call}
}
