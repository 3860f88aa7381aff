package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpCommand makes the command help. It shows the help of a command, or that of the flags of all commands.
func (p *program) helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:         "help [COMMAND|flags]",
		Annotations: formats(""),
		Short:       "Help about any command, and about the flags of all commands",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == globalFlags {
				p.res.printGlobalHelp(root)
				return nil
			}
			cmd, rest, err := root.Find(args)
			if err != nil || cmd == root {
				if err := refuseArguments(root, rest); err != nil {
					return err
				}
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// globalFlags is the argument of help that stands for the flags of all commands.
const globalFlags = "flags"

// printGlobalHelp describes the flags of all commands and the environment.
func (res *Result) printGlobalHelp(root *cobra.Command) {
	res.out.Section("Flags of all commands:\n" + root.PersistentFlags().FlagUsages())
	var rows [][]string
	for _, v := range variables {
		rows = append(rows, []string{"  " + v.name, v.doc})
	}
	res.out.Section("Environment, over which flags win:\n")
	res.out.Table(rows)
}

// variables lists the environment variables that the program reads, except those that name the system's
// folders.
var variables = []struct{ name, doc string }{
	{"NO_COLOR", "any value: no colours on terminals"},
	{colourVariable, "colours: auto (on terminals), always or never; always wins over NO_COLOR"},
	{"STARHOST_CONFIG", "the config file, as --config"},
	{logVariable, "logs: quiet (as -q), info or debug (as -v)"},
	{"STARHOST_MODEL", "the model of run and chat, over [model] default of the config"},
	{"STARHOST_STORE", "the database, over [store] url of the config"},
	{"STARHOST_TOKEN", "the token that clients of serve send"},
}

// printUsage prints how to call a command, with the command's own flags and formats. It omits the flags that
// all commands have, because they would hide the others.
func printUsage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if cmd.Runnable() {
		b.WriteString("  " + cmd.UseLine() + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " [command]\n")
	}
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	for _, g := range groupsOf(cmd) {
		b.WriteString("\n" + g.title + ":\n")
		for _, c := range g.commands {
			fmt.Fprintf(&b, "  %-*s %s\n", c.NamePadding(), c.Name(), c.Short)
		}
	}
	for _, g := range flagGroups(cmd) {
		b.WriteString("\n" + g.title + ":\n" + g.flags.FlagUsages())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nUse \"%s [command] --help\" for more information about a command.\n", cmd.CommandPath())
	}
	if cmd.HasAvailableInheritedFlags() {
		b.WriteString("\n\"starhost help flags\" lists the flags of all commands.\n")
	}
	_, err := cmd.OutOrStderr().Write([]byte(b.String()))
	return err
}

// A commandGroup is a list of subcommands that serve one purpose.
type commandGroup struct {
	title    string
	commands []*cobra.Command
}

// groupsOf returns the subcommands of a command by their purposes, in the order of commandTable. Only the
// program's own commands have several purposes.
func groupsOf(cmd *cobra.Command) []commandGroup {
	groups := []commandGroup{{title: "Available Commands"}}
	for _, g := range cmd.Groups() {
		groups = append(groups, commandGroup{title: g.Title})
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			i := max(0, slices.IndexFunc(groups, func(g commandGroup) bool { return g.title == c.GroupID }))
			groups[i].commands = append(groups[i].commands, c)
		}
	}
	rank := func(c *cobra.Command) int {
		i := slices.IndexFunc(commandTable(), func(row commandMaker) bool { return row.name == c.Name() })
		return cmp.Or(i+1, len(commandTable())+1)
	}
	for _, g := range groups {
		if cmd.HasParent() {
			break
		}
		slices.SortStableFunc(g.commands, func(x, y *cobra.Command) int { return rank(x) - rank(y) })
	}
	return slices.DeleteFunc(groups, func(g commandGroup) bool { return len(g.commands) == 0 })
}

// usualFlags are the flags that users need first, in this order, for commands with many flags.
var usualFlags = map[string]string{
	"chat":  "model system fragment attachment tool session continue approve",
	"eval":  "prompt fragment attachment system template tool call arg fire explain format watch",
	"run":   "prompt model system fragment attachment template tool session continue approve format",
	"serve": "mcp hooks proxy guardrail ui watch token-file print-config",
	"test":  "update run watch once coverage record format",
}

// A flagGroup is a part of a command's flags.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// flagGroups returns the flags of a command. If it has many, the ones that users need most come first.
func flagGroups(cmd *cobra.Command) []flagGroup {
	usual, rest := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	usual.SortFlags = false
	own := ownFlags(cmd)
	for name := range strings.FieldsSeq(usualFlags[commandName(cmd)]) {
		usual.AddFlag(own.Lookup(name))
	}
	own.VisitAll(func(f *pflag.Flag) {
		if usual.Lookup(f.Name) == nil {
			rest.AddFlag(f)
		}
	})
	groups := []flagGroup{{"Flags", usual}, {"More flags", rest}}
	if !usual.HasAvailableFlags() {
		groups[1].title = "Flags"
	}
	return slices.DeleteFunc(groups, func(g flagGroup) bool { return !g.flags.HasAvailableFlags() })
}

// ownFlags returns the flags that only this command has, with --format if the command has several formats.
func ownFlags(cmd *cobra.Command) *pflag.FlagSet {
	own := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	own.AddFlagSet(cmd.LocalFlags())
	if f := cmd.InheritedFlags().Lookup("format"); f != nil && len(formatNames(cmd)) > 1 {
		f.Usage = formatUsage(cmd)
		own.AddFlag(f)
	}
	return own
}
