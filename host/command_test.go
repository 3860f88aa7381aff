package host_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// deliver returns a plugin with a command whose result shows the arguments that it got.
func deliver() starhost.Plugin {
	return starhost.Plugin{Name: "mail", Commands: []starhost.Command{{
		Name: "deliver", Aliases: []string{"send", "dl"}, Description: "Send a text.", Pos: at("mail.star", 4),
		Call: func(_ context.Context, c starhost.CommandCall) (starhost.Result, error) {
			if len(c.Args) > 0 && c.Args[0] == "fail" {
				return starhost.Result{}, errors.New("no route")
			}
			return starhost.Result{ForLLM: c.Name + " " + strings.Join(c.Args, "|") + " (" + c.Line + ")"}, nil
		},
		Complete: func(_ context.Context, typed string) ([]string, error) {
			if typed == "fail" {
				return nil, errors.New("no list")
			}
			return []string{typed + "1", typed + "2"}, nil
		},
	}}}
}

func TestCommand(t *testing.T) {
	const before, after = "pre_command", "post_command"
	tests := []struct {
		name, line string
		plugins    []starhost.Plugin
		want       string // the result or the error
		denied     bool
	}{
		{"with arguments", "/deliver checkout --to 'the team'", nil, "deliver checkout|--to|the team (checkout --to 'the team')", false},
		{"without the slash", "deliver  x", nil, "deliver x (x)", false},
		{"without arguments", " /deliver ", nil, "deliver  ()", false},
		{"by an alias", "/send x", nil, "deliver x (x)", false},
		{"unknown", "/delivr x", nil, `unknown command "/delivr" (did you mean /deliver?)`, false},
		{"nothing", "/", nil, `unknown command "/"`, false},
		{"unbalanced", `/send "x`, nil, `/send: unbalanced " in the arguments`, false},
		{"a failing command", "/deliver fail", nil, "command deliver failed: no route", false},
		{"deny", "/deliver x", []starhost.Plugin{pluginWith(1, hook(before, deny))}, "denied by p1: no", true},
		{"a failing guard denies", "/deliver x", []starhost.Plugin{pluginWith(1, failingHook(before, ""))}, "denied by p1: the guard of p1 failed: division by zero", true},
		{"a failing guard that may be skipped", "/deliver x", []starhost.Plugin{pluginWith(1, failingHook(before, starhost.FailSkip))}, "deliver x (x)", false},
		{"deny wins over modify", "/deliver x", []starhost.Plugin{pluginWith(1, hook(before, deny)), pluginWith(2, hook(before, starhost.Modify("args", []string{"y"})))}, "denied by p1: no", true},
		{"modify chains", "/deliver x", []starhost.Plugin{pluginWith(1, addingHook("a")), pluginWith(2, addingHook("b c"))}, "deliver x|a|b c (x a 'b c')", false},
		{"modify to no list", "/deliver x", []starhost.Plugin{pluginWith(1, hook(before, starhost.Modify("args", "y")))}, "denied by p1: the guard of p1 failed: modify: args: got string, want a list", true},
		{"match on its name", "/send x", []starhost.Plugin{pluginWith(1, starhost.Hook{Event: before, Match: []string{"del*"}, Call: hook(before, deny).Call})}, "denied by p1: no", true},
		{"match on another", "/send x", []starhost.Plugin{pluginWith(1, starhost.Hook{Event: before, Match: []string{"send"}, Call: hook(before, deny).Call})}, "deliver x (x)", false},
		{"post_command changes the result", "/send x", []starhost.Plugin{pluginWith(1, hook(after, starhost.Modify("result", "sent")))}, "sent", false},
		{"a failing observer is skipped", "/send x", []starhost.Plugin{pluginWith(1, failingHook(after, ""))}, "deliver x (x)", false},
		{"a denial that only warns", "/send x", []starhost.Plugin{warningPlugin(pluginWith(1, hook(before, deny)))}, "deliver x (x)", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newHost(t, host.Options{}, append(tt.plugins, deliver())...).NewSession(host.SessionConfig{})
			reply, err := s.Command(context.Background(), tt.line)
			got := reply.Result.ForLLM
			if err != nil {
				got = err.Error()
			}
			diff(t, "result", tt.want, got)
			if tt.denied != (reply.Denied != nil) || tt.denied && !reply.Result.IsError {
				t.Errorf("denied: got %v, is_error %v, want %v", reply.Denied, reply.Result.IsError, tt.denied)
			}
			if failed := strings.HasPrefix(tt.want, "command "); failed != (reply.Err != nil) || failed && !reply.Result.IsError {
				t.Errorf("failure: got %v, is_error %v", reply.Err, reply.Result.IsError)
			}
			if p := ask(t, s, host.Request{Text: "hi"}); len(p.Messages) != 1 {
				t.Errorf("messages of the next prompt: got %v, want the user's alone", roles(p.Messages))
			}
		})
	}
}

// addingHook returns a pre_command hook that adds an argument.
func addingHook(arg string) starhost.Hook {
	return hookFunc("pre_command", func(e *starhost.Event) starhost.Decision {
		return starhost.Modify("args", append(slices.Clone(e.Args), arg))
	})
}

// TestCommandIsNoTurn checks that a command has no turn number and fires no turn events, that it begins a
// session, and that it has lanes of its own.
func TestCommandIsNoTurn(t *testing.T) {
	var fired, lanes []string
	p := deliver()
	for _, event := range []string{"session_start", "turn_start", "turn_end", "pre_command"} {
		p.Hooks = append(p.Hooks, starhost.Hook{Event: event,
			Call: func(ctx context.Context, e *starhost.Event) (starhost.Decision, error) {
				fired = append(fired, event)
				lanes = append(lanes, host.LaneOf(ctx).Path())
				return starhost.TextContext(map[bool]string{true: "welcome"}[event == "session_start"]), nil
			}})
	}
	s := newHost(t, host.Options{}, p).NewSession(host.SessionConfig{})
	for range 2 {
		if _, err := s.Command(context.Background(), "/send x"); err != nil {
			t.Fatal(err)
		}
	}
	turn := beginIn(t, s, host.Request{Text: "hi"})
	diff(t, "number of the first turn", 1, turn.Number())
	diff(t, "text", "welcome\nhi", prompt(t, turn).Text.String())
	turn.End(context.Background())
	diff(t, "events", []string{"session_start", "pre_command", "pre_command", "turn_start", "turn_end"}, fired)
	diff(t, "lanes", []string{"s1.1", "s1.2", "s2.1", "1", "2"}, lanes)
}

// TestCommandInATurn checks that a turn can run a command.
func TestCommandInATurn(t *testing.T) {
	turn := begin(t, newHost(t, host.Options{}, deliver()), host.Request{Text: "hi"})
	reply, err := turn.Command(context.Background(), "/dl x")
	if err != nil || reply.Result.ForLLM != "deliver x (x)" {
		t.Errorf("Command: got %+v, %v", reply, err)
	}
}

func TestComplete(t *testing.T) {
	tests := []struct {
		line string
		want []string
		fail string
	}{
		{"/", []string{"/deliver", "/dl", "/other", "/send"}, ""},
		{"/d", []string{"/deliver", "/dl"}, ""},
		{"del", []string{"/deliver"}, ""},
		{"/x", nil, ""},
		{"/deliver ", []string{"1", "2"}, ""},
		{"/send  a b", []string{"a b1", "a b2"}, ""},
		{"/other a", nil, ""},
		{"/gone a", nil, ""},
		{"/send fail", nil, "no list"},
	}
	other := deliver()
	other.Name, other.Commands = "other", []starhost.Command{{Name: "other", Call: other.Commands[0].Call}}
	h := newHost(t, host.Options{}, deliver(), other)
	for _, tt := range tests {
		got, err := h.NewSession(host.SessionConfig{}).Complete(context.Background(), tt.line)
		diff(t, "completions of "+tt.line, tt.want, got)
		if (err != nil) != (tt.fail != "") || err != nil && err.Error() != tt.fail {
			t.Errorf("Complete(%q): got error %v, want %q", tt.line, err, tt.fail)
		}
	}
	var listed []string
	for _, c := range h.Commands() {
		listed = append(listed, c.Plugin.Name+" "+c.Name)
	}
	diff(t, "commands", []string{"mail deliver", "other other"}, listed)
}
