package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

func (p *program) listCommand() *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "list [tools|hooks|loaders|commands|templates|skills|models|plugins] [PATH...]",
		Short: "List what plugins register, in the order in which it runs",
		Example: `  starhost list plugins
  starhost list hooks plugins`,
		ValidArgs: report.Kinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, paths := "", args
			if cmd.ArgsLenAtDash() != 0 { // all arguments after -- are paths
				var err error
				if kind, paths, err = splitKind(p.env, args); err != nil {
					return err
				}
			}
			load := p.env.loadOrLastGood
			if kind == "models" { // starhost itself and the config have models, too
				load = p.env.loadAny
			}
			set, err := load(cmd.Context(), &p.res, &f, paths, func(o *loader.Options) { o.RequiredInArgs = true })
			if err != nil {
				p.res.addError(err)
				set = nil
			} else {
				defer set.Close()
				if kind == "" || kind == "tools" || kind == "plugins" {
					end, err := p.env.mountTools(cmd.Context(), &p.res, set, nil, func(string) bool { return true })
					defer end()
					p.res.addError(err)
				}
			}
			return p.env.printResult(&p.res, listing{set, kind})
		},
	}
	f.add(cmd)
	return cmd
}

// splitKind splits the arguments into a kind, which is "" for all kinds, and paths. If a folder has the name
// of a kind, the user writes ./ before it, or the argument --.
func splitKind(env Env, args []string) (kind string, paths []string, err error) {
	if len(args) == 0 {
		return "", nil, nil
	}
	if slices.Contains(report.Kinds, args[0]) {
		return args[0], args[1:], nil
	}
	if found := near.Name(args[0], report.Kinds); found != "" {
		if _, err := os.Stat(env.path(args[0])); err != nil {
			return "", nil, usagef("list: got %q, want %s, or a path%s", args[0], strings.Join(report.Kinds, ", "), near.Hint(found))
		}
	}
	return "", args, nil
}

// A listing is the result of list.
type listing struct {
	set  *loader.Set // nil if no plugin could be loaded
	kind string      // a kind of registrations; "" for all kinds
}

// WriteText writes one line for each registration.
func (l listing) WriteText(res *Result) {
	if l.set != nil {
		res.out.Table(report.View{Set: l.set}.Rows(l.kind))
	}
}

func (l listing) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.list/1"), report.View{Set: l.set}.List(l.kind), res.tail())
}
