package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// TestTraceReaders checks that the trace does not depend on when a program reads it, and that later
// turns do not change a report.
func TestTraceReaders(t *testing.T) {
	decisions := []starhost.Decision{
		{}, starhost.TextContext("hello"), starhost.Modify("model", "m2"), {Action: starhost.ActionDeny}, {Action: starhost.ActionAbort, Reason: "enough"},
	}
	rapid.Check(t, func(t *rapid.T) {
		h := host.New(host.Options{})
		var said int
		for i := range rapid.IntRange(1, 4).Draw(t, "hooks") {
			hook := starhost.Hook{Event: "pre_llm_call", Pos: at("p.star", i+1),
				Call: func(context.Context, *starhost.Event) (starhost.Decision, error) {
					said++
					if said%7 == 0 {
						return starhost.Decision{}, errors.New("broken")
					}
					return decisions[said%len(decisions)], nil
				}}
			if err := h.Add(starhost.Plugin{Name: fmt.Sprintf("p%d", i), Hooks: []starhost.Hook{hook}}); err != nil {
				t.Fatal(err)
			}
		}
		s := h.NewSession(host.SessionConfig{})
		var reports [][]host.HookTrace
		var asTheyWere []string
		keep := func(r []host.HookTrace) {
			reports, asTheyWere = append(reports, r), append(asTheyWere, fmt.Sprint(r))
		}
		for range rapid.IntRange(1, 3).Draw(t, "turns") {
			turn, err := s.Begin(context.Background(), host.Request{Text: "hi"})
			if err != nil {
				t.Fatal(err)
			}
			var read []host.HookTrace
			for range rapid.IntRange(1, 4).Draw(t, "prompts") {
				before := len(turn.Hooks())
				if p, err := turn.Prompt(context.Background()); err == nil {
					keep(p.Hooks)
				}
				read = append(read, turn.Hooks()[before:]...)
			}
			turn.End(context.Background())
			keep(turn.Hooks())
			if got := turn.Hooks(); fmt.Sprint(got) != fmt.Sprint(read) {
				t.Fatalf("read at the end:\n%v\nread on the way:\n%v", got, read)
			}
		}
		for i, r := range reports {
			if got := fmt.Sprint(r); got != asTheyWere[i] {
				t.Fatalf("report %d was\n%s\nand is\n%s", i, asTheyWere[i], got)
			}
		}
		if !slices.ContainsFunc(reports, func(r []host.HookTrace) bool { return len(r) > 0 }) {
			t.Fatal("got nothing traced")
		}
	})
}
