package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/internal/near"
)

// formats has the values of --format for each command, the command's default first. Help, completion and the
// check of the flag read this table.
var formats = []struct{ command, names string }{
	{"bench", "pretty json gobench"},
	{"bundle build", "pretty json"},
	{"bundle diff", "pretty json"},
	{"bundle show", "pretty json"},
	{"bundle sign", "pretty json"},
	{"bundle verify", "pretty json"},
	{"chat", "text"},
	{"check", "pretty json github"},
	{"command", "pretty json"},
	{"config show", "pretty json"},
	{"demo", "pretty"},
	{"docs", "pretty json md pyi"},
	{"eval", "pretty json text openai responses anthropic"},
	{"fmt", "pretty json"},
	{"fragments list", "pretty json"},
	{"fragments show", "text json"},
	{"fragments set", "pretty json"},
	{"fragments remove", "pretty json"},
	{"fragments loaders", "pretty json"},
	{"fragments gc", "pretty json"},
	{"fragments stats", "pretty json"},
	{"hook doctor", "pretty json"},
	{"hook install", "pretty json"},
	{"hook uninstall", "pretty json"},
	{"list", "pretty json"},
	{"log", "text json jsonl csv"},
	{"log show", "pretty json"},
	{"log gc", "pretty json"},
	{"lsp", "pretty"},
	{"new plugin", "pretty json"},
	{"new guard", "pretty json"},
	{"repl", "pretty"},
	{"replay", "pretty json github junit"},
	{"run", "text json"},
	{"serve", "pretty"},
	{"sessions list", "pretty json"},
	{"sessions show", "pretty json"},
	{"sessions export", "json"},
	{"sessions answer", "pretty json"},
	{"sessions rm", "pretty json"},
	{"sync", "pretty json"},
	{"test", "pretty json junit github"},
	{"trust", "pretty json"},
	{"ui", "pretty"},
	{"version", "pretty json"},
}

// formatNames returns the values of --format that a command accepts, the default first.
func formatNames(command string) []string {
	for _, f := range formats {
		if f.command == command {
			return strings.Fields(f.names)
		}
	}
	return nil
}

// chooseFormat returns an error if the command does not have the format of --format. Without the flag, it
// sets the command's default. A command without formats has no result.
func (p *program) chooseFormat(command string) error {
	names := formatNames(command)
	if len(names) == 0 {
		return nil
	}
	return checkChoice("--format", cmp.Or(p.env.format, names[0]), names, &p.env.format)
}

// These are the ways to write a result. A value implements those for the formats that its command has in the
// table formats.
type (
	textWriter     interface{ WriteText(*Result) }
	jsonWriter     interface{ WriteJSON(*Result) error }
	gitHubWriter   interface{ WriteGitHub(*Result) }
	jUnitWriter    interface{ WriteJUnit(*Result) error }
	goBenchWriter  interface{ WriteGoBench(*Result) }
	markdownWriter interface{ WriteMarkdown(*Result) error }
	stubsWriter    interface{ WriteStubs(*Result) error }
	promptWriter   interface { // for the formats text, openai, responses and anthropic
		WritePrompt(res *Result, format string) error
	}
)

// printResult adds the command's result to the page in the chosen format.
func (env Env) printResult(res *Result, result any) error {
	_, res.judges = result.(gitHubWriter)
	switch env.format {
	case "json":
		return result.(jsonWriter).WriteJSON(res)
	case "github":
		result.(gitHubWriter).WriteGitHub(res)
		return nil
	case "junit":
		return result.(jUnitWriter).WriteJUnit(res)
	case "gobench":
		result.(goBenchWriter).WriteGoBench(res)
		return nil
	case "md":
		return result.(markdownWriter).WriteMarkdown(res)
	case "pyi":
		return result.(stubsWriter).WriteStubs(res)
	}
	if prompt, ok := result.(promptWriter); ok && env.format != "pretty" {
		return prompt.WritePrompt(res, env.format)
	}
	result.(textWriter).WriteText(res)
	return nil
}

// checkChoice sets *set to the value of a flag. It returns an error unless the value is one of want.
func checkChoice(flag, got string, want []string, set *string) error {
	if !slices.Contains(want, got) {
		return usagef("%s: got %q, want %s%s", flag, got, strings.Join(want, ", "), near.DidYouMean(got, want))
	}
	*set = got
	return nil
}

// commandName returns the name that the table of formats has for a command.
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), "starhost ")
}

// completeFormat returns completions of the value of --format.
func completeFormat(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return formatNames(commandName(cmd)), cobra.ShellCompDirectiveNoFileComp
}

// formatUsage returns the help of --format for a command.
func formatUsage(cmd *cobra.Command) string {
	names := formatNames(commandName(cmd))
	if len(names) == 0 {
		return "`FORMAT` of the result: pretty, json, or what the command adds"
	}
	last := len(names) - 1
	text := names[last]
	if last > 0 {
		text = strings.Join(names[:last], ", ") + " or " + text
	}
	return "`FORMAT` of the result: " + text
}
