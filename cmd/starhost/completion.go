package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// completeEval completes the values of eval's flags. It loads the plugins of the command line
// to list their names; if they cannot be loaded, it offers none.
func (p *program) completeEval(cmd *cobra.Command, f *evalFlags) {
	complete := func(flag string, names func(paths []string) []string) {
		values := func(_ *cobra.Command, paths []string, _ string) ([]string, cobra.ShellCompDirective) {
			return names(paths), cobra.ShellCompDirectiveNoFileComp
		}
		if err := cmd.RegisterFlagCompletionFunc(flag, values); err != nil {
			panic(err) // there is no such flag, or it is completed twice
		}
	}
	loaded := func(paths []string, names func(*loader.Set) []string) []string {
		return p.env.registeredNames(cmd.Context(), &p.res, &f.loadFlags, paths, names)
	}
	complete("fire", func([]string) []string {
		return jsontext.List(starhost.Events(), func(e *starhost.EventSpec) string { return e.Name })
	})
	complete("call", func(paths []string) []string {
		return loaded(paths, func(set *loader.Set) []string {
			return jsontext.List(set.Host.Tools(), func(t *starhost.Tool) string { return t.Name })
		})
	})
	complete("template", func(paths []string) []string {
		return loaded(paths, func(set *loader.Set) []string {
			return jsontext.List(set.Host.TemplateLoaders(), func(l *host.LoaderInfo) string { return l.Prefix + ":" })
		})
	})
	complete("fragment", func(paths []string) []string {
		return loaded(paths, func(set *loader.Set) []string {
			return jsontext.List(report.OwnLoaders(set), func(l *host.LoaderInfo) string { return l.Prefix + ":" })
		})
	})
}

// registeredNames returns the names that plugins register, none if loading fails.
func (env Env) registeredNames(
	ctx context.Context, res *Result, f *loadFlags, paths []string, names func(*loader.Set) []string,
) []string {
	set, err := env.load(ctx, res, f, paths)
	res.problems, res.warnings, res.logs = nil, nil, nil
	if err != nil {
		return nil
	}
	defer set.Close()
	return names(set)
}

// finishCompletion gives cobra's own commands examples, as all other commands have, and an
// error for an unknown shell.
func (p *program) finishCompletion(root *cobra.Command) {
	shell := func(name string) string { return "  starhost completion " + name }
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Args, cmd.RunE = refuseSubcommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		cmd.Example = shell("bash") + " > starhost.bash\n" + shell("fish") + " > starhost.fish"
		for _, sub := range cmd.Commands() {
			sub.Example = shell(sub.Name()) + " > starhost." + sub.Name() + "\n" + shell(sub.Name()) + " --no-descriptions"
		}
	}
}
