package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestHelpFlags checks that the help of each command shows all flags of the command itself, and
// none of those of all commands, which would hide them.
func TestHelpFlags(t *testing.T) {
	root := (&app{}).rootCommand(nil)
	for _, cmd := range allCommands(root) {
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			cmd.InitDefaultHelpFlag()
			_, flags, _ := strings.Cut(cmd.UsageString(), "\nFlags:\n")
			flags, rest, _ := strings.Cut(flags, "\n\n")
			if strings.Contains(rest, "  -") {
				t.Errorf("got flags behind those of the command:\n%s", rest)
			}
			shown := map[string]bool{}
			for line := range strings.Lines(flags) {
				_, name, _ := strings.Cut(line, "--")
				name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
				shown[name] = true
			}
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden && !shown[f.Name] {
					t.Errorf("the help lacks --%s:\n%s", f.Name, flags)
				}
			})
			root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
				own := cmd.LocalFlags().Lookup(f.Name) != nil || f.Name == "format"
				if shown[f.Name] && !own {
					t.Errorf("the help has --%s, a flag of all commands:\n%s", f.Name, flags)
				}
			})
		})
	}
}
