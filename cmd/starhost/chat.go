package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/console"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/shellwords"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// chatFlags are the flags of chat.
type chatFlags struct {
	loadFlags
	requestFlags
	session  sessionChoice
	approve  string
	noStream bool
}

func (p *program) chatCommand() *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:         "chat [PATH...]",
		Annotations: formats("text"),
		Short:       "Talk to a model at a prompt",
		Long: `Talk to a model at a prompt. Each line is a message, and the tools that the model
calls run as in starhost run, in one session.

A line /NAME ARG... runs a plugin's command. These lines begin with !:
  !fragment REF   add a fragment to the next message
  !attach REF     add an attachment to the next message
  !multi          begin a message of several lines, up to a line !end
  !edit           write the next message in $VISUAL or $EDITOR
  !session        show the session
  !tools          show the tools on offer
A line that begins with a space is a message in any case.

Tab completes, the arrows bring back earlier lines. Ctrl-C cuts the answer, and the
session goes on; exit or ctrl-D ends. If a call needs approval, y allows it, a allows
the same call always in this session, and any other answer denies it.`,
		Example: `  starhost chat -m openai/MODEL
  starhost chat plugins --continue`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			return runChat(cmd.Context(), p.env, &p.res, &f, paths)
		},
	}
	f.loadFlags.add(cmd)
	f.requestFlags.addContent(cmd)
	f.requestFlags.addModel(cmd)
	f.session.add(cmd)
	addApprove(cmd, &f.approve)
	cmd.Flags().BoolVar(&f.noStream, "no-stream", false, "ask for whole answers, for endpoints that cannot stream")
	return cmd
}

// A chat is one run of the command.
type chat struct {
	*conversation
	next       host.Request // parts that wait for the next message
	read       func(prompt string) (string, error)
	terminal   *console.Terminal // nil if the input is piped
	input      *os.File          // where the terminal's keys come from; an editor reads them, too
	interrupts console.Interrupts
	usage      starhost.Usage
	turns      int
}

// runChat runs the command.
func runChat(ctx context.Context, env Env, res *Result, f *chatFlags, paths []string) error {
	c := &chat{interrupts: make(console.Interrupts, 1)}
	in := env.stdin
	env.stdin = nil // chat reads standard input, so no reference may
	c.terminal = env.terminal(in, "chat")
	c.read = console.BoundedLines(in, disk.MaxInput)
	if c.terminal != nil {
		defer c.terminal.Close()
		c.input = in.(*os.File) // no error, because openTerminal accepts no other stream
		c.read = console.OneByOne(c.terminal)
	}
	ask, err := c.newApprover(env, res, f.approve)
	if err != nil {
		return err
	}
	configure := func(o *loader.Options) { o.Host.Approver = ask }
	set, err := loadForModel(ctx, env, res, &f.loadFlags, paths, &f.session, configure)
	if err != nil {
		return err
	}
	defer set.Close()
	if set.Missing() != nil {
		return nil // loadWith has reported it
	}
	end, err := env.mountTools(ctx, res, set, nil, allServers)
	defer end()
	if err != nil {
		return err
	}
	env.report(res)
	res.code = report.ExitOK // plugins that are not required may fail
	request, config, err := env.readRequest(&f.requestFlags)
	if err != nil {
		return err
	}
	config.Model, config.Seed = cmp.Or(f.model, set.Config.Model.Default), rand.Uint64()
	if err := checkModel(set, config.Model, request.Template != ""); err != nil {
		return err
	}
	if c.conversation, err = env.newConversation(ctx, res, set, f.session.used, config, !f.noStream); err != nil {
		return err
	}
	defer c.close(ctx)
	c.next = request
	signal.Notify(c.interrupts, os.Interrupt)
	defer signal.Stop(c.interrupts)
	if c.terminal != nil {
		c.terminal.Complete = func(text string) (int, []string) { return c.complete(ctx, text) }
		fmt.Fprintln(env.stderr, texttable.EscapeLine("plugins "+report.PluginLine(set.Plugins)+"; model "+config.Model+"; exit or ctrl-D ends"))
	}
	return c.loop(ctx)
}

// loop reads lines until the input ends. If a line fails, it reports the error and goes on.
func (c *chat) loop(ctx context.Context) error {
	ctx, stop := console.WithoutInterrupt(ctx)
	defer stop()
	if c.terminal != nil {
		c.addError(c.resumeWaiting(ctx))
		c.report(c.Result)
		c.code = report.ExitOK
	}
	for {
		line, err := console.ReadWithin(ctx, func() (string, error) { return c.read("> ") })
		switch {
		case err == io.EOF:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err == console.ErrInterrupted:
			continue
		case err == nil && (slices.Contains(console.ExitWords, strings.TrimSpace(line)) || strings.TrimSpace(line) == "/exit"):
			return nil
		case err != nil:
			return err
		}
		c.addError(c.runLine(ctx, line))
		if c.broken != nil {
			return nil // the report has the error
		}
		code := c.code
		c.report(c.Result)
		c.code = code // an error in one line does not make the session fail
	}
}

// runLine runs a line. ctrl-C ends the line, not the session.
func (c *chat) runLine(ctx context.Context, line string) error {
	ctx, done := c.interrupts.Within(ctx)
	defer done()
	switch {
	case strings.HasPrefix(line, "!"):
		return c.runBang(ctx, line)
	case strings.HasPrefix(line, "/"):
		return c.runSlash(ctx, line)
	case strings.TrimSpace(line) == "" && len(c.next.Fragments)+len(c.next.Attachments) == 0:
		return nil
	}
	return c.send(ctx, strings.TrimPrefix(line, " "))
}

// send sends a message, together with the parts that wait for it.
func (c *chat) send(ctx context.Context, text string) error {
	r := c.next
	r.Text = text
	result, err := c.ask(ctx, r)
	if result != nil {
		c.count(result)
		// The session keeps the system text, and what the template added to it.
		c.next = host.Request{OnlyTools: c.next.OnlyTools, Model: c.next.Model}
	}
	if err != nil && c.lastText != "" && ctx.Err() != nil {
		c.line("cut: the session has the answer so far")
		return nil
	}
	return err
}

// count adds a turn to the numbers that !session shows.
func (c *chat) count(r *host.TurnResult) {
	c.turns++
	c.usage = starhost.Usage{
		Input: c.usage.Input + r.Usage.Input, Output: c.usage.Output + r.Usage.Output,
		Cached: c.usage.Cached + r.Usage.Cached,
	}
}

// resumeWaiting goes on with the turn that waits for an approval, if one does, because here the user can give
// it.
func (c *chat) resumeWaiting(ctx context.Context) error {
	ctx, done := c.interrupts.Within(ctx)
	defer done()
	result, err := c.resume(ctx)
	if result != nil {
		c.count(result)
	}
	return err
}

// runSlash runs a plugin's command.
func (c *chat) runSlash(ctx context.Context, line string) error {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "/"), " ")
	if err := checkCommandName(c.set.Host, name); err != nil {
		return err
	}
	reply, err := c.session.Command(ctx, line)
	if text := userText(&reply.Result); text != "" && c.out != nil {
		c.write(c.set.Redact(strings.TrimSuffix(text, "\n")) + "\n")
	}
	return errors.Join(err, reply.Err, c.id.store(ctx, c.session))
}

// bangs are the lines that chat itself understands.
var bangs = []string{"!attach", "!edit", "!end", "!fragment", "!multi", "!session", "!tools"}

// runBang runs a line that begins with !.
func (c *chat) runBang(ctx context.Context, line string) error {
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	wantsArgument := name == "!fragment" || name == "!attach"
	switch {
	case wantsArgument && rest == "":
		return usagef("%s: got nothing, want a reference", name)
	case !wantsArgument && rest != "" && slices.Contains(bangs, name):
		return usagef("%s: got %q, want nothing behind it", name, errtext.Clip(rest))
	}
	switch name {
	case "!fragment":
		c.next.Fragments = append(c.next.Fragments, rest)
	case "!attach":
		at, err := effects.ReadAttachment(c.dir, rest)
		if err != nil {
			return fmt.Errorf("!attach: %w", err)
		}
		c.next.Attachments = append(c.next.Attachments, at)
	case "!multi":
		return c.multi(ctx)
	case "!end":
		return usagef("!end: got no !multi before it")
	case "!edit":
		text, err := c.edit(ctx)
		if err != nil || strings.TrimSpace(text) == "" {
			return err
		}
		return c.send(ctx, text)
	case "!session":
		c.line(fmt.Sprintf("session %s, %d turns here, %d tokens in, %d out", c.session.ID(), c.turns, c.usage.Input, c.usage.Output))
	case "!tools":
		return c.showTools(ctx)
	default:
		return usagef("unknown line %q%s, want %s", errtext.Clip(name), near.DidYouMean(name, bangs), strings.Join(bangs, ", "))
	}
	return nil
}

// multi reads the lines of a message up to !end.
func (c *chat) multi(ctx context.Context) error {
	var text strings.Builder
	for {
		line, err := console.ReadWithin(ctx, func() (string, error) { return c.read("... ") })
		switch {
		case err == console.ErrInterrupted:
			return nil
		case err == io.EOF:
			return usagef("!multi: got the end of the input, want !end")
		case err != nil:
			return err
		case strings.TrimSpace(line) == "!end":
			return c.send(ctx, strings.TrimSuffix(text.String(), "\n"))
		}
		if text.WriteString(line + "\n"); text.Len() > disk.MaxInput {
			return usagef("!multi: got more than %d bytes, want less", disk.MaxInput)
		}
	}
}

// edit returns the text that the user writes in an editor.
func (c *chat) edit(ctx context.Context) (string, error) {
	editor := cmp.Or(c.getenv("VISUAL"), c.getenv("EDITOR"))
	words, err := shellwords.Split(editor)
	if err != nil || len(words) == 0 {
		return "", usagef("!edit: got %q in VISUAL or EDITOR, want a program", editor)
	}
	dir, err := os.MkdirTemp("", "starhost-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file := dir + "/message.md"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, words[0], append(words[1:], file)...)
	cmd.Stdout, cmd.Stderr = c.stdout, c.stdout
	if c.terminal != nil {
		cmd.Stdin = c.input
	}
	if err := cmd.Run(); err != nil {
		return "", usagef("!edit: %s: %v", texttable.EscapeLine(words[0]), err)
	}
	text, err := c.readText(file)
	return strings.TrimSuffix(text, "\n"), err
}

// showTools shows the tools on offer.
func (c *chat) showTools(ctx context.Context) error {
	t, err := c.session.BetweenTurns(ctx)
	if err != nil {
		return err
	}
	defer t.End(ctx)
	for _, tool := range t.Tools().Items() {
		matches := func(glob string) bool {
			ok, err := path.Match(glob, tool.Name)
			return ok && err == nil
		}
		if len(c.next.OnlyTools) == 0 || slices.ContainsFunc(c.next.OnlyTools, matches) {
			c.line(texttable.EscapeLine(tool.Name + "  " + texttable.FirstLine(tool.Description)))
		}
	}
	return nil
}

// complete returns completions of the last word of a line, and the offset where that word begins.
func (c *chat) complete(ctx context.Context, text string) (begin int, names []string) {
	word := strings.LastIndexByte(text, ' ') + 1
	var candidates []string
	switch {
	case strings.HasPrefix(text, "/"):
		whole, err := c.session.Complete(ctx, text)
		if err != nil {
			return word, nil
		}
		begin, candidates = commandPlace(text), whole
	case strings.HasPrefix(text, "!fragment "):
		begin = word
		for _, l := range c.set.Host.FragmentLoaders() {
			candidates = append(candidates, l.Prefix+":")
		}
	case strings.HasPrefix(text, "!"):
		candidates = bangs
	}
	for _, name := range candidates {
		if strings.HasPrefix(name, text[begin:]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return begin, names
}

// commandPlace returns the offset of what a command can complete: the command's name, or all its arguments.
func commandPlace(text string) int {
	if i := strings.IndexByte(text, ' '); i >= 0 {
		return i + 1
	}
	return 0
}

// newApprover returns the approver for a value of --approve. It asks at the prompt of chat.
func (c *chat) newApprover(env Env, res *Result, way string) (approver, error) {
	plain, err := env.newApprover(res, way) // this checks the value; it asks nobody, because chat reads the input
	if err != nil || way != "ask" || c.terminal == nil {
		return plain, err
	}
	return newQuestion(env.stderr, c.read, true), nil
}
