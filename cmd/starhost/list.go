package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/loader"
)

// kindsListed are what list can be limited to, in the order in which it prints.
var kindsListed = []string{"plugins", "tools", "hooks", "loaders"}

func (a *app) listCommand() *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "list [tools|hooks|loaders|plugins] [PATH...]",
		Short: "List what plugins register, in the order in which it runs",
		Example: `  starhost list plugins
  starhost list hooks plugins`,
		ValidArgs: kindsListed,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.wantFormat("pretty", "json"); err != nil {
				return err
			}
			kind, paths, err := a.kindOf(args)
			if err != nil {
				return err
			}
			set, err := a.load(cmd.Context(), &f, paths)
			if err != nil {
				a.fail(err)
				set = nil
			} else {
				defer set.Close()
			}
			return a.printList(set, kind)
		},
	}
	f.add(cmd)
	return cmd
}

// kindOf takes the kind, "" for all, from the arguments. A folder of that name is
// written ./tools.
func (a *app) kindOf(args []string) (kind string, paths []string, err error) {
	if len(args) == 0 {
		return "", nil, nil
	}
	if slices.Contains(kindsListed, args[0]) {
		return args[0], args[1:], nil
	}
	if near := starhost.Nearest(args[0], kindsListed); near != "" {
		if _, err := os.Stat(a.path(args[0])); err != nil {
			return "", nil, usagef("list: got %q, want %s, or a path (did you mean %s?)", args[0], strings.Join(kindsListed, ", "), near)
		}
	}
	return "", args, nil
}

// listJSON is what list prints as JSON. Of kinds that are not asked for it has
// nothing.
type listJSON struct {
	Schema   string         `json:"schema"`
	OK       bool           `json:"ok"`
	Plugins  []pluginJSON   `json:"plugins"`
	Tools    []toolJSON     `json:"tools"`
	Hooks    []hookInfoJSON `json:"hooks"`
	Loaders  []loaderJSON   `json:"loaders"`
	Warnings []warningJSON  `json:"warnings"`
	Errors   []errorJSON    `json:"errors"`
}

type hookInfoJSON struct {
	Event    string   `json:"event"`
	Plugin   string   `json:"plugin"`
	Priority int      `json:"priority"`
	Match    []string `json:"match"`
	Pos      string   `json:"pos"`
}

type loaderJSON struct {
	Prefix      string `json:"prefix"`
	Plugin      string `json:"plugin"`
	Description string `json:"description"`
	Pos         string `json:"pos"`
}

// printList prints what is registered of a kind, "" for all kinds. set is nil if
// nothing could be loaded.
func (a *app) printList(set *loader.Set, kind string) error {
	if a.format == "json" {
		return a.printJSON(a.listJSON(set, kind))
	}
	if set == nil {
		return nil
	}
	var rows [][]string
	for _, k := range kindsListed {
		if kind == "" || kind == k {
			rows = append(rows, rowsOf[k](set)...)
		}
	}
	a.printTable(rows)
	return nil
}

// printTable prints rows with their cells aligned.
func (a *app) printTable(rows [][]string) {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t")+"\t") // a cell that ends is aligned
	}
	w.Flush() // to memory
	for line := range strings.Lines(b.String()) {
		a.out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

// rowsOf returns the lines of each kind: kind, name, place, and what it says of
// itself.
var rowsOf = map[string]func(*loader.Set) [][]string{
	"plugins": pluginRows, "tools": toolRows, "hooks": hookRows, "loaders": loaderRows,
}

func pluginRows(set *loader.Set) [][]string {
	var rows [][]string
	for _, p := range set.Plugins {
		name := strings.TrimSpace(p.Name + " " + p.Version)
		about := firstLine(p.Description)
		if p.Status != loader.StatusLoaded {
			about = p.Status
		}
		rows = append(rows, []string{"plugin", name, p.Path, about})
	}
	return rows
}

func toolRows(set *loader.Set) [][]string {
	var rows [][]string
	for _, t := range set.Host.Tools() {
		rows = append(rows, []string{"tool", t.Name, t.Pos.String(), firstLine(t.Description)})
	}
	return rows
}

func hookRows(set *loader.Set) [][]string {
	var rows [][]string
	for _, h := range set.Host.Hooks() {
		about := fmt.Sprintf("%s, priority %d", h.Plugin, h.Priority)
		if len(h.Match) > 0 {
			about += ", for " + strings.Join(h.Match, ", ")
		}
		rows = append(rows, []string{"hook", h.Event, h.Pos.String(), about})
	}
	return rows
}

func loaderRows(set *loader.Set) [][]string {
	var rows [][]string
	for _, l := range ownLoaders(set) {
		rows = append(rows, []string{"loader", l.Prefix + ":", l.Pos.String(), firstLine(l.Description)})
	}
	return rows
}

// ownLoaders returns the loaders of plugins: not the host's own references.
func ownLoaders(set *loader.Set) []starhost.LoaderInfo {
	return slices.DeleteFunc(set.Host.FragmentLoaders(), func(l starhost.LoaderInfo) bool { return l.Plugin == starhost.HostPlugin })
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

func (a *app) listJSON(set *loader.Set, kind string) listJSON {
	out := listJSON{
		Schema: "starhost.list/1", OK: len(a.problems) == 0,
		Plugins: []pluginJSON{}, Tools: []toolJSON{}, Hooks: []hookInfoJSON{}, Loaders: []loaderJSON{},
		Warnings: a.warningsJSON(), Errors: a.errorsJSON(),
	}
	if set == nil {
		return out
	}
	wants := func(k string) bool { return kind == "" || kind == k }
	if wants("plugins") {
		out.Plugins = list(set.Plugins, newPluginJSON)
	}
	if wants("tools") {
		out.Tools = list(set.Host.Tools(), newToolJSON)
	}
	if wants("hooks") {
		out.Hooks = list(set.Host.Hooks(), func(h *starhost.HookInfo) hookInfoJSON {
			return hookInfoJSON{h.Event, h.Plugin, h.Priority, append([]string{}, h.Match...), h.Pos.String()}
		})
	}
	if wants("loaders") {
		out.Loaders = list(ownLoaders(set), func(l *starhost.LoaderInfo) loaderJSON {
			return loaderJSON{l.Prefix, l.Plugin, l.Description, l.Pos.String()}
		})
	}
	return out
}
