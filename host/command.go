// Slash commands: parsing, the events around them, the call, completion.

package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/shellwords"
)

// A CommandReply is the outcome of a command.
type CommandReply struct {
	// Call is the command with its final arguments.
	Call starhost.CommandCall
	// Result is the result for the user: ForUser, or ForLLM if that is empty.
	Result starhost.Result
	// Denied is the decision that stopped the command, or nil.
	Denied *starhost.Decision
	// Err is the failure of the command's handler, or nil.
	Err error
	// Steps and Bytes are the usage of the command's handler.
	Steps, Bytes uint64
}

// Command runs a line such as "/deliver checkout" between two turns. See [Turn.Command].
func (s *Session) Command(ctx context.Context, line string, args ...string) (CommandReply, error) {
	t, err := s.BetweenTurns(ctx)
	if err != nil {
		return CommandReply{}, err
	}
	defer t.End(ctx)
	return t.Command(ctx, line, args...)
}

// Command runs a line such as "/deliver checkout --to 'the team'"; the slash is optional. It fires
// pre_command, runs the command and fires post_command. A failure of the command is an is_error
// result. The error says that there is no such command, that the line cannot be split, or why ctx
// ended. With args, the line is only the name: args are the words, and the rest of the line is the
// words with spaces between them.
func (t *Turn) Command(ctx context.Context, line string, args ...string) (CommandReply, error) {
	c, call, err := parseCommand(t, line)
	if err != nil {
		return CommandReply{Call: call}, err
	}
	if len(args) > 0 {
		call.Args, call.Line = slices.Clone(args), strings.Join(args, " ")
	}
	e := t.newEvent("pre_command")
	e.Command, e.Args = c.Name, call.Args
	out, err := t.fireEvent(ctx, e)
	if err != nil {
		return CommandReply{Call: call}, err
	}
	if !slices.Equal(call.Args, e.Args) {
		call.Args, call.Line = e.Args, shellwords.Join(e.Args)
	}
	reply := CommandReply{Call: call}
	if d := out.Decision; d.Action == starhost.ActionDeny {
		reply.Denied, reply.Result = &d, starhost.Result{ForLLM: fmt.Sprintf("denied by %s: %s", d.Plugin, d.Reason), IsError: true}
		return reply, nil
	}
	if err := t.runCommand(ctx, c, e, &reply); err != nil {
		return reply, err
	}
	after := *e
	after.Name, after.Result = "post_command", reply.Result
	_, err = t.fireEvent(ctx, &after)
	reply.Result = after.Result
	return reply, err
}

// parseCommand finds the line's command and splits its arguments.
func parseCommand(t *Turn, line string) (*starhost.Command, starhost.CommandCall, error) {
	name, rest := splitName(line)
	call := starhost.CommandCall{Name: name, Line: rest}
	c := t.registry.commands[name]
	if c == nil {
		return nil, call, errtext.Errorf("unknown command %q%s", "/"+name, near.DidYouMean("/"+name, commandNames(t, "")))
	}
	call.Name = c.Name
	var err error
	if call.Args, err = shellwords.Split(rest); err != nil {
		return nil, call, errtext.Errorf("/%s: %w", name, err)
	}
	return c, call, nil
}

// splitName splits a line after the command's name.
func splitName(line string) (name, rest string) {
	line = strings.TrimPrefix(strings.TrimSpace(line), "/")
	i := strings.IndexAny(line, " \t\r\n")
	if i < 0 {
		return line, ""
	}
	return line[:i], strings.TrimSpace(line[i:])
}

// commandNames returns all names and aliases with a prefix, sorted, with their slash.
func commandNames(t *Turn, prefix string) []string {
	var names []string
	for name := range t.registry.commands {
		if strings.HasPrefix(name, prefix) {
			names = append(names, "/"+name)
		}
	}
	slices.Sort(names) // sort only the matches, because they are few
	return names
}

// runCommand runs the command's handler. An error ends the command.
func (t *Turn) runCommand(ctx context.Context, c *starhost.Command, pre *starhost.Event, reply *CommandReply) error {
	run := t.startRun(ctx, pre, starhost.EventCommandRun)
	lane := t.newLane(ctx, c.Plugin.Name, false)
	result, err := protect(func() (starhost.Result, error) { return c.Call(lane.context(ctx), reply.Call) })
	t.deliverRecords(lane)
	t.finishRun(run, lane, c.Pos, err)
	reply.Steps, reply.Bytes = lane.Steps, lane.Bytes
	if err := endingError(ctx, err); err != nil {
		return err
	}
	if err == nil {
		err = t.checkContext(&starhost.Context{Attachments: result.Attachments})
	}
	if err != nil {
		failure := &HandlerError{Plugin: c.Plugin.Name, What: "command " + c.Name, Pos: c.Pos, Err: err}
		reply.Err = failure
		t.reportFailure(ctx, failure)
		result = starhost.Result{ForLLM: "command " + c.Name + " failed: " + failure.Error(), IsError: true}
	}
	reply.Result = attributeResult(result, "/"+c.Name, c.Plugin.Name, c.Pos)
	return nil
}

// maxCompletions is the most completions of a command.
const maxCompletions = 1000

// Complete returns completions of a line that begins with a slash: names of commands, or what a command's
// handler proposes for its arguments. The error comes from the command's handler or from ctx.
func (s *Session) Complete(ctx context.Context, line string) ([]string, error) {
	t, err := s.BetweenTurns(ctx)
	if err != nil {
		return nil, err
	}
	defer t.End(ctx)
	name, typed, hasArgs := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	if !hasArgs {
		return commandNames(t, name), nil
	}
	c := t.registry.commands[name]
	if c == nil || c.Complete == nil {
		return nil, nil
	}
	lane := t.newLane(ctx, c.Plugin.Name, true)
	list, err := protect(func() ([]string, error) {
		return c.Complete(lane.context(ctx), strings.TrimLeft(typed, " "))
	})
	t.deliverRecords(lane)
	if err := endingError(ctx, err); err != nil {
		return nil, err
	}
	if err != nil {
		failure := &HandlerError{Plugin: c.Plugin.Name, What: "completion of command " + c.Name, Pos: c.Pos, Err: err}
		t.reportFailure(ctx, failure)
		return nil, failure
	}
	return list[:min(len(list), maxCompletions)], nil
}
