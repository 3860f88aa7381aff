package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/scripts"
)

// starters are the kinds of new plugins, each with a command that shows it at work. The
// plugin's name replaces the word starter.
var starters = []struct{ kind, next string }{
	{"tool", "starhost eval starter --call starter_who_is_on_call --arg team=checkout"},
	{"hook", `starhost eval starter --fire pre_tool_call --args '{"tool": "restart_pods", "arguments": {"cluster": "prod-1"}}'`},
	{"loader", `starhost eval starter -f starter:latency -p "Why is p99 up?"`},
	{"all", `starhost eval starter -f starter:latency -p "Why is p99 up?"`},
}

func (a *app) newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Begin a plugin",
		Example: `  starhost new plugin oncall
  starhost new plugin policy --kind hook`,
		Args: a.refuseSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var kind string
	plugin := &cobra.Command{
		Use:   "plugin NAME",
		Short: "Write a plugin, its golden cases and a README into ./NAME",
		Long: `Write a plugin, its golden cases and a README into ./NAME. It works as it is: eval,
test, check and fmt --check pass. Nothing that exists is overwritten.`,
		Example: `  starhost new plugin oncall
  starhost new plugin policy --kind hook`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("new plugin: got %d names, want one", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			catchSignals(cmd.Context())
			return a.newPlugin(args[0], kind)
		},
	}
	plugin.Flags().StringVar(&kind, "kind", "all", "`KIND` of what it registers: tool, hook, loader, or all of them")
	cmd.AddCommand(plugin)
	return cmd
}

// newPlugin writes a starter under a new name.
func (a *app) newPlugin(name, kind string) error {
	if err := a.chooseFormat("new plugin"); err != nil {
		return err
	}
	kinds := list(starters, func(s *struct{ kind, next string }) string { return s.kind })
	if err := checkChoice("--kind", kind, kinds, &kind); err != nil {
		return err
	}
	if err := checkNewName(name); err != nil {
		return err
	}
	if _, err := os.Lstat(a.path(name)); err == nil {
		return usagef("new plugin: %s exists, and nothing is overwritten: want another name", name)
	}
	files, err := writeStarter(a.path(name), kind, strings.NewReplacer("starter", name))
	if err != nil {
		return wrapFileError(name, err)
	}
	for i := range files {
		files[i] = path.Join(name, files[i])
	}
	next := strings.ReplaceAll(starters[slices.Index(kinds, kind)].next, "starter", name)
	return a.printResult(newFiles{files, next})
}

// checkNewName refuses names that no plugin can have, and names that are too long for the
// starter's tools and loader, which begin with them.
func checkNewName(name string) error {
	if dir, base := path.Split(filepath.ToSlash(name)); dir != "" && base != "" {
		return usagef("new plugin: got a path %q, want a name (did you mean starhost -C %s new plugin %s?)", name, path.Clean(dir), base)
	}
	good := loader.PluginName(name)
	if len(good) < 2 || good == starhost.HostPlugin || slices.Contains(starhost.ReservedPrefixes, good) {
		good = "my-" + good
	}
	good = strings.TrimRight(good[:min(len(good), maxNewName)], "-")
	if name == good {
		return nil
	}
	return usagef("new plugin: got name %q, want 2 to %d of a-z, 0-9, _ and -, a letter first, and none of the host's own (did you mean %s?)", name, maxNewName, good)
}

// maxNewName is the limit in bytes for a new plugin's name. Names of tools may have 64, and the
// starter's tools begin with the plugin's name.
const maxNewName = 40

// writeStarter writes all files of a starter into a new folder, or none, and returns their
// names.
func writeStarter(dir, kind string, rename *strings.Replacer) (names []string, err error) {
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".starhost-new-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	whole := filepath.Join(temp, "whole")
	root := path.Join("starter", kind)
	err = fs.WalkDir(scripts.Starter, root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := scripts.Starter.ReadFile(file)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(file, root+"/")
		names = append(names, name)
		target := filepath.Join(whole, filepath.FromSlash(name))
		err = os.MkdirAll(filepath.Dir(target), 0o777)
		return errors.Join(err, os.WriteFile(target, []byte(rename.Replace(string(text))), 0o666))
	})
	if err != nil {
		return nil, err
	}
	return names, os.Rename(whole, dir)
}

// newFiles is the result of new plugin.
type newFiles struct {
	names []string
	next  string // the command that shows the plugin at work
}

func (a *app) printNewJSON(r newFiles) error {
	return a.printJSON(struct {
		Schema string   `json:"schema"`
		Files  []string `json:"files"`
		Next   string   `json:"next"`
	}{"starhost.new/1", r.names, r.next})
}

// printNewPretty prints the names of the written files, and the next command.
func (a *app) printNewPretty(r newFiles) error {
	for _, file := range r.names {
		fmt.Fprintf(&a.out, "wrote %s\n", texttable.EscapeLine(file))
	}
	fmt.Fprintf(&a.out, "next: %s\n", texttable.EscapeLine(r.next))
	return nil
}
