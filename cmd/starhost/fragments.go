package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/console"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/internal/timetext"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/store"
)

func (p *program) fragmentsCommand() *cobra.Command {
	return family(&cobra.Command{
		Use:   "fragments",
		Short: "List, show and name the fragments in the store",
		Long: `List, show and name the fragments in the store. The store has the fragments of the
prompts of serve, each once, and the texts that fragments set names. An id, its first
eight digits or more, and an alias are references: starhost eval -f ALIAS.`,
		Example: `  starhost fragments set oncall plugins/oncall.star
  starhost fragments list --query oncall`,
	},
		p.fragmentsListCommand(), p.fragmentsShowCommand(), p.fragmentsSetCommand(), p.fragmentsRemoveCommand(),
		p.fragmentsCollectCommand(),
	)
}

// configuredStore returns the database of fragments that the config names.
func (env Env) configuredStore(res *Result) (fragmentStore, *loader.Config, error) {
	config, err := env.loadConfig(res, false)
	if err != nil {
		return nil, nil, err
	}
	db, err := env.fragmentDatabase(config)
	if err == nil && db == nil {
		err = errNoStore
	}
	return db, config, err
}

// runSubcommand returns the function that runs a subcommand: it calls work, and prints the result that work
// returns.
func runSubcommand[R any](p *program, work func(ctx context.Context, args []string) (R, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		catchSignals(cmd.Context())
		result, err := work(cmd.Context(), args)
		if err != nil {
			return err
		}
		return p.env.printResult(&p.res, result)
	}
}

// wantArguments returns a function that checks that a command has these arguments.
func wantArguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return usagef("%s: got %d arguments, want %s", cmd.CommandPath(), len(args), strings.Join(names, " and "))
	}
}

// A fragmentList is the result of fragments list.
type fragmentList struct {
	items []store.Item
	more  bool // true if the store has more than the limit
}

func (p *program) fragmentsListCommand() *cobra.Command {
	var f store.Filter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the stored fragments, the newest first",
		Example: `  starhost fragments list --aliases
  starhost fragments list --query runbook -F json`,
		Args: noArguments,
		RunE: runSubcommand(p, func(ctx context.Context, _ []string) (fragmentList, error) {
			if f.Limit < 1 {
				return fragmentList{}, usagef("--limit: got %d, want at least 1", f.Limit)
			}
			db, _, err := p.env.configuredStore(&p.res)
			if err != nil {
				return fragmentList{}, err
			}
			items, more, err := db.List(ctx, f)
			return fragmentList{items, more}, store.AsFailure(err)
		}),
	}
	flags := cmd.Flags()
	flags.Var((*stringList)(&f.Texts), "query", "only fragments with this `TEXT` in them, their source or an alias; repeatable")
	flags.BoolVar(&f.Named, "aliases", false, "only fragments that have an alias")
	flags.IntVar(&f.Limit, "limit", 1000, "most fragments")
	return cmd
}

func (p *program) fragmentsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "show ID|ALIAS",
		Annotations: formats("text json"),
		Short:       "Print a stored fragment",
		Example: `  starhost fragments show oncall
  starhost fragments show oncall -F json`,
		Args: wantArguments("an id or alias"),
		RunE: runSubcommand(p, func(ctx context.Context, args []string) (shownFragment, error) {
			db, _, err := p.env.configuredStore(&p.res)
			if err != nil {
				return shownFragment{}, err
			}
			id, err := store.FindStored(ctx, db, args[0])
			if err != nil {
				return shownFragment{}, err
			}
			text, ok, err := db.Get(ctx, id)
			if err == nil && !ok { // the id is an attachment's, or another process has removed the text
				err = fmt.Errorf("sha256:%s: the store has no such text; -f sha256:%[1]s sends an attachment", id)
			}
			return shownFragment{id, text, console.IsTerminal(p.env.stdout)}, store.AsFailure(err)
		}),
	}
}

// A shownFragment is the result of fragments show.
type shownFragment struct {
	id         fragments.Hash
	text       string
	toTerminal bool // true if a terminal shows the text, so that its last line must end
}

func (p *program) fragmentsSetCommand() *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "set ALIAS REFERENCE",
		Short: "Store a text and give it an alias",
		Long: `Store a text and give it an alias. The reference is what eval -f takes: a path, - for
standard input, a URL, an id, another alias, or PREFIX:ARG of a plugin that the config
names, else of ./plugins or ./*.star. The alias stands for the text as it is now.`,
		Example: `  starhost fragments set oncall plugins/oncall.star
  starhost fragments set checkout runbook:checkout`,
		Args: wantArguments("an alias", "a reference"),
		RunE: runSubcommand(p, func(ctx context.Context, args []string) (namedFragment, error) {
			return setFragment(ctx, p.env, &p.res, &f, args[0], args[1])
		}),
	}
	f.add(cmd)
	return cmd
}

// A namedFragment is the result of fragments set and remove.
type namedFragment struct {
	alias string
	id    fragments.Hash
	size  int // bytes of the text; -1 if nobody knows
}

// setFragment stores the text that a reference stands for, and gives it an alias.
func setFragment(ctx context.Context, env Env, res *Result, f *loadFlags, alias, ref string) (n namedFragment, err error) {
	if err := fragments.CheckAlias(alias); err != nil {
		return n, usagef("%v", err)
	}
	if strings.Trim(alias, "0123456789abcdef") == "" && len(alias) >= store.MinDigits {
		return n, usagef("alias: got %q, want a name that cannot be the first digits of an id", alias)
	}
	db, _, err := env.configuredStore(res)
	if err != nil {
		return n, err
	}
	content, err := resolveFragment(ctx, env, res, f, ref)
	if err != nil {
		return n, err
	}
	if err := db.Put(ctx, content); err != nil {
		return n, store.AsFailure(err)
	}
	if err := db.SetAlias(ctx, alias, content.ID); err != nil {
		return n, store.AsFailure(err)
	}
	return namedFragment{alias, content.ID, len(content.Text)}, nil
}

// hostPrefixes are the prefixes of references that need no plugin.
var hostPrefixes = []string{"file", "http", "https", "sha256"}

// resolveFragment returns the fragment that a reference stands for, which must be the only one. It loads
// plugins only for the prefix of a plugin.
func resolveFragment(ctx context.Context, env Env, res *Result, f *loadFlags, ref string) (c fragments.Content, err error) {
	prefix, _, named := strings.Cut(ref, ":")
	set, err := env.loadWith(ctx, res, f, nil, func(o *loader.Options) {
		o.RequiredInArgs = true
		if !named || slices.Contains(hostPrefixes, prefix) {
			o.Sources = []*loader.Source{}
		}
	})
	if err != nil {
		return c, err
	}
	defer set.Close()
	session := set.Host.NewSession(commandSession(set))
	var got []starhost.Context
	t, err := session.BetweenTurns(ctx)
	if err == nil {
		got, err = t.Load(ctx, []string{ref})
		t.End(ctx)
	}
	if err := errors.Join(err, session.Close(context.WithoutCancel(ctx))); err != nil {
		return c, err
	}
	list, files := got[0].Fragments, len(got[0].Attachments)
	if len(list) != 1 || files > 0 {
		return c, usagef("fragments set: %s: got %d texts and %d attachments, want one text", errtext.Brief(ref), len(list), files)
	}
	return fragments.Content{ID: list[0].ID(), Text: list[0].Content, Source: ref}, nil
}

func (p *program) fragmentsRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove ALIAS",
		Short: "Remove an alias; fragments gc removes the text once it is old",
		Example: `  starhost fragments remove oncall
  starhost fragments remove oncall -F json`,
		Args: wantArguments("an alias"),
		RunE: runSubcommand(p, func(ctx context.Context, args []string) (namedFragment, error) {
			db, _, err := p.env.configuredStore(&p.res)
			if err != nil {
				return namedFragment{}, err
			}
			id, err := store.FindAlias(ctx, db, args[0])
			if err != nil {
				return namedFragment{}, err
			}
			return namedFragment{args[0], id, -1}, store.AsFailure(db.SetAlias(ctx, args[0], fragments.Hash{}))
		}),
	}
}

// A collection is the result of fragments gc.
type collection struct {
	removed store.Amount
	dry     bool
}

func (p *program) fragmentsCollectCommand() *cobra.Command {
	var keep string
	var dry bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove the fragments that no alias names and no prompt contained for a time",
		Example: `  starhost fragments gc --dry-run
  starhost fragments gc --keep 30d`,
		Args: noArguments,
		RunE: runSubcommand(p, func(ctx context.Context, _ []string) (collection, error) {
			db, config, err := p.env.configuredStore(&p.res)
			if err != nil {
				return collection{}, err
			}
			age := config.Store.Keep
			if keep != "" {
				if age, err = timetext.ParseSpan(keep); err != nil {
					return collection{}, usagef("--keep: got %s, want %v", errtext.Brief(keep), err)
				}
			}
			removed, err := db.Collect(ctx, time.Now().Add(-age), dry)
			return collection{removed, dry}, store.AsFailure(err)
		}),
	}
	cmd.Flags().StringVar(&keep, "keep", "", "keep fragments of this `TIME`, as 90d or 12h (default store.keep of the config)")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "remove nothing")
	return cmd
}

func (l fragmentList) WriteText(res *Result) {
	var rows [][]string
	for _, item := range l.items {
		rows = append(rows, []string{
			item.ID.Short(), item.Stored.Format(time.DateOnly), fmt.Sprintf("%d B", item.Size),
			texttable.Cell(strings.Join(item.Aliases, ", ")), texttable.Cell(item.Source), texttable.Cell(item.Begin),
		})
	}
	res.out.Table(rows)
	if l.more {
		res.out.WriteString("There are more: see --limit and --query.\n")
	}
}

func (l fragmentList) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.fragments/1"), members{"fragments": append([]store.Item{}, l.items...), "more": l.more})
}

func (f shownFragment) WriteText(res *Result) {
	res.out.WriteString(f.text)
	if !strings.HasSuffix(f.text, "\n") && f.toTerminal {
		res.out.WriteString("\n")
	}
}

func (f shownFragment) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.fragment/1"), members{"id": f.id, "text": f.text})
}

func (n namedFragment) WriteText(res *Result) {
	if n.size < 0 {
		fmt.Fprintf(&res.out, "removed %s, which was sha256:%s\n", n.alias, n.id)
	} else {
		fmt.Fprintf(&res.out, "%s is sha256:%s, %d B\n", n.alias, n.id, n.size)
	}
}

func (n namedFragment) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.alias/1"), members{"alias": n.alias, "id": n.id})
}

func (c collection) WriteText(res *Result) {
	verb := "removed"
	if c.dry {
		verb = "would remove"
	}
	fmt.Fprintf(&res.out, "%s %d fragments, %d B\n", verb, c.removed.Contents, c.removed.Bytes)
}

func (c collection) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.gc/1"), members{"dry_run": c.dry, "removed": c.removed})
}
