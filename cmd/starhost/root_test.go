package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCommands checks that the names in the table are the names of the commands.
func TestCommands(t *testing.T) {
	for _, c := range commandTable() {
		if got := c.make(new(program)).Name(); got != c.name {
			t.Errorf("name in the table: got %q, want %q, as in its Use", c.name, got)
		}
	}
}

// TestFormats checks which commands have formats, and that help reads them.
func TestFormats(t *testing.T) {
	root := new(program).rootCommand(nil)
	for _, cmd := range append(allCommands(root), root) {
		runs := cmd.RunE != nil && !cmd.HasSubCommands() && !strings.HasPrefix(commandName(cmd), "completion") && cmd.Name() != "reset"
		if got := len(formatNames(cmd)) > 0; got != (runs || commandName(cmd) == "log") {
			t.Errorf("%s has formats: %v", commandName(cmd), got)
		}
	}
	cmd, _, _ := root.Find([]string{"test"})
	if got, want := formatUsage(cmd), "`FORMAT` of the result: pretty, json, junit or github"; got != want {
		t.Errorf("help of test --format: got %q, want %q", got, want)
	}
}

// TestRootCommand checks that a program with only the commands that arguments name does the
// same as one with all commands.
func TestRootCommand(t *testing.T) {
	tests := []struct {
		args     string
		commands string // names of the commands that rootCommand makes
	}{
		{"version", "version"},
		{"-C eval --format json version", "eval version"},
		{"eval docs.star -p test", "eval test"}, // only eval has the flag -p
		{"eval test", "eval test"},
		{"hook picoclaw", "hook"},
		{"hook picoclaw --help", "hook"},
		{"hook install picoclaw", "hook"},
		{"config show", "config"},
		{"docs eval", "docs eval"},
		{"command new", "command new"},
		{"", "all"},
		{"-C version", "all"}, // in this line, version is a folder
		{"--no-config", "all"},
		{"evil eval", "all"},
		{"help eval", "all"},
		{"--help", "all"},
		{"completion bash", "all"},
		{"__complete eval --fo", "all"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			args := strings.Fields(tt.args)
			root := new(program).rootCommand(args)
			all := new(program).rootCommand(nil)
			made := "all"
			if got := allCommands(root); len(got) < len(allCommands(all)) {
				var names []string
				for _, c := range root.Commands() {
					names = append(names, c.Name())
				}
				made = strings.Join(names, " ")
			}
			if diff := cmp.Diff(tt.commands, made); diff != "" {
				t.Errorf("commands made (-want +got):\n%s", diff)
			}
			want, wantArgs, wantErr := all.Find(args)
			got, gotArgs, gotErr := root.Find(args)
			same := got.CommandPath() == want.CommandPath() && (isEventLine(args) || got.UsageString() == want.UsageString())
			if !same || gotErr != nil || wantErr != nil {
				t.Errorf("command: got %s (%v), want %s (%v) and the same usage", got.CommandPath(), gotErr, want.CommandPath(), wantErr)
			}
			if diff := cmp.Diff(wantArgs, gotArgs); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}
