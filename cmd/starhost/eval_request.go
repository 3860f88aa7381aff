package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
)

// requestFlags are the flags for the user's request.
type requestFlags struct {
	prompt, promptFile, input, system string
	template, expr, model             string
	params                            []string
	fragments, systemFragments        []string
	attachments, tools, roles         []string
	call, fire, args                  string
	argPairs                          []string
	promptGiven, callGiven, fireGiven bool
}

// A requestInput is the JSON of --input, a whole request.
type requestInput struct {
	Messages []starhost.Message `json:"messages"` // including system texts
	Tools    []starhost.Tool    `json:"tools"`
	Options  json.RawMessage    `json:"options"`
	Session  struct {
		ID        string   `json:"id"`
		Roles     []string `json:"roles"`
		Platform  string   `json:"platform"`
		Workspace string   `json:"workspace"`
	} `json:"session"`
}

// wantsTurn reports whether the flags ask for more than the list of registrations.
func (f *requestFlags) wantsTurn() bool {
	return f.wantsPrompt() || f.callGiven || f.fireGiven || f.expr != ""
}

// wantsPrompt reports whether the flags ask for a prompt.
func (f *requestFlags) wantsPrompt() bool { return f.promptGiven || f.input != "" || f.template != "" }

// readsStdin reports whether a flag reads standard input.
func (f *requestFlags) readsStdin() bool { return f.countStdin() > 0 }

// countStdin returns the number of flags that read standard input.
func (f *requestFlags) countStdin() int {
	n := 0
	names := slices.Concat([]string{f.prompt, f.promptFile, f.input, f.args}, f.fragments, f.systemFragments)
	for _, name := range names {
		if name == "-" {
			n++
		}
	}
	return n
}

// readRequest returns the request of the flags, and the config of its session.
func (env Env) readRequest(f *requestFlags) (r host.Request, c host.SessionConfig, err error) {
	c.Platform = "cli"
	if f.input != "" {
		if err := env.readRequestJSON(f, &r, &c); err != nil {
			return r, c, err
		}
	}
	if len(f.roles) > 0 {
		c.Roles = f.roles
	}
	switch {
	case f.promptFile != "":
		r.Text, err = env.readText(f.promptFile)
	case f.prompt == "-":
		r.Text, err = env.readText("-")
	case f.promptGiven:
		r.Text = f.prompt
	}
	if err != nil {
		return r, c, err
	}
	if f.model != "" {
		r.Model = f.model
	}
	if f.system != "" {
		r.System = f.system
	}
	r.Fragments, r.SystemFragments, r.OnlyTools = f.fragments, f.systemFragments, f.tools
	r.Template = f.template
	if r.Params, err = f.templateParams(); err != nil {
		return r, c, err
	}
	for _, ref := range f.attachments {
		at, err := effects.ReadAttachment(env.dir, ref)
		if err != nil {
			return r, c, fmt.Errorf("-a: %w", err)
		}
		r.Attachments = append(r.Attachments, at)
	}
	return r, c, nil
}

// templateParams returns the parameters of --param, nil for none.
func (f *requestFlags) templateParams() (map[string]string, error) {
	var params map[string]string
	for _, pair := range f.params {
		name, value, ok := strings.Cut(pair, "=")
		_, twice := params[name]
		switch {
		case !ok || name == "":
			return nil, usagef("--param: got %q, want NAME=VALUE", pair)
		case twice:
			return nil, usagef("--param: got %s twice", name)
		case params == nil:
			params = map[string]string{}
		}
		params[name] = value
	}
	return params, nil
}

// check refuses flags that do not go together.
func (f *requestFlags) check() error {
	switch {
	case f.countStdin() > 1:
		return usagef("standard input (-) is asked for %d times, want once", f.countStdin())
	case f.prompt != "" && f.promptFile != "":
		return usagef("got --prompt and --prompt-file, want one of them")
	case f.callGiven && f.fireGiven, f.expr != "" && (f.callGiven || f.fireGiven):
		return usagef("got more than one of --call, --fire and -e, want one of them")
	case len(f.params) > 0 && f.template == "":
		return usagef("--param: got no --template that takes it")
	case (f.args != "" || len(f.argPairs) > 0) && !f.callGiven && !f.fireGiven:
		return usagef("--arg and --args: got neither --call nor --fire to pass them to")
	case len(f.fragments) > 0 && !f.wantsTurn() && slices.Contains(formatNames("eval"), f.fragments[0]):
		return usagef("-f is --fragment: got %q (did you mean -F %s?)", f.fragments[0], f.fragments[0])
	case !f.wantsTurn() && f.addsToPrompt():
		return usagef("got no prompt to put them into: --fragment, --sf, --attachment, --system and --tool want -p, -t, -i, --call or --fire beside them (-p \"\" is an empty prompt)")
	}
	return nil
}

// addsToPrompt reports whether the flags give parts of a prompt besides the user's words.
func (f *requestFlags) addsToPrompt() bool {
	return f.system != "" || len(f.fragments)+len(f.systemFragments)+len(f.attachments)+len(f.tools) > 0
}

// readRequestJSON reads the request of --input.
func (env Env) readRequestJSON(f *requestFlags, r *host.Request, c *host.SessionConfig) error {
	text, err := env.readText(f.input)
	if err != nil {
		return err
	}
	var in requestInput
	if err := decodeJSON(f.input, text, &in); err != nil {
		return err
	}
	c.ID, c.Roles, c.Workspace = in.Session.ID, in.Session.Roles, in.Session.Workspace
	if in.Session.Platform != "" {
		c.Platform = in.Session.Platform
	}
	r.Tools = in.Tools
	for _, t := range in.Tools {
		if t.Name == "" {
			return usagef("%s: tools: got one without a name", f.input)
		}
	}
	if r.Model, r.Options, err = takeModel(in.Options); err != nil {
		return usagef("%s: options: %v", f.input, err)
	}
	return in.distributeMessages(f, r)
}

// distributeMessages sorts the messages into system text, history and the new message. The new
// message is the last one, unless a flag gives the prompt.
func (in *requestInput) distributeMessages(f *requestFlags, r *host.Request) error {
	var system []string
	r.History = []starhost.Message{}
	for i, m := range in.Messages {
		switch m.Role {
		case "system":
			system = append(system, m.Content.String())
		case starhost.RoleUser, starhost.RoleAssistant, starhost.RoleTool:
			r.History = append(r.History, m)
		default:
			return usagef("%s: messages: %d: got role %q, want system, user, assistant or tool", f.input, i+1, m.Role)
		}
	}
	r.System = strings.Join(system, "\n\n")
	if f.promptGiven {
		return nil
	}
	last := len(r.History) - 1
	if last < 0 || r.History[last].Role != starhost.RoleUser {
		return usagef("%s: messages: got none of the user at the end, want one, or -p", f.input)
	}
	r.Text, r.History = r.History[last].Content.String(), r.History[:last]
	return nil
}

// takeModel splits the model from the options, because events have separate arguments for both.
func takeModel(options json.RawMessage) (model string, rest json.RawMessage, err error) {
	if len(options) == 0 || string(options) == "null" {
		return "", nil, nil
	}
	var set map[string]json.RawMessage
	if err := json.Unmarshal(options, &set); err != nil {
		return "", nil, errors.New("want an object")
	}
	raw, ok := set["model"]
	if !ok {
		return "", options, nil
	}
	if err := json.Unmarshal(raw, &model); err != nil {
		return "", nil, errors.New("model: want a string")
	}
	delete(set, "model")
	rest, err = json.Marshal(set)
	return model, rest, err
}

// parseArguments returns the arguments of --args and --arg by name. types has the JSON Schema
// types of declared arguments.
func (env Env) parseArguments(f *requestFlags, types map[string]string) (map[string]json.RawMessage, error) {
	args := map[string]json.RawMessage{}
	text, name := f.args, "--args"
	if file, ok := strings.CutPrefix(f.args, "@"); ok || f.args == "-" {
		if !ok {
			file = "-"
		}
		var err error
		if text, err = env.readText(file); err != nil {
			return nil, err
		}
		name = file
	}
	if f.args != "" {
		if err := decodeJSON(name, text, &args); err != nil {
			return nil, err
		}
		if args == nil {
			return nil, usagef("%s: got null, want a JSON object", name)
		}
	}
	for _, pair := range f.argPairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usagef("--arg: got %q, want NAME=VALUE", pair)
		}
		raw, err := encodeArgument(value, types[key])
		if err != nil {
			return nil, usagef("--arg %s: got %q, want %v", key, value, err)
		}
		args[key] = raw
	}
	return args, nil
}

// encodeArgument returns the text of an --arg as JSON of a JSON Schema type. Without a type,
// text that is JSON stays JSON, and other text is a string.
func encodeArgument(text, typ string) (json.RawMessage, error) {
	asString, _ := json.Marshal(text) // no error: strings always marshal
	raw := json.RawMessage(text)
	switch {
	case typ == "string":
		return asString, nil
	case json.Valid(raw) && (typ == "" || fitsType(raw, typ)):
		return raw, nil
	case typ == "":
		return asString, nil
	}
	return nil, fmt.Errorf("%s as JSON", typ)
}

// fitsType reports whether a JSON value looks like one of a JSON Schema type.
func fitsType(raw json.RawMessage, typ string) bool {
	first := bytes.TrimSpace(raw)[0]
	switch typ {
	case "object":
		return first == '{'
	case "array":
		return first == '['
	case "boolean":
		return first == 't' || first == 'f'
	case "null":
		return first == 'n'
	}
	return first == '-' || '0' <= first && first <= '9'
}
