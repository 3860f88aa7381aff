package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/shellwords"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

func (p *program) commandCommand() *cobra.Command {
	var (
		f       loadFlags
		session sessionID
		approve string
	)
	cmd := &cobra.Command{
		Use:   "command NAME [ARG...]",
		Short: "Run a plugin's command",
		Long: `Run a command that a plugin registers, as /NAME does in a conversation, in a new
session or, with --session, in a stored one. starhost loads the plugins that the config names, else ./plugins or ./*.star.
Flags come before NAME: everything after NAME belongs to the command. The effects of
the command run, as far as they are granted. Its questions, and the approvals that its
tools need, are asked at the terminal; without a terminal the answer is no.

The exit code is 1 if the command was denied, or says that it failed.`,
		Example: `  starhost command page checkout
  starhost command -F json page checkout --urgent`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("command: got no name, want one that starhost list commands shows")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPluginCommand(cmd.Context(), p.env, &p.res, &f, session, approve, args)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			return completePluginCommand(cmd.Context(), p.env, &p.res, &f, args, word), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f.add(cmd)
	addSession(cmd, &session)
	addApprove(cmd, &approve)
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// runPluginCommand runs the plugin's command whose name is the first of args.
func runPluginCommand(ctx context.Context, env Env, res *Result, f *loadFlags, id sessionID, approve string, args []string) error {
	ask, err := env.newApprover(res, approve)
	if err != nil {
		return err
	}
	var reply host.CommandReply
	var records *decision.Log
	set, err := env.loadWith(ctx, res, f, nil, func(o *loader.Options) {
		o.RequiredInArgs, o.Host.Approver = true, ask
		records = env.recordEvents(o)
		id.useStore(env, o)
	})
	if err == nil {
		defer set.Close()
		useSet(records, set)
		reply, err = res.command(ctx, set, id, args)
	}
	res.addError(err)
	return env.printResult(res, commandReply{&reply})
}

// WriteText writes what the user sees of a command's result.
func (r commandReply) WriteText(res *Result) {
	if text := userText(&r.Result); text != "" {
		fmt.Fprintln(&res.out, strings.TrimSuffix(text, "\n"))
	}
}

// command runs a command in a new session, or in the stored session that id names.
func (res *Result) command(
	ctx context.Context, set *loader.Set, id sessionID, args []string,
) (reply host.CommandReply, err error) {
	if err := checkCommandName(set.Host, args[0]); err != nil {
		return reply, err
	}
	session, err := id.open(ctx, set, commandSession(set))
	if err != nil {
		return reply, err
	}
	reply, err = session.Command(ctx, args[0], args[1:]...)
	err = cmp.Or(err, reply.Err)
	if err == nil && reply.Result.IsError {
		res.code = report.ExitNegative
	}
	if id != "" {
		return reply, errors.Join(err, id.store(ctx, session))
	}
	return reply, errors.Join(err, session.Close(context.WithoutCancel(ctx)))
}

// commandSession returns the config of the session that runs a command. Each run has other random values,
// because a user runs a command for its effect and not for its output.
func commandSession(set *loader.Set) host.SessionConfig {
	return host.SessionConfig{Platform: "cli", Model: set.Config.Model.Default, Seed: rand.Uint64()}
}

// checkCommandName returns an error if no plugin registers a command with the name.
func checkCommandName(h *host.Host, name string) error {
	name = strings.TrimPrefix(name, "/")
	names := commandNames(h)
	switch {
	case slices.Contains(names, name):
		return nil
	case len(names) == 0:
		return usagef("command: unknown command %q: no plugin registers any", name)
	}
	return usagef("command: unknown command %q%s, want %s", name, near.DidYouMean(name, names), strings.Join(names, ", "))
}

// commandNames returns the names of all commands, each followed by its aliases.
func commandNames(h *host.Host) []string {
	var names []string
	for _, c := range h.Commands() {
		names = append(append(names, c.Name), c.Aliases...)
	}
	return names
}

// userText returns what the user sees of a result; it is "" for a silent result.
func userText(r *starhost.Result) string {
	if r.Silent {
		return ""
	}
	return cmp.Or(r.ForUser, r.ForLLM)
}

// A commandReplyJSON is the JSON result of command.
type commandReplyJSON struct {
	Command     string                  `json:"command"`
	Args        []string                `json:"args"`
	Output      string                  `json:"output"`
	ForUser     string                  `json:"for_user"`
	IsError     bool                    `json:"is_error"`
	Denied      *report.DecisionJSON    `json:"denied"`
	Attachments []report.AttachmentJSON `json:"attachments"`
	Steps       uint64                  `json:"steps"`
	AllocBytes  uint64                  `json:"alloc_bytes"`
}

func (r commandReply) WriteJSON(res *Result) error {
	out := commandReplyJSON{
		Command: r.Call.Name, Args: append([]string{}, r.Call.Args...),
		Output: r.Result.ForLLM, ForUser: r.Result.ForUser, IsError: r.Result.IsError,
		Attachments: jsontext.List(r.Result.Attachments, report.NewAttachmentJSON), Steps: r.Steps, AllocBytes: r.Bytes,
	}
	if d := r.Denied; d != nil {
		denied := res.view().NewDecisionJSON(d)
		out.Denied = &denied
	}
	return res.out.JSON(head{"starhost.command/1", len(res.problems) == 0}, out, res.tail())
}

// A commandReply is the result of command.
type commandReply struct{ *host.CommandReply }

// completePluginCommand returns the names of commands. After a name, it returns what that command proposes
// for its arguments.
func completePluginCommand(ctx context.Context, env Env, res *Result, f *loadFlags, args []string, word string) []string {
	return env.registeredNames(ctx, res, f, nil, func(set *loader.Set) []string {
		if len(args) == 0 {
			return commandNames(set.Host)
		}
		before := strings.TrimPrefix(shellwords.Join(args[1:])+" ", " ") // all words are completed as one text
		words, err := set.Host.NewSession(commandSession(set)).Complete(ctx, "/"+args[0]+" "+before+word)
		if err != nil { // the command proposes nothing
			return nil
		}
		return jsontext.List(words, func(w *string) string { return strings.TrimPrefix(*w, before) })
	})
}
