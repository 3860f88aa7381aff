package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/report"
)

// printLine adds a line with a label to the result, and further texts below the first.
func (res *Result) printLine(label string, texts ...string) {
	report.WriteLine(&res.out, label, texts...)
}

// printReport prints the report of a turn, then the prompt, call, event or expression.
func (res *Result) printReport(f *evalFlags, e *evaluation) {
	res.printLine("plugins", pluginLine(e.set.Plugins))
	if e.readsClock {
		now := e.now.UTC().Format(time.RFC3339Nano)
		res.printLine("now", now+" by the clock (--now "+now+" repeats it)")
	}
	if e.prompt != nil {
		res.out.WriteString(report.Text(e.prompt))
	}
	res.undone = f.replay == "" && len(e.dryRun.Effects()) > 0
	res.printLine("would run", jsontext.List(e.dryRun.Effects(), func(x *effects.Effect) string { return x.Plugin + ": " + x.String() })...)
	res.printReached(e.reached)
	if e.against != nil {
		res.printLine("against", e.against.text)
		res.out.WriteString(e.against.diff)
	}
	if f.explain && e.turn != nil { // a replay that differs has no turn
		res.printSteps(e)
	}
	if e.prompt != nil {
		res.printPrompt(e)
	}
	if e.call != nil {
		res.printCall(e)
	}
	if e.fire != nil {
		res.printFire(e)
	}
	if e.expr != nil {
		if e.prompt != nil {
			res.out.WriteString("\n")
		}
		res.printLine("expr", e.expr.plugin+": "+e.expr.expr)
		fmt.Fprintf(&res.out, "\n%s\n", e.expr.value)
	}
}

// printPrompt prints the prompt below a blank line. If another result follows, each line has a
// bar in front, so that the prompt cannot forge the lines of that result.
func (res *Result) printPrompt(e *evaluation) {
	var b bytes.Buffer
	_ = writeText(&b, e.prompt) // no error: it writes to memory
	text := b.String()
	if e.call != nil || e.fire != nil || e.expr != nil {
		text = texttable.Bar(text)
	}
	res.out.WriteString("\n" + text)
}

// printCall prints the result of --call.
func (res *Result) printCall(e *evaluation) {
	r := &e.call.reply
	if e.prompt != nil {
		res.out.WriteString("\n")
	}
	res.printLine("call", r.Call.Name+" "+string(r.Call.Arguments))
	res.printLine("hooks", report.HookLines(e.call.hooks)...)
	start := res.out.Len()
	res.printLine("result", res.verdict(e.call))
	res.out.Colour(start, func(int, string) page.Colour {
		if r.Denied != nil || r.Result.IsError {
			return page.Red
		}
		return page.Green
	})
	if r.Result.ForUser != "" {
		res.printLine("for user", strings.Split(r.Result.ForUser, "\n")...)
	}
	for _, at := range r.Result.Attachments {
		res.printLine("attachment", fmt.Sprintf("%s  %s  %s  %d B", at.ID().Short(), at.Name, at.Type, at.Bytes()))
	}
	if text := r.Result.ForLLM; text != "" {
		fmt.Fprintf(&res.out, "\n%s\n", strings.TrimSuffix(text, "\n"))
	}
}

// verdict returns how a call ended, in a few words.
func (res *Result) verdict(c *callResult) string {
	switch r := &c.reply; {
	case r.Denied != nil:
		return res.withPlace("denied by "+r.Denied.Plugin+": "+r.Denied.Reason, r.Denied)
	case r.Result.IsError:
		return "error"
	}
	return "ok"
}

// withPlace adds the place of a decision to a text about it.
func (res *Result) withPlace(text string, d *starhost.Decision) string {
	if d.Pos == (starhost.Pos{}) {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, res.fromHere(d.Pos))
}

// printFire prints the decisions of --fire.
func (res *Result) printFire(e *evaluation) {
	if e.prompt != nil {
		res.out.WriteString("\n")
	}
	out := &e.fire.outcome
	res.printLine("fire", e.fire.event)
	handlers := make([]string, len(out.Decisions))
	for i, d := range out.Decisions {
		handlers[i] = res.withPlace(d.Plugin+": "+decisionText(d), &d)
	}
	start := res.out.Len()
	res.printLine("handlers", handlers...)
	res.out.Colour(start, func(n int, _ string) page.Colour {
		if n >= len(out.Decisions) { // a reason has several lines
			return page.Plain
		}
		return colourOf(out.Decisions[n].Action)
	})
	start = res.out.Len()
	res.printLine("decision", decisionText(out.Decision))
	res.out.Colour(start, func(int, string) page.Colour { return colourOf(out.Decision.Action) })
	for _, c := range out.Context() {
		for _, f := range c.Fragments {
			res.printLine("context", fmt.Sprintf("%s  %s  %d B", f.Plugin, f.Source, len(f.Content)))
			res.out.WriteString(texttable.Bar(f.Content))
		}
		for _, at := range c.Attachments {
			res.printLine("context", fmt.Sprintf("%s  %s  %s  %d B", at.Plugin, at.Name, at.Type, at.Bytes()))
		}
	}
}

// decisionText describes a decision, as "deny: no ticket".
func decisionText(d starhost.Decision) string {
	text := report.ActionName(d.Action)
	switch {
	case d.Reason != "":
		text += ": " + d.Reason
	case d.Action == starhost.ActionContext:
		text += fmt.Sprintf(" %d B", d.Context.Bytes())
	case d.Result != nil:
		text += ": " + d.Result.ForLLM
	case d.Action == starhost.ActionValue:
		text += fmt.Sprintf(" %d B", len(d.Value))
	}
	if len(d.Changes) > 0 {
		text += " " + string(jsontext.Must(report.ChangesJSON(d.Changes)))
	}
	return text
}
