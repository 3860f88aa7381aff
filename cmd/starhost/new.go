package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/guard"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/scripts"
)

// starters lists the kinds of new plugins, each with a command that shows such a plugin at work. The name of
// the plugin replaces the word starter.
var starters = []struct{ kind, next string }{
	{"tool", "starhost eval starter --call starter_who_is_on_call --arg team=checkout"},
	{"hook", `starhost eval starter --fire pre_tool_call --args '{"tool": "restart_pods", "arguments": {"cluster": "prod-1"}}'`},
	{"loader", `starhost eval starter -f starter:latency -p "Why is p99 up?"`},
	{"all", `starhost eval starter -f starter:latency -p "Why is p99 up?"`},
}

func (p *program) newCommand() *cobra.Command {
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
			return runNew(p.env, &p.res, args[0], kind)
		},
	}
	plugin.Flags().StringVar(&kind, "kind", "all", "`KIND` of what it registers: tool, hook, loader, or all of them")
	var packs []string
	guardCmd := &cobra.Command{
		Use:   "guard [DIR]",
		Short: "Write a guard of rules for commands, files and hosts into ./guard",
		Long: `Write a guard into DIR, or ./guard: a plugin of a few lines, its rules in rules.toml with
examples that starhost checks, and a README. The packs of rules that it names come with starhost:
they ask about destructive commands, secrets, publishing and changes of production. starhost docs
packs lists them. Nothing that exists is overwritten.`,
		Example: `  starhost new guard
  starhost new guard --packs git,kubernetes
  starhost hook claude-code guard --print-config`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("new guard: got %d arguments, want at most one folder", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			catchSignals(cmd.Context())
			return newGuard(p.env, &p.res, append(args, "guard")[0], packs)
		},
	}
	guardCmd.Flags().StringSliceVar(&packs, "packs", guard.PackNames, "`PACKS` of rules, between commas: "+strings.Join(guard.PackNames, ", "))
	guardCmd.Flags().Lookup("packs").DefValue = "all"
	return family(&cobra.Command{
		Use:   "new",
		Short: "Begin a plugin, or a guard without code",
		Example: `  starhost new plugin oncall
  starhost new guard`,
	}, plugin, guardCmd)
}

// newGuard writes the guard of rules into a folder, with some packs.
func newGuard(env Env, res *Result, dir string, packs []string) error {
	if len(packs) == 0 {
		packs = []string{""} // which is none
	}
	for i, name := range packs {
		if err := checkChoice("--packs", name, guard.PackNames, &packs[i]); err != nil {
			return err
		}
	}
	dir = path.Clean(filepath.ToSlash(dir))
	name := path.Base(dir)
	if good := loader.PluginName(name); good != name {
		return usagef("new guard: got a folder %q, want the name of a plugin (did you mean %s?)", name, good)
	}
	list := func(packs []string) string { return `packs = ["` + strings.Join(packs, `", "`) + `"]` }
	rename := strings.NewReplacer(list(guard.PackNames), list(packs), "guard/rules.toml", name+"/rules.toml", "[plugin.guard]", "[plugin."+name+"]", "guard = [\"fs.read", name+" = [\"fs.read",
		"claude-code guard", "claude-code "+dir, "check guard", "check "+dir, "test guard", "test "+dir)
	return writeNew(env, res, "new guard", dir, "guard", rename, "starhost hook claude-code "+dir+" --print-config")
}

// writeNew writes the files of a starter into a new folder, and sets the result of the command. next is a
// command that shows the plugin at work.
func writeNew(env Env, res *Result, command, name, root string, rename *strings.Replacer, next string) error {
	if _, err := os.Lstat(env.path(name)); err == nil {
		return usagef("%s: %s exists, and nothing is overwritten: want another name", command, name)
	}
	files, err := scripts.Write(env.path(name), root, rename)
	if err != nil {
		return errtext.File(name, err)
	}
	for i := range files {
		files[i] = path.Join(name, files[i])
	}
	return env.printResult(res, newFiles{files, next})
}

// runNew writes a starter under a new name.
func runNew(env Env, res *Result, name, kind string) error {
	kinds := jsontext.List(starters, func(s *struct{ kind, next string }) string { return s.kind })
	if err := checkChoice("--kind", kind, kinds, &kind); err != nil {
		return err
	}
	if err := checkNewName(name); err != nil {
		return err
	}
	next := strings.ReplaceAll(starters[slices.Index(kinds, kind)].next, "starter", name)
	return writeNew(env, res, "new plugin", name, path.Join("starter", kind), strings.NewReplacer("starter", name), next)
}

// checkNewName returns an error for a name that no plugin can have, and for a name that is too long: the
// names of the starter's tools and loader begin with it.
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

// maxNewName is the most bytes of a new plugin's name. Names of tools may have 64 bytes, and the names of the
// starter's tools begin with the plugin's name.
const maxNewName = 40

// newFiles is the result of new.
type newFiles struct {
	names []string
	next  string // the command that shows the plugin at work
}

func (r newFiles) WriteJSON(res *Result) error {
	return res.out.JSON(members{"schema": "starhost.new/1"}, members{"files": r.names, "next": r.next})
}

// WriteText writes the names of the written files, and the next command.
func (r newFiles) WriteText(res *Result) {
	for _, file := range r.names {
		fmt.Fprintf(&res.out, "wrote %s\n", texttable.EscapeLine(file))
	}
	fmt.Fprintf(&res.out, "next: %s\n", texttable.EscapeLine(r.next))
}
