package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/docgen"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
)

// listKinds are the kinds of registrations, in the order of the output.
var listKinds = []string{"plugins", "tools", "hooks", "loaders", "templates", "commands", "skills", "models"}

func (p *program) listCommand() *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "list [tools|hooks|loaders|commands|templates|skills|models|plugins] [PATH...]",
		Short: "List what plugins register, in the order in which it runs",
		Example: `  starhost list plugins
  starhost list hooks plugins`,
		ValidArgs: listKinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, paths := "", args
			if cmd.ArgsLenAtDash() != 0 { // behind -- are paths only
				var err error
				if kind, paths, err = p.env.splitKind(args); err != nil {
					return err
				}
			}
			load := p.env.loadOrLastGood
			if kind == "models" { // starhost and the config have models, too
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

// splitKind splits the arguments into a kind, "" for all, and paths. A folder with the name of
// a kind needs ./ or the argument -- before it.
func (env Env) splitKind(args []string) (kind string, paths []string, err error) {
	if len(args) == 0 {
		return "", nil, nil
	}
	if slices.Contains(listKinds, args[0]) {
		return args[0], args[1:], nil
	}
	if found := near.Name(args[0], listKinds); found != "" {
		if _, err := os.Stat(env.path(args[0])); err != nil {
			return "", nil, usagef("list: got %q, want %s, or a path%s", args[0], strings.Join(listKinds, ", "), near.Hint(found))
		}
	}
	return "", args, nil
}

// listJSON is the JSON result of list. Kinds that the user did not ask for are empty.
type listJSON struct {
	head
	Plugins   []pluginJSON   `json:"plugins"`
	Tools     []toolJSON     `json:"tools"`
	Hooks     []hookInfoJSON `json:"hooks"`
	Loaders   []loaderJSON   `json:"loaders"`
	Templates []loaderJSON   `json:"templates"`
	Commands  []commandJSON  `json:"commands"`
	Skills    []skillJSON    `json:"skills"`
	Models    []modelJSON    `json:"models"`
	tail
}

type hookInfoJSON struct {
	Event    string   `json:"event"`
	Plugin   string   `json:"plugin"`
	Priority int      `json:"priority"`
	Match    []string `json:"match"`
	Kind     []string `json:"kind,omitempty"`
	Pos      string   `json:"pos"`
}

type loaderJSON struct {
	Prefix      string `json:"prefix"`
	Plugin      string `json:"plugin"`
	Description string `json:"description"`
	Pos         string `json:"pos"`
}

type commandJSON struct {
	Name        string   `json:"name"`
	Aliases     []string `json:"aliases"`
	Plugin      string   `json:"plugin"`
	Description string   `json:"description"`
	Pos         string   `json:"pos"`
}

type skillJSON struct {
	Name        string `json:"name"`
	Reference   string `json:"reference"`
	Plugin      string `json:"plugin"`
	Description string `json:"description"`
	Pos         string `json:"pos"`
}

type modelJSON struct {
	Name         string   `json:"name"`
	Aliases      []string `json:"aliases"`
	Plugin       string   `json:"plugin"`
	API          string   `json:"api"`
	BaseURL      string   `json:"base_url"`
	Models       []string `json:"models"`
	DefaultModel string   `json:"default_model"`
	APIKey       string   `json:"api_key"` // the name of the secret
	Context      int      `json:"context"`
	Fallback     []string `json:"fallback"`
	Unavailable  string   `json:"unavailable"` // the reason; "" if the model can be used
	Pos          string   `json:"pos"`
}

// A listing is the result of list.
type listing struct {
	set  *loader.Set // nil if nothing could be loaded
	kind string      // one kind of registrations, "" for all
}

// lists reports whether the listing has the registrations of a kind.
func (l listing) lists(kind string) bool { return l.kind == "" || l.kind == kind }

// WriteText writes a line for each registration.
func (l listing) WriteText(res *Result) {
	if l.set == nil {
		return
	}
	var rows [][]string
	for _, kind := range listKinds {
		switch {
		case kind == "models" && l.lists(kind):
			rows = append(rows, modelRows(res, l.endpoints())...)
		case l.lists(kind):
			rows = append(rows, kindRows[kind](res, l.set)...)
		}
	}
	res.out.Table(rows)
}

// kindRows returns the rows of each kind but models: kind, name, place and description.
var kindRows = map[string]func(*Result, *loader.Set) [][]string{
	"plugins": pluginRows, "tools": toolRows, "hooks": hookRows, "loaders": loaderRows,
	"templates": templateRows, "commands": commandRows, "skills": skillRows,
}

func pluginRows(res *Result, set *loader.Set) [][]string {
	var rows [][]string
	for _, p := range set.Plugins {
		name := strings.TrimSpace(p.Name + " " + p.Version)
		about := texttable.FirstLine(p.Description)
		switch {
		case p.Status != loader.StatusLoaded:
			about = p.Status
		case p.Mode == "warn":
			about = strings.TrimSpace("(only warns) " + about)
		}
		rows = append(rows, []string{"plugin", name, p.Path, about})
		for _, v := range p.RequiresEnv {
			about := strings.TrimSuffix(texttable.FirstLine(v.Description), ".")
			for _, more := range []string{v.URL, map[bool]string{true: "secret"}[v.Secret]} {
				if more != "" {
					about = strings.TrimPrefix(about+", "+more, ", ")
				}
			}
			rows = append(rows, []string{"needs", v.Name, p.Path, about})
		}
	}
	return rows
}

func toolRows(res *Result, set *loader.Set) [][]string {
	var rows [][]string
	for _, t := range set.Host.Tools() {
		rows = append(rows, []string{"tool", t.Name, res.fromHere(t.Pos).String(), texttable.FirstLine(t.Description)})
	}
	return rows
}

func hookRows(res *Result, set *loader.Set) [][]string {
	var rows [][]string
	for _, h := range set.Host.Hooks() {
		about := fmt.Sprintf("%s, priority %d", h.Plugin, h.Priority)
		if len(h.Match) > 0 {
			about += ", for " + strings.Join(h.Match, ", ")
		}
		if len(h.Kind) > 0 {
			about += ", kind " + strings.Join(h.Kind, ", ")
		}
		rows = append(rows, []string{"hook", h.Event, res.fromHere(h.Pos).String(), about})
	}
	return rows
}

func loaderRows(res *Result, set *loader.Set) [][]string {
	var rows [][]string
	for _, l := range ownLoaders(set) {
		rows = append(rows, []string{"loader", l.Prefix + ":", res.fromHere(l.Pos).String(), texttable.FirstLine(l.Description)})
	}
	return rows
}

func templateRows(res *Result, set *loader.Set) [][]string {
	var rows [][]string
	for _, l := range set.Host.TemplateLoaders() {
		rows = append(rows, []string{"template", l.Prefix + ":", res.fromHere(l.Pos).String(), texttable.FirstLine(l.Description)})
	}
	return rows
}

func commandRows(res *Result, set *loader.Set) [][]string {
	var rows [][]string
	for _, c := range set.Host.Commands() {
		names := []string{"/" + c.Name}
		for _, alias := range c.Aliases {
			names = append(names, "/"+alias)
		}
		rows = append(rows, []string{"command", strings.Join(names, ", "), res.fromHere(c.Pos).String(), texttable.FirstLine(c.Description)})
	}
	return rows
}

func skillRows(res *Result, set *loader.Set) [][]string {
	var rows [][]string
	for _, s := range set.Host.Skills() {
		rows = append(rows, []string{"skill", s.Reference(), res.fromHere(s.Pos).String(), texttable.FirstLine(s.Description)})
	}
	return rows
}

// endpoints returns the endpoints of models. A list of all kinds omits the built-in ones.
func (l listing) endpoints() []starhost.Endpoint {
	isListed := func(e starhost.Endpoint) bool { return e.PluginName() != "" || l.kind == "models" }
	return docgen.Filter(l.set.Host.Endpoints(), isListed)
}

// endpointPlace returns the place of a registration, "" for a built-in endpoint.
func (res *Result) endpointPlace(e *starhost.Endpoint) string {
	if e.Pos == (starhost.Pos{}) {
		return ""
	}
	return res.fromHere(e.Pos).String()
}

func modelRows(res *Result, endpoints []starhost.Endpoint) [][]string {
	var rows [][]string
	for _, m := range endpoints {
		place, about := cmp.Or(res.endpointPlace(&m), "built in"), ""
		if p := m.PluginName(); p != "" && p != starhost.HostPlugin {
			about = p + ": "
		}
		about += strings.Join(m.Models, ", ")
		if m.Context > 0 {
			about += fmt.Sprintf(" (context %d)", m.Context)
		}
		if m.Unavailable != "" {
			about += " (unavailable: " + m.Unavailable + ")"
		}
		names := strings.Join(append([]string{m.Name}, m.Aliases...), ", ")
		rows = append(rows, []string{"model", names, place, about})
	}
	return rows
}

// ownLoaders returns the loaders of plugins, without the host's own.
func ownLoaders(set *loader.Set) []host.LoaderInfo {
	isOwn := func(l host.LoaderInfo) bool { return l.Plugin != starhost.HostPlugin }
	return docgen.Filter(set.Host.FragmentLoaders(), isOwn)
}

func (l listing) WriteJSON(res *Result) error {
	out := listJSON{
		head:    head{"starhost.list/1", len(res.problems) == 0},
		Plugins: []pluginJSON{}, Tools: []toolJSON{}, Hooks: []hookInfoJSON{}, Loaders: []loaderJSON{},
		Templates: []loaderJSON{}, Commands: []commandJSON{}, Skills: []skillJSON{}, Models: []modelJSON{},
		tail: res.tail(),
	}
	set := l.set
	if set == nil {
		return res.out.JSON(out)
	}
	if l.lists("plugins") {
		out.Plugins = jsontext.List(set.Plugins, res.newPluginJSON)
	}
	if l.lists("tools") {
		out.Tools = jsontext.List(set.Host.Tools(), res.newToolJSON)
	}
	if l.lists("hooks") {
		out.Hooks = jsontext.List(set.Host.Hooks(), func(h *host.HookInfo) hookInfoJSON {
			pos := res.fromHere(h.Pos).String()
			return hookInfoJSON{h.Event, h.Plugin, h.Priority, append([]string{}, h.Match...), h.Kind, pos}
		})
	}
	if l.lists("loaders") {
		out.Loaders = jsontext.List(ownLoaders(set), res.newLoaderJSON)
	}
	if l.lists("templates") {
		out.Templates = jsontext.List(set.Host.TemplateLoaders(), res.newLoaderJSON)
	}
	if l.lists("commands") {
		out.Commands = jsontext.List(set.Host.Commands(), func(c *starhost.Command) commandJSON {
			pos := res.fromHere(c.Pos).String()
			return commandJSON{c.Name, append([]string{}, c.Aliases...), c.Plugin.Name, c.Description, pos}
		})
	}
	if l.lists("skills") {
		out.Skills = jsontext.List(set.Host.Skills(), func(s *host.SkillInfo) skillJSON {
			return skillJSON{s.Name, s.Reference(), s.Plugin, s.Description, res.fromHere(s.Pos).String()}
		})
	}
	if l.lists("models") {
		out.Models = jsontext.List(l.endpoints(), res.newModelJSON)
	}
	return res.out.JSON(out)
}

func (res *Result) newLoaderJSON(l *host.LoaderInfo) loaderJSON {
	return loaderJSON{l.Prefix, l.Plugin, l.Description, res.fromHere(l.Pos).String()}
}

func (res *Result) newModelJSON(m *starhost.Endpoint) modelJSON {
	return modelJSON{
		m.Name, append([]string{}, m.Aliases...), m.PluginName(), m.API, m.BaseURL,
		append([]string{}, m.Models...), m.DefaultModel, m.APIKey, m.Context, append([]string{}, m.Fallback...),
		m.Unavailable, res.endpointPlace(m),
	}
}
