package main

import (
	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// A head begins the JSON result of a command.
type head struct {
	Schema string `json:"schema"`
	OK     bool   `json:"ok"`
}

// A tail ends the JSON result of a command that loads plugins.
type tail struct {
	Warnings []report.WarningJSON `json:"warnings"`
	Errors   []report.ErrorJSON   `json:"errors"`
}

func (res *Result) tail() tail { return tail{res.warningsJSON(), res.errorsJSON()} }

// An evalJSON is the JSON result of eval.
type evalJSON struct {
	head
	Plugins     []report.PluginJSON     `json:"plugins"`
	Prompt      *report.PromptJSON      `json:"prompt"`
	Fragments   []report.FragmentJSON   `json:"fragments"`
	Attachments []report.AttachmentJSON `json:"attachments"`
	Tools       []report.ToolJSON       `json:"tools"`
	Hooks       []report.TraceJSON      `json:"hooks"`
	Loads       []report.TraceJSON      `json:"loads"` // calls of loaders
	WouldRun    []report.EffectJSON     `json:"would_run"`
	Call        *report.CallJSON        `json:"call"`
	Fire        *report.FireJSON        `json:"fire"`
	Expr        *report.ExprJSON        `json:"expr"`
	Reached     []reachedFile           `json:"reached,omitempty"` // lines that ran, with --reached
	Stats       report.StatsJSON        `json:"stats"`
	tail
}

// evalJSON returns the JSON result of eval.
func (res *Result) evalJSON(e *evaluation) evalJSON {
	out := evalJSON{
		head:    head{"starhost.eval/1", len(res.problems) == 0},
		Plugins: []report.PluginJSON{}, Fragments: []report.FragmentJSON{}, Attachments: []report.AttachmentJSON{}, Tools: []report.ToolJSON{},
		Hooks: []report.TraceJSON{}, Loads: []report.TraceJSON{}, WouldRun: jsontext.List(e.dryRun.Effects(), report.NewEffectJSON),
		Call: e.call.json(), Fire: e.fire.json(res.view()), Expr: e.expr.json(),
		tail: res.tail(),
	}
	if e.set == nil {
		return out
	}
	out.Plugins = jsontext.List(e.set.Plugins, res.view().NewPluginJSON)
	tools := e.set.Host.Tools()
	for _, p := range e.set.Plugins {
		out.Stats.Steps += p.Steps
		out.Stats.AllocBytes += p.Bytes
	}
	if e.turn != nil {
		out.Hooks, out.Loads = res.view().TracesJSON(e.turn.Hooks())
		addTurn(&out.Stats, e)
		out.Reached = e.reached
	}
	if p := e.prompt; p != nil {
		tools = p.Tools
		out.Prompt = report.NewPromptJSON(p)
		out.Fragments = jsontext.List(p.Fragments, res.view().NewFragmentJSON)
		out.Attachments = jsontext.List(p.Attachments, report.NewAttachmentRowJSON)
		out.Stats.FragmentsGiven, out.Stats.FragmentsKept = p.Given, countSent(p.Fragments)
		out.Stats.SavedBytes = p.SavedBytes
		if e.against != nil && out.Prompt.CacheBreak == nil {
			out.Prompt.CacheBreak = e.against.cacheBreak
		}
	}
	out.Tools = jsontext.List(tools, res.view().NewToolJSON)
	return out
}

// addTurn adds the steps and bytes of the turn.
func addTurn(s *report.StatsJSON, e *evaluation) {
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

func (f *fireResult) json(v report.View) *report.FireJSON {
	if f == nil {
		return nil
	}
	return v.NewFireJSON(f.event, &f.outcome)
}

func (c *callResult) json() *report.CallJSON {
	if c == nil {
		return nil
	}
	r := &c.reply
	out := &report.CallJSON{
		Tool: r.Call.Name, Output: r.Result.ForLLM, ForUser: r.Result.ForUser, IsError: r.Result.IsError,
		Attachments: jsontext.List(r.Result.Attachments, report.NewAttachmentJSON), Steps: r.Steps, AllocBytes: r.Bytes,
	}
	if r.Err != nil {
		problem := describe(r.Err)
		e := problem.JSON()
		out.Error = &e
	}
	return out
}

func (res *Result) warningsJSON() []report.WarningJSON {
	return jsontext.List(res.relevantWarnings(), func(w *loader.Warning) report.WarningJSON {
		return report.WarningJSON{Message: w.Msg, Pos: report.NewPosJSON(starhost.Pos(w.PlaceFromHere()))}
	})
}

func (res *Result) errorsJSON() []report.ErrorJSON {
	return jsontext.List(res.problems, (*report.Problem).JSON)
}
