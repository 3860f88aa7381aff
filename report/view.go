package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
)

// toolChange returns the name of a tool, and its new description if it has one.
func toolChange(t *starhost.Tool) string {
	if t.Description == "" {
		return t.Name
	}
	return t.Name + ": " + t.Description
}

// actionName returns the name of an action, "none" for no decision.
func actionName(a starhost.Action) string {
	if a == starhost.ActionNone {
		return "none"
	}
	return string(a)
}

// PluginJSON and the types below are parts of the JSON results of eval and list. Lists are never null.
type (
	PluginJSON struct {
		Name        string          `json:"name"`
		Version     string          `json:"version"`
		Path        string          `json:"path"`
		Mode        string          `json:"mode"`
		SHA256      string          `json:"sha256"`
		Status      string          `json:"status"`
		Error       *ErrorJSON      `json:"error"`
		Tools       []string        `json:"tools"`
		Hooks       []hookJSON      `json:"hooks"`
		Loaders     []string        `json:"loaders"`
		Templates   []string        `json:"templates"`
		Commands    []string        `json:"commands"`
		Skills      []string        `json:"skills"`
		Models      []string        `json:"models"`
		Permissions permissionsJSON `json:"permissions"`
		RequiresEnv []envVarJSON    `json:"requires_env,omitempty"`
		Steps       uint64          `json:"steps"` // to load it
		AllocBytes  uint64          `json:"alloc_bytes"`
	}
	envVarJSON struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		URL         string `json:"url"`
		Secret      bool   `json:"secret"`
	}
	hookJSON struct {
		Event    string `json:"event"`
		Priority int    `json:"priority"`
		Pos      string `json:"pos"`
	}
	permissionsJSON struct {
		Declared []string `json:"declared"`
		Granted  []string `json:"granted"`
	}
	promptJSON struct {
		SHA256       fragments.Hash   `json:"sha256"`
		System       string           `json:"system"`
		Text         string           `json:"text"`
		Bytes        int              `json:"bytes"`
		Tokens       tokensJSON       `json:"tokens"`
		SharedPrefix int64            `json:"shared_prefix_bytes"`
		CacheBreak   *host.CacheBreak `json:"cache_break"`
	}
	tokensJSON struct {
		Count  int    `json:"count"`
		Method string `json:"method"`
	}
	fragmentJSON struct {
		ID         fragments.Hash   `json:"id"`
		Content    string           `json:"content"`
		Bytes      int              `json:"bytes"`
		Target     string           `json:"target"`
		Priority   int              `json:"priority"`
		Status     fragments.Status `json:"status"`
		Place      int              `json:"place"`
		Offset     int              `json:"offset"`
		Reason     string           `json:"reason"`
		Provenance []originJSON     `json:"provenance"`
		Pos        string           `json:"pos"` // the registration that offered it first
	}
	originJSON struct {
		Source string `json:"source"`
		Plugin string `json:"plugin"`
	}
	AttachmentJSON struct {
		ID         fragments.Hash   `json:"id"`
		Type       string           `json:"type"`
		Bytes      int              `json:"bytes"`
		Name       string           `json:"name"`
		URL        string           `json:"url"`
		Width      int              `json:"width"`
		Height     int              `json:"height"`
		Status     fragments.Status `json:"status"`
		Reason     string           `json:"reason"`
		Provenance []originJSON     `json:"provenance"`
	}
	ToolJSON struct {
		Name        string          `json:"name"`
		Plugin      string          `json:"plugin"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Pos         string          `json:"pos"`
	}
	traceJSON struct {
		Event      string `json:"event"`
		Plugin     string `json:"plugin"`
		Pos        string `json:"pos"`
		Priority   int    `json:"priority"`
		Action     string `json:"action"`
		Detail     string `json:"detail"`
		Steps      uint64 `json:"steps"`
		AllocBytes uint64 `json:"alloc_bytes"`
	}
	effectJSON struct {
		Plugin string `json:"plugin"`
		Effect string `json:"effect"`
		What   string `json:"what"`
	}
	callJSON struct {
		Tool        string           `json:"tool"`
		Output      string           `json:"output"`
		ForUser     string           `json:"for_user"`
		IsError     bool             `json:"is_error"`
		Error       *ErrorJSON       `json:"error"`
		Attachments []AttachmentJSON `json:"attachments"`
		Steps       uint64           `json:"steps"`
		AllocBytes  uint64           `json:"alloc_bytes"`
	}
	FireJSON struct {
		Event     string         `json:"event"`
		Decisions []DecisionJSON `json:"decisions"`
		Decision  combinedJSON   `json:"decision"`
		Context   []contextJSON  `json:"context"`
	}
	exprJSON struct {
		Plugin     string `json:"plugin"`
		Expr       string `json:"expr"`
		Value      string `json:"value"` // as Starlark's repr shows it
		Steps      uint64 `json:"steps"`
		AllocBytes uint64 `json:"alloc_bytes"`
	}
	DecisionJSON struct {
		Plugin string `json:"plugin"`
		Pos    string `json:"pos"`
		Action string `json:"action"`
		Reason string `json:"reason"`
	}
	combinedJSON struct {
		Action  string         `json:"action"`
		Reason  string         `json:"reason"`
		Changes map[string]any `json:"changes"`
		Result  *string        `json:"result"`
	}
	contextJSON struct {
		Plugin  string         `json:"plugin"`
		Source  string         `json:"source"`
		ID      fragments.Hash `json:"id"`
		Content string         `json:"content"`
	}
	statsJSON struct {
		Steps          uint64 `json:"steps"`
		AllocBytes     uint64 `json:"alloc_bytes"`
		FragmentsGiven int    `json:"fragments_given"`
		FragmentsKept  int    `json:"fragments_kept"`
		SavedBytes     int64  `json:"saved_bytes"`
	}
	WarningJSON struct {
		Message string   `json:"message"`
		Pos     *PosJSON `json:"pos"`
	}
	ErrorJSON struct {
		Code      string      `json:"code"`
		Message   string      `json:"message"`
		Plugin    string      `json:"plugin"`
		Pos       *PosJSON    `json:"pos"`
		Limit     *limitJSON  `json:"limit"`
		Traceback []frameJSON `json:"traceback"`
		Help      string      `json:"help"`
	}
	PosJSON struct {
		File string `json:"file"`
		Line int    `json:"line"`
		Col  int    `json:"col"`
	}
	frameJSON struct {
		Fn string `json:"fn"`
		PosJSON
	}
	limitJSON struct {
		Name string `json:"name"`
		Op   string `json:"op"`
		Need uint64 `json:"need"`
		Max  uint64 `json:"max"`
		Used uint64 `json:"used"`
	}
)

// tracesJSON splits traces into those of hooks and those of loaders.
func (v View) tracesJSON(traces []host.HookTrace) (hooks, loads []traceJSON) {
	hooks, loads = []traceJSON{}, []traceJSON{}
	for i := range traces {
		trace := v.newTraceJSON(&traces[i])
		if event := traces[i].Event; event == "load" || event == "template" {
			loads = append(loads, trace)
		} else {
			hooks = append(hooks, trace)
		}
	}
	return hooks, loads
}

// newEffectJSON returns an effect that did not run for JSON.
func newEffectJSON(e *effects.Effect) effectJSON { return effectJSON{e.Plugin, e.Kind, e.What} }

// NewPluginJSON returns a plugin with its registrations, or its error, for JSON.
func (v View) NewPluginJSON(p *loader.Plugin) PluginJSON {
	out := PluginJSON{
		Name: p.Name, Version: p.Version, Path: p.Path, Mode: p.Mode, SHA256: p.Digest.String(), Status: p.Status,
		Tools: []string{}, Hooks: []hookJSON{}, Loaders: []string{}, Templates: []string{}, Commands: []string{}, Skills: []string{}, Models: []string{},
		Permissions: permissionsJSON{Declared: append([]string{}, p.Declared...), Granted: append([]string{}, p.Granted...)},
		Steps:       p.Steps, AllocBytes: p.Bytes,
	}
	for _, v := range p.RequiresEnv {
		out.RequiresEnv = append(out.RequiresEnv, envVarJSON(v))
	}
	if p.Err != nil {
		problem := Describe(p.Err)
		problem.Plugin = p.Name
		e := problem.JSON()
		out.Error = &e
	}
	if r := p.Registered; r != nil {
		out.Tools = jsontext.List(r.Tools, func(t *starhost.Tool) string { return t.Name })
		out.Hooks = jsontext.List(r.Hooks, func(h *starhost.Hook) hookJSON {
			return hookJSON{h.Event, h.Priority, v.Place(h.Pos).String()}
		})
		out.Loaders = jsontext.List(r.FragmentLoaders, func(l *starhost.FragmentLoader) string { return l.Prefix })
		out.Templates = jsontext.List(r.TemplateLoaders, func(l *starhost.TemplateLoader) string { return l.Prefix })
		out.Commands = jsontext.List(r.Commands, func(c *starhost.Command) string { return c.Name })
		out.Skills = jsontext.List(r.Skills, func(s *starhost.Skill) string { return s.Name })
		out.Models = jsontext.List(r.Endpoints, func(m *starhost.Endpoint) string { return m.Name })
	}
	return out
}

// newPromptJSON returns the texts and sizes of a prompt for JSON.
func newPromptJSON(p *host.Prompt) *promptJSON {
	return &promptJSON{
		SHA256: p.Sum(), System: p.System, Text: p.Text.String(), Bytes: p.Bytes(),
		Tokens: tokensJSON{tokens(p), "bytes/4"}, SharedPrefix: p.SharedPrefix, CacheBreak: p.CacheBreak,
	}
}

// newFragmentJSON returns a row of a prompt's report for JSON.
func (v View) newFragmentJSON(r **fragments.Row) fragmentJSON {
	f := *r
	var at string
	if f.Pos != "" {
		at = v.Place(ParsePos(f.Pos)).String()
	}
	return fragmentJSON{
		ID: f.ID, Content: f.Content, Bytes: len(f.Content), Target: f.Target.String(), Priority: f.Priority,
		Status: f.Status, Place: f.Place, Offset: f.Offset, Reason: f.Reason,
		Provenance: jsontext.List(f.Provenance(), newOriginJSON), Pos: at,
	}
}

func newOriginJSON(o *fragments.Origin) originJSON { return originJSON{o.Source, o.Plugin} }

// newAttachmentRowJSON returns an attachment with its status in a prompt for JSON.
func newAttachmentRowJSON(r **fragments.AttachmentRow) AttachmentJSON {
	out := NewAttachmentJSON(&(*r).Attachment)
	out.Status, out.Reason = (*r).Status, (*r).Reason
	out.Provenance = jsontext.List((*r).Provenance(), newOriginJSON)
	return out
}

// NewAttachmentJSON returns an attachment for JSON, without its bytes.
func NewAttachmentJSON(a *fragments.Attachment) AttachmentJSON {
	return AttachmentJSON{
		ID: a.ID(), Type: a.Type, Bytes: a.Bytes(), Name: a.Name, URL: a.URL, Width: a.Width, Height: a.Height,
		Status: fragments.Kept, Provenance: []originJSON{{a.Source, a.Plugin}},
	}
}

// NewToolJSON returns a tool for JSON.
func (v View) NewToolJSON(t *starhost.Tool) ToolJSON {
	parameters := t.Parameters
	if len(parameters) == 0 {
		parameters = json.RawMessage("{}")
	}
	return ToolJSON{t.Name, t.PluginName(), t.Description, parameters, v.Place(t.Pos).String()}
}

func (v View) newTraceJSON(t *host.HookTrace) traceJSON {
	pos := v.Place(t.Pos).String()
	return traceJSON{t.Event, t.Plugin, pos, t.Priority, actionName(t.Action), t.Detail, t.Steps, t.Bytes}
}

// NewDecisionJSON returns a handler's decision for JSON.
func (v View) NewDecisionJSON(d *starhost.Decision) DecisionJSON {
	return DecisionJSON{d.Plugin, v.Place(d.Pos).String(), actionName(d.Action), d.Reason}
}

// NewFireJSON returns the decisions about an event for JSON.
func (v View) NewFireJSON(event string, outcome *host.Outcome) *FireJSON {
	d := outcome.Decision
	out := &FireJSON{
		Event:     event,
		Decisions: jsontext.List(outcome.Decisions, v.NewDecisionJSON),
		Decision:  combinedJSON{Action: actionName(d.Action), Reason: d.Reason, Changes: changesJSON(d.Changes)},
		Context:   []contextJSON{},
	}
	if d.Result != nil {
		out.Decision.Result = &d.Result.ForLLM
	}
	for _, c := range outcome.Context() {
		for _, g := range c.Fragments {
			out.Context = append(out.Context, contextJSON{g.Plugin, g.Source, g.ID(), g.Content})
		}
		for _, at := range c.Attachments {
			out.Context = append(out.Context, contextJSON{at.Plugin, at.Source, at.ID(), at.Name})
		}
	}
	return out
}

// changesJSON returns the changes of a modify decision as JSON values.
func changesJSON(changes map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range changes {
		switch v := v.(type) {
		case *starhost.Messages:
			out[name] = v.Items()
		case starhost.Result:
			out[name] = v.ForLLM
		case []starhost.Tool:
			out[name] = jsontext.List(v, toolChange)
		default:
			out[name] = v
		}
	}
	return out
}

// A View shows what plugins register and do, with places from the current folder. Plugins show their
// files relative to their own folder.
type View struct{ Set *loader.Set } // nil leaves places as they are

// Place returns a place with the path of its file from the current folder.
func (v View) Place(p starhost.Pos) starhost.Pos {
	if v.Set != nil {
		p.File = v.Set.PathFromHere(p.File)
	}
	return p
}

// ParsePos reads what [starhost.Pos.String] writes.
func ParsePos(text string) (p starhost.Pos) {
	parts := strings.Split(text, ":")
	for _, n := range []*int{&p.Col, &p.Line} {
		number, err := strconv.Atoi(parts[len(parts)-1])
		if len(parts) == 1 || err != nil {
			break
		}
		*n, parts = number, parts[:len(parts)-1]
	}
	if p.Line == 0 { // a line without a column
		p.Line, p.Col = p.Col, 0
	}
	p.File = strings.Join(parts, ":")
	return p
}

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
	kindRows := map[string]func(View) [][]string{
		"plugins": pluginRows, "tools": toolRows, "hooks": hookRows, "loaders": loaderRows,
		"templates": templateRows, "commands": commandRows, "skills": skillRows,
	}
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
	return jsontext.List(v.Set.Host.Tools(), func(t *starhost.Tool) []string {
		return []string{"tool", t.Name, v.Place(t.Pos).String(), texttable.FirstLine(t.Description)}
	})
}

func hookRows(v View) [][]string {
	return jsontext.List(v.Set.Host.Hooks(), func(h *host.HookInfo) []string {
		about := fmt.Sprintf("%s, priority %d", h.Plugin, h.Priority)
		if len(h.Match) > 0 {
			about += ", for " + strings.Join(h.Match, ", ")
		}
		if len(h.Kind) > 0 {
			about += ", kind " + strings.Join(h.Kind, ", ")
		}
		return []string{"hook", h.Event, v.Place(h.Pos).String(), about}
	})
}

func loaderRows(v View) [][]string { return v.prefixRows("loader", OwnLoaders(v.Set)) }

func templateRows(v View) [][]string { return v.prefixRows("template", v.Set.Host.TemplateLoaders()) }

// prefixRows returns the rows of loaders of a kind.
func (v View) prefixRows(kind string, loaders []host.LoaderInfo) [][]string {
	return jsontext.List(loaders, func(l *host.LoaderInfo) []string {
		return []string{kind, l.Prefix + ":", v.Place(l.Pos).String(), texttable.FirstLine(l.Description)}
	})
}

func commandRows(v View) [][]string {
	return jsontext.List(v.Set.Host.Commands(), func(c *starhost.Command) []string {
		names := strings.Join(append([]string{"/" + c.Name}, c.Aliases...), ", /")
		return []string{"command", names, v.Place(c.Pos).String(), texttable.FirstLine(c.Description)}
	})
}

func skillRows(v View) [][]string {
	return jsontext.List(v.Set.Host.Skills(), func(s *host.SkillInfo) []string {
		return []string{"skill", s.Reference(), v.Place(s.Pos).String(), texttable.FirstLine(s.Description)}
	})
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
	return jsontext.List(endpoints, func(m *starhost.Endpoint) []string {
		place, about := cmp.Or(v.endpointPlace(m), "built in"), ""
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
		return []string{"model", strings.Join(append([]string{m.Name}, m.Aliases...), ", "), place, about}
	})
}

// OwnLoaders returns the loaders of plugins, without the host's own.
func OwnLoaders(set *loader.Set) []host.LoaderInfo {
	isForeign := func(l host.LoaderInfo) bool { return l.Plugin == starhost.HostPlugin }
	return slices.DeleteFunc(slices.Clone(set.Host.FragmentLoaders()), isForeign)
}

// only returns items that are registrations of a kind, or none if a list of another kind does not have them.
func only[T any](listed, kind string, items []T) []T {
	if lists(listed, kind) {
		return items
	}
	return nil
}

// List returns the registrations of a kind, "" for all.
func (v View) List(kind string) Registrations {
	if v.Set == nil {
		return Registrations{
			[]PluginJSON{}, []ToolJSON{}, []hookInfoJSON{}, []LoaderJSON{}, []LoaderJSON{}, []commandJSON{}, []skillJSON{}, []modelJSON{},
		}
	}
	h := v.Set.Host
	return Registrations{
		Plugins:   jsontext.List(only(kind, "plugins", v.Set.Plugins), v.NewPluginJSON),
		Tools:     jsontext.List(only(kind, "tools", h.Tools()), v.NewToolJSON),
		Loaders:   jsontext.List(only(kind, "loaders", OwnLoaders(v.Set)), v.NewLoaderJSON),
		Templates: jsontext.List(only(kind, "templates", h.TemplateLoaders()), v.NewLoaderJSON),
		Models:    jsontext.List(only(kind, "models", v.endpoints(kind)), v.newModelJSON),
		Hooks: jsontext.List(only(kind, "hooks", h.Hooks()), func(h *host.HookInfo) hookInfoJSON {
			return hookInfoJSON{h.Event, h.Plugin, h.Priority, append([]string{}, h.Match...), h.Kind, v.Place(h.Pos).String()}
		}),
		Commands: jsontext.List(only(kind, "commands", h.Commands()), func(c *starhost.Command) commandJSON {
			return commandJSON{c.Name, append([]string{}, c.Aliases...), c.Plugin.Name, c.Description, v.Place(c.Pos).String()}
		}),
		Skills: jsontext.List(only(kind, "skills", h.Skills()), func(s *host.SkillInfo) skillJSON {
			return skillJSON{s.Name, s.Reference(), s.Plugin, s.Description, v.Place(s.Pos).String()}
		}),
	}
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
