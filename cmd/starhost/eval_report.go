package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/difftext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
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

// A comparison says how a prompt differs from an earlier report.
type comparison struct {
	text       string
	diff       string            // for the first changed block; "" if none changed
	cacheBreak *report.BreakJSON // nil if a provider can use its cache of the earlier prompt
}

// comparePrompt compares a prompt with the report of an earlier -F json. A prompt that begins
// with the whole earlier prompt breaks no cache.
func (env Env) comparePrompt(res *Result, file string, p *host.Prompt) (*comparison, error) {
	text, err := env.readText(file)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(text, "{") {
		if err := checkJSON(file, text); err != nil {
			return nil, err
		}
	}
	var old evalJSON
	if err := json.Unmarshal([]byte(text), &old); err != nil || old.Schema != "starhost.eval/1" || old.Prompt == nil {
		return nil, usagef("--against %s: got no report of a prompt, want what starhost eval -F json wrote", file)
	}
	now := sections(jsontext.List(p.Tools, res.view().NewToolJSON), p.System, p.Text.String(), jsontext.List(p.Fragments, res.view().NewFragmentJSON))
	was := sections(old.Tools, old.Prompt.System, old.Prompt.Text, old.Fragments)
	c := report.Compare(file, was, now)
	if c.Break == nil {
		return &comparison{text: c.Text}, nil
	}
	res.code = report.ExitNegative
	b := report.BreakJSON(*c.Break)
	return &comparison{text: c.Text, diff: difftext.Unified(file, "now", c.Before, c.Now), cacheBreak: &b}, nil
}

// sections returns the parts of a prompt in the order in which providers read them.
func sections(tools []report.ToolJSON, system, text string, rows []report.FragmentJSON) []report.Section {
	var b strings.Builder
	for _, t := range tools {
		b.Write(append(jsontext.Must([]any{t.Name, t.Description, t.Parameters}), '\n'))
	}
	list := []report.Section{{Name: "tools", Text: b.String()}, {Name: "system text", Text: system}, {Name: "prompt", Text: text}}
	for _, r := range rows {
		i := 2
		if r.Target == fragments.System.String() {
			i = 1
		}
		if r.Offset >= 0 && r.Status == fragments.Kept {
			block := report.Block{Offset: r.Offset, Content: r.Content, Source: originText(&r)}
			if len(r.Provenance) > 0 {
				block.Plugin = r.Provenance[0].Plugin
			}
			list[i].Blocks = append(list[i].Blocks, block)
		}
	}
	return list
}

// originText names the first origin of a fragment.
func originText(r *report.FragmentJSON) string {
	if len(r.Provenance) == 0 {
		return r.ID.Short()
	}
	o := r.Provenance[0]
	if o.Plugin == "" {
		return o.Source
	}
	return o.Source + " (" + o.Plugin + ")"
}

// printSteps prints a step for each handler, in the order of the calls: its cost, the fragments
// that it added, and the difference that it made.
func (res *Result) printSteps(e *evaluation) {
	before := initialValues(e)
	for _, p := range e.set.Plugins {
		if p.Status == loader.StatusLoaded {
			res.printStep("load "+p.Name, p.Path, p.Steps, p.Bytes)
		}
	}
	explained := map[string]bool{}
	for _, t := range e.turn.Hooks() {
		if t.Event == "post_tool_call" {
			res.printCallStep(e)
		}
		res.printStep(t.Event+" "+t.Plugin+": "+outcome(&t), res.fromHere(t.Pos).String(), t.Steps, t.Bytes)
		maker := t.Plugin + " " + t.Pos.String()
		if e.prompt != nil && t.Action == starhost.ActionContext && !explained[maker] {
			explained[maker] = true
			res.printOffers(e.prompt, t)
		}
		for _, name := range slices.Sorted(maps.Keys(t.Changes)) {
			res.printChange(before, name, t.Changes[name])
		}
	}
	res.printCallStep(e)
	if e.expr != nil {
		res.printStep("expr "+e.expr.plugin, "", e.expr.usage.Steps, e.expr.usage.Bytes)
	}
}

// printCallStep prints the step of the tool itself, once.
func (res *Result) printCallStep(e *evaluation) {
	if c := e.call; c != nil && !c.printed {
		c.printed = true
		res.printStep("call "+c.reply.Call.Name+": "+res.verdict(c), "", c.reply.Steps, c.reply.Bytes)
	}
}

// outcome returns the decision of a handler. The list of errors has the reason of a failure.
func outcome(t *host.HookTrace) string {
	if t.Action == starhost.ActionError {
		return "failed"
	}
	did := strings.TrimSpace(report.ActionName(t.Action) + " " + t.Detail)
	if t.Action == starhost.ActionNone && t.Detail != "" { // the detail of a template's handler is its name
		did = t.Detail
	}
	if t.Again {
		did += ", asked again"
	}
	return did
}

func (res *Result) printStep(name, place string, steps, bytes uint64) {
	if place != "" {
		name += " (" + place + ")"
	}
	res.printLine("step", fmt.Sprintf("%s, %d steps, %d B", name, steps, bytes))
}

// printOffers prints the fragments and attachments that a registration was the first to offer.
func (res *Result) printOffers(p *host.Prompt, t host.HookTrace) {
	for _, r := range p.Fragments {
		if r.Plugin == t.Plugin && r.Pos == t.Pos.String() {
			res.printOffer(r.Status, r.Reason, fmt.Sprintf("fragment %s %s in the %s", r.ID.Short(), r.Source, r.Target), r.Content)
			for _, o := range r.Again {
				fmt.Fprintf(&res.out, "= offered again as %s by %s\n", texttable.EscapeLine(o.Source), o.Plugin)
			}
		}
	}
	for _, r := range p.Attachments {
		if r.Plugin == t.Plugin && r.Pos == t.Pos.String() {
			res.printOffer(r.Status, r.Reason, fmt.Sprintf("attachment %s %s %s", r.ID.Short(), r.Name, r.Type), "")
		}
	}
}

// printOffer prints an offer as added lines, or as one line with the reason if it was not sent.
func (res *Result) printOffer(status fragments.Status, reason, what, content string) {
	what = texttable.EscapeLine(what)
	if status != fragments.Kept {
		reason = texttable.EscapeLine(reason)
		fmt.Fprintf(&res.out, "- %s: %s\n", what, strings.TrimSuffix(fmt.Sprintf("%s: %s", status, reason), ": "))
		return
	}
	fmt.Fprintf(&res.out, "@@ %s @@\n", what)
	for line := range strings.Lines(difftext.EndLine(content)) {
		res.out.WriteString("+" + line)
	}
}

// printChange prints the difference between a value and its last version.
func (res *Result) printChange(before map[string]string, name string, value any) {
	text := valueText(value)
	res.out.WriteString(difftext.Unified(name, name, before[name], text))
	before[name] = text
}

// valueText returns a value of a modify decision as text, with a line for each part.
func valueText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case *starhost.Messages:
		return messagesText(v.Items())
	case []string:
		return strings.Join(v, "\n")
	case []starhost.Tool:
		return strings.Join(jsontext.List(v, report.ToolChange), "\n")
	case starhost.Result:
		return v.ForLLM
	}
	return string(jsontext.Must(value))
}

func messagesText(messages []starhost.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "[%s]\n%s", m.Role, difftext.EndLine(m.Content.String()))
	}
	return b.String()
}

// initialValues returns the values that hooks can modify, before any hook does.
func initialValues(e *evaluation) map[string]string {
	values := map[string]string{
		"user_message": e.turn.Request().Text,
		"model":        e.turn.Request().Model,
		"options":      string(e.turn.Request().Options),
		"tools":        valueText(jsontext.List(e.set.Host.Tools(), func(t *starhost.Tool) string { return t.Name })),
	}
	if e.call != nil {
		values["arguments"] = string(e.call.arguments)
	}
	if e.prompt != nil {
		values["system"], values["messages"] = mergedPrompt(e)
	}
	return values
}

// mergedPrompt returns the system text and the messages before pre_send. It renders the merged
// rows again, because a prompt has only the final texts.
func mergedPrompt(e *evaluation) (system, messages string) {
	var sent []fragments.Fragment
	for _, r := range e.prompt.Fragments {
		if r.Status == fragments.Kept || r.Status == fragments.Changed {
			sent = append(sent, r.Offer())
		}
	}
	set := fragments.Merge(sent)
	rendering, _ := fragments.ParseRendering(e.set.Config.Prompt.Render) // no error: loading has checked it
	system, text := set.Render(rendering, 0)
	prompt := joinTexts("\n", text.String(), attachmentNotes(e.prompt), e.userWords())
	system = joinTexts("\n\n", system, e.turn.Request().System)
	user := starhost.Message{Role: starhost.RoleUser, Content: fragments.NewText(prompt)}
	return system, messagesText(append(slices.Clone(e.request.History), user))
}

// attachmentNotes returns the notes about attachments that were dropped.
func attachmentNotes(p *host.Prompt) string {
	var set fragments.Set
	for _, r := range p.Attachments {
		set.Attach([]fragments.Attachment{r.Attachment})
	}
	for i, r := range set.Attachments() {
		r.Status, r.Reason = p.Attachments[i].Status, p.Attachments[i].Reason
	}
	return strings.Join(set.Notes(), "\n")
}

// userWords returns the user's words after turn_start.
func (e *evaluation) userWords() string {
	words := e.turn.Request().Text
	for _, t := range e.turn.Hooks() {
		if v, ok := t.Changes["user_message"].(string); ok {
			words = v
		}
	}
	return words
}

// joinTexts joins the texts that are not empty.
func joinTexts(sep string, texts ...string) string {
	var some []string
	for _, t := range texts {
		if t != "" {
			some = append(some, t)
		}
	}
	return strings.Join(some, sep)
}
