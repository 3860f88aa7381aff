package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
)

// Kinds are the kinds of registrations, in the order of the output.
var Kinds = []string{"plugins", "tools", "hooks", "loaders", "templates", "commands", "skills", "models"}

// Registrations are the JSON of what plugins register. Kinds that the user did not ask for are empty.
type Registrations struct {
	Plugins   []PluginJSON   `json:"plugins"`
	Tools     []ToolJSON     `json:"tools"`
	Hooks     []hookInfoJSON `json:"hooks"`
	Loaders   []LoaderJSON   `json:"loaders"`
	Templates []LoaderJSON   `json:"templates"`
	Commands  []commandJSON  `json:"commands"`
	Skills    []skillJSON    `json:"skills"`
	Models    []modelJSON    `json:"models"`
}

type hookInfoJSON struct {
	Event    string   `json:"event"`
	Plugin   string   `json:"plugin"`
	Priority int      `json:"priority"`
	Match    []string `json:"match"`
	Kind     []string `json:"kind,omitempty"`
	Pos      string   `json:"pos"`
}

// A LoaderJSON is a loader of references.
type LoaderJSON struct {
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

// lists reports whether a list of a kind, "" for all, has the registrations of another.
func lists(kind, other string) bool { return kind == "" || kind == other }

// Rows returns a row for each registration of a kind, "" for all.
func (v View) Rows(kind string) (rows [][]string) {
	for _, k := range Kinds {
		switch {
		case k == "models" && lists(kind, k):
			rows = append(rows, modelRows(v, v.endpoints(kind))...)
		case lists(kind, k):
			rows = append(rows, kindRows[k](v)...)
		}
	}
	return rows
}

// kindRows returns the rows of each kind but models: kind, name, place and description.
var kindRows = map[string]func(View) [][]string{
	"plugins": pluginRows, "tools": toolRows, "hooks": hookRows, "loaders": loaderRows,
	"templates": templateRows, "commands": commandRows, "skills": skillRows,
}

func pluginRows(v View) [][]string {
	var rows [][]string
	for _, p := range v.Set.Plugins {
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

func toolRows(v View) [][]string {
	var rows [][]string
	for _, t := range v.Set.Host.Tools() {
		rows = append(rows, []string{"tool", t.Name, v.Place(t.Pos).String(), texttable.FirstLine(t.Description)})
	}
	return rows
}

func hookRows(v View) [][]string {
	var rows [][]string
	for _, h := range v.Set.Host.Hooks() {
		about := fmt.Sprintf("%s, priority %d", h.Plugin, h.Priority)
		if len(h.Match) > 0 {
			about += ", for " + strings.Join(h.Match, ", ")
		}
		if len(h.Kind) > 0 {
			about += ", kind " + strings.Join(h.Kind, ", ")
		}
		rows = append(rows, []string{"hook", h.Event, v.Place(h.Pos).String(), about})
	}
	return rows
}

func loaderRows(v View) [][]string {
	var rows [][]string
	for _, l := range OwnLoaders(v.Set) {
		rows = append(rows, []string{"loader", l.Prefix + ":", v.Place(l.Pos).String(), texttable.FirstLine(l.Description)})
	}
	return rows
}

func templateRows(v View) [][]string {
	var rows [][]string
	for _, l := range v.Set.Host.TemplateLoaders() {
		rows = append(rows, []string{"template", l.Prefix + ":", v.Place(l.Pos).String(), texttable.FirstLine(l.Description)})
	}
	return rows
}

func commandRows(v View) [][]string {
	var rows [][]string
	for _, c := range v.Set.Host.Commands() {
		names := []string{"/" + c.Name}
		for _, alias := range c.Aliases {
			names = append(names, "/"+alias)
		}
		rows = append(rows, []string{"command", strings.Join(names, ", "), v.Place(c.Pos).String(), texttable.FirstLine(c.Description)})
	}
	return rows
}

func skillRows(v View) [][]string {
	var rows [][]string
	for _, s := range v.Set.Host.Skills() {
		rows = append(rows, []string{"skill", s.Reference(), v.Place(s.Pos).String(), texttable.FirstLine(s.Description)})
	}
	return rows
}

// endpoints returns the endpoints of models. A list of all kinds omits the built-in ones.
func (v View) endpoints(kind string) []starhost.Endpoint {
	isHidden := func(e starhost.Endpoint) bool { return e.PluginName() == "" && kind != "models" }
	return slices.DeleteFunc(slices.Clone(v.Set.Host.Endpoints()), isHidden)
}

// endpointPlace returns the place of a registration, "" for a built-in endpoint.
func (v View) endpointPlace(e *starhost.Endpoint) string {
	if e.Pos == (starhost.Pos{}) {
		return ""
	}
	return v.Place(e.Pos).String()
}

func modelRows(v View, endpoints []starhost.Endpoint) [][]string {
	var rows [][]string
	for _, m := range endpoints {
		place, about := cmp.Or(v.endpointPlace(&m), "built in"), ""
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

// OwnLoaders returns the loaders of plugins, without the host's own.
func OwnLoaders(set *loader.Set) []host.LoaderInfo {
	isForeign := func(l host.LoaderInfo) bool { return l.Plugin == starhost.HostPlugin }
	return slices.DeleteFunc(slices.Clone(set.Host.FragmentLoaders()), isForeign)
}

// List returns the registrations of a kind, "" for all.
func (v View) List(kind string) Registrations {
	out := Registrations{
		Plugins: []PluginJSON{}, Tools: []ToolJSON{}, Hooks: []hookInfoJSON{}, Loaders: []LoaderJSON{},
		Templates: []LoaderJSON{}, Commands: []commandJSON{}, Skills: []skillJSON{}, Models: []modelJSON{},
	}
	if v.Set == nil {
		return out
	}
	if lists(kind, "plugins") {
		out.Plugins = jsontext.List(v.Set.Plugins, v.NewPluginJSON)
	}
	if lists(kind, "tools") {
		out.Tools = jsontext.List(v.Set.Host.Tools(), v.NewToolJSON)
	}
	if lists(kind, "hooks") {
		out.Hooks = jsontext.List(v.Set.Host.Hooks(), func(h *host.HookInfo) hookInfoJSON {
			pos := v.Place(h.Pos).String()
			return hookInfoJSON{h.Event, h.Plugin, h.Priority, append([]string{}, h.Match...), h.Kind, pos}
		})
	}
	if lists(kind, "loaders") {
		out.Loaders = jsontext.List(OwnLoaders(v.Set), v.NewLoaderJSON)
	}
	if lists(kind, "templates") {
		out.Templates = jsontext.List(v.Set.Host.TemplateLoaders(), v.NewLoaderJSON)
	}
	if lists(kind, "commands") {
		out.Commands = jsontext.List(v.Set.Host.Commands(), func(c *starhost.Command) commandJSON {
			pos := v.Place(c.Pos).String()
			return commandJSON{c.Name, append([]string{}, c.Aliases...), c.Plugin.Name, c.Description, pos}
		})
	}
	if lists(kind, "skills") {
		out.Skills = jsontext.List(v.Set.Host.Skills(), func(s *host.SkillInfo) skillJSON {
			return skillJSON{s.Name, s.Reference(), s.Plugin, s.Description, v.Place(s.Pos).String()}
		})
	}
	if lists(kind, "models") {
		out.Models = jsontext.List(v.endpoints(kind), v.newModelJSON)
	}
	return out
}

// NewLoaderJSON returns a loader for JSON.
func (v View) NewLoaderJSON(l *host.LoaderInfo) LoaderJSON {
	return LoaderJSON{l.Prefix, l.Plugin, l.Description, v.Place(l.Pos).String()}
}

func (v View) newModelJSON(m *starhost.Endpoint) modelJSON {
	return modelJSON{
		m.Name, append([]string{}, m.Aliases...), m.PluginName(), m.API, m.BaseURL,
		append([]string{}, m.Models...), m.DefaultModel, m.APIKey, m.Context, append([]string{}, m.Fallback...),
		m.Unavailable, v.endpointPlace(m),
	}
}
