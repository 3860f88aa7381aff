package report

import (
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
	"github.com/starhost/starhost/starlark"
)

// What one turn did, as text and as JSON.

// An Evaluation is what one turn did: its prompt, and the call, the event or the expression that ran
// in it. Parts that the caller did not ask for, or that failed, are nil.
type Evaluation struct {
	Set     *loader.Set // nil if no plugins were loaded
	Request host.Request
	Turn    *host.Turn
	Prompt  *host.Prompt
	Call    *CallResult
	Fire    *FireResult
	Expr    *ExprResult

	Now      time.Time        // the first time that a handler read from the real clock; or zero
	WouldRun []effects.Effect // what a dry run left out
	Reached  []ReachedFile
	Against  *Comparison // see CompareWith
	Explain  bool        // the text shows the step of each handler
	Describe func(error) Problem

	against string // the name of the earlier report
}

// A CallResult is a tool's call in a turn.
type CallResult struct {
	Arguments json.RawMessage // before hooks change them
	Reply     host.ToolReply
	Hooks     []host.HookTrace

	printed bool
}

// A FireResult is an event in a turn.
type FireResult struct {
	Event   string
	Outcome host.Outcome
}

// An ExprResult is an expression in a turn.
type ExprResult struct {
	Plugin, Expr string
	Value        string // as Starlark's repr shows it
	Usage        starlark.Usage
}

// EvaluationSchema is the schema of an evaluation's JSON.
const EvaluationSchema = "starhost.eval/1"

// EvaluationJSON is an evaluation as JSON. Lists are never null.
type EvaluationJSON struct {
	Plugins     []PluginJSON     `json:"plugins"`
	Prompt      *promptJSON      `json:"prompt"`
	Fragments   []fragmentJSON   `json:"fragments"`
	Attachments []AttachmentJSON `json:"attachments"`
	Tools       []ToolJSON       `json:"tools"`
	Hooks       []traceJSON      `json:"hooks"`
	Loads       []traceJSON      `json:"loads"` // calls of loaders
	WouldRun    []effectJSON     `json:"would_run"`
	Call        *callJSON        `json:"call"`
	Fire        *FireJSON        `json:"fire"`
	Expr        *exprJSON        `json:"expr"`
	Reached     []ReachedFile    `json:"reached,omitempty"` // lines that ran
	Stats       statsJSON        `json:"stats"`
}

func (e *Evaluation) view() View { return View{e.Set} }

// JSON returns the evaluation as JSON.
func (e *Evaluation) JSON() EvaluationJSON {
	out := EvaluationJSON{
		Plugins: []PluginJSON{}, Fragments: []fragmentJSON{}, Attachments: []AttachmentJSON{}, Tools: []ToolJSON{},
		Hooks: []traceJSON{}, Loads: []traceJSON{}, WouldRun: jsontext.List(e.WouldRun, newEffectJSON),
	}
	if e.Set == nil {
		return out
	}
	v := e.view()
	out.Plugins = jsontext.List(e.Set.Plugins, v.NewPluginJSON)
	tools := e.Set.Host.Tools()
	for _, p := range e.Set.Plugins {
		out.Stats.Steps += p.Steps
		out.Stats.AllocBytes += p.Bytes
	}
	if e.Turn != nil {
		out.Hooks, out.Loads = v.tracesJSON(e.Turn.Hooks())
		out.Stats.addTurn(e)
		out.Reached = e.Reached
	}
	if e.Call != nil {
		out.Call = e.callJSON()
	}
	if e.Fire != nil {
		out.Fire = v.NewFireJSON(e.Fire.Event, &e.Fire.Outcome)
	}
	if x := e.Expr; x != nil {
		out.Expr = &exprJSON{Plugin: x.Plugin, Expr: x.Expr, Value: x.Value, Steps: x.Usage.Steps, AllocBytes: x.Usage.Bytes}
	}
	if p := e.Prompt; p != nil {
		tools = p.Tools
		out.Prompt = newPromptJSON(p)
		out.Fragments = jsontext.List(p.Fragments, v.newFragmentJSON)
		out.Attachments = jsontext.List(p.Attachments, newAttachmentRowJSON)
		out.Stats.FragmentsGiven, out.Stats.SavedBytes = p.Given, p.SavedBytes
		for _, r := range p.Fragments {
			if r.Status == fragments.Kept || r.Status == fragments.Changed {
				out.Stats.FragmentsKept++
			}
		}
		if e.Against != nil && out.Prompt.CacheBreak == nil {
			out.Prompt.CacheBreak = e.Against.Break
		}
	}
	out.Tools = jsontext.List(tools, v.NewToolJSON)
	return out
}

// addTurn adds the steps and bytes of the turn.
func (s *statsJSON) addTurn(e *Evaluation) {
	for _, t := range e.Turn.Hooks() {
		s.Steps += t.Steps
		s.AllocBytes += t.Bytes
	}
	if e.Call != nil {
		s.Steps += e.Call.Reply.Steps
		s.AllocBytes += e.Call.Reply.Bytes
	}
	if e.Expr != nil {
		s.Steps += e.Expr.Usage.Steps
		s.AllocBytes += e.Expr.Usage.Bytes
	}
}

func (e *Evaluation) callJSON() *callJSON {
	r := &e.Call.Reply
	out := &callJSON{
		Tool: r.Call.Name, Output: r.Result.ForLLM, ForUser: r.Result.ForUser, IsError: r.Result.IsError,
		Attachments: jsontext.List(r.Result.Attachments, NewAttachmentJSON), Steps: r.Steps, AllocBytes: r.Bytes,
	}
	if r.Err != nil {
		problem := e.Describe(r.Err)
		wrong := problem.JSON()
		out.Error = &wrong
	}
	return out
}

// PromptText returns the system text, a blank line, and the new user message.
func PromptText(p *host.Prompt) string {
	var b strings.Builder
	b.WriteString(p.System)
	if p.System != "" {
		b.WriteString("\n\n")
	}
	_, _ = p.Text.WriteTo(&b)
	return difftext.EndLine(b.String())
}

// WriteText writes the report of a turn, then the prompt, call, event or expression.
func (e *Evaluation) WriteText(out *page.Page) {
	WriteLine(out, "plugins", PluginLine(e.Set.Plugins))
	if !e.Now.IsZero() {
		now := e.Now.UTC().Format(time.RFC3339Nano)
		WriteLine(out, "now", now+" by the clock (--now "+now+" repeats it)")
	}
	if e.Prompt != nil {
		out.WriteString(Text(e.Prompt))
	}
	WriteLine(out, "would run", jsontext.List(e.WouldRun, func(x *effects.Effect) string { return x.Plugin + ": " + x.String() })...)
	e.writeReached(out)
	if c := e.Against; c != nil {
		WriteLine(out, "against", c.Text)
		if c.Break != nil {
			out.WriteString(difftext.Unified(e.against, "now", c.Before, c.Now))
		}
	}
	if e.Explain && e.Turn != nil { // a replay that differs has no turn
		e.writeSteps(out)
	}
	if e.Prompt != nil {
		e.writePrompt(out)
	}
	if e.Call != nil {
		e.writeCall(out)
	}
	if e.Fire != nil {
		e.writeFire(out)
	}
	if e.Expr != nil {
		if e.Prompt != nil {
			out.WriteString("\n")
		}
		WriteLine(out, "expr", e.Expr.Plugin+": "+e.Expr.Expr)
		fmt.Fprintf(out, "\n%s\n", e.Expr.Value)
	}
}

// writePrompt writes the prompt below a blank line. If another result follows, each line has a
// bar in front, so that the prompt cannot forge the lines of that result.
func (e *Evaluation) writePrompt(out *page.Page) {
	text := PromptText(e.Prompt)
	if e.Call != nil || e.Fire != nil || e.Expr != nil {
		text = texttable.Bar(text)
	}
	out.WriteString("\n" + text)
}

// writeCall writes the result of --call.
func (e *Evaluation) writeCall(out *page.Page) {
	r := &e.Call.Reply
	if e.Prompt != nil {
		out.WriteString("\n")
	}
	WriteLine(out, "call", r.Call.Name+" "+string(r.Call.Arguments))
	WriteLine(out, "hooks", HookLines(e.Call.Hooks)...)
	start := out.Len()
	WriteLine(out, "result", e.verdict())
	out.Colour(start, func(int, string) page.Colour {
		if r.Denied != nil || r.Result.IsError {
			return page.Red
		}
		return page.Green
	})
	if r.Result.ForUser != "" {
		WriteLine(out, "for user", strings.Split(r.Result.ForUser, "\n")...)
	}
	for _, at := range r.Result.Attachments {
		WriteLine(out, "attachment", fmt.Sprintf("%s  %s  %s  %d B", at.ID().Short(), at.Name, at.Type, at.Bytes()))
	}
	if text := r.Result.ForLLM; text != "" {
		fmt.Fprintf(out, "\n%s\n", strings.TrimSuffix(text, "\n"))
	}
}

// verdict returns how a call ended, in a few words.
func (e *Evaluation) verdict() string {
	switch r := &e.Call.Reply; {
	case r.Denied != nil:
		return e.view().withPlace("denied by "+r.Denied.Plugin+": "+r.Denied.Reason, r.Denied)
	case r.Result.IsError:
		return "error"
	}
	return "ok"
}

// withPlace adds the place of a decision to a text about it.
func (v View) withPlace(text string, d *starhost.Decision) string {
	if d.Pos == (starhost.Pos{}) {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, v.Place(d.Pos))
}

// writeFire writes the decisions of --fire.
func (e *Evaluation) writeFire(out *page.Page) {
	if e.Prompt != nil {
		out.WriteString("\n")
	}
	fired := &e.Fire.Outcome
	WriteLine(out, "fire", e.Fire.Event)
	handlers := make([]string, len(fired.Decisions))
	for i, d := range fired.Decisions {
		handlers[i] = e.view().withPlace(d.Plugin+": "+decisionText(d), &d)
	}
	start := out.Len()
	WriteLine(out, "handlers", handlers...)
	out.Colour(start, func(n int, _ string) page.Colour {
		if n >= len(fired.Decisions) { // a reason has several lines
			return page.Plain
		}
		return colourOf(fired.Decisions[n].Action)
	})
	start = out.Len()
	WriteLine(out, "decision", decisionText(fired.Decision))
	out.Colour(start, func(int, string) page.Colour { return colourOf(fired.Decision.Action) })
	for _, c := range fired.Context() {
		for _, f := range c.Fragments {
			WriteLine(out, "context", fmt.Sprintf("%s  %s  %d B", f.Plugin, f.Source, len(f.Content)))
			out.WriteString(texttable.Bar(f.Content))
		}
		for _, at := range c.Attachments {
			WriteLine(out, "context", fmt.Sprintf("%s  %s  %s  %d B", at.Plugin, at.Name, at.Type, at.Bytes()))
		}
	}
}

// decisionText describes a decision, as "deny: no ticket".
func decisionText(d starhost.Decision) string {
	text := actionName(d.Action)
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
		text += " " + string(jsontext.Must(changesJSON(d.Changes)))
	}
	return text
}

// CompareWith compares the prompt with the report of an earlier evaluation as JSON, which messages
// call name. A prompt that begins with the whole earlier prompt breaks no cache.
func (e *Evaluation) CompareWith(name, text string) error {
	var old struct {
		Schema string `json:"schema"`
		EvaluationJSON
	}
	if err := json.Unmarshal([]byte(text), &old); err != nil || old.Schema != EvaluationSchema || old.Prompt == nil {
		return Usagef("--against %s: got no report of a prompt, want what starhost eval -F json wrote", name)
	}
	now := sections(jsontext.List(e.Prompt.Tools, e.view().NewToolJSON), e.Prompt.System, e.Prompt.Text.String(), jsontext.List(e.Prompt.Fragments, e.view().newFragmentJSON))
	c := Compare(name, sections(old.Tools, old.Prompt.System, old.Prompt.Text, old.Fragments), now)
	e.Against, e.against = &c, name
	return nil
}

// sections returns the parts of a prompt in the order in which providers read them.
func sections(tools []ToolJSON, system, text string, rows []fragmentJSON) []Section {
	var b strings.Builder
	for _, t := range tools {
		b.Write(append(jsontext.Must([]any{t.Name, t.Description, t.Parameters}), '\n'))
	}
	list := []Section{{Name: "tools", Text: b.String()}, {Name: "system text", Text: system}, {Name: "prompt", Text: text}}
	for _, r := range rows {
		i := 2
		if r.Target == fragments.System.String() {
			i = 1
		}
		if r.Offset >= 0 && r.Status == fragments.Kept {
			block := Block{Offset: r.Offset, Content: r.Content, Source: originText(&r)}
			if len(r.Provenance) > 0 {
				block.Plugin = r.Provenance[0].Plugin
			}
			list[i].Blocks = append(list[i].Blocks, block)
		}
	}
	return list
}

// originText names the first origin of a fragment.
func originText(r *fragmentJSON) string {
	if len(r.Provenance) == 0 {
		return r.ID.Short()
	}
	o := r.Provenance[0]
	if o.Plugin == "" {
		return o.Source
	}
	return o.Source + " (" + o.Plugin + ")"
}

// writeSteps writes a step for each handler, in the order of the calls: its cost, the fragments
// that it added, and the difference that it made.
func (e *Evaluation) writeSteps(out *page.Page) {
	before := initialValues(e)
	for _, p := range e.Set.Plugins {
		if p.Status == loader.StatusLoaded {
			writeStep(out, "load "+p.Name, p.Path, p.Steps, p.Bytes)
		}
	}
	explained := map[string]bool{}
	for _, t := range e.Turn.Hooks() {
		if t.Event == "post_tool_call" {
			e.writeCallStep(out)
		}
		writeStep(out, t.Event+" "+t.Plugin+": "+outcome(&t), e.view().Place(t.Pos).String(), t.Steps, t.Bytes)
		maker := t.Plugin + " " + t.Pos.String()
		if e.Prompt != nil && t.Action == starhost.ActionContext && !explained[maker] {
			explained[maker] = true
			writeOffers(out, e.Prompt, t)
		}
		for _, name := range slices.Sorted(maps.Keys(t.Changes)) {
			writeChange(out, before, name, t.Changes[name])
		}
	}
	e.writeCallStep(out)
	if e.Expr != nil {
		writeStep(out, "expr "+e.Expr.Plugin, "", e.Expr.Usage.Steps, e.Expr.Usage.Bytes)
	}
}

// writeCallStep writes the step of the tool itself, once.
func (e *Evaluation) writeCallStep(out *page.Page) {
	if c := e.Call; c != nil && !c.printed {
		c.printed = true
		writeStep(out, "call "+c.Reply.Call.Name+": "+e.verdict(), "", c.Reply.Steps, c.Reply.Bytes)
	}
}

// outcome returns the decision of a handler. The list of errors has the reason of a failure.
func outcome(t *host.HookTrace) string {
	if t.Action == starhost.ActionError {
		return "failed"
	}
	did := strings.TrimSpace(actionName(t.Action) + " " + t.Detail)
	if t.Action == starhost.ActionNone && t.Detail != "" { // the detail of a template's handler is its name
		did = t.Detail
	}
	if t.Again {
		did += ", asked again"
	}
	return did
}

func writeStep(out *page.Page, name, place string, steps, bytes uint64) {
	if place != "" {
		name += " (" + place + ")"
	}
	WriteLine(out, "step", fmt.Sprintf("%s, %d steps, %d B", name, steps, bytes))
}

// writeOffers writes the fragments and attachments that a registration was the first to offer.
func writeOffers(out *page.Page, p *host.Prompt, t host.HookTrace) {
	for _, r := range p.Fragments {
		if r.Plugin == t.Plugin && r.Pos == t.Pos.String() {
			writeOffer(out, r.Status, r.Reason, fmt.Sprintf("fragment %s %s in the %s", r.ID.Short(), r.Source, r.Target), r.Content)
			for _, o := range r.Again {
				fmt.Fprintf(out, "= offered again as %s by %s\n", texttable.EscapeLine(o.Source), o.Plugin)
			}
		}
	}
	for _, r := range p.Attachments {
		if r.Plugin == t.Plugin && r.Pos == t.Pos.String() {
			writeOffer(out, r.Status, r.Reason, fmt.Sprintf("attachment %s %s %s", r.ID.Short(), r.Name, r.Type), "")
		}
	}
}

// writeOffer writes an offer as added lines, or as one line with the reason if it was not sent.
func writeOffer(out *page.Page, status fragments.Status, reason, what, content string) {
	what = texttable.EscapeLine(what)
	if status != fragments.Kept {
		reason = texttable.EscapeLine(reason)
		fmt.Fprintf(out, "- %s: %s\n", what, strings.TrimSuffix(fmt.Sprintf("%s: %s", status, reason), ": "))
		return
	}
	fmt.Fprintf(out, "@@ %s @@\n", what)
	for line := range strings.Lines(difftext.EndLine(content)) {
		out.WriteString("+" + line)
	}
}

// writeChange writes the difference between a value and its last version.
func writeChange(out *page.Page, before map[string]string, name string, value any) {
	text := valueText(value)
	out.WriteString(difftext.Unified(name, name, before[name], text))
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
		return strings.Join(jsontext.List(v, toolChange), "\n")
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
func initialValues(e *Evaluation) map[string]string {
	values := map[string]string{
		"user_message": e.Turn.Request().Text,
		"model":        e.Turn.Request().Model,
		"options":      string(e.Turn.Request().Options),
		"tools":        valueText(jsontext.List(e.Set.Host.Tools(), func(t *starhost.Tool) string { return t.Name })),
	}
	if e.Call != nil {
		values["arguments"] = string(e.Call.Arguments)
	}
	if e.Prompt != nil {
		values["system"], values["messages"] = mergedPrompt(e)
	}
	return values
}

// mergedPrompt returns the system text and the messages before pre_send. It renders the merged
// rows again, because a prompt has only the final texts.
func mergedPrompt(e *Evaluation) (system, messages string) {
	var sent []fragments.Fragment
	for _, r := range e.Prompt.Fragments {
		if r.Status == fragments.Kept || r.Status == fragments.Changed {
			sent = append(sent, r.Offer())
		}
	}
	set := fragments.Merge(sent)
	system, text := set.Render(fragments.Rendering(e.Set.Config.Prompt.Render), 0)
	prompt := texttable.JoinSome("\n", text.String(), attachmentNotes(e.Prompt), e.userWords())
	system = texttable.JoinSome("\n\n", system, e.Turn.Request().System)
	user := starhost.Message{Role: starhost.RoleUser, Content: fragments.NewText(prompt)}
	return system, messagesText(append(slices.Clone(e.Request.History), user))
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
func (e *Evaluation) userWords() string {
	words := e.Turn.Request().Text
	for _, t := range e.Turn.Hooks() {
		if v, ok := t.Changes["user_message"].(string); ok {
			words = v
		}
	}
	return words
}

// colourOf returns the colour of a decision.
func colourOf(action starhost.Action) page.Colour {
	switch action {
	case starhost.ActionDeny, starhost.ActionAbort, starhost.ActionError:
		return page.Red
	case starhost.ActionAsk, starhost.ActionModify:
		return page.Yellow
	case starhost.ActionApprove, starhost.ActionRespond:
		return page.Green
	}
	return page.Plain
}

// PluginLine lists the loaded plugins with their count, and the status of the others.
func PluginLine(plugins []loader.Plugin) string {
	var names, others []string
	for _, p := range plugins {
		if p.Status != loader.StatusLoaded {
			others = append(others, p.Name+" "+p.Status)
			continue
		}
		names = append(names, strings.TrimSpace(p.Name+" "+p.Version))
	}
	line := "none"
	if len(names) > 0 {
		line = fmt.Sprintf("%s (%d)", strings.Join(names, ", "), len(names))
	}
	return strings.Join(slices.Concat([]string{line}, others), "; ")
}
