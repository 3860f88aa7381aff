package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/internal/docgen"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/model/anthropic"
	"github.com/starhost/starhost/model/openai"
	"github.com/starhost/starhost/model/responses"
)

// An outputFormat is one value of --format for one command.
type outputFormat struct {
	command string                // as the user types it
	name    string                // the value of --format
	write   func(*app, any) error // adds the command's result to app.out; nil if the command prints while it runs
}

// formats returns the values of --format of all commands, the default of each command
// first. Help, completion and the check of the flag read this table, so a new format
// is one more row. The table is a function because writers report errors, and reports
// of errors suggest formats.
func formats() []outputFormat {
	return []outputFormat{
		{"bench", "pretty", writer((*app).printBenchPretty)},
		{"bench", "json", writer((*app).printBenchJSON)},
		{"bench", "gobench", writer((*app).printBenchGo)},
		{"chat", "text", nil},
		{"check", "pretty", writer((*app).printCheckPretty)},
		{"check", "json", writer((*app).printCheckJSON)},
		{"check", "github", writer((*app).printCheckGitHub)},
		{"command", "pretty", writer((*app).printCommandPretty)},
		{"command", "json", writer((*app).printCommandJSON)},
		{"config show", "pretty", writer((*app).printConfigPretty)},
		{"config show", "json", writer((*app).printConfigJSON)},
		{"demo", "pretty", nil},
		{"demo", "pretty", nil},
		{"docs", "pretty", pageWriter(docgen.Reference.WriteText)},
		{"docs", "json", pageWriter(docgen.Reference.WriteJSON)},
		{"docs", "md", pageWriter(docgen.Reference.WriteMarkdown)},
		{"docs", "pyi", pageWriter(docgen.Reference.WriteStubs)},
		{"eval", "pretty", writer((*app).printEvalPretty)},
		{"eval", "json", writer((*app).printEvalJSON)},
		{"eval", "text", writer(promptPrinter(writeText))},
		{"eval", "openai", writer(promptPrinter(bodyWriter(openai.Body)))},
		{"eval", "responses", writer(promptPrinter(bodyWriter(responses.Body)))},
		{"eval", "anthropic", writer(promptPrinter(bodyWriter(anthropic.Body)))},
		{"fmt", "pretty", writer((*app).printFmtPretty)},
		{"fmt", "json", writer((*app).printFmtJSON)},
		{"fragments list", "pretty", writer((*app).printFragmentsPretty)},
		{"fragments list", "json", writer((*app).printFragmentsJSON)},
		{"fragments show", "text", writer((*app).printFragmentText)},
		{"fragments show", "json", writer((*app).printFragmentJSON)},
		{"fragments set", "pretty", writer((*app).printAliasPretty)},
		{"fragments set", "json", writer((*app).printAliasJSON)},
		{"fragments remove", "pretty", writer((*app).printAliasPretty)},
		{"fragments remove", "json", writer((*app).printAliasJSON)},
		{"fragments loaders", "pretty", writer((*app).printLoadersPretty)},
		{"fragments loaders", "json", writer((*app).printLoadersJSON)},
		{"fragments gc", "pretty", writer((*app).printCollectionPretty)},
		{"fragments gc", "json", writer((*app).printCollectionJSON)},
		{"fragments stats", "pretty", writer((*app).printStatsPretty)},
		{"fragments stats", "json", writer((*app).printStatsJSON)},
		{"hook doctor", "pretty", writer((*app).printDoctorPretty)},
		{"hook doctor", "json", writer((*app).printDoctorJSON)},
		{"hook install", "pretty", writer((*app).printInstallPretty)},
		{"hook install", "json", writer((*app).printInstallJSON)},
		{"hook uninstall", "pretty", writer((*app).printInstallPretty)},
		{"hook uninstall", "json", writer((*app).printInstallJSON)},
		{"list", "pretty", writer((*app).printListPretty)},
		{"list", "json", writer((*app).printListJSON)},
		{"log", "text", nil},
		{"log", "json", nil},
		{"log", "jsonl", nil},
		{"log", "csv", nil},
		{"log show", "pretty", writer((*app).printRecordPretty)},
		{"log show", "json", writer((*app).printRecordJSON)},
		{"log gc", "pretty", writer((*app).printCollectedPretty)},
		{"log gc", "json", writer((*app).printCollectedJSON)},
		{"lsp", "pretty", nil},
		{"new plugin", "pretty", writer((*app).printNewPretty)},
		{"new plugin", "json", writer((*app).printNewJSON)},
		{"new guard", "pretty", writer((*app).printNewPretty)},
		{"new guard", "json", writer((*app).printNewJSON)},
		{"repl", "pretty", nil},
		{"replay", "pretty", writer((*app).printReplayPretty)},
		{"replay", "json", writer((*app).printReplayJSON)},
		{"replay", "github", writer((*app).printReplayGitHub)},
		{"replay", "junit", writer((*app).printReplayJUnit)},
		{"run", "text", writer((*app).printRunText)},
		{"run", "json", writer((*app).printRunJSON)},
		{"serve", "pretty", nil},
		{"sessions list", "pretty", writer((*app).printSessionsPretty)},
		{"sessions list", "json", writer((*app).printSessionsJSON)},
		{"sessions show", "pretty", writer((*app).printSessionPretty)},
		{"sessions show", "json", writer((*app).printSessionJSON)},
		{"sessions export", "json", writer((*app).printExport)},
		{"sessions answer", "pretty", writer((*app).printAnswerPretty)},
		{"sessions answer", "json", writer((*app).printAnswerJSON)},
		{"sessions rm", "pretty", writer((*app).printRemovalPretty)},
		{"sessions rm", "json", writer((*app).printRemovalJSON)},
		{"test", "pretty", writer((*app).printTestPretty)},
		{"test", "json", writer((*app).printTestJSON)},
		{"test", "junit", writer((*app).printTestJUnit)},
		{"test", "github", writer((*app).printTestGitHub)},
		{"trust", "pretty", writer((*app).printTrustPretty)},
		{"trust", "json", writer((*app).printTrustJSON)},
		{"ui", "pretty", nil},
		{"version", "pretty", writer((*app).printVersionPretty)},
		{"version", "json", writer((*app).printVersionJSON)},
	}
}

// writer adapts a function that prints results of type R to a row of the table.
func writer[R any](print func(*app, R) error) func(*app, any) error {
	return func(a *app, result any) error { return print(a, result.(R)) }
}

// pageWriter adapts a method of a result that writes it to a page.
func pageWriter[R any](write func(R, *page.Page) error) func(*app, any) error {
	return func(a *app, result any) error { return write(result.(R), &a.out) }
}

// formatNames returns the values of --format for a command, its default first.
func formatNames(command string) []string {
	var names []string
	for _, f := range formats() {
		if f.command == command {
			names = append(names, f.name)
		}
	}
	return names
}

// chooseFormat checks --format against the formats of a command, and sets the command's
// default if the flag is not given.
func (a *app) chooseFormat(command string) error {
	names := formatNames(command)
	err := checkChoice("--format", cmp.Or(a.format, names[0]), names, &a.format)
	for _, f := range formats() {
		if f.command == command && f.name == a.format {
			a.write = f.write
		}
	}
	return err
}

// printResult adds the command's result to app.out in the chosen format.
func (a *app) printResult(result any) error { return a.write(a, result) }

// checkChoice sets *set to the value of a flag if the value is one of those wanted.
func checkChoice(flag, got string, want []string, set *string) error {
	if !slices.Contains(want, got) {
		return usagef("%s: got %q, want %s%s", flag, got, strings.Join(want, ", "), near.DidYouMean(got, want))
	}
	*set = got
	return nil
}

// commandName returns the name of a command as the table of formats has it.
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), "starhost ")
}

// completeFormat completes the value of --format.
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
