package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/shellwords"
)

// These are the arguments of prompts. The prompt of a command has commandArg. The prompt of a
// template has the others, and the template's parameters by their names.
const (
	commandArg  = "args"   // the text behind the command's name
	templateArg = "arg"    // the text behind the prefix and ":" in the reference
	inputArg    = "input"  // the user's words
	paramsArg   = "params" // parameters as NAME=VALUE, for clients that send no other arguments
)

// templateSuffix follows the name of a template's prompt if a command has the same name.
const templateSuffix = "_template"

// prompts describes the commands and templates of a host.
func prompts(h *host.Host) []*sdk.Prompt {
	var list []*sdk.Prompt
	for _, c := range h.Commands() {
		list = append(list, &sdk.Prompt{
			Name: c.Name, Description: descriptionOr(c.Description, "The command /"+c.Name+" of plugin "+c.Plugin.Name+"."),
			Arguments: []*sdk.PromptArgument{{Name: commandArg, Description: "The text behind the command's name, with quotes as in a shell."}},
		})
	}
	for _, l := range h.TemplateLoaders() {
		list = append(list, &sdk.Prompt{
			Name: templateName(h, l.Prefix), Description: descriptionOr(l.Description, "The template "+l.Prefix+" of plugin "+l.Plugin+"."),
			Arguments: []*sdk.PromptArgument{
				{Name: templateArg, Description: "The name of the template, if " + l.Prefix + " has several."},
				{Name: inputArg, Description: "Your own words."},
				{Name: paramsArg, Description: "The template's parameters, as NAME=VALUE, several with blanks between them. Each can also be a separate argument."},
			},
		})
	}
	return list
}

func promptKey(p *sdk.Prompt) string { return p.Name }

func (s *Server) addPrompt(p *sdk.Prompt) { s.sdk.AddPrompt(p, s.getPrompt) }

// templateName returns the name of a template's prompt.
func templateName(h *host.Host, prefix string) string {
	if isCommand(h, prefix) {
		return prefix + templateSuffix
	}
	return prefix
}

// isCommand reports whether a prompt is a command.
func isCommand(h *host.Host, name string) bool {
	return slices.ContainsFunc(h.Commands(), func(c starhost.Command) bool { return c.Name == name })
}

// getPrompt runs a command or fills in a template.
func (s *Server) getPrompt(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	h, name, args := s.live.Host(), r.Params.Name, r.Params.Arguments
	if isCommand(h, name) {
		ours := s.findSession(r.Session)
		asking := (*round)(nil)
		if isStateless(r) {
			asking = &round{} // the command would run again from its start, so it cannot ask
		}
		return s.runCommand(s.withClient(ctx, ours, r, asking), ours, name, args)
	}
	for _, l := range h.TemplateLoaders() {
		if templateName(h, l.Prefix) == name {
			return s.fillTemplate(ctx, s.findSession(r.Session), l.Prefix, args)
		}
	}
	return nil, s.checkPrompt(name)
}

// checkPrompt returns the protocol's error for a prompt that the host does not have.
func (s *Server) checkPrompt(name string) error {
	names := jsontext.List(prompts(s.live.Host()), func(p **sdk.Prompt) string { return (*p).Name })
	slices.Sort(names)
	if slices.Contains(names, name) {
		return nil
	}
	return invalidParams(fmt.Sprintf("unknown prompt %q%s", errtext.Cut(name), near.DidYouMean(name, names)))
}

// runCommand runs a command. The prompt is the command's text for the user.
func (s *Server) runCommand(
	ctx context.Context, ours *session, name string, args map[string]string,
) (*sdk.GetPromptResult, error) {
	for _, arg := range slices.Sorted(maps.Keys(args)) {
		if arg != commandArg {
			return nil, fmt.Errorf("prompt %s: got argument %q, want %s", name, errtext.Cut(arg), commandArg)
		}
	}
	reply, err := ours.Command(ctx, strings.TrimSpace("/"+name+" "+args[commandArg]))
	if err != nil {
		return nil, err
	}
	text := cmp.Or(reply.Result.ForUser, reply.Result.ForLLM)
	if reply.Result.IsError {
		return nil, errors.New(text)
	}
	return &sdk.GetPromptResult{Messages: messages("", text, reply.Result.Attachments)}, nil
}

// fillTemplate builds the first prompt of a template with the context of all hooks. It uses a new
// session, so that equal arguments always give an equal prompt.
func (s *Server) fillTemplate(
	ctx context.Context, ours *session, prefix string, args map[string]string,
) (*sdk.GetPromptResult, error) {
	params, err := templateParams(args)
	if err != nil {
		return nil, err
	}
	config := s.options.Session
	config.ID = ""
	session := s.live.NewSession(config)
	p, err := session.Prompt(ctx, host.Request{
		Template: prefix + ":" + args[templateArg], Params: params, Text: args[inputArg],
	})
	if err := errors.Join(err, session.Close(context.WithoutCancel(ctx))); err != nil {
		return nil, err
	}
	ours.recordFragments(p.Fragments)
	var attached []fragments.Attachment
	for _, m := range p.Messages {
		attached = append(attached, m.Attachments...)
	}
	return &sdk.GetPromptResult{Messages: messages(p.System, p.Text.String(), attached)}, nil
}

// templateParams returns a template's parameters from the prompt's arguments.
func templateParams(args map[string]string) (map[string]string, error) {
	params := map[string]string{}
	words, err := shellwords.Split(args[paramsArg])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", paramsArg, err)
	}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("%s: got %q, want NAME=VALUE", paramsArg, errtext.Cut(word))
		}
		params[name] = value
	}
	for name, value := range args {
		if name != templateArg && name != inputArg && name != paramsArg {
			params[name] = value
		}
	}
	return params, nil
}

// messages returns a prompt as messages of the user: the system text, the attachments, the text.
// The protocol has no role for system text.
func messages(system, text string, attachments []fragments.Attachment) []*sdk.PromptMessage {
	list := []*sdk.PromptMessage{}
	say := func(c sdk.Content) { list = append(list, &sdk.PromptMessage{Role: "user", Content: c}) }
	if system != "" {
		say(&sdk.TextContent{Text: system})
	}
	for i := range attachments {
		say(content(&attachments[i]))
	}
	if text != "" || len(list) == 0 {
		say(&sdk.TextContent{Text: text})
	}
	return list
}

// complete completes the arguments of a command. For other prompts it returns no values.
func (s *Server) complete(ctx context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	name, arg := r.Params.Ref.Name, r.Params.Argument
	out := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	if r.Params.Ref.Type != "ref/prompt" || arg.Name != commandArg || !isCommand(s.live.Host(), name) {
		return out, nil
	}
	words, err := s.findSession(r.Session).Complete(ctx, "/"+name+" "+arg.Value)
	if err != nil {
		return nil, err
	}
	shown := words[:min(len(words), maxCompletions)]
	out.Completion = sdk.CompletionResultDetails{
		Values: append([]string{}, shown...), Total: len(words), HasMore: len(words) > len(shown),
	}
	return out, nil
}
