package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestHelpFlags checks that the help of each command shows all flags of the command itself, and
// none of those of all commands, which would hide them.
func TestHelpFlags(t *testing.T) {
	root := new(program).rootCommand(nil)
	for _, cmd := range allCommands(root) {
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			cmd.InitDefaultHelpFlag()
			_, flags, _ := strings.Cut(cmd.UsageString(), "\nFlags:\n")
			flags = strings.Replace(flags, "\n\nMore flags:\n", "\n", 1)
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

// TestHelpGroups checks that the help of the program has each command in one group, and that the
// flags which users need first exist.
func TestHelpGroups(t *testing.T) {
	root := new(program).rootCommand(nil)
	shown := map[string]int{}
	for _, g := range groupsOf(root) {
		if !slices.Contains(commandGroups, g.title) {
			t.Errorf("the help has the group %s", g.title)
		}
		for _, c := range g.commands {
			shown[c.Name()]++
		}
	}
	for _, c := range root.Commands() {
		if !c.Hidden && shown[c.Name()] != 1 {
			t.Errorf("the help has %s %d times, want once", c.Name(), shown[c.Name()])
		}
	}
	for name, flags := range usualFlags {
		cmd, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		for flag := range strings.FieldsSeq(flags) {
			if ownFlags(cmd).Lookup(flag) == nil {
				t.Errorf("%s has no flag --%s", name, flag)
			}
		}
		if lines := strings.Split(cmd.UsageString(), "\nFlags:\n"); !strings.Contains(lines[1], "--"+strings.Fields(flags)[0]) {
			t.Errorf("the flags of %s do not begin with %s", name, flags)
		}
	}
}
