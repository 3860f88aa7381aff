package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/difftext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

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
