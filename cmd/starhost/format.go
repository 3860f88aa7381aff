package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/internal/near"
)

// usualFormats are the values of --format for a command that does not say others by formats. The first one is
// the default.
const usualFormats = "pretty json"

// evalFormats are those of eval.
const evalFormats = "pretty json text openai responses anthropic"

// formats returns the annotation of a command that has other values of --format; "" for a command that has no
// result. Help, completion and the check of the flag read it.
func formats(names string) map[string]string { return map[string]string{"formats": names} }

// formatNames returns the values of --format that a command accepts, the default first. A command of which
// only the subcommands do something has none.
func formatNames(cmd *cobra.Command) []string {
	names, ok := cmd.Annotations["formats"]
	if !ok && !cmd.HasSubCommands() {
		names = usualFormats
	}
	return strings.Fields(names)
}

// chooseFormat returns an error if --format is none of the names. Without the flag, it sets the first one. A
// command without formats has no result.
func (p *program) chooseFormat(names []string) error {
	if len(names) == 0 {
		return nil
	}
	return checkChoice("--format", cmp.Or(p.env.format, names[0]), names, &p.env.format)
}

// These are the ways to write a result. A value implements those for the formats that its command has.
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

// commandName returns the name of a command, without the program's.
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), "starhost ")
}

// completeFormat returns completions of the value of --format.
func completeFormat(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return formatNames(cmd), cobra.ShellCompDirectiveNoFileComp
}

// formatUsage returns the help of --format for a command.
func formatUsage(cmd *cobra.Command) string {
	names := formatNames(cmd)
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
