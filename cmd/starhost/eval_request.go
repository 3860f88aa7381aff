package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/report"
)

// requestFlags has the values of the flags that describe the user's request.
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

// readRequest returns the request that the flags describe, and the config of the request's session.
func (env Env) readRequest(f *requestFlags) (r host.Request, c host.SessionConfig, err error) {
	c.Platform = platform
	if f.input != "" {
		text, err := env.readText(f.input)
		if err != nil {
			return r, c, err
		}
		if r, c, err = report.ParseRequest(f.input, text, f.promptGiven); err != nil {
			return r, c, err
		}
		c.Platform = cmp.Or(c.Platform, platform)
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
	case len(f.fragments) > 0 && !f.wantsTurn() && slices.Contains(strings.Fields(evalFormats), f.fragments[0]):
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
		if err := report.DecodeJSON(name, text, &args); err != nil {
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
		raw, err := report.EncodeArgument(value, types[key])
		if err != nil {
			return nil, usagef("--arg %s: got %q, want %v", key, value, err)
		}
		args[key] = raw
	}
	return args, nil
}
