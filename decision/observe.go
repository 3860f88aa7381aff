package decision

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// maxReply is the most bytes of an effect's reply in a record.
const maxReply = 16 << 10

// Parts of an event that a record contains only if [Options.Include] has them.
const (
	IncludePrompt  = "prompt"  // the user's words, the conversation, the model's answer, and texts of context
	IncludeResults = "results" // results of tools and commands
	IncludeWrites  = "writes"  // contents of files that a call writes
)

// argumentParts maps arguments of events to the part that they belong to.
var argumentParts = map[string]string{
	"user_message": IncludePrompt, "messages": IncludePrompt, "history": IncludePrompt,
	"system": IncludePrompt, "tools": IncludePrompt, "fragments": IncludePrompt, "response": IncludePrompt, "tool_calls": IncludePrompt,
	"result": IncludeResults, "content": IncludeWrites,
}

// Observe records an event, with the host's decision as the answer. It is a value for host.Options.Observe.
// If it cannot record the event and [Options.Required] is set, it returns the error, so that the host refuses
// the event. Otherwise it passes the error to [Options.Report].
func (l *Log) Observe(e starhost.Event, o host.Outcome) error {
	r := l.Record(e, o)
	r.Answered = r.Decision.Action
	return l.Deliver(r)
}

// Deliver appends a record. It treats an error as Observe does.
func (l *Log) Deliver(r *Record) error {
	return l.failed(l.Append(r))
}

// failed reports a failure to write, and returns it if the log is required.
func (l *Log) failed(err error) error {
	if err == nil {
		return nil
	}
	if l.o.Report != nil {
		l.o.Report(err)
	}
	if l.o.Required {
		return err
	}
	return nil
}

// Record returns the record of an event. The caller adds the answer, and appends the record. Record omits the
// parts that [Options.Include] does not name.
func (l *Log) Record(e starhost.Event, o host.Outcome) *Record {
	r := &Record{
		Starhost: l.o.Starhost, Agent: cmp.Or(e.Agent, l.o.Agent, e.Platform),
		Session: e.SessionID, Turn: o.Turn, Round: e.Round,
		Event: e.Name, Tool: e.Tool, ToolAlias: e.ToolAlias, Foreign: e.Foreign, CallID: e.CallID,
		Platform: e.Platform, Roles: e.Roles, Workspace: e.Workspace, Model: e.Model,
		Input: map[string]json.RawMessage{}, Mode: modeOf(o.Decisions), DurationUS: o.Duration.Microseconds(),
	}
	r.Set = l.used.Load().set
	b := recordBuilder{Record: r, include: l.o.Include}
	if e.Tool != "" {
		r.Plugin = e.Plugin
		b.addKind(l.describe(&e))
	}
	b.addInput(&e)
	r.Decision = b.decision("/decision", &o.Decision)
	if a := o.Answer; a != nil {
		r.Approval = &Approval{By: a.By, Asks: []Decision{}, Asked: utc(a.Asked), Answered: utc(a.Answered)}
		for i := range a.Asks {
			r.Approval.Asks = append(r.Approval.Asks, b.decision(fmt.Sprintf("/approval/asks/%d", i), &a.Asks[i]))
		}
	}
	if o.Lost != nil {
		r.Errors = []string{o.Lost.Error()}
		if l.used.Load().redact == nil {
			r.Input, r.Omitted = nil, []string{"/input"}
		}
	}
	for i := range o.Hooks {
		b.addHandler(&o.Hooks[i])
	}
	return r
}

// utc returns a time in the form that records have.
func utc(t time.Time) time.Time { return t.UTC().Round(time.Microsecond) }

// describe returns a description of the tool call of an event, or nil if nobody can describe it.
func (l *Log) describe(e *starhost.Event) *starhost.CallInfo {
	info := e.CallInfo()
	if info == nil && l.o.Describe != nil {
		info = l.o.Describe(e)
	}
	return info
}

// addKind adds the kind of a tool call to the record.
func (b *recordBuilder) addKind(info *starhost.CallInfo) {
	if info == nil {
		return
	}
	b.Kind = info.Kinds[0]
	if b.omits(IncludeWrites) && slices.Contains(info.Kinds, "write") {
		b.contents = map[string]bool{}
		for _, text := range info.Contents {
			b.contents[text] = true
		}
	}
}

// Undecided returns the record of an event that plugins did not decide, because a guard is not loaded or
// plugins gave no answer in time. reason says why, and answered is the answer that the agent got: "deny", or
// [ActionNone] for an event that guards cannot refuse. Before [Log.Use], the log does not know which secrets
// it must remove, so the record has no input.
func (l *Log) Undecided(e starhost.Event, answered, reason string) *Record {
	o := host.Outcome{Lost: errors.New(reason)}
	if answered != ActionNone {
		o.Decision = starhost.Decision{Action: starhost.Action(answered), Reason: reason, Plugin: starhost.HostPlugin}
	}
	r := l.Record(e, o)
	r.Answered = answered
	return r
}

// DeliverUndecided appends the record that Undecided returns, as Deliver does. If the log or the event is
// nil, it does nothing.
func (l *Log) DeliverUndecided(e *starhost.Event, answered, reason string) error {
	if l == nil || e == nil {
		return nil
	}
	return l.Deliver(l.Undecided(*e, answered, reason))
}

// isUndecided reports whether plugins did not decide about the event.
func (r *Record) isUndecided() bool { return len(r.Handlers) == 0 && len(r.Errors) > 0 }

// The modes of a record.
const (
	modeEnforce = "enforce"
	modeWarn    = "warn"
)

// modeOf returns the mode of a record with these decisions.
func modeOf(decisions []starhost.Decision) string {
	warned := false
	for i := range decisions {
		switch d := &decisions[i]; {
		case strings.HasPrefix(string(d.Action), "would "):
			warned = true
		case d.Action != starhost.ActionContext:
			return modeEnforce
		}
	}
	if warned {
		return modeWarn
	}
	return modeEnforce
}

// A recordBuilder builds a record, and omits parts by the operator's choice.
type recordBuilder struct {
	*Record
	include  []string
	contents map[string]bool // the texts of files in the call's arguments, if the record omits them
}

// omits reports whether the record omits a part of an event. No record omits the part "".
func (b *recordBuilder) omits(part string) bool {
	return part != "" && !slices.Contains(b.include, part)
}

// elsewhere are the arguments that other fields of a record contain. For an event about a tool, the argument
// plugin is one of them, too.
var elsewhere = []string{"session_id", "tool", "call", "call_id", "platform", "roles", "workspace", "model", "round"}

// addInput adds the event's arguments to the record.
func (b *recordBuilder) addInput(e *starhost.Event) {
	if e.App != nil {
		for i := range e.App {
			b.Input[e.App[i].Name] = validJSON(e.App[i].Value)
		}
		return
	}
	spec, err := starhost.LookupEvent(cmp.Or(likeEvents[e.Name], e.Name))
	if err != nil {
		return // the program declares the event, without arguments
	}
	for _, name := range spec.Args {
		if slices.Contains(elsewhere, name) || name == "plugin" && spec.Tool {
			continue
		}
		at := "/input/" + name
		switch {
		case b.omits(argumentParts[name]):
			b.Omitted = append(b.Omitted, at)
		case name == "arguments":
			b.Input[name] = b.withoutContents(at, validJSON(e.Arguments))
		default:
			b.Input[name] = b.argument(at, e.Arg(name))
		}
	}
}

// argument returns the value of an argument as JSON.
func (b *recordBuilder) argument(at string, field any) json.RawMessage {
	switch v := field.(type) {
	case *starhost.Result:
		return b.text(at, v.ForLLM)
	case *string:
		return b.text(at, *v)
	case **starhost.Messages:
		return b.messages(at, *v)
	case **starhost.Tools:
		return encodeList(b, at, (*v).Items())
	case **starhost.List[fragments.Row]:
		return encodeList(b, at, (*v).Items())
	case *json.RawMessage:
		return validJSON(*v)
	}
	return jsontext.EncodeOrNull(field)
}

// text returns a text as JSON. If the text is longer than a record can be, it is cut.
func (b *recordBuilder) text(at, text string) json.RawMessage {
	if len(text) > MaxRecord {
		text = errtext.CutTo(text, 2*cutLength, cutMark)
		b.Cut = append(b.Cut, at)
	}
	return jsontext.EncodeOrNull(text)
}

// messages returns messages as JSON, without their attachments.
func (b *recordBuilder) messages(at string, list *starhost.Messages) json.RawMessage {
	for i := range list.Len() {
		if len(list.At(i).Attachments) > 0 {
			b.Omitted = append(b.Omitted, fmt.Sprintf("%s/%d/attachments", at, i))
		}
	}
	return encodeList(b, at, list.Items())
}

// encodeList returns a list as JSON. If that is longer than a record can be, it returns a digest.
func encodeList[T any](b *recordBuilder, at string, items []T) json.RawMessage {
	out, sum, size := []byte("["), sha256.New(), 0
	add := func(part []byte) {
		_, _ = sum.Write(part) // a hash never fails
		if size += len(part); size <= 2*MaxRecord {
			out = append(out, part...)
		}
	}
	_, _ = sum.Write(out)
	for i := range items {
		if i > 0 {
			add([]byte(","))
		}
		add(jsontext.EncodeOrNull(&items[i]))
	}
	add([]byte("]"))
	if size <= 2*MaxRecord {
		return out
	}
	b.Cut = append(b.Cut, at)
	return jsontext.EncodeOrNull(Digest{size + 1, hex.EncodeToString(sum.Sum(nil))})
}

// withoutContents returns arguments with digests in place of the texts of files, also of the texts that an
// edit replaces. If a record has no room for so many digests, one digest replaces all arguments.
func (b *recordBuilder) withoutContents(at string, arguments json.RawMessage) json.RawMessage {
	if b.contents == nil {
		return arguments
	}
	var omitted []string
	w := rewriter{most: MaxRecord}
	w.text = func(at []byte, q jsontext.Quoted) json.RawMessage {
		if len(q.Text) == 2 {
			return nil
		}
		text, _ := q.Decode() // no error, because the reader has checked it
		if !b.contents[text] && !strings.HasPrefix(strings.ToLower(lastStep(at)), "old") {
			return nil
		}
		omitted = append(omitted, string(at))
		return jsontext.EncodeOrNull(digestOf(text))
	}
	clean, err := w.rewrite(at, arguments)
	switch {
	case err == nil:
		b.Omitted = append(b.Omitted, omitted...)
		return clean
	case len(omitted) == 0 && errors.Is(err, errTooLarge):
		b.Cut = append(b.Cut, at)
	default:
		b.Omitted = append(b.Omitted, at)
	}
	return jsontext.EncodeOrNull(digestOfJSON(arguments))
}

// digestOf returns the digest of a text.
func digestOf(text string) Digest {
	sum := sha256.Sum256([]byte(text))
	return Digest{len(text), hex.EncodeToString(sum[:])}
}

// decision returns a decision as JSON. at is its place in the record.
func (b *recordBuilder) decision(at string, d *starhost.Decision) Decision {
	out := Decision{Action: cmp.Or(string(d.Action), ActionNone), Reason: d.Reason, Plugin: d.Plugin}
	if d.Pos != (starhost.Pos{}) {
		out.Pos = d.Pos.String()
	}
	if len(d.Value) > 0 {
		out.Value = validJSON(d.Value)
	}
	if d.Result != nil {
		out.Result = b.result(at+"/result", d.Result)
	}
	for name, value := range d.Changes {
		if out.Changes == nil {
			out.Changes = map[string]json.RawMessage{}
		}
		out.Changes[name] = b.change(at+"/changes/"+name, name, value)
	}
	return out
}

// change returns the new value of an argument as JSON. If the record omits the part that the argument belongs
// to, it returns a digest, so that a replay can still compare the value.
func (b *recordBuilder) change(at, name string, value any) json.RawMessage {
	var raw json.RawMessage
	switch v := value.(type) {
	case json.RawMessage:
		raw = validJSON(v)
	case *starhost.Messages:
		if raw = b.messages(at, v); b.omits(argumentParts[name]) && slices.Contains(b.Cut, at) {
			b.Omitted = append(b.Omitted, at)
			return raw // the value is a digest already
		}
	case starhost.Result:
		if b.omits(argumentParts[name]) {
			return jsontext.EncodeOrNull(b.result(at, &v))
		}
		return jsontext.EncodeOrNull(resultOf(&v))
	default:
		raw = jsontext.EncodeOrNull(value)
	}
	switch {
	case b.omits(argumentParts[name]):
		b.Omitted = append(b.Omitted, at)
		return jsontext.EncodeOrNull(digestOfJSON(raw))
	case name == "arguments":
		return b.withoutContents(at, raw)
	}
	return raw
}

// digestOfJSON returns the digest of a string's text, or of any other JSON value.
func digestOfJSON(raw json.RawMessage) Digest {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return digestOf(text)
	}
	return digestOf(string(raw))
}

// result returns a result as JSON. If the record omits results, it returns a digest in place of the texts.
func (b *recordBuilder) result(at string, r *starhost.Result) *Result {
	out := resultOf(r)
	if b.omits(IncludeResults) && out.ForLLM+out.ForUser != "" {
		d := digestOf(out.ForLLM + "\x00" + out.ForUser)
		out.ForLLM, out.ForUser, out.Digest = "", "", &d
		b.Omitted = append(b.Omitted, at+"/for_llm")
	}
	return out
}

// resultOf returns a result in the form that records have.
func resultOf(r *starhost.Result) *Result {
	out := &Result{ForLLM: r.ForLLM, ForUser: r.ForUser, Silent: r.Silent, IsError: r.IsError, Handled: r.Handled}
	for i := range r.Attachments {
		out.Attachments = append(out.Attachments, attachmentOf(&r.Attachments[i]))
	}
	return out
}

// addHandler adds one call of a handler to the record.
func (b *recordBuilder) addHandler(t *host.HookTrace) {
	at := fmt.Sprintf("/handlers/%d", len(b.Handlers))
	h := Handler{Again: t.Again, Steps: t.Steps}
	if t.Decision != nil {
		h.Decision = b.decision(at, t.Decision)
		b.addContext(&h, &t.Decision.Context)
	} else {
		h.Decision = Decision{Action: ActionNone}
		if t.Pos != (starhost.Pos{}) {
			h.Pos = t.Pos.String()
		}
	}
	h.Plugin = t.Plugin
	if t.Event != b.Event {
		h.Event = t.Event
	}
	if t.Action == starhost.ActionError {
		h.Error = t.Detail
		b.Errors = append(b.Errors, t.Plugin+": "+t.Detail)
	}
	for i, line := range t.Effects {
		h.Effects = append(h.Effects, b.effect(fmt.Sprintf("%s/effects/%d", at, i), line))
	}
	for _, line := range t.Logs {
		own := Line{Plugin: line.Plugin, Level: line.Level, Text: line.Text}
		if len(line.Fields) > 0 {
			own.Fields = validJSON(line.Fields)
		}
		if line.Pos != (starhost.Pos{}) {
			own.Pos = line.Pos.String()
		}
		h.Logs = append(h.Logs, own)
	}
	b.Handlers = append(b.Handlers, h)
}

// addContext adds the context that a handler offered to the record.
func (b *recordBuilder) addContext(h *Handler, c *starhost.Context) {
	add := func(row Context) {
		h.Context = append(h.Context, len(b.Context))
		b.Context = append(b.Context, row)
	}
	for i := range c.Fragments {
		f := &c.Fragments[i]
		row := Context{
			ID: f.ID().String(), Bytes: len(f.Content), Plugin: f.Plugin, Source: f.Source,
			Title: f.Title, Priority: f.Priority,
		}
		if f.Target != fragments.Prompt {
			row.Target = f.Target.String()
		}
		if !b.omits(IncludePrompt) {
			row.Content = &f.Content
		}
		add(row)
	}
	for i := range c.Attachments {
		add(attachmentOf(&c.Attachments[i]))
	}
}

// attachmentOf returns an attachment in the form that records have.
func attachmentOf(a *fragments.Attachment) Context {
	return Context{
		ID: a.ID().String(), Bytes: a.Bytes(), Plugin: a.Plugin, Source: a.Source,
		Type: a.Type, Name: a.Name, URL: a.URL,
	}
}

// effect returns the line of an effect. A digest replaces a long reply, and an answer of a hook process that
// can contain a part which the record omits.
func (b *recordBuilder) effect(at string, line json.RawMessage) json.RawMessage {
	var e struct {
		Process json.RawMessage `json:"process"`
		Reply   json.RawMessage `json:"reply"`
	}
	isProcess := bytes.Contains(line, []byte(`"process":`))
	if len(line) <= maxReply && !isProcess || json.Unmarshal(line, &e) != nil {
		return line
	}
	omits := e.Process != nil && changesParts(e.Reply) &&
		(b.omits(IncludePrompt) || b.omits(IncludeResults) || b.omits(IncludeWrites))
	if !omits && len(e.Reply) <= maxReply {
		return line
	}
	short, ok := withoutReply(line)
	if !ok {
		return line
	}
	if omits {
		b.Omitted = append(b.Omitted, at+"/reply")
	} else {
		b.Cut = append(b.Cut, at+"/reply")
	}
	return short
}

// withoutReply returns the line of an effect with a digest in place of its reply.
func withoutReply(line json.RawMessage) (short json.RawMessage, ok bool) {
	var e struct {
		Reply json.RawMessage `json:"reply"`
	}
	if json.Unmarshal(line, &e) != nil || e.Reply == nil {
		return nil, false
	}
	rest, ok := bytes.CutSuffix(line, slices.Concat([]byte(`"reply":`), e.Reply, []byte("}"))) // the last member
	if !ok {
		return nil, false
	}
	return slices.Concat(rest, []byte(`"digest":`), jsontext.EncodeOrNull(digestOf(string(e.Reply))), []byte("}")), true
}

// changesParts reports whether the answer of a hook process contains new values of parts that a record may
// omit.
func changesParts(answer json.RawMessage) bool {
	var a struct {
		Action string `json:"action"`
	}
	return json.Unmarshal(answer, &a) != nil || a.Action == "modify" || a.Action == "respond"
}

// validJSON returns raw, or null if raw is not JSON.
func validJSON(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) {
		return null
	}
	return raw
}
