package main

import (
	"encoding/json"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// The types below are the JSON results of eval and list. Lists are never null.
type (
	evalJSON struct {
		head
		Plugins     []pluginJSON     `json:"plugins"`
		Prompt      *promptJSON      `json:"prompt"`
		Fragments   []fragmentJSON   `json:"fragments"`
		Attachments []attachmentJSON `json:"attachments"`
		Tools       []toolJSON       `json:"tools"`
		Hooks       []traceJSON      `json:"hooks"`
		Loads       []traceJSON      `json:"loads"` // calls of loaders
		WouldRun    []effectJSON     `json:"would_run"`
		Call        *callJSON        `json:"call"`
		Fire        *fireJSON        `json:"fire"`
		Expr        *exprJSON        `json:"expr"`
		Reached     []reachedFile    `json:"reached,omitempty"` // lines that ran, with --reached
		Stats       statsJSON        `json:"stats"`
		tail
	}
	pluginJSON struct {
		Name        string          `json:"name"`
		Version     string          `json:"version"`
		Path        string          `json:"path"`
		Mode        string          `json:"mode"`
		SHA256      string          `json:"sha256"`
		Status      string          `json:"status"`
		Error       *errorJSON      `json:"error"`
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
		SHA256       fragments.Hash `json:"sha256"`
		System       string         `json:"system"`
		Text         string         `json:"text"`
		Bytes        int            `json:"bytes"`
		Tokens       tokensJSON     `json:"tokens"`
		SharedPrefix int64          `json:"shared_prefix_bytes"`
		CacheBreak   *breakJSON     `json:"cache_break"`
	}
	tokensJSON struct {
		Count  int    `json:"count"`
		Method string `json:"method"`
	}
	breakJSON struct {
		Offset int64  `json:"offset"`
		Cause  string `json:"cause"`
		Plugin string `json:"plugin"`
		Pos    string `json:"pos"`
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
	attachmentJSON struct {
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
	toolJSON struct {
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
		Error       *errorJSON       `json:"error"`
		Attachments []attachmentJSON `json:"attachments"`
		Steps       uint64           `json:"steps"`
		AllocBytes  uint64           `json:"alloc_bytes"`
	}
	fireJSON struct {
		Event     string         `json:"event"`
		Decisions []decisionJSON `json:"decisions"`
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
	decisionJSON struct {
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
	warningJSON struct {
		Message string   `json:"message"`
		Pos     *posJSON `json:"pos"`
	}
	errorJSON struct {
		Code      string      `json:"code"`
		Message   string      `json:"message"`
		Plugin    string      `json:"plugin"`
		Pos       *posJSON    `json:"pos"`
		Limit     *limitJSON  `json:"limit"`
		Traceback []frameJSON `json:"traceback"`
		Help      string      `json:"help"`
	}
	posJSON struct {
		File string `json:"file"`
		Line int    `json:"line"`
		Col  int    `json:"col"`
	}
	frameJSON struct {
		Fn string `json:"fn"`
		posJSON
	}
	limitJSON struct {
		Name string `json:"name"`
		Op   string `json:"op"`
		Need uint64 `json:"need"`
		Max  uint64 `json:"max"`
		Used uint64 `json:"used"`
	}
)

// A head begins the JSON result of a command.
type head struct {
	Schema string `json:"schema"`
	OK     bool   `json:"ok"`
}

// A tail ends the JSON result of a command that loads plugins.
type tail struct {
	Warnings []warningJSON `json:"warnings"`
	Errors   []errorJSON   `json:"errors"`
}

func (res *Result) tail() tail { return tail{res.warningsJSON(), res.errorsJSON()} }

// evalJSON returns the JSON result of eval.
func (res *Result) evalJSON(e *evaluation) evalJSON {
	out := evalJSON{
		head:    head{"starhost.eval/1", len(res.problems) == 0},
		Plugins: []pluginJSON{}, Fragments: []fragmentJSON{}, Attachments: []attachmentJSON{}, Tools: []toolJSON{},
		Hooks: []traceJSON{}, Loads: []traceJSON{}, WouldRun: jsontext.List(e.dryRun.Effects(), newEffectJSON),
		Call: e.call.json(), Fire: res.newFireJSON(e.fire), Expr: e.expr.json(),
		tail: res.tail(),
	}
	if e.set == nil {
		return out
	}
	out.Plugins = jsontext.List(e.set.Plugins, res.newPluginJSON)
	tools := e.set.Host.Tools()
	for _, p := range e.set.Plugins {
		out.Stats.Steps += p.Steps
		out.Stats.AllocBytes += p.Bytes
	}
	if e.turn != nil {
		out.Hooks, out.Loads = res.tracesJSON(e.turn.Hooks())
		out.Stats.addTurn(e)
		out.Reached = e.reached
	}
	if p := e.prompt; p != nil {
		tools = p.Tools
		out.Prompt = newPromptJSON(p)
		out.Fragments = jsontext.List(p.Fragments, res.newFragmentJSON)
		out.Attachments = jsontext.List(p.Attachments, newAttachmentRowJSON)
		out.Stats.FragmentsGiven, out.Stats.FragmentsKept = p.Given, countSent(p.Fragments)
		out.Stats.SavedBytes = p.SavedBytes
		if e.against != nil && out.Prompt.CacheBreak == nil {
			out.Prompt.CacheBreak = e.against.cacheBreak
		}
	}
	out.Tools = jsontext.List(tools, res.newToolJSON)
	return out
}

// addTurn adds the steps and bytes of the turn.
func (s *statsJSON) addTurn(e *evaluation) {
	for _, t := range e.turn.Hooks() {
		s.Steps += t.Steps
		s.AllocBytes += t.Bytes
	}
	if e.call != nil {
		s.Steps += e.call.reply.Steps
		s.AllocBytes += e.call.reply.Bytes
	}
	if e.expr != nil {
		s.Steps += e.expr.usage.Steps
		s.AllocBytes += e.expr.usage.Bytes
	}
}

// tracesJSON splits traces into those of hooks and those of loaders.
func (res *Result) tracesJSON(traces []host.HookTrace) (hooks, loads []traceJSON) {
	hooks, loads = []traceJSON{}, []traceJSON{}
	for i := range traces {
		trace := res.newTraceJSON(&traces[i])
		if event := traces[i].Event; event == "load" || event == "template" {
			loads = append(loads, trace)
		} else {
			hooks = append(hooks, trace)
		}
	}
	return hooks, loads
}

func newEffectJSON(e *effects.Effect) effectJSON { return effectJSON{e.Plugin, e.Kind, e.What} }

func (res *Result) newPluginJSON(p *loader.Plugin) pluginJSON {
	out := pluginJSON{
		Name: p.Name, Version: p.Version, Path: p.Path, Mode: p.Mode, SHA256: p.Digest.String(), Status: p.Status,
		Tools: []string{}, Hooks: []hookJSON{}, Loaders: []string{}, Templates: []string{}, Commands: []string{}, Skills: []string{}, Models: []string{},
		Permissions: permissionsJSON{Declared: append([]string{}, p.Declared...), Granted: append([]string{}, p.Granted...)},
		Steps:       p.Steps, AllocBytes: p.Bytes,
	}
	for _, v := range p.RequiresEnv {
		out.RequiresEnv = append(out.RequiresEnv, envVarJSON(v))
	}
	if p.Err != nil {
		problem := describe(p.Err)
		problem.plugin = p.Name
		e := problem.json()
		out.Error = &e
	}
	if r := p.Registered; r != nil {
		out.Tools = jsontext.List(r.Tools, func(t *starhost.Tool) string { return t.Name })
		out.Hooks = jsontext.List(r.Hooks, func(h *starhost.Hook) hookJSON {
			return hookJSON{h.Event, h.Priority, res.fromHere(h.Pos).String()}
		})
		out.Loaders = jsontext.List(r.FragmentLoaders, func(l *starhost.FragmentLoader) string { return l.Prefix })
		out.Templates = jsontext.List(r.TemplateLoaders, func(l *starhost.TemplateLoader) string { return l.Prefix })
		out.Commands = jsontext.List(r.Commands, func(c *starhost.Command) string { return c.Name })
		out.Skills = jsontext.List(r.Skills, func(s *starhost.Skill) string { return s.Name })
		out.Models = jsontext.List(r.Endpoints, func(m *starhost.Endpoint) string { return m.Name })
	}
	return out
}

func newPromptJSON(p *host.Prompt) *promptJSON {
	out := &promptJSON{
		SHA256: p.Sum(), System: p.System, Text: p.Text.String(), Bytes: p.Bytes(),
		Tokens: tokensJSON{report.Tokens(p), "bytes/4"}, SharedPrefix: p.SharedPrefix,
	}
	if c := p.CacheBreak; c != nil {
		out.CacheBreak = &breakJSON{c.Offset, c.Cause, c.Plugin, c.Pos}
	}
	return out
}

func (res *Result) newFragmentJSON(r **fragments.Row) fragmentJSON {
	f := *r
	var at string
	if f.Pos != "" {
		at = res.fromHere(starhost.ParsePos(f.Pos)).String()
	}
	return fragmentJSON{
		ID: f.ID, Content: f.Content, Bytes: len(f.Content), Target: f.Target.String(), Priority: f.Priority,
		Status: f.Status, Place: f.Place, Offset: f.Offset, Reason: f.Reason,
		Provenance: jsontext.List(f.Provenance(), newOriginJSON), Pos: at,
	}
}

func newOriginJSON(o *fragments.Origin) originJSON { return originJSON{o.Source, o.Plugin} }

func newAttachmentRowJSON(r **fragments.AttachmentRow) attachmentJSON {
	out := newAttachmentJSON(&(*r).Attachment)
	out.Status, out.Reason = (*r).Status, (*r).Reason
	out.Provenance = jsontext.List((*r).Provenance(), newOriginJSON)
	return out
}

func newAttachmentJSON(a *fragments.Attachment) attachmentJSON {
	return attachmentJSON{
		ID: a.ID(), Type: a.Type, Bytes: a.Bytes(), Name: a.Name, URL: a.URL, Width: a.Width, Height: a.Height,
		Status: fragments.Kept, Provenance: []originJSON{{a.Source, a.Plugin}},
	}
}

func (res *Result) newToolJSON(t *starhost.Tool) toolJSON {
	parameters := t.Parameters
	if len(parameters) == 0 {
		parameters = json.RawMessage("{}")
	}
	return toolJSON{t.Name, t.PluginName(), t.Description, parameters, res.fromHere(t.Pos).String()}
}

func (res *Result) newTraceJSON(t *host.HookTrace) traceJSON {
	pos := res.fromHere(t.Pos).String()
	return traceJSON{t.Event, t.Plugin, pos, t.Priority, actionName(t.Action), t.Detail, t.Steps, t.Bytes}
}

func (c *callResult) json() *callJSON {
	if c == nil {
		return nil
	}
	r := &c.reply
	out := &callJSON{
		Tool: r.Call.Name, Output: r.Result.ForLLM, ForUser: r.Result.ForUser, IsError: r.Result.IsError,
		Attachments: jsontext.List(r.Result.Attachments, newAttachmentJSON), Steps: r.Steps, AllocBytes: r.Bytes,
	}
	if r.Err != nil {
		problem := describe(r.Err)
		e := problem.json()
		out.Error = &e
	}
	return out
}

func (res *Result) newDecisionJSON(d *starhost.Decision) decisionJSON {
	return decisionJSON{d.Plugin, res.fromHere(d.Pos).String(), actionName(d.Action), d.Reason}
}

func (res *Result) newFireJSON(f *fireResult) *fireJSON {
	if f == nil {
		return nil
	}
	d := f.outcome.Decision
	out := &fireJSON{
		Event:     f.event,
		Decisions: jsontext.List(f.outcome.Decisions, res.newDecisionJSON),
		Decision:  combinedJSON{Action: actionName(d.Action), Reason: d.Reason, Changes: changesJSON(d.Changes)},
		Context:   []contextJSON{},
	}
	if d.Result != nil {
		out.Decision.Result = &d.Result.ForLLM
	}
	for _, c := range f.outcome.Context() {
		for _, g := range c.Fragments {
			out.Context = append(out.Context, contextJSON{g.Plugin, g.Source, fragments.Sum(g.Content), g.Content})
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

func (res *Result) warningsJSON() []warningJSON {
	return jsontext.List(res.relevantWarnings(), func(w *loader.Warning) warningJSON {
		return warningJSON{w.Msg, newPosJSON(starhost.Pos(w.Place))}
	})
}

func (res *Result) errorsJSON() []errorJSON {
	return jsontext.List(res.problems, (*problem).json)
}

// json returns the JSON form of a problem, an item of errors[].
func (p *problem) json() errorJSON {
	out := errorJSON{
		Code: p.code, Message: p.message, Plugin: p.plugin, Pos: newPosJSON(p.pos), Limit: p.limit,
		Traceback: []frameJSON{}, Help: p.help,
	}
	for _, f := range p.trace {
		out.Traceback = append(out.Traceback, frameJSON{f.Fn, posJSON(f.Pos)})
	}
	return out
}

// newPosJSON returns a place as an object, nil for no place.
func newPosJSON(p starhost.Pos) *posJSON {
	if p == (starhost.Pos{}) {
		return nil
	}
	pos := posJSON(p)
	return &pos
}
